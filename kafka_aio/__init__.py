"""An asyncio-native client for Apache Kafka. The public names, nothing else."""

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
    "AdminConfig",
    "AuthenticationError",
    "BrokerError",
    "ClientConfig",
    "CodecInfo",
    "ConfigError",
    "ConsumerConfig",
    "ConsumerGroupMetadata",
    "CorruptRecord",
    "KafkaConfigWarning",
    "KafkaConnectionError",
    "KafkaError",
    "KafkaTimeoutError",
    "Node",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "PartitionInfo",
    "ProducerConfig",
    "ProtocolError",
    "Record",
    "RecordMetadata",
    "StateError",
    "SubscriptionPattern",
    "TimestampType",
    "TopicPartition",
    "UnsupportedVersion",
    "codec_info",
    "errors",
]
