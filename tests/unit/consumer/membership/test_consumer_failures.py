from __future__ import annotations

from math import inf

import pytest

from kafka_aio.consumer.membership.member import Assign, Lose, Revoke, Tell
from kafka_aio.errors import (
    BrokerError,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    FencedInstanceId,
    FencedMemberEpoch,
    GroupAuthorizationFailed,
    GroupIdNotFound,
    GroupMaxSizeReached,
    InvalidRegularExpression,
    InvalidRequest,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    NotCoordinator,
    SaslAuthenticationFailed,
    TopicAuthorizationFailed,
    UnknownMemberId,
    UnknownServerError,
    UnreleasedInstanceId,
    UnsupportedAssignor,
    UnsupportedByBroker,
    UnsupportedVersion,
)
from tests.unit.consumer.membership.coordinated import (
    INTERVAL,
    Coordinated,
    partitions,
    slots,
)

T01 = {"t": [0, 1]}


@pytest.mark.parametrize("error", [KafkaConnectionError("x"), KafkaTimeoutError("x")])
def test_a_lost_heartbeat_is_followed_by_a_complete_one_after_a_pause(error: KafkaError) -> None:
    it = Coordinated("t")
    it.settle(epoch=2, target=T01)
    it.heartbeat(after=INTERVAL)

    it.fail(error)

    assert it.poll() == []
    assert it.member.deadline == it.now + 0.1
    again = it.heartbeat(after=0.1)
    assert again.member_epoch == 2
    assert again.topic_partitions == slots(T01)
    assert again.subscribed_topic_names == ["t"]
    assert again.rebalance_timeout_ms == 300_000


def test_pauses_grow_until_a_heartbeat_is_answered() -> None:
    it = Coordinated("t")
    it.settle()
    pauses = []
    for _ in range(4):
        it.poll(after=max(0.0, it.member.deadline - it.now))
        it.refuse(CoordinatorLoadInProgress())
        pauses.append(round(it.member.deadline - it.now, 3))
    it.poll(after=1.0)
    it.hear(1)
    it.heartbeat(after=INTERVAL)
    it.fail()

    assert pauses == [0.1, 0.2, 0.4, 0.8]
    assert round(it.member.deadline - it.now, 3) == 0.1


@pytest.mark.parametrize("error", [NotCoordinator(), CoordinatorNotAvailable()])
def test_a_coordinator_that_moved_is_looked_for_without_a_pause_once(error: BrokerError) -> None:
    it = Coordinated("t")
    it.settle()
    it.heartbeat(after=INTERVAL)

    it.refuse(error)
    it.heartbeat()
    it.refuse(error)

    assert it.poll() == []
    assert it.member.deadline > it.now


@pytest.mark.parametrize(
    ("error", "is_known"),
    [(FencedMemberEpoch(), True), (UnknownMemberId(), False), (GroupIdNotFound(), False)],
)
def test_who_is_fenced_loses_all_then_joins_as_the_same_member(
    error: BrokerError, is_known: bool
) -> None:
    it = Coordinated("t")
    it.settle(epoch=4, target=T01)
    it.heartbeat(after=INTERVAL)

    it.refuse(error)
    lose = it.only(Lose)
    during = (it.member.state, it.member.generation, it.poll(after=INTERVAL))
    it.done(lose)

    assert lose.partitions == partitions(t=[0, 1])
    assert during == ("fenced", -1, [])
    join = it.heartbeat()
    assert (join.member_id, join.member_epoch, join.topic_partitions) == ("m", 0, [])
    it.hear(5, T01)
    assert it.only(Assign).added == partitions(t=[0, 1])

    other = Coordinated("t")
    other.settle(epoch=4, target=T01)
    other.heartbeat(after=INTERVAL)
    other.refuse(error)
    assert (other.member.leave("closed") is not None) == is_known


@pytest.mark.parametrize("error", [FencedMemberEpoch(), UnknownMemberId()])
def test_a_join_that_is_fenced_is_tried_again_after_pauses_that_grow(error: BrokerError) -> None:
    it = Coordinated("t")
    it.ask()
    pauses = []
    for _ in range(3):
        it.poll(after=max(0.0, it.member.deadline - it.now))
        it.refuse(error)
        it.poll()
        pauses.append(round(it.member.deadline - it.now, 3))

    assert pauses == [0.1, 0.2, 0.4]


@pytest.mark.parametrize("kind", [Revoke, Assign])
def test_the_late_end_of_an_abandoned_reconciliation_leads_to_nothing(
    kind: type[Revoke] | type[Assign],
) -> None:
    it = Coordinated("t")
    it.settle(target={"t": [0, 1]})
    it.heartbeat(after=INTERVAL)
    it.hear(2, {"t": [1]} if kind is Revoke else {"t": [0, 1, 2]})
    step: Revoke | Assign = it.only(kind)
    it.heartbeat(after=INTERVAL)
    it.refuse(FencedMemberEpoch())

    assert it.poll() == []

    it.done(step)
    lose = it.only(Lose)

    # What the user was told of counts; but no more steps, and no acknowledgement, come of it.
    assert lose.partitions == (partitions(t=[1]) if kind is Revoke else partitions(t=[0, 1, 2]))
    it.done(lose)
    assert it.heartbeat().member_epoch == 0


def test_a_first_assignment_that_is_late_is_lost_too() -> None:
    it = Coordinated("t")
    it.join(target=T01)
    step = it.only(Assign)
    it.heartbeat(after=INTERVAL)
    it.refuse(UnknownMemberId())

    assert it.poll() == []

    it.done(step)

    assert it.only(Lose).partitions == partitions(t=[0, 1])


@pytest.mark.parametrize("is_late", [False, True])
def test_who_joins_again_is_told_an_empty_target_again(is_late: bool) -> None:
    it = Coordinated("t")
    it.join(target={})
    step = it.only(Assign)
    if not is_late:
        it.done(step)
    it.poll(after=INTERVAL)
    it.refuse(FencedMemberEpoch())
    if is_late:
        it.done(step)
    it.heartbeat()

    it.hear(2, {})

    assert it.only(Assign).partitions == ()


def test_who_is_fenced_after_failures_joins_without_a_pause() -> None:
    it = Coordinated("t")
    it.settle()
    it.heartbeat(after=INTERVAL)
    it.fail()
    it.heartbeat(after=1.0)

    it.refuse(UnknownMemberId())

    assert it.heartbeat().member_epoch == 0
    it.fail()
    assert it.member.deadline == it.now + 0.1


FATAL = [
    UnreleasedInstanceId(),
    FencedInstanceId(),
    GroupAuthorizationFailed(),
    InvalidRequest("why"),
    GroupMaxSizeReached(),
    UnsupportedAssignor(),
    InvalidRegularExpression(),
    UnknownServerError(),
]


@pytest.mark.parametrize("error", FATAL, ids=lambda error: error.name)
def test_an_error_that_lasts_is_told_and_all_is_lost(error: BrokerError) -> None:
    it = Coordinated("t", instance_id="i")
    it.settle(target=T01)
    it.heartbeat(after=INTERVAL)

    it.refuse(error)
    tell, lose = it.poll()

    assert isinstance(tell, Tell)
    assert isinstance(lose, Lose)
    assert type(tell.error) is type(error)
    assert "group g" in str(tell.error)
    assert error.message in str(tell.error)
    assert it.member.state == "fatal"
    it.done(lose)
    assert (it.poll(after=INTERVAL), it.member.deadline) == ([], inf)
    assert it.member.leave("closed") is None


def test_after_an_error_that_lasts_who_asks_again_joins_again_after_a_pause() -> None:
    it = Coordinated("t")
    it.ask()
    it.heartbeat()
    it.refuse(GroupAuthorizationFailed())
    assert it.member.deadline <= it.now
    it.only(Tell)

    it.ask()

    assert it.poll() == []
    assert it.member.deadline == it.now + 0.1
    assert it.heartbeat(after=0.1).member_epoch == 0


def test_who_asked_before_the_error_was_told_has_to_ask_again() -> None:
    it = Coordinated("t")
    it.ask()
    it.heartbeat()
    it.refuse(GroupAuthorizationFailed())

    it.ask()
    it.only(Tell)
    it.subscribe("t")

    assert (it.poll(after=INTERVAL), it.member.deadline) == ([], inf)


def test_another_subscription_after_an_error_that_lasts_is_tried_without_a_pause() -> None:
    it = Coordinated(regex="(")
    it.ask()
    it.heartbeat()
    it.refuse(InvalidRegularExpression())
    it.only(Tell)

    it.subscribe(regex="t.*")
    before = it.poll()
    it.ask()

    assert before == []
    assert it.heartbeat().subscribed_topic_regex == "t.*"


def test_a_topic_that_is_forbidden_is_told_once_until_the_user_acts() -> None:
    it = Coordinated("t")
    it.settle(target=T01)
    told = []
    for _ in range(3):
        it.poll(after=INTERVAL)
        it.refuse(TopicAuthorizationFailed())
        told.append([type(each) for each in it.poll()])
    for news in ("t", "", "u"):
        it.subscribe(news) if news else it.ask()
        it.poll(after=1.0)
        it.refuse(TopicAuthorizationFailed())
        told.append([type(each) for each in it.poll()])

    assert told == [[Tell], [], [], [], [Tell], [Tell]]
    assert it.member.generation == 1
    assert it.member.owned == set(partitions(t=[0, 1]))
    assert it.heartbeat(after=1.0).subscribed_topic_names == ["u"]


@pytest.mark.parametrize(
    ("regex", "error", "advice"),
    [
        (None, UnsupportedVersion("no API 68"), "group_protocol='consumer' needs Kafka 4.0"),
        (None, UnsupportedByBroker("off"), "use 'classic'"),
        ("t.*", UnsupportedByBroker("off"), "use 'classic'"),
        ("t.*", UnsupportedVersion("no place"), r"pattern .* needs Kafka 4.0 .* re\.Pattern"),
    ],
)
def test_a_broker_that_is_too_old_is_told_with_advice(
    regex: str | None, error: KafkaError, advice: str
) -> None:
    it = Coordinated("t", regex=regex)
    it.ask()
    it.heartbeat()

    if isinstance(error, BrokerError):
        it.refuse(error)
    else:
        it.fail(error)
    told = it.only(Tell).error

    assert isinstance(told, UnsupportedVersion)
    with pytest.raises(UnsupportedVersion, match=advice):
        raise told


def test_refused_credentials_are_told() -> None:
    it = Coordinated("t")
    it.ask()
    it.heartbeat()

    it.fail(SaslAuthenticationFailed())

    assert isinstance(it.only(Tell).error, SaslAuthenticationFailed)
