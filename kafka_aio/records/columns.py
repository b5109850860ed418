"""Records as columns: plain buffers in Arrow's layout, without Arrow. Pure.

The codec fills and reads these; `arrow` turns them into pyarrow's types. A validity buffer has a
bit per row, the least significant first, 1 where there is a value; None: nothing is null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing_extensions import Buffer


class BinaryColumn(NamedTuple):
    """Byte strings: `data[offsets[row]:offsets[row + 1]]`."""

    offsets: Buffer
    """int32, or int64 where `large`; one more than rows."""
    data: Buffer
    validity: Buffer | None = None
    start: int = 0
    """The first row, where the column is a slice of a longer one."""
    large: bool = False


class HeadersColumn(NamedTuple):
    """A list of headers per row: `keys` and `values` from `offsets[row]` to `offsets[row + 1]`."""

    offsets: Buffer
    """int32; one more than rows."""
    keys: BinaryColumn
    values: BinaryColumn
    validity: Buffer | None = None
    start: int = 0


class TimestampColumn(NamedTuple):
    """Milliseconds since the epoch, int64; a null takes the time of the call."""

    data: Buffer
    validity: Buffer | None = None
    start: int = 0


class Columns(NamedTuple):
    """Decoded records of one partition."""

    rows: int
    key: BinaryColumn
    value: BinaryColumn
    topic: BinaryColumn
    partition: Buffer
    """int32"""
    offset: Buffer
    """int64"""
    timestamp: Buffer
    """int64, microseconds since the epoch"""
    timestamp_type: Buffer
    """int32: 0 is the producer's time, 1 the broker's, -1 none (format 0)"""
    headers: HeadersColumn | None
    """None where they were not asked for."""
