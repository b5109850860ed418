"""Small exchanges with the scripted broker: what tests of connections ask and are answered."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

from kafka_aio.errors import KafkaError
from kafka_aio.net.connection import Connection
from kafka_aio.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kafka_aio.protocol.messages.groups import HeartbeatRequest, HeartbeatResponse
from kafka_aio.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tests.net.server import PATIENCE, Asked, Broker

MIB = 2**20
MANY_TURNS = [*range(30), *range(30, 100, 10), *range(100, 2_000, 200)]
"""After how many turns of the loop to cancel; threads take part, in their own time."""


class Told:
    """Is called with the answers to requests that nobody awaits, or with why there are none."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.errors: list[KafkaError] = []

    def __len__(self) -> int:
        return len(self.answers) + len(self.errors)

    def __call__(self, response: Any, error: KafkaError | None) -> None:
        if error is None:
            self.answers.append(response)
        else:
            self.errors.append(error)


def numbered(number: int) -> HeartbeatRequest:
    return HeartbeatRequest(group_id="g", generation_id=number, member_id="m")


def answer_to(number: int) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=number)


def start(
    connection: Connection, number: int = 0, *, seconds: float = PATIENCE
) -> asyncio.Task[HeartbeatResponse]:
    """Begin to ask; the answer is the task's result."""
    deadline = asyncio.get_running_loop().time() + seconds
    return asyncio.create_task(connection.send(numbered(number), deadline=deadline))


async def ask(connection: Connection, broker: Broker, number: int = 0) -> HeartbeatResponse:
    """One exchange, to see that all is well."""
    task = start(connection, number)
    (await broker.next()).answer(answer_to(number))
    return await task


def numbers(broker: Broker) -> list[int]:
    """What the broker has seen, in the order in which it came."""
    return [asked.message.generation_id for asked in broker.seen]


def answer_in_kind(asked: Asked) -> None:
    """With its number."""
    asked.answer(answer_to(asked.message.generation_id))


async def answered(broker: Broker) -> None:
    """Answer the next request."""
    answer_in_kind(await broker.next())


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def throttled(milliseconds: int, *, error_code: int = 0) -> HeartbeatResponse:
    return HeartbeatResponse(throttle_time_ms=milliseconds, error_code=error_code)


def seconds_since(moment: float) -> float:
    return asyncio.get_running_loop().time() - moment


async def errors_of(tasks: Iterable[asyncio.Task[Any]]) -> list[KafkaError]:
    """How they fail; they must."""
    async with asyncio.timeout(PATIENCE):
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    errors = [outcome for outcome in outcomes if isinstance(outcome, KafkaError)]
    assert len(errors) == len(outcomes), outcomes
    return errors


def fetched(size: int) -> FetchResponse:
    partition = PartitionData(
        partition_index=0,
        error_code=0,
        high_watermark=1,
        aborted_transactions=None,
        records=bytes(size),
    )
    topic = FetchableTopicResponse(partitions=[partition])
    return FetchResponse(throttle_time_ms=0, responses=[topic])


FETCH = FetchRequest(max_wait_ms=1, min_bytes=1, topics=[])


def produced(size: int) -> ProduceRequest:
    partition = PartitionProduceData(index=0, records=bytes(size))
    topic = TopicProduceData(partition_data=[partition])
    return ProduceRequest(acks=0, timeout_ms=1, topic_data=[topic])


async def cancelled_after(turns: int, dialling: Coroutine[Any, Any, Connection]) -> bool:
    """Cancel a dial after so many turns of the loop. True if it came too late."""
    task = asyncio.create_task(dialling)
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    if task.cancelled():
        return False
    await task.result().aclose()
    return True
