"""Clusters of embedded brokers without sockets, and requests to them: for tests of the broker."""

from __future__ import annotations

from random import Random
from typing import Any

from kafka_aio.broker.call import Call, Peer
from kafka_aio.broker.core import Core
from kafka_aio.broker.settings import Settings
from kafka_aio.broker.state import State
from kafka_aio.protocol.codec import decode, encode
from kafka_aio.protocol.schema import Request, response_of, schema_of

WALL_MS = 1_700_000_000_000
"""The wall clock at time 0 of the loop."""


def made(
    nodes: int = 1, topics: dict[str, int] | None = None, *, seed: int = 0, **settings: Any
) -> State:
    """A cluster of nodes 1 to `nodes`, with topics of so many partitions, each on all nodes."""
    state = State(Settings(**settings), Random(seed))
    for node in range(1, nodes + 1):
        state.add_node(node, "127.0.0.1", 9091 + node, rack=f"rack-{node}")
    for name, partitions in (topics or {}).items():
        state.topics.create(name, partitions=partitions, replication_factor=nodes)
    return state


def send(
    state: State,
    request: Request[Any],
    *,
    version: int | None = None,
    node: int | None = None,
    now: float = 0.0,
    client_id: str = "tester",
    peer: Peer | None = None,
) -> Call:
    """Hand a request to a cluster; whatever it answers, now or later, is in `state.answers`.

    The request goes through its bytes first: what its version lacks is not seen. Without a node, it
    goes to the first one that is up; without a version, in the last one that Kafka calls stable.
    """
    schema = schema_of(type(request))
    if version is None:
        version = schema.stable_versions[1]
    if node is None:
        node = next(each.id for each in state.nodes.values() if each.is_up)
    call = Call(
        state=state,
        request=decode(type(request), encode(request, version), version),
        version=version,
        node=node,
        now=now,
        wall_ms=WALL_MS + int(now * 1000),
        client_id=client_id,
        peer=Peer() if peer is None else peer,
    )
    Core(state).receive(call)
    return call


def answer_to(state: State, call: Call) -> Any:
    """The answer to a call, as it arrives: taken out of `state.answers`; None while it waits."""
    for index, (answered, response) in enumerate(state.answers):
        if answered is call:
            del state.answers[index]
            return response and received(call, response)
    return None


def received(call: Call, response: Any) -> Any:
    """A response as a client of the call's version reads it."""
    return decode(type(response), encode(response, call.version), call.version)


def call(state: State, request: Request[Any], **how: Any) -> Any:
    """The answer to a request, as it arrives, or None if it is not answered at once.

    Takes what `send` takes: version, node, now, client_id, peer.
    """
    sent = send(state, request, **how)
    response = answer_to(state, sent)
    assert response is None or isinstance(response, response_of(type(request)))
    return response


def pass_time(state: State, *, now: float) -> None:
    """Let everything happen that is due until then, each at its time."""
    while state.agenda.next_at <= now:
        state.agenda.run(now=state.agenda.next_at)
