"""`make demo`: a shop in a minute, on a broker inside this process. It ends by itself.

An async service produces orders. Three members of a group, each a process of its own, add them up.
One of them is killed without a word: the group notices, shares its partitions out anew, and goes on
from what was committed. A table shows it as it happens.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sys
import sysconfig
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import kafka_aio
from kafka_aio import Consumer, Producer, TopicPartition
from kafka_aio.broker import EmbeddedBroker

TOPIC, GROUP, PARTITIONS = "orders", "billing", 6
REGIONS = ("north", "east", "south", "west")
PAUSE = 3.0
"""Seconds between what happens, for the viewer to see."""
MOST_SECONDS = 60.0
SESSION_MS = 2_000
"""Who is silent for so long is taken for dead; Kafka's default of 45 s would bore the viewer."""
COLOURS = {"green": "32", "red": "31", "yellow": "33"}


# A member: reads, adds up, commits; and tells the viewer what it does.


async def member(address: str) -> None:
    sums: Counter[str] = Counter()
    listener = Listener()
    async with Consumer(
        bootstrap_servers=address,
        group_id=GROUP,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        partition_assignment_strategy=["cooperative-sticky"],
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=300,
    ) as consumer:
        consumer.subscribe([TOPIC], listener)
        while True:
            seen: list[int] = []
            for records in (await consumer.poll(timeout=0.2)).values():
                for record in records:
                    order = json.loads(record.value or b"{}")
                    sums[order["region"]] += order["cents"]
                    seen.append(order["id"])
            owned = sorted(each.partition for each in consumer.assignment())
            tell(owned=owned, orders=seen, cents=sum(sums.values()))
            if seen:
                await consumer.commit()  # last: whoever dies before it has them read again


class Listener:
    """Is told of partitions that come and go; its methods may be coroutines as well."""

    def assigned(self, partitions: tuple[TopicPartition, ...]) -> None:
        if partitions:
            tell(event="got", partitions=[each.partition for each in partitions])

    def revoked(self, partitions: tuple[TopicPartition, ...]) -> None:
        tell(event="gave back", partitions=[each.partition for each in partitions])


def tell(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


# The service: orders come in, and are sent.


async def service(address: str, sent: dict[int, int], is_over: asyncio.Event) -> None:
    chance = random.Random(1)
    async with Producer(bootstrap_servers=address) as producer:
        while not is_over.is_set():
            cents = {len(sent) + each: chance.randrange(99, 9_999) for each in range(50)}
            values = [
                json.dumps({"id": each, "region": chance.choice(REGIONS), "cents": cents[each]})
                for each in cents
            ]
            keys = [b"%d" % each for each in cents]
            await producer.send_many(TOPIC, [value.encode() for value in values], keys=keys)
            sent.update(cents)
            await asyncio.sleep(0.05)


# The viewer: starts it all, kills one, and shows it.


@dataclass
class Seen:
    """What a member has told."""

    process: asyncio.subprocess.Process
    owned: list[int] = field(default_factory=list)
    orders: int = 0
    cents: int = 0
    is_killed: bool = False


class Viewer:
    """Shows a table that is drawn anew in a terminal, and lines elsewhere."""

    def __init__(self) -> None:
        self.members: dict[str, Seen] = {}
        self.times: defaultdict[int, int] = defaultdict(int)
        """How often each order was added up."""
        self.sent: dict[int, int] = {}
        self.news: list[str] = []
        self._is_terminal = sys.stdout.isatty()
        self._drawn = 0
        self._began = time.monotonic()

    def say(self, text: str, colour: str = "") -> None:
        now = time.monotonic() - self._began
        self.news.append(self._paint(f"{now:5.1f} s  {text}", colour))
        if not self._is_terminal:
            print("   " + self.news[-1], flush=True)

    def draw(self) -> None:
        lines = [f"   {'member':10}{'partitions':28}{'orders':>10}{'sum':>14}"]
        for name, seen in self.members.items():
            bar = " ".join(str(p) if p in seen.owned else "." for p in range(PARTITIONS))
            state = self._paint(f"{'killed':28}", "red") if seen.is_killed else f"{bar:28}"
            lines.append(f"   {name:10}{state}{seen.orders:10,}{seen.cents / 100:14,.2f}")
        lag = len(self.sent) - len(self.times)
        lines.append(f"   {'sent':10}{f'{lag:,} to go':28}{len(self.sent):10,}")
        if not self._is_terminal:
            return print("\n".join(lines), flush=True)
        lines += ["", *(f"   {line}" for line in self.news[-8:])]
        up = f"\x1b[{self._drawn}A\x1b[J" if self._drawn else ""
        print(up + "\n".join(lines), flush=True)
        self._drawn = len(lines)
        return None

    def _paint(self, text: str, colour: str) -> str:
        code = COLOURS.get(colour) if self._is_terminal else None
        return f"\x1b[{code}m{text}\x1b[0m" if code else text

    async def start(self, name: str, address: str) -> None:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, __file__, "member", address),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        self.members[name] = Seen(process)

    async def listen(self, name: str) -> None:
        seen = self.members[name]
        assert seen.process.stdout is not None
        async for line in seen.process.stdout:
            facts = json.loads(line)
            if "event" in facts:
                self.say(f"{name} {facts['event']} {facts['partitions']}", "green")
                continue
            seen.owned = [] if seen.is_killed else facts["owned"]
            seen.orders += len(facts["orders"])
            seen.cents = facts["cents"]
            for order in facts["orders"]:
                self.times[order] += 1

    def kill(self, name: str) -> None:
        seen = self.members[name]
        seen.process.send_signal(signal.SIGKILL)
        seen.is_killed = True
        seen.owned = []
        self.say(f"{name} is killed, without a word to anybody (SIGKILL)", "red")


async def main() -> None:
    info = kafka_aio.codec_info()
    print(f"\nkafka_aio, {'compiled' if info.compiled else 'in plain Python'}.")
    print("A broker in this process, a service that sends orders, a group of three that reads.\n")
    viewer = Viewer()
    async with EmbeddedBroker(topics={TOPIC: PARTITIONS}) as broker:
        address = broker.bootstrap_servers
        for name in ("anna", "bert", "cleo"):
            await viewer.start(name, address)
        try:
            async with asyncio.timeout(MOST_SECONDS):
                await show(viewer, address)
        finally:
            for seen in viewer.members.values():
                with suppress(ProcessLookupError):
                    seen.process.kill()
                await seen.process.wait()
    conclude(viewer)


async def show(viewer: Viewer, address: str) -> None:
    is_over = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        background = [tasks.create_task(viewer.listen(name)) for name in viewer.members]
        background.append(tasks.create_task(watch(viewer)))
        sending = tasks.create_task(service(address, viewer.sent, is_over))
        await until(lambda: all(seen.owned for seen in viewer.members.values()))
        await asyncio.sleep(PAUSE)
        viewer.kill("bert")
        await until(lambda: sum(len(seen.owned) for seen in viewer.members.values()) == PARTITIONS)
        viewer.say("the group has shared out what bert had", "yellow")
        await asyncio.sleep(PAUSE)
        is_over.set()
        await sending
        await until(lambda: len(viewer.times) == len(viewer.sent))
        viewer.draw()
        for task in background:
            task.cancel()


async def watch(viewer: Viewer) -> None:
    while True:
        viewer.draw()
        await asyncio.sleep(0.2 if sys.stdout.isatty() else 1.0)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - what others tell
        await asyncio.sleep(0.05)


def conclude(viewer: Viewer) -> None:
    again = sum(times - 1 for times in viewer.times.values())
    total = sum(viewer.sent.values()) / 100
    print(
        f"\n   {len(viewer.sent):,} orders over {total:,.2f} were sent, all of them were added up",
        end="",
    )
    if again:
        print(
            f";\n   {again:,} of them again, as bert was killed between their sum and their commit:"
        )
    else:
        print(",\n   each once: bert was killed between two batches. That was luck:")
    print("   at least once is the rule. examples/exactly_once.py shows how to do better.\n")
    command = f"{sysconfig.get_path('scripts')}/kafka-aio".removeprefix(f"{Path.cwd()}/")
    print("   To go on, in three terminals:")
    print(f"     {command} broker --topic orders:6")
    print(f"     {command} consume orders -b localhost:9092 --group billing")
    print(f"     seq 100 | {command} produce orders -b localhost:9092")
    print("   README.md has produce, consume and test in ten lines each.\n")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(member(sys.argv[2]) if sys.argv[1:2] == ["member"] else main())
