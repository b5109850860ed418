"""Wires to try, and what a socket does to them."""

from __future__ import annotations

import random
from math import inf

from kafka_aio.protocol.messages.groups import HeartbeatRequest
from kafka_aio.protocol.wire import Answer, Wire

MIB = 2**20
HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
NOISE = random.Random(0).randbytes(2 * MIB)


def begun(requests: int = 0, *, frame_timeout: float = 30.0) -> Wire[str]:
    """A wire of a broker that we know, with so many requests in flight."""
    wire = Wire[str](client_id="me", frame_timeout=frame_timeout)
    wire.limit = 100 * MIB
    for number in range(1, requests + 1):
        ask(wire, f"request {number}")
    return wire


def ask(wire: Wire[str], waiter: str, *, now: float = 0.0, deadline: float = inf) -> None:
    wire.send(HEARTBEAT, 3, waiter, now=now, deadline=deadline)


def framed(correlation_id: int, body: bytes | memoryview = b"") -> bytes:
    head = correlation_id.to_bytes(4, "big", signed=True)
    return (len(head) + len(body)).to_bytes(4, "big") + head + body


def feed(wire: Wire[str], data: bytes | memoryview, *, now: float = 0.0) -> list[Answer[str]]:
    """Do what a socket does: fill the room that there is, until all is received."""
    answers: list[Answer[str]] = []
    data = memoryview(data)
    while data and wire.failure is None:
        with wire.buffer() as room, memoryview(room):  # uvloop has one of its own meanwhile
            count = min(len(room), len(data))
            room[:count] = data[:count]
            if not wire.fill(count):
                answers += wire.received(count, now=now)
        data = data[count:]
    return answers
