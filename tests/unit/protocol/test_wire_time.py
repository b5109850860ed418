from __future__ import annotations

from math import inf

import pytest

from kafka_aio.protocol.wire import STAGING
from tests.unit.protocol.wires import MIB, NOISE, ask, begun, feed, framed


def test_nothing_is_awaited_of_a_wire_at_rest() -> None:
    wire = begun(1)
    feed(wire, framed(1))

    assert wire.deadline == inf
    assert wire.overdue(now=1e9) == ""


def test_the_earliest_deadline_in_flight_counts_not_that_of_the_oldest() -> None:
    wire = begun(0)
    ask(wire, "patient", now=10.0, deadline=40.0)
    ask(wire, "hasty", now=11.0, deadline=15.0)

    assert wire.deadline == 15.0
    assert wire.overdue(now=14.999) == ""
    assert wire.overdue(now=15.0) == "no answer to Heartbeat within 4.0 s"


def test_an_answered_request_is_not_overdue() -> None:
    wire = begun(0)
    ask(wire, "a", deadline=5.0)
    ask(wire, "b", deadline=9.0)
    feed(wire, framed(1), now=4.0)

    assert wire.deadline == 9.0
    assert wire.overdue(now=8.0) == ""


@pytest.mark.parametrize("body", [b"small", NOISE[:MIB]])
def test_a_frame_must_be_complete_in_time_since_its_first_byte(body: bytes) -> None:
    wire = begun(1, frame_timeout=30.0)
    stream = framed(1, body)
    feed(wire, stream[:1], now=100.0)
    for second in range(1, 8):
        feed(wire, stream[second : second + 1], now=100.0 + second)

    assert wire.deadline == 130.0
    assert wire.overdue(now=129.999) == ""
    assert wire.overdue(now=130.0) == "a frame was not complete 30.0 s after its first byte"


def test_the_time_of_a_frame_begins_with_its_own_first_byte() -> None:
    wire = begun(2, frame_timeout=30.0)
    feed(wire, framed(1)[:7], now=100.0)
    feed(wire, framed(1)[7:] + framed(2)[:3], now=120.0)
    feed(wire, framed(2)[3:5], now=140.0)

    assert wire.deadline == 150.0


def test_the_time_of_a_large_frame_does_not_begin_anew_when_its_memory_grows() -> None:
    wire = begun(1, frame_timeout=30.0)
    stream = framed(1, NOISE)
    for number, start in enumerate(range(0, MIB, STAGING)):
        feed(wire, stream[start : start + STAGING], now=100.0 + number / 10)

    assert wire.deadline == 130.0


def test_a_complete_frame_takes_its_time_limit_with_it() -> None:
    wire = begun(1, frame_timeout=30.0)
    stream = framed(1, NOISE)
    feed(wire, stream[:100_000], now=100.0)
    feed(wire, stream[100_000:], now=129.0)

    assert wire.deadline == inf
