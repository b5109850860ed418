from __future__ import annotations

import asyncio
import queue
import random
import time
import zlib
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from kafka_aio.cli.bench import ceiling, workloads
from kafka_aio.cli.bench.crossing import Crossing, blocking_end_to_end, end_to_end
from kafka_aio.cli.bench.plan import Order, Workload
from kafka_aio.cli.bench.stalls import Callbacks, Ticker
from kafka_aio.cli.bench.work import Pool, Run, Work, peak_memory, percentiles, values
from kafka_aio.errors import NotLeaderOrFollower
from kafka_aio.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from kafka_aio.records.codec import RecordReader

POOL = Pool([b"%d" % number for number in range(10)], None)


def work(**options: int | bool | str) -> Work:
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


def test_a_timer_that_comes_late_leaves_a_gap() -> None:
    async def tick() -> Ticker:
        ticker = Ticker()
        await asyncio.sleep(0.01)
        time.sleep(0.05)  # noqa: ASYNC251  # as above
        await asyncio.sleep(0.01)
        ticker.ended()
        return ticker

    gaps = asyncio.run(tick()).gaps

    assert min(gaps) >= 0.0009
    assert sum(gap > 0.045 for gap in gaps) == 1


def test_callbacks_are_timed_while_they_are_watched_and_only_then() -> None:
    async def burn() -> Callbacks:
        callbacks = Callbacks(is_wanted=True)
        await asyncio.sleep(0)
        until = time.thread_time() + 0.03
        while time.thread_time() < until:
            pass
        await asyncio.sleep(0)
        callbacks.ended()
        await asyncio.sleep(0)  # the one that has ended it is the last
        count = len(callbacks.seconds)
        await asyncio.sleep(0)
        assert len(callbacks.seconds) == count
        return callbacks

    seconds = asyncio.run(burn()).seconds

    assert sum(each > 0.029 for each in seconds) == 1
    assert asyncio.events.Handle._run.__qualname__ == "Handle._run"


def test_a_pause_is_no_work_of_a_callback() -> None:
    async def pause() -> Callbacks:
        callbacks = Callbacks(is_wanted=True)
        await asyncio.sleep(0)
        time.sleep(0.05)  # noqa: ASYNC251  # nobody's CPU
        await asyncio.sleep(0)
        callbacks.ended()
        return callbacks

    assert max(asyncio.run(pause()).seconds) < 0.02


# Reading.


def reading(**options: int) -> Work:
    return work(kind="consume", path="lists", **options)


def test_who_reads_is_measured_after_its_first_records() -> None:
    done = reading(records=30)
    warm_up, measured = (_read(run, 10) for run in done.runs())

    assert (warm_up, measured) == (1, 2)
    assert done.result is not None
    assert done.result["records"] == 20
    done.check([5, 10, 15])


def _read(run: Run, count: int) -> int:
    """How many calls it takes."""
    calls = 1
    while run.has_read(count):
        calls += 1
    return calls


def test_reading_ends_after_its_time_too() -> None:
    assert Run(seconds=0, records=100).has_read(1) is False


def test_nobody_is_asked_for_more_than_there_is() -> None:
    run = Run(records=25)
    run.has_read(20)

    assert run.portion(10) == 5


@pytest.mark.parametrize("positions", [[30], [28], [-1001, 0]])
def test_records_that_are_missing_or_come_twice_are_no_result(positions: list[int]) -> None:
    done = reading(records=29)
    for run in done.runs():
        _read(run, 1)

    with pytest.raises(ValueError, match="29 records have come of the"):
        done.check(positions)


@pytest.mark.parametrize("count", [1, 500, 1_203])
def test_one_record_after_the_other_is_read_up_to_the_last(count: int) -> None:
    async def read() -> AsyncGenerator[int, None]:
        for number in range(count):
            yield number
        raise AssertionError("there are no more")

    async def read_all() -> None:
        async with aclosing(read()) as records:
            await workloads.read_each(done, records)

    done = reading(records=count)
    asyncio.run(read_all())

    done.check([count])


def test_the_same_without_a_loop() -> None:
    records = iter([None, *range(1_203)])
    each, lists = reading(records=1_203), reading(records=1_203)
    workloads.blocking_each(each, lambda: next(records))
    asked: list[int] = []

    def read(count: int) -> int:
        asked.append(count)
        return count

    workloads.blocking_lists(lists, read)

    each.check([1_203])
    lists.check([1_203])
    assert asked == [1, 1_202]


def test_the_ceiling_looks_at_the_headers_of_what_it_reads() -> None:
    first = ceiling.batch(work().pool, 2_000)
    second = ceiling.batch(work().pool, 3_000)
    moved = bytearray(second.data)
    moved[:8] = first.records.to_bytes(8, "big")
    data, count = first.data + bytes(moved), first.records + second.records
    offsets = {3: 0}

    assert ceiling.advance(answer(data[:-1], end=count), offsets) == (first.records, set())
    assert offsets == {3: first.records}
    assert ceiling.advance(answer(data, end=count), offsets) == (count, {3})


def answer(data: bytes | None = None, *, end: int = 0, error_code: int = 0) -> FetchResponse:
    partition = PartitionData(
        partition_index=3,
        error_code=error_code,
        high_watermark=end,
        aborted_transactions=None,
        records=data,
    )
    topic = FetchableTopicResponse(topic="t", partitions=[partition])
    return FetchResponse(throttle_time_ms=0, responses=[topic])


def test_the_ceiling_is_not_silent_about_an_error() -> None:
    with pytest.raises(NotLeaderOrFollower, match="partition 3 of 't'"):
        ceiling.advance(answer(error_code=6), {3: 0})


# From end to end.


def crossing(**options: int) -> tuple[Crossing, Run]:
    done = work(kind="end-to-end", **options)
    run = next(done.runs())
    return Crossing(done, run), run


def test_one_record_at_a_time_is_on_its_way() -> None:
    way, run = crossing(records=2, warm_up=0)
    ((_, first),) = way.due()
    way.arrived([None, b"of others"])
    assert not way.has_arrived
    way.arrived([first])
    assert way.has_arrived
    ((_, second),) = way.due()
    way.arrived([second, second])
    assert not way.is_over

    assert list(way.due()) == []
    assert way.is_over
    assert first != second
    assert len(run.latencies) == 2


def test_at_a_rate_as_many_are_sent_as_the_time_asks_for() -> None:
    way, run = crossing(rate=1_000, seconds=100, warm_up=0)
    time.sleep(0.05)
    sent = list(way.due())

    assert 50 <= len(sent) == run.sent < 5_000
    assert not way.is_sent


def test_what_is_sent_at_a_rate_is_received_meanwhile() -> None:
    done = work(kind="end-to-end", rate=500, records=20, warm_up=0)
    there: queue.Queue[bytes] = queue.Queue()

    async def give(topic: str, value: bytes, key: bytes) -> asyncio.Future[None]:
        there.put_nowait(key)
        delivered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        delivered.set_result(None)
        return delivered

    async def receive() -> list[bytes]:
        await asyncio.sleep(0.001)
        return [there.get_nowait() for _ in range(there.qsize())]

    asyncio.run(end_to_end(done, give, receive))

    assert done.result is not None
    assert (done.result["records"], done.result["failures"]) == (20, 0)
    assert done.result["latency"]["p999"] < 5


def test_a_client_without_a_loop_sends_in_a_thread() -> None:
    done = work(kind="end-to-end", rate=500, records=20, warm_up=0)
    there: queue.Queue[bytes] = queue.Queue()

    def receive() -> list[bytes]:
        time.sleep(0.001)
        return [there.get() for _ in range(there.qsize())]

    blocking_end_to_end(done, lambda topic, value, key: there.put(key), receive)

    assert done.result is not None
    assert (done.result["records"], done.result["failures"]) == (20, 0)


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
