"""Requests to a node that are written in the step in which they are asked for."""

from __future__ import annotations

import asyncio

import pytest

from kafka_aio.errors import KafkaConnectionError, KafkaTimeoutError, UnsupportedVersion
from kafka_aio.net.cluster import Cluster
from kafka_aio.observability.registry import Distribution
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_aio.protocol.messages.groups import HeartbeatRequest
from kafka_aio.protocol.messages.metadata import MetadataRequest
from kafka_aio.protocol.schema import schema_of
from tests.net.clusters import UNHURRIED, joined, scripted
from tests.net.exchanges import Told, answer_to, numbered, produced, throttled
from tests.net.server import ALL_VERSIONS, Asked, closes, says, says_nothing, until


def latencies(cluster: Cluster) -> int:
    """Of how many requests the time was counted."""
    counted = {each.name: each.samples[0].value for each in cluster.registry.snapshot()}
    latency = counted["request_latency_seconds"]
    assert isinstance(latency, Distribution)
    return latency.count


async def test_a_node_that_is_not_connected_cannot_be_sent_to() -> None:
    async with scripted(2) as script, joined(script.bootstrap(1), **UNHURRIED) as cluster:
        other = 2
        told = Told()

        with pytest.raises(KafkaConnectionError) as caught:
            cluster.send_nowait(other, numbered(1), told)

        assert not cluster.can_send(other)
        assert cluster.why_not(other) == str(caught.value) == f"node {other} is not connected"
        assert not caught.value.indefinite
        assert len(told) == 0


async def test_who_wants_it_is_called_when_a_request_can_be_written() -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **UNHURRIED) as cluster:
        could: list[bool] = []
        cluster.when_free(lambda: could.append(cluster.can_send(1)))
        script.react(HeartbeatRequest, says(answer_to(0)))
        await cluster.send(1, numbered(1))

        assert could[-1:] == [True]


async def test_an_answer_comes_to_the_callback_and_its_time_is_counted() -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **UNHURRIED) as cluster:
        await cluster.connection(1)
        script.react(HeartbeatRequest, says(answer_to(7)))
        before = latencies(cluster)
        told = Told()
        cluster.send_nowait(1, numbered(1), told)
        await until(lambda: len(told) == 1)

        assert told.answers == [answer_to(7)]
        assert latencies(cluster) == before + 1


async def test_what_has_no_answer_needs_no_callback() -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **UNHURRIED) as cluster:
        connection = await cluster.connection(1)
        cluster.send_nowait(1, produced(10), None)
        asked = await script.brokers[1].next()

        assert asked.message.acks == 0
        assert connection.in_flight == 0


async def test_a_throttle_in_an_answer_makes_the_node_one_to_leave_alone() -> None:
    async with scripted(2) as script, joined(script.bootstrap(), **UNHURRIED) as cluster:
        for node in (1, 2):
            await cluster.connection(node)
        script.brokers[1].reactions[HeartbeatRequest] = says(throttled(30_000))
        script.brokers[2].reactions[HeartbeatRequest] = says(answer_to(2))
        told = Told()
        cluster.send_nowait(1, numbered(1), told)
        await until(lambda: len(told) == 1)
        answers = [(await cluster.send_any(numbered(2))).error_code for _ in range(5)]

        assert not cluster.can_send(1)
        assert cluster.why_not(1) == "the broker asked us to pause (a quota)"
        assert answers == [2] * 5


async def test_a_lost_request_makes_us_look_at_the_cluster_again() -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **UNHURRIED) as cluster:
        await cluster.connection(1)
        script.react(HeartbeatRequest, closes)
        before = len(script.asked(MetadataRequest))
        told = Told()
        cluster.send_nowait(1, numbered(1), told)
        await until(lambda: len(told) == 1)
        await until(lambda: len(script.asked(MetadataRequest)) > before)

        (error,) = told.errors
        assert isinstance(error, KafkaConnectionError)
        assert error.indefinite


async def test_a_request_without_an_answer_ends_with_the_time_of_requests() -> None:
    options = {**UNHURRIED, "request_timeout_ms": 300, "default_api_timeout_ms": 300}
    async with scripted(1) as script, joined(script.bootstrap(), **options) as cluster:
        await cluster.connection(1)
        script.react(HeartbeatRequest, says_nothing)
        loop = asyncio.get_running_loop()
        began_at = loop.time()
        told = Told()
        cluster.send_nowait(1, numbered(1), told)
        await until(lambda: len(told) == 1)

        (error,) = told.errors
        assert isinstance(error, KafkaTimeoutError)
        assert error.indefinite
        assert loop.time() - began_at > 0.29


async def test_what_a_node_does_not_know_is_refused_at_once() -> None:
    def knows_little(asked: Asked) -> None:
        known = [each for each in ALL_VERSIONS if each.api_key != schema_of(HeartbeatRequest).key]
        asked.answer(ApiVersionsResponse(error_code=0, api_keys=known))

    async with scripted(1) as script:
        script.react(ApiVersionsRequest, knows_little)
        async with joined(script.bootstrap(), **UNHURRIED) as cluster:
            await cluster.connection(1)
            told = Told()

            with pytest.raises(UnsupportedVersion, match="Heartbeat"):
                cluster.send_nowait(1, numbered(1), told)

            assert cluster.can_send(1)
            assert len(told) == 0
