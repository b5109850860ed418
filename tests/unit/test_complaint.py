"""When to warn that records are not acknowledged."""

from __future__ import annotations

from math import inf

import pytest

from kafka_aio.complaint import FIRST_AFTER, LONGEST, Complaint


def test_what_takes_less_than_five_seconds_is_no_trouble() -> None:
    complaint = Complaint()

    assert not complaint.is_due(100.0, now=100.0 + FIRST_AFTER - 0.1)
    assert complaint.next_at == 100.0 + FIRST_AFTER


@pytest.mark.parametrize("since", [0.1, 510.138, 1000.7, 86_400.123_456])
def test_at_the_time_that_was_told_it_is_due(since: float) -> None:
    complaint = Complaint()
    complaint.is_due(since, now=since)

    assert complaint.is_due(since, now=complaint.next_at)


def test_it_is_said_ever_more_rarely_but_never_given_up() -> None:
    complaint = Complaint()
    now, said = 0.0, []
    while now < 3000:
        if complaint.is_due(0.0, now=now):
            said.append(now)
        now = complaint.next_at

    assert said[:5] == [5, 10, 20, 40, 80]
    assert said[-1] - said[-2] == LONGEST


def test_between_two_warnings_none_is_due() -> None:
    complaint = Complaint()
    assert complaint.is_due(0.0, now=5.0)

    assert not complaint.is_due(0.0, now=9.9)
    assert complaint.next_at == 10.0


def test_new_trouble_begins_anew() -> None:
    complaint = Complaint()
    for now in (5.0, 10.0, 20.0):
        assert complaint.is_due(0.0, now=now)
    assert not complaint.is_due(21.0, now=22.0)  # the oldest is another one

    assert complaint.is_due(21.0, now=26.0)
    assert complaint.next_at == 31.0


def test_once_settled_there_is_no_reason_and_nothing_to_look_for() -> None:
    complaint = Complaint()
    complaint.reason = "node 1 is down"
    complaint.is_due(0.0, now=5.0)
    complaint.settled()

    assert complaint.reason == ""
    assert complaint.next_at == inf
