"""Fetch: what both bring, with sessions and without, and how they refuse."""

from __future__ import annotations

import pytest

from kafka_aio.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)
from kafka_aio.protocol.messages.topics import DeleteRecordsPartition, DeleteRecordsRequest
from kafka_aio.protocol.messages.topics import DeleteRecordsTopic as Deleted
from kafka_aio.protocol.schema import NO_UUID, Uuid
from tests.comparison.batches import batch
from tests.comparison.sides import Both, Side
from tests.kafka.topic import Topic

OTHER_ID = Uuid(bytes(range(16)))
ONE_BATCH = len(batch(1_000))


def wanted(
    partition: int = 0, offset: int = 0, *, size: int = 1_000_000, epoch: int = -1, last: int = -1
) -> FetchPartition:
    return FetchPartition(
        partition=partition,
        fetch_offset=offset,
        partition_max_bytes=size,
        current_leader_epoch=epoch,
        last_fetched_epoch=last,
    )


def fetches(
    topic: Topic,
    *partitions: FetchPartition,
    session: tuple[int, int] = (0, -1),
    size: int = 10_000_000,
    isolation: int = 0,
    forgotten: tuple[int, ...] = (),
) -> FetchRequest:
    topics = [FetchTopic(topic=topic.name, topic_id=topic.id, partitions=list(partitions))]
    gone = [ForgottenTopic(topic=topic.name, topic_id=topic.id, partitions=list(forgotten))]
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=size,
        isolation_level=isolation,
        session_id=session[0],
        session_epoch=session[1],
        topics=topics if partitions else [],
        forgotten_topics_data=gone if forgotten else [],
    )


def filled(side: Side, name: str, partitions: int = 1) -> Topic:
    """A topic with three batches in each partition."""
    topic = side.topic(name, partitions)
    for partition in range(partitions):
        for timestamp in (1_000, 2_000, 3_000):
            topic.produce(batch(timestamp), partition)
    return topic


@pytest.mark.parametrize("isolation", [0, 1])
def test_offsets(both: Both, isolation: int) -> None:
    name = both.name("fetch")
    for side in both:
        topic = filled(side, name)
        for offset in (0, 1, 3, 4, -1, 2**62):
            side.ask_in_each_version(fetches(topic, wanted(offset=offset), isolation=isolation))

    both.agree()


def test_an_offset_within_a_batch(both: Both) -> None:
    name = both.name("fetch")
    for side in both:
        topic = side.topic(name)
        topic.produce(batch(1_000, 2_000, 3_000))
        side.ask(fetches(topic, wanted(offset=1)))

    both.agree()


def test_records_that_were_deleted(both: Both) -> None:
    name = both.name("fetch")
    gone = Deleted(name=name, partitions=[DeleteRecordsPartition(partition_index=0, offset=2)])
    for side in both:
        topic = filled(side, name)
        side.quietly(DeleteRecordsRequest(topics=[gone], timeout_ms=10_000))
        for offset in (0, 1, 2, 3):
            side.ask_in_each_version(fetches(topic, wanted(offset=offset)))

    both.agree()


@pytest.mark.parametrize("size", [0, 1, ONE_BATCH, ONE_BATCH + 1, 2 * ONE_BATCH])
def test_the_limit_of_a_partition(both: Both, size: int) -> None:
    name = both.name("fetch")
    for side in both:
        topic = filled(side, name, 2)
        side.ask_in_versions(fetches(topic, wanted(0, size=size), wanted(1, size=size)), 17, 18)

    both.agree()


@pytest.mark.parametrize("size", [0, 1, ONE_BATCH, 3 * ONE_BATCH, 4 * ONE_BATCH])
def test_the_limit_of_a_request(both: Both, size: int) -> None:
    name = both.name("fetch")
    for side in both:
        topic = filled(side, name, 2)
        side.ask_in_versions(fetches(topic, wanted(0), wanted(1), size=size), 17, 18)

    both.agree()


@pytest.mark.parametrize("partition", [1, -1])
def test_a_partition_that_does_not_exist(both: Both, partition: int) -> None:
    name = both.name("fetch")
    for side in both:
        topic = filled(side, name)
        side.ask_in_each_version(fetches(topic, wanted(partition)))
        side.ask_in_each_version(fetches(topic, wanted(0), wanted(partition)))

    both.agree()


@pytest.mark.parametrize("topic_id", [OTHER_ID, NO_UUID])
def test_a_topic_that_does_not_exist(both: Both, topic_id: Uuid) -> None:
    name = both.name("nowhere")
    for side in both:
        topic = Topic(side.connection(), name, topic_id)
        side.ask_in_each_version(fetches(topic, wanted()))

    both.agree()


@pytest.mark.parametrize("epoch", [-2, 0, 1])
def test_epochs_of_the_leader(both: Both, epoch: int) -> None:
    name = both.name("fetch")
    for side in both:
        topic = filled(side, name)
        side.ask_in_each_version(fetches(topic, wanted(epoch=epoch)))

    both.agree()


@pytest.mark.parametrize("last", [0, 1])
def test_the_epoch_that_was_fetched_last(both: Both, last: int) -> None:
    name = both.name("fetch")
    for side in both:
        topic = filled(side, name)
        for offset in (0, 3, 4):
            side.ask_in_each_version(fetches(topic, wanted(offset=offset, last=last)))

    both.agree()


@pytest.mark.parametrize("version", [7, 12, 13, 18])
def test_a_session_tells_only_what_is_new(both: Both, version: int) -> None:
    name = both.name("fetch")
    for side in both:
        topic = filled(side, name, 2)
        first = fetches(topic, wanted(0), wanted(1, 3), session=(0, 0))
        session = side.ask(first, version).session_id
        side.ask(fetches(topic, wanted(0, 3), session=(session, 1)), version)
        side.ask(fetches(topic, session=(session, 2)), version)
        topic.produce(batch(4_000), 1)
        side.ask(fetches(topic, session=(session, 3)), version)
        side.ask(fetches(topic, session=(session, 4), forgotten=(1,)), version)
        side.ask(fetches(topic, session=(session, -1)), version)
        side.ask(fetches(topic, session=(session, 5)), version)

    both.agree()


@pytest.mark.parametrize("epoch", [0, 1, 2, 7, -1])
def test_a_session_of_another_epoch(both: Both, epoch: int) -> None:
    name = both.name("fetch")
    for side in both:
        topic = filled(side, name)
        session = side.ask(fetches(topic, wanted(), session=(0, 0))).session_id
        side.ask(fetches(topic, wanted(offset=1), session=(session, epoch)))

    both.agree()


@pytest.mark.parametrize("epoch", [0, 1, -1])
def test_a_session_that_does_not_exist(both: Both, epoch: int) -> None:
    name = both.name("fetch")
    for side in both:
        topic = filled(side, name)
        # The answer to epoch 0 is a new session.
        side.ask_in_versions(fetches(topic, wanted(), session=(12_345, epoch)), 7, 18)

    both.agree()


def test_a_session_with_a_partition_that_does_not_exist(both: Both) -> None:
    name = both.name("fetch")
    for side in both:
        topic = filled(side, name)
        session = side.ask(fetches(topic, wanted(0), wanted(5), session=(0, 0))).session_id
        side.ask(fetches(topic, session=(session, 1)))
        side.ask(fetches(topic, wanted(0, 99), session=(session, 2)))
        side.ask(fetches(topic, session=(session, 3)))

    both.agree()


def test_a_fetch_waits_for_records(both: Both) -> None:
    name = both.name("fetch")
    for side in both:
        topic = side.topic(name)
        patient = FetchRequest(
            max_wait_ms=10_000,
            min_bytes=1,
            topics=[FetchTopic(topic=name, topic_id=topic.id, partitions=[wanted()])],
        )
        waiting = side.begin(patient, by="other")
        topic.produce(batch(1_000))
        waiting.result()

    both.agree()


def test_nothing_is_asked(both: Both) -> None:
    for side in both:
        nothing = FetchRequest(max_wait_ms=0, min_bytes=0, topics=[])
        side.ask_in_each_version(nothing)

    both.agree()
