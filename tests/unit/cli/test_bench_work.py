from __future__ import annotations

import asyncio
import random
import time
import zlib

import pytest

from kafka_aio.cli.bench import ceiling
from kafka_aio.cli.bench.plan import Order, Workload
from kafka_aio.cli.bench.work import Pool, Run, Work, peak_memory, percentiles, values
from kafka_aio.records.codec import RecordReader

POOL = Pool([b"%d" % number for number in range(10)], None)


def work(**options: int | bool) -> Work:
    load = Workload(**options)  # type: ignore[arg-type]  # checked by its class
    return Work(Order(module="m", topic="t", workload=load, connection={}))


@pytest.mark.parametrize("size", [1, 2, 3, 40, 100, 1024])
def test_every_value_has_the_size_asked_for(size: int) -> None:
    assert {len(value) for value in values(size, 50, random.Random(1))} == {size}


def test_a_seed_gives_the_same_values_and_another_one_others() -> None:
    first, again, other = (values(100, 20, random.Random(seed)) for seed in (1, 1, 2))

    assert first == again
    assert not set(first) & set(other)


def test_values_compress_as_data_does() -> None:
    text = b"".join(values(100, 600, random.Random(1)))

    assert 1.5 < len(text) / len(zlib.compress(text)) < 4


def test_a_run_ends_after_its_records() -> None:
    run = Run(POOL, records=25)
    chunks = [chunk for chunk, _ in run.chunks(10)]

    assert chunks == [POOL.values, POOL.values, POOL.values[:5]]
    assert run.sent == 25
    assert run.take(1) == 0


def test_a_run_ends_after_its_time() -> None:
    assert list(Run(POOL, seconds=0).chunks(10)) == []


def test_a_call_takes_no_more_records_than_there_are() -> None:
    assert list(Run(POOL, records=12).spans(500)) == [(0, 10), (0, 2)]


def test_keys_go_with_their_values() -> None:
    pool = Pool([b"a", b"b", b"c"], [b"1", b"2", b"3"])

    assert list(Run(pool, records=4).records()) == [
        (b"a", b"1"),
        (b"b", b"2"),
        (b"c", b"3"),
        (b"a", b"1"),
    ]
    assert list(Run(pool, records=3).chunks(2)) == [([b"a", b"b"], [b"1", b"2"]), ([b"a"], [b"1"])]


def test_failures_are_counted_and_the_first_one_is_told() -> None:
    run = Run(POOL, records=5)
    run.failed(ValueError("first"), 3)
    run.failed(ValueError("second"))

    assert (run.failures, run.error) == (4, "ValueError: first")


def test_percentiles_are_by_the_nearest_rank() -> None:
    assert percentiles([]) is None
    assert percentiles([3.0]) == {"p50": 3.0, "p99": 3.0, "p999": 3.0}
    thousand = [number / 1000 for number in range(1000, 0, -1)]
    assert percentiles(thousand) == {"p50": 0.5, "p99": 0.99, "p999": 0.999}


def test_the_warm_up_comes_first_and_is_not_measured() -> None:
    done = work(records=30, keyed=True, warm_up=1)
    for run in done.runs():
        assert done.run is run
        assert done.result is None
        run.take(7 if run is not done.run else 30)

    assert done.result is not None
    assert done.result["records"] == 30
    assert done.result["bytes"] == 30 * 108
    assert done.result["stall_seconds"] is None  # no loop, no stall
    assert done.result["latency"] is None


@pytest.mark.parametrize("pause", [0, 0.02])  # to the very end of the run, or not
def test_a_loop_that_is_held_up_has_stalled(pause: float) -> None:
    async def stall(done: Work) -> None:
        for run in done.runs():
            run.take(1)
            time.sleep(0.05)  # noqa: ASYNC251  # this is what is to be noticed
            if pause:
                await asyncio.sleep(pause)

    done = work(records=1, warm_up=0)
    asyncio.run(stall(done))

    assert done.result is not None
    assert 0.045 < done.result["stall_seconds"] < 5


def test_memory_is_that_of_this_process() -> None:
    assert 5e6 < peak_memory() < 1e11


def test_the_ceiling_has_batches_as_large_as_the_producer() -> None:
    pool = work(keyed=True).pool
    batch, count = ceiling.batch(pool, 16_384)
    records = RecordReader(batch).read()

    assert 16_384 - 150 < len(batch) <= 16_384
    assert [record.value for record in records] == pool.values[:count]


def test_a_record_that_is_larger_than_a_batch_is_one() -> None:
    assert ceiling.batch(work(record_size=10_000).pool, 1).records == 1


def test_the_ceiling_asks_each_node_for_its_partitions_within_the_size_of_a_request() -> None:
    leaders = {0: 1, 1: 2, 2: 1, 3: 2, 4: 1}

    assert ceiling._requests(leaders, 1000) == [(1, [0, 2, 4]), (2, [1, 3])]
    assert ceiling._requests(leaders, 500_000) == [(1, [0, 2]), (1, [4]), (2, [1, 3])]
    assert len(ceiling._requests(leaders, 2**21)) == 5
