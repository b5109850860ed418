from __future__ import annotations

from math import inf

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kafka_aio.backoff import Backoff
from kafka_aio.metadata.refresh import Refresh

BACKOFF = Backoff(first=1.0, longest=10.0)
MAX_AGE = 300.0


def new(max_age: float = MAX_AGE, rebootstrap_after: float = inf) -> Refresh:
    return Refresh(max_age=max_age, backoff=BACKOFF, rebootstrap_after=rebootstrap_after)


def answered(
    refresh: Refresh, *, now: float, is_full: bool = True, is_progress: bool = True
) -> None:
    """A request that is answered at once."""
    refresh.sent(now=now)
    refresh.answered(is_full=is_full, is_progress=is_progress, now=now, jitter=0.0)


def at(refresh: Refresh) -> float:
    return refresh.at(has_new_topics=False)


def test_the_first_refresh_is_due_at_once() -> None:
    refresh = new()

    assert at(refresh) == -inf
    assert refresh.is_due_in_full(now=0.0)


def test_after_an_answer_the_next_is_due_when_it_is_too_old() -> None:
    refresh = new()
    answered(refresh, now=100.0)

    assert at(refresh) == 400.0
    assert not refresh.is_due_in_full(now=399.9)
    assert refresh.is_due_in_full(now=400.0)


def test_one_that_is_asked_for_waits_for_the_pause_after_the_last() -> None:
    refresh = new()
    answered(refresh, now=100.0)

    refresh.ask()

    assert at(refresh) == 101.0
    assert refresh.is_due_in_full(now=100.0)


def test_what_is_too_old_already_waits_for_the_pause_too() -> None:
    refresh = new(max_age=0.0)
    answered(refresh, now=100.0)

    assert at(refresh) == 101.0


def test_the_pause_counts_from_the_answer_and_not_from_the_request() -> None:
    refresh = new(max_age=0.0)
    refresh.sent(now=100.0)

    refresh.answered(is_full=True, is_progress=True, now=105.0, jitter=0.0)

    assert at(refresh) == 106.0


def test_asking_twice_is_asking_once() -> None:
    refresh = new()
    answered(refresh, now=100.0)
    refresh.ask()
    refresh.ask()

    answered(refresh, now=101.0)

    assert at(refresh) == 401.0


def test_one_asked_for_while_another_is_under_way_is_due_after_it() -> None:
    refresh = new()
    refresh.sent(now=100.0)
    refresh.ask()

    refresh.answered(is_full=True, is_progress=True, now=100.5, jitter=0.0)

    assert at(refresh) == 101.5


def test_an_attempt_without_an_outcome_is_made_again_after_the_first_pause() -> None:
    refresh = new()

    refresh.sent(now=100.0)

    assert at(refresh) == 101.0


def test_failures_double_the_pause_until_the_longest() -> None:
    refresh = new()
    pauses = []
    now = 100.0
    for _ in range(6):
        refresh.sent(now=now)
        refresh.failed(now=now, jitter=0.0)
        pauses.append(at(refresh) - now)
        now = at(refresh)

    assert pauses == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_an_answer_ends_the_failures() -> None:
    refresh = new()
    for now in (100.0, 110.0):
        refresh.failed(now=now, jitter=0.0)
    answered(refresh, now=120.0)

    refresh.failed(now=130.0, jitter=0.0)
    refresh.ask()

    assert at(refresh) == 131.0


def test_a_failure_after_the_answer_grew_old_is_tried_again_after_the_pause() -> None:
    refresh = new()
    answered(refresh, now=100.0)

    refresh.failed(now=400.0, jitter=0.0)

    assert at(refresh) == 401.0


def test_what_is_asked_for_waits_longer_while_answers_bring_nothing_new() -> None:
    refresh = new()
    pauses = []
    now = 100.0
    for _ in range(7):
        answered(refresh, now=now, is_progress=False)
        refresh.ask()
        pauses.append(at(refresh) - now)
        now = at(refresh)

    assert pauses == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0, 10.0]


def test_something_new_ends_that_wait() -> None:
    refresh = new()
    for now in (100.0, 110.0, 120.0):
        answered(refresh, now=now, is_progress=False)

    answered(refresh, now=130.0, is_progress=True)
    refresh.ask()

    assert at(refresh) == 131.0


def test_a_failure_ends_that_wait() -> None:
    refresh = new()
    for now in (100.0, 110.0, 120.0):
        answered(refresh, now=now, is_progress=False)

    refresh.failed(now=130.0, jitter=0.0)
    answered(refresh, now=131.0, is_progress=False)
    refresh.ask()

    assert at(refresh) == 132.0


def test_what_is_too_old_does_not_wait_for_answers_that_bring_nothing_new() -> None:
    refresh = new(max_age=3.0)
    for now in (100.0, 110.0, 120.0, 130.0, 140.0):
        answered(refresh, now=now, is_progress=False)

    refresh.ask()

    assert at(refresh) == 143.0


@pytest.mark.parametrize(("jitter", "pause"), [(-1.0, 0.8), (1.0, 1.2)])
def test_chance_moves_the_pauses(jitter: float, pause: float) -> None:
    failing, repeating = new(), new()

    failing.failed(now=0.0, jitter=jitter)
    repeating.answered(is_full=True, is_progress=False, now=0.0, jitter=jitter)
    repeating.ask()

    assert at(failing) == pytest.approx(pause)
    assert at(repeating) == pytest.approx(pause)


def test_new_topics_do_not_wait_after_an_answer() -> None:
    refresh = new()
    answered(refresh, now=100.0, is_progress=False)

    assert refresh.at(has_new_topics=True) == -inf
    assert not refresh.is_due_in_full(now=100.0)


def test_new_topics_wait_after_a_failure_and_for_an_attempt_under_way() -> None:
    failing, busy = new(), new()

    failing.failed(now=100.0, jitter=0.0)
    answered(busy, now=50.0)
    busy.sent(now=100.0)

    assert failing.at(has_new_topics=True) == 101.0
    assert busy.at(has_new_topics=True) == 101.0


def test_an_answer_about_some_topics_is_not_about_the_age_of_the_rest() -> None:
    refresh = new()
    answered(refresh, now=100.0)
    refresh.ask()

    answered(refresh, now=200.0, is_full=False)

    assert refresh.is_asked_for
    assert at(refresh) == 201.0
    assert refresh.is_due_in_full(now=200.0)


def test_rebootstrap_is_due_when_attempts_fail_for_too_long() -> None:
    refresh = new(rebootstrap_after=60.0)
    refresh.sent(now=100.0)
    refresh.failed(now=130.0, jitter=0.0)
    refresh.sent(now=131.0)

    assert not refresh.is_rebootstrap_due(now=160.0)
    assert refresh.is_rebootstrap_due(now=160.1)


def test_a_failure_before_anything_was_sent_counts_from_itself() -> None:
    refresh = new(rebootstrap_after=60.0)
    refresh.failed(now=100.0, jitter=0.0)

    assert not refresh.is_rebootstrap_due(now=160.0)
    assert refresh.is_rebootstrap_due(now=160.1)


def test_no_rebootstrap_is_due_while_nothing_is_tried() -> None:
    assert not new(rebootstrap_after=0.0).is_rebootstrap_due(now=1e9)


def test_any_answer_ends_the_time_to_a_rebootstrap() -> None:
    refresh = new(rebootstrap_after=60.0)
    refresh.failed(now=100.0, jitter=0.0)

    answered(refresh, now=150.0, is_full=False)

    assert not refresh.is_rebootstrap_due(now=1_000.0)


def test_after_a_bootstrap_the_time_starts_over_and_the_pause_still_holds() -> None:
    refresh = new(rebootstrap_after=60.0)
    answered(refresh, now=10.0)
    refresh.failed(now=100.0, jitter=0.0)

    refresh.bootstrapped()

    assert not refresh.is_rebootstrap_due(now=1_000.0)
    assert refresh.is_asked_for
    assert at(refresh) == 101.0


def test_a_broker_can_ask_for_a_rebootstrap() -> None:
    refresh = new(rebootstrap_after=60.0)

    assert refresh.told_to_rebootstrap()
    assert refresh.is_rebootstrap_due(now=0.0)
    refresh.bootstrapped()
    assert not refresh.is_rebootstrap_due(now=0.0)


def test_where_it_is_turned_off_nothing_leads_to_a_rebootstrap() -> None:
    refresh = new(rebootstrap_after=inf)
    refresh.failed(now=0.0, jitter=0.0)

    assert not refresh.told_to_rebootstrap()
    assert not refresh.is_rebootstrap_due(now=1e12)


def test_a_repr_tells_the_state_in_one_line() -> None:
    refresh = new()
    refresh.failed(now=0.0, jitter=0.0)
    before = repr(refresh)
    answered(refresh, now=0.0, is_progress=False)

    assert before == "<Refresh asked for, 1 failures, 0 repeats>"
    assert repr(refresh) == "<Refresh 0 failures, 1 repeats>"


class AnyOrder(RuleBasedStateMachine):
    """A task that waits as it is told, and attempts that end in any way."""

    jitter = st.floats(-1.0, 1.0)

    def __init__(self) -> None:
        super().__init__()
        self.refresh = new(rebootstrap_after=60.0)
        self.now = 1_000.0
        self.has_new_topics = False
        self.is_under_way = False

    @rule(seconds=st.floats(0.0, 100.0))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def somebody_asks(self) -> None:
        self.refresh.ask()

    @rule()
    def a_topic_is_wanted(self) -> None:
        self.has_new_topics = True

    @rule(wait=st.booleans())
    def a_request_is_sent(self, wait: bool) -> None:
        if wait:
            self.now = max(self.now, self.refresh.at(has_new_topics=self.has_new_topics))
        self.refresh.sent(now=self.now)
        self.is_under_way = True

    @precondition(lambda self: self.is_under_way)
    @rule(is_full=st.booleans(), is_progress=st.booleans(), jitter=jitter)
    def an_answer_comes(self, is_full: bool, is_progress: bool, jitter: float) -> None:
        self.refresh.answered(is_full=is_full, is_progress=is_progress, now=self.now, jitter=jitter)
        self.is_under_way = self.has_new_topics = False
        assert self.refresh.at(has_new_topics=False) > self.now
        assert not self.refresh.is_rebootstrap_due(now=self.now + 1e6)

    @rule(jitter=jitter)
    def an_attempt_fails(self, jitter: float) -> None:
        self.refresh.failed(now=self.now, jitter=jitter)
        self.is_under_way = False
        assert self.refresh.at(has_new_topics=True) > self.now
        assert self.refresh.is_rebootstrap_due(now=self.now + 61.0)

    @rule()
    def all_begins_again(self) -> None:
        self.refresh.bootstrapped()
        assert self.refresh.is_asked_for

    @invariant()
    def there_is_always_a_time_to_wait_for(self) -> None:
        longest = BACKOFF.longest if self.refresh.is_asked_for else MAX_AGE
        assert self.refresh.at(has_new_topics=False) <= self.now + longest
        assert self.refresh.at(has_new_topics=True) <= self.now + BACKOFF.longest


TestAnyOrder = AnyOrder.TestCase
