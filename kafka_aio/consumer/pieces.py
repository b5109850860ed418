"""A chunk of fetched bytes, in pieces of whole batches, cut by their headers alone. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from kafka_aio.consumer.buffer import Chunk
from kafka_aio.errors import CorruptRecord
from kafka_aio.records.batch import FetchedBatch, read_header, verify
from kafka_aio.records.codec import inflated_size
from kafka_aio.records.layout import HEADER_BYTES, MAGIC, BatchHeader

MOST_BYTES: Final = 512 * 1024
"""Of one piece when it is inflated, unless one batch is larger: it takes about a millisecond to
inflate and decode. A batch that is compressed and larger is inflated off the loop."""

_MAGIC_AT: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """How fetched bytes are read."""

    check_crcs: bool = True
    max_inflated: int
    read_committed: bool = False

    def aborted(self, chunk: Chunk) -> list[tuple[int, int]] | None:
        """What the reader of a chunk is told of transactions; None where it shows all of them."""
        if not self.read_committed:
            return None
        return [(each.producer_id, each.first_offset) for each in chunk.aborted or ()]


class Piece(NamedTuple):
    """Some batches of a chunk, one after the other."""

    begin_at: int
    """Where they are in the bytes of the chunk."""
    end_at: int
    end: int
    """The offset after the last of them."""
    epoch: int
    """The leader's epoch in which the last one was written."""
    is_empty: bool
    """They have no records for the user: all are for brokers alone."""


def cut(data: memoryview, at: int, *, stop: int | None = None) -> Piece | None:
    """The piece that begins there; None if no whole batch of format 2 does, or only later ones.

    Args:
        data: The bytes of the chunk.
        at: Where in them.
        stop: Batches that begin at this offset or after it are left out.

    Raises:
        CorruptRecord: The header of the first batch makes no sense.
    """
    begin_at, end, epoch, size, is_empty = at, -1, -1, 0, True
    while _has_batch(data, at):
        try:
            header = read_header(data, at)
        except CorruptRecord:
            if end < 0:
                raise
            break  # after what is good
        if header.size > len(data) - at or (stop is not None and header.base_offset >= stop):
            break
        is_first = end < 0
        size += _size_when_inflated(data, at, header)
        if not is_first and size > MOST_BYTES:
            break
        at += header.size
        end, epoch = header.last_offset + 1, header.leader_epoch
        is_empty = is_empty and header.is_control
    return None if end < 0 else Piece(begin_at, at, end, epoch, is_empty)


def _size_when_inflated(data: memoryview, at: int, header: BatchHeader) -> int:
    if not header.codec:
        return header.size
    payload = data[at + HEADER_BYTES : at + header.size]
    return HEADER_BYTES + inflated_size(header.codec, payload, MOST_BYTES)


def checked(data: memoryview, piece: Piece) -> tuple[Piece | None, CorruptRecord | None]:
    """The batches of a piece up to the first one whose checksum is wrong, and what that is."""
    try:
        verify(data[piece.begin_at : piece.end_at])
    except CorruptRecord as error:
        return _before(data, piece, error.offset), error
    return piece, None


def _before(data: memoryview, piece: Piece, offset: int) -> Piece | None:
    """The piece up to a batch, without it."""
    at, end, epoch = piece.begin_at, -1, -1
    while (header := read_header(data, at)).base_offset < offset:
        at += header.size
        end, epoch = header.last_offset + 1, header.leader_epoch
    return None if end < 0 else piece._replace(end_at=at, end=end, epoch=epoch)


def _has_batch(data: memoryview, at: int) -> bool:
    return len(data) - at >= HEADER_BYTES and data[at + _MAGIC_AT] == MAGIC


class Pieces:
    """The pieces of one chunk, one after the other.

    Attributes:
        position: Where the next piece begins: after those that were given, and what is in no piece.
        epoch: The leader's epoch of the record before it; -1 where that is not known.
    """

    def __init__(self, chunk: Chunk, decoding: Decoding, *, stop: int | None = None) -> None:
        """Begin where the chunk does, and end before the offset `stop`."""
        self.position = chunk.begin
        self.epoch = -1
        self._chunk = chunk
        self._decoding = decoding
        self._aborted = decoding.aborted(chunk)
        self._stop = stop
        self._at = 0
        self._error: CorruptRecord | None = None

    def __repr__(self) -> str:
        size = len(self._chunk.data)
        return f"<Pieces of {self._chunk.partition}: at {self._at} of {size} bytes>"

    def next(self) -> FetchedBatch | None:
        """The next one; None if there are no more, and `position` is after the chunk.

        Raises:
            CorruptRecord: What comes next is damaged; each call says so.
        """
        while self._error is None:
            piece = self._cut()
            if piece is None:
                return self._rest()
            if piece.is_empty or piece.end <= self.position:
                self._pass(piece)
                continue
            if self._decoding.check_crcs:
                good, error = checked(self._chunk.data, piece)
                self._error = None if error is None else self._located(error)
                if good is None:
                    continue
                piece = good
            return self._made(piece)
        raise self._error

    def _cut(self) -> Piece | None:
        try:
            return cut(self._chunk.data, self._at, stop=self._stop)
        except CorruptRecord as error:
            self._error = self._located(error)
            raise self._error from None

    def _made(self, piece: Piece) -> FetchedBatch:
        # Who leaves out what was aborted has to see the markers before it, too.
        begin_at = piece.begin_at if not self._aborted else 0
        begin = self.position
        self._pass(piece)
        is_last = self._stop is not None and self.position >= self._stop
        return FetchedBatch(
            self._chunk.data[begin_at : piece.end_at],
            *self._chunk.partition,
            start_offset=begin,
            stop_offset=self._stop if is_last and self._stop is not None else -1,
            next_offset=min(self.position, self._stop) if self._stop is not None else self.position,
            check_crcs=False,  # that was done
            aborted=self._aborted,
            max_inflated=self._decoding.max_inflated,
        )

    def _pass(self, piece: Piece) -> None:
        self._at = piece.end_at
        if piece.end > self.position:
            self.position, self.epoch = piece.end, piece.epoch

    def _rest(self) -> FetchedBatch | None:
        """What is no batch of format 2: nothing, one that is cut short, or messages of old ones."""
        data = self._chunk.data[self._at :]
        if len(data) <= _MAGIC_AT:
            return None
        if data[_MAGIC_AT] > MAGIC:
            self._error = self._located(CorruptRecord(f"unknown record format {data[_MAGIC_AT]}"))
            raise self._error
        if data[_MAGIC_AT] == MAGIC:
            if self._stop is not None and _has_batch(data, 0):
                after = read_header(data).base_offset
                if after >= self._stop:  # there is nothing left before that
                    self.position = max(self.position, self._stop)
            return None
        batch = FetchedBatch(
            data,
            *self._chunk.partition,
            start_offset=self.position,
            stop_offset=-1 if self._stop is None else self._stop,
            check_crcs=self._decoding.check_crcs,
            max_inflated=self._decoding.max_inflated,
        )
        walk = batch.reader()
        count = len(walk.read())
        self._at = len(self._chunk.data)
        self.position = batch.next_offset = walk.next_offset
        return batch if count else None

    def _located(self, error: CorruptRecord) -> CorruptRecord:
        topic, number = self._chunk.partition
        offset = max(error.offset, self.position)
        return CorruptRecord(
            error.reason,
            topic=topic,
            partition=number,
            offset=offset,
            next_offset=error.next_offset,
        )
