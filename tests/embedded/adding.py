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
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import repeat, takewhile
from pathlib import Path
from typing import Any
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

    def __init__(self, log: Path, words: Sequence[str]) -> None:
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
        self._members: list[Member] = []
        self.database = database
        self.sent: Sums = {}
        """What the sums have to be."""

    def start(self, *more: str) -> Member:
        words = [
            *("--bootstrap-servers", self._bootstrap, "--topic", self._topic, "--group"),
            *(self._topic, "--database", self.database.name),
            *("--session-timeout-ms", str(SESSION_MS), *more),
        ]
        member = Member(self._folder / f"member-{len(self._members)}.log", words)
        self._members.append(member)
        return member

    def close(self) -> None:
        for member in self._members:
            member.process.kill()

    # Orders.

    async def _send(self, rounds: Iterable[int], chance: random.Random) -> None:
        async with Admin(bootstrap_servers=self._bootstrap) as admin:
            await admin.create_topics([NewTopic(self._topic, PARTITIONS)])
        async with Producer(bootstrap_servers=self._bootstrap) as producer:
            for count in rounds:
                orders = [self._order(chance) for _ in range(count)]
                for partition in range(PARTITIONS):
                    values = [json.dumps(each).encode() for each in orders[partition::PARTITIONS]]
                    for sent in await producer.send_many(self._topic, values, partition=partition):
                        sent.result()
                await asyncio.sleep(0.05)

    def _order(self, chance: random.Random) -> dict[str, Any]:
        who, cents = f"customer {chance.randrange(50)}", chance.randrange(1_000)
        times, much = self.sent.get(who, (0, 0))
        self.sent[who] = times + 1, much + cents
        return {"customer": who, "cents": cents}

    def send(self, count: int, seed: int) -> None:
        """Send so many orders."""
        asyncio.run(self._send([count], random.Random(seed)))

    @contextmanager
    def sending(self, seed: int) -> Iterator[None]:
        """Send orders all the while, some hundred in a second."""
        is_over = threading.Event()
        rounds = takewhile(lambda _: not is_over.is_set(), repeat(20))
        with ThreadPoolExecutor(1) as thread:
            sender = thread.submit(asyncio.run, self._send(rounds, random.Random(seed)))
            try:
                yield
            finally:
                is_over.set()
        sender.result()


def kill_some(shop: Shop, *, kills: int, seed: int) -> None:
    """Two members add up; again and again one is killed, and another begins."""
    chance = random.Random(seed)
    with shop.sending(seed):
        running = [shop.start("--batch", "5") for _ in range(2)]
        for _ in range(kills):
            victim = running.pop(chance.randrange(2))
            reads = partial(victim.lines, "read ")
            further = len(reads()) + chance.randint(1, 10)
            victim.wait(lambda: len(reads()) >= further)  # noqa: B023 - called before the next
            time.sleep(chance.uniform(0, 0.02))
            victim.process.kill()
            running.append(shop.start("--batch", "5"))
    for member in running:
        member.process.kill()

    shop.start("--stop-at-end").wait_end()

    assert shop.database.sums() == shop.sent


def stop_one(shop: Shop, *, batches: int, seed: int) -> None:
    """A member is stopped with a batch in its hands; when it goes on, the batch is another's."""
    shop.send(400, seed)
    late = shop.start("--stop-at-end", "--batch", "20", "--work", "0.5")
    late.wait(lambda: len(late.lines("read ")) == batches)
    late.process.pause()
    in_hand = late.lines("read ")[-1].removeprefix("read ")
    assert len(late.lines("stored ")) == batches - 1

    shop.start("--stop-at-end", "--batch", "20").wait_end()
    assert shop.database.sums() == shop.sent

    late.process.resume()
    late.wait_end()
    (conflict,) = late.lines("late: ")
    assert f"-{in_hand.partition(':')[0]}: " in conflict
    assert f"stored {in_hand}" not in late.text()
    assert shop.database.sums() == shop.sent
