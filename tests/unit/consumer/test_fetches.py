"""What is asked for, and what becomes of the answers; B45 to B50 are Java's behaviours."""

from __future__ import annotations

from math import inf

import pytest

from kafka_aio.consumer.fetches import Fetch, Fetches
from kafka_aio.consumer.sessions import Ask
from kafka_aio.errors import NotLeaderOrFollower, OffsetOutOfRange, StateError
from kafka_aio.metadata import Leader
from kafka_aio.types import TopicPartition
from tests.unit.consumer.fetched import (
    NODES,
    A,
    B,
    C,
    Owned,
    Place,
    answer,
    batch,
    data,
    fetches,
    fill,
    owned,
    send,
)

# What is asked for.


def test_without_partitions_there_is_nothing_to_ask_for() -> None:
    assert fetches().plan({}, NODES, now=0.0) == ([], inf)


def test_each_leader_is_asked_for_its_partitions() -> None:
    partitions = {**owned(A, B), **owned(C, node=2)}
    partitions[B].position = Place(7)

    plan = fetches().plan(partitions, NODES, now=0.0)

    assert {fetch.node: fetch.asks for fetch in plan.fetches} == {
        1: {A: Ask(0, 5, 1_000), B: Ask(7, 5, 1_000)},
        2: {C: Ask(0, 5, 1_000)},
    }
    assert all(fetch.is_whole for fetch in plan.fetches)


def test_partitions_without_a_position_or_a_leader_are_left_out() -> None:
    partitions = owned(A, B, C)
    partitions[A].position = None
    partitions[B].leader = None

    (fetch,) = send(fetches(), partitions)

    assert list(fetch.asks) == [C]


def test_a_leader_that_cannot_be_reached_is_not_asked() -> None:
    assert fetches().plan(owned(A, node=9), NODES, now=0.0).fetches == []


def test_a_node_has_one_request_at_a_time() -> None:
    state, partitions = fetches(), owned(A)
    (fetch,) = send(state, partitions)
    partitions |= owned(B)

    assert send(state, partitions) == []
    with pytest.raises(StateError, match="node 1 is out already"):
        state.sent(fetch)


def test_nodes_are_busy_while_each_has_a_request_out() -> None:
    state = fetches()
    (fetch,) = send(state, owned(A))

    assert not state.are_busy(set())
    assert state.are_busy({1})
    assert not state.are_busy({1, 2})
    state.failed(fetch)
    assert not state.are_busy({1})


def test_a_new_leader_is_asked_at_once_though_the_old_one_has_not_answered() -> None:
    state, partitions = fetches(), owned(A)
    (old,) = send(state, partitions)
    partitions[A].leader = Leader(2, 6)

    (new,) = send(state, partitions)

    assert new.node == 2
    assert answer(state, old, partitions, {A: data(batch(0))}) == []
    assert answer(state, new, partitions, {A: data(batch(0))}) == [A]


def test_a_partition_is_read_ahead_from_where_its_buffer_ends() -> None:
    state, partitions = fetches(), owned(A)
    (fetch,) = send(state, partitions)
    answer(state, fetch, partitions, {A: data(batch(0, 10) + batch(10, 5))})

    (fetch,) = send(state, partitions)

    assert fetch.asks[A].offset == 15


def test_a_partition_with_its_share_does_not_stall_the_others_of_its_node() -> None:
    state, partitions = fetches(limit=2_000), owned(A, B)
    fill(state, partitions, {A: 1_000})

    (fetch,) = send(state, partitions)

    assert list(fetch.asks) == [B]
    assert not fetch.is_whole


def test_who_got_nothing_for_the_longest_time_comes_first() -> None:
    state, partitions = fetches(), owned(A, B, C)
    fill(state, partitions, {B: 100})
    fill(state, partitions, {A: 100})

    (fetch,) = send(state, partitions)

    assert list(fetch.asks) == [C, B, A]


def test_an_answer_to_a_request_that_is_not_out_is_refused() -> None:
    state, partitions = fetches(), owned(A)
    (fetch,) = send(state, partitions)
    state.failed(fetch)

    with pytest.raises(StateError, match="not out"):
        state.failed(fetch)
    with pytest.raises(StateError, match="not out"):
        answer(state, fetch, partitions, {A: data(batch(0))})

    assert state.buffer.held == 0


# The bound.


def test_what_requests_may_bring_is_shared_by_the_nodes() -> None:
    partitions = {
        **owned(A),
        **owned(B, node=2),
        **owned(C, node=3),
    }

    sent = send(fetches(limit=3_000, partition=2_000), partitions)

    assert [fetch.max_bytes for fetch in sent] == [1_000, 1_000, 1_000]


def test_a_request_asks_for_no_more_than_its_partitions_can_bring() -> None:
    (fetch,) = send(fetches(), owned(A, B))

    assert fetch.max_bytes == 2_000


def test_nothing_is_asked_for_while_the_buffer_is_full() -> None:
    state, partitions = fetches(limit=1_000, partition=1_000), owned(A, B)
    fill(state, partitions, {A: 950})

    assert send(state, partitions) == []

    chunk = state.buffer.take(partitions)
    assert chunk is not None
    assert chunk.end is not None
    assert send(state, partitions) == []  # it is held while somebody has it
    partitions[A].position = Place(chunk.end)
    state.buffer.release(chunk)

    assert [list(fetch.asks) for fetch in send(state, partitions)] == [[B, A]]


def test_the_node_that_waited_longest_gets_the_bytes() -> None:
    state, partitions = fetches(limit=1_000, partition=1_000), owned(A)
    fill(state, partitions, {A: 950})
    partitions |= owned(B, node=2)
    chunk = state.buffer.take(partitions)
    assert chunk is not None
    partitions[A].position = Place(1)
    state.buffer.release(chunk)

    assert [fetch.node for fetch in send(state, partitions)] == [2, 1]


def test_paused_partitions_keep_half_of_the_bytes_at_most() -> None:
    state, partitions = fetches(limit=1_000, partition=400), owned(A, B, C)
    fill(state, partitions, {A: 300})
    fill(state, partitions, {B: 400})
    partitions[A].is_paused = partitions[B].is_paused = True

    (fetch,) = send(state, partitions)

    assert list(fetch.asks) == [C]
    assert state.buffer.queued(A) == 300
    assert state.buffer.queued(B) == 0  # the largest went
    assert state.buffer.held + fetch.max_bytes <= 1_000


def test_a_small_rest_of_a_frame_is_copied_out_when_bytes_are_scarce() -> None:
    state, partitions = fetches(limit=1_000, partition=900), owned(A, B, C)
    fill(state, partitions, {A: 800, B: 100})
    partitions[B].is_paused = True
    chunk = state.buffer.take(partitions)
    assert chunk is not None
    assert chunk.partition == A
    partitions[A].position = Place(1)
    state.buffer.release(chunk)
    assert state.buffer.held == 950

    (fetch,) = send(state, partitions)

    assert state.buffer.held == 100
    assert set(fetch.asks) == {A, C}
    partitions[B].is_paused = False
    rest = state.buffer.take(partitions)
    assert rest is not None
    assert rest.data == batch(0)
    assert len(rest.data.obj) == 100  # type: ignore[arg-type]  # bytes of its own


# B46: what was fetched for another position or assignment.


def test_an_answer_after_a_seek_is_dropped() -> None:
    state, partitions = fetches(), owned(A, B)
    (fetch,) = send(state, partitions)
    partitions[A].seek(50)

    heard = answer(state, fetch, partitions, {A: data(batch(0)), B: data(batch(0))})

    assert heard == [B]
    assert list(state.buffer) == [B]
    assert send(state, partitions)[0].asks[A].offset == 50


def test_an_answer_after_a_seek_to_the_same_offset_is_dropped() -> None:
    state, partitions = fetches(), owned(A)
    (fetch,) = send(state, partitions)
    partitions[A].seek(0)

    assert answer(state, fetch, partitions, {A: data(batch(0))}) == []
    assert state.buffer.held == 0


def test_an_answer_after_a_revocation_is_dropped() -> None:
    state, partitions = fetches(), owned(A)
    (fetch,) = send(state, partitions)

    assert answer(state, fetch, {}, {A: data(batch(0))}) == []
    assert state.buffer.held == 0


def test_a_position_that_was_sought_is_asked_of_another_node_at_once() -> None:
    state, partitions = fetches(), owned(A)
    (old,) = send(state, partitions)
    partitions[A].seek(50)
    partitions[A].leader = Leader(2, 6)

    (new,) = send(state, partitions)

    assert answer(state, old, partitions, {A: data(batch(0))}) == []
    assert answer(state, new, partitions, {A: data(batch(50))}) == [A]


def test_an_answer_that_does_not_go_on_where_the_buffer_ends_is_dropped() -> None:
    state, partitions = fetches(), owned(A)
    fill(state, partitions, {A: 100})
    (fetch,) = send(state, partitions)
    state.buffer.drop_last(A)  # as when it was paused and bytes were scarce

    assert answer(state, fetch, partitions, {A: data(batch(1))}) == []
    assert send(state, partitions)[0].asks[A].offset == 0


# B45: stale errors.


def test_an_error_about_an_earlier_position_is_not_heard() -> None:
    state, partitions = fetches(), owned(A)
    (fetch,) = send(state, partitions)
    partitions[A].seek(50)

    assert answer(state, fetch, partitions, {A: data(code=OffsetOutOfRange.code)}) == []


def test_an_error_is_heard_and_its_partition_rests() -> None:
    state, partitions = fetches(), owned(A, B)
    (fetch,) = send(state, partitions)

    heard = answer(state, fetch, partitions, {A: data(code=OffsetOutOfRange.code)}, now=10.0)
    plan = state.plan(partitions, NODES, now=10.5)

    assert heard == [A]
    assert [list(fetch.asks) for fetch in plan.fetches] == [[B]]
    assert plan.next_at == 11.0
    assert set(state.plan(partitions, NODES, now=11.0).fetches[0].asks) == {A, B}


def test_a_partition_does_not_rest_from_its_new_leader() -> None:
    state, partitions = fetches(), owned(A)
    (fetch,) = send(state, partitions)
    answer(state, fetch, partitions, {A: data(code=NotLeaderOrFollower.code)})

    partitions[A].leader = Leader(2, 6)

    assert [fetch.node for fetch in send(state, partitions)] == [2]


# B47: pause and resume.


def test_what_is_on_its_way_to_a_paused_partition_is_kept() -> None:
    state, partitions = fetches(), owned(A)
    (fetch,) = send(state, partitions)
    partitions[A].is_paused = True

    answer(state, fetch, partitions, {A: data(batch(0, 4))})
    assert send(state, partitions) == []
    assert state.buffer.take(partitions) is None
    partitions[A].is_paused = False

    assert send(state, partitions)[0].asks[A].offset == 4  # it is not fetched again
    chunk = state.buffer.take(partitions)
    assert chunk is not None
    assert chunk.begin == 0


# B50: replicas nearby.


Followed = tuple[Fetches, dict[TopicPartition, Owned], Fetch]


@pytest.fixture
def followed() -> Followed:
    """A partition that is led by node 1 and read from node 3, with a request out."""
    state, partitions = fetches(), owned(A)
    (fetch,) = send(state, partitions)
    answer(state, fetch, partitions, {A: data(replica=3)})
    (fetch,) = send(state, partitions)
    return state, partitions, fetch


def test_the_replica_that_the_leader_names_is_read_from() -> None:
    state, partitions = fetches(), owned(A)
    (fetch,) = send(state, partitions)

    heard = answer(state, fetch, partitions, {A: data(replica=3)})

    assert heard == [A]
    assert [(fetch.node, fetch.asks[A].offset) for fetch in send(state, partitions)] == [(3, 0)]


def test_the_epoch_that_a_replica_is_told_is_the_leaders(followed: Followed) -> None:
    _, _, fetch = followed

    assert (fetch.node, fetch.asks[A].leader_epoch) == (3, 5)


def test_after_a_time_the_leader_is_asked_again(followed: Followed) -> None:
    state, partitions, fetch = followed
    answer(state, fetch, partitions, {A: data()}, now=299.0)

    (last,) = send(state, partitions, now=299.9)
    answer(state, last, partitions, {A: data()}, now=300.0)

    assert last.node == 3
    assert send(state, partitions, now=300.0)[0].node == 1


@pytest.mark.parametrize("code", [NotLeaderOrFollower.code, OffsetOutOfRange.code])
def test_an_error_of_the_replica_leads_back_to_the_leader_at_once(
    followed: Followed, code: int
) -> None:
    state, partitions, fetch = followed

    heard = answer(state, fetch, partitions, {A: data(code=code)})

    # That an offset is out of range is for the leader to say.
    assert heard == ([] if code == OffsetOutOfRange.code else [A])
    assert send(state, partitions)[0].node == 1


def test_a_lost_connection_to_the_replica_leads_back_to_the_leader(followed: Followed) -> None:
    state, partitions, fetch = followed

    state.failed(fetch)

    assert send(state, partitions)[0].node == 1


def test_a_replica_that_cannot_be_reached_is_not_waited_for(followed: Followed) -> None:
    state, partitions, fetch = followed
    answer(state, fetch, partitions, {A: data()})

    (again,) = state.plan(partitions, {1, 2}, now=0.0).fetches

    assert again.node == 1


def test_a_new_leader_is_asked_itself(followed: Followed) -> None:
    state, partitions, fetch = followed
    partitions[A].leader = Leader(2, 6)
    answer(state, fetch, partitions, {A: data(batch(0))})

    (again,) = send(state, partitions)

    assert (again.node, again.asks[A]) == (2, Ask(1, 6, 1_000))


def test_the_replica_is_kept_over_a_seek(followed: Followed) -> None:
    state, partitions, fetch = followed
    partitions[A].seek(50)
    answer(state, fetch, partitions, {A: data(batch(0))})

    assert send(state, partitions)[0].node == 3


def test_a_lost_connection_to_the_leader_leaves_replicas_as_they_are() -> None:
    state, partitions = fetches(), owned(A, B)
    (fetch,) = send(state, partitions)
    answer(state, fetch, partitions, {A: data(replica=3), B: data()})
    leader = next(each for each in send(state, partitions) if each.node == 1)
    replica = state._out[3]
    state.failed(leader)
    answer(state, replica, partitions, {A: data()})

    assert {each.node for each in send(state, partitions)} == {1, 3}


def test_the_repr_shows_the_state() -> None:
    state, partitions = fetches(), owned(A)
    fill(state, partitions, {A: 100})
    send(state, partitions)

    assert repr(state) == "<Fetches: 150 of 10000 bytes held, 1000 reserved, 1 requests out>"
