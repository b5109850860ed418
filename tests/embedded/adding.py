"""Members of `examples/exactly_once.py` as processes, the orders, and what is in the database.

`KAFKA_AIO_POSTGRES` names a PostgreSQL (`postgresql://...`) to do the same with; psycopg is needed.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import pytest

from kafka_aio import Admin, NewTopic, Producer
from tests.kafka.process import Process

PATIENCE = 45.0
POSTGRES = "KAFKA_AIO_POSTGRES"
PARTITIONS = 4
SESSION_MS = 1_500
ROOT = Path(__file__).parents[2]
Sums = dict[str, tuple[int, int]]
"""For each customer, how many orders, and how many cents."""


class Database:
    """Where the members keep their sums."""

    def __init__(self, name: str) -> None:
        self.name = name

    def sums(self) -> Sums:
        with closing(self._connect()) as connection:
            rows = connection.execute("SELECT customer, orders, cents FROM sums").fetchall()
        return {customer: (orders, cents) for customer, orders, cents in rows}

    def orders(self) -> int:
        return sum(orders for orders, _ in self.sums().values())

    def _connect(self) -> sqlite3.Connection:
        if self.name.startswith("postgres"):
            found: sqlite3.Connection = import_module("psycopg").connect(self.name)
            return found
        return sqlite3.connect(self.name, timeout=PATIENCE)


@contextmanager
def sqlite(folder: Path) -> Iterator[Database]:
    yield Database(str(folder / "sums.db"))


@contextmanager
def postgres(folder: Path) -> Iterator[Database]:
    """A schema of its own in the database that a variable names."""
    name = os.environ.get(POSTGRES)
    if not name:
        pytest.skip(f"no PostgreSQL: set {POSTGRES}")
    if find_spec("psycopg") is None:
        pytest.skip("no psycopg, which speaks to PostgreSQL")
    schema = f"kafka_aio_{os.getpid()}_{random.getrandbits(32)}"
    with import_module("psycopg").connect(name, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        try:
            path = quote(f"-csearch_path={schema}")
            yield Database(f"{name}{'&' if '?' in name else '?'}options={path}")
        finally:
            connection.execute(f"DROP SCHEMA {schema} CASCADE")


DATABASES = {"sqlite": sqlite, "postgres": postgres}


class Member:
    """A process of the example, and what it has printed."""

    def __init__(self, bootstrap: str, topic: str, database: Database, log: Path, *more: str):
        words = [
            *("--bootstrap-servers", bootstrap, "--topic", topic, "--database", database.name),
            *("--stop-at-end", "--session-timeout-ms", str(SESSION_MS), *more),
        ]
        self._log = log
        self.process = Process(
            [sys.executable, str(ROOT / "examples/exactly_once.py"), *words],
            environment=dict(os.environ),
            log=log,
        )

    def lines(self, begin: str) -> list[str]:
        """What it has said that begins so."""
        return [line for line in self.text().splitlines() if line.startswith(begin)]

    def text(self) -> str:
        return self._log.read_text(errors="replace")

    def wait(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE
        while not condition():
            in_time = time.monotonic() < until and self.process.is_running
            assert in_time or condition(), self.text()[-3000:]
            time.sleep(0.002)

    def wait_end(self) -> None:
        self.wait(lambda: not self.process.is_running)
        assert self.lines("sums: "), self.text()[-3000:]


class Shop:
    """A topic with orders, and the members that add them up."""

    def __init__(self, bootstrap: str, topic: str, database: Database, folder: Path) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._folder = folder
        self.database = database
        self.members: list[Member] = []

    def send(self, count: int, seed: int) -> Sums:
        """Send so many orders; what the sums have to be."""
        chance = random.Random(seed)
        orders = [
            (f"customer {chance.randrange(50)}", chance.randrange(1_000)) for _ in range(count)
        ]
        values = [json.dumps({"customer": who, "cents": cents}).encode() for who, cents in orders]

        async def send() -> None:
            async with Admin(bootstrap_servers=self._bootstrap) as admin:
                await admin.create_topics([NewTopic(self._topic, PARTITIONS)])
            async with Producer(bootstrap_servers=self._bootstrap) as producer:
                for partition in range(PARTITIONS):
                    some = values[partition::PARTITIONS]
                    for delivery in await producer.send_many(
                        self._topic, some, partition=partition
                    ):
                        delivery.result()

        asyncio.run(send())
        times = Counter(who for who, _ in orders)
        cents = Counter[str]()
        for who, each in orders:
            cents[who] += each
        return {who: (times[who], cents[who]) for who in times}

    def start(self, *more: str) -> Member:
        log = self._folder / f"member-{len(self.members)}.log"
        member = Member(self._bootstrap, self._topic, self.database, log, *more)
        self.members.append(member)
        return member

    def close(self) -> None:
        for member in self.members:
            member.process.kill()


def kill_some(shop: Shop, *, kills: int, seed: int) -> None:
    """Two members add up; again and again one is killed, and another begins."""
    chance = random.Random(seed)
    count = 6_000
    sent = shop.send(count, seed)
    running = [shop.start("--batch", "10") for _ in range(2)]

    for _ in range(kills):
        victim = running.pop(chance.randrange(2))
        further = len(victim.lines("read ")) + chance.randint(1, 15)
        victim.wait(lambda: len(victim.lines("read ")) >= further)  # noqa: B023 - it is called here
        time.sleep(chance.uniform(0, 0.02))
        victim.process.kill()
        running.append(shop.start("--batch", "10"))

    assert shop.database.orders() < count  # or there was nothing left to go wrong
    for member in running:
        member.wait_end()
    assert shop.database.sums() == sent


def stop_one(shop: Shop, *, batches: int, seed: int) -> None:
    """A member is stopped with a batch in its hands; when it goes on, it is another's."""
    sent = shop.send(400, seed)
    late = shop.start("--batch", "20", "--work", "0.5")
    late.wait(lambda: len(late.lines("read ")) == batches)
    late.process.pause()
    in_hand = late.lines("read ")[-1].removeprefix("read ")
    assert len(late.lines("stored ")) == batches - 1

    other = shop.start("--batch", "20")
    other.wait_end()
    assert shop.database.sums() == sent

    late.process.resume()
    late.wait_end()
    (conflict,) = late.lines("late: ")
    partition = in_hand.partition(":")[0]
    assert f"-{partition}: " in conflict
    assert f"stored {in_hand}" not in late.text()
    assert shop.database.sums() == sent
