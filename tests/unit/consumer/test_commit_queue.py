"""The order, the merging and the outcomes of commits; and what auto-commit has to do."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_aio.backoff import Backoff
from kafka_aio.consumer.commit_queue import RENEWED_AFTER, AutoCommit, CommitQueue, Unheard
from kafka_aio.consumer.commits import Answer
from kafka_aio.errors import (
    CommitFailed,
    CoordinatorLoadInProgress,
    KafkaConnectionError,
    KafkaError,
    TopicAuthorizationFailed,
)
from kafka_aio.types import OffsetAndMetadata, TopicPartition
from tests.unit.consumer.owned import A0, A1, B0

AGAIN, REFUSED = CoordinatorLoadInProgress(), TopicAuthorizationFailed()
LOST = KafkaConnectionError("lost")
LOST.indefinite = True


def at(*numbers: int, text: str = "") -> dict[TopicPartition, OffsetAndMetadata]:
    """Offsets of A0, A1 and B0; those below 0 are left out."""
    places = zip((A0, A1, B0), numbers, strict=False)
    return {place: OffsetAndMetadata(number, text) for place, number in places if number >= 0}


def queue_of(*commits: dict[TopicPartition, OffsetAndMetadata]) -> CommitQueue[int]:
    """A queue with these, numbered from 0 on."""
    queue: CommitQueue[int] = CommitQueue(Backoff(1.0, 10.0))
    for number, offsets in enumerate(commits):
        queue.add(offsets, number, deadline=100.0)
    return queue


def answer(
    queue: CommitQueue[int],
    good: dict[TopicPartition, OffsetAndMetadata],
    *,
    again: tuple[TopicPartition, ...] = (),
    failed: tuple[TopicPartition, ...] = (),
    now: float = 0.0,
) -> list[tuple[int, dict[TopicPartition, KafkaError]]]:
    """Tell what became of what is in flight; who has ended, with which errors."""
    left = {each: offset for each, offset in good.items() if each not in (*again, *failed)}
    queue.answered(
        Answer({**left}, dict.fromkeys(again, AGAIN), dict.fromkeys(failed, REFUSED)),
        now=now,
        jitter=0.0,
    )
    return [(entry.ticket, entry.errors) for entry in queue.settled(now=now)]


def test_all_that_wait_go_as_one_and_the_later_wins() -> None:
    queue = queue_of(at(1, 1), at(2), at(-1, 3, 3))
    taken = queue.take(now=0.0)

    assert taken == at(2, 3, 3)
    assert answer(queue, taken) == [(0, {}), (1, {}), (2, {})]
    assert len(queue) == 0
    assert queue.deadline == inf


def test_one_is_in_flight_and_what_comes_meanwhile_goes_next() -> None:
    queue = queue_of(at(1))
    first = queue.take(now=0.0)
    queue.add(at(2), 1, deadline=50.0)
    between = queue.take(now=0.0)
    ended = answer(queue, first)

    assert between == {}
    assert ended == [(0, {})]
    assert queue.take(now=0.0) == at(2)


def test_each_gets_the_outcome_of_its_own_partitions() -> None:
    queue = queue_of(at(1), at(-1, 2), at(3, 3))
    taken = queue.take(now=0.0)

    assert answer(queue, taken, failed=(A1,)) == [(0, {}), (1, {A1: REFUSED}), (2, {A1: REFUSED})]


def test_what_has_to_be_tried_again_goes_after_a_pause_with_what_has_come_since() -> None:
    queue = queue_of(at(1, 1))
    taken = queue.take(now=0.0)
    ended = answer(queue, taken, again=(A1,))
    queue.add(at(-1, 2, 2), 1, deadline=50.0)
    too_soon = queue.take(now=0.9)
    due_at = queue.deadline

    assert ended == []
    assert too_soon == {}
    assert due_at == 1.0
    assert queue.take(now=1.0) == at(-1, 2, 2)


def test_pauses_grow_until_an_attempt_succeeds() -> None:
    queue = queue_of(at(1))
    pauses = []
    for _ in range(5):
        answer(queue, queue.take(now=0.0), again=(A0,))
        pauses.append(queue.deadline)
        queue.retry_now()
    answer(queue, queue.take(now=0.0))
    queue.add(at(2), 1, deadline=100.0)
    answer(queue, queue.take(now=0.0), again=(A0,))

    assert pauses == [1.0, 2.0, 4.0, 8.0, 10.0]
    assert queue.deadline == 1.0


def test_nobody_hears_of_success_before_those_who_came_first() -> None:
    queue = queue_of(at(1), at(-1, 2))
    ended = answer(queue, queue.take(now=0.0), again=(A0,))
    later = answer(queue, queue.take(now=1.0), now=1.0)

    assert ended == []
    assert later == [(0, {}), (1, {})]


def test_one_without_offsets_ends_when_those_before_it_have() -> None:
    queue = queue_of(at(1), {})
    before = queue.settled(now=0.0)
    ended = answer(queue, queue.take(now=0.0))

    assert before == []
    assert ended == [(0, {}), (1, {})]


def test_whose_time_is_over_does_not_wait_for_those_before() -> None:
    queue = queue_of(at(1))
    queue.add(at(-1, 2), 1, deadline=5.0)
    queue.take(now=0.0)
    due_at = queue.deadline
    (ended,) = queue.settled(now=5.0)

    assert due_at == 5.0
    assert (ended.ticket, ended.left) == (1, {A1})
    assert len(queue) == 1


def test_what_was_committed_in_time_is_a_success_although_it_was_told_late() -> None:
    queue = queue_of(at(1))
    queue.add(at(-1, 2), 1, deadline=5.0)
    answer(queue, queue.take(now=0.0), again=(A0,))
    (ended,) = queue.settled(now=5.0)

    assert (ended.ticket, ended.left, ended.errors) == (1, set(), {})


def test_one_with_another_text_goes_alone() -> None:
    queue = queue_of(at(1), at(2, text="long"), at(-1, -1, 3))
    first = queue.take(now=0.0)
    answer(queue, first)

    assert first == at(1)
    assert queue.take(now=0.0) == at(2, text="long") | at(-1, -1, 3)


def test_what_is_given_up_while_it_waits_fails_at_once() -> None:
    queue = queue_of(at(1))
    queue.take(now=0.0)
    queue.add(at(2, 2), 1, deadline=50.0)
    queue.drop([A0])
    first = answer(queue, at(1))
    ((number, errors),) = answer(queue, queue.take(now=0.0))

    assert first == [(0, {})]  # it was in flight, and has arrived
    assert (number, set(errors)) == (1, {A0})
    assert isinstance(errors[A0], CommitFailed)
    assert not errors[A0].indefinite


def test_what_is_given_up_in_flight_is_not_tried_again() -> None:
    queue = queue_of(at(1, 1))
    taken = queue.take(now=0.0)
    queue.drop([A0])
    answer(queue, taken, again=(A0, A1))

    assert queue.take(now=1.0) == at(-1, 1)
    ((number, errors),) = answer(queue, at(-1, 1), now=1.0)
    assert (number, set(errors)) == (0, {A0})
    assert not errors[A0].indefinite  # it was refused


@pytest.mark.parametrize("is_given_up_first", [True, False])
def test_what_is_given_up_and_whose_answer_is_lost_may_be_committed(
    is_given_up_first: bool,
) -> None:
    queue = queue_of(at(1))
    queue.take(now=0.0)
    if is_given_up_first:
        queue.drop([A0])
    queue.answered(Answer(again={A0: LOST}), now=0.0, jitter=0.0)
    if not is_given_up_first:
        queue.drop([A0])
    (ended,) = queue.settled(now=0.0)

    assert isinstance(ended.errors[A0], CommitFailed)
    assert ended.errors[A0].indefinite
    assert "not known whether" in str(ended.errors[A0])


def test_a_lost_answer_is_not_forgotten_when_the_next_is_a_refusal() -> None:
    queue = queue_of(at(1))
    queue.take(now=0.0)
    queue.answered(Answer(again={A0: LOST}), now=0.0, jitter=0.0)
    queue.retry_now()
    answer(queue, queue.take(now=0.0), again=(A0,))
    (ended,) = queue.settled(now=100.0)

    assert (ended.last, ended.may_be_done) == (AGAIN, True)


def test_what_is_in_flight_may_be_committed() -> None:
    queue = queue_of(at(1))
    queue.take(now=0.0)
    queue.add(at(2), 1, deadline=100.0)

    assert [entry.may_be_done for entry in queue.settled(now=100.0)] == [True, False]


def test_what_was_refused_is_not_in_flight_with_those_before_it() -> None:
    queue = queue_of(at(1))
    queue.add(at(-1, 2), 1, deadline=5.0)
    answer(queue, queue.take(now=0.0), again=(A0,), failed=(A1,))
    queue.take(now=1.0)
    (ended,) = queue.settled(now=5.0)

    assert (ended.errors, ended.may_be_done) == ({A1: REFUSED}, False)


# -- failures that nobody hears of


def test_failures_that_nobody_hears_of_are_told_at_once_and_then_together() -> None:
    unheard = Unheard()
    nothing = unheard.take(now=0.0), unheard.due_at
    unheard.add(AGAIN)
    unheard.add(REFUSED)
    first = unheard.take(now=0.0)
    unheard.add(REFUSED)
    too_soon = unheard.take(now=1.0), unheard.due_at
    unheard.add(AGAIN)
    unheard.add(AGAIN)

    assert nothing == ((0, None), inf)
    assert first == (2, AGAIN)
    assert too_soon == ((0, None), 5.0)
    assert unheard.take(now=5.0) == (3, REFUSED)
    assert unheard.due_at == inf


def test_at_the_end_all_failures_are_told() -> None:
    unheard = Unheard()
    for now in (0.0, 1.0):
        unheard.add(REFUSED)
        unheard.take(now=now)

    assert unheard.take(now=inf) == (1, REFUSED)


def test_the_end_of_all_gives_all_back() -> None:
    queue = queue_of(at(1), at(2))
    queue.take(now=0.0)

    assert [entry.ticket for entry in queue.abandon()] == [0, 1]
    assert len(queue) == 0


outcomes = st.sampled_from(["good", "again", "failed"])
offsets = st.tuples(*[st.integers(-1, 9)] * 3)


@given(st.lists(st.one_of(offsets, st.lists(outcomes, min_size=3, max_size=3)), max_size=40))
def test_every_commit_ends_once_and_in_order_whatever_is_answered(
    steps: list[tuple[int, ...] | list[str]],
) -> None:
    queue: CommitQueue[int] = CommitQueue(Backoff(0.0, 0.0))
    ended: list[int] = []
    stored: dict[TopicPartition, int] = {}
    wanted: dict[TopicPartition, list[int]] = {}
    added = 0
    for step in [*steps, *[["good"] * 3] * 2]:
        if isinstance(step, tuple):
            given = at(*step)
            queue.add(given, added, deadline=inf)
            added += 1
            for place, offset in given.items():
                wanted.setdefault(place, []).append(offset.offset)
            continue
        taken = queue.take(now=0.0)
        fates = dict(zip((A0, A1, B0), step, strict=True))
        again = tuple(each for each in taken if fates[each] == "again")
        failed = tuple(each for each in taken if fates[each] == "failed")
        stored |= {each: taken[each].offset for each in taken if fates[each] == "good"}
        if taken:
            ended += [number for number, _ in answer(queue, taken, again=again, failed=failed)]
        else:
            ended += [entry.ticket for entry in queue.settled(now=0.0)]

    assert ended == list(range(added))
    assert len(queue) == 0
    assert all(stored[place] in wanted[place] for place in stored)


# -- auto-commit


def test_auto_commit_commits_what_has_changed_since_it_was_acknowledged() -> None:
    auto = AutoCommit(5.0, now=0.0)
    first = auto.take(at(1, 1), now=5.0)
    auto.committed(at(1), now=5.1)

    assert first == at(1, 1)
    assert auto.take(at(1, 1), now=10.0) == at(-1, 1)
    assert auto.take(at(2, 1), now=15.0) == at(2, 1)


def test_auto_commit_is_due_after_its_interval_and_sooner_after_a_failure() -> None:
    auto = AutoCommit(5.0, now=1.0)
    first = auto.due_at
    auto.take(at(1), now=7.0)
    second = auto.due_at
    auto.failed(now=7.5, pause=1.0)

    assert (first, second, auto.due_at) == (6.0, 12.0, 8.5)


def test_a_commit_of_the_users_own_counts_even_if_it_leads_back() -> None:
    auto = AutoCommit(5.0, now=0.0)
    auto.committed(at(7), now=1.0)
    auto.committed(at(3), now=2.0)

    assert auto.take(at(7), now=5.0) == at(7)


def test_what_comes_back_is_committed_anew() -> None:
    auto = AutoCommit(5.0, now=0.0)
    auto.committed(at(7, 7), now=1.0)
    auto.forget([A0])

    assert auto.take(at(7, 7), now=5.0) == at(7)


def test_what_never_changes_is_committed_now_and_then_lest_brokers_forget_it() -> None:
    auto = AutoCommit(5.0, now=0.0)
    auto.committed(at(7), now=0.0)

    assert auto.take(at(7), now=RENEWED_AFTER - 1) == {}
    assert auto.take(at(7), now=RENEWED_AFTER) == at(7)


def test_without_an_interval_it_is_never_due() -> None:
    auto = AutoCommit(inf, now=0.0)

    assert auto.due_at == inf
    assert not auto.is_on


@pytest.mark.parametrize("thing", [queue_of(at(1)), AutoCommit(5.0, now=0.0)])
def test_it_can_be_looked_at(thing: object) -> None:
    assert "1 commits" in repr(thing) or "AutoCommit at 5.000" in repr(thing)
