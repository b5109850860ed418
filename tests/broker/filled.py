"""Topics with records of which the times are known, and groups as an admin sees them."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import TypeVar

from kafka_aio import Admin, GroupDescription, GroupState, NewTopic, Producer, TopicPartition

T = TypeVar("T")

PATIENCE = 30.0
FIRST = 1_700_000_000_000
"""The time of the first record; the others follow, a second apart."""


def fresh(purpose: str) -> str:
    """A name that nothing has."""
    return f"{purpose}-{uuid.uuid4().hex[:12]}"


async def filled(admin: Admin, partitions: int = 2, records: int = 5) -> list[TopicPartition]:
    """The partitions of a new topic, with records of which we know the time."""
    name = fresh("logs")
    await admin.create_topics([NewTopic(name, partitions)])
    (server,) = admin._config.bootstrap_servers[:1]
    async with Producer(bootstrap_servers=server) as producer:
        for number in range(records):
            for partition in range(partitions):
                await producer.send(
                    name, b"x", partition=partition, timestamp=FIRST + 1_000 * number
                )
    return [TopicPartition(name, number) for number in range(partitions)]


async def described(admin: Admin, group: str) -> GroupDescription:
    found = (await admin.describe_groups([group]))[group]
    assert isinstance(found, GroupDescription), found
    return found


async def state_of(admin: Admin, group: str, state: GroupState) -> GroupDescription:
    """The group, once it has come to that."""
    return await eventually(lambda: described(admin, group), lambda found: found.state is state)


async def eventually(ask: Callable[[], Awaitable[T]], is_so: Callable[[T], bool]) -> T:
    """What a broker says once it is so."""
    async with asyncio.timeout(PATIENCE):
        while not is_so(told := await ask()):  # noqa: ASYNC110 - only the broker knows
            await asyncio.sleep(0.02)
    return told
