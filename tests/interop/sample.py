"""The records that the interop tests write, and the compressions they are written with."""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from typing import NamedTuple

from kafka_aio.records.codec import BatchBuilder, Record
from kafka_aio.records.compression import Codec, Compression
from kafka_aio.records.layout import UNSTAMPED, Header, ProducerStamp

NOW = 1_700_000_000_000


class Written(NamedTuple):
    """What a producer says of a record."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: tuple[Header, ...] = ()

    @classmethod
    def of(cls, record: Record) -> Written:
        return cls(record.key, record.value, record.timestamp, record.headers)


# All that a record may be, in a line of text each; times go back and forth.
SMALL = [
    Written(b"key", b"value", NOW),
    Written(None, b"no key", NOW + 5),
    Written(b"no value", None, NOW + 3),
    Written(None, None, NOW),
    Written(b"", b"", NOW - 10_000),
    Written(b"one header", b"v", NOW, (("trace", b"1"),)),
    Written(b"headers", b"v", NOW, (("same", b"1"), ("same", b"2"), ("same", None), ("e", b""))),
    Written("clé".encode(), "naïve ✓ \U0001f600".encode(), NOW, (("größe-✓-\U0001f600", b"x"),)),
    Written(b"later", b"v" * 300, NOW + 86_400_000 * 365),
    Written(b"first of all", b"v", 0),
]
BINARY = [
    Written(bytes(range(256)), bytes(range(255, -1, -1)), NOW, (("bytes", bytes(range(256))),)),
    Written(b"\xff\xfe", b"\x00", NOW + 1),
]


def _large() -> list[Written]:
    """Some 300 kB: what shrinks to nothing, and what does not shrink at all."""
    chance = random.Random(3)
    letters = string.ascii_letters + string.digits + "!#%&()*+-./:;<=>?@[]^_{}~"
    same = [Written(b"%d" % number, b"again " * 150, NOW + number) for number in range(150)]
    noise = [
        Written(None, "".join(chance.choices(letters, k=1_000)).encode(), NOW + number)
        for number in range(150)
    ]
    return same + noise


LARGE = _large()
ALL = SMALL + BINARY + LARGE

# Each is a partition of a topic: its index in this order.
COMPRESSIONS = {
    "none": Compression.checked("none"),
    "gzip": Compression.checked("gzip"),
    "gzip-1": Compression.checked("gzip", 1),
    "gzip-9": Compression.checked("gzip", 9),
    "snappy": Compression.checked("snappy"),
    "lz4": Compression.checked("lz4"),
    "lz4-1": Compression.checked("lz4", 1),
    "lz4-9": Compression.checked("lz4", 9),
    "lz4-12": Compression.checked("lz4", 12),
    "lz4-17": Compression.checked("lz4", 17),
    "zstd": Compression.checked("zstd"),
    "zstd--5": Compression.checked("zstd", -5),
    "zstd-1": Compression.checked("zstd", 1),
    "zstd-22": Compression.checked("zstd", 22),
}
NAMES = list(COMPRESSIONS)
CODECS = [codec.name.lower() for codec in Codec]


def batch_of(
    records: Sequence[Written],
    compression: Compression = COMPRESSIONS["none"],
    stamp: ProducerStamp = UNSTAMPED,
    *,
    base_offset: int = 0,
) -> memoryview:
    """All the records in one batch of ours."""
    builder = BatchBuilder(10_000_000)
    for key, value, timestamp, headers in records:
        assert builder.append(key, value, timestamp, headers)
    return builder.finish(compression, stamp, base_offset=base_offset)
