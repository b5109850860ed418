"""Our own clients on virtual time, against brokers that the tests script."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from kafka_aio.admin import Admin
from kafka_aio.config import AdminConfig
from kafka_aio.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError
from kafka_aio.net.tokens import Tokens
from kafka_aio.protocol.messages.groups import HeartbeatRequest, HeartbeatResponse
from kafka_aio.protocol.messages.metadata import MetadataRequest
from kafka_aio.testing import run
from kafka_aio.types import BearerToken
from tests.net.clusters import scripted
from tests.net.server import falls_silent, says
from tests.unit.testing.processes import printed
from tests.unit.testing.weather import BEAT, joined, loop, network, story

HOUR = 3_600.0


def test_a_request_that_nobody_answers_fails_after_its_thirty_seconds() -> None:
    async def main() -> float:
        async with scripted(1) as script, joined(script.bootstrap()) as cluster:
            script.react(HeartbeatRequest, falls_silent)
            before = loop().time()
            with pytest.raises(KafkaTimeoutError, match="Heartbeat"):
                await cluster.send(1, BEAT)
            return loop().time() - before

    assert run(main()) == pytest.approx(30.0)


def test_an_idle_connection_is_closed_after_minutes_and_dialled_again_after_hours() -> None:
    async def main() -> list[int]:
        async with scripted(1) as script:
            script.react(HeartbeatRequest, says(HeartbeatResponse(error_code=0)))
            options = {"connections_max_idle_ms": 540_000, "metadata_max_age_ms": 36_000_000}
            async with joined(script.bootstrap(), **options) as cluster:
                await cluster.send(1, BEAT)
                open_at = [len(network().connections)]
                await asyncio.sleep(8 * 60)
                open_at.append(len(network().connections))
                await asyncio.sleep(2 * HOUR)
                open_at.append(len(network().connections))
                await cluster.send(1, BEAT)
                return [*open_at, len(network().connections)]

    before, still, after, again = run(main())

    assert before == still >= 1
    assert (after, again) == (0, 1)


def test_metadata_is_refreshed_every_five_minutes_for_a_day() -> None:
    async def main() -> int:
        async with scripted(1) as script, joined(script.bootstrap()):
            before = len(script.asked(MetadataRequest))
            await asyncio.sleep(24 * HOUR)
            return len(script.asked(MetadataRequest)) - before

    assert run(main()) in (287, 288)


def test_a_cluster_behind_a_broken_cable_is_found_again() -> None:
    async def main() -> tuple[list[str], int]:
        async with scripted(3) as script, joined(script.bootstrap()) as cluster:
            script.react(HeartbeatRequest, says(HeartbeatResponse(error_code=0)))
            errors = []
            with network().black_hole():
                for _ in range(20):
                    try:
                        await cluster.send_any(BEAT)
                    except KafkaError as error:
                        errors.append(type(error).__name__)
                await asyncio.sleep(HOUR)
            async with asyncio.timeout(60):
                await cluster.send_any(BEAT, timeout=60)
            return errors, len(script.asked(HeartbeatRequest))

    errors, answered = run(main())

    assert len(errors) == 20
    assert answered >= 1


def test_a_bootstrap_server_that_refuses_is_named() -> None:
    async def main() -> str:
        admin = Admin(bootstrap_servers="127.0.0.1:9092,kafka.example:9093")
        with pytest.raises(KafkaConnectionError) as caught:
            await admin.start()
        return str(caught.value)

    text = run(main(), hosts={"kafka.example": ["10.0.0.1", "10.0.0.2"]})

    assert "127.0.0.1:9092: connection refused" in text
    assert "10.0.0.1: connection refused; 10.0.0.2: connection refused" in text


def test_tokens_are_renewed_by_the_virtual_wall_clock() -> None:
    async def main() -> list[float]:
        made_at: list[float] = []

        async def provide() -> BearerToken:
            made_at.append(loop().wall_time())
            return BearerToken("secret", expires_at=loop().wall_time() + HOUR)

        config = AdminConfig.from_options(
            {
                "bootstrap_servers": "localhost:9092",
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "OAUTHBEARER",
                "sasl_oauthbearer_token_provider": provide,
            }
        )
        tokens = Tokens(config, rng=loop().rng)
        await tokens.token()
        task = asyncio.create_task(tokens.keep_fresh())
        await asyncio.sleep(24 * HOUR)
        task.cancel()
        await asyncio.wait([task])
        return [later - earlier for earlier, later in pairwise(made_at)]

    lives = run(main())

    assert len(lives) >= 24
    assert all(0.8 * HOUR <= life <= HOUR for life in lives)


def test_bad_weather_is_the_same_for_the_same_seed_in_each_process() -> None:
    here = story(5)

    assert here == printed("tests.unit.testing.weather", seed=5, hash_seed=3)
    assert here != story(6)
    outcomes = [line.split()[-1] for line in here if "request" in line]
    assert len(outcomes) > 200
    assert set(outcomes) > {"answered"}
    assert outcomes.count("answered") > len(outcomes) / 2
