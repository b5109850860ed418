"""The compiled codec and its twin: the same bytes out of the same records, and the other way."""

from __future__ import annotations

import struct
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_aio.errors import CorruptRecord
from kafka_aio.records import _codec_py as twin
from kafka_aio.records.compression import LEVELS, Codec, Compression
from kafka_aio.records.layout import ProducerStamp
from tests.unit.records.golden import GOLDEN
from tests.unit.records.samples import (
    Failure,
    compiled,
    fields_of,
    outcome,
    plain,
    summed,
    written,
)

both = pytest.mark.skipif(compiled is None, reason="nothing was compiled")
more = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])

# -- records and batches

borders = st.sampled_from([0, 1, 30, 55, 62, 63, 64, 65, 126, 127, 128, 129])
parts = st.none() | st.binary(max_size=12) | st.builds(bytes, borders)
times = st.integers(0, 2**62) | st.integers(1_700_000_000_000, 1_700_000_000_200)
headers = st.lists(
    st.tuples(st.sampled_from(["", "a", "trace", "\u00fc\U0001f600"]) | st.text(max_size=6), parts),
    max_size=4,
)
records = st.lists(st.tuples(parts, parts, times, headers), min_size=1, max_size=12)
levels = st.sampled_from(
    [Compression(codec) for codec in Codec]
    + [
        Compression(codec, level)
        for codec, (least, most, _) in LEVELS.items()
        for level in (least, most)
        if level > -100
    ]
    + [Compression(Codec.ZSTD, -100)]
)
stamps = st.builds(
    ProducerStamp,
    st.integers(-1, 2**63 - 1) | st.just(7),
    st.integers(-1, 2**15 - 1),
    st.integers(-1, 2**31 - 1),
    st.booleans(),
)
finishing = st.fixed_dictionaries(
    {
        "compression": levels,
        "stamp": stamps,
        "base_offset": st.integers(0, 1000) | st.integers(0, 2**62),
        "leader_epoch": st.integers(-1, 2**31 - 1),
        "control": st.booleans(),
    }
)
batches = st.builds(lambda items, options: written(_any(), items, **options), records, finishing)
fetches = st.lists(
    batches | st.sampled_from([bytes.fromhex(h) for h in GOLDEN.values()]), max_size=4
).map(b"".join)
reading = st.fixed_dictionaries(
    {
        "start_offset": st.just(-1) | st.integers(0, 1010),
        "check_crcs": st.booleans(),
        "aborted": st.none() | st.lists(st.tuples(st.just(7), st.integers(0, 1000)), max_size=3),
        "control_records": st.booleans(),
        "max_inflated": st.sampled_from([100, 4096, 1 << 20]),
    }
)


def _any() -> ModuleType:
    return twin if compiled is None else compiled


def same_reading(data: bytes, **options: Any) -> None:
    assert compiled is not None
    for columns in (False, True):
        ours = outcome(compiled, data, columns=columns, **options)
        assert ours == outcome(twin, data, columns=columns, **options)


# -- writing


@both
@given(items=records, options=finishing)
@more
def test_both_write_the_same_bytes(items: list[Any], options: dict[str, Any]) -> None:
    assert compiled is not None

    assert written(compiled, items, **options) == written(twin, items, **options)


@both
@given(
    size=st.sampled_from([8100, 8150, 8180, 8191, 8192, 8193, 16_383, 16_384, 2**17]),
    less=st.integers(0, 40),
)
@settings(max_examples=60)
def test_both_write_long_records_alike(size: int, less: int) -> None:
    assert compiled is not None
    items = [(bytes(3), bytes(size - less), 5, [("h", bytes(less))]), (None, bytes(size), 6, ())]

    assert written(compiled, items) == written(twin, items)


@both
@given(
    values=st.lists(parts, max_size=30),
    keyed=st.booleans(),
    limit=st.integers(62, 600),
    start=st.integers(0, 5),
    timestamps=st.lists(times, min_size=1, max_size=3),
)
@more
def test_both_append_many_alike(
    values: list[bytes | None], keyed: bool, limit: int, start: int, timestamps: list[int]
) -> None:
    assert compiled is not None
    seen = []
    for codec in (compiled, twin):
        builder = codec.BatchBuilder(limit)
        keys = values[::-1] if keyed else None
        stops = [builder.append_many(values, time, keys, start) for time in timestamps]
        facts = (builder.count, builder.size, builder.base_timestamp, builder.max_timestamp)
        seen.append((stops, facts, bytes(builder.finish()) if builder.count else b""))

    assert seen[0] == seen[1]


# -- reading


@given(items=records, options=finishing)
@more
def test_what_was_written_is_read(items: list[Any], options: dict[str, Any]) -> None:
    data = written(_any(), items, **options)
    reader = _any().RecordReader(data, control_records=True)
    seen = [(item.key, item.value, item.timestamp, item.headers) for item in reader.read()]

    assert seen == [(key, value, time, tuple(pairs)) for key, value, time, pairs in items]
    assert reader.next_offset == options["base_offset"] + len(items)


@both
@given(data=fetches, options=reading)
@more
def test_both_read_the_same(data: bytes, options: dict[str, Any]) -> None:
    same_reading(data, **options)


@both
@pytest.mark.parametrize(
    "name", [name for name in GOLDEN if "snappy" not in name and "gzip" not in name]
)
def test_both_read_the_same_of_every_truncation(name: str) -> None:
    whole = bytes.fromhex(GOLDEN["v2_none"] + GOLDEN[name])
    alone = bytes.fromhex(GOLDEN[name])

    for size in range(len(whole)):
        same_reading(whole[:size])
    for size in range(61, len(alone)):  # cut, and the length says so
        same_reading(alone[:8] + struct.pack(">i", size - 12) + alone[12:size], check_crcs=False)


@both
@given(data=batches, options=reading)
@settings(max_examples=25)
def test_both_read_the_same_of_every_truncation_of_any_batch(
    data: bytes, options: dict[str, Any]
) -> None:
    for size in range(0, len(data), 1 + len(data) // 150):
        same_reading(data[:size], **options)


numbers = st.sampled_from(
    [
        *(struct.pack(">i", n) for n in (0, 1, -1, 13, 14, 48, 49, 2**31 - 1, -(2**31), 1000)),
        *(struct.pack(">q", n) for n in (0, -1, 2**63 - 1, -(2**63), 2**32)),
        b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x80" * 11,
        b"\x01", b"\x00", b"\x7f", b"\x80", b"\xff", b"\xfe\xff\xff\xff\x0f",
    ]
)  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    data = bytearray(draw(fetches.filter(bool)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data) - 1))
        if draw(st.booleans()):
            at = min(at, 75)  # headers are where it hurts
        kind = draw(st.sampled_from(["flip", "insert", "delete", "overwrite"]))
        if kind == "flip":
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif kind == "insert":
            data[at:at] = draw(numbers)
        elif kind == "delete" and len(data) > 8:
            del data[at : at + draw(st.integers(1, 8))]
        else:
            number = draw(numbers)
            data[at : at + len(number)] = number
    result = bytes(data)
    return summed(result) if len(result) > 61 and draw(st.booleans()) else result


@both
@given(data=mutated(), options=reading, check_crcs=st.just(False) | st.booleans())
@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
def test_both_read_the_same_of_mutated_bytes(
    data: bytes, options: dict[str, Any], check_crcs: bool
) -> None:
    same_reading(data, **{**options, "check_crcs": check_crcs})


@both
@given(
    data=fetches | mutated(),
    options=reading,
    most=st.lists(
        st.tuples(st.integers(-1, 4), st.integers(-1, 90), st.integers(-1, 90)),
        min_size=1,
        max_size=6,
    ),
)
@more
def test_both_end_where_it_is_enough(
    data: bytes, options: dict[str, Any], most: list[tuple[int, int, int]]
) -> None:
    seen = []
    for codec in (compiled, twin):
        assert codec is not None
        reader = codec.RecordReader(data, "orders", 3, **{**options, "check_crcs": False})
        steps: list[Any] = []
        for count, size, inflate in most:
            try:
                read = reader.read(count, max_bytes=size, max_inflate=inflate)
            except CorruptRecord as error:
                steps.append(Failure.of(error))
            else:
                steps.append([fields_of(each) for each in read])
            steps.append((reader.next_offset, reader.is_done, reader.to_inflate(60)))
        seen.append(steps)

    assert seen[0] == seen[1]


@both
@given(data=st.binary(max_size=300), magic=st.sampled_from([None, 0, 1, 2]), options=reading)
@more
def test_both_read_the_same_of_garbage(
    data: bytes, magic: int | None, options: dict[str, Any]
) -> None:
    if magic is not None and len(data) > 16:
        data = (
            b"\0" * 7
            + data[7:8]
            + struct.pack(">i", len(data) - 12)
            + data[12:16]
            + bytes([magic])
            + data[17:]
        )
    same_reading(data, **{**options, "check_crcs": False})


@pytest.mark.parametrize("codec", [compiled, twin], ids=["compiled", "twin"])
@given(
    data=fetches | mutated(),
    chunks=st.lists(st.tuples(st.booleans(), st.integers(1, 4)), min_size=1),
    options=reading,
)
@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
def test_reading_in_pieces_is_reading_at_once(
    codec: ModuleType | None, data: bytes, chunks: list[tuple[bool, int]], options: dict[str, Any]
) -> None:
    if codec is None:
        pytest.skip("nothing was compiled")
    options["check_crcs"] = False
    whole = outcome(codec, data, **options)
    reader = codec.RecordReader(data, "orders", 3, **options)
    seen: list[Any] = []
    failure = None
    turn = 0
    while not reader.is_done and failure is None:
        as_columns, size = chunks[turn % len(chunks)]
        turn += 1
        try:
            if as_columns:
                seen += rows_of(reader.columns(size, headers=True))
            else:
                seen += [in_columns(item) for item in reader.read(size)]
        except CorruptRecord as error:
            failure = Failure.of(error)

    records = codec.RecordReader(data, "orders", 3, **options)
    try:
        expected = [in_columns(item) for item in records.read()]
    except CorruptRecord:
        expected = []
    assert seen == expected
    assert failure == whole.failures[-1]
    assert reader.next_offset == whole.next_offset
    assert (reader.is_done, reader.is_incomplete) == (whole.is_done, whole.is_incomplete)


def in_columns(item: Any) -> tuple[Any, ...]:
    """A record as columns tell it: times in microseconds, and no leader epoch."""
    fields = fields_of(item)
    time = min(max(item.timestamp, -(2**63) // 1000 - 1), 2**63 // 1000 + 1) * 1000
    return fields[2], min(max(time, -(2**63)), 2**63 - 1), int(fields[4]), *fields[5:8]


def rows_of(columns: Any) -> list[tuple[Any, ...]]:
    offsets = memoryview(plain(columns.offset)).cast("q")
    times = memoryview(plain(columns.timestamp)).cast("q")
    types = memoryview(plain(columns.timestamp_type)).cast("i")
    bounds = memoryview(plain(columns.headers.offsets)).cast("i")
    rows = []
    for row in range(columns.rows):
        pairs = tuple(
            ((cell(columns.headers.keys, n) or b"").decode(), cell(columns.headers.values, n))
            for n in range(bounds[row], bounds[row + 1])
        )
        key, value = cell(columns.key, row), cell(columns.value, row)
        rows.append((offsets[row], times[row], types[row], key, value, pairs))
    return rows


def cell(column: Any, row: int) -> bytes | None:
    offsets, data, validity = (plain(part) for part in column[:3])
    if validity is not None and not validity[row >> 3] >> (row & 7) & 1:
        return None
    begin, end = memoryview(offsets).cast("i")[row : row + 2]
    return bytes(data[begin:end])
