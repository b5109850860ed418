"""What goes wrong, and for how long: each a coroutine that does it, waits, and undoes it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.broker.faults.faults import Options
from kafka_aio.broker.faults.rules import Rule, When
from kafka_aio.errors import (
    BrokerError,
    KafkaStorageError,
    LeaderNotAvailable,
    NotEnoughReplicas,
    NotEnoughReplicasAfterAppend,
    NotLeaderOrFollower,
    RequestTimedOut,
    UnknownTopicOrPartition,
)
from kafka_aio.testing import Network
from kafka_aio.testing.faults import Side
from tests.simulation.plan import PARTITIONS, Plan
from tests.simulation.tasks import TOPIC

NODES = (1, 2, 3)
LONGEST = 3.0

REFUSALS: tuple[type[BrokerError], ...] = (
    KafkaStorageError,
    LeaderNotAvailable,
    NotEnoughReplicas,
    NotLeaderOrFollower,
    UnknownTopicOrPartition,
)
AFTER_APPEND: tuple[type[BrokerError], ...] = (
    KafkaStorageError,
    NotEnoughReplicasAfterAppend,
    NotLeaderOrFollower,
    RequestTimedOut,
)
"""What a leader may say that has the records: it may lose its place while it waits for others."""


class Weather:
    """Faults at random times, until all is well again."""

    def __init__(
        self, plan: Plan, broker: EmbeddedBroker, network: Network, say: Callable[[str], None]
    ) -> None:
        self._plan = plan
        self._broker = broker
        self._network = network
        self._say = say
        self._rng = random.Random(f"weather {plan.seed}")
        ports = [int(each.rpartition(":")[2]) for each in broker.bootstrap_servers.split(",")]
        self._ports = dict(zip(NODES, ports, strict=True))
        self.happened = 0
        """How many faults there were so far."""
        self._kinds: list[Callable[[], Coroutine[Any, Any, None]]] = [
            self.cut,
            self.cut_within_a_frame,
            self.disconnect,
            self.slow,
            self.black_hole,
            self.refuse,
            self.stop_node,
            self.move_leaders,
            self.fail,
            self.fail_after_append,
            self.drop,
            self.hold,
            self.delay,
            self.throttle,
            self.garbage,
            self.trouble_with_metadata,
        ]

    async def rage(self) -> None:
        """Begin each fault at its time; they may overlap."""
        async with asyncio.TaskGroup() as group:
            times = sorted(self._time() for _ in range(self._plan.faults))
            for before, at in zip([0.0, *times], times, strict=False):
                await asyncio.sleep(at - before)
                group.create_task(self._rng.choice(self._kinds)())

    def _time(self) -> float:
        """Any; some of them as the first batches are sent, and no broker knows the producer yet."""
        end = self._plan.seconds
        return self._rng.uniform(0, self._rng.choice([0.05, end, end, end]))

    async def heal(self) -> None:
        """Let all be well again."""
        self._network.heal()
        self._broker.faults.clear()
        for node in self._broker.stopped_nodes():
            await self._broker.start_node(node)
        self._say("all is well")

    # On the network.

    async def cut(self) -> None:
        node, reset = self._node(), self._rng.random() < 0.5
        self._begin(f"connections to node {node} are cut")
        self._network.cut(self._ports[node], reset=reset)

    async def cut_within_a_frame(self) -> None:
        node = self._node()
        to: Side | None = self._rng.choice(["client", "server", None])
        longest = self._rng.choice([40, 2_000])
        times = self._rng.randint(1, 3)
        self._begin(f"connections to node {node} are cut after some bytes to {to}, {times} times")
        fault = self._network.cut_after((1, longest), self._ports[node], to=to, times=times)
        with fault:
            await self._wait()

    async def slow(self) -> None:
        node, latency = self._node(), self._rng.choice([0.05, 0.3, 1.0])
        self._begin(f"node {node} is {latency} s away")
        with self._network.slow((latency / 2, latency), self._ports[node]):
            await self._wait()

    async def black_hole(self) -> None:
        node = self._node()
        self._begin(f"nothing arrives at node {node}")
        with self._network.black_hole(self._ports[node]):
            await self._wait()

    async def refuse(self) -> None:
        node = self._node()
        self._begin(f"nobody listens at node {node}, and connections are cut")
        with self._network.refuse(self._ports[node]):
            self._network.cut(self._ports[node])
            await self._wait()

    # Nodes and leaders.

    async def stop_node(self) -> None:
        node = self._node()
        self._begin(f"node {node} is down")
        await self._broker.stop_node(node)
        await self._wait()
        await self._broker.start_node(node)

    async def move_leaders(self) -> None:
        partitions = self._rng.sample(range(PARTITIONS), self._rng.randint(1, PARTITIONS))
        self._begin(f"partitions {partitions} get other leaders")
        for partition in partitions:
            with suppress(BrokerError):  # that node is down
                self._broker.move_leader(TOPIC, partition, self._node())

    # What a broker does.

    async def fail(self) -> None:
        error, options = self._rng.choice(REFUSALS), self._often()
        options["topic"], options["partition"] = TOPIC, self._rng.randrange(PARTITIONS)
        await self._keep(self._broker.faults.fail("Produce", error, **options))

    async def fail_after_append(self) -> None:
        error = self._rng.choice(AFTER_APPEND)
        await self._keep(self._broker.faults.fail("Produce", error, when="after", **self._often()))

    async def disconnect(self) -> None:
        when: When = self._rng.choice(["before", "after", "after"])
        await self._keep(self._broker.faults.disconnect("Produce", when=when, times=self._times()))

    async def drop(self) -> None:
        await self._keep(self._broker.faults.drop("Produce", times=self._times()))

    async def hold(self) -> None:
        when: When = self._rng.choice(["before", "after"])
        await self._keep(self._broker.faults.hold("Produce", when=when, times=self._times()))

    async def delay(self) -> None:
        when: When = self._rng.choice(["before", "after"])
        seconds = self._rng.uniform(0.1, 2)
        await self._keep(self._broker.faults.delay("Produce", seconds, when=when, probability=0.5))

    async def throttle(self) -> None:
        throttled_ms = self._rng.randint(50, 1_000)
        await self._keep(self._broker.faults.throttle("Produce", throttled_ms, times=self._times()))

    async def garbage(self) -> None:
        await self._keep(self._broker.faults.garbage("Produce", times=1))

    async def trouble_with_metadata(self) -> None:
        faults = self._broker.faults
        if self._rng.random() < 0.5:
            rule: Rule = faults.disconnect("Metadata", when="before", times=self._times())
        else:
            rule = faults.fail("Metadata", LeaderNotAvailable, times=self._times())
        await self._keep(rule)

    async def _keep(self, rule: Rule) -> None:
        self._begin(repr(rule))
        with rule:
            await self._wait()

    async def _wait(self) -> None:
        await asyncio.sleep(self._rng.uniform(0.05, LONGEST))

    def _begin(self, what: str) -> None:
        self.happened += 1
        self._say(what)

    def _node(self) -> int:
        return self._rng.choice(NODES)

    def _times(self) -> int:
        return self._rng.choice([1, 1, 2, 5])

    def _often(self) -> Options:
        """Some in a row, or many among others that are carried out."""
        if self._rng.random() < 0.5:
            return {"times": self._times()}
        return {"probability": self._rng.choice([0.3, 1.0])}
