"""Addresses that brokers tell us to dial, and which of them we do not. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from kafka_aio.errors import ProtocolError
from kafka_aio.types import Node

MAX_NODES: Final = 10_000
"""An answer that names more brokers than this is not from a Kafka cluster."""
MAX_HOST: Final = 255
"""No name in the DNS is longer."""


class Endpoint(Protocol):
    """A broker and its address, as several messages have it."""

    @property
    def node_id(self) -> int: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def rack(self) -> str | None: ...


def node_of(endpoint: Endpoint) -> Node:
    """The broker as a value; `problem_of` comes first."""
    return Node(endpoint.node_id, endpoint.host, endpoint.port, endpoint.rack)


def problem_of(endpoint: Endpoint) -> str:
    """Why the broker cannot be dialled; empty if it can."""
    if endpoint.node_id < 0:
        return "node ids are 0 or more"
    if not 1 <= endpoint.port <= 65_535:
        return "ports are from 1 to 65535"
    if not 1 <= len(endpoint.host) <= MAX_HOST:
        return f"host names have 1 to {MAX_HOST} characters"
    if not endpoint.host.isprintable() or " " in endpoint.host:
        return "host names have no spaces or control characters"
    return ""


def read_nodes(endpoints: Sequence[Endpoint]) -> tuple[dict[int, Node], list[str]]:
    """The brokers by id, of equal ids the last; and a sentence for each that was left out.

    Raises:
        ProtocolError: There are far too many, or none that can be dialled.
    """
    if len(endpoints) > MAX_NODES:
        raise ProtocolError(f"Metadata: {len(endpoints):,} brokers, more than {MAX_NODES:,}")
    nodes, refused = {}, []
    for each in endpoints:
        if problem := problem_of(each):
            host = repr(each.host[:40])
            refused.append(f"broker {each.node_id} at {host}, port {each.port}: {problem}")
        else:
            nodes[each.node_id] = node_of(each)
    if not nodes:
        why = refused[0] if refused else "a broker that is starting up does that"
        raise ProtocolError(f"Metadata: the answer names no broker that can be dialled; {why}")
    return nodes, refused
