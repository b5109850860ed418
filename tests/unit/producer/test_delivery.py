from __future__ import annotations

import asyncio
import copy
import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import pytest

from kafka_aio.errors import (
    InvalidRecord,
    KafkaConnectionError,
    Persistence,
    StateError,
)
from kafka_aio.producer.partition import partition_of_key
from kafka_aio.records.codec import BatchBuilder
from kafka_aio.types import RecordMetadata, TimestampType
from tests.unit.producer.deliveries import Awaiting, Loop, batch_of, modules, outcome_of


@pytest.fixture(params=modules, ids=lambda module: module.__name__.rpartition(".")[2])
def module(request: pytest.FixtureRequest) -> ModuleType:
    found: ModuleType = request.param
    return found


@pytest.fixture
def loop() -> Loop:
    return Loop()


def lost() -> KafkaConnectionError:
    error = KafkaConnectionError("lost")
    error.persistence = Persistence.POSSIBLY_PERSISTED
    return error


# Awaited.


def test_awaited_it_gives_the_place_of_its_own_record(module: ModuleType, loop: Loop) -> None:
    outcome, deliveries = batch_of(module, loop, 3)
    awaiting = [Awaiting(each).step() for each in deliveries]
    were_done = [each.is_done for each in awaiting]
    outcome.deliver(100)

    assert were_done == [False] * 3
    assert [each.step().result for each in awaiting] == [
        RecordMetadata("t", 3, 100 + index, index, TimestampType.CREATE_TIME) for index in range(3)
    ]
    assert type(awaiting[0].result) is RecordMetadata


def test_once_it_is_done_there_is_nothing_to_wait_for(module: ModuleType, loop: Loop) -> None:
    outcome, (delivery,) = batch_of(module, loop, 1)
    outcome.deliver(5)
    first, second = Awaiting(delivery).step(), Awaiting(delivery).step()

    assert first.result == second.result == delivery.result()
    assert first.result.offset == 5
    assert first.is_done
    assert second.is_done


def test_two_may_await_it(module: ModuleType, loop: Loop) -> None:
    outcome, (delivery,) = batch_of(module, loop, 1)
    first, second = Awaiting(delivery).step(), Awaiting(delivery).step()
    outcome.deliver(5)
    were_woken = [first.is_woken, second.is_woken]
    loop.run()

    assert were_woken == [False, False]  # not before their turn of the loop
    assert first.is_woken
    assert second.is_woken
    assert first.step().result == second.step().result


def test_one_who_stops_waiting_is_forgotten_and_the_other_is_not(
    module: ModuleType, loop: Loop
) -> None:
    outcome, (delivery,) = batch_of(module, loop, 1)
    first, second = Awaiting(delivery).step(), Awaiting(delivery).step()
    is_cancelled = first.waits_for.cancel()
    loop.run()
    was_woken = first.is_woken
    first.is_woken = False
    with pytest.raises(asyncio.CancelledError):
        first.waits_for.result()
    outcome.deliver(5)
    loop.run()

    assert is_cancelled
    assert was_woken
    assert [first.is_woken, second.is_woken] == [False, True]
    assert second.step().result.offset == 5
    first.close()


def test_it_goes_on_waiting_if_it_is_woken_for_nothing(module: ModuleType, loop: Loop) -> None:
    outcome, (delivery,) = batch_of(module, loop, 1)
    awaiting = Awaiting(delivery).step().step()
    was_done = awaiting.is_done
    outcome.deliver(5)

    assert not was_done
    assert awaiting.step().result.offset == 5


def test_the_time_of_the_log_goes_before_that_of_the_record(module: ModuleType, loop: Loop) -> None:
    outcome, (_, delivery) = batch_of(module, loop, 2)
    outcome.deliver(5, 1_000)

    assert delivery.result() == RecordMetadata("t", 3, 6, 1_000, TimestampType.LOG_APPEND_TIME)


def test_an_offset_that_is_not_known_is_minus_one_for_all(module: ModuleType, loop: Loop) -> None:
    outcome, deliveries = batch_of(module, loop, 2)
    outcome.deliver(-1)

    assert [each.result().offset for each in deliveries] == [-1, -1]


def test_before_its_end_it_has_no_result(module: ModuleType, loop: Loop) -> None:
    outcome, (delivery,) = batch_of(module, loop, 1)

    assert not delivery.done()
    assert outcome.is_pending
    for early in (delivery.result, delivery.peek):
        with pytest.raises(StateError, match=r"<Delivery to t-3: pending>.*not there yet: await"):
            early()
    outcome.deliver(0)
    assert delivery.done()
    assert not outcome.is_pending
    assert (delivery.topic, delivery.partition, repr(delivery)) == (
        "t",
        3,
        "<Delivery to t-3: done>",
    )


# Failed.


def test_each_who_asks_gets_an_error_of_its_own(module: ModuleType, loop: Loop) -> None:
    outcome, (delivery, _) = batch_of(module, loop, 2)
    awaiting = Awaiting(delivery).step()
    outcome.fail(lost())
    errors = [awaiting.step().error, Awaiting(delivery).step().error, delivery.peek()[1]]

    assert all(type(each) is KafkaConnectionError for each in errors)
    assert {str(each) for each in errors} == {"lost (possibly persisted)"}
    assert len({id(each) for each in errors}) == 3


def test_a_record_may_have_an_error_of_its_own(module: ModuleType, loop: Loop) -> None:
    outcome, deliveries = batch_of(module, loop, 3)
    outcome.fail(lost(), {1: InvalidRecord("no key", where="t-3")})

    assert [type(each.peek()[1]) for each in deliveries] == [
        KafkaConnectionError,
        InvalidRecord,
        KafkaConnectionError,
    ]


def test_a_failure_is_counted_once_for_each_record_that_somebody_asked_for(
    module: ModuleType, loop: Loop
) -> None:
    outcome, (first, second, _) = batch_of(module, loop, 3)
    outcome.fail(lost())
    unseen = [outcome.unseen]
    for delivery in (first, first, outcome.delivery(0), second):  # the third is the first again
        delivery.peek()
        with pytest.raises(KafkaConnectionError):
            delivery.result()
        unseen.append(outcome.unseen)
    outcome.saw(1, 2)  # of those who have no Delivery

    assert unseen == [3, 2, 2, 2, 1]
    assert (outcome.seen, outcome.unseen) == (3, 0)


def test_what_was_delivered_is_no_failure(module: ModuleType, loop: Loop) -> None:
    outcome, (delivery,) = batch_of(module, loop, 1)
    outcome.deliver(0)

    assert outcome.unseen == 0
    assert delivery.peek() == (delivery.result(), None)


@pytest.mark.parametrize("end", ["deliver", "fail", "divide"])
def test_there_is_one_end(module: ModuleType, loop: Loop, end: str) -> None:
    outcome, (delivery,) = batch_of(module, loop, 1)
    arguments = {"deliver": (7,), "fail": (lost(),), "divide": ([(0, outcome)],)}[end]
    outcome.deliver(5)

    with pytest.raises(StateError, match="<Outcome of 1 records for t-3: delivered> is settled"):
        getattr(outcome, end)(*arguments)
    assert delivery.result().offset == 5
    assert outcome.error is None


# Divided.


def test_after_a_division_each_follows_its_part(module: ModuleType, loop: Loop) -> None:
    outcome, deliveries = batch_of(module, loop, 5)
    awaiting = [Awaiting(each).step() for each in deliveries]
    first, second = outcome_of(module, loop, count=2), outcome_of(module, loop, count=3)
    outcome.divide([(0, first), (2, second)])
    for each in awaiting:
        each.step()  # woken by the division, it waits for the part
    late = Awaiting(deliveries[4]).step()
    second.deliver(50)
    first.deliver(90)

    assert not any(each.is_done for each in [*awaiting, late])
    assert [each.step().result.offset for each in [*awaiting, late]] == [90, 91, 50, 51, 52, 52]
    assert [each.result().timestamp for each in deliveries] == [0, 1, 2, 3, 4]


def test_a_part_may_be_divided_too(module: ModuleType, loop: Loop) -> None:
    outcome, deliveries = batch_of(module, loop, 4)
    parts = [outcome_of(module, loop, count=count) for count in (1, 3, 1, 2)]
    outcome.divide([(0, parts[0]), (1, parts[1])])
    parts[1].divide([(0, parts[2]), (1, parts[3])])
    were_done = [each.done() for each in deliveries]
    parts[0].deliver(10)
    parts[2].fail(lost())
    parts[3].deliver(20)

    assert were_done == [False] * 4
    assert [each.peek()[0] and each.result().offset for each in deliveries] == [10, None, 20, 21]
    assert outcome.unseen == 1
    with pytest.raises(KafkaConnectionError):
        deliveries[1].result()
    assert outcome.unseen == 0


def test_callbacks_wait_for_the_part(module: ModuleType, loop: Loop) -> None:
    outcome, deliveries = batch_of(module, loop, 2)
    called: list[Any] = []
    for each in deliveries:
        each.add_done_callback(called.append)
    first, second = outcome_of(module, loop, count=1), outcome_of(module, loop, count=1)
    outcome.divide([(0, first), (1, second)])
    loop.run()
    were_called = list(called)
    second.deliver(1)
    first.fail(lost())
    loop.run()

    assert were_called == []
    assert called == [deliveries[1], deliveries[0]]


# Callbacks.


def test_a_callback_is_called_by_the_loop_whenever_it_was_added(
    module: ModuleType, loop: Loop
) -> None:
    outcome, (delivery,) = batch_of(module, loop, 1)
    called: list[tuple[str, Any]] = []
    delivery.add_done_callback(lambda each: called.append(("before", each)))
    loop.run()
    outcome.deliver(0)
    delivery.add_done_callback(lambda each: called.append(("after", each)))
    were_called = list(called)
    loop.run()
    loop.run()

    assert were_called == []
    assert called == [("before", delivery), ("after", delivery)]


def test_once_it_is_settled_nobody_is_held(module: ModuleType, loop: Loop) -> None:
    class Callback:
        """To see it go."""

        def __call__(self, delivery: object) -> None:
            pass

    outcome, (delivery,) = batch_of(module, loop, 1)
    callback = Callback()
    gone = weakref.ref(callback)
    delivery.add_done_callback(callback)
    outcome.deliver(0)
    loop.run()
    del callback
    gc.collect()

    assert gone() is None


# Not for others to make.


@pytest.mark.parametrize("name", ["Delivery", "Accepted"])
def test_nobody_makes_one_from_nothing(module: ModuleType, name: str) -> None:
    kind = getattr(module, name)

    with pytest.raises(TypeError):
        kind()
    with pytest.raises(TypeError):
        kind.__new__(kind)


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, pickle.dumps, lambda each: each.__reduce_ex__(2)]
)
def test_it_cannot_be_copied_or_pickled(module: ModuleType, loop: Loop, again: Any) -> None:
    _, (delivery,) = batch_of(module, loop, 1)
    topic = module.OpenTopic(1)
    topic.put(0, module.OpenBatch(BatchBuilder(1_000), outcome_of(module, loop)))

    for each in (delivery, topic.submit(b"k", b"v", None, 1.0)):
        with pytest.raises(TypeError, match="cannot pickle"):
            again(each)


@pytest.mark.parametrize("partitions", [0, -1])
def test_a_topic_without_partitions_cannot_be(module: ModuleType, partitions: int) -> None:
    with pytest.raises(ValueError, match=f"a topic has partitions, not {partitions}"):
        module.OpenTopic(partitions)


# Open batches.


def opened(
    module: ModuleType, loop: Loop, partitions: int, **options: Any
) -> tuple[Any, list[Any]]:
    topic = module.OpenTopic(partitions, **options)
    batches = [
        module.OpenBatch(BatchBuilder(200), module.Outcome("t", at, loop))
        for at in range(partitions)
    ]
    for at, batch in enumerate(batches):
        topic.put(at, batch)
    return topic, batches


@pytest.mark.parametrize("key", [b"", b"a", b"key", b"\xff" * 40])
def test_a_key_goes_to_its_partition(module: ModuleType, loop: Loop, key: bytes) -> None:
    topic, _ = opened(module, loop, 5)

    assert topic.append(key, b"v", 1, 0.0).partition == partition_of_key(key, 5)
    for same in (key, bytearray(key), memoryview(key)):
        assert topic.partition_of(same) == partition_of_key(key, 5)


def test_a_partition_goes_before_the_key_and_only_one_that_there_is(
    module: ModuleType, loop: Loop
) -> None:
    topic, _ = opened(module, loop, 3)

    assert topic.append(b"k", b"v", 1, 0.0, None, 2).partition == 2
    for wrong in (3, -1, 2**40):
        assert topic.append(b"k", b"v", 1, 0.0, None, wrong) is None


def test_a_record_without_a_key_goes_to_the_batch_that_is_for_those(
    module: ModuleType, loop: Loop
) -> None:
    topic, batches = opened(module, loop, 3)
    nowhere = topic.append(None, b"v", 1, 0.0)
    topic.unkeyed = batches[1]
    somewhere = topic.append(None, b"v", 1, 0.0)
    topic.put(1, None)  # it is closed

    assert nowhere is None
    assert somewhere.partition == 1
    assert topic.append(None, b"v", 1, 0.0) is None
    assert topic.unkeyed is None


def test_where_keys_are_ignored_all_go_there(module: ModuleType, loop: Loop) -> None:
    topic, batches = opened(module, loop, 3, ignores_keys=True)
    topic.unkeyed = batches[2]

    assert {topic.append(b"%d" % at, b"v", 1, 0.0).partition for at in range(9)} == {2}


def test_a_topic_that_grows_spreads_keys_over_all(module: ModuleType, loop: Loop) -> None:
    topic, _ = opened(module, loop, 2)
    topic.resize(7)

    assert topic.partitions == 7
    assert topic.partition_of(b"key") == partition_of_key(b"key", 7)
    assert topic.append(None, b"v", 1, 0.0, None, 6) is None  # nothing is open there


def test_a_batch_that_is_full_takes_nothing(module: ModuleType, loop: Loop) -> None:
    topic, (batch,) = opened(module, loop, 1)
    first = topic.append(b"k", b"v" * 100, 1, 0.0)
    second = topic.append(b"k", b"v" * 100, 1, 0.0)

    assert first is not None
    assert second is None
    assert batch.builder.count == 1


def test_what_can_be_read_only_once_is_not_read_in_vain(module: ModuleType, loop: Loop) -> None:
    topic, (batch,) = opened(module, loop, 1)
    headers = iter([("h", b"v")])

    assert topic.append(b"k", b"v", 1, 0.0, headers) is None
    assert list(headers) == [("h", b"v")]
    for good in ([("h", b"v")], (("h", b"v"),), {"h": b"v"}):
        assert topic.append(b"k", b"v", 1, 0.0, good) is not None
    assert batch.builder.count == 3


def test_the_time_of_the_call_is_that_of_a_record_without_one(
    module: ModuleType, loop: Loop
) -> None:
    topic, (batch,) = opened(module, loop, 1)
    deliveries = [topic.append(b"k", b"v", time, 1_700_000_000.1239) for time in (None, 5)]
    batch.outcome.deliver(0)

    assert [each.result().timestamp for each in deliveries] == [1_700_000_000_123, 5]


def test_a_record_that_cannot_be_written_leaves_the_batch_as_it_was(
    module: ModuleType, loop: Loop
) -> None:
    topic, (batch,) = opened(module, loop, 1)
    size = batch.builder.size
    for wrong in (
        (b"k", "text", 1, 0.0),
        (b"k", b"v", "now", 0.0),
        (b"k", b"v", -2, 0.0),
        (b"k", b"v", 1, 0.0, {"h": "text"}),
    ):
        with pytest.raises((TypeError, ValueError)):
            topic.append(*wrong)

    assert (batch.builder.count, batch.builder.size) == (0, size)


def test_submit_gives_the_delivery_to_who_awaits_it(module: ModuleType, loop: Loop) -> None:
    topic, (batch,) = opened(module, loop, 1)
    accepted = topic.submit(b"k", b"v", 1, 0.0)
    first, second = Awaiting(accepted).step(), Awaiting(accepted).step()

    assert first.result is second.result is accepted.delivery
    assert not accepted.delivery.done()
    assert topic.submit(b"k", b"v" * 200, 1, 0.0) is None
    assert batch.builder.count == 1


def test_nothing_is_appended_from_another_thread(module: ModuleType, loop: Loop) -> None:
    topic, (batch,) = opened(module, loop, 1)
    with ThreadPoolExecutor(1) as other:
        refused = [
            other.submit(call, b"k", b"v", 1, 0.0).result() for call in (topic.append, topic.submit)
        ]

    assert refused == [None, None]
    assert topic.append(b"k", b"v", 1, 0.0) is not None
    assert batch.builder.count == 1


@pytest.mark.parametrize(
    ("value", "timestamp"), [(b"v", 2**63), (b"v", 2**70), (memoryview(b"abcd")[::2], 1)]
)
def test_what_no_record_can_hold_is_a_value_error(
    module: ModuleType, loop: Loop, value: Any, timestamp: int
) -> None:
    topic, (batch,) = opened(module, loop, 1)

    with pytest.raises(ValueError, match="the record cannot be written: "):
        topic.append(None, value, timestamp, 0.0, None, 0)
    assert batch.builder.count == 0
