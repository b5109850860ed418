from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_aio.errors import ProtocolError
from kafka_aio.protocol import _reader_py, reader
from kafka_aio.protocol.codec import decode, encode
from kafka_aio.protocol.messages.api_versions import ApiVersionsResponse, SupportedFeatureKey
from kafka_aio.protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_aio.protocol.messages.groups import JoinGroupRequest
from kafka_aio.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_aio.protocol.messages.share import ShareFetchRequest
from kafka_aio.protocol.messages.topics import CreateTopicsRequest
from kafka_aio.protocol.primitives import MAX_ELEMENTS, MAX_TAGS, uvarint
from kafka_aio.protocol.schema import (
    Buffer,
    Bytes,
    Int8,
    Int16,
    Int32,
    Records,
    String,
    data,
    message,
    tagged,
)
from tests.unit.protocol.samples import decoders, every_version, full_message

FAILURES: tuple[type[Exception], ...] = (*reader.FAILURES, *_reader_py.FAILURES)
REST = b"\xff" * 8 + bytes(4)  # after the text of Plain v0: no bytes, no records, no numbers
NAMED = re.compile(r"(\w+) v(\d+): [a-z_.\[\] 0-9]+: ")


@data(versions=(0, 1), flexible=1)
class Plain:
    text: String
    raw: Bytes | None
    records: Records | None
    numbers: list[Int32]


@message
class Item:
    number: Int16


@data(versions=(0, 1), flexible=1)
class Nested:
    items: list[Item] | None
    texts: list[String]
    item: Item | None


@data(versions=(0, 0), flexible=0)
class Tagged:
    number: Int8
    item: Item = tagged(0, default=Item(number=0))
    name: String | None = tagged(1, default=None)


@data(versions=(0, 1), flexible=1)
class Small:
    numbers: list[Int8]


def refusal(cls: type, buffer: bytes, version: int) -> str:
    """What decoding says; both decoders must refuse."""
    for read in decoders(cls, version):
        with pytest.raises(FAILURES):
            read(buffer, 0)
    with pytest.raises(ProtocolError) as refused:
        decode(cls, buffer, version)
    return str(refused.value)


@every_version
def test_a_message_cut_short_at_any_byte_names_the_field_where_it_ends(
    cls: type, version: int
) -> None:
    whole = encode(full_message(cls, version), version)

    for length in range(len(whole)):
        named = NAMED.match(refusal(cls, whole[:length], version))

        assert named is not None, length
        assert named.groups() == (cls.__name__, str(version))


@every_version
def test_bytes_after_a_message_are_refused(cls: type, version: int) -> None:
    whole = encode(full_message(cls, version), version)

    with pytest.raises(ProtocolError) as refused:
        decode(cls, whole + b"\0\0", version)

    assert str(refused.value) == f"{cls.__name__} v{version}: 2 bytes left over"


@pytest.mark.parametrize(
    ("cls", "version", "buffer", "text"),
    [
        (Plain, 0, b"\x00", "text: 1 byte missing"),
        (Plain, 0, b"\x00\x05abc", "text: 2 bytes missing"),
        (Plain, 0, b"\xff\xff" + REST, "text: null where a value must be"),
        (Plain, 0, b"\xff\xfe" + REST, "text: negative length -2"),
        (Plain, 0, b"\x00\x02\xc3\x28", "text: not UTF-8: invalid continuation byte at byte 0"),
        (Plain, 0, b"\x00\x00\xff\xff\xff\xfe" + REST[4:], "raw: negative length -2"),
        (Plain, 0, b"\x00\x00\x00\x00\x00\x01", "raw: 1 byte missing"),
        (Plain, 0, b"\x00\x00" + b"\xff" * 4 + b"\x7f\xff\xff\xff", "records: 2,147,483,647 bytes"),
        (Plain, 0, b"\x00\x00" + b"\xff" * 12, "numbers: null where a value must be"),
        (Plain, 1, b"\x00", "text: null where a value must be"),
        (Plain, 1, b"\x80\x80\x80\x80\x80\x01", "text: varint of more than 5 bytes"),
        (Plain, 1, b"\xff\xff\xff\xff\x0f", "text: varint 4294967295 does not fit in 31 bits"),
        (Plain, 1, b"\x01\x00\x00\x03" + bytes(7), "numbers: 2 items promised in 7 bytes"),
        (Nested, 0, b"\x00\x00\x00\x02\x00\x01\x00", "items: 2 items promised in 3 bytes"),
        (Nested, 0, b"\xff" * 4 + b"\x00\x00\x00\x01\xff\xff", "texts[0]: null where a value"),
        (Nested, 0, b"\xff" * 4 + bytes(4) + b"\x01\x00", "item.number: 1 byte missing"),
        (Nested, 1, b"\x03\x00\x01\x00\x00\x01\x02\x07", "items[1].tagged fields: 2 tagged"),
        (Tagged, 0, b"\x07\x02\x05\x00\x05\x00", "tagged fields: tag 5 after tag 5"),
        (Tagged, 0, b"\x07\x01\xff\xff\xff\xff\x0f\x00", "tagged fields: varint 4294967295"),
        (Tagged, 0, b"\x07\x01\x05\x09\x00", "tagged fields: 8 bytes missing"),
        (Tagged, 0, b"\x07\x01\x00\x04\x00\x00\x00\x00", "item: 1 byte left over"),
        (Tagged, 0, b"\x07\x01\x00\x01\x00\x00\x00", "item.number: 1 byte missing"),
        (Tagged, 0, b"\x07\x01\x01\x03\x04abc", "name: 1 byte missing"),
    ],
)  # fmt: skip
def test_a_refusal_says_the_field_and_the_reason(
    cls: type, version: int, buffer: bytes, text: str
) -> None:
    assert refusal(cls, buffer, version).startswith(f"{cls.__name__} v{version}: {text}")


def test_a_padded_varint_is_read_as_kafka_reads_it() -> None:
    for read in decoders(Small, 1):
        assert read(b"\x82\x80\x00\x09\x00", 0) == (Small(numbers=[9]), 5)


def test_a_struct_marker_below_zero_is_null_and_any_other_is_a_struct() -> None:
    for read in decoders(Nested, 0):
        assert read(b"\xff" * 4 + bytes(4) + b"\x80", 0)[0] == Nested(
            items=None, texts=[], item=None
        )
        assert read(b"\xff" * 4 + bytes(4) + b"\x05\x00\x02", 0)[0] == Nested(
            items=None, texts=[], item=Item(number=2)
        )


@pytest.mark.parametrize("count", [MAX_ELEMENTS, MAX_ELEMENTS + 1])
def test_an_array_may_have_a_million_items_and_no_more(count: int) -> None:
    buffer = count.to_bytes(4, "big") + bytes(count)

    if count <= MAX_ELEMENTS:
        for read in decoders(Small, 0):
            assert read(buffer, 0)[1] == len(buffer)
    else:
        assert refusal(Small, buffer, 0).endswith("numbers: 1,000,001 items, more than 1,000,000")


@pytest.mark.parametrize("count", [MAX_TAGS, MAX_TAGS + 1])
def test_a_struct_may_have_ten_thousand_tagged_fields_and_no_more(count: int) -> None:
    tags = b"".join(uvarint(100 + tag) + b"\0" for tag in range(count))
    buffer = b"\x07" + uvarint(count) + tags

    if count <= MAX_TAGS:
        for read in decoders(Tagged, 0):
            assert read(buffer, 0)[1] == len(buffer)
    else:
        assert refusal(Tagged, buffer, 0).endswith("10,001 tagged fields, more than 10,000")


def promises(whole: bytes) -> Iterator[bytes]:
    """The message with a very large length, count or tag written over each of its bytes."""
    for large in (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07", b"\x7f\xff", b"\xff\x7f", b"\xff"):
        for position in range(len(whole)):
            yield whole[:position] + large + whole[position + len(large) :]


@pytest.mark.parametrize(
    ("cls", "version"),
    [
        (MetadataResponse, 0),
        (MetadataResponse, 12),
        (FetchResponse, 4),
        (FetchResponse, 16),
        (FetchRequest, 18),
        (JoinGroupRequest, 9),
        (ShareFetchRequest, 1),
        (CreateTopicsRequest, 7),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_memory_follows_the_bytes_received_not_the_bytes_promised(cls: type, version: int) -> None:
    whole = encode(full_message(cls, version), version)
    for hostile in promises(whole):  # compile, and fill the caches
        try_to_read(cls, hostile, version)
    tracemalloc.start()

    for hostile in promises(whole):
        try_to_read(cls, hostile, version)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 64 * 1024


def try_to_read(cls: type, buffer: bytes, version: int) -> object:
    """The message, or None; both decoders must agree, and raise nothing but what they may."""
    results: list[object] = []
    for read in decoders(cls, version):
        try:
            found, stop = read(buffer, 0)
            results.append(found if stop == len(buffer) else None)
        except FAILURES:
            results.append(None)
    try:
        results.append(decode(cls, buffer, version))
    except ProtocolError:
        results.append(None)
    assert all(result == results[0] for result in results)
    return results[0]


@pytest.mark.parametrize(
    ("cls", "version"),
    [(MetadataResponse, 12), (FetchResponse, 18), (MetadataRequest, 3), (Tagged, 0)],
    ids=lambda value: getattr(value, "__name__", value),
)
@settings(max_examples=150)
@given(
    changes=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 255)), max_size=4),
)
def test_damaged_bytes_are_refused_or_read_alike_by_both_decoders(
    cls: type, version: int, changes: list[tuple[int, int]]
) -> None:
    damaged = bytearray(encode(full_message(cls, version), version))
    for position, value in changes:
        damaged[position % len(damaged)] = value

    read = try_to_read(cls, bytes(damaged), version)

    assert read is not None or changes


@settings(max_examples=200)
@given(buffer=st.binary(max_size=40))
def test_noise_raises_nothing_but_a_protocol_error(buffer: bytes) -> None:
    for cls, version in ((MetadataResponse, 12), (FetchResponse, 12), (Tagged, 0), (Nested, 1)):
        try_to_read(cls, buffer, version)


@pytest.mark.parametrize(
    "hold",
    [bytes, bytearray, memoryview, lambda sent: memoryview(b"before" + sent + b"after")[6:-5]],
    ids=["bytes", "bytearray", "memoryview", "slice"],
)
def test_any_kind_of_buffer_is_read(hold: Callable[[bytes], Buffer]) -> None:
    sent = encode(full_message(FetchResponse, 16), 16)

    for read in decoders(FetchResponse, 16):
        assert read(hold(sent), 0) == (full_message(FetchResponse, 16), len(sent))


def test_decoded_messages_do_not_share_their_lists() -> None:
    sent = encode(ApiVersionsResponse(error_code=0, api_keys=[]), 0)

    for read in decoders(ApiVersionsResponse, 0):
        first, second = read(sent, 0)[0], read(sent, 0)[0]
        assert isinstance(first, ApiVersionsResponse)
        assert isinstance(second, ApiVersionsResponse)
        first.supported_features.append(SupportedFeatureKey(name="x", min_version=0, max_version=1))
        assert second.supported_features == []


def test_records_are_a_view_of_the_frame_and_other_bytes_are_copies() -> None:
    frame = bytearray(encode(Plain(text="", raw=b"raw", records=b"records", numbers=[]), 0))

    for read in decoders(Plain, 0):
        found = read(frame, 0)[0]
        assert isinstance(found, Plain)
        assert isinstance(found.records, memoryview)
        assert found.records.obj is frame
        assert type(found.raw) is bytes
