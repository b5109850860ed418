"""Reading records: what to fetch, where we are in it, and who of a group reads what."""

from kafka_aio.consumer.assignors.assignor import Assignor
from kafka_aio.consumer.assignors.assignor import Member as AssignorMember
from kafka_aio.consumer.committer import Commit
from kafka_aio.consumer.consumer import Consumer
from kafka_aio.consumer.listener import RebalanceListener
from kafka_aio.consumer.offsets import LogTruncated, NoOffsetForPartition
from kafka_aio.consumer.record import ConsumerRecord, ReadRecord
from kafka_aio.consumer.store import (
    OffsetConflict,
    OffsetStore,
    SqlOffsetStore,
    StoredOffsets,
)
from kafka_aio.consumer.values import ConsumerHealth, ConsumerStatistics
from kafka_aio.records.batch import FetchedBatch

__all__ = [
    "Assignor",
    "AssignorMember",
    "Commit",
    "Consumer",
    "ConsumerHealth",
    "ConsumerRecord",
    "ConsumerStatistics",
    "FetchedBatch",
    "LogTruncated",
    "NoOffsetForPartition",
    "OffsetConflict",
    "OffsetStore",
    "ReadRecord",
    "RebalanceListener",
    "SqlOffsetStore",
    "StoredOffsets",
]
