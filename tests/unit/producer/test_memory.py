"""Behaviour B16: memory is bounded, first come is first served, and nothing of it is lost."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kafka_aio.producer.memory import Memory

LIMIT = 100


def waiting(*tickets: tuple[str, int], free: int = 0) -> Memory[str]:
    """A memory with so many bytes free, for which these wait: each with the bytes of its record."""
    memory: Memory[str] = Memory(LIMIT)
    assert memory.reserve(LIMIT - free)
    for ticket, size in tickets:
        memory.wait(ticket, size)
    return memory


def test_as_much_is_reserved_as_there_is() -> None:
    memory: Memory[str] = Memory(LIMIT)

    assert memory.reserve(60)
    assert not memory.reserve(41)
    assert memory.reserve(40)
    assert memory.free == 0


def test_what_is_released_can_be_reserved_again() -> None:
    memory = waiting(free=0)
    memory.release(30)

    assert memory.reserve(30)
    assert not memory.reserve(1)


def test_nobody_is_served_before_those_who_wait() -> None:
    memory = waiting(("first", 50), ("second", 10), free=40)

    assert not memory.reserve(10)
    assert not memory.reserve(10, "second")
    assert not memory.reserve(50, "first")
    memory.release(10)
    assert memory.reserve(50, "first")


def test_who_was_served_leaves_and_the_next_is_first() -> None:
    memory = waiting(("first", 50), ("second", 10), free=60)
    assert memory.reserve(50, "first")
    memory.leave("first")

    assert memory.reserve(10, "second")


def test_as_many_are_called_as_there_are_bytes_for_in_their_order() -> None:
    memory = waiting(("a", 30), ("b", 30), ("c", 30), ("d", 1), free=70)

    assert memory.call() == ["a", "b"]


def test_nobody_is_called_twice_before_he_has_tried() -> None:
    memory = waiting(("a", 30), ("b", 30), free=30)
    assert memory.call() == ["a"]
    memory.release(30)

    assert memory.call() == ["b"]
    assert memory.call() == []


def test_who_was_called_in_vain_keeps_his_place_and_is_called_again() -> None:
    memory = waiting(("a", 30), ("b", 30), free=10)
    assert memory.call() == ["a"]
    memory.wait("a", 30)
    memory.release(20)

    assert memory.call() == ["a"]
    assert memory.reserve(30, "a")


def test_the_first_is_called_also_where_there_is_too_little_for_a_batch() -> None:
    # His record may fit into a batch that is open by now.
    memory = waiting(("a", 30), ("b", 1), free=1)

    assert memory.call() == ["a"]


def test_nobody_is_called_where_there_is_nothing() -> None:
    assert waiting(("a", 30)).call() == []
    assert waiting(free=50).call() == []


def test_who_gives_up_makes_room_for_the_next() -> None:
    memory = waiting(("a", 90), ("b", 20), free=20)
    assert memory.call() == ["a"]

    assert memory.leave("a") == "b"
    assert memory.call() == []  # it is called already
    assert len(memory) == 1


def test_at_a_place_only_the_first_may_try() -> None:
    memory = waiting(free=0)
    for ticket, place in (("a", 0), ("b", 1), ("c", 0), ("d", 1)):
        memory.wait(ticket, 10, place)
    first = [ticket for ticket in "abcd" if memory.is_first(ticket)]
    following = memory.leave("a")  # it has found a batch open, or has opened one

    assert first == ["a", "b"]
    assert following == "c"
    assert [ticket for ticket in "bcd" if memory.is_first(ticket)] == ["b", "c"]
    assert memory.leave("c") is None
    assert memory.leave("c") is None


def test_who_was_called_in_vain_keeps_his_place_in_the_line() -> None:
    memory = waiting(free=0)
    for ticket in "abc":
        memory.wait(ticket, 10, "place")
    memory.wait("a", 10, "place")

    assert [memory.leave(ticket) for ticket in "abc"] == ["b", "c", None]


def test_all_are_called_when_there_is_something_else_to_see() -> None:
    memory = waiting(("a", 30), ("b", 30))

    assert memory.call_all() == ["a", "b"]


def test_more_than_was_reserved_cannot_be_released() -> None:
    memory = waiting(free=50)

    with pytest.raises(AssertionError, match="more was released"):
        memory.release(51)


class Callers(RuleBasedStateMachine):
    """Callers come, wait, are called, try, give up; batches end. As `Intake` and `Sender` do it."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: Memory[int] = Memory(LIMIT)
        self.needs: dict[int, int] = {}  # who waits, in the order of coming
        self.places: dict[int, int] = {}  # where each wants to go
        self.open: set[int] = set()  # places with a batch that takes anything, until it ends
        self.called: list[int] = []
        self.held: list[int] = []
        self.came = 0

    def call(self) -> None:
        self.called += self.memory.call()

    @rule(need=st.integers(1, LIMIT), record=st.integers(1, LIMIT), place=st.integers(0, 2))
    def come(self, need: int, record: int, place: int) -> None:
        if self.memory.reserve(need):
            assert not self.needs, "one who came later was served first"
            self.held.append(need)
            return
        self.came += 1
        self.needs[self.came] = need
        self.places[self.came] = place
        self.memory.wait(self.came, min(record, need), place)

    @rule()
    def batches_close(self) -> None:
        self.open.clear()

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def batch_ends(self, data: st.DataObject) -> None:
        at = data.draw(st.integers(0, len(self.held) - 1))
        self.memory.release(self.held.pop(at))
        self.call()

    @precondition(lambda self: self.called)
    @rule(data=st.data())
    def try_again(self, data: st.DataObject) -> None:
        ticket = self.called.pop(data.draw(st.integers(0, len(self.called) - 1)))
        self.attempt(ticket)

    def attempt(self, ticket: int) -> None:
        need, place = self.needs[ticket], self.places[ticket]
        there = [each for each in self.needs if self.places[each] == place]
        assert self.memory.is_first(ticket) == (there[0] == ticket)
        if there[0] != ticket:
            self.memory.wait(ticket, need, place)
        elif place in self.open:
            self.go(ticket)
        elif self.memory.reserve(need, ticket):
            assert ticket == next(iter(self.needs)), "one who came later was served first"
            self.held.append(need)
            self.open.add(place)
            self.go(ticket)
        else:
            self.memory.wait(ticket, need, place)

    @precondition(lambda self: self.needs)
    @rule(data=st.data())
    def give_up(self, data: st.DataObject) -> None:
        self.go(data.draw(st.sampled_from(list(self.needs))))

    def go(self, ticket: int) -> None:
        del self.needs[ticket]
        self.called = [each for each in self.called if each != ticket]
        following = self.memory.leave(ticket)
        if following is not None and following not in self.called:
            self.called.append(following)
        self.call()

    @invariant()
    def no_byte_leaks(self) -> None:
        assert self.memory.free + sum(self.held) == LIMIT
        assert len(self.memory) == len(self.needs)
        assert self.memory._called <= self.needs.keys()

    @invariant()
    def nobody_is_forgotten(self) -> None:
        if self.needs and not self.called:
            assert self.memory.free < next(iter(self.needs.values()))

    def teardown(self) -> None:
        """In the end all batches end, and everybody is served in turn."""
        for _ in range(1000):
            if self.called:
                self.attempt(self.called.pop(0))
            elif self.held:
                self.memory.release(self.held.pop())
                self.call()
        assert not self.needs
        assert self.memory.free == LIMIT


TestCallers = Callers.TestCase
TestCallers.settings = settings(max_examples=60, stateful_step_count=30)
