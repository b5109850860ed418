"""Behaviours B53 and B56: callbacks that take longer than `max_poll_interval_ms` allows."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from typing import Any

import pytest

from kafka_aio import Consumer
from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import CommitFailed
from kafka_aio.types import TopicPartition
from tests.scenarios.consumer.committing import failure, now, on_virtual_time
from tests.scenarios.consumer.grouped import (
    PROTOCOLS,
    Notes,
    joined,
    member,
    members,
    numbers,
    reading,
    until,
)

by_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)
IN_TIME = {"max_poll_interval_ms": 60_000}
T0 = TopicPartition("t", 0)


class Hangs(Notes):
    """Its callbacks of that name take so many seconds, and are noted at their end."""

    def __init__(self, hung: str, seconds: float = 0.0) -> None:
        super().__init__()
        self.hung = hung
        self.seconds = seconds
        self.running = 0
        self.most_running = 0

    async def _take(self, what: str, partitions: Collection[TopicPartition]) -> None:
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await asyncio.sleep(self.seconds if what == self.hung else 0)
            self._note(what, partitions)
        finally:
            self.running -= 1

    async def revoked(self, partitions: Any) -> None:
        await self._take("revoked", partitions)

    async def assigned(self, partitions: Any) -> None:
        await self._take("assigned", partitions)

    async def lost(self, partitions: Any) -> None:
        await self._take("lost", partitions)


def loud(caplog: pytest.LogCaptureFixture) -> list[str]:
    texts = (each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING)
    return [text for text in texts if "max_poll_interval_ms" in text]


@by_protocol
@pytest.mark.parametrize("timeout", [None, 0.5])
@on_virtual_time
async def test_who_hangs_in_assigned_leaves_and_loses_all_when_that_ends(
    protocol: str, timeout: float | None, caplog: pytest.LogCaptureFixture
) -> None:
    hung = Hangs("assigned", 200)

    async def poll(consumer: Consumer[Any, Any]) -> None:
        while True:
            await consumer.poll(timeout=timeout)

    async with (
        EmbeddedBroker(topics={"t": 2}) as broker,
        member(broker, protocol, hung, **IN_TIME) as first,
        member(broker, protocol, **IN_TIME) as second,
    ):
        polling = asyncio.ensure_future(poll(first))
        await asyncio.sleep(50)
        before = members(broker)
        await asyncio.sleep(50)
        left, health, said = members(broker), first.health(), loud(caplog)
        late = await failure(first.commit({T0: 0}))
        with reading(second):
            await asyncio.sleep(5)
            theirs, told = numbers(second), list(hung.told)
            hung.seconds = 0
            await until(lambda: len(numbers(first)) == len(numbers(second)) == 1)
            await asyncio.sleep(2)
            after = first.health()
        polling.cancel()

    assert (before, left, theirs, told) == (1, 0, [0, 1], [])
    assert hung.told[:2] == [("assigned", [0, 1]), ("lost", [0, 1])]
    assert [what for what, _ in hung.told[2:]] == ["assigned", "revoked"]
    assert hung.most_running == 1
    assert isinstance(late, CommitFailed)
    assert not health.is_healthy
    for text in ("the callback 'assigned' has not ended", "max_poll_interval_ms=60000"):
        assert text in health.reason
    assert "asked" not in health.reason
    assert after.is_healthy
    assert len(said) == 1
    for text in ("group 'g'", "'assigned'", " 60.0 s", "max_poll_interval_ms=60000"):
        assert text in said[0]


@by_protocol
@on_virtual_time
async def test_who_hangs_in_revoked_leaves_and_loses_the_rest_when_that_ends(
    protocol: str,
) -> None:
    hung = Hangs("revoked", 200)
    gone = [0, 1] if protocol == "classic" else [1]

    async with (
        EmbeddedBroker(topics={"t": 2}) as broker,
        joined(broker, protocol, hung, **IN_TIME) as first,
        member(broker, protocol, **IN_TIME) as second,
    ):
        with reading(first, second):
            await asyncio.sleep(90)
            theirs, left, told = numbers(second), members(broker), list(hung.told)
            hung.seconds = 0
            await until(lambda: len(numbers(first)) == len(numbers(second)) == 1, within=200)

    assert (theirs, left, told) == ([0, 1], 1, [("assigned", [0, 1])])
    revoked, *rest = hung.told[1:]
    assert revoked[0] == "revoked"
    assert len(revoked[1]) == len(gone)
    if protocol != "classic":
        lost = rest.pop(0)
        assert lost[0] == "lost"
        assert sorted(revoked[1] + lost[1]) == [0, 1]
    assert [what for what, _ in rest] == ["assigned", "revoked"]
    assert hung.most_running == 1


@by_protocol
@on_virtual_time
async def test_a_callback_has_all_of_the_interval(protocol: str) -> None:
    slow = Hangs("assigned", 59.5)
    async with (
        EmbeddedBroker(topics={"t": 2}) as broker,
        member(broker, protocol, slow, **IN_TIME) as first,
    ):
        with reading(first):
            await asyncio.sleep(200)
            told, left = list(slow.told), members(broker)

    assert (told, left) == ([("assigned", [0, 1])], 1)


@by_protocol
@on_virtual_time
async def test_nothing_is_handed_over_between_the_end_of_the_callback_and_the_loss(
    protocol: str,
) -> None:
    got: list[int] = []

    class Counts(Hangs):
        """Notes how many records came before."""

        def _note(self, what: str, partitions: Collection[TopicPartition]) -> None:
            self.log.append((self.name, what, [len(got)]))

    async def read_slowly(consumer: Consumer[Any, Any]) -> None:
        async for record in consumer:
            got.append(record.offset)
            await asyncio.sleep(1)

    hung = Counts("assigned")
    async with EmbeddedBroker(topics={"t": 2}) as broker:
        for partition in range(2):
            broker.produce("t", [b"a"] * 500, partition=partition)
        async with (
            joined(broker, protocol, hung, max_poll_records=1, **IN_TIME) as first,
            member(broker, protocol, **IN_TIME) as second,
        ):
            with reading(second):
                await until(lambda: len(numbers(first)) == len(numbers(second)) == 1, first)
            slow = asyncio.ensure_future(read_slowly(first))
            await asyncio.sleep(20)
            hung.log.clear()
            hung.seconds = 100
            await second.aclose()
            await until(lambda: [what for what, _ in hung.told][-2:] == ["assigned", "lost"])
            slow.cancel()
            assert len(got) < 500

    assert hung.told[-1][1] == hung.told[-2][1]


@by_protocol
@on_virtual_time
async def test_who_is_out_for_a_callback_that_hangs_can_close(protocol: str) -> None:
    hung = Hangs("assigned", 1_000)
    async with EmbeddedBroker(topics={"t": 2}) as broker:
        first = member(broker, protocol, hung, **IN_TIME)
        await first.start()
        with reading(first):
            await asyncio.sleep(100)
        start = now()
        error = await failure(first.aclose(timeout=5))

        assert now() - start < 5.5
        assert "'lost' did not end in time" in str(error)
        assert hung.told == []
