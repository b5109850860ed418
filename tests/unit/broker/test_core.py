from __future__ import annotations

from math import inf
from typing import Any

import pytest

from kafka_aio.broker import api
from kafka_aio.broker.call import Call, refusal
from kafka_aio.broker.core import Core
from kafka_aio.broker.state import State
from kafka_aio.errors import (
    BrokerError,
    FencedLeaderEpoch,
    NotController,
    NotLeaderOrFollower,
    UnknownLeaderEpoch,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from kafka_aio.protocol.messages import for_key
from kafka_aio.protocol.messages.groups import HeartbeatRequest, HeartbeatResponse
from kafka_aio.protocol.messages.metadata import MetadataRequest
from kafka_aio.protocol.messages.produce import ProduceRequest
from kafka_aio.protocol.schema import Uuid
from tests.unit.broker.clusters import made

HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
ANSWER = HeartbeatResponse(throttle_time_ms=0, error_code=0)


@pytest.fixture
def state() -> State:
    return made(nodes=2, topics={"orders": 2})


def asked(state: State, request: Any = HEARTBEAT, node: int = 1) -> Call:
    return Call(state=state, request=request, version=4, node=node, now=0.0, wall_ms=0)


def answering(monkeypatch: pytest.MonkeyPatch, answerer: api.Answerer) -> None:
    monkeypatch.setattr("kafka_aio.broker.core.answerer_of", lambda key: answerer)


@pytest.mark.parametrize("key", api.SERVED)
def test_there_is_somebody_to_answer_each_api_that_is_served(key: int) -> None:
    assert callable(api.answerer_of(key))


def test_the_versions_of_all_served_apis_are_those_of_kafka(state: State) -> None:
    Core(state)

    assert state.versions.keys() == api.SERVED.keys()
    assert state.versions[12] == (0, 4)


def test_an_answer_may_come_at_once(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    core = Core(state)
    answering(monkeypatch, lambda request, call: ANSWER)

    core.receive(call := asked(state))

    assert core.take_answers() == [(call, ANSWER)]
    assert core.take_answers() == []


def test_an_answer_may_come_later(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer_late(request: Any, call: Call) -> None:
        state.agenda.at(5.0, lambda now: call.answer(ANSWER))

    core = Core(state)
    answering(monkeypatch, answer_late)
    core.receive(call := asked(state))

    assert core.take_answers() == []
    assert core.deadline == 5.0

    core.tick(now=5.0)

    assert core.take_answers() == [(call, ANSWER)]
    assert core.deadline == inf


def test_an_error_becomes_the_answer(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(request: Any, call: Call) -> None:
        raise NotController("not me")

    core = Core(state)
    answering(monkeypatch, fail)

    core.receive(asked(state))

    ((_, response),) = core.take_answers()
    assert response == HeartbeatResponse(throttle_time_ms=0, error_code=NotController.code)


def test_an_error_that_an_answer_has_no_place_for_ends_the_connection() -> None:
    error = NotController()

    with pytest.raises(NotController) as raised:
        refusal(ProduceRequest, error)

    assert raised.value is error


def test_an_error_is_told_in_words_where_there_is_place_for_them() -> None:
    refused: Any = refusal(for_key(68), NotController("not me"))

    assert (refused.error_code, refused.error_message) == (NotController.code, "not me")


# What a call finds.


def test_topics_are_found_by_name_and_by_id(state: State) -> None:
    topic = state.topics.by_name["orders"]
    call = asked(state)

    assert call.topic("orders") is topic
    assert call.topic(topic_id=topic.id) is topic
    with pytest.raises(UnknownTopicOrPartition):
        call.topic("missing")
    with pytest.raises(UnknownTopicId):
        call.topic("orders", Uuid(bytes(15) + b"x"))


@pytest.mark.parametrize(
    ("index", "node", "epoch", "error"),
    [
        (2, 1, -1, UnknownTopicOrPartition),
        (-1, 1, -1, UnknownTopicOrPartition),
        (0, 2, -1, NotLeaderOrFollower),
        (0, 1, 1, UnknownLeaderEpoch),
    ],
)
def test_a_partition_must_be_there_and_led_by_the_node_in_that_epoch(
    state: State, index: int, node: int, epoch: int, error: type[BrokerError]
) -> None:
    topic = state.topics.by_name["orders"]

    with pytest.raises(error):
        asked(state, node=node).partition(topic, index, epoch=epoch)


def test_an_epoch_of_the_past_is_fenced(state: State) -> None:
    topic = state.topics.by_name["orders"]
    state.move_leader("orders", 0, 2)

    assert asked(state, node=2).partition(topic, 0, epoch=1) is topic.partitions[0]
    with pytest.raises(FencedLeaderEpoch):
        asked(state, node=2).partition(topic, 0, epoch=0)


def test_a_fault_comes_before_all_else(state: State) -> None:
    state.faults.fail("Metadata", 5, topic="orders")
    call = asked(state, MetadataRequest(topics=None), node=2)

    with pytest.raises(BrokerError) as raised:
        call.partition(state.topics.by_name["orders"], 0)

    assert raised.value.code == 5
