"""confluent-kafka: `produce` with a callback, `produce_batch`, the AIO producer, `flush`; `consume`
and `poll`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka.aio import AIOProducer

from benchmarks.peers import is_idempotent, is_sasl, is_tls, revealed, settings
from kafka_aio.cli.bench import crossing, workloads
from kafka_aio.cli.bench.crossing import blocking_end_to_end
from kafka_aio.cli.bench.work import Run, Work
from kafka_aio.cli.bench.workloads import (
    CALL,
    CHUNK,
    PAUSE,
    blocking_each,
    blocking_latency,
    blocking_lists,
)
from kafka_aio.config import ProducerConfig

WAITING = 200_000
"""So many records may wait: the queue has room for them, and is never empty."""
QUEUED = 1_000_000
"""So many records it fetches ahead. By its default, 100,000, it reads at a quarter of the speed."""
LIST = 500
"""Records in a call. More cost it more: 0.5 CPU s/M with 500, 0.8 with 10,000, 1.3 with 200,000."""
PATIENCE = 60
POLL = 0.1
"""Seconds that a thread of AIOProducer's waits for deliveries: it hands them on as they come."""


def options(work: Work) -> dict[str, Any]:
    load = work.load
    return connection(work) | {
        "acks": load.acks,
        "enable.idempotence": is_idempotent(work),
        "linger.ms": load.linger_ms,
        "batch.size": load.batch_size,
        "compression.type": load.codec,
        "partitioner": "murmur2_random",
        "queue.buffering.max.messages": 2 * WAITING,
    }


def consumer_options(work: Work) -> dict[str, Any]:
    return connection(work) | {
        "group.id": work.group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "check.crcs": True,
        "max.partition.fetch.bytes": work.load.max_partition_fetch_bytes,
        "queued.min.messages": QUEUED,
    }


def connection(work: Work) -> dict[str, Any]:
    config = settings(work)
    found: dict[str, Any] = {
        "bootstrap.servers": ",".join(config.bootstrap_servers),
        "client.id": config.client_id,
        "security.protocol": config.security_protocol,
    }
    if is_tls(config):
        found |= tls_options(config)
    if is_sasl(config):
        found["sasl.mechanism"] = config.sasl_mechanism
        found["sasl.username"] = config.sasl_username
        found["sasl.password"] = revealed(config.sasl_password)
    return found


def tls_options(config: ProducerConfig) -> dict[str, Any]:
    """PEM alone: of librdkafka's other stores nothing is known here."""
    if {config.ssl_truststore_type, config.ssl_keystore_type} - {None, "PEM"}:
        raise ValueError("its adapter knows PEM alone")
    found = {
        "ssl.ca.location": config.ssl_truststore_location,
        "ssl.ca.pem": config.ssl_truststore_certificates,
        "ssl.certificate.location": config.ssl_keystore_location,
        "ssl.key.location": config.ssl_keystore_location,
        "ssl.certificate.pem": config.ssl_keystore_certificate_chain,
        "ssl.key.pem": config.ssl_keystore_key,
        "ssl.key.password": config.ssl_key_password,
        "ssl.endpoint.identification.algorithm": config.ssl_endpoint_identification_algorithm
        or "none",
    }
    return {name: revealed(value) for name, value in found.items() if value is not None}


def submit(work: Work) -> None:
    producer, topic = Producer(options(work)), work.topic
    for run in work.runs():
        on_delivery = reporter(run)
        for values, keys in run.chunks(CHUNK):
            if keys is None:
                for value in values:
                    producer.produce(topic, value, on_delivery=on_delivery)
            else:
                for value, key in zip(values, keys, strict=True):
                    producer.produce(topic, value, key, on_delivery=on_delivery)
            wait_for_room(producer)
        finish(run, producer)


def many(work: Work) -> None:
    producer = Producer(options(work) | {"delivery.report.only.error": True})
    for run in work.runs():
        on_delivery = reporter(run)
        for values, keys in run.chunks(CALL):
            if keys is None:
                messages: list[dict[str, Any]] = [{"value": value} for value in values]
            else:
                pairs = zip(values, keys, strict=True)
                messages = [{"value": value, "key": key} for value, key in pairs]
            taken = producer.produce_batch(work.topic, messages, on_delivery=on_delivery)
            if taken < len(messages):
                run.failed("not taken", len(messages) - taken)
            wait_for_room(producer)
        finish(run, producer)


def reporter(run: Run) -> Callable[[object, object], None]:
    def on_delivery(error: object, _: object) -> None:
        if error is not None:
            run.failed(error)

    return on_delivery


def collected() -> tuple[list[Any], Callable[[Any, object], None]]:
    """Failures, and who notes them."""
    failures: list[Any] = []

    def on_delivery(error: Any, _: object) -> None:
        if error is not None:
            failures.append(error)

    return failures, on_delivery


def wait_for_room(producer: Producer) -> None:
    producer.poll(0)
    while len(producer) > WAITING:
        producer.poll(0.01)


def finish(run: Run, producer: Producer) -> None:
    left = producer.flush(PATIENCE)
    if left:
        run.failed("not delivered in time", left)


def latency(work: Work) -> None:
    producer = Producer(options(work))
    failures, on_delivery = collected()

    def send(topic: str, value: bytes, key: bytes | None) -> None:
        producer.produce(topic, value, key, on_delivery=on_delivery)
        if producer.flush(PATIENCE) or failures:
            raise RuntimeError(f"not delivered: {failures}")

    blocking_latency(work, send)


async def tasks(work: Work) -> None:
    """With what makes AIOProducer fastest here: see `POLL` and `aio_options`.

    By its defaults it waits a second for 1,000 records, and as long again before it looks for
    deliveries: 1,000 tasks wrote 840 records/s with a p50 of 1.0 s, 100 tasks 44 with 2.0 s. With
    the options alone it was 7,000 to 25,000, as its timer has steps of 0.1 s; with somebody who
    polls it is about 60,000 with 15 ms, and 12,000 with 8 ms (embedded broker, two cores).
    """
    async with AIOProducer(options(work), **aio_options(work)) as producer:

        async def send(topic: str, value: bytes, key: bytes | None) -> None:
            await (await producer.produce(topic, value=value, key=key))

        polling = asyncio.create_task(poll(producer))
        try:
            await workloads.tasks(work, send)
        finally:
            polling.cancel()


def aio_options(work: Work) -> dict[str, Any]:
    """Its own buffer, in front of librdkafka's: half of the tasks fill it while the others wait."""
    return {
        "batch_size": max(1, work.load.tasks // 2),
        "buffer_timeout": max(1, work.load.linger_ms) / 1000,  # 0 would be: never
    }


async def poll(producer: AIOProducer) -> None:
    while True:
        await producer.poll(POLL)


@contextmanager
def consumer(work: Work) -> Iterator[Any]:
    made = Consumer(consumer_options(work))
    made.subscribe([work.topic])
    try:
        yield made
        if work.load.reads:
            work.check(each.offset for each in made.position(made.assignment()))
    finally:
        made.close()


def read_lists(work: Work) -> None:
    """`consume`. That of the AIO consumer takes about twice the CPU, as each call is a thread's."""
    with consumer(work) as client:
        blocking_lists(work, lambda count: len(client.consume(min(count, LIST), PAUSE)))


def read_each(work: Work) -> None:
    """`poll`: the AIO consumer has nothing for single records but a thread for each."""
    with consumer(work) as client:
        blocking_each(work, partial(client.poll, PAUSE))


def end_to_end(work: Work) -> None:
    producer = Producer(options(work))
    failures, on_delivery = collected()

    def send(topic: str, value: bytes, key: bytes | None) -> None:
        producer.produce(topic, value, key, on_delivery=on_delivery)
        producer.poll(0)

    with consumer(work) as client:

        def receive() -> list[bytes | None]:
            message = client.poll(crossing.PAUSE)  # `consume` waits for as many as it may return
            return [] if message is None else [message.key()]

        blocking_end_to_end(work, send, receive)
    if producer.flush(PATIENCE) or failures:
        raise RuntimeError(f"not delivered: {failures}")
