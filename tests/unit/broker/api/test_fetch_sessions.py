from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.broker.state import State
from kafka_aio.protocol.messages.fetch import (
    FetchPartition,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)
from kafka_aio.protocol.schema import NO_UUID, Uuid
from tests.unit.broker.clusters import answer_to, call, made, send
from tests.unit.broker.producing import batch, fetching, only, produce, told, wants

ONE = len(batch(b"a", b"b"))


class Consumer:
    """One that keeps a session going, in some version."""

    def __init__(self, state: State, version: int = 12, name: str = "t") -> None:
        self.state = state
        self.version = version
        self.topic = name if version < 13 else ""
        self.topic_id: Uuid = NO_UUID if version < 13 else state.topics.by_name[name].id
        self.session_id = 0
        self.epoch = 0

    def request(
        self, *partitions: FetchPartition, forget: tuple[int, ...] = (), **more: Any
    ) -> Any:
        request = fetching(
            topics=[
                FetchTopic(topic=self.topic, topic_id=self.topic_id, partitions=list(partitions))
            ],
            forgotten_topics_data=[
                ForgottenTopic(topic=self.topic, topic_id=self.topic_id, partitions=list(forget))
            ],
            session_id=self.session_id,
            session_epoch=self.epoch,
            **more,
        )
        self.epoch += 1
        return request

    def fetch(self, *partitions: FetchPartition, **more: Any) -> FetchResponse:
        response: FetchResponse = call(
            self.state, self.request(*partitions, **more), version=self.version
        )
        self.session_id = response.session_id
        return response


def filled(partitions: int = 2) -> State:
    state = made(topics={"t": partitions})
    for partition in range(partitions):
        for _ in range(3):
            produce(state, batch(b"a", b"b"), partition=partition)
    return state


def codes(response: FetchResponse) -> list[tuple[int, int]]:
    return [
        (each.partition_index, each.error_code)
        for topic in response.responses
        for each in topic.partitions
    ]


@pytest.mark.parametrize("version", [7, 12, 13, 18])
def test_a_session_goes_on_with_what_it_began(version: int) -> None:
    consumer = Consumer(filled(), version)
    first = consumer.fetch(wants(0), wants(1, 2))

    again = consumer.fetch()

    assert first.session_id > 0
    assert told(first) == told(again) == [(0, 3), (1, 2)]
    assert again.session_id == first.session_id


def test_what_is_not_new_is_not_told() -> None:
    state = filled()
    consumer = Consumer(state)
    consumer.fetch(wants(0), wants(1))

    assert consumer.fetch(wants(0, 6), wants(1, 6)).responses == []
    produce(state, batch(b"c"), partition=1)
    assert told(consumer.fetch()) == [(1, 1)]


def test_a_high_watermark_or_a_start_that_moved_is_told() -> None:
    state = filled()
    consumer = Consumer(state)
    consumer.fetch(wants(0, 6), wants(1, 6))

    state.topics.by_name["t"].partitions[1].log.delete_before(2)

    answer = only(consumer.fetch())
    assert (answer.partition_index, answer.log_start_offset, answer.records) == (1, 2, b"")
    assert consumer.fetch().responses == []


def test_partitions_are_added_and_forgotten() -> None:
    consumer = Consumer(filled())
    consumer.fetch(wants(0))

    assert told(consumer.fetch(wants(1))) == [(0, 3), (1, 3)]
    assert told(consumer.fetch(forget=(0, 77))) == [(1, 3)]


def test_a_session_without_partitions_ends() -> None:
    consumer = Consumer(filled())
    session_id = consumer.fetch(wants(0)).session_id

    response = consumer.fetch(forget=(0,))

    assert (response.error_code, response.session_id, response.responses) == (0, 0, [])
    consumer.session_id = session_id
    assert consumer.fetch(wants(0)).error_code == 70


def test_an_error_is_told_until_it_is_over() -> None:
    consumer = Consumer(filled())
    consumer.fetch(wants(0, 6), wants(1, 6))

    assert codes(consumer.fetch(wants(0, 99))) == [(0, 1)]
    assert codes(consumer.fetch()) == [(0, 1)]
    assert codes(consumer.fetch(wants(0, 6))) == [(0, 0)]
    assert codes(consumer.fetch()) == []


def test_a_partition_that_comes_into_being_is_found() -> None:
    state = filled(1)
    consumer = Consumer(state)
    assert codes(consumer.fetch(wants(0, 6), wants(1))) == [(0, 0), (1, 3)]

    state.topics.grow(state.topics.by_name["t"], 2)

    assert codes(consumer.fetch()) == [(1, 0)]


def test_who_had_records_is_last_the_next_time() -> None:
    consumer = Consumer(filled(3))
    wanted = [wants(index, max_bytes=ONE) for index in range(3)]
    consumer.fetch(*wanted, max_bytes=ONE)

    order = [told(consumer.fetch(max_bytes=ONE))[0][0] for _ in range(6)]

    assert order == [0, 1, 2, 0, 1, 2]


# Out of turn


def test_a_session_that_is_not_there_is_an_error() -> None:
    consumer = Consumer(filled())
    consumer.session_id, consumer.epoch = 5, 1

    response = consumer.fetch()

    assert (response.error_code, response.session_id, response.responses) == (70, 0, [])


@pytest.mark.parametrize("epoch", [2, 0x7FFFFFFF])
def test_a_wrong_epoch_is_an_error(epoch: int) -> None:
    consumer = Consumer(filled())
    session_id = consumer.fetch(wants(0)).session_id

    consumer.epoch = epoch
    assert consumer.fetch().error_code == 71

    consumer.session_id, consumer.epoch = session_id, 1
    assert told(consumer.fetch()) == [(0, 3)]


@pytest.mark.parametrize(("begins", "goes_on"), [(12, 13), (13, 12)])
def test_names_and_ids_are_not_mixed(begins: int, goes_on: int) -> None:
    state = filled()
    consumer = Consumer(state, begins)
    consumer.fetch(wants(0))

    consumer.version = goes_on

    assert consumer.fetch().error_code == 106


def test_a_full_fetch_ends_the_session_that_it_names() -> None:
    consumer = Consumer(filled())
    first = consumer.fetch(wants(0)).session_id
    consumer.epoch = 0

    second = consumer.fetch(wants(1)).session_id

    assert second not in (0, first)
    consumer.session_id, consumer.epoch = first, 1
    assert consumer.fetch().error_code == 70


def test_a_last_fetch_ends_the_session_and_begins_none() -> None:
    consumer = Consumer(filled())
    first = consumer.fetch(wants(0)).session_id
    consumer.epoch = -1

    assert consumer.fetch(wants(1)).session_id == 0
    consumer.session_id, consumer.epoch = first, 1
    assert consumer.fetch().error_code == 70


def test_a_request_that_overtakes_one_that_waits_makes_it_fail() -> None:
    state = filled()
    consumer = Consumer(state)
    session_id = consumer.fetch(wants(0, 6)).session_id
    waiting = send(state, consumer.request(wait_ms=500), version=12)
    consumer.fetch()

    produce(state, batch(b"c"))

    late = answer_to(state, waiting)
    assert (late.error_code, late.session_id, late.responses) == (71, session_id, [])


def test_a_session_begins_when_its_first_fetch_is_answered() -> None:
    state = filled()
    consumer = Consumer(state)
    waiting = send(state, consumer.request(wants(0, 6), wait_ms=500), version=12)

    produce(state, batch(b"c"))

    response = answer_to(state, waiting)
    assert told(response) == [(0, 1)]
    consumer.session_id = response.session_id
    assert told(consumer.fetch()) == [(0, 1)]


def test_without_a_slot_there_is_no_session_but_an_answer() -> None:
    state = made(topics={"t": 1}, max_incremental_fetch_session_cache_slots=1)
    produce(state, batch(b"a"))
    Consumer(state).fetch(wants())

    response = Consumer(state).fetch(wants())

    assert (response.session_id, told(response)) == (0, [(0, 1)])


# Topics that go


def test_a_topic_by_name_may_be_deleted_and_made_again() -> None:
    state = filled()
    consumer = Consumer(state)
    consumer.fetch(wants(0))

    state.topics.delete(state.topics.by_name["t"])
    assert codes(consumer.fetch()) == [(0, 3)]
    state.topics.create("t", partitions=1)
    assert codes(consumer.fetch()) == [(0, 0)]


def test_a_topic_by_id_is_another_one_then() -> None:
    state = filled()
    consumer = Consumer(state, 13)
    consumer.fetch(wants(0))

    state.topics.delete(state.topics.by_name["t"])
    assert codes(consumer.fetch()) == [(0, 3)]
    state.topics.create("t", partitions=1)
    assert codes(consumer.fetch()) == [(0, 103)]


@pytest.mark.parametrize("version", [12, 13])
def test_who_reads_too_many_partitions_is_answered_without_a_session(version: int) -> None:
    state = made(topics={"t": 2}, memory_max_session_partitions=2)
    consumer = Consumer(state, version)

    answer = consumer.fetch(wants(0), wants(1), wants(2))

    assert (answer.error_code, answer.session_id) == (0, 0)
    assert [each.error_code for each in answer.responses[0].partitions] == [0, 0, 3]


def test_a_session_that_comes_to_read_too_many_partitions_must_begin_anew() -> None:
    state = made(topics={"t": 2}, memory_max_session_partitions=2)
    consumer = Consumer(state)
    consumer.fetch(wants(0), wants(1))

    answer = consumer.fetch(wants(2))

    assert (answer.error_code, answer.responses) == (70, [])
