"""Batches as other Python clients write and read them; no broker is needed."""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords as AiokafkaRecords

from kafka_aio.records.compression import Codec, Compression
from kafka_aio.records.layout import ProducerStamp
from tests.unit.records.samples import NOW, codecs

with warnings.catch_warnings():  # of importlib.resources, which it reads its schemas with
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record import MemoryRecords as KafkaPythonRecords
    from kafka.record import MemoryRecordsBuilder as KafkaPythonBuilder

HEADERS: list[tuple[str, bytes | None]] = [("h", b"1"), ("h", None), ("\u00fc", b"")]
ITEMS: list[tuple[bytes | None, bytes | None, int, list[tuple[str, bytes | None]]]] = [
    (b"key", b"value", NOW, HEADERS),
    (None, b"", NOW - 5, []),
    (b"", None, NOW + 300, []),
    *[(b"k%d" % index, b"v" * index * 7, NOW + index, HEADERS[:1]) for index in range(200)],
]
# kafka-python reads snappy and zstd with packages that are not among ours.
READ_BY_KAFKA_PYTHON = [Codec.NONE, Codec.GZIP, Codec.LZ4]


@pytest.fixture(params=codecs, ids=lambda module: module.__name__.rpartition(".")[2])
def codec(request: pytest.FixtureRequest) -> ModuleType:
    module: ModuleType = request.param
    return module


def built(codec: ModuleType, number: Codec) -> bytes:
    builder = codec.BatchBuilder(1 << 20)
    for key, value, timestamp, headers in ITEMS:
        assert builder.append(key, value, timestamp, headers)
    stamp = ProducerStamp(7, 3, 11, transactional=True)
    return bytes(builder.finish(Compression(number), stamp, base_offset=500))


def told(batch: Any) -> list[tuple[Any, ...]]:
    """What a foreign reader makes of a batch."""
    return [
        (item.offset, item.timestamp, item.key, item.value, [tuple(pair) for pair in item.headers])
        for item in batch
    ]


EXPECTED = [
    (500 + index, timestamp, key, value, headers)
    for index, (key, value, timestamp, headers) in enumerate(ITEMS)
]


@pytest.mark.parametrize("number", list(Codec))
def test_aiokafka_reads_our_batches(codec: ModuleType, number: Codec) -> None:
    batches = AiokafkaRecords(built(codec, number))
    batch = batches.next_batch()

    assert batch.validate_crc()
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (7, 3, 11)
    assert batch.is_transactional
    assert told(batch) == EXPECTED
    assert not batches.has_next()


@pytest.mark.parametrize("number", READ_BY_KAFKA_PYTHON)
def test_kafka_python_reads_our_batches(codec: ModuleType, number: Codec) -> None:
    batches = KafkaPythonRecords(built(codec, number))
    batch = batches.next_batch()

    assert batch.validate_crc()
    assert told(batch) == EXPECTED
    assert not batches.has_next()


@pytest.mark.parametrize("number", list(Codec))
def test_batches_of_aiokafka_are_read(codec: ModuleType, number: Codec) -> None:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=number,
        is_transactional=1,
        producer_id=7,
        producer_epoch=3,
        base_sequence=11,
        batch_size=1 << 20,
    )
    for index, (key, value, timestamp, headers) in enumerate(ITEMS):
        assert builder.append(index, timestamp, key, value, headers) is not None
    records = codec.RecordReader(bytes(builder.build())).read()

    seen = [(item.key, item.value, item.timestamp, list(item.headers)) for item in records]
    assert seen == ITEMS


# As installed here neither writes lz4 in format 0, with its wrong checksum. Java did: golden.py.
@pytest.mark.parametrize(
    ("magic", "number"),
    [
        *((0, number) for number in (Codec.NONE, Codec.GZIP, Codec.SNAPPY)),
        *((1, number) for number in (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)),
    ],
)
def test_message_sets_of_aiokafka_are_read(codec: ModuleType, magic: int, number: Codec) -> None:
    builder = LegacyRecordBatchBuilder(magic=magic, compression_type=number, batch_size=1 << 20)
    for index, (key, value, timestamp, _) in enumerate(ITEMS):
        assert builder.append(index, timestamp, key, value) is not None
    data = bytearray(builder.build())
    if number is not Codec.NONE:  # the broker gives the wrapper the offset of its last message
        data[0:8] = (len(ITEMS) - 1).to_bytes(8, "big")
    reader = codec.RecordReader(bytes(data))
    records = reader.read()

    assert [(item.key, item.value) for item in records] == [item[:2] for item in ITEMS]
    assert [item.offset for item in records] == list(range(len(ITEMS)))
    times = [item.timestamp for item in records]
    assert times == ([-1] * len(ITEMS) if magic == 0 else [item[2] for item in ITEMS])


@pytest.mark.parametrize(
    ("magic", "number"),
    [
        *((0, number) for number in (Codec.NONE, Codec.GZIP)),
        *((magic, number) for magic in (1, 2) for number in READ_BY_KAFKA_PYTHON),
    ],
)
def test_batches_of_kafka_python_are_read(codec: ModuleType, magic: int, number: Codec) -> None:
    builder = KafkaPythonBuilder(magic=magic, compression_type=number, batch_size=1 << 20)
    for key, value, timestamp, headers in ITEMS:
        builder.append(timestamp, key, value, headers if magic == 2 else [])
    builder.close()
    data = bytearray(builder.buffer())
    if magic < 2 and number is not Codec.NONE:
        data[0:8] = (len(ITEMS) - 1).to_bytes(8, "big")
    records = codec.RecordReader(bytes(data)).read()

    assert [(item.key, item.value) for item in records] == [item[:2] for item in ITEMS]
    if magic == 2:
        assert [list(item.headers) for item in records] == [item[3] for item in ITEMS]
