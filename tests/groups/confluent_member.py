"""The same member with confluent-kafka: `python -m tests.groups.confluent_member`."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import Any

import confluent_kafka

from kafka_aio import OffsetAndMetadata, TopicPartition
from tests.groups.member import arguments_of, named, say, say_committed, say_offsets


class Member:
    """Reads, commits, and says so."""

    def __init__(self, consumer: confluent_kafka.Consumer) -> None:
        self._consumer = consumer
        self._read: dict[TopicPartition, OffsetAndMetadata] = {}

    def assigned(self, _: object, partitions: Sequence[Any]) -> None:
        say("partitions_assigned", partitions=named(map(_ours, partitions)))

    def revoked(self, _: object, partitions: Sequence[Any]) -> None:
        self.commit()
        self._gone(partitions, lost=False)

    def lost(self, _: object, partitions: Sequence[Any]) -> None:
        self._gone(partitions, lost=True)

    def _gone(self, partitions: Sequence[Any], *, lost: bool) -> None:
        for each in map(_ours, partitions):
            self._read.pop(each, None)
        say("partitions_revoked", partitions=named(map(_ours, partitions)), lost=lost)

    def read(self) -> None:
        messages = [each for each in self._consumer.consume(100, 0.1) if each.error() is None]
        if not messages:
            return
        offsets: dict[TopicPartition, list[int]] = {}
        for each in messages:
            offset = each.offset()
            assert offset is not None
            offsets.setdefault(_name(each), []).append(offset)
            if each.value() != b"%d" % offset:
                say("wrong_record", offset=offset, value=repr(each.value()))
        say_offsets(offsets)
        for name, found in offsets.items():
            self._read[name] = OffsetAndMetadata(found[-1] + 1)
        self.commit()

    def commit(self) -> None:
        """What was read; one that fails is made up for by the next."""
        if not self._read:
            return
        offsets = dict(self._read)
        theirs = [
            confluent_kafka.TopicPartition(name.topic, name.partition, each.offset)
            for name, each in offsets.items()
        ]
        try:
            self._consumer.commit(offsets=theirs, asynchronous=False)
        except confluent_kafka.KafkaException as error:
            say_committed(offsets, str(error))
        else:
            say_committed(offsets)


def _name(message: confluent_kafka.Message) -> TopicPartition:
    topic, partition = message.topic(), message.partition()
    assert topic is not None
    assert partition is not None
    return TopicPartition(topic, partition)


def _ours(partition: confluent_kafka.TopicPartition) -> TopicPartition:
    return TopicPartition(partition.topic, partition.partition)


def main() -> None:
    arguments = arguments_of()
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": arguments.bootstrap_server,
            "group.id": arguments.group_id,
            "partition.assignment.strategy": arguments.assignment_strategy,
            "session.timeout.ms": arguments.session_timeout,
            "heartbeat.interval.ms": arguments.session_timeout // 10,
            "auto.offset.reset": arguments.reset_policy,
            "enable.auto.commit": False,
        }
    )
    member, ends = Member(consumer), [False]
    signal.signal(signal.SIGTERM, lambda *_: ends.__setitem__(0, True))
    consumer.subscribe(
        [arguments.topic],
        on_assign=member.assigned,
        on_revoke=member.revoked,
        on_lost=member.lost,
    )
    say("startup_complete")
    while not ends[0]:
        member.read()
    consumer.close()
    say("shutdown_complete")


if __name__ == "__main__":
    main()
