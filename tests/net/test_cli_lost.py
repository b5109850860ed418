"""A command whose answer is lost on its way."""

from __future__ import annotations

import asyncio

import pytest

from kafka_aio.protocol.messages.topics import CreateTopicsRequest
from tests.net.server import Broker, closes
from tests.unit.cli.shell import Outcome, spawn

UNSURE = "it may have been carried out, so look before you repeat it"

pytestmark = pytest.mark.loop("asyncio")  # the client has a loop of its own


async def create(broker: Broker, *more: object) -> Outcome:
    broker.reactions[CreateTopicsRequest] = closes
    async with broker.listening():
        address = f"127.0.0.1:{broker.port}"
        argv = ("topics", "create", "orders", "-b", address, "--timeout", 1.5, *more)
        return await asyncio.to_thread(spawn, *argv)


async def test_a_change_that_was_lost_may_have_been_made_and_is_not_repeated() -> None:
    broker = Broker()
    outcome = await create(broker)

    assert (outcome.code, outcome.out) == (3, "")
    assert "the broker closed the connection" in outcome.err
    assert UNSURE in outcome.err
    assert sum(isinstance(each.message, CreateTopicsRequest) for each in broker.seen) == 1


async def test_what_changes_nothing_is_tried_until_the_time_is_over() -> None:
    broker = Broker()
    outcome = await create(broker, "--dry-run")

    assert outcome.code == 3
    assert "create_topics: not done in time, after" in outcome.err
    assert UNSURE not in outcome.err
    assert sum(isinstance(each.message, CreateTopicsRequest) for each in broker.seen) > 1
