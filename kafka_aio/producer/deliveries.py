"""The deliveries of many records at once: stretches of batches, not one object per record. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_aio.errors import KafkaError, SendManyError
from kafka_aio.producer.delivery import Delivery, Outcome
from kafka_aio.types import TopicPartition


@dataclass(slots=True)
class Stretch:
    """Records of one call that stand beside each other in one batch."""

    outcome: Outcome
    first: int
    """The index of the first of them in the batch."""
    count: int
    place: int
    """The number of the first of them among all records of the call, in the order of acceptance."""
    timestamp: int

    def is_before(self, outcome: Outcome, first: int, timestamp: int) -> bool:
        """Whether records from that index on go on where these end."""
        goes_on = outcome is self.outcome and first == self.first + self.count
        return goes_on and timestamp == self.timestamp

    def settled(self) -> Iterator[tuple[Outcome, int, int]]:
        """Who says how they end, from which index on and for how many; a batch may be divided."""
        yield from _settled(self.outcome, self.first, self.count)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where records of a call come from, those from one place on."""

    place: int
    _index_of: Callable[[int], int]
    _timestamp_of: Callable[[int], int | None] | None

    def index_of(self, place: int) -> int:
        """The index in the call of the record that was accepted at that place."""
        return self._index_of(place - self.place)

    def timestamp_of(self, place: int) -> int | None:
        """Its own timestamp, if it has one."""
        return None if self._timestamp_of is None else self._timestamp_of(place - self.place)


def _settled(outcome: Outcome, first: int, count: int) -> Iterator[tuple[Outcome, int, int]]:
    if outcome.parts is None:
        yield outcome, first, count
        return
    for begin, part in outcome.parts:
        start, stop = max(first, begin), min(first + count, begin + _count(part))
        if start < stop:
            yield from _settled(part, start - begin, stop - start)


def _count(outcome: Outcome) -> int:
    return (
        outcome.count if outcome.parts is None else sum(_count(part) for _, part in outcome.parts)
    )


class Deliveries:
    """The pending acknowledgements of the records of one call: awaited, it waits for all of them.

    deliveries = await producer.submit_many("orders", values)
    await deliveries                # raises SendManyError if one was not delivered
    deliveries[17].result()         # where the record with index 17 is
    """

    def __init__(self) -> None:
        self._stretches: list[Stretch] = []
        self._count = 0
        self._origins: list[Origin] = []
        self._by_index: dict[int, int] | None = None

    def __repr__(self) -> str:
        state = "done" if self.done() else "pending"
        return f"<Deliveries of {self._count} records: {state}>"

    def __len__(self) -> int:
        """How many records were accepted."""
        return self._count

    def __getitem__(self, index: int) -> Delivery:
        """The delivery of one record, by its index in the call.

        Raises:
            IndexError: There is none, or it was not accepted.
        """
        place = self._place(index)
        at = bisect_right(self._stretches, place, key=lambda stretch: stretch.place) - 1
        stretch = self._stretches[at]
        timestamp = self._origin(place).timestamp_of(place)
        return stretch.outcome.delivery(
            stretch.first + place - stretch.place,
            stretch.timestamp if timestamp is None else timestamp,
        )

    def __iter__(self) -> Iterator[Delivery]:
        """The delivery of each record, in the order of the call."""
        return (self[index] for index in sorted(map(self.index, range(self._count))))

    def __await__(self) -> Generator[Any, None, Deliveries]:
        for stretch in self._stretches:
            yield from _wait(stretch)
        error = self.error()
        if error is not None:
            raise error
        return self

    def done(self) -> bool:
        """Whether it is known of all records how they ended."""
        return not any(
            outcome.is_pending for stretch in self._stretches for outcome, *_ in stretch.settled()
        )

    def index(self, place: int) -> int:
        """The index in the call of the record that was accepted at a place."""
        return self._origin(place).index_of(place)

    def add(self, outcome: Outcome, first: int, count: int, timestamp: int) -> None:
        """Records were appended to a batch, in one go."""
        last = self._stretches[-1] if self._stretches else None
        if last is not None and last.is_before(outcome, first, timestamp):
            last.count += count
        else:
            self._stretches.append(Stretch(outcome, first, count, self._count, timestamp))
        self._count += count

    def begin(
        self,
        index_of: Callable[[int], int],
        timestamp_of: Callable[[int], int | None] | None = None,
    ) -> None:
        """What is added from now on has the index that this gives, counted from 0.

        So has it the timestamp; where that is None, the one it is added with.
        """
        self._origins.append(Origin(self._count, index_of, timestamp_of))

    def error(
        self, cause: BaseException | None = None, total: int | None = None
    ) -> KafkaError | None:
        """What to raise: because records failed, or because of `cause` not all were accepted."""
        failed = Failed(self)
        if not len(failed) and cause is None:
            return None
        by_partition: Counter[TopicPartition] = Counter()
        causes: dict[str, KafkaError] = {}
        for outcome, first, count in failed.ranges():
            outcome.saw(first, count)
            by_partition[TopicPartition(outcome.topic, outcome.partition)] += count
            error = outcome.error_of(first)
            causes.setdefault(type(error).__name__, error)
        reasons = [*([cause] if cause is not None else []), *causes.values()]
        text = f"{len(failed)} of {self._count} records were not delivered"
        if cause is not None:
            of_all = f" of {total}" if total is not None else ""
            text = f"{self._count}{of_all} records were accepted, and {len(failed)} not delivered"
        made = SendManyError(
            f"{text}: {_said(reasons[0])}",
            accepted=self._count,
            failed=failed,
            deliveries=self,
            count=len(failed),
            by_partition=by_partition,
            causes=tuple(causes.values()),
        )
        made.__cause__ = reasons[0]
        return made

    def _origin(self, place: int) -> Origin:
        return self._origins[bisect_right(self._origins, place, key=lambda each: each.place) - 1]

    def _place(self, index: int) -> int:
        if self._by_index is None:
            self._by_index = {self.index(place): place for place in range(self._count)}
        if index < 0:
            index += self._count
        if index not in self._by_index:
            raise IndexError(f"no record {index} was accepted in this call")
        return self._by_index[index]

    def stretches(self) -> list[Stretch]:
        return self._stretches


class Failed(Mapping[int, KafkaError]):
    """The errors of those records of a call that failed, by their index; made when looked at."""

    def __init__(self, deliveries: Deliveries) -> None:
        self._deliveries = deliveries
        self._count = sum(count for _, _, count in self.ranges())

    def __repr__(self) -> str:
        return f"<Failed: {self._count} records>"

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[int]:
        for stretch in self._deliveries.stretches():
            place = stretch.place
            for outcome, _, count in stretch.settled():
                if outcome.error is not None:
                    yield from map(self._deliveries.index, range(place, place + count))
                place += count

    def __getitem__(self, index: int) -> KafkaError:
        try:
            delivery = self._deliveries[index]
        except IndexError:
            raise KeyError(index) from None
        error = delivery.peek()[1] if delivery.done() else None
        if error is None:
            raise KeyError(index)
        return error

    def ranges(self) -> Iterator[tuple[Outcome, int, int]]:
        """Who says so, from which index on, and of how many records."""
        for stretch in self._deliveries.stretches():
            for outcome, first, count in stretch.settled():
                if outcome.error is not None:
                    yield outcome, first, count


def _wait(stretch: Stretch) -> Generator[Any, None, None]:
    while pending := next((each for each, *_ in stretch.settled() if each.is_pending), None):
        yield from pending.waiter().__await__()


def _said(reason: BaseException) -> str:
    """Its text; what others than we have raised may need its name to be understood."""
    is_plain = isinstance(reason, KafkaError | TypeError | ValueError)
    return str(reason) if is_plain else f"{type(reason).__name__}: {reason}"
