from __future__ import annotations

import copy
import gc
import pickle
import sys
import tracemalloc
from types import ModuleType
from typing import Any

import pytest

import kafka_aio
from kafka_aio.errors import CorruptRecord
from kafka_aio.records.compression import Codec, Compression
from kafka_aio.types import TimestampType
from tests.unit.records.samples import NOW, batch, good_batch, record, written

FIELDS = (
    "topic", "partition", "offset", "timestamp", "key", "value", "headers", "timestamp_type",
    "leader_epoch",
)  # fmt: skip


def one(codec: ModuleType, **changes: Any) -> Any:
    fields: dict[str, Any] = {
        "topic": "orders",
        "partition": 3,
        "offset": 7,
        "timestamp": NOW,
        "key": b"key",
        "value": b"value",
        "headers": [("h", b"1"), ("h", None)],
        "timestamp_type": TimestampType.LOG_APPEND_TIME,
        "leader_epoch": 5,
    }
    return codec.Record(**{**fields, **changes})


def test_a_record_has_its_parts(codec: ModuleType) -> None:
    only = one(codec)

    assert (only.topic, only.partition, only.offset, only.timestamp) == ("orders", 3, 7, NOW)
    assert (only.key, only.value) == (b"key", b"value")
    assert only.headers == (("h", b"1"), ("h", None))
    assert only.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert only.leader_epoch == 5


def test_a_record_has_defaults(codec: ModuleType) -> None:
    only = codec.Record("t", 0, 1, 2)

    assert (only.key, only.value, only.headers, only.leader_epoch) == (None, None, (), -1)
    assert only.timestamp_type is TimestampType.CREATE_TIME


@pytest.mark.parametrize(
    "name",
    [*FIELDS, "other"],
)
def test_a_record_does_not_change(codec: ModuleType, name: str) -> None:
    only = one(codec)
    with pytest.raises(AttributeError):
        setattr(only, name, getattr(only, name, None))


@pytest.mark.parametrize("name", ["topic", "key", "headers"])
def test_nothing_is_taken_off_a_record(codec: ModuleType, name: str) -> None:
    only = one(codec)
    with pytest.raises((AttributeError, TypeError)):
        delattr(only, name)

    assert only == one(codec)


def test_records_are_equal_by_their_parts(codec: ModuleType) -> None:
    assert one(codec) == one(codec)
    assert hash(one(codec)) == hash(one(codec))
    assert len({one(codec), one(codec)}) == 1
    assert one(codec) != "something else"


@pytest.mark.parametrize(
    "change",
    [
        {"topic": "x"},
        {"partition": 4},
        {"offset": 8},
        {"timestamp": 1},
        {"key": None},
        {"value": b""},
        {"headers": ()},
        {"timestamp_type": TimestampType.CREATE_TIME},
        {"leader_epoch": -1},
    ],
)
def test_records_differ_by_any_part(codec: ModuleType, change: dict[str, Any]) -> None:
    assert one(codec) != one(codec, **change)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_record_is_pickled(codec: ModuleType, protocol: int) -> None:
    only = one(codec)

    assert pickle.loads(pickle.dumps(only, protocol)) == only


def test_a_record_is_copied(codec: ModuleType) -> None:
    only = one(codec)

    assert copy.copy(only) == only
    assert copy.deepcopy(only) == only


def test_a_record_shows_sizes_and_no_payload(codec: ModuleType) -> None:
    assert repr(one(codec)) == (
        f"<Record orders-3@7 timestamp={NOW} key=3 bytes value=5 bytes headers=2>"
    )
    assert "key=null value=null" in repr(one(codec, key=None, value=None))


@pytest.mark.parametrize("change", [{"key": "text"}, {"value": 5}, {"headers": [("h", "text")]}])
def test_a_record_holds_bytes_only(codec: ModuleType, change: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        one(codec, **change)


@pytest.mark.parametrize("kind", [2, 5, -2, 127])
def test_a_kind_of_time_that_there_is_not_is_refused(codec: ModuleType, kind: int) -> None:
    with pytest.raises(ValueError, match="TimestampType"):
        one(codec, timestamp_type=kind)


def test_a_record_names_its_types_in_annotations(codec: ModuleType) -> None:
    assert str(codec.Record[bytes, str]).endswith("Record[bytes, str]")


# -- nothing is kept that was let go


def test_records_outlive_the_bytes_they_were_read_from(codec: ModuleType) -> None:
    data = bytearray(good_batch(0, 3))
    reader = codec.RecordReader(data)
    records = reader.read()
    columns = codec.RecordReader(bytes(data)).columns()
    del reader
    gc.collect()
    data[:] = bytes(len(data))

    assert [item.value for item in records] == [b"v0", b"v1", b"v2"]
    assert bytes(columns.value.data) == b"v0v1v2"


def test_the_bytes_are_held_while_a_reader_lives_and_let_go_with_it(codec: ModuleType) -> None:
    data = bytearray(good_batch(0, 3))
    reader = codec.RecordReader(data)
    with pytest.raises(BufferError):
        data.append(1)
    del reader
    gc.collect()
    data.append(1)

    assert len(data) == len(good_batch(0, 3)) + 1


def test_keys_and_values_written_are_not_kept(codec: ModuleType) -> None:
    key, value, header = bytes(500), bytes(501), bytes(502)
    before = [sys.getrefcount(part) for part in (key, value, header)]
    builder = codec.BatchBuilder(10_000_000)
    for _ in range(100):
        builder.append(key, value, NOW, [("h", header)])
        builder.append_many([value, value], NOW, keys=[key, key])
        with pytest.raises(TypeError):
            builder.append(key, "text", NOW)
    wire = builder.finish()
    codec.RecordReader(wire).read()

    assert [sys.getrefcount(part) for part in (key, value, header)] == before


@pytest.mark.parametrize("number", [Codec.NONE, Codec.LZ4])
def test_a_hundred_thousand_records_written_and_read_leave_nothing_behind(
    codec: ModuleType, number: Codec
) -> None:
    repeats = 100 if codec.CRC32C_BY != "python" else 2
    headers = [("h", b"1"), ("i", None)]
    broken = batch(record(0), record(0, headers=[(b"h", b"1")]))

    def work() -> None:
        builder = codec.BatchBuilder(1 << 20)
        for index in range(500):
            builder.append(b"key", b"value%d" % index, NOW, headers)
        builder.append_many([b"value"] * 500, NOW, keys=[b"key"] * 500)
        wire = builder.finish(Compression(number))
        assert len(codec.RecordReader(wire, "t", 0).read()) == 1000
        assert codec.RecordReader(wire, "t", 0).columns(headers=True).rows == 1000
        reader = codec.RecordReader(broken)
        reader.read()
        with pytest.raises(CorruptRecord):
            reader.columns(headers=True)

    for _ in range(3):
        work()
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    blocks = sys.getallocatedblocks()
    for _ in range(repeats):
        work()
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert after - before < 100_000
    assert sys.getallocatedblocks() - blocks < 1000


def test_no_record_is_shared_with_the_next(codec: ModuleType) -> None:
    data = written(codec, [(None, b"%d" % index, NOW, ()) for index in range(3000)])
    kept = codec.RecordReader(data).read()[::2]
    codec.RecordReader(data).read()

    assert [item.value for item in kept] == [b"%d" % index for index in range(0, 3000, 2)]


def test_a_pickled_record_does_not_say_which_codec_made_it() -> None:
    chosen = kafka_aio.Record("orders", 3, 7, 1, b"key", b"value", [("name", b"1")])
    pickled = pickle.dumps(chosen)

    assert b"_codec" not in pickled
    assert pickle.loads(pickled) == chosen
