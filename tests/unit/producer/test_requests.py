"""Batches as a Produce request, and its answer as outcomes of the batches."""

from __future__ import annotations

from kafka_aio.errors import DeliveryError, InvalidRecord
from kafka_aio.producer.batch import Batch
from kafka_aio.producer.requests import answers, blamed, produce
from kafka_aio.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from kafka_aio.protocol.schema import NO_UUID, Uuid
from tests.unit.producer.accumulated import A0, A1, B0, Accumulated
from tests.unit.producer.test_accumulator_settling import values

ID_A, ID_B, ID_C = (Uuid(bytes([number]) * 16) for number in (1, 2, 3))
IDS = {"a": ID_A, "b": ID_B}
NAMES = {ID_A: "a", ID_B: "b"}


def response(*told: tuple[str, Uuid, int, int]) -> ProduceResponse:
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=name,
                topic_id=topic_id,
                partition_responses=[
                    PartitionProduceResponse(index=index, error_code=0, base_offset=offset)
                ],
            )
            for name, topic_id, index, offset in told
        ]
    )


def test_partitions_are_grouped_by_topic() -> None:
    records = Accumulated(linger=0.0)
    for place in (A0, B0, A1):
        records.added(place)
    batches = records.drain()
    request, at_most = produce(batches, acks=-1, timeout=30.0, topic_id=IDS.get)

    told = [
        (topic.name, topic.topic_id, each.index, each.records)
        for topic in request.topic_data
        for each in topic.partition_data
    ]
    wires = {batch.partition: batch.wire for batch in batches}
    assert told == [
        ("a", ID_A, 0, wires[A0]),
        ("a", ID_A, 1, wires[A1]),
        ("b", ID_B, 0, wires[B0]),
    ]
    assert (request.acks, request.timeout_ms, at_most) == (-1, 30_000, None)


def test_a_topic_without_an_id_is_named_in_a_version_that_can() -> None:
    records = Accumulated(linger=0.0)
    records.added(A0)
    records.added(B0)
    request, at_most = produce(records.drain(), acks=1, timeout=1.0, topic_id={"a": ID_A}.get)

    assert at_most == 12
    assert [topic.topic_id for topic in request.topic_data] == [ID_A, NO_UUID]


def test_answers_find_their_batches_by_name_or_by_id_in_any_order() -> None:
    records = Accumulated(linger=0.0)
    for place in (A0, B0):
        records.added(place)
    batches = records.drain()
    by_name = response(("b", NO_UUID, 0, 5), ("a", NO_UUID, 0, 9))
    by_id = response(("", ID_B, 0, 5), ("", ID_A, 0, 9))

    for each in (by_name, by_id):
        told = answers(batches, each, NAMES.get)
        assert [(batch, answer and answer.base_offset) for batch, answer in told] == [
            (batches[0], 9),
            (batches[1], 5),
        ]


def test_a_batch_that_the_answer_does_not_mention_has_none() -> None:
    records = Accumulated(linger=0.0)
    records.added(A0, b"only")
    (batch,) = records.drain()
    told = answers([batch], response(("", ID_C, 0, 5), ("a", NO_UUID, 1, 6)), NAMES.get)

    assert told == [(batch, None)]
    assert values(batch) == [b"only"]


# -- records that the broker blames (KIP-467)


def batch_of(count: int) -> Batch:
    """A batch that was drained."""
    records = Accumulated(linger=0.0)
    for _ in range(count):
        records.added(A0)
    (batch,) = records.drain()
    return batch


def refusal(blames: dict[int, str | None], text: str | None = None) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=0,
        error_code=InvalidRecord.code,
        error_message=text,
        base_offset=-1,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=text)
            for index, text in blames.items()
        ],
    )


def test_each_record_that_is_blamed_has_the_error_and_its_own_text() -> None:
    error = InvalidRecord("a-0: no key")
    _, by_index = blamed(batch_of(5), error, refusal({1: "no key", 3: "no value"}))

    assert {index: type(each) for index, each in by_index.items()} == {
        1: InvalidRecord,
        3: InvalidRecord,
    }
    assert ["no key" in str(each) for each in by_index.values()] == [True, False]
    assert ["no value" in str(each) for each in by_index.values()] == [False, True]
    assert all("a-0" in str(each) for each in by_index.values())


def test_one_that_is_blamed_without_a_text_has_that_of_its_batch() -> None:
    error = InvalidRecord("a-0: compacted")
    _, by_index = blamed(batch_of(2), error, refusal({0: None}, "compacted"))

    assert "compacted" in str(by_index[0])


def test_the_others_are_told_that_they_were_refused_for_the_sake_of_these() -> None:
    error = InvalidRecord("a-0: no key")
    others, by_index = blamed(batch_of(5), error, refusal({1: "no key", 3: "no key"}))

    assert isinstance(others, DeliveryError)
    assert "refused for the sake of other records of its batch" in str(others)
    assert (others.count, others.causes, others.__cause__) == (3, (error,), error)
    assert others not in by_index.values()


def test_where_none_is_blamed_all_have_the_error_of_the_batch() -> None:
    error = InvalidRecord("a-0: no key")

    assert blamed(batch_of(5), error, refusal({}, "no key")) == (error, {})
