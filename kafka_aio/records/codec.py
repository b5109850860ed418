"""Chooses the codec: the compiled one, or its plain-Python twin where nothing was compiled. Pure.

`KAFKA_AIO_PURE=1` forces the twin; otherwise `KAFKA_AIO_REQUIRE_COMPILED=1` makes it an error that
the compiled one is missing.
"""

from __future__ import annotations

import copyreg
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_aio.records.compression import Codec

if TYPE_CHECKING:
    from kafka_aio.records._codec import (
        CRC32C_BY,
        BatchBuilder,
        Record,
        RecordReader,
        Rows,
        crc32c,
        inflated_size,
    )

    _reason: str | None
elif os.environ.get("KAFKA_AIO_PURE") == "1":
    from kafka_aio.records._codec_py import (
        CRC32C_BY,
        BatchBuilder,
        Record,
        RecordReader,
        Rows,
        crc32c,
        inflated_size,
    )

    _reason = "KAFKA_AIO_PURE is set"
else:
    try:
        from kafka_aio.records._codec import (
            CRC32C_BY,
            BatchBuilder,
            Record,
            RecordReader,
            Rows,
            crc32c,
            inflated_size,
        )

        _reason = None
    except ImportError as problem:
        if os.environ.get("KAFKA_AIO_REQUIRE_COMPILED") == "1":
            raise
        from kafka_aio.records._codec_py import (
            CRC32C_BY,
            BatchBuilder,
            Record,
            RecordReader,
            Rows,
            crc32c,
            inflated_size,
        )

        _reason = f"nothing was compiled at install ({problem})"


def _rebuild(*fields: Any) -> Record:
    return Record(*fields)


def _reduce(record: Record) -> tuple[object, ...]:
    """By this module's name: what was pickled by one codec can be read by the other."""
    fields: Any = record.__reduce__()[1]
    return _rebuild, fields


copyreg.pickle(Record, _reduce)  # type: ignore[arg-type]  # typed for constructors of itself only

__all__ = [
    "BatchBuilder",
    "CodecInfo",
    "Record",
    "RecordReader",
    "Rows",
    "codec_info",
    "crc32c",
    "inflated_size",
]


class CodecInfo(NamedTuple):
    """Which record codec is at work, and why."""

    compiled: bool
    reason: str
    """Why it is this one; for people."""
    crc32c: str
    """How CRC-32C is computed: `sse4.2`, `armv8`, `table` or `python`."""
    codecs: tuple[str, ...]
    """The compressions that can be read and written."""


def codec_info() -> CodecInfo:
    """Tell which record codec is at work: the compiled one is some fifty times faster."""
    return CodecInfo(
        compiled=_reason is None,
        reason=_reason or "the compiled codec was found",
        crc32c=CRC32C_BY,
        codecs=tuple(codec.name.lower() for codec in Codec if codec is not Codec.NONE),
    )
