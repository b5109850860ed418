"""Batches that come back: delivered, sent again, split, expired; and what flushing waits for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_aio.errors import KafkaError, KafkaTimeoutError, MessageTooLarge, NotLeaderOrFollower
from kafka_aio.producer.batch import Batch, Phase
from kafka_aio.producer.delivery import Delivery
from kafka_aio.records.batch import FetchedBatch
from tests.unit.producer.accumulated import A0, A1, PLAIN, Accumulated

LOST = NotLeaderOrFollower()


def values(batch: Batch) -> list[bytes]:
    assert batch.wire is not None
    return [bytes(record.value or b"") for record in FetchedBatch(batch.wire, "a", 0).records]


def sizes(batches: list[Batch]) -> list[int]:
    return [batch.record_count for batch in batches]


def queued(records: Accumulated) -> list[Batch]:
    """What is sent from now on, in its order."""
    return records.drain_all()


# -- delivered, sent again


def test_a_delivered_batch_tells_each_record_its_offset() -> None:
    records = Accumulated(linger=0.0)
    deliveries = [records.added(A0) for _ in range(3)]
    (batch,) = records.drain()

    assert records.it.delivered(batch, 70)
    assert [delivery.result().offset for delivery in deliveries] == [70, 71, 72]
    assert batch.phase is Phase.ENDED
    assert records.memory.free == records.memory.limit


def test_batches_that_come_back_in_any_order_are_sent_again_in_theirs() -> None:
    records = Accumulated()
    records.add_batches(A0, 5)
    records.it.flush()
    batches = queued(records)

    for batch in (batches[2], batches[0], batches[4], batches[1], batches[3]):
        records.it.retry(batch, LOST, not_before=0.0)

    assert queued(records) == batches
    assert [batch.attempts for batch in batches] == [1] * 5


def test_what_comes_back_stands_before_what_was_opened_meanwhile() -> None:
    records = Accumulated(linger=0.0)
    records.added(A0)
    (first,) = records.drain()
    records.added(A0)
    records.it.retry(first, LOST, not_before=0.0)

    assert queued(records)[0] is first


def test_what_was_not_sent_at_all_has_made_no_attempt() -> None:
    records = Accumulated(linger=0.0)
    records.added(A0)
    (batch,) = records.drain()
    records.it.unsent(batch)

    assert batch.attempts == 0
    assert queued(records) == [batch]


def test_a_batch_fails_in_its_queue_as_well_as_in_a_request() -> None:
    records = Accumulated()
    in_flight, waiting = records.added(A0), records.added(A1)
    records.now = 5.0
    records.drain()
    for batch in list(records.it.incomplete):
        assert records.it.failed(batch, LOST)

    for delivery in (in_flight, waiting):
        with pytest.raises(NotLeaderOrFollower):
            delivery.result()
    assert records.ready() == {}
    assert records.memory.free == records.memory.limit


def test_an_open_batch_that_fails_takes_no_more_records() -> None:
    records = Accumulated()
    first = records.added(A0)
    records.it.failed(next(iter(records.it.incomplete)), LOST)
    second = records.added(A0)

    assert first.done()
    assert not second.done()


# -- split (B11)


def refused(records: Accumulated, *lengths: int) -> tuple[Batch, list[Delivery]]:
    """A batch with records of such lengths, which a request has."""
    deliveries = [records.added(A0, bytes([at]) * length) for at, length in enumerate(lengths)]
    records.it.flush()
    (batch,) = records.drain()
    assert batch.record_count == len(lengths)
    return batch, deliveries


def test_the_parts_have_the_records_in_their_order() -> None:
    records = Accumulated()
    batch, _ = refused(records, *[100] * 8)
    whole = values(batch)
    parts = records.it.split(batch, PLAIN)

    assert len(parts) >= 2
    assert [value for part in parts for value in values(part)] == whole
    assert list(records.it.incomplete) == parts
    assert queued(records) == parts


def test_parts_are_as_old_as_the_whole_and_older_than_what_came_later() -> None:
    records = Accumulated(delivery_timeout=100.0)
    batch, _ = refused(records, *[100] * 8)
    number = records.it.flush()
    records.now = 50.0
    records.added(A1)
    parts = records.it.split(batch, PLAIN)

    assert list(records.it.incomplete)[:-1] == parts
    assert records.it.overdue(now=100.0) == parts
    assert not records.it.is_done(number)


def test_each_record_ends_with_the_part_that_has_it() -> None:
    records = Accumulated()
    batch, deliveries = refused(records, *[100] * 8)
    parts = records.it.split(batch, PLAIN)
    queued(records)
    records.it.delivered(parts[0], 40)
    for part in parts[1:]:
        records.it.failed(part, MessageTooLarge())

    first = parts[0].record_count
    assert [delivery.result().offset for delivery in deliveries[:first]] == [*range(40, 40 + first)]
    for delivery in deliveries[first:]:
        with pytest.raises(MessageTooLarge):
            delivery.result()


def test_parts_are_split_until_each_record_is_alone() -> None:
    records = Accumulated()
    batch, _ = refused(records, 1, 400, 1, 400)
    for _ in range(20):
        left = [each for each in queued(records) if each.record_count > 1] or [batch]
        if batch.phase is Phase.ENDED and left == [batch]:
            break
        for each in left:
            records.it.split(each, PLAIN)

    assert sizes(list(records.it.incomplete)) == [1, 1, 1, 1]


def test_memory_is_given_back_to_the_byte_when_all_parts_have_ended() -> None:
    records = Accumulated()
    batch, _ = refused(records, *[90] * 9)
    parts = records.it.split(batch, PLAIN)
    queued(records)
    taken = records.memory.limit - records.memory.free
    for part in parts:
        records.it.delivered(part, 0)

    assert taken == 1000
    assert records.memory.free == records.memory.limit


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (1, 0, 2)])
def test_parts_that_come_back_in_any_order_are_sent_again_in_theirs(order: tuple[int, ...]) -> None:
    records = Accumulated()
    batch, _ = refused(records, *[90] * 9)
    first, *rest = records.it.split(batch, PLAIN)
    queued(records)
    parts = [*records.it.split(first, PLAIN), *rest][:3]  # parts of a part among them
    queued(records)
    for at in order:
        records.it.retry(parts[at], LOST, not_before=0.0)

    assert queued(records) == parts


def test_parts_stand_behind_a_batch_that_came_back_before() -> None:
    records = Accumulated()
    records.add_batches(A0, 1)
    for _ in range(4):
        records.added(A0, bytes(200))
    records.it.flush()
    earlier, later = queued(records)
    records.it.retry(earlier, LOST, not_before=0.0)
    parts = records.it.split(later, PLAIN)

    assert queued(records) == [earlier, *parts]


# -- expiry (B06, B07, B08, B09)


def test_the_time_of_a_batch_begins_when_it_is_opened_whatever_becomes_of_it() -> None:  # B06
    records = Accumulated(linger=0.0, delivery_timeout=100.0)
    records.now = 0.1
    records.added(A0)
    (batch,) = records.drain()
    records.it.retry(batch, LOST, not_before=0.0)

    assert records.it.overdue_at == 100.1
    assert records.it.overdue(now=100.0) == []
    assert records.it.overdue(now=records.it.overdue_at) == [batch]


@pytest.mark.parametrize("opened_at", [0.1, 0.3, 1000.7, 86_400.123_456])
@pytest.mark.parametrize("timeout", [0.1, 30.005, 120.0])
def test_at_the_time_that_is_told_there_is_something_overdue(
    opened_at: float, timeout: float
) -> None:
    records = Accumulated(delivery_timeout=timeout)
    records.now = opened_at
    records.added(A0)

    assert len(records.it.overdue(now=records.it.overdue_at)) == 1


def expired_in_flight(records: Accumulated) -> tuple[Batch, Delivery]:
    delivery = records.added(A0)
    records.added(A0)
    records.it.flush()
    (batch,) = records.drain()
    records.it.expired(batch, KafkaTimeoutError("late"))
    return batch, delivery


def test_the_memory_of_a_batch_that_expired_in_a_request_is_free_when_that_ends() -> None:  # B08
    records = Accumulated()
    batch, delivery = expired_in_flight(records)
    assert delivery.done()
    assert records.memory.free == records.memory.limit - 1000

    records.it.retry(batch, LOST, not_before=0.0)
    records.it.retry(batch, LOST, not_before=0.0)

    assert records.memory.free == records.memory.limit


LATE: dict[str, Callable[[Accumulated, Batch], object]] = {
    "delivered": lambda records, batch: records.it.delivered(batch, 5),
    "failed": lambda records, batch: records.it.failed(batch, LOST),
    "sent again": lambda records, batch: records.it.retry(batch, LOST, not_before=0.0),
    "not sent": lambda records, batch: records.it.unsent(batch),
    "split": lambda records, batch: records.it.split(batch, PLAIN),
}


@pytest.mark.parametrize("how", LATE)
def test_a_late_answer_changes_nothing(how: str) -> None:  # B07
    records = Accumulated()
    batch, delivery = expired_in_flight(records)

    assert not LATE[how](records, batch)
    with pytest.raises(KafkaTimeoutError, match="late"):
        delivery.result()
    assert not records.it.incomplete
    assert records.ready() == {}
    assert records.memory.free == records.memory.limit


def test_in_order_expiry_in_a_request_does_not_let_the_next_one_overtake() -> None:  # B09
    records = Accumulated(in_order=True)
    records.add_batches(A0, 2)
    (first,) = records.drain()
    records.it.flush()
    records.it.expired(first, KafkaTimeoutError("late"))
    assert records.ready() == {}

    records.it.delivered(first, 0)

    assert records.ready() == {1: [A0]}


def test_a_batch_expires_in_its_queue_with_its_memory() -> None:
    records = Accumulated()
    delivery = records.added(A0)
    records.it.expired(next(iter(records.it.incomplete)), KafkaTimeoutError("late"))

    assert delivery.done()
    assert records.memory.free == records.memory.limit


# -- flush (B14), callbacks (B10)


def test_flushing_is_done_when_all_that_was_there_has_ended() -> None:  # B14
    records = Accumulated()
    records.added(A0)
    records.added(A1)
    number = records.it.flush()
    records.added(A0)
    first, second = records.drain()
    records.it.delivered(second, 0)
    assert not records.it.is_done(number)
    records.it.retry(first, LOST, not_before=0.0)
    assert not records.it.is_done(number)

    records.drain()
    records.it.delivered(first, 0)

    assert records.it.is_done(number)


def test_flushing_waits_for_all_parts_of_a_batch() -> None:
    records = Accumulated()
    batch, _ = refused(records, *[100] * 8)
    number = records.it.flush()
    *parts, last = records.it.split(batch, PLAIN)
    queued(records)
    for part in parts:
        records.it.delivered(part, 0)
    assert not records.it.is_done(number)

    records.it.delivered(last, 0)

    assert records.it.is_done(number)


def test_a_callback_may_append_while_its_batch_ends() -> None:  # B10
    records = Accumulated()
    again: list[Delivery] = []
    delivery = records.added(A0)
    delivery.add_done_callback(lambda _: again.append(records.added(A0)))
    error: KafkaError = KafkaTimeoutError("late")
    records.it.expired(next(iter(records.it.incomplete)), error)

    assert [each.done() for each in again] == [False]
    assert len(records.it.incomplete) == 1
