"""Exactly once: orders added up per customer, and no crash counts one twice or loses one.

    python examples/exactly_once.py                 on a broker inside this process; ends by itself

    python examples/exactly_once.py --bootstrap-servers localhost:9092 --produce 10000
    python examples/exactly_once.py --bootstrap-servers localhost:9092 --database sums.db

The second line can be started many times: they form a group. Kill one when you like (kill -9), stop
it for a minute (kill -STOP) and let it go on (kill -CONT): the sums stay right. The offsets are in
the database, and each is advanced by the transaction that adds the orders up.

`--database postgresql://...` takes PostgreSQL in the place of SQLite; it needs psycopg.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sqlite3
from collections import defaultdict
from collections.abc import Awaitable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from importlib import import_module
from typing import Any

from kafka_aio import (
    Admin,
    Consumer,
    NewTopic,
    OffsetConflict,
    Producer,
    SqlOffsetStore,
    StoredOffsets,
    TopicPartition,
)
from kafka_aio.broker import EmbeddedBroker

PARTITIONS, CUSTOMERS = 6, 100
Polled = Mapping[TopicPartition, Sequence[Any]]


# The database: two kinds, with the same SQL.


class Sqlite:
    """A file that several processes may have open."""

    paramstyle = sqlite3.paramstyle

    def __init__(self, name: str) -> None:
        # Calls come from other threads, but never two at a time.
        self.connection: Any = sqlite3.connect(name, timeout=60, check_same_thread=False)

    def transaction(self) -> AbstractContextManager[Any]:
        found: AbstractContextManager[Any] = self.connection
        return found


class Postgres:
    """A server."""

    paramstyle = "format"

    def __init__(self, name: str) -> None:
        # With autocommit there is a transaction where we begin one, and nowhere else.
        self.connection: Any = import_module("psycopg").connect(name, autocommit=True)

    def transaction(self) -> AbstractContextManager[Any]:
        found: AbstractContextManager[Any] = self.connection.transaction()
        return found


class Sums:
    """What the customers have ordered, and how far that was read."""

    def __init__(self, database: Sqlite | Postgres, group: str) -> None:
        self.database = database
        self.store = SqlOffsetStore(group, paramstyle=database.paramstyle)
        with database.transaction():
            self.store.create(database.connection)
            self._run(
                "CREATE TABLE IF NOT EXISTS sums"
                " (customer VARCHAR(50) PRIMARY KEY, orders BIGINT, cents BIGINT)"
            )

    def load(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return self.store.load(self.database.connection, partitions)

    def settle(self, records: Polled, offsets: StoredOffsets) -> None:
        """Add these up and advance the offsets: all of it, or nothing."""
        with self.database.transaction():
            offsets.advance(self.database.connection, records)
            for customer, (orders, cents) in sorted(added_up(records).items()):
                self._run(
                    "INSERT INTO sums VALUES (?, ?, ?) ON CONFLICT (customer) DO UPDATE SET"
                    " orders = sums.orders + excluded.orders, cents = sums.cents + excluded.cents",
                    *(customer, orders, cents),
                )

    def total(self) -> tuple[int, int]:
        """How many orders, and how many cents."""
        ((orders, cents),) = self._run("SELECT SUM(orders), SUM(cents) FROM sums").fetchall()
        return int(orders or 0), int(cents or 0)

    def _run(self, text: str, *values: object) -> Any:
        if self.database.paramstyle == "format":
            text = text.replace("?", "%s")
        return self.database.connection.execute(text, values)


def added_up(records: Polled) -> dict[str, list[int]]:
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for some in records.values():
        for record in some:
            order = json.loads(record.value or b"{}")
            sums[order["customer"]][0] += 1
            sums[order["customer"]][1] += order["cents"]
    return sums


# The consumer. What blocks is done in a thread, so that the loop goes on and the group hears of us.


async def consume(options: argparse.Namespace, sums: Sums) -> None:
    async with Consumer(
        bootstrap_servers=options.bootstrap_servers,
        group_id=options.group,
        enable_auto_commit=False,  # the database knows how far we are, and nobody else
        auto_offset_reset="earliest",
        session_timeout_ms=options.session_timeout_ms,
        heartbeat_interval_ms=options.session_timeout_ms // 5,
    ) as consumer:

        def load(partitions: Collection[TopicPartition]) -> Awaitable[dict[TopicPartition, int]]:
            return asyncio.to_thread(sums.load, partitions)

        offsets = StoredOffsets(consumer, sums.store, load)
        consumer.subscribe([options.topic], offsets)
        infos = await consumer.partitions_for(options.topic)
        ends = await consumer.end_offsets([each.topic_partition for each in infos])
        count = 0
        while options.max is None or count < options.max:
            records = await consumer.poll(timeout=0.5, max_records=options.batch)
            if not records:
                stored = await load(ends)
                if options.stop_at_end and all(stored.get(p, 0) >= end for p, end in ends.items()):
                    break
                continue
            say("read", records)
            await asyncio.sleep(options.work)
            try:
                await asyncio.to_thread(sums.settle, records, offsets)
            except OffsetConflict as conflict:
                print(f"late: {conflict}", flush=True)
                await offsets.reload()
            else:
                count += sum(map(len, records.values()))
                say("stored", records)


def say(what: str, records: Polled) -> None:
    parts = (f"{p.partition}:{some[0].offset}-{some[-1].offset}" for p, some in records.items())
    print(what, *parts, flush=True)


# The orders.


async def produce(options: argparse.Namespace) -> None:
    chance = random.Random(options.produce)
    customers = [f"customer {chance.randrange(CUSTOMERS)}" for _ in range(options.produce)]
    cents = [chance.randrange(1, 9_999) for _ in customers]
    async with Admin(bootstrap_servers=options.bootstrap_servers) as admin:
        await admin.create_topics([NewTopic(options.topic, PARTITIONS)])  # or it is there already
    async with Producer(bootstrap_servers=options.bootstrap_servers) as producer:
        orders = zip(customers, cents, strict=True)
        values = [json.dumps({"customer": who, "cents": much}).encode() for who, much in orders]
        keys = [who.encode() for who in customers]
        for delivery in await producer.send_many(options.topic, values, keys=keys):
            delivery.result()
    print(f"sent: {len(cents)} orders, {sum(cents)} cents", flush=True)


async def run(options: argparse.Namespace) -> None:
    if options.produce:
        await produce(options)
    if options.database:
        kind = Postgres if options.database.startswith("postgres") else Sqlite
        database = kind(options.database)
        with closing(database.connection):
            sums = Sums(database, options.group)
            await consume(options, sums)
            print("sums: {} orders, {} cents".format(*sums.total()), flush=True)


async def run_alone(options: argparse.Namespace) -> None:
    """Without a cluster there is one in this process, for as long as it takes."""
    async with EmbeddedBroker() as broker:
        options.bootstrap_servers = broker.bootstrap_servers
        options.produce = options.produce or 10_000
        options.database = options.database or ":memory:"
        options.stop_at_end = True
        await run(options)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    say_how = parser.add_argument
    say_how("-b", "--bootstrap-servers", help="a cluster; without it, one inside this process")
    say_how("--topic", default="orders")
    say_how("--group", default="billing")
    say_how("--database", help="a file of SQLite, or postgresql://...; without it, only --produce")
    say_how("--produce", type=int, default=0, metavar="N", help="send so many orders first")
    say_how("--stop-at-end", action="store_true", help="end when all that is there now is stored")
    say_how("--max", type=int, metavar="N", help="end after so many orders")
    say_how(
        "--batch", type=int, default=500, metavar="N", help="orders in one transaction, at most"
    )
    say_how("--work", type=float, default=0, metavar="S", help="seconds that a batch takes")
    say_how("--session-timeout-ms", type=int, default=10_000, help="who is silent so long is dead")
    options = parser.parse_args(words)
    with suppress(KeyboardInterrupt):
        asyncio.run(run(options) if options.bootstrap_servers else run_alone(options))


if __name__ == "__main__":
    main()
