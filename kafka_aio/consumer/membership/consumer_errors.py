"""What to say of the errors of a consumer group that do not pass by themselves. Pure."""

from __future__ import annotations

from kafka_aio.errors import (
    BrokerError,
    KafkaError,
    UnsupportedVersion,
)
from kafka_aio.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest


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
