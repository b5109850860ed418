"""An asyncio-native client for Apache Kafka. The public names, nothing else.

Each is imported when it is first used: who needs the errors does not wait for a client, and pytest,
which loads our plugin with every run, waits for nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafka_aio import errors
    from kafka_aio.admin import (
        AclOperation,
        Admin,
        ApiVersionRange,
        ClusterDescription,
        ConfigChange,
        ConfigEntry,
        ConfigOperation,
        ConfigResource,
        ConfigResourceKind,
        Feature,
        GroupDescription,
        GroupList,
        GroupListing,
        GroupMember,
        GroupState,
        GroupType,
        NewPartitions,
        NewTopic,
        NodeStatus,
        OffsetChange,
        OffsetReset,
        OffsetSpec,
        PartitionDescription,
        TopicCreated,
        TopicDescription,
        TopicListing,
    )
    from kafka_aio.config import (
        AdminConfig,
        ClientConfig,
        ConsumerConfig,
        KafkaConfigWarning,
        ProducerConfig,
    )
    from kafka_aio.consumer import (
        Assignor,
        AssignorMember,
        Commit,
        Consumer,
        ConsumerHealth,
        ConsumerRecord,
        ConsumerStatistics,
        FetchedBatch,
        LogTruncated,
        NoOffsetForPartition,
        OffsetConflict,
        OffsetStore,
        ReadRecord,
        RebalanceListener,
        SqlOffsetStore,
        StoredOffsets,
    )
    from kafka_aio.errors import (
        AuthenticationError,
        BrokerError,
        BufferFull,
        CommitFailed,
        ConfigError,
        CorruptRecord,
        DeliveryError,
        DeserializationError,
        KafkaConnectionError,
        KafkaError,
        KafkaTimeoutError,
        Persistence,
        ProtocolError,
        RecordTooLarge,
        SendManyError,
        SerializationError,
        StateError,
        UnsupportedVersion,
        UserCodeError,
        WakeupError,
    )
    from kafka_aio.producer import (
        Deliveries,
        Delivery,
        Producer,
        ProducerHealth,
        ProducerRecord,
        ProducerStatistics,
    )
    from kafka_aio.records.codec import CodecInfo, Record, codec_info
    from kafka_aio.types import (
        BearerToken,
        ConfigSource,
        ConfigType,
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

__all__ = [
    "AclOperation",
    "Admin",
    "AdminConfig",
    "ApiVersionRange",
    "Assignor",
    "AssignorMember",
    "AuthenticationError",
    "BearerToken",
    "BrokerError",
    "BufferFull",
    "ClientConfig",
    "ClusterDescription",
    "CodecInfo",
    "Commit",
    "CommitFailed",
    "ConfigChange",
    "ConfigEntry",
    "ConfigError",
    "ConfigOperation",
    "ConfigResource",
    "ConfigResourceKind",
    "ConfigSource",
    "ConfigType",
    "Consumer",
    "ConsumerConfig",
    "ConsumerGroupMetadata",
    "ConsumerHealth",
    "ConsumerRecord",
    "ConsumerStatistics",
    "CorruptRecord",
    "Deliveries",
    "Delivery",
    "DeliveryError",
    "DeserializationError",
    "Feature",
    "FetchedBatch",
    "GroupDescription",
    "GroupList",
    "GroupListing",
    "GroupMember",
    "GroupState",
    "GroupType",
    "KafkaConfigWarning",
    "KafkaConnectionError",
    "KafkaError",
    "KafkaTimeoutError",
    "LogTruncated",
    "NewPartitions",
    "NewTopic",
    "NoOffsetForPartition",
    "Node",
    "NodeStatus",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "OffsetChange",
    "OffsetConflict",
    "OffsetReset",
    "OffsetSpec",
    "OffsetStore",
    "PartitionDescription",
    "PartitionInfo",
    "Persistence",
    "Producer",
    "ProducerConfig",
    "ProducerHealth",
    "ProducerRecord",
    "ProducerStatistics",
    "ProtocolError",
    "ReadRecord",
    "RebalanceListener",
    "Record",
    "RecordMetadata",
    "RecordTooLarge",
    "SendManyError",
    "SerializationError",
    "SqlOffsetStore",
    "StateError",
    "StoredOffsets",
    "SubscriptionPattern",
    "TimestampType",
    "TopicCreated",
    "TopicDescription",
    "TopicListing",
    "TopicPartition",
    "UnsupportedVersion",
    "UserCodeError",
    "WakeupError",
    "codec_info",
    "errors",
]

_HOMES = ("errors", "types", "records.codec", "config", "admin", "producer", "consumer")
"""Where to look for a name, what is imported soonest first."""


def __getattr__(name: str) -> Any:
    """What is public and was not asked for yet."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "errors":
        return import_module(f"{__name__}.errors")
    homes = (import_module(f"{__name__}.{home}") for home in _HOMES)
    found = next(getattr(home, name) for home in homes if hasattr(home, name))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
