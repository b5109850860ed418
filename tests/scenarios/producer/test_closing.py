"""Flushing, closing, and what becomes of records that are not delivered: never silently lost."""

from __future__ import annotations

import asyncio

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import (
    ClusterAuthorizationFailed,
    DeliveryError,
    InvalidRecord,
    KafkaTimeoutError,
    NotEnoughReplicas,
    Persistence,
    SendManyError,
    StateError,
    TopicAuthorizationFailed,
)
from kafka_aio.producer import Delivery
from kafka_aio.types import TopicPartition
from tests.scenarios.producer.api_world import (
    TOPIC,
    ended,
    is_at_rest,
    producer_of,
    until,
    values,
    virtual,
)

LONG = {"linger_ms": 3_600_000, "delivery_timeout_ms": 7_200_000}


# B14
def test_flush_ignores_linger_and_waits_for_what_was_accepted_before_it_alone() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with (
            EmbeddedBroker(topics={TOPIC: 2}) as broker,
            producer_of(broker, **LONG) as producer,
        ):
            await producer.partitions_for(TOPIC)
            start = loop.time()
            with broker.faults.hold("Produce") as hold:
                before = [producer.submit_nowait(TOPIC, b"a", partition=at) for at in (0, 1)]
                flush = asyncio.create_task(producer.flush())
                await broker.wait_hits(hold)
                after = producer.submit_nowait(TOPIC, b"b", partition=0)
                was_done = flush.done()
            await flush

            assert not was_done
            assert [each.done() for each in before] == [True, True]
            assert not after.done()
            assert loop.time() - start < 10

    virtual(main)


# B14
def test_flush_waits_for_a_batch_that_is_sent_again() -> None:
    async def main() -> None:
        async with EmbeddedBroker(topics={TOPIC: 1}) as broker, producer_of(broker) as producer:
            await producer.partitions_for(TOPIC)
            with broker.faults.disconnect("Produce", times=3):
                delivery = producer.submit_nowait(TOPIC, b"a")
                await producer.flush()

            assert delivery.result().offset == 0
            assert producer.statistics().retried == 3

    virtual(main)


def test_flush_ends_where_what_it_waits_for_has_failed() -> None:
    async def main() -> None:
        async with EmbeddedBroker(topics={TOPIC: 1}) as broker, producer_of(broker) as producer:
            await producer.partitions_for(TOPIC)
            with broker.faults.fail("Produce", TopicAuthorizationFailed):
                delivery = producer.submit_nowait(TOPIC, b"a")
                await producer.flush()

            assert delivery.done()
            with pytest.raises(TopicAuthorizationFailed):
                delivery.result()

    virtual(main)


def test_the_end_of_the_block_delivers_all_without_lingering() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
            async with producer_of(broker, **LONG) as producer:
                await producer.partitions_for(TOPIC)
                deliveries = [producer.submit_nowait(TOPIC, b"%d" % at) for at in range(100)]
                start = loop.time()
            took = loop.time() - start

            assert [each.result().offset for each in deliveries] == list(range(100))
            assert len(values(broker)) == 100
            return took

    assert virtual(main) < 10


def test_whoever_closes_first_or_second_waits_for_all_deliveries() -> None:
    async def main() -> None:
        async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
            producer = producer_of(broker)
            await producer.start()
            await producer.partitions_for(TOPIC)
            with broker.faults.delay("Produce", 5):
                delivery = producer.submit_nowait(TOPIC, b"a")
                await asyncio.gather(producer.aclose(), producer.aclose())

            assert delivery.result().offset == 0

    virtual(main)


# B15
def test_a_forced_close_completes_every_pending_delivery_once_and_with_an_error() -> None:
    async def main() -> None:
        called: list[Delivery] = []
        async with EmbeddedBroker(topics={TOPIC: 2}) as broker:
            options = {"batch_size": 500, "buffer_memory": 1_500, "max_block_ms": 600_000}
            producer = producer_of(
                broker, max_in_flight_requests_per_connection=1, linger_ms=60_000, **options
            )
            await producer.start()
            await producer.partitions_for(TOPIC)
            with broker.faults.hold("Produce") as hold:
                in_flight = producer.submit_nowait(TOPIC, b"x" * 300, partition=0)
                queued = producer.submit_nowait(TOPIC, b"x" * 300, partition=0)
                await broker.wait_hits(hold)
                still_open = producer.submit_nowait(TOPIC, b"x", partition=1)
                deliveries = [in_flight, queued, still_open]
                for each in deliveries:
                    each.add_done_callback(called.append)
                awaited = [asyncio.create_task(ended(each)) for each in deliveries]
                producer.submit_nowait(TOPIC, b"x" * 300, partition=1)
                waiting = asyncio.create_task(producer.send(TOPIC, b"x" * 300, partition=0))
                await until(lambda: producer.statistics().waiting == 1)
                nobodys = 1
                with pytest.raises(DeliveryError) as caught:
                    await producer.aclose(timeout=0)
                refused = await ended(waiting)
            errors = await asyncio.gather(*awaited)

            assert caught.value.count == nobodys
            assert all(isinstance(each, StateError) for each in [*errors, refused])
            assert [each.persistence for each in errors] == [
                Persistence.POSSIBLY_PERSISTED,
                Persistence.NOT_PERSISTED,
                Persistence.NOT_PERSISTED,
            ]
            given_up = "given up: the producer was closed before it was acknowledged"
            assert [str(each) for each in errors] == [
                f"t-0: {given_up} (possibly persisted)",
                f"t-0: {given_up} (not persisted)",
                f"t-1: {given_up} (not persisted)",
            ]
            assert str(refused) == "the producer is closed: make a new one"  # it was not accepted
            await asyncio.sleep(1)
            assert called == deliveries
            assert is_at_rest(producer)
            assert producer.statistics().failed == 4
            await until(lambda: broker.statistics().connections == 0)

    virtual(main)


def test_a_close_with_a_time_gives_up_what_is_left_by_then() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
            producer = producer_of(broker)
            await producer.start()
            await producer.send(TOPIC, b"a")
            broker.faults.drop("Produce")
            delivery = producer.submit_nowait(TOPIC, b"b")
            start = loop.time()
            with pytest.raises(DeliveryError, match="1 records were not delivered"):
                await producer.aclose(timeout=3)

            assert 3 <= loop.time() - start < 4
            with pytest.raises(StateError, match="given up: the producer was closed"):
                await delivery

    virtual(main)


def test_a_close_while_the_cluster_is_gone_ends_with_the_time_of_the_deliveries() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
            producer = producer_of(broker, delivery_timeout_ms=40_000)
            await producer.start()
            await producer.send(TOPIC, b"a")
            await broker.stop_node(1)
            start = loop.time()
            producer.submit_nowait(TOPIC, b"b")
            with pytest.raises(DeliveryError) as caught:
                await producer.aclose()

            assert 40 <= loop.time() - start < 41
            (cause,) = caught.value.causes
            assert isinstance(cause, KafkaTimeoutError)
            assert "1 records were not acknowledged within 40 s (delivery_timeout_ms)" in str(cause)

    virtual(main)


def test_who_waits_for_metadata_while_it_closes_is_refused() -> None:
    async def main() -> None:
        async with EmbeddedBroker(topics={TOPIC: 1, "other": 1}) as broker:
            producer = producer_of(broker)
            await producer.start()
            await producer.send(TOPIC, b"a")
            with broker.faults.fail("Produce", NotEnoughReplicas, topic=TOPIC) as refused:
                producer.submit_nowait(TOPIC, b"b")
                await broker.wait_hits(refused)
                with broker.faults.delay("Metadata", 1, when="after"):
                    late = asyncio.create_task(producer.send("other", b"c"))
                    await asyncio.sleep(0.5)
                    closing = asyncio.create_task(producer.aclose())
                    await asyncio.sleep(10)
            await closing

            with pytest.raises(StateError, match="the producer is closed: make a new one"):
                await late
            assert values(broker, "other") == []
            assert values(broker) == [b"a", b"b"]

    virtual(main)


# Failures.


async def submit_in_vain(broker: EmbeddedBroker, *partitions: int) -> None:
    """A whole producer, some of whose records are refused: nobody awaits them."""
    async with producer_of(broker, linger_ms=100) as producer:
        await producer.partitions_for(TOPIC)
        broker.faults.fail("Produce", TopicAuthorizationFailed, partition=0, topic=TOPIC)
        broker.faults.fail("Produce", InvalidRecord, partition=1, topic=TOPIC)
        for at in partitions:
            producer.submit_nowait(TOPIC, b"x", partition=at)


async def test_what_failed_and_nobody_awaited_is_raised_at_the_end_of_the_block(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with EmbeddedBroker(topics={TOPIC: 3}) as broker:
        with pytest.raises(DeliveryError) as caught:
            await submit_in_vain(broker, 0, 0, 0, 1, 1, 2)
    error = caught.value

    assert error.count == 5
    assert error.by_partition == {TopicPartition(TOPIC, 0): 3, TopicPartition(TOPIC, 1): 2}
    assert sorted(type(each).__name__ for each in error.causes) == [
        "InvalidRecord",
        "TopicAuthorizationFailed",
    ]
    assert error.__cause__ is error.causes[0]
    assert str(error).startswith("5 records were not delivered, and nobody awaited them (")
    assert "3 of t-0" in str(error)
    logged = [each for each in caplog.records if each.name == "kafka_aio.producer.failures"]
    assert len(logged) == 2  # once for each batch


async def test_who_was_told_of_a_failure_is_not_told_again() -> None:
    async with EmbeddedBroker(topics={TOPIC: 1}) as broker, producer_of(broker) as producer:
        await producer.partitions_for(TOPIC)
        with broker.faults.fail("Produce", TopicAuthorizationFailed):
            first = producer.submit_nowait(TOPIC, b"a")
            second = producer.submit_nowait(TOPIC, b"b")
            for _ in range(2):
                with pytest.raises(TopicAuthorizationFailed, match=r"t-0: .*not persisted"):
                    await first
            with pytest.raises(TopicAuthorizationFailed):
                second.result()
            with pytest.raises(TopicAuthorizationFailed):
                await producer.send(TOPIC, b"c")

        assert producer.statistics().failed == 3
    assert producer.health().state == "closed"


async def test_who_was_cancelled_before_it_failed_was_not_told() -> None:
    async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
        producer = producer_of(broker)
        await producer.start()
        with broker.faults.hold("Produce") as hold:
            sending = asyncio.create_task(producer.send(TOPIC, b"a"))
            await broker.wait_hits(hold)
            sending.cancel()
            await asyncio.wait([sending])
            broker.faults.fail("Produce", TopicAuthorizationFailed)

        with pytest.raises(DeliveryError, match="1 records"):
            await producer.aclose()


async def test_who_looks_twice_at_one_failure_does_not_hide_another() -> None:
    async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
        producer = producer_of(broker, linger_ms=50)
        await producer.start()
        await producer.partitions_for(TOPIC)
        with broker.faults.fail("Produce", TopicAuthorizationFailed):
            producer.submit_nowait(TOPIC, b"nobody looks")
            deliveries = await producer.submit_many(TOPIC, [b"a"])
            for _ in range(2):
                with pytest.raises(SendManyError):
                    await deliveries
                with pytest.raises(TopicAuthorizationFailed):
                    deliveries[0].result()

        with pytest.raises(DeliveryError, match="1 records were not delivered"):
            await producer.aclose()


async def test_each_who_waits_gets_an_error_of_its_own() -> None:
    async with EmbeddedBroker(topics={TOPIC: 1}) as broker, producer_of(broker) as producer:
        await producer.partitions_for(TOPIC)
        with broker.faults.fail("Produce", TopicAuthorizationFailed):
            delivery = producer.submit_nowait(TOPIC, b"a")
            errors = await asyncio.gather(*[ended(delivery) for _ in range(3)])

        assert len({id(each) for each in errors}) == 3
        assert {type(each) for each in errors} == {TopicAuthorizationFailed}


async def test_what_is_raised_inside_of_the_block_keeps_its_place_with_a_note() -> None:
    async def block(broker: EmbeddedBroker) -> None:
        async with producer_of(broker) as producer:
            await producer.submit(TOPIC, b"a")
            raise ZeroDivisionError

    async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
        broker.faults.fail("Produce", TopicAuthorizationFailed)
        with pytest.raises(ZeroDivisionError) as caught:
            await block(broker)

    (note,) = caught.value.__notes__
    assert note.startswith("1 records were not delivered, and nobody awaited them (1 of t-0): t-0:")


async def test_what_is_raised_inside_of_the_block_does_not_stop_deliveries() -> None:
    async def block(broker: EmbeddedBroker) -> None:
        async with producer_of(broker, linger_ms=60_000) as producer:
            await producer.submit(TOPIC, b"a")
            raise ZeroDivisionError

    async with EmbeddedBroker(topics={TOPIC: 1}) as broker:
        with pytest.raises(ZeroDivisionError) as caught:
            await block(broker)

        assert not hasattr(caught.value, "__notes__")
        assert values(broker) == [b"a"]


# B27
@pytest.mark.parametrize("api", ["Produce", "InitProducerId"])
def test_a_fatal_error_fails_all_that_is_pending_and_all_that_comes_later_at_once(api: str) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with EmbeddedBroker(topics={TOPIC: 2}) as broker:
            producer = producer_of(broker, batch_size=500, buffer_memory=1_000)
            broker.faults.delay("InitProducerId", 0.5)
            broker.faults.fail(api, ClusterAuthorizationFailed)
            await producer.start()
            await producer.partitions_for(TOPIC)
            start = loop.time()
            pending = [producer.submit_nowait(TOPIC, b"x" * 300, partition=at) for at in (0, 1)]
            waiting = asyncio.create_task(ended(producer.send(TOPIC, b"x" * 300)))
            flushing = asyncio.create_task(ended(producer.flush()))
            errors = [await ended(each) for each in pending]
            errors += [await waiting, await flushing]
            for call in (producer.send, producer.submit):
                with pytest.raises(ClusterAuthorizationFailed):
                    await call(TOPIC, b"later")
            with pytest.raises(ClusterAuthorizationFailed):
                producer.submit_nowait(TOPIC, b"later")

            assert {type(each) for each in errors[:3]} == {ClusterAuthorizationFailed}
            assert errors[3] is None or isinstance(errors[3], ClusterAuthorizationFailed)
            assert loop.time() - start < 1
            assert is_at_rest(producer)
            assert producer.health().state == "failed"
            await producer.aclose()
            assert values(broker) == []

    virtual(main)


async def test_closed_at_once_after_the_first_record_it_has_not_failed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # The Sender has been woken for that record, and has a node to dial, when all tasks stop.
    async with EmbeddedBroker(nodes=3, topics={"t": 6}) as broker:
        producer = producer_of(broker)
        await producer.start()
        deliveries = [await producer.submit("t", b"v", partition=number) for number in range(6)]
        await ended(producer.aclose(timeout=0))

        assert producer.health().state == "closed"
        assert all(delivery.done() for delivery in deliveries)
    assert [each for each in caplog.records if each.levelname == "ERROR"] == []
