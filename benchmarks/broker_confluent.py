"""librdkafka on the embedded broker and on a real Kafka, in turn."""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # it does export it

from benchmarks import broker_process
from benchmarks.ratio import Row
from tests.kafka.cluster import running

RECORDS = 100_000
PARTITIONS = 6
ROUNDS = 4
KIB = 1 << 10
MIB = 1 << 20

VALUES = [random.Random(number).randbytes(KIB) for number in range(512)]


def confluent_rows() -> list[Row]:
    """Writing and reading: megabytes a second, the best of some rounds."""
    with (
        tempfile.TemporaryDirectory() as scratch,
        running(Path(scratch)) as kafka,
        broker_process.broker("asyncio", core=None, topics={}) as served,
    ):
        sides = {f"{broker_process.HOST}:{served.port}": 0, kafka.bootstrap: 1}
        best = {"produce": [0.0, 0.0], "consume": [0.0, 0.0]}
        for number in range(ROUNDS + 1):
            for bootstrap, side in sides.items():
                topic = f"round-{number}"
                _create(bootstrap, topic)
                for name, work in (("produce", _produce), ("consume", _consume)):
                    rate = RECORDS * KIB / work(bootstrap, topic) / 1e6
                    if number:  # the first one warms Kafka up
                        best[name][side] = max(best[name][side], rate)
    return [
        Row(
            name=f"confluent-kafka, {name}",
            peer_name="Kafka 4.3",
            ours=rates[0],
            peer=rates[1],
            goal=1.0,
            unit="MB/s",
        )
        for name, rates in best.items()
    ]


def _create(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(topic, PARTITIONS, 1)]).values():
        future.result(30)


def _produce(bootstrap: str, topic: str) -> float:
    """Seconds, from when it is connected and has its producer id: it gives that half a second."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": 5,
            "batch.size": 64 * KIB,
            "queue.buffering.max.messages": 2 * RECORDS,
            "queue.buffering.max.kbytes": 2 * RECORDS,
        }
    )
    producer.produce(topic, b"first", partition=0)
    assert producer.flush(60) == 0
    started = time.perf_counter()
    for number in range(RECORDS):
        producer.produce(topic, VALUES[number % len(VALUES)], partition=number // 63 % PARTITIONS)
    assert producer.flush(60) == 0
    return time.perf_counter() - started


def _consume(bootstrap: str, topic: str) -> float:
    """Seconds, from the first record on."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench",
            "enable.auto.commit": False,
            "fetch.message.max.bytes": MIB,
            "queued.min.messages": 1_000_000,
            "fetch.wait.max.ms": 100,
        }
    )
    consumer.assign([TopicPartition(topic, index, 0) for index in range(PARTITIONS)])
    count = 0
    started = 0.0
    until = time.monotonic() + 60
    while count <= RECORDS and time.monotonic() < until:
        for message in consumer.consume(1_000, 0.5):
            if message.error() is not None:
                raise KafkaException(message.error())
            started = started or time.perf_counter()
            count += 1
    taken = time.perf_counter() - started
    consumer.close()
    assert count == RECORDS + 1, f"{count} of {RECORDS + 1} records came"
    return taken
