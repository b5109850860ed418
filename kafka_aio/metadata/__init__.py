"""The cluster as last seen: nodes, topics, leaders, epochs; and when to look again. Pure.

`Metadata` is all that others need. Behind it, `endpoint` says which brokers can be believed,
`topic` and `partitions` what an answer tells about one topic, and `refresh` when the next request
is due.
"""

from kafka_aio.metadata.endpoint import Endpoint
from kafka_aio.metadata.metadata import Metadata, Update
from kafka_aio.metadata.partitions import Leader

__all__ = ["Endpoint", "Leader", "Metadata", "Update"]
