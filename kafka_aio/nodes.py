"""Which broker may be dialled, used or must rest, and until when. Pure.

Brokers go by their node id; bootstrap servers by -1, -2 and so on, until metadata names them.

A node has one rest for all its connections: after a dial that failed, or a connection that was
lost, nobody dials it before `dial_at`. Each failure makes the next rest longer, and the next dial
may take longer too (`setup_timeout`). Only a connection that is ready for requests, its versions
agreed and its user known, starts both over: a broker that accepts connections and then drops them
gets its rests.

The task tells how each dial ends: `connected`, `failed`, `authentication_failed` or `abandoned`.
A connection that we close ourselves is not told, and earns no rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, Generic, TypeVar

from kafka_aio.backoff import Backoff
from kafka_aio.errors import StateError

E = TypeVar("E")
"""What tells why a connection failed. It passes through unread."""

# How `least_loaded` ranks nodes: by what they are, then by a number. Less is better.
_CONNECTED, _DIALLED, _MAY_BE_DIALLED = range(3)
_IDLE: Final = (_CONNECTED, 0.0)
_WORST: Final = (inf, inf)


@dataclass(frozen=True, slots=True)
class Choice:
    """The node to send to, or when to ask again."""

    node: int | None
    """None if none can be used now."""
    wait_until: float
    """When to ask again if there is none: `inf` if only an event can change that."""


@dataclass(slots=True)
class _Node(Generic[E]):
    """What is remembered of one node."""

    setup_timeout: float
    dials: int = 0
    """Dials under way: several connections to one node may be set up at a time."""
    tried_at: float = -inf
    rest_until: float = -inf
    failures: int = 0
    """Since a connection was last ready."""
    failed_dials: int = 0
    """Those of them for which the time may have been too short."""
    throttled_until: float = -inf
    error: E | None = None


class Nodes(Generic[E]):
    """What is known about connecting to each broker."""

    def __init__(
        self, *, reconnect: Backoff, setup_timeout: Backoff, longest_throttle: float
    ) -> None:
        """Begin with nothing known: every node may be dialled.

        Args:
            reconnect: The rests after failures.
            setup_timeout: How long a dial may take, by the number of those that failed before.
            longest_throttle: No broker can make us wait for longer (KIP-219).
        """
        self._reconnect = reconnect
        self._setup_timeout = setup_timeout
        self._longest_throttle = longest_throttle
        self._unknown = _Node[E](setup_timeout.delay(0, jitter=0.0))
        self._known: dict[int, _Node[E]] = {}

    def __repr__(self) -> str:
        known = self._known.values()
        dialled = sum(node.dials > 0 for node in known)
        failing = sum(node.failures > 0 for node in known)
        return f"<Nodes: {len(known)} known, {dialled} being dialled, {failing} failing>"

    def can_dial(self, node: int, *, now: float) -> bool:
        """Whether it needs no rest, or had it."""
        return self.dial_at(node) <= now

    def dial_at(self, node: int) -> float:
        """When it may be dialled; `-inf` if it needs no rest."""
        return self._state(node).rest_until

    def is_dialling(self, node: int) -> bool:
        return self._state(node).dials > 0

    def setup_timeout(self, node: int) -> float:
        """How many seconds the next dial may take."""
        return self._state(node).setup_timeout

    def throttled_until(self, node: int) -> float:
        """When the broker accepts requests again; `-inf` if it never asked us to wait."""
        return self._state(node).throttled_until

    def error_of(self, node: int) -> E | None:
        """Why the last dial or connection failed; None once a connection is ready."""
        return self._state(node).error

    def dialling(self, node: int, *, now: float) -> None:
        """A connection to the node is being set up.

        Raises:
            StateError: The node has to rest.
        """
        if not self.can_dial(node, now=now):
            seconds = self.dial_at(node) - now
            raise StateError(f"node {node} has to rest for {seconds:.3f} s before it is dialled")
        state = self._known.setdefault(node, _Node(self.setup_timeout(node)))
        state.dials += 1
        state.tried_at = now

    def connected(self, node: int) -> None:
        """A dial ended well: the connection is ready for requests."""
        if state := self._ended(node):
            state.failures = 0
            state.rest_until = -inf
            state.error = None
            self._grant_setup(state, failed_dials=0, jitter=0.0)

    def failed(self, node: int, error: E, *, now: float, jitter: float) -> None:
        """A dial ended without a connection; `jitter` is a random number from -1 to 1."""
        state = self._ended(node)
        if state and self._rest(state, error, now=now, jitter=jitter):
            self._grant_setup(state, failed_dials=state.failed_dials + 1, jitter=jitter)

    def authentication_failed(self, node: int, error: E, *, now: float, jitter: float) -> None:
        """A dial ended because the broker does not accept who we are, or we not who it is."""
        if state := self._ended(node):
            self._rest(state, error, now=now, jitter=jitter)
            self._grant_setup(state, failed_dials=0, jitter=0.0)
            state.error = error

    def abandoned(self, node: int) -> None:
        """A dial ended because nobody wants the connection any more: it tells nothing."""
        self._ended(node)

    def disconnected(self, node: int, error: E, *, now: float, jitter: float) -> None:
        """A connection that was ready has been lost."""
        if state := self._known.get(node):
            self._rest(state, error, now=now, jitter=jitter)

    def throttled(self, node: int, seconds: float, *, now: float) -> None:
        """The broker asks for no requests for a while. A shorter while does not end a longer."""
        if state := self._known.get(node):
            until = now + min(seconds, self._longest_throttle)
            state.throttled_until = max(state.throttled_until, until)

    def forgotten(self, nodes: Iterable[int]) -> None:
        """These have left the cluster, or have other addresses now: what was known is void."""
        for node in nodes:
            self._known.pop(node, None)

    def least_loaded(
        self,
        candidates: Sequence[int],
        *,
        in_flight: Mapping[int, int],
        connected: Collection[int],
        now: float,
        start: int,
    ) -> Choice:
        """The best node for a request that any node can answer.

        In this order: connected, with the fewest requests in flight; being dialled; may be dialled,
        and was not for the longest time. Of equals, the first from `start` on. One that is
        throttled is left out.

        Args:
            candidates: The nodes to choose from.
            in_flight: How many requests a node has yet to answer; 0 where it is absent.
            connected: The nodes with a connection that is ready.
            now: The time.
            start: A random number from 0, so that not all clients choose the same node.
        """
        chosen, best, wait_until = None, _WORST, inf
        for at in range(len(candidates)):
            node = candidates[(start + at) % len(candidates)]
            state = self._state(node)
            usable_at = state.throttled_until
            if node in connected:
                rank = (_CONNECTED, float(in_flight.get(node, 0)))
            elif state.dials:
                rank = (_DIALLED, 0.0)
            else:
                rank = (_MAY_BE_DIALLED, state.tried_at)
                usable_at = max(usable_at, state.rest_until)
            if usable_at > now:
                wait_until = min(wait_until, usable_at)
            elif rank < best:
                chosen, best = node, rank
                if rank == _IDLE:
                    break
        return Choice(chosen, wait_until if chosen is None else now)

    def _state(self, node: int) -> _Node[E]:
        """To be read only."""
        return self._known.get(node, self._unknown)

    def _ended(self, node: int) -> _Node[E] | None:
        """What is known of a node of which a dial has ended; None if it was forgotten meanwhile.

        It may even be another's end: 1. a dial begins; 2. the node moves and is forgotten; 3. a
        dial of the new address begins; 4. the first one ends. That is let pass: at worst the node
        has one short rest, or is dialled once more than needed.
        """
        state = self._known.get(node)
        if state:
            state.dials = max(0, state.dials - 1)
        return state

    def _rest(self, state: _Node[E], error: E, *, now: float, jitter: float) -> bool:
        """Whether a rest begins. In a rest, more failures are the same trouble, and count as one.

        Otherwise a broker that goes down with three connections to it would rest four times as
        long as one with a single connection.
        """
        if now < state.rest_until:
            return False
        state.rest_until = now + self._reconnect.delay(state.failures, jitter=jitter)
        state.failures += 1
        state.tried_at = now
        state.error = error
        return True

    def _grant_setup(self, state: _Node[E], *, failed_dials: int, jitter: float) -> None:
        state.failed_dials = failed_dials
        state.setup_timeout = self._setup_timeout.delay(failed_dials, jitter=jitter)
