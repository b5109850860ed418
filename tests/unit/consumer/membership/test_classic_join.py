"""How a member of a classic group gets in, and what it says of itself."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import pytest

from kafka_aio.backoff import Backoff
from kafka_aio.consumer.assignors.claims import Claim
from kafka_aio.consumer.assignors.range import RangeAssignor
from kafka_aio.consumer.assignors.sticky import StickyAssignor, decode_claim
from kafka_aio.consumer.membership.classic_heartbeats import Heartbeats
from kafka_aio.consumer.membership.holdings import Holdings
from kafka_aio.consumer.membership.member import Lose, Send, Tell, Wanted, is_moved
from kafka_aio.consumer.membership.subscriptions import Subscription
from kafka_aio.errors import (
    ConfigError,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    KafkaConnectionError,
    MemberIdRequired,
    NotCoordinator,
    RebalanceInProgress,
    UnknownMemberId,
)
from kafka_aio.protocol.messages.groups import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
)
from kafka_aio.types import TopicPartition
from tests.unit.consumer.membership.classic import (
    A0,
    A1,
    B0,
    COOPERATIVE,
    REBALANCE,
    Played,
    joined,
    refused,
    synced,
    told,
)


class Raising(RangeAssignor):
    """An assignor of the user's that has nothing to say."""

    def user_data(self, owned: Sequence[TopicPartition], generation: int) -> bytes | None:
        raise LookupError("no data")


def test_it_joins_once_topics_are_wanted_and_records_asked_for() -> None:
    played = Played(topics=())
    assert played.steps() == []
    played.wants("a")

    assert played.member.state == "joining"
    assert played.sent(JoinGroupRequest).group_id == "g"


def test_it_does_not_join_before_records_are_asked_for() -> None:
    played = Played(asks=False)

    assert (played.steps(), played.member.deadline, played.member.state) == ([], inf, "out")
    played.asks()
    assert played.sent(JoinGroupRequest).member_id == ""


def test_what_it_says_when_it_joins() -> None:
    played = Played(topics=["b", "a"], rack="r")

    send = played.step(Send)

    request = send.request
    assert isinstance(request, JoinGroupRequest)
    assert send.timeout == REBALANCE + 5
    assert request == JoinGroupRequest(
        group_id="g",
        session_timeout_ms=45_000,
        rebalance_timeout_ms=300_000,
        member_id="",
        group_instance_id=None,
        protocol_type="consumer",
        protocols=request.protocols,
        reason=None,
    )
    assert [each.name for each in request.protocols] == ["range", "cooperative-sticky"]
    assert told(request) == Subscription(("a", "b"), rack="r")


def test_a_member_id_that_is_given_is_used_at_once() -> None:
    played = Played()
    played.refuse(played.sent(JoinGroupRequest), MemberIdRequired, member_id="given")

    again = played.sent(JoinGroupRequest)

    assert (again.member_id, again.reason) == ("given", "a member id was required")
    assert played.member.generation == -1


def test_a_coordinator_that_asks_for_a_member_id_for_ever_is_told_of() -> None:
    played = Played()
    played.refuse(played.sent(JoinGroupRequest), MemberIdRequired, member_id="given")
    played.refuse(played.sent(JoinGroupRequest), MemberIdRequired, member_id="other")

    assert isinstance(played.step(Tell).error, MemberIdRequired)
    assert played.member.member_id == "given"


def test_an_empty_member_id_is_none() -> None:
    played = Played()
    played.refuse(played.sent(JoinGroupRequest), MemberIdRequired)

    assert isinstance(played.step(Tell).error, MemberIdRequired)


@pytest.mark.parametrize("at_sync", [False, True])
def test_the_member_id_survives_a_lost_connection(at_sync: bool) -> None:
    played = Played()
    played.refuse(played.sent(JoinGroupRequest), MemberIdRequired, member_id="me")
    if at_sync:
        played.joins()
        played.fail(played.sent(SyncGroupRequest), KafkaConnectionError())
    else:
        played.fail(played.sent(JoinGroupRequest), KafkaConnectionError())

    assert played.steps() == []
    played.now = played.member.deadline
    again = played.sent(JoinGroupRequest)

    assert again.member_id == "me"
    assert again.reason == "the rebalance failed: KafkaConnectionError"


def test_a_member_id_that_is_not_known_is_dropped() -> None:
    played = Played()
    played.refuse(played.sent(JoinGroupRequest), MemberIdRequired, member_id="me")

    played.refuse(played.sent(JoinGroupRequest), UnknownMemberId)

    assert played.sent(JoinGroupRequest).member_id == ""


@pytest.mark.parametrize(
    "error", [CoordinatorNotAvailable, NotCoordinator, CoordinatorLoadInProgress]
)
def test_pauses_grow_while_the_coordinator_is_not_there(
    error: type[CoordinatorNotAvailable],
) -> None:
    played = Played(backoff=Backoff(0.1, 0.3))

    for pause in [0.12, 0.24, 0.3, 0.3]:
        request = played.sent(JoinGroupRequest)
        played.answer(request, refused(request, error), jitter=1.0)
        assert played.member.deadline == pytest.approx(played.now + pause)
        assert played.steps() == []
        played.now = played.member.deadline


def test_a_rebalance_that_begins_anew_is_joined_at_once_and_then_with_pauses() -> None:
    played = Played()

    for pause in [0.0, 0.2, 0.4]:  # not 0.1: the first one was spared
        played.joins()
        played.refuse(played.sent(SyncGroupRequest), RebalanceInProgress)
        assert played.member.deadline == pytest.approx(played.now + pause)
        played.now = played.member.deadline


def test_pauses_begin_anew_once_it_is_stable() -> None:
    played = Played()
    played.fail(played.sent(JoinGroupRequest), KafkaConnectionError())
    played.now = played.member.deadline
    played.becomes_stable()
    played.member.rejoin("again")

    played.fail(played.sent(JoinGroupRequest), KafkaConnectionError())

    assert played.member.deadline == pytest.approx(played.now + 0.1)


def test_a_static_member_says_its_name_in_every_request() -> None:
    played = Played(instance_id="i")
    join = played.joins()
    sync = played.sent(SyncGroupRequest)
    played.fail(sync, KafkaConnectionError())
    heartbeat = Played(instance_id="i")
    heartbeat.becomes_stable()

    assert join.group_instance_id == sync.group_instance_id == "i"
    assert heartbeat.heartbeat().group_instance_id == "i"
    leave = heartbeat.member.leave("bye", stays=False)
    assert leave == LeaveGroupRequest(
        group_id="g",
        members=[MemberIdentity(member_id="me", group_instance_id="i", reason="bye")],
    )


def test_the_sync_says_what_was_joined() -> None:
    played = Played()
    played.joins(generation=7)

    assert played.sent(SyncGroupRequest) == SyncGroupRequest(
        group_id="g",
        generation_id=7,
        member_id="me",
        protocol_type="consumer",
        protocol_name="range",
        assignments=[],
    )


def test_other_topics_are_joined_for_again() -> None:
    played = Played()
    played.becomes_stable(A0)
    played.wants("a", "b")

    assert played.revokes() == (A0,)
    again = played.sent(JoinGroupRequest)
    assert (again.member_id, again.reason) == ("me", "the subscription has changed")
    assert told(again).topics == ("a", "b")


def test_the_same_topics_are_not() -> None:
    played = Played()
    played.becomes_stable(A0)
    played.wants("b")
    played.wants("a")

    assert played.steps() == []


def test_who_wants_other_topics_during_a_join_joins_again_after_it() -> None:
    played = Played(topics=["a", "b"])
    played.joins()
    played.wants("a")
    played.syncs(A0)
    played.assigns()

    assert played.revokes() == (A0,)
    assert told(played.sent(JoinGroupRequest)).topics == ("a",)


def test_a_member_that_wants_nothing_any_more_says_so() -> None:
    played = Played()
    played.becomes_stable(A0)
    played.wants()

    assert played.revokes() == (A0,)
    request = played.sent(JoinGroupRequest)
    assert told(request).topics == ()
    played.fail(request, KafkaConnectionError())
    played.now = played.member.deadline
    assert told(played.sent(JoinGroupRequest)).topics == ()


def test_a_rejoin_gives_the_reason_cut_to_size() -> None:
    played = Played()
    played.becomes_stable()

    played.member.rejoin("x" * 300)

    assert played.sent(JoinGroupRequest).reason == "x" * 255


def test_a_rejoin_while_it_rests_gives_its_reason_to_the_next_join() -> None:
    played = Played()
    played.fail(played.sent(JoinGroupRequest), KafkaConnectionError())
    played.member.rejoin("topics have changed")
    played.now = played.member.deadline

    assert played.sent(JoinGroupRequest).reason == "topics have changed"


def test_a_rejoin_during_a_join_is_that_join_but_during_a_sync_another() -> None:
    played = Played()
    request = played.sent(JoinGroupRequest)
    played.member.rejoin("early")
    played.answer(request, joined())
    played.syncs(A0)
    played.assigns()
    assert played.steps() == []
    played.member.rejoin("first")
    played.revokes()
    played.joins()
    request_of_sync = played.sent(SyncGroupRequest)
    played.member.rejoin("second")
    played.answer(request_of_sync, synced(A0))
    played.assigns()

    assert played.revokes() == (A0,)
    assert played.sent(JoinGroupRequest).reason == "second"


def test_a_cooperative_member_says_what_it_keeps_and_since_when() -> None:
    played = Played(COOPERATIVE, topics=["a", "b"])
    played.becomes_stable(A0, B0, generation=4)
    played.wants("a")

    assert played.revokes() == (B0,)
    subscription = told(played.sent(JoinGroupRequest))
    assert (subscription.owned, subscription.generation) == ((A0,), 4)
    assert subscription.user_data == b"\0\0\0\4"


def test_a_sticky_member_says_what_it_had() -> None:
    played = Played([StickyAssignor()])
    played.becomes_stable(A0, A1, generation=4)
    played.member.rejoin("again")
    played.revokes()

    subscription = told(played.sent(JoinGroupRequest))

    assert subscription.owned == ()
    assert decode_claim(subscription.user_data or b"") == Claim([A0, A1], 4)


def test_an_assignor_that_raises_is_told_of_and_tried_again_when_asked() -> None:
    played = Played([Raising()])

    error = played.step(Tell).error

    assert "LookupError" in str(error)
    assert played.after(60) == []
    played.asks()
    assert isinstance(played.step(Tell).error, type(error))


@pytest.mark.parametrize("assignors", [[], [RangeAssignor(), RangeAssignor()]])
def test_assignors_have_to_be_there_and_to_differ(assignors: list[RangeAssignor]) -> None:
    with pytest.raises(ConfigError, match="assignors of different names"):
        Played(assignors)


def test_patterns_of_the_broker_are_not_for_classic_groups() -> None:
    with pytest.raises(ConfigError, match="group_protocol=consumer"):
        Played().member.subscribe(Wanted(regex="a.*"), now=0.0)


def test_which_errors_say_that_the_coordinator_has_moved() -> None:
    assert is_moved(NotCoordinator())
    assert is_moved(CoordinatorNotAvailable())
    assert not is_moved(CoordinatorLoadInProgress())


def test_its_parts_show_where_they_are() -> None:
    heartbeats = Heartbeats(3.0, Backoff(0.1, 1.0))
    heartbeats.begin(now=1.0)
    holdings = Holdings(is_cooperative=True)

    assert repr(heartbeats) == "<Heartbeats: next at 4.000, none out>"
    assert repr(holdings) == "<Holdings: 0 partitions>"
    holdings.begin(Lose((A0,)))
    heartbeats.sent(HeartbeatRequest(group_id="g", generation_id=1, member_id="me"), now=4.0)
    assert repr(heartbeats) == "<Heartbeats: next at 7.000, one out>"
    assert repr(holdings) == "<Holdings: 0 partitions, Lose runs>"


def test_it_shows_where_it_is() -> None:
    played = Played()
    played.becomes_stable(A0, A1, generation=3)

    assert repr(played.member) == "<ClassicMember of 'g': stable, generation 3, 2 partitions>"
    assert isinstance(played.heartbeat(), HeartbeatRequest)
