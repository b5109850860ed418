from __future__ import annotations

import tracemalloc
from itertools import accumulate, pairwise
from math import inf
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_aio.errors import (
    CorrelationIdError,
    ProtocolError,
    SerializationError,
    UnsupportedVersion,
)
from kafka_aio.protocol.codec import decode
from kafka_aio.protocol.frame import decode_request_head, encode_response
from kafka_aio.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from kafka_aio.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kafka_aio.protocol.messages.groups import HeartbeatRequest
from kafka_aio.protocol.wire import FIRST_ROOM, LIMIT_BEFORE_AUTHENTICATION, STAGING, Wire
from tests.unit.protocol.wires import HEARTBEAT, MIB, NOISE, ask, begun, feed, framed

LAST_ID = 2**31 - 1
METADATA = ApiVersion(api_key=3, min_version=0, max_version=13)
SIZES = [
    *(0, 1, 100),
    *(STAGING - 9, STAGING - 8, STAGING - 7, STAGING, 2 * STAGING - 8),  # a head has eight bytes
    *(FIRST_ROOM - 5, FIRST_ROOM - 4, FIRST_ROOM - 3, 2 * FIRST_ROOM, 5 * FIRST_ROOM),
]


def sent_id(buffers: list[Any]) -> int:
    return decode_request_head(b"".join(buffers)[4:]).header.correlation_id


def failure_of(wire: Wire[str]) -> ProtocolError:
    assert wire.failure is not None
    return wire.failure


# Frames.


@given(st.lists(st.sampled_from(SIZES), min_size=1, max_size=5), st.data())
@example([STAGING - 8, STAGING - 7, 0, 5 * FIRST_ROOM, 0], None)
def test_however_the_stream_is_cut_the_answers_are_the_same(
    sizes: list[int], data: st.DataObject | None
) -> None:
    wire = begun(len(sizes))
    bodies = [NOISE[number : number + size] for number, size in enumerate(sizes)]
    stream = b"".join(framed(number, body) for number, body in enumerate(bodies, 1))
    ends = list(accumulate(8 + size for size in sizes))
    near_an_end = st.builds(int.__add__, st.sampled_from(ends), st.integers(-9, 9))
    anywhere = st.integers(0, len(stream))
    cuts = data.draw(st.lists(near_an_end | anywhere, max_size=12)) if data else []
    edges = sorted({0, *(min(max(0, cut), len(stream)) for cut in cuts), len(stream)})

    answers = []
    for start, end in pairwise(edges):
        answers += feed(wire, memoryview(stream)[start:end])

    assert wire.failure is None
    assert [answer.request.waiter for answer in answers] == [
        f"request {number}" for number in range(1, len(sizes) + 1)
    ]
    assert [bytes(answer.frame)[4:] for answer in answers] == bodies
    assert wire.in_flight == 0
    assert wire.deadline == inf


def test_a_stream_that_comes_byte_by_byte_is_read_as_one_that_comes_at_once() -> None:
    wire = begun(3)
    stream = framed(1, b"one") + framed(2) + framed(3, b"three")

    answers = [answer for byte in stream for answer in feed(wire, bytes([byte]))]

    assert [bytes(answer.frame)[4:] for answer in answers] == [b"one", b"", b"three"]


def test_an_answer_is_there_as_soon_as_its_last_byte_is() -> None:
    wire = begun(1)
    stream = framed(1, NOISE)
    early = feed(wire, stream[:-1])

    late = feed(wire, stream[-1:])

    assert early == []
    assert [bytes(answer.frame)[4:] for answer in late] == [NOISE]


def test_there_is_always_room_for_the_next_byte() -> None:
    wire = begun(3)
    stream = framed(1, NOISE[: STAGING - 8]) + framed(2, NOISE[:STAGING]) + framed(3, NOISE[:MIB])

    for start in range(0, len(stream), 1_023):
        assert len(wire.buffer()) > 0
        feed(wire, stream[start : start + 1_023])

    assert wire.in_flight == 0


def test_an_answer_can_be_decoded() -> None:
    wire = Wire[str](client_id=None, frame_timeout=30.0)
    wire.send(ApiVersionsRequest(), 0, "who", now=0.0, deadline=inf)
    response = ApiVersionsResponse(error_code=0, api_keys=[METADATA])

    (answer,) = feed(
        wire, b"".join(encode_response(ApiVersionsRequest, response, 0, correlation_id=1))
    )

    assert answer.request.api == "ApiVersions"
    assert answer.decode() == response


def test_an_answer_that_cannot_be_read_is_a_protocol_error() -> None:
    wire = begun(1)

    (answer,) = feed(wire, framed(1, b"\x00"))

    with pytest.raises(ProtocolError, match="Heartbeat"):
        answer.decode()


@given(st.lists(st.binary(max_size=40), max_size=5), st.integers(0, 3))
def test_bytes_without_sense_are_a_failure_and_nothing_else(
    chunks: list[bytes], requests: int
) -> None:
    wire = begun(requests)

    answers = [answer for chunk in chunks for answer in feed(wire, chunk)]

    assert len(answers) + wire.in_flight == requests
    assert wire.failure is None or isinstance(wire.failure, ProtocolError)


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 3, 1_001, 2**31 - 1])
def test_an_impossible_length_is_a_failure_after_the_answers_before_it(length: int) -> None:
    wire = begun(3)
    wire.limit = 1_000
    bad = length.to_bytes(4, "big", signed=True)

    answers = feed(wire, framed(1, b"good") + framed(2) + bad + b"what ever")

    assert [answer.request.waiter for answer in answers] == ["request 1", "request 2"]
    assert str(failure_of(wire)) == f"a frame of {length:,} bytes; from 4 to 1,000 are accepted"


def test_the_longest_frame_that_is_allowed_is_accepted() -> None:
    wire = begun(1)
    wire.limit = 1_000

    answers = feed(wire, framed(1, NOISE[:996]))

    assert len(answers) == 1


def test_before_authentication_half_a_mebibyte_is_the_limit() -> None:
    wire = Wire[str](client_id=None, frame_timeout=30.0)
    ask(wire, "who")
    ask(wire, "again")

    answers = feed(wire, framed(1, NOISE[: 512 * 1024 - 4]))
    feed(wire, framed(2, NOISE[: 512 * 1024 - 3])[:4])

    assert LIMIT_BEFORE_AUTHENTICATION == 512 * 1024
    assert len(answers) == 1
    assert "from 4 to 524,288 are accepted" in str(failure_of(wire))


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (b"HTTP/1.1 400 Bad Request", "the peer speaks HTTP, not Kafka's protocol"),
        (b"SSH-2.0-OpenSSH_9.2", "the peer speaks SSH, not Kafka's protocol"),
        (b"220 mail.example ESMTP", "the peer speaks SMTP or FTP, not Kafka's protocol"),
        (b"-ERR unknown command", "the peer speaks Redis, not Kafka's protocol"),
        (
            b"\x15\x03\x03\x00\x02\x02\x46",
            "the peer speaks TLS; set security_protocol to 'SSL' or 'SASL_SSL'",
        ),
    ],
)
def test_a_peer_that_is_no_broker_is_recognised_by_its_first_words(said: bytes, text: str) -> None:
    wire = Wire[str](client_id=None, frame_timeout=30.0)
    ask(wire, "who")

    feed(wire, said)

    assert str(failure_of(wire)) == text


# Memory.


@pytest.mark.parametrize("received", [4, 10, STAGING])
def test_memory_follows_the_bytes_received_and_not_the_bytes_promised(received: int) -> None:
    wire = begun(1)
    beginning = ((90 * MIB).to_bytes(4, "big") + framed(1)[4:] + bytes(STAGING))[:received]
    tracemalloc.start()

    feed(wire, beginning)
    wire.buffer()

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert wire.failure is None
    assert peak < MIB


def test_the_memory_of_a_large_frame_grows_as_it_fills() -> None:
    wire = begun(1)
    feed(wire, (90 * MIB).to_bytes(4, "big") + framed(1)[4:])
    filled, room = 4, len(wire.buffer())
    rooms = [room]

    while filled < 3 * MIB:
        assert filled + room <= max(FIRST_ROOM, 2 * filled)
        feed(wire, bytes(room))
        filled, room = filled + room, len(wire.buffer())
        rooms.append(room)

    assert rooms == [FIRST_ROOM - 4, *(FIRST_ROOM << doubled for doubled in range(5))]


def test_after_a_large_frame_the_next_one_has_its_memory_at_once() -> None:
    wire = begun(2)
    feed(wire, framed(1, NOISE))
    beginning = framed(2, NOISE)[:8]

    feed(wire, beginning)

    assert len(wire.buffer()) == len(NOISE)


def test_the_memory_of_a_frame_is_used_again_when_nobody_looks_at_it_any_more() -> None:
    wire = begun(3)
    (first,) = feed(wire, framed(1, NOISE[:MIB]))
    memory = id(first.frame.obj)  # type: ignore[union-attr]  # a large frame is a view
    looked_at = first.frame[10:20]
    del first

    (second,) = feed(wire, framed(2, NOISE[1 : MIB + 1]))
    is_other = id(second.frame.obj) != memory  # type: ignore[union-attr]
    kept = bytes(looked_at)
    del second, looked_at
    (third,) = feed(wire, framed(3, NOISE[2:MIB]))

    assert is_other
    assert kept == NOISE[6:16]
    assert id(third.frame.obj) == memory  # type: ignore[union-attr]
    assert third.frame[4:] == NOISE[2:MIB]


def test_no_more_memory_is_kept_than_a_connection_needs() -> None:
    wire = begun(40)
    answers = [feed(wire, framed(number, NOISE[:MIB]))[0] for number in range(1, 31)]
    large = feed(wire, framed(31, NOISE + NOISE + NOISE))
    tracemalloc.start()
    try:
        del large
        answers.clear()
        for number in range(32, 41):
            feed(wire, framed(number, NOISE[:MIB]))
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert grown < 2 * MIB
    wire.abandon()


def test_the_records_of_a_large_fetch_are_views_of_what_the_socket_filled() -> None:
    wire = Wire[str](client_id=None, frame_timeout=30.0)
    wire.limit = 100 * MIB
    request = FetchRequest(max_wait_ms=1, min_bytes=1, topics=[])
    wire.send(request, 12, "fetcher", now=0.0, deadline=inf)
    partition = PartitionData(
        partition_index=0,
        error_code=0,
        high_watermark=1,
        aborted_transactions=None,
        records=NOISE[:STAGING],
    )
    topic = FetchableTopicResponse(topic="t", partitions=[partition])
    response = FetchResponse(throttle_time_ms=0, responses=[topic])
    stream = b"".join(encode_response(FetchRequest, response, 12, correlation_id=1))
    feed(wire, stream[:8])
    filled = wire.buffer().obj

    (answer,) = feed(wire, stream[8:])
    records = answer.decode().responses[0].partitions[0].records

    assert isinstance(answer.frame, memoryview)
    assert answer.frame.obj is filled
    assert isinstance(records, memoryview)
    assert records.obj is filled
    assert records == NOISE[:STAGING]


# Order.


@pytest.mark.parametrize("body", [b"", NOISE[:MIB]])
@pytest.mark.parametrize("turn", [0, 2, 3, -1, LAST_ID])
def test_an_answer_out_of_turn_is_refused(turn: int, body: bytes) -> None:
    wire = begun(2)

    answers = feed(wire, framed(turn, body))

    assert answers == []
    assert isinstance(wire.failure, CorrelationIdError)
    assert str(wire.failure) == (
        f"request 1 (Heartbeat) is to be answered, but the answer to {turn} came"
    )


def test_an_answer_out_of_turn_is_refused_as_soon_as_its_head_is_there() -> None:
    wire = begun(1)

    feed(wire, framed(2, NOISE)[:8])

    assert isinstance(wire.failure, CorrelationIdError)


def test_a_large_answer_out_of_turn_is_refused_also_if_its_head_came_in_two_pieces() -> None:
    wire = begun(1)
    stream = framed(2, NOISE)

    answers = feed(wire, stream[:5]) + feed(wire, stream[5:])

    assert answers == []
    assert isinstance(wire.failure, CorrelationIdError)


def test_an_answer_that_is_repeated_is_refused() -> None:
    wire = begun(2)

    answers = feed(wire, framed(1) + framed(1))

    assert [answer.request.waiter for answer in answers] == ["request 1"]
    assert isinstance(wire.failure, CorrelationIdError)
    assert wire.in_flight == 1


@pytest.mark.parametrize("received", [4, 8])
def test_an_answer_to_nothing_is_refused(received: int) -> None:
    wire = begun(0)

    feed(wire, framed(1)[:received])

    assert isinstance(wire.failure, CorrelationIdError)
    assert "although nothing was asked" in str(wire.failure)


def test_a_request_with_the_next_id_goes_out() -> None:
    wire = begun(0)

    first = wire.send(HEARTBEAT, 3, "a", now=0.0, deadline=inf)
    unanswered = wire.post(HEARTBEAT, 3)
    third = wire.send(HEARTBEAT, 4, "c", now=0.0, deadline=inf)

    head = decode_request_head(b"".join(third)[4:])
    assert [sent_id(first), sent_id(unanswered), sent_id(third)] == [1, 2, 3]
    assert head.header.client_id == "me"
    assert head.header.request_api_version == 4
    assert decode(HeartbeatRequest, b"".join(third)[4:], 4, start=head.body) == HEARTBEAT


def test_what_is_posted_is_not_answered() -> None:
    wire = begun(0)
    ask(wire, "a")
    wire.post(HEARTBEAT, 3)
    ask(wire, "c")

    answers = feed(wire, framed(1) + framed(3))

    assert [answer.request.waiter for answer in answers] == ["a", "c"]
    assert wire.failure is None


def test_ids_begin_again_after_the_last_one() -> None:
    wire = begun(0)
    wire._correlation_id = LAST_ID - 1  # two thousand million requests would take too long

    ids = [sent_id(wire.send(HEARTBEAT, 3, name, now=0.0, deadline=inf)) for name in "abc"]
    answers = feed(wire, framed(LAST_ID) + framed(0) + framed(1))

    assert ids == [LAST_ID, 0, 1]
    assert [answer.request.waiter for answer in answers] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("request_", "version", "error"),
    [
        (HeartbeatRequest(group_id="g", generation_id=2**31, member_id="m"), 3, SerializationError),
        (HEARTBEAT, 99, UnsupportedVersion),
    ],
)
def test_a_request_that_cannot_be_written_leaves_no_trace(
    request_: HeartbeatRequest, version: int, error: type[Exception]
) -> None:
    wire = begun(1)

    with pytest.raises(error):
        wire.send(request_, version, "never", now=0.0, deadline=inf)

    ask(wire, "next")
    answers = feed(wire, framed(1) + framed(2))
    assert [answer.request.waiter for answer in answers] == ["request 1", "next"]


def test_what_is_abandoned_comes_out_oldest_first_and_once() -> None:
    wire = begun(3)
    feed(wire, framed(1))

    abandoned = wire.abandon()

    assert [request.waiter for request in abandoned] == ["request 2", "request 3"]
    assert wire.abandon() == []
    assert wire.deadline == inf


def test_a_wire_says_what_it_waits_for() -> None:
    wire = begun(2)
    at_rest = repr(wire)
    feed(wire, framed(1)[:2])

    assert at_rest == "<Wire 2 in flight>"
    assert repr(wire) == "<Wire 2 in flight, in the middle of a frame>"
