"""Whole batches: headers read, checked and patched, batches split, fetched bytes at hand. Pure."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from kafka_aio.errors import CorruptRecord
from kafka_aio.records import layout
from kafka_aio.records.codec import BatchBuilder, Record, RecordReader, crc32c
from kafka_aio.records.compression import Codec, Compression
from kafka_aio.records.layout import BatchHeader, ProducerStamp, advance_sequence

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow
    from typing_extensions import Buffer

__all__ = ["FetchedBatch", "read_header", "restamp", "split", "verify"]


def read_header(data: Buffer, at: int = 0) -> BatchHeader:
    """The header of the batch that starts there; the records are not looked at.

    Raises:
        CorruptRecord: There is no whole header of format 2, or its numbers make no sense.
    """
    view = memoryview(data).cast("B")
    if len(view) - at < layout.HEADER_BYTES:
        raise CorruptRecord(f"{len(view) - at} bytes are no batch header")
    header = BatchHeader._make(layout.HEADER.unpack_from(view, at))
    if header.magic != layout.MAGIC:
        raise CorruptRecord(f"record format {header.magic} instead of {layout.MAGIC}")
    if header.length < layout.HEADER_BYTES - layout.LENGTH_FROM:
        raise CorruptRecord(f"batch length {header.length}")
    if header.record_count < 0 or header.last_offset_delta < 0:
        raise CorruptRecord(
            f"record count {header.record_count}, last offset delta {header.last_offset_delta}"
        )
    if header.codec > Codec.ZSTD:
        raise CorruptRecord(f"unknown codec {header.codec}")
    return header


def verify(data: Buffer) -> list[BatchHeader]:
    """Check one batch after the other: header, length and CRC. No record is decoded.

    Returns:
        The header of each.

    Raises:
        CorruptRecord: A batch is damaged or cut short.
    """
    view = memoryview(data).cast("B")
    headers: list[BatchHeader] = []
    at = 0
    while at < len(view):
        header = read_header(view, at)
        if header.size > len(view) - at:
            raise CorruptRecord(f"a batch of {header.size} bytes in {len(view) - at}")
        if crc32c(view[at + layout.CRC_FROM : at + header.size]) != header.crc:
            raise CorruptRecord(
                "the checksum (CRC-32C) does not match",
                offset=header.base_offset,
                next_offset=header.last_offset + 1,
            )
        headers.append(header)
        at += header.size
    return headers


def restamp(batch: memoryview, stamp: ProducerStamp) -> None:
    """Put another producer's marks into a finished batch, in place, and sum it up again.

    The records stay as they are: this is for a batch sent again under a new epoch (KIP-360).
    """
    header = read_header(batch)
    if header.size != len(batch):
        raise CorruptRecord(f"a batch of {header.size} bytes in {len(batch)}")
    attributes = header.attributes & ~layout.TRANSACTIONAL
    if stamp.transactional:
        attributes |= layout.TRANSACTIONAL
    changed = header._replace(
        attributes=attributes,
        producer_id=stamp.producer_id,
        producer_epoch=stamp.producer_epoch,
        base_sequence=stamp.base_sequence,
    )
    layout.HEADER.pack_into(batch, 0, *changed)
    crc = crc32c(batch[layout.CRC_FROM : header.size])
    layout.HEADER.pack_into(batch, 0, *changed._replace(crc=crc))


def split(batch: Buffer, limit: int, compression: Compression) -> list[memoryview]:
    """The records of a batch that a client wrote, in smaller ones of `limit` bytes uncompressed.

    Order, keys, headers and timestamps are kept, and so are the producer's marks: each part starts
    at the sequence of its first record. A record longer than the limit is a batch by itself.

    Raises:
        CorruptRecord: The batch is damaged.
    """
    header = read_header(batch)
    parts: list[memoryview] = []
    stamp = header.stamp
    reader = RecordReader(batch, control_records=True)
    records = reader.read()
    if not reader.is_done:
        reader.read()  # stopped before the end: raises what it stopped at
    at = 0
    while at < len(records):
        builder = _fill(records, at, limit)
        part = builder.finish(
            compression, stamp, leader_epoch=header.leader_epoch, control=header.is_control
        )
        parts.append(part)
        if stamp.base_sequence >= 0:
            sequence = advance_sequence(stamp.base_sequence, builder.count)
            stamp = stamp._replace(base_sequence=sequence)
        at += builder.count
    return parts


def _fill(records: Sequence[Record], start: int, limit: int) -> BatchBuilder:
    builder = BatchBuilder(limit)
    for index in range(start, len(records)):
        record = records[index]
        if not builder.append(record.key, record.value, record.timestamp, record.headers):
            break
    return builder


class FetchedBatch:
    """What one fetch brought for one partition; decoded when it is asked for, each time anew.

    Attributes:
        topic: The topic it was read from.
        partition: The partition.
        start_offset: Records before this offset are left out.
        stop_offset: So are those from this one on, where it is not -1.
        next_offset: Where the next batch begins, where that is known; else -1. Records may be
            missing before it: such as were aborted, compacted, or are for brokers alone.
    """

    __slots__ = (
        "_aborted",
        "_check_crcs",
        "_data",
        "_max_inflated",
        "_opened",
        "next_offset",
        "partition",
        "start_offset",
        "stop_offset",
        "topic",
    )

    def __init__(  # noqa: PLR0913 - keyword-only, each with its default
        self,
        data: Buffer,
        topic: str,
        partition: int,
        *,
        start_offset: int = -1,
        stop_offset: int = -1,
        next_offset: int = -1,
        check_crcs: bool = True,
        aborted: Sequence[tuple[int, int]] | None = None,
        max_inflated: int = layout.MAX_INFLATED,
    ) -> None:
        self._data = data
        self.topic = topic
        self.partition = partition
        self.start_offset = start_offset
        self.stop_offset = stop_offset
        self.next_offset = next_offset
        self._check_crcs = check_crcs
        self._aborted = aborted
        self._max_inflated = max_inflated
        self._opened: RecordReader | None = None

    def __repr__(self) -> str:
        size = memoryview(self._data).nbytes
        return (
            f"<FetchedBatch {self.topic}-{self.partition} from {self.start_offset}, {size} bytes>"
        )

    def opened(self) -> RecordReader:
        """A walk that is kept for who reads first: `open_batch` may be called in a thread."""
        if self._opened is None:
            self._opened = self.reader()
        return self._opened

    def _first_or_new(self) -> RecordReader:
        opened, self._opened = self._opened, None
        return opened or self.reader()

    def reader(self) -> RecordReader:
        """A walk over the records, from the start; `stop_offset` is not its matter."""
        return RecordReader(
            self._data,
            self.topic,
            self.partition,
            start_offset=self.start_offset,
            check_crcs=self._check_crcs,
            aborted=self._aborted,
            max_inflated=self._max_inflated,
        )

    @property
    def records(self) -> list[Record]:
        """All records.

        Raises:
            CorruptRecord: A batch is damaged; `reader()` gives what is before it.
        """
        reader = self._first_or_new()
        records = reader.read()
        if not reader.is_done:
            reader.read()  # stopped before the end: raises what it stopped at
        if self.stop_offset >= 0:
            del records[bisect_left(records, self.stop_offset, key=lambda each: each.offset) :]
        return records

    def to_arrow(self, *, headers: bool = False) -> pyarrow.RecordBatch:
        """All records as one Arrow record batch, in the schema that Spark's Kafka source has.

        Raises:
            CorruptRecord: A batch is damaged; `reader()` gives what is before it.
            ValueError: There are more bytes than one column can hold, 2 GiB.
            ImportError: pyarrow is missing; `pip install kafka-aio[arrow]`.
        """
        try:
            from kafka_aio.records import arrow
        except ImportError as missing:
            raise ImportError(f"{missing}: pip install 'kafka-aio[arrow]'") from missing
        reader = self._first_or_new()
        columns = reader.columns(headers=headers)
        if not reader.is_done and reader.columns(1).rows:  # raises what it stopped at, or goes on
            raise ValueError("more than Arrow columns can hold; read in pieces with `reader()`")
        rows = arrow.to_arrow(columns)
        if self.stop_offset < 0:
            return rows
        offsets = rows.column("offset")
        every = range(len(rows))
        return rows.slice(
            0, bisect_left(every, self.stop_offset, key=lambda row: offsets[row].as_py())
        )
