"""One seed: the plan is made, carried out on virtual time, and what came of it is checked."""

from __future__ import annotations

import asyncio
import gc
import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import CoordinatorLoadInProgress, DeliveryError
from kafka_aio.producer import Producer
from kafka_aio.testing import VirtualLoop
from tests.simulation.checks import Log, problems, rest
from tests.simulation.ledger import Ledger, Told
from tests.simulation.plan import PARTITIONS, Plan
from tests.simulation.tasks import TOPIC, Sending
from tests.simulation.weather import NODES, Weather

TIME_LIMIT = 4 * 3_600.0
PATIENCE = 120.0
"""Virtual seconds within which all must be settled once the weather is good."""


@dataclass
class Result:
    """What came of a seed."""

    plan: Plan
    problems: list[str] = field(default_factory=list)
    records: int = 0
    told: Counter[Told] = field(default_factory=Counter)
    faults: int = 0
    seconds: float = 0.0
    """Of virtual time."""
    retried: int = 0
    digest: str = ""
    """Of all that has happened: two runs of a seed have the same."""

    @property
    def command(self) -> str:
        """What replays it."""
        return f"python -m tests.simulation --seed {self.plan.seed} --verbose"

    def __str__(self) -> str:
        told = ", ".join(f"{self.told[each]} {each.value}" for each in Told if self.told[each])
        lines = [
            f"seed {self.plan.seed}: {self.records} records ({told}), {self.faults} faults,"
            f" {self.retried} batches sent again, {self.seconds:.1f} virtual seconds,"
            f" trace {self.digest[:12]}"
        ]
        if self.problems:
            lines += [f"  {each}" for each in self.problems]
            lines.append(f"  replay: {self.command}")
        return "\n".join(lines)


class World:
    """All that one seed needs."""

    def __init__(self, plan: Plan, loop: VirtualLoop, say: Callable[[str], None]) -> None:
        self.result = Result(plan)
        self._plan = plan
        self._loop = loop
        self._say = say
        self._ledger = Ledger()

    async def run(self) -> None:
        """Live through it, and write down what is wrong."""
        begun = self._loop.time()
        broker = EmbeddedBroker(
            nodes=len(NODES),
            topics={TOPIC: {"partitions": PARTITIONS, "configs": self._plan.topic_configs}},
            seed=self._plan.seed,
        )
        async with broker:
            weather = Weather(self._plan, broker, self._loop.network, self._say)
            await self._send_all(broker, weather)
            log = Log(broker, self._ledger)
        self.result.seconds = self._loop.time() - begun
        self.result.faults = weather.happened
        self.result.records = len(self._ledger)
        self.result.told = Counter(entry.told for entry in self._ledger.entries())
        self.result.problems += problems(self._plan, self._ledger, log)
        self.result.digest = self._digest(log)

    async def _send_all(self, broker: EmbeddedBroker, weather: Weather) -> None:
        if self._plan.has_id_trouble:
            broker.faults.fail("InitProducerId", CoordinatorLoadInProgress, times=3)
        producer: Producer[bytes, bytes] = Producer(
            bootstrap_servers=broker.bootstrap_servers, **self._plan.options
        )
        await producer.start()
        tasks = [
            Sending(number, self._plan, producer, self._ledger)
            for number in range(self._plan.tasks)
        ]
        async with asyncio.TaskGroup() as group:
            for each in tasks:
                group.create_task(each.run())
            await weather.rage()
            await weather.heal()
            healed_at = self._loop.time()
        await self._end(producer, tasks)
        took = self._loop.time() - healed_at
        if took > PATIENCE:
            self.wrong(f"it took {took:.0f} s after the weather to come to an end")
        self.result.retried = producer.statistics().retried

    async def _end(self, producer: Producer[bytes, bytes], tasks: list[Sending]) -> None:
        """All is well: flush, see that nothing is left, send some more, and close."""
        await producer.flush()
        # A batch whose time was over holds its memory until its request has ended.
        await asyncio.sleep(self._plan.options["request_timeout_ms"] / 1000)
        self.wrong(*rest(producer))
        before = len(self._ledger)
        for each in tasks:
            await each.submit(3)
        try:
            await producer.aclose()
        except DeliveryError as error:
            if all(entry.told is not Told.NOTHING for entry in self._ledger.entries()[:before]):
                self.wrong(f"each record was told what became of it, and aclose says {error}")
        for each in tasks:
            await each.settle()
        for entry in self._ledger.entries()[before:]:
            if entry.told is not Told.DELIVERED:
                self.wrong(f"all is well, and yet {entry}")

    def wrong(self, *problems: str) -> None:
        self.result.problems += problems

    def _digest(self, log: Log) -> str:
        digest = hashlib.sha256()
        for event in self._loop.trace:
            digest.update(repr(event).encode())
        for entry in self._ledger.entries():
            digest.update(f"{entry} {log.places[entry]}".encode())
        return digest.hexdigest()


def simulate(seed: int, say: Callable[[str], None] = lambda _: None, **options: Any) -> Result:
    """Run one seed.

    Args:
        seed: Where all chance begins.
        say: Is told what goes wrong, as it happens.
        options: Of the producer, in place of those of the plan.
    """
    plan = Plan.of(seed)
    plan = replace(plan, options={**plan.options, **options})
    with VirtualLoop(seed, trace=True, time_limit=TIME_LIMIT) as loop:
        world = World(plan, loop, say)
        loop.set_exception_handler(
            lambda _, context: world.wrong(f"nobody has seen {_exception(context)}")
        )
        loop.run_until_complete(world.run())
        left = [task.get_name() for task in asyncio.all_tasks(loop)]
        if left:
            world.wrong(f"tasks are left: {sorted(left)}")
        gc.collect()
    return world.result


def _exception(context: dict[str, Any]) -> str:
    return f"{context['message']}: {context.get('exception')!r}"
