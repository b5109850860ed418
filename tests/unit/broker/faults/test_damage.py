from __future__ import annotations

import struct
from random import Random

import pytest

from kafka_aio.broker.faults.damage import changed, corrupted, nonsense
from kafka_aio.errors import CorruptRecord
from kafka_aio.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from kafka_aio.records.batch import FetchedBatch, verify
from kafka_aio.records.codec import BatchBuilder
from tests.unit.broker.clusters import made


def batch(value: bytes) -> memoryview:
    builder = BatchBuilder(1000)
    builder.append(None, value, 0)
    return builder.finish()


def partition(index: int, records: bytes | None) -> PartitionData:
    return PartitionData(
        partition_index=index,
        error_code=0,
        high_watermark=1,
        aborted_transactions=None,
        records=records,
    )


def fetched(*partitions: PartitionData, topic: str = "t") -> FetchResponse:
    answer = FetchableTopicResponse(topic=topic, partitions=list(partitions))
    return FetchResponse(throttle_time_ms=0, responses=[answer])


def test_a_changed_message_leaves_the_old_one_as_it_was() -> None:
    before = fetched()

    after = changed(before, throttle_time_ms=5)

    assert (before.throttle_time_ms, after.throttle_time_ms) == (0, 5)
    assert after.responses is before.responses


def test_what_is_hit_has_a_wrong_checksum_and_the_rest_is_as_it_was() -> None:
    good = bytes(batch(b"a")) + bytes(batch(b"b"))
    response = fetched(partition(0, good), partition(1, good), partition(2, None))

    damaged = corrupted(response, lambda topic, index: index != 1, names={})

    first, second, third = damaged.responses[0].partitions
    assert first.records is not None
    assert second.records == good
    assert third.records is None
    with pytest.raises(CorruptRecord, match="CRC"):
        verify(first.records)
    assert len(first.records) == len(good)
    assert sum(a != b for a, b in zip(bytes(first.records), good, strict=True)) == 1
    assert FetchedBatch(good, "t", 0).records
    assert response.responses[0].partitions[0].records == good


def test_topics_that_are_known_by_id_are_found() -> None:
    state = made(topics={"orders": 1})
    topic = state.topics.by_name["orders"]
    answer = FetchableTopicResponse(topic_id=topic.id, partitions=[partition(0, bytes(batch(b"")))])
    response = FetchResponse(throttle_time_ms=0, responses=[answer])
    seen: list[tuple[str, int]] = []

    def see(topic: str, partition: int) -> bool:
        seen.append((topic, partition))
        return True

    corrupted(response, see, names=state.topics.by_id)

    assert seen == [("orders", 0)]


@pytest.mark.parametrize("correlation_id", [0, 1, -1, 2**31 - 1, -(2**31)])
def test_nonsense_is_a_whole_frame_that_answers_nothing(correlation_id: int) -> None:
    frame = nonsense(correlation_id, Random(1))

    length, answered = struct.unpack_from(">ii", frame)
    assert length == len(frame) - 4
    assert answered != correlation_id
    assert nonsense(correlation_id, Random(1)) == frame
