"""What the user's code does to a record on its way: serializers, interceptors, partitioners."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import SerializationError, TopicAuthorizationFailed
from kafka_aio.producer import ProducerRecord
from kafka_aio.producer.partition import partition_of_key
from tests.scenarios.producer.api_world import TOPIC, is_at_rest, producer_of, values


@pytest.fixture
async def broker() -> AsyncIterator[EmbeddedBroker]:
    async with EmbeddedBroker(topics={TOPIC: 1, "many": 4}, seed=1) as started:
        yield started


async def test_serializers_make_the_bytes(broker: EmbeddedBroker) -> None:
    def number(value: int | None) -> bytes | None:
        return None if value is None else b"%d" % value

    async with producer_of(broker, key_serializer=str.encode, value_serializer=number) as producer:
        await producer.send("many", 5, key="k")
        await producer.send("many", None, key="k")
        await (await producer.submit("many", 6, key="k"))
        await producer.submit_nowait("many", 7, key="k")
    found = broker.records("many", partition_of_key(b"k", 4))

    assert [(each.key, each.value) for each in found] == [
        (b"k", b"5"),
        (b"k", None),
        (b"k", b"6"),
        (b"k", b"7"),
    ]


@pytest.mark.parametrize(
    ("serializer", "words"),
    [
        (lambda value: value["missing"], "the value of a record for topic 't' cannot be"),
        (lambda value: "text", "the value serializer gave <str> for topic 't'"),
    ],
)
async def test_a_serializer_that_fails_fails_that_call_alone(
    broker: EmbeddedBroker, serializer: Any, words: str
) -> None:
    def serialize(value: Any) -> Any:
        return value if isinstance(value, bytes) else serializer(value)

    async with producer_of(broker, value_serializer=serialize) as producer:
        for call in (producer.send, producer.submit):
            with pytest.raises(SerializationError, match=words):
                await call(TOPIC, {})
        await producer.send(TOPIC, b"good")

    assert values(broker) == [b"good"]


class Stamps:
    """Marks each record, and keeps what became of it."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, Any]] = []

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        return record._replace(topic="many", headers=[("by", b"us")], partition=2)

    def on_acknowledgement(self, metadata: Any, error: Any) -> None:
        self.seen.append((metadata, error))


class Raises:
    """Is of no use."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        raise ZeroDivisionError("on_send")

    def on_acknowledgement(self, metadata: Any, error: Any) -> None:
        raise ZeroDivisionError("on_acknowledgement")


async def test_interceptors_may_change_a_record_and_are_told_how_it_ends(
    broker: EmbeddedBroker,
) -> None:
    stamps = Stamps()

    async with producer_of(broker, interceptors=[stamps, object()]) as producer:
        sent = await producer.send(TOPIC, b"a")
        submitted = await (await producer.submit(TOPIC, b"b"))
        nowait = await producer.submit_nowait(TOPIC, b"c")
        broker.faults.fail("Produce", TopicAuthorizationFailed)
        with pytest.raises(TopicAuthorizationFailed, match="many-2"):
            await producer.send(TOPIC, b"d")
    found = broker.records("many", 2)

    assert [each.value for each in found] == [b"a", b"b", b"c"]
    assert {tuple(each.headers) for each in found} == {(("by", b"us"),)}
    assert stamps.seen[:3] == [(sent, None), (submitted, None), (nowait, None)]
    ((metadata, error),) = stamps.seen[3:]
    assert metadata is None
    assert isinstance(error, TopicAuthorizationFailed)


# B10
async def test_an_interceptor_that_raises_is_logged_and_passed_over(
    broker: EmbeddedBroker, caplog: pytest.LogCaptureFixture
) -> None:
    stamps = Stamps()

    async with producer_of(broker, interceptors=[Raises(), stamps]) as producer:
        metadata = await producer.send(TOPIC, b"a")
    raised = [each for each in caplog.records if each.name == "kafka_aio.producer.user_code"]

    assert stamps.seen == [(metadata, None)]
    assert [each.getMessage() for each in raised] == [
        "Raises.on_send raised",
        "Raises.on_acknowledgement raised",
    ]
    assert all(each.exc_info for each in raised)


# Where a record goes.


async def test_a_partitioner_of_ones_own_sees_the_record_and_how_many_there_are(
    broker: EmbeddedBroker,
) -> None:
    seen = []

    def last(record: ProducerRecord, partitions: int) -> int:
        seen.append((record.topic, record.key, record.value, partitions))
        return partitions - 1

    async with producer_of(broker, partitioner=last, value_serializer=str.encode) as producer:
        chosen = await producer.send("many", "a", key=b"k")
        given = await producer.send("many", "b", key=b"k", partition=0)

    assert (chosen.partition, given.partition) == (3, 0)
    assert seen == [("many", b"k", b"a", 4)]


@pytest.mark.parametrize("wrong", [4, -1, "0", None, True])
async def test_a_partitioner_that_chooses_none_of_them_fails_the_call(
    broker: EmbeddedBroker, wrong: Any
) -> None:
    async with producer_of(broker, partitioner=lambda record, partitions: wrong) as producer:
        with pytest.raises(ValueError, match=f"chose {wrong!r} for topic 'many', .* 0 to 3"):
            await producer.send("many", b"a")
        assert is_at_rest(producer)


async def test_a_partitioner_that_raises_fails_the_call(broker: EmbeddedBroker) -> None:
    def fails(record: ProducerRecord, partitions: int) -> int:
        raise ZeroDivisionError("mine")

    async with producer_of(broker, partitioner=fails) as producer:
        with pytest.raises(ZeroDivisionError, match="mine"):
            await producer.send("many", b"a")
        assert (await producer.send("many", b"a", partition=1)).partition == 1


async def test_round_robin_takes_one_partition_after_the_other(broker: EmbeddedBroker) -> None:
    async with producer_of(broker, partitioner="roundrobin") as producer:
        found = [(await producer.send("many", b"a", key=b"k")).partition for _ in range(8)]

    assert sorted(found[:4]) == [0, 1, 2, 3]
    assert found[4:] == found[:4]


async def test_where_keys_are_ignored_they_have_no_say(broker: EmbeddedBroker) -> None:
    async with producer_of(broker, partitioner_ignore_keys=True, batch_size=200) as producer:
        found = {(await producer.send("many", b"a" * 150, key=b"k")).partition for _ in range(60)}

    assert len(found) > 1
    assert {each.key for each in broker.records("many")} == {b"k"}
