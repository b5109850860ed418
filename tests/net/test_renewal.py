from __future__ import annotations

import asyncio
from math import inf

import pytest

from kafka_aio.errors import AuthenticationError, KafkaConnectionError, KafkaTimeoutError
from kafka_aio.net.limits import Limits
from kafka_aio.protocol.messages.sasl import SaslAuthenticateRequest
from kafka_aio.types import BearerToken
from tests.net.dials import PLAIN, dialer, dialled
from tests.net.exchanges import answer_to, ask, errors_of, start
from tests.net.server import PATIENCE, REFUSED, Broker, authenticated, says, says_nothing, until


@pytest.mark.parametrize("seconds", [10, 3_600])
async def test_a_session_is_renewed_before_its_end(broker: Broker, seconds: int) -> None:
    broker.reactions[SaslAuthenticateRequest] = says(authenticated(lifetime_ms=1_000 * seconds))
    now = asyncio.get_running_loop().time()

    async with dialled(dialer(**PLAIN), broker) as connection:
        assert 0.85 * seconds <= connection.renew_at - now <= 0.95 * seconds + 1


async def test_a_session_is_not_renewed_within_a_second(broker: Broker) -> None:
    broker.reactions[SaslAuthenticateRequest] = says(authenticated(lifetime_ms=500))
    now = asyncio.get_running_loop().time()

    async with dialled(dialer(**PLAIN), broker) as connection:
        assert connection.renew_at >= now + 1.0


async def test_a_session_without_an_end_is_not_renewed(broker: Broker) -> None:
    broker.reactions[SaslAuthenticateRequest] = says(authenticated(lifetime_ms=-5))

    async with dialled(dialer(**PLAIN), broker) as connection:
        assert connection.renew_at == inf


async def test_a_connection_in_use_authenticates_anew(broker: Broker) -> None:
    broker.reactions[SaslAuthenticateRequest] = says(authenticated(lifetime_ms=10_000))
    ours = dialer(**PLAIN)
    async with dialled(ours, broker) as connection:
        before = start(connection, 1)
        asked = await broker.next()
        was_to_be_renewed = connection.renew_at
        renewing = asyncio.create_task(ours.renew(connection))
        await asyncio.sleep(0)
        after = start(connection, 2)
        asked.answer(answer_to(1))  # brokers answer in turn
        await renewing
        (await broker.next()).answer(answer_to(2))

        assert (await before, await after) == (answer_to(1), answer_to(2))
        assert connection.renew_at != was_to_be_renewed
        names = [type(asked.message).__name__.removesuffix("Request") for asked in broker.seen[3:]]
        assert names == ["Heartbeat", "SaslHandshake", "SaslAuthenticate", "Heartbeat"]


async def test_a_renewal_waits_for_the_answers_due_before_it(broker: Broker) -> None:
    broker.reactions[SaslAuthenticateRequest] = says(authenticated(lifetime_ms=10_000))
    ours = dialer(limits=Limits(frame_timeout=0.05), **PLAIN)
    async with dialled(ours, broker) as connection:
        before = start(connection, 1)
        asked = await broker.next()
        renewing = asyncio.create_task(ours.renew(connection))
        await asyncio.wait([renewing], timeout=0.2)  # longer than a renewal may take
        seen = len(broker.seen)
        asked.answer(answer_to(1))
        await renewing

        assert seen == 4  # the three of the dial, and the one that takes long
        assert await before == answer_to(1)
        assert connection.is_open
        assert isinstance(broker.seen[-1].message, SaslAuthenticateRequest)


async def test_a_connection_lost_before_its_renewal_has_begun_says_why(broker: Broker) -> None:
    ours = dialer(**PLAIN)
    async with dialled(ours, broker) as connection:
        before = start(connection, 1)
        await broker.next()
        renewing = asyncio.create_task(ours.renew(connection))
        await asyncio.sleep(0)
        after = start(connection, 2)
        await asyncio.sleep(0)
        broker.peers[0].close()

        errors = await errors_of([before, renewing, after])

        assert all("the broker closed the connection" in str(error) for error in errors)
        assert [error.indefinite for error in errors] == [True, False, False]


async def test_a_renewal_uses_the_token_of_that_moment(broker: Broker) -> None:
    fetched = 0

    async def token() -> BearerToken:
        nonlocal fetched
        fetched += 1
        return BearerToken(f"token-{fetched}", expires_at=1.0)  # of the past: each use fetches

    ours = dialer(sasl_mechanism="OAUTHBEARER", sasl_oauthbearer_token_provider=token)
    async with dialled(ours, broker) as connection:
        before = start(connection, 1)
        asked = await broker.next()
        renewing = asyncio.create_task(ours.renew(connection))
        await until(lambda: fetched == 2)
        asked.answer(answer_to(1))
        await asyncio.gather(before, renewing)

        assert b"token-3" in broker.seen[-1].message.auth_bytes


async def test_a_token_that_cannot_be_had_leaves_the_session_its_time(broker: Broker) -> None:
    broker.reactions[SaslAuthenticateRequest] = says(authenticated(lifetime_ms=9_000))
    fails = False

    async def token() -> BearerToken:
        if fails:
            raise KafkaConnectionError("tokens.example:443: refused")
        return BearerToken("a-token", expires_at=1.0)  # of the past: each use fetches

    loop = asyncio.get_running_loop()
    ours = dialer(sasl_mechanism="OAUTHBEARER", sasl_oauthbearer_token_provider=token)
    async with dialled(ours, broker) as connection:
        ends_at = connection.session_ends_at
        fails = True
        begun_at = loop.time()
        await ours.renew(connection)  # as if it were time
        again_at, now = connection.renew_at, loop.time()
        still_works = await ask(connection, broker, 1)
        seen = len(broker.seen)
        fails = False
        await asyncio.sleep(0.01)  # the clock of a loop may stand still for a millisecond
        await ours.renew(connection)

        assert begun_at + 1.0 <= again_at <= now + 1.0
        assert still_works == answer_to(1)
        assert seen == 4
        assert connection.session_ends_at > ends_at
        assert connection.is_open


async def test_the_last_attempt_to_have_a_token_is_at_the_end_of_the_session(
    broker: Broker,
) -> None:
    broker.reactions[SaslAuthenticateRequest] = says(authenticated(lifetime_ms=200))
    fails = False

    async def token() -> BearerToken:
        if fails:
            raise KafkaConnectionError("tokens.example:443: refused")
        return BearerToken("a-token", expires_at=1.0)

    ours = dialer(sasl_mechanism="OAUTHBEARER", sasl_oauthbearer_token_provider=token)
    async with dialled(ours, broker) as connection:
        fails = True
        await ours.renew(connection)
        again_at = connection.renew_at
        still_open = connection.is_open
        await connection.wait_closed(until=again_at + 0.01)
        with pytest.raises(KafkaConnectionError, match=r"tokens\.example:443: refused"):
            await ours.renew(connection)

        assert again_at == connection.session_ends_at
        assert still_open
        assert not connection.is_open


async def test_a_connection_that_may_not_go_on_is_closed(broker: Broker) -> None:
    ours = dialer(**PLAIN)
    async with dialled(ours, broker) as connection:
        broker.reactions[SaslAuthenticateRequest] = says_nothing
        renewing = asyncio.create_task(ours.renew(connection))
        await until(lambda: len(broker.seen) == 5)
        waiting = start(connection, 1)
        await asyncio.sleep(0)
        broker.seen[-1].answer(REFUSED)

        errors = await errors_of([renewing, waiting])

        assert all(isinstance(error, AuthenticationError) for error in errors)
        assert not connection.is_open
        assert len({id(error) for error in [*errors, connection.error]}) == 3


async def test_a_renewal_that_is_not_answered_closes_the_connection(broker: Broker) -> None:
    ours = dialer(limits=Limits(frame_timeout=0.05), **PLAIN)
    async with dialled(ours, broker) as connection:
        broker.reactions[SaslAuthenticateRequest] = says_nothing

        with pytest.raises(KafkaTimeoutError, match="no answer to SaslAuthenticate"):
            await ours.renew(connection)

        assert not connection.is_open


async def test_a_renewal_that_is_cancelled_closes_the_connection(broker: Broker) -> None:
    ours = dialer(**PLAIN)
    async with dialled(ours, broker) as connection:
        broker.reactions[SaslAuthenticateRequest] = says_nothing
        renewing = asyncio.create_task(ours.renew(connection))
        await until(lambda: len(broker.seen) == 5)
        waiting = start(connection, 1)
        await asyncio.sleep(0)
        renewing.cancel()

        (error,) = await errors_of([waiting])

        assert renewing.cancelled()
        assert not error.indefinite
        assert not connection.is_open  # the broker waits for the rest, and takes nothing else


async def test_who_waits_for_a_token_does_not_hold_the_others_back(broker: Broker) -> None:
    may_have_it = asyncio.Event()
    may_have_it.set()

    async def token() -> BearerToken:
        await may_have_it.wait()
        return BearerToken("a-token", expires_at=1.0)  # of the past: each use fetches

    ours = dialer(sasl_mechanism="OAUTHBEARER", sasl_oauthbearer_token_provider=token)
    async with dialled(ours, broker) as connection:
        may_have_it.clear()
        renewing = asyncio.create_task(ours.renew(connection))
        await asyncio.sleep(0)
        task = start(connection, 1)
        (await broker.next()).answer(answer_to(1))
        answer = await task
        may_have_it.set()
        await renewing

        assert answer == answer_to(1)


async def test_a_renewal_waits_no_longer_for_a_token_than_for_an_answer(broker: Broker) -> None:
    broker.reactions[SaslAuthenticateRequest] = says(authenticated(lifetime_ms=60_000))
    may_have_it = asyncio.Event()
    may_have_it.set()

    async def token() -> BearerToken:
        await may_have_it.wait()
        return BearerToken("a-token", expires_at=1.0)

    limits = Limits(frame_timeout=0.05)
    ours = dialer(
        limits=limits, sasl_mechanism="OAUTHBEARER", sasl_oauthbearer_token_provider=token
    )
    async with dialled(ours, broker) as connection:
        may_have_it.clear()

        async with asyncio.timeout(PATIENCE):
            await ours.renew(connection)

        assert connection.renew_at < connection.session_ends_at
        assert connection.is_open
        may_have_it.set()
