"""`kafka-aio consume` at work: it reads, writes, commits, and says what came of it."""

from __future__ import annotations

import asyncio
import select
import sys
from collections.abc import Collection, Mapping, Sequence
from io import FileIO
from math import inf
from typing import TYPE_CHECKING, Final

from kafka_aio.cli import terminal
from kafka_aio.cli.consume import Wanted
from kafka_aio.cli.consume_output import Form, Record
from kafka_aio.cli.finding import no_partition, partitions
from kafka_aio.cli.interruption import cancelled_by_signals
from kafka_aio.cli.output import Report
from kafka_aio.cli.places import Log, Place
from kafka_aio.cli.progress import progress
from kafka_aio.errors import ConfigError, KafkaError
from kafka_aio.net.clock import wall_time
from kafka_aio.types import OffsetAndTimestamp, TopicPartition

if TYPE_CHECKING:
    from kafka_aio.consumer import Consumer

_PACE: Final = 0.25
"""How many seconds what is shown stays as it is."""
LEFT_OUT: Final = 15.0
"""After so many seconds without partitions, who is to stop at the end has nothing to stop at. A
group may need ten, for others to give back what they have."""

Records = Mapping[TopicPartition, Sequence[Record]]


async def consume(
    consumer: Consumer[bytes, bytes],
    wanted: Wanted,
    form: Form,
    *,
    timeout: float,
    commits: bool,
) -> Report:
    """Write records until there are no more to be written.

    Cancelled, it still writes what it has in hand, and commits; cancelled again, it does not.

    Args:
        consumer: Reads them.
        wanted: Which.
        form: How they are written.
        timeout: Seconds for finding the topics, and their offsets.
        commits: Whether what was written is committed.

    Raises:
        KafkaError: A topic cannot be found, or the output cannot be written.
        Gone: Nobody reads the output.
    """
    work = Work(consumer, wanted, Output(form, FileIO(sys.stdout.fileno(), "w", closefd=False)))
    with cancelled_by_signals():
        await work.begin(timeout)
        try:
            await work.write_all()
        except (asyncio.CancelledError, KafkaError):
            await work.end(commits=commits)
            raise
        await work.end(commits=commits)
    return Report({})


class Output:
    """Where the lines go. It is used in a thread: whoever reads them may take any time."""

    def __init__(self, form: Form, file: FileIO) -> None:
        self._form = form
        self._file = file
        self.bytes = 0

    def __repr__(self) -> str:
        return f"<Output: {self.bytes} bytes>"

    def write(self, records: Sequence[Record]) -> None:
        """Write all of them; when it returns, the system has them.

        Raises:
            Gone: Nobody reads them.
            KafkaError: They cannot be written.
        """
        left = memoryview(self._form.lines(records))
        try:
            while left:
                count = self._file.write(left)
                if count is None:  # somebody has made stdout non-blocking
                    select.select([], [self._file], [])
                    continue
                self.bytes += count
                left = left[count:]
        except BrokenPipeError:
            raise terminal.Gone from None
        except OSError as error:
            raise KafkaError(f"the output cannot be written: {error.strerror}") from None

    def check(self) -> None:
        """See to it that somebody reads, although there is nothing to write.

        Raises:
            Gone: Nobody does.
        """
        looking = select.poll()
        looking.register(self._file, 0)  # which leaves what is always told: errors, and the end
        if looking.poll(0):
            raise terminal.Gone


class Work:
    """One run: from the topics to lines."""

    def __init__(self, consumer: Consumer[bytes, bytes], wanted: Wanted, output: Output) -> None:
        self._consumer = consumer
        self._wanted = wanted
        self._output = output
        self._loop = asyncio.get_running_loop()
        self._began_at = self._shown_at = self._loop.time()
        self._ends: dict[TopicPartition, int] = {}
        """Where partitions end; those that are done are no longer in it."""
        self._is_assigned = False
        self._assigned_at = inf
        self._is_idle = True  # nothing has come since the last look
        self._count = self._shown = 0
        self._is_written = True

    def __repr__(self) -> str:
        return f"<Work: {self._count} records written, {len(self._ends)} partitions to be ended>"

    # Where to begin.

    async def begin(self, timeout: float) -> None:
        """Find the topics, and go to where they are read from.

        Raises:
            ConfigError: There is no such partition.
            KafkaError: A topic cannot be found, or nobody says where its records are.
        """
        wanted = self._wanted
        counts = {
            topic: await partitions(self._consumer, topic, timeout) for topic in wanted.topics
        }
        if wanted.group is not None:
            self._consumer.subscribe(wanted.topics, self if wanted.end is not None else None)
            return
        async with progress("looking for the offsets"):
            await self._assign(_places(wanted, counts), timeout)

    async def _assign(self, every: Sequence[TopicPartition], timeout: float) -> None:
        begin, end = self._wanted.begin, self._wanted.end
        begins: dict[TopicPartition, int] = {}
        if begin is not None:
            begins = await self._find("--from", begin, every, timeout)
        if end is not None:
            self._ends = await self._find("--to", end, every, timeout)
        # Not before: what is fetched from elsewhere would be waited for.
        self._consumer.assign(every)
        for each, offset in begins.items():
            self._consumer.seek(each, offset)
        self._is_assigned = True

    async def _find(
        self, option: str, place: Place, every: Sequence[TopicPartition], timeout: float
    ) -> dict[TopicPartition, int]:
        """Where a place is in each partition."""
        consumer = self._consumer
        begins = await consumer.beginning_offsets(every, timeout=timeout)
        ends = await consumer.end_offsets(every, timeout=timeout)
        found: Mapping[TopicPartition, OffsetAndTimestamp | None] = {}
        time = place.time(now=wall_time())
        if time is not None:
            times = dict.fromkeys(every, time)
            found = await consumer.offsets_for_times(times, timeout=timeout)
        logs = {each: Log(begins[each], ends[each], found.get(each)) for each in every}
        if missed := place.missed(logs):
            terminal.say("warning", f"{option}: {missed}")
        return {each: place.offset(log) for each, log in logs.items()}

    # What a group says.

    async def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """These are ours now: they end where they end now."""
        self._ends |= await self._consumer.end_offsets(partitions)
        self._is_assigned = True
        self._assigned_at = self._loop.time()

    def revoked(self, partitions: Collection[TopicPartition]) -> None:
        """These are somebody else's, who ends them; or ours again, which is said next."""
        for each in partitions:
            self._ends.pop(each, None)
        self._is_assigned = False

    # Reading and writing.

    async def write_all(self) -> None:
        """Write records, up to the end if there is one."""
        group = self._wanted.group
        if group is not None:
            async with progress(f"waiting for group {group} to give us partitions"):
                records = await self._poll()
                while not (records or self._consumer.assignment() or self._is_left_out()):
                    records = await self._poll()
            await self._write(records)
        while not await self._is_over():
            await self._write(await self._poll())
            self._show()

    def _is_left_out(self) -> bool:
        """Whether the group has given us nothing for so long that others will end it all."""
        return self._is_assigned and self._loop.time() >= self._assigned_at + LEFT_OUT

    async def _poll(self) -> Records:
        most = self._wanted.max_records
        left = None if most is None else most - self._count
        records: Records = await self._consumer.poll(_PACE, max_records=left)
        if not records:
            self._output.check()
        return records

    async def _write(self, records: Records) -> None:
        """Write them, also if this is cancelled meanwhile."""
        portion = [record for place, some in records.items() for record in self._cut(place, some)]
        self._is_idle = not portion
        if self._is_idle:
            return
        self._is_written = False
        writing = asyncio.ensure_future(asyncio.to_thread(self._output.write, portion))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            async with progress("waiting for whoever reads the output; Ctrl-C gives it up"):
                await writing
            self._wrote(len(portion))
            raise
        self._wrote(len(portion))

    def _wrote(self, count: int) -> None:
        self._count += count
        self._is_written = True

    def _cut(self, place: TopicPartition, records: Sequence[Record]) -> Sequence[Record]:
        """Those before the end. What is after it is given back, and its partition is done."""
        end = self._ends.get(place)
        if end is None or records[-1].offset < end - 1:
            return records
        self._consumer.seek(place, end)
        self._done(place)
        return [record for record in records if record.offset < end]

    def _done(self, place: TopicPartition) -> None:
        del self._ends[place]
        self._consumer.pause(place)

    async def _is_over(self) -> bool:
        most = self._wanted.max_records
        if most is not None and self._count >= most:
            return True
        if self._wanted.end is None:
            return False
        if self._is_idle:
            await self._look_at_positions()
        return self._is_assigned and not self._ends

    async def _look_at_positions(self) -> None:
        """The last offsets of a partition may be no records, or there may be none at all."""
        for place, end in list(self._ends.items()):
            if await self._consumer.position(place) >= end:
                self._done(place)

    # How it ends.

    async def end(self, *, commits: bool) -> None:
        """Have the group know what was written, and say what came of it."""
        self._clear()
        try:
            # The consumer commits by itself what was handed over before the latest request for
            # records; this is for the rest, if it was written.
            if commits and self._is_written and self._count:
                async with progress("committing; Ctrl-C gives it up"):
                    await self._consumer.commit()
        finally:
            self._tell()

    def _tell(self) -> None:
        seconds = self._loop.time() - self._began_at
        records = "1 record" if self._count == 1 else f"{self._count:,} records"
        topic, *others = self._wanted.topics
        where = f"{1 + len(others)} topics" if others else topic
        terminal.say("info", f"{records} from {where} in {seconds:.1f} s")

    def _clear(self) -> None:
        if not terminal.has_output():
            terminal.show("")

    def _show(self) -> None:
        now = self._loop.time()
        if terminal.has_output() or now - self._shown_at < _PACE:
            return
        rate = (self._count - self._shown) / (now - self._shown_at)
        self._shown, self._shown_at = self._count, now
        lag = [each for each in self._consumer.lag().values() if each is not None]
        terminal.show(status(self._count, self._output.bytes, rate=rate, lag=sum(lag)))


def status(count: int, size: int, *, rate: float, lag: int) -> str:
    """How far it is."""
    return f"{count:,} records, {size / 1e6:,.1f} MB, {rate:,.0f} records/s, {lag:,} to be read"


def _places(wanted: Wanted, counts: Mapping[str, int]) -> list[TopicPartition]:
    topic, *_ = wanted.topics
    for each in wanted.partitions:
        if each >= counts[topic]:
            raise ConfigError(f"--{no_partition(topic, each, counts[topic])}")
    if wanted.partitions:
        return [TopicPartition(topic, each) for each in wanted.partitions]
    return [TopicPartition(name, each) for name, count in counts.items() for each in range(count)]
