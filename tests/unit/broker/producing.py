"""Batches, and requests that write and read them: for the tests of the log and of its APIs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka_aio.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kafka_aio.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_aio.records.batch import verify
from kafka_aio.records.codec import BatchBuilder, RecordReader, crc32c
from kafka_aio.records.compression import Codec, Compression
from kafka_aio.records.layout import CRC_FROM, HEADER, UNSTAMPED, BatchHeader, ProducerStamp
from tests.unit.broker.clusters import WALL_MS, call, made

if TYPE_CHECKING:
    from kafka_aio.broker.log import PartitionLog
    from kafka_aio.broker.state import State


def batch(
    *values: bytes,
    key: bytes | None = b"key",
    timestamp: int = WALL_MS,
    codec: Codec = Codec.NONE,
    stamp: ProducerStamp = UNSTAMPED,
) -> memoryview:
    """A batch of these values, one millisecond after the other."""
    builder = BatchBuilder(2**24)
    for index, value in enumerate(values or (b"value",)):
        builder.append(key, value, timestamp + index)
    return builder.finish(Compression(codec), stamp)


def header_of(data: memoryview) -> BatchHeader:
    return BatchHeader._make(HEADER.unpack_from(data))


def patched(data: memoryview, **fields: int) -> memoryview:
    """The batch with other fields in its header, and the CRC of that unless one is given."""
    made = memoryview(bytearray(data))
    header = header_of(data)._replace(**fields)
    HEADER.pack_into(made, 0, *header)
    if "crc" not in fields:
        HEADER.pack_into(made, 0, *header._replace(crc=crc32c(made[CRC_FROM:])))
    return made


def write(log: PartitionLog, data: memoryview, *, append_time: int = -1) -> int:
    """Append a batch that needs no check."""
    return log.append(data, header_of(data), append_time=append_time)


def idempotent(producer: int, epoch: int, sequence: int, count: int = 1) -> memoryview:
    """A batch of an idempotent producer."""
    return batch(*[b"value"] * count, stamp=ProducerStamp(producer, epoch, sequence))


def producing(
    *batches: Any, topic: str = "t", partition: int = 0, acks: int = -1, **more: Any
) -> ProduceRequest:
    """A request with a batch for each partition, from `partition` on."""
    data = [
        PartitionProduceData(index=index, records=records)
        for index, records in enumerate(batches, partition)
    ]
    more.setdefault("topic_data", [TopicProduceData(name=topic, partition_data=data)])
    return ProduceRequest(acks=acks, timeout_ms=1_000, **more)


def produce(
    state: State,
    data: Any,
    *,
    topic: str = "t",
    partition: int = 0,
    acks: int = -1,
    version: int = 12,
    **how: Any,
) -> PartitionProduceResponse:
    """The answer for the one partition that is written to."""
    request = producing(data, topic=topic, partition=partition, acks=acks)
    return written(call(state, request, version=version, **how))


def written(response: ProduceResponse) -> PartitionProduceResponse:
    ((answer,),) = (each.partition_responses for each in response.responses)
    return answer


def wants(
    partition: int = 0,
    offset: int = 0,
    max_bytes: int = 2**20,
    *,
    epoch: int = -1,
    last_epoch: int = -1,
) -> FetchPartition:
    return FetchPartition(
        partition=partition,
        fetch_offset=offset,
        partition_max_bytes=max_bytes,
        current_leader_epoch=epoch,
        last_fetched_epoch=last_epoch,
    )


def fetching(
    *partitions: FetchPartition, topic: str = "t", wait_ms: int = 0, min_bytes: int = 1, **more: Any
) -> FetchRequest:
    topics = [FetchTopic(topic=topic, partitions=list(partitions))] if partitions else []
    more.setdefault("topics", topics)
    return FetchRequest(max_wait_ms=wait_ms, min_bytes=min_bytes, **more)


def fetch(
    state: State, wanted: FetchPartition, *, topic: str = "t", version: int = 12, **how: Any
) -> PartitionData:
    """The answer for the one partition that is read."""
    return only(call(state, fetching(wanted, topic=topic), version=version, **how))


def only(response: FetchResponse) -> PartitionData:
    ((answer,),) = (each.partitions for each in response.responses)
    return answer


def told(response: FetchResponse) -> list[tuple[int, int]]:
    """Partitions with the number of whole batches in the answer."""
    return [
        (each.partition_index, len(verify(each.records or b"")))
        for topic in response.responses
        for each in topic.partitions
    ]


def values(data: Any) -> list[bytes | None]:
    """The values of all records in some batches."""
    return [record.value for record in RecordReader(data).read()]


def filled(partitions: int = 1, nodes: int = 1) -> State:
    """Each partition has three batches of two records."""
    state = made(nodes, {"t": partitions})
    for partition in range(partitions):
        leader = state.topics.by_name["t"].partitions[partition].leader
        for _ in range(3):
            produce(state, batch(b"a", b"b"), partition=partition, node=leader)
    return state


def by_id(state: State, *partitions: FetchPartition, name: str = "t") -> FetchRequest:
    topic = FetchTopic(topic_id=state.topics.by_name[name].id, partitions=list(partitions))
    return fetching(topics=[topic])
