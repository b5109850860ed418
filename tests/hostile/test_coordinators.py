"""FindCoordinator, answered by somebody who means us no good."""

from __future__ import annotations

import pytest

from kafka_aio.errors import (
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
    UnknownBrokerError,
)
from kafka_aio.net.coordinators import Coordinator, CoordinatorKind
from kafka_aio.protocol.messages.groups import Coordinator as Found
from kafka_aio.protocol.messages.groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
)
from kafka_aio.protocol.primitives import uvarint
from tests.hostile.attacks import (
    BEAT,
    QUICK_TO_GIVE_UP,
    REQUEST_SECONDS,
    SLACK,
    answers,
    beats,
    outcome_of,
)
from tests.net.clusters import joined, scripted
from tests.net.server import HOST, Reaction, says

GROUP = Coordinator(CoordinatorKind.GROUP, "g")
NOT_COORDINATOR = 16


def found(
    *, node: int = 7, host: str = HOST, port: int = 9_092, key: str = "g", error_code: int = 0
) -> Found:
    return Found(
        key=key, node_id=node, host=host, port=port, error_code=error_code, error_message=None
    )


def names(*coordinators: Found) -> Reaction:
    return says(FindCoordinatorResponse(coordinators=list(coordinators)))


HEAD = bytes(5)  # no tags in the header, no throttle
ANSWERS: dict[str, tuple[Reaction, type[KafkaError]]] = {
    "a node below zero": (names(found(node=-1)), ProtocolError),
    "port 0": (names(found(port=0)), ProtocolError),
    "port 65536": (names(found(port=65_536)), ProtocolError),
    "port -1": (names(found(port=-1)), ProtocolError),
    "no host": (names(found(host="")), ProtocolError),
    "a host of 300 characters": (names(found(host="a" * 300)), ProtocolError),
    "a host with a NUL": (names(found(host="127.0.0.1\0")), ProtocolError),
    "a host that cannot be resolved": (names(found(host="a..invalid")), KafkaConnectionError),
    "another key": (names(found(key="h")), ProtocolError),
    "another key beside ours": (names(found(), found(key="h")), ProtocolError),
    "our key twice": (names(found(), found()), ProtocolError),
    "no key": (names(), ProtocolError),
    "an error that nobody knows": (names(found(error_code=32_767)), UnknownBrokerError),
    "an error below zero": (names(found(error_code=-32_768)), UnknownBrokerError),
    "not available, for ever": (names(found(error_code=15)), KafkaTimeoutError),
    "loading, for ever": (names(found(error_code=14)), KafkaTimeoutError),
    "2^31-1 keys, promised": (answers(HEAD + uvarint(2**31 - 1)), ProtocolError),
    "a key of 2^31-1 bytes": (answers(HEAD + b"\2" + uvarint(2**31 - 1)), ProtocolError),
    "2^31-1 tagged fields": (answers(HEAD + b"\1" + uvarint(2**31 - 1)), ProtocolError),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_it_is_a_typed_error_in_time(name: str) -> None:
    hostile, kind = ANSWERS[name]
    async with scripted(1) as script, joined(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
        reactions = script.brokers[1].reactions
        reactions[HeartbeatRequest] = beats
        reactions[FindCoordinatorRequest] = hostile

        _, error, seconds = await outcome_of(cluster.send_to_coordinator(GROUP, BEAT))

        assert type(error) is kind
        assert seconds < REQUEST_SECONDS + SLACK
        assert not script.asked(HeartbeatRequest)
        reactions[FindCoordinatorRequest] = script.find
        assert (await cluster.send_to_coordinator(GROUP, BEAT)).error_code == 0


async def test_a_node_that_names_itself_for_ever_and_denies_it_is_asked_no_more_than_we_ask() -> (
    None
):
    async with scripted(1) as script, joined(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
        denies = HeartbeatResponse(error_code=NOT_COORDINATOR)
        script.brokers[1].reactions[HeartbeatRequest] = says(denies)

        for _ in range(10):
            answer = await cluster.send_to_coordinator(GROUP, BEAT)
            assert answer.error_code == NOT_COORDINATOR
            cluster.coordinator_moved(GROUP)

        assert len(script.asked(FindCoordinatorRequest)) == 10
        assert len({id(each.peer) for each in script.asked(HeartbeatRequest)}) == 1


async def test_a_node_that_we_know_stays_where_the_cluster_says_it_is() -> None:
    async with scripted(2) as script, joined(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
        elsewhere = found(node=2, port=script.ports[1])
        for broker in script.brokers.values():
            broker.reactions[FindCoordinatorRequest] = names(elsewhere)
            broker.reactions[HeartbeatRequest] = beats

        await cluster.send_to_coordinator(GROUP, BEAT)

        assert len(script.asked(HeartbeatRequest, 2)) == 1


async def test_a_coordinator_that_is_another_each_time_is_followed_and_leaves_nothing() -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
        script.brokers[1].reactions[HeartbeatRequest] = beats
        for node in range(10, 20):
            script.brokers[1].reactions[FindCoordinatorRequest] = names(
                found(node=node, port=script.ports[1])
            )
            await cluster.send_to_coordinator(GROUP, BEAT)
            cluster.coordinator_moved(GROUP)

        await cluster.refresh()

        assert list(cluster.metadata.nodes) == [1]
