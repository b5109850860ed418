from __future__ import annotations

import array
import contextlib
import struct
import sys
from decimal import Decimal
from fractions import Fraction
from types import ModuleType
from typing import Any

import pytest

from kafka_aio.errors import StateError
from kafka_aio.records.batch import read_header
from kafka_aio.records.compression import Codec, Compression
from kafka_aio.records.layout import ProducerStamp
from tests.unit.records.samples import NOW, batch, offsets_of, record, values_of


def test_a_batch_is_written_as_by_hand(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(1000)
    builder.append(b"k", b"v", NOW + 5, [("h", b"1"), ("h", None)])
    builder.append(None, None, NOW)

    assert bytes(builder.finish()) == batch(
        record(0, b"k", b"v", [(b"h", b"1"), (b"h", None)]),
        record(1, None, None, time_delta=-5),
        base_timestamp=NOW + 5,
        max_timestamp=NOW + 5,
        leader_epoch=-1,
    )


def test_a_batch_carries_its_stamp(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(1000)
    builder.append(None, b"v", NOW)
    stamp = ProducerStamp(2**40, 7, 2**31 - 1, transactional=True)
    wire = builder.finish(
        Compression(Codec.ZSTD), stamp, base_offset=2**50, leader_epoch=9, control=True
    )
    header = read_header(wire)

    assert header.stamp == stamp
    assert (header.base_offset, header.leader_epoch) == (2**50, 9)
    assert header.is_control
    assert header.codec == Codec.ZSTD


def test_the_times_of_a_batch_are_the_first_and_the_greatest(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(1000)
    assert (builder.base_timestamp, builder.max_timestamp) == (-1, -1)
    for timestamp in (50, 70, 20):
        builder.append(None, b"", timestamp)

    assert (builder.base_timestamp, builder.max_timestamp) == (50, 70)
    header = read_header(builder.finish())
    assert (header.base_timestamp, header.max_timestamp) == (50, 70)


def test_a_first_record_at_time_zero_is_the_base(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(1000)
    builder.append(None, b"", 0)
    builder.append(None, b"", 7)
    header = read_header(builder.finish())

    assert (header.base_timestamp, header.max_timestamp) == (0, 7)


def test_the_first_record_has_room_however_long_it_is_and_the_second_has_not(
    codec: ModuleType,
) -> None:
    builder = codec.BatchBuilder(100)

    assert builder.append(None, bytes(5000), NOW)
    assert not builder.append(None, b"", NOW)
    assert builder.count == 1
    assert len(codec.RecordReader(builder.finish()).read()) == 1


def test_the_limit_is_reached_to_the_byte_and_not_passed(codec: ModuleType) -> None:
    one = len(record(0, None, b"x" * 10))
    limit = 61 + 3 * one
    exact, short = codec.BatchBuilder(limit), codec.BatchBuilder(limit - 1)

    assert [exact.append(None, b"x" * 10, NOW) for _ in range(4)] == [True, True, True, False]
    assert [short.append(None, b"x" * 10, NOW) for _ in range(4)] == [True, True, False, False]
    assert exact.size == len(exact.finish()) == limit


def test_a_refused_record_leaves_the_batch_as_it_was(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(100)
    builder.append(None, b"a", 10)
    before = (builder.count, builder.size, builder.max_timestamp)
    builder.append(None, bytes(500), 99)

    assert (builder.count, builder.size, builder.max_timestamp) == before
    assert builder.append(None, b"b", 11)


def test_a_record_that_is_refused_for_its_type_leaves_the_batch_as_it_was(
    codec: ModuleType,
) -> None:
    builder = codec.BatchBuilder(100)
    builder.append(None, b"a", 10)
    with pytest.raises(TypeError):
        builder.append(bytearray(b"key"), "value", 11)

    assert values_of(codec.RecordReader(builder.finish()).read()) == [b"a"]


@pytest.mark.parametrize("size", [0, 62, 63, 64, 126, 127, 128, 8190, 8191, 8192, 70_000])
@pytest.mark.parametrize("many", [False, True])
def test_sizes_around_the_borders_of_varints_are_written_right(
    codec: ModuleType, size: int, many: bool
) -> None:
    around = [bytes(max(0, size - back)) for back in range(40)]
    builder = codec.BatchBuilder(10_000_000)
    if many:
        assert builder.append_many(around, NOW, keys=around) == 40
    else:
        assert all(builder.append(value, value, NOW) for value in around)
    wire = builder.finish()

    expected = [record(index, value, value) for index, value in enumerate(around)]
    assert bytes(wire[61:]) == b"".join(expected)


@pytest.mark.parametrize("size", [63, 64, 65, 100, 8183, 8184, 8191, 8192])
@pytest.mark.parametrize("delta", [-65, -64, 0, 63, 64])
def test_values_alone_are_written_right_at_every_size_of_their_numbers(
    codec: ModuleType, size: int, delta: int
) -> None:
    values = [bytes(size)] * 70
    builder = codec.BatchBuilder(10_000_000)
    builder.append(None, b"", NOW)

    assert builder.append_many(values, NOW + delta) == 70
    expected = [record(n, None, bytes(size), time_delta=delta) for n in range(1, 71)]
    assert bytes(builder.finish()[61:]) == record(0, None, b"") + b"".join(expected)
    assert builder.max_timestamp == NOW + max(delta, 0)


def test_values_alone_are_written_right_at_every_size_of_their_offsets(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(10_000_000)

    assert builder.append_many([bytes(64)] * 8300, NOW) == 8300
    expected = [record(n, None, bytes(64)) for n in range(8300)]
    assert bytes(builder.finish()[61:]) == b"".join(expected)


def test_many_records_are_written_as_one_by_one(codec: ModuleType) -> None:
    values = [b"a", None, bytearray(b"b"), memoryview(b"c"), b"", b"d" * 300] * 20
    keys = [None, b"k", b"", bytearray(b"l"), memoryview(b"m"), b"n"] * 20
    one, many = codec.BatchBuilder(100_000), codec.BatchBuilder(100_000)
    for key, value in zip(keys, values, strict=True):
        one.append(key, value, NOW)

    assert many.append_many(values, NOW, keys=keys) == 120
    assert one.finish() == many.finish()


@pytest.mark.parametrize("limit", [62, 100, 200, 500, 1000, 1500])
def test_many_records_stop_where_one_by_one_stops(codec: ModuleType, limit: int) -> None:
    values = [b"x" * (index * 7 % 90) for index in range(60)]
    one, many = codec.BatchBuilder(limit), codec.BatchBuilder(limit)
    accepted = 0
    for value in values:
        if not one.append(None, value, NOW):
            break
        accepted += 1

    assert many.append_many(values, NOW) == accepted
    assert many.finish() == one.finish()


def test_many_records_go_on_in_the_next_batch_where_the_last_stopped(codec: ModuleType) -> None:
    values = [b"%d" % index for index in range(100)]
    seen: list[bytes | None] = []
    start = 0
    while start < len(values):
        builder = codec.BatchBuilder(150)
        start = builder.append_many(values, NOW, start=start)
        seen += values_of(codec.RecordReader(builder.finish()).read())

    assert seen == values


def test_many_records_come_from_any_iterable(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(1000)

    assert builder.append_many(iter([b"a", b"b"]), NOW, keys=(b"k", None)) == 2
    assert [item.key for item in codec.RecordReader(builder.finish()).read()] == [b"k", None]


def test_many_records_may_be_none_at_all(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(1000)

    assert builder.append_many([], NOW) == 0
    assert builder.append_many([b"a"], NOW, start=1) == 1
    assert builder.append_many([b"a"], NOW, start=5) == 5
    assert len(builder) == 0


def test_many_records_of_another_time_move_the_greatest(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(1000)
    builder.append_many([b"a", b"b"], 100)
    builder.append_many([b"c", b"d"], 50)
    builder.append_many([b"e", b"f"], 150)
    records = codec.RecordReader(builder.finish()).read()

    assert [item.timestamp for item in records] == [100, 100, 50, 50, 150, 150]
    assert builder.max_timestamp == 150


def test_keys_and_values_must_be_as_many(codec: ModuleType) -> None:
    with pytest.raises(ValueError, match="1 keys for 2 values"):
        codec.BatchBuilder(1000).append_many([b"a", b"b"], NOW, keys=[b"k"])


def test_a_negative_start_is_refused(codec: ModuleType) -> None:
    with pytest.raises(ValueError, match="start is -1"):
        codec.BatchBuilder(1000).append_many([b"a"], NOW, start=-1)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="a class cannot be a buffer before")
def test_lists_that_change_while_they_are_written_are_not_read_past_their_end(
    codec: ModuleType,
) -> None:
    keys: list[Any] = [b"k"] * 100

    class Shrinks:
        def __buffer__(self, flags: int) -> memoryview:
            keys.clear()
            return memoryview(b"v")

    builder = codec.BatchBuilder(10_000)
    values = [b"a", Shrinks(), *[b"b"] * 98]
    with contextlib.suppress(IndexError):
        builder.append_many(values, NOW, keys=keys)

    assert builder.count in (2, 100)


@pytest.mark.parametrize("kind", [bytearray, memoryview, lambda part: array.array("B", part)])
def test_any_buffer_is_a_key_or_a_value(codec: ModuleType, kind: Any) -> None:
    builder = codec.BatchBuilder(1000)
    builder.append(
        kind(b"key"), kind(b"value"), NOW, [("h", kind(b"1"))] if kind is bytearray else ()
    )
    (only,) = codec.RecordReader(builder.finish()).read()

    assert (only.key, only.value) == (b"key", b"value")
    assert (type(only.key), type(only.value)) == (bytes, bytes)


def test_a_buffer_of_wider_items_is_taken_by_its_bytes(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(1000)
    builder.append(None, array.array("i", [1, 2]), NOW)
    (only,) = codec.RecordReader(builder.finish()).read()

    assert only.value == struct.pack("=ii", 1, 2)


def test_a_buffer_is_let_go_after_it_was_written(codec: ModuleType) -> None:
    key, value = bytearray(b"key"), bytearray(b"value")
    builder = codec.BatchBuilder(1000)
    builder.append(key, value, NOW)
    builder.append_many([value, b"x"], NOW, keys=[key, key])
    key += b"more"
    value += b"more"

    assert builder.count == 3


def test_bytes_that_are_not_in_a_row_are_refused(codec: ModuleType) -> None:
    with pytest.raises(BufferError):
        codec.BatchBuilder(1000).append(None, memoryview(b"abcd")[::2], NOW)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((None, "text", NOW), "a value is bytes.* not str: encode it first"),
        ((1, b"v", NOW), "a key is bytes.* not int: encode it first"),
        ((None, b"v", NOW, [("h", "text")]), "value of header 'h' is bytes or None, not str"),
        ((None, b"v", NOW, [(b"h", b"1")]), "key of a header is a str, not bytes"),
        ((None, b"v", NOW, [(None, b"1")]), "key of a header is a str, not NoneType"),
        ((None, b"v", NOW, [("h",)]), "headers are pairs of a str and bytes .* this tuple is no"),
        ((None, b"v", NOW, "ab"), "headers are pairs of a str and bytes .* this str is no pair"),
        ((None, b"v", NOW, [5]), "headers are pairs of a str and bytes .* this int is no pair"),
        ((None, b"v", 1.5), "float"),
        ((None, b"v", None), "NoneType|integer is required"),
        ((None, b"v", "now"), "str|integer is required"),
    ],
)
def test_a_wrong_type_is_a_type_error_that_says_what_to_do(
    codec: ModuleType, arguments: tuple[Any, ...], words: str
) -> None:
    builder = codec.BatchBuilder(1000)
    with pytest.raises(TypeError, match=words):
        builder.append(*arguments)

    assert builder.count == 0


def test_a_wrong_type_among_many_is_a_type_error(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(1000)
    with pytest.raises(TypeError, match=r"a value is bytes.* not str"):
        builder.append_many([b"a", "b"], NOW)
    with pytest.raises(TypeError, match=r"a key is bytes.* not int"):
        builder.append_many([b"a", b"b"], NOW, keys=[b"k", 1])

    assert builder.count == 2


@pytest.mark.parametrize("timestamp", [-1, -(2**63)])
def test_a_time_before_1970_is_refused(codec: ModuleType, timestamp: int) -> None:
    builder = codec.BatchBuilder(1000)
    with pytest.raises(ValueError, match="milliseconds since 1970"):
        builder.append(None, b"v", timestamp)
    builder.append(None, b"v", 5)
    with pytest.raises(ValueError, match="milliseconds since 1970"):
        builder.append(None, b"v", timestamp)
    with pytest.raises(ValueError, match="milliseconds since 1970"):
        builder.append_many([b"v"], timestamp)

    assert builder.count == 1


def test_a_time_beyond_64_bits_is_refused(codec: ModuleType) -> None:
    with pytest.raises(OverflowError):
        codec.BatchBuilder(1000).append(None, b"v", 2**63)


def test_times_far_apart_are_written(codec: ModuleType) -> None:
    times = [2**62, 0, 2**63 - 1, 1]
    builder = codec.BatchBuilder(1000)
    for timestamp in times:
        builder.append(None, b"", timestamp)
    records = codec.RecordReader(builder.finish()).read()

    assert [item.timestamp for item in records] == times


def test_a_finished_batch_takes_no_more(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(1000)
    builder.append(None, b"v", NOW)
    wire = bytes(builder.finish())
    with pytest.raises(StateError, match="finished"):
        builder.append(None, b"w", NOW)
    with pytest.raises(StateError, match="finished"):
        builder.append_many([b"w"], NOW)

    assert builder.is_finished
    assert builder.count == 1
    assert offsets_of(codec.RecordReader(wire).read()) == [0]


def test_a_batch_is_finished_once(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(1000)
    builder.append(None, b"v", NOW)
    wire = builder.finish()
    before = bytes(wire)
    with pytest.raises(StateError, match="finished"):
        builder.finish(stamp=ProducerStamp(5, 5, 5))

    assert bytes(wire) == before


def test_an_empty_batch_cannot_be_finished(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(1000)
    with pytest.raises(StateError, match="append a record first"):
        builder.finish()

    assert builder.append(None, b"v", NOW)


@pytest.mark.parametrize("limit", [0, -1, 2**31, 2**40])
def test_a_limit_that_no_batch_can_have_is_refused(codec: ModuleType, limit: int) -> None:
    with pytest.raises(ValueError, match=f"limit is {limit}"):
        codec.BatchBuilder(limit)


def test_the_greatest_limit_takes_no_memory_ahead(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(2**31 - 1)
    builder.append(None, b"v", NOW)

    assert len(builder.finish()) < 100


def test_a_batch_grows_beyond_what_it_reserved(codec: ModuleType) -> None:
    values = [bytes([index]) * 200_000 for index in range(20)]
    builder = codec.BatchBuilder(50_000_000)

    assert builder.append_many(values, NOW) == 20
    assert values_of(codec.RecordReader(builder.finish()).read()) == values


def test_headers_come_from_any_iterable(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(1000)
    builder.append(None, b"", NOW, iter([("a", b"1"), ("b", None)]))
    builder.append(None, b"", NOW, iter(()))
    builder.append(None, b"", NOW, ())
    first, second, third = codec.RecordReader(builder.finish()).read()

    assert first.headers == (("a", b"1"), ("b", None))
    assert second.headers == third.headers == ()


def test_a_header_key_that_utf8_cannot_say_is_refused(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(1000)
    with pytest.raises(UnicodeEncodeError):
        builder.append(None, b"", NOW, [("\ud800", b"1")])

    assert builder.count == 0


def test_the_builder_shows_its_size_and_no_payload(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(1000)
    builder.append(b"secret", b"secret", NOW)

    assert repr(builder) == f"<BatchBuilder 1 records, {builder.size} bytes of 1000>"
    builder.finish()
    assert repr(builder) == f"<BatchBuilder 1 records, {builder.size} bytes finished>"


def test_the_bytes_of_a_finished_batch_can_be_changed_in_place(codec: ModuleType) -> None:
    builder = codec.BatchBuilder(1000)
    builder.append(None, b"v", NOW)
    wire = builder.finish()

    assert not wire.readonly
    assert (wire.format, wire.ndim, wire.contiguous) == ("B", 1, True)


@pytest.mark.parametrize("number", [1.0, Decimal("1.9"), Fraction(3, 2), "1"])
def test_a_number_that_is_not_whole_is_refused(codec: ModuleType, number: Any) -> None:
    builder = codec.BatchBuilder(1000)
    builder.append(None, b"value", 1)

    with pytest.raises(TypeError):
        builder.append(None, b"value", number)
    with pytest.raises(TypeError):
        builder.append_many([b"value"], number)
    assert len(builder) == 1
