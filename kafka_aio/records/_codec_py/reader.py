"""Reading fetched bytes: `RecordReader`, into records or columns. Pure."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, final

from kafka_aio.errors import CorruptRecord
from kafka_aio.records import layout, text
from kafka_aio.records._codec_py.filling import ColumnsOut
from kafka_aio.records._codec_py.record import (
    BAD_OFFSET,
    Damage,
    Parsed,
    Record,
    crc32c,
    parse_record,
)
from kafka_aio.records._codec_py.sizes import inflated_size
from kafka_aio.records.compression import Codec, decompress
from kafka_aio.records.layout import BatchHeader
from kafka_aio.records.legacy import Message, read_message
from kafka_aio.types import TimestampType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

    from kafka_aio.records.columns import Columns

_INT64_MAX: Final = 2**63 - 1
_PREFIX: Final = struct.Struct(">qi")
_MARKER_TYPE: Final = struct.Struct(">hH")
_ABORT: Final = 0
_OLD_ATTRIBUTES_AT: Final = 17
"""Of a message of format 0 or 1, from the start of its entry."""


class _OpenBatch:
    """The batch at hand: how far it was read, and what its records have in common."""

    def __init__(self, header: BatchHeader, records: memoryview) -> None:
        self.header = header
        self.records = records
        self.at = 0
        self.left = header.record_count
        self.last_delta = -1
        self.next_offset = header.last_offset + 1
        self.leader_epoch = header.leader_epoch
        self.by_broker = header.is_log_append_time
        self.parsed: Parsed | None = None

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType.LOG_APPEND_TIME if self.by_broker else TimestampType.CREATE_TIME

    def time(self, parsed: Parsed) -> int:
        if self.by_broker:
            return self.header.max_timestamp
        return _wrap64(self.header.base_timestamp + parsed.timestamp_delta)


class _OpenMessages:
    """The messages of a format 0 or 1 entry that were not handed over yet."""

    def __init__(self, messages: list[Message], next_offset: int) -> None:
        self.messages = messages
        self.next_offset = next_offset


@final
class RecordReader:
    """Walks the batches of one partition's fetched bytes and decodes their records, as asked.

    It stops before what is damaged: records before it are handed over first, then every call raises
    the same `CorruptRecord`, and `next_offset` stays. A batch cut off at the end of the bytes is
    legal and left for the next fetch.
    """

    def __init__(  # noqa: PLR0913 - keyword-only, each with its default
        self,
        data: Buffer,
        topic: str = "",
        partition: int = -1,
        *,
        start_offset: int = -1,
        check_crcs: bool = True,
        aborted: Sequence[tuple[int, int]] | None = None,
        control_records: bool = False,
        max_inflated: int = layout.MAX_INFLATED,
    ) -> None:
        self._topic = topic
        self._partition = partition
        self._next_offset = start_offset
        self._data = memoryview(data).cast("B")
        self._at = 0
        self._is_incomplete = False
        self._check_crcs = check_crcs
        self._control_records = control_records
        self._max_inflated = max_inflated
        self._inflated_bytes = 0
        self._read_committed = aborted is not None
        self._aborted = sorted(((first, who) for who, first in aborted or ()), reverse=True)
        self._aborting: set[int] = set()
        self._open: _OpenBatch | _OpenMessages | None = None

    def __repr__(self) -> str:
        return text.describe_reader(self, self._at, len(self._data))

    @property
    def topic(self) -> str:
        return self._topic

    @property
    def partition(self) -> int:
        return self._partition

    @property
    def next_offset(self) -> int:
        return self._next_offset

    @property
    def is_incomplete(self) -> bool:
        return self._is_incomplete

    @property
    def is_done(self) -> bool:
        """Whether all that can be read of these bytes was handed over."""
        return self._open is None and (self._at >= len(self._data) or self._is_incomplete)

    def to_inflate(self, enough: int) -> int:
        """About how many bytes the next batch with records inflates to, by its headers alone.

        Beyond `enough` nothing is counted: where it is more, call `open_batch` in a thread, and
        then read. A compressed message of an old format is always more.
        """
        return self._to_inflate(self._first_wanted(), enough) if self._open is None else 0

    def open_batch(self) -> bool:
        """Check and inflate the next batch that has records to hand over. False at the end."""
        while self._open is None:
            if not self._open_next():
                return False
        return True

    def read(
        self, max_records: int = -1, *, max_bytes: int = -1, max_inflate: int = -1
    ) -> list[Record]:
        """The next records, at most that many where it is not negative; none at the end.

        Where they are not negative, it also ends after `max_bytes` of records, those before the
        start among them, and before a batch that makes one call inflate more than `max_inflate`.
        So it may have none before the end: go on, or see `to_inflate`.

        Raises:
            CorruptRecord: The next batch or record is damaged.
        """
        records: list[Record] = []
        room = max_records if max_records >= 0 else _INT64_MAX
        bytes_left = max_bytes if max_bytes >= 0 else _INT64_MAX
        inflate_until = self._inflated_bytes + max_inflate if max_inflate >= 0 else _INT64_MAX
        try:
            while len(records) < room and bytes_left > 0:
                if self._open is None:
                    left = inflate_until - self._inflated_bytes
                    if max_inflate >= 0 and self._to_inflate(self._at, max_inflate) > left:
                        break
                    begin_at = self._at
                    if not self._open_next():
                        break
                    if isinstance(self._open, _OpenMessages):
                        bytes_left -= self._at - begin_at
                    continue
                batch = self._open
                begin = batch.at if isinstance(batch, _OpenBatch) else 0
                record = self._next_record()
                if record is not None:
                    records.append(record)
                    self._next_offset = record.offset + 1
                self._move()
                if isinstance(batch, _OpenBatch):
                    bytes_left -= batch.at - begin
        except CorruptRecord:
            if not records:
                raise
        return records

    def columns(
        self, max_rows: int = -1, *, headers: bool = False, max_bytes: int = 2147483647
    ) -> Columns:
        """The next records as columns, at most that many where it is not negative.

        No column has more than `max_bytes`, unless one row alone has.

        Raises:
            CorruptRecord: The next batch or record is damaged.
        """
        if not 0 < max_bytes <= 2147483647:
            raise ValueError(f"max_bytes is 1 to 2147483647, not {max_bytes}")
        out = ColumnsOut(headers, max_bytes)
        room = max_rows if max_rows >= 0 else _INT64_MAX
        if self._topic:
            room = min(room, max(1, max_bytes // len(self._topic.encode())))
        try:
            while out.rows < room and self.open_batch():
                record = self._next_record()
                if record is not None:
                    if not out.has_room(record, self._header_bytes()):
                        break
                    out.put(record)
                    self._next_offset = record.offset + 1
                self._move()
        except CorruptRecord:
            if not out.rows:
                raise
        return out.columns(self._topic, self._partition)

    # -- batches

    def _corrupt(self, reason: str, base_offset: int, next_offset: int = -1) -> CorruptRecord:
        return CorruptRecord(
            reason,
            topic=self._topic,
            partition=self._partition,
            offset=max(self._next_offset, base_offset),
            next_offset=next_offset,
        )

    def _first_wanted(self) -> int:
        """Where the first batch is that is not passed over by its header alone."""
        at = self._at
        while len(self._data) - at >= layout.HEADER_BYTES:
            header = BatchHeader._make(layout.HEADER.unpack_from(self._data, at))
            is_whole = layout.HEADER_BYTES <= header.size <= len(self._data) - at
            if header.magic != layout.MAGIC or not is_whole or header.last_offset_delta < 0:
                break
            if header.is_control:
                if header.codec or self._control_records:
                    break
            elif header.last_offset >= self._next_offset:
                break
            at += header.size
        return at

    def _to_inflate(self, at: int, enough: int) -> int:
        rest = self._data[at:]
        if len(rest) <= _OLD_ATTRIBUTES_AT:
            return 0
        if rest[16] < layout.MAGIC:
            return _INT64_MAX if rest[_OLD_ATTRIBUTES_AT] & layout.CODEC_MASK else 0
        if len(rest) < layout.HEADER_BYTES:
            return 0
        header = BatchHeader._make(layout.HEADER.unpack_from(rest))
        if not header.codec or header.size <= layout.HEADER_BYTES:
            return 0
        return inflated_size(header.codec, rest[layout.HEADER_BYTES : header.size], enough)

    def _open_next(self) -> bool:
        """Go to the next batch; open it unless it is to be skipped. False at the end."""
        rest = self._data[self._at :]
        if self._is_incomplete or len(rest) < layout.LENGTH_FROM:
            self._is_incomplete = len(rest) > 0
            return False
        base_offset, length = _PREFIX.unpack_from(rest)
        if length < layout.LEGACY_BYTES:
            raise self._corrupt(f"batch length {length}", base_offset)
        if len(rest) < layout.CRC_FROM - 4:
            self._is_incomplete = True
            return False
        magic = rest[16]
        if magic > layout.MAGIC:
            raise self._corrupt(f"unknown record format {(magic ^ 0x80) - 0x80}", base_offset)
        if length > len(rest) - layout.LENGTH_FROM:
            self._is_incomplete = True
            return False
        if base_offset < 0:
            raise self._corrupt(f"base offset {base_offset}", base_offset)
        batch = rest[: layout.LENGTH_FROM + length]
        if magic < layout.MAGIC:
            self._open_message(batch, base_offset)
        else:
            self._open_batch(batch, base_offset, length)
        return True

    def _open_message(self, entry: memoryview, offset: int) -> None:
        if offset < self._next_offset:  # the offset of a wrapper is that of its last message
            self._at += len(entry)
            return
        if offset == _INT64_MAX:
            raise self._corrupt(f"base offset {offset}", offset)
        try:
            messages = read_message(entry, self._check_crcs, self._max_inflated)
        except CorruptRecord as problem:
            raise self._corrupt(problem.reason, offset, offset + 1) from None
        self._at += len(entry)
        wanted = [message for message in messages if message.offset >= self._next_offset]
        self._open = _OpenMessages(wanted[::-1], offset + 1)
        if not wanted:
            self._close_batch()

    def _open_batch(self, batch: memoryview, base_offset: int, length: int) -> None:
        if length < layout.HEADER_BYTES - layout.LENGTH_FROM:
            raise self._corrupt(f"batch length {length}", base_offset)
        header = BatchHeader._make(layout.HEADER.unpack_from(batch))
        if header.last_offset_delta < 0 or header.last_offset >= _INT64_MAX:
            raise self._corrupt(f"last offset delta {header.last_offset_delta}", base_offset)
        after = header.last_offset + 1
        # A marker before the first offset asked for still ends the transaction of its producer.
        if after <= self._next_offset and not (self._read_committed and header.is_control):
            self._at += header.size
            return
        self._check(header, batch)
        if self._is_skipped(header):
            self._skip(header)
            return
        opened = _OpenBatch(header, self._inflate(header, batch[layout.HEADER_BYTES :]))
        if header.record_count > len(opened.records) // layout.LEAST_RECORD_BYTES:
            reason = f"record count {header.record_count} in {len(opened.records)} bytes"
            raise self._corrupt(reason, base_offset, after)
        if header.is_control:
            self._end_transaction(opened)
        if header.is_control and not self._control_records:
            self._skip(header)
            return
        self._at += header.size
        self._open = opened
        if header.record_count == 0:
            self._check_end(opened)
            self._close_batch()

    def _skip(self, header: BatchHeader) -> None:
        self._at += header.size
        self._next_offset = max(self._next_offset, header.last_offset + 1)

    def _check(self, header: BatchHeader, batch: memoryview) -> None:
        after = header.last_offset + 1
        if self._check_crcs and crc32c(batch[layout.CRC_FROM :]) != header.crc:
            reason = "the checksum (CRC-32C) does not match"
            raise self._corrupt(reason, header.base_offset, after)
        if header.record_count < 0:
            raise self._corrupt(f"record count {header.record_count}", header.base_offset, after)

    def _inflate(self, header: BatchHeader, records: memoryview) -> memoryview:
        if header.codec == Codec.NONE:
            return records
        after = header.last_offset + 1
        if header.codec > Codec.ZSTD:
            raise self._corrupt(f"unknown codec {header.codec}", header.base_offset, after)
        try:
            inflated = memoryview(decompress(Codec(header.codec), records, self._max_inflated))
        except CorruptRecord as problem:
            raise self._corrupt(problem.reason, header.base_offset, after) from None
        self._inflated_bytes += inflated.nbytes
        return inflated.cast("B")

    def _close_batch(self) -> None:
        assert self._open is not None
        self._next_offset = max(self._next_offset, self._open.next_offset)
        self._open = None

    # -- transactions that were aborted

    def _is_skipped(self, header: BatchHeader) -> bool:
        in_aborted = False
        if self._read_committed and header.producer_id >= 0:
            while self._aborted and self._aborted[-1][0] <= header.last_offset:
                self._aborting.add(self._aborted.pop()[1])
            in_aborted = header.producer_id in self._aborting
        if header.is_control:
            return not in_aborted and not self._control_records
        return in_aborted and header.is_transactional

    def _end_transaction(self, batch: _OpenBatch) -> None:
        """An abort marker ends the aborted transaction of its producer."""
        if not batch.left or not self._read_committed:
            return
        header = batch.header
        try:
            marker = parse_record(batch.records, 0)
        except Damage as damage:
            raise self._corrupt(damage.reason, header.base_offset, batch.next_offset) from None
        if marker.key is None or len(marker.key) < _MARKER_TYPE.size:
            reason = "a control record without a type"
            raise self._corrupt(reason, header.base_offset, batch.next_offset)
        if _MARKER_TYPE.unpack_from(marker.key)[1] == _ABORT:
            self._aborting.discard(header.producer_id)

    # -- records of the open batch

    def _check_end(self, batch: _OpenBatch) -> None:
        if batch.at != len(batch.records):
            reason = "bytes after the last record of the batch"
            raise self._corrupt(reason, batch.header.base_offset, batch.next_offset)

    def _next_record(self) -> Record | None:
        """The record at hand, without moving on. None where it is before what was asked for."""
        batch = self._open
        if isinstance(batch, _OpenMessages):
            message = batch.messages[-1]
            return Record(
                self._topic,
                self._partition,
                message.offset,
                message.timestamp,
                message.key,
                message.value,
                (),
                message.timestamp_type,
            )
        assert batch is not None
        parsed = self._parse(batch)
        offset = batch.header.base_offset + parsed.offset_delta
        if offset < self._next_offset:
            return None
        return Record(
            self._topic,
            self._partition,
            offset,
            batch.time(parsed),
            parsed.key,
            parsed.value,
            parsed.headers,
            batch.timestamp_type,
            batch.leader_epoch,
        )

    def _parse(self, batch: _OpenBatch) -> Parsed:
        if batch.left == 0:  # all were handed over, and then more bytes were found
            self._check_end(batch)
        try:
            parsed = parse_record(batch.records, batch.at)
            if not batch.last_delta < parsed.offset_delta <= batch.header.last_offset_delta:
                raise Damage(BAD_OFFSET)
        except Damage as damage:
            at = batch.header.base_offset + batch.last_delta + 1
            raise self._corrupt(damage.reason, at, batch.next_offset) from None
        batch.parsed = parsed
        return parsed

    def _header_bytes(self) -> int:
        """What the headers of the record at hand take in its batch."""
        parsed = self._open.parsed if isinstance(self._open, _OpenBatch) else None
        return parsed.header_bytes if parsed else 0

    def _move(self) -> None:
        batch = self._open
        if isinstance(batch, _OpenMessages):
            batch.messages.pop()
            if not batch.messages:
                self._close_batch()
            return
        assert batch is not None
        assert batch.parsed is not None
        batch.at = batch.parsed.end
        batch.last_delta = batch.parsed.offset_delta
        batch.left -= 1
        if batch.left == 0:
            self._check_end(batch)
            self._close_batch()


def _wrap64(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63
