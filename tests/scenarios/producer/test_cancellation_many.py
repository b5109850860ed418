"""`send_many` and `submit_many` are cancelled in each turn of the loop: what they say is true."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import chain
from typing import Any

import pyarrow as pa
import pytest

from kafka_aio import Deliveries, ProducerRecord
from kafka_aio.broker import EmbeddedBroker
from kafka_aio.producer import Producer
from tests.scenarios.producer.api_world import (
    TOPIC,
    Cut,
    cut_everywhere,
    is_at_rest,
    producer_of,
    until,
    values,
)

TEXTS = [f"{number:02}" + 300 * "x" for number in range(12)]
VALUES = [text.encode() for text in TEXTS]
KEYS = [b"%d" % (number % 5) for number in range(12)]
TIGHT = {"batch_size": 1_000, "buffer_memory": 2_000}
"""Three of them are a batch, and there is memory for two batches."""

FORMS: dict[str, Callable[[], dict[str, Any]]] = {
    "values": lambda: {"topic": TOPIC, "records": VALUES},
    "values of one partition": lambda: {"topic": TOPIC, "records": VALUES, "partition": 1},
    "values with keys": lambda: {"topic": TOPIC, "records": VALUES, "keys": KEYS},
    "records": lambda: {
        "topic": None,
        "records": (
            ProducerRecord(TOPIC, value, key) for value, key in zip(VALUES, KEYS, strict=True)
        ),
    },
    "columns": lambda: {"topic": TOPIC, "records": pa.table({"value": VALUES})},
    "columns with keys": lambda: {
        "topic": TOPIC,
        "records": pa.record_batch({"value": VALUES, "key": KEYS}),
    },
    "texts": lambda: {"topic": TOPIC, "records": TEXTS},
}


async def submit_many(producer: Producer[Any, Any], given: dict[str, Any]) -> None:
    await producer.submit_many(**given)


async def send_many(producer: Producer[Any, Any], given: dict[str, Any]) -> None:
    await producer.send_many(**given)


def stored(broker: EmbeddedBroker) -> list[list[int]]:
    """The numbers of the records in each partition."""
    return [
        [int((record.value or b"")[:2]) for record in broker.records(TOPIC, partition)]
        for partition in range(2)
    ]


def said(error: asyncio.CancelledError | None) -> int:
    """How many were accepted."""
    if error is None:
        return len(VALUES)
    (note,) = error.__notes__
    number, text = note.split(" ", 1)
    assert text == "records of this call were accepted"
    return int(number)


def which(error: asyncio.CancelledError | None) -> list[int]:
    """The indices of those that were accepted."""
    if error is None:
        return list(range(len(VALUES)))
    accepted: Deliveries = error.deliveries  # type: ignore[attr-defined]  # ours
    return sorted(accepted.index(place) for place in range(len(accepted)))


# Until all are accepted, `send_many` is `submit_many`.
@pytest.mark.parametrize(
    ("call", "form"), [(submit_many, "values"), *((send_many, form) for form in FORMS)]
)
def test_cancelled_it_says_how_many_were_accepted_and_these_are_delivered_once_and_in_order(
    call: Callable[[Producer[Any, Any], dict[str, Any]], Any], form: str
) -> None:
    options = dict(TIGHT, value_serializer=str.encode) if form == "texts" else TIGHT

    async def scenario(cut: Cut) -> tuple[int, list[list[int]]]:
        async with EmbeddedBroker(topics={TOPIC: 2}) as broker:
            async with producer_of(broker, **options) as producer:
                error = await cut(call(producer, FORMS[form]()))
                accepted = said(error)
                async with asyncio.timeout(30):
                    await producer.flush()

                assert is_at_rest(producer)
                assert producer.statistics().delivered == accepted
                assert producer.health().is_healthy
            await until(lambda: broker.statistics().connections == 0)
            assert sorted(chain(*stored(broker))) == which(error)
            return accepted, stored(broker)

    found = cut_everywhere(scenario)
    _, all_of_them = found[-1]

    assert {0, 12} < {accepted for accepted, _ in found}
    for accepted, by_partition in found:
        assert sum(map(len, by_partition)) == accepted
        for numbers, expected in zip(by_partition, all_of_them, strict=True):
            assert numbers == expected[: len(numbers)]
        if form != "columns with keys":
            assert sorted(chain(*by_partition)) == list(range(accepted))


async def test_it_is_true_on_real_sockets_too() -> None:
    expected: list[bytes] = []
    async with (
        EmbeddedBroker(topics={TOPIC: 1}) as broker,
        producer_of(broker, **TIGHT) as producer,
    ):
        for turns in range(60):
            records = [b"%02d " % turns + value for value in VALUES]
            calling = asyncio.create_task(producer.send_many(TOPIC, records))
            for _ in range(turns + 1):
                await asyncio.sleep(0)
            calling.cancel()
            try:
                await calling
                accepted = said(None)
            except asyncio.CancelledError as error:
                accepted = said(error)
            expected += records[:accepted]
        await producer.flush()

        assert values(broker) == expected
        assert is_at_rest(producer)
        assert producer.health().is_healthy
    assert len(VALUES) < len(expected) < 60 * len(VALUES)
