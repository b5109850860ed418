"""A member of a group as a process, which says what happens to it: `python -m tests.groups.member`.

It prints a line of JSON for each event, in the form of Kafka's VerifiableConsumer, so that Java's
can take its place. What ours adds: the moment in nanoseconds (`at`), the generation, and whether
partitions were lost. Logs go to stderr. SIGTERM ends it in order.

What it has read it says before it asks for more: whoever kills it knows all that it may have
committed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from kafka_aio import (
    CommitFailed,
    Consumer,
    KafkaError,
    OffsetAndMetadata,
    TopicPartition,
    WakeupError,
)
from kafka_aio.consumer.record import ReadRecord

AUTO_COMMIT = 0.2
Batch = Iterable[ReadRecord[bytes, bytes]]


def say(name: str, **details: Any) -> None:
    """One line, whole or not at all: what is killed has not begun another."""
    at = time.time_ns()
    event = {"timestamp": at // 1_000_000, "name": name, "at": at}
    os.write(sys.stdout.fileno(), (json.dumps(event | details) + "\n").encode())


def named(partitions: Iterable[TopicPartition]) -> list[dict[str, Any]]:
    return [{"topic": each.topic, "partition": each.partition} for each in sorted(partitions)]


def say_consumed(records: Batch) -> None:
    """How far each partition was read; and which records are not what was written there."""
    offsets: dict[TopicPartition, list[int]] = defaultdict(list)
    for record in records:
        offsets[TopicPartition(record.topic, record.partition)].append(record.offset)
        if record.value != b"%d" % record.offset:
            say("wrong_record", offset=record.offset, value=repr(record.value))
    say_offsets(offsets)


def say_offsets(offsets: Mapping[TopicPartition, list[int]]) -> None:
    summaries = [
        {
            "topic": name.topic,
            "partition": name.partition,
            "count": len(found),
            "minOffset": found[0],
            "maxOffset": found[-1],
        }
        for name, found in offsets.items()
    ]
    say("records_consumed", count=sum(map(len, offsets.values())), partitions=summaries)


class Interceptor:
    """Hears of every commit that succeeded, whoever has made it."""

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        say_committed(offsets)


def say_committed(
    offsets: Mapping[TopicPartition, OffsetAndMetadata], error: str | None = None
) -> None:
    said = [
        {"topic": name.topic, "partition": name.partition, "offset": each.offset}
        for name, each in offsets.items()
    ]
    reason = {} if error is None else {"error": error}
    say("offsets_committed", success=error is None, offsets=said, **reason)


class Member:
    """Reads, commits, and says so. It is its own listener."""

    def __init__(self, consumer: Consumer, *, commits: bool) -> None:
        self._consumer = consumer
        self._commits = commits
        self._read: dict[TopicPartition, OffsetAndMetadata] = {}

    async def assigned(self, partitions: tuple[TopicPartition, ...]) -> None:
        me = self._consumer.group_metadata()
        said = named(partitions)
        say(
            "partitions_assigned",
            partitions=said,
            generation=me.generation_id,
            member=me.member_id,
            instance=me.group_instance_id,
            assignment=named(self._consumer.assignment()),
        )

    async def revoked(self, partitions: tuple[TopicPartition, ...]) -> None:
        await self.commit()
        self._gone(partitions, lost=False)

    def lost(self, partitions: tuple[TopicPartition, ...]) -> None:
        self._gone(partitions, lost=True)

    def _gone(self, partitions: tuple[TopicPartition, ...], *, lost: bool) -> None:
        for each in partitions:
            self._read.pop(each, None)
        say("partitions_revoked", partitions=named(partitions), lost=lost)

    async def read(self, batches: AsyncIterator[Batch], *, dies_at: int | None = None) -> None:
        async for records in batches:
            say_consumed(records)
            if any(record.offset == dies_at for record in records):
                await asyncio.sleep(5 * AUTO_COMMIT)
                os.kill(os.getpid(), signal.SIGKILL)
            for record in records:
                name = TopicPartition(record.topic, record.partition)
                self._read[name] = OffsetAndMetadata(record.offset + 1)
            await self.commit()

    async def commit(self) -> None:
        """What was read; one that fails is made up for by the next."""
        if not (self._commits and self._read):
            return
        offsets = dict(self._read)
        try:
            await self._consumer.commit(offsets)
        except (CommitFailed, KafkaError) as error:
            say_committed(offsets, f"{type(error).__name__}: {error}")


async def by_polls(consumer: Consumer) -> AsyncIterator[Batch]:
    while True:
        found = await consumer.poll(max_records=100)
        yield [record for records in found.values() for record in records]


async def by_records(consumer: Consumer) -> AsyncIterator[Batch]:
    async for record in consumer:
        yield [record]


def options_of(arguments: argparse.Namespace) -> dict[str, Any]:
    options: dict[str, Any] = {
        "bootstrap_servers": arguments.bootstrap_server,
        "group_id": arguments.group_id,
        "group_protocol": arguments.group_protocol,
        "group_instance_id": arguments.group_instance_id,
        "group_remote_assignor": arguments.group_remote_assignor,
        "enable_auto_commit": arguments.enable_autocommit,
        "auto_commit_interval_ms": int(1_000 * AUTO_COMMIT),
        "auto_offset_reset": arguments.reset_policy,
        "interceptors": [Interceptor()],
        "metadata_max_age_ms": 5_000,
        "client_id": f"member-{os.getpid()}",
    }
    if arguments.group_protocol == "classic":
        options["partition_assignment_strategy"] = [arguments.assignment_strategy]
        options["session_timeout_ms"] = arguments.session_timeout
        options["heartbeat_interval_ms"] = arguments.session_timeout // 10
    return options


async def run(arguments: argparse.Namespace) -> None:
    consumer: Consumer = Consumer(**options_of(arguments))
    member = Member(consumer, commits=not arguments.enable_autocommit)
    async with consumer:
        consumer.subscribe([arguments.topic], member)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, consumer.wakeup)
        say("startup_complete")
        batches = by_records(consumer) if arguments.by_records else by_polls(consumer)
        try:
            await member.read(batches, dies_at=arguments.dies_at)
        except WakeupError:
            await member.commit()
    say("shutdown_complete")


def arguments_of() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap-server", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--group-id", required=True)
    parser.add_argument("--group-instance-id")
    parser.add_argument("--group-protocol", default="classic")
    parser.add_argument("--group-remote-assignor")
    parser.add_argument("--assignment-strategy", default="range")
    parser.add_argument("--session-timeout", type=int, default=6_000)
    parser.add_argument("--enable-autocommit", action="store_true")
    parser.add_argument("--by-records", action="store_true")
    parser.add_argument("--reset-policy", default="earliest")
    parser.add_argument("--dies-at", type=int, help="an offset: SIGKILL while it is dealt with")
    return parser.parse_args()


def main() -> None:
    arguments = arguments_of()
    logging.basicConfig(level=os.environ.get("LEVEL", "WARNING"))
    try:
        asyncio.run(run(arguments))
    except KafkaError as error:
        say("failed", error=type(error).__name__, text=str(error))
        sys.exit(1)


if __name__ == "__main__":
    main()
