"""Many records in one call: lists, records, Arrow columns."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from kafka_aio import Deliveries, Persistence, Producer, ProducerRecord, SendManyError
from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import InvalidRecord, MessageTooLarge, RecordTooLarge
from kafka_aio.serialization import serialize_string
from tests.scenarios.producer.api_world import ended, is_at_rest, producer_of, values

MANY = [b"%06d" % number for number in range(5_000)]


def places(broker: EmbeddedBroker, deliveries: Deliveries) -> list[Any]:
    """What is stored where each delivery says."""
    stored = {(each.partition, each.offset): each for each in broker.records("t")}
    found = [delivery.result() for delivery in deliveries]
    return [stored[place.partition, place.offset] for place in found]


async def test_a_list_of_values_is_sent_in_its_order() -> None:
    async with EmbeddedBroker(topics={"t": 3}) as broker, producer_of(broker) as producer:
        sent = await producer.send_many("t", MANY)

        assert [record.value for record in places(broker, sent)] == MANY
        assert sent.done()
        assert len(sent) == len(MANY)
        assert producer.statistics().delivered == len(MANY)
        assert is_at_rest(producer)


async def test_many_in_one_partition_are_there_in_the_order_of_the_calls() -> None:
    async with EmbeddedBroker(topics={"t": 3}) as broker, producer_of(broker) as producer:
        first = await producer.submit_many("t", MANY[:2_500], partition=1, timestamp=7)
        second = await producer.submit_many("t", MANY[2_500:], partition=1, timestamp=7)
        await first
        await second

        stored = broker.records("t")
    assert [record.value for record in stored] == MANY
    assert {(record.partition, record.timestamp) for record in stored} == {(1, 7)}


async def test_values_with_keys_go_where_their_keys_do() -> None:
    keys = [b"%d" % (number % 50) for number in range(500)]
    async with EmbeddedBroker(topics={"t": 3}) as broker, producer_of(broker) as producer:
        sent = await producer.send_many("t", MANY[:500], keys=keys)
        one = await producer.send("t", b"", key=keys[0])

        found = places(broker, sent)
    assert [(record.key, record.value) for record in found] == list(
        zip(keys, MANY[:500], strict=True)
    )
    assert {record.partition for record in found if record.key == keys[0]} == {one.partition}


async def test_records_say_where_they_go() -> None:
    records = [
        ProducerRecord("t", b"1", key=b"k", partition=0, timestamp=5, headers=[("h", b"v")]),
        ProducerRecord("u", b"2"),
        ProducerRecord("t", None, key=b"k", partition=0, timestamp=6),
    ]
    async with (
        EmbeddedBroker(topics={"t": 2, "u": 1}) as broker,
        producer_of(broker) as producer,
    ):
        sent = await producer.send_many(None, iter(records))

        stored = broker.records("t", 0)
        assert [(each.value, each.timestamp) for each in stored] == [(b"1", 5), (None, 6)]
        assert stored[0].headers == (("h", b"v"),)
        assert values(broker, "u") == [b"2"]
        assert sent[1].result().topic == "u"
        assert sent[-1].result().offset == 1
        with pytest.raises(IndexError, match="no record 3 was accepted"):
            sent[3]


async def test_a_topic_is_needed_where_records_name_none() -> None:
    async with EmbeddedBroker() as broker, producer_of(broker) as producer:
        with pytest.raises(TypeError, match="name the topic, or give records that do"):
            await producer.send_many(None, [b"a"])


async def test_serializers_see_each_value() -> None:
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        producer_of(broker, value_serializer=serialize_string) as producer,
    ):
        await producer.send_many("t", ["a", "ä", None])

        assert values(broker) == [b"a", "ä".encode(), None]
        with pytest.raises(TypeError, match="columns are sent as they are"):
            await producer.send_many("t", pa.table({"value": ["a"]}))


async def test_nothing_at_all_is_sent_at_once() -> None:
    async with EmbeddedBroker(topics={"t": 1}) as broker, producer_of(broker) as producer:
        sent = await producer.send_many("t", [])

    assert (len(sent), list(sent), sent.done()) == (0, [], True)


# Columns.


async def test_columns_are_sent_row_by_row() -> None:
    table = pa.table(
        {
            "key": pa.array([b"1", None, b"2", b"1"]),
            "value": pa.array(["a", "b", None, "d"], pa.large_string()),
            "timestamp": pa.array([1, 2, 3, 4], pa.timestamp("ms")),
            "headers": pa.array(
                [[{"key": "h", "value": b"v"}], None, [], None],
                pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
            ),
        }
    )
    async with EmbeddedBroker(topics={"t": 3}) as broker, producer_of(broker) as producer:
        sent = await producer.send_many("t", table)

        found = places(broker, sent)
    assert [(each.key, each.value, each.timestamp) for each in found] == [
        (b"1", b"a", 1),
        (None, b"b", 2),
        (b"2", None, 3),
        (b"1", b"d", 4),
    ]
    assert [each.headers for each in found] == [(("h", b"v"),), (), (), ()]


async def test_columns_name_topics_and_partitions() -> None:
    table = pa.table({"value": MANY, "topic": ["t", "u"] * 2_500, "partition": [0, 1] * 2_500})
    async with (
        EmbeddedBroker(topics={"t": 2, "u": 2}) as broker,
        producer_of(broker, batch_size=1_000) as producer,
    ):
        sent = await producer.send_many(None, table)

        assert [each.value for each in broker.records("t", 0)] == MANY[::2]
        assert [each.value for each in broker.records("u", 1)] == MANY[1::2]
        assert [place.result().topic for place in sent] == ["t", "u"] * 2_500


async def test_an_error_names_the_row() -> None:
    table = pa.table({"value": [b"a", b"b"], "partition": [0, 9]})
    async with EmbeddedBroker(topics={"t": 2}) as broker, producer_of(broker) as producer:
        with pytest.raises(ValueError, match=r"row 1: partition 9"):
            await producer.send_many("t", table)
        with pytest.raises(ValueError, match="unknown columns colour"):
            await producer.send_many("t", pa.table({"value": [b"a"], "colour": ["red"]}))

        assert values(broker) == []


# What goes wrong.


async def test_the_records_that_failed_are_named_and_the_others_are_there() -> None:
    async with (
        EmbeddedBroker(topics={"t": 2}) as broker,
        producer_of(broker, batch_size=2_000, linger_ms=50) as producer,
    ):
        broker.faults.fail("Produce", InvalidRecord, topic="t", partition=1, times=1)
        table = pa.table({"value": MANY[:200], "partition": [0, 1] * 100})
        with pytest.raises(SendManyError) as caught:
            await producer.send_many("t", table)
        error = caught.value

        stored = {each.value for each in broker.records("t")}
        failed = set(error.failed)
    assert {value for number, value in enumerate(MANY[:200]) if number not in failed} == stored
    assert error.accepted == 200
    assert error.count == len(error.failed) == len(failed) > 0
    assert error.by_partition == Counter({("t", 1): len(failed)})
    first = error.failed[min(failed)]
    assert isinstance(first, InvalidRecord)
    assert first.persistence is Persistence.NOT_PERSISTED
    assert 0 not in error.failed
    with pytest.raises(KeyError):
        error.failed[0]


async def test_a_value_that_cannot_be_sent_ends_the_call_and_what_was_before_it_is_delivered() -> (
    None
):
    async with EmbeddedBroker(topics={"t": 1}) as broker, producer_of(broker) as producer:
        with pytest.raises(SendManyError, match="2 of 4 records were accepted") as caught:
            await producer.send_many("t", [b"a", b"b", "text", b"d"])
        await producer.flush()

        assert values(broker) == [b"a", b"b"]
    assert caught.value.accepted == 2
    assert isinstance(caught.value.__cause__, TypeError)


async def test_a_first_value_that_cannot_be_sent_leaves_nothing_behind() -> None:
    async with EmbeddedBroker(topics={"t": 1}) as broker, producer_of(broker) as producer:
        for wrong in (["text"], pa.table({"value": [b"a"], "timestamp": [-1]})):
            with pytest.raises((TypeError, ValueError)):
                await producer.send_many("t", wrong)
        await producer.send_many("t", [b"a"])

        assert values(broker) == [b"a"]
        assert is_at_rest(producer)


async def test_a_record_is_no_larger_than_a_request_whatever_a_batch_may_hold() -> None:
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        producer_of(broker, max_request_size=5_000, batch_size=50_000, linger_ms=50) as producer,
    ):
        await producer.submit("t", b"a")
        with pytest.raises(RecordTooLarge, match="max_request_size is 5000"):
            await producer.submit("t", bytes(9_000))


async def test_a_value_that_is_too_large_is_refused_where_it_stands() -> None:
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        producer_of(broker, max_request_size=10_000, batch_size=5_000) as producer,
    ):
        large = bytes(20_000)
        with pytest.raises(SendManyError, match="max_request_size is 10000") as caught:
            await producer.send_many("t", [b"a", large])
        with pytest.raises(RecordTooLarge):
            await producer.send_many("t", pa.table({"value": [large]}))
        await producer.flush()

        assert values(broker) == [b"a"]
    assert caught.value.accepted == 1


async def test_a_batch_that_the_broker_splits_is_followed_by_each_delivery() -> None:
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        producer_of(broker, batch_size=100_000, linger_ms=50) as producer,
    ):
        broker.create_topic("small", 1, configs={"max.message.bytes": "3000"})
        sizes = [1_000] * 8 + [5_000] + [1_000] * 3
        with pytest.raises(SendManyError) as caught:
            await producer.send_many("small", [bytes(size) for size in sizes])

        stored = [len(each.value or b"") for each in broker.records("small")]
    assert stored == [1_000] * 11
    assert list(caught.value.failed) == [8]
    assert isinstance(caught.value.failed[8], MessageTooLarge)


async def test_what_is_still_on_its_way_is_not_among_those_that_failed() -> None:
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        producer_of(broker, linger_ms=60_000) as producer,
    ):
        with pytest.raises(SendManyError) as caught:
            await producer.submit_many("t", [b"a", "not bytes"])

        assert caught.value.accepted == 1
        assert 0 not in caught.value.failed


async def test_cancelled_it_says_how_many_were_accepted_and_these_are_delivered() -> None:
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        producer_of(broker, buffer_memory=40_000, batch_size=10_000) as producer,
    ):
        await producer.partitions_for("t")
        hold = broker.faults.hold("Produce")
        with pytest.raises(TimeoutError) as caught:
            async with asyncio.timeout(0.2):
                await producer.submit_many("t", MANY)
        cancelled = caught.value.__cause__
        hold.release()
        await producer.flush()

        stored = values(broker)
    assert isinstance(cancelled, asyncio.CancelledError)
    accepted: Deliveries = cancelled.deliveries  # type: ignore[attr-defined]  # ours
    assert [accepted.index(place) for place in range(len(accepted))] == list(range(len(stored)))
    assert [place.result().offset for place in accepted] == list(range(len(stored)))
    (note,) = cancelled.__notes__
    assert note == f"{len(stored)} records of this call were accepted"
    assert stored == MANY[: len(stored)]
    assert 0 < len(stored) < len(MANY)


async def test_more_than_the_buffer_holds_waits_for_room() -> None:
    async with (
        EmbeddedBroker(topics={"t": 2}) as broker,
        producer_of(broker, buffer_memory=30_000, batch_size=10_000) as producer,
    ):
        sent = await producer.send_many("t", MANY)

        assert [record.value for record in places(broker, sent)] == MANY
        assert is_at_rest(producer)


async def test_what_nobody_awaits_is_raised_at_the_end() -> None:
    async with EmbeddedBroker(topics={"t": 1}) as broker:
        broker.faults.fail("Produce", InvalidRecord, times=1)
        producer: Producer = producer_of(broker)
        await producer.start()
        await producer.submit_many("t", [b"a", b"b"])

        assert "2 records were not delivered" in str(await ended(producer.aclose()))
