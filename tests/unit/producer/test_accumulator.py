"""Behaviour B13: which batches are ready, which of them a request takes, and in whose turn."""

from __future__ import annotations

from collections import Counter
from math import inf

from kafka_aio.errors import NotLeaderOrFollower
from kafka_aio.metadata import Leader
from kafka_aio.producer.accumulator import Choice
from kafka_aio.producer.batch import Batch, Phase
from kafka_aio.types import TopicPartition
from tests.unit.producer.accumulated import A0, A1, A2, B0, Accumulated


def places(batches: list[Batch]) -> list[TopicPartition]:
    return [batch.partition for batch in batches]


# -- ready (B13)


def test_an_open_batch_is_ready_when_it_has_lingered() -> None:
    records = Accumulated(linger=5.0)
    records.now = 10.0
    records.added(A0)

    assert records.it.ready(now=10.0) == ({}, [], 15.0)
    assert records.it.ready(now=14.9) == ({}, [], 15.0)
    assert records.it.ready(now=15.0) == ({1: [A0]}, [], inf)


def test_the_time_of_the_next_look_is_that_of_the_first_to_have_lingered() -> None:
    records = Accumulated(linger=5.0)
    for at, place in enumerate((A0, A1, B0)):
        records.now = float(at)
        records.added(place)

    assert records.it.ready(now=2.0).next_at == 5.0
    assert records.it.ready(now=5.0) == ({1: [A0]}, [], 6.0)


def test_a_batch_is_ready_once_another_was_opened_behind_it() -> None:
    records = Accumulated()
    records.add_batches(A0, 2)

    assert records.ready() == {1: [A0]}
    assert [batch.phase for batch in records.drain()] == [Phase.IN_FLIGHT]
    assert records.ready() == {}  # the other lingers


def test_a_batch_that_is_full_by_one_record_does_not_linger() -> None:
    records = Accumulated(batch_size=1000)
    records.added(A0, bytes(5000))

    assert records.ready() == {1: [A0]}


def test_all_are_ready_while_somebody_waits_for_memory() -> None:
    records = Accumulated(memory=2000)
    records.added(A0)
    records.added(A1)
    assert records.add(A2) is None
    assert records.ready() == {}

    records.memory.wait("caller", 129)

    assert records.ready() == {1: [A0, A1]}


def test_who_waits_for_memory_does_not_hasten_a_batch_that_pauses() -> None:
    records = Accumulated(memory=1000)
    records.added(A0)
    records.memory.wait("caller", 129)
    (batch,) = records.drain()
    records.it.retry(batch, NotLeaderOrFollower(), not_before=3.0)

    assert records.it.ready(now=0.0) == ({}, [], 3.0)
    assert records.it.ready(now=3.0).by_node == {1: [A0]}


def test_what_was_sent_before_is_ready_at_once_where_the_leader_has_changed() -> None:  # B04
    records = Accumulated(linger=0.0)
    records.added(A0)
    (batch,) = records.drain()
    batch.sent_epoch = 0
    records.it.retry(batch, NotLeaderOrFollower(), not_before=3.0)
    assert records.ready() == {}

    records.leaders[A0] = Leader(2, 1)

    assert records.ready() == {2: [A0]}


def test_a_partition_without_a_leader_is_named_by_its_topic() -> None:
    records = Accumulated(linger=0.0)
    records.added(A0)
    records.added(B0)
    del records.leaders[A0]

    assert records.it.ready(now=0.0) == ({1: [B0]}, ["a"], inf)


def test_flushing_makes_ready_what_is_there_and_not_what_comes_later() -> None:  # B14
    records = Accumulated()
    records.added(A0)
    records.it.flush()
    records.added(A1)

    assert records.ready() == {1: [A0]}


# -- drain (B13)


def test_a_request_takes_the_first_batch_of_each_partition() -> None:
    records = Accumulated()
    records.add_batches(A0, 3)
    records.add_batches(A1, 2)
    records.leaders[B0] = Leader(2, 0)
    records.add_batches(B0, 2)

    assert places(records.drain(1)) == [A0, A1]
    assert places(records.drain(1)) == [A0]
    assert places(records.drain(2)) == [B0]


def test_a_request_takes_no_more_bytes_than_it_may() -> None:
    records = Accumulated()
    for place in (A0, A1, A2):
        records.add_batches(place, 2)

    assert places(records.drain(max_size=1999)) == [A0, A1]


def test_a_batch_that_is_larger_than_a_request_goes_alone() -> None:
    records = Accumulated(linger=0.0)
    records.added(A0, bytes(5000))
    records.added(A1)

    assert places(records.drain(max_size=1000)) == [A0]
    assert places(records.drain(max_size=1000)) == [A1]


def test_partitions_take_turns_where_not_all_fit_into_a_request() -> None:
    records = Accumulated()
    for place in (A0, A1, A2):
        records.add_batches(place, 4)

    taken = [places(records.drain(max_size=1000)) for _ in range(6)]

    assert taken == [[A0], [A1], [A2], [A0], [A1], [A2]]


def test_partitions_take_turns_also_where_each_has_one_batch_at_a_time() -> None:
    records = Accumulated(linger=0.0)
    for place in (A0, A1, A2):
        records.added(place)
    taken: Counter[TopicPartition] = Counter()
    for _ in range(30):
        (batch,) = records.drain(max_size=1)
        taken[batch.partition] += 1
        records.it.delivered(batch, 0)
        records.added(batch.partition)

    assert taken == {A0: 10, A1: 10, A2: 10}


def test_a_partition_that_may_not_send_does_not_keep_others_from_it() -> None:
    records = Accumulated(linger=0.0)
    records.added(A0)
    records.added(A1)

    assert places(records.drain(may_send=lambda batch: batch.partition != A0)) == [A1]
    assert places(records.drain()) == [A0]


def test_a_partition_whose_batches_have_ended_meanwhile_is_passed_over() -> None:
    records = Accumulated(linger=0.0)
    records.added(A0)
    records.added(A1)
    ready = records.ready()[1]
    records.it.failed(next(iter(records.it.incomplete)), NotLeaderOrFollower())

    batches = records.it.drain(1, ready, max_size=1000, may_send=lambda _: True)

    assert places(batches) == [A1]


def test_in_order_a_partition_is_muted_while_a_request_has_a_batch_of_it() -> None:  # B02
    records = Accumulated(in_order=True)
    records.add_batches(A0, 3)
    (first,) = records.drain()
    assert records.ready() == {}
    records.leaders[A0] = Leader(2, 1)
    assert records.ready() == {}

    records.it.retry(first, NotLeaderOrFollower(), not_before=0.0)

    assert records.drain(2) == [first]
    records.it.delivered(first, 0)
    assert records.ready() == {2: [A0]}


def test_in_order_a_batch_that_pauses_holds_up_those_behind_it() -> None:  # B02
    records = Accumulated(in_order=True)
    records.add_batches(A0, 3)
    (first,) = records.drain()
    records.it.retry(first, NotLeaderOrFollower(), not_before=9.0)

    assert records.it.ready(now=0.0) == ({}, [], 9.0)


# -- records without a key (B18)


def unkeyed(records: Accumulated, value: bytes, *, chance: float) -> int:
    """Append a record without a key or a partition; returns where it went."""
    topic = records.it.topics["a"]
    while (found := topic.append(None, value, 0, 0.0)) is None:
        need = len(value) + 128
        assert records.it.make_room("a", None, need, now=records.now, chance=chance)
    return found.partition


def test_records_without_a_key_stay_with_a_partition_until_it_has_had_a_batch() -> None:  # B18
    records = Accumulated(choice=Choice(adaptive=False))

    went = [unkeyed(records, bytes(300), chance=0.4) for _ in range(6)]  # 3 make a batch
    went += [unkeyed(records, bytes(300), chance=0.9) for _ in range(3)]

    assert went == [1, 1, 1, 1, 1, 1, 2, 2, 2]


def test_records_without_a_key_join_the_batch_that_keys_have_opened() -> None:
    records = Accumulated(choice=Choice(adaptive=False))
    records.added(A1)

    assert unkeyed(records, b"v", chance=0.4) == 1
    assert len(records.it.incomplete) == 1


def test_a_partition_with_a_long_queue_gets_less() -> None:  # B18
    records = Accumulated(memory=10_000_000)
    records.add_batches(A0, 50)
    # By the lengths of the queues, 50, 0 and 0: hardly a chance leads to the first.
    went = Counter(unkeyed(records, bytes(2000), chance=at / 100) for at in range(100))

    assert went[0] <= 2


def test_a_node_that_takes_nothing_for_too_long_is_avoided_until_it_does() -> None:
    records = Accumulated(linger=0.0, choice=Choice(availability_timeout=10.0))
    records.leaders[A0] = Leader(2, 0)
    records.added(A0)
    assert list(records.ready()) == [2]
    records.now = 11.0

    assert unkeyed(records, bytes(2000), chance=0.0) != 0

    records.drain_all()
    assert places(records.drain(2)) == [A0]
    assert unkeyed(records, bytes(2000), chance=0.0) == 0


def test_a_node_with_nothing_to_take_any_more_is_not_avoided() -> None:
    records = Accumulated(linger=0.0, choice=Choice(availability_timeout=10.0))
    records.leaders[A0] = Leader(2, 0)
    records.added(A0)
    records.ready()
    records.it.failed(next(iter(records.it.incomplete)), NotLeaderOrFollower())
    records.ready()
    records.now = 100.0

    assert unkeyed(records, bytes(2000), chance=0.0) == 0


def test_a_batch_size_of_0_gives_each_record_a_batch() -> None:
    records = Accumulated(batch_size=0)
    records.added(A0)
    records.added(A0)

    assert [batch.record_count for batch in records.drain_all()] == [1, 1]
