"""The calls of the producer, on sockets: what is sent, where it goes, and what one gets back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.config import ProducerConfig
from kafka_aio.errors import (
    BufferFull,
    ConfigError,
    InvalidTopic,
    KafkaTimeoutError,
    RecordTooLarge,
    StateError,
)
from kafka_aio.producer import Delivery, Producer, ProducerHealth
from kafka_aio.producer.partition import partition_of_key
from kafka_aio.types import TimestampType
from tests.scenarios.producer.api_world import TOPIC, is_at_rest, producer_of, values

NOWHERE = "127.0.0.1:1"


@pytest.fixture
async def broker() -> AsyncIterator[EmbeddedBroker]:
    async with EmbeddedBroker(topics={TOPIC: 1, "many": 4}, seed=1) as started:
        yield started


@pytest.fixture
async def producer(broker: EmbeddedBroker) -> AsyncIterator[Producer[Any, Any]]:
    async with producer_of(broker) as started:
        yield started


# How it is made.


async def test_it_may_be_made_of_a_configuration_or_of_the_names_that_kafka_has(
    broker: EmbeddedBroker,
) -> None:
    servers = broker.bootstrap_servers
    config = ProducerConfig(bootstrap_servers=servers)

    for made in (Producer(config), Producer.from_kafka({"bootstrap.servers": servers})):
        async with made as producer:
            await producer.send(TOPIC, b"a")

    assert values(broker) == [b"a", b"a"]


def test_wrong_options_are_refused_before_anything_is_dialled() -> None:
    with pytest.raises(ConfigError, match="did you mean 'linger_ms'"):
        Producer(bootstrap_servers=NOWHERE, lingerms=5)
    with pytest.raises(ConfigError, match="bootstrap_servers is missing"):
        Producer()
    with pytest.raises(TypeError, match=r"Producer\(bootstrap_servers=\.\.\.\)"):
        Producer(NOWHERE)  # type: ignore[arg-type]  # what a newcomer tries
    with pytest.raises(TypeError, match="not both"):
        Producer(ProducerConfig(bootstrap_servers=NOWHERE), linger_ms=5)


# B26
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"enable_idempotence": True, "acks": 1}, "enable_idempotence needs acks='all'"),
        ({"enable_idempotence": True, "retries": 0}, "but retries is 0"),
        ({"max_in_flight_requests_per_connection": 6}, "idempotence allows 5"),
        ({"transactional_id": "x", "acks": 1}, "transactional_id needs idempotence"),
        ({"delivery_timeout_ms": 100}, "delivery_timeout_ms is 100, but a record may take"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        Producer(bootstrap_servers=NOWHERE, **options)


# B26
@pytest.mark.parametrize(
    ("options", "is_idempotent"),
    [
        ({}, True),
        ({"acks": 1}, False),
        ({"acks": 0}, False),
        ({"retries": 0}, False),
        ({"enable_idempotence": False, "max_in_flight_requests_per_connection": 6}, False),
    ],
)
async def test_idempotence_is_on_unless_something_rules_it_out(
    broker: EmbeddedBroker,
    options: dict[str, Any],
    is_idempotent: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with producer_of(broker, **options) as producer:
        metadata = await producer.send(TOPIC, b"a")
        await producer.flush()
    asked = broker.statistics().apis

    assert metadata.offset == (-1 if options.get("acks") == 0 else 0)
    assert ("InitProducerId" in asked) is is_idempotent
    lines = [each.message for each in caplog.records if "idempotence is off" in each.message]
    assert len(lines) == (not is_idempotent and "enable_idempotence" not in options)


async def test_it_may_be_started_in_one_task_and_closed_in_another(
    broker: EmbeddedBroker,
) -> None:
    producer = producer_of(broker)

    await asyncio.create_task(producer.start())
    await asyncio.create_task(producer.send(TOPIC, b"a"))
    await asyncio.create_task(producer.aclose())
    await producer.aclose()  # the second does nothing

    assert values(broker) == [b"a"]
    assert repr(producer) == f"<Producer at {broker.bootstrap_servers}: closed>"


# Sending.


async def test_send_returns_where_the_record_is(
    broker: EmbeddedBroker, producer: Producer[Any, Any]
) -> None:
    await producer.send(TOPIC, b"a")
    metadata = await producer.send(
        TOPIC, b"b", key=b"k", headers=[("h", b"1"), ("h", None)], timestamp=1_700_000_000_123
    )
    (_, record) = broker.records(TOPIC)

    assert metadata == (TOPIC, 0, 1, 1_700_000_000_123, TimestampType.CREATE_TIME)
    assert (record.key, record.value, record.timestamp) == (b"k", b"b", 1_700_000_000_123)
    assert list(record.headers) == [("h", b"1"), ("h", None)]


async def test_a_record_without_a_timestamp_has_the_time_of_the_call(
    broker: EmbeddedBroker, producer: Producer[Any, Any]
) -> None:
    metadata = await producer.send(TOPIC, b"a")
    (record,) = broker.records(TOPIC)

    assert metadata.timestamp == record.timestamp > 1_700_000_000_000


async def test_where_the_log_has_its_own_time_that_is_the_records(
    broker: EmbeddedBroker, producer: Producer[Any, Any]
) -> None:
    broker.create_topic("stamped", configs={"message.timestamp.type": "LogAppendTime"})
    metadata = await producer.send("stamped", b"a", timestamp=1)

    assert metadata.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert metadata.timestamp == broker.records("stamped")[0].timestamp > 1


async def test_no_value_is_a_tombstone_and_an_empty_one_is_not(
    broker: EmbeddedBroker, producer: Producer[Any, Any]
) -> None:
    await producer.send(TOPIC, key=b"k")
    await producer.send(TOPIC, b"", key=b"")

    assert [(each.key, each.value) for each in broker.records(TOPIC)] == [(b"k", None), (b"", b"")]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
async def test_any_bytes_are_a_key_and_go_where_those_bytes_go(
    broker: EmbeddedBroker, producer: Producer[Any, Any], kind: type
) -> None:
    for _ in range(2):  # into a new batch, and into an open one
        found = await asyncio.gather(
            *(producer.send("many", kind(b"v"), key=kind(key)) for key in (b"a", b"b", b"c", b""))
        )

        assert [each.partition for each in found] == [
            partition_of_key(key, 4) for key in (b"a", b"b", b"c", b"")
        ]
    assert {each.key for each in broker.records("many")} == {b"a", b"b", b"c", b""}


async def test_a_partition_that_is_given_goes_before_the_key(
    broker: EmbeddedBroker, producer: Producer[Any, Any]
) -> None:
    found = [await producer.send("many", b"v", key=b"k", partition=at) for at in range(4)]

    assert [each.partition for each in found] == [0, 1, 2, 3]


async def test_headers_may_be_a_mapping_or_any_iterable(
    broker: EmbeddedBroker, producer: Producer[Any, Any]
) -> None:
    pairs = [("a", b"1"), ("b", b"2")]
    for headers in (dict(pairs), tuple(pairs), pairs):
        await producer.send(TOPIC, b"v", headers=headers)
    for _ in range(30):  # some of them find a batch full
        producer.submit_nowait(TOPIC, b"v" * 1_000)
        await producer.submit(TOPIC, b"v" * 1_000, headers=iter(pairs))
    await producer.flush()

    found = [list(each.headers) for each in broker.records(TOPIC)]
    assert found == [pairs] * 3 + [[], pairs] * 30


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"value": "text"}, TypeError, "a value is bytes, .*, not str: encode it first, or give"),
        ({"value": 0}, TypeError, "a value is bytes, bytearray, memoryview or None, not int"),
        ({"key": "text"}, TypeError, "a key is bytes, .*, not str: encode it first, or give"),
        ({"key": 5}, TypeError, "a key is bytes, bytearray, memoryview or None, not int"),
        ({"headers": {"h": "text"}}, TypeError, "the value of header 'h' is bytes or None"),
        ({"headers": [(b"h", b"v")]}, TypeError, "the key of a header is a str, not bytes"),
        ({"timestamp": -2}, ValueError, "timestamp"),
        ({"timestamp": "now"}, TypeError, "str"),
        ({"partition": -1}, ValueError, "partition -1 of topic 't': there is none below 0"),
        ({"partition": "0"}, TypeError, "str"),
        ({"topic": ""}, ValueError, "topic"),
        ({"topic": "no good"}, InvalidTopic, "topic 'no good': The topic's name is not allowed"),
        ({"topic": None}, TypeError, "topic"),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
async def test_what_cannot_be_sent_is_refused_and_harms_nothing(
    broker: EmbeddedBroker,
    arguments: dict[str, Any],
    error: type[Exception],
    words: str,
    is_first: bool,
) -> None:
    async with producer_of(broker, linger_ms=60_000) as producer:
        await producer.partitions_for(TOPIC)
        if not is_first:
            producer.submit_nowait(TOPIC, b"before")
        for call in (producer.send, producer.submit):
            with pytest.raises(error, match=words):
                await call(**{"topic": TOPIC, "value": b"v", **arguments})

        assert producer.statistics().batches == (0 if is_first else 1)
        producer.submit_nowait(TOPIC, b"after")
    assert values(broker) == ([] if is_first else [b"before"]) + [b"after"]


@pytest.mark.parametrize("part", ["value", "key", "headers"])
async def test_a_record_that_is_too_large_is_refused_with_the_option(
    broker: EmbeddedBroker, part: str
) -> None:
    large = b"x" * 600
    arguments: dict[str, Any] = {part: large * 2}
    if part == "headers":
        arguments[part] = [("h", large), ("h", large)]

    async with producer_of(broker, max_request_size=1_000) as producer:
        with pytest.raises(RecordTooLarge, match="'t': max_request_size is 1000"):
            await producer.send(TOPIC, **arguments)
        with pytest.raises(RecordTooLarge, match="of 950 bytes, 1078 with what a batch adds,"):
            await producer.submit("t", bytes(950))
    async with producer_of(broker, batch_size=500, buffer_memory=1_000) as producer:
        with pytest.raises(RecordTooLarge, match="'t': buffer_memory is 1000"):
            await producer.send(TOPIC, **arguments)

    assert values(broker) == []


# Submitting.


async def test_submit_returns_before_the_record_is_acknowledged(broker: EmbeddedBroker) -> None:
    async with producer_of(broker, linger_ms=60_000) as producer:
        first = await producer.submit(TOPIC, b"a")
        second = await producer.submit(TOPIC, b"b")
        nowait = producer.submit_nowait(TOPIC, b"c")
        were_done = [each.done() for each in (first, second, nowait)]
        with pytest.raises(StateError, match="its result is not there yet: await it"):
            first.result()
        await producer.flush()

        assert were_done == [False] * 3
        assert [each.result().offset for each in (first, second, nowait)] == [0, 1, 2]
        assert isinstance(first, Delivery)
    assert values(broker) == [b"a", b"b", b"c"]


async def test_submit_nowait_says_what_is_to_be_waited_for(broker: EmbeddedBroker) -> None:
    async with producer_of(broker, batch_size=500, buffer_memory=1_000) as producer:
        with pytest.raises(BufferFull, match=r"too little is known of topic 't' yet: .*partitions"):
            producer.submit_nowait(TOPIC, b"a")
        await producer.partitions_for(TOPIC)
        with broker.faults.hold("Produce"):
            for _ in range(2):
                producer.submit_nowait(TOPIC, b"x" * 300)
            with pytest.raises(BufferFull, match=r"1000 of 1000 bytes \(buffer_memory\) are taken"):
                producer.submit_nowait(TOPIC, b"x" * 300)

    assert values(broker) == [b"x" * 300] * 2


async def test_deliveries_go_with_what_asyncio_has_for_waiting(
    broker: EmbeddedBroker, producer: Producer[Any, Any]
) -> None:
    for _ in range(2):  # pending ones, then those that are done
        deliveries = [await producer.submit(TOPIC, b"v") for _ in range(4)]
        for _ in range(2):
            first, second, *others = await asyncio.gather(*deliveries)
            waited = await asyncio.wait_for(deliveries[2], 10)
            shielded = await asyncio.shield(deliveries[3])

            assert [waited, shielded] == others
            assert second.offset == first.offset + 1


# Flushing, and what is known.


async def test_flush_of_nothing_returns_at_once(producer: Producer[Any, Any]) -> None:
    await producer.flush(timeout=0)

    assert is_at_rest(producer)


async def test_flush_that_takes_too_long_says_how_much_is_left(
    broker: EmbeddedBroker, producer: Producer[Any, Any]
) -> None:
    await producer.partitions_for(TOPIC)
    with broker.faults.hold("Produce"):
        producer.submit_nowait(TOPIC, b"a")
        with pytest.raises(KafkaTimeoutError, match=r"flush: 1 batches are not settled after 0.05"):
            await producer.flush(timeout=0.05)
    await producer.flush()

    assert values(broker) == [b"a"]


async def test_partitions_for_tells_them_in_order(producer: Producer[Any, Any]) -> None:
    found = await producer.partitions_for("many")

    assert [(each.topic, each.partition) for each in found] == [("many", at) for at in range(4)]
    assert {each.leader.id for each in found if each.leader} == {1}


@pytest.mark.parametrize("wrong", ["1", True, float("nan")])
async def test_a_timeout_that_is_no_number_is_refused(
    producer: Producer[Any, Any], wrong: Any
) -> None:
    with pytest.raises((TypeError, ValueError), match="timeout is a number of seconds"):
        await producer.flush(timeout=wrong)
    with pytest.raises((TypeError, ValueError), match="timeout is a number of seconds"):
        await producer.partitions_for(TOPIC, timeout=wrong)
    with pytest.raises((TypeError, ValueError), match="timeout is a number of seconds"):
        await producer.aclose(timeout=wrong)

    assert producer.health().is_healthy


async def test_statistics_and_health_say_what_it_is_doing(broker: EmbeddedBroker) -> None:
    producer = producer_of(broker, batch_size=1_000)
    assert producer.statistics().delivered == 0
    assert producer.health() == ProducerHealth(False, "new", "the producer is new")

    async with producer:
        await producer.send(TOPIC, b"a")
        with broker.faults.hold("Produce") as hold:
            delivery = producer.submit_nowait(TOPIC, b"b")
            await broker.wait_hits(hold)
            busy = producer.statistics()
        await delivery
        done = producer.statistics()
        assert producer.health() == ProducerHealth(True, "open")

    assert (busy.delivered, busy.batches, busy.buffered_bytes, busy.in_flight) == (1, 1, 1_000, 1)
    assert (done.delivered, done.batches, done.buffered_bytes, done.in_flight) == (2, 0, 0, 0)
    assert (done.failed, done.retried, done.waiting) == (0, 0, 0)
    assert producer.health() == ProducerHealth(False, "closed", "the producer is closed")
    assert producer.statistics() == done
