"""Chunks that wait to be handed out; B46 and B47 are behaviours of Java's client."""

from __future__ import annotations

import pytest

from kafka_aio.consumer.buffer import Buffer, Chunk, Slice
from kafka_aio.types import TopicPartition
from tests.unit.consumer.fetched import A, B, C, Owned, Place, batch, message, owned


def add(buffer: Buffer, *slices: tuple[TopicPartition, int, bytes], era: int = 0) -> None:
    """One frame with these: the partition, its position, the records."""
    frame = memoryview(b"".join(data for *_, data in slices))
    at = 0
    parts = []
    for name, begin, data in slices:
        parts.append(Slice(name, era, begin, frame[at : at + len(data)]))
        at += len(data)
    buffer.add(parts, size=len(frame))


def take(buffer: Buffer, partitions: dict[TopicPartition, Owned]) -> Chunk:
    chunk = buffer.take(partitions)
    assert chunk is not None
    return chunk


def use_up(buffer: Buffer, partitions: dict[TopicPartition, Owned]) -> Chunk:
    chunk = take(buffer, partitions)
    assert chunk.end is not None
    partitions[chunk.partition].position = Place(chunk.end)
    buffer.release(chunk)
    return chunk


@pytest.fixture
def buffer() -> Buffer:
    return Buffer()


# Where the next chunk begins.


@pytest.mark.parametrize(
    ("records", "end"),
    [
        (batch(0, 10), 10),
        (batch(0, 10) + batch(20, 5), 25),
        (message(0) + message(1), 2),
        (batch(0, 10) + batch(10, 5)[:99], 10),
        (batch(0, 10) + batch(10, 5)[:16], 10),
    ],
    ids=["one", "with a gap", "old formats", "cut short", "cut in the header"],
)
def test_a_chunk_ends_after_its_last_whole_batch(buffer: Buffer, records: bytes, end: int) -> None:
    add(buffer, (A, 0, records))

    assert buffer.next_offset(A, owned(A)[A]) == end


@pytest.mark.parametrize(
    "records",
    [
        batch(0)[:50],
        batch(0) + batch(1)[:8] + bytes(92),
        batch(0)[:16] + b"\x03" + batch(0)[17:],
        batch(0)[:8] + b"\0\0\0\x10" + batch(0)[12:],
        batch(0, size=61) * 1_001,
    ],
    ids=["no whole batch", "no length", "unknown format", "too short", "too many"],
)
def test_the_end_of_some_chunks_takes_decoding_to_know(buffer: Buffer, records: bytes) -> None:
    partitions = owned(A)
    add(buffer, (A, 0, records))

    assert buffer.next_offset(A, partitions[A]) is None
    chunk = take(buffer, partitions)
    assert chunk.data == records  # the decoder finds what is wrong
    buffer.release(chunk)

    assert buffer.next_offset(A, partitions[A]) == 0


def test_a_chunk_that_ends_before_the_position_has_no_end(buffer: Buffer) -> None:
    add(buffer, (A, 7, batch(0, 7)))

    assert buffer.next_offset(A, owned(A)[A]) is None


def test_the_chunk_in_hand_counts_for_the_next_one(buffer: Buffer) -> None:
    partitions = owned(A)
    add(buffer, (A, 0, batch(0, 3)))

    take(buffer, partitions)

    assert buffer.next_offset(A, partitions[A]) == 3


# Who is served.


def test_partitions_take_turns(buffer: Buffer) -> None:
    partitions = owned(A, B)
    add(buffer, (A, 0, batch(0)))
    add(buffer, (A, 1, batch(1)))
    add(buffer, (B, 0, batch(0)))
    add(buffer, (B, 1, batch(1)))

    taken = [use_up(buffer, partitions) for _ in range(4)]

    assert [(chunk.partition, chunk.begin) for chunk in taken] == [(A, 0), (B, 0), (A, 1), (B, 1)]
    assert buffer.take(partitions) is None
    assert buffer.held == 0


def test_of_a_partition_one_chunk_is_in_hand_at_a_time(buffer: Buffer) -> None:
    partitions = owned(A)
    add(buffer, (A, 0, batch(0)))
    add(buffer, (A, 1, batch(1)))
    take(buffer, partitions)

    assert buffer.take(partitions) is None
    assert list(buffer) == [A]


# B46: what is of another position or assignment.


def test_what_was_fetched_before_a_seek_is_not_handed_out(buffer: Buffer) -> None:
    partitions = owned(A)
    add(buffer, (A, 0, batch(0)))
    partitions[A].seek(0)

    assert buffer.take(partitions) is None
    assert buffer.held == 0


def test_what_was_revoked_is_not_handed_out(buffer: Buffer) -> None:
    add(buffer, (A, 0, batch(0)))

    assert buffer.take({}) is None
    assert buffer.held == 0


def test_what_does_not_begin_at_the_position_is_not_handed_out(buffer: Buffer) -> None:
    partitions = owned(A)
    add(buffer, (A, 0, batch(0, 5)))
    add(buffer, (A, 5, batch(5, 5)))
    chunk = take(buffer, partitions)
    partitions[A].position = Place(2)
    buffer.release(chunk)  # though there is more in it

    assert buffer.take(partitions) is None
    assert buffer.next_offset(A, partitions[A]) == 2


def test_a_chunk_in_hand_is_held_after_a_seek_until_it_is_released(buffer: Buffer) -> None:
    partitions = owned(A)
    add(buffer, (A, 0, batch(0)))
    chunk = take(buffer, partitions)
    partitions[A].seek(0)
    buffer.forget_old(partitions)

    assert buffer.held == 100
    assert buffer.next_offset(A, partitions[A]) == 0
    buffer.put_back(chunk, position=0)
    buffer.release(chunk)

    assert buffer.held == 0
    assert buffer.take(partitions) is None


# B47: a pause keeps what is there.


def test_a_paused_partition_keeps_its_chunks(buffer: Buffer) -> None:
    partitions = owned(A, B)
    add(buffer, (A, 0, batch(0)))
    add(buffer, (B, 0, batch(0)))
    partitions[A].is_paused = True

    assert use_up(buffer, partitions).partition == B
    assert buffer.take(partitions) is None
    partitions[A].is_paused = False

    assert use_up(buffer, partitions).partition == A


def test_what_is_left_of_a_chunk_can_wait(buffer: Buffer) -> None:
    partitions = owned(A)
    add(buffer, (A, 0, batch(0, 5)))
    add(buffer, (A, 5, batch(5, 5)))
    chunk = take(buffer, partitions)
    partitions[A].position = Place(2)

    buffer.put_back(chunk, position=2)

    assert use_up(buffer, partitions) is chunk
    assert (chunk.begin, chunk.end) == (2, 5)
    assert use_up(buffer, partitions).begin == 5


def test_a_chunk_of_which_nothing_is_left_is_not_put_back(buffer: Buffer) -> None:
    partitions = owned(A)
    add(buffer, (A, 0, batch(0, 5)))
    chunk = take(buffer, partitions)
    partitions[A].position = Place(5)

    buffer.put_back(chunk, position=5)

    assert (list(buffer), buffer.held) == ([], 0)


# The bytes.


def test_a_frame_is_held_until_its_last_chunk_is_released(buffer: Buffer) -> None:
    partitions = owned(A, B)
    add(buffer, (A, 0, batch(0)), (B, 0, batch(0)))

    use_up(buffer, partitions)
    assert buffer.held == 200
    use_up(buffer, partitions)

    assert buffer.held == 0


def test_a_frame_without_chunks_is_not_held(buffer: Buffer) -> None:
    buffer.add([], size=100)

    assert buffer.held == 0


def test_more_than_half_of_a_frame_is_not_copied(buffer: Buffer) -> None:
    partitions = owned(A, B)
    add(buffer, (A, 0, batch(0, size=100)), (B, 0, batch(0, size=110)))
    use_up(buffer, partitions)

    buffer.copy_out([])
    assert buffer.held == 210
    buffer.copy_out([B])  # it may be there for long

    assert buffer.held == 110


def test_a_frame_with_a_chunk_in_hand_is_not_copied(buffer: Buffer) -> None:
    partitions = owned(A, B, C)
    add(buffer, (A, 0, batch(0, size=800)), (B, 0, batch(0)), (C, 0, batch(0)))
    use_up(buffer, partitions)
    chunk = take(buffer, partitions)

    buffer.copy_out([])
    assert buffer.held == 1_000
    buffer.put_back(chunk, position=0)
    buffer.copy_out([])

    assert buffer.held == 200
    assert chunk.data == batch(0)


def test_the_last_chunk_of_a_partition_can_go(buffer: Buffer) -> None:
    partitions = owned(A)
    add(buffer, (A, 0, batch(0)))
    add(buffer, (A, 1, batch(1)))

    assert buffer.drop_last(A) == 100
    assert buffer.next_offset(A, partitions[A]) == 1
    assert buffer.drop_last(A) == 100

    assert (list(buffer), buffer.held) == ([], 0)


def test_the_repr_shows_the_state(buffer: Buffer) -> None:
    add(buffer, (A, 0, batch(0)), (B, 0, batch(0)))
    take(buffer, owned(A, B))

    assert repr(buffer) == "<Buffer: 1 partitions, 1 taken, 200 bytes>"
