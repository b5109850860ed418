"""The log of a partition, in memory: batches as they came, by offset. Pure.

`PartitionLog` keeps the bytes (`segment`), who led when (`epochs`), and what each idempotent
producer wrote last (`producers`). `batches` reads and checks what a producer sent.
"""

from kafka_aio.broker.log.partition_log import PartitionLog

__all__ = ["PartitionLog"]
