"""A topic on a real broker, written and read with raw requests of ours."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from typing import NamedTuple

from kafka_aio.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_aio.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_aio.protocol.messages.offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_aio.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from kafka_aio.protocol.messages.topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafka_aio.protocol.schema import Buffer, Uuid
from kafka_aio.records.batch import verify
from tests.kafka.raw import RawConnection

READ_UNCOMMITTED = 0
READ_COMMITTED = 1
LATEST = -1

_numbers = itertools.count(1)


class Fetched(NamedTuple):
    """All that a partition holds from some offset on."""

    records: bytes
    aborted: list[tuple[int, int]]
    """Producer id and first offset of each aborted transaction."""
    high_watermark: int
    last_stable_offset: int


def create_topic(
    connection: RawConnection,
    purpose: str,
    partitions: int = 1,
    *,
    replicas: int = 1,
    configs: Mapping[str, str] | None = None,
) -> tuple[str, Uuid]:
    """The name and the id of a new topic, which may not have its leaders yet."""
    wanted = CreatableTopic(
        name=f"{purpose}-{next(_numbers)}",
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=[],
        configs=[
            CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()
        ],
    )
    (created,) = connection.send(CreateTopicsRequest(topics=[wanted])).topics
    assert created.error_code == 0, created
    return created.name, created.topic_id


class Topic:
    """A topic of its own for one test or one module; its name begins with what it is for."""

    def __init__(self, connection: RawConnection, name: str, topic_id: Uuid) -> None:
        self._connection = connection
        self.name = name
        self.id = topic_id

    @classmethod
    def create(
        cls,
        connection: RawConnection,
        purpose: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
    ) -> Topic:
        """Create it on a Kafka of one node, and wait until each partition has a leader."""
        name, topic_id = create_topic(connection, purpose, partitions, configs=configs)
        topic = cls(connection, name, topic_id)
        deadline = time.monotonic() + 20
        while not topic._is_served(partitions):
            assert time.monotonic() < deadline, f"{name} has no leader"
            time.sleep(0.01)
        return topic

    def _is_served(self, partitions: int) -> bool:
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=self.name)])
        (found,) = self._connection.send(asked).topics
        return len(found.partitions) == partitions and all(
            self.end(partition, check=False) is not None for partition in range(partitions)
        )

    def end(self, partition: int = 0, *, check: bool = True) -> int | None:
        """The offset after the last record."""
        wanted = ListOffsetsPartition(partition_index=partition, timestamp=LATEST)
        topics = [ListOffsetsTopic(name=self.name, partitions=[wanted])]
        answer = self._connection.send(ListOffsetsRequest(replica_id=-1, topics=topics))
        ((found,),) = (topic.partitions for topic in answer.topics)
        assert not (check and found.error_code), found
        return None if found.error_code else found.offset

    def try_produce(
        self,
        records: Buffer,
        partition: int = 0,
        *,
        transactional_id: str | None = None,
        version: int | None = None,
    ) -> PartitionProduceResponse:
        """The broker's answer, whatever it says."""
        data = [PartitionProduceData(index=partition, records=records)]
        request = ProduceRequest(
            transactional_id=transactional_id,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[TopicProduceData(name=self.name, topic_id=self.id, partition_data=data)],
        )
        answer = self._connection.send(request, version)
        ((found,),) = (topic.partition_responses for topic in answer.responses)
        return found

    def produce(
        self, records: Buffer, partition: int = 0, *, version: int | None = None
    ) -> PartitionProduceResponse:
        """The broker's answer to a batch that it must accept."""
        answer = self.try_produce(records, partition, version=version)
        assert answer.error_code == 0, answer
        return answer

    def fetch(self, partition: int = 0, *, isolation: int = READ_UNCOMMITTED) -> Fetched:
        """All that it holds; a request brings no more than what is in one file of the broker."""
        fetched = self.fetch_once(partition, isolation=isolation)
        parts, aborted, offset = [fetched.records], dict.fromkeys(fetched.aborted), 0
        while parts[-1]:
            *_, last = verify(parts[-1])
            offset = last.last_offset + 1
            more = self.fetch_once(partition, offset, isolation=isolation)
            parts.append(more.records)
            aborted.update(dict.fromkeys(more.aborted))
        return fetched._replace(records=b"".join(parts), aborted=list(aborted))

    def fetch_once(
        self,
        partition: int = 0,
        offset: int = 0,
        *,
        isolation: int = READ_UNCOMMITTED,
        max_bytes: int = 10_000_000,
        version: int | None = None,
    ) -> Fetched:
        """What one Fetch request brings."""
        wanted = FetchPartition(
            partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes
        )
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=max_bytes,
            isolation_level=isolation,
            topics=[FetchTopic(topic=self.name, topic_id=self.id, partitions=[wanted])],
        )
        answer = self._connection.send(request, version)
        assert answer.error_code == 0, answer
        ((found,),) = (topic.partitions for topic in answer.responses)
        assert found.error_code == 0, found
        return Fetched(
            bytes(found.records or b""),
            [(each.producer_id, each.first_offset) for each in found.aborted_transactions or ()],
            found.high_watermark,
            found.last_stable_offset,
        )
