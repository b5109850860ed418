from __future__ import annotations

from random import Random

import pytest

from kafka_aio.broker.sessions import NO_SESSION, NodeSessions, Plan, Reading
from kafka_aio.errors import (
    FetchSessionIdNotFound,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpoch,
)
from kafka_aio.protocol.messages.fetch import EpochEndOffset, FetchRequest, PartitionData
from kafka_aio.protocol.schema import NO_UUID
from tests.unit.broker.clusters import made, send
from tests.unit.broker.producing import fetching, wants

MINUTE = 60.0


def full(count: int = 1) -> FetchRequest:
    return fetching(*(wants(index) for index in range(count)), session_epoch=0)


def next_of(session_id: int, epoch: int) -> FetchRequest:
    return fetching(session_id=session_id, session_epoch=epoch)


def plan(
    sessions: NodeSessions, request: FetchRequest, *, now: float = 0.0, by_id: bool = False
) -> Plan:
    return Plan(sessions, request, by_id=by_id, now=now)


def data(index: int = 0, *, high_watermark: int = 5, error: int = 0) -> PartitionData:
    return PartitionData(
        partition_index=index,
        error_code=error,
        high_watermark=high_watermark,
        log_start_offset=0,
        aborted_transactions=None,
        records=b"",
    )


def begun(sessions: NodeSessions, count: int = 1, *, now: float = 0.0) -> int:
    """A session of so many partitions."""
    made = plan(sessions, full(count), now=now)
    session_id, _ = made.tell([(each, data(each.wanted.partition)) for each in made.readings])
    return session_id


def use(sessions: NodeSessions, session_id: int, epoch: int, *, now: float) -> None:
    plan(sessions, next_of(session_id, epoch), now=now)


def sessions(slots: int = 2, most: int = 100) -> NodeSessions:
    return NodeSessions(slots, Random(0), most=most)


def test_a_session_has_an_id_that_fits_the_wire() -> None:
    session_id = begun(sessions())

    assert 0 < session_id < 2**31


def test_the_same_seed_gives_the_same_ids() -> None:
    assert begun(sessions()) == begun(sessions())


def test_what_is_told_once_is_not_told_again() -> None:
    reading = Reading(("t", NO_UUID, 0), wants())

    assert reading.tell(data())
    assert not reading.tell(data())
    assert reading.tell(data(high_watermark=6))


def test_an_error_is_told_each_time_and_all_after_it() -> None:
    reading = Reading(("t", NO_UUID, 0), wants())
    reading.tell(data())

    assert reading.tell(data(high_watermark=-1, error=1))
    assert reading.tell(data(high_watermark=-1, error=1))
    assert reading.tell(data())


def test_a_divergence_is_always_told() -> None:
    reading = Reading(("t", NO_UUID, 0), wants())
    diverging = PartitionData(
        partition_index=0,
        error_code=0,
        high_watermark=5,
        log_start_offset=0,
        diverging_epoch=EpochEndOffset(epoch=0, end_offset=2),
        aborted_transactions=None,
        records=b"",
    )
    reading.tell(data())

    assert reading.tell(diverging)
    assert reading.tell(diverging)


def test_epochs_begin_again_after_the_last() -> None:
    kept = sessions()
    session_id = begun(kept)
    session = plan(kept, next_of(session_id, 1)).session
    assert session is not None
    session.epoch = 2**31 - 1

    plan(kept, next_of(session_id, 2**31 - 1))

    assert session.epoch == 1


def test_a_session_that_is_not_there_is_not_found() -> None:
    with pytest.raises(FetchSessionIdNotFound):
        plan(sessions(), next_of(5, 1))


@pytest.mark.parametrize("epoch", [2, 7, -5])
def test_a_request_out_of_turn_is_refused_and_changes_nothing(epoch: int) -> None:
    kept = sessions()
    session_id = begun(kept)

    with pytest.raises(InvalidFetchSessionEpoch):
        plan(kept, next_of(session_id, epoch))

    assert plan(kept, next_of(session_id, 1)).session is not None


def test_ids_and_names_are_not_mixed() -> None:
    kept = sessions()
    session_id = begun(kept)

    with pytest.raises(FetchSessionTopicIdError):
        plan(kept, next_of(session_id, 1), by_id=True)


def test_an_answer_that_comes_after_another_request_is_refused() -> None:
    kept = sessions()
    session_id = begun(kept)
    late = plan(kept, next_of(session_id, 1))
    plan(kept, next_of(session_id, 2))

    with pytest.raises(InvalidFetchSessionEpoch):
        late.tell([])


# Eviction


def test_there_are_only_so_many() -> None:
    kept = sessions(2)
    begun(kept)
    begun(kept)

    assert begun(kept) == NO_SESSION
    assert len(kept) == 2


def test_there_may_be_none_at_all() -> None:
    assert begun(sessions(0)) == NO_SESSION


def test_one_that_was_not_used_for_long_makes_room() -> None:
    kept = sessions(2)
    stale, used = begun(kept), begun(kept)
    use(kept, used, 1, now=MINUTE)

    assert begun(kept, now=2 * MINUTE) == NO_SESSION
    assert begun(kept, now=2 * MINUTE + 1) != NO_SESSION
    with pytest.raises(FetchSessionIdNotFound):
        use(kept, stale, 1, now=2 * MINUTE + 1)


def test_an_old_one_makes_room_for_a_larger_one() -> None:
    kept = sessions(2)
    small, large = begun(kept, 2), begun(kept, 9)
    for session_id in (small, large):
        use(kept, session_id, 1, now=MINUTE)
        use(kept, session_id, 2, now=2 * MINUTE + 1)

    assert begun(kept, 2, now=2 * MINUTE + 1) == NO_SESSION
    assert begun(kept, 3, now=2 * MINUTE + 1) != NO_SESSION
    with pytest.raises(FetchSessionIdNotFound):
        use(kept, small, 3, now=2 * MINUTE + 1)
    use(kept, large, 3, now=2 * MINUTE + 1)


def test_a_young_one_does_not() -> None:
    kept = sessions(1)
    session_id = begun(kept, 1)
    use(kept, session_id, 1, now=2 * MINUTE)

    assert begun(kept, 50, now=2 * MINUTE) == NO_SESSION


# Partitions


def test_those_of_a_node_read_only_so_many_partitions_together() -> None:
    kept = sessions(9, most=10)

    assert [begun(kept, 11), begun(kept, 6) > 0, begun(kept, 5)] == [NO_SESSION, True, NO_SESSION]
    assert begun(kept, 4) != NO_SESSION


def test_one_that_grows_too_much_ends() -> None:
    kept = sessions(9, most=10)
    session_id, other = begun(kept, 6), begun(kept, 4)
    more = fetching(*(wants(each) for each in range(7)), session_id=session_id, session_epoch=1)

    with pytest.raises(FetchSessionIdNotFound):
        plan(kept, more)

    assert kept.get(session_id) is None
    assert kept.get(other) is not None
    assert begun(kept, 6) != NO_SESSION


def test_one_may_name_what_it_reads_when_there_is_no_room_for_more() -> None:
    kept = sessions(9, most=10)
    session_id = begun(kept, 10)
    same = fetching(*(wants(each) for each in range(10)), session_id=session_id, session_epoch=1)

    assert plan(kept, same).session is not None


def test_as_many_go_as_make_room_for_the_partitions_of_a_new_one() -> None:
    kept = sessions(9, most=10)
    stale = [begun(kept, 3) for _ in range(3)]

    assert begun(kept, 7, now=3 * MINUTE) != NO_SESSION
    assert [kept.get(each) is None for each in stale] == [True, True, False]


# Nodes


def test_each_node_has_sessions_of_its_own() -> None:
    state = made(2, {"t": 1}, max_incremental_fetch_session_cache_slots=1)
    request = full()
    for node in (1, 2):
        state.sessions.plan(send(state, request, node=node, version=12), request).tell([])

    assert repr(state.sessions).count("1 of 1") == 2


def test_a_node_that_went_down_has_forgotten_them() -> None:
    state = made(2, {"t": 1})
    request = full()
    call = send(state, request, node=2, version=12)
    session_id, _ = state.sessions.plan(call, request).tell([])

    state.node_down(2)

    with pytest.raises(FetchSessionIdNotFound):
        state.sessions.plan(call, next_of(session_id, 1))
