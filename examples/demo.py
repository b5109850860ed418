"""`make demo`: the record codec at work. It grows with the client; plain lines, ends by itself."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial

import kafka_aio
from kafka_aio.records import arrow
from kafka_aio.records.batch import FetchedBatch, read_header
from kafka_aio.records.codec import BatchBuilder, RecordReader
from kafka_aio.records.compression import Codec, Compression

NOW = 1_700_000_000_000
COUNT = 20_000 if kafka_aio.codec_info().compiled else 2_000


def main() -> None:
    info = kafka_aio.codec_info()
    print(f"kafka_aio: {'compiled' if info.compiled else 'plain-Python'} codec ({info.reason}),")
    print(f"CRC-32C by {info.crc32c}, reads and writes {', '.join(info.codecs)}.\n")
    wire = encode()
    decode(wire)
    speeds()


def encode() -> memoryview:
    builder = BatchBuilder(limit=16 * 1024)
    builder.append(b"alice", b'{"order": 1, "amount": 9.99}', NOW, [("trace", b"7f3a")])
    builder.append(b"bob", b'{"order": 2, "amount": 120.0}', NOW + 5)
    builder.append(b"bob", None, NOW + 9)  # a tombstone: bob's order is withdrawn
    wire = builder.finish(Compression.checked("zstd"))
    header = read_header(wire)
    print(f"Three records, {builder.size} bytes, are a zstd batch of {len(wire)} for the wire:")
    print(f"    {bytes(wire[:24]).hex(' ', 4)} ... CRC-32C {header.crc:08x}\n")
    return wire


def decode(wire: memoryview) -> None:
    batch = FetchedBatch(wire, "orders", 0)
    print("Read back as records:")
    for record in batch.records:
        headers = f"  {dict(record.headers)}" if record.headers else ""
        print(f"    offset {record.offset}  {record.key!r}  {record.value!r}{headers}")
    print("and as Arrow columns, in the schema that Spark's Kafka source has:")
    table = batch.to_arrow()
    for field in table.schema:
        values = ", ".join(str(value) for value in table.column(field.name).to_pylist())
        print(f"    {field.name:14}{field.type!s:22}{values[:60]}")
    print()


def speeds() -> None:
    values = [json_like(number) for number in range(COUNT)]
    size = sum(map(len, values))
    print(f"{COUNT:,} records of {size // COUNT} bytes in one batch; million records a second:")
    print(f"    {'codec':8}{'bytes':>12}{'write':>8}{'objects':>9}{'Arrow':>8}")
    for codec in Codec:
        wire = write(codec, values)
        written = rate(partial(write, codec, values))
        objects = rate(partial(read_objects, wire))
        columns = rate(partial(read_columns, wire))
        name = codec.name.lower()
        print(f"    {name:8}{len(wire):12,}{written:8.2f}{objects:9.2f}{columns:8.2f}", flush=True)


def write(codec: Codec, values: list[bytes]) -> memoryview:
    builder = BatchBuilder(limit=16 * 1024 * 1024)
    builder.append_many(values, NOW)
    return builder.finish(Compression(codec))


def read_objects(wire: memoryview) -> None:
    RecordReader(wire, "orders", 0).read()


def read_columns(wire: memoryview) -> None:
    arrow.to_arrow(RecordReader(wire, "orders", 0).columns())


def rate(work: Callable[[], object]) -> float:
    """Million records a second: the best of three rounds, or of one where it is slow."""
    best = 0.0
    for _ in range(3):
        started = time.perf_counter()
        work()
        seconds = time.perf_counter() - started
        best = max(best, COUNT / seconds / 1e6)
        if seconds > 0.5:
            break
    return best


def json_like(number: int) -> bytes:
    return b'{"order": %d, "customer": "%016x", "amount": %.2f, "note": "%040x"}' % (
        number,
        random.getrandbits(64),
        random.random() * 1000,
        random.getrandbits(160),
    )


if __name__ == "__main__":
    main()
