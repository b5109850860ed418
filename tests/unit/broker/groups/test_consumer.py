from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.broker.state import State
from kafka_aio.errors import NonEmptyGroup, UnknownMemberId
from tests.unit.broker.clusters import made, pass_time
from tests.unit.broker.groups.consumers import Consumer, epochs, group, heartbeat, settle, told

SESSION = 45.0


@pytest.fixture
def state() -> State:
    return made(topics={"t": 4, "u": 2})


# Members come and go


def test_the_first_member_owns_everything_at_once(state: State) -> None:
    consumer = Consumer(state, "m")

    consumer.beat()

    assert (consumer.epoch, consumer.owned) == (2, {"t": [0, 1, 2, 3]})
    assert group(state).state_name == "Stable"


def test_a_second_member_waits_until_the_first_has_given_back(state: State) -> None:
    first, second = Consumer(state, "m"), Consumer(state, "n")
    first.beat()

    joining = second.beat()
    asked = first.beat()
    waiting = second.beat()
    given_back = first.beat()
    second.beat()

    assert (told(state, joining), joining.member_epoch) == ({}, 3)
    assert (told(state, asked), asked.member_epoch) == ({"t": [0, 1]}, 2)
    assert told(state, waiting) is None
    assert (told(state, given_back), given_back.member_epoch) == (None, 3)
    assert (second.owned, second.epoch) == ({"t": [2, 3]}, 3)
    assert group(state).state_name == "Stable"


def test_a_member_that_does_not_say_what_it_owns_is_asked_again_and_again(state: State) -> None:
    first, second = Consumer(state, "m"), Consumer(state, "n")
    first.beat()
    second.beat()
    first.beat()

    answers = [first.beat(reports=False) for _ in range(3)]

    assert [(each.member_epoch, each.assignment) for each in answers] == [(2, None)] * 3
    assert group(state).state_name == "Reconciling"


def test_what_a_leaving_member_owned_goes_to_the_others(state: State) -> None:
    first, second = Consumer(state, "m"), Consumer(state, "n")
    now = settle(first, second)

    second.leave(now=now)
    between = group(state).state_name
    first.beat(now=now)

    assert between == "Assigning"
    assert first.owned == {"t": [0, 1, 2, 3]}
    assert epochs(state) == (4, 4)


def test_the_last_one_leaves_an_empty_group(state: State) -> None:
    consumer = Consumer(state, "m")
    consumer.beat()

    consumer.leave()

    assert (group(state).state_name, group(state).is_empty) == ("Empty", True)
    assert epochs(state) == (3, 2)


def test_who_comes_after_the_last_one_has_left_starts_with_the_epochs_as_they_are(
    state: State,
) -> None:
    consumer = Consumer(state, "m")
    consumer.beat()
    consumer.leave()

    consumer.beat()

    assert consumer.epoch == 4
    assert consumer.owned == {"t": [0, 1, 2, 3]}


def test_a_member_without_topics_is_one_in_the_first_epoch(state: State) -> None:
    consumer = Consumer(state, "m", topics=[])

    answer = consumer.beat()

    assert (answer.member_epoch, told(state, answer)) == (1, {})
    assert (group(state).state_name, epochs(state)) == ("Stable", (1, 1))


def test_a_member_may_join_again_and_has_what_it_had(state: State) -> None:
    consumer = Consumer(state, "m")
    consumer.beat()

    answer = Consumer(state, "m").beat()

    assert (answer.member_epoch, told(state, answer)) == (2, {"t": [0, 1, 2, 3]})


def test_a_full_group_takes_nobody_new() -> None:
    state = made(topics={"t": 1}, group_consumer_max_size=1)
    first, second = Consumer(state, "m"), Consumer(state, "n")
    first.beat()

    refused = second.beat()
    unknown = second.send(5)
    first.beat()

    assert (second.error, refused.error_message) == (
        "GROUP_MAX_SIZE_REACHED",
        "The consumer group has reached its maximum capacity of 1 members.",
    )
    assert unknown.error_code == refused.error_code
    assert first.error is None
    assert len(group(state).members) == 1


def test_who_is_no_member_must_join_first(state: State) -> None:
    Consumer(state, "m").beat()

    for epoch in (1, -1):
        answer = Consumer(state, "n").send(epoch)

        assert answer.error_code == UnknownMemberId.code
        assert answer.error_message == "Member n is not a member of group g."


@pytest.mark.parametrize(("epoch", "relation"), [(3, "greater"), (1, "smaller")])
def test_a_member_in_another_epoch_is_fenced(state: State, epoch: int, relation: str) -> None:
    consumer = Consumer(state, "m")
    consumer.beat()

    answer = consumer.send(epoch)

    assert relation in answer.error_message
    assert len(group(state).members) == 1


def test_an_answer_that_was_lost_is_given_again(state: State) -> None:
    first, second = Consumer(state, "m"), Consumer(state, "n")
    first.beat()
    second.beat()
    first.beat()

    lost = first.beat(is_lost=True)
    again = first.beat()

    assert (lost.member_epoch, again.member_epoch) == (3, 3)
    assert told(state, again) == {"t": [0, 1]}
    assert first.error is None


# Time-outs


def test_a_member_that_is_silent_is_out_when_its_session_ends(state: State) -> None:
    first, second = Consumer(state, "m"), Consumer(state, "n")
    now = settle(first, second)

    second.beat(now=now + 30)
    pass_time(state, now=now + SESSION + 1)
    first.beat(now=now + SESSION + 1)
    second.beat(now=now + SESSION + 2)

    assert first.error == "UNKNOWN_MEMBER_ID"
    assert second.owned == {"t": [0, 1, 2, 3]}


def test_each_heartbeat_prolongs_the_session(state: State) -> None:
    consumer = Consumer(state, "m")

    for now in (0.0, 40.0, 80.0, 120.0):
        pass_time(state, now=now)
        consumer.beat(now=now)

    assert consumer.error is None
    assert state.agenda.next_at == 120.0 + SESSION


def test_a_refused_heartbeat_does_not(state: State) -> None:
    consumer = Consumer(state, "m")
    consumer.beat()

    consumer.send(99, now=40.0)
    pass_time(state, now=SESSION)

    assert group(state).is_empty


def test_a_group_may_have_a_session_time_out_of_its_own(state: State) -> None:
    state.configs.groups["g"] = {"consumer.session.timeout.ms": "5000"}
    Consumer(state, "m").beat()

    pass_time(state, now=5.0)

    assert group(state).is_empty


def test_a_member_that_does_not_give_back_in_time_is_out(state: State) -> None:
    first, second = Consumer(state, "m", rebalance=10.0), Consumer(state, "n")
    first.beat()
    second.beat(now=1.0)
    first.beat(now=2.0)

    first.beat(now=11.0, reports=False)
    pass_time(state, now=12.0)
    second.beat(now=12.0)
    first.beat(now=12.0)

    assert first.error == "UNKNOWN_MEMBER_ID"
    assert second.owned == {"t": [0, 1, 2, 3]}


def test_a_member_that_gives_back_in_time_stays(state: State) -> None:
    first, second = Consumer(state, "m", rebalance=10.0), Consumer(state, "n")
    first.beat()
    second.beat(now=1.0)
    first.beat(now=2.0)

    first.beat(now=11.0)
    pass_time(state, now=13.0)
    first.beat(now=13.0)

    assert first.error is None


# Static members


def static(state: State, member_id: str, **more: Any) -> Consumer:
    return Consumer(state, member_id, instance_id="i", **more)


def test_a_static_member_that_is_there_keeps_others_of_its_name_out(state: State) -> None:
    first, second = static(state, "m"), static(state, "n")
    first.beat()

    refused = second.beat()
    again = static(state, "m").beat()

    assert second.error == "UNRELEASED_INSTANCE_ID"
    assert refused.error_message == (
        "Static member n with instance id i cannot join the group because the instance id is owned"
        " by m member."
    )
    assert again.error_code == refused.error_code
    assert [member.id for member in group(state).members] == ["m"]


def test_a_static_member_that_comes_back_has_what_it_had_without_a_rebalance(state: State) -> None:
    first, other = static(state, "m"), Consumer(state, "o")
    now = settle(first, other)
    owned = dict(first.owned)
    before = epochs(state)

    first.leave(epoch=-2, now=now)
    meanwhile = other.beat(now=now)
    returned = static(state, "n")
    returned.beat(now=now)

    assert meanwhile.assignment is None
    assert (returned.owned, returned.epoch) == (owned, before[0])
    assert epochs(state) == before
    assert [member.id for member in group(state).members] == ["o", "n"]
    assert group(state).state_name == "Stable"


def test_a_static_member_may_come_back_under_its_old_id(state: State) -> None:
    consumer = static(state, "m")
    consumer.beat()

    consumer.leave(epoch=-2)
    consumer.beat()

    assert (consumer.error, consumer.owned) == (None, {"t": [0, 1, 2, 3]})


def test_a_static_member_by_pattern_comes_back_without_a_rebalance(state: State) -> None:
    first = static(state, "m", pattern="t|u")
    now = settle(first)
    before = epochs(state)

    first.leave(epoch=-2, now=now)
    returned = static(state, "n", pattern="t|u")
    returned.beat(now=now)

    assert returned.owned == {"t": [0, 1, 2, 3], "u": [0, 1]}
    assert epochs(state) == before


def test_a_static_member_that_comes_back_with_other_topics_is_a_reason(state: State) -> None:
    first = static(state, "m")
    first.beat()
    first.leave(epoch=-2)

    returned = static(state, "n", topics=["u"])
    returned.beat()

    assert epochs(state) == (3, 3)
    assert returned.owned == {"u": [0, 1]}


def test_a_static_member_that_does_not_come_back_is_out_when_its_session_ends(
    state: State,
) -> None:
    first, other = static(state, "m"), Consumer(state, "o")
    now = settle(first, other)

    first.leave(epoch=-2, now=now)
    other.beat(now=now + 30)
    pass_time(state, now=now + SESSION)
    other.beat(now=now + SESSION)

    assert other.owned == {"t": [0, 1, 2, 3]}


def test_a_static_member_that_leaves_for_now_has_no_more_to_give_back_in_time(
    state: State,
) -> None:
    first, other = static(state, "m", rebalance=10.0), Consumer(state, "o")
    first.beat()
    other.beat()
    first.beat()

    first.leave(epoch=-2)
    pass_time(state, now=20.0)

    assert [member.id for member in group(state).members] == ["m", "o"]


def test_the_session_of_who_was_replaced_ends_nothing(state: State) -> None:
    first = static(state, "m")
    first.beat()
    first.leave(epoch=-2)
    returned = static(state, "n")

    returned.beat(now=40.0)
    pass_time(state, now=SESSION)
    returned.beat(now=SESSION)

    assert returned.error is None


def test_a_static_member_may_leave_for_good(state: State) -> None:
    first = static(state, "m")
    first.beat()

    first.leave()
    second = static(state, "n")
    second.beat()

    assert second.error is None


def test_who_was_replaced_is_fenced(state: State) -> None:
    first = static(state, "m")
    first.beat()
    first.leave(epoch=-2)
    static(state, "n").beat()

    staying = first.send(2)
    leaving = first.send(-1)
    leaving_for_now = first.send(-2)

    assert staying.error_message == ("Static member m with instance id i was fenced by member n.")
    assert leaving.error_code == leaving_for_now.error_code == staying.error_code


def test_a_name_that_nobody_has_is_unknown(state: State) -> None:
    Consumer(state, "m").beat()

    answers = [heartbeat(state, member_epoch=epoch, instance_id="i") for epoch in (2, -1, -2)]

    assert {each.error_code for each in answers} == {UnknownMemberId.code}
    assert {each.error_message for each in answers} == {"Instance id i is unknown."}


def test_a_dynamic_member_may_take_a_name(state: State) -> None:
    Consumer(state, "m").beat()

    static(state, "m").beat()

    assert [member.instance_id for member in group(state).members] == ["i"]
    assert heartbeat(state, member_epoch=2, instance_id="i").error_code == 0


# All of it


def test_a_group_with_members_is_not_deleted(state: State) -> None:
    consumer = Consumer(state, "m")
    consumer.beat()

    with pytest.raises(NonEmptyGroup):
        group(state).check_deletion()
    consumer.leave()

    group(state).check_deletion()
    group(state).check_offset_deletion()


def test_reprs_tell_the_state_in_one_line(state: State) -> None:
    settle(Consumer(state, "m", pattern="u"))

    assert repr(group(state)) == "<ConsumerGroup g: Stable, 1 members, epoch 2, target of 2>"
    assert repr(group(state).members) == "<Members: 1, who own 2 partitions>"
    assert repr(group(state)._subscriptions) == "<Subscriptions with 1 patterns>"


def test_the_protocol_type_is_that_of_consumers(state: State) -> None:
    Consumer(state, "m").beat()

    assert (group(state).kind, group(state).protocol_type) == ("consumer", "consumer")
