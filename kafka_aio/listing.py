"""ListOffsets: where the logs of partitions begin and end, and what they hold at a time. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_aio.errors import (
    AuthenticationError,
    BrokerError,
    KafkaError,
    ProtocolError,
    SerializationError,
    UnknownServerError,
    UnsupportedForMessageFormat,
    UnsupportedVersion,
    for_code,
)
from kafka_aio.metadata import Leader
from kafka_aio.protocol.messages.offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kafka_aio.types import OffsetAndTimestamp, TopicPartition

END: Final = -1
"""In place of a time: the end of the log, or of what is committed to it."""
BEGINNING: Final = -2
MAX_TIMESTAMP: Final = -3
"""In place of a time: the record with the greatest timestamp (KIP-734)."""
FIRST_WITH_MAX_TIMESTAMP: Final = 7
"""The first version of ListOffsets that knows it; an older broker takes -3 for a time."""
CONSUMER: Final = -1
"""The replica id of those who are no broker."""
_FINAL: Final = (AuthenticationError, UnsupportedVersion, SerializationError)


@dataclass(slots=True)
class Listed:
    """What came of a ListOffsets request."""

    found: dict[TopicPartition, OffsetAndTimestamp | None] = field(default_factory=dict)
    """None where no record is that young, or there is none."""
    again: dict[TopicPartition, KafkaError] = field(default_factory=dict)
    """Why these have to be asked for again."""
    failed: dict[TopicPartition, KafkaError] = field(default_factory=dict)
    """Why it is of no use to ask for these again."""

    @property
    def stale_metadata(self) -> bool:
        return is_stale(self.again.values())


def list_requests(
    times: Mapping[TopicPartition, int],
    leader_of: Callable[[TopicPartition], Leader | None],
    *,
    read_committed: bool = False,
    timeout: float = 0.0,
) -> tuple[dict[int, ListOffsetsRequest], list[TopicPartition]]:
    """A request for each node that leads some of them, and the partitions without a leader.

    Args:
        times: In milliseconds since 1970, or `BEGINNING`, `END`, `MAX_TIMESTAMP`.
        leader_of: Who leads a partition.
        read_committed: Whether the end is that of what is committed.
        timeout: How many seconds a broker may look for it in tiered storage.
    """
    by_node: dict[int, dict[str, ListOffsetsTopic]] = {}
    leaderless = []
    for partition, time in times.items():
        leader = leader_of(partition)
        if leader is None:
            leaderless.append(partition)
            continue
        topics = by_node.setdefault(leader.node, {})
        topic = topics.setdefault(
            partition.topic, ListOffsetsTopic(name=partition.topic, partitions=[])
        )
        topic.partitions.append(
            ListOffsetsPartition(
                partition_index=partition.partition,
                current_leader_epoch=leader.epoch,
                timestamp=time,
            )
        )
    requests = {
        node: ListOffsetsRequest(
            replica_id=CONSUMER,
            isolation_level=int(read_committed),
            topics=list(topics.values()),
            timeout_ms=int(timeout * 1000),
        )
        for node, topics in by_node.items()
    }
    return requests, leaderless


def read_listed(request: ListOffsetsRequest, response: ListOffsetsResponse) -> Listed:
    """What the broker says of each partition that it was asked about."""
    told = {
        TopicPartition(topic.name, each.partition_index): each
        for topic in response.topics
        for each in topic.partitions
    }
    listed = Listed()
    for topic in request.topics:
        for asked in topic.partitions:
            partition = TopicPartition(topic.name, asked.partition_index)
            _read_one(listed, partition, asked.timestamp, told.get(partition))
    return listed


def _read_one(
    listed: Listed,
    partition: TopicPartition,
    time: int,
    answer: ListOffsetsPartitionResponse | None,
) -> None:
    is_time = time not in (BEGINNING, END)
    if answer is None:
        text = f"{partition}: the broker's answer to ListOffsets does not mention it"
        listed.again[partition] = ProtocolError(text)
    elif answer.error_code:
        if answer.error_code == UnsupportedForMessageFormat.code and is_time:
            listed.found[partition] = None  # a log from before there were timestamps
            return
        error = for_code(answer.error_code, where=str(partition))
        (listed.again if is_worth_it(error) else listed.failed)[partition] = error
    elif answer.offset >= 0:
        epoch = answer.leader_epoch if answer.leader_epoch >= 0 else None
        listed.found[partition] = OffsetAndTimestamp(answer.offset, answer.timestamp, epoch)
    elif is_time:
        listed.found[partition] = None
    else:
        text = f"{partition}: the broker answers ListOffsets with the offset {answer.offset}"
        listed.failed[partition] = ProtocolError(text)


def not_listed(request: ListOffsetsRequest, error: KafkaError) -> Listed:
    """The request as a whole came to nothing."""
    partitions = [
        TopicPartition(topic.name, each.partition_index)
        for topic in request.topics
        for each in topic.partitions
    ]
    told = dict.fromkeys(partitions, error)
    return Listed(again=told) if is_worth_it(error) else Listed(failed=told)


def is_worth_it(error: KafkaError) -> bool:
    """Whether to ask again. The broker that does not know what ails it may know soon."""
    if isinstance(error, BrokerError):
        return error.retriable or isinstance(error, UnknownServerError)
    return not isinstance(error, _FINAL)


def is_stale(errors: Iterable[KafkaError]) -> bool:
    """Whether one of them says that the metadata is out of date."""
    return any(isinstance(error, BrokerError) and error.stale_metadata for error in errors)
