"""The partition of a key: ours, that of Java's console producer, and that of confluent-kafka."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import confluent_kafka
import pytest

from kafka_aio import Producer
from tests.interop.peer import read_by_confluent
from tests.kafka.cluster import Cluster
from tests.kafka.topic import Topic

PARTITIONS = 7
RNG = random.Random(6)
KEYS = [
    "".join(RNG.choices("abcdefghijklmnopqrstuvwxyz0123456789-äö€", k=size))
    for size in range(1, 41)
    for _ in range(5)
]


@pytest.fixture
def topic_of(each_kafka: Cluster) -> Callable[[str], str]:
    def create(purpose: str) -> str:
        with each_kafka.connect() as connection:
            return Topic.create(connection, purpose, PARTITIONS).name

    return create


def partitions(kafka: Cluster, topic: str) -> dict[bytes | None, int]:
    """The partition of each key, as it is stored."""
    read = read_by_confluent(kafka, topic, range(PARTITIONS), len(KEYS))
    return {record.key: number for number, records in read.items() for _, record in records}


async def of_ours(kafka: Cluster, topic: str) -> dict[bytes | None, int]:
    async with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        places = await producer.send_many(
            topic, [b""] * len(KEYS), keys=[key.encode() for key in KEYS]
        )
    return {key.encode(): place.result().partition for key, place in zip(KEYS, places, strict=True)}


async def test_as_javas_console_producer(
    each_kafka: Cluster, topic_of: Callable[[str], str], tmp_path: Path
) -> None:
    theirs = topic_of("java-keys")
    reader = tmp_path / "reader.properties"
    reader.write_text("parse.key=true\n")
    is_old = each_kafka.version.startswith("3.")
    each_kafka.tool(
        "kafka.tools.ConsoleProducer" if is_old else "org.apache.kafka.tools.ConsoleProducer",
        "--bootstrap-server",
        each_kafka.bootstrap,
        "--topic",
        theirs,
        "--reader-config",
        str(reader),
        given="".join(f"{key}\t\n" for key in KEYS),
    )

    assert await of_ours(each_kafka, topic_of("our-keys")) == partitions(each_kafka, theirs)


async def test_as_librdkafkas_murmur2_random(
    each_kafka: Cluster, topic_of: Callable[[str], str]
) -> None:
    theirs = topic_of("confluent-keys")
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": each_kafka.bootstrap, "partitioner": "murmur2_random"}
    )
    for key in KEYS:
        producer.produce(theirs, b"", key.encode())
    assert producer.flush(20) == 0

    assert await of_ours(each_kafka, topic_of("our-keys")) == partitions(each_kafka, theirs)
