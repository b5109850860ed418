"""The record codec in plain Python: the referee of the compiled one, and the fallback. Pure.

It makes the same checks in the same order as `_codec.pyx`, so that both give the same records, the
same bytes and the same errors. Where the two differ, one of them is wrong.
"""

from kafka_aio.records._codec_py.builder import BatchBuilder, Rows
from kafka_aio.records._codec_py.reader import RecordReader
from kafka_aio.records._codec_py.record import CRC32C_BY, Record, crc32c
from kafka_aio.records._codec_py.sizes import inflated_size

__all__ = [
    "CRC32C_BY",
    "BatchBuilder",
    "Record",
    "RecordReader",
    "Rows",
    "crc32c",
    "inflated_size",
]
