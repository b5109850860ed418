from __future__ import annotations

from math import inf

import pytest

from kafka_aio.broker.agenda import Agenda


def test_an_empty_agenda_is_never_due() -> None:
    assert Agenda().next_at == inf


def test_what_is_due_is_done_in_the_order_of_time_and_then_of_making() -> None:
    agenda = Agenda()
    done: list[str] = []
    for at, name in ((2.0, "c"), (1.0, "a"), (1.0, "b"), (3.0, "later")):
        agenda.at(at, lambda now, name=name: done.append(f"{name}@{now}"))  # type: ignore[misc]  # bound early

    agenda.run(now=2.5)

    assert done == ["a@2.5", "b@2.5", "c@2.5"]
    assert agenda.next_at == 3.0


def test_what_was_cancelled_is_not_done_and_not_waited_for() -> None:
    agenda = Agenda()
    done: list[float] = []
    first = agenda.at(1.0, done.append)
    agenda.at(2.0, done.append)

    first.cancel()

    assert agenda.next_at == 2.0
    agenda.run(now=5.0)
    assert done == [5.0]


def test_what_becomes_due_by_what_is_done_is_done_too() -> None:
    agenda = Agenda()
    done: list[float] = []

    def appoint(now: float) -> None:
        agenda.at(now, done.append)

    agenda.at(1.0, appoint)
    agenda.run(now=1.0)

    assert done == [1.0]
    assert agenda.next_at == inf


def test_what_fails_is_not_done_again_and_keeps_nothing_back() -> None:
    agenda = Agenda()
    done: list[float] = []

    def fail(now: float) -> None:
        raise ZeroDivisionError

    agenda.at(1.0, fail)
    agenda.at(1.0, done.append)
    with pytest.raises(ZeroDivisionError):
        agenda.run(now=1.0)
    agenda.run(now=1.0)

    assert done == [1.0]


def test_cancelled_appointments_do_not_pile_up() -> None:
    agenda = Agenda()
    agenda.at(0.0, lambda now: None)
    for at in range(1, 10_000):
        agenda.at(float(at), lambda now: None).cancel()

    assert len(agenda._heap) < 200
    assert repr(agenda) == "<Agenda of 1, the next at 0.0>"
