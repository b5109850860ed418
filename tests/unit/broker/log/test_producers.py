from __future__ import annotations

import pytest

from kafka_aio.broker.log.producers import Producers, Recent, Written
from kafka_aio.errors import InvalidProducerEpoch, OutOfOrderSequenceNumber
from kafka_aio.records.layout import BatchHeader
from tests.unit.broker.producing import header_of, idempotent

LAST = 2**31 - 1


def sent(sequence: int, count: int = 1, *, epoch: int = 0, producer: int = 7) -> BatchHeader:
    return header_of(idempotent(producer, epoch, sequence, count))


class Partition:
    """Producers with a log that only counts."""

    def __init__(self) -> None:
        self.producers = Producers()
        self.end_offset = 0

    def write(self, header: BatchHeader) -> Written | None:
        duplicate = self.producers.check(header)
        if duplicate is None:
            self.producers.wrote(header, self.end_offset, header.max_timestamp)
            self.end_offset += header.record_count
        return duplicate


def test_batches_in_their_order_are_new() -> None:
    partition = Partition()

    assert [partition.write(sent(0, 3)), partition.write(sent(3)), partition.write(sent(4, 2))] == [
        None,
        None,
        None,
    ]


@pytest.mark.parametrize("back", range(5))
def test_one_of_the_last_five_batches_is_found_again(back: int) -> None:
    partition = Partition()
    for sequence in range(0, 20, 2):
        partition.write(sent(sequence, 2))

    duplicate = partition.write(sent(18 - 2 * back, 2))

    assert duplicate is not None
    assert duplicate.base_offset == 18 - 2 * back
    assert partition.end_offset == 20


def test_an_older_batch_is_out_of_order() -> None:
    partition = Partition()
    for sequence in range(6):
        partition.write(sent(sequence))

    with pytest.raises(OutOfOrderSequenceNumber, match="sequence 0 where 6 is expected"):
        partition.write(sent(0))


def test_half_of_a_batch_is_no_duplicate() -> None:
    partition = Partition()
    partition.write(sent(0, 4))

    with pytest.raises(OutOfOrderSequenceNumber):
        partition.write(sent(0, 2))


def test_a_gap_is_seen_and_nothing_changes() -> None:
    partition = Partition()
    partition.write(sent(0))

    with pytest.raises(OutOfOrderSequenceNumber, match="sequence 5 where 1 is expected"):
        partition.write(sent(5))

    assert partition.write(sent(1)) is None


def test_a_producer_that_is_not_known_may_begin_anywhere() -> None:
    partition = Partition()

    assert partition.write(sent(55)) is None
    assert partition.write(sent(56)) is None


def test_a_new_epoch_begins_at_zero() -> None:
    partition = Partition()
    partition.write(sent(0))

    with pytest.raises(OutOfOrderSequenceNumber, match="begins epoch 1 at sequence 1"):
        partition.write(sent(1, epoch=1))

    assert partition.write(sent(0, epoch=1)) is None
    assert partition.write(sent(1, epoch=1)) is None


def test_an_older_epoch_is_fenced_even_for_what_it_wrote() -> None:
    partition = Partition()
    partition.write(sent(0))
    partition.write(sent(0, epoch=1))

    for sequence in (0, 1):
        with pytest.raises(InvalidProducerEpoch, match="is in epoch 1, not in 0"):
            partition.write(sent(sequence))


def test_sequences_go_on_from_zero_after_the_last() -> None:
    partition = Partition()
    partition.write(sent(LAST - 1, 2))

    assert partition.write(sent(0)) is None


def test_a_batch_may_reach_over_the_last_sequence() -> None:
    partition = Partition()
    partition.write(sent(LAST - 1, 4))
    duplicate = partition.write(sent(LAST - 1, 4))

    assert duplicate is not None
    assert (duplicate.first_sequence, duplicate.last_sequence) == (LAST - 1, 1)
    assert partition.write(sent(2)) is None


def test_a_producer_without_an_epoch_may_send_anything() -> None:
    partition = Partition()
    partition.write(sent(0, epoch=-1))

    assert partition.write(sent(9, epoch=-1)) is None
    assert partition.write(sent(9, epoch=-1)) is not None
    assert partition.write(sent(4, epoch=2)) is None


def test_producers_do_not_disturb_each_other() -> None:
    partition = Partition()
    partition.write(sent(0, producer=1))
    partition.write(sent(0, producer=2))

    assert partition.write(sent(1, producer=1)) is None
    assert [each.id for each in partition.producers] == [1, 2]


# Recent ones of all partitions


def wrote(recent: Recent, partition: Partition, producer: int, *, now: float = 0.0) -> None:
    partition.producers.wrote(sent(0, producer=producer), 0, 0)
    recent.wrote(partition.producers, producer, now=now)


def ids(partition: Partition) -> list[int]:
    return [each.id for each in partition.producers]


def test_of_too_many_producers_the_one_that_wrote_first_is_forgotten() -> None:
    recent, one, other = Recent(3, 60.0), Partition(), Partition()
    wrote(recent, one, 1)
    wrote(recent, other, 1)
    wrote(recent, one, 2)
    wrote(recent, one, 1)

    wrote(recent, one, 3)

    assert (ids(one), ids(other)) == ([1, 2, 3], [])


def test_a_producer_that_has_not_written_for_long_is_forgotten() -> None:
    recent, partition = Recent(9, 60.0), Partition()
    wrote(recent, partition, 1, now=0.0)
    wrote(recent, partition, 2, now=0.0)
    wrote(recent, partition, 1, now=30.0)

    recent.forget_old(now=59.0)
    assert ids(partition) == [1, 2]
    recent.forget_old(now=60.0)
    assert ids(partition) == [1]
    recent.forget_old(now=90.0)
    assert ids(partition) == []


def test_a_producer_may_be_gone_before_it_is_forgotten() -> None:
    recent, partition = Recent(9, 60.0), Partition()
    wrote(recent, partition, 1)
    partition.producers.clear()

    recent.forget_old(now=60.0)

    assert ids(partition) == []
