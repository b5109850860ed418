"""Epochs that an idempotent producer begins; B22 and B24 are behaviours of Java's client."""

from __future__ import annotations

import pytest

from kafka_aio.errors import InvalidProducerEpoch, OutOfOrderSequenceNumber, UnknownProducerId
from kafka_aio.producer.sequences import GREATEST_EPOCH, Identity, Sequences
from kafka_aio.records.layout import ProducerStamp
from tests.unit.producer.numbered import BILLS, ID, Batch, begun, come_back, deliver, send


@pytest.fixture
def sequences() -> Sequences:
    return begun()


# B22: numbers that the broker misses.


def test_out_of_order_behind_one_that_is_under_way_is_only_tried_again(
    sequences: Sequences,
) -> None:
    first, second = send(sequences, 2)

    assert sequences.came_back(second, OutOfOrderSequenceNumber())

    assert sequences.identity == Identity(ID, 0)
    assert second.stamp == ProducerStamp(ID, 0, 2)
    assert not sequences.may_drain(second)

    sequences.delivered(first)

    assert sequences.may_drain(second)


def test_out_of_order_without_one_before_begins_an_epoch(sequences: Sequences) -> None:
    (batch,) = send(sequences, 1)

    assert sequences.came_back(batch, OutOfOrderSequenceNumber())

    assert sequences.identity == Identity(ID, 1)
    assert batch.stamp == ProducerStamp(ID, 1, 0)
    assert sequences.may_drain(batch)


def test_a_new_epoch_renumbers_what_is_left_from_0(sequences: Sequences) -> None:
    gone, first, second = Batch(), Batch(record_count=5), Batch(record_count=2)
    for batch in (gone, first, second):
        sequences.stamp(batch)
    sequences.delivered(gone)

    sequences.came_back(first, OutOfOrderSequenceNumber())
    sequences.came_back(second, OutOfOrderSequenceNumber())
    deliver(sequences, first, second)
    (following,) = send(sequences, 1)

    assert first.stamp == ProducerStamp(ID, 1, 0)
    assert second.stamp == ProducerStamp(ID, 1, 5)
    assert following.stamp == ProducerStamp(ID, 1, 7)
    assert gone.stamp == ProducerStamp(ID, 0, 1)


def test_an_epoch_begins_when_all_answers_have_come(sequences: Sequences) -> None:
    first, second, third = send(sequences, 3)

    sequences.came_back(first, OutOfOrderSequenceNumber())

    assert first.stamp == ProducerStamp(ID, 0, 1)
    assert not sequences.may_drain(first)
    assert not sequences.may_drain(Batch())

    sequences.came_back(second, OutOfOrderSequenceNumber())
    sequences.delivered(third)  # not by a broker in its senses

    assert sequences.identity == Identity(ID, 1)
    assert (first.stamp, second.stamp) == (ProducerStamp(ID, 1, 0), ProducerStamp(ID, 1, 1))
    assert third.stamp == ProducerStamp(ID, 0, 3)
    assert sequences.may_drain(first)


def test_a_batch_that_is_given_up_on_the_wire_is_not_waited_for(sequences: Sequences) -> None:
    first, second, third = send(sequences, 3)
    sequences.came_back(first, OutOfOrderSequenceNumber())
    sequences.came_back(third, OutOfOrderSequenceNumber())

    sequences.failed(second)

    assert sequences.identity == Identity(ID, 1)
    assert (first.stamp, third.stamp) == (ProducerStamp(ID, 1, 0), ProducerStamp(ID, 1, 1))


def test_the_first_batch_of_a_new_epoch_goes_alone(sequences: Sequences) -> None:
    (batch,) = send(sequences, 1)
    sequences.came_back(batch, OutOfOrderSequenceNumber())
    sequences.stamp(batch)

    assert not sequences.may_drain(Batch())

    sequences.delivered(batch)

    assert sequences.may_drain(Batch())


def test_out_of_order_before_one_that_is_delivered_can_never_succeed(sequences: Sequences) -> None:
    # The broker forgot what it knew of the first, or never had it; it expects later numbers.
    first, second = send(sequences, 2)
    sequences.delivered(second)

    assert not sequences.came_back(first, OutOfOrderSequenceNumber())
    sequences.failed(first)

    assert sequences.identity == Identity(ID, 0)
    (following,) = send(sequences, 1)
    assert following.stamp == ProducerStamp(ID, 0, 3)


def test_another_partition_takes_the_new_epoch_when_all_of_the_old_is_settled(
    sequences: Sequences,
) -> None:
    deliver(sequences, Batch(partition=BILLS))
    old, older = send(sequences, 2, BILLS)
    (batch,) = send(sequences, 1)
    sequences.came_back(batch, OutOfOrderSequenceNumber())

    (still_old,) = send(sequences, 1, BILLS)
    for each in (old, older, still_old):
        sequences.delivered(each)
    (new,) = send(sequences, 1, BILLS)

    assert still_old.stamp == ProducerStamp(ID, 0, 3)
    assert new.stamp == ProducerStamp(ID, 1, 0)


def test_two_broken_partitions_share_one_new_epoch(sequences: Sequences) -> None:
    deliver(sequences, Batch(partition=BILLS))
    (batch,), (other,) = send(sequences, 1), send(sequences, 1, BILLS)

    sequences.came_back(batch, OutOfOrderSequenceNumber())
    sequences.came_back(other, OutOfOrderSequenceNumber())

    assert batch.stamp == other.stamp == ProducerStamp(ID, 1, 0)
    assert sequences.identity == Identity(ID, 1)


def test_a_fenced_batch_is_not_sent_again(sequences: Sequences) -> None:
    (batch,) = send(sequences, 1)

    assert not sequences.came_back(batch, InvalidProducerEpoch())


def test_after_the_last_epoch_comes_a_new_id() -> None:
    sequences = Sequences()
    sequences.identified(ID, GREATEST_EPOCH)
    deliver(sequences, Batch(), Batch(partition=BILLS))
    (batch,), (other,) = send(sequences, 1), send(sequences, 1, BILLS)

    sequences.came_back(batch, OutOfOrderSequenceNumber())
    come_back(sequences, other)

    assert sequences.needs_id
    assert not sequences.may_drain(batch)
    assert not sequences.may_drain(other)

    sequences.identified(8, 0)

    assert batch.stamp == ProducerStamp(8, 0, 0)
    assert other.stamp == ProducerStamp(ID, GREATEST_EPOCH, 1)
    assert sequences.may_drain(batch)
    assert sequences.may_drain(other)


# B24: the broker has forgotten us.


def test_an_unknown_producer_begins_an_epoch(sequences: Sequences) -> None:
    first, second = send(sequences, 2)

    assert sequences.came_back(first, UnknownProducerId())
    assert sequences.came_back(second, UnknownProducerId())

    assert (first.stamp, second.stamp) == (ProducerStamp(ID, 1, 0), ProducerStamp(ID, 1, 1))
    assert sequences.identity == Identity(ID, 1)
