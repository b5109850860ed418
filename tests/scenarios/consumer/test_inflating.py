"""What takes long to inflate or to decode leaves the loop its turns."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafka_aio.records.compression import Codec
from kafka_aio.records.layout import ProducerStamp
from tests.scenarios.consumer.world import (
    T0,
    batch_of,
    consuming,
    in_batches,
    offsets,
    polled,
    read,
    values,
    write,
)
from tests.scenarios.producer.delivering import on_virtual_time

READS = pytest.mark.parametrize("way", [read, polled, in_batches])


def inflated_in_threads(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is given to threads from now on."""
    loop = asyncio.get_running_loop()
    jobs: list[Any] = []
    run = loop.run_in_executor

    def noted(executor: Any, job: Any, *arguments: Any) -> Any:
        if job.__name__ == "open_batch":
            jobs.append(job)
        return run(executor, job, *arguments)

    monkeypatch.setattr(loop, "run_in_executor", noted)
    return jobs


@READS
@on_virtual_time
async def test_large_batches_are_inflated_in_another_thread(
    way: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with consuming(T0) as (broker, consumer):
        jobs = inflated_in_threads(monkeypatch)
        large = [b"%d" % (number * 7_919 % 100_003) for number in range(60_000)]
        batch = batch_of(large, codec=Codec.GZIP)
        write(broker, batch)
        write(broker, batch_of(values(2), codec=Codec.GZIP))
        found = await way(consumer, 60_002)

        assert len(batch) > 64 * 1024
        assert [record.value for record in found] == large + values(2)
        assert len(jobs) == 1


@READS
@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
@on_virtual_time
async def test_so_are_small_ones_that_inflate_to_much(
    codec: Codec, way: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with consuming(T0) as (broker, consumer):
        jobs = inflated_in_threads(monkeypatch)
        large = batch_of([bytes(100_000)] * 10, codec=codec)
        for _ in range(3):
            write(broker, large)
            write(broker, batch_of(values(2), codec=codec))
        found = await way(consumer, 36)

        assert len(large) < 64 * 1024
        assert offsets(found) == list(range(36))
        assert len(jobs) == 3


@READS
@on_virtual_time
async def test_so_are_large_ones_behind_what_is_left_out(
    way: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with consuming(T0, isolation_level="read_committed") as (broker, consumer):
        jobs = inflated_in_threads(monkeypatch)
        write(broker, batch_of([b"\0\0\0\1"], stamp=ProducerStamp(5, 0, -1, True), control=True))
        write(broker, batch_of([bytes(100_000)] * 10, codec=Codec.ZSTD))
        found = await way(consumer, 10)

        assert offsets(found) == list(range(1, 11))
        assert len(jobs) == 1


@pytest.mark.parametrize("way", [read, polled])
@on_virtual_time
async def test_large_records_are_decoded_a_few_at_a_time(way: Any) -> None:
    async with consuming(T0) as (broker, consumer):
        write(broker, batch_of([bytes(100_000)] * 60))
        await way(consumer, 1)
        left = consumer._parts.reader.cursor.left

        assert 0 < left < 30
        assert offsets(await way(consumer, 59)) == list(range(1, 60))


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
@pytest.mark.parametrize("way", [read, polled])
@on_virtual_time
async def test_reading_begins_late_in_a_large_batch(way: Any, codec: Codec) -> None:
    async with consuming(T0) as (broker, consumer):
        write(broker, batch_of([bytes(100_000)] * 90, codec=codec))
        consumer.seek(T0, 80)

        assert await consumer.poll(timeout=0) == {}
        assert offsets(await way(consumer, 10)) == list(range(80, 90))
