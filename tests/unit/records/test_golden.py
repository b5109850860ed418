from __future__ import annotations

from types import ModuleType

import pytest

from kafka_aio.records.compression import Codec, Compression
from kafka_aio.records.layout import ProducerStamp
from kafka_aio.types import TimestampType
from tests.unit.records.golden import GOLDEN
from tests.unit.records.samples import NOW, offsets_of, plain, values_of

HEADERS = (("h", b"1"), ("h", None), ("\u00fc", b""))
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
LEGACY = [name for name in GOLDEN if name.startswith(("v0", "v1"))]


def golden(name: str) -> bytes:
    return bytes.fromhex(GOLDEN[name])


@pytest.mark.parametrize("name", CODECS)
def test_a_batch_of_kafka_s_own_is_read(codec: ModuleType, name: str) -> None:
    reader = codec.RecordReader(golden(f"v2_{name}"), "orders", 3)
    records = reader.read()

    create = TimestampType.CREATE_TIME
    assert records == [
        codec.Record("orders", 3, 1000, NOW, b"key", b"value", HEADERS, create, 5),
        codec.Record("orders", 3, 1001, NOW - 1, None, b"", (), create, 5),
        codec.Record("orders", 3, 1002, NOW + 300, b"", None, (), create, 5),
    ]
    assert (reader.next_offset, reader.is_done, reader.is_incomplete) == (1003, True, False)


@pytest.mark.parametrize("name", ["none", "snappy", "lz4"])
def test_the_same_records_give_the_bytes_that_kafka_wrote(codec: ModuleType, name: str) -> None:
    # Snappy and lz4 keep what is so short as it is. gzip notes the operating system in its header,
    # and zstd is told the size ahead, which Java's stream does not know.
    builder = codec.BatchBuilder(4096)
    builder.append(b"key", b"value", NOW, HEADERS)
    builder.append(None, b"", NOW - 1)
    builder.append(b"", None, NOW + 300)
    compression = Compression(Codec[name.upper()])
    wire = builder.finish(compression, ProducerStamp(7, 3, 11), base_offset=1000, leader_epoch=5)

    assert wire.hex() == GOLDEN[f"v2_{name}"]


def test_a_transactional_batch_gives_the_bytes_that_kafka_wrote(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(4096)
    builder.append(b"k", b"v", NOW)
    stamp = ProducerStamp(7, 3, 11, transactional=True)
    wire = builder.finish(stamp=stamp, base_offset=60, leader_epoch=5)

    assert wire.hex() == GOLDEN["v2_transactional"]


def test_a_control_batch_gives_the_bytes_that_kafka_wrote(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(4096)
    builder.append(bytes.fromhex("00000000"), bytes.fromhex("000000000000"), NOW)
    stamp = ProducerStamp(7, 3, -1, transactional=True)
    wire = builder.finish(stamp=stamp, base_offset=70, leader_epoch=4, control=True)

    assert wire.hex() == GOLDEN["v2_abort_marker"]


def test_log_append_time_is_the_time_of_every_record(codec: ModuleType) -> None:
    records = codec.RecordReader(golden("v2_log_append_time")).read()

    assert [(item.value, item.timestamp) for item in records] == [
        (b"v", NOW + 999),
        (b"w", NOW + 999),
    ]
    assert {item.timestamp_type for item in records} == {TimestampType.LOG_APPEND_TIME}


def test_a_batch_emptied_by_compaction_moves_the_position(codec: ModuleType) -> None:
    reader = codec.RecordReader(golden("v2_empty_after_compaction"))

    assert reader.read() == []
    assert (reader.next_offset, reader.is_done) == (210, True)


def test_a_delete_horizon_in_place_of_the_base_timestamp_changes_no_timestamp(
    codec: ModuleType,
) -> None:
    (tombstone,) = codec.RecordReader(golden("v2_delete_horizon")).read()

    assert (tombstone.key, tombstone.value) == (b"gone", None)
    assert tombstone.timestamp == NOW


def test_markers_that_kafka_wrote_are_not_handed_over(codec: ModuleType) -> None:
    data = golden("v2_transactional") + golden("v2_abort_marker") + golden("v2_commit_marker")
    reader = codec.RecordReader(data)

    assert offsets_of(reader.read()) == [60]
    assert reader.next_offset == 72


def test_an_abort_marker_that_kafka_wrote_ends_the_transaction(codec: ModuleType) -> None:
    later = bytearray(golden("v2_transactional"))
    later[7] = 80
    data = golden("v2_transactional") + golden("v2_abort_marker") + bytes(later)
    reader = codec.RecordReader(data, aborted=[(7, 60)])

    assert offsets_of(reader.read()) == [80]


@pytest.mark.parametrize("name", LEGACY)
def test_a_message_set_of_kafka_s_own_is_read(codec: ModuleType, name: str) -> None:
    records = codec.RecordReader(golden(name), "old", 1).read()

    assert [(item.offset, item.key, item.value) for item in records] == [
        (1000, b"key", b"value"),
        (1001, None, b""),
        (1002, b"", None),
    ]
    assert {item.leader_epoch for item in records} == {-1}
    assert {item.headers for item in records} == {()}
    times = {(item.timestamp, item.timestamp_type) for item in records}
    if name.startswith("v0"):
        assert times == {(-1, TimestampType.NO_TIMESTAMP)}
    elif name.endswith("log_append_time"):
        assert times == {(NOW + 999, TimestampType.LOG_APPEND_TIME)}
    else:
        assert times == {(NOW + delta, TimestampType.CREATE_TIME) for delta in (0, 1, -1)}


@pytest.mark.parametrize("name", LEGACY)
def test_a_message_set_gives_the_same_in_columns(codec: ModuleType, name: str) -> None:
    columns = codec.RecordReader(golden(name) * 2, "old", 1).columns(headers=True)

    assert columns.rows == 3  # the second time, the offsets were seen already
    assert plain(columns.value)[1] == b"value"
    assert plain(columns.key)[1] == b"key"
    assert plain(columns.value)[2] == b"\x03"
    assert plain(columns.key)[2] == b"\x05"


def test_formats_follow_one_another_as_in_a_log_that_was_upgraded(codec: ModuleType) -> None:
    data = golden("v0_gzip") + golden("v1_lz4").replace(b"\x03\xea", b"\x07\xd2", 1)
    data += golden("v2_none").replace(b"\x03\xe8", b"\x0f\xa0", 1)
    reader = codec.RecordReader(data)
    records = reader.read()

    assert offsets_of(records) == [1000, 1001, 1002, 2000, 2001, 2002, 4000, 4001, 4002]
    assert values_of(records) == [b"value", b"", None] * 3
