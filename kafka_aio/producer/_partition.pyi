"""What both modules have: the stub of the compiled one, which its twin is held against."""

from collections.abc import Sequence
from typing import Final

from typing_extensions import Buffer

from kafka_aio.records.columns import BinaryColumn

NO_PARTITION: Final[int]
"""In a column of partitions: the row names none."""

def murmur2(key: Buffer) -> int: ...
def partition_of_key(key: Buffer, count: int) -> int: ...
def scatter(
    length: int,
    counts: Sequence[int],
    topics: Buffer | None = None,
    partitions: Buffer | None = None,
    keys: BinaryColumn | None = None,
    first: int = 0,
) -> tuple[list[tuple[int, int, int, int]], Buffer]: ...
