import re
from typing import Any

import pytest

from kafka_aio.broker.groups.classic_membership import NEW_MEMBER_TIMEOUT, Phase
from kafka_aio.errors import (
    GroupMaxSizeReached,
    InconsistentGroupProtocol,
    InvalidGroupId,
    InvalidSessionTimeout,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMemberId,
    UnknownServerError,
)
from tests.unit.broker.clusters import answer_to, made, pass_time
from tests.unit.broker.groups.classic import (
    completing,
    heartbeat,
    join,
    membership,
    new_id,
    stable,
    sync,
    wanting,
)

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


# Who comes


@pytest.mark.parametrize("version", range(4, 10))
def test_a_new_member_is_given_an_id_to_join_with(version: int) -> None:
    state = made()

    answer = answer_to(state, join(state, version=version, client_id="me"))

    assert answer.error_code == MemberIdRequired.code
    assert re.fullmatch(f"me-{UUID}", answer.member_id)
    assert answer.generation_id == -1
    assert answer.members == []
    assert membership(state).phase is Phase.EMPTY
    assert len(membership(state).members) == 0


@pytest.mark.parametrize("version", range(4))
def test_a_new_member_of_an_old_version_is_one_at_once(version: int) -> None:
    state = made()

    call = join(state, version=version, client_id="me")
    pass_time(state, now=0)
    answer = answer_to(state, call)

    assert answer.error_code == 0
    assert re.fullmatch(f"me-{UUID}", answer.member_id)
    assert answer.leader == answer.member_id
    assert answer.generation_id == 1


def test_a_new_static_member_is_one_at_once_and_has_its_name_in_its_id() -> None:
    state = made()

    call = join(state, instance="printer", client_id="me")
    pass_time(state, now=0)
    answer = answer_to(state, call)

    assert answer.error_code == 0
    assert re.fullmatch(f"printer-{UUID}", answer.member_id)
    assert answer.members[0].group_instance_id == "printer"


def test_an_id_that_nobody_joins_with_is_forgotten_when_its_session_is_over() -> None:
    state = made()
    member = new_id(state, session=5.0)
    pass_time(state, now=4.9)
    assert list(membership(state).members.pending) == [member]

    pass_time(state, now=5.0)

    assert not membership(state).members.pending
    assert answer_to(state, join(state, member, now=5.0)).error_code == UnknownMemberId.code


def test_a_rebalance_waits_for_those_who_have_an_id_until_their_session_is_over() -> None:
    state = made()
    [first] = stable(state)
    new_id(state, session=6.0)
    call = join(state, first)  # the leader: a rebalance
    pass_time(state, now=5.9)
    assert answer_to(state, call) is None

    pass_time(state, now=6.0)

    assert answer_to(state, call).generation_id == 2


def test_a_static_member_cannot_join_with_an_id_that_was_given_to_a_dynamic_one() -> None:
    state = made()
    member = new_id(state)

    answer = answer_to(state, join(state, member, instance="printer"))

    assert (answer.error_code, answer.member_id) == (UnknownServerError.code, "")


# Who cannot


def test_a_group_must_have_a_name() -> None:
    state = made()

    answer = answer_to(state, join(state, "x", group=""))

    assert answer.error_code == InvalidGroupId.code
    assert answer.member_id == "x"


@pytest.mark.parametrize("session", [0.099, 1800.001])
def test_a_session_must_be_neither_too_short_nor_too_long(session: float) -> None:
    state = made()

    answer = answer_to(state, join(state, "x", session=session))

    assert answer.error_code == InvalidSessionTimeout.code
    assert answer.member_id == "x"


@pytest.mark.parametrize("session", [0.1, 1800.0])
def test_the_shortest_and_the_longest_session_are_fine(session: float) -> None:
    state = made()

    assert answer_to(state, join(state, session=session)).error_code == MemberIdRequired.code


def test_a_member_of_a_group_that_does_not_exist_is_unknown_and_none_is_made() -> None:
    state = made()

    answer = answer_to(state, join(state, "x"))

    assert answer.error_code == UnknownMemberId.code
    assert answer.member_id == "x"
    assert "g" not in state.groups.by_id


def test_a_member_that_the_group_does_not_know_must_join_anew() -> None:
    state = made()
    stable(state)

    assert answer_to(state, join(state, "x")).error_code == UnknownMemberId.code


@pytest.mark.parametrize(
    "wrong", [{"protocol_type": ""}, {"protocols": {}}], ids=["no type", "no protocols"]
)
@pytest.mark.parametrize("version", [3, 9])
def test_who_names_no_protocol_cannot_join_an_empty_group(
    wrong: dict[str, Any], version: int
) -> None:
    state = made()

    answer = answer_to(state, join(state, version=version, **wrong))

    assert answer.error_code == InconsistentGroupProtocol.code
    assert answer.protocol_name == ("" if version < 7 else None)


@pytest.mark.parametrize(
    "wrong", [{"protocol_type": "connect"}, {"protocols": {"sticky": b""}}], ids=["type", "name"]
)
def test_all_members_must_have_a_protocol_in_common(wrong: dict[str, Any]) -> None:
    state = made()
    [first] = stable(state)

    assert answer_to(state, join(state, **wrong)).error_code == InconsistentGroupProtocol.code
    answer = answer_to(state, join(state, first, **wrong))
    assert answer.error_code == InconsistentGroupProtocol.code
    assert answer.member_id == first


def test_an_empty_group_may_begin_anew_with_another_type() -> None:
    state = made()
    completing(state, session=5.0)
    pass_time(state, now=5.0)
    assert membership(state).phase is Phase.EMPTY

    call = join(state, protocol_type="connect", protocols={"x": b""}, version=3, now=5.0)
    pass_time(state, now=5.0)

    assert answer_to(state, call).protocol_name == "x"
    assert membership(state).protocol_type == "connect"


def test_a_stable_group_that_is_full_takes_its_own_members_only() -> None:
    state = made(group_max_size=2)
    _, second = stable(state, 2)

    refused = answer_to(state, join(state))

    assert refused.error_code == GroupMaxSizeReached.code
    assert refused.member_id == ""
    assert answer_to(state, join(state, second)).error_code == 0


def test_a_group_that_was_joined_by_enough_loses_the_member_that_comes_last() -> None:
    state = made(group_max_size=2)
    first, second = stable(state, 2)
    join(state, first)
    pending = new_id(state)  # two are one too many only once they have joined
    join(state, pending)

    answer = answer_to(state, join(state, second))

    assert answer.error_code == GroupMaxSizeReached.code
    assert answer.member_id == ""
    assert list(membership(state).members.by_id) == [first, pending]


# The first round


def test_who_comes_to_an_empty_group_waits_for_others() -> None:
    state = made(group_initial_rebalance_delay_ms=3000)
    first = join(state, version=3)
    pass_time(state, now=2.9)
    assert answer_to(state, first) is None

    pass_time(state, now=3.0)

    assert answer_to(state, first).generation_id == 1


def test_whoever_comes_during_the_first_delay_prolongs_it_up_to_a_rebalance_timeout() -> None:
    state = made(group_initial_rebalance_delay_ms=3000)
    calls = [join(state, version=3, rebalance=7.0, now=0.0)]
    for now in (2.0, 5.0):
        pass_time(state, now=now)
        calls.append(join(state, version=3, rebalance=7.0, now=now))
    pass_time(state, now=6.9)
    assert [answer_to(state, call) for call in calls] == [None, None, None]

    pass_time(state, now=7.0)

    answers = [answer_to(state, call) for call in calls]
    assert [answer.generation_id for answer in answers] == [1, 1, 1]


def test_the_first_delay_ends_early_when_nobody_else_comes() -> None:
    state = made(group_initial_rebalance_delay_ms=3000)
    first = join(state, version=3, now=0.0)
    second = join(state, version=3, now=1.0)
    pass_time(state, now=5.9)
    assert answer_to(state, first) is None

    pass_time(state, now=6.0)

    assert answer_to(state, first).generation_id == answer_to(state, second).generation_id == 1


def test_a_second_rebalance_does_not_wait_for_others() -> None:
    state = made(group_initial_rebalance_delay_ms=3000)
    call = join(state, version=3)
    pass_time(state, now=3.0)
    first = answer_to(state, call).member_id
    second = join(state, version=3, now=3.0)

    assert answer_to(state, join(state, first, now=3.5)).generation_id == 2
    assert answer_to(state, second).generation_id == 2


# A generation


def test_all_hear_of_one_generation_and_the_leader_hears_what_the_others_want() -> None:
    state = made()
    ids = [new_id(state) for _ in range(3)]
    calls = [join(state, each, protocols={"range": wanting(each)}) for each in ids]
    pass_time(state, now=0)

    answers = [answer_to(state, call) for call in calls]

    assert {answer.generation_id for answer in answers} == {1}
    assert {answer.leader for answer in answers} == {ids[0]}
    assert {(answer.protocol_type, answer.protocol_name) for answer in answers} == {
        ("consumer", "range")
    }
    assert [answer.member_id for answer in answers] == ids
    assert [(each.member_id, each.metadata) for each in answers[0].members] == [
        (each, wanting(each)) for each in ids
    ]
    assert answers[1].members == answers[2].members == []
    assert not any(answer.skip_assignment for answer in answers)


@pytest.mark.parametrize(
    ("preferred", "chosen"),
    [
        ([["a", "b"], ["b", "a"], ["b", "a"]], "b"),
        ([["a", "b"], ["b"]], "b"),
        ([["roundrobin", "range"], ["range", "roundrobin"]], "range"),  # Java's map has it first
        ([["sticky", "a"], ["a", "sticky"]], "a"),
    ],
)
def test_the_protocol_is_one_that_all_support_and_most_prefer(
    preferred: list[list[str]], chosen: str
) -> None:
    state = made()
    calls = [join(state, version=3, protocols=dict.fromkeys(names, b"")) for names in preferred]
    pass_time(state, now=0)

    assert {answer_to(state, call).protocol_name for call in calls} == {chosen}


def test_a_leader_that_joins_again_makes_a_stable_group_rebalance() -> None:
    state = made()
    first, second = stable(state, 2)

    call = join(state, first)

    assert answer_to(state, call) is None
    assert heartbeat(state, second, 1) == RebalanceInProgress.code
    assert answer_to(state, join(state, second)).generation_id == 2
    assert answer_to(state, call).generation_id == 2


def test_a_follower_that_joins_again_with_nothing_new_hears_what_it_missed() -> None:
    state = made()
    first, second = stable(state, 2)

    answer = answer_to(state, join(state, second))

    assert (answer.error_code, answer.generation_id) == (0, 1)
    assert (answer.leader, answer.members) == (first, [])
    assert membership(state).phase is Phase.STABLE


def test_a_follower_that_wants_something_else_makes_a_stable_group_rebalance() -> None:
    state = made()
    _, second = stable(state, 2)

    call = join(state, second, protocols={"range": wanting("other")})

    assert answer_to(state, call) is None
    assert membership(state).phase is Phase.PREPARING


def test_who_joins_again_before_the_assignment_hears_what_it_missed() -> None:
    state = made()
    first, second = completing(state, 2)

    leader, follower = (answer_to(state, join(state, each)) for each in (first, second))

    assert leader.generation_id == follower.generation_id == 1
    assert [each.member_id for each in leader.members] == [first, second]
    assert follower.members == []
    assert membership(state).phase is Phase.COMPLETING


def test_who_wants_something_else_before_the_assignment_makes_all_join_again() -> None:
    state = made()
    first, second = completing(state, 2)
    waiting = sync(state, second, 1)

    join(state, first, protocols={"range": wanting("other")})

    assert answer_to(state, waiting).error_code == RebalanceInProgress.code
    assert membership(state).phase is Phase.PREPARING


def test_a_new_member_makes_a_stable_group_rebalance() -> None:
    state = made()
    [first] = stable(state)

    call = join(state, version=3)

    assert answer_to(state, call) is None
    assert heartbeat(state, first, 1) == RebalanceInProgress.code


def test_who_does_not_join_again_within_the_longest_rebalance_timeout_is_out() -> None:
    state = made()
    ids = [new_id(state) for _ in range(3)]
    for each, rebalance in zip(ids, [10.0, 20.0, 5.0], strict=True):
        join(state, each, rebalance=rebalance, session=60.0)
    pass_time(state, now=0)
    state.answers.clear()
    call = join(state, ids[0], rebalance=10.0, protocols={"range": b"new"}, now=1.0)
    pass_time(state, now=20.9)
    assert answer_to(state, call) is None

    pass_time(state, now=21.0)

    assert answer_to(state, call).generation_id == 2
    assert list(membership(state).members.by_id) == ids[:1]


def test_another_member_leads_if_the_leader_does_not_join_again() -> None:
    state = made()
    _, second = stable(state, 2, rebalance=5.0)
    call = join(state, second, protocols={"range": wanting("other")}, rebalance=5.0)

    pass_time(state, now=5.0)

    answer = answer_to(state, call)
    assert answer.leader == second
    assert [each.member_id for each in answer.members] == [second]


def test_before_version_1_the_session_timeout_is_the_rebalance_timeout() -> None:
    state = made()
    first = join(state, version=0, session=4.0)
    second = join(state, version=0, session=4.0)
    pass_time(state, now=0)
    ids = [answer_to(state, call).member_id for call in (first, second)]
    call = join(state, ids[0], version=0, session=4.0, protocols={"range": b"new"}, now=0.0)

    pass_time(state, now=4.0)

    assert answer_to(state, call).generation_id == 2


# Who waits


def test_a_member_that_waits_for_the_others_needs_no_heartbeats() -> None:
    state = made()
    first, second = stable(state, 2, session=5.0, rebalance=100.0)
    call = join(state, first, session=5.0, rebalance=100.0)
    for now in range(1, 60, 4):
        pass_time(state, now=now)
        assert heartbeat(state, second, 1, now=now) == RebalanceInProgress.code

    assert answer_to(state, call) is None
    assert list(membership(state).members.by_id) == [first, second]


def test_a_new_member_waits_for_its_first_generation_for_five_minutes_at_most() -> None:
    state = made()
    first, *_ = stable(state, rebalance=1000.0)
    call = join(state, version=3, session=5.0, now=0.0)
    for now in range(5, int(NEW_MEMBER_TIMEOUT), 5):
        pass_time(state, now=now)
        heartbeat(state, first, 1, now=now)
    assert answer_to(state, call) is None

    pass_time(state, now=NEW_MEMBER_TIMEOUT)

    answer = answer_to(state, call)
    assert answer.error_code == UnknownMemberId.code
    assert answer.member_id == ""
    assert list(membership(state).members.by_id) == [first]


def test_a_member_that_joins_twice_gets_an_answer_to_both_calls() -> None:
    state = made()
    first, second = stable(state, 2)
    older = join(state, first)

    newer = join(state, first)

    assert answer_to(state, older).error_code == RebalanceInProgress.code
    assert answer_to(state, newer) is None
    join(state, second)
    assert answer_to(state, newer).generation_id == 2


def test_a_seed_gives_the_same_ids() -> None:
    assert new_id(made(seed=7)) == new_id(made(seed=7))
    assert new_id(made(seed=7)) != new_id(made(seed=8))


def test_the_group_shows_how_it_is() -> None:
    state = made()
    stable(state)

    assert repr(state.groups.by_id["g"]) == "<ClassicGroup g: <Stable, generation 1, 1 members>>"
