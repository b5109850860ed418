"""Which errors of a consumer group pass by themselves, and what to say of the others. Pure."""

from __future__ import annotations

from kafka_aio.errors import (
    BrokerError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    UnsupportedVersion,
)
from kafka_aio.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest


def is_passing(error: KafkaError) -> bool:
    """Whether the same heartbeat may succeed later."""
    if isinstance(error, BrokerError):
        return error.retriable
    return isinstance(error, (KafkaConnectionError, KafkaTimeoutError))


def explained(error: KafkaError, request: ConsumerGroupHeartbeatRequest) -> KafkaError:
    """The error, with what to do about it where it does not say that itself."""
    if not isinstance(error, UnsupportedVersion):
        return error
    where = f"group {request.group_id}"
    needs = "needs Kafka 4.0 or newer"
    if request.subscribed_topic_regex is not None and not isinstance(error, BrokerError):
        told = UnsupportedVersion(
            f"{where}: a pattern that the broker matches {needs}; subscribe by a re.Pattern, which"
            f" is matched here ({error})"
        )
    else:
        told = UnsupportedVersion(
            f"{where}: group_protocol='consumer' {needs}; use 'classic' with this one ({error})"
        )
    told.__cause__ = error
    return told
