from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kafka_aio.consumer.assignors.assignor import Assignment, Assignor, Member, Topics
from kafka_aio.consumer.assignors.choice import assignors_of
from kafka_aio.consumer.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka_aio.consumer.assignors.custom import CustomAssignor, checked
from kafka_aio.consumer.assignors.range import RangeAssignor
from kafka_aio.consumer.assignors.round_robin import RoundRobinAssignor
from kafka_aio.consumer.assignors.sticky import StickyAssignor
from kafka_aio.errors import ConfigError, UserCodeError
from kafka_aio.types import TopicPartition
from tests.unit.consumer.assignors.judged import names, plain, tp


class AllToTheFirst:
    """As little as an assignor can be."""

    name = "all to the first"

    def assign(self, members: Sequence[Member], topics: Topics) -> Assignment:
        first = min(member.id for member in members)
        return {first: [TopicPartition(t, n) for t in topics for n in range(len(topics[t]))]}


class Talkative(AllToTheFirst):
    name = "talkative"
    is_cooperative = True

    def user_data(self, owned: Sequence[TopicPartition], generation: int) -> bytes | None:
        return f"{len(owned)} {generation}".encode()

    def share_data(self, member: Member, partitions: Sequence[TopicPartition]) -> bytes | None:
        return f"{member.id} {len(partitions)}".encode()

    def on_assignment(
        self, partitions: Sequence[TopicPartition], user_data: bytes, generation: int
    ) -> None:
        self.heard = partitions, user_data, generation


def custom(given: Any) -> Assignor:
    (assignor,) = assignors_of([given])
    return assignor


# What a configuration names.


def test_names_mean_our_own_in_the_order_given() -> None:
    found = assignors_of(["cooperative-sticky", "range", "sticky", "roundrobin"])

    assert [type(each) for each in found] == [
        CooperativeStickyAssignor,
        RangeAssignor,
        StickyAssignor,
        RoundRobinAssignor,
    ]
    assert [each.name for each in found] == ["cooperative-sticky", "range", "sticky", "roundrobin"]


def test_an_object_stands_for_itself() -> None:
    class Mine(RangeAssignor):
        name = "mine"

    ours, mine = CooperativeStickyAssignor(), Mine()

    assert assignors_of([ours, mine]) == [ours, mine]


@pytest.mark.parametrize("given", [["range", "range"], ["sticky", StickyAssignor()]])
def test_two_of_one_name_are_refused(given: list[Any]) -> None:
    with pytest.raises(ConfigError, match=r"two assignors are named '(range|sticky)'"):
        assignors_of(given)


def test_an_object_that_cannot_assign_is_refused() -> None:
    class Named:
        name = "x"

        def __repr__(self) -> str:
            return "Named()"

    with pytest.raises(ConfigError, match=r"Named\(\) is no assignor, as it has no method assign"):
        assignors_of([Named()])


def test_a_class_is_no_assignor() -> None:
    with pytest.raises(ConfigError, match=r"RangeAssignor is a class: give RangeAssignor\(\)"):
        assignors_of([RangeAssignor])


# What an assignor of the user's may leave out.


def test_who_does_not_say_so_is_not_cooperative_and_has_nothing_to_add() -> None:
    assignor = custom(AllToTheFirst())

    assert assignor.name == "all to the first"
    assert not assignor.is_cooperative
    assert assignor.user_data(tp("x-0"), 3) is None
    assert assignor.share_data(Member("a", ["x"]), tp("x-0")) is None
    assignor.on_assignment(tp("x-0"), b"", 3)  # and it need not listen
    assert isinstance(assignor, CustomAssignor)
    assert "all to the first" in repr(assignor)


def test_what_it_says_counts() -> None:
    talkative = Talkative()
    assignor = custom(talkative)
    assignor.on_assignment(tp("x-0"), b"more", 3)

    assert assignor.is_cooperative
    assert assignor.user_data(tp("x-0"), 3) == b"1 3"
    assert assignor.share_data(Member("a", ["x"]), tp("x-0")) == b"a 1"
    assert talkative.heard == (tp("x-0"), b"more", 3)
    assert assignor.assign([Member("b", ["x"]), Member("a", ["x"])], plain(x=1)) == {"a": tp("x-0")}


# What it may not return.

MEMBERS = [Member("a", ["x", "y"]), Member("b", ["x"])]


def check(returned: object) -> Assignment:
    return checked("mine", returned, MEMBERS, plain(x=3, y=1))


def test_an_assignment_may_leave_out_members_and_partitions() -> None:
    found = check({"a": [("x", 0), TopicPartition("y", 0)]})

    assert names(found) == {"a": ["x-0", "y-0"], "b": []}
    assert all(type(each) is TopicPartition for each in found["a"])
    assert names(check({"b": iter([["x", 1]])})) == {"a": [], "b": ["x-1"]}


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        (None, "returned None, not a dict of partitions by member id"),
        ([], "returned a value of type list, not a dict of partitions by member id"),
        ({"c": []}, "gives partitions to 'c', who is no member"),
        ({"a": None}, "gives 'a' None, not a list of partitions"),
        ({"a": "x-0"}, "gives 'a' a value of type str, not a list of partitions"),
        ({"a": ["x-0"]}, "gives 'a' 'x-0', which is no partition"),
        ({"a": [("x", "0")]}, "gives 'a' ('x', '0'), which is no partition"),
        ({"a": [("x", 3)]}, "gives x-3 to 'a', but it does not exist"),
        ({"a": [("x", -1)]}, "gives x--1 to 'a', but it does not exist"),
        ({"a": [("z", 0)]}, "gives z-0 to 'a', but it does not exist"),
        ({"b": [("y", 0)]}, "gives y-0 to 'b', who does not subscribe to its topic"),
        ({"a": [("x", 0)], "b": [("x", 0)]}, "gives x-0 to 'b', and to 'a' before"),
        ({"a": [("x", 0), ("x", 0)]}, "gives x-0 to 'a', and to 'a' before"),
    ],
)
def test_what_is_no_assignment_is_an_error_that_names_the_culprit(
    returned: object, text: str
) -> None:
    with pytest.raises(UserCodeError) as caught:
        check(returned)

    assert str(caught.value) == f"assignor 'mine' {text}"


def test_the_error_has_the_partition() -> None:
    with pytest.raises(UserCodeError) as caught:
        check({"a": [("x", 3)]})

    assert caught.value.partitions == (TopicPartition("x", 3),)
