from __future__ import annotations

import datetime
import struct
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_aio.records import arrow
from kafka_aio.records.batch import FetchedBatch
from kafka_aio.records.columns import BinaryColumn, Columns, HeadersColumn, TimestampColumn
from kafka_aio.records.compression import Codec
from tests.unit.records.samples import NOW, batch, good_batch, message, record

PAIR = pa.struct([("key", pa.string()), ("value", pa.binary())])
SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary(), nullable=True),
        pa.field("value", pa.binary(), nullable=True),
        pa.field("topic", pa.string(), nullable=True),
        pa.field("partition", pa.int32(), nullable=True),
        pa.field("offset", pa.int64(), nullable=True),
        pa.field("timestamp", pa.timestamp("us", tz="UTC"), nullable=True),
        pa.field("timestampType", pa.int32(), nullable=True),
    ]
)
WITH_HEADERS = SCHEMA.append(pa.field("headers", pa.list_(PAIR), nullable=True))


def decoded(data: bytes, **options: Any) -> pa.RecordBatch:
    table = FetchedBatch(data, "orders", 3, **options).to_arrow(headers=True)
    table.validate(full=True)
    return table


def expected(data: bytes, **options: Any) -> list[dict[str, Any]]:
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return [
        {
            "key": item.key,
            "value": item.value,
            "topic": "orders",
            "partition": 3,
            "offset": item.offset,
            "timestamp": epoch + datetime.timedelta(milliseconds=item.timestamp),
            "timestampType": item.timestamp_type,
            "headers": [{"key": key, "value": value} for key, value in item.headers],
        }
        for item in FetchedBatch(data, "orders", 3, **options).records
    ]


# -- out


def test_the_schema_is_that_of_spark_s_kafka_source(codec: ModuleType) -> None:
    fetched = FetchedBatch(good_batch(), "orders", 3)

    assert fetched.to_arrow().schema == SCHEMA == arrow.SCHEMA
    assert fetched.to_arrow(headers=True).schema == WITH_HEADERS == arrow.SCHEMA_WITH_HEADERS


def test_columns_hold_what_the_records_hold(codec: ModuleType) -> None:
    data = batch(
        record(0, None, b"v", [("\u00fc".encode(), None), (b"h", b"1")]),
        record(1, b"", None, time_delta=-7),
        record(5, b"key", b"", [(b"", b"")]),
        base_offset=100,
        last_delta=9,
    )
    data += good_batch(200, 40, codec=Codec.ZSTD) + message(300, b"k", None)

    assert decoded(data).to_pylist() == expected(data)
    assert decoded(data, start_offset=105).to_pylist() == expected(data, start_offset=105)


def test_no_records_are_columns_without_rows(codec: ModuleType) -> None:
    for data in (b"", batch(last_delta=3), good_batch()[:50]):
        table = decoded(data)
        assert (table.num_rows, table.schema) == (0, WITH_HEADERS)


def test_columns_without_a_null_have_no_validity(codec: ModuleType) -> None:
    table = decoded(good_batch(0, 20))

    assert [column.null_count for column in table.columns] == [0] * 8
    assert table.column("value").buffers()[0] is None


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 63, 64, 65])
def test_nulls_are_in_their_rows(codec: ModuleType, rows: int) -> None:
    values = [None if index % 3 == 0 else b"%d" % index for index in range(rows)]
    data = batch(*(record(index, value, value) for index, value in enumerate(values)))
    table = decoded(data)

    assert table.column("value").to_pylist() == values
    assert table.column("key").to_pylist() == values


def test_a_header_key_that_is_not_utf8_makes_valid_columns(codec: ModuleType) -> None:
    data = batch(record(0, headers=[(b"\xff\xfe", b"1"), (b"ok", b"\xff")]))

    assert decoded(data).to_pylist() == expected(data)


def test_columns_outlive_the_bytes_they_were_read_from(codec: ModuleType) -> None:
    data = bytearray(good_batch(0, 50))
    table = FetchedBatch(data, "orders", 3).to_arrow()
    data[:] = bytes(len(data))
    del data

    assert table.column("value").to_pylist() == [b"v%d" % index for index in range(50)]


def test_columns_are_read_in_pieces(codec: ModuleType) -> None:
    data = good_batch(0, 10) + batch(last_delta=4, base_offset=10) + good_batch(15, 7)
    reader = codec.RecordReader(data, "orders", 3)
    rows = []
    while not reader.is_done:
        rows += arrow.to_arrow(reader.columns(4, headers=True)).to_pylist()

    assert rows == expected(data)


@pytest.mark.parametrize("longest", ["key", "value", "header key", "header value"])
@pytest.mark.parametrize("most", [1, 25, 60, 1000])
def test_columns_end_before_one_of_them_is_too_long(
    codec: ModuleType, longest: str, most: int
) -> None:
    parts = dict.fromkeys(("key", "value", "header key", "header value"), b"1")
    parts[longest] = b"12345"
    headers = [(parts["header key"], parts["header value"])]
    items = (record(n, parts["key"], parts["value"], headers) for n in range(20))
    reader = codec.RecordReader(batch(*items), "t", 3)
    pieces = []
    while not reader.is_done:
        pieces.append(reader.columns(headers=True, max_bytes=most))

    assert sum(piece.rows for piece in pieces) == 20
    assert [row for piece in pieces for row in offsets(piece)] == list(range(20))
    for piece in pieces:
        assert piece.rows == 1 or max(sizes(piece)) <= most
    assert (len(pieces) == 1) == (most == 1000)


def offsets(columns: Columns) -> list[int]:
    return list(memoryview(columns.offset).cast("B").cast("q"))


def sizes(columns: Columns) -> list[int]:
    assert columns.headers is not None
    parts = (columns.key, columns.value, columns.headers.keys, columns.headers.values)
    return [memoryview(part.data).nbytes for part in (*parts, columns.topic)]


def test_columns_end_before_the_topics_are_too_long(codec: ModuleType) -> None:
    reader = codec.RecordReader(good_batch(0, 20), "t" * 100, 3)

    assert [reader.columns(max_bytes=950).rows for _ in range(3)] == [9, 9, 2]


@pytest.mark.parametrize("most", [0, -1, 2**31])
def test_a_column_cannot_be_longer_than_its_offsets_can_say(codec: ModuleType, most: int) -> None:
    with pytest.raises(ValueError, match="max_bytes is 1 to 2147483647"):
        codec.RecordReader(good_batch(0)).columns(max_bytes=most)


# -- in


def appended(codec: ModuleType, table: pa.RecordBatch, start: int = 0, limit: int = 1 << 20) -> Any:
    builder = codec.BatchBuilder(limit)
    stop = builder.append_rows(arrow.to_rows(table), start, table.num_rows, NOW)
    return stop, bytes(builder.finish()) if builder.count else b""


def one_by_one(
    codec: ModuleType, table: pa.RecordBatch, start: int = 0, limit: int = 1 << 20
) -> Any:
    builder = codec.BatchBuilder(limit)
    stop = start
    for row in table.slice(start).to_pylist():
        time = row.get("timestamp")
        headers = [(pair["key"], pair["value"]) for pair in row.get("headers") or ()]
        parts = [
            part.encode() if isinstance(part, str) else part
            for part in (row.get("key"), row["value"])
        ]
        if not builder.append(*parts, NOW if time is None else time, headers):
            break
        stop += 1
    return stop, bytes(builder.finish()) if builder.count else b""


def same(codec: ModuleType, table: pa.RecordBatch, **options: int) -> None:
    assert appended(codec, table, **options) == one_by_one(codec, table, **options)


def table(**columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


TEXTS = ["a", None, "", "grün", "x" * 200] * 5
BINARIES = [None if text is None else text.encode() for text in TEXTS]


@pytest.mark.parametrize(
    "kind", [pa.binary(), pa.large_binary(), pa.string(), pa.large_string(), pa.binary_view()]
)
def test_values_and_keys_of_any_binary_type_are_taken(codec: ModuleType, kind: pa.DataType) -> None:
    texts = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    column = pa.array(TEXTS if texts else BINARIES, kind)

    same(codec, table(value=column))
    same(codec, table(value=column, key=column))
    for start, length in ((0, 25), (1, 24), (3, 9), (9, 16), (24, 1), (25, 0)):
        same(codec, table(value=column.slice(start, length), key=column.slice(25 - length)))


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_rows_of_usual_size_are_written_as_one_by_one(codec: ModuleType, kind: pa.DataType) -> None:
    values = pa.array([bytes(60 + n % 9) if n % 50 else None for n in range(200)], kind)
    times = pa.array([NOW + n % 130 - 65 for n in range(200)], pa.int64())

    same(codec, table(value=values))
    same(codec, table(value=values, timestamp=times))
    same(codec, table(value=values, timestamp=times), limit=9000)
    same(codec, table(value=values, key=values, timestamp=times))


def test_fixed_and_encoded_columns_are_taken(codec: ModuleType) -> None:
    fixed = pa.array([b"ab", None, b"cd"], pa.binary(2))
    encoded = pa.array(["a", "b", None]).dictionary_encode()

    same(codec, table(value=fixed, key=encoded))
    same(codec, table(value=pa.nulls(3)))


def test_rows_start_where_told(codec: ModuleType) -> None:
    column = pa.array(BINARIES, pa.binary()).slice(2)

    for start in range(len(column) + 1):
        same(codec, table(value=column, key=column), start=start)


@pytest.mark.parametrize("limit", [62, 70, 100, 300, 500, 1000])
def test_rows_stop_where_one_by_one_stops(codec: ModuleType, limit: int) -> None:
    column = pa.array(BINARIES, pa.binary())

    same(codec, table(value=column), limit=limit)
    same(codec, table(value=column, key=column), limit=limit, start=3)


@pytest.mark.parametrize(("unit", "per_ms"), [("s", 0.001), ("ms", 1), ("us", 1000), ("ns", 10**6)])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "+02:00"])
def test_times_of_any_unit_and_zone_are_taken_as_milliseconds(
    codec: ModuleType, unit: str, per_ms: float, zone: str | None
) -> None:
    autumn = 1_698_540_000_000  # half past two, twice, in Berlin
    times = [NOW, 0, autumn - 1_800_000, autumn + 1_800_000, autumn + 5_400_000]
    column = pa.array([int(t * per_ms) for t in times] + [None], pa.timestamp(unit, tz=zone))
    values = pa.array([b"v"] * 6, pa.binary())
    _, wire = appended(codec, table(value=values, timestamp=column))

    seen = [item.timestamp for item in FetchedBatch(wire, "t", 0).records]
    assert seen == [*times, NOW]


def test_a_fraction_of_a_millisecond_is_cut_off(codec: ModuleType) -> None:
    column = pa.array([1_999, 2_000, 2_001], pa.timestamp("us"))
    _, wire = appended(codec, table(value=pa.array([b""] * 3, pa.binary()), timestamp=column))

    assert [item.timestamp for item in FetchedBatch(wire, "t", 0).records] == [1, 2, 2]


@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.uint64()])
def test_integers_are_milliseconds(codec: ModuleType, kind: pa.DataType) -> None:
    column = pa.array([5, None, 3, 2**31 - 1], kind)
    values = pa.array([b"v"] * 4, pa.binary())

    same(codec, table(value=values, timestamp=column))
    same(codec, table(value=values.slice(1), timestamp=column.slice(1)))


LISTS = [
    None,
    [],
    [{"key": "a", "value": b"1"}],
    [{"key": "", "value": None}, {"key": "grün", "value": b""}, {"key": "", "value": b"x" * 99}],
    [{"key": "z", "value": b"9"}],
] * 3


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(PAIR),
        pa.large_list(PAIR),
        pa.list_(pa.struct([("value", pa.large_binary()), ("key", pa.large_string())])),
    ],
)
def test_lists_of_headers_are_taken(codec: ModuleType, kind: pa.DataType) -> None:
    column = pa.array(LISTS, kind)
    values = pa.array([b"v%d" % index for index in range(15)], pa.binary())

    same(codec, table(value=values, headers=column))
    for start, length in ((1, 14), (3, 5), (4, 11), (14, 1), (15, 0)):
        same(codec, table(value=values.slice(15 - length), headers=column.slice(start, length)))


def test_headers_whose_pairs_are_a_slice_are_taken(codec: ModuleType) -> None:
    pairs = pa.array([{"key": str(index), "value": b"%d" % index} for index in range(9)], PAIR)
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 2, 5], pa.int32()), pairs.slice(3))

    same(codec, table(value=pa.array([b"a", b"b", b"c"], pa.binary()), headers=lists))


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {
                "key": st.none() | st.binary(max_size=70),
                "value": st.none() | st.binary(max_size=140),
                "timestamp": st.none() | st.integers(0, 2**62),
                "headers": st.none()
                | st.lists(
                    st.fixed_dictionaries(
                        {"key": st.text(max_size=5), "value": st.none() | st.binary(max_size=9)}
                    ),
                    max_size=4,
                ),
            }
        ),
        max_size=20,
    ),
    bounds=st.tuples(st.integers(0, 20), st.integers(0, 20)),
    limit=st.sampled_from([62, 200, 1000, 1 << 20]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_rows_are_written_as_one_by_one(
    codec: ModuleType, rows: list[dict[str, Any]], bounds: tuple[int, int], limit: int
) -> None:
    schema = pa.schema(
        [
            ("key", pa.binary()),
            ("value", pa.large_binary()),
            ("timestamp", pa.int64()),
            ("headers", pa.list_(PAIR)),
        ]
    )
    whole = pa.RecordBatch.from_pylist(rows, schema)
    some = whole.slice(bounds[0])

    same(codec, some, start=min(bounds[1], some.num_rows), limit=limit)


# -- what cannot be taken


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"key": pa.array([b"k"])}, "a column `value` is needed"),
        ({"value": pa.array([1])}, "column value is int64"),
        ({"value": pa.array([1.5])}, "column value is double"),
        ({"value": pa.array([b"v"]), "key": pa.array([True])}, "column key is bool"),
        ({"value": pa.array([b"v"]), "timestamp": pa.array([1.5])}, "column timestamp is double"),
        ({"value": pa.array([b"v"]), "headers": pa.array([b"h"])}, "column headers is a list"),
        (
            {"value": pa.array([b"v"]), "headers": pa.array([[{"k": b"1"}]])},
            "a header has the fields key and value",
        ),
        (
            {"value": pa.array([b"v"]), "headers": pa.array([[None]], pa.list_(PAIR))},
            "row 0: a header is null",
        ),
    ],
)
def test_a_column_of_another_type_is_refused_by_name(
    columns: dict[str, pa.Array], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        arrow.to_rows(table(**columns))


def test_a_header_without_a_key_is_refused_by_its_row(codec: ModuleType) -> None:
    headers = pa.array([[], [{"key": None, "value": b"1"}]], pa.list_(PAIR))
    with pytest.raises(ValueError, match="row 1: the key of a header is null"):
        appended(codec, table(value=pa.array([b"a", b"b"]), headers=headers))


def test_a_time_before_1970_is_refused_by_its_row(codec: ModuleType) -> None:
    times = pa.array([5, 5, 5, -5], pa.timestamp("ms"))
    with pytest.raises(ValueError, match="row 3: a timestamp is milliseconds since 1970, not -5"):
        appended(codec, table(value=pa.array([b"a"] * 4), timestamp=times))


@pytest.mark.parametrize(("start", "stop"), [(-1, 1), (2, 1), (0, 3), (3, 3)])
def test_rows_that_are_not_there_are_refused(codec: ModuleType, start: int, stop: int) -> None:
    rows = arrow.to_rows(table(value=pa.array([b"a", b"b"])))
    with pytest.raises(ValueError, match=rf"rows {start} to {stop} of 2"):
        codec.BatchBuilder(100).append_rows(rows, start, stop, NOW)


def numbers(letter: str, *items: int) -> bytes:
    return struct.pack(f"={len(items)}{letter}", *items)


VALUE = BinaryColumn(numbers("i", 0, 1, 2), b"ab")


@pytest.mark.parametrize(
    "make",
    [
        lambda Rows: Rows(3, VALUE),
        lambda Rows: Rows(2, VALUE._replace(start=1)),
        lambda Rows: Rows(2, VALUE._replace(start=-1)),
        lambda Rows: Rows(2, VALUE._replace(start=2**62)),
        lambda Rows: Rows(2, VALUE._replace(validity=b"")),
        lambda Rows: Rows(2, VALUE._replace(large=True)),
        lambda Rows: Rows(2, VALUE, BinaryColumn(b"", b"")),
        lambda Rows: Rows(2, VALUE, None, TimestampColumn(numbers("q", 1))),
        lambda Rows: Rows(2, VALUE, None, TimestampColumn(numbers("q", 1, 2), b"")),
        lambda Rows: Rows(2, VALUE, None, TimestampColumn(numbers("q", 1, 2), None, 1)),
        lambda Rows: Rows(2, VALUE, None, TimestampColumn(numbers("q", 1, 2), None, -1)),
        lambda Rows: Rows(2, VALUE, None, TimestampColumn(numbers("q", 1, 2), None, 2**63 - 1)),
        lambda Rows: Rows(2, VALUE, None, None, HeadersColumn(numbers("i", 0, 0), VALUE, VALUE)),
        lambda Rows: Rows(
            2, VALUE, None, None, HeadersColumn(numbers("i", 0, 0, 0), VALUE, VALUE, None, -1)
        ),
        lambda Rows: Rows(
            2,
            VALUE,
            None,
            None,
            HeadersColumn(numbers("i", 0, 0, 0), VALUE, VALUE, None, 2**63 - 1),
        ),
        lambda Rows: Rows(
            2, VALUE, None, None, HeadersColumn(numbers("i", 0, 0, 0), VALUE, VALUE, b"")
        ),
    ],
)
def test_columns_shorter_than_they_say_are_refused(codec: ModuleType, make: Any) -> None:
    with pytest.raises(ValueError, match="column"):
        make(codec.Rows)


@pytest.mark.parametrize("offsets", [(0, 3, 2), (0, -1, 2), (-1, 1, 2), (0, 1, 3), (2, 1, 1)])
def test_offsets_outside_of_their_data_are_refused(
    codec: ModuleType, offsets: tuple[int, ...]
) -> None:
    for value in (
        BinaryColumn(numbers("i", *offsets), b"ab"),
        BinaryColumn(numbers("q", *offsets), b"ab", large=True),
    ):
        for rows in (codec.Rows(2, value), codec.Rows(2, VALUE, value)):
            with pytest.raises(ValueError, match=r"row [01]: its offsets lie outside"):
                codec.BatchBuilder(100).append_rows(rows, 0, 2, NOW)
        rows = codec.Rows(2, VALUE, None, None, HeadersColumn(numbers("i", 0, 1, 2), value, VALUE))
        with pytest.raises(ValueError, match=r"row [01]: its offsets lie outside"):
            codec.BatchBuilder(100).append_rows(rows, 0, 2, NOW)


@pytest.mark.parametrize("offsets", [(0, 3, 2), (0, -1, 2), (-1, 1, 2), (0, 1, 3), (2, 1, 1)])
def test_headers_outside_of_their_column_are_refused(
    codec: ModuleType, offsets: tuple[int, ...]
) -> None:
    headers = HeadersColumn(numbers("i", *offsets), VALUE, VALUE)
    rows = codec.Rows(2, VALUE, None, None, headers)
    with pytest.raises(ValueError, match=r"row [01]: its offsets lie outside"):
        codec.BatchBuilder(100).append_rows(rows, 0, 2, NOW)


def test_a_null_header_outside_of_a_slice_does_no_harm(codec: ModuleType) -> None:
    headers = pa.array([[None], [{"key": "name", "value": b"1"}]], pa.list_(PAIR))
    table = pa.record_batch({"value": pa.array([b"0", b"1"]), "headers": headers})

    assert arrow.to_rows(table.slice(1)).length == 1
    with pytest.raises(ValueError, match="row 0: a header is null"):
        arrow.to_rows(table)


def test_a_null_header_is_refused_by_its_row(codec: ModuleType) -> None:
    good = {"key": "name", "value": b"1"}
    headers = pa.array([[None], [good, good], None, [], [good, None]], pa.list_(PAIR))

    with pytest.raises(ValueError, match="row 103: a header is null"):
        arrow.to_rows(table(value=pa.nulls(5), headers=headers).slice(1), first_row=100)


def test_headers_of_no_type_are_none_and_a_table_is_refused(codec: ModuleType) -> None:
    table = pa.record_batch({"value": pa.array([b"0"]), "headers": pa.nulls(1)})

    assert arrow.to_rows(table).length == 1
    with pytest.raises(TypeError, match=r"to_batches\(\)"):
        arrow.to_rows(pa.Table.from_batches([table]))
