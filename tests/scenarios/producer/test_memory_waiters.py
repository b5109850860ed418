"""The bound on memory, and who waits for it; what is waited for at all (B16, B17)."""

from __future__ import annotations

import asyncio

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import KafkaTimeoutError, TopicAuthorizationFailed
from kafka_aio.producer import ProducerRecord
from tests.scenarios.producer.api_world import (
    TOPIC,
    ended,
    is_at_rest,
    producer_of,
    until,
    values,
    virtual,
)

SMALL = {"batch_size": 500, "buffer_memory": 2_000}


# B16
def test_there_are_never_more_bytes_than_the_bound() -> None:
    async def main() -> None:
        async with (
            EmbeddedBroker(topics={TOPIC: 3}) as broker,
            producer_of(broker, **SMALL) as producer,
        ):
            sending = [
                asyncio.create_task(producer.send(TOPIC, b"x" * (at * 7 % 900)))
                for at in range(300)
            ]
            most = 0
            while not all(each.done() for each in sending):
                most = max(most, producer.statistics().buffered_bytes)
                await asyncio.sleep(0)
            await asyncio.gather(*sending)

            assert 1_000 < most <= 2_000
            assert is_at_rest(producer)
            assert len(values(broker)) == 300

    virtual(main)


# B16
def test_those_who_wait_are_served_in_the_order_of_their_coming() -> None:
    async def main() -> None:
        async with (
            EmbeddedBroker(topics={TOPIC: 1}) as broker,
            producer_of(broker, **SMALL) as producer,
        ):
            await producer.partitions_for(TOPIC)
            order: list[int] = []

            async def submit(number: int) -> None:
                size = 300 if number % 3 else 1_500  # large ones are not passed by small ones
                await producer.submit(TOPIC, b"%d," % number + b"x" * size)
                order.append(number)

            await asyncio.gather(*(submit(number) for number in range(200)))
            await producer.flush()

            assert order == list(range(200))
            sent = [int((value or b"").partition(b",")[0]) for value in values(broker)]
            assert sent == list(range(200))

    virtual(main)


# B16
async def test_twenty_thousand_at_once_are_sent_in_order() -> None:
    async with (
        EmbeddedBroker(topics={TOPIC: 1}) as broker,
        producer_of(broker, buffer_memory=65_536) as producer,
    ):
        asyncio.get_running_loop().set_debug(False)  # the stacks of 20,000 tasks take 15 s
        found = await asyncio.gather(*(producer.send(TOPIC, b"%d" % at) for at in range(20_000)))

        assert [each.offset for each in found] == list(range(20_000))
        assert values(broker) == [b"%d" % at for at in range(20_000)]
        assert is_at_rest(producer)


# B16
def test_who_waits_for_too_long_gets_an_error_that_says_why() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with (
            EmbeddedBroker(topics={TOPIC: 1}) as broker,
            producer_of(broker, max_block_ms=20_000, **SMALL) as producer,
        ):
            await producer.partitions_for(TOPIC)
            with broker.faults.hold("Produce"):
                for _ in range(4):
                    producer.submit_nowait(TOPIC, b"x" * 300)
                start = loop.time()
                first = asyncio.create_task(ended(producer.submit(TOPIC, b"x" * 300)))
                second = asyncio.create_task(ended(producer.send(TOPIC, b"x" * 300)))
                errors = [await first, await second]
                took = loop.time() - start
                waiting = producer.statistics().waiting
            await producer.flush()

            assert 20 <= took < 20.1
            assert waiting == 0
            for error in errors:
                assert isinstance(error, KafkaTimeoutError)
                assert "topic 't': no room for a record of" in str(error)
                assert "within 20 s (max_block_ms): all 2000 bytes (buffer_memory)" in str(error)
                assert "because t-0: " in str(error)
            assert is_at_rest(producer)
            assert len(values(broker)) == 4

    virtual(main)


# B16
def test_one_who_leaves_the_queue_lets_the_next_one_in() -> None:
    async def main() -> None:
        async with (
            EmbeddedBroker(topics={TOPIC: 1}) as broker,
            producer_of(broker, **SMALL) as producer,
        ):
            await producer.partitions_for(TOPIC)
            with broker.faults.hold("Produce") as hold:
                for _ in range(3):
                    producer.submit_nowait(TOPIC, b"x" * 300)
                large = asyncio.ensure_future(producer.submit(TOPIC, b"x" * 1_000))
                await until(lambda: producer.statistics().waiting == 1)
                small = asyncio.ensure_future(producer.submit(TOPIC, b"y" * 300))
                await until(lambda: producer.statistics().waiting == 2)
                large.cancel()
                async with asyncio.timeout(1):
                    delivery = await small
                assert hold.held

            assert (await delivery).offset == 3

    virtual(main)


# B16
def test_many_who_wait_and_are_cancelled_at_any_time_leak_nothing() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with (
            EmbeddedBroker(topics={TOPIC: 3}) as broker,
            producer_of(broker, **SMALL) as producer,
        ):
            broker.faults.disconnect("Produce", probability=0.1)
            sending = [
                loop.create_task(producer.send(TOPIC, b"%d," % at + b"x" * (at * 7 % 900)))
                for at in range(400)
            ]
            for at in range(0, 400, 3):
                loop.call_later(at * 0.002, sending[at].cancel)
            await asyncio.wait(sending)
            await producer.flush()

            sent = [int((value or b"").partition(b",")[0]) for value in values(broker)]
            delivered = [at for at, each in enumerate(sending) if not each.cancelled()]
            assert 0 < sum(each.cancelled() for each in sending) < 134
            assert set(delivered) <= set(sent)
            assert len(set(sent)) == len(sent)
            assert is_at_rest(producer)

    virtual(main)


def test_a_partitioner_is_asked_once_for_a_record_that_has_to_wait() -> None:
    async def main() -> None:
        asked: list[bytes] = []

        def first(record: ProducerRecord, partitions: int) -> int:
            asked.append(record.value)
            return 0

        async with (
            EmbeddedBroker(topics={TOPIC: 1}) as broker,
            producer_of(broker, partitioner=first, **SMALL) as producer,
        ):
            sent = [b"%d," % at + b"x" * 300 for at in range(20)]
            await asyncio.gather(*(producer.send(TOPIC, value) for value in sent))

        assert asked == sent

    virtual(main)


# B17
@pytest.mark.parametrize("call", ["send", "submit", "partitions_for"])
def test_a_topic_that_is_not_there_is_waited_for_and_then_named(call: str) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with (
            EmbeddedBroker(options={"auto.create.topics.enable": False}) as broker,
            producer_of(broker, max_block_ms=15_000) as producer,
        ):
            start = loop.time()
            with pytest.raises(KafkaTimeoutError) as caught:
                await getattr(producer, call)("missing")

            assert 15 <= loop.time() - start < 15.2
            assert "topic 'missing' was not found within 15 s (max_block_ms)" in str(caught.value)
            assert "UNKNOWN_TOPIC_OR_PARTITION" in str(caught.value)
            assert "check the name, or create it first" in str(caught.value)
            assert broker.statistics().apis["Metadata"].requests < 60  # with pauses
            assert is_at_rest(producer)

    virtual(main)


# B17
def test_a_topic_that_comes_in_time_is_used() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with (
            EmbeddedBroker(options={"auto.create.topics.enable": False}) as broker,
            producer_of(broker) as producer,
        ):
            loop.call_later(10, broker.create_topic, "late")
            metadata = await producer.send("late", b"a")

            assert metadata.offset == 0

    virtual(main)


# B17
def test_a_partition_that_is_not_there_is_waited_for_and_then_named() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with (
            EmbeddedBroker(topics={TOPIC: 3}) as broker,
            producer_of(broker, max_block_ms=15_000) as producer,
        ):
            start = loop.time()
            words = "topic 't' has 3 partitions, and no partition 3 within 15 s"
            for call in (producer.send, producer.submit):
                with pytest.raises(KafkaTimeoutError, match=words):
                    await call(TOPIC, b"a", partition=3)

            assert 30 <= loop.time() - start < 30.4
            assert (await producer.send(TOPIC, b"a", partition=2)).partition == 2

    virtual(main)


# B17
def test_a_topic_that_we_may_not_see_is_not_waited_for() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with EmbeddedBroker(topics={TOPIC: 1}) as broker, producer_of(broker) as producer:
            broker.faults.fail("Metadata", TopicAuthorizationFailed, topic=TOPIC)
            start = loop.time()
            with pytest.raises(TopicAuthorizationFailed, match="topic 't'"):
                await producer.send(TOPIC, b"a")
            assert loop.time() - start < 1

            broker.faults.clear()
            assert (await producer.send(TOPIC, b"a")).offset == 0

    virtual(main)


# B17
def test_a_topic_in_use_does_not_age_out_and_one_out_of_use_does() -> None:
    async def main() -> None:
        async with (
            EmbeddedBroker(topics={TOPIC: 1, "once": 1}) as broker,
            producer_of(
                broker, metadata_max_idle_ms=60_000, metadata_max_age_ms=10_000
            ) as producer,
        ):
            await producer.send("once", b"a")
            for _ in range(300):
                await producer.send(TOPIC, b"a")
                await asyncio.sleep(1)
            metadata = producer._cluster.metadata

            assert metadata.partition_count(TOPIC) == 1
            assert metadata.partition_count("once") is None
            assert (await producer.send("once", b"b")).offset == 1

    virtual(main)
