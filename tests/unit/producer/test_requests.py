"""Batches as a Produce request, and its answer as outcomes of the batches."""

from __future__ import annotations

from kafka_aio.producer.requests import answers, produce
from kafka_aio.protocol.messages.produce import (
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
