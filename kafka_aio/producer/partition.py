"""Chooses who computes partitions: the compiled module, or its twin in plain Python. Pure.

KAFKA_AIO_PURE=1 forces the twin. KAFKA_AIO_REQUIRE_COMPILED=1 makes it an error if the compiled
module is missing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_aio.producer._partition import NO_PARTITION, murmur2, partition_of_key, scatter
elif os.environ.get("KAFKA_AIO_PURE") == "1":
    from kafka_aio.producer._partition_py import NO_PARTITION, murmur2, partition_of_key, scatter
else:
    try:
        from kafka_aio.producer._partition import NO_PARTITION, murmur2, partition_of_key, scatter
    except ImportError:
        if os.environ.get("KAFKA_AIO_REQUIRE_COMPILED") == "1":
            raise
        from kafka_aio.producer._partition_py import (
            NO_PARTITION,
            murmur2,
            partition_of_key,
            scatter,
        )

__all__ = ["NO_PARTITION", "murmur2", "partition_of_key", "scatter"]
