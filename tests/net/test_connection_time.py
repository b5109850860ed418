from __future__ import annotations

import asyncio

import pytest

from kafka_aio.errors import (
    KafkaConnectionError,
    KafkaTimeoutError,
)
from kafka_aio.protocol.messages.groups import HeartbeatRequest
from tests.net.exchanges import (
    answer_to,
    errors_of,
    numbered,
    start,
)
from tests.net.server import Broker


async def test_no_answer_in_time_closes_the_connection_and_fails_all_in_flight(
    broker: Broker,
) -> None:
    async with broker.connected(max_in_flight=2) as (connection, peer):
        patient = start(connection, 1)
        hasty = start(connection, 2, seconds=0.05)
        queued = start(connection, 3)

        errors = await errors_of([patient, hasty, queued])

        assert [type(error) for error in errors] == [
            KafkaTimeoutError,
            KafkaTimeoutError,
            KafkaConnectionError,
        ]
        assert [error.indefinite for error in errors] == [True, True, False]
        assert all("no answer to Heartbeat within 0." in str(error) for error in errors)
        await peer.wait_gone()
        assert [asked.message.generation_id for asked in broker.seen] == [1, 2]


async def test_a_request_whose_time_is_over_is_not_sent_and_harms_no_other(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        task = start(connection, 1)
        asked = await broker.next()

        with pytest.raises(KafkaTimeoutError) as caught:
            await connection.send(numbered(2), deadline=asyncio.get_running_loop().time())

        assert not caught.value.indefinite
        asked.answer(answer_to(1))
        assert (await task).error_code == 1
        assert len(broker.seen) == 1


async def test_a_deadline_that_is_now_and_one_after_it_are_both_kept(broker: Broker) -> None:
    # uvloop counts in milliseconds: its timer for a time that is nearer than half of one is another
    # type, without when(), and a request made before it had run failed on that.
    async with broker.connected() as (connection, _):
        now = asyncio.get_running_loop().time()
        version = connection.version_of(HeartbeatRequest)
        at_once = asyncio.ensure_future(connection.exchange(numbered(1), version, deadline=now))
        later = asyncio.ensure_future(connection.exchange(numbered(2), version, deadline=now + 9))

        errors = await errors_of([at_once, later])

        assert [type(error) for error in errors] == [KafkaTimeoutError] * 2


async def test_an_answer_in_time_leaves_the_later_deadlines_alone(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        hasty = start(connection, 1, seconds=0.5)
        patient = start(connection, 2)
        (await broker.next()).answer(answer_to(1))
        await hasty
        asked = await broker.next()
        await asyncio.sleep(0.6)
        asked.answer(answer_to(2))

        assert (await patient).error_code == 2


async def test_a_deadline_after_one_that_was_met_counts_too(broker: Broker) -> None:
    async with broker.connected() as (connection, _):
        met = start(connection, 1, seconds=0.5)
        missed = start(connection, 2, seconds=0.6)
        (await broker.next()).answer(answer_to(1))
        await met

        (error,) = await errors_of([missed])

        assert isinstance(error, KafkaTimeoutError)


async def test_a_drip_fed_answer_closes_the_connection(broker: Broker) -> None:
    async with broker.connected(frame_timeout=0.05) as (connection, peer):
        task = start(connection)
        asked = await broker.next()
        await peer.drip(asked.framed(answer_to(0)), pause=0.02)

        (error,) = await errors_of([task])

        assert isinstance(error, KafkaTimeoutError)
        assert error.indefinite
        assert "a frame was not complete 0.1 s after its first byte" in str(error)
