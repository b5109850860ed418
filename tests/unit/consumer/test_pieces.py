from __future__ import annotations

import struct

import pytest

from kafka_aio.consumer.buffer import Buffer, Chunk, Slice
from kafka_aio.consumer.pieces import MOST_BYTES, Decoding, Pieces, cut
from kafka_aio.errors import CorruptRecord
from kafka_aio.protocol.messages.fetch import AbortedTransaction
from kafka_aio.records.batch import FetchedBatch
from kafka_aio.records.codec import BatchBuilder
from kafka_aio.records.compression import Compression
from kafka_aio.records.layout import ProducerStamp
from tests.unit.consumer.fetched import A, owned

DECODING = Decoding(max_inflated=2**20)
ABORT = b"\x00\x00\x00\x00"
COMMIT = b"\x00\x00\x00\x01"


def batch(
    offset: int,
    *values: bytes,
    producer: int = -1,
    control: bool = False,
    codec: str = "none",
) -> bytes:
    builder = BatchBuilder(limit=10 * 2**20)
    for value in values:
        builder.append(value if control else b"k", value, 0)
    stamp = ProducerStamp(producer, 0, 0, producer >= 0)
    made = builder.finish(
        Compression.checked(codec), stamp, base_offset=offset, leader_epoch=7, control=control
    )
    return bytes(made)


def chunk(*batches: bytes, begin: int = 0, aborted: list[tuple[int, int]] | None = None) -> Chunk:
    buffer, partitions = Buffer(), owned(A)
    partitions[A].seek(begin)
    told = [AbortedTransaction(producer_id=who, first_offset=at) for who, at in aborted or ()]
    view = memoryview(b"".join(batches))
    buffer.add([Slice(A, partitions[A].era, begin, view, told)], size=len(view))
    found = buffer.take(partitions)
    assert found is not None
    return found


def all_of(pieces: Pieces) -> list[FetchedBatch]:
    found = []
    while (piece := pieces.next()) is not None:
        found.append(piece)
    return found


def offsets(pieces: Pieces) -> list[int]:
    return [record.offset for piece in all_of(pieces) for record in piece.records]


def test_batches_that_are_small_come_together() -> None:
    pieces = Pieces(chunk(batch(0, b"a", b"b"), batch(2, b"c")), DECODING)

    (piece,) = all_of(pieces)

    assert [record.value for record in piece.records] == [b"a", b"b", b"c"]
    assert (piece.topic, piece.partition) == A
    assert (piece.start_offset, piece.next_offset) == (0, 3)
    assert (pieces.position, pieces.epoch) == (3, 7)


def test_a_piece_is_not_larger_than_can_be_decoded_at_once() -> None:
    half = bytes(MOST_BYTES // 2 - 200)
    pieces = Pieces(chunk(*(batch(at, half) for at in range(5))), DECODING)

    assert [len(piece.records) for piece in all_of(pieces)] == [2, 2, 1]


def test_one_that_is_larger_comes_alone() -> None:
    pieces = Pieces(
        chunk(batch(0, b"a"), batch(1, bytes(2 * MOST_BYTES)), batch(2, b"b")), DECODING
    )

    assert [len(piece.records) for piece in all_of(pieces)] == [1, 1, 1]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_it_is_not_larger_when_it_is_inflated(codec: str) -> None:
    large = bytes(MOST_BYTES * 2 // 5)
    pieces = Pieces(chunk(*(batch(at, large, codec=codec) for at in range(5))), DECODING)

    assert [len(piece.records) for piece in all_of(pieces)] == [2, 2, 1]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_many_that_are_small_come_together_compressed_too(codec: str) -> None:
    pieces = Pieces(chunk(*(batch(at, b"a" * 500, codec=codec) for at in range(100))), DECODING)

    assert [len(piece.records) for piece in all_of(pieces)] == [100]


def test_records_before_the_position_are_left_out() -> None:
    data = chunk(batch(0, b"a", b"b"), batch(2, b"c", b"d"), begin=3)

    assert offsets(Pieces(data, DECODING)) == [3]


def test_batches_for_brokers_alone_are_passed_over_and_counted() -> None:
    pieces = Pieces(chunk(batch(0, ABORT, producer=5, control=True)), DECODING)

    assert all_of(pieces) == []
    assert pieces.position == 1


def test_what_was_aborted_is_left_out_in_each_piece_and_what_came_after_is_not() -> None:
    large = bytes(MOST_BYTES)
    data = chunk(
        batch(0, large, producer=5),
        batch(1, ABORT, producer=5, control=True),
        batch(2, large, producer=5),
        batch(3, COMMIT, producer=5, control=True),
        aborted=[(5, 0)],
    )
    committed = Decoding(max_inflated=2**20, read_committed=True)

    assert offsets(Pieces(data, committed)) == [2]
    assert offsets(Pieces(data, DECODING)) == [0, 2]


def test_it_ends_before_an_offset_within_a_batch() -> None:
    pieces = Pieces(chunk(batch(0, b"a", b"b", b"c", b"d"), batch(4, b"e")), DECODING, stop=2)

    (piece,) = all_of(pieces)

    assert [record.offset for record in piece.records] == [0, 1]
    assert piece.to_arrow().column("offset").to_pylist() == [0, 1]
    assert piece.next_offset == 2


def test_it_ends_in_a_gap() -> None:
    pieces = Pieces(chunk(batch(0, b"a"), batch(9, b"b")), DECODING, stop=5)

    assert offsets(pieces) == [0]
    assert pieces.position == 5


def test_a_batch_that_is_cut_short_is_left_for_the_next_fetch() -> None:
    pieces = Pieces(chunk(batch(0, b"a"), batch(1, b"b")[:-1]), DECODING)

    assert offsets(pieces) == [0]
    assert pieces.position == 1


@pytest.mark.parametrize("at", [17, 70])
def test_what_is_before_a_damaged_batch_comes_first_and_then_the_error_each_time(at: int) -> None:
    damaged = bytearray(batch(2, b"c", b"d"))
    damaged[at] ^= 1
    pieces = Pieces(chunk(batch(0, b"a", b"b"), bytes(damaged), batch(4, b"e")), DECODING)
    first = pieces.next()

    assert first is not None
    assert [record.offset for record in first.records] == [0, 1]
    with pytest.raises(CorruptRecord, match=r"t-0 at offset 2: .*CRC.*seek to 4") as caught:
        pieces.next()
    assert (caught.value.offset, caught.value.next_offset) == (2, 4)
    with pytest.raises(CorruptRecord, match=r"t-0 at offset 2"):
        pieces.next()
    assert pieces.position == 2


@pytest.mark.parametrize(
    ("at", "value", "match"),
    [
        (16, 9, "format 9"),
        (8, 255, "batch length"),
        (23, 255, "last offset delta"),
        (22, 7, "codec"),
    ],
)
def test_a_header_that_makes_no_sense_is_an_error_with_its_place(
    at: int, value: int, match: str
) -> None:
    damaged = bytearray(batch(5, b"a"))
    damaged[at] = value
    pieces = Pieces(chunk(bytes(damaged), begin=5), DECODING)

    with pytest.raises(CorruptRecord, match=f"t-0 at offset 5: .*{match}"):
        pieces.next()


def test_checksums_can_be_left_alone() -> None:
    damaged = bytearray(batch(0, b"a"))
    damaged[17] ^= 1
    trusting = Decoding(check_crcs=False, max_inflated=2**20)

    assert offsets(Pieces(chunk(bytes(damaged)), trusting)) == [0]


def old_message(offset: int, value: bytes) -> bytes:
    """Of format 1, without a key; its checksum is wrong."""
    body = struct.pack(">IbbqiI", 0, 1, 0, 0, -1, len(value)) + value
    return struct.pack(">qi", offset, len(body)) + body


def test_messages_of_old_formats_come_in_one_piece() -> None:
    trusting = Decoding(check_crcs=False, max_inflated=2**20)
    pieces = Pieces(chunk(old_message(3, b"a"), old_message(4, b"b"), begin=3), trusting)

    (piece,) = all_of(pieces)

    assert [record.value for record in piece.records] == [b"a", b"b"]
    assert (piece.next_offset, pieces.position) == (5, 5)


def test_nothing_is_cut_of_nothing() -> None:
    assert cut(memoryview(b""), 0) is None


def test_it_says_where_it_is() -> None:
    data = chunk(batch(0, b"a"))

    assert repr(Pieces(data, DECODING)) == f"<Pieces of t-0: at 0 of {len(data.data)} bytes>"
