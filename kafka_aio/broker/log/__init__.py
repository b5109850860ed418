"""The log of a partition, in memory: batches as they came, by offset. Pure.

`PartitionLog` keeps the bytes (`segment`), who led when (`epochs`), and what each idempotent
producer wrote last (`producers`). `batches` reads and checks what a producer sent.
"""

from kafka_aio.broker.log.partition_log import PartitionLog
from kafka_aio.broker.log.segment import Spare

__all__ = ["PartitionLog", "Spare"]
