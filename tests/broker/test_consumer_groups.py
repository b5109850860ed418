"""Groups of six processes on real Kafka: they come, go, and are killed; nodes too, under load.

The promises are those of `tests.groups.checker`, held against what every member said.
`make test-long` tries all kinds of groups, and for longer.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from pathlib import Path
from typing import Any

import pytest

from kafka_aio.protocol.messages.groups import FindCoordinatorRequest
from tests.groups.driver import Group, Watched, group_of, load_of
from tests.groups.kinds import KINDS, LONG, SESSION, SHORT, prepare
from tests.kafka.cluster import Cluster
from tests.kafka.node import Node

PARTITIONS = 12
SECONDS = float(os.environ.get("KAFKA_AIO_FAULT_SECONDS", "30"))
"""So long are things broken; with the beginning and the end, the run takes a minute."""

# What runs is in other processes: on one loop, unless somebody asks for both.
pytestmark = [] if "KAFKA_AIO_LOOP" in os.environ else [pytest.mark.loop("uvloop")]


def options_of(kind: str) -> dict[str, Any]:
    options = KINDS[kind]
    is_classic = "group_protocol" not in options
    return options | ({"session_timeout": SESSION} if is_classic else {})


async def end_in_order(group: Group, written: dict[tuple[str, int], int]) -> None:
    await group.wait_read(written)
    await group.wait_shared_out()
    await group.stop(*group.running)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("kind", KINDS if LONG else SHORT)
async def test_six_members_come_and_go_and_are_killed(
    kafka_cluster: Cluster, tmp_path: Path, kind: str
) -> None:
    bootstrap = kafka_cluster.bootstrap
    topic = await asyncio.to_thread(kafka_cluster.create_topic, f"members-{kind}", PARTITIONS)
    async with group_of(tmp_path, bootstrap, topic, PARTITIONS, **options_of(kind)) as group:
        await prepare(bootstrap, group.id)
        async with load_of(bootstrap, topic, PARTITIONS) as load:
            for _ in range(4):
                await group.start()
            await group.wait_shared_out()
            for _ in range(2):
                await group.start(by_records=True, enable_autocommit=True)
            await group.wait_shared_out()
            await group.stop(group.members[0])
            await group.wait_shared_out()
            before_the_kills = group.again
            await group.kill(group.members[1], group.members[4])
            await group.start_again(group.members[4])
            await group.wait_shared_out()
        await end_in_order(group, load.written)

        assert group.check(load.written) == []
        assert before_the_kills == 0
        assert sum(load.written.values()) > 1_000


def coordinator_of(kafka: Cluster, group: str) -> Node:
    with kafka.connect() as connection:
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
        (found,) = connection.send(request).coordinators
    assert found.error_code == 0, found
    return kafka.node(found.node_id)


FAULTS = ("coordinator killed", "member killed", "node restarted", "member left")
LONGER_FAULTS = (*FAULTS, "member paused")


async def break_things(group: Group, kafka: Cluster, topic: str) -> list[str]:
    """Members and nodes in turn, each kind once at least, until the time is over."""
    loop = asyncio.get_running_loop()
    until = loop.time() + SECONDS
    faults, done = LONGER_FAULTS if LONG else FAULTS, []
    for turn in itertools.count():
        what = faults[turn % len(faults)]
        member = group.running[turn % len(group.running)]
        if what == "coordinator killed":
            node = await asyncio.to_thread(coordinator_of, kafka, group.id)
            await asyncio.to_thread(node.kill)
            await asyncio.sleep(3)
            await asyncio.to_thread(kafka.heal)
        elif what == "node restarted":
            leader = await asyncio.to_thread(kafka.leader, topic)
            assert leader is not None
            await asyncio.to_thread(leader.restart)
            await asyncio.to_thread(kafka.heal)
        elif what == "member paused":
            member.pause()
            await asyncio.sleep(SESSION / 1_000 + 2)  # it is missed, and does not know
            member.resume()
        else:
            await replace(group, member, killed=what == "member killed")
        await group.wait_shared_out()
        done.append(what)
        if loop.time() > until and len(done) >= len(faults):
            return done
    raise AssertionError


async def replace(group: Group, member: Watched, *, killed: bool) -> None:
    if killed:
        await group.kill(member)
    else:
        await group.stop(member)
    await group.start_again(member)


@pytest.mark.timeout(400 + SECONDS)
@pytest.mark.parametrize("kind", KINDS if LONG else ["cooperative-sticky"])
async def test_promises_are_kept_while_nodes_fail(
    kafka_cluster: Cluster, tmp_path: Path, kind: str
) -> None:
    bootstrap = kafka_cluster.bootstrap
    topic = await asyncio.to_thread(kafka_cluster.create_topic, f"faults-{kind}", PARTITIONS)
    async with group_of(tmp_path, bootstrap, topic, PARTITIONS, **options_of(kind)) as group:
        await prepare(bootstrap, group.id)
        try:
            async with load_of(bootstrap, topic, PARTITIONS) as load:
                for number in range(6):
                    automatic = number % 2 == 1
                    await group.start(by_records=automatic, enable_autocommit=automatic)
                await group.wait_shared_out()
                done = await break_things(group, kafka_cluster, topic)
        finally:
            await asyncio.to_thread(kafka_cluster.heal)
        await end_in_order(group, load.written)
        total = sum(load.written.values())
        print(f"\n{kind}: {total} records, {group.again} of them again, {len(done)} faults: {done}")

        assert group.check(load.written) == []
        assert len(group.members) >= 8
