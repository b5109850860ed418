from __future__ import annotations

import pickle
from math import inf

import pytest

from kafka_aio.consumer import offsets
from kafka_aio.consumer.offsets import Checked, CheckPlan, LogTruncated, ResetPlan
from kafka_aio.consumer.position import EARLIEST, LATEST, Phase, Position, Reset, ResetTo
from kafka_aio.consumer.subscription import Subscription
from kafka_aio.errors import (
    AuthenticationError,
    CorruptRecord,
    KafkaConnectionError,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    ProtocolError,
    TopicAuthorizationFailed,
    UnsupportedVersion,
)
from kafka_aio.listing import BEGINNING, END, Listed
from kafka_aio.metadata import Leader
from kafka_aio.protocol.messages.offsets import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from kafka_aio.types import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition
from tests.unit.consumer.owned import (
    A0,
    A1,
    B0,
    FIRST,
    SECOND,
    awaiting_validation,
    fetching,
    led_by,
)

AN_HOUR = Reset(ResetTo.BY_DURATION, 3_600.0)
DENIED = TopicAuthorizationFailed(where="a-0")
MOVED = NotLeaderOrFollower(where="a-0")


def eras(subscription: Subscription) -> dict[TopicPartition, int]:
    return {each.partition: each.era for each in subscription}


def resetting(to: Reset) -> Subscription:
    subscription = fetching(A0)
    subscription[A0].reset(to)
    return subscription


def plan_resets(subscription: Subscription, *, now: float = 0.0) -> list[ResetPlan]:
    return offsets.plan_resets(subscription, now=now, retry_at=now + 30.0, wall_time=10_000.0)


def settle_resets(
    subscription: Subscription, plans: list[ResetPlan], offset: int | None
) -> dict[TopicPartition, object]:
    found = None if offset is None else OffsetAndTimestamp(offset, -1)
    return dict(offsets.settle_resets(subscription, plans, Listed(found={A0: found}), retry_at=1.0))


def plan_checks(subscription: Subscription, *, now: float = 0.0) -> list[CheckPlan]:
    return offsets.plan_checks(subscription, now=now, retry_at=now + 30.0)


def told(*, epoch: int = -1, end: int = -1, code: int = 0) -> OffsetForLeaderEpochResponse:
    """An answer about the first partition of topic a."""
    answer = EpochEndOffset(error_code=code, partition=0, leader_epoch=epoch, end_offset=end)
    topic = OffsetForLeaderTopicResult(topic="a", partitions=[answer])
    return OffsetForLeaderEpochResponse(throttle_time_ms=0, topics=[topic])


def settle_checks(
    subscription: Subscription, plans: list[CheckPlan], response: OffsetForLeaderEpochResponse
) -> Checked:
    return offsets.settle_checks(subscription, plans, response, retry_at=1.0)


# Where to begin


def test_a_consumer_begins_at_the_committed_offset_and_without_one_where_the_policy_leads() -> None:
    subscription = led_by(FIRST, A0, A1, B0)
    committed = {A0: OffsetAndMetadata(7), A1: OffsetAndMetadata(8, leader_epoch=4), B0: None}

    assert offsets.begin(subscription, eras(subscription), committed) is None
    assert subscription[A0].position == Position(7)
    assert subscription[A0].phase is Phase.FETCHING
    assert subscription[A1].position == Position(8, 4)
    assert subscription[A1].phase is Phase.AWAITING_VALIDATION
    assert subscription[B0].reset_to == LATEST


def test_without_a_policy_those_with_no_committed_offset_are_named() -> None:
    subscription = led_by(FIRST, A0, A1)
    subscription.policy = None

    error = offsets.begin(subscription, eras(subscription), {A0: OffsetAndMetadata(7)})

    assert error is not None
    assert error.partitions == (A1,)
    assert "a-1: no offset is committed" in str(error)
    assert pickle.loads(pickle.dumps(error)).partitions == (A1,)
    assert subscription[A0].phase is Phase.FETCHING
    assert subscription[A1].phase is Phase.INITIALISING


def test_a_committed_offset_that_comes_after_a_seek_or_a_revocation_is_old() -> None:
    # B45
    subscription = led_by(FIRST, A0, A1)
    asked = eras(subscription)
    subscription.seek(A0, 3)
    subscription.revoked([A1])
    committed = {A0: OffsetAndMetadata(7), A1: OffsetAndMetadata(8)}

    assert offsets.begin(subscription, asked, committed) is None
    assert subscription[A0].position == Position(3)
    assert A1 not in subscription


# Out of range


def test_an_offset_out_of_range_is_reset_by_the_policy() -> None:
    # B45
    subscription = fetching(A0, policy=EARLIEST)

    assert offsets.out_of_range(subscription, A0, subscription[A0].era, 10) is None
    assert subscription[A0].phase is Phase.AWAITING_RESET
    assert subscription[A0].reset_to == EARLIEST


def test_without_a_policy_an_offset_out_of_range_is_told_and_the_position_stays() -> None:
    # B45
    subscription = fetching(A0, policy=None)

    error = offsets.out_of_range(subscription, A0, subscription[A0].era, 10)

    assert isinstance(error, OffsetOutOfRange)
    assert "a-0, offset 10" in str(error)
    assert subscription[A0].position == Position(10)


@pytest.mark.parametrize("policy", [EARLIEST, None])
def test_an_old_offset_out_of_range_changes_nothing(policy: Reset | None) -> None:
    # B45: after a seek, after a step forward, during a validation, after a revocation
    subscription = fetching(A0, policy=policy)
    old = subscription[A0].era
    subscription.seek(A0, 10)
    new = subscription[A0].era

    assert offsets.out_of_range(subscription, A0, old, 10) is None
    assert offsets.out_of_range(subscription, A0, new, 9) is None
    assert offsets.out_of_range(subscription, B0, new, 10) is None
    assert subscription[A0].phase is Phase.FETCHING

    subscription.advance(A0, new, Position(10, 5))
    subscription.lead(lambda _: SECOND)

    assert offsets.out_of_range(subscription, A0, new, 10) is None
    assert subscription[A0].phase is Phase.AWAITING_VALIDATION


# Damaged


def test_damage_at_the_position_is_told_with_its_place_and_elsewhere_it_is_not() -> None:
    # B43
    subscription = fetching(A0)
    old = subscription[A0].era
    error = offsets.damaged(subscription, A0, old, 10)
    subscription.seek(A0, 10)

    assert isinstance(error, CorruptRecord)
    assert (error.topic, error.partition, error.offset) == ("a", 0, 10)
    assert offsets.damaged(subscription, A0, subscription[A0].era, 11) is None
    assert offsets.damaged(subscription, A0, old, 10) is None


# Resets


@pytest.mark.parametrize(
    ("to", "time"), [(EARLIEST, BEGINNING), (LATEST, END), (AN_HOUR, 6_400_000)]
)
def test_a_reset_asks_for_the_offset_that_it_leads_to(to: Reset, time: int) -> None:
    subscription = resetting(to)
    plans = plan_resets(subscription)

    assert plans == [ResetPlan(A0, subscription[A0].era, time)]

    assert settle_resets(subscription, plans, 3) == {}
    assert subscription[A0].position == Position(3)
    assert subscription[A0].is_fetchable


def test_a_duration_longer_than_time_itself_asks_for_no_special_offset() -> None:
    subscription = resetting(Reset(ResetTo.BY_DURATION, 1e9))

    assert [plan.timestamp for plan in plan_resets(subscription)] == [0]


def test_a_reset_by_duration_that_finds_no_record_leads_to_the_end() -> None:
    subscription = resetting(AN_HOUR)
    asked = []
    for offset in (None, 42, None):
        (plan,) = plan_resets(subscription)
        asked.append(plan.timestamp)
        settle_resets(subscription, [plan], offset)

    assert asked == [6_400_000, END, 6_400_000]
    assert subscription[A0].position == Position(42)


def test_a_record_that_comes_before_the_end_was_found_is_not_skipped() -> None:
    subscription = resetting(AN_HOUR)
    for offset in (None, 42, 41):
        settle_resets(subscription, plan_resets(subscription), offset)

    assert subscription[A0].position == Position(41)


def test_an_answer_to_an_earlier_step_of_a_reset_is_old() -> None:
    subscription = resetting(AN_HOUR)
    first = plan_resets(subscription)
    again = plan_resets(subscription, now=30.0)
    settle_resets(subscription, again, None)
    settle_resets(subscription, plan_resets(subscription), 42)
    settle_resets(subscription, first, None)

    assert subscription[A0].phase is Phase.AWAITING_RESET


def test_a_reset_that_was_overtaken_changes_nothing() -> None:
    # B45
    subscription = resetting(EARLIEST)
    plans = plan_resets(subscription)
    subscription.seek(A0, 77)

    assert settle_resets(subscription, plans, 3) == {}
    denied = Listed(failed={A0: DENIED})
    assert offsets.settle_resets(subscription, plans, denied, retry_at=1.0) == {}
    assert subscription[A0].position == Position(77)

    subscription.seek_to_beginning()
    plans = plan_resets(subscription)
    subscription.seek_to_end()

    settle_resets(subscription, plans, 3)
    assert subscription[A0].phase is Phase.AWAITING_RESET
    assert subscription[A0].reset_to == LATEST


def test_what_is_asked_for_rests_until_it_is_answered_or_its_time_is_over() -> None:
    subscription = resetting(EARLIEST)
    assert offsets.next_plan_at(subscription) == -inf

    plans = plan_resets(subscription)
    assert plan_resets(subscription, now=29.0) == []
    assert offsets.next_plan_at(subscription) == 30.0

    moved = Listed(again={A0: MOVED})
    assert offsets.settle_resets(subscription, plans, moved, retry_at=1.0) == {}
    assert offsets.next_plan_at(subscription) == 1.0
    assert plan_resets(subscription, now=0.9) == []
    assert plan_resets(subscription, now=1.0) == plans


def test_a_reset_that_is_refused_is_told_and_asked_again_later() -> None:
    subscription = resetting(EARLIEST)
    plans = plan_resets(subscription)
    listed = Listed(failed={A0: DENIED})

    assert offsets.settle_resets(subscription, plans, listed, retry_at=1.0) == {A0: DENIED}
    assert plan_resets(subscription, now=1.0) == plans


def test_an_answer_settles_the_partitions_it_is_about_only() -> None:
    subscription = fetching(A0, A1)
    subscription.seek_to_end()
    plans = plan_resets(subscription)
    settle_resets(subscription, plans, 3)

    assert subscription[A0].position == Position(3)
    assert subscription[A1].phase is Phase.AWAITING_RESET
    assert offsets.next_plan_at(subscription) == 30.0


def test_nothing_is_asked_while_nobody_leads() -> None:
    subscription = resetting(EARLIEST)
    subscription.lead(lambda _: None)

    assert plan_resets(subscription) == []
    assert offsets.next_plan_at(subscription) == inf

    subscription.lead(lambda _: SECOND)

    assert len(plan_resets(subscription)) == 1


# Validation (KIP-320), B49


def test_a_check_asks_the_leader_for_the_end_of_the_epoch_that_was_read() -> None:
    subscription = awaiting_validation(at=10, epoch=5)
    plans = plan_checks(subscription)
    (request,) = offsets.check_requests(plans).values()

    assert plans == [CheckPlan(A0, subscription[A0].era, Position(10, 5), SECOND)]
    assert request.replica_id == -1
    (asked,) = request.topics[0].partitions
    assert (request.topics[0].topic, asked.partition) == ("a", 0)
    assert (asked.current_leader_epoch, asked.leader_epoch) == (6, 5)


def test_there_is_one_check_for_each_node() -> None:
    leaders = {A0: FIRST, A1: SECOND, B0: FIRST}
    subscription = led_by(None, A0, A1, B0)
    subscription.lead(leaders.get)
    for partition in leaders:
        subscription.seek(partition, OffsetAndMetadata(1, leader_epoch=0))
    requests = offsets.check_requests(plan_checks(subscription))

    asked = {
        node: [(topic.topic, len(topic.partitions)) for topic in request.topics]
        for node, request in requests.items()
    }
    assert asked == {1: [("a", 1), ("b", 1)], 2: [("a", 1)]}


@pytest.mark.parametrize("end", [10, 11, 500])
def test_a_position_within_its_epoch_is_good(end: int) -> None:
    subscription = awaiting_validation(at=10, epoch=5)
    era = subscription[A0].era

    checked = settle_checks(subscription, plan_checks(subscription), told(epoch=5, end=end))

    assert checked == Checked()
    assert subscription[A0].is_fetchable
    assert (subscription[A0].position, subscription[A0].era) == (Position(10, 5), era)


def test_a_truncated_log_is_read_again_from_where_it_parts() -> None:
    subscription = awaiting_validation(at=10, epoch=5)
    subscription.ask()

    checked = settle_checks(subscription, plan_checks(subscription), told(epoch=4, end=7))

    assert checked == Checked(truncated={A0: Position(7, 4)})
    assert subscription[A0].is_fetchable
    assert subscription[A0].position == Position(7, 4)
    assert subscription.committable() == {A0: OffsetAndMetadata(7, leader_epoch=4)}


@pytest.mark.parametrize(("epoch", "end"), [(-1, -1), (-1, 7), (5, -1)])
def test_a_log_that_does_not_know_the_epoch_is_reset(epoch: int, end: int) -> None:
    subscription = awaiting_validation(policy=EARLIEST)

    checked = settle_checks(subscription, plan_checks(subscription), told(epoch=epoch, end=end))

    assert checked == Checked(truncated={A0: None})
    assert subscription[A0].reset_to == EARLIEST


@pytest.mark.parametrize(
    ("epoch", "end", "diverged", "text"),
    [(4, 7, Position(7, 4), "at 7 (epoch 4)"), (-1, -1, None, "somewhere")],
)
def test_without_a_policy_a_truncated_log_is_told_until_the_user_seeks(
    epoch: int, end: int, diverged: Position | None, text: str
) -> None:
    subscription = awaiting_validation(at=10, epoch=5, policy=None)

    checked = settle_checks(subscription, plan_checks(subscription), told(epoch=epoch, end=end))

    error = checked.failed[A0]
    assert isinstance(error, LogTruncated)
    assert (error.partition, error.position, error.diverged) == (A0, Position(10, 5), diverged)
    assert f"it parts from it {text}" in str(error)
    assert pickle.loads(pickle.dumps(error)).diverged == diverged
    assert subscription[A0].position == Position(10, 5)
    assert not subscription[A0].is_fetchable
    assert len(plan_checks(subscription, now=1.0)) == 1

    subscription.seek(A0, 7)
    assert subscription[A0].is_fetchable


@pytest.mark.parametrize("response", [told(epoch=4, end=7), told(code=DENIED.code)])
def test_a_check_that_was_overtaken_by_a_seek_changes_nothing(
    response: OffsetForLeaderEpochResponse,
) -> None:
    # B45
    subscription = awaiting_validation(at=10, epoch=5)
    plans = plan_checks(subscription)
    subscription.seek(A0, OffsetAndMetadata(10, leader_epoch=5))

    assert settle_checks(subscription, plans, response) == Checked()
    assert subscription[A0].position == Position(10, 5)
    assert subscription[A0].phase is Phase.AWAITING_VALIDATION

    subscription.seek(A0, 10)

    assert settle_checks(subscription, plans, response) == Checked()
    assert subscription[A0].is_fetchable


def test_a_check_that_was_overtaken_by_a_leader_or_a_step_is_made_again_at_once() -> None:
    subscription = awaiting_validation(at=10, epoch=5)
    plans = plan_checks(subscription)
    subscription.lead(lambda _: Leader(3, 7))

    assert settle_checks(subscription, plans, told(epoch=5, end=10)) == Checked()
    assert subscription[A0].phase is Phase.AWAITING_VALIDATION

    plans = plan_checks(subscription)
    assert plans[0].leader == Leader(3, 7)
    subscription.advance(A0, subscription[A0].era, Position(12, 5))

    assert settle_checks(subscription, plans, told(epoch=5, end=10)) == Checked()
    assert plan_checks(subscription)[0].position == Position(12, 5)


def test_a_second_answer_to_the_same_question_changes_nothing() -> None:
    subscription = awaiting_validation(at=10, epoch=5)
    plans = [*plan_checks(subscription), *plan_checks(subscription, now=30.0)]

    assert len(plans) == 2
    assert settle_checks(subscription, plans, told(epoch=5, end=10)) == Checked()
    assert settle_checks(subscription, plans, told(epoch=4, end=7)) == Checked()
    assert subscription[A0].position == Position(10, 5)


def test_a_check_that_fails_for_now_is_made_again_later() -> None:
    subscription = awaiting_validation()
    plans = plan_checks(subscription)
    assert plan_checks(subscription, now=29.0) == []

    checked = settle_checks(subscription, plans, told(code=MOVED.code))

    assert isinstance(checked.again[A0], NotLeaderOrFollower)
    assert checked.stale_metadata
    assert checked.failed == {}
    assert plan_checks(subscription, now=0.9) == []
    assert plan_checks(subscription, now=1.0) == plans


def test_a_check_that_is_refused_is_told() -> None:
    subscription = awaiting_validation()

    checked = settle_checks(subscription, plan_checks(subscription), told(code=DENIED.code))

    assert isinstance(checked.failed[A0], TopicAuthorizationFailed)
    assert not checked.stale_metadata
    assert subscription[A0].phase is Phase.AWAITING_VALIDATION


def test_a_check_that_is_not_answered_is_made_again_later() -> None:
    subscription = awaiting_validation()
    nothing = OffsetForLeaderEpochResponse(throttle_time_ms=0, topics=[])

    checked = settle_checks(subscription, plan_checks(subscription), nothing)

    assert isinstance(checked.again[A0], ProtocolError)
    assert offsets.next_plan_at(subscription) == 1.0


def test_a_check_that_came_to_nothing_is_made_again_later_or_told() -> None:
    subscription = awaiting_validation()
    plans = plan_checks(subscription)
    cut, refused = KafkaConnectionError("cut"), AuthenticationError("who?")

    checked = offsets.not_checked(subscription, plans, cut, retry_at=1.0)
    assert checked == Checked(again={A0: cut})
    checked = offsets.not_checked(subscription, plans, refused, retry_at=1.0)
    assert checked == Checked(failed={A0: refused})
    assert offsets.next_plan_at(subscription) == 1.0

    subscription.seek(A0, 3)
    assert offsets.not_checked(subscription, plans, refused, retry_at=1.0) == Checked()


def test_a_broker_that_cannot_be_asked_is_believed() -> None:
    subscription = awaiting_validation()
    plans = plan_checks(subscription)
    too_old = UnsupportedVersion("too old")

    assert offsets.not_checked(subscription, plans, too_old, retry_at=1.0) == Checked()
    assert subscription[A0].is_fetchable
