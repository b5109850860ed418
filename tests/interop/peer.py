"""Foreign clients: what each writes into and reads from a topic whose partitions are its codecs.

A topic here has a partition for each compression, in the order of `sample.COMPRESSIONS`.
"""

from __future__ import annotations

import asyncio
import base64
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import aiokafka
import confluent_kafka

from kafka_aio.records.compression import Compression
from tests.interop.sample import Written
from tests.kafka.cluster import Cluster

Read = dict[int, list[tuple[int, Written]]]
"""Offset and record, by partition."""
Writer = Callable[[Cluster, str, dict[int, Compression], Sequence[Written]], None]
Reader = Callable[[Cluster, str, Sequence[int], int], Read]

with warnings.catch_warnings():  # it reads its schemas on import, in a way of before 3.11
    warnings.filterwarnings("ignore", r"(read|open)_text is deprecated", DeprecationWarning)
    import kafka as kafka_python

SECONDS = 30
_PEER = str(Path(__file__).with_name("Peer.java"))


# --- confluent-kafka ---------------------------------------------------------------------------


def read_by_confluent(cluster: Cluster, topic: str, partitions: Sequence[int], total: int) -> Read:
    options = {
        "bootstrap.servers": cluster.bootstrap,
        "group.id": "confluent",
        "enable.auto.commit": False,
        "check.crcs": True,
        "isolation.level": "read_committed",
        "topic.metadata.refresh.interval.ms": -1,
    }
    consumer = confluent_kafka.Consumer(options)
    try:
        consumer.assign([confluent_kafka.TopicPartition(topic, each, 0) for each in partitions])
        read: Read = defaultdict(list)
        deadline = time.monotonic() + SECONDS
        while (missing := total - _count(read)) > 0 and time.monotonic() < deadline:
            messages: list[Any] = consumer.consume(missing, 0.5)
            for message in messages:
                assert message.error() is None, message.error()
                _, timestamp = message.timestamp()
                headers = tuple(message.headers() or ())
                record = Written(message.key(), message.value(), timestamp, headers)
                read[message.partition()].append((message.offset(), record))
        return read
    finally:
        consumer.close()


def write_by_confluent(
    cluster: Cluster,
    topic: str,
    compressions: dict[int, Compression],
    records: Sequence[Written],
) -> None:
    problems: list[object] = []

    def delivered(error: object, message: object) -> None:
        if error is not None:
            problems.append(error)

    for partition, (codec, level) in compressions.items():
        producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "compression.type": codec.name.lower(),
                "compression.level": -1 if level is None else level,
                "linger.ms": 50,
                "enable.idempotence": True,
            }
        )
        for key, value, timestamp, headers in records:
            producer.produce(
                topic,
                value,
                key,
                partition,
                on_delivery=delivered,
                timestamp=timestamp,
                headers=list(headers),
            )
        assert producer.flush(SECONDS) == 0
    assert problems == []


# --- aiokafka ----------------------------------------------------------------------------------


def read_by_aiokafka(cluster: Cluster, topic: str, partitions: Sequence[int], total: int) -> Read:
    async def read() -> Read:
        consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=cluster.bootstrap,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
        )
        consumer.assign([aiokafka.TopicPartition(topic, each) for each in partitions])
        await consumer.start()
        try:
            found: Read = defaultdict(list)
            async with asyncio.timeout(SECONDS):
                while _count(found) < total:
                    for messages in (await consumer.getmany(timeout_ms=500)).values():
                        _add(found, messages)
            return found
        finally:
            await consumer.stop()

    return asyncio.run(read())


def write_by_aiokafka(
    cluster: Cluster,
    topic: str,
    compressions: dict[int, Compression],
    records: Sequence[Written],
) -> None:
    async def write(partition: int, compression: Compression) -> None:
        name = compression.codec.name.lower()
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=cluster.bootstrap,
            compression_type=None if name == "none" else name,
            linger_ms=50,
        )
        await producer.start()
        try:
            sent = [
                await producer.send(
                    topic,
                    value,
                    key,
                    partition,
                    timestamp_ms=timestamp,
                    headers=[*headers],
                )
                for key, value, timestamp, headers in records
            ]
            await producer.flush()
            for future in sent:
                assert future.exception() is None
        finally:
            await producer.stop()

    async def write_all() -> None:
        async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
            for partition, compression in compressions.items():
                group.create_task(write(partition, compression))

    asyncio.run(write_all())


# --- kafka-python ------------------------------------------------------------------------------


def read_by_kafka_python(
    cluster: Cluster, topic: str, partitions: Sequence[int], total: int
) -> Read:
    consumer = kafka_python.KafkaConsumer(
        bootstrap_servers=cluster.bootstrap,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        max_poll_records=10_000,
    )
    try:
        consumer.assign([kafka_python.TopicPartition(topic, each) for each in partitions])
        read: Read = defaultdict(list)
        deadline = time.monotonic() + SECONDS
        while _count(read) < total and time.monotonic() < deadline:
            for messages in consumer.poll(timeout_ms=500).values():
                _add(read, messages)
        return read
    finally:
        consumer.close()


def write_by_kafka_python(
    cluster: Cluster,
    topic: str,
    compressions: dict[int, Compression],
    records: Sequence[Written],
) -> None:
    for partition, compression in compressions.items():
        name = compression.codec.name.lower()
        producer = kafka_python.KafkaProducer(
            bootstrap_servers=cluster.bootstrap,
            compression_type=None if name == "none" else name,
            linger_ms=50,
        )
        try:
            sent = [
                producer.send(topic, value, key, [*headers], partition, timestamp)
                for key, value, timestamp, headers in records
            ]
            producer.flush(SECONDS)
            for future in sent:
                assert future.succeeded(), future.exception
        finally:
            producer.close(SECONDS)


# --- Java --------------------------------------------------------------------------------------


def read_by_java(cluster: Cluster, topic: str, partitions: Sequence[int], total: int) -> Read:
    printed = cluster.tool(
        _PEER, "read", cluster.bootstrap, topic, str(len(partitions)), str(total)
    )
    read: Read = defaultdict(list)
    for line in printed.splitlines():
        partition, offset, timestamp, *parts = line.split(" ")
        key, value, *pairs = [_bytes(part) for part in parts]
        names = [(name or b"").decode() for name in pairs[::2]]
        headers = tuple(zip(names, pairs[1::2], strict=True))
        record = Written(key, value, int(timestamp), headers)
        read[int(partition)].append((int(offset), record))
    return read


def write_by_java(
    cluster: Cluster,
    topic: str,
    compressions: dict[int, Compression],
    records: Sequence[Written],
) -> None:
    lines = []
    for partition, (codec, level) in compressions.items():
        words = [partition, codec.name.lower(), "-" if level is None else level]
        lines.append("compress {} {} {}".format(*words))
        for key, value, timestamp, headers in records:
            pairs = [part for name, content in headers for part in (name.encode(), content)]
            texts = " ".join(_text(part) for part in (key, value, *pairs))
            lines.append(f"{partition} - {timestamp} {texts}")
    given = "".join(f"{line}\n" for line in lines)
    cluster.tool(_PEER, "write", cluster.bootstrap, topic, given=given)


def _text(part: bytes | None) -> str:
    return "-" if part is None else base64.b64encode(part).decode()


def _bytes(text: str) -> bytes | None:
    return None if text == "-" else base64.b64decode(text)


# --- all ---------------------------------------------------------------------------------------


def _add(read: Read, messages: Iterable[Any]) -> None:
    for message in messages:
        headers = tuple(message.headers)
        record = Written(message.key, message.value, message.timestamp, headers)
        read[message.partition].append((message.offset, record))


def _count(read: Read) -> int:
    return sum(map(len, read.values()))


READERS: dict[str, Reader] = {
    "confluent": read_by_confluent,
    "aiokafka": read_by_aiokafka,
    "kafka-python": read_by_kafka_python,
    "java": read_by_java,
}
WRITERS: dict[str, Writer] = {
    "confluent": write_by_confluent,
    "aiokafka": write_by_aiokafka,
    "kafka-python": write_by_kafka_python,
    "java": write_by_java,
}
