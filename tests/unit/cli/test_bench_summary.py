from __future__ import annotations

import json
import re
from typing import Any

import pytest

from kafka_aio.cli.bench import summary
from kafka_aio.cli.bench.clients import CEILING, OURS, Client
from kafka_aio.cli.bench.plan import Workload
from kafka_aio.cli.bench.summary import Measured, Summary
from kafka_aio.errors import KafkaError

PEER = Client("aiokafka", "benchmarks.peers.aiokafka", "0.14.0")


def measured(records: int, cpu: float = 1.0, **options: Any) -> Measured:
    return Measured(
        records=records,
        bytes=records * 100,
        seconds=2.0,
        cpu_seconds=cpu,
        memory_bytes=50_000_000,
        **options,
    )


def test_a_client_is_the_median_of_its_runs() -> None:
    runs = [measured(1_000_000, 3.0), measured(2_000_000, 4.0), measured(4_000_000, 2.0)]
    found = Summary.of(PEER, runs)

    assert found.rate == 1_000_000
    assert found.spread == 1.5
    assert found.megabytes == 100
    assert found.cpu == 2.0
    assert found.repetitions == 3


def test_a_run_that_failed_is_no_result() -> None:
    found = Summary.of(PEER, [measured(1_000_000), KafkaError("3 records"), measured(500_000)])

    assert found.repetitions == 2
    assert found.rate == 375_000
    assert found.errors == ["3 records"]


def test_who_has_no_result_has_no_numbers() -> None:
    found = Summary.of(PEER, [KafkaError("no")])
    ours = Summary.of(OURS, [measured(1_000)])

    assert found.rate is None
    assert set(found.ratios(ours).values()) == {None}
    assert summary.lines([found])[1].split() == ["aiokafka", "0.14.0"]


def test_percentiles_and_stalls_are_medians_too() -> None:
    runs = [
        measured(10, latency={"p50": at, "p99": 2 * at, "p999": 3 * at}, stall_seconds=at)
        for at in (0.001, 0.003, 0.002)
    ]
    found = Summary.of(OURS, runs)

    assert found.latency == {"p50": 0.002, "p99": 0.004, "p999": 0.006}
    assert found.stall == 0.002


def test_of_callbacks_and_ticks_the_longest_of_all_runs_counts() -> None:
    runs = [
        measured(10, callbacks=times, ticks=times)
        for at in (0.001, 0.009, 0.002)
        for times in [{"p50": at, "p99": at, "p999": at, "longest": 2 * at}]
    ]
    found = Summary.of(OURS, runs)

    assert found.callbacks == {"p50": 0.002, "p99": 0.002, "p999": 0.002, "longest": 0.018}
    assert found.ticks == found.callbacks
    shown = dict(zip(*(line.split("  ") for line in _columns(found)), strict=True))
    assert (shown["callback p99 ms"], shown["longest ms"]) == ("2.00", "18.00")


def _columns(found: Summary) -> list[str]:
    return [re.sub("  +", "  ", line).strip() for line in summary.lines([found])[:2]]


def test_a_ratio_above_one_is_our_gain() -> None:
    latency = {"p50": 0.001, "p99": 0.002, "p999": 0.003}
    slower = {"p50": 0.003, "p99": 0.008, "p999": 0.009}
    ours = Summary.of(OURS, [measured(3_000_000, 3.0, latency=latency)])
    theirs = Summary.of(PEER, [measured(1_000_000, 4.0, latency=slower)])

    assert theirs.ratios(ours) == {
        "records_per_second": pytest.approx(3.0),
        "cpu_seconds_per_million": pytest.approx(4.0),
        "p50": pytest.approx(3.0),
        "p99": pytest.approx(4.0),
    }
    assert ours.ratios(ours) == {}


def test_the_table_has_the_columns_that_somebody_has_a_value_for() -> None:
    found = summary.summaries(
        {
            OURS: [measured(1_000_000, 1.5)],
            CEILING: [measured(6_000_000, 0.6)],
            PEER: [measured(250_000, 3.0)],
        }
    )

    assert summary.lines(found) == [
        "client           records/s  spread    MB/s  CPU s/M  memory MB  x records/s  x CPU",
        "kafka-aio           500000  0%       50.00     1.50      50.00            -      -",
        "ceiling            3000000  0%      300.00     0.10      50.00         0.17   0.07",
        "aiokafka 0.14.0     125000  0%       12.50    12.00      50.00         4.00   8.00",
        "",
        "x: by how much kafka-aio is the better one.",
    ]


def test_who_comes_near_the_ceiling_has_found_the_broker_full() -> None:
    found = summary.summaries({OURS: [measured(900)], CEILING: [measured(1_000)]})
    timed = {"p50": 0.1, "p99": 0.1, "p999": 0.1}
    alone = summary.summaries({OURS: [measured(900, latency=timed)], CEILING: [measured(1_000)]})

    assert summary.lines(found)[-1].endswith("the broker is what is full: kafka-aio.")
    assert not any("full" in line for line in summary.lines(alone))


def test_the_document_is_json_and_every_key_is_told_in_the_help() -> None:
    latency = {"p50": 0.001, "p99": 0.002, "p999": 0.003}
    times = {**latency, "longest": 0.004}
    found = summary.summaries(
        {
            OURS: [measured(1_000, latency=latency, ticks=times, callbacks=times)],
            PEER: [KafkaError("no such record")],
        }
    )
    document = json.loads(json.dumps(summary.document(Workload(), found)))
    ours, theirs = document["clients"]

    assert document["workload"]["record_size"] == 100
    assert (ours["records_per_second"], ours["ratio"]) == (500, None)
    assert theirs["errors"] == ["no such record"]
    assert theirs["version"] == "0.14.0"
    told = " ".join(summary.KEYS)
    assert ours["tick_seconds"] == ours["callback_seconds"] == times
    for key in (*ours, *times, *theirs["ratio"]):
        assert key in told
