"""Records that a test writes itself: from plain values to batches. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from kafka_aio.protocol.schema import Buffer
from kafka_aio.records.codec import BatchBuilder, Record

Text: TypeAlias = bytes | str | None
Value: TypeAlias = Text | tuple[Text, Text] | Record
"""A record to write: its value, its key and value, or all of it. A str is written as UTF-8."""

BATCH_BYTES: Final = 256 * 1024


def batches(values: Iterable[Value], *, timestamp: int) -> Iterator[tuple[Buffer, list[int]]]:
    """Batches of records, each with the timestamps of its records.

    Args:
        values: The records.
        timestamp: Milliseconds, for those that do not bring their own.

    Raises:
        TypeError: One is nothing that can be written.
    """
    builder, timestamps = BatchBuilder(BATCH_BYTES), list[int]()
    for value in values:
        record = value if isinstance(value, Record) else _record(value, timestamp)
        fields = (record.key, record.value, record.timestamp, record.headers)
        if not builder.append(*fields):
            yield builder.finish(), timestamps
            builder, timestamps = BatchBuilder(BATCH_BYTES), []
            builder.append(*fields)
        timestamps.append(record.timestamp)
    if timestamps:
        yield builder.finish(), timestamps


def _record(value: Text | tuple[Text, Text], timestamp: int) -> Record:
    key, payload = value if isinstance(value, tuple) and len(value) == 2 else (None, value)
    return Record("", 0, 0, timestamp, _bytes(key), _bytes(payload))


def _bytes(text: object) -> bytes | None:
    if isinstance(text, str):
        return text.encode()
    if text is None or isinstance(text, bytes):
        return text
    raise TypeError(
        f"a record is a value, (key, value) or a Record, of bytes, str or None; not {text!r}"
    )
