"""How a task's rows are sent: when they leave, and which error is told."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

import pyarrow as pa

from kafka_aio import Producer
from kafka_aio.broker import BrokerThread
from spark_connector.errors import RowError
from spark_connector.options import WriteOptions
from spark_connector.rdd import foreach_partition
from spark_connector.sending import PATIENCE, WINDOW
from spark_connector.writer import PartitionWrite

SECONDS = 10.0
pytestmark = pytest.mark.usefixtures("own_loop")


def test_nothing_lingers_when_a_partition_ends(topic: str, options: dict[str, str]) -> None:
    lingering = {**options, "kafka.linger.ms": "60000"}
    write = PartitionWrite(WriteOptions.parse({**lingering, "topic": topic}), ("value",))
    begun = time.monotonic()

    foreach_partition(lingering, topic=topic, chunk_rows=2)(iter([b"v"] * 5))
    written = write.run(iter([pa.record_batch({"value": [b"v"] * 5})]))

    assert written.rows == 5
    assert time.monotonic() - begun < SECONDS


def test_rows_do_not_linger_where_no_others_can_come_before(
    topic: str, options: dict[str, str]
) -> None:
    lingering = {**options, "kafka.linger.ms": "60000"}
    rows = [b"v"] * 20 * WINDOW  # which are far from a batch
    begun = time.monotonic()

    foreach_partition(lingering, topic=topic, chunk_rows=10)(iter(rows))

    assert time.monotonic() - begun < SECONDS


def test_what_does_not_linger_is_not_hurried_where_the_broker_is_slow(
    broker: BrokerThread,
    topic: str,
    options: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hurried = []

    async def flush(self: Producer, *, timeout: float | None = None) -> None:
        hurried.append(timeout)
        await flush_of_all(self, timeout=timeout)

    flush_of_all = Producer.flush
    monkeypatch.setattr(Producer, "flush", flush)
    with broker.faults.delay("Produce", 4 * PATIENCE):
        foreach_partition(options, topic=topic, chunk_rows=10)(iter([b"v"] * 20 * WINDOW))

    assert hurried == [0]  # at the end


def test_rows_linger_while_others_may_come(
    broker: BrokerThread, topic: str, options: dict[str, str]
) -> None:
    seen = []

    def rows() -> Iterator[bytes]:
        yield from [b"v"] * 10 * (WINDOW - 1)
        time.sleep(4 * PATIENCE)
        seen.append(len(broker.records(topic)))
        yield b"last"

    lingering = {**options, "kafka.linger.ms": "60000"}
    foreach_partition(lingering, topic=topic, chunk_rows=10)(rows())

    assert seen == [0]
    assert len(broker.records(topic)) == 10 * (WINDOW - 1) + 1


def test_the_oldest_of_several_chunks_that_fail_is_told(
    broker: BrokerThread, topic: str, options: dict[str, str]
) -> None:
    hasty = {
        **options,
        "kafka.batch.size": "1000",
        "kafka.request.timeout.ms": "500",
        "kafka.delivery.timeout.ms": "700",
    }
    rows = [(b"k", b"v" * 900)] * 100

    with (
        broker.faults.hold("Produce"),
        pytest.raises(RowError, match=rf"^row 0, topic {topic}: ") as caught,
    ):
        foreach_partition(hasty, topic=topic, chunk_rows=10)(iter(rows))

    assert "(possibly persisted)" in str(caught.value)


def test_rows_are_taken_only_as_they_can_be_sent(
    broker: BrokerThread, topic: str, options: dict[str, str]
) -> None:
    taken = 0

    def rows() -> Iterator[bytes]:
        nonlocal taken
        for _ in range(1000):
            taken += 1
            yield b"v"

    sink = foreach_partition(options, topic=topic, chunk_rows=10)
    with broker.faults.hold("Produce") as hold:
        thread = threading.Thread(target=sink, args=(rows(),))
        thread.start()
        time.sleep(0.3)
        stalled = taken
        hold.release()
    thread.join(SECONDS)

    assert stalled <= 10 * (WINDOW + 1)
    assert taken == len(broker.records(topic)) == 1000
