from __future__ import annotations

import pytest

from kafka_aio.broker.log import PartitionLog
from kafka_aio.broker.log.retention import Memory, drops_old
from tests.unit.broker.clusters import made
from tests.unit.broker.producing import batch, write

ONE = len(batch(b"x" * 900))


def filled(count: int) -> PartitionLog:
    """So many segments of one batch each."""
    log = PartitionLog(segment_bytes=1)
    log.begin_epoch(0)
    for _ in range(count):
        write(log, batch(b"x" * 900))
    return log


def test_nothing_is_due_below_the_limit() -> None:
    memory = Memory(1_000)

    assert not memory.appended(400)
    assert not memory.appended(600)
    assert memory.appended(1)


def test_the_largest_log_loses_its_oldest_segments() -> None:
    small, large = filled(3), filled(8)
    memory = Memory(10 * ONE)

    memory.shrink([small, large])

    assert (small.start_offset, large.start_offset) == (0, 2)


def test_some_room_is_made_so_that_the_next_look_is_not_soon() -> None:
    logs = [filled(40), filled(40)]
    memory = Memory(64 * ONE)

    memory.shrink(logs)

    assert sum(log.size for log in logs) == 60 * ONE
    assert not memory.appended(4 * ONE)


def test_nothing_is_dropped_where_others_have_gone_meanwhile() -> None:
    memory = Memory(10 * ONE)
    memory.appended(11 * ONE)
    log = filled(9)

    memory.shrink([log])

    assert log.start_offset == 0
    assert not memory.appended(ONE)


def test_even_the_last_segment_goes_where_memory_is_short() -> None:
    log = filled(1)

    Memory(10).shrink([log])

    assert (log.start_offset, log.end_offset, log.size) == (1, 1, 0)


@pytest.mark.parametrize(
    ("policy", "drops"), [("delete", True), ("compact", False), ("compact,delete", True)]
)
def test_a_policy_says_whether_old_records_are_deleted(policy: str, drops: bool) -> None:
    state = made()
    topic = state.topics.create("t", partitions=1, configs={"cleanup.policy": policy})

    assert drops_old(topic) is drops
