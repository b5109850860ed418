"""Errors on their way to who reads next: in order, once, and not about what is gone (B45)."""

from __future__ import annotations

import pytest

from kafka_aio.consumer.handover import Handover
from kafka_aio.consumer.subscription import Subscription
from kafka_aio.errors import KafkaError, OffsetOutOfRange, WakeupError
from tests.unit.consumer.owned import A0, A1


@pytest.fixture
def subscription() -> Subscription:
    made = Subscription()
    made.assign([A0, A1])
    made.seek(A0, 5)
    return made


@pytest.fixture
def handover(subscription: Subscription) -> Handover:
    made = Handover()
    made.partitions = subscription.partitions
    return made


def raised(handover: Handover) -> list[KafkaError]:
    """All that there is to raise, in order."""
    found: list[KafkaError] = []
    while handover.has_told:
        try:
            handover.raise_told()
        except KafkaError as error:
            found.append(error)
    handover.raise_told()
    return found


def test_errors_are_raised_in_order_and_once(handover: Handover) -> None:
    first, second = OffsetOutOfRange("first"), OffsetOutOfRange("second")
    handover.tell(first, A0)
    handover.tell(second)
    handover.tell(OffsetOutOfRange("first"), A0)

    assert raised(handover) == [first, second]


def test_an_error_of_a_position_that_is_gone_is_not_raised(
    handover: Handover, subscription: Subscription
) -> None:
    kept = WakeupError("of no partition")
    handover.tell(OffsetOutOfRange("sought away"), A0)
    handover.tell(kept)
    handover.tell(OffsetOutOfRange("given up"), A1)
    subscription.seek(A0, 6)
    subscription.assign([A0])

    assert raised(handover) == [kept]


def test_an_error_of_several_partitions_is_raised_while_it_is_true_of_one(
    handover: Handover, subscription: Subscription
) -> None:
    error = OffsetOutOfRange("both")
    handover.tell(error, A0, A1)
    subscription.seek(A0, 6)

    assert raised(handover) == [error]


def test_an_error_that_comes_again_after_a_seek_is_raised(
    handover: Handover, subscription: Subscription
) -> None:
    again = OffsetOutOfRange("of a record")
    handover.tell(OffsetOutOfRange("of a record"), A0)
    subscription.seek(A0, 5)
    handover.tell(again, A0)

    assert raised(handover) == [again]


def test_an_error_of_a_partition_that_is_held_waits(
    handover: Handover, subscription: Subscription
) -> None:
    error, other = OffsetOutOfRange("of a record"), WakeupError("of no partition")
    handover.tell(error, A0)
    handover.tell(other)
    subscription.revoking([A0])

    assert raised(handover) == [other]
    subscription.release([A0])
    assert raised(handover) == [error]


def test_an_error_of_a_partition_that_is_not_owned_is_not_raised(handover: Handover) -> None:
    handover.tell(OffsetOutOfRange("too late"), A1._replace(partition=9))

    assert raised(handover) == []
