"""What Kafka leaves to Java's library and others can see: hashes of texts, random ids. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafka_aio.broker.nodes import Rng

_INT: Final = 2**32


def java_hash(text: str) -> int:
    """`String.hashCode`, as an unsigned number of 32 bits."""
    found = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        found = (31 * found + (high << 8 | low)) % _INT
    return found


def partition_of(key: str, partitions: int) -> int:
    """The partition of an internal topic that a group or a transactional id belongs to."""
    found = java_hash(key)
    # Java's number is signed. It loses its sign, and the one that has no positive twin becomes 0.
    positive = found if found < _INT // 2 else _INT - found
    return positive % (_INT // 2) % partitions


def order_in_hash_map(text: str) -> int:
    """Where a small `HashMap` has a text: ties between protocols go to the first one in it."""
    found = java_hash(text)
    return (found ^ found >> 16) & 15


def random_uuid(rng: Rng) -> str:
    """`UUID.randomUUID().toString()`."""
    made = bytearray(rng.randbytes(16))
    made[6] = made[6] & 0x0F | 0x40  # version 4 of RFC 9562
    made[8] = made[8] & 0x3F | 0x80
    digits = made.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
