from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kafka_aio.backoff import Backoff
from kafka_aio.errors import StateError
from kafka_aio.nodes import Choice, Nodes

RECONNECT = Backoff(first=1.0, longest=8.0)
SETUP = Backoff(first=10.0, longest=30.0)
LONGEST_THROTTLE = 60.0


def new() -> Nodes[str]:
    return Nodes(reconnect=RECONNECT, setup_timeout=SETUP, longest_throttle=LONGEST_THROTTLE)


def failing(nodes: Nodes[str], node: int, *, now: float, error: str = "refused") -> None:
    """A dial of the node that fails at once."""
    nodes.dialling(node, now=now)
    nodes.failed(node, error, now=now, jitter=0.0)


def connecting(nodes: Nodes[str], node: int, *, now: float = 0.0) -> None:
    """A dial of the node that ends well at once."""
    nodes.dialling(node, now=now)
    nodes.connected(node)


def choose(
    nodes: Nodes[str],
    candidates: Iterable[int] = (1, 2, 3),
    *,
    in_flight: Mapping[int, int] | None = None,
    connected: Iterable[int] = (),
    now: float = 0.0,
    start: int = 0,
) -> Choice:
    ids, flying, ready = list(candidates), in_flight or {}, set(connected)
    return nodes.least_loaded(ids, in_flight=flying, connected=ready, now=now, start=start)


def test_a_node_that_nobody_dialled_may_be_dialled_at_once() -> None:
    nodes = new()

    assert nodes.can_dial(1, now=0.0)
    assert nodes.dial_at(1) == -inf
    assert nodes.setup_timeout(1) == 10.0
    assert not nodes.is_dialling(1)
    assert nodes.throttled_until(1) <= 0.0
    assert nodes.error_of(1) is None


def test_a_node_rests_after_a_dial_that_failed() -> None:
    nodes = new()

    failing(nodes, 1, now=5.0)

    assert nodes.dial_at(1) == 6.0
    assert not nodes.can_dial(1, now=5.9)
    assert nodes.can_dial(1, now=6.0)
    assert nodes.can_dial(2, now=5.0)


def test_a_resting_node_is_not_dialled_and_stays_as_it_was() -> None:
    nodes = new()
    failing(nodes, 1, now=5.0)

    with pytest.raises(StateError, match=r"node 1 has to rest for 0\.750 s"):
        nodes.dialling(1, now=5.25)

    assert not nodes.is_dialling(1)
    assert nodes.dial_at(1) == 6.0


def test_each_failure_doubles_the_rest_until_the_longest() -> None:
    nodes = new()
    rests = []
    now = 0.0
    for _ in range(5):
        failing(nodes, 1, now=now)
        rests.append(nodes.dial_at(1) - now)
        now = nodes.dial_at(1)

    assert rests == [1.0, 2.0, 4.0, 8.0, 8.0]


def test_chance_moves_the_rest_and_the_time_for_the_set_up() -> None:
    nodes = new()
    nodes.dialling(1, now=0.0)

    nodes.failed(1, "refused", now=0.0, jitter=-1.0)

    assert nodes.dial_at(1) == pytest.approx(0.8)
    assert nodes.setup_timeout(1) == pytest.approx(16.0)


def test_each_failed_dial_grants_the_next_one_twice_the_time_until_the_longest() -> None:
    nodes = new()
    granted = []
    for now in range(0, 400, 100):
        granted.append(nodes.setup_timeout(1))
        failing(nodes, 1, now=now)

    assert granted == [10.0, 20.0, 30.0, 30.0]


def test_a_connection_that_is_ready_starts_rests_and_set_up_times_over() -> None:
    nodes = new()
    failing(nodes, 1, now=0.0)
    failing(nodes, 1, now=10.0)

    connecting(nodes, 1, now=20.0)
    nodes.disconnected(1, "lost", now=30.0, jitter=0.0)

    assert nodes.dial_at(1) == 31.0
    assert nodes.setup_timeout(1) == 10.0


def test_a_ready_connection_ends_the_rest_that_another_one_caused() -> None:
    nodes = new()
    nodes.dialling(1, now=0.0)
    failing(nodes, 1, now=0.0)

    nodes.connected(1)

    assert nodes.can_dial(1, now=0.0)
    assert nodes.error_of(1) is None


def test_connections_lost_together_count_as_one_failure() -> None:
    nodes = new()
    for _ in range(3):
        connecting(nodes, 1)

    for now in (10.0, 10.1, 10.2):
        nodes.disconnected(1, "lost", now=now, jitter=0.0)

    assert nodes.dial_at(1) == 11.0


def test_dials_that_fail_together_count_as_one_failure_and_the_first_tells_why() -> None:
    nodes = new()
    nodes.dialling(1, now=0.0)
    nodes.dialling(1, now=0.0)

    nodes.failed(1, "first", now=1.0, jitter=0.0)
    nodes.failed(1, "second", now=1.5, jitter=0.0)

    assert nodes.dial_at(1) == 2.0
    assert nodes.setup_timeout(1) == 20.0
    assert nodes.error_of(1) == "first"


def test_a_node_is_being_dialled_until_its_last_dial_ends() -> None:
    nodes = new()
    nodes.dialling(1, now=0.0)
    nodes.dialling(1, now=0.0)

    nodes.connected(1)
    still = nodes.is_dialling(1)
    nodes.connected(1)

    assert still
    assert not nodes.is_dialling(1)


def test_a_dial_that_nobody_wants_any_more_earns_no_rest() -> None:
    nodes = new()
    nodes.dialling(1, now=0.0)

    nodes.abandoned(1)

    assert not nodes.is_dialling(1)
    assert nodes.can_dial(1, now=0.0)


def test_the_last_failure_is_told_until_a_connection_is_ready() -> None:
    nodes = new()
    failing(nodes, 1, now=0.0, error="refused")
    first = nodes.error_of(1)
    connecting(nodes, 1, now=1.0)
    between = nodes.error_of(1)
    nodes.disconnected(1, "lost", now=2.0, jitter=0.0)

    assert (first, between, nodes.error_of(1)) == ("refused", None, "lost")


def test_a_refusal_of_who_we_are_earns_a_rest_and_no_longer_set_up() -> None:
    nodes = new()
    failing(nodes, 1, now=0.0)
    nodes.dialling(1, now=1.0)

    nodes.authentication_failed(1, "wrong password", now=2.0, jitter=0.0)

    assert nodes.error_of(1) == "wrong password"
    assert nodes.dial_at(1) == 4.0
    assert nodes.setup_timeout(1) == 10.0, "the set-up was fast enough"


def test_a_refusal_is_told_although_another_dial_failed_just_before_or_after() -> None:
    nodes = new()
    for _ in range(3):
        nodes.dialling(1, now=0.0)

    nodes.failed(1, "cut", now=1.0, jitter=0.0)
    nodes.authentication_failed(1, "wrong password", now=1.1, jitter=0.0)
    nodes.failed(1, "cut", now=1.2, jitter=0.0)

    assert nodes.error_of(1) == "wrong password"


def test_a_refusal_is_over_with_a_ready_connection_or_with_another_failure() -> None:
    nodes = new()
    for node in (1, 2):
        nodes.dialling(node, now=0.0)
        nodes.authentication_failed(node, "wrong password", now=0.0, jitter=0.0)

    connecting(nodes, 1, now=5.0)
    failing(nodes, 2, now=5.0)

    assert nodes.error_of(1) is None
    assert nodes.error_of(2) != "wrong password"


def test_a_broker_can_ask_for_a_pause_but_not_for_too_long_a_one() -> None:
    nodes = new()
    connecting(nodes, 1)
    connecting(nodes, 2)

    nodes.throttled(1, 2.5, now=10.0)
    nodes.throttled(2, 2_147_483.647, now=10.0)

    assert nodes.throttled_until(1) > 12.4
    assert nodes.throttled_until(1) <= 12.5
    assert nodes.throttled_until(2) == 10.0 + LONGEST_THROTTLE


@pytest.mark.parametrize("seconds", [1.0, 0.0, -5.0])
def test_a_shorter_pause_does_not_end_a_longer_one(seconds: float) -> None:
    nodes = new()
    connecting(nodes, 1)
    nodes.throttled(1, 5.0, now=10.0)

    nodes.throttled(1, seconds, now=11.0)

    assert nodes.throttled_until(1) == 15.0


def test_a_forgotten_node_starts_afresh_at_its_new_address() -> None:
    nodes = new()
    for node in (1, 2):
        failing(nodes, node, now=0.0)
        nodes.throttled(node, 5.0, now=0.0)

    nodes.forgotten([1, 7])

    assert nodes.can_dial(1, now=0.0)
    assert nodes.setup_timeout(1) == 10.0
    assert nodes.throttled_until(1) <= 0.0
    assert nodes.error_of(1) is None
    assert not nodes.can_dial(2, now=0.0)


def test_what_ends_after_its_node_was_forgotten_is_let_pass() -> None:
    nodes = new()
    nodes.dialling(1, now=0.0)
    nodes.forgotten([1])

    nodes.connected(1)
    nodes.abandoned(1)
    nodes.failed(1, "late", now=1.0, jitter=0.0)
    nodes.authentication_failed(1, "late", now=1.0, jitter=0.0)
    nodes.disconnected(1, "late", now=1.0, jitter=0.0)
    nodes.throttled(1, 5.0, now=1.0)

    assert nodes.can_dial(1, now=1.0)
    assert nodes.error_of(1) is None
    assert nodes.throttled_until(1) <= 1.0


def test_a_dial_of_the_old_address_that_ends_late_leaves_a_sound_state() -> None:
    nodes = new()
    nodes.dialling(1, now=0.0)
    nodes.forgotten([1])
    nodes.dialling(1, now=1.0)

    nodes.connected(1)
    nodes.connected(1)

    assert not nodes.is_dialling(1)
    assert nodes.can_dial(1, now=2.0)


def test_the_idle_connection_comes_first() -> None:
    chosen = choose(new(), in_flight={1: 1, 3: 1}, connected=[1, 2, 3])

    assert chosen == Choice(2, 0.0)


def test_of_busy_connections_the_one_with_the_fewest_in_flight_is_chosen() -> None:
    assert choose(new(), in_flight={1: 3, 2: 9, 3: 2}, connected=[1, 2, 3]).node == 3


def test_a_busy_connection_is_better_than_a_dial() -> None:
    nodes = new()
    nodes.dialling(1, now=0.0)

    assert choose(nodes, in_flight={3: 900}, connected=[3]).node == 3


def test_a_node_being_dialled_is_better_than_a_dial_of_another() -> None:
    nodes = new()
    nodes.dialling(2, now=0.0)

    assert choose(nodes).node == 2


def test_a_node_being_dialled_can_be_waited_for_although_another_dial_of_it_failed() -> None:
    nodes = new()
    nodes.dialling(1, now=0.0)
    failing(nodes, 1, now=0.0)

    assert choose(nodes, [1]).node == 1


def test_of_those_to_dial_the_one_not_tried_for_the_longest_time_is_chosen() -> None:
    nodes = new()
    for node, now in ((1, 2.0), (2, 1.0), (3, 3.0)):
        failing(nodes, node, now=now)

    assert choose(nodes, now=100.0).node == 2
    assert choose(nodes, [1, 2, 3, 4], now=100.0).node == 4, "never tried at all"


def test_a_dial_that_was_abandoned_was_a_try() -> None:
    nodes = new()
    nodes.dialling(1, now=2.0)
    nodes.abandoned(1)

    assert choose(nodes, [1, 2], now=3.0).node == 2


def test_a_connection_that_was_lost_counts_from_its_loss() -> None:
    nodes = new()
    connecting(nodes, 1, now=0.0)
    failing(nodes, 2, now=10.0)
    nodes.disconnected(1, "lost", now=50.0, jitter=0.0)

    assert choose(nodes, [1, 2], now=100.0).node == 2


def test_of_equals_the_first_from_the_given_start_is_chosen() -> None:
    picks = [choose(new(), start=start).node for start in range(4)]

    assert picks == [1, 2, 3, 1]


def test_a_throttled_connection_is_left_out() -> None:
    nodes = new()
    connecting(nodes, 1)
    nodes.throttled(1, 5.0, now=0.0)

    assert choose(nodes, connected=[1]).node == 2
    assert choose(nodes, [1], connected=[1]) == Choice(None, 5.0)
    assert choose(nodes, [1], connected=[1], now=5.0).node == 1


def test_where_all_rest_it_says_when_the_first_may_be_dialled() -> None:
    nodes = new()
    failing(nodes, 1, now=0.0)
    failing(nodes, 2, now=0.5)

    assert choose(nodes, [1, 2], now=0.75) == Choice(None, 1.0)
    assert choose(nodes, [1, 2], now=1.0).node == 1


def test_a_lost_connection_to_a_throttled_node_waits_for_both() -> None:
    nodes = new()
    connecting(nodes, 1)
    nodes.throttled(1, 5.0, now=0.0)
    nodes.disconnected(1, "lost", now=4.5, jitter=0.0)

    assert choose(nodes, [1], now=4.5) == Choice(None, 5.5)


def test_with_no_node_there_is_nothing_to_wait_for() -> None:
    assert choose(new(), []) == Choice(None, inf)


def test_a_repr_tells_the_state_in_one_line() -> None:
    nodes = new()
    connecting(nodes, 1)
    failing(nodes, 2, now=0.0)
    nodes.dialling(3, now=0.0)

    assert repr(nodes) == "<Nodes: 3 known, 1 being dialled, 1 failing>"


class AnyOrder(RuleBasedStateMachine):
    """A task that tells the truth, in any order, about nodes that do what they like."""

    ids = (-1, 1, 2)
    node = st.sampled_from(ids)
    jitter = st.floats(-1.0, 1.0)

    def __init__(self) -> None:
        super().__init__()
        self.nodes = new()
        self.now = 100.0
        self.dials: list[int] = []
        self.open: list[int] = []

    @rule(seconds=st.floats(0.0, 20.0))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(start=st.integers(0, 5), in_flight=st.dictionaries(node, st.integers(0, 3)))
    def a_request_for_any_node(self, start: int, in_flight: dict[int, int]) -> None:
        chosen = self.choose(self.now, start, in_flight)
        if chosen.node is None:
            assert self.now < chosen.wait_until < inf
            assert self.choose(chosen.wait_until, start, in_flight).node is not None
        elif chosen.node not in self.open and not self.nodes.is_dialling(chosen.node):
            self.dial(chosen.node)

    @rule(node=node)
    def another_connection(self, node: int) -> None:
        if self.nodes.can_dial(node, now=self.now):
            self.dial(node)
        else:
            with pytest.raises(StateError):
                self.nodes.dialling(node, now=self.now)

    @precondition(lambda self: self.dials)
    @rule(data=st.data(), jitter=jitter, end=st.sampled_from(["ready", "cut", "refused", "unused"]))
    def a_dial_ends(self, data: st.DataObject, jitter: float, end: str) -> None:
        node = data.draw(st.sampled_from(self.dials))
        self.dials.remove(node)
        if end == "ready":
            self.nodes.connected(node)
            self.open.append(node)
            assert self.nodes.can_dial(node, now=self.now)
            assert self.nodes.error_of(node) is None
        elif end == "cut":
            self.nodes.failed(node, end, now=self.now, jitter=jitter)
            assert not self.nodes.can_dial(node, now=self.now)
        elif end == "refused":
            self.nodes.authentication_failed(node, end, now=self.now, jitter=jitter)
            assert self.nodes.error_of(node) == end
        else:
            self.nodes.abandoned(node)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), jitter=jitter)
    def a_connection_is_lost(self, data: st.DataObject, jitter: float) -> None:
        node = data.draw(st.sampled_from(self.open))
        self.open.remove(node)
        self.nodes.disconnected(node, "lost", now=self.now, jitter=jitter)
        assert not self.nodes.can_dial(node, now=self.now)

    @rule(node=node, seconds=st.floats(-10.0, 1e6))
    def a_broker_throttles(self, node: int, seconds: float) -> None:
        before = self.nodes.throttled_until(node)
        self.nodes.throttled(node, seconds, now=self.now)
        assert self.nodes.throttled_until(node) >= before

    @rule(node=node)
    def a_node_leaves(self, node: int) -> None:
        self.nodes.forgotten([node])
        self.dials = [each for each in self.dials if each != node]
        self.open = [each for each in self.open if each != node]

    @invariant()
    def no_number_is_out_of_bounds(self) -> None:
        for node in self.ids:
            assert self.nodes.dial_at(node) <= self.now + RECONNECT.longest
            assert self.nodes.throttled_until(node) <= self.now + LONGEST_THROTTLE
            assert SETUP.first <= self.nodes.setup_timeout(node) <= SETUP.longest
            assert self.nodes.is_dialling(node) == (node in self.dials)

    def dial(self, node: int) -> None:
        self.nodes.dialling(node, now=self.now)
        self.dials.append(node)

    def choose(self, now: float, start: int, in_flight: dict[int, int]) -> Choice:
        return choose(
            self.nodes, self.ids, in_flight=in_flight, connected=self.open, now=now, start=start
        )


TestAnyOrder = AnyOrder.TestCase
