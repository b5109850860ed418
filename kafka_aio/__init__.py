"""An asyncio-native client for Apache Kafka. The public names, nothing else.

Those of whole clients are imported when they are first used: errors and values come without.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kafka_aio import errors
from kafka_aio.config import (
    AdminConfig,
    ClientConfig,
    ConsumerConfig,
    KafkaConfigWarning,
    ProducerConfig,
)
from kafka_aio.errors import (
    AuthenticationError,
    BrokerError,
    ConfigError,
    CorruptRecord,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
    StateError,
    UnsupportedVersion,
)
from kafka_aio.records.codec import CodecInfo, Record, codec_info
from kafka_aio.types import (
    BearerToken,
    ConsumerGroupMetadata,
    Node,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    PartitionInfo,
    RecordMetadata,
    SubscriptionPattern,
    TimestampType,
    TopicPartition,
)

if TYPE_CHECKING:
    from kafka_aio.admin import (
        Admin,
        ApiVersionRange,
        ClusterDescription,
        ConfigChange,
        ConfigEntry,
        ConfigOperation,
        ConfigResource,
        ConfigResourceKind,
        ConfigSource,
        ConfigType,
        Feature,
        NewPartitions,
        NewTopic,
        NodeStatus,
        PartitionDescription,
        TopicCreated,
        TopicDescription,
        TopicListing,
    )

__all__ = [
    "Admin",
    "AdminConfig",
    "ApiVersionRange",
    "AuthenticationError",
    "BearerToken",
    "BrokerError",
    "ClientConfig",
    "ClusterDescription",
    "CodecInfo",
    "ConfigChange",
    "ConfigEntry",
    "ConfigError",
    "ConfigOperation",
    "ConfigResource",
    "ConfigResourceKind",
    "ConfigSource",
    "ConfigType",
    "ConsumerConfig",
    "ConsumerGroupMetadata",
    "CorruptRecord",
    "Feature",
    "KafkaConfigWarning",
    "KafkaConnectionError",
    "KafkaError",
    "KafkaTimeoutError",
    "NewPartitions",
    "NewTopic",
    "Node",
    "NodeStatus",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "PartitionDescription",
    "PartitionInfo",
    "ProducerConfig",
    "ProtocolError",
    "Record",
    "RecordMetadata",
    "StateError",
    "SubscriptionPattern",
    "TimestampType",
    "TopicCreated",
    "TopicDescription",
    "TopicListing",
    "TopicPartition",
    "UnsupportedVersion",
    "codec_info",
    "errors",
]


def __getattr__(name: str) -> Any:
    """What is public and not here yet is the admin's."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("kafka_aio.admin"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
