"""The mistakes of a newcomer: each is told at once, in words that say what to do."""

from __future__ import annotations

import asyncio
import gc
import re
from typing import Any, cast

import pytest

from kafka_aio import Consumer
from kafka_aio.broker import EmbeddedBroker
from kafka_aio.config import ConsumerConfig
from kafka_aio.errors import (
    ConfigError,
    InvalidTopic,
    KafkaError,
    SerializationError,
    StateError,
)
from kafka_aio.testing import VirtualLoop
from kafka_aio.types import OffsetAndMetadata, SubscriptionPattern, TopicPartition
from tests.scenarios.consumer.world import (
    T0,
    T1,
    TOPIC,
    consumer_of,
    consuming,
    failure,
    nothing_comes,
    now,
    offsets,
    places,
    read,
    values,
)
from tests.scenarios.producer.delivering import on_virtual_time

NOWHERE = {"bootstrap_servers": "127.0.0.1:1"}


def test_topics_are_given_by_name_or_after_a_configuration() -> None:
    config = ConsumerConfig.from_options(NOWHERE)

    assert Consumer("a", "b", **NOWHERE).subscription() == {"a", "b"}
    assert Consumer(config, "a").subscription() == {"a"}
    assert Consumer(**NOWHERE).subscription() == frozenset()
    found = Consumer.from_kafka({"bootstrap.servers": "h:1", "group.id": "g"}, "a")
    assert found.subscription() == {"a"}


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        ((["a"],), NOWHERE, "one by one.*list"),
        ((3,), NOWHERE, "one by one.*int"),
        (("a", 3), NOWHERE, "name"),
        (("",), NOWHERE, "name"),
    ],
)
def test_what_is_no_topic_is_refused(arguments: Any, options: Any, text: str) -> None:
    with pytest.raises((TypeError, ValueError, KafkaError), match=text):
        Consumer(*arguments, **options)


@pytest.mark.parametrize(
    ("topics", "text"),
    [
        ("orders", r"as a list: \['orders'\]"),
        (None, "list of str"),
        ({"orders": 1}, "list of str"),
        ([3], "name"),
        (re.compile(b"x"), "str"),
        (re.compile(""), "an empty pattern matches no topic"),
        ([], "unsubscribe"),
        (SubscriptionPattern("a"), "group_protocol"),
    ],
)
def test_what_cannot_be_subscribed_to_is_refused(topics: Any, text: str) -> None:
    with pytest.raises((TypeError, ValueError, KafkaError), match=text):
        Consumer(**NOWHERE).subscribe(topics)


@pytest.mark.parametrize(
    "partitions", ["t", [TOPIC], [("t", -1)], [("t", "0")], [("t", True)], [3], None]
)
def test_what_are_no_partitions_cannot_be_assigned(partitions: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        Consumer(**NOWHERE).assign(partitions)


def test_one_either_subscribes_or_assigns() -> None:
    consumer = Consumer("a", **NOWHERE)
    for partitions in ([T0], []):
        with pytest.raises(StateError, match="unsubscribe"):
            consumer.assign(partitions)
    with pytest.raises(StateError, match="unsubscribe"):
        consumer.subscribe(re.compile("a.*"))
    assert consumer.subscription() == {"a"}


def test_options_of_the_other_group_protocol_are_refused() -> None:
    with pytest.raises(ConfigError, match="session_timeout_ms"):
        Consumer(group_id="g", group_protocol="consumer", session_timeout_ms=1_000, **NOWHERE)


@on_virtual_time
async def test_a_pattern_of_the_brokers_needs_the_consumer_protocol() -> None:
    async with consuming(T0, group_id="g") as (broker, consumer):
        await consumer.unsubscribe()
        with pytest.raises((KafkaError, ValueError), match="consumer"):
            consumer.subscribe(SubscriptionPattern("t.*"))
        consumer.subscribe([TOPIC])  # nothing is left of it
        broker.produce(TOPIC, values(1))

        assert offsets(await read(consumer, 1)) == [0]


SYNC: dict[str, Any] = {
    "pause": lambda c: c.pause(T0),
    "resume": lambda c: c.resume(T0),
    "seek": lambda c: c.seek(T0, 1),
    "seek_to_beginning": lambda c: c.seek_to_beginning(T0),
    "seek_to_end": lambda c: c.seek_to_end(T0),
    "current_lag": lambda c: c.current_lag(T0),
    "commit_nowait": lambda c: c.commit_nowait(),
    "wakeup": lambda c: c.wakeup(),
    "batches": lambda c: c.batches(),
    "read_range": lambda c: c.read_range(T0, 0, 1),
    "group_metadata": lambda c: c.group_metadata(),
    "enforce_rebalance": lambda c: c.enforce_rebalance(),
    "async for": lambda c: aiter(c),
    "anext": lambda c: anext(c),
}
ASYNC: dict[str, Any] = {
    "poll": lambda c: c.poll(timeout=1),
    "commit": lambda c: c.commit(),
    "committed": lambda c: c.committed([T0]),
    "position": lambda c: c.position(T0),
    "seek_to_committed": lambda c: c.seek_to_committed(T0),
    "beginning_offsets": lambda c: c.beginning_offsets([T0]),
    "end_offsets": lambda c: c.end_offsets([T0]),
    "offsets_for_times": lambda c: c.offsets_for_times({T0: 0}),
    "partitions_for": lambda c: c.partitions_for(TOPIC),
    "list_topics": lambda c: c.list_topics(),
}


async def called(name: str, consumer: Any) -> Any:
    return await ASYNC[name](consumer) if name in ASYNC else SYNC[name](consumer)


@pytest.mark.parametrize("name", [*SYNC, *ASYNC])
@on_virtual_time
async def test_a_consumer_that_is_not_open_says_so(name: str) -> None:
    async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
        consumer = consumer_of(broker, group_id="g")
        consumer.assign([T0])
        new = await failure(called(name, consumer))
        await consumer.start()
        await consumer.aclose()
        closed = await failure(called(name, consumer))

        assert isinstance(new, StateError)
        assert "async with" in str(new)
        assert isinstance(closed, StateError)
        assert "closed" in str(closed)


@pytest.mark.parametrize("name", [*SYNC, *ASYNC])
def test_a_consumer_of_another_loop_says_so(name: str) -> None:
    with VirtualLoop(seed=1) as first, VirtualLoop(seed=1) as second:
        broker = EmbeddedBroker(topics={TOPIC: 1})
        first.run_until_complete(broker.start())
        consumer = consumer_of(broker, group_id="g")
        consumer.assign([T0])
        first.run_until_complete(consumer.start())
        error = second.run_until_complete(failure(called(name, consumer)))
        first.run_until_complete(consumer.aclose())
        first.run_until_complete(broker.aclose())

        assert isinstance(error, StateError)
        assert "loop" in str(error)


@on_virtual_time
async def test_reading_without_a_subscription_says_so_at_once() -> None:
    async with consuming(T0) as (_, consumer):
        await consumer.unsubscribe()
        for way in (consumer.poll(), read(consumer, 1), anext(consumer.batches())):
            error = await failure(way)

            assert isinstance(error, StateError)
            assert "subscribe()" in str(error)


@pytest.mark.parametrize("name", ["commit", "committed", "seek_to_committed", "commit_nowait"])
@on_virtual_time
async def test_what_needs_a_group_says_so(name: str) -> None:
    async with consuming(T0) as (_, consumer):
        error = await failure(called(name, consumer))

        assert isinstance(error, StateError)
        assert "group_id" in str(error)


@pytest.mark.parametrize("name", ["group_metadata", "enforce_rebalance"])
@on_virtual_time
async def test_what_is_about_the_group_says_that_there_is_none(name: str) -> None:
    async with consuming(T0) as (_, consumer):
        error = await failure(called(name, consumer))

        assert "group_id" in str(error)


@pytest.mark.parametrize(
    "name",
    ["pause", "resume", "seek", "seek_to_beginning", "seek_to_end", "current_lag", "position"],
)
@on_virtual_time
async def test_a_partition_that_is_not_assigned_is_named(name: str) -> None:
    async with consuming(T1) as (_, consumer):
        error = await failure(called(name, consumer))

        assert isinstance(error, StateError)
        assert "t-0" in str(error)
        assert "assign" in str(error)


@pytest.mark.parametrize("offset", [-1, "3", 1.5, None, True])
@on_virtual_time
async def test_what_is_no_offset_cannot_be_sought_or_committed(offset: Any) -> None:
    async with consuming(T0, group_id="g") as (_, consumer):
        with pytest.raises((TypeError, ValueError), match="offset"):
            consumer.seek(T0, offset)
        with pytest.raises((TypeError, ValueError), match="offset"):
            await consumer.commit({T0: offset})
        with pytest.raises((TypeError, ValueError), match="offset"):
            consumer.commit_nowait({T0: offset})
        assert await consumer.position(T0) == 0


FAR = TopicPartition(TOPIC, 2**31)
ODD: dict[str, Any] = {
    "an offset of 64 bits": lambda c: c.commit({T0: 2**63}),
    "a partition of 32 bits": lambda c: c.commit({FAR: 1}),
    "metadata that is no text": lambda c: c.commit({T0: OffsetAndMetadata(1, "\ud800")}),
    "metadata of bytes": lambda c: c.commit({T0: OffsetAndMetadata(1, cast(Any, b"x"))}),
    "an epoch of 32 bits": lambda c: c.commit({T0: OffsetAndMetadata(1, "", 2**31)}),
    "seek": lambda c: c.seek(T0, 2**63),
    "seek to an epoch": lambda c: c.seek(T0, OffsetAndMetadata(1, "", 2**31)),
    "assign": lambda c: c.assign([FAR]),
    "committed": lambda c: c.committed([FAR]),
    "end_offsets": lambda c: c.end_offsets([FAR]),
    "offsets_for_times": lambda c: c.offsets_for_times({T0: 2**63}),
    "read_range": lambda c: c.read_range(FAR, 0, 1),
    "a reason that is no text": lambda c: c.enforce_rebalance("\ud800"),
    "a reason of bytes": lambda c: c.enforce_rebalance(b"x"),
}


@pytest.mark.parametrize("name", ODD)
@on_virtual_time
async def test_a_value_that_cannot_be_sent_is_refused_and_the_consumer_goes_on(name: str) -> None:
    async with consuming(T0, group_id="g", enable_auto_commit=False) as (broker, consumer):
        broker.produce(TOPIC, values(3))

        async def call() -> None:
            result = ODD[name](consumer)
            if asyncio.iscoroutine(result):
                await result

        with pytest.raises((TypeError, ValueError)):
            await call()
        found = await read(consumer, 3)
        await consumer.commit()

        assert offsets(found) == [0, 1, 2]
        assert consumer.health().is_healthy


@on_virtual_time
async def test_a_request_that_cannot_be_sent_all_the_same_fails_alone_and_at_once() -> None:
    async with consuming(T0, group_id="g", enable_auto_commit=False) as (broker, consumer):
        broker.produce(TOPIC, values(3))
        unseen = OffsetAndMetadata(1)
        object.__setattr__(unseen, "metadata", "\ud800")  # as if no check had seen it
        began_at = now()
        error = await failure(consumer.commit({T0: unseen}))

        assert isinstance(error, SerializationError)
        assert "OffsetCommitRequest" in str(error)
        assert now() - began_at < 1
        assert offsets(await read(consumer, 3)) == [0, 1, 2]
        await consumer.commit()
        assert consumer.health().is_healthy


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@on_virtual_time
async def test_a_long_reason_to_rebalance_is_cut(protocol: str) -> None:
    async with consuming(group_id="g", group_protocol=protocol) as (broker, consumer):
        broker.produce(TOPIC, values(1))
        await read(consumer, 1)
        consumer.enforce_rebalance("x" * 40_000)
        await nothing_comes(consumer)
        broker.produce(TOPIC, values(1))

        assert len(await read(consumer, 1)) == 1


@pytest.mark.parametrize("given", [3, {"t": 1}, {("t", -1): 1}, [T0]])
@on_virtual_time
async def test_what_are_no_offsets_cannot_be_committed(given: Any) -> None:
    async with consuming(T0, group_id="g") as (_, consumer):
        with pytest.raises((TypeError, ValueError)):
            await consumer.commit(given)


@pytest.mark.parametrize("time", [-1, "now", 1.5, None])
@on_virtual_time
async def test_what_is_no_time_cannot_be_looked_for(time: Any) -> None:
    async with consuming(T0) as (_, consumer):
        with pytest.raises((TypeError, ValueError), match="1970"):
            await consumer.offsets_for_times({T0: time})


@pytest.mark.parametrize("topic", [3, "", "a b", None])
@on_virtual_time
async def test_what_is_no_topic_cannot_be_asked_for(topic: Any) -> None:
    async with consuming(T0) as (_, consumer):
        began_at = now()
        with pytest.raises((TypeError, ValueError, InvalidTopic)):
            await consumer.partitions_for(topic)
        assert now() - began_at < 1


@on_virtual_time
async def test_a_subscription_that_the_broker_refuses_is_told_to_who_reads() -> None:
    async with consuming(T0) as (_, consumer):
        await consumer.unsubscribe()
        consumer.subscribe(["a b"])
        error = await failure(consumer.poll(timeout=10))
        await nothing_comes(consumer, 10)

        assert isinstance(error, InvalidTopic)
        assert "'a b'" in str(error)
        assert not consumer.health().is_healthy


@pytest.mark.parametrize("name", ["beginning_offsets", "end_offsets", "committed"])
@on_virtual_time
async def test_one_partition_in_place_of_several_is_explained(name: str) -> None:
    async with consuming(T0, group_id="g") as (_, consumer):
        with pytest.raises(TypeError, match="TopicPartition"):
            await getattr(consumer, name)(T0)


@pytest.mark.parametrize(
    "name",
    ["pause", "resume", "seek_to_beginning", "seek_to_end", "seek_to_committed", "position"],
)
@pytest.mark.parametrize("given", [[T0], "t", {T0}])
@on_virtual_time
async def test_a_list_in_place_of_partitions_is_explained(name: str, given: Any) -> None:
    async with consuming(T0, group_id="g") as (_, consumer):
        with pytest.raises(TypeError, match="TopicPartition"):
            await getattr(consumer, name)(given)


class ForAnotherClient:
    """A listener of aiokafka's."""

    def on_partitions_revoked(self, revoked: object) -> None: ...
    def on_partitions_assigned(self, assigned: object) -> None: ...


@pytest.mark.parametrize("listener", [print, object(), ForAnotherClient()])
def test_a_listener_that_can_be_told_nothing_is_refused(listener: object) -> None:
    consumer = Consumer(**NOWHERE)
    with pytest.raises(TypeError, match="revoked, assigned, lost"):
        consumer.subscribe(["a"], listener)
    assert consumer.subscription() == frozenset()


@on_virtual_time
async def test_times_and_the_way_to_leave_have_their_types() -> None:
    async with consuming(T0, group_id="g") as (_, consumer):
        with pytest.raises(TypeError, match="milliseconds"):
            await consumer.offsets_for_times([T0])  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="leave_group"):
            await consumer.aclose(leave_group="no")  # type: ignore[arg-type]
        assert consumer.health().state == "open"


@pytest.mark.parametrize("option", ["key_deserializer", "value_deserializer"])
def test_a_deserializer_that_is_a_coroutine_is_refused(option: str) -> None:
    async def decoded(data: bytes) -> str:
        return data.decode()

    with pytest.raises(ConfigError, match="plain function"):
        Consumer("a", **NOWHERE, **{option: decoded})


@on_virtual_time
async def test_another_subscription_replaces_the_one_before() -> None:
    topics = {TOPIC: 1, "u": 1}
    async with consuming(topics=topics, group_id="g") as (broker, consumer):
        broker.produce(TOPIC, values(2))
        broker.produce("u", values(2))
        await read(consumer, 2)
        consumer.subscribe(["u"])
        found = await read(consumer, 2, within=120)
        await nothing_comes(consumer)

        assert {record.topic for record in found} == {"u"}
        assert consumer.assignment() == {TopicPartition("u", 0)}


@on_virtual_time
async def test_it_is_started_once() -> None:
    async with consuming(T0) as (_, consumer):
        with pytest.raises(StateError, match="started before"):
            await consumer.start()


# Its end.


@on_virtual_time
async def test_who_reads_while_another_task_closes_is_told() -> None:
    async with consuming(T0, group_id="g") as (_, consumer):
        reading = asyncio.create_task(failure(read(consumer, 1)))
        asking = asyncio.create_task(failure(anext(consumer.read_range(T1, 0, 9))))
        await asyncio.sleep(1)
        await asyncio.gather(consumer.aclose(), consumer.aclose())

        assert isinstance(await reading, StateError)
        assert isinstance(await asking, KafkaError)
        assert "closed" in str(reading.result())


@pytest.mark.parametrize("task", ["fetcher", "positioner", "watch"])
@on_virtual_time
async def test_a_failure_in_the_background_reaches_who_reads_and_who_asks(
    task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with EmbeddedBroker(topics={TOPIC: 1}) as broker, consumer_of(broker, TOPIC) as consumer:
        reading = asyncio.create_task(failure(read(consumer, 1)))
        await asyncio.sleep(1)
        part = getattr(consumer._parts, task)
        method = {"fetcher": "see_leaders", "positioner": "_begin", "watch": "_unsaid"}[task]

        def fail() -> Any:
            raise RuntimeError("a bug")

        monkeypatch.setattr(part, method, fail)
        if task != "watch":
            part.wake()
        error = await reading

        assert isinstance(error, StateError)
        assert isinstance(error.__cause__, RuntimeError)
        assert consumer.health().state == "failed"
        assert isinstance(await failure(consumer.poll()), StateError)


def test_a_consumer_that_is_dropped_open_warns_and_its_tasks_end() -> None:
    with VirtualLoop(seed=1, time_limit=7_200) as loop:

        async def main() -> None:
            async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
                consumer = consumer_of(broker, TOPIC, group_id="g")
                await consumer.start()
                broker.produce(TOPIC, values(1))
                await read(consumer, 1)
                with pytest.warns(ResourceWarning, match="async with"):
                    del consumer
                gc.collect()
                await asyncio.sleep(5)

                assert not [t for t in asyncio.all_tasks() if "kafka_aio" in t.get_name()]

        loop.run_until_complete(main())


@on_virtual_time
async def test_partitions_keep_their_places_when_others_are_assigned_too() -> None:
    async with consuming(T0) as (broker, consumer):
        for number in range(2):
            broker.produce(TOPIC, values(4), partition=number)
        await read(consumer, 2)
        consumer.assign([T0, T1])
        found = await read(consumer, 6)

        assert sorted(places(found)) == [(0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)]
