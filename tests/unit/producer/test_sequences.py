"""The numbers of an idempotent producer; B11 to B25 are behaviours of Java's client."""

from __future__ import annotations

import pytest

from kafka_aio.errors import (
    InvalidRecord,
    NotLeaderOrFollower,
    OutOfOrderSequenceNumber,
    StateError,
)
from kafka_aio.producer.sequences import REMEMBERED, Identity, Sequences
from kafka_aio.records.layout import GREATEST_SEQUENCE, UNSTAMPED, ProducerStamp
from tests.unit.producer.numbered import BILLS, ID, Batch, begun, come_back, deliver, send


@pytest.fixture
def sequences() -> Sequences:
    return begun()


# The identity.


def test_nothing_goes_out_before_there_is_an_id() -> None:
    sequences = Sequences()

    assert sequences.needs_id
    assert sequences.identity is None
    assert not sequences.may_drain(Batch())
    with pytest.raises(StateError, match="has to wait"):
        sequences.stamp(Batch())


def test_a_batch_bears_the_id_and_the_epoch() -> None:
    sequences = Sequences()
    batch = Batch()

    sequences.identified(ID, 4)
    sequences.stamp(batch)

    assert not sequences.needs_id
    assert sequences.identity == Identity(ID, 4)
    assert batch.stamp == ProducerStamp(ID, 4, 0)


def test_an_id_that_nobody_asked_for_is_refused(sequences: Sequences) -> None:
    with pytest.raises(StateError, match="producer 7 already"):
        sequences.identified(8, 0)

    assert sequences.identity == Identity(ID, 0)


# B19: several in flight, retried in order.


def test_each_partition_counts_records_from_0(sequences: Sequences) -> None:
    second, third, other = Batch(record_count=10), Batch(), Batch(partition=BILLS)

    for batch in (second, third, other):
        sequences.stamp(batch)

    assert (second.sequence, third.sequence, other.sequence) == (1, 11, 0)


def test_five_batches_are_in_flight_at_most(sequences: Sequences) -> None:
    first, *_ = send(sequences, REMEMBERED)

    assert not sequences.may_drain(Batch())

    sequences.delivered(first)

    assert sequences.may_drain(Batch())


def test_a_batch_that_came_back_keeps_its_numbers(sequences: Sequences) -> None:
    (batch,) = send(sequences, 1)
    before = batch.stamp

    come_back(sequences, batch)
    sequences.stamp(batch)

    assert batch.stamp == before


def test_batches_that_came_back_go_out_one_by_one_in_their_order(sequences: Sequences) -> None:
    first, second, third = send(sequences, 3)
    come_back(sequences, third, first, second)
    order = []

    for _ in range(3):
        (free,) = [each for each in (first, second, third) if sequences.may_drain(each)]
        sequences.stamp(free)
        assert not any(sequences.may_drain(each) for each in (first, second, third))
        sequences.delivered(free)
        order.append(free)

    assert order == [first, second, third]


def test_new_batches_follow_one_that_is_sent_again(sequences: Sequences) -> None:
    (batch,) = send(sequences, 1)
    come_back(sequences, batch)

    assert not sequences.may_drain(Batch())

    sequences.stamp(batch)

    assert sequences.may_drain(Batch())


def test_the_window_begins_at_the_oldest_that_is_not_settled(sequences: Sequences) -> None:
    # The broker has forgotten a batch once it has five later ones.
    first, *others = send(sequences, REMEMBERED)
    for each in others:
        sequences.delivered(each)
    come_back(sequences, first)
    sequences.stamp(first)

    assert not sequences.may_drain(Batch())

    sequences.delivered(first)

    assert sequences.may_drain(Batch())


def test_the_first_batch_of_an_identity_goes_alone() -> None:
    # KAFKA-15591: a broker that knows nothing of us would take the second without the first.
    sequences = Sequences()
    sequences.identified(ID, 0)
    (first,) = send(sequences, 1)

    assert not sequences.may_drain(Batch())
    assert sequences.may_drain(Batch(partition=BILLS))

    come_back(sequences, first)

    assert sequences.may_drain(first)
    assert not sequences.may_drain(Batch())


# B20: answers in any order.


def test_answers_may_come_in_any_order(sequences: Sequences) -> None:
    first, second, third = send(sequences, 3)

    for batch in (third, first, second):
        sequences.delivered(batch)
    (following,) = send(sequences, 1)

    assert following.stamp == ProducerStamp(ID, 0, 4)


def test_a_later_batch_that_is_delivered_does_not_hold_up_an_earlier(sequences: Sequences) -> None:
    first, second = send(sequences, 2)
    assert sequences.came_back(first, NotLeaderOrFollower())
    sequences.delivered(second)
    before = first.stamp

    sequences.stamp(first)

    assert first.stamp == before


# B21 is `delivered`: that the broker has the batch already is as good as that it took it.


# B23: batches that are given up.


def test_a_batch_that_was_never_numbered_leaves_nothing_behind(sequences: Sequences) -> None:
    with pytest.raises(StateError, match="no numbers"):
        sequences.failed(Batch())

    assert sequences.may_drain(Batch())
    assert sequences.identity == Identity(ID, 0)


def test_nothing_new_is_numbered_until_a_given_up_batch_is_resolved(sequences: Sequences) -> None:
    first, second, third = send(sequences, 3)

    sequences.failed(first)

    assert not sequences.may_drain(Batch())
    assert sequences.identity == Identity(ID, 0)

    come_back(sequences, second, third)

    assert sequences.may_drain(second)
    assert not sequences.may_drain(third)
    assert not sequences.may_drain(Batch())


def test_a_later_success_resolves_a_given_up_batch(sequences: Sequences) -> None:
    first, second = send(sequences, 2)
    sequences.failed(first)

    sequences.delivered(second)
    (following,) = send(sequences, 1)

    assert following.stamp == ProducerStamp(ID, 0, 3)


def test_out_of_order_behind_a_given_up_batch_begins_an_epoch(sequences: Sequences) -> None:
    first, second = send(sequences, 2)
    sequences.failed(first)

    assert sequences.came_back(second, OutOfOrderSequenceNumber())

    assert second.stamp == ProducerStamp(ID, 1, 0)
    assert sequences.may_drain(second)


def test_an_epoch_begins_when_nothing_is_left_that_could_tell(sequences: Sequences) -> None:
    first, second = send(sequences, 2)
    come_back(sequences, second)
    sequences.failed(first)
    assert sequences.identity == Identity(ID, 0)

    sequences.failed(second)
    (following,) = send(sequences, 1)

    assert following.stamp == ProducerStamp(ID, 1, 0)


def test_a_refused_batch_does_not_stop_the_next(sequences: Sequences) -> None:
    (batch,) = send(sequences, 1)

    assert not sequences.came_back(batch, InvalidRecord())
    sequences.failed(batch)
    (following,) = send(sequences, 1)

    assert following.stamp == ProducerStamp(ID, 1, 0)


def test_a_batch_that_is_given_up_before_one_that_is_delivered_is_resolved(
    sequences: Sequences,
) -> None:
    first, second, third = send(sequences, 3)
    sequences.delivered(second)

    sequences.failed(first)

    assert sequences.may_drain(Batch())
    sequences.delivered(third)
    assert sequences.identity == Identity(ID, 0)


def test_a_batch_that_is_given_up_does_not_go_out_again(sequences: Sequences) -> None:
    first, second = send(sequences, 2)
    sequences.failed(first)
    sequences.delivered(second)

    with pytest.raises(StateError, match="has ended"):
        sequences.stamp(first)

    (following,) = send(sequences, 1)
    assert following.sequence == 3


# B25: numbers wrap.


def test_after_the_greatest_number_comes_0(sequences: Sequences) -> None:
    deliver(sequences, Batch(record_count=GREATEST_SEQUENCE - 2))
    last, across, after = Batch(), Batch(record_count=3), Batch()

    for batch in (last, across, after):
        sequences.stamp(batch)

    assert last.sequence == GREATEST_SEQUENCE - 1
    assert across.sequence == GREATEST_SEQUENCE
    assert after.sequence == 2


def test_batches_that_wrap_are_retried_in_their_order(sequences: Sequences) -> None:
    deliver(sequences, Batch(record_count=GREATEST_SEQUENCE - 1))
    first, second = send(sequences, 2)
    come_back(sequences, second, first)

    assert (first.sequence, second.sequence) == (GREATEST_SEQUENCE, 0)
    assert sequences.may_drain(first)
    assert not sequences.may_drain(second)


def test_an_unresolved_number_that_wraps_is_resolved(sequences: Sequences) -> None:
    deliver(sequences, Batch(record_count=GREATEST_SEQUENCE - 1))
    first, second = send(sequences, 2)
    sequences.failed(first)

    sequences.delivered(second)

    assert sequences.may_drain(Batch())
    assert sequences.identity == Identity(ID, 0)


# B11: parts of a batch that was too large.


def test_parts_share_the_numbers_of_their_batch(sequences: Sequences) -> None:
    big, following = Batch(record_count=5), Batch()
    sequences.stamp(big)
    sequences.stamp(following)
    parts = [Batch(record_count=2), Batch(record_count=3)]

    sequences.split(big, parts)
    sequences.came_back(following, OutOfOrderSequenceNumber())

    assert [each.stamp for each in parts] == [ProducerStamp(ID, 0, 1), ProducerStamp(ID, 0, 3)]
    assert following.stamp == ProducerStamp(ID, 0, 6)
    for each in (*parts, following):
        assert [sequences.may_drain(any_) for any_ in (*parts, following)].count(True) == 1
        deliver(sequences, each)
    assert sequences.identity == Identity(ID, 0)


def test_parts_share_numbers_that_wrap(sequences: Sequences) -> None:
    deliver(sequences, Batch(record_count=GREATEST_SEQUENCE - 2))
    big = Batch(record_count=4)
    sequences.stamp(big)
    parts = [Batch(record_count=2), Batch(record_count=2)]

    sequences.split(big, parts)

    assert [each.sequence for each in parts] == [GREATEST_SEQUENCE - 1, 0]


def test_parts_that_are_not_the_batch_are_refused(sequences: Sequences) -> None:
    big, part = Batch(record_count=5), Batch(record_count=2)
    sequences.stamp(big)

    with pytest.raises(StateError, match="parts of 2 records, not 5"):
        sequences.split(big, [part])

    assert part.stamp == UNSTAMPED
    sequences.delivered(big)


def test_a_batch_that_was_split_has_ended(sequences: Sequences) -> None:
    big = Batch(record_count=2)
    sequences.stamp(big)
    sequences.split(big, [Batch(), Batch()])

    with pytest.raises(StateError, match="has ended"):
        sequences.delivered(big)


def test_a_broken_partition_begins_anew_when_its_last_answer_is_too_large(
    sequences: Sequences,
) -> None:
    first, big = Batch(), Batch(record_count=2)
    sequences.stamp(first)
    sequences.stamp(big)
    sequences.came_back(first, OutOfOrderSequenceNumber())
    parts = [Batch(), Batch()]

    sequences.split(big, parts)

    assert [each.stamp for each in parts] == [ProducerStamp(ID, 1, 1), ProducerStamp(ID, 1, 2)]


# What does not fit is refused, and changes nothing.


def test_an_answer_to_what_is_not_on_the_wire_is_refused(sequences: Sequences) -> None:
    (batch,) = send(sequences, 1)
    come_back(sequences, batch)

    with pytest.raises(StateError, match="not on the wire"):
        sequences.delivered(batch)
    with pytest.raises(StateError, match="not on the wire"):
        sequences.came_back(batch, OutOfOrderSequenceNumber())

    assert sequences.may_drain(batch)
    assert sequences.identity == Identity(ID, 0)


def test_a_late_answer_to_a_batch_that_was_given_up_is_refused(sequences: Sequences) -> None:
    first, second = send(sequences, 2)
    sequences.failed(first)

    with pytest.raises(StateError, match="has ended"):
        sequences.delivered(first)
    with pytest.raises(StateError, match="has ended"):
        sequences.failed(first)

    assert not sequences.may_drain(Batch())
    sequences.delivered(second)


def test_a_batch_on_the_wire_does_not_go_out_twice(sequences: Sequences) -> None:
    (batch,) = send(sequences, 1)

    assert not sequences.may_drain(batch)
    with pytest.raises(StateError, match="has to wait"):
        sequences.stamp(batch)

    sequences.delivered(batch)


def test_its_repr_says_who_and_how_much(sequences: Sequences) -> None:
    first, _ = send(sequences, 2)
    sequences.came_back(first, OutOfOrderSequenceNumber())

    assert repr(sequences) == "<Sequences: producer 7, epoch 0; 1 partitions, 2 batches, 1 broken>"
    assert repr(Sequences()) == "<Sequences: no id; 0 partitions, 0 batches, 0 broken>"
