from __future__ import annotations

import pytest

from kafka_aio.broker.state import State
from kafka_aio.protocol.messages.fetch import (
    EpochEndOffset,
    FetchTopic,
)
from kafka_aio.protocol.schema import NO_UUID, Uuid
from kafka_aio.records.batch import verify
from tests.unit.broker.clusters import call, made
from tests.unit.broker.producing import (
    batch,
    by_id,
    fetch,
    fetching,
    filled,
    only,
    produce,
    told,
    values,
    wants,
)

VERSIONS = range(4, 19)
ONE = len(batch(b"a", b"b"))


# Reading


@pytest.mark.parametrize("version", VERSIONS)
def test_records_are_fetched_in_every_version(version: int) -> None:
    state = filled()
    request = fetching(wants()) if version < 13 else by_id(state, wants())

    response = call(state, request, version=version)

    answer = only(response)
    assert (answer.error_code, answer.high_watermark, answer.last_stable_offset) == (0, 6, 6)
    assert answer.log_start_offset == (0 if version >= 5 else -1)
    assert values(answer.records) == [b"a", b"b"] * 3
    assert (response.error_code, response.session_id, response.node_endpoints) == (0, 0, [])


def test_a_batch_is_read_from_its_begin() -> None:
    assert len(verify(fetch(filled(), wants(offset=3)).records or b"")) == 2


def test_at_the_end_there_are_no_records() -> None:
    answer = fetch(filled(), wants(offset=6))

    assert (answer.error_code, answer.high_watermark) == (0, 6)
    assert answer.records == b""


@pytest.mark.parametrize("offset", [7, -1])
def test_an_offset_outside_of_the_log_is_out_of_range(offset: int) -> None:
    answer = fetch(filled(), wants(offset=offset))

    assert answer.error_code == 1
    assert (answer.high_watermark, answer.last_stable_offset, answer.log_start_offset) == (
        -1,
        -1,
        -1,
    )
    assert (answer.aborted_transactions, answer.records) == (None, b"")


def test_deleted_records_are_out_of_range() -> None:
    state = filled()
    state.topics.by_name["t"].partitions[0].log.delete_before(3)

    assert fetch(state, wants(offset=2)).error_code == 1
    assert fetch(state, wants(offset=3)).log_start_offset == 3


@pytest.mark.parametrize(("level", "aborted"), [(0, None), (1, [])])
def test_aborted_transactions_are_told_to_who_asks(level: int, aborted: object) -> None:
    request = fetching(wants(), isolation_level=level)

    assert only(call(filled(), request, version=12)).aborted_transactions == aborted


def test_who_asks_for_nothing_is_answered_at_once() -> None:
    response = call(filled(), fetching(wait_ms=500), version=12)

    assert response.responses == []


# Limits


def test_a_partition_has_a_limit() -> None:
    state = filled()

    assert len(fetch(state, wants(max_bytes=2 * ONE)).records or b"") == 2 * ONE
    assert len(fetch(state, wants(max_bytes=2 * ONE + 5)).records or b"") == 2 * ONE + 5


@pytest.mark.parametrize("max_bytes", [0, 1, ONE - 1])
def test_one_batch_comes_whatever_the_limits_are(max_bytes: int) -> None:
    state = filled()

    assert len(fetch(state, wants(max_bytes=max_bytes)).records or b"") == ONE
    request = fetching(wants(), max_bytes=max_bytes)
    assert len(only(call(state, request, version=12)).records or b"") == ONE


def test_the_limit_of_the_request_is_for_all_partitions() -> None:
    request = fetching(wants(0), wants(1), max_bytes=4 * ONE)

    assert told(call(filled(2), request, version=12)) == [(0, 3), (1, 1)]


def test_only_the_first_partition_with_records_may_pass_the_limit() -> None:
    state = filled(3)
    request = fetching(wants(0, 6, max_bytes=1), wants(1, max_bytes=1), wants(2, max_bytes=1))

    assert told(call(state, request, version=12)) == [(0, 0), (1, 1), (2, 0)]


def test_the_broker_has_a_limit_too() -> None:
    state = made(topics={"t": 1}, fetch_max_bytes=1_024)
    for _ in range(3):
        produce(state, batch(b"x" * 600))

    assert len(fetch(state, wants()).records or b"") == 1_024


def test_less_than_nothing_cannot_be_fetched() -> None:
    state = filled()

    assert fetch(state, wants(max_bytes=-1)).error_code == -1
    assert fetch(state, wants(offset=6, max_bytes=-1)).error_code == 0


def test_the_last_of_a_partition_that_is_named_twice_counts() -> None:
    response = call(filled(), fetching(wants(0, 0), wants(0, 6)), version=12)

    assert only(response).records == b""


# What is not there


@pytest.mark.parametrize("index", [1, -1])
def test_a_partition_that_is_not_there_is_unknown(index: int) -> None:
    answer = fetch(filled(), wants(index))

    assert (answer.error_code, answer.high_watermark) == (3, -1)
    assert (answer.aborted_transactions, answer.records) == ([], b"")


def test_a_topic_that_is_not_there_is_unknown() -> None:
    assert fetch(filled(), wants(), topic="nowhere").error_code == 3


@pytest.mark.parametrize("topic_id", [Uuid(b"x" * 16), NO_UUID])
def test_an_id_that_is_not_there_is_unknown(topic_id: Uuid) -> None:
    request = fetching(topics=[FetchTopic(topic_id=topic_id, partitions=[wants()])])

    response = call(filled(), request, version=13)

    assert (only(response).error_code, response.responses[0].topic_id) == (100, topic_id)


def test_what_is_unknown_is_told_last() -> None:
    request = fetching(
        topics=[
            FetchTopic(topic="nowhere", partitions=[wants()]),
            FetchTopic(topic="t", partitions=[wants(), wants(5)]),
        ]
    )

    response = call(filled(), request, version=12)

    assert [
        (topic.topic, each.partition_index, each.error_code)
        for topic in response.responses
        for each in topic.partitions
    ] == [("t", 0, 0), ("nowhere", 0, 3), ("t", 5, 3)]


# Leaders


def test_a_follower_serves_those_who_may_ask_it() -> None:
    state = filled(nodes=2)
    follower = 3 - state.topics.by_name["t"].partitions[0].leader

    assert fetch(state, wants(), version=10, node=follower).error_code == 6
    assert values(fetch(state, wants(), version=11, node=follower).records) == [b"a", b"b"] * 3


def test_a_node_without_a_replica_serves_nobody() -> None:
    state = made(2)
    state.topics.create("t", replicas=[(0, [2])])

    assert fetch(state, wants(), node=1).error_code == 6


def test_an_epoch_is_compared_with_the_leaders() -> None:
    state = filled(nodes=2)
    state.move_leader("t", 0, 1)
    state.move_leader("t", 0, 1)
    epoch = state.topics.by_name["t"].partitions[0].leader_epoch

    assert fetch(state, wants(epoch=epoch), node=1).error_code == 0
    assert fetch(state, wants(epoch=epoch - 1), node=1).error_code == 74
    assert fetch(state, wants(epoch=epoch + 1), node=1).error_code == 75
    assert fetch(state, wants(epoch=epoch - 1), node=2, version=10).error_code == 74


@pytest.mark.parametrize("version", [15, 16, 18])
def test_who_comes_to_the_wrong_node_is_told_where_to_go(version: int) -> None:
    state = made(2)
    state.topics.create("t", replicas=[(0, [2])])

    response = call(state, by_id(state, wants()), version=version, node=1)

    leader = only(response).current_leader
    if version < 16:
        assert (leader.leader_id, response.node_endpoints) == (-1, [])
        return
    assert (leader.leader_id, leader.leader_epoch) == (2, 0)
    (node,) = response.node_endpoints
    assert (node.node_id, node.port, node.rack) == (2, 9093, "rack-2")


def test_who_has_an_old_epoch_is_told_the_new_one() -> None:
    state = filled(nodes=2)
    state.move_leader("t", 0, 2)

    answer = only(call(state, by_id(state, wants(epoch=0)), version=16, node=2))

    assert (answer.error_code, answer.current_leader.leader_id) == (74, 2)
    assert answer.current_leader.leader_epoch == 1


def test_who_knows_a_newer_epoch_is_told_nothing() -> None:
    state = filled()

    response = call(state, by_id(state, wants(epoch=9)), version=16)

    assert (only(response).error_code, response.node_endpoints) == (75, [])


# Divergence


def diverged() -> State:
    """Epoch 0 has offsets 0 and 1, epoch 1 was lost, epoch 2 goes on from 2."""
    state = made(topics={"t": 1})
    produce(state, batch(b"a", b"b"))
    state.move_leader("t", 0, 1)
    produce(state, batch(b"c", b"d"))
    state.truncate("t", 0, 2)
    produce(state, batch(b"e", b"f"))
    return state


@pytest.mark.parametrize(
    ("offset", "last_epoch", "epoch", "end_offset"),
    [(4, 1, 0, 2), (3, 0, 0, 2), (2, 1, 0, 2), (9, 2, 2, 4)],
)
def test_who_read_what_was_lost_is_told_where(
    offset: int, last_epoch: int, epoch: int, end_offset: int
) -> None:
    answer = fetch(diverged(), wants(offset=offset, last_epoch=last_epoch))

    assert answer.error_code == 0
    assert answer.diverging_epoch == EpochEndOffset(epoch=epoch, end_offset=end_offset)
    assert (answer.records, answer.high_watermark) == (b"", 4)


@pytest.mark.parametrize(("offset", "last_epoch"), [(0, 0), (2, 0), (2, 2), (4, 2), (1, -2)])
def test_who_did_not_is_given_records(offset: int, last_epoch: int) -> None:
    answer = fetch(diverged(), wants(offset=offset, last_epoch=last_epoch))

    assert answer.error_code == 0
    assert answer.diverging_epoch.epoch == -1


def test_an_epoch_that_never_was_is_out_of_range() -> None:
    assert fetch(diverged(), wants(offset=2, last_epoch=3)).error_code == 1


def test_deleted_records_are_out_of_range_however_they_were_read() -> None:
    state = diverged()
    state.topics.by_name["t"].partitions[0].log.delete_before(3)

    assert fetch(state, wants(offset=2, last_epoch=2)).error_code == 1
