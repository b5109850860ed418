"""Code of the user's, called in one place: what it raises is logged, or typed and told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from inspect import isawaitable
from math import inf
from typing import Any

from kafka_aio.consumer.assignors.assignor import Assignment, Topics
from kafka_aio.consumer.assignors.custom import checked
from kafka_aio.consumer.commits import Offsets
from kafka_aio.consumer.membership.member import ShareOut
from kafka_aio.consumer.record import ConsumerRecord
from kafka_aio.errors import DeserializationError, KafkaError, StateError, UserCodeError
from kafka_aio.net.tasks import Tasks
from kafka_aio.records.codec import Record
from kafka_aio.serialization import Deserializer
from kafka_aio.types import TopicPartition

logger = logging.getLogger(__name__)


class UserCode:
    """Listeners, callbacks, interceptors, deserializers and assignors of one consumer."""

    def __init__(
        self,
        tasks: Tasks,
        *,
        key_deserializer: Deserializer | None = None,
        value_deserializer: Deserializer | None = None,
        interceptors: Sequence[Any] = (),
    ) -> None:
        self._tasks = tasks
        self._key_deserializer = key_deserializer
        self._value_deserializer = value_deserializer
        self._on_consume = _methods(interceptors, "on_consume")
        self._on_commit = _methods(interceptors, "on_commit")
        self._callbacks: dict[asyncio.Event, asyncio.Task[Any] | None] = {}  # those that run
        self.runs: tuple[str, float] | None = None
        """The callback of the listener that runs, and since when."""
        self._caller: asyncio.Task[Any] | None = None  # who runs it

    def __repr__(self) -> str:
        listening = len(self._on_consume)
        return f"<UserCode: {listening} interceptors, {len(self._callbacks)} callbacks run>"

    # Records.

    @property
    def deserializes(self) -> bool:
        """Whether records have to be deserialized."""
        return self._key_deserializer is not None or self._value_deserializer is not None

    @property
    def intercepts(self) -> bool:
        """Whether somebody wants to see records before they are handed over."""
        return bool(self._on_consume)

    def intercepted(self, records: list[Any]) -> list[Any]:
        """What interceptors make of the records that are about to be handed over.

        They may change some and leave some out, but add none: the user has asked for so many. One
        that raises is passed over, as in Java; so is one that gives something else, or is `async`.
        """
        most = len(records)
        for on_consume in self._on_consume:
            changed = _call(on_consume, records)
            if changed is None:
                continue
            if wrong := _why_not(changed, most):
                if isawaitable(changed):
                    _discard(changed)
                logger.error("%s gave %s: passed over", _name(on_consume), wrong)
            else:
                records = changed
        return records

    def deserialized(
        self, records: list[Any]
    ) -> tuple[list[ConsumerRecord[Any, Any]], DeserializationError | None]:
        """The records with keys and values of the user's; an error for the one after them.

        The first that cannot be deserialized ends the list.
        """
        key, value = self._key_deserializer, self._value_deserializer
        made = []
        for record in records:
            try:
                made.append(
                    ConsumerRecord(
                        record.topic,
                        record.partition,
                        record.offset,
                        record.timestamp,
                        _deserialized("key", key, record.key, record),
                        _deserialized("value", value, record.value, record),
                        record.headers,
                        record.timestamp_type,
                        record.leader_epoch,
                    )
                )
            except DeserializationError as error:
                return made, error
        return made, None

    # Commits.

    def committed(self, offsets: Offsets) -> None:
        """Tell the interceptors that these were committed."""
        for on_commit in self._on_commit:
            _call(on_commit, dict(offsets))

    def call(self, callback: Callable[..., Any], *arguments: object) -> None:
        """Call it now; a coroutine begins in the next turn of the loop, beside the rest."""
        waiting = _call(callback, *arguments)
        if isawaitable(waiting):
            ended = asyncio.Event()
            body = partial(self._finish, callback, waiting, ended)
            try:
                self._tasks.spawn(body, name="callback of the user's")
            except KafkaError:
                _discard(waiting)
                logger.warning("%s was not run: the client is closed", _name(callback))
            else:
                self._callbacks[ended] = None

    async def _finish(
        self, callback: Callable[..., Any], waiting: Awaitable[Any], ended: asyncio.Event
    ) -> None:
        self._callbacks[ended] = asyncio.current_task()
        try:
            await waiting
        except Exception:
            logger.exception("%s raised", _name(callback))
        except asyncio.CancelledError:
            if _is_cancelled():
                raise
            logger.warning("%s was cancelled", _name(callback))
        finally:
            self._callbacks.pop(ended, None)
            ended.set()

    async def wait_called(self, *, until: float) -> None:
        """Wait for the end of the callbacks that run, or for that time of the loop.

        One that waits itself is not waited for.
        """
        ours = asyncio.current_task()
        others = [ended for ended, task in self._callbacks.items() if task is not ours]
        try:
            async with asyncio.timeout_at(until):
                for ended in others:
                    await ended.wait()
        except TimeoutError:
            logger.warning("%d callbacks of commits have not ended in time", len(self._callbacks))

    # Rebalances.

    async def tell(
        self,
        listener: object,
        method: str,
        partitions: Collection[TopicPartition],
        *,
        limit: float = inf,
    ) -> UserCodeError | None:
        """Call a method of a listener, if it has it; what it raised, or None.

        Args:
            listener: Any object, or None.
            method: "revoked", "assigned" or "lost". Who cannot lose is told of a revocation.
            partitions: What is said.
            limit: When it is cancelled: a time of the loop.
        """
        self._caller = asyncio.current_task()
        self.runs = method, asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout_at(None if limit == inf else limit):
                return await self._told(listener, method, partitions)
        except TimeoutError:
            return UserCodeError(f"the callback {method!r} did not end in time", partitions)
        finally:
            self._caller = self.runs = None

    def check_caller(self, what: str = "unsubscribe or close") -> None:
        """Whether we may leave here, or do `what` is said.

        Raises:
            StateError: Not in a callback, which we would wait for.
        """
        if self._caller is not None and self._caller is asyncio.current_task():
            raise StateError(f"a rebalance callback cannot {what} its consumer: do it afterwards")

    async def _told(
        self, listener: object, method: str, partitions: Collection[TopicPartition]
    ) -> UserCodeError | None:
        function = getattr(listener, method, None)
        if function is None and method == "lost":
            function = getattr(listener, "revoked", None)
        if function is None:
            return None
        try:
            waiting = function(tuple(partitions))
            if isawaitable(waiting):
                await waiting
        except Exception as error:
            return _raised(function, error, partitions)
        except asyncio.CancelledError as error:
            if _is_cancelled():
                raise
            return _raised(function, error, partitions)
        return None

    def assign(self, step: ShareOut, topics: Topics) -> Assignment | UserCodeError:
        """What each member gets; an error if the assignor raises, or gives something else.

        Where all keep what they have, nobody gets anything, and the assignor is not asked.
        """
        if step.keeps:
            return {}
        assignor, members = step.assignor, step.members
        try:
            return checked(assignor.name, assignor.assign(members, topics), members, topics)
        except UserCodeError as error:
            return error
        except Exception as error:
            return _raised(f"assignor {assignor.name!r}", error, ())


def _methods(interceptors: Sequence[Any], name: str) -> list[Callable[..., Any]]:
    return [found for each in interceptors if (found := getattr(each, name, None)) is not None]


def _call(function: Callable[..., Any], *arguments: object) -> Any:
    """Whatever it raises is logged, and that is all: nobody is there to catch it."""
    try:
        return function(*arguments)
    except Exception:
        logger.exception("%s raised", _name(function))
        return None


def _why_not(changed: Any, most: int) -> str:
    """What is wrong with that which an interceptor has given, if it cannot be handed over."""
    if not isinstance(changed, list):
        return "no list of records"
    if not all(isinstance(each, Record | ConsumerRecord) for each in changed):
        return "no list of records"
    return "more records than it was given" if len(changed) > most else ""


def _name(function: object) -> str:
    return str(getattr(function, "__qualname__", function))


def _is_cancelled() -> bool:
    """Whether it is we who are cancelled; if not, the user's code has cancelled itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _discard(waiting: Awaitable[Any]) -> None:
    close = getattr(waiting, "close", None)
    if close is not None:
        close()


def _raised(
    what: object, error: BaseException, partitions: Collection[TopicPartition]
) -> UserCodeError:
    # Not its text, which may hold anything: the cause has it.
    raised = UserCodeError(f"{_name(what)} raised {type(error).__name__}", partitions)
    raised.__cause__ = error
    return raised


def _deserialized(
    part: str, deserializer: Deserializer | None, data: bytes | None, record: Any
) -> Any:
    """What a deserializer makes of it. None stays None, as in Java."""
    if data is None or deserializer is None:
        return data
    try:
        return deserializer(data)
    except Exception as error:
        # Not its text, which may hold the record: the cause has it.
        raise DeserializationError(
            type(error).__name__,
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            part=part,
        ) from error
