from __future__ import annotations

import pytest

from kafka_aio.broker.log.batches import (
    Batch,
    InflatesTooFar,
    RecordsRejected,
    accept,
    batch_size,
    only_batch,
)
from kafka_aio.broker.topics.partitions import Partition
from kafka_aio.errors import (
    BrokerError,
    CorruptMessage,
    InvalidRecord,
    MessageTooLarge,
    UnknownServerError,
    UnsupportedCompressionType,
)
from kafka_aio.records.batch import verify
from kafka_aio.records.compression import Codec
from kafka_aio.records.layout import CONTROL, LOG_APPEND_TIME, ProducerStamp
from tests.unit.broker.clusters import WALL_MS, made
from tests.unit.broker.producing import batch, header_of, patched, values

HOUR = 3_600_000


def partition(**configs: str) -> Partition:
    state = made()
    named = {name.replace("_", "."): value for name, value in configs.items()}
    return state.topics.create("t", partitions=1, configs=named).partitions[0]


def accepted(data: memoryview, place: Partition | None = None) -> Batch:
    return accept(Batch(data, header_of(data)), place or partition(), WALL_MS)


# Which bytes are the batch


def test_the_batch_is_found_in_what_was_sent() -> None:
    sent = batch(b"a")

    found = only_batch(sent, 12)

    assert found.data == sent
    assert found.header == header_of(sent)


def test_a_few_bytes_after_it_are_left_out() -> None:
    sent = batch(b"a")

    found = only_batch(memoryview(bytes(sent) + b"hello"), 12)

    assert found.data == sent


def test_a_whole_header_after_it_is_no_few_bytes() -> None:
    with pytest.raises(CorruptMessage, match="Record size 0"):
        only_batch(memoryview(bytes(batch(b"a")) + bytes(16)), 12)


@pytest.mark.parametrize("length", [0, 5, 16, 40])
def test_a_batch_that_is_cut_short_is_none(length: int) -> None:
    with pytest.raises(InvalidRecord, match="there is no batch"):
        only_batch(batch(b"a")[:length], 12)


def test_two_batches_are_refused() -> None:
    with pytest.raises(InvalidRecord, match="more than one"):
        only_batch(memoryview(bytes(batch(b"a")) * 2), 12)


@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats_are_refused(magic: int) -> None:
    with pytest.raises(InvalidRecord, match=f"format {magic}, not 2"):
        only_batch(patched(batch(b"a"), magic=magic), 12)


@pytest.mark.parametrize("magic", [3, -1])
def test_formats_that_nobody_knows_are_corrupt(magic: int) -> None:
    with pytest.raises(CorruptMessage, match="Invalid magic found in record"):
        only_batch(patched(batch(b"a"), magic=magic), 12)


def test_a_length_that_cannot_be_is_corrupt() -> None:
    with pytest.raises(CorruptMessage, match="Record size 13 is less"):
        batch_size(patched(batch(b"a"), length=13), 0)


def test_a_batch_without_a_whole_header_is_corrupt() -> None:
    with pytest.raises(CorruptMessage, match="52 bytes are no batch"):
        only_batch(patched(batch(b"a"), length=40)[:52], 12)


def test_zstd_came_with_version_7() -> None:
    sent = batch(b"a", codec=Codec.ZSTD)

    assert only_batch(sent, 7).data == sent
    with pytest.raises(UnsupportedCompressionType):
        only_batch(sent, 6)


# What is checked


@pytest.mark.parametrize("codec", list(Codec))
def test_a_good_batch_is_taken_as_it_is(codec: Codec) -> None:
    sent = batch(b"a" * 100, b"b", codec=codec)

    assert accepted(sent).data is sent


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"base_offset": 5}, InvalidRecord),
        ({"crc": 1}, CorruptMessage),
        ({"attributes": 5}, UnknownServerError),
        ({"record_count": 0, "last_offset_delta": -1}, InvalidRecord),
        ({"record_count": 3}, InvalidRecord),
        ({"last_offset_delta": 2}, InvalidRecord),
        ({"last_offset_delta": -1}, InvalidRecord),
        ({"attributes": CONTROL}, InvalidRecord),
        ({"producer_id": 7, "producer_epoch": 0}, InvalidRecord),
    ],
)
def test_a_header_that_cannot_be_is_refused(
    fields: dict[str, int], error: type[BrokerError]
) -> None:
    with pytest.raises(error):
        accepted(patched(batch(b"a", b"b"), **fields))


def test_one_flipped_bit_is_seen() -> None:
    damaged = memoryview(bytearray(batch(b"a")))
    damaged[-1] ^= 1

    with pytest.raises(CorruptMessage, match="CRC"):
        accepted(damaged)


def test_what_counts_is_the_size_as_it_is_stored() -> None:
    small = partition(max_message_bytes="1000")

    assert accepted(batch(b"x" * 2_000, codec=Codec.GZIP), small)
    with pytest.raises(MessageTooLarge):
        accepted(batch(b"x" * 2_000), small)


# Compression of the topic


@pytest.mark.parametrize("source", list(Codec))
@pytest.mark.parametrize("target", [*Codec])
def test_a_topic_may_have_a_codec_of_its_own(source: Codec, target: Codec) -> None:
    name = "uncompressed" if target == Codec.NONE else target.name.lower()
    sent = batch(b"x" * 500, b"y", codec=source, stamp=ProducerStamp(7, 1, 3))

    data, header = accepted(sent, partition(compression_type=name))

    assert verify(data) == [header]
    assert header.codec == target
    assert header.stamp == ProducerStamp(7, 1, 3)
    assert values(data) == [b"x" * 500, b"y"]


def test_the_level_is_the_topics() -> None:
    text = b" ".join(b"%d" % (n * n) for n in range(3_000))
    sizes = [
        len(accepted(batch(text), partition(compression_type="gzip", **level)).data)
        for level in ({"compression_gzip_level": "1"}, {"compression_gzip_level": "9"})
    ]

    assert sizes[0] > sizes[1]


def test_a_batch_that_became_too_large_is_refused() -> None:
    place = partition(compression_type="uncompressed", max_message_bytes="1000")

    with pytest.raises(MessageTooLarge, match="when compressed by uncompressed"):
        accepted(batch(b"x" * 2_000, codec=Codec.GZIP), place)


def test_a_payload_that_does_not_inflate_is_refused_where_it_must() -> None:
    damaged = patched(batch(b"x" * 100), attributes=Codec.GZIP)

    assert accepted(damaged).data is damaged
    with pytest.raises(UnknownServerError, match="gzip"):
        accepted(damaged, partition(compression_type="lz4"))


@pytest.mark.parametrize("codec", [each for each in Codec if each is not Codec.NONE])
@pytest.mark.parametrize(
    "configs", [{"compression_type": "uncompressed"}, {"cleanup_policy": "compact"}]
)
def test_a_small_batch_that_becomes_a_huge_one_is_refused_with_a_reason(
    monkeypatch: pytest.MonkeyPatch, codec: Codec, configs: dict[str, str]
) -> None:
    monkeypatch.setattr("kafka_aio.broker.log.batches.MAX_INFLATED", 1_000)

    with pytest.raises(InflatesTooFar, match=r"more than the 1000 bytes that .* smaller batches"):
        accepted(batch(b"x" * 2_000, codec=codec), partition(**configs))


# Timestamps


def test_records_from_the_future_are_named() -> None:
    sent = batch(b"a", b"b", timestamp=WALL_MS + HOUR)

    with pytest.raises(RecordsRejected) as caught:
        accepted(sent)

    assert caught.value.code == 32
    assert caught.value.message == "One or more records have been rejected due to invalid timestamp"
    ((index, reason),) = caught.value.records
    assert index == 1
    assert reason.startswith(f"Timestamp {WALL_MS + HOUR + 1} of message with offset 1 is out of")
    assert reason.endswith(f", {WALL_MS + HOUR}]")


@pytest.mark.parametrize("codec", list(Codec))
def test_old_records_are_refused_where_the_topic_says_so(codec: Codec) -> None:
    place = partition(message_timestamp_before_max_ms="1000")

    assert accepted(batch(timestamp=WALL_MS - 1_000, codec=codec), place)
    with pytest.raises(RecordsRejected):
        accepted(batch(timestamp=WALL_MS - 1_001, codec=codec), place)
    assert accepted(batch(timestamp=1, codec=codec))


def test_records_without_a_timestamp_are_of_any_time() -> None:
    place = partition(message_timestamp_before_max_ms="1000")

    assert accepted(patched(batch(timestamp=1), base_timestamp=-1, max_timestamp=-1), place)


def test_a_topic_that_stamps_takes_any_timestamp() -> None:
    place = partition(
        message_timestamp_type="LogAppendTime",
        message_timestamp_before_max_ms="1",
        message_timestamp_after_max_ms="1",
    )

    assert accepted(batch(timestamp=1), place)
    assert accepted(batch(timestamp=2 * WALL_MS), place)


def test_a_producer_does_not_stamp_for_the_broker() -> None:
    place = partition(message_timestamp_type="LogAppendTime")

    with pytest.raises(RecordsRejected, match="invalid timestamp") as caught:
        accepted(patched(batch(b"a", b"b"), attributes=LOG_APPEND_TIME), place)

    assert [index for index, _ in caught.value.records] == [0, 1]


def test_the_mark_of_the_broker_is_taken_off_where_producers_stamp() -> None:
    data, header = accepted(patched(batch(b"a", b"b"), attributes=LOG_APPEND_TIME))

    assert verify(data) == [header]
    assert not header.is_log_append_time


# Compaction


@pytest.mark.parametrize("codec", list(Codec))
def test_a_compacted_topic_wants_keys(codec: Codec) -> None:
    place = partition(cleanup_policy="compact")

    assert accepted(batch(b"a", codec=codec), place)
    with pytest.raises(RecordsRejected) as caught:
        accepted(batch(*[b"a"] * 4, key=None, codec=codec), place)

    assert caught.value.code == 87
    assert [index for index, _ in caught.value.records] == [0, 1, 2, 3]
    assert "4 record errors in total" in caught.value.message
    assert "batchIndex=2" in caught.value.message
    assert "batchIndex=3" not in caught.value.message
