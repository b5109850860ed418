"""One topic as an answer has it, and what is kept of what was known before. Pure.

A leader epoch counts the elections of a partition (KIP-320). An answer with an older epoch than one
seen before comes from a node that is behind, and the partition stays as it was. Epochs start over
when the topic has another id: then it was deleted and created anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kafka_aio.errors import ProtocolError
from kafka_aio.protocol.messages.metadata import MetadataResponsePartition, MetadataResponseTopic
from kafka_aio.protocol.schema import NO_UUID, Uuid
from kafka_aio.types import PartitionInfo

NO_EPOCH: Final = -1

MAX_NAME: Final = 2**15 - 1
"""In bytes: what the protocol can carry. Kafka itself allows 249."""


class Leader(NamedTuple):
    """Who leads a partition, and since which election."""

    node: int
    epoch: int
    """-1 where the brokers are too old to tell; so it is on the wire."""


@dataclass(slots=True)
class Topic:
    """What is known of a topic."""

    code: int = 0
    """The error that the broker has for it; then nothing else is known but epochs."""
    id: Uuid = NO_UUID
    is_internal: bool = False
    partitions: dict[int, MetadataResponsePartition] = field(default_factory=dict)
    leaders: dict[int, Leader] = field(default_factory=dict)
    """Of the partitions that have one, whether or not that node is known."""
    epochs: dict[int, int] = field(default_factory=dict)
    """The newest that was seen of each partition, where it has epochs."""
    older: tuple[int, ...] = ()
    """The partitions of which the last answer was behind."""
    infos: tuple[PartitionInfo, ...] = ()
    """The partitions for users; made when they are asked for."""
    infos_version: int = -1
    """For which version of the metadata they were made."""

    @property
    def exists(self) -> bool:
        return not self.code and bool(self.partitions)

    def is_progress(self, known: Topic) -> bool:
        """Whether this tells more than was known, so that asking again soon may tell even more.

        Another leader in the same epoch does not: nodes may contradict each other for ever.
        """
        if self.epochs or known.epochs:
            is_newer = self.epochs != known.epochs
        else:
            is_newer = self.leaders != known.leaders
        has_changed = self.id != known.id or self.partitions.keys() != known.partitions.keys()
        return is_newer or has_changed


UNKNOWN: Final = Topic()
"""A topic of which nothing was known before."""


def check_name(name: object) -> None:
    """Whether it can be sent as the name of a topic; the broker says whether it is a good one.

    Raises:
        TypeError: It is not a str.
        ValueError: It is empty, has no form in UTF-8, or is far too long.
    """
    if not isinstance(name, str):
        raise TypeError(f"a topic is named by a str, not <{type(name).__qualname__}>")
    try:
        fits = 0 < len(name.encode()) <= MAX_NAME
    except UnicodeEncodeError:
        fits = False
    if not fits:
        raise ValueError(f"{name[:40]!r} cannot be the name of a topic")


def read_topic(
    answer: MetadataResponseTopic, known: Topic, *, reliable_epochs: bool = True
) -> Topic:
    """What an answer says about a topic of which this was known.

    Raises:
        ProtocolError: It has a partition with a negative number.
    """
    if answer.error_code:
        return Topic(answer.error_code, is_internal=answer.is_internal, epochs=dict(known.epochs))
    # Between deletion and return a topic has an error, and its id is lost. So an id where there was
    # none may be a new one. Without ids (Kafka before 2.8) the two cannot be told apart.
    is_same = answer.topic_id in (NO_UUID, known.id)
    seen = known.epochs if is_same else {}
    topic = Topic(0, answer.topic_id, answer.is_internal)
    partitions, leaders, epochs = topic.partitions, topic.leaders, topic.epochs
    older = []
    for partition in answer.partitions:
        index, epoch = partition.partition_index, partition.leader_epoch
        if index < 0:
            raise ProtocolError(f"Metadata: topic {answer.name!r} has a partition {index}")
        if not reliable_epochs:
            epoch = NO_EPOCH
        elif NO_EPOCH < epoch < seen.get(index, NO_EPOCH):
            older.append(index)
            _keep(topic, known, partition)
            continue
        partitions[index] = partition
        if epoch > NO_EPOCH:
            epochs[index] = epoch
        if partition.leader_id >= 0:
            leaders[index] = Leader(partition.leader_id, epoch)
    topic.older = tuple(older)
    return topic


def _keep(topic: Topic, known: Topic, partition: MetadataResponsePartition) -> None:
    """What was known stays; where that is the epoch alone, the partition has no leader."""
    index = partition.partition_index
    topic.epochs[index] = known.epochs[index]
    topic.partitions[index] = known.partitions.get(index, partition)
    if index in known.leaders:
        topic.leaders[index] = known.leaders[index]
