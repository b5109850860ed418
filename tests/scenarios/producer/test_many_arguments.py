"""What `send_many` takes besides the records: for those that do not say it themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from kafka_aio import KafkaTimeoutError, ProducerRecord, SendManyError
from kafka_aio.broker import EmbeddedBroker
from tests.scenarios.producer.api_world import is_at_rest, producer_of, values, virtual

FORMS: dict[str, Callable[[], Any]] = {
    "values": lambda: [b"0", b"1"],
    "any values": lambda: iter([b"0", b"1"]),
    "records": lambda: [ProducerRecord("t", b"0", b"a"), ProducerRecord("t", b"1", b"b")],
    "columns": lambda: pa.table({"value": [b"0", b"1"]}),
    "columns with keys": lambda: pa.table({"value": [b"0", b"1"], "key": [b"a", b"b"]}),
}


@pytest.mark.parametrize("form", FORMS)
async def test_partition_and_timestamp_are_for_all_that_name_none(form: str) -> None:
    async with EmbeddedBroker(topics={"t": 7}) as broker, producer_of(broker) as producer:
        sent = await producer.send_many("t", FORMS[form](), partition=5, timestamp=12_345)

        stored = broker.records("t", 5)
        assert [(each.value, each.timestamp) for each in stored] == [(b"0", 12_345), (b"1", 12_345)]
        assert [place.result().timestamp for place in sent] == [12_345, 12_345]


@pytest.mark.parametrize(
    "records",
    [
        [ProducerRecord("t", b"0", b"k", 1, 7), ProducerRecord("t", b"1", b"k")],
        pa.table(
            {"value": ["0", "1"], "key": ["k", "k"], "partition": [1, None], "timestamp": [7, None]}
        ),
    ],
    ids=["records", "columns"],
)
async def test_those_that_name_one_keep_it(records: Any) -> None:
    async with EmbeddedBroker(topics={"t": 7}) as broker, producer_of(broker) as producer:
        sent = await producer.send_many("t", records, partition=5, timestamp=9)

        stored = broker.records("t")
        found = [place.result() for place in sent]
    assert [(each.value, each.partition, each.timestamp) for each in stored] == [
        (b"0", 1, 7),
        (b"1", 5, 9),
    ]
    assert [(each.partition, each.timestamp) for each in found] == [(1, 7), (5, 9)]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
async def test_the_timestamp_of_a_row_is_told_as_it_was_written(unit: str) -> None:
    times = pa.array([5_000_000_000, 7_000_000_000], pa.timestamp("ns")).cast(pa.timestamp(unit))
    table = pa.table({"value": ["0", "1"], "timestamp": times})
    async with EmbeddedBroker(topics={"t": 1}) as broker, producer_of(broker) as producer:
        sent = await producer.send_many("t", table)

        assert [each.timestamp for each in broker.records("t")] == [5_000, 7_000]
        assert [place.result().timestamp for place in sent] == [5_000, 7_000]


@pytest.mark.parametrize("form", FORMS)
async def test_a_partition_below_zero_is_refused(form: str) -> None:
    async with EmbeddedBroker(topics={"t": 7}) as broker, producer_of(broker) as producer:
        with pytest.raises(ValueError, match="partition -1 of topic 't': there is none below 0"):
            await producer.send_many("t", FORMS[form](), partition=-1)

        assert is_at_rest(producer)


@pytest.mark.parametrize("form", FORMS)
def test_a_partition_that_is_not_there_is_waited_for(form: str) -> None:
    async def scenario() -> None:
        async with (
            EmbeddedBroker(topics={"t": 7}) as broker,
            producer_of(broker, max_block_ms=2_000) as producer,
        ):
            with pytest.raises(KafkaTimeoutError, match="has 7 partitions, and no partition 99"):
                await producer.send_many("t", FORMS[form](), partition=99)

            assert is_at_rest(producer)

    virtual(scenario)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("wrong", [-1, 2**63, -(2**63) - 1])
async def test_a_timestamp_that_is_none_is_refused(form: str, wrong: int) -> None:
    async with EmbeddedBroker(topics={"t": 7}) as broker, producer_of(broker) as producer:
        with pytest.raises(ValueError, match=f"a timestamp is milliseconds .* not {wrong}"):
            await producer.send_many("t", FORMS[form](), timestamp=wrong)

        assert is_at_rest(producer)


# Keys.


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("columns", "keys= is for values: a table has its keys in a column `key`"),
        ("records", "keys= is for values: a ProducerRecord has its own"),
    ],
)
async def test_keys_are_for_values_only(form: str, words: str) -> None:
    async with EmbeddedBroker(topics={"t": 1}) as broker, producer_of(broker) as producer:
        with pytest.raises(TypeError, match=words):
            await producer.send_many("t", FORMS[form](), keys=[b"k", b"l"])

        assert values(broker) == []


@pytest.mark.parametrize("keys", [[b"k"], [b"k", b"l", b"m"], []])
async def test_as_many_keys_as_values_are_needed(keys: list[bytes]) -> None:
    async with EmbeddedBroker(topics={"t": 1}) as broker, producer_of(broker) as producer:
        words = f"as many keys as values are needed: {len(keys)} for 2"
        with pytest.raises(ValueError, match=words):
            await producer.send_many("t", [b"a", b"b"], keys=keys)

        assert values(broker) == []
        assert is_at_rest(producer)


@pytest.mark.parametrize(
    ("keys", "words", "accepted"),
    [([b"k"], "fewer keys than values", 1), ([b"k", b"l", b"m"], "more keys than values", 2)],
)
async def test_where_they_cannot_be_counted_it_is_found_out_at_the_end(
    keys: list[bytes], words: str, accepted: int
) -> None:
    async with EmbeddedBroker(topics={"t": 1}) as broker, producer_of(broker) as producer:
        with pytest.raises(SendManyError, match=words) as caught:
            await producer.send_many("t", [b"a", b"b"], keys=iter(keys))
        await caught.value.deliveries

        assert values(broker) == [b"a", b"b"][:accepted]
    assert caught.value.accepted == accepted
    assert isinstance(caught.value.__cause__, ValueError)
