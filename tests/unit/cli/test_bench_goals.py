from __future__ import annotations

import pytest

from benchmarks import consume, produce, ratio
from benchmarks.cases import IDLE, Case, Found, Goal, Limit, verdict, verdicts
from benchmarks.ratio import Row
from kafka_aio.cli.bench.clients import CEILING, OURS, Client
from kafka_aio.cli.bench.plan import Workload
from kafka_aio.cli.bench.summary import Summary

PEER, OTHER = "confluent-kafka", "aiokafka"


def summary(name: str, rate: float | None, cpu: float | None, p99: float = 0.01) -> Summary:
    client = {OURS.name: OURS, CEILING.name: CEILING}.get(name, Client(name, "m"))
    latency = {"p50": p99 / 2, "p99": p99, "p999": p99}
    return Summary(client=client, repetitions=1, rate=rate, cpu=cpu, latency=latency)


def row_of(*found: Summary) -> Found:
    return {"row": {each.client.name: each for each in found}}


def case(*goals: Goal | Limit) -> Case:
    return Case("row", Workload(), (), goals)


def test_a_goal_is_reached_by_the_ratio_of_the_rates() -> None:
    goal = Goal(2, (PEER,))
    found = row_of(
        summary(OURS.name, 200, 1), summary(PEER, 100, 1), summary(CEILING.name, 900, 0.1)
    )
    row = verdict(case(goal), goal, found)

    assert row is not None
    assert (row.ratio, row.goal, row.reached, row.unit) == (2.0, 2, True, "records/s")


def test_the_best_of_several_peers_counts() -> None:
    goal = Goal(2, (PEER, OTHER))
    found = row_of(summary(OURS.name, 200, 1), summary(PEER, 90, 1), summary(OTHER, 150, 1))
    row = verdict(case(goal), goal, found)

    assert row is not None
    assert (row.peer_name, row.peer, row.reached) == (OTHER, 150, False)


def test_less_time_and_less_cpu_are_better() -> None:
    cpu, p99 = Goal(3, (PEER,), "cpu"), Goal(3, (PEER,), "p99")
    found = row_of(summary(OURS.name, 1, 1.0, 0.010), summary(PEER, 1, 4.0, 0.020))
    by_cpu, by_time = verdict(case(cpu), cpu, found), verdict(case(p99), p99, found)

    assert by_cpu is not None
    assert (by_cpu.ratio, by_cpu.reached) == (4.0, True)
    assert by_time is not None
    assert (by_time.ratio, by_time.reached) == (2.0, False)


def test_where_the_broker_is_full_a_goal_is_judged_on_cpu() -> None:
    goal = Goal(4, (PEER,))
    ours, peer = summary(OURS.name, 250, 0.5), summary(PEER, 100, 3.0)
    at_limit = verdict(case(goal), goal, row_of(ours, peer, summary(CEILING.name, 400, 0.1)))
    below = verdict(case(goal), goal, row_of(ours, peer, summary(CEILING.name, 399, 0.1)))

    assert at_limit is not None
    assert (at_limit.unit, at_limit.reached) == ("records/s", False)
    assert below is not None
    assert (below.unit, below.ratio, below.reached) == ("CPU s/M", 6.0, True)
    assert below.name == "row (the broker is full)"


def test_a_goal_may_be_a_figure_of_another_row() -> None:
    goal = Goal(0.8, (OURS.name,), row="other")
    found = {
        "row": {OURS.name: summary(OURS.name, 70, 1)},
        "other": {OURS.name: summary(OURS.name, 100, 1)},
    }
    row = verdict(case(goal), goal, found)

    assert row is not None
    assert (row.ratio, row.reached) == (0.7, False)
    assert row.peer_name == "kafka-aio, other"


def test_without_a_figure_there_is_no_verdict() -> None:
    goal = Goal(2, (PEER,))
    rows, unknown = verdicts(
        [case(goal)], row_of(summary(OURS.name, 1, 1), summary(PEER, None, None))
    )

    assert rows == []
    assert unknown == ["row, records/s: confluent-kafka"]


def test_a_limit_is_held_if_our_figure_is_below_it() -> None:
    longest, p99 = Limit(10, "callback"), Limit(3, "callback p99")
    callbacks = {"p50": 0.0001, "p99": 0.004, "p999": 0.005, "longest": 0.008}
    ours = Summary(client=OURS, repetitions=1, rate=1, cpu=1, callbacks=callbacks)
    held, broken = (verdict(case(limit), limit, row_of(ours)) for limit in (longest, p99))

    assert held is not None
    assert (held.ours, held.peer, held.reached) == (8.0, 10, True)
    assert held.unit == "ms, longest callback"
    assert broken is not None
    assert (broken.ours, broken.reached) == (4.0, False)


def test_a_limit_without_a_figure_is_unknown() -> None:
    rows, unknown = verdicts([case(Limit(10, "callback"))], row_of(summary(OURS.name, 1, 1)))

    assert rows == []
    assert unknown == ["row, ms, longest callback"]


def test_a_ticker_is_stated_beside_the_one_of_an_idle_process() -> None:
    stated = Goal(0, (IDLE.name,), "tick p99")
    ours, idle = (
        Summary(client=client, repetitions=1, ticks={"p99": late})
        for client, late in ((OURS, 0.004), (IDLE, 0.002))
    )
    row = verdict(case(stated), stated, row_of(ours, idle))

    assert row is not None
    assert (row.ours, row.peer, row.reached) == (4.0, 2.0, True)
    shown = " ".join(ratio.table([row]).splitlines()[1].split())
    assert shown == "row 4.0 2.0 0.5x - ms, p99 of a 1 ms ticker, against idle process"


def test_a_goal_that_is_not_reached_is_shown_with_what_bounds_it() -> None:
    row = Row(name="row", peer_name=PEER, ours=100, peer=100, goal=2, unit="records/s", note="why")

    assert ratio.table([row]).endswith("records/s, against confluent-kafka   short by 50%: why")


def test_who_reads_is_not_excused_by_the_broker() -> None:
    goal = Goal(4, (PEER,))
    reading = Case("row", Workload(kind="consume", path="lists"), (), (goal,), note="why")
    ours, peer = summary(OURS.name, 250, 0.5), summary(PEER, 100, 3.0)
    row = verdict(reading, goal, row_of(ours, peer, summary(CEILING.name, 300, 0.1)))

    assert row is not None
    assert (row.unit, row.reached, row.note) == ("records/s", False, "why")


@pytest.mark.parametrize(
    ("cases", "count", "without_goals"), [(produce.CASES, 10, 0), (consume.CASES, 11, 2)]
)
def test_every_goal_is_about_somebody_who_takes_part(
    cases: tuple[Case, ...], count: int, without_goals: int
) -> None:
    taking_part = {each.name: {OURS.name, *each.peers} for each in cases}

    assert len(taking_part) == len(cases) == count
    assert sum(not each.goals for each in cases) == without_goals
    for each in cases:
        for goal in each.goals:
            if isinstance(goal, Goal):
                assert set(goal.than) <= taking_part[goal.row or each.name]
