"""The logs of partitions: who leads them, offsets to list, records to delete. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from kafka_aio.admin.offset_values import OffsetSpec
from kafka_aio.errors import (
    BrokerError,
    KafkaError,
    LeaderNotAvailable,
    RequestTimedOut,
    UnknownTopicOrPartition,
    for_code,
)
from kafka_aio.listing import list_requests, read_listed
from kafka_aio.metadata import Leader
from kafka_aio.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafka_aio.protocol.messages.offsets import ListOffsetsRequest, ListOffsetsResponse
from kafka_aio.protocol.messages.topics import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from kafka_aio.types import OffsetAndTimestamp, TopicPartition, by_topic

ALL: Final = -1
"""In place of the offset before which records are deleted: all that are there."""


def ask_topics(names: Iterable[str]) -> MetadataRequest:
    """The request for the partitions of some topics, which it does not create."""
    return MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in dict.fromkeys(names)],
        allow_auto_topic_creation=False,
    )


class Leaders:
    """Who leads what, as one answer has it."""

    def __init__(self, response: MetadataResponse) -> None:
        """Read an answer.

        Raises:
            BrokerError: It is an error as a whole.
        """
        if response.error_code:
            raise for_code(response.error_code, where="Metadata")
        self._topics = {topic.name or "": topic for topic in response.topics}
        self._leaders = {
            TopicPartition(name, each.partition_index): Leader(each.leader_id, each.leader_epoch)
            for name, topic in self._topics.items()
            for each in topic.partitions
        }

    def __repr__(self) -> str:
        return f"<Leaders of {len(self._leaders)} partitions>"

    def of(self, partition: TopicPartition) -> Leader | BrokerError:
        """The leader of a partition, or why it has none."""
        topic = self._topics.get(partition.topic)
        if topic is not None and topic.error_code:
            return for_code(topic.error_code, where=f"topic {partition.topic!r}")
        leader = self._leaders.get(partition)
        if leader is None:
            return UnknownTopicOrPartition(where=str(partition))
        return leader if leader.node >= 0 else LeaderNotAvailable(where=str(partition))

    def partitions(self, name: str) -> list[TopicPartition] | BrokerError:
        """All partitions of a topic, in order; or why they are not known."""
        topic = self._topics.get(name)
        if topic is None:
            return UnknownTopicOrPartition(where=f"topic {name!r}")
        if topic.error_code:
            return for_code(topic.error_code, where=f"topic {name!r}")
        numbers = sorted(each.partition_index for each in topic.partitions)
        return [TopicPartition(name, number) for number in numbers]


def is_final(error: BrokerError) -> bool:
    """Whether a partition without a leader is not to be looked for again."""
    return isinstance(error, UnknownTopicOrPartition) or not error.retriable


def list_offsets(
    specs: Mapping[TopicPartition, OffsetSpec],
    leader_of: Callable[[TopicPartition], Leader | None],
    *,
    read_committed: bool,
    timeout_ms: int,
) -> ListOffsetsRequest:
    """The request for partitions that have the same leader."""
    times = {partition: spec.timestamp for partition, spec in specs.items()}
    requests, _ = list_requests(
        times, leader_of, read_committed=read_committed, timeout=timeout_ms / 1000
    )
    (request,) = requests.values()
    return request


def listed(
    request: ListOffsetsRequest, response: ListOffsetsResponse
) -> dict[TopicPartition, OffsetAndTimestamp | KafkaError | None]:
    found = read_listed(request, response)
    return {**found.found, **found.again, **found.failed}


def delete_records(
    offsets: Mapping[TopicPartition, int], *, timeout_ms: int
) -> DeleteRecordsRequest:
    return DeleteRecordsRequest(
        topics=[
            DeleteRecordsTopic(
                name=topic,
                partitions=[
                    DeleteRecordsPartition(
                        partition_index=number, offset=offsets[TopicPartition(topic, number)]
                    )
                    for number in numbers
                ],
            )
            for topic, numbers in by_topic(offsets).items()
        ],
        timeout_ms=timeout_ms,
    )


def records_deleted(response: DeleteRecordsResponse) -> dict[TopicPartition, int | KafkaError]:
    """Where each log begins now."""
    return {
        (partition := TopicPartition(topic.name, each.partition_index)): (
            for_code(each.error_code, where=str(partition))
            if each.error_code
            else each.low_watermark
        )
        for topic in response.topics
        for each in topic.partitions
    }


def is_worth_another_deletion(error: KafkaError, *, is_repeatable: bool) -> bool:
    """Whether to send it again: what surely was not done, or does no harm if it is done twice."""
    if not isinstance(error, BrokerError) or not error.retriable:
        return False
    return is_repeatable or not isinstance(error, RequestTimedOut)
