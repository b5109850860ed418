"""`kafka-aio produce` at work: it reads, sends, and says what came of it."""

from __future__ import annotations

import asyncio
import os
import select
import stat
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from typing import Final

from kafka_aio.cli import terminal
from kafka_aio.cli.finding import no_partition, partitions
from kafka_aio.cli.interruption import cancelled_by_signals
from kafka_aio.cli.output import Report
from kafka_aio.cli.produce import STDIN
from kafka_aio.cli.produce_input import Form, Lines, Portion
from kafka_aio.cli.progress import progress
from kafka_aio.errors import (
    ConfigError,
    DeliveryError,
    KafkaError,
    SendManyError,
)
from kafka_aio.producer import Deliveries, Producer, ProducerRecord

CHUNK: Final = 65_536
"""How many bytes are read at a time, at most."""
MOST_PENDING: Final = 100_000
"""So many records may wait for their acknowledgement; the buffer bounds their bytes."""
_PACE: Final = 0.1
"""How many seconds what is shown stays as it is."""
_WIDTH: Final = 30


async def produce(
    producer: Producer[bytes, bytes],
    form: Form,
    names: Sequence[str],
    *,
    timeout: float,
    longest_line: int,
) -> Report:
    """Send every line of the files, and wait until it is known what became of them.

    Cancelled, it reads no further, and still waits; cancelled again, it does not.

    Raises:
        KafkaError: The topic cannot be found; nothing was sent.
    """
    await _find(producer, form, timeout)
    work = Work(producer, form, timeout=timeout, longest_line=longest_line)
    try:
        with cancelled_by_signals():
            try:
                await work.read(names)
            finally:
                await work.finish()
    finally:
        work.tell()
    return Report({}, errors=work.errors)


async def _find(producer: Producer[bytes, bytes], form: Form, timeout: float) -> None:
    count = await partitions(producer, form.topic, timeout)
    if form.partition is not None and form.partition >= count:
        raise ConfigError(f"--{no_partition(form.topic, form.partition, count)}")


class Work:
    """One run: from bytes to deliveries."""

    def __init__(
        self,
        producer: Producer[bytes, bytes],
        form: Form,
        *,
        timeout: float,
        longest_line: int,
    ) -> None:
        self._producer = producer
        self._form = form
        self._timeout = timeout
        self._longest_line = longest_line
        self._loop = asyncio.get_running_loop()
        self._began_at = self._shown_at = self._loop.time()
        self._bytes_read = 0
        self._bytes: int | None = None
        self._counts = {form.topic: 0}
        """The topics that records go to, with the partitions that lines of JSON have found."""
        self._pending: deque[tuple[str, Sequence[int], Deliveries]] = deque()
        self._pending_records = 0
        self._failed: KafkaError | None = None
        self._ended: DeliveryError | None = None

    def __repr__(self) -> str:
        return f"<Work: {self._bytes_read} bytes read, {self._pending_records} records pending>"

    @property
    def errors(self) -> list[KafkaError]:
        """The first record that the cluster did not take, and what ended the input too early."""
        return [error for error in (self._failed, self._ended) if error is not None]

    async def read(self, names: Sequence[str]) -> None:
        """Send every line, up to one that cannot be sent."""
        self._bytes = await asyncio.to_thread(_size, names)
        try:
            for name in names:
                await self._read_one(name)
        except DeliveryError as error:
            self._ended = error

    async def _read_one(self, name: str) -> None:
        if name == STDIN and terminal.is_there():
            terminal.say("info", "every line is a record; Ctrl-D ends")
        lines = Lines(longest=self._longest_line)
        with await asyncio.to_thread(_open, name) as source:
            while data := await asyncio.to_thread(_read, source, name):
                self._bytes_read += len(data)
                first = lines.count + 1
                await self._send(name, self._form.portion(lines.cut(data), first))
                if (error := lines.error()) is not None:
                    raise _refused(name, lines.count + 1, error)
        last = lines.count + 1
        await self._send(name, self._form.portion(lines.end(), last))

    async def _send(self, name: str, portion: Portion) -> None:
        """Have a portion accepted; and look at those before it.

        Raises:
            DeliveryError: A line cannot be sent.
        """
        if self._form.is_json:
            await self._submit_found(name, portion)
        else:
            await self._submit(name, portion)
        if portion.error is not None:
            raise _refused(name, portion.failed, portion.error)
        while self._pending_records > MOST_PENDING or self._oldest_is_done():
            await self._settle_oldest()
        self._show()

    async def _submit_found(self, name: str, portion: Portion) -> None:
        """Look for topics and partitions first: the producer would wait for max.block.ms."""
        records, numbers = portion.records, portion.numbers
        start = 0
        for at, record in enumerate(records):
            if (record.partition or 0) < self._counts.get(record.topic, 0):
                continue
            await self._submit(name, Portion(records[start:at], numbers[start:at]))
            start = at
            try:
                await self._look_for(record)
            except KafkaError as error:
                raise _refused(name, numbers[at], error) from None
        await self._submit(name, Portion(records[start:], numbers[start:]))

    async def _look_for(self, record: ProducerRecord) -> None:
        topic, partition = record.topic, record.partition or 0
        count = await partitions(self._producer, topic, self._timeout)
        if partition >= count:
            raise KafkaError(no_partition(topic, partition, count))
        self._counts[topic] = count

    async def _submit(self, name: str, portion: Portion) -> None:
        if not portion.records:
            return
        form = self._form
        try:
            deliveries = await self._producer.submit_many(
                form.topic, portion.records, partition=form.partition
            )
        except SendManyError as error:
            at = error.accepted
            raise _refused(name, portion.numbers[at], error.__cause__, at=at) from None
        except (KafkaError, TypeError, ValueError) as error:
            raise _refused(name, portion.numbers[0], error) from None
        self._pending.append((name, portion.numbers, deliveries))
        self._pending_records += len(deliveries)

    def _oldest_is_done(self) -> bool:
        return bool(self._pending) and self._pending[0][2].done()

    async def _settle_oldest(self) -> None:
        name, numbers, deliveries = self._pending[0]
        try:
            await deliveries
        except SendManyError as error:
            if self._failed is None:
                index = min(error.failed)
                self._failed = DeliveryError(f"{_place(name, numbers[index])}{error.failed[index]}")
        self._pending.popleft()
        self._pending_records -= len(deliveries)

    async def finish(self) -> None:
        """Wait until it is known what became of every record."""
        terminal.show("")
        try:
            async with progress("waiting for the last records; Ctrl-C gives them up"):
                await self._settle_all()
        except asyncio.CancelledError:
            with suppress(DeliveryError):
                await self._producer.aclose(timeout=0)
            raise

    async def _settle_all(self) -> None:
        with suppress(KafkaError):  # the client has failed, and so have its records: see below
            await self._producer.flush()
        while self._pending:
            await self._settle_oldest()
        try:
            await self._producer.aclose()
        except DeliveryError as error:  # of a portion that was not accepted as a whole
            self._failed = self._failed or DeliveryError(str(error.causes[0]))

    def tell(self) -> None:
        """Say in one line what came of it."""
        statistics = self._producer.statistics()
        failed = statistics.failed + (self._ended.count if self._ended is not None else 0)
        used = [topic for topic, count in self._counts.items() if count] or [self._form.topic]
        where = used[0] if len(used) == 1 else f"{len(used)} topics"
        seconds = self._loop.time() - self._began_at
        records = "1 record" if statistics.delivered == 1 else f"{statistics.delivered:,} records"
        text = f"{records} to {where} in {seconds:.1f} s"
        terminal.say("info", f"{text}, {failed:,} failed" if failed else text)

    def _show(self) -> None:
        now = self._loop.time()
        if self._bytes and now - self._shown_at >= _PACE:
            self._shown_at = now
            terminal.show(bar(self._bytes_read, self._bytes, seconds=now - self._began_at))


def bar(done: int, total: int, *, seconds: float) -> str:
    """How far it is."""
    part = min(1.0, done / total)
    full = "#" * round(part * _WIDTH)
    speed = done / 1e6 / max(seconds, 0.001)
    return f"[{full:<{_WIDTH}}] {part:4.0%}  {done / 1e6:,.1f} MB  {speed:,.1f} MB/s"


def _refused(name: str, number: int, cause: BaseException | None, at: int = 0) -> DeliveryError:
    why = str(cause).removeprefix(f"record {at}: ")  # of the call: nobody knows how we cut lines
    return DeliveryError(f"{_place(name, number)}{why}; nothing after it was sent", count=1)


def _place(name: str, number: int | None = None) -> str:
    words = [*([] if name == STDIN else [name]), *([] if number is None else [f"line {number}"])]
    return f"{', '.join(words) or 'stdin'}: "


# Files: in a thread.


def _size(names: Sequence[str]) -> int | None:
    """The bytes of all; None where one has no size, as a pipe."""
    found = []
    for name in names:
        with suppress(OSError):  # to be said when it is opened
            found.append(os.stat(0 if name == STDIN else name))
    if not all(stat.S_ISREG(each.st_mode) for each in found):
        return None
    return sum(each.st_size for each in found)


def _open(name: str) -> FileIO:
    with _readable(name):
        return FileIO(0, closefd=False) if name == STDIN else FileIO(name)


def _read(source: FileIO, name: str) -> bytes:
    with _readable(name):
        while (data := source.read(CHUNK)) is None:  # somebody has made stdin non-blocking
            select.select([source], [], [])
        return data


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DeliveryError(f"{_place(name)}it cannot be read: {error.strerror}") from None
