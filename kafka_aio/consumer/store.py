"""Offsets in the user's own database, in the transaction of the results: exactly once. Pure.

Kafka keeps the offsets of a group, the database keeps what was made of the records, and a crash
between the two commits counts records twice or not at all. If both are in the database and are
written by one transaction, there is nothing in between:

    store = SqlOffsetStore("billing")

    def load(partitions):
        return asyncio.to_thread(store.load, connection, partitions)

    def settle(records):
        with connection:  # one transaction: all of it, or nothing
            offsets.advance(connection, records)
            ...  # the results

    async with Consumer(group_id="billing", enable_auto_commit=False, ...) as consumer:
        offsets = StoredOffsets(consumer, store, load)
        consumer.subscribe(["orders"], offsets)
        while True:
            await asyncio.to_thread(settle, await consumer.poll())

A member that was away for too long does not know that the group has given its partitions to others.
So an offset is only advanced from where the batch began. Whoever finds another one there is late:
that is an `OffsetConflict`, and the transaction is rolled back with its results. So is one that
comes after records that were handed over and never settled: `await offsets.reload()`.

`examples/exactly_once.py` has the whole of it.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from inspect import isawaitable
from typing import Any, Final, Protocol, TypeVar

from kafka_aio.consumer.record import Polled
from kafka_aio.errors import KafkaError, StateError
from kafka_aio.types import TopicPartition

C_contra = TypeVar("C_contra", contravariant=True)
C = TypeVar("C")
Stored = dict[TopicPartition, int]
"""The offsets of the next records to read."""


class OffsetConflict(KafkaError):
    """The stored offset is not the one where the batch began: roll back.

    Another member has the partition now and has got further; or records before these were handed
    over and are not stored, as their transaction was rolled back, or there was none.

    Attributes:
        partition: Whose offset it is.
        begin: Where the batch began; None if nothing was stored then.
        found: What is stored; None if that is nothing, or if `begin` is None: then it is not known.
    """

    def __init__(self, partition: TopicPartition, begin: int | None, found: int | None) -> None:
        super().__init__(partition, begin, found)
        self.partition = partition
        self.begin = begin
        self.found = found

    def __str__(self) -> str:
        if self.begin is None:
            text = "an offset is stored, and there was none when the batch began"
        else:
            found = "nothing" if self.found is None else self.found
            text = f"{found} is stored, and not {self.begin}, where the batch began"
        return (
            f"{self.partition}: {text}; another member may have the partition now, or what was"
            " read before is not stored. Roll back, and await reload() to read on from what is"
            " stored"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.partition, self.begin, self.found)


class OffsetStore(Protocol[C_contra]):
    """Where offsets are kept beside the results. Its calls may block, and never commit.

    `C_contra` is what a transaction is made by: a connection, a session.
    """

    def load(
        self, connection: C_contra, partitions: Collection[TopicPartition], /
    ) -> Mapping[TopicPartition, int]:
        """The offsets of the next records to read; those of which nothing is stored are absent."""
        ...

    def advance(
        self, connection: C_contra, partition: TopicPartition, begin: int | None, end: int, /
    ) -> None:
        """Store `end` in the place of `begin`; None is for nothing.

        It must not be possible that two transactions do this with the same `begin`.

        Raises:
            OffsetConflict: Something else is stored.
        """
        ...


# SQL.


class Cursor(Protocol):
    """What is used of a cursor of DB-API 2.0 (PEP 249)."""

    @property
    def rowcount(self) -> int: ...
    def execute(self, operation: str, parameters: Any, /) -> Any: ...
    def fetchall(self) -> Sequence[Any]: ...
    def close(self) -> Any: ...


class Connection(Protocol):
    """What is used of a connection of DB-API 2.0 (PEP 249)."""

    def cursor(self) -> Any: ...


_PLACEHOLDERS: Final = {
    "qmark": "?",
    "numeric": ":{0}",
    "named": ":p{0}",
    "format": "%s",
    "pyformat": "%(p{0})s",
}
_NAMED: Final = ("named", "pyformat")
_TABLE: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?", re.ASCII)


class SqlOffsetStore:
    """Keeps offsets in a table, through any driver that follows DB-API 2.0 (PEP 249)."""

    def __init__(
        self, group: str, *, table: str = "kafka_offsets", paramstyle: str = "qmark"
    ) -> None:
        """Say where.

        Args:
            group: Whose offsets they are: groups with different names do not see each other's.
            table: Its name, perhaps with that of a schema. See `create`.
            paramstyle: How the driver marks parameters: `sqlite3.paramstyle`, which is "qmark", or
                `psycopg.paramstyle`, or that of another driver.

        Raises:
            ValueError: This cannot be the name of a table, or there is no such style.
        """
        if not _TABLE.fullmatch(table):
            raise ValueError(f"{table!r} is no name of a table: letters, digits and underscores")
        if paramstyle not in _PLACEHOLDERS:
            styles = ", ".join(_PLACEHOLDERS)
            raise ValueError(f"{paramstyle!r} is no paramstyle: there are {styles}")
        self.group = group
        self.table = table
        self._paramstyle = paramstyle

    def __repr__(self) -> str:
        return f"<SqlOffsetStore: {self.table}, group {self.group!r}>"

    def create(self, connection: Connection) -> None:
        """Create the table, if it is not there; commit afterwards."""
        self._run(
            connection,
            f"CREATE TABLE IF NOT EXISTS {self.table} ("
            " group_id VARCHAR(255) NOT NULL,"
            " topic VARCHAR(249) NOT NULL,"
            " partition_number INTEGER NOT NULL,"
            " next_offset BIGINT NOT NULL,"
            " PRIMARY KEY (group_id, topic, partition_number))",
        )

    def load(self, connection: Connection, partitions: Collection[TopicPartition]) -> Stored:
        """The offsets of the next records to read; those of which nothing is stored are absent."""
        wanted = {TopicPartition(*each) for each in partitions}
        text = (
            f"SELECT topic, partition_number, next_offset FROM {self.table} WHERE group_id = {{}}"
        )
        _, rows = self._run(connection, text, self.group)
        found = {TopicPartition(topic, number): offset for topic, number, offset in rows}
        return {partition: found[partition] for partition in sorted(wanted & found.keys())}

    def advance(
        self, connection: Connection, partition: TopicPartition, begin: int | None, end: int
    ) -> None:
        """Store `end` in the place of `begin`; None is for nothing. Commit with the results.

        Raises:
            OffsetConflict: Something else is stored.
            ValueError: That would be no advance.
        """
        if end <= (-1 if begin is None else begin):
            raise ValueError(f"{partition}: {end} does not come after {begin}")
        if begin is None:
            self._insert(connection, partition, end)
        else:
            self._update(connection, partition, begin, end)

    def _insert(self, connection: Connection, partition: TopicPartition, end: int) -> None:
        text = (
            f"INSERT INTO {self.table} (group_id, topic, partition_number, next_offset)"
            " VALUES ({}, {}, {}, {})"
        )
        try:
            self._run(connection, text, self.group, *partition, end)
        except Exception as error:
            # Of two who insert, the primary key refuses one. Each driver has its own class of the
            # name that PEP 249 gives. Nothing more can be asked: the transaction may be over.
            if any(each.__name__ == "IntegrityError" for each in type(error).__mro__):
                raise OffsetConflict(partition, None, None) from error
            raise

    def _update(
        self, connection: Connection, partition: TopicPartition, begin: int, end: int
    ) -> None:
        text = (
            f"UPDATE {self.table} SET next_offset = {{}} WHERE group_id = {{}} AND topic = {{}}"
            " AND partition_number = {} AND next_offset = {}"
        )
        changed, _ = self._run(connection, text, end, self.group, *partition, begin)
        if changed != 1:
            found = self.load(connection, [partition])
            raise OffsetConflict(partition, begin, found.get(partition))

    def _run(self, connection: Connection, text: str, *values: object) -> tuple[int, Sequence[Any]]:
        """How many rows were changed, and the rows if it is a query."""
        numbers = range(1, len(values) + 1)
        marks = [_PLACEHOLDERS[self._paramstyle].format(number) for number in numbers]
        parameters: Any = values
        if self._paramstyle in _NAMED:
            parameters = {f"p{number}": values[number - 1] for number in numbers}
        cursor: Cursor = connection.cursor()
        try:
            cursor.execute(text.format(*marks), parameters)
            return cursor.rowcount, cursor.fetchall() if text.startswith("SELECT") else ()
        finally:
            cursor.close()


# The consumer's side.


class Seekable(Protocol):
    """What is used of a consumer."""

    def assignment(self) -> Collection[TopicPartition]: ...
    def seek(self, partition: TopicPartition, offset: int, /) -> None: ...
    def position(self, partition: TopicPartition, /) -> Awaitable[int]: ...


class HasOffset(Protocol):
    """What is used of a record."""

    @property
    def offset(self) -> int: ...


Load = Callable[
    [Collection[TopicPartition]],
    Mapping[TopicPartition, int] | Awaitable[Mapping[TopicPartition, int]],
]


class StoredOffsets:
    """Has a consumer read on from what is stored: the listener to subscribe with.

    It remembers what is stored of each partition that the consumer has. After a transaction that
    was rolled back, whatever the reason, await `reload`: the records have to be read again.
    Otherwise the next one fails too.
    """

    def __init__(self, consumer: Seekable, store: OffsetStore[Any], load: Load) -> None:
        """Nothing is read yet.

        Args:
            consumer: Has `enable_auto_commit=False`, as nothing is committed to Kafka.
            store: Where offsets are advanced.
            load: Gives what is stored of some partitions. It may be a coroutine function, and
                should be one where that blocks: `asyncio.to_thread(store.load, connection, ...)`.
        """
        self._consumer = consumer
        self._store = store
        self._load = load
        self._begin: dict[TopicPartition, int | None] = {}
        """What is stored, if the last transaction was committed; None for nothing."""
        self._start: dict[TopicPartition, int] = {}
        """Where partitions begin of which nothing is stored."""

    def __repr__(self) -> str:
        places = ", ".join(f"{each} at {begin}" for each, begin in sorted(self._begin.items()))
        return f"<StoredOffsets: {places or 'no partitions'}>"

    async def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Go to what is stored of these; where nothing is, to where the consumer begins anyway."""
        stored = await self._loaded(partitions)
        for partition in partitions:
            if partition in stored:
                self._consumer.seek(partition, stored[partition])
            else:
                self._start[partition] = await self._consumer.position(partition)
            self._begin[partition] = stored.get(partition)

    def revoked(self, partitions: Collection[TopicPartition]) -> None:
        """Forget these. What was not settled by now is another's."""
        for partition in partitions:
            self._begin.pop(partition, None)
            self._start.pop(partition, None)

    async def reload(self) -> None:
        """Read again all that is not stored: for after a transaction that was rolled back."""
        for partition in self._start.keys() & set(self._consumer.assignment()):
            self._consumer.seek(partition, self._start[partition])
        await self.assigned(tuple(self._consumer.assignment()))

    async def _loaded(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        found = self._load(partitions)
        return await found if isawaitable(found) else found

    def advance(
        self, connection: Any, records: Mapping[TopicPartition, Iterable[HasOffset]]
    ) -> None:
        """Store that these are dealt with, as part of the transaction of their results.

        It may block. The records are those that `poll` has returned, of one partition or of more:
        each list whole, with the records too that have no result, as it knows where it began.
        Other lists are taken where each follows the one before without a gap.

        Raises:
            OffsetConflict: Something else is stored. Roll back, and await `reload`.
            StateError: They are not the next ones, or not of partitions that the consumer has.
        """
        # In order, so that two transactions do not wait for each other.
        for partition, some in sorted(records.items()):
            offsets = [record.offset for record in some]
            if not offsets:
                continue
            if partition not in self._begin:
                raise StateError(
                    f"{partition}: it is not known what is stored of it; subscribe with this as the"
                    " listener, or await reload() after assign()"
                )
            begin = self._begin_of(partition, some, offsets[0])
            self._store.advance(connection, partition, begin, offsets[-1] + 1)
            # If this is rolled back, the next transaction finds it out.
            self._begin[partition] = offsets[-1] + 1

    def _begin_of(
        self, partition: TopicPartition, some: Iterable[HasOffset], first: int
    ) -> int | None:
        """What has to be stored before these are; None for nothing.

        That is what we know to be stored, unless there are records between it and these: those have
        to be stored then, and we do not know of it.
        """
        begin = self._begin[partition]
        if begin is not None and first < begin:
            raise StateError(
                f"{partition}: the record at {first} is dealt with already, as {begin} is"
                " stored; await reload() to read on from there"
            )
        dealt_with = self._start[partition] if begin is None else begin
        if isinstance(some, Polled):
            return some.begin if some.begin > dealt_with else begin
        if first > dealt_with:
            raise StateError(
                f"{partition}: the record at {first} does not follow those before {dealt_with},"
                " which are dealt with, and this list does not know what is between: give the lists"
                " that poll() has returned, whole; or await reload() to read on from there"
            )
        return begin
