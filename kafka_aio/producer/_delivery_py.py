"""What happens for each record, in plain Python: the twin of `_delivery.pyx`. Pure."""

from __future__ import annotations

from collections.abc import Callable, Generator
from enum import Enum, auto
from operator import index
from threading import get_ident  # noqa: TID251 - to keep other threads out
from typing import TYPE_CHECKING, Any, NoReturn, Self, final

from kafka_aio.errors import KafkaError, StateError, fresh
from kafka_aio.producer.partition import partition_of_key
from kafka_aio.records.codec import BatchBuilder
from kafka_aio.types import RecordMetadata, TimestampType

if TYPE_CHECKING:
    from contextvars import Context

    from typing_extensions import Buffer

    from kafka_aio.producer.loop import Loop
    from kafka_aio.records.layout import Headers


class _State(Enum):
    PENDING = auto()
    DELIVERED = auto()
    FAILED = auto()
    DIVIDED = auto()


@final
class Outcome:
    """How the records of one batch end: pending, delivered, failed, or divided among others."""

    __slots__ = (
        "_callbacks",
        "_errors",
        "_loop",
        "_owner",
        "_seen",
        "_state",
        "_waiters",
        "base_offset",
        "count",
        "error",
        "log_append_time",
        "partition",
        "parts",
        "topic",
    )

    def __init__(self, topic: str, partition: int, loop: Loop) -> None:
        self.topic = topic
        self.partition = partition
        self.count = 0
        self._seen: set[int] = set()
        self.base_offset = -1
        self.log_append_time = -1
        self.error: KafkaError | None = None
        self.parts: list[tuple[int, Outcome]] | None = None
        self._state = _State.PENDING
        self._errors: dict[int, KafkaError] | None = None
        self._loop = loop
        self._owner = loop.owner
        self._waiters: list[Waiter] = []
        self._callbacks: list[tuple[Callable[[Delivery], object], Delivery]] = []

    def __repr__(self) -> str:
        state = self._state.name.lower()
        return f"<Outcome of {self.count} records for {self.topic}-{self.partition}: {state}>"

    @property
    def is_pending(self) -> bool:
        return self._state is _State.PENDING

    @property
    def unseen(self) -> int:
        """Failures that nobody was told of yet."""
        if self.parts is not None:
            return sum(part.unseen for _, part in self.parts)
        return max(self.count - self.seen, 0) if self._state is _State.FAILED else 0

    @property
    def seen(self) -> int:
        """Failures that somebody was told of."""
        return len(self._seen)

    def deliver(self, base_offset: int, log_append_time: int = -1) -> None:
        """The broker has them, from that offset on; -1 where it is not known."""
        self._check()
        self.base_offset = base_offset
        self.log_append_time = log_append_time
        self._end(_State.DELIVERED)

    def fail(self, error: KafkaError, errors: dict[int, KafkaError] | None = None) -> None:
        """None of them counts as delivered; `errors` has those of single records, by index."""
        self._check()
        self.error = error
        self._errors = errors
        self._end(_State.FAILED)

    def divide(self, parts: list[tuple[int, Outcome]]) -> None:
        """Others say how they end: each from the index of its first record on."""
        self._check()
        self.parts = parts
        self._end(_State.DIVIDED)

    def delivery(self, index: int, timestamp: int = -1) -> Delivery:
        """That of one record, for those who were appended together."""
        delivery = object.__new__(Delivery)
        delivery._outcome = self
        delivery._index = index
        delivery._timestamp = timestamp
        return delivery

    def error_of(self, index: int) -> KafkaError:
        """A fresh error for one record."""
        assert self.error is not None
        return fresh(self.error if self._errors is None else self._errors.get(index, self.error))

    def saw(self, first: int, count: int) -> None:
        """Somebody was told of so many failures, from that index on."""
        self._seen.update(range(first, first + count))

    def waiter(self) -> Waiter:
        """To be awaited: until all of them are settled, or the batch is divided."""
        return _waiter(self, None)

    def await_by(self, waiter: Waiter) -> None:
        """Wake it when they are settled."""
        self._waiters.append(waiter)

    def leave(self, waiter: Waiter) -> None:
        """One of those who wait was cancelled."""
        self._waiters.remove(waiter)

    def when_done(self, callback: Callable[[Delivery], object], delivery: Delivery) -> None:
        if self._state is _State.PENDING:
            self._callbacks.append((callback, delivery))
        else:
            self._loop.call_soon(callback, delivery)

    def _check(self) -> None:
        if self._state is not _State.PENDING:
            raise StateError(f"{self!r} is settled already")

    def _end(self, state: _State) -> None:
        """Wake who waits, and have the callbacks called; where it is divided, by its parts."""
        waiters, callbacks = self._waiters, self._callbacks
        self._state = state
        self._waiters, self._callbacks = [], []
        for callback, delivery in callbacks:  # first: who waits may close the producer then
            delivery.add_done_callback(callback)
        for waiter in waiters:
            waiter.settled()


@final
class Delivery:
    """A record's pending acknowledgement: awaited, it gives the record's place in the log."""

    __slots__ = ("_index", "_outcome", "_timestamp")

    _outcome: Outcome
    _index: int
    _timestamp: int

    def __new__(cls) -> Self:
        raise TypeError("cannot create 'Delivery' instances: a producer does")

    def __reduce__(self) -> NoReturn:
        raise TypeError("cannot pickle 'Delivery' object")

    def __repr__(self) -> str:
        state = "done" if self.done() else "pending"
        return f"<Delivery to {self._outcome.topic}-{self._outcome.partition}: {state}>"

    @property
    def outcome(self) -> Outcome:
        """How its batch ends; for those who keep many of them."""
        return self._followed()

    @property
    def index(self) -> int:
        """Its index in that."""
        self._followed()
        return self._index

    @property
    def timestamp(self) -> int:
        """That of the record, in milliseconds since 1970."""
        return self._timestamp

    @property
    def topic(self) -> str:
        return self._outcome.topic

    @property
    def partition(self) -> int:
        return self._outcome.partition

    def done(self) -> bool:
        """Whether it is known how it ended."""
        return not self._followed().is_pending

    def result(self) -> RecordMetadata:
        """The record's place, if it is known how it ended."""
        outcome = self._followed()
        if outcome.is_pending:
            raise StateError(f"{self!r}: its result is not there yet: await it")
        if outcome.error is not None:
            outcome.saw(self._index, 1)
            raise outcome.error_of(self._index)
        return self._metadata()

    def peek(self) -> tuple[RecordMetadata | None, KafkaError | None]:
        """Where it is and why not, one of them None: looked at by none who would be missed."""
        outcome = self._followed()
        if outcome.error is not None:
            return None, outcome.error_of(self._index)
        return self.result(), None

    def add_done_callback(self, callback: Callable[[Delivery], object]) -> None:
        """Call `callback(delivery)` on the loop when it is done; soon, if it is."""
        self._followed().when_done(callback, self)

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        metadata: RecordMetadata = yield from _waiter(self._followed(), self).__await__()
        return metadata

    def _followed(self) -> Outcome:
        """The outcome that decides: where a batch was divided, that of its part."""
        while (parts := self._outcome.parts) is not None:
            first, part = next(each for each in reversed(parts) if each[0] <= self._index)
            self._outcome = part
            self._index -= first
        return self._outcome

    def _metadata(self) -> RecordMetadata:
        outcome = self._outcome
        offset = outcome.base_offset + self._index if outcome.base_offset >= 0 else -1
        if outcome.log_append_time >= 0:
            kind = TimestampType.LOG_APPEND_TIME
            time = outcome.log_append_time
        else:
            kind = TimestampType.CREATE_TIME
            time = self._timestamp
        return RecordMetadata(outcome.topic, outcome.partition, offset, time, kind)


@final
class Accepted:
    """What `submit` returns where there is nothing to wait for: awaited, it gives the delivery.

    It has what `asyncio.create_task` asks of a coroutine.
    """

    __slots__ = ("delivery",)

    delivery: Delivery

    def __new__(cls) -> Self:
        raise TypeError("cannot create 'Accepted' instances: a producer does")

    def __reduce__(self) -> NoReturn:
        raise TypeError("cannot pickle 'Accepted' object")

    def __await__(self) -> Generator[Any, None, Delivery]:
        return self.delivery
        yield

    def send(self, value: None) -> NoReturn:
        raise StopIteration(self.delivery)

    def throw(self, kind: Any, value: Any = None, traceback: Any = None) -> NoReturn:
        raise kind if value is None else value

    def close(self) -> None:
        pass


@final
class Waiter:
    """Who awaits a delivery, or an outcome as a whole: what its task takes for a future."""

    __slots__ = (
        "_asyncio_future_blocking",
        "_cancelled",
        "_context",
        "_delivery",
        "_outcome",
        "_wakeup",
    )

    _outcome: Outcome
    _delivery: Delivery | None
    """None where the outcome is awaited."""
    _wakeup: Callable[[Waiter], object] | None
    """Of the task, while it waits."""
    _context: Context | None
    _cancelled: BaseException | None
    _asyncio_future_blocking: bool

    def __new__(cls) -> Self:
        raise TypeError("cannot create 'Waiter' instances: a delivery does")

    def __reduce__(self) -> NoReturn:
        raise TypeError("cannot pickle 'Waiter' object")

    def __repr__(self) -> str:
        return f"<Waiter for {self._outcome!r}>"

    def __await__(self) -> Generator[Any, None, Any]:
        while not self._is_over():
            self._asyncio_future_blocking = True
            yield self
        return None if self._delivery is None else self._delivery.result()

    # What the task calls.

    def get_loop(self) -> Any:
        return self._outcome._owner

    def add_done_callback(
        self, wakeup: Callable[[Waiter], object], *, context: Context | None = None
    ) -> None:
        if self._wakeup is None:
            self._outcome.await_by(self)
        self._wakeup = wakeup
        self._context = context

    def result(self) -> None:
        if self._cancelled is not None:
            raise self._cancelled

    def cancel(self, msg: object = None) -> bool:
        if self._wakeup is None or self._is_over():
            return False  # it is woken soon
        self._cancelled = self._outcome._loop.cancelled(*(() if msg is None else (msg,)))
        self._outcome.leave(self)
        self._call()
        return True

    def settled(self) -> None:
        """It is known how it ends; or by whom, as its batch was divided."""
        if self._is_over():
            self._call()
        else:
            self._outcome.await_by(self)

    def _call(self) -> None:
        wakeup, context = self._wakeup, self._context
        self._wakeup = self._context = None
        self._outcome._owner.call_soon(wakeup, self, context=context)

    def _is_over(self) -> bool:
        """Whether what is awaited is known; where a batch was divided, by its part."""
        if self._delivery is not None:
            self._outcome = self._delivery.outcome
        return not self._outcome.is_pending


def _waiter(outcome: Outcome, delivery: Delivery | None) -> Waiter:
    made = object.__new__(Waiter)
    made._outcome = outcome
    made._delivery = delivery
    made._wakeup = made._context = made._cancelled = None
    made._asyncio_future_blocking = False
    return made


@final
class OpenBatch:
    """A batch that records are appended to, and how they will end."""

    __slots__ = ("builder", "outcome")

    def __init__(self, builder: BatchBuilder, outcome: Outcome) -> None:
        self.builder = builder
        self.outcome = outcome

    def append(
        self,
        key: Buffer | None,
        value: Buffer | None,
        timestamp: int,
        headers: Headers | None = None,
    ) -> Delivery | None:
        """Write one record. None where the batch has no room for it."""
        at = self.builder.count
        try:
            if not self.builder.append(key, value, timestamp, headers):
                return None
        except (BufferError, OverflowError) as error:
            raise ValueError(f"the record cannot be written: {error}") from error
        return self.outcome.delivery(at, timestamp)


@final
class OpenTopic:
    """The open batches of one topic: that of records without a key, and one for each partition."""

    __slots__ = ("_by_partition", "_thread", "ignores_keys", "unkeyed")

    def __init__(self, partitions: int, ignores_keys: bool = False) -> None:
        if partitions < 1:
            raise ValueError(f"a topic has partitions, not {partitions}")
        self._thread = get_ident()  # whose loop it is
        self.unkeyed: OpenBatch | None = None
        self.ignores_keys = ignores_keys
        self._by_partition: list[OpenBatch | None] = [None] * partitions

    @property
    def partitions(self) -> int:
        """How many there are."""
        return len(self._by_partition)

    def resize(self, partitions: int) -> None:
        """The topic has so many partitions now: keys are spread over all of them."""
        if partitions < 1:
            raise ValueError(f"a topic has 1 partition or more, not {partitions}")
        del self._by_partition[partitions:]  # it was made anew; what is open there is closed
        self._by_partition += [None] * (partitions - len(self._by_partition))

    def put(self, partition: int, batch: OpenBatch | None) -> None:
        """The batch of a partition is open; or none is, any more."""
        if batch is None and self.unkeyed is self._by_partition[partition]:
            self.unkeyed = None
        self._by_partition[partition] = batch

    def get(self, partition: int | None) -> OpenBatch | None:
        """The open batch of a partition, or with None that of records without a key; or None."""
        return self.unkeyed if partition is None else self._by_partition[partition]

    def partition_of(self, key: Buffer) -> int:
        """The partition of a key, as Java's client has it: any bytes."""
        return partition_of_key(key, len(self._by_partition))

    def append(
        self,
        key: Any,
        value: Any,
        timestamp: int | None,
        now: float,
        headers: Headers | None = None,
        partition: int | None = None,
    ) -> Delivery | None:
        """Write one record into the open batch that is its own. None where there is none with room.

        `now` is the time in seconds since 1970, for a record that has no timestamp.
        """
        if get_ident() != self._thread:
            return None  # it is refused, and does not write into our batch
        if headers is not None and not isinstance(headers, (tuple, list, dict)):
            return None  # perhaps it can be read only once, and the batch may be full
        if partition is not None:
            if not 0 <= partition < len(self._by_partition):
                return None
            batch = self._by_partition[partition]
        elif key is None or self.ignores_keys:
            batch = self.unkeyed
        elif type(key) is bytes:
            batch = self._by_partition[self.partition_of(key)]
        else:
            return None
        if batch is None or (headers and type(headers) not in (tuple, list, dict)):
            return None  # what can be read once only must not be read before there is room
        time = int(now * 1000) if timestamp is None else index(timestamp)
        return batch.append(key, value, time, headers)

    def submit(
        self,
        key: Any,
        value: Any,
        timestamp: int | None,
        now: float,
        headers: Headers | None = None,
        partition: int | None = None,
    ) -> Accepted | None:
        """As `append`; the delivery is awaited for."""
        delivery = self.append(key, value, timestamp, now, headers, partition)
        if delivery is None:
            return None
        accepted = object.__new__(Accepted)
        accepted.delivery = delivery
        return accepted
