"""Starts members of a group, ends them in every way, keeps what they said; and a steady load."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from kafka_aio import Delivery, Producer
from tests.groups.checker import Broken, Event, Partition, again, check, partitions_of
from tests.kafka import jvm
from tests.kafka.process import Process

PATIENCE = 45.0
"""Seconds until what should happen has happened; the machine may be busy."""
OURS = (sys.executable, "-m", "tests.groups.member")
CONFLUENT = (sys.executable, "-m", "tests.groups.confluent_member")
JAVA = "org.apache.kafka.tools.VerifiableConsumer"
_ROOT = Path(__file__).parents[2]


class Watched:
    """A member that runs, or ran, and what it has said.

    Attributes:
        options: What it was told.
        ended_at: When it was known to be no more, in nanoseconds of the clock; None while it runs.
    """

    def __init__(self, name: str, command: Sequence[str], folder: Path) -> None:
        self.name = name
        self.options: dict[str, Any] = {}
        self.ended_at: int | None = None
        self._log = folder / f"{name}.log"
        self._read = 0
        self._events: list[Event] = []
        environment = jvm.environment() | {"PYTHONPATH": str(_ROOT)}
        self._process = Process(command, environment=environment, log=self._log)

    def __repr__(self) -> str:
        state = "runs" if self.is_running else "has ended"
        return f"<{self.name} {state}, {sorted(self.assignment)}>"

    @property
    def is_running(self) -> bool:
        return self.ended_at is None and self._process.is_running

    @property
    def events(self) -> list[Event]:
        """All that it has said up to now; what it logs is left out."""
        with self._log.open("rb") as file:
            file.seek(self._read)
            new = file.read()
        whole, _, _ = new.rpartition(b"\n")
        if whole:
            self._read += len(whole) + 1
            said = [line for line in whole.split(b"\n") if line.startswith(b'{"')]
            self._events += map(json.loads, said)
        return self._events

    def named(self, name: str) -> list[Event]:
        return [event for event in self.events if event["name"] == name]

    @property
    def assignment(self) -> set[Partition]:
        """What it has, as it says."""
        owned: set[Partition] = set()
        for event in self.events:
            if event["name"] == "partitions_assigned":
                owned |= set(partitions_of(event))
            elif event["name"] == "partitions_revoked":
                owned -= set(partitions_of(event))
        return owned

    @property
    def rebalances(self) -> int:
        """How often partitions came or went."""
        return len(self.named("partitions_assigned")) + len(self.named("partitions_revoked"))

    def log(self) -> str:
        """What it printed beside its events, and the last of them."""
        text = self._log.read_text(errors="replace")
        lines = [line for line in text.splitlines() if not line.startswith('{"')]
        return "\n".join([*lines[-40:], *(str(event)[:300] for event in self.events[-8:])])

    def pause(self) -> None:
        self._process.pause()

    def resume(self) -> None:
        self._process.resume()

    def stop(self) -> None:
        """An orderly end: SIGTERM."""
        self._process.stop()
        self.ended_at = time.time_ns()

    def kill(self) -> None:
        """The end, at once: SIGKILL."""
        self._process.kill()
        self.ended_at = time.time_ns()


class Group:
    """The members of one group that share one topic."""

    def __init__(
        self, folder: Path, bootstrap: str, topic: str, partitions: int, **options: Any
    ) -> None:
        """
        Args:
            folder: Where members log.
            bootstrap: The cluster.
            topic: What they read.
            partitions: How many the topic has.
            options: What all members are told: `group_protocol` is `--group-protocol`. With
                `is_static` each has an instance id.
        """
        self.id = f"group-of-{topic}"
        self.members: list[Watched] = []
        self._is_static = options.pop("is_static", False)
        self._options = options
        self._folder = folder
        self._bootstrap = bootstrap
        self._topic = topic
        self._partitions = {(topic, number) for number in range(partitions)}

    async def start(self, command: Sequence[str] = OURS, **options: Any) -> Watched:
        """Another member, with options of its own."""
        name = f"member-{len(self.members)}"
        given = {"bootstrap_server": self._bootstrap, "topic": self._topic, "group_id": self.id}
        if self._is_static:
            given["group_instance_id"] = f"instance-of-{name}"
        options = {**given, **self._options, **options}
        arguments = [*command, *_arguments(options)]
        member = await asyncio.to_thread(Watched, name, arguments, self._folder)
        member.options = options
        self.members.append(member)
        return member

    async def start_java(self, **options: Any) -> Watched:
        """The consumer of Kafka's own tests; its options are those of ours."""
        command = jvm.command(JAVA, scratch=self._folder)
        return await self.start(command, reset_policy="earliest", **options)

    async def start_again(self, member: Watched) -> Watched:
        """Another in the place of one of ours that has ended, of the same name if it is static."""
        is_new_protocol = member.options.get("group_protocol") == "consumer"
        if self._is_static and is_new_protocol and not member.named("shutdown_complete"):
            await self.wait_shared_out()  # brokers give nobody its name before it is missed
        return await self.start(**member.options)

    @property
    def running(self) -> list[Watched]:
        return [member for member in self.members if member.is_running]

    async def stop(self, *members: Watched) -> None:
        await asyncio.gather(*(asyncio.to_thread(member.stop) for member in members))

    async def kill(self, *members: Watched) -> None:
        await asyncio.gather(*(asyncio.to_thread(member.kill) for member in members))

    async def wait(self, what: str, is_true: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Until it is true; an error with all that the members say, if that takes too long."""
        deadline = time.monotonic() + seconds
        while not is_true():
            if time.monotonic() > deadline:
                said = "\n".join(f"--- {each!r}\n{each.log()}" for each in self.members)
                raise AssertionError(f"not in {seconds} s: {what}\n{said}")
            await asyncio.sleep(0.05)

    async def wait_shared_out(self) -> None:
        """Until each partition is one member's, and no member goes without."""
        await self.wait("all partitions are shared out", self._is_shared_out)

    def _is_shared_out(self) -> bool:
        shares = [member.assignment for member in self.running]
        owned = [name for share in shares for name in share]
        return all(shares) and len(owned) == len(set(owned)) and set(owned) == self._partitions

    async def wait_read(self, written: Mapping[Partition, int]) -> None:
        """Until somebody has read the end of each partition."""
        await self.wait(f"all is read of {written}", lambda: self._is_read(written))

    def _is_read(self, written: Mapping[Partition, int]) -> bool:
        reached: dict[Partition, int] = defaultdict(int)
        for member in self.members:
            for event in member.named("records_consumed"):
                for each in event["partitions"]:
                    name = (each["topic"], each["partition"])
                    reached[name] = max(reached[name], each["maxOffset"] + 1)
        return all(reached[name] >= end for name, end in written.items())

    def check(self, written: Mapping[Partition, int] | None = None) -> list[Broken]:
        """What was broken; a member that has ended by itself is one that is broken."""
        said = {member.name: member.events for member in self.members}
        now = time.time_ns()
        broken = check(said, {each.name: each.ended_at or now for each in self.members}, written)
        return broken + [
            Broken("ended", member.name, None, member.log())
            for member in self.members
            if member.ended_at is None and not member.is_running
        ]

    @property
    def again(self) -> int:
        """How many records were read more than once."""
        return again({member.name: member.events for member in self.members})

    def log(self) -> str:
        return "\n".join(f"--- {each!r}\n{each.log()}" for each in self.members)


def _arguments(options: Mapping[str, Any]) -> list[str]:
    found = []
    for name, value in options.items():
        if value is True:
            found.append(f"--{name.replace('_', '-')}")
        elif value not in (None, False):
            found += [f"--{name.replace('_', '-')}", str(value)]
    return found


@asynccontextmanager
async def group_of(
    folder: Path, bootstrap: str, topic: str, partitions: int, **options: Any
) -> AsyncIterator[Group]:
    """A group; at the end, nobody is left of it."""
    group = Group(folder, bootstrap, topic, partitions, **options)
    try:
        yield group
    finally:
        await group.kill(*group.running)


class Load:
    """Records that come evenly: the value of each is its offset.

    Attributes:
        written: The offset after the last record of each partition that was acknowledged.
    """

    def __init__(self, producer: Producer, topic: str, partitions: int, rate: float) -> None:
        self.written: dict[Partition, int] = {}
        self._producer = producer
        self._topic = topic
        self._partitions = partitions
        self._rate = rate
        self._stop = asyncio.Event()

    async def run(self) -> None:
        """Write, until `stop`; then until all is acknowledged."""
        loop = asyncio.get_running_loop()
        began_at, sent = loop.time(), 0
        deliveries: list[Delivery] = []
        while not self._stop.is_set():
            number, partition = divmod(sent, self._partitions)
            deliveries.append(
                await self._producer.submit(self._topic, b"%d" % number, partition=partition)
            )
            sent += 1
            early = began_at + sent / self._rate - loop.time()
            if early > 0.005:
                await asyncio.sleep(early)
        for delivery in deliveries:
            at = await delivery
            self.written[self._topic, at.partition] = at.offset + 1

    def stop(self) -> None:
        self._stop.set()


@asynccontextmanager
async def load_of(
    bootstrap: str, topic: str, partitions: int, rate: float = 300.0
) -> AsyncIterator[Load]:
    """A load that goes on during the block; afterwards `written` is complete."""
    async with (
        Producer(
            bootstrap_servers=bootstrap,
            delivery_timeout_ms=120_000,
            max_block_ms=120_000,
            request_timeout_ms=5_000,
        ) as producer,
        asyncio.TaskGroup() as tasks,
    ):
        load = Load(producer, topic, partitions, rate)
        running = tasks.create_task(load.run())
        try:
            yield load
        finally:
            load.stop()
        await running
