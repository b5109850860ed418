"""Batches for both sides, good ones and bad ones."""

from __future__ import annotations

from kafka_aio.records.codec import BatchBuilder, crc32c
from kafka_aio.records.compression import Codec, Compression
from kafka_aio.records.layout import CRC_FROM, HEADER, UNSTAMPED, BatchHeader, ProducerStamp

LONG_AGO = 1_000_000
"""The timestamp of records whose age does not matter."""


def batch(
    *timestamps: int,
    key: bytes | None = None,
    value: bytes = b"value",
    codec: Codec = Codec.NONE,
    stamp: ProducerStamp = UNSTAMPED,
) -> bytes:
    """A batch with a record for each timestamp, or with one."""
    builder = BatchBuilder(2_000_000)
    for timestamp in timestamps or (LONG_AGO,):
        builder.append(key, value, timestamp)
    return bytes(builder.finish(Compression(codec), stamp))


def altered(data: bytes, **fields: int) -> bytes:
    """A batch with other values in its header; its CRC is right unless it is given too."""
    changed = bytearray(data)
    header = BatchHeader._make(HEADER.unpack_from(changed))._replace(**fields)
    HEADER.pack_into(changed, 0, *header)
    if "crc" not in fields:
        header = header._replace(crc=crc32c(memoryview(changed)[CRC_FROM:]))
        HEADER.pack_into(changed, 0, *header)
    return bytes(changed)
