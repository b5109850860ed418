"""One call of `Admin`: its request sent, and sent again where that is safe, until its time is over.

A call is about items: topics, say. Each gets a value or an error of its own, and only the items
that may still succeed are asked for again; `outcome` decides which. A request that was lost on its
way is sent again if it changes nothing, or if it never left; otherwise nobody knows, and the caller
is told so.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Generic, TypeVar

from kafka_aio.admin.outcome import Outcome, is_worth_another
from kafka_aio.admin.routes import Route
from kafka_aio.backoff import Backoff
from kafka_aio.config import AdminConfig
from kafka_aio.errors import KafkaError, for_code, fresh
from kafka_aio.net.clock import seconds
from kafka_aio.net.cluster import Cluster
from kafka_aio.protocol.schema import Request

K = TypeVar("K")
V = TypeVar("V")
R = TypeVar("R")

SHORTEST: Final = 0.1
"""Seconds that a further attempt must have, or it is not made: who is cut off while a request is on
its way does not know what has become of it."""


@dataclass(frozen=True, kw_only=True)
class Call(Generic[K, V, R]):
    """What to ask, of whom, and how to read the answer."""

    name: str
    items: Sequence[K]
    request: Callable[[Sequence[K], int], Request[R]]
    """Makes the request for some items, which the broker has so many milliseconds for."""
    send: Callable[[Request[R], float], Awaitable[R]]
    """Sends it to who can answer, and waits for so many seconds."""
    read: Callable[[R], Mapping[K, V | KafkaError]]
    changes: bool
    """Whether it changes anything: it is then not repeated unless it surely did not happen."""


@dataclass(frozen=True, kw_only=True)
class RoutedCall(Generic[K, V, R]):
    """A call whose items belong to nodes that may change from one attempt to the next."""

    name: str
    items: Sequence[K]
    route: Route[K]
    request: Callable[[Sequence[K], int], Request[R]]
    """Makes the request for some items, which the broker has so many milliseconds for."""
    read: Callable[[Sequence[K], R], Mapping[K, V | KafkaError]]
    """What an answer says of the items that were asked for."""
    changes: bool
    again: Callable[[KafkaError], bool] = is_worth_another
    """Whether an item that was refused so is asked for again."""
    at_most: int | None = None
    """The highest version to use."""


class Calls:
    """Runs calls."""

    def __init__(self, cluster: Cluster, config: AdminConfig, rng: random.Random) -> None:
        self._cluster = cluster
        self._request_timeout = config.request_timeout_ms / 1000
        self._default_timeout = config.default_api_timeout_ms / 1000
        self._retries = config.retries
        self._retry = Backoff(config.retry_backoff_ms / 1000, config.retry_backoff_max_ms / 1000)
        self._rng = rng
        self._loop = asyncio.get_running_loop()

    def deadline(self, timeout: float | None) -> float:
        return self._loop.time() + seconds(timeout, self._default_timeout)

    def left(self, deadline: float) -> float:
        """Seconds; 0 if it is over."""
        return max(0.0, deadline - self._loop.time())

    async def to_any(self, request: Request[R], seconds: float) -> R:
        return await self._cluster.send_any(request, timeout=seconds)

    async def to_controller(self, request: Request[R], seconds: float) -> R:
        return await self._cluster.send_to_controller(request, timeout=seconds)

    async def to_node(self, node: int, request: Request[R], seconds: float) -> R:
        return await self._cluster.send(node, request, timeout=seconds)

    async def ask(self, name: str, request: Request[R], *, deadline: float) -> R:
        """The answer of any node to a question that changes nothing.

        Raises:
            KafkaError: There is none, or it is an error as a whole.
        """

        def read(response: R) -> dict[str, R | KafkaError]:
            code = getattr(response, "error_code", 0)
            said = getattr(response, "error_message", None)
            return {name: for_code(code, said, where=name) if code else response}

        call: Call[str, R, R] = Call(
            name=name,
            items=[name],
            request=lambda *_: request,
            send=self.to_any,
            read=read,
            changes=False,
        )
        answer = (await self.run(call, deadline=deadline))[name]
        if isinstance(answer, KafkaError):
            raise answer
        return answer

    async def run_by_node(
        self, call: Call[K, V, R], node_of: Callable[[K], int | None], *, deadline: float
    ) -> dict[K, V | KafkaError]:
        """As `run`, but each item is asked of the node that it belongs to, all at a time.

        A node that cannot be asked is an error in the place of its items, if others can be.

        Raises:
            KafkaError: What concerns the whole call.
        """
        by_node: dict[int | None, list[K]] = {}
        for item in call.items:
            by_node.setdefault(node_of(item), []).append(item)
        parts = [
            replace(
                call, items=items, send=self.to_any if node is None else partial(self.to_node, node)
            )
            for node, items in by_node.items()
        ]
        found = await self._together(parts, deadline)
        return {item: found[item] for item in call.items}

    async def _together(
        self, calls: Sequence[Call[K, V, R]], deadline: float
    ) -> dict[K, V | KafkaError]:
        """All at a time. One that fails is an error in the place of its items, if others do not."""
        running = (self.run(call, deadline=deadline) for call in calls)
        results = await asyncio.gather(*running, return_exceptions=True)
        found: dict[K, V | KafkaError] = {}
        failures: list[BaseException] = []
        for call, result in zip(calls, results, strict=True):
            if isinstance(result, KafkaError):
                failures.append(result)
                found.update((item, fresh(result)) for item in call.items)
            elif isinstance(result, BaseException):
                raise result
            else:
                found.update(result)
        if failures and len(failures) == len(calls):
            raise failures[0]
        return found

    async def ask_each(
        self,
        name: str,
        nodes: Iterable[int],
        request: Request[R],
        *,
        deadline: float,
    ) -> dict[int, R | KafkaError]:
        """The answer of each node to a question that changes nothing, or why it has none.

        Raises:
            KafkaError: No node has one.
        """

        def read(node: int, response: R) -> dict[int, R | KafkaError]:
            code = getattr(response, "error_code", 0)
            return {node: for_code(code, where=f"{name}: node {node}") if code else response}

        calls: list[Call[int, R, R]] = [
            Call(
                name=name,
                items=[node],
                request=lambda *_: request,
                send=partial(self.to_node, node),
                read=partial(read, node),
                changes=False,
            )
            for node in nodes
        ]
        return await self._together(calls, deadline)

    async def run_routed(
        self, call: RoutedCall[K, V, R], *, deadline: float
    ) -> dict[K, V | KafkaError]:
        """As `run`, but each attempt asks each item of the node that it belongs to by then.

        Raises:
            KafkaError: What concerns the whole call; `indefinite` if it may have been carried out.
        """
        outcome: Outcome[K, V] = Outcome(
            call.name, call.items, changes=call.changes, again=call.again
        )
        while outcome.pending:
            await self._attempt_routed(call, outcome, deadline)
            if outcome.pending:
                await self._pause(outcome, deadline)
        return outcome.result()

    async def _attempt_routed(
        self, call: RoutedCall[K, V, R], outcome: Outcome[K, V], deadline: float
    ) -> None:
        seconds = min(self._request_timeout, self.left(deadline))
        try:
            found = await call.route.find(outcome.pending, seconds)
        except KafkaError as error:
            error.indefinite = False  # it was a question
            outcome.failed(error)
            return
        outcome.settled(found.refused)
        parts = list(found.nodes.items())
        running = [self._send_part(call, node, items, deadline) for node, items in parts]
        results = await asyncio.gather(*running, return_exceptions=True)
        answers: dict[K, V | KafkaError] = {**found.waiting}
        lost: dict[K, KafkaError] = {**found.lost}
        for (node, items), result in zip(parts, results, strict=True):
            if isinstance(result, KafkaError):
                lost.update(dict.fromkeys(items, result))
            elif isinstance(result, BaseException):
                raise result
            else:
                answers.update(result)
            for item in items:
                call.route.failed(item, node, lost.get(item) or answers.get(item))
        if outcome.pending:
            outcome.answered(answers, lost)

    async def _send_part(
        self, call: RoutedCall[K, V, R], node: int, items: Sequence[K], deadline: float
    ) -> dict[K, V | KafkaError]:
        seconds = min(self._request_timeout, self.left(deadline))
        request = call.request(items, max(1, int(seconds * 1000)))
        response = await self._cluster.send(node, request, timeout=seconds, at_most=call.at_most)
        return dict(call.read(items, response))

    async def run(self, call: Call[K, V, R], *, deadline: float) -> dict[K, V | KafkaError]:
        """A value or an error for each item, in their order.

        Raises:
            KafkaError: What concerns the whole call; `indefinite` if it may have been carried out.
        """
        outcome: Outcome[K, V] = Outcome(call.name, call.items, changes=call.changes)
        while outcome.pending:
            await self._attempt(call, outcome, deadline)
            if outcome.pending:
                await self._pause(outcome, deadline)
        return outcome.result()

    async def _attempt(self, call: Call[K, V, R], outcome: Outcome[K, V], deadline: float) -> None:
        seconds = min(self._request_timeout, self.left(deadline))
        request = call.request(outcome.pending, max(1, int(seconds * 1000)))
        try:
            response = await call.send(request, seconds)
        except KafkaError as error:
            outcome.failed(error)
        else:
            outcome.answered(call.read(response))

    async def _pause(self, outcome: Outcome[K, V], deadline: float) -> None:
        """Before the next attempt, if there is to be one."""
        if outcome.attempts > self._retries:
            outcome.give_up()
            return
        if outcome.is_stale:
            with suppress(KafkaError):  # the next attempt has it too
                await self._cluster.refresh(timeout=self.left(deadline))
        pause = self._retry.delay(outcome.attempts - 1, jitter=self._rng.uniform(-1, 1))
        if self._loop.time() + pause + SHORTEST > deadline:
            outcome.time_over()
        else:
            await asyncio.sleep(pause)
