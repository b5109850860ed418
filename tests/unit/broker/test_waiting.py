from __future__ import annotations

from kafka_aio.broker.topics.partitions import Partition
from kafka_aio.broker.waiting import Waiting
from tests.unit.broker.clusters import made


class Somebody:
    """Writes down what it hears."""

    def __init__(self, missing: int) -> None:
        self.missing = missing
        self.heard: list[str] = []

    def look(self) -> None:
        self.heard.append("look")

    def finish(self) -> None:
        self.heard.append("finish")


def partitions() -> list[Partition]:
    return made(topics={"t": 2}).topics.by_name["t"].partitions


def test_who_waits_looks_when_enough_was_appended() -> None:
    one, other = partitions()
    waiting, somebody = Waiting(), Somebody(10)
    waiting.enter(somebody, [one, other])

    waiting.appended(one, 6)
    assert somebody.heard == []
    waiting.appended(other, 4)
    assert somebody.heard == ["look"]


def test_what_is_appended_elsewhere_does_not_count() -> None:
    one, other = partitions()
    waiting, somebody = Waiting(), Somebody(10)
    waiting.enter(somebody, [one])

    waiting.appended(other, 100)

    assert somebody.heard == []


def test_who_waits_hears_of_a_change_at_once() -> None:
    one, other = partitions()
    waiting, somebody, another = Waiting(), Somebody(10), Somebody(10)
    waiting.enter(somebody, [one, other])
    waiting.enter(another, [other])

    waiting.changed(one)

    assert (somebody.heard, another.heard) == (["finish"], [])


def test_who_has_left_hears_no_more() -> None:
    one, other = partitions()
    waiting, somebody = Waiting(), Somebody(1)
    waiting.enter(somebody, [one, other])

    waiting.leave(somebody, [one, other])
    waiting.appended(one, 5)
    waiting.changed(other)

    assert somebody.heard == []
    assert repr(waiting) == "<Waiting: 0 for 0 partitions>"


def test_leaving_twice_does_nothing() -> None:
    one, _ = partitions()
    waiting, somebody, another = Waiting(), Somebody(1), Somebody(1)
    waiting.enter(somebody, [one])
    waiting.enter(another, [one])

    waiting.leave(somebody, [one])
    waiting.leave(somebody, [one])
    waiting.changed(one)

    assert (somebody.heard, another.heard) == ([], ["finish"])


def test_who_leaves_while_all_are_told_does_not_disturb_the_others() -> None:
    one, _ = partitions()
    waiting = Waiting()

    class Leaver(Somebody):
        def finish(self) -> None:
            super().finish()
            waiting.leave(self, [one])

    everybody = [Leaver(1), Leaver(1), Leaver(1)]
    for each in everybody:
        waiting.enter(each, [one])

    waiting.changed(one)

    assert [each.heard for each in everybody] == [["finish"]] * 3
