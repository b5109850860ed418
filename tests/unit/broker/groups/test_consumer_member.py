from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from kafka_aio.broker.groups.assignors import Slot
from kafka_aio.broker.groups.consumer_member import Goal, Member, MemberState, reconcile
from kafka_aio.errors import FencedMemberEpoch
from kafka_aio.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
from kafka_aio.protocol.schema import Uuid

STABLE = MemberState.STABLE
UNREVOKED = MemberState.UNREVOKED_PARTITIONS
UNRELEASED = MemberState.UNRELEASED_PARTITIONS

T = Uuid(bytes(15) + b"t")
U = Uuid(bytes(15) + b"u")


def p(*indexes: int, topic: Uuid = T) -> list[Slot]:
    return [(topic, index) for index in indexes]


def member(
    epoch: int,
    assigned: Mapping[Slot, int] | None = None,
    revoking: Mapping[Slot, int] | None = None,
    *,
    state: MemberState = STABLE,
) -> Member:
    return Member(
        id="m",
        epoch=epoch,
        previous_epoch=epoch - 1,
        state=state,
        assigned=assigned or {},
        revoking=revoking or {},
    )


def since(epoch: int, *indexes: int, topic: Uuid = T) -> dict[Slot, int]:
    return dict.fromkeys(p(*indexes, topic=topic), epoch)


def moved(
    before: Member,
    epoch: int,
    target: Iterable[Slot],
    *,
    owned: list[Slot] | None = None,
    taken: Iterable[Slot] = (),
    topics: Iterable[Uuid] = (T, U),
    has_resubscribed: bool = False,
) -> Member:
    """What becomes of a member. Whatever it owns is taken, by itself."""
    others = {*taken, *before.assigned, *before.revoking}
    return reconcile(
        before,
        Goal(epoch=epoch, slots=tuple(target), topics=frozenset(topics)),
        owned=owned,
        has_resubscribed=has_resubscribed,
        is_taken=others.__contains__,
    )


# A new target


def test_a_new_member_gets_what_nobody_owns() -> None:
    after = moved(member(0), 5, p(0, 1), owned=[])

    assert (after.state, after.epoch, after.previous_epoch) == (STABLE, 5, 0)
    assert after.assigned == since(5, 0, 1)


def test_a_member_at_its_target_stays_as_it_is() -> None:
    before = member(5, since(4, 0))

    assert moved(before, 5, p(0)) is before


def test_a_member_that_keeps_what_it_has_only_goes_to_the_new_epoch() -> None:
    after = moved(member(5, since(4, 0)), 6, p(0))

    assert (after.state, after.epoch, after.previous_epoch) == (STABLE, 6, 5)
    assert after.assigned == since(4, 0)


def test_what_a_member_has_had_keeps_its_epoch_beside_what_it_gets() -> None:
    after = moved(member(5, since(4, 0)), 6, p(0, 1))

    assert after.assigned == since(4, 0) | since(6, 1)


def test_a_member_that_must_give_back_stays_in_its_epoch_and_gets_nothing() -> None:
    after = moved(member(5, since(4, 0, 1)), 6, p(0, 2))

    assert (after.state, after.epoch, after.previous_epoch) == (UNREVOKED, 5, 5)
    assert (after.assigned, after.revoking) == (since(4, 0), since(4, 1))


def test_a_member_that_says_it_does_not_own_it_need_not_give_it_back() -> None:
    after = moved(member(5, since(4, 0, 1)), 6, p(0, 2), owned=p(0))

    assert (after.state, after.epoch) == (STABLE, 6)
    assert (after.assigned, after.revoking) == (since(4, 0) | since(6, 2), {})


def test_what_others_own_is_waited_for_in_the_new_epoch() -> None:
    after = moved(member(5, since(4, 0)), 6, p(0, 1, 2), taken=p(2))

    assert (after.state, after.epoch) == (UNRELEASED, 6)
    assert after.assigned == since(4, 0) | since(6, 1)


def test_a_member_that_can_get_nothing_yet_waits_in_the_new_epoch() -> None:
    after = moved(member(0), 6, p(0), owned=[], taken=p(0))

    assert (after.state, after.epoch, after.assigned) == (UNRELEASED, 6, {})


# On the way


def test_a_member_that_does_not_say_what_it_owns_has_not_given_back() -> None:
    before = member(5, since(4, 0), since(4, 1), state=UNREVOKED)

    assert moved(before, 6, p(0)) is before


def test_a_member_that_still_owns_some_of_it_has_not_given_back() -> None:
    before = member(5, since(4, 0), since(4, 1, 2), state=UNREVOKED)

    assert moved(before, 6, p(0), owned=p(0, 2)) is before


def test_a_member_that_has_given_back_goes_on_to_its_target() -> None:
    before = member(5, since(4, 0), since(4, 1), state=UNREVOKED)

    after = moved(before, 6, p(0, 2), owned=p(0))

    assert (after.state, after.epoch, after.revoking) == (STABLE, 6, {})
    assert after.assigned == since(4, 0) | since(6, 2)


def test_a_member_may_have_to_give_back_again_when_it_has_given_back() -> None:
    before = member(5, since(4, 0, 2), since(4, 1), state=UNREVOKED)

    after = moved(before, 7, p(2), owned=p(0, 2))

    assert (after.state, after.epoch) == (UNREVOKED, 5)
    assert (after.assigned, after.revoking) == (since(4, 2), since(4, 0))


def test_a_member_may_have_again_at_once_what_it_has_given_back() -> None:
    before = member(5, since(4, 0), since(4, 1), state=UNREVOKED)

    after = moved(before, 7, p(0, 1), owned=p(0))

    assert (after.state, after.assigned) == (STABLE, since(4, 0) | since(7, 1))


def test_a_member_that_waits_gets_what_has_become_free() -> None:
    before = member(6, since(4, 0), state=UNRELEASED)

    after = moved(before, 6, p(0, 1, 2), taken=p(2))

    assert (after.state, after.epoch, after.previous_epoch) == (UNRELEASED, 6, 6)
    assert after.assigned == since(4, 0) | since(6, 1)


def test_a_member_that_waits_is_stable_when_it_has_all() -> None:
    before = member(6, since(4, 0), state=UNRELEASED)

    after = moved(before, 6, p(0, 1))

    assert (after.state, after.assigned) == (STABLE, since(4, 0) | since(6, 1))


def test_a_member_that_waits_gives_back_when_the_target_changes() -> None:
    before = member(6, since(4, 0), state=UNRELEASED)

    after = moved(before, 7, p(1), taken=p(1))

    assert (after.state, after.epoch, after.revoking) == (UNREVOKED, 6, since(4, 0))


# Subscriptions that are newer than the target


def test_a_target_of_topics_that_are_not_wanted_any_more_counts_for_nothing() -> None:
    after = moved(member(0), 5, p(0) + p(0, topic=U), owned=[], topics=[T])

    assert after.assigned == since(5, 0)


def test_what_is_not_wanted_any_more_is_given_back_without_a_new_target() -> None:
    before = member(5, since(4, 0) | since(4, 0, topic=U))

    after = moved(before, 5, before.assigned, topics=[T], has_resubscribed=True)

    assert (after.state, after.epoch, after.previous_epoch) == (UNREVOKED, 5, 5)
    assert (after.assigned, after.revoking) == (since(4, 0), since(4, 0, topic=U))


def test_more_is_given_back_while_something_is() -> None:
    before = member(5, since(4, 0) | since(4, 0, topic=U), since(4, 1), state=UNREVOKED)

    after = moved(before, 6, p(0), topics=[T], has_resubscribed=True)

    assert after.state is UNREVOKED
    assert (after.assigned, after.revoking) == (since(4, 0), since(4, 1) | since(4, 0, topic=U))


def test_what_is_not_wanted_and_not_owned_is_gone_at_once() -> None:
    before = member(5, since(4, 0) | since(4, 0, topic=U))

    after = moved(before, 5, before.assigned, owned=p(0), topics=[T], has_resubscribed=True)

    assert (after.state, after.epoch, after.previous_epoch) == (STABLE, 5, 5)
    assert (after.assigned, after.revoking) == (since(4, 0), {})


def test_a_subscription_that_takes_nothing_away_changes_nothing() -> None:
    before = member(5, since(4, 0))

    assert moved(before, 5, p(0), topics=[T], has_resubscribed=True) is before


# Epochs


def test_the_members_own_epoch_and_joining_are_always_fine() -> None:
    member(5).check_epoch(5, None)
    member(5).check_epoch(0, [])


def test_a_greater_epoch_is_fenced() -> None:
    with pytest.raises(FencedMemberEpoch) as caught:
        member(5).check_epoch(6, [])

    assert caught.value.message == (
        "The consumer group member has a greater member epoch (6) than the one known by the group"
        " coordinator (5). The member must abandon all its partitions and rejoin."
    )


def test_the_epoch_before_is_fine_for_who_owns_no_more_than_it_has() -> None:
    before = member(5, since(4, 0, 1))

    before.check_epoch(4, p(1))
    before.check_epoch(4, [])


@pytest.mark.parametrize(("epoch", "owned"), [(4, None), (4, p(2)), (3, p(1))])
def test_a_smaller_epoch_is_fenced_otherwise(epoch: int, owned: list[Slot] | None) -> None:
    with pytest.raises(FencedMemberEpoch) as caught:
        member(5, since(4, 0, 1)).check_epoch(epoch, owned)

    assert caught.value.message.startswith(
        f"The consumer group member has a smaller member epoch ({epoch}) than"
    )


# What a member says about itself


def test_what_a_heartbeat_leaves_out_stays() -> None:
    full = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        member_epoch=0,
        instance_id="i",
        rack_id="r",
        rebalance_timeout_ms=7,
        subscribed_topic_names=["u", "t", "u"],
        subscribed_topic_regex="x.*",
        server_assignor="range",
    )
    before = Member(id="m").told(full, client_id="c", client_host="/h")

    short = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=1)
    after = before.told(short, client_id="c", client_host="/h")

    assert after == before
    assert (after.instance_id, after.rack_id, after.rebalance_timeout_ms) == ("i", "r", 7)
    assert (after.topics, after.pattern, after.assignor) == (("t", "u"), "x.*", "range")
    assert (after.client_id, after.client_host) == ("c", "/h")


def test_an_empty_subscription_is_one() -> None:
    before = Member(id="m", topics=("t",), pattern="x")
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        member_epoch=1,
        subscribed_topic_names=[],
        subscribed_topic_regex="",
    )

    after = before.told(request, client_id="", client_host="")

    assert (after.topics, after.pattern) == ((), "")


def test_a_static_member_that_leaves_for_now_has_given_back_what_it_was_to() -> None:
    after = member(5, since(4, 0), since(3, 1), state=UNREVOKED).left_for_now()

    assert (after.epoch, after.assigned, after.revoking) == (-2, since(0, 0), {})
