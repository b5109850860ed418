"""Batches of others, from a real broker and from its files, read by us."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafka_aio.records import _codec_py, codec
from kafka_aio.records.batch import FetchedBatch, verify
from kafka_aio.records.codec import Record
from kafka_aio.records.compression import Codec
from kafka_aio.types import TimestampType
from tests.interop import peer
from tests.interop.sample import ALL, CODECS, COMPRESSIONS, NAMES, Written
from tests.kafka.cluster import Cluster
from tests.kafka.raw import RawConnection
from tests.kafka.topic import Topic

pytestmark = pytest.mark.kafka

WRITES = {
    "confluent": [name for name in NAMES if name not in ("lz4-17", "zstd--5", "zstd-22")],
    "aiokafka": CODECS,
    "kafka-python": ["none", "gzip", "lz4"],  # the others need packages that are not here
    "java": NAMES,
}
RECORDS = {
    "confluent": [each for each in ALL if each.timestamp],  # to librdkafka, 0 means now
    "aiokafka": [
        each for each in ALL if each[:2] != (None, None)
    ],  # it refuses that, as does the next
    "kafka-python": [
        each
        for each in ALL
        if each[:2] != (None, None) and all(value is not None for _, value in each.headers)
    ],
    "java": ALL,
}
CASES = [(writer, name) for writer, names in WRITES.items() for name in names]
READERS: dict[str, Any] = {
    "chosen": codec.RecordReader,
    "twin": _codec_py.RecordReader,
}


@pytest.fixture(scope="module")
def written_by(kafka: Cluster, connection: RawConnection) -> Callable[[str], Topic]:
    """The topic that a writer has filled; each is asked once."""
    topics: dict[str, Topic] = {}

    def topic_of(writer: str) -> Topic:
        if writer not in topics:
            topic = Topic.create(connection, f"by-{writer}", partitions=len(NAMES))
            partitions = {NAMES.index(name): COMPRESSIONS[name] for name in WRITES[writer]}
            topics[writer] = topic
            peer.WRITERS[writer](kafka, topic.name, partitions, RECORDS[writer])
        return topics[writer]

    return topic_of


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("writer", "name"), CASES)
def test_we_read_what_others_wrote(
    written_by: Callable[[str], Topic], writer: str, name: str, reader: str
) -> None:
    topic, partition = written_by(writer), NAMES.index(name)

    fetched = topic.fetch(partition).records
    records = READERS[reader](fetched, topic.name, partition).read()

    assert [(each.offset, Written.of(each)) for each in records] == list(enumerate(RECORDS[writer]))
    assert {each.timestamp_type for each in records} == {TimestampType.CREATE_TIME}
    codecs = {header.codec for header in verify(fetched)}
    assert COMPRESSIONS[name].codec in codecs  # a batch that would grow may be sent as it is


@pytest.mark.parametrize(("writer", "name"), CASES)
def test_we_read_the_files_of_the_broker(
    kafka: Cluster, written_by: Callable[[str], Topic], writer: str, name: str
) -> None:
    topic, partition = written_by(writer), NAMES.index(name)

    log = b"".join(file.read_bytes() for file in kafka.segments(topic.name, partition))
    records = FetchedBatch(log, topic.name, partition).records

    assert [Written.of(each) for each in records] == RECORDS[writer]
    assert log == topic.fetch(partition).records


@pytest.mark.parametrize(("writer", "name"), CASES)
def test_we_read_the_columns_of_what_others_wrote(
    written_by: Callable[[str], Topic], writer: str, name: str
) -> None:
    topic, partition = written_by(writer), NAMES.index(name)

    table = FetchedBatch(topic.fetch(partition).records, topic.name, partition)
    rows = table.to_arrow(headers=True).to_pylist()

    found = [
        Written(
            row["key"],
            row["value"],
            round(row["timestamp"].timestamp() * 1000),
            tuple((each["key"], each["value"]) for each in row["headers"] or ()),
        )
        for row in rows
    ]
    assert found == RECORDS[writer]


@pytest.mark.parametrize("name", CODECS)
def test_a_fetch_may_end_in_the_middle_of_a_batch(
    written_by: Callable[[str], Topic], name: str
) -> None:
    topic, partition = written_by("aiokafka"), NAMES.index(name)
    found: list[Record] = []
    offset, cut = 0, 0

    while offset < len(RECORDS["aiokafka"]):
        fetched = topic.fetch_once(partition, offset, max_bytes=20_000)
        reader = codec.RecordReader(fetched.records, topic.name, partition, start_offset=offset)
        found += reader.read()
        assert reader.next_offset > offset
        offset, cut = reader.next_offset, cut + reader.is_incomplete

    assert [Written.of(each) for each in found] == RECORDS["aiokafka"]
    assert cut > 0


def test_we_read_what_the_console_producer_wrote(kafka: Cluster, connection: RawConnection) -> None:
    topic = Topic.create(connection, "console")
    lines = [
        "trace:1,same:a,same:b\tkey\tvalue",
        "größe:✓\tclé\tnaïve ✓ \U0001f600",
        "empty:\t\t",
        *(f"n:{number}\tkey {number}\t{'again ' * 50}{number}" for number in range(100)),
    ]

    kafka.tool(
        "org.apache.kafka.tools.ConsoleProducer",
        *("--bootstrap-server", kafka.bootstrap, "--topic", topic.name),
        *("--compression-codec", "snappy"),
        *("--reader-property", "parse.key=true", "--reader-property", "parse.headers=true"),
        given="".join(f"{line}\n" for line in lines),
    )

    assert [as_typed(each) for each in read(topic)] == lines
    assert {header.codec for header in verify(topic.fetch().records)} == {Codec.SNAPPY}


def as_typed(record: Record) -> str:
    headers = ",".join(f"{name}:{(value or b'').decode()}" for name, value in record.headers)
    return f"{headers}\t{(record.key or b'').decode()}\t{(record.value or b'').decode()}"


def read(topic: Topic, partition: int = 0) -> list[Record]:
    return FetchedBatch(topic.fetch(partition).records, topic.name, partition).records
