"""Behaviours B01, B03, B04, B05: what is sent again, when, and how often."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from kafka_aio.errors import (
    DuplicateSequenceNumber,
    InvalidTopic,
    KafkaConnectionError,
    KafkaStorageError,
    NotEnoughReplicas,
    NotEnoughReplicasAfterAppend,
    NotLeaderOrFollower,
    Persistence,
    RequestTimedOut,
    TopicAuthorizationFailed,
)
from kafka_aio.producer.delivery import Delivery
from tests.scenarios.producer.delivering import (
    TOPIC,
    delivering,
    failure,
    leader_of,
    now,
    on_virtual_time,
    outcome,
    values,
)

AT_LEAST_ONCE: dict[str, Any] = {"enable_idempotence": False}


# -- B01: connections that break


@pytest.mark.parametrize("when", ["before", "after"])
@on_virtual_time
async def test_a_batch_whose_connection_breaks_is_sent_again_and_stored_once(when: Any) -> None:
    async with delivering() as (broker, producer):
        broker.faults.disconnect("Produce", when=when, times=3)
        metadata = await producer.send(TOPIC, b"v")

        assert metadata.offset == 0
        assert values(broker) == [b"v"]
        assert producer.statistics().retried == 3


@on_virtual_time
async def test_without_idempotence_what_is_sent_again_may_be_stored_twice() -> None:
    async with delivering(**AT_LEAST_ONCE) as (broker, producer):
        broker.faults.disconnect("Produce", when="after", times=1)
        metadata = await producer.send(TOPIC, b"v")

        assert metadata.offset == 1
        assert values(broker) == [b"v", b"v"]


@on_virtual_time
async def test_after_so_many_retries_it_fails_once_with_what_broke_it() -> None:
    async with delivering(retries=2, **AT_LEAST_ONCE) as (broker, producer):
        fault = broker.faults.disconnect("Produce")
        told: list[Delivery] = []
        delivery = await producer.submit(TOPIC, b"v")
        delivery.add_done_callback(told.append)
        error = await failure(delivery)
        await asyncio.sleep(60)

        assert isinstance(error, KafkaConnectionError)
        assert error.persistence is Persistence.POSSIBLY_PERSISTED
        assert fault.hits == 3
        assert told == [delivery]
        assert producer.statistics().buffered_bytes == 0


@on_virtual_time
async def test_a_request_without_an_answer_is_sent_again_after_request_timeout_ms() -> None:
    async with delivering(request_timeout_ms=3_000) as (broker, producer):
        broker.faults.drop("Produce", times=1)
        start = now()
        await producer.send(TOPIC, b"v")

        assert 3.0 <= now() - start < 3.5
        assert values(broker) == [b"v"]


@on_virtual_time
async def test_an_answer_that_makes_no_sense_is_as_good_as_none() -> None:
    async with delivering() as (broker, producer):
        broker.faults.garbage("Produce", times=1)
        metadata = await producer.send(TOPIC, b"v")

        assert metadata.offset == 0
        assert values(broker) == [b"v"]


@on_virtual_time
async def test_a_node_that_is_down_for_a_while_gets_its_records_then() -> None:
    async with delivering() as (broker, producer):
        await producer.send(TOPIC, b"a")
        await broker.stop_node(1)
        delivery = await producer.submit(TOPIC, b"b")
        await asyncio.sleep(30)
        assert not delivery.done()
        await broker.start_node(1)
        start = now()

        assert (await delivery).offset == 1
        assert now() - start < 2.5


# -- errors that a broker answers with


@pytest.mark.parametrize(
    "error", [NotEnoughReplicas, NotEnoughReplicasAfterAppend, RequestTimedOut, NotLeaderOrFollower]
)
@on_virtual_time
async def test_what_a_broker_refuses_for_now_is_sent_again(error: Any) -> None:
    async with delivering() as (broker, producer):
        fault = broker.faults.fail("Produce", error, times=2)

        assert (await producer.send(TOPIC, b"v")).offset == 0
        assert fault.hits == 2


@pytest.mark.parametrize("error", [InvalidTopic, TopicAuthorizationFailed])
@on_virtual_time
async def test_what_a_broker_refuses_for_good_is_not_sent_again(error: Any) -> None:
    async with delivering() as (broker, producer):
        fault = broker.faults.fail("Produce", error)
        delivery = await producer.submit(TOPIC, b"v")

        assert await outcome(delivery) == (error, Persistence.NOT_PERSISTED)
        assert fault.hits == 1
        fault.remove()
        assert (await producer.send(TOPIC, b"w")).offset == 0


@pytest.mark.parametrize(
    ("error", "known"),
    [
        (NotEnoughReplicas, Persistence.NOT_PERSISTED),
        (NotLeaderOrFollower, Persistence.POSSIBLY_PERSISTED),
        (KafkaStorageError, Persistence.POSSIBLY_PERSISTED),
        (NotEnoughReplicasAfterAppend, Persistence.POSSIBLY_PERSISTED),
        (RequestTimedOut, Persistence.POSSIBLY_PERSISTED),
    ],
)
@on_virtual_time
async def test_a_failure_says_whether_the_record_may_be_in_the_log(
    error: Any, known: Persistence
) -> None:
    async with delivering(retries=1, **AT_LEAST_ONCE) as (broker, producer):
        broker.faults.fail("Produce", error)

        assert await outcome(await producer.submit(TOPIC, b"v")) == (error, known)


@on_virtual_time
async def test_who_could_not_tell_once_is_never_sure_again() -> None:
    async with delivering(retries=1, **AT_LEAST_ONCE) as (broker, producer):
        broker.faults.disconnect("Produce", times=1)
        broker.faults.fail("Produce", InvalidTopic)
        delivery = await producer.submit(TOPIC, b"v")

        assert await outcome(delivery) == (InvalidTopic, Persistence.POSSIBLY_PERSISTED)


@on_virtual_time
async def test_a_throttled_producer_pauses_and_loses_nothing() -> None:
    async with delivering() as (broker, producer):
        await producer.send(TOPIC, b"a")
        broker.faults.throttle("Produce", 2_000, times=1)
        await producer.send(TOPIC, b"b")
        start = now()
        await producer.send(TOPIC, b"c")

        assert 1.9 < now() - start < 2.2
        assert values(broker) == [b"a", b"b", b"c"]
        assert producer.statistics().retried == 0


@on_virtual_time
async def test_what_the_broker_calls_a_duplicate_is_delivered() -> None:  # B21
    async with delivering() as (broker, producer):
        broker.faults.fail("Produce", DuplicateSequenceNumber, times=1)
        metadata = await producer.send(TOPIC, b"v")

        assert metadata.offset == -1  # where it is, is not told
        assert producer.statistics().delivered == 1


# -- B03: pauses


@on_virtual_time
async def test_pauses_grow_with_each_attempt_to_retry_backoff_max_ms() -> None:
    options: dict[str, Any] = {"retry_backoff_ms": 100, "retry_backoff_max_ms": 1_000}
    async with delivering(**options) as (broker, producer):
        fault = broker.faults.fail("Produce", NotEnoughReplicas, times=7)
        delivery = await producer.submit(TOPIC, b"v")
        at = []
        for hit in range(1, 8):
            await broker.wait_hits(fault, hit)
            at.append(now())
        await delivery
        pauses = [later - earlier for earlier, later in pairwise(at)]
        jitter = [pause / pure for pause, pure in zip(pauses, (0.1, 0.2, 0.4, 0.8), strict=False)]

        assert all(0.79 < each < 1.23 for each in jitter), pauses
        assert len({round(each, 3) for each in jitter}) == 4
        assert all(0.79 < pause < 1.02 for pause in pauses[4:]), pauses


@on_virtual_time
async def test_a_pause_of_one_partition_is_none_of_others() -> None:
    async with delivering(topics={TOPIC: 2}, retry_backoff_ms=10_000) as (broker, producer):
        broker.faults.fail("Produce", NotEnoughReplicas, topic=TOPIC, partition=0, times=1)
        slow = await producer.submit(TOPIC, b"a", partition=0)
        start = now()
        await producer.send(TOPIC, b"b", partition=1)
        assert now() - start < 0.5
        await slow

        assert now() - start >= 1.0  # retry_backoff_max_ms


# -- B04, B05: leaders that move


@on_virtual_time
async def test_a_new_leader_that_the_answer_names_gets_the_batch_at_once() -> None:  # B04, B05
    async with delivering(nodes=3, retry_backoff_ms=10_000, retry_backoff_max_ms=10_000) as (
        broker,
        producer,
    ):
        await producer.send(TOPIC, b"a")
        leader = await leader_of(producer)
        asked = broker.faults.hold("Metadata")  # nothing is learnt by asking
        broker.move_leader(TOPIC, 0, leader % 3 + 1)
        start = now()
        metadata = await producer.send(TOPIC, b"b")

        assert metadata.offset == 1
        assert now() - start < 0.5
        assert await leader_of(producer) == leader % 3 + 1
        asked.remove()


@on_virtual_time
async def test_a_new_leader_that_metadata_names_ends_the_pause() -> None:  # B04
    async with delivering(nodes=3, retry_backoff_ms=10_000, retry_backoff_max_ms=10_000) as (
        broker,
        producer,
    ):
        await producer.send(TOPIC, b"a")
        leader = await leader_of(producer)
        await asyncio.sleep(20)  # retry_backoff_ms also holds for metadata
        asked = broker.faults.hold("Metadata")
        refusal = broker.faults.fail("Produce", NotLeaderOrFollower, node=leader)
        delivery = await producer.submit(TOPIC, b"b")
        await broker.wait_hits(refusal)
        start = now()
        await broker.wait_hits(asked)
        broker.move_leader(TOPIC, 0, leader % 3 + 1)
        asked.release()
        await delivery

        assert now() - start < 1.0


@on_virtual_time
async def test_when_a_leader_dies_with_a_request_another_node_gets_the_batch() -> None:
    async with delivering(nodes=3) as (broker, producer):
        await producer.send(TOPIC, b"a")
        leader = await leader_of(producer)
        held = broker.faults.hold("Produce", node=leader)
        delivery = await producer.submit(TOPIC, b"b")
        await broker.wait_hits(held)
        await broker.stop_node(leader)
        start = now()

        assert (await delivery).offset == 1
        assert now() - start < 1.0


@on_virtual_time
async def test_when_a_leader_died_unnoticed_another_node_gets_the_batch() -> None:
    async with delivering(nodes=3) as (broker, producer):
        await producer.send(TOPIC, b"a")
        await broker.stop_node(await leader_of(producer))
        await asyncio.sleep(60)
        start = now()

        assert (await producer.send(TOPIC, b"b")).offset == 1
        assert now() - start < 2.0


@on_virtual_time
async def test_a_partition_without_a_leader_gets_its_records_when_it_has_one() -> None:
    topics = {TOPIC: {"partitions": 3, "replication_factor": 1}}
    async with delivering(nodes=3, topics=topics) as (broker, producer):
        leaders = [await leader_of(producer, partition) for partition in range(3)]
        partition = leaders.index(2)  # not the node that is asked for metadata
        leader = 2
        await broker.stop_node(leader)
        delivery = await producer.submit(TOPIC, b"v", partition=partition)
        await asyncio.sleep(20)
        assert not delivery.done()
        start = now()
        await broker.start_node(leader)
        await delivery

        assert now() - start < 2.5


@on_virtual_time
async def test_a_topic_that_went_out_of_use_while_a_batch_waits_is_asked_for_again() -> None:
    options: dict[str, Any] = {"metadata_max_idle_ms": 5_000, "metadata_max_age_ms": 1_000}
    async with delivering(nodes=2, topics={TOPIC: {"replication_factor": 1}}, **options) as (
        broker,
        producer,
    ):
        leader = await leader_of(producer)
        await broker.stop_node(leader)
        delivery = await producer.submit(TOPIC, b"v")
        await asyncio.sleep(30)
        await broker.start_node(leader)
        start = now()
        await delivery

        assert now() - start < 2.5
