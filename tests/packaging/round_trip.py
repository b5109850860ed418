"""Writes and reads a batch with every codec, and prints their names: run by test_wheel.py."""

from kafka_aio.records.codec import BatchBuilder, RecordReader
from kafka_aio.records.compression import Codec, Compression

VALUES = [b"a value, and again: a value " * 20, b"", None]

for codec in Codec:
    builder = BatchBuilder(limit=64 * 1024)
    for value in VALUES:
        assert builder.append(b"key", value, 1_700_000_000_000)
    batch = builder.finish(Compression(codec))
    records = RecordReader(batch, "orders", 3).read()
    assert [record.value for record in records] == VALUES, codec
    assert {record.key for record in records} == {b"key"}, codec
    print(codec.name.lower())
