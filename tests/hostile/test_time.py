"""Brokers that would like us to wait."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from kafka_aio.errors import KafkaConnectionError, KafkaTimeoutError
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_aio.protocol.messages.groups import HeartbeatRequest, HeartbeatResponse
from kafka_aio.protocol.messages.metadata import MetadataRequest
from tests.hostile.attacks import (
    BEAT,
    QUICK_TO_GIVE_UP,
    REQUEST_SECONDS,
    SLACK,
    START_SECONDS,
    drips,
    first,
    outcome_of,
    works,
)
from tests.net.clusters import AT_ONCE, UNHURRIED, joined, made, scripted
from tests.net.server import (
    ALL_VERSIONS,
    HOST,
    PATIENCE,
    Asked,
    Reaction,
    says,
    says_nothing,
    until,
)

LONG_MS = 2**31 - 1  # 24 days


async def test_a_throttle_of_24_days_ends_with_the_request_time_out() -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
        throttled = HeartbeatResponse(throttle_time_ms=LONG_MS, error_code=0)
        script.brokers[1].reactions[HeartbeatRequest] = says(throttled)
        await cluster.send(1, BEAT)

        _, error, seconds = await outcome_of(cluster.send(1, BEAT, timeout=PATIENCE))

        assert error is None
        assert 0.8 * REQUEST_SECONDS < seconds < REQUEST_SECONDS + SLACK


async def test_a_request_that_a_throttle_holds_up_for_too_long_ends_in_its_time() -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
        throttled = HeartbeatResponse(throttle_time_ms=LONG_MS, error_code=0)
        script.brokers[1].reactions[HeartbeatRequest] = says(throttled)
        await cluster.send(1, BEAT)

        _, error, seconds = await outcome_of(cluster.send(1, BEAT, timeout=0.1))

        assert type(error) is KafkaTimeoutError
        assert not error.indefinite
        assert "asked us to pause" in str(error)
        assert seconds < 0.1 + SLACK


def later(reaction: Reaction, seconds: float) -> Reaction:
    def react(asked: Asked) -> None:
        asyncio.get_running_loop().call_later(seconds, reaction, asked)

    return react


class Throttled(Asked):
    """A request whose answer asks for a pause."""

    def answer(self, response: Any) -> None:
        response.throttle_time_ms = LONG_MS
        super().answer(response)


async def test_metadata_that_throttles_us_for_24_days_does_not_stop_the_client() -> None:
    async with scripted(1) as script:
        script.brokers[1].reactions[MetadataRequest] = lambda asked: script.describe(
            Throttled(**vars(asked))
        )

        async with joined(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
            await works(cluster, script)
            await works(cluster, script)


@pytest.mark.parametrize("milliseconds", [-1, -(2**31)])
async def test_a_throttle_below_zero_is_none(milliseconds: int) -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **UNHURRIED) as cluster:
        throttled = HeartbeatResponse(throttle_time_ms=milliseconds, error_code=0)
        script.brokers[1].reactions[HeartbeatRequest] = says(throttled)
        await cluster.send(1, BEAT)

        _, error, seconds = await outcome_of(cluster.send(1, BEAT))

        assert error is None
        assert seconds < AT_ONCE


async def test_a_throttle_in_the_first_answer_does_not_hold_up_the_connection() -> None:
    async with scripted(1) as script:
        script.brokers[1].reactions[ApiVersionsRequest] = says(
            ApiVersionsResponse(error_code=0, api_keys=ALL_VERSIONS, throttle_time_ms=LONG_MS)
        )

        async with made(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
            _, error, seconds = await outcome_of(cluster.start(timeout=PATIENCE))

            assert error is None
            assert seconds < REQUEST_SECONDS + SLACK
            await works(cluster, script)


async def test_a_frame_that_drips_ends_with_its_own_time_out_however_long_we_would_wait() -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
        script.brokers[1].reactions[HeartbeatRequest] = drips(10_000)

        _, error, seconds = await outcome_of(cluster.send(1, BEAT, timeout=PATIENCE))

        assert type(error) is KafkaTimeoutError
        assert "a frame was not complete" in str(error)
        assert error.indefinite
        assert seconds < REQUEST_SECONDS + SLACK
        await works(cluster, script)


async def test_bytes_that_nobody_asked_for_end_the_connection_in_time() -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
        await works(cluster, script)
        peer = script.brokers[1].seen[-1].peer

        peer.write(b"\0\0")
        async with asyncio.timeout(REQUEST_SECONDS + SLACK):
            await peer.wait_gone()

        await works(cluster, script)


async def test_what_waits_behind_an_answer_that_never_ends_fails_with_it() -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
        script.brokers[1].reactions[HeartbeatRequest] = first(drips(10_000), then=says_nothing)

        calls = [outcome_of(cluster.send(1, BEAT, timeout=PATIENCE)) for _ in range(5)]
        outcomes = await asyncio.gather(*calls)

        assert {type(each.error) for each in outcomes} == {KafkaTimeoutError}
        assert max(each.seconds for each in outcomes) < REQUEST_SECONDS + SLACK
        await works(cluster, script)


async def test_a_socket_that_nobody_accepts_is_given_up_in_time() -> None:
    with socket.socket() as backlog:  # the kernel connects, as it does for a process that hangs
        backlog.bind((HOST, 0))
        backlog.listen()

        async with made(f"{HOST}:{backlog.getsockname()[1]}", **QUICK_TO_GIVE_UP) as cluster:
            _, error, seconds = await outcome_of(cluster.start(timeout=START_SECONDS))

    assert type(error) is KafkaConnectionError
    assert "the answer to ApiVersions was not there within 0.4 s" in str(error)
    assert seconds < START_SECONDS + SLACK


async def test_a_broker_that_is_slow_to_connect_has_the_whole_time_for_metadata() -> None:
    async with scripted(1) as script:
        reactions = script.brokers[1].reactions
        for each in (ApiVersionsRequest, MetadataRequest):
            reactions[each] = later(reactions[each], 0.3)

        async with made(
            script.bootstrap(),
            **{**QUICK_TO_GIVE_UP, "socket_connection_setup_timeout_max_ms": 1_000},
        ) as cluster:
            _, error, _ = await outcome_of(cluster.start(timeout=PATIENCE))

            assert error is None


async def test_a_client_whose_brokers_say_nothing_is_closed_at_once() -> None:
    async with scripted(1) as script:
        async with joined(script.bootstrap(), **UNHURRIED) as cluster:
            reactions = script.brokers[1].reactions
            reactions[HeartbeatRequest] = reactions[MetadataRequest] = says_nothing
            tasks = [
                asyncio.create_task(outcome_of(cluster.send(1, BEAT))),
                asyncio.create_task(outcome_of(cluster.refresh())),
            ]
            await until(lambda: bool(script.asked(HeartbeatRequest)))
            began_at = asyncio.get_running_loop().time()

        outcomes = await asyncio.gather(*tasks)

        assert all(each.error for each in outcomes)
        assert asyncio.get_running_loop().time() - began_at < AT_ONCE
