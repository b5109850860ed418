"""The leader of a classic group looks after its topics, also after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from kafka_aio.admin import Admin, NewPartitions
from kafka_aio.broker import EmbeddedBroker
from kafka_aio.consumer.assignors.assignor import Assignment, Member, Topics
from kafka_aio.consumer.assignors.range import RangeAssignor
from kafka_aio.types import TopicPartition
from tests.scenarios.consumer.committing import on_virtual_time
from tests.scenarios.consumer.grouped import Notes, joined, member, numbers, until


@pytest.mark.parametrize("protocol", ["classic", "cooperative"])
@on_virtual_time
async def test_a_static_leader_that_came_back_still_sees_what_a_topic_gets(protocol: str) -> None:
    options: dict[str, Any] = {"metadata_max_age_ms": 5_000}
    async with (
        EmbeddedBroker(topics={"t": 2}) as broker,
        Admin(bootstrap_servers=broker.bootstrap_servers) as admin,
        joined(broker, protocol, group_instance_id="one", **options) as leader,
        joined(broker, protocol, None, leader, group_instance_id="two", **options) as second,
    ):
        await until(lambda: len(numbers(leader)) == len(numbers(second)) == 1, leader, second)
        await leader.aclose()
        async with joined(broker, protocol, group_instance_id="one", **options) as again:
            await admin.create_partitions({"t": NewPartitions(4)})
            await until(lambda: len(numbers(again)) == len(numbers(second)) == 2, again, second)

            assert sorted(numbers(again) + numbers(second)) == [0, 1, 2, 3]


@on_virtual_time
async def test_a_static_leader_that_came_back_changes_nothing_by_itself() -> None:
    options: dict[str, Any] = {"metadata_max_age_ms": 5_000, "allow_auto_create_topics": False}
    two = Notes("two")
    async with EmbeddedBroker(topics={"t": 1, "u": 1}) as broker:
        second = member(broker, **options)
        second.subscribe(["u", "made-later"], two)
        async with joined(broker, group_instance_id="one", **options) as leader, second:
            await until(second.assignment, leader, second)
            await leader.aclose()
            before = list(two.log)
            async with joined(broker, group_instance_id="one", **options) as again:
                for _ in range(4):  # the metadata is learnt, and learnt again
                    await asyncio.sleep(5)
                    await until(again.assignment, again, second)
                kept = two.log == before
                broker.create_topic("made-later")
                await until(lambda: len(second.assignment()) == 2, again, second)

                assert kept


@on_virtual_time
async def test_members_follow_replicas_into_other_racks() -> None:
    def near(rack: int) -> dict[str, Any]:
        return {"client_rack": f"r{rack}", "metadata_max_age_ms": 5_000}

    async with EmbeddedBroker(nodes=2) as broker:
        for node in broker._state.nodes.values():
            node.rack = f"r{node.id}"
        broker.create_topic("t", partitions=2, replication_factor=1)
        partitions = broker._state.topics.by_name["t"].partitions
        homes = [partition.leader for partition in partitions]
        async with (
            joined(broker, **near(homes[0])) as first,
            joined(broker, "classic", None, first, **near(homes[1])) as second,
        ):
            await until(lambda: numbers(first) == [0] and numbers(second) == [1], first, second)
            for partition, home in zip(partitions, reversed(homes), strict=True):
                broker._state.topics.reassign(partition, [home])
            await until(lambda: numbers(first) == [1], first, second)
            await until(second.assignment, first, second)

            assert numbers(second) == [0]


@on_virtual_time
async def test_an_assignor_of_the_users_tells_members_more_than_partitions() -> None:
    class Numbered:
        """Tells each member the number of the round."""

        name = "numbered"
        rounds = 0

        def __init__(self) -> None:
            self.heard: list[tuple[list[int], bytes]] = []

        def assign(self, members: Sequence[Member], topics: Topics) -> Assignment:
            Numbered.rounds += 1
            return RangeAssignor().assign(members, topics)

        def share_data(self, member: Member, partitions: Sequence[TopicPartition]) -> bytes:
            return b"round %d" % Numbered.rounds

        def on_assignment(
            self, partitions: Sequence[TopicPartition], user_data: bytes, generation: int
        ) -> None:
            self.heard.append(([each.partition for each in partitions], user_data))

    one, two = Numbered(), Numbered()
    async with (
        EmbeddedBroker(topics={"t": 2}) as broker,
        joined(broker, partition_assignment_strategy=[one]) as first,
        joined(broker, "classic", None, first, partition_assignment_strategy=[two]) as second,
    ):
        await until(lambda: len(numbers(first)) == len(numbers(second)) == 1, first, second)
        theirs = numbers(second)

    assert one.heard[0] == ([0, 1], b"round 1")
    assert two.heard == [(theirs, b"round 2")]
