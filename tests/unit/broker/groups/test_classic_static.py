"""Static members (KIP-345): who comes back under its name, and who still uses it."""

import pytest

from kafka_aio.broker.groups.classic_membership import Phase
from kafka_aio.errors import FencedInstanceId, UnknownMemberId
from kafka_aio.protocol.messages.groups import MemberIdentity
from tests.unit.broker.clusters import answer_to, made, pass_time
from tests.unit.broker.groups.classic import (
    completing,
    heartbeat,
    join,
    leave,
    membership,
    stable,
    sync,
    wanting,
)


def test_a_static_member_that_is_back_gets_its_partitions_and_nobody_rebalances() -> None:
    state = made()
    first, old = stable(state, instances=("s",))

    answer = answer_to(state, join(state, instance="s"))
    new = answer.member_id

    assert new.startswith("s-")
    assert new != old
    assert (answer.generation_id, answer.leader) == (1, first)
    assert (answer.members, answer.skip_assignment) == ([], False)
    assert membership(state).phase is Phase.STABLE
    assert list(membership(state).members.by_id) == [first, new]
    assert answer_to(state, sync(state, new, 1, instance="s")).assignment == b"for 1"
    assert heartbeat(state, first, 1) == 0


def test_a_static_member_that_is_back_begins_a_new_session() -> None:
    state = made()
    stable(state, 0, instances=("s",), session=5.0)
    pass_time(state, now=4.0)
    new = answer_to(state, join(state, instance="s", session=5.0, now=4.0)).member_id

    pass_time(state, now=8.9)
    assert list(membership(state).members.by_id) == [new]
    pass_time(state, now=9.0)
    assert membership(state).phase is Phase.EMPTY


def test_a_static_member_that_is_back_and_has_its_answer_is_awaited_by_the_next_round() -> None:
    state = made()
    first, _ = stable(state, instances=("s",))
    new = answer_to(state, join(state, instance="s")).member_id
    waiting = join(state, first)
    assert answer_to(state, waiting) is None

    join(state, new, instance="s")

    assert answer_to(state, waiting).generation_id == 2


def test_a_static_leader_that_is_back_leads_but_must_not_assign() -> None:
    state = made()
    _, second = stable(state, 0, instances=("s", "t"))

    answer = answer_to(state, join(state, instance="s", version=9))

    assert answer.leader == answer.member_id
    assert answer.skip_assignment
    assert [each.member_id for each in answer.members] == [second, answer.member_id]
    assert membership(state).members.leader == answer.member_id


@pytest.mark.parametrize("version", range(5, 9))
def test_an_older_client_of_a_static_leader_is_not_told_that_it_leads(version: int) -> None:
    state = made()
    old, _ = stable(state, 0, instances=("s", "t"))

    answer = answer_to(state, join(state, instance="s", version=version))

    assert answer.leader == old
    assert answer.members == []
    assert membership(state).members.leader == answer.member_id


def test_the_one_before_is_fenced_whatever_it_asks() -> None:
    state = made()
    _, old = stable(state, instances=("s",))
    join(state, instance="s")

    assert heartbeat(state, old, 1, "s") == FencedInstanceId.code
    assert answer_to(state, sync(state, old, 1, instance="s")).error_code == FencedInstanceId.code
    assert answer_to(state, join(state, old, instance="s")).error_code == FencedInstanceId.code
    assert leave(state, MemberIdentity(member_id=old, group_instance_id="s")) == [
        FencedInstanceId.code
    ]


def test_an_id_without_its_name_is_unknown_once_it_was_replaced() -> None:
    state = made()
    _, old = stable(state, instances=("s",))
    join(state, instance="s")

    assert heartbeat(state, old, 1) == UnknownMemberId.code


def test_a_name_that_no_member_has_is_unknown() -> None:
    state = made()
    [first] = stable(state)

    assert heartbeat(state, first, 1, "s") == UnknownMemberId.code
    assert answer_to(state, join(state, first, instance="s")).error_code == UnknownMemberId.code


def test_who_waits_to_join_is_fenced_at_once() -> None:
    state = made()
    _, old = stable(state, instances=("s",))
    waiting = join(state, old, instance="s", protocols={"range": wanting("other")})

    newer = join(state, instance="s")

    fenced = answer_to(state, waiting)
    assert (fenced.error_code, fenced.member_id) == (FencedInstanceId.code, old)
    assert answer_to(state, newer) is None


def test_who_waits_for_its_partitions_is_fenced_at_once_and_all_join_again() -> None:
    state = made()
    _, old = completing(state, instances=("s",))
    waiting = sync(state, old, 1, instance="s")

    join(state, instance="s")

    assert answer_to(state, waiting).error_code == FencedInstanceId.code
    assert membership(state).phase is Phase.PREPARING


def test_a_static_member_that_is_back_with_another_choice_of_protocol_makes_all_join() -> None:
    state = made()
    both = {"range": wanting("t"), "sticky": b""}
    stable(state, 0, instances=("s",), protocols=both)

    call = join(state, instance="s", protocols={"sticky": b"", "range": b""})

    # Alone as it is, it has joined already.
    assert answer_to(state, call).generation_id == 2
    assert membership(state).protocol == "sticky"


def test_a_static_member_that_does_not_join_again_stays_until_its_session_is_over() -> None:
    state = made()
    [first, static] = stable(state, instances=("s",), rebalance=5.0, session=20.0)
    call = join(state, first, rebalance=5.0, session=20.0)

    pass_time(state, now=5.0)
    assert answer_to(state, call).generation_id == 2
    assert list(membership(state).members.by_id) == [first, static]
    call = sync(state, first, 2, {first: b"x"}, now=5.0)
    assert answer_to(state, call).assignment == b"x"

    pass_time(state, now=10.0)  # it has not synced either
    assert list(membership(state).members.by_id) == [first]


def test_a_group_whose_static_members_all_stay_away_is_empty_when_their_sessions_are_over() -> None:
    state = made()
    stable(state, 0, instances=("s", "t"), rebalance=5.0, session=60.0)
    join(state, version=3, rebalance=5.0, session=60.0)
    pass_time(state, now=5.0)  # the new one leads
    pass_time(state, now=500.0)

    assert membership(state).phase is Phase.EMPTY


def test_nobody_joins_a_rebalance_of_static_members_until_one_of_them_does() -> None:
    state = made()
    first, second = stable(state, 0, instances=("s", "t"), rebalance=5.0, session=60.0)
    # The first is back with other wishes, and gone again before the round is over.
    join(state, first, instance="s", protocols={"range": b"x"}, rebalance=5.0, session=60.0)
    state.groups.classic("g").membership.coordinator_moved(99)
    state.answers.clear()
    pass_time(state, now=12.0)
    assert membership(state).generation == 1

    call = join(state, second, instance="t", rebalance=5.0, session=60.0, now=12.0)
    pass_time(state, now=15.0)

    assert answer_to(state, call).generation_id == 2
    assert membership(state).members.leader == second


def test_an_admin_removes_a_static_member_by_its_name() -> None:
    state = made()
    [first, _] = stable(state, instances=("s",))

    assert leave(state, MemberIdentity(member_id="", group_instance_id="s")) == [0]
    assert list(membership(state).members.by_id) == [first]


def test_a_static_member_that_was_replaced_before_it_synced_need_not_sync_under_its_old_id() -> (
    None
):
    state = made()
    first, _ = completing(state, instances=("s",), rebalance=5.0, session=60.0)
    sync(state, first, 1, {first: b""})
    new = answer_to(state, join(state, instance="s", rebalance=5.0, session=60.0)).member_id
    answer_to(state, sync(state, new, 1, instance="s"))

    pass_time(state, now=5.0)

    assert membership(state).phase is Phase.STABLE
    assert list(membership(state).members.by_id) == [first, new]
