from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafka_aio.errors import InvalidRecord, KafkaConnectionError, SendManyError
from kafka_aio.producer.deliveries import Deliveries
from kafka_aio.producer.delivery import Outcome


class NoLoop:
    """Nobody waits in these tests."""

    owner = None
    cancelled = BaseException

    def call_soon(self, callback: Callable[[Any], object], value: object, /) -> object:
        raise AssertionError("there are no callbacks here")


def outcome(count: int, *, partition: int = 0) -> Outcome:
    made = Outcome("t", partition, NoLoop())
    made.count = count
    return made


def result_of(deliveries: Deliveries) -> Any:
    with pytest.raises(StopIteration) as caught:
        next(deliveries.__await__())
    return caught.value.value


def test_records_are_found_by_their_index_whatever_the_order_of_acceptance() -> None:
    even, odd = outcome(3, partition=0), outcome(3, partition=1)
    deliveries = Deliveries()
    deliveries.begin(lambda place: place * 2)
    deliveries.add(even, 0, 3, 5)
    deliveries.begin(lambda place: place * 2 + 1)
    deliveries.add(odd, 0, 3, 5)
    even.deliver(100)
    odd.deliver(200)

    assert result_of(deliveries) is deliveries
    assert [each.result().offset for each in deliveries] == [100, 200, 101, 201, 102, 202]
    assert deliveries[5].result().offset == 202
    assert deliveries[-1].result().timestamp == 5


def test_stretches_beside_each_other_are_one() -> None:
    batch = outcome(4)
    deliveries = Deliveries()
    deliveries.begin(lambda place: place)
    deliveries.add(batch, 0, 1, 5)
    deliveries.add(batch, 1, 2, 5)
    deliveries.add(batch, 3, 1, 6)

    assert [(each.first, each.count, each.place) for each in deliveries.stretches()] == [
        (0, 3, 0),
        (3, 1, 3),
    ]


def test_the_failures_of_a_part_are_those_of_its_records_and_are_counted_as_seen_once() -> None:
    batch, left, right = outcome(10), outcome(4), outcome(6)
    deliveries = Deliveries()
    deliveries.begin(lambda place: place)
    deliveries.add(batch, 2, 5, 0)  # of ten records, those from 2 to 6 are ours
    batch.divide([(0, left), (4, right)])
    left.deliver(7)
    right.fail(InvalidRecord("bad"))

    with pytest.raises(SendManyError, match="3 of 5 records were not delivered") as caught:
        next(deliveries.__await__())
    with pytest.raises(SendManyError):
        next(deliveries.__await__())

    assert list(caught.value.failed) == [2, 3, 4]
    assert [each.result().offset for each in (deliveries[0], deliveries[1])] == [9, 10]
    assert (right.seen, right.unseen) == (3, 3)


def test_what_was_pending_when_a_call_ended_early_is_told_of_when_it_is_awaited() -> None:
    done, pending = outcome(1), outcome(2)
    deliveries = Deliveries()
    deliveries.begin(lambda place: place)
    deliveries.add(done, 0, 1, 0)
    deliveries.add(pending, 0, 2, 0)
    done.fail(InvalidRecord("bad"))
    early = deliveries.error(TypeError("the next is no bytes"))
    assert isinstance(early, SendManyError)
    pending.fail(InvalidRecord("bad"))

    assert (done.unseen, pending.unseen) == (0, 2)
    with pytest.raises(SendManyError, match="3 of 3 records were not delivered"):
        next(early.deliveries.__await__())
    assert (done.unseen, pending.unseen) == (0, 0)


def test_a_record_has_its_own_timestamp_or_the_one_of_those_it_was_added_with() -> None:
    batch = outcome(5)
    own = {0: 70, 2: 72}
    deliveries = Deliveries()
    deliveries.begin(lambda place: place)
    deliveries.add(batch, 0, 2, 5)
    deliveries.begin(lambda place: place + 2, own.get)
    deliveries.add(batch, 2, 3, 5)
    batch.deliver(100)

    assert [each.result().timestamp for each in deliveries] == [5, 5, 70, 5, 72]


def test_the_user_s_own_error_is_told_with_its_name() -> None:
    batch = outcome(1)
    deliveries = Deliveries()
    deliveries.begin(lambda place: place)
    deliveries.add(batch, 0, 1, 0)

    assert str(deliveries.error(KeyError("boom"))).endswith(": KeyError: 'boom'")
    assert str(deliveries.error(ValueError("wrong"))).endswith(" not delivered: wrong")


def test_why_a_call_ended_early_comes_first() -> None:
    batch = outcome(2)
    deliveries = Deliveries()
    deliveries.begin(lambda place: place)
    deliveries.add(batch, 0, 2, 0)
    cause = KafkaConnectionError("lost")

    error = deliveries.error(cause, total=9)

    assert isinstance(error, SendManyError)
    assert str(error) == "2 of 9 records were accepted, and 0 not delivered: lost"
    assert error.__cause__ is cause
    assert repr(deliveries) == "<Deliveries of 2 records: pending>"
    assert repr(error.failed) == "<Failed: 0 records>"
