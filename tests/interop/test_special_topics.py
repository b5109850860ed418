"""Topics whose broker changes what it was given: its own clock, compaction, recompression."""

from __future__ import annotations

import time

import pytest

from kafka_aio.records import _codec_py, codec
from kafka_aio.records.batch import FetchedBatch, verify
from kafka_aio.records.compression import Codec
from kafka_aio.records.layout import BatchHeader
from kafka_aio.types import TimestampType
from tests.interop import peer
from tests.interop.sample import ALL, CODECS, COMPRESSIONS, NOW, SMALL, Written, batch_of
from tests.interop.test_transactions import new_producer
from tests.kafka.cluster import Cluster
from tests.kafka.raw import RawConnection
from tests.kafka.topic import Fetched, Topic

pytestmark = pytest.mark.kafka

TWINS = [codec.RecordReader, _codec_py.RecordReader]


@pytest.mark.parametrize("name", CODECS)
def test_the_time_of_the_broker_is_that_of_every_record(
    connection: RawConnection, kafka: Cluster, name: str
) -> None:
    configs = {"message.timestamp.type": "LogAppendTime"}
    topic = Topic.create(connection, "append-time", configs=configs)

    answer = topic.produce(batch_of(SMALL, COMPRESSIONS[name]))
    records = FetchedBatch(topic.fetch().records, topic.name, 0).records

    assert answer.log_append_time_ms > NOW
    assert {each.timestamp for each in records} == {answer.log_append_time_ms}
    assert {each.timestamp_type for each in records} == {TimestampType.LOG_APPEND_TIME}
    ours = [(each.offset, Written.of(each)) for each in records]
    assert peer.read_by_confluent(kafka, topic.name, [0], len(ours))[0] == ours


@pytest.mark.parametrize("theirs", ["gzip", "snappy", "lz4", "zstd", "uncompressed"])
@pytest.mark.parametrize("ours", CODECS)
def test_what_the_broker_compresses_anew_is_what_we_sent(
    connection: RawConnection, ours: str, theirs: str
) -> None:
    topic = Topic.create(connection, "anew", configs={"compression.type": theirs})
    topic.produce(batch_of(ALL, COMPRESSIONS[ours]))

    fetched = topic.fetch().records

    records = FetchedBatch(fetched, topic.name, 0).records
    assert [Written.of(each) for each in records] == ALL
    expected = Codec.NONE if theirs == "uncompressed" else Codec[theirs.upper()]
    assert {header.codec for header in verify(fetched)} == {expected}


@pytest.fixture(scope="module")
def compacted(connection: RawConnection) -> Topic:
    """A topic after compaction: gaps, tombstones, an emptied batch, and a delete horizon.

    Each batch is a segment, as its records are a day older than the next one's.
    """
    configs = {
        "cleanup.policy": "compact",
        "segment.ms": "1000",
        "min.cleanable.dirty.ratio": "0.001",
        "min.compaction.lag.ms": "0",
        "delete.retention.ms": "3600000",
    }
    topic = Topic.create(connection, "compacted", configs=configs)
    stamp = new_producer(connection)
    sequence = 0
    for day, records in enumerate(LOG):
        dated = [each._replace(timestamp=NOW + 86_400_000 * day + at) for at, each in records]
        marks = stamp._replace(base_sequence=sequence)
        topic.produce(batch_of(dated, COMPRESSIONS[CODECS[day]], marks))
        sequence += len(records)
    # The only batch of its producer: emptied, but kept for its sequence.
    topic.produce(batch_of([Written(b"lone", b"1", NOW)], stamp=new_producer(connection)))
    topic.produce(batch_of([Written(b"lone", b"2", NOW + 86_400_000 * 50)]))
    topic.produce(batch_of([Written(b"active segment", b"1", NOW + 86_400_000 * 99)]))
    deadline = time.monotonic() + 30
    while not is_clean(topic.fetch()):
        assert time.monotonic() < deadline, list(verify(topic.fetch().records))
        time.sleep(0.1)
    return topic


def entry(key: str, value: str | None) -> Written:
    headers = (("h", key.encode()), ("null", None))
    return Written(key.encode(), None if value is None else value.encode(), NOW, headers)


LOG = [
    list(enumerate([entry("a", "1"), entry("b", "1"), entry("c", "1"), entry("keep", "1")])),
    list(enumerate([entry("a", "2"), entry("b", "2"), entry("x", "1")])),
    list(enumerate([entry("b", None), entry("x", None), entry("a", "3"), entry("d", "1")])),
    list(enumerate([entry("c", "2"), entry("d", "2")])),
]


def is_clean(fetched: Fetched) -> bool:
    headers = list(verify(fetched.records))
    has_horizon = any(header.delete_horizon is not None for header in headers)
    return has_horizon and any(header.record_count == 0 for header in headers)


def headers_of(topic: Topic) -> list[BatchHeader]:
    return list(verify(topic.fetch().records))


@pytest.mark.parametrize("reader", TWINS, ids=["chosen", "twin"])
def test_a_compacted_log_is_read_with_its_gaps_and_tombstones(
    compacted: Topic, reader: type[codec.RecordReader]
) -> None:
    walk = reader(compacted.fetch().records, compacted.name, 0)
    records = walk.read()

    assert [(each.offset, each.key, each.value) for each in records] == [
        (3, b"keep", b"1"),
        (7, b"b", None),
        (8, b"x", None),
        (9, b"a", b"3"),
        (11, b"c", b"2"),
        (12, b"d", b"2"),
        (14, b"lone", b"2"),
        (15, b"active segment", b"1"),
    ]
    assert records[0].headers == (("h", b"keep"), ("null", None))
    assert walk.next_offset == compacted.end() == 16


def test_others_read_the_same_compacted_log(kafka: Cluster, compacted: Topic) -> None:
    records = FetchedBatch(compacted.fetch().records, compacted.name, 0).records
    ours = [(each.offset, Written.of(each)) for each in records]

    assert peer.read_by_confluent(kafka, compacted.name, [0], len(ours))[0] == ours
    assert peer.read_by_aiokafka(kafka, compacted.name, [0], len(ours))[0] == ours


def test_the_batch_with_the_tombstones_has_a_delete_horizon(compacted: Topic) -> None:
    horizons = {
        header.base_offset: header.delete_horizon
        for header in headers_of(compacted)
        if header.delete_horizon is not None
    }
    records = FetchedBatch(compacted.fetch().records, compacted.name, 0).records

    (horizon,) = horizons.values()
    assert horizon > time.time() * 1000
    assert [each.timestamp for each in records if each.value is None] == [
        NOW + 86_400_000 * 2,
        NOW + 86_400_000 * 2 + 1,
    ]


def test_an_emptied_batch_moves_the_position_past_it(compacted: Topic) -> None:
    data = compacted.fetch().records
    headers = headers_of(compacted)
    (empty,) = [header for header in headers if header.record_count == 0]
    start = sum(header.size for header in headers[: headers.index(empty)])

    reader = codec.RecordReader(data[start : start + empty.size])

    assert reader.read() == []
    assert reader.is_done
    assert reader.next_offset == empty.last_offset + 1


def test_a_compacted_log_is_read_from_its_files(kafka: Cluster, compacted: Topic) -> None:
    log = b"".join(file.read_bytes() for file in kafka.segments(compacted.name))

    assert FetchedBatch(log, compacted.name, 0).records == (
        FetchedBatch(compacted.fetch().records, compacted.name, 0).records
    )
