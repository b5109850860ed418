from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.errors import CoordinatorLoadInProgress
from kafka_aio.protocol.messages.transactions import (
    DescribeProducersRequest,
    InitProducerIdRequest,
    ProducerState,
    TopicRequest,
)
from tests.unit.broker.clusters import WALL_MS, call, made
from tests.unit.broker.producing import batch, idempotent, produce


def asking(
    transactional_id: str | None = None, producer_id: int = -1, producer_epoch: int = -1
) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=60_000,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )


@pytest.mark.parametrize("version", range(7))
def test_each_producer_gets_an_id_of_its_own(version: int) -> None:
    state = made(2)

    answers = [call(state, asking(), version=version, node=node) for node in (1, 2, 1)]

    assert [(each.error_code, each.producer_epoch) for each in answers] == [(0, 0)] * 3
    assert len({each.producer_id for each in answers}) == 3


def test_an_id_that_a_producer_had_is_replaced() -> None:
    state = made()

    answer = call(state, asking(producer_id=5, producer_epoch=3), version=5)

    assert (answer.error_code, answer.producer_epoch) == (0, 0)


@pytest.mark.parametrize(
    "fields", [{"producer_id": 5}, {"producer_epoch": 5}, {"transactional_id": ""}]
)
def test_half_of_an_id_is_refused(fields: dict[str, Any]) -> None:
    answer = call(made(), asking(**fields), version=5)

    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (42, -1, -1)


@pytest.mark.parametrize("version", range(6))
def test_a_transactional_id_is_refused_for_good(version: int) -> None:
    answer = call(made(), asking("orders"), version=version)

    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (53, -1, -1)


def test_a_fault_on_purpose_is_told() -> None:
    state = made()
    state.faults.fail("InitProducerId", CoordinatorLoadInProgress, times=1)

    assert [call(state, asking()).error_code for _ in range(2)] == [14, 0]


# DescribeProducers


def described(state: Any, topic: str, *partitions: int, node: int = 1, now: float = 0.0) -> Any:
    request = DescribeProducersRequest(
        topics=[TopicRequest(name=topic, partition_indexes=list(partitions))]
    )
    (answer,) = call(state, request, node=node, now=now).topics
    assert answer.name == topic
    return answer.partitions


def test_producers_are_described() -> None:
    state = made(topics={"t": 2})
    produce(state, idempotent(9, 0, 0, 3))
    produce(state, idempotent(7, 2, 0))
    produce(state, batch())

    one, other = described(state, "t", 0, 1)

    assert one.active_producers == [
        ProducerState(
            producer_id=9,
            producer_epoch=0,
            last_sequence=2,
            last_timestamp=WALL_MS + 2,
            coordinator_epoch=-1,
        ),
        ProducerState(
            producer_id=7,
            producer_epoch=2,
            last_sequence=0,
            last_timestamp=WALL_MS,
            coordinator_epoch=-1,
        ),
    ]
    assert (other.error_code, other.active_producers) == (0, [])


def test_a_follower_can_describe_them_and_others_cannot() -> None:
    state = made(3)
    state.topics.create("t", replicas=[(0, [1, 2])])

    codes = [described(state, "t", 0, node=node)[0].error_code for node in (1, 2, 3)]

    assert codes == [0, 0, 6]


def test_what_is_not_there_is_unknown() -> None:
    state = made(topics={"t": 1})

    (no_topic,) = described(state, "nowhere", 0)
    (no_partition,) = described(state, "t", 4)

    assert (no_topic.error_code, no_partition.error_code) == (3, 3)
    assert no_topic.error_message == "This server does not host this topic-partition."
    assert no_partition.error_message is None


def test_a_name_that_cannot_be_is_refused() -> None:
    (answer,) = described(made(), "b@d", 0)

    assert answer.error_code == 17
    assert "b@d" in answer.error_message


# What is kept of them


def known(state: Any, *, partition: int = 0, now: float = 0.0) -> list[int]:
    [found] = described(state, "t", partition, now=now)
    return [each.producer_id for each in found.active_producers]


def test_only_so_many_are_remembered() -> None:
    state = made(topics={"t": 2}, memory_max_producers=3)
    for producer in range(5):
        produce(state, idempotent(producer, 0, 0), partition=producer % 2)

    assert (known(state), known(state, partition=1)) == ([2, 4], [3])


def test_one_that_has_not_written_for_a_day_is_forgotten() -> None:
    state = made(topics={"t": 1})
    produce(state, idempotent(5, 0, 0))

    assert known(state, now=86_399.0) == [5]
    assert known(state, now=86_400.0) == []


def test_who_was_forgotten_may_go_on_at_any_sequence() -> None:
    state = made(topics={"t": 1}, producer_id_expiration_ms=1_000)
    produce(state, idempotent(5, 0, 0))

    gap = produce(state, idempotent(5, 0, 7), now=0.5)
    later = produce(state, idempotent(5, 0, 7), now=1.0)

    assert (gap.error_code, later.error_code) == (45, 0)
