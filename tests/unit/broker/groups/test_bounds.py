"""How much clients can have the broker keep for groups, and that all of it is given back."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.broker.state import State
from kafka_aio.errors import for_code
from kafka_aio.protocol.messages.groups import DeleteGroupsRequest
from tests.unit.broker.api.offsets import commit, fetched
from tests.unit.broker.clusters import answer_to, call, made, pass_time
from tests.unit.broker.groups.classic import (
    completing,
    heartbeat,
    join,
    leave,
    membership,
    new_id,
    stable,
    sync,
)
from tests.unit.broker.groups.consumers import Consumer, settle
from tests.unit.broker.groups.consumers import heartbeat as consumer_heartbeat

MANY = 1_000
SMALL = 100_000
"""Of memory: fewer than `MANY` of anything fit in."""


def small(**settings: Any) -> State:
    return made(topics={"t": MANY}, memory_max_state_bytes=SMALL, **settings)


def name_of(code: int) -> str:
    return for_code(code).name if code else ""


def joined(state: State, group: str = "g", **how: Any) -> str:
    """The name of the error that a new member of JoinGroup 3 gets; it waits if there is none."""
    answer = answer_to(state, join(state, group=group, version=3, **how))
    return name_of(answer.error_code) if answer is not None else ""


def beaten(state: State, **fields: Any) -> str:
    """The name of the error that a new member of the consumer protocol gets."""
    wanted = {"rebalance_timeout_ms": 1_000, "topic_partitions": []}
    if "subscribed_topic_regex" not in fields:
        wanted["subscribed_topic_names"] = fields.pop("topics", [])
    return name_of(consumer_heartbeat(state, **{**wanted, **fields}).error_code)


def test_groups_of_joining_members_are_not_without_number() -> None:
    state = small()

    errors = [joined(state, f"g{each}") for each in range(MANY)]

    assert errors[0] == ""
    assert errors[-1] == "GROUP_MAX_SIZE_REACHED"
    assert 10 < len(state.groups.by_id) < MANY


def test_groups_of_the_consumer_protocol_are_not_without_number() -> None:
    state = small()

    errors = [beaten(state, group_id=f"g{each}") for each in range(MANY)]

    assert errors[0] == ""
    assert errors[-1] == "GROUP_MAX_SIZE_REACHED"
    assert 10 < len(state.groups.by_id) < MANY


def test_groups_of_lone_committers_are_not_without_number() -> None:
    state = small()

    codes = [commit(state, {"t": {0: 1}}, group=f"g{each}")["t"][0] for each in range(MANY)]

    assert codes[0] == 0
    assert name_of(codes[-1]) == "INVALID_COMMIT_OFFSET_SIZE"
    assert 10 < len(state.groups.by_id) < MANY


def test_members_of_a_group_are_not_without_number() -> None:
    state = small()

    errors = [joined(state) for _ in range(MANY)]

    assert errors[0] == ""
    assert errors[-1] == "GROUP_MAX_SIZE_REACHED"
    assert 10 < errors.count("") < MANY


def test_ids_that_nobody_has_joined_with_are_not_without_number() -> None:
    state = small()

    codes = [answer_to(state, join(state)).error_code for _ in range(MANY)]

    assert name_of(codes[0]) == "MEMBER_ID_REQUIRED"
    assert name_of(codes[-1]) == "GROUP_MAX_SIZE_REACHED"
    pass_time(state, now=10.0)
    assert joined(state, now=10.0) == ""


def test_members_of_the_consumer_protocol_are_not_without_number() -> None:
    state = small()

    errors = [beaten(state, member_id=f"m{each}") for each in range(MANY)]

    assert errors[0] == ""
    assert errors[-1] == "GROUP_MAX_SIZE_REACHED"
    assert 10 < errors.count("") < MANY


@pytest.mark.parametrize(
    "large",
    [
        {"protocols": {"range": bytes(SMALL)}},
        {"protocols": {f"p{each}": b"" for each in range(MANY)}},
    ],
)
def test_a_member_that_tells_its_leader_too_much_is_refused(large: dict[str, Any]) -> None:
    state = small()

    assert joined(state, **large) == "GROUP_MAX_SIZE_REACHED"
    assert joined(state) == ""


def test_a_member_that_comes_to_tell_too_much_stays_what_it_was() -> None:
    state = small()
    [member] = stable(state)

    refused = answer_to(state, join(state, member, protocols={"range": bytes(SMALL)}))

    assert name_of(refused.error_code) == "GROUP_MAX_SIZE_REACHED"
    assert heartbeat(state, member, 1) == 0


def test_who_is_a_member_may_join_again_when_nothing_more_fits() -> None:
    state = small()
    [member] = stable(state)
    assert any(joined(state, "others") for _ in range(MANY))

    again = answer_to(state, join(state, member))

    assert (again.error_code, again.generation_id) == (0, 2)


def test_an_assignment_that_is_too_large_is_refused() -> None:
    state = small()
    [member] = completing(state)

    refused = answer_to(state, sync(state, member, 1, {member: bytes(SMALL)}))
    taken = answer_to(state, sync(state, member, 1, {member: b"all"}))

    assert name_of(refused.error_code) == "UNKNOWN_SERVER_ERROR"
    assert (taken.error_code, taken.assignment) == (0, b"all")


def test_names_of_protocols_that_nobody_supports_any_more_are_forgotten() -> None:
    state = small()
    [member] = stable(state)

    for each in range(MANY):
        join(state, member, protocols={"range": b"", f"p{each}": b""}, now=each)
        pass_time(state, now=each)

    assert list(membership(state).members._supporters) == ["range", f"p{MANY - 1}"]
    assert state.room.used < SMALL / 10


def test_subscriptions_that_are_too_long_are_refused() -> None:
    state = small()

    errors = [beaten(state, topics=["x" * 30_000, f"{each}"]) for each in range(MANY)]
    other = beaten(
        state, member_id="n", topics=["x" * 30_000] + ["y" * 30_000] * 2 + ["z" * 30_000]
    )

    assert errors == [""] * MANY
    assert other == "GROUP_MAX_SIZE_REACHED"


def test_patterns_are_not_without_number() -> None:
    state = small()

    errors = [
        beaten(state, member_id=f"m{each}", subscribed_topic_regex=f"{each}|{'x' * 500}")
        for each in range(MANY)
    ]

    assert errors[0] == ""
    assert errors[-1] == "GROUP_MAX_SIZE_REACHED"
    assert 10 < errors.count("") < SMALL / 1_500


def test_what_members_own_takes_room() -> None:
    state = small()

    errors = [beaten(state, group_id=f"g{each}", topics=["t"]) for each in range(3)]

    assert errors == ["", "GROUP_MAX_SIZE_REACHED", "GROUP_MAX_SIZE_REACHED"]


def test_what_patterns_match_takes_room() -> None:
    grown = []
    for pattern in ("t.*", "u.*"):
        state = made(topics={f"t{each}": 1 for each in range(100)})
        Consumer(state, "m", pattern=pattern).beat()
        before = state.room.used
        pass_time(state, now=0.0)
        grown.append(state.room.used - before)

    all_of_them, none_of_them = grown
    assert all_of_them >= none_of_them + 800


def test_offsets_of_a_group_are_not_without_number() -> None:
    state = small()

    codes = commit(state, {"t": dict.fromkeys(range(MANY), 5)})["t"]

    kept = len(fetched(state)["t"])
    assert 10 < kept < MANY
    assert [name_of(code) for code in codes.values()] == [""] * kept + [
        "INVALID_COMMIT_OFFSET_SIZE"
    ] * (MANY - kept)


def test_what_is_committed_with_offsets_takes_room() -> None:
    state = small()

    codes = commit(state, {"t": dict.fromkeys(range(MANY), 5)}, metadata="x" * 4_096)["t"]

    assert list(codes.values()).count(0) < SMALL // 4_096


def test_an_offset_that_is_there_can_be_committed_anew_when_nothing_more_fits() -> None:
    state = small()
    commit(state, {"t": dict.fromkeys(range(MANY), 5)})

    codes = commit(state, {"t": {0: 6}})

    assert codes == {"t": {0: 0}}
    assert fetched(state)["t"][0] == 6


# All is given back


def delete(state: State, *groups: str) -> None:
    answer = call(state, DeleteGroupsRequest(groups_names=list(groups)))
    assert [each.error_code for each in answer.results] == [0] * len(groups)


def test_a_classic_group_that_is_deleted_gives_all_back() -> None:
    state = small()
    [member] = stable(state)
    new_id(state)
    join(state, member, protocols={"range": b"other", "more": b"and more"}, now=1.0)
    pass_time(state, now=20.0)
    leave(state, member, now=20.0)
    pass_time(state, now=500.0)
    commit(state, {"t": {0: 1, 1: 1}}, metadata="some", now=500.0)

    delete(state, "g")

    assert state.room.used == 0


def test_a_group_of_the_consumer_protocol_that_is_deleted_gives_all_back() -> None:
    state = made(topics={"t": 3})
    consumers = [
        Consumer(state, "a", topics=["t"]),
        Consumer(state, "b", pattern="t.*"),
        Consumer(state, "c", pattern="t|u", instance_id="i"),
    ]
    commit(state, {"t": {0: 1}})
    now = settle(*consumers)
    assert [each.error for each in consumers] == [None] * 3
    for each in consumers:
        each.leave(now=now)

    delete(state, "g")

    assert state.room.used == 0


def test_a_topic_that_is_deleted_gives_the_room_of_its_offsets_back() -> None:
    state = made(topics={"t": 3, "u": 1})
    commit(state, {"u": {0: 1}})
    before = state.room.used
    commit(state, {"t": {0: 1, 1: 1}}, metadata="some")

    state.topics.delete(state.topics.by_name["t"])

    assert state.room.used == before


def test_offsets_that_are_forgotten_give_their_room_back() -> None:
    state = small(offsets_retention_minutes=1)
    commit(state, {"t": dict.fromkeys(range(10), 1)})

    pass_time(state, now=2_000.0)

    assert (state.groups.by_id, state.room.used) == ({}, 0)
