"""Kafka and asyncio for RDDs: a sink, an async `mapPartitions`, and a source.

    rdd.foreachPartition(foreach_partition({"kafka.bootstrap.servers": "..."}, topic="orders"))
    rdd.mapPartitions(map_partitions(ask_somebody, concurrency=100))
    records_rdd(sc, [OffsetRange("orders", 0, 0, 1000)], {"kafka.bootstrap.servers": "..."})

What these return travels to the executors: it holds options as plain texts, and the user's
functions. There it runs on the loop thread of the worker process (`bridge`), with the clients of
that process (`clients`). Rows are taken from Spark on the thread that Spark calls us on.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from inspect import isasyncgenfunction, isgeneratorfunction
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafka_aio import FetchedBatch, Record
from kafka_aio.errors import ConfigError
from spark_connector.bridge import (
    LoopThread,
    More,
    clock,
    loop_thread,
    partition_loop,
    pump,
    read_ahead,
)
from spark_connector.calls import GRACE, Calls, Host, Setup
from spark_connector.offsets import OffsetRange
from spark_connector.option_values import as_texts
from spark_connector.options import ReadOptions, WriteOptions, warn_of_unknown
from spark_connector.ranges import batches, check
from spark_connector.sending import send_all
from spark_connector.topics import Topics
from spark_connector.version import check_version

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

log = logging.getLogger("spark_connector")

AHEAD: Final = 4
"""Batches that are fetched before they are asked for."""
SLOW: Final = 0.1
"""Seconds after which the rows of a chunk are slow to come."""
OF_PLANNING: Final = {
    *("assign", "subscribe", "subscribepattern", "minpartitions", "maxrecordsperpartition")
}
"""Options by which the DataFrame reader finds the ranges that `records_rdd` is given."""


def foreach_partition(
    options: Mapping[str, str],
    *,
    topic: str | None = None,
    fresh_loop: bool = False,
    chunk_rows: int = 10_000,
) -> Callable[[Iterable[Any]], None]:
    """A sink for `rdd.foreachPartition` and `df.foreachPartition`.

    A row is a value (bytes or str), a pair of key and value, a `ProducerRecord`, or a Spark `Row`
    or dict with the columns of the DataFrame writer: value, and key, topic, partition, headers and,
    with useTimestampColumn, timestamp. At the end of a partition all of its rows are acknowledged;
    a task that is tried again sends them again. A frame is quicker written by its writer.

    Args:
        options: As for the DataFrame writer: `kafka.bootstrap.servers` and more.
        topic: Where the rows go, as the option `topic`; if not given, each row says. A
            `ProducerRecord` says it in any case, as it does its time.
        fresh_loop: Whether each partition has an event loop and connections of its own. If not, it
            has those of its process, and leaves them to the next.
        chunk_rows: So many rows at most are sent together. Rows that are slow to come do not wait
            for so many.

    Returns:
        A function that Spark calls with the rows of a partition. The first error that comes ends
        it: a `RowError` with the place of that row, which need not be the first row that was not
        delivered; or a `ConfigError`, where an option is wrong on that machine: a file that is not
        there, for one. Rows are counted from 0.

    Raises:
        ConfigError: The options are wrong.
        TypeError: The topic is no str, the options are no mapping, or a number is none.
        ValueError: `chunk_rows` is less than 1.
        ImportError: Spark is older than 4.2.
    """
    check_version()
    given = as_texts(options)
    if topic is not None and not isinstance(topic, str):
        raise TypeError(f"topic is a str, not {type(topic).__name__}")
    if topic is not None and given.setdefault("topic", topic) != topic:
        raise ConfigError(f"topic is {topic!r}, and the option 'topic' {given['topic']!r}")
    warn_of_unknown(WriteOptions.parse(given).unknown)
    return _Sink(given, fresh_loop=fresh_loop, chunk_rows=_positive("chunk_rows", chunk_rows))


def map_partitions(
    fn: Callable[..., Awaitable[Any]],
    *,
    concurrency: int = 100,
    ordered: bool = True,
    setup: Setup | None = None,
    fresh_loop: bool = False,
    chunk_rows: int = 100,
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """An async function over the rows of each partition, for `rdd.mapPartitions`.

    Its first error fails the task, with the number of its row, counted from 0; calls that are
    under way are cancelled, as they are where Spark wants no more rows, by `take` for one.

    Args:
        fn: Awaited as `fn(row)`, or with `setup` as `fn(row, context)`; what it returns is the new
            row.
        concurrency: How many calls of a partition may be under way.
        ordered: Whether rows keep their order. If not, they leave as they are done.
        setup: Makes an async context manager, such as a client of yours: entered for each task, and
            left at its end, by the error where there is one. Calls see the context variables that
            it has set.
        fresh_loop: Whether each partition has an event loop of its own, or that of its process.
        chunk_rows: So many rows at most are handed to the event loop together. At first they are
            fewer, as they are where rows are slow to come: so rows leave early. What is not done
            within 10 ms then leaves when the next rows have come.

    Returns:
        A function that Spark calls with the rows of a partition.

    Raises:
        TypeError, ValueError: These are no functions, or no numbers.
        ImportError: Spark is older than 4.2.
    """
    check_version()
    if not callable(fn):
        raise TypeError(f"fn is an async function, not {type(fn).__name__}")
    if isgeneratorfunction(fn) or isasyncgenfunction(fn):
        raise TypeError("fn is an async function that returns the new row, not a generator")
    if setup is not None and not callable(setup):
        raise TypeError(f"setup is a function, not {type(setup).__name__}")
    return _Mapping(
        fn,
        concurrency=_positive("concurrency", concurrency),
        ordered=ordered,
        setup=setup,
        fresh_loop=fresh_loop,
        chunk_rows=_positive("chunk_rows", chunk_rows),
    )


def records_rdd(
    sc: SparkContext,
    ranges: Iterable[OffsetRange],
    options: Mapping[str, str],
    *,
    fresh_loop: bool = False,
) -> RDD[Record]:
    """The records of offset ranges as an RDD, one Spark partition for each range, in its order.

    The cluster is asked now whether there are such partitions, and for records by the tasks.

    Args:
        sc: The Spark context.
        ranges: What to read; `end` is the first offset that is not read.
        options: As for the DataFrame reader, but for what says which topics and offsets to read.
        fresh_loop: As for `foreach_partition`.

    Returns:
        Records. With `kafka.isolation.level` read_committed those of aborted transactions are left
        out. A task fails where the log does not have its range, unless failOnDataLoss is false.

    Raises:
        ConfigError: The options are wrong, or say what to read.
        TypeError: These are no ranges.
        UnknownTopicOrPartition: There is no such partition; says which range that is.
        KafkaError: That cannot be found out.
        ImportError: Spark is older than 4.2.
    """
    check_version()
    wanted = list(ranges)
    for each in wanted:
        if not isinstance(each, OffsetRange):
            raise TypeError(f"ranges are OffsetRange(topic, partition, start, end), not {each!r}")
    given = as_texts(options)
    for name in given:
        if name in OF_PLANNING or name.startswith(("starting", "ending")):
            raise ConfigError(f"option {name} is given, but the ranges say what to read")
    by_topic: dict[str, list[int]] = {}
    for each in wanted:
        by_topic.setdefault(each.topic, []).append(each.partition)
    given["assign"] = json.dumps(by_topic or {"none": [0]})
    parsed = ReadOptions.parse(given)
    warn_of_unknown(parsed.unknown)
    if not wanted:
        return sc.emptyRDD()
    if any(wanted):  # ranges without offsets may be of no partition
        loop_thread().run(Topics(parsed).ask(partial(check, wanted)))
    return sc.parallelize(wanted, len(wanted)).mapPartitions(_Reading(given, fresh_loop))


@dataclass(frozen=True, kw_only=True)
class _Sink:
    """Sends the rows of one partition after the other."""

    options: Mapping[str, str] = field(repr=False, kw_only=False)
    fresh_loop: bool
    chunk_rows: int

    def __call__(self, rows: Iterable[Any]) -> None:
        from spark_connector.rows import Rows  # late: pyarrow is slow to import

        _check_rows(rows, "foreachPartition, not for foreach")
        options = WriteOptions.parse(self.options)
        made = Rows(topic=options.topic, use_timestamp=options.use_timestamp_column, where=_where())
        chunks = made.chunks(rows, self.chunk_rows, clock=clock)
        with partition_loop(fresh=self.fresh_loop) as thread:
            send_all(thread, chunks, made, options.producer_options())


class Taken(NamedTuple):
    """Rows that go to the loop together."""

    rows: list[Any]
    may_wait: bool
    """Whether the next may be slow to come: these were, or they are among the first."""


def in_chunks(rows: Iterable[Any], most: int) -> Iterator[Taken]:
    """Rows in chunks: few at first, and as many as come in a while, for results to leave."""
    left, size, is_first = iter(rows), 1, True
    begun = clock()
    while chunk := list(islice(left, size)):
        is_slow = clock() - begun > SLOW
        yield Taken(chunk, is_first or is_slow or size < most)
        size = max(size // 2, 1) if is_slow else min(2 * size, most)
        is_first = False
        begun = clock()


@dataclass(frozen=True, kw_only=True)
class _Mapping:
    """Calls an async function for the rows of one partition after the other."""

    fn: Callable[..., Awaitable[Any]] = field(kw_only=False)
    concurrency: int
    ordered: bool
    setup: Setup | None
    fresh_loop: bool
    chunk_rows: int

    def __call__(self, rows: Iterable[Any]) -> Iterator[Any]:
        _check_rows(rows, "mapPartitions, not for map")  # now, and not at the first row
        return self._rows(rows, _where())

    def _rows(self, rows: Iterable[Any], where: str) -> Iterator[Any]:
        with partition_loop(fresh=self.fresh_loop) as thread:
            work = thread.run(self._begun(lambda number: f"{where}row {number}"))
            try:
                for results in pump(
                    thread,
                    chain(in_chunks(rows, self.chunk_rows), [None]),
                    work.step,
                    window=2,
                    alone=lambda chunk: chunk is not None and chunk.may_wait,
                ):
                    yield from results
            except BaseException as error:  # GeneratorExit too: Spark wants no more rows
                work.give_up(thread, error)
                raise
            thread.run(work.host.close())

    async def _begun(self, place: Callable[[int], str]) -> _Work:
        host = Host(self.setup or nullcontext)
        context = await host.open()
        call = self.fn if self.setup is None else partial(_with, self.fn, context)
        calls = Calls(
            call,
            concurrency=self.concurrency,
            ordered=self.ordered,
            place=place,
            context=host.context,
        )
        host.watch(calls.fail)
        return _Work(host, calls)


def _with(fn: Callable[..., Awaitable[Any]], context: Any, row: Any) -> Awaitable[Any]:
    return fn(row, context)


@dataclass(frozen=True)
class _Work:
    """What is under way for one task."""

    host: Host
    calls: Calls

    async def step(self, taken: Taken | None) -> list[Any] | More[list[Any]]:
        """Take rows, or None at their end. Returns what has come of earlier ones."""
        if taken is None:
            return await self.calls.finish()
        return await self.calls.feed(taken.rows, lingers=taken.may_wait)

    def give_up(self, thread: LoopThread, error: BaseException) -> None:
        """End all of it, but wait for that not for long."""
        traceback = error.__traceback__
        try:
            thread.wind_up(self._given_up(error), timeout=3 * GRACE)
        except KeyboardInterrupt:  # it may be for this thread
            raise
        except BaseException as other:
            told = f"its setup failed to end, by {type(other).__name__}: {other}"
            if isinstance(error, GeneratorExit):  # nobody sees that
                log.warning("Spark wants no more rows of a partition, and %s", told)
            with suppress(Exception):  # some errors take no note
                error.add_note(f"then {told}")
        with suppress(Exception):
            error.__traceback__ = traceback  # without the frames of who has seen it since

    async def _given_up(self, error: BaseException) -> None:
        await self.calls.cancel()
        await self.host.close(error)


@dataclass(frozen=True)
class _Reading:
    """Reads one range after the other."""

    options: Mapping[str, str] = field(repr=False)
    fresh_loop: bool

    def __call__(self, ranges: Iterable[OffsetRange]) -> Iterator[Record]:
        options = ReadOptions.parse(self.options)
        with partition_loop(fresh=self.fresh_loop) as thread:
            for wanted in ranges:
                if len(wanted):
                    found: Callable[[], AsyncIterator[FetchedBatch]]
                    found = partial(batches, wanted, options)
                    for batch in read_ahead(thread, found, ahead=AHEAD):
                        yield from batch.records


def _where() -> str:
    """What an error says before the number of a row. To be called on the thread of the task."""
    pyspark: Any = sys.modules.get("pyspark")
    context = None if pyspark is None else pyspark.TaskContext.get()
    return "" if context is None else f"Spark partition {context.partitionId()}, "


def _check_rows(rows: Iterable[Any], what_for: str) -> None:
    """Spark gives an iterator; one row in its place would be taken apart, and its parts sent."""
    is_row = isinstance(rows, str | bytes | bytearray | tuple | Mapping)
    if is_row or not isinstance(rows, Iterable):
        raise TypeError(f"this is for {what_for}: it takes the rows of a partition, not one row")


def _positive(name: str, number: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{name} is a whole number, not {type(number).__name__}")
    if number < 1:
        raise ValueError(f"{name} is 1 or more, not {number}")
    return number
