from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT_OTHERS = ("-p", "no:anyio", "-p", "no:asyncio", "-p", "no:randomly", "-p", "no:hypothesis")


def run(folder: Path, *argv: str, ini: str = "", **files: str) -> subprocess.CompletedProcess[str]:
    """What pytest says of these files, in a process of its own."""
    (folder / "pytest.ini").write_text(f"[pytest]\naddopts = -q -p no:cacheprovider\n{ini}")
    for name, source in files.items():
        (folder / f"{name}.py").write_text(source)
    words = [sys.executable, "-m", "pytest", "--strict-markers", *WITHOUT_OTHERS, *argv, "."]
    return subprocess.run(
        words, cwd=folder, capture_output=True, text=True, timeout=50, check=False
    )


def passed(done: subprocess.CompletedProcess[str], count: int) -> bool:
    assert done.returncode == 0, done.stdout + done.stderr
    return f"{count} passed" in done.stdout


BROKERS = """
seen = []

def test_one(kafka_broker):
    seen.append(kafka_broker.bootstrap_servers)

def test_two(kafka_broker):
    seen.append(kafka_broker.bootstrap_servers)
    assert len(set(seen)) == {count}
"""

TOPICS = """
import pytest

def test_each_has_its_topic(kafka_broker, kafka_topic):
    kafka_broker.produce(kafka_topic, [b"one"])
    assert kafka_topic == "test-each-has-its-topic"
    assert len(kafka_broker.end_offsets(kafka_topic)) == 1

@pytest.mark.kafka_topic(partitions=3, configs={"max.message.bytes": "1000"})
@pytest.mark.parametrize("number", ["a/b", "a b"])
def test_its_topic_is_as_it_is_told(kafka_broker, kafka_topic, number):
    assert len(kafka_broker.end_offsets(kafka_topic)) == 3
    assert kafka_topic.startswith("test-its-topic-is-as-it-is-told-a-b")

@pytest.mark.kafka_topic(2)
def test_its_partitions_may_be_told_in_short(kafka_broker, kafka_topic):
    assert len(kafka_broker.end_offsets(kafka_topic)) == 2

@pytest.mark.parametrize("time", [1, 2])
def test_what_a_test_breaks_is_whole_for_the_next(kafka_broker, kafka_topic, time):
    assert len(kafka_broker.faults) == 0
    assert kafka_broker.stopped_nodes() == []
    kafka_broker.faults.delay("Metadata", 100)
    kafka_broker.stop_node(1)
"""


@pytest.mark.parametrize(("scope", "count"), [("session", 1), ("module", 1), ("function", 2)])
def test_the_scope_can_be_chosen(tmp_path: Path, scope: str, count: int) -> None:
    ini = f"kafka_broker_scope = {scope}"

    assert passed(run(tmp_path, ini=ini, test_it=BROKERS.format(count=count)), 2)


def test_every_test_has_its_own_topic(tmp_path: Path) -> None:
    assert passed(run(tmp_path, test_it=TOPICS), 6)


CLOSED = """
seen = []

def test_one(kafka_broker):
    seen.append(kafka_broker)
    kafka_broker.faults.drop("Produce")
    kafka_broker.close()

def test_two(kafka_broker, kafka_topic):
    assert kafka_broker is not seen[0]
    seen.append(kafka_broker)
    kafka_broker.produce(kafka_topic, [b"one"])

def test_three(kafka_broker, kafka_topic):
    assert kafka_broker is seen[1]
    assert len(kafka_broker.faults) == 0
    kafka_broker.produce(kafka_topic, [b"one"])
"""


def test_after_a_test_that_closes_the_broker_there_is_another_one(tmp_path: Path) -> None:
    assert passed(run(tmp_path, test_it=CLOSED), 3)


def test_workers_of_xdist_do_not_share_a_broker(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    source = """
import os, pathlib

def test_it(kafka_broker, kafka_topic):
    kafka_broker.produce(kafka_topic, [b"one"])
    name = os.environ["PYTEST_XDIST_WORKER"]
    pathlib.Path(name).write_text(kafka_broker.bootstrap_servers)
"""
    files = {f"test_{number}": source for number in range(4)}

    assert passed(run(tmp_path, "-n", "2", **files), 4)
    assert len({file.read_text() for file in tmp_path.glob("gw*")}) == 2


def test_arguments_and_options_can_be_given(tmp_path: Path) -> None:
    conftest = """
import pytest

@pytest.fixture(scope="session")
def kafka_broker_arguments():
    return {"nodes": 2, "topics": {"orders": 5}}
"""
    source = """
def test_it(kafka_broker):
    assert kafka_broker.bootstrap_servers.count(":") == 2
    assert len(kafka_broker.end_offsets("orders")) == 5
"""

    assert passed(run(tmp_path, conftest=conftest, test_it=source), 1)


def test_options_of_kafka_can_be_set(tmp_path: Path) -> None:
    source = """
import pytest
from kafka_aio.errors import MessageTooLarge

def test_it(kafka_broker, kafka_topic):
    with pytest.raises(MessageTooLarge):
        kafka_broker.produce(kafka_topic, [bytes(2_000)])
"""
    ini = "kafka_broker_options =\n    message.max.bytes = 1000"

    assert passed(run(tmp_path, ini=ini, test_it=source), 1)


@pytest.mark.parametrize(
    ("ini", "complaint"),
    [
        ("kafka_broker_scope = minute", "kafka_broker_scope is one of session, package"),
        ("kafka_broker_options = what", "lines of name=value, not 'what'"),
    ],
)
def test_a_setting_that_cannot_be_is_told(tmp_path: Path, ini: str, complaint: str) -> None:
    done = run(tmp_path, ini=ini, test_it=BROKERS)

    assert done.returncode == 4
    assert complaint in done.stderr


def test_pytest_loads_nothing_else_of_ours_until_a_fixture_is_used(tmp_path: Path) -> None:
    source = """
import sys

def test_it():
    ours = {name for name in sys.modules if name.startswith("kafka_aio")}
    assert ours == {f"kafka_aio{name}" for name in ("", ".lazy", ".testing", ".testing.plugin")}
    assert "asyncio" not in sys.modules
"""

    assert passed(run(tmp_path, "-p", "no:xdist", "-p", "no:timeout", test_it=source), 1)
