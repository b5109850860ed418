"""`make demo`: the codec, then a cluster in this process with clients on it, while nodes fail.

The producer is ours; the consumers are aiokafka's until ours is there. It ends by itself.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter

from aiokafka import AIOKafkaConsumer

import kafka_aio
from kafka_aio import Admin, Producer
from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import NotLeaderOrFollower
from kafka_aio.records.batch import FetchedBatch, read_header
from kafka_aio.records.codec import BatchBuilder
from kafka_aio.records.compression import Compression

NOW = 1_700_000_000_000
SECONDS = 6.0
TOPIC = "orders"
PARTITIONS = 6


def main() -> None:
    info = kafka_aio.codec_info()
    print(f"kafka_aio: {'compiled' if info.compiled else 'plain-Python'} codec ({info.reason}),")
    print(f"CRC-32C by {info.crc32c}, reads and writes {', '.join(info.codecs)}.\n")
    one_batch()
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # it tells of each node that we stop
    asyncio.run(a_cluster())


def one_batch() -> None:
    builder = BatchBuilder(limit=16 * 1024)
    builder.append(b"alice", b'{"order": 1, "amount": 9.99}', NOW, [("trace", b"7f3a")])
    builder.append(b"bob", None, NOW + 9)  # a tombstone: bob's order is withdrawn
    wire = builder.finish(Compression.checked("zstd"))
    print(
        f"Two records are a zstd batch of {len(wire)} bytes, CRC-32C {read_header(wire).crc:08x}:"
    )
    batch = FetchedBatch(wire, TOPIC, 0)
    for record in batch.records:
        print(f"    offset {record.offset}  {record.key!r}  {record.value!r}")
    print(f"or Arrow columns: {', '.join(batch.to_arrow().schema.names)}\n")


async def a_cluster() -> None:
    started = time.perf_counter()
    async with EmbeddedBroker(nodes=3, topics={TOPIC: PARTITIONS}, seed=1) as broker:
        took = time.perf_counter() - started
        print(f"Three brokers in this process, up in {took * 1000:.0f} ms, for tests and demos:")
        await show_nodes(broker.bootstrap_servers)
        print("\nA producer and a group of two consumers, while things go wrong:")
        sent, received = await traffic(broker)
        print(f"\nsent {sent.total():,}, received {len(received):,} different records:", end=" ")
        print("nothing is lost" if set(received) == set(sent) else "RECORDS ARE LOST")
        apis = broker.statistics().apis
        busiest = sorted(apis.items(), key=lambda each: -each[1].requests)[:6]
        print("requests:", ", ".join(f"{api} {each.requests:,}" for api, each in busiest))


async def show_nodes(address: str) -> None:
    async with Admin(bootstrap_servers=address) as admin:
        for status in await admin.nodes():
            node, apis = status.node, len(status.versions)
            fastest = min(status.round_trips) * 1000
            print(f"    node {node.id}  {node.host}:{node.port}  {apis} APIs, {fastest:.1f} ms")


async def traffic(broker: EmbeddedBroker) -> tuple[Counter[bytes], Counter[bytes]]:
    sent: Counter[bytes] = Counter()
    received: Counter[bytes] = Counter()
    done = asyncio.Event()
    async with asyncio.timeout(SECONDS + 20), asyncio.TaskGroup() as tasks:
        for _ in range(2):
            tasks.create_task(consume(broker.bootstrap_servers, received, done))
        tasks.create_task(fail(broker))
        tasks.create_task(watch(sent, received))
        await produce(broker.bootstrap_servers, sent)
        while len(received) < len(sent):  # noqa: ASYNC110 - two consumers count in it
            await asyncio.sleep(0.05)
        done.set()
    return sent, received


async def produce(address: str, sent: Counter[bytes]) -> None:
    until = time.monotonic() + SECONDS
    async with Producer(bootstrap_servers=address) as producer:
        number = 0
        while time.monotonic() < until:
            values = [b'{"order": %d}' % each for each in range(number, number + 200)]
            await producer.send_many(TOPIC, values, keys=[value[-4:] for value in values])
            sent.update(values)
            number += len(values)
            await asyncio.sleep(0.02)


async def consume(address: str, received: Counter[bytes], done: asyncio.Event) -> None:
    consumer = AIOKafkaConsumer(
        TOPIC,
        bootstrap_servers=address,
        group_id="billing",
        auto_offset_reset="earliest",
        metadata_max_age_ms=500,
    )
    async with consumer:
        while not done.is_set():
            for records in (await consumer.getmany(timeout_ms=100)).values():
                received.update(record.value for record in records)


async def fail(broker: EmbeddedBroker) -> None:
    await asyncio.sleep(SECONDS / 4)
    say("node 2 stops: others lead its partitions")
    await broker.stop_node(2)
    await asyncio.sleep(SECONDS / 4)
    say("node 2 is back; the next 3 Produce requests fail on purpose")
    await broker.start_node(2)
    broker.faults.fail("Produce", NotLeaderOrFollower, times=3)


async def watch(sent: Counter[bytes], received: Counter[bytes]) -> None:
    for _ in range(int(SECONDS)):
        await asyncio.sleep(1)
        say(f"sent {sent.total():7,}   received {received.total():7,}")


def say(text: str) -> None:
    print(f"    {text}", flush=True)


if __name__ == "__main__":
    main()
