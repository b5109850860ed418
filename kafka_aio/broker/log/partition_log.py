"""`PartitionLog`: batches are appended, read by offset, and dropped from either end. Pure."""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_aio.broker.log.batches import Batch, first_records
from kafka_aio.broker.log.epochs import Epochs
from kafka_aio.broker.log.producers import Producers
from kafka_aio.broker.log.segment import EMPTY, Segment, Spare
from kafka_aio.errors import OffsetOutOfRange
from kafka_aio.records.batch import read_header
from kafka_aio.records.codec import RecordReader, crc32c
from kafka_aio.records.layout import CRC_FROM, HEADER, LENGTH_FROM, LOG_APPEND_TIME

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from kafka_aio.records.layout import BatchHeader

SMALLEST_SEGMENT: Final = 64 * 1024
"""The first one; each is twice as large as the one before, up to `segment_bytes`."""
NO_TIMESTAMP: Final = -1
_PLACE: Final = struct.Struct(">qii")
"""Base offset, length and leader epoch: how a batch begins."""


class Found(NamedTuple):
    """A record that was looked for by its timestamp."""

    timestamp: int
    offset: int
    leader_epoch: int


NOTHING: Final = Found(-1, -1, -1)


class PartitionLog:
    """The batches of one partition, as their producers wrote them.

    Attributes:
        start_offset: The first offset that can be read.
        end_offset: The next one to be written: also the high watermark and the last stable offset,
            as every replica shares this log and there are no transactions.
        size: Bytes of the batches that are kept.
    """

    __slots__ = (
        "_segments",
        "_spare",
        "end_offset",
        "epochs",
        "producers",
        "segment_bytes",
        "size",
        "start_offset",
    )

    def __init__(self, *, segment_bytes: int, spare: Spare | None = None) -> None:
        self.segment_bytes = segment_bytes
        self.start_offset = 0
        self.end_offset = 0
        self.size = 0
        self.epochs = Epochs()
        self.producers = Producers()
        self._segments: list[Segment] = []
        self._spare = Spare(0) if spare is None else spare

    def __repr__(self) -> str:
        return f"<PartitionLog {self.start_offset} to {self.end_offset}, {self.size} bytes>"

    # Writing

    def begin_epoch(self, epoch: int) -> None:
        """What is written from now on is of this leader epoch."""
        self.epochs.begin(epoch, self.end_offset)

    def append(self, batch: Buffer, header: BatchHeader, *, append_time: int = NO_TIMESTAMP) -> int:
        """Copy a batch to the end, with its offset and leader epoch set.

        Args:
            batch: The whole batch, and nothing else. It was checked.
            header: Its header.
            append_time: Milliseconds to stamp on it, where the topic has LogAppendTime.

        Returns:
            Its base offset.
        """
        base_offset = self.end_offset
        last_offset = base_offset + header.last_offset_delta
        size = LENGTH_FROM + header.length
        max_timestamp = header.max_timestamp if append_time == NO_TIMESTAMP else append_time
        segments = self._segments
        if not segments or segments[-1].used + size > segments[-1].capacity:
            self._roll(size)
        segment = segments[-1]
        start = segment.write(batch, size, last_offset, max_timestamp)
        _PLACE.pack_into(segment.room, start, base_offset, header.length, self.epochs.latest)
        if append_time != NO_TIMESTAMP:
            _stamp(segment.room[start : start + size], append_time)
        if header.producer_id >= 0:
            self.producers.wrote(header, base_offset, max_timestamp)
        self.end_offset = last_offset + 1
        self.size += size
        return base_offset

    def _roll(self, size: int) -> None:
        """Begin a segment that has room for a batch of `size` bytes."""
        before = len(self._segments[-1].room) if self._segments else SMALLEST_SEGMENT // 2
        capacity = max(min(before * 2, self.segment_bytes), size)
        self._segments.append(Segment(self.end_offset, self._spare.take(capacity)))

    # Reading

    def read(self, offset: int, *, max_bytes: int, at_least_one: bool) -> memoryview:
        """Batches, from the one that holds `offset`; of one segment, so maybe not all.

        Args:
            offset: Where to begin. Records before it may come too, as part of its batch.
            max_bytes: Not more than that: the last batch may be cut off.
            at_least_one: The first batch is whole even if it is larger.

        Returns:
            A view that stays as it is. Empty at the end of the log.

        Raises:
            OffsetOutOfRange: It is before the start or after the end.
        """
        if not self.start_offset <= offset <= self.end_offset:
            raise OffsetOutOfRange(
                f"offset {offset} is not within {self.start_offset} to {self.end_offset}"
            )
        segments = self._segments
        if not segments:
            return EMPTY
        segment = segments[-1]
        if offset < segment.base_offset:
            segment = segments[bisect_left(segments, offset, key=_last_offset)]
        return segment.read(offset, max_bytes, at_least_one=at_least_one)

    def available(self, offset: int) -> int:
        """How many bytes there are from `offset` on."""
        available = 0
        for segment in reversed(self._segments):
            if segment.base_offset <= offset:
                return available + segment.used - segment.find(offset)
            available += segment.used
        return available

    def batches(self) -> Iterator[memoryview]:
        """All batches that are kept, each with its header."""
        for segment in self._segments:
            yield from segment.batches()

    # Looking for offsets

    def find_timestamp(self, timestamp: int) -> Found:
        """The first record that is not older than `timestamp`, in milliseconds; or `NOTHING`."""
        for segment in self._segments:
            for index, newest in enumerate(segment.max_timestamps):
                if newest < timestamp or segment.lasts[index] < self.start_offset:
                    continue
                for record in RecordReader(segment.batch(index), check_crcs=False).read():
                    if record.timestamp >= timestamp and record.offset >= self.start_offset:
                        return Found(record.timestamp, record.offset, record.leader_epoch)
        return NOTHING

    def find_newest(self) -> Found:
        """The first of the records with the greatest timestamp; or `NOTHING`."""
        newest = NO_TIMESTAMP
        for segment in self._segments:
            for last_offset, timestamp in zip(segment.lasts, segment.max_timestamps, strict=True):
                if timestamp > newest and last_offset >= self.start_offset:
                    newest = timestamp
        return self.find_timestamp(newest) if newest != NO_TIMESTAMP else NOTHING

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """The largest leader epoch up to `epoch`, and the offset where it ended.

        -1 and -1 if that is not known.
        """
        return self.epochs.end_of(epoch, self.end_offset)

    # Dropping

    def truncate(self, offset: int) -> None:
        """Go back: the log ends at `offset`, as after an unclean election.

        Of a batch that reaches beyond `offset`, the records before it stay, in a batch of their
        own; unless they cannot be read.
        """
        if offset >= self.end_offset:
            return
        offset = max(offset, self.start_offset)
        kept = self._head_before(offset)
        segments = self._segments
        while segments and segments[-1].last_offset >= offset:
            segment = segments[-1]
            self.size -= segment.used
            segment.truncate(offset)
            if segment.used and segment.last_offset >= self.start_offset:
                self.size += segment.used
                break
            segments.pop()  # nothing of it can be read
        self.end_offset = offset
        self.epochs.truncate(offset)
        if kept is not None:
            self.end_offset -= kept.header.record_count
            self.append(kept.data, kept.header)
        self._recall_producers()

    def _head_before(self, offset: int) -> Batch | None:
        """The records before `offset` of the batch that has it in its midst, if there is one."""
        if offset == self.start_offset:
            return None  # nobody could read them
        data = self.read(offset, max_bytes=0, at_least_one=True)
        count = offset - read_header(data).base_offset if data else 0
        return first_records(data, count) if count > 0 else None

    def _recall_producers(self) -> None:
        """Learn from the batches what the producers wrote: some of it is gone."""
        self.producers.clear()
        for batch in self.batches():
            header = read_header(batch)
            if header.producer_id >= 0:
                self.producers.wrote(header, header.base_offset, header.max_timestamp)

    def delete_before(self, offset: int) -> None:
        """Let the log begin at `offset`. Whole segments before it are dropped.

        Raises:
            OffsetOutOfRange: It is after the end.
        """
        if offset > self.end_offset:
            raise OffsetOutOfRange(f"offset {offset} is after the end, {self.end_offset}")
        if offset <= self.start_offset:
            return
        segments = self._segments
        while segments and segments[0].last_offset < offset:
            self.size -= segments.pop(0).used
        self.start_offset = offset
        self.epochs.forget_before(offset)

    def drop_oldest_segment(self) -> None:
        """Lose the oldest records; all of them if there is but one segment."""
        if self._segments:
            following = (
                self._segments[1].base_offset if len(self._segments) > 1 else self.end_offset
            )
            self.delete_before(following)

    def enforce_retention(self, retention_bytes: int) -> None:
        """Drop the oldest segments while `retention_bytes` remain without them; -1: keep all."""
        if retention_bytes < 0:
            return
        while len(self._segments) > 1 and self.size - self._segments[0].used >= retention_bytes:
            oldest = self._segments[0]
            self.drop_oldest_segment()
            self._spare.give(oldest.give_up())


def _last_offset(segment: Segment) -> int:
    return segment.last_offset


def _stamp(batch: memoryview, append_time: int) -> None:
    """Say that a batch came at `append_time`, and sum it up again."""
    header = read_header(batch)
    stamped = header._replace(
        attributes=header.attributes | LOG_APPEND_TIME, max_timestamp=append_time
    )
    HEADER.pack_into(batch, 0, *stamped)
    HEADER.pack_into(batch, 0, *stamped._replace(crc=crc32c(batch[CRC_FROM:])))
