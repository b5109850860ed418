from __future__ import annotations

import pytest

from kafka_aio.broker.state import State
from kafka_aio.errors import BrokerError, StaleMemberEpoch, UnknownMemberId, UnsupportedByBroker
from tests.unit.broker.clusters import made
from tests.unit.broker.groups.consumers import Consumer, group, settle


@pytest.fixture
def state() -> State:
    return made(topics={"t": 4, "u": 2})


def check(state: State, member_id: str, epoch: int, *partitions: tuple[str, int]) -> None:
    group(state).check_commit(member_id, epoch, None, version=9, partitions=partitions)


def why_not(state: State, member_id: str, epoch: int, *partitions: tuple[str, int]) -> str:
    with pytest.raises(BrokerError) as caught:
        check(state, member_id, epoch, *partitions)
    return f"{caught.value.name}: {caught.value.message}"


def test_who_is_in_its_epoch_may_commit_anything(state: State) -> None:
    Consumer(state, "m").beat()

    check(state, "m", 2, ("t", 0), ("u", 0))


def test_only_an_empty_group_takes_commits_of_nobody(state: State) -> None:
    consumer = Consumer(state, "m")
    consumer.beat()

    refused = why_not(state, "", -1, ("t", 0))
    consumer.leave()
    check(state, "", -1, ("t", 0))

    assert refused == "UNKNOWN_MEMBER_ID: Member  is not a member of group g."


def test_a_member_may_not_commit_in_an_old_version(state: State) -> None:
    Consumer(state, "m").beat()

    with pytest.raises(UnsupportedByBroker):
        group(state).check_commit("m", 2, None, version=8, partitions=[])
    with pytest.raises(UnknownMemberId):
        group(state).check_commit("n", 2, None, version=8, partitions=[])


def test_a_commit_of_a_newer_epoch_is_stale(state: State) -> None:
    Consumer(state, "m").beat()

    assert why_not(state, "m", 3) == (
        "STALE_MEMBER_EPOCH: Received member epoch 3 is newer than current member epoch 2."
    )


def test_who_is_behind_may_commit_what_it_has_had_since(state: State) -> None:
    first, second = Consumer(state, "m"), Consumer(state, "n")
    now = settle(first, second)
    third = Consumer(state, "o")
    third.beat(now=now)
    first.beat(now=now)

    check(state, "m", 2, ("t", 0), ("t", 1))
    check(state, "n", 3, ("t", 2))
    assert why_not(state, "m", 2, ("t", 0), ("t", 2)) == (
        "STALE_MEMBER_EPOCH: Partition t-2 is not assigned or pending revocation for member."
    )
    assert why_not(state, "m", 2, ("nothing", 0)).startswith("STALE_MEMBER_EPOCH")
    assert why_not(state, "n", 2, ("t", 2)) == (
        "STALE_MEMBER_EPOCH: Received member epoch 2 is older than assignment epoch 3 for"
        " partition t-2."
    )


def test_who_gives_back_may_still_commit_it(state: State) -> None:
    first = Consumer(state, "m")
    first.beat()
    first.send(2, subscribed_topic_names=["t", "u"])
    Consumer(state, "n").beat()
    first.send(3)

    revoking = [index for member in group(state).members for _, index in member.revoking]

    assert revoking
    check(state, "m", 2, *(("t", index) for index in revoking))


def test_offsets_are_read_by_anybody_or_by_a_member_in_its_epoch(state: State) -> None:
    Consumer(state, "m").beat()

    group(state).check_fetch(None, -1)
    group(state).check_fetch("m", 2)
    with pytest.raises(UnknownMemberId):
        group(state).check_fetch("n", 2)
    with pytest.raises(StaleMemberEpoch) as caught:
        group(state).check_fetch("m", 1)

    assert caught.value.message == (
        "The received member epoch 1 does not match the expected member epoch 2."
    )
