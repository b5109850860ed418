"""What a hostile broker does to a client of ours, and how the client is seen to have lived."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import chain, repeat
from typing import Any, NamedTuple

from kafka_aio.errors import KafkaError
from kafka_aio.net.cluster import Cluster
from kafka_aio.protocol.messages.groups import HeartbeatRequest, HeartbeatResponse
from kafka_aio.protocol.schema import Request
from kafka_aio.types import TopicPartition
from tests.net.clusters import Scripted
from tests.net.server import PATIENCE, Asked, Reaction

SLACK = 4.0
"""Seconds that a busy machine may add to a time-out; one that is not kept takes `PATIENCE`."""

QUICK_TO_GIVE_UP: dict[str, Any] = {
    "request_timeout_ms": 500,
    "default_api_timeout_ms": 10_000,
    "socket_connection_setup_timeout_ms": 400,
    "socket_connection_setup_timeout_max_ms": 400,
}
REQUEST_SECONDS = 0.5
START_SECONDS = 0.5

BEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")

DRIP_SECONDS = 0.02


class Outcome(NamedTuple):
    """How a call ended, and when."""

    value: Any
    error: KafkaError | None
    seconds: float


async def outcome_of(call: Awaitable[Any]) -> Outcome:
    """Any error but a `KafkaError` fails the test, and so does a call that does not end."""
    loop = asyncio.get_running_loop()
    began_at = loop.time()
    value, failure = None, None
    try:
        async with asyncio.timeout(2 * PATIENCE):
            value = await call
    except KafkaError as error:
        failure = error
    return Outcome(value, failure, loop.time() - began_at)


async def works(cluster: Cluster, script: Scripted, topic: str = "t") -> None:
    """Whether the client can do its work, now that the brokers behave."""
    for broker in script.brokers.values():
        broker.reactions[HeartbeatRequest] = beats
    await cluster.refresh([topic], timeout=PATIENCE)
    leader = cluster.metadata.leader(TopicPartition(topic, 0))
    assert leader is not None
    answer = await cluster.send(leader.node, BEAT, timeout=PATIENCE)
    assert answer.error_code == 0


# Reactions, beside those of `tests.net.server`.


def beats(asked: Asked) -> None:
    asked.answer(HeartbeatResponse(error_code=0))


def frame(length: int, body: bytes = b"") -> bytes:
    """A frame of any length that it says it has."""
    return length.to_bytes(4, "big", signed=True) + body


def begun(asked: Asked, length: int, *, turn: int = 0) -> bytes:
    """The head of an answer of that length; with a `turn`, to a request that many later."""
    return frame(length, (asked.correlation_id + turn).to_bytes(4, "big", signed=True))


def answers(body: bytes, *, turn: int = 0) -> Reaction:
    """These bytes, as if they were the body of an answer."""
    return lambda asked: asked.peer.write(begun(asked, 4 + len(body), turn=turn) + body)


def promises(length: int) -> Reaction:
    """A frame of that length, of which its head comes and nothing else."""
    return lambda asked: asked.peer.write(begun(asked, length))


def breaks_off(length: int, sent: int) -> Reaction:
    """A frame of that length, of which so much comes before the connection ends."""

    def react(asked: Asked) -> None:
        asked.peer.write((begun(asked, length) + bytes(sent))[:sent])
        asked.peer.close()

    return react


def drips(length: int) -> Reaction:
    """A frame of that length, one byte after another."""

    def react(asked: Asked) -> None:
        loop = asyncio.get_running_loop()
        data = begun(asked, length) + bytes(length - 4)

        def write(at: int) -> None:
            if at < len(data) and not asked.peer.gone.is_set():
                asked.peer.write(data[at : at + 1])
                loop.call_later(DRIP_SECONDS, write, at + 1)

        write(0)

    return react


def says_twice(response: object) -> Reaction:
    return lambda asked: asked.peer.write(2 * asked.framed(response))


def says_too_much(response: object) -> Reaction:
    """The answer, and one to a request that was not sent yet."""
    return lambda asked: asked.peer.write(asked.framed(response) + asked.framed(response, turn=1))


def first(hostile: Reaction, *, then: Reaction) -> Reaction:
    """Hostile once."""
    reactions = chain([hostile], repeat(then))
    return lambda asked: next(reactions)(asked)


def the_first_asked_is(hostile: Reaction, script: Scripted, place: type[Request[Any]]) -> None:
    """The node that is asked first is hostile from then on, whichever it is; the others are not."""
    asked_first: list[int] = []

    def reaction(node: int, good: Reaction) -> Reaction:
        def react(asked: Asked) -> None:
            asked_first.append(node)
            (hostile if asked_first[0] == node else good)(asked)

        return react

    for node, broker in script.brokers.items():
        broker.reactions[place] = reaction(node, broker.reactions[place])


def lazily(make: Callable[[], Reaction]) -> Reaction:
    """What is large is made when it is needed: every worker reads every table."""
    return lambda asked: make()(asked)
