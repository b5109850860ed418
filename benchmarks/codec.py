"""The record codec beside aiokafka's Cython codec: `make bench-codec`.

Records have values of 100 bytes, JSON-like with random fields, in batches of 64 KiB; decoding also
has keys of 8 bytes and checks the CRC, as both clients do by default.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import pyarrow as pa
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from aiokafka.structs import ConsumerRecord

import kafka_aio
from benchmarks import ratio
from kafka_aio.records import arrow
from kafka_aio.records.codec import BatchBuilder, RecordReader, crc32c

ROUNDS = 30
BATCHES = 10
BATCH_BYTES = 64 * 1024
RECORDS = 540  # what fits such a batch, keys included
TIMESTAMP = 1_700_000_000_000
AIOKAFKA = "aiokafka's Cython codec"
COPY_BOUND = (
    "one compiled loop that writes one word and copies the value;"
    " the goal was set where aiokafka took 590 ns, here it takes a quarter of that"
)


def main() -> None:
    info = kafka_aio.codec_info()
    print(f"codec: {'compiled' if info.compiled else 'twin'}, CRC-32C by {info.crc32c}\n")
    rows = measure()
    print(ratio.table(rows))
    print(f"\n{ratio.save('codec', rows, crc32c=info.crc32c)}")


def measure() -> list[ratio.Row]:
    rng = random.Random(4)
    values = [json_like(rng) for _ in range(RECORDS)]
    keys = [b"%08d" % rng.randrange(10**8) for _ in values]
    return [*writing(values), *reading(values, keys), checksum()]


def json_like(rng: random.Random) -> bytes:
    text = b'{"order":%d,"customer":"%016x","amount":%.2f,"paid":true,"note":"' % (
        rng.randrange(10**9),
        rng.getrandbits(64),
        rng.random() * 1000,
    )
    return (text + b"%040x" % rng.getrandbits(160))[:98] + b'"}'


def writing(values: list[bytes]) -> list[ratio.Row]:
    column = pa.record_batch({"value": pa.array(values * BATCHES, pa.binary())})
    theirs, theirs_built, one_by_one, many, finished, rows = per_record(
        len(values),
        partial(peer_append, values),
        partial(peer_build, values),
        partial(append_each, values),
        partial(append_many, values),
        partial(append_and_finish, values),
        partial(append_rows, column),
    )
    return [
        row("append, one call a record", one_by_one, theirs, 3),
        row("append, many in one call", many, theirs, 20, note=COPY_BOUND),
        row("append, from Arrow columns", rows, theirs, 20, note=COPY_BOUND),
        row("append many and finish the batch", finished, theirs_built, 10),
    ]


def reading(values: list[bytes], keys: list[bytes]) -> list[ratio.Row]:
    batches = []
    for number in range(BATCHES):
        builder = BatchBuilder(BATCH_BYTES)
        builder.append_many(values, TIMESTAMP, keys)
        batches.append(bytes(builder.finish(base_offset=number * len(values))))
    fetched = b"".join(batches)
    theirs, objects, columns = per_record(
        len(values),
        partial(peer_read, batches),
        partial(read_objects, fetched),
        partial(read_columns, fetched),
    )
    return [
        row("decode to objects, key and value", objects, theirs, 5),
        row("decode to Arrow columns", columns, theirs, 20),
    ]


def append_each(values: list[bytes]) -> None:
    for _ in range(BATCHES):
        append = BatchBuilder(BATCH_BYTES).append
        for value in values:
            append(None, value, TIMESTAMP)


def append_many(values: list[bytes]) -> None:
    for _ in range(BATCHES):
        BatchBuilder(BATCH_BYTES).append_many(values, TIMESTAMP)


def append_and_finish(values: list[bytes]) -> None:
    for _ in range(BATCHES):
        builder = BatchBuilder(BATCH_BYTES)
        builder.append_many(values, TIMESTAMP)
        builder.finish()


def append_rows(column: pa.RecordBatch) -> None:
    rows, at = arrow.to_rows(column), 0
    while at < len(rows):
        at = BatchBuilder(BATCH_BYTES).append_rows(rows, at, len(rows), TIMESTAMP)


def read_objects(fetched: bytes) -> None:
    RecordReader(fetched, "orders", 0).read()


def read_columns(fetched: bytes) -> None:
    arrow.to_arrow(RecordReader(fetched, "orders", 0).columns())


def peer_append(values: list[bytes]) -> None:
    for _ in range(BATCHES):
        peer_filled(values)


def peer_build(values: list[bytes]) -> None:
    for _ in range(BATCHES):
        peer_filled(values).build()


def peer_filled(values: list[bytes]) -> DefaultRecordBatchBuilder:
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, BATCH_BYTES)
    append = builder.append
    for index, value in enumerate(values):
        append(index, TIMESTAMP, None, value, [])
    return builder


def peer_read(batches: list[bytes]) -> None:
    for batch in batches:
        peer_records(batch)


def checksum() -> ratio.Row:
    data = bytes(BATCH_BYTES)

    def work() -> None:
        for _ in range(100):
            crc32c(data)

    (seconds,) = ratio.best_of(ROUNDS, work)
    speed = len(data) * 100 / seconds / 1e9
    return ratio.Row(
        name="CRC-32C of 64 KiB", peer_name="1 GB/s", ours=speed, peer=1, goal=5, unit="GB/s"
    )


def per_record(count: int, *works: Callable[[], None]) -> list[float]:
    return [seconds / BATCHES / count * 1e9 for seconds in ratio.best_of(ROUNDS, *works)]


def row(name: str, ours: float, theirs: float, goal: float, note: str = "") -> ratio.Row:
    return ratio.Row(name=name, peer_name=AIOKAFKA, ours=ours, peer=theirs, goal=goal, note=note)


def peer_records(batch: bytes) -> list[ConsumerRecord]:
    """What aiokafka's fetcher does for each record, with no deserializer."""
    reader = DefaultRecordBatch(batch)
    if not reader.validate_crc():
        raise ValueError("the peer refuses our batch")
    return [
        ConsumerRecord(
            topic="orders",
            partition=0,
            offset=record.offset,
            timestamp=record.timestamp,
            timestamp_type=record.timestamp_type,
            key=record.key,
            value=record.value,
            checksum=record.checksum,
            serialized_key_size=len(record.key) if record.key is not None else -1,
            serialized_value_size=len(record.value) if record.value is not None else -1,
            headers=tuple(record.headers),
        )
        for record in reader
    ]


if __name__ == "__main__":
    main()
