"""`kafka-aio bench` with its processes, on the embedded broker: that it works, not how fast."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_aio.broker import BrokerThread
from kafka_aio.cli.bench import clients, rounds
from kafka_aio.errors import InvalidRecord
from tests.unit.cli.shell import call

QUICK = ("--warm-up", "0", "--repetitions", "1", "--json")
READING = ("--seconds", "20", "--repetitions", "1", "--json")


@pytest.fixture
def thread() -> Iterator[BrokerThread]:
    with BrokerThread(topics={"mine": 2}, nodes=2) as started:
        yield started


def test_clients_take_turns_and_leave_no_topic_behind(
    thread: BrokerThread, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("aiokafka")
    words = ("bench", "produce", "-b", thread.bootstrap_servers, "--records", "300", *QUICK)
    outcome = call(capsys, *words, "--keys", "--partitions", "3", "--peers", "aiokafka")
    listed = call(capsys, "topics", "list", "-b", thread.bootstrap_servers, "--json")

    assert outcome.code == 0, outcome.err
    rows = outcome.document["clients"]
    assert [row["name"] for row in rows] == ["kafka-aio", "ceiling", "aiokafka"]
    for row in rows:
        assert row["errors"] == []
        assert row["repetitions"] == 1
        assert row["records_per_second"] > 0
        assert row["cpu_seconds_per_million"] > 0
        assert row["stall_seconds"] is not None
    assert rows[2]["ratio"]["records_per_second"] > 0
    assert [topic["name"] for topic in listed.document["topics"]] == ["mine"]


@pytest.mark.parametrize("path", ["many", "arrow"])
def test_many_records_go_into_one_call(
    thread: BrokerThread, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    words = ("bench", "produce", "-b", thread.bootstrap_servers, "--records", "300", *QUICK)
    outcome = call(capsys, *words, "--path", path, "--keys", "--no-ceiling")

    assert outcome.code == 0, outcome.err
    (ours,) = outcome.document["clients"]
    assert ours["errors"] == []
    assert ours["records_per_second"] > 0


@pytest.mark.parametrize("path", ["lists", "each", "arrow"])
def test_who_reads_has_a_topic_filled_for_it_and_nothing_is_left_behind(
    thread: BrokerThread, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    words = ("bench", "consume", "-b", thread.bootstrap_servers, "--records", "3000", *READING)
    outcome = call(capsys, *words, "--path", path, "--partitions", "3", "--codec", "lz4", "--watch")
    listed = call(capsys, "topics", "list", "-b", thread.bootstrap_servers, "--json")

    assert outcome.code == 0, outcome.err
    rows = outcome.document["clients"]
    assert [row["name"] for row in rows] == ["kafka-aio", "ceiling"]
    for row in rows:
        assert row["errors"] == []
        assert row["records_per_second"] > 0
        assert row["callback_seconds"]["longest"] > 0
    assert [topic["name"] for topic in listed.document["topics"]] == ["mine"]


@pytest.mark.parametrize("path", ["lists", "each"])
def test_peers_read_every_record_too(
    thread: BrokerThread, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    for module in ("aiokafka", "confluent_kafka", "kafka"):
        pytest.importorskip(module)
    words = ("bench", "consume", "-b", thread.bootstrap_servers, "--records", "3000", *READING)
    outcome = call(capsys, *words, "--path", path, "--no-ceiling", "--peers")

    assert outcome.code == 0, outcome.err
    _, *theirs = outcome.document["clients"]
    assert [row["name"] for row in theirs] == ["aiokafka", "confluent-kafka", "kafka-python"]
    for row in theirs:
        assert row["errors"] == []
        assert row["records_per_second"] > 0


def test_who_has_read_all_before_it_can_be_measured_is_no_result(
    thread: BrokerThread, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("bench", "consume", "-b", thread.bootstrap_servers, "--records", "1", *READING)
    outcome = call(capsys, *words, "--no-ceiling")

    assert outcome.code == 1
    assert "kafka-aio: nothing was measured: give it more records" in outcome.err


def test_a_topic_that_cannot_be_filled_is_an_error(
    thread: BrokerThread, capsys: pytest.CaptureFixture[str]
) -> None:
    thread.faults.fail("Produce", InvalidRecord)
    words = ("bench", "consume", "-b", thread.bootstrap_servers, "--records", "30", *READING)
    outcome = call(capsys, *words)

    assert outcome.code == 1
    assert "30 of 30 records were not delivered" in outcome.err


@pytest.mark.parametrize("words", [("--records", "20"), ("--records", "50", "--rate", "200")])
def test_records_are_timed_from_end_to_end(
    thread: BrokerThread, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    pytest.importorskip("aiokafka")
    pytest.importorskip("confluent_kafka")
    command = ("bench", "end-to-end", "-b", thread.bootstrap_servers, *QUICK)
    outcome = call(capsys, *command, *words, "--peers", "aiokafka,confluent-kafka")

    assert outcome.code == 0, outcome.err
    rows = outcome.document["clients"]
    assert [row["name"] for row in rows] == ["kafka-aio", "aiokafka", "confluent-kafka"]
    for row in rows:
        assert row["errors"] == []
        assert 0 < row["latency_seconds"]["p50"] <= row["latency_seconds"]["p999"] < 60


@pytest.mark.parametrize("command", ["tasks", "latency"])
def test_latencies_are_of_every_record(
    thread: BrokerThread, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    words = ["bench", command, "-b", thread.bootstrap_servers, "--topic", "mine", *QUICK]
    words += ["--records", "50", *(["--tasks", "10"] if command == "tasks" else [])]
    outcome = call(capsys, *words)

    assert outcome.code == 0, outcome.err
    ours = outcome.document["clients"][0]
    assert 0 < ours["latency_seconds"]["p50"] <= ours["latency_seconds"]["p999"] < 60
    assert outcome.document["workload"]["kind"] == command


def test_confluent_kafka_is_not_measured_on_its_own_timers(
    thread: BrokerThread, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("confluent_kafka")
    words = ("bench", "tasks", "-b", thread.bootstrap_servers, "--no-ceiling", *QUICK)
    numbers = ("--tasks", "10", "--records", "60")
    outcome = call(capsys, *words, *numbers, "--peers", "confluent-kafka")

    assert outcome.code == 0, outcome.err
    theirs = outcome.document["clients"][1]
    assert theirs["name"] == "confluent-kafka"
    assert theirs["latency_seconds"]["p50"] < 0.5  # by its defaults: 2 s


def test_who_cannot_do_it_is_left_out_and_who_fails_is_an_error(
    thread: BrokerThread, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    unable = clients.Client("unable", "kafka_aio.cli.bench.plan")
    broken = clients.Client("broken", "kafka_aio.cli.bench.missing")
    monkeypatch.setattr("kafka_aio.cli.bench.peers", lambda wanted: ([unable, broken], ["note"]))
    words = ("bench", "produce", "-b", thread.bootstrap_servers, "--records", "10", *QUICK)
    outcome = call(capsys, *words, "--peers")

    assert outcome.code == 1
    assert [row["name"] for row in outcome.document["clients"]] == [
        "kafka-aio",
        "ceiling",
        "broken",
    ]
    assert "kafka-aio: info: note" in outcome.err
    assert "kafka-aio: info: unable has no such workload: left out\n" in outcome.err
    assert "error: broken: ModuleNotFoundError" in outcome.err


@pytest.mark.parametrize("words", [("tasks",), ("produce", "--path", "arrow")])
def test_a_peer_without_such_a_workload_is_left_out_with_a_word(
    thread: BrokerThread, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    pytest.importorskip("kafka")
    options = ("-b", thread.bootstrap_servers, "--records", "10", "--no-ceiling", *QUICK)
    outcome = call(capsys, "bench", *words, *options, "--peers", "kafka-python")

    assert outcome.code == 0, outcome.err
    assert [row["name"] for row in outcome.document["clients"]] == ["kafka-aio"]
    assert outcome.err.count("kafka-aio: info: kafka-python has no such workload: left out\n") == 1


def test_a_process_that_ends_without_a_word_is_an_error(
    thread: BrokerThread, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "WORKER", "kafka_aio.no_such_module")
    words = ("bench", "produce", "-b", thread.bootstrap_servers, "--records", "10", *QUICK)
    outcome = call(capsys, *words, "--no-ceiling")

    assert outcome.code == 1
    assert "its process has ended" in outcome.err
    assert "no_such_module" in outcome.err


def test_a_topic_that_is_not_there_is_an_error(
    thread: BrokerThread, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("bench", "produce", "-b", thread.bootstrap_servers, "--topic", "absent", *QUICK)
    outcome = call(capsys, *words)

    assert outcome.code == 1
    assert "absent" in outcome.err


def test_options_of_the_producer_reach_the_one_that_is_measured(
    thread: BrokerThread, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("bench", "produce", "-b", thread.bootstrap_servers, "--records", "10", *QUICK)
    outcome = call(capsys, *words, "--no-ceiling", "-X", "max.request.size=50")

    assert outcome.code == 1
    assert "RecordTooLarge" in outcome.err
    assert "max.request.size is 50" in outcome.err
