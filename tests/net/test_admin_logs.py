"""`Admin` about the logs of partitions, and offsets that are moved: who is asked, and again."""

from __future__ import annotations

import pytest

from kafka_aio.admin import OffsetChange, OffsetReset, OffsetSpec
from kafka_aio.errors import (
    GroupAuthorizationFailed,
    KafkaConnectionError,
    KafkaTimeoutError,
    LeaderNotAvailable,
    NonEmptyGroup,
    OffsetOutOfRange,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from kafka_aio.protocol.messages.consumer_group import ConsumerGroupDescribeRequest
from kafka_aio.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_aio.protocol.messages.offsets import (
    ListOffsetsRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
)
from kafka_aio.protocol.messages.topics import DeleteRecordsRequest
from kafka_aio.types import OffsetAndTimestamp, TopicPartition
from tests.net.admin_answers import all_is_well, in_turn
from tests.net.admin_group_answers import (
    commits_offsets,
    deletes_records,
    describes_groups,
    fetches_offsets,
    lists_offsets,
)
from tests.net.clusters import Scripted, admin_of, scripted
from tests.net.server import Asked, Reaction, closes, falls_silent

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
BRIEF = {"request_timeout_ms": 200, "default_api_timeout_ms": 700}
LATEST = OffsetSpec.latest()


def led_by(script: Scripted, leaders: dict[int, int]) -> Reaction:
    """Metadata in which each topic has partitions with these leaders."""

    def react(asked: Asked) -> None:
        partitions = [
            MetadataResponsePartition(
                error_code=0,
                partition_index=number,
                leader_id=leader,
                leader_epoch=5,
                replica_nodes=[1],
                isr_nodes=[1],
            )
            for number, leader in leaders.items()
        ]
        topics = asked.message.topics or []
        script.describe_with(
            asked,
            [
                MetadataResponseTopic(error_code=0, name=topic.name, partitions=partitions)
                for topic in topics
            ],
        )

    return react


async def test_offsets_are_asked_of_each_leader() -> None:
    async with scripted(2) as script, admin_of(script.bootstrap()) as admin:
        all_is_well(script)
        script.react(MetadataRequest, led_by(script, {0: 1, 1: 2}))

        found = await admin.list_offsets({A0: LATEST, A1: LATEST}, isolation_level="read_committed")

        assert found == {A0: OffsetAndTimestamp(7, -1), A1: OffsetAndTimestamp(7, -1)}
        for node in (1, 2):
            (asked,) = script.asked(ListOffsetsRequest, node)
            ((partition,),) = (topic.partitions for topic in asked.message.topics)
            assert partition.partition_index == node - 1
            assert partition.current_leader_epoch == 5
            assert asked.message.isolation_level == 1


async def test_what_an_old_leader_refuses_goes_to_the_new_one() -> None:
    async with scripted(2) as script, admin_of(script.bootstrap()) as admin:
        refuses = lists_offsets({"a-1": 6})

        def moved(asked: Asked) -> None:
            script.react(MetadataRequest, led_by(script, {0: 1, 1: 2}))
            refuses(asked)

        script.react(MetadataRequest, led_by(script, {0: 1, 1: 1}))
        script.brokers[1].reactions[ListOffsetsRequest] = moved
        script.brokers[2].reactions[ListOffsetsRequest] = lists_offsets()

        found = await admin.list_offsets({A0: LATEST, A1: LATEST})

        assert found == {A0: OffsetAndTimestamp(7, -1), A1: OffsetAndTimestamp(7, -1)}
        assert [len(script.asked(ListOffsetsRequest, node)) for node in (1, 2)] == [1, 1]


async def test_an_election_is_waited_for() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        all_is_well(script)
        script.react(MetadataRequest, in_turn(led_by(script, {0: -1}), led_by(script, {0: 1})))

        assert await admin.list_offsets({A0: LATEST}) == {A0: OffsetAndTimestamp(7, -1)}


async def test_an_election_that_does_not_end_ends_with_the_time_beside_what_is_known() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        all_is_well(script)
        script.react(MetadataRequest, led_by(script, {0: 1, 1: -1}))

        found = await admin.list_offsets({A0: LATEST, A1: LATEST}, timeout=0.4)

        assert found[A0] == OffsetAndTimestamp(7, -1)
        late = found[A1]
        assert isinstance(late, KafkaTimeoutError)
        assert isinstance(late.__cause__, LeaderNotAvailable)


async def test_a_partition_that_does_not_exist_is_an_error_at_once() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        all_is_well(script)
        script.react(MetadataRequest, led_by(script, {0: 1}))

        found = await admin.list_offsets({A0: LATEST, A1: LATEST})
        alone = await admin.delete_records({A1: 5})

        assert found[A0] == OffsetAndTimestamp(7, -1)
        assert isinstance(found[A1], UnknownTopicOrPartition)
        assert isinstance(alone[A1], UnknownTopicOrPartition)
        assert not script.asked(DeleteRecordsRequest)


async def test_a_partition_whose_offset_is_refused_is_an_error_in_its_place() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        script.react(ListOffsetsRequest, lists_offsets({"a-0": 29}))

        found = await admin.list_offsets({A0: LATEST})

        assert isinstance(found[A0], TopicAuthorizationFailed)


async def test_records_are_deleted_again_only_if_that_is_the_same() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        script.react(DeleteRecordsRequest, in_turn(closes, deletes_records(), closes))

        once = await admin.delete_records({A0: 5})
        with pytest.raises(KafkaConnectionError, match="look before you repeat it"):
            await admin.delete_records({A0: -1})

        assert once == {A0: 5}
        assert len(script.asked(DeleteRecordsRequest)) == 3


async def test_a_deletion_that_is_refused_says_why() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        script.react(DeleteRecordsRequest, deletes_records({"a-0": 1}))

        found = await admin.delete_records({A0: 5})

        assert isinstance(found[A0], OffsetOutOfRange)


async def test_metadata_that_is_lost_leaves_no_doubt_about_a_change() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap(), **BRIEF) as admin:
        all_is_well(script)
        script.react(MetadataRequest, falls_silent)

        with pytest.raises(KafkaTimeoutError) as raised:
            await admin.delete_records({A0: -1})

        assert not raised.value.indefinite
        assert not script.asked(DeleteRecordsRequest)


# Resets.


async def test_a_reset_that_is_only_looked_at_changes_nothing() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        all_is_well(script)

        found = await admin.reset_group_offsets(
            "g", OffsetReset.latest(), topics=["a"], partitions=[A0], dry_run=True
        )

        assert found == {A0: OffsetChange(5, 7)}
        assert not script.asked(OffsetCommitRequest)
        # Without that, a new coordinator may not know the last commits yet.
        assert [asked.message.require_stable for asked in script.asked(OffsetFetchRequest)] == [
            True
        ]


async def test_an_offset_that_is_not_committed_is_an_error_beside_others() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        all_is_well(script)
        script.react(MetadataRequest, led_by(script, {0: 1, 1: 1}))
        script.react(OffsetCommitRequest, commits_offsets({"a-1": 25}))

        found = await admin.reset_group_offsets("g", OffsetReset.latest(), topics=["a"])

        assert found[A0] == OffsetChange(5, 7)
        assert isinstance(found[A1], NonEmptyGroup)


async def test_what_is_not_known_is_not_reset() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        all_is_well(script)
        script.react(MetadataRequest, led_by(script, {0: 1, 1: 1}))
        script.react(ListOffsetsRequest, lists_offsets({"a-1": 29}))
        script.react(OffsetFetchRequest, fetches_offsets({"a-0": 29}))

        found = await admin.reset_group_offsets("g", OffsetReset.latest(), topics=["a"])

        assert all(isinstance(error, TopicAuthorizationFailed) for error in found.values())
        assert not script.asked(OffsetCommitRequest)


async def test_a_topic_to_reset_that_does_not_exist_is_raised() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        all_is_well(script)

        def missing(asked: Asked) -> None:
            topics = [
                MetadataResponseTopic(error_code=3, name=topic.name, partitions=[])
                for topic in asked.message.topics or []
            ]
            script.describe_with(asked, topics)

        script.react(MetadataRequest, missing)

        with pytest.raises(UnknownTopicOrPartition, match="topic 'a'"):
            await admin.reset_group_offsets("g", OffsetReset.latest(), topics=["a"])


@pytest.mark.parametrize("what", ["describe", "fetch"])
async def test_a_group_that_may_not_be_seen_is_not_reset(what: str) -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        all_is_well(script)
        if what == "describe":
            script.react(ConsumerGroupDescribeRequest, describes_groups({"g": 30}))
        else:
            script.react(OffsetFetchRequest, fetches_offsets({"g": 30}))

        with pytest.raises(GroupAuthorizationFailed):
            await admin.reset_group_offsets("g", OffsetReset.latest())
