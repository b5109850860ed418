"""Looking after a cluster: `Admin`, and the values that its calls take and return.

`topics`, `configs`, `nodes`, `groups`, `group_offsets` and `logs` make requests and read answers;
`calls` sends them, and again.
"""

from kafka_aio.admin.admin import Admin as Admin
from kafka_aio.admin.group_values import AclOperation as AclOperation
from kafka_aio.admin.group_values import GroupDescription as GroupDescription
from kafka_aio.admin.group_values import GroupList as GroupList
from kafka_aio.admin.group_values import GroupListing as GroupListing
from kafka_aio.admin.group_values import GroupMember as GroupMember
from kafka_aio.admin.group_values import GroupState as GroupState
from kafka_aio.admin.group_values import GroupType as GroupType
from kafka_aio.admin.offset_values import OffsetChange as OffsetChange
from kafka_aio.admin.offset_values import OffsetReset as OffsetReset
from kafka_aio.admin.offset_values import OffsetSpec as OffsetSpec
from kafka_aio.admin.values import ApiVersionRange as ApiVersionRange
from kafka_aio.admin.values import ClusterDescription as ClusterDescription
from kafka_aio.admin.values import ConfigChange as ConfigChange
from kafka_aio.admin.values import ConfigEntry as ConfigEntry
from kafka_aio.admin.values import ConfigOperation as ConfigOperation
from kafka_aio.admin.values import ConfigResource as ConfigResource
from kafka_aio.admin.values import ConfigResourceKind as ConfigResourceKind
from kafka_aio.admin.values import Feature as Feature
from kafka_aio.admin.values import NewPartitions as NewPartitions
from kafka_aio.admin.values import NewTopic as NewTopic
from kafka_aio.admin.values import NodeStatus as NodeStatus
from kafka_aio.admin.values import PartitionDescription as PartitionDescription
from kafka_aio.admin.values import TopicCreated as TopicCreated
from kafka_aio.admin.values import TopicDescription as TopicDescription
from kafka_aio.admin.values import TopicListing as TopicListing
from kafka_aio.types import ConfigSource as ConfigSource
from kafka_aio.types import ConfigType as ConfigType
