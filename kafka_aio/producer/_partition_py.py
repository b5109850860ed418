"""Partitions of keys, and rows dealt out to partitions, in plain Python. Pure.

The referee of `_partition.pyx`, and the fallback where nothing was compiled.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Buffer

    from kafka_aio.records.columns import BinaryColumn

NO_PARTITION: Final = -(2**63)

_INT32_MAX: Final = 2**31 - 1
_SEED: Final = 0x9747B28C
_FACTOR: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


def murmur2(key: Buffer) -> int:
    """The hash of a key, as Java has it: a signed number of 32 bits."""
    data = memoryview(key).cast("B")
    whole = len(data) & ~3
    hashed = (_SEED ^ len(data)) & _MASK
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * _FACTOR & _MASK
        hashed = (hashed * _FACTOR ^ (word ^ word >> 24) * _FACTOR) & _MASK
    if whole < len(data):
        hashed = (hashed ^ int.from_bytes(data[whole:], "little")) * _FACTOR & _MASK
    hashed = (hashed ^ hashed >> 13) * _FACTOR & _MASK
    hashed ^= hashed >> 15
    return hashed - (hashed >> 31 << 32)


def partition_of_key(key: Buffer, count: int) -> int:
    """The partition that a key belongs to, of a topic with that many.

    Raises:
        ValueError: The topic has none.
    """
    return (murmur2(key) & _INT32_MAX) % _checked(count)


def _checked(count: int) -> int:
    if count < 1:
        raise ValueError(f"a topic has 1 partition or more, not {count}")
    return count


def scatter(
    length: int,
    counts: Sequence[int],
    topics: Buffer | None = None,
    partitions: Buffer | None = None,
    keys: BinaryColumn | None = None,
    first: int = 0,
) -> tuple[list[tuple[int, int, int, int]], Buffer]:
    """Deal rows out to partitions: the one that a row names, else that of its key, else any.

    Args:
        length: How many rows there are.
        counts: How many partitions each topic has.
        topics: int32, the topic of each row: an index into `counts`. Without it, all are of the
            first.
        partitions: int64, the partition that each row names, or NO_PARTITION.
        keys: The keys of the rows.
        first: What an error calls the first of the rows.

    Returns:
        (topic, partition, start, stop) of each that gets rows, in order; partition -1: they may go
        to any. And the numbers of all rows, int32, those of one partition beside each other and
        in their order: `start` and `stop` are places among these.

    Raises:
        ValueError: A row names a partition that is not there, or the columns make no sense.
    """
    if not 0 <= length <= _INT32_MAX:
        raise ValueError(f"0 to {_INT32_MAX} rows are dealt out at once, not {length}")
    if sum(_checked(count) + 1 for count in counts) > _INT32_MAX:
        raise ValueError(f"more than {_INT32_MAX} partitions")
    topic_of = _numbers(topics, "topic", "i", length)
    named = _numbers(partitions, "partition", "q", length)
    key_of = _keys(keys, length, first)
    shared: dict[tuple[int, int], list[int]] = {}
    for row in range(length):
        topic = topic_of[row] if topic_of is not None else 0
        if not 0 <= topic < len(counts):
            raise ValueError(f"row {first + row}: topic {topic} of {len(counts)}")
        partition = NO_PARTITION if named is None else named[row]
        if partition == NO_PARTITION:
            key = key_of(row)
            partition = -1 if key is None else partition_of_key(key, counts[topic])
        elif not 0 <= partition < counts[topic]:
            raise ValueError(
                f"row {first + row}: partition {partition} of a topic with"
                f" {counts[topic]} partitions"
            )
        shared.setdefault((topic, partition), []).append(row)
    shares = []
    indices = array("i")
    for (topic, partition), rows in sorted(shared.items()):
        shares.append((topic, partition, len(indices), len(indices) + len(rows)))
        indices.extend(rows)
    return shares, indices


def _numbers(column: Buffer | None, what: str, kind: str, length: int) -> memoryview[int] | None:
    if column is None:
        return None
    data = memoryview(column).cast("B")
    width = 4 if kind == "i" else 8
    if len(data) // width < length:
        raise ValueError(f"column {what} has {len(data) // width} rows of {length}")
    return data[: length * width].cast("i") if kind == "i" else data[: length * width].cast("q")


def _keys(
    column: BinaryColumn | None, length: int, first: int
) -> Callable[[int], memoryview | None]:
    """What tells the key of a row, None where it has none."""
    if column is None:
        return lambda row: None
    start, validity = column.start, column.validity
    if start < 0:
        raise ValueError(f"column key starts at {start}")
    raw = memoryview(column.offsets).cast("B")
    width = 8 if column.large else 4
    raw = raw[: len(raw) // width * width]
    offsets = raw.cast("q") if column.large else raw.cast("i")
    data = memoryview(column.data).cast("B")
    bits = None if validity is None else memoryview(validity).cast("B")
    rows = len(offsets) - 1 - start
    if bits is not None:
        rows = min(rows, len(bits) * 8 - start)
    if rows < length:
        raise ValueError(f"column key has {rows} rows of {length}")

    def key_of(row: int) -> memoryview | None:
        at = row + start
        if bits is not None and not bits[at >> 3] >> (at & 7) & 1:
            return None
        begin, end = offsets[at], offsets[at + 1]
        if begin < 0 or end < begin or end > len(data):
            raise ValueError(f"row {first + row}: its offsets lie outside of the column's data")
        return data[begin:end]

    return key_of
