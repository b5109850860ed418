from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_aio.broker.inbox import FIRST, USUAL, Inbox
from kafka_aio.errors import ProtocolError

LIMIT = 100 * 2**20


def framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


def put(inbox: Inbox, data: bytes) -> int:
    """Let a socket read as much as there is room for. Returns how much that was."""
    with inbox.buffer() as room:
        count = min(len(room), len(data))
        room[:count] = data[:count]
    inbox.received(count)
    return count


def taken(inbox: Inbox) -> list[bytes]:
    frames = []
    while (frame := inbox.take()) is not None:
        frames.append(bytes(frame))
    return frames


def capacity(inbox: Inbox) -> int:
    return len(inbox._memory)


@given(
    bodies=st.lists(st.binary(max_size=20).map(lambda body: body * 1_500), max_size=10),
    pieces=st.lists(st.integers(200, 40_000), min_size=1, max_size=10),
)
def test_frames_come_out_as_they_were_sent_however_they_are_cut(
    bodies: list[bytes], pieces: list[int]
) -> None:
    inbox = Inbox(LIMIT)
    data = framed(*bodies)
    found: list[bytes] = []
    at = turn = 0

    while at < len(data):
        piece = data[at : at + pieces[turn % len(pieces)]]
        at += put(inbox, piece)
        turn += 1
        found += taken(inbox)

    assert found == bodies
    assert len(inbox) == 0


def test_frames_that_come_byte_by_byte_are_whole() -> None:
    inbox = Inbox(LIMIT)
    found: list[bytes] = []

    for byte in framed(b"one", b"", b"three"):
        put(inbox, bytes([byte]))
        found += taken(inbox)

    assert found == [b"one", b"", b"three"]


@pytest.mark.parametrize("make_room", [True, False])
def test_there_is_no_memory_before_anything_comes(make_room: bool) -> None:
    inbox = Inbox(LIMIT)
    before = capacity(inbox)
    assert not inbox.is_full

    room = inbox.buffer(make_room=make_room)

    assert (before, len(room)) == (0, FIRST)


def test_memory_grows_with_what_has_come_and_not_with_what_is_promised() -> None:
    inbox = Inbox(LIMIT)

    put(inbox, struct.pack(">i", LIMIT) + bytes(1000))

    assert inbox.take() is None
    assert capacity(inbox) == FIRST


def test_memory_doubles_as_a_large_frame_comes_and_is_given_back_after_it() -> None:
    inbox = Inbox(LIMIT)
    body = bytes(range(256)) * (16 * USUAL // 256)
    data = framed(body)
    at = 0
    while at < len(data):
        at += put(inbox, data[at:])
        assert capacity(inbox) <= 2 * max(at, FIRST)

    assert taken(inbox) == [body]
    assert capacity(inbox) > len(body)

    assert inbox.give_back()

    assert capacity(inbox) == 0
    put(inbox, framed(b"next"))
    assert taken(inbox) == [b"next"]
    assert capacity(inbox) == FIRST


def test_memory_in_which_something_waits_is_not_given_back() -> None:
    inbox = Inbox(LIMIT)
    put(inbox, framed(b"one") + b"\0")
    taken(inbox)

    assert not inbox.give_back()

    put(inbox, framed(b"two")[1:])
    assert taken(inbox) == [b"two"]


@pytest.mark.parametrize(
    ("data", "large"),
    [
        (b"", 0),
        (b"\0\0\0", 0),
        (framed(bytes(USUAL - 4))[:100], 0),
        (framed(bytes(USUAL - 3))[:4], USUAL + 1),
    ],
)
def test_a_frame_that_has_begun_tells_if_it_needs_more_than_usual(data: bytes, large: int) -> None:
    inbox = Inbox(LIMIT)
    put(inbox, framed(b"before"))
    put(inbox, data)

    taken(inbox)

    assert inbox.large == large


def test_a_peer_that_fills_the_memory_gets_more_of_it_up_to_the_usual() -> None:
    inbox = Inbox(LIMIT)
    for _ in range(10):
        put(inbox, framed(*[bytes(1000)] * 1000))
        taken(inbox)

    assert capacity(inbox) == USUAL


def test_memory_is_used_again() -> None:
    inbox = Inbox(LIMIT)
    put(inbox, framed(b"one"))
    taken(inbox)
    before = id(inbox._memory)

    put(inbox, framed(b"two"))

    assert taken(inbox) == [b"two"]
    assert id(inbox._memory) == before


def test_a_frame_that_somebody_looks_at_is_never_written_over() -> None:
    inbox = Inbox(LIMIT)
    put(inbox, framed(b"kept"))
    kept = inbox.take()

    for _ in range(100):
        put(inbox, framed(b"others" * 100))
        taken(inbox)

    assert kept is not None
    assert bytes(kept) == b"kept"


def test_what_waits_is_not_moved_while_it_may_not_be() -> None:
    inbox = Inbox(LIMIT)
    put(inbox, framed(bytes(FIRST - 100)))
    frame = inbox.take()

    room = inbox.buffer(make_room=False)

    assert len(room) == 100 - 4
    assert frame is not None
    assert not inbox.is_full
    inbox.received(len(room))
    assert inbox.is_full


@pytest.mark.parametrize("length", [-1, -(2**31), 1001, 2**31 - 1])
def test_an_impossible_length_is_refused(length: int) -> None:
    inbox = Inbox(1000)
    put(inbox, struct.pack(">i", length))

    with pytest.raises(ProtocolError, match="up to 1,000 are accepted"):
        inbox.take()


def test_a_limit_that_was_raised_holds_for_the_next_frame() -> None:
    inbox = Inbox(10)
    inbox.limit = 20
    put(inbox, framed(bytes(20)))

    assert taken(inbox) == [bytes(20)]


def test_who_speaks_tls_is_told_of() -> None:
    inbox = Inbox(LIMIT)
    put(inbox, b"\x16\x03\x01\x02\x00\x01")

    with pytest.raises(ProtocolError, match="TLS"):
        inbox.take()


def test_a_part_of_a_length_is_no_frame_yet() -> None:
    inbox = Inbox(LIMIT)
    put(inbox, b"\0\0\0")

    assert inbox.take() is None

    put(inbox, b"\0")

    assert taken(inbox) == [b""]
