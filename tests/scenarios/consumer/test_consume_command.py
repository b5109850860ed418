"""`kafka-aio consume --stop-at-end` as a member of a group: when has it come to the end?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.cli.consume import Wanted
from kafka_aio.cli.consume_output import Form
from kafka_aio.cli.consuming import LEFT_OUT, Output, Work
from kafka_aio.cli.places import END
from kafka_aio.consumer.consumer import Consumer
from tests.scenarios.consumer.committing import now, on_virtual_time
from tests.scenarios.consumer.grouped import GROUP, PROTOCOLS, member, options_of, reading, until

by_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)


@asynccontextmanager
async def stopping_at_end(
    broker: EmbeddedBroker, protocol: str, file: Path
) -> AsyncIterator[tuple[Consumer[Any, Any], asyncio.Task[None]]]:
    """The command at work."""
    servers = {"bootstrap_servers": broker.bootstrap_servers, "auto_offset_reset": "earliest"}
    async with Consumer(group_id=GROUP, **servers, **options_of(protocol)) as consumer:
        with FileIO(file, "w") as out:
            wanted = Wanted(topics=("t",), group=GROUP, end=END)
            work = Work(consumer, wanted, Output(Form(), out))
            await work.begin(10)
            task = asyncio.create_task(work.write_all())
            try:
                yield consumer, task
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)


@by_protocol
@on_virtual_time
async def test_a_member_that_is_given_nothing_ends_too(protocol: str, tmp_path: Path) -> None:
    served_first = {"group_instance_id": "a"}
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        member(broker, protocol, **served_first) as first,
    ):
        with reading(first):
            await until(first.assignment)
            began_at = now()
            async with stopping_at_end(broker, protocol, tmp_path / "out") as (second, task):
                await asyncio.wait_for(task, 60)
                assert not second.assignment()

            assert now() - began_at >= LEFT_OUT


@on_virtual_time
async def test_a_rebalance_is_not_the_end(tmp_path: Path) -> None:
    async with EmbeddedBroker(topics={"t": 2}) as broker:
        broker.produce("t", [b"one"], partition=0)
        broker.produce("t", [b"two"], partition=1)
        fetching = broker.faults.hold("Fetch")
        async with stopping_at_end(broker, "classic", tmp_path / "out") as (consumer, task):
            await until(lambda: len(consumer.assignment()) == 2)
            broker.faults.delay("JoinGroup", seconds=5)
            async with member(broker) as second:
                with reading(second):
                    await until(lambda: not consumer.assignment())
                    await until(lambda: consumer.assignment() or task.done())

                    assert not task.done()
                    fetching.release()
                    await asyncio.wait_for(task, 60)

    assert (tmp_path / "out").read_bytes() in (b"one\n", b"two\n")
