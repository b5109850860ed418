"""Our producer on real Kafka, new and old, read back by confluent-kafka."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from kafka_aio import Producer, RecordMetadata, RecordTooLarge
from kafka_aio.errors import MessageTooLarge
from kafka_aio.protocol.messages.produce import ProduceRequest
from tests.interop.peer import read_by_confluent
from tests.interop.sample import Written
from tests.kafka.cluster import Cluster
from tests.kafka.topic import Topic

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
RECORDS = [
    Written(None, b"no key", 1_700_000_000_000, ()),
    Written(b"k", None, 1_700_000_000_001, ()),
    Written(b"", b"", 1_700_000_000_002, ()),
    Written(None, None, 1_700_000_000_003, ()),
    Written(b"k", b"headers", 1_700_000_000_004, (("a", b"1"), ("a", None), ("ä", b""))),
    Written(b"long", bytes(range(256)) * 4_000, 1_700_000_000_005, ()),
]


async def sent(producer: Producer[bytes, bytes], topic: str) -> list[RecordMetadata]:
    deliveries = [
        await producer.submit(
            topic,
            record.value,
            key=record.key,
            partition=0,
            timestamp=record.timestamp,
            headers=record.headers,
        )
        for record in RECORDS
    ]
    return [await delivery for delivery in deliveries]


async def read(kafka: Cluster, topic: str, partitions: Sequence[int], total: int) -> dict[int, Any]:
    return await asyncio.to_thread(read_by_confluent, kafka, topic, partitions, total)


def test_the_oldest_kafka_wants_topics_by_name(oldest_kafka: Cluster) -> None:
    with oldest_kafka.connect() as connection:
        assert connection.versions.pick(ProduceRequest) == 11


@pytest.mark.parametrize(("codec", "acks"), [*product(CODECS, ("all", 1, 0))])
async def test_what_is_sent_is_there(each_kafka: Cluster, codec: str, acks: Any) -> None:
    with each_kafka.connect() as connection:
        topic = Topic.create(connection, "sent", configs={"max.message.bytes": "2000000"}).name
    options: dict[str, Any] = {"compression_type": codec, "acks": acks}

    async with Producer(
        bootstrap_servers=each_kafka.bootstrap, max_request_size=2_000_000, **options
    ) as producer:
        places = await sent(producer, topic)

    found = await read(each_kafka, topic, [0], len(RECORDS))
    assert found[0] == list(enumerate(RECORDS))
    expected = [-1] * len(RECORDS) if acks == 0 else list(range(len(RECORDS)))
    assert [place.offset for place in places] == expected


async def test_a_record_beyond_our_limit_is_refused_and_one_beyond_the_brokers_fails_alone(
    each_kafka: Cluster,
) -> None:
    with each_kafka.connect() as connection:
        topic = Topic.create(connection, "limits", configs={"max.message.bytes": "10000"}).name

    async with Producer(
        bootstrap_servers=each_kafka.bootstrap, linger_ms=50, batch_size=100_000
    ) as producer:
        with pytest.raises(RecordTooLarge, match="max_request_size is 1048576"):
            await producer.send(topic, bytes(2_000_000))
        deliveries = [await producer.submit(topic, bytes(size)) for size in [3_000] * 5 + [20_000]]
        deliveries += [await producer.submit(topic, bytes(3_000)) for _ in range(5)]
        outcomes = await asyncio.gather(*deliveries, return_exceptions=True)

    assert [type(each) for each in outcomes].count(MessageTooLarge) == 1
    assert isinstance(outcomes[5], MessageTooLarge)
    found = await read(each_kafka, topic, [0], 10)
    assert [len(record.value) for _, record in found[0]] == [3_000] * 10


async def test_three_nodes_that_must_have_it_on_two(kafka_cluster: Cluster) -> None:
    configs = {"min.insync.replicas": "2"}
    topic = await asyncio.to_thread(kafka_cluster.create_topic, "replicated", 6, configs=configs)
    values = [b"%d" % number for number in range(10_000)]

    async with Producer(bootstrap_servers=kafka_cluster.bootstrap) as producer:
        places = [each.result() for each in await producer.send_many(topic, values)]

    found = await read(kafka_cluster, topic, range(6), len(values))
    stored = {
        (partition, offset): record.value
        for partition, records in found.items()
        for offset, record in records
    }
    assert len(stored) == len(values)
    assert [stored[place.partition, place.offset] for place in places] == values
