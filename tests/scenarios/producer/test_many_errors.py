"""What `send_many` says when a record cannot be sent: which one, why, and what of the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from kafka_aio import KafkaTimeoutError, ProducerRecord, SendManyError
from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import InvalidRecord, InvalidTopic, RecordTooLarge, SerializationError
from tests.scenarios.producer.api_world import is_at_rest, producer_of, values, virtual

LARGE = bytes(20_000)
APART = memoryview(b"abcdef")[::2]


def record(value: Any = b"", **rest: Any) -> ProducerRecord:
    return ProducerRecord("t", value, **rest)


# An error names the record.


@pytest.mark.parametrize(
    ("records", "kind", "words"),
    [
        ([b"", "text"], TypeError, "^record 1: a value is bytes, .* not str: encode it first"),
        ((b"", "text"), TypeError, "^record 1: a value is bytes, .* not str: encode it first"),
        ([b"", LARGE], RecordTooLarge, "^record 1: a record of 20000 bytes"),
        ((b"", LARGE), RecordTooLarge, "^record 1: a record of 20000 bytes"),
        ([b"", APART], ValueError, "^record 1: the bytes of a value are not contiguous: give b"),
        ((b"", APART), ValueError, "^record 1: the bytes of a value are not contiguous: give b"),
        ([record(), record(key=APART)], ValueError, "^record 1: the bytes of a key are not cont"),
        ([record(), record(timestamp=2**63)], ValueError, f"^record 1: a timestamp .* not {2**63}"),
        ([record(), record(timestamp=-1)], ValueError, "^record 1: a timestamp .* not -1"),
        ([record(), record(headers=[("a",)])], TypeError, "^record 1: headers are pairs of a str"),
        ([record(), record(headers="ab")], TypeError, "^record 1: headers are pairs of a str"),
        ([record(), ProducerRecord("no name", b"")], InvalidTopic, "^record 1: topic 'no name'"),
        (pa.table({"value": [b"", LARGE]}), RecordTooLarge, "^row 1: a record of 20001 bytes"),
        (
            pa.table({"value": [b"", b""], "timestamp": [0, -1]}),
            ValueError,
            "^row 1: a timestamp is milliseconds since 1970, not -1",
        ),
    ],
)
async def test_it_is_named_and_those_before_it_are_sent(
    records: Any, kind: type[Exception], words: str
) -> None:
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        producer_of(broker, max_request_size=10_000, batch_size=5_000) as producer,
    ):
        with pytest.raises(SendManyError) as caught:
            await producer.send_many("t", records)
        await caught.value.deliveries

        assert values(broker) == [b""]
    assert caught.value.accepted == 1
    with pytest.raises(kind, match=words):
        raise caught.value.__cause__ or caught.value


@pytest.mark.parametrize(
    ("records", "kind", "words"),
    [
        (["text"], TypeError, "^record 0: a value is bytes, .* not str: encode it first"),
        ([APART], ValueError, "^record 0: the bytes of a value are not contiguous: give bytes"),
        ([record(timestamp=2**63)], ValueError, f"^record 0: a timestamp .* not {2**63}"),
        ([record(headers=[("a",)])], TypeError, "^record 0: headers are pairs of a str and bytes"),
        (
            pa.table({"value": [b"", b""], "topic": ["t", "no name"]}),
            InvalidTopic,
            "^row 1: topic 'no name': The topic's name is not allowed",
        ),
        (
            pa.table({"value": [b"", b""], "topic": pa.array([b"t", b"\xff"], pa.binary())}),
            ValueError,
            "^row 1: the topic is not UTF-8",
        ),
        (
            pa.table({"value": [b"", b""], "timestamp": pa.array([0, 2**62], pa.timestamp("s"))}),
            ValueError,
            r"^row 1: \d+ as timestamp\[s\] is out of range",
        ),
    ],
)
async def test_where_nothing_was_accepted_the_error_is_raised_itself(
    records: Any, kind: type[Exception], words: str
) -> None:
    async with EmbeddedBroker(topics={"t": 1}) as broker, producer_of(broker) as producer:
        with pytest.raises(kind, match=words):
            await producer.send_many("t", records)

        assert values(broker) == []
        assert is_at_rest(producer)


@pytest.mark.parametrize(
    ("records", "words"),
    [
        (pa.table({"value": [b"", b""], "topic": ["t", "u"]}), "^row 1: topic 'u' was not found"),
        (iter([ProducerRecord("u", b"")]), "^record 0: topic 'u' was not found"),
    ],
    ids=["columns", "records"],
)
def test_a_topic_that_is_not_found_is_named_with_the_record_that_wants_it(
    records: Any, words: str
) -> None:
    async def scenario() -> None:
        async with (
            EmbeddedBroker(topics={"t": 1}, options={"auto.create.topics.enable": False}) as broker,
            producer_of(broker, max_block_ms=1_000) as producer,
        ):
            with pytest.raises(KafkaTimeoutError, match=words):
                await producer.send_many(None, records)

    virtual(scenario)


async def test_a_row_is_named_by_its_number_in_the_table() -> None:
    table = pa.table({"value": [b""] * 9_000 + [LARGE], "partition": [0, 1, 0] * 3_000 + [1]})
    async with (
        EmbeddedBroker(topics={"t": 2}) as broker,
        producer_of(broker, max_request_size=10_000, batch_size=5_000) as producer,
    ):
        with pytest.raises(SendManyError, match=": row 9000: a record of 20001 bytes"):
            await producer.send_many("t", table)


# What the user's own code raises.


async def test_what_an_iterable_raises_is_the_cause_and_those_before_it_are_sent() -> None:
    def found() -> Iterator[bytes]:
        yield b"a"
        yield b"b"
        raise RuntimeError("the file ended early")

    async with EmbeddedBroker(topics={"t": 1}) as broker, producer_of(broker) as producer:
        with pytest.raises(SendManyError, match=r"2 records .* RuntimeError: the file") as caught:
            await producer.send_many("t", found())
        await caught.value.deliveries

        assert values(broker) == [b"a", b"b"]
    assert isinstance(caught.value.__cause__, RuntimeError)


async def test_what_an_iterable_raises_at_once_is_raised_itself() -> None:
    def found() -> Iterator[bytes]:
        raise RuntimeError("there is no file")
        yield b""

    async with EmbeddedBroker(topics={"t": 1}) as broker, producer_of(broker) as producer:
        with pytest.raises(RuntimeError, match="there is no file"):
            await producer.send_many("t", found())


async def test_what_a_partitioner_raises_is_the_cause_with_a_note_of_the_record() -> None:
    def chosen(record: ProducerRecord, count: int) -> int:
        return {b"a": 0, b"b": 0}[record.value]

    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        producer_of(broker, partitioner=chosen) as producer,
    ):
        with pytest.raises(SendManyError, match=r"2 of 3 records .* KeyError: b'c'") as caught:
            await producer.send_many("t", [b"a", b"b", b"c"])
        await caught.value.deliveries

        assert values(broker) == [b"a", b"b"]
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.__cause__.__notes__ == ["record 2 of this call"]


async def test_what_a_serializer_raises_names_the_record() -> None:
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        producer_of(broker, value_serializer=str.encode) as producer,
    ):
        with pytest.raises(SendManyError, match="record 1: the value of a record for") as caught:
            await producer.send_many("t", ["a", 5])
        await caught.value.deliveries
    assert isinstance(caught.value.__cause__, SerializationError)
    assert isinstance(caught.value.__cause__.__cause__, TypeError)


# Those that were accepted.


async def test_what_was_pending_when_the_call_ended_is_told_of_when_it_is_awaited() -> None:
    async with EmbeddedBroker(topics={"t": 1}) as broker:
        broker.faults.fail("Produce", InvalidRecord, times=1)
        async with producer_of(broker, linger_ms=50) as producer:  # at its end, none is unseen
            with pytest.raises(SendManyError, match="1 of 2 records were accepted") as caught:
                await producer.send_many("t", [b"a", "text"])
            assert not caught.value.failed
            with pytest.raises(SendManyError, match="1 of 1 records were not delivered"):
                await caught.value.deliveries
