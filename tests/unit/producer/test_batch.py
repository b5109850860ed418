"""A batch: its size, its numbers, and what is known of it."""

from __future__ import annotations

import pytest

from kafka_aio.errors import Persistence
from kafka_aio.producer.batch import Batch, Phase
from kafka_aio.producer.delivery import OpenBatch, Outcome
from kafka_aio.records.batch import FetchedBatch, read_header
from kafka_aio.records.codec import BatchBuilder
from kafka_aio.records.compression import Codec, Compression
from kafka_aio.records.layout import UNSTAMPED, ProducerStamp
from kafka_aio.types import TopicPartition
from tests.unit.producer.accumulated import PLAIN, StillLoop

PLACE = TopicPartition("t", 0)


def made(*values: bytes) -> Batch:
    outcome = Outcome("t", 0, StillLoop())
    opened = OpenBatch(BatchBuilder(16_384), outcome)
    for value in values:
        assert opened.append(b"key", value, 5, [("name", b"data")]) is not None
    return Batch(PLACE, 1, 0.0, 16_384, opened, outcome)


def test_a_closed_batch_knows_how_many_records_it_has() -> None:
    batch = made(b"a", b"b")
    batch.close()
    batch.close()

    assert (batch.phase, batch.record_count, batch.outcome.count) == (Phase.QUEUED, 2, 2)


def test_its_size_is_that_on_the_wire_once_it_is_finished() -> None:
    batch = made(bytes(1000))
    before = batch.size
    batch.close()
    wire = batch.finish(Compression(Codec.GZIP))

    assert before > 1000 > len(wire)
    assert batch.size == len(wire)
    assert batch.raw_size == before


def test_it_is_finished_once_and_only_stamped_anew() -> None:
    batch = made(b"a", b"b")
    batch.close()
    first = batch.finish(PLAIN)
    batch.stamp = ProducerStamp(7, 1, 42)
    again = batch.finish(PLAIN)

    assert again is first
    assert read_header(again).stamp == ProducerStamp(7, 1, 42)
    assert [record.value for record in FetchedBatch(again, "t", 0).records] == [b"a", b"b"]


@pytest.mark.parametrize(
    ("stamp", "is_stamped"), [(UNSTAMPED, False), (ProducerStamp(7, 0, 0), True)]
)
def test_a_batch_is_stamped_if_it_has_a_number(stamp: ProducerStamp, is_stamped: bool) -> None:
    batch = made(b"a")
    batch.stamp = stamp

    assert batch.is_stamped is is_stamped


def test_parts_stand_between_the_batches_before_and_after_the_whole() -> None:
    batch = made(b"a")
    ranks: list[tuple[int, tuple[int, ...]]] = [
        (1, ()),
        (2, (0,)),
        (2, (1, 0)),
        (2, (1, 1)),
        (2, (2,)),
        (3, ()),
    ]
    orders = []
    for batch.number, batch.rank in ranks:
        orders.append(batch.order)

    assert sorted(orders) == orders


@pytest.mark.parametrize(
    ("phase", "known"),
    [
        (Phase.OPEN, Persistence.NOT_PERSISTED),
        (Phase.QUEUED, Persistence.NOT_PERSISTED),
        (Phase.IN_FLIGHT, Persistence.POSSIBLY_PERSISTED),
    ],
)
def test_what_is_given_up_may_be_persisted_if_a_request_has_it(
    phase: Phase, known: Persistence
) -> None:
    batch = made(b"a")
    batch.phase = phase
    assert batch.persistence is Persistence.NOT_PERSISTED
    batch.lose_sight()

    assert batch.persistence is known
    batch.phase = Phase.QUEUED
    assert batch.persistence is known
