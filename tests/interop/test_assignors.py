"""Who gets what in a classic group, and how its members say so: as Java's clients do.

What goes to Java are subscriptions in our bytes, and what comes back are assignments in Java's.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kafka_aio.consumer.assignors.assignor import Assignment, Assignor, Member, Topics
from kafka_aio.consumer.assignors.claims import Claim
from kafka_aio.consumer.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka_aio.consumer.assignors.range import RangeAssignor
from kafka_aio.consumer.assignors.round_robin import RoundRobinAssignor
from kafka_aio.consumer.assignors.sticky import StickyAssignor, decode_claim
from kafka_aio.consumer.membership.subscriptions import Assigned, Subscription
from kafka_aio.types import TopicPartition
from tests.kafka import jvm
from tests.unit.consumer.assignors.judged import Group, check_balance

ROUNDS = 150


# --- What Java is asked --------------------------------------------------------------------------


@dataclass
class Case:
    """A group to assign to."""

    assignor: Assignor
    members: list[Member]
    topics: Topics

    @property
    def before(self) -> Assignment:
        """What each member says that it had."""
        is_cooperative = self.assignor.is_cooperative
        return {
            each.id: list(each.owned if is_cooperative else decode_claim(each.user_data).partitions)
            for each in self.members
        }

    def question(self) -> dict[str, Any]:
        return {
            "do": "assign",
            "assignor": self.assignor.name,
            "topics": {
                name: [sorted(each) for each in racks] for name, racks in self.topics.items()
            },
            "members": {
                member.id: {
                    "subscription": text(subscription(member).encode()),
                    "instance_id": member.instance_id,
                }
                for member in self.members
            },
        }


def subscription(member: Member) -> Subscription:
    return Subscription(
        topics=tuple(member.topics),
        user_data=member.user_data or None,
        owned=tuple(member.owned),
        generation=member.generation,
        rack=member.rack,
    )


def without_racks(assignor: Assignor) -> list[Case]:
    rng = random.Random(7)
    cases = []
    for _ in range(ROUNDS):
        topics = {
            f"topic-{number}": [frozenset[str]()] * rng.randint(1, 9)
            for number in range(rng.randint(1, 8))
        }
        cases.append(Case(assignor, some_members(rng, topics, [None]), topics))
    return cases


def with_racks(assignor: Assignor) -> list[Case]:
    rng = random.Random(8)
    cases = []
    for _ in range(ROUNDS):
        topics = {
            f"topic-{number}": [
                frozenset(rng.sample("ABCD", rng.randint(0, 3)))
                for _ in range(rng.choice([3, 6, 6, 6, 8]))
            ]
            for number in range(rng.randint(1, 6))
        }
        members = some_members(rng, topics, ["A", "B", "C", "E", "", None])
        cases.append(Case(assignor, members, topics))
    return cases


def some_members(rng: random.Random, topics: Topics, racks: Sequence[str | None]) -> list[Member]:
    """Most want the same topics, so that there are topics with the same members."""
    usual = rng.sample(list(topics), rng.randint(1, len(topics)))
    return [
        Member(
            f"member-{rng.getrandbits(16)}-{number}",
            usual if rng.random() < 0.7 else rng.sample(list(topics), rng.randint(1, len(topics))),
            instance_id=f"static-{rng.getrandbits(16)}-{number}" if rng.random() < 0.3 else None,
            rack=rng.choice(racks),
        )
        for number in range(rng.randint(1, 12))
    ]


def after_changes(assignor: Assignor, *, all_want_the_same: bool, places: str = "") -> list[Case]:
    """Groups that were at rest before something changed."""
    rng = random.Random(9)
    cases = []
    for _ in range(ROUNDS):
        group = Group.at_random(assignor, rng, places)
        wanted = group.some_topics(rng)
        for change in (False, True):
            if change:
                group.change(rng)
            if all_want_the_same:
                group.subscribed = dict.fromkeys(group.subscribed, wanted)
            if not change:
                while group.rebalance() != group.owned:
                    pass
        cases.append(Case(assignor, group.members(), group.topics))
    return cases


@cache
def assigned() -> dict[str, list[Case]]:
    """All groups to assign to; made once, when they are asked for."""
    return {
        "range": without_racks(RangeAssignor()),
        "range by racks": with_racks(RangeAssignor()),
        "round robin": without_racks(RoundRobinAssignor()),
        "sticky": after_changes(StickyAssignor(), all_want_the_same=True),
        "sticky, different": after_changes(StickyAssignor(), all_want_the_same=False),
        "sticky by racks": after_changes(StickyAssignor(), all_want_the_same=True, places="ABC"),
        "sticky by racks, different": after_changes(
            StickyAssignor(), all_want_the_same=False, places="ABC"
        ),
        "cooperative": after_changes(CooperativeStickyAssignor(), all_want_the_same=True),
        "cooperative, different": after_changes(
            CooperativeStickyAssignor(), all_want_the_same=False
        ),
    }


X = [TopicPartition("x", 0), TopicPartition("x", 2)]
XY = (*X, TopicPartition("y", 1), TopicPartition("ä", 7))
SUBSCRIPTIONS = [
    Subscription(("x",)),
    Subscription(("x", "y", "ä"), b"", XY, 7),
    Subscription(("y", "x"), b"data", XY, 0, "rack"),
    Subscription((), b"data", (), 2**31 - 1),
]
ASSIGNMENTS = [Assigned(), Assigned(XY), Assigned(XY[::-1], b"data"), Assigned((), b"")]
CLAIMS = [Claim(X, 7), Claim(XY, 2**31 - 1), Claim((), 0)]


def questions() -> dict[str, list[dict[str, Any]]]:
    def copy(encoded: bytes, kind: type) -> dict[str, Any]:
        return {"do": "copy", "bytes": text(encoded), "is_subscription": kind is Subscription}

    def user_data(claim: Claim, assignor: Assignor) -> dict[str, Any]:
        assigned = text(Assigned(tuple(claim.partitions)).encode())
        about = {"assignor": assignor.name, "generation": claim.generation}
        return {"do": "user data", "bytes": assigned, **about}

    return {
        **{name: [case.question() for case in cases] for name, cases in assigned().items()},
        "subscriptions": [copy(each.encode(), Subscription) for each in SUBSCRIPTIONS],
        "assignments": [copy(each.encode(), Assigned) for each in ASSIGNMENTS],
        "sticky data": [user_data(each, StickyAssignor()) for each in CLAIMS],
        "cooperative data": [user_data(each, CooperativeStickyAssignor()) for each in CLAIMS],
    }


Answers = dict[str, list[dict[str, bytes]]]


@pytest.fixture(scope="module")
def answers(kafka_libs: Path, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What Java says to all questions, which it is asked at once."""
    asked = questions()
    printed = jvm.run(
        str(Path(__file__).with_name("Assignors.java")),
        scratch=tmp_path_factory.mktemp("assignors"),
        given="".join(f"{json.dumps(each)}\n" for some in asked.values() for each in some),
    )
    lines = iter(printed.splitlines())
    return {
        name: [
            {key: base64.b64decode(data) for key, data in json.loads(next(lines)).items()}
            for _ in some
        ]
        for name, some in asked.items()
    }


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


# --- What it says --------------------------------------------------------------------------------


def assignments(answers: Answers, name: str) -> list[tuple[Case, Assignment, Assignment]]:
    """Each case with what we and what Java make of it."""
    return [
        (case, case.assignor.assign(case.members, case.topics), read(answer))
        for case, answer in zip(assigned()[name], answers[name], strict=True)
    ]


def read(answer: dict[str, bytes]) -> Assignment:
    return {each: sorted(Assigned.decode(data).partitions) for each, data in answer.items()}


@pytest.mark.parametrize("name", ["range", "range by racks", "round robin"])
def test_each_member_gets_what_java_gives_it(answers: Answers, name: str) -> None:
    for _, ours, theirs in assignments(answers, name):
        assert ours == theirs


def sizes(assignment: Assignment) -> list[int]:
    return sorted(len(mine) for mine in assignment.values())


def unevenness(assignment: Assignment) -> int:
    return sum(size * size for size in sizes(assignment))


def kept(before: Assignment, after: Assignment) -> int:
    return sum(len({*mine} & {*before[each]}) for each, mine in after.items())


def test_shares_are_as_large_as_javas_and_no_more_moves(answers: Answers) -> None:
    for case, ours, theirs in assignments(answers, "sticky"):
        assert sizes(ours) == sizes(theirs)
        assert kept(case.before, ours) == kept(case.before, theirs)


def far(case: Case, assignment: Assignment) -> int:
    """How many partitions have no replica in the rack of their member."""
    return sum(
        member.rack is not None and member.rack not in case.topics[each.topic][each.partition]
        for member in case.members
        for each in assignment[member.id]
    )


def test_shares_are_as_large_as_javas_and_no_farther_away(answers: Answers) -> None:
    compared = assignments(answers, "sticky by racks")

    for case, ours, theirs in compared:
        assert sizes(ours) == sizes(theirs)
        assert far(case, ours) <= far(case, theirs)
    # Java gives up what is far without asking whether anybody is nearer.
    assert sum(kept(case.before, ours) for case, ours, _ in compared) > sum(
        kept(case.before, theirs) for case, _, theirs in compared
    )


@pytest.mark.parametrize("name", ["sticky, different", "sticky by racks, different"])
def test_ours_and_javas_are_even_by_the_same_rule(answers: Answers, name: str) -> None:
    for case, ours, theirs in assignments(answers, name):
        subscribed = {member.id: member.topics for member in case.members}
        check_balance(theirs, subscribed)
        check_balance(ours, subscribed)


def test_where_members_want_different_topics_less_is_far_than_with_java(answers: Answers) -> None:
    compared = assignments(answers, "sticky by racks, different")

    assert sum(far(case, ours) for case, ours, _ in compared) <= sum(
        far(case, theirs) for case, _, theirs in compared
    )
    assert sum(kept(case.before, ours) for case, ours, _ in compared) >= sum(
        kept(case.before, theirs) for case, _, theirs in compared
    )


def test_members_of_a_cooperative_group_keep_as_much_as_javas(answers: Answers) -> None:
    for case, ours, theirs in assignments(answers, "cooperative"):
        assert kept(case.before, ours) == kept(case.before, theirs)
        assert sum(sizes(ours)) == sum(sizes(theirs))


def test_where_members_want_different_topics_what_java_has_more_even_it_moved_more_for(
    answers: Answers,
) -> None:
    compared = assignments(answers, "sticky, different")

    for case, ours, theirs in compared:
        cost = unevenness(ours) - unevenness(theirs)
        gain = kept(case.before, ours) - kept(case.before, theirs)
        assert cost < 0 or gain > 0 or cost == gain == 0
    as_even = sum(sizes(ours) == sizes(theirs) for _, ours, theirs in compared)
    assert as_even > 0.9 * ROUNDS
    assert sum(kept(case.before, ours) for case, ours, _ in compared) >= sum(
        kept(case.before, theirs) for case, _, theirs in compared
    )


def test_a_cooperative_group_with_different_topics_keeps_more(answers: Answers) -> None:
    compared = assignments(answers, "cooperative, different")

    ours = sum(kept(case.before, ours) for case, ours, _ in compared)
    theirs = sum(kept(case.before, theirs) for case, _, theirs in compared)
    assert ours >= theirs


@pytest.mark.parametrize("version", range(4))
def test_members_write_the_same_bytes(answers: Answers, version: int) -> None:
    for subscribed, answer in zip(SUBSCRIPTIONS, answers["subscriptions"], strict=True):
        assert subscribed.encode(version) == answer[str(version)]
    for assigned, answer in zip(ASSIGNMENTS, answers["assignments"], strict=True):
        assert assigned.encode(version) == answer[str(version)]


def test_what_java_writes_is_read(answers: Answers) -> None:
    for subscribed, answer in zip(SUBSCRIPTIONS, answers["subscriptions"], strict=True):
        found = Subscription.decode(answer["3"])
        assert sorted(found.topics) == sorted(subscribed.topics)
        assert found.encode() == subscribed.encode()
    for assigned, answer in zip(ASSIGNMENTS, answers["assignments"], strict=True):
        assert Assigned.decode(answer["3"]) == assigned


def test_members_say_the_same_about_what_they_had(answers: Answers) -> None:
    for claim, sticky, cooperative in zip(
        CLAIMS, answers["sticky data"], answers["cooperative data"], strict=True
    ):
        said = decode_claim(sticky["bytes"])
        assert (sorted(said.partitions), said.generation) == (
            sorted(claim.partitions),
            claim.generation,
        )
        about = claim.partitions, claim.generation
        assert CooperativeStickyAssignor().user_data(*about) == cooperative["bytes"]
        ours = StickyAssignor().user_data(*about)
        assert ours is not None
        if len({each.topic for each in claim.partitions}) < 2:  # Java has topics in no order
            assert ours == sticky["bytes"]
        assert sorted(ours) == sorted(sticky["bytes"])
