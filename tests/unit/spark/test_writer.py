"""What the DataFrame writer sends together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

import pyarrow as pa

from kafka_aio.broker import BrokerThread
from spark_connector import writer
from spark_connector.errors import RowError
from spark_connector.options import WriteOptions
from spark_connector.rows import CHUNK_SECONDS
from spark_connector.writer import PartitionWrite, chunks

pytestmark = pytest.mark.usefixtures("own_loop")


def batches_of(*sizes: int, bytes_each: int = 100) -> Iterator[pa.RecordBatch]:
    numbers = count()
    for size in sizes:
        values = [b"%0*d" % (bytes_each, next(numbers)) for _ in range(size)]
        yield pa.record_batch({"value": values, "other": range(size)})


def at_once() -> float:
    """The time, where batches take none."""
    return 0.0


def test_small_batches_are_sent_together_and_the_first_by_itself() -> None:
    given = batches_of(*[2000] * 30)  # 0.2 MB each

    found = list(chunks(given, ("value",), clock=lambda: -1.0))

    sizes = [chunk.batch.num_rows for chunk in found]
    assert sizes[0] == 2000
    assert sum(sizes) == 60_000
    assert all(writer.CHUNK_BYTES <= 116 * size < 1.3 * writer.CHUNK_BYTES for size in sizes[1:-1])
    assert [chunk.first_row for chunk in found] == [sum(sizes[:at]) for at in range(len(sizes))]
    rows = [value for chunk in found for value in chunk.batch.column("value").to_pylist()]
    assert rows == [b"%0100d" % number for number in range(60_000)]
    assert {tuple(chunk.batch.schema.names) for chunk in found} == {("value",)}


def test_large_batches_go_by_themselves() -> None:
    found = list(chunks(batches_of(30, 30, 30, bytes_each=100_000), ("value",), clock=at_once))

    assert [chunk.batch.num_rows for chunk in found] == [30, 30, 30]


def test_batches_that_are_slow_to_come_do_not_wait_for_others() -> None:
    now = 0.0

    def slow() -> Iterator[pa.RecordBatch]:
        nonlocal now
        for batch in batches_of(10, 10, 10, 10):
            now += CHUNK_SECONDS
            yield batch

    found = list(chunks(slow(), ("value", "other"), clock=lambda: now))

    assert [chunk.batch.num_rows for chunk in found] == [10, 10, 10, 10]


def test_batches_without_rows_are_passed_over() -> None:
    found = list(chunks(batches_of(0, 30, 0, 30, 0), ("value",), clock=at_once))

    assert [(chunk.first_row, chunk.batch.num_rows) for chunk in found] == [(0, 30), (30, 30)]


def test_no_batches_are_no_chunks() -> None:
    assert list(chunks(iter([]), ("value",), clock=at_once)) == []


def test_a_row_that_cannot_be_sent_has_its_place_among_all_batches(
    broker: BrokerThread, topic: str, options: dict[str, str]
) -> None:
    write = PartitionWrite(WriteOptions.parse(options), ("value", "topic", "partition"))
    batches = [
        pa.record_batch(
            {
                "value": [b"v"] * 10,
                "topic": [topic] * 10,
                "partition": pa.array([7 if number == 25 else 0 for number in range(at, at + 10)]),
            }
        )
        for at in range(0, 40, 10)
    ]

    with pytest.raises(RowError, match=rf"row 25, topic {topic}: .*partition 7"):
        write.run(iter(batches))

    found = PartitionWrite(WriteOptions.parse(options), ("value", "topic")).run(iter(batches))
    assert found.rows == 40
