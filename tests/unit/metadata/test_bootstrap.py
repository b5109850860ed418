from __future__ import annotations

import pytest

from kafka_aio.metadata import Leader, Update
from kafka_aio.types import Node
from tests.unit.metadata.samples import (
    A0,
    B0,
    BOOTSTRAP,
    ID_A,
    ID_B,
    answer,
    ask,
    led,
    new,
    partition,
    state,
    tell,
    tell_all,
    topic,
)


def test_after_a_bootstrap_nothing_is_known_but_what_is_wanted_and_the_epochs() -> None:
    metadata = new("a")
    tell_all(metadata, answer(topic("a", partition(0, epoch=5), id=ID_A), led("b", {0: 1})))
    version = metadata.version

    metadata.bootstrap([("again", 1)])

    assert metadata.nodes == {-1: Node(-1, "again", 1)}
    assert metadata.topics == []
    assert metadata.partitions("a") is None
    assert metadata.leader(A0) is None
    assert metadata.topic_name(ID_A) is None
    assert metadata.cluster_id is None
    assert metadata.controller_id is None
    assert metadata.version > version
    assert metadata.epoch(A0) == 5
    assert metadata.epoch(B0) == -1
    assert ask(metadata, now=1.0) == ["a"]


def test_after_a_bootstrap_the_controller_is_not_known_although_its_node_may_be() -> None:
    metadata = new()
    tell(metadata, answer(controller=1))
    metadata.bootstrap(BOOTSTRAP)

    metadata.learn_node(1, "kafka", 9092)

    assert metadata.controller_id is None


def test_after_a_bootstrap_the_answer_of_another_cluster_is_taken() -> None:
    metadata = new("a")
    tell(metadata, answer(topic("a", partition(0, leader=1, epoch=50), id=ID_A)))

    metadata.bootstrap(BOOTSTRAP)
    tell(metadata, answer(topic("a", partition(0, leader=2, epoch=0), id=ID_B), cluster="new"))

    assert metadata.cluster_id == "new"
    assert metadata.leader(A0) == Leader(2, 0)


def test_a_hint_after_a_bootstrap_does_not_take_a_bootstrap_server_for_a_leader() -> None:
    metadata = new("a")
    tell(metadata, answer(led("a", {0: 1}, epoch=5)))
    metadata.bootstrap(BOOTSTRAP)

    assert metadata.hint({A0: Leader(-1, 6)}, []) == Update()


def test_a_rebootstrap_is_due_when_nobody_answers_for_too_long() -> None:
    metadata = new("a", rebootstrap_after=60.0)
    ask(metadata, now=100.0)
    metadata.failed(now=130.0, jitter=0.0)

    assert not metadata.rebootstrap_due(now=160.0)
    assert metadata.rebootstrap_due(now=160.1)
    metadata.bootstrap(BOOTSTRAP)
    assert not metadata.rebootstrap_due(now=160.1)


def test_a_broker_can_ask_for_a_rebootstrap_and_the_next_attempt_waits() -> None:
    metadata = new("a", rebootstrap_after=60.0)
    tell(metadata, answer(led("a", {0: 1})), now=10.0)
    before = state(metadata)

    update = tell(metadata, answer(led("a", {0: 2}, epoch=9), code=129), now=100.0)

    assert update == Update(rebootstrap=True)
    assert state(metadata)[:-2] == before[:-2]
    assert metadata.rebootstrap_due(now=100.0)
    metadata.bootstrap(BOOTSTRAP)
    assert not metadata.rebootstrap_due(now=100.0)
    assert metadata.refresh_at == 101.0


@pytest.mark.parametrize("code", [129, 7])
def test_where_no_rebootstrap_is_to_be_done_an_answer_with_a_code_is_read(code: int) -> None:
    metadata = new("a")

    update = tell(metadata, answer(led("a", {0: 1}), code=code))

    assert not update.rebootstrap
    assert metadata.leader(A0) == Leader(1, 0)
