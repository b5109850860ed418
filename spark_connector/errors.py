"""What the connector raises beside the errors of kafka_aio. Pure."""

from __future__ import annotations

from kafka_aio.errors import KafkaError


class DataLossError(KafkaError):
    """Records that were asked for are not in Kafka any more, and failOnDataLoss is true."""


class RowError(KafkaError):
    """A row could not be written, or its call failed by what cannot be raised as it is.

    The message says where it stands, the cause why.
    """
