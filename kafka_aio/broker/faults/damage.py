"""Answers with something wrong in them, for the faults that ask for it. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from kafka_aio.protocol.messages.fetch import FetchResponse, PartitionData
from kafka_aio.protocol.schema import schema_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafka_aio.broker.nodes import Rng
    from kafka_aio.broker.topics.topics import Topic
    from kafka_aio.protocol.schema import Uuid

T = TypeVar("T")

_BATCH_LENGTH: Final = slice(8, 12)
_BEFORE_LENGTH: Final = 12
_NONSENSE_BYTES: Final = 60


def changed(message: T, **values: object) -> T:
    """A message with other values. It is not written to: who gave the answer may keep it."""
    fields = {each.name: getattr(message, each.name) for each in schema_of(type(message)).fields}
    return type(message)(**{**fields, **values})


def corrupted(
    response: FetchResponse, is_hit: Callable[[str, int], bool], *, names: Mapping[Uuid, Topic]
) -> FetchResponse:
    """An answer to Fetch, with one byte changed in each partition that is hit and has records.

    Args:
        response: The good answer.
        is_hit: Whether a partition, of a topic by its name, is to be damaged.
        names: The topics by id: newer answers have no names.
    """

    def damaged(topic: str, partition: PartitionData) -> PartitionData:
        if not partition.records or not is_hit(topic, partition.partition_index):
            return partition
        return changed(partition, records=_flipped(bytes(partition.records)))

    topics = []
    for topic in response.responses:
        found = names.get(topic.topic_id)
        name = found.name if found is not None else topic.topic
        topics.append(changed(topic, partitions=[damaged(name, each) for each in topic.partitions]))
    return changed(response, responses=topics)


def _flipped(records: bytes) -> bytes:
    """Change the last byte of the first batch: the CRC covers it, whatever is in the batch."""
    last = _BEFORE_LENGTH + int.from_bytes(records[_BATCH_LENGTH], "big") - 1
    return records[:last] + bytes([records[last] ^ 0x01]) + records[last + 1 :]


def nonsense(correlation_id: int, rng: Rng) -> bytes:
    """A frame that answers nothing: its length is right, all else is noise."""
    noise = rng.randbytes(_NONSENSE_BYTES)
    other = (correlation_id ^ 0x55555555).to_bytes(4, "big", signed=True)
    return (len(other) + len(noise)).to_bytes(4, "big") + other + noise
