"""Fetched bytes for both record codecs: what one makes of them, the other must make too."""

from __future__ import annotations

import random
import struct
import zlib
from types import ModuleType
from typing import Any

from kafka_aio.errors import CorruptRecord
from kafka_aio.records import _codec_py as twin
from kafka_aio.records import arrow
from kafka_aio.records.compression import Codec, Compression, compress
from kafka_aio.records.layout import HEADER_BYTES
from tests.fuzz.mutation import mutate
from tests.unit.records.golden import GOLDEN
from tests.unit.records.samples import (
    ABORT,
    CONTROL,
    NOW,
    TRANSACTIONAL,
    Failure,
    batch,
    compiled,
    good_batch,
    marker,
    message,
    outcome,
    plain,
    record,
)

MAX_INFLATED = 1 << 20


def _corpus() -> list[bytes]:
    pairs = [(b"h", b"1"), (b"h", None), ("\u00fc".encode(), b""), (b"\xff", b"x" * 70)]
    mixed = [
        record(0, None, b"v"),
        record(1, b"k", None, pairs, -5),
        record(4, b"", b"", [], 2**40),
        record(5, b"key", b"x" * 150, pairs[:1]),
    ]
    single = [bytes.fromhex(text) for text in GOLDEN.values()]
    for codec in Codec:
        single.append(batch(*mixed, last_delta=9, base_offset=50, codec=codec))
        single.append(good_batch(100, 40, codec=codec))
        single.append(batch(record(value=bytes(20_000)), codec=codec))
    sent = good_batch(10, 2, producer_id=7, attributes=TRANSACTIONAL)
    ended = batch(marker(ABORT), base_offset=12, producer_id=7, attributes=CONTROL | TRANSACTIONAL)
    single += [sent + ended + good_batch(13, 1, producer_id=7, attributes=TRANSACTIONAL)]
    single += [batch(last_delta=5), message(3, b"k", b"v", 0), message(4, None, None, 1)]
    return [*single, *(first + second for first, second in zip(single, single[3:], strict=False))]


def _resum(data: bytearray) -> None:
    """Give the first batch the length and the checksum that its bytes ask for."""
    if len(data) > HEADER_BYTES:
        struct.pack_into(">i", data, 8, len(data) - 12)
        if data[16] == 2:
            struct.pack_into(">I", data, 17, (compiled or twin).crc32c(data[21:]))
        else:
            struct.pack_into(">I", data, 12, zlib.crc32(data[16:]))


class Records:
    """The reader of records, in objects and in columns."""

    name = "records"

    def __init__(self) -> None:
        self._corpus = _corpus()
        self._plain = [data for data in self._corpus if data[16] == 2 and not data[22] & 7]

    def make(self, rng: random.Random) -> bytes:
        """An input: four bytes that say how it is read, and what is read."""
        if rng.random() < 0.35:  # broken inside of what is compressed
            source = rng.choice(self._plain)
            body = mutate(rng, source[HEADER_BYTES:], rng.choice(self._plain))
            codec = Codec(rng.randrange(5))
            payload = bytes(memoryview(compress(Compression(codec), bytes(body))))
            data = bytearray(source[:HEADER_BYTES]) + payload
            data[22] = data[22] & ~7 | codec
            _resum(data)
        else:
            data = mutate(rng, rng.choice(self._corpus), rng.choice(self._corpus))
            if rng.random() < 0.4:
                _resum(data)
        return rng.randbytes(4) + bytes(data)

    def run(self, given: bytes) -> None:
        """Decode it. Whatever is raised is a failure."""
        how, data = random.Random(given[:4]), given[4:]
        options: dict[str, Any] = {
            "start_offset": how.choice((-1, -1, 0, 5, 52, 1001)),
            "check_crcs": how.random() < 0.15,
            "aborted": how.choice((None, [], [(7, 0)], [(7, 60), (7, 10), (9, 11)])),
            "control_records": how.random() < 0.3,
            "max_inflated": how.choice((MAX_INFLATED, MAX_INFLATED, 1000)),
        }
        codec = compiled or twin
        _walk(codec, data, options, how)
        if compiled is not None and how.random() < 0.06:
            for columns in (False, True):
                ours = outcome(compiled, data, columns=columns, **options)
                assert ours == outcome(twin, data, columns=columns, **options), "the twin differs"


def _walk(codec: ModuleType, data: bytes, options: dict[str, Any], how: random.Random) -> None:
    whole = codec.RecordReader(data, "t", 0, **options)
    records, failure = _drain(whole, -1)
    pieces = codec.RecordReader(data, "t", 0, **options)
    rows, failure_of_pieces = 0, None
    limit = how.choice((-1, 1, 3))
    while failure_of_pieces is None and not pieces.is_done:
        before = pieces.next_offset
        try:
            columns = pieces.columns(limit, headers=True)
        except CorruptRecord as error:
            failure_of_pieces = Failure.of(error)
        else:
            rows += columns.rows
            if how.random() < 0.02:
                arrow.to_arrow(columns).validate(full=True)
            assert columns.rows or pieces.is_done or pieces.next_offset > before or limit < 0, (
                "stuck"
            )
    assert rows == len(records), "columns and records differ"
    assert failure == failure_of_pieces, "the errors of columns and records differ"
    assert whole.next_offset == pieces.next_offset, "the positions differ"
    offsets = [item.offset for item in records]
    assert offsets == sorted(set(offsets)), "an offset was handed over twice"
    assert not offsets or options["start_offset"] <= offsets[0], "an offset before the start"
    for item in records[:3]:
        hash(item)
        repr(item)


def _drain(reader: Any, limit: int) -> tuple[list[Any], Failure | None]:
    records: list[Any] = []
    while not reader.is_done:
        try:
            records += reader.read(limit)
        except CorruptRecord as error:
            str(error)
            return records, Failure.of(error)
    return records, None


__all__ = ["NOW", "Records", "plain"]
