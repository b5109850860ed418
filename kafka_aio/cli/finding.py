"""The topics that a command is about: are they there, with how many partitions?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kafka_aio.cli.progress import progress
from kafka_aio.errors import ConfigError, KafkaError, KafkaTimeoutError
from kafka_aio.types import PartitionInfo


class _Client(Protocol):
    async def partitions_for(
        self, topic: str, *, timeout: float | None = None
    ) -> Sequence[PartitionInfo]: ...


async def partitions(client: _Client, topic: str, timeout: float) -> int:
    """How many there are.

    Raises:
        ConfigError: No topic can be called this.
        KafkaError: The topic is not found in time.
    """
    try:
        async with progress(f"looking for topic {topic}"):
            return len(await client.partitions_for(topic, timeout=timeout))
    except ValueError as error:
        raise ConfigError(str(error)) from None
    except KafkaTimeoutError:
        raise KafkaError(
            f"topic {topic!r} was not found within {timeout:.0f} s: check its name, or create it"
            " with `kafka-aio topics create`"
        ) from None


def no_partition(topic: str, partition: int, count: int) -> str:
    """What to say about one that is not there."""
    return f"partition {partition}: topic {topic!r} has 0 to {count - 1}"
