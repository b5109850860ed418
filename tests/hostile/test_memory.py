"""What a hostile broker can make of our memory: 16 MiB, and 8 bytes for each that it really sends.

The client is in another process than the broker, so that only its own memory counts.
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest
from kafka_aio.protocol.messages.groups import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    HeartbeatResponse,
)
from kafka_aio.protocol.messages.metadata import MetadataRequest
from kafka_aio.protocol.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from kafka_aio.protocol.primitives import uvarint
from tests.hostile.attacks import answers, beats, begun, breaks_off, first, frame, lazily, promises
from tests.hostile.measured import Case, Result
from tests.net.clusters import scripted
from tests.net.server import HOST, Asked, Reaction, authenticated, says, writes

MIB = 2**20
MILLION = 1_000_000
ROOT = Path(__file__).parent.parent.parent

PATIENT = {
    "request_timeout_ms": 20_000,
    "default_api_timeout_ms": 20_000,
    "socket_connection_setup_timeout_ms": 20_000,
    "socket_connection_setup_timeout_max_ms": 20_000,
}
BRIEF = {**PATIENT, "request_timeout_ms": 500}
SASL = {**PATIENT, "security_protocol": "SASL_PLAINTEXT"}
PLAIN = {**SASL, "sasl_mechanism": "PLAIN", "sasl_username": "a", "sasl_password": "b"}
BEARER = {**SASL, "sasl_mechanism": "OAUTHBEARER"}


@dataclass(frozen=True)
class Attack:
    """One hostile answer to the first request of a class; what follows is as it should be."""

    place: type[Any]
    make: Callable[[], Reaction]
    call: str
    error: str = ""
    """What the call ends with; nothing if the answer is taken, or asked for again."""
    is_refused_early: bool = False
    """Whether the client is to read no more of it than it must."""
    options: dict[str, Any] = field(default_factory=lambda: PATIENT)

    def once(self, then: Reaction) -> Reaction:
        hostile = first(lazily(self.make), then=then)

        def react(asked: Asked) -> None:
            is_of_start = isinstance(asked.message, MetadataRequest) and asked.message.topics == []
            (then if is_of_start else hostile)(asked)

        return react


def refused(place: type[Any], make: Callable[[], Reaction], call: str, **more: Any) -> Attack:
    """At its head, or at the first number that cannot be: what comes after is not read."""
    return Attack(place, make, call, is_refused_early=True, **more)


# Bodies, written by hand: a million objects would take long to make.


def text(value: bytes) -> bytes:
    return uvarint(len(value) + 1) + value


def array(*items: bytes) -> bytes:
    return uvarint(len(items) + 1) + b"".join(items)


def broker(node: int, host: bytes = HOST.encode(), *, port: int = 9_092) -> bytes:
    return struct.pack(">i", node) + text(host) + struct.pack(">i", port) + bytes(2)


def topic(name: bytes, partitions: bytes = array(), *, tags: bytes = b"\0") -> bytes:
    return bytes(2) + text(name) + bytes(17) + partitions + bytes(4) + tags


def partition(index: int, replicas: bytes = array()) -> bytes:
    return struct.pack(">hiii", 0, index, 1, index) + replicas + array() + array() + b"\0"


def metadata(topics: bytes = array(), brokers: bytes = array(broker(1))) -> Reaction:
    return answers(bytes(5) + brokers + text(b"x") + bytes(4) + topics + bytes(3))


def coordinator(key: bytes) -> bytes:
    return text(key) + bytes(4) + text(b"h") + bytes(8)


def unknown_tags(count: int) -> bytes:
    return uvarint(count) + b"".join(uvarint(tag) + b"\0" for tag in range(count))


def pours(head: bytes) -> Reaction:
    """Something that is no answer, and 30 MiB more."""
    return writes(head + bytes(30 * MIB))


def pours_in_turn(length: int) -> Reaction:
    """A frame, and all that it promises."""
    return lambda asked: asked.peer.write(begun(asked, length) + bytes(length - 4))


def says_on_and_on(response: object) -> Reaction:
    """An answer, and many more to requests that are not sent yet."""

    def react(asked: Asked) -> None:
        asked.peer.write(b"".join(asked.framed(response, turn=turn) for turn in range(100_000)))

    return react


def numbers(count: int) -> list[bytes]:
    return [b"%07d" % number for number in range(count)]


def in_disorder(count: int) -> list[int]:
    """All numbers below it, each once: 7,919 is a prime."""
    return [number * 7_919 % count for number in range(count)]


def api_keys() -> bytes:
    key = b"".join(struct.pack(">hhhb", number, 0, 1, 0) for number in range(30_000))
    return uvarint(60_001) + 2 * key


def replicas() -> bytes:
    return uvarint(MILLION + 1) + struct.pack(f">{MILLION}i", *range(MILLION))


def challenge() -> object:
    return authenticated(json.dumps({"status": "x" * 10_000_000}).encode())


ATTACKS = {
    # Before we know that it is a broker.
    "a frame of 2^31-1 bytes, and 30 MiB of them": refused(
        ApiVersionsRequest, lambda: pours(frame(2**31 - 1)), "start", error="ProtocolError"
    ),
    "30 MiB of HTTP": refused(
        ApiVersionsRequest, lambda: pours(b"HTTP/1.1 200 OK\r\n"), "start", error="ProtocolError"
    ),
    "a frame above 512 KiB, and all of it": refused(
        ApiVersionsRequest, lambda: pours_in_turn(30 * MIB), "start", error="ProtocolError"
    ),
    "2^31-1 keys, promised": refused(
        ApiVersionsRequest,
        lambda: answers(bytes(2) + uvarint(2**31 - 1)),
        "start",
        error="ProtocolError",
    ),
    "60,000 keys": Attack(
        ApiVersionsRequest,
        lambda: answers(bytes(2) + api_keys() + bytes(5)),
        "start",
        error="ProtocolError",
    ),
    "a frame above 512 KiB before authentication, and all of it": refused(
        SaslHandshakeRequest,
        lambda: pours_in_turn(30 * MIB),
        "start",
        error="ProtocolError",
        options=PLAIN,
    ),
    "100,000 mechanisms": Attack(
        SaslHandshakeRequest,
        lambda: answers(struct.pack(">hi", 0, 100_000) + b"\0\1X" * 100_000),
        "start",
        options=PLAIN,
    ),
    "JSON of 10 MB in place of a token's refusal": refused(
        SaslAuthenticateRequest,
        lambda: says(challenge()),
        "start",
        error="ProtocolError",
        options=BEARER,
    ),
    # From a broker.
    "a frame of 99 MiB, and nothing of it": refused(
        HeartbeatRequest,
        lambda: promises(99 * MIB),
        "send",
        error="KafkaTimeoutError",
        options=BRIEF,
    ),
    "a frame of 99 MiB, and the end after 20": Attack(
        HeartbeatRequest,
        lambda: breaks_off(99 * MIB, sent=20 * MIB),
        "send",
        error="KafkaConnectionError",
    ),
    "a frame of 30 MiB that is of no use": Attack(
        HeartbeatRequest, lambda: pours_in_turn(30 * MIB), "send", error="ProtocolError"
    ),
    "a frame above receive_max_bytes, and all of it": refused(
        HeartbeatRequest,
        lambda: pours_in_turn(30 * MIB),
        "send",
        error="ProtocolError",
        options={**PATIENT, "receive_max_bytes": 10 * MIB},
    ),
    "100,000 answers to one request": refused(
        HeartbeatRequest, lambda: says_on_and_on(HeartbeatResponse(error_code=0)), "send"
    ),
    "2^31-1 topics, promised": refused(
        MetadataRequest, lambda: metadata(uvarint(2**31 - 1)), "refresh"
    ),
    "2^31-1 tagged fields, promised": refused(
        MetadataRequest, lambda: answers(uvarint(2**31 - 1) + bytes(1_000)), "refresh"
    ),
    "1,000,001 topics": Attack(
        MetadataRequest,
        lambda: metadata(uvarint(MILLION + 2) + topic(b"") * (MILLION + 1)),
        "refresh",
    ),
    "1,000,000 topics that nobody asked about": Attack(
        MetadataRequest, lambda: metadata(array(*map(topic, numbers(MILLION)))), "refresh"
    ),
    "1,000,000 topics where all are asked for": Attack(
        MetadataRequest,
        lambda: metadata(array(*map(topic, numbers(MILLION)))),
        "refresh all",
    ),
    "1,000,000 topics of one name": Attack(
        MetadataRequest, lambda: metadata(uvarint(MILLION + 1) + topic(b"t") * MILLION), "refresh"
    ),
    "1,000,000 partitions": Attack(
        MetadataRequest,
        lambda: metadata(array(topic(b"t", array(*map(partition, range(MILLION)))))),
        "refresh",
    ),
    "1,000,000 partitions in disorder": Attack(
        MetadataRequest,
        lambda: metadata(array(topic(b"t", array(*map(partition, in_disorder(MILLION)))))),
        "refresh",
    ),
    "1,000,000 replicas": Attack(
        MetadataRequest,
        lambda: metadata(array(topic(b"t", array(partition(0, replicas()))))),
        "refresh",
    ),
    "1,000,000 brokers": Attack(
        MetadataRequest, lambda: metadata(brokers=array(*map(broker, range(MILLION)))), "refresh"
    ),
    "10,000 brokers that cannot be": Attack(
        MetadataRequest,
        lambda: metadata(brokers=array(*(broker(n, b"h" * 255, port=0) for n in range(10_000)))),
        "refresh",
    ),
    "1,000,000 tagged fields that nobody knows": Attack(
        MetadataRequest,
        lambda: metadata(array(*[topic(b"t", tags=unknown_tags(10_000))] * 100)),
        "refresh",
    ),
    "1,000,000 coordinators": Attack(
        FindCoordinatorRequest,
        lambda: answers(bytes(5) + array(*map(coordinator, numbers(MILLION))) + b"\0"),
        "find",
        error="ProtocolError",
    ),
}


pytestmark = pytest.mark.timeout(240)  # all cases are run for the first test


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    return asyncio.run(measured())


async def measured() -> dict[str, Result]:
    async with AsyncExitStack() as stack:
        good = await stack.enter_async_context(scripted(1))
        good.brokers[1].reactions[HeartbeatRequest] = beats
        cases: list[Case] = []
        for attack in ATTACKS.values():
            script = await stack.enter_async_context(scripted(1))
            reactions = script.brokers[1].reactions
            reactions[HeartbeatRequest] = beats
            reactions[attack.place] = attack.once(then=reactions[attack.place])
            cases.append(
                {
                    "call": attack.call,
                    "options": attack.options,
                    "hostile": script.brokers[1].port,
                    "good": good.brokers[1].port,
                }
            )
        lines = await run_child("\n".join(map(json.dumps, cases)))
        return {name: json.loads(line) for name, line in zip(ATTACKS, lines, strict=True)}


async def run_child(cases: str) -> list[bytes]:
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.hostile.measured"),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        out, _ = await child.communicate(cases.encode())
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    assert child.returncode == 0
    return out.splitlines()


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux can tell")
@pytest.mark.parametrize("name", ATTACKS)
def test_memory_follows_the_bytes_received(name: str, results: dict[str, Result]) -> None:
    attack, result = ATTACKS[name], results[name]

    assert result["error"] == attack.error
    assert result["grown"] < 16 * MIB + 8 * result["received"]
    if attack.is_refused_early:
        assert result["received"] < MIB
        assert result["grown"] < 16 * MIB
