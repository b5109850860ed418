"""`kafka-aio consume` on real Kafka, new and old."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.kafka.cluster import Cluster
from tests.kafka.topic import Topic
from tests.unit.cli.shell import COMMAND, ROOT, Outcome, spawn

LINES: list[dict[str, Any]] = [
    {"value": f"value {number}", "key": None if number % 2 else f"{number}", "timestamp": number}
    for number in range(20)
]


def new_topic(kafka: Cluster, name: str, partitions: int = 3) -> str:
    with kafka.connect() as connection:
        return Topic.create(connection, name, partitions=partitions).name


def consume(kafka: Cluster, *words: object) -> Outcome:
    outcome = spawn("consume", *words, "-b", kafka.bootstrap)
    assert outcome.code == 0, outcome.err
    return outcome


def produce(kafka: Cluster, topic: str, lines: list[dict[str, Any]]) -> None:
    words = [*COMMAND, "produce", topic, "--json", "-b", kafka.bootstrap]
    data = "".join(f"{json.dumps(line)}\n" for line in lines)
    subprocess.run(words, cwd=ROOT, input=data, text=True, check=True, timeout=60)


def test_what_is_read_can_be_written_to_another_topic(each_kafka: Cluster) -> None:
    topic, copy = (new_topic(each_kafka, name) for name in ("original", "copy"))
    produce(each_kafka, topic, LINES)
    read = consume(each_kafka, topic, "--json", "--stop-at-end").out.splitlines()
    produce(each_kafka, copy, [{**json.loads(line), "topic": copy} for line in read])
    again = consume(each_kafka, copy, "--json", "--stop-at-end").out.splitlines()

    found = [json.loads(line) for line in again]
    assert sorted(found, key=_place) == sorted(
        ({**json.loads(line), "topic": copy} for line in read), key=_place
    )
    assert sorted((line["timestamp"], line["value"]) for line in found) == [
        (line["timestamp"], line["value"]) for line in LINES
    ]


def _place(line: dict[str, Any]) -> tuple[int, int]:
    return line["partition"], line["offset"]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_goes_on_where_it_was(kafka: Cluster, protocol: str) -> None:
    topic = new_topic(kafka, f"group-{protocol}")
    produce(kafka, topic, LINES)
    words = (topic, "-g", f"of-{topic}", "--from", "beginning", "-X", f"group.protocol={protocol}")
    first = consume(kafka, *words, "--max-records", 7).out.splitlines()
    rest = consume(kafka, *words, "--stop-at-end").out.splitlines()

    assert len(first) == 7
    assert sorted(first + rest) == sorted(line["value"] for line in LINES)
    assert consume(kafka, *words, "--stop-at-end").out == ""


def test_times_are_found(kafka: Cluster) -> None:
    topic = new_topic(kafka, "times")
    produce(kafka, topic, LINES)

    read = consume(kafka, topic, "--from", "@5", "--to", "@8").out.splitlines()

    assert sorted(read) == ["value 5", "value 6", "value 7"]


def test_what_was_aborted_is_left_out_and_the_last_marker_is_the_end(kafka: Cluster) -> None:
    confluent_kafka: Any = pytest.importorskip("confluent_kafka")
    topic = new_topic(kafka, "transactions", partitions=1)
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": kafka.bootstrap, "transactional.id": f"of-{topic}"}
    )
    producer.init_transactions(30)
    for value, end in (
        ("first", producer.commit_transaction),
        ("never", producer.abort_transaction),
        ("last", producer.commit_transaction),
    ):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush(30)
        end(30)

    every = consume(kafka, topic, "--stop-at-end")
    read = consume(kafka, topic, "--stop-at-end", "--read-committed")

    assert every.out.splitlines() == ["first", "never", "last"]
    assert read.out.splitlines() == ["first", "last"]
    assert read.seconds < 20  # it has not waited for a record after the marker
