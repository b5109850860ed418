"""Declarations only, with no limit of lines: what members of a group tell each other. Pure."""

from kafka_aio.protocol.schema import Bytes, Int32, String, data, message, since


@message
class ConsumerProtocolSubscriptionTopicPartition:
    topic: String
    partitions: list[Int32]


@data(versions=(0, 3))
class ConsumerProtocolSubscription:
    topics: list[String]
    user_data: Bytes | None = None
    owned_partitions: list[ConsumerProtocolSubscriptionTopicPartition] = since(
        1, default=[], ignorable=True
    )
    generation_id: Int32 = since(2, default=-1, ignorable=True)
    rack_id: String | None = since(3, default=None, ignorable=True)


@message
class ConsumerProtocolAssignmentTopicPartition:
    topic: String
    partitions: list[Int32]


@data(versions=(0, 3))
class ConsumerProtocolAssignment:
    assigned_partitions: list[ConsumerProtocolAssignmentTopicPartition]
    user_data: Bytes | None = None
