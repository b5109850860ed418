from __future__ import annotations

import pytest

from kafka_aio.errors import CorruptMessage, KafkaStorageError
from kafka_aio.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
)
from tests.unit.broker.clusters import answer_to, call, made, pass_time, send
from tests.unit.broker.producing import (
    batch,
    fetching,
    filled,
    idempotent,
    only,
    produce,
    told,
    values,
    wants,
)

VERSIONS = range(4, 19)
ONE = len(batch(b"a", b"b"))


def waits(*partitions: FetchPartition, min_bytes: int = 1, wait_ms: int = 500) -> FetchRequest:
    return fetching(*partitions, wait_ms=wait_ms, min_bytes=min_bytes)


def test_a_fetch_waits_for_records() -> None:
    state = filled()
    waiting = send(state, waits(wants(offset=6)), version=12)
    assert state.answers == []

    produce(state, batch(b"c"))

    assert values(only(answer_to(state, waiting)).records) == [b"c"]
    assert state.agenda.next_at == float("inf")


def test_a_fetch_does_not_wait_longer_than_it_says() -> None:
    state = filled()
    waiting = send(state, waits(wants(offset=6)), version=12, now=10.0)

    pass_time(state, now=10.49)
    assert answer_to(state, waiting) is None
    pass_time(state, now=10.5)

    assert only(answer_to(state, waiting)).records == b""


def test_a_fetch_is_answered_once() -> None:
    state = filled()
    send(state, waits(wants(offset=6)), version=12)

    produce(state, batch(b"c"))
    produce(state, batch(b"d"))
    pass_time(state, now=99.0)

    assert len(state.answers) == 1


def test_it_waits_for_as_many_bytes_as_it_says() -> None:
    state = filled(2)
    waiting = send(state, waits(wants(0, 4), wants(1, 6), min_bytes=3 * ONE), version=12)

    produce(state, batch(b"c", b"d"), partition=1)
    assert answer_to(state, waiting) is None
    produce(state, batch(b"e", b"f"))

    assert told(answer_to(state, waiting)) == [(0, 2), (1, 1)]


def test_what_is_there_is_given_when_the_time_is_over() -> None:
    state = filled()
    waiting = send(state, waits(wants(), min_bytes=99 * ONE), version=12)

    pass_time(state, now=0.5)

    assert told(answer_to(state, waiting)) == [(0, 3)]


def test_more_than_fits_into_an_answer_is_not_waited_for() -> None:
    request = fetching(wants(), wait_ms=500, min_bytes=99 * ONE, max_bytes=ONE)

    assert told(call(filled(), request, version=12)) == [(0, 1)]


def test_of_a_partition_only_what_it_may_have_counts() -> None:
    state = filled(2)
    waiting = send(
        state,
        waits(wants(0, 6, max_bytes=ONE), wants(1, 6, max_bytes=ONE), min_bytes=2 * ONE),
        version=12,
    )

    for _ in range(3):
        produce(state, batch(b"c", b"d"))
    assert answer_to(state, waiting) is None
    produce(state, batch(b"c", b"d"), partition=1)

    assert told(answer_to(state, waiting)) == [(0, 1), (1, 1)]


def test_bytes_in_other_segments_count_too() -> None:
    state = made(topics={"t": 1})
    for _ in range(3):
        produce(state, batch(b"x" * 60_000))
    all_of_it = 3 * len(batch(b"x" * 60_000))

    response = call(state, waits(wants(), min_bytes=all_of_it), version=12)

    assert told(response) == [(0, 1)]


def test_a_batch_that_passes_its_limit_counts_as_a_whole() -> None:
    response = call(filled(), waits(wants(max_bytes=1), min_bytes=ONE), version=12)

    assert told(response) == [(0, 1)]


@pytest.mark.parametrize("wait_ms", [0, -1])
def test_who_does_not_want_to_wait_does_not(wait_ms: int) -> None:
    request = waits(wants(offset=6), wait_ms=wait_ms)

    assert only(call(filled(), request, version=12)).records == b""


@pytest.mark.parametrize("min_bytes", [0, -1])
def test_who_does_not_want_bytes_does_not_wait(min_bytes: int) -> None:
    request = waits(wants(offset=6), min_bytes=min_bytes)

    assert only(call(filled(), request, version=12)).records == b""


@pytest.mark.parametrize("wrong", [wants(1, 99), wants(1, 6, epoch=7), wants(1, 9, last_epoch=0)])
def test_an_error_or_a_divergence_is_told_at_once(wrong: FetchPartition) -> None:
    response = call(filled(2), waits(wants(0, 6), wrong), version=12)

    assert len(response.responses[0].partitions) == 2


def test_what_is_unknown_is_no_reason_to_hurry() -> None:
    state = filled()
    waiting = send(state, waits(wants(0, 6), wants(9)), version=12)
    assert answer_to(state, waiting) is None

    pass_time(state, now=0.5)

    answers = answer_to(state, waiting).responses[0].partitions
    assert [each.error_code for each in answers] == [0, 3]


def test_nothing_but_unknown_ones_is_told_at_once() -> None:
    assert only(call(filled(), waits(wants(9)), version=12)).error_code == 3


def test_who_waits_for_a_partition_that_moves_is_told() -> None:
    state = filled(nodes=2)
    state.move_leader("t", 0, 1)
    waiting = send(state, waits(wants(offset=6, epoch=1)), version=12, node=1)

    state.move_leader("t", 0, 2)

    assert only(answer_to(state, waiting)).error_code == 74


def test_who_waits_for_a_topic_that_is_deleted_is_told() -> None:
    state = filled()
    waiting = send(state, waits(wants(offset=6)), version=12)

    state.topics.delete(state.topics.by_name["t"])

    assert only(answer_to(state, waiting)).error_code == 3


def test_who_waits_at_an_end_that_went_back_is_told() -> None:
    state = filled()
    waiting = send(state, waits(wants(offset=6, last_epoch=0)), version=12)

    state.truncate("t", 0, 4)

    assert only(answer_to(state, waiting)).diverging_epoch.end_offset == 4


def test_a_duplicate_wakes_nobody() -> None:
    state = made(topics={"t": 1})
    produce(state, idempotent(7, 0, 0))
    waiting = send(state, waits(wants(offset=1)), version=12)

    produce(state, idempotent(7, 0, 0))

    assert answer_to(state, waiting) is None


# Faults


def test_a_fault_on_purpose_is_told_of_one_partition() -> None:
    state = filled(2)
    state.faults.fail("Fetch", KafkaStorageError, topic="t", partition=1)

    response = call(state, waits(wants(0, 6), wants(1)), version=12)

    assert [each.error_code for each in response.responses[0].partitions] == [0, 56]


def test_a_fetch_that_waited_is_asked_about_faults_once() -> None:
    state = filled()
    fault = state.faults.fail("Fetch", CorruptMessage, topic="t", after=1)
    waiting = send(state, waits(wants(offset=6)), version=12)

    produce(state, batch(b"c"))

    assert only(answer_to(state, waiting)).error_code == 0
    assert fault.hits == 0
