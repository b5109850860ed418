"""Members of groups on real Kafka that are not alike: static, of other clients, of other protocols.

And those that are killed, or raise, with a record in their hands.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from kafka_aio import Admin, GroupState, TopicPartition
from kafka_aio.errors import KafkaError
from tests.broker.consuming import consumer_of, new_topic, topic_with
from tests.groups.driver import CONFLUENT, PATIENCE, Group, Watched, group_of, load_of
from tests.groups.kinds import LONG, prepare
from tests.kafka.cluster import Cluster

PARTITIONS = 6
SESSION = 15_000
"""Milliseconds: the time in which a member can be started again unnoticed, on a busy machine."""
JAVA = "org.apache.kafka.clients.consumer"
OF_JAVA = {
    "range": f"{JAVA}.RangeAssignor",
    "cooperative-sticky": f"{JAVA}.CooperativeStickyAssignor",
}
CLASSIC: dict[str, Any] = {
    "assignment_strategy": "cooperative-sticky",
    "session_timeout": 5_000,
}
CONSUMER: dict[str, Any] = {"group_protocol": "consumer"}

# What runs is in other processes: on one loop, unless somebody asks for both.
pytestmark = [] if "KAFKA_AIO_LOOP" in os.environ else [pytest.mark.loop("uvloop")]


def static(protocol: str) -> dict[str, Any]:
    classic = {"session_timeout": SESSION, "assignment_strategy": "range"}
    return {"is_static": True, **(classic if protocol == "classic" else CONSUMER)}


def has_its_share(members: list[Watched]) -> bool:
    return all(len(member.assignment) == PARTITIONS // len(members) for member in members)


async def wait_stable(admin: Admin, group: Group) -> None:
    """Until the group has nothing to do.

    If its last member of the new protocol leaves before, Kafka refuses what classic members commit
    that have not heard of the newest epoch: the classic group has that as its generation.
    """
    async with asyncio.timeout(PATIENCE):
        while True:
            described = (await admin.describe_groups([group.id]))[group.id]
            assert not isinstance(described, KafkaError), described
            if described.state is GroupState.STABLE:
                break
            await asyncio.sleep(0.05)
    await group.wait_shared_out()


@pytest.mark.timeout(150)
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_a_static_member_is_restarted_and_nobody_notices(
    kafka: Cluster, tmp_path: Path, protocol: str
) -> None:
    topic = await new_topic(kafka, f"static-{protocol}", PARTITIONS)
    options = static(protocol)
    async with group_of(tmp_path, kafka.bootstrap, topic, PARTITIONS, **options) as group:
        await prepare(kafka.bootstrap, group.id, session=SESSION)
        async with load_of(kafka.bootstrap, topic, PARTITIONS) as load:
            for _ in range(3):
                await group.start()
            await group.wait("each has its share", lambda: has_its_share(group.members))
            gone, *others = group.members
            had = gone.assignment
            before = [member.rebalances for member in others]
            # Who was killed in a group of the new protocol has its name until it is missed.
            for ends in (group.stop, group.kill) if protocol == "classic" else (group.stop,):
                await ends(gone)
                gone = await group.start_again(gone)
                await group.wait_shared_out()
                assert gone.assignment == had
        await group.wait_read(load.written)

        assert [member.rebalances for member in others] == before
        assert group.check(load.written) == []


@pytest.mark.timeout(150)
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_of_two_static_members_with_one_name_one_is_fenced(
    kafka: Cluster, tmp_path: Path, protocol: str
) -> None:
    topic = await new_topic(kafka, f"fenced-{protocol}", PARTITIONS)
    options = static(protocol)
    async with group_of(tmp_path, kafka.bootstrap, topic, PARTITIONS, **options) as group:
        await prepare(kafka.bootstrap, group.id, session=SESSION)
        first, other = await group.start(), await group.start()
        await group.wait("each has its share", lambda: has_its_share([first, other]))
        had, before = first.assignment, other.rebalances
        second = await group.start_again(first)
        # In a classic group the later one takes the place, in the other the earlier one keeps it.
        fenced, stays = (first, second) if protocol == "classic" else (second, first)
        await group.wait("one is fenced", lambda: bool(fenced.named("failed")))
        await group.wait("the other has its place", lambda: stays.assignment == had)

        (event,) = fenced.named("failed")
        expected = "FencedInstanceId" if protocol == "classic" else "UnreleasedInstanceId"
        assert event["error"] == expected
        assert stays.is_running
        assert other.rebalances == before


@pytest.mark.timeout(150)
@pytest.mark.parametrize("assignor", OF_JAVA if LONG else ["cooperative-sticky"])
async def test_ours_java_and_confluent_in_one_group(
    kafka: Cluster, tmp_path: Path, assignor: str
) -> None:
    topic = await new_topic(kafka, f"mixed-{assignor}", PARTITIONS)
    options = {"assignment_strategy": assignor, "session_timeout": 6_000}
    async with group_of(tmp_path, kafka.bootstrap, topic, PARTITIONS, **options) as group:
        async with load_of(kafka.bootstrap, topic, PARTITIONS) as load:
            java = await group.start_java(assignment_strategy=OF_JAVA[assignor])
            ours = await group.start()
            theirs = await group.start(CONFLUENT)
            members = [java, ours, theirs]
            await group.wait("each has its share", lambda: has_its_share(members))
            read = group.again
            counts = [len(member.named("records_consumed")) for member in members]
            await group.wait(
                "each reads",
                lambda: all(
                    len(member.named("records_consumed")) > count + 5
                    for member, count in zip(members, counts, strict=True)
                ),
            )
            assert group.again == read
            await group.stop(java)  # whoever leads: the next one does
            await group.wait("each has its share", lambda: has_its_share([ours, theirs]))
            more = await group.start()
            await group.wait_shared_out()
            await group.stop(ours)
            await group.wait("each has its share", lambda: has_its_share([theirs, more]))
        await group.wait_read(load.written)
        await group.stop(*group.running)

        assert group.check(load.written) == []


@pytest.mark.timeout(200)
async def test_a_group_moves_to_the_new_protocol_and_back_while_it_runs(
    kafka: Cluster, tmp_path: Path
) -> None:
    topic = await new_topic(kafka, "migration", PARTITIONS)
    async with group_of(tmp_path, kafka.bootstrap, topic, PARTITIONS) as group:
        await prepare(kafka.bootstrap, group.id)
        async with load_of(kafka.bootstrap, topic, PARTITIONS) as load:
            for _ in range(3 if LONG else 2):
                await group.start(**CLASSIC)
            await group.wait_shared_out()
            async with Admin(bootstrap_servers=kafka.bootstrap) as admin:
                for options in (CONSUMER, CLASSIC):
                    for member in group.running:
                        await wait_stable(admin, group)
                        await group.stop(member)
                        await group.start(**options)
                        await group.wait_shared_out()
        await group.wait_read(load.written)
        await group.stop(*group.running)

        assert group.check(load.written) == []
        assert group.again == 0


@pytest.mark.timeout(120)
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_who_is_killed_with_a_record_in_its_hands_has_not_committed_it(
    kafka: Cluster, tmp_path: Path, protocol: str
) -> None:
    topic = await topic_with(kafka, f"killed-{protocol}", [20])
    options = {"enable_autocommit": True, "by_records": True, "group_protocol": protocol}
    if protocol == "classic":
        options["session_timeout"] = 2_000
    async with group_of(tmp_path, kafka.bootstrap, topic, 1, **options) as group:
        await prepare(kafka.bootstrap, group.id, session=2_000)
        first = await group.start(dies_at=7)
        await group.wait("it is dead", lambda: not first.is_running)
        await group.kill(first)
        second = await group.start(dies_at=None)
        await group.wait_read({(topic, 0): 20})
        (begun, *_) = second.named("records_consumed")

        assert begun["partitions"][0]["minOffset"] == 7
        assert group.again == 1


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_who_raises_with_a_record_in_its_hands_has_not_committed_it(
    kafka: Cluster, protocol: str
) -> None:
    topic = await topic_with(kafka, f"raises-{protocol}", [10])
    options = {"group_id": topic, "group_protocol": protocol, "auto_commit_interval_ms": 50}
    if protocol == "consumer":
        await prepare(kafka.bootstrap, topic)

    async def raise_at(offset: int) -> None:
        async with consumer_of(kafka, topic, **options) as consumer:
            async for record in consumer:
                if record.offset == offset:
                    await asyncio.sleep(0.2)
                    raise ZeroDivisionError

    for offset in (4, 7):
        with pytest.raises(ZeroDivisionError):
            await raise_at(offset)
    async with consumer_of(kafka, topic, **options) as consumer:
        ended = []
        async for record in consumer:
            ended.append(record.offset)
            if len(ended) == 3:
                break
    async with consumer_of(kafka, group_id=topic) as consumer:
        (found,) = (await consumer.committed([TopicPartition(topic, 0)])).values()
        consumer.assign([TopicPartition(topic, 0)])

        assert ended == [7, 8, 9]
        assert found is not None
        assert found.offset == 10
        assert await consumer.position(TopicPartition(topic, 0)) == 10
