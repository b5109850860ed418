"""The Kafka of the cases, by confluent-kafka: a client that is neither ours nor Java's."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple

import confluent_kafka
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

SECONDS = 20
T0 = 1_700_000_000_000  # the timestamp of the first record of each partition, in ms

Headers = list[tuple[str, bytes | None]]


class Stored(NamedTuple):
    """A record as it is in the log."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int


class Topics:
    """Topics whose names begin with a stem of their own, so that others may share the Kafka.

    A text names them in angle brackets: `<a>` is the whole name of topic `a`.
    """

    def __init__(self, bootstrap: str, stem: str) -> None:
        self.bootstrap = bootstrap
        self.stem = stem
        self._client: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 2}
        self._admin = AdminClient(self._client)
        self._producer = self._new_producer()
        # Asked for a topic that is not there, it does not make one; the other two would.
        self._consumer = confluent_kafka.Consumer(
            {
                **self._client,
                "group.id": f"{stem}-reader",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 50,
            }
        )

    def _new_producer(self) -> confluent_kafka.Producer:
        in_order = {"max.in.flight.requests.per.connection": 1}  # also where one is sent again
        return confluent_kafka.Producer({**self._client, **in_order, "linger.ms": 0})

    def close(self) -> None:
        self._consumer.close()

    def name(self, short: str) -> str:
        return f"{self.stem}-{short}"

    def filled(self, text: str) -> str:
        """The text with whole names; `<stem>` is the stem alone, `<part>` the end of it."""
        parts = {"stem": self.stem, "part": self.stem[-4:]}

        def whole(found: re.Match[str]) -> str:
            return parts.get(found[1]) or self.name(found[1])

        return re.sub(r"<([\w-]+)>", whole, text)

    def create(self, short: str, partitions: int = 1) -> None:
        """A new topic that keeps records of long ago."""
        wanted = NewTopic(self.name(short), partitions, 1, config={"retention.ms": "-1"})
        _wait(self._admin.create_topics([wanted]))
        self._wait_partitions(short, partitions)

    def add_partitions(self, short: str, whole: int) -> None:
        _wait(self._admin.create_partitions([NewPartitions(self.name(short), whole)]))
        self._wait_partitions(short, whole)
        self._producer = self._new_producer()  # the old one would not know of them for a while

    def _wait_partitions(self, short: str, count: int) -> None:
        """Until each has a leader."""
        deadline = time.monotonic() + SECONDS
        while True:
            found = self._consumer.list_topics(self.name(short), SECONDS).topics[self.name(short)]
            if sum(each.leader >= 0 for each in found.partitions.values()) == count:
                return
            assert time.monotonic() < deadline, f"{found} has no leaders"
            time.sleep(0.02)

    def delete(self, short: str) -> None:
        _wait(self._admin.delete_topics([self.name(short)]))
        deadline = time.monotonic() + SECONDS
        while self.name(short) in self.names():
            assert time.monotonic() < deadline, f"{short} is still there"
            time.sleep(0.02)

    def delete_before(self, short: str, offset: int) -> None:
        """With DeleteRecords, in partition 0: the log starts at that offset."""
        _wait(self._admin.delete_records([TopicPartition(self.name(short), 0, offset)]))

    def names(self) -> set[str]:
        """Whole names of all topics there are, whoever made them."""
        return set(self._consumer.list_topics(timeout=SECONDS).topics)

    def groups(self) -> set[str]:
        found = self._admin.list_consumer_groups().result(SECONDS)
        return {group.group_id for group in found.valid}

    def produce(self, short: str, counts: Mapping[int, int], *, first: int = 0) -> None:
        """As many records to each partition; record i has the value `<partition>:<i>`, timestamp i.

        Args:
            first: The i of the first.
        """
        for partition, count in counts.items():
            for i in range(first, first + count):
                self.send(short, f"{partition}:{i}".encode(), partition=partition, i=i)
        assert self._producer.flush(SECONDS) == 0

    def send(
        self,
        short: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Headers | None = None,
        partition: int = 0,
        i: int = 0,
    ) -> None:
        """One record, which `flush` waits for."""
        more: dict[str, Any] = {"headers": headers} if headers else {}
        self._producer.produce(
            self.name(short),
            value,
            key,
            partition=partition,
            timestamp=T0 + 1000 * i,
            on_delivery=_check,
            **more,
        )

    def flush(self) -> None:
        assert self._producer.flush(SECONDS) == 0

    def transactions(self, short: str, sizes: Iterable[tuple[int, bool]]) -> None:
        """Transactions one after the other: how many records each, and whether it is committed."""
        producer = confluent_kafka.Producer({**self._client, "transactional.id": self.name(short)})
        producer.init_transactions(SECONDS)
        for count, is_committed in sizes:
            producer.begin_transaction()
            for i in range(count):
                producer.produce(self.name(short), f"{is_committed}:{i}".encode(), partition=0)
            # What is not sent would be dropped by an abort: then nothing aborted is in the log.
            assert producer.flush(SECONDS) == 0
            if is_committed:
                producer.commit_transaction(SECONDS)
            else:
                producer.abort_transaction(SECONDS)

    def read(self, short: str) -> list[Stored]:
        """All that the topic holds, by partition and offset."""
        topic = self._consumer.list_topics(self.name(short), SECONDS).topics[self.name(short)]
        open_ends = set(topic.partitions)
        self._consumer.assign([TopicPartition(self.name(short), number, 0) for number in open_ends])
        found = []
        deadline = time.monotonic() + SECONDS
        while open_ends:
            assert time.monotonic() < deadline, f"{short}: no end of {open_ends}"
            message = self._consumer.poll(1)
            if message is None:
                continue
            if (error := message.error()) is None:
                found.append(_stored(message))
            elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
                open_ends.discard(message.partition())
            else:
                raise confluent_kafka.KafkaException(error)
        self._consumer.unassign()
        return sorted(found, key=lambda record: record[:2])


def _stored(message: Any) -> Stored:
    return Stored(
        message.partition(),
        message.offset(),
        message.key(),
        message.value(),
        message.headers() or [],
        message.timestamp()[1],
    )


def _check(error: object, message: object) -> None:
    assert error is None, (error, message)


def _wait(futures: Mapping[Any, Future[Any]]) -> None:
    for future in futures.values():
        future.result(SECONDS)


def fill(topics: Topics) -> None:
    """The five topics of the cases, which no case changes."""
    for short, partitions in {"a": 3, "b": 2, "del": 1, "tx": 1, "h": 1}.items():
        topics.create(short, partitions)
    topics.produce("a", {0: 10, 1: 20})
    topics.produce("b", {0: 5, 1: 5})
    topics.produce("del", {0: 100})
    topics.delete_before("del", 40)
    topics.transactions("tx", [(5, True), (5, False), (5, True)])
    topics.send("h", b"v", key=b"k", headers=[("x", b"1"), ("x", b"2"), ("n", None)])
    topics.send("h", None)
    topics.flush()
