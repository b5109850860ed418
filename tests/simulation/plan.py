"""What a seed decides beforehand: options, who sends what, and how bad the weather will be."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

PARTITIONS = 6
RECORDS = 2_000
FAULTS = 10
LONGEST_VALUE = 300

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
FOREVER_MS = 3_600_000
MANY = 2**31 - 1


@dataclass(frozen=True)
class Plan:
    """A run, as far as it is known before it begins."""

    seed: int
    options: dict[str, Any]
    """Of the producer."""
    topic_configs: dict[str, str]
    keys: str
    """What places a record: "none", "keys", "partitions", or "mixed"."""
    tasks: int
    records: int
    """How many there are at least, of all tasks together."""
    faults: int
    seconds: float
    """How long the records and the faults come, if nothing holds them up."""
    is_patient: bool
    """Time-outs are longer than the weather is bad: each record must be delivered."""
    has_id_trouble: bool
    """The cluster gives no producer id at first."""
    cancels: bool
    """Some calls are cancelled."""

    @classmethod
    def of(cls, seed: int) -> Plan:
        rng = random.Random(f"plan {seed}")
        is_patient = rng.random() < 0.5
        batch_size = rng.choice([200, 1_000, 4_000, 16_384])
        options = {
            "batch_size": batch_size,
            "linger_ms": rng.choice([0, 1, 5, 50, 200]),
            "compression_type": rng.choice(CODECS),
            "max_in_flight_requests_per_connection": rng.randint(1, 5),
            "buffer_memory": rng.choice([3, 12, 10_000]) * max(batch_size, 1_000),
            "max_request_size": rng.choice([3 * max(batch_size, 1_000), 1_048_576]),
            "partitioner_ignore_keys": rng.random() < 0.1,
            "partitioner_adaptive_partitioning_enable": rng.random() < 0.8,
            "partitioner_availability_timeout_ms": rng.choice([0, 0, 500]),
            "retry_backoff_ms": rng.choice([10, 100]),
            "metadata_max_age_ms": rng.choice([1_000, 300_000]),
            "socket_connection_setup_timeout_ms": rng.choice([1_000, 10_000]),
            **_patience(rng, is_patient=is_patient),
        }
        least = max(batch_size // 3, LONGEST_VALUE + 500)  # one record of any size, two of many
        return cls(
            seed,
            options,
            topic_configs={
                "min.insync.replicas": rng.choice(["1", "2"]),
                **({"max.message.bytes": str(least)} if rng.random() < 0.3 else {}),
            },
            keys=rng.choice(["none", "keys", "partitions", "mixed"]),
            tasks=rng.randint(3, 8),
            records=RECORDS,
            faults=rng.randint(FAULTS, 2 * FAULTS),
            seconds=rng.uniform(10, 40),
            is_patient=is_patient,
            has_id_trouble=rng.random() < 0.2,
            cancels=rng.random() < 0.3,
        )


def _patience(rng: random.Random, *, is_patient: bool) -> dict[str, int]:
    request_ms = rng.choice([500, 2_000, 5_000])
    if is_patient:
        delivery_ms = block_ms = FOREVER_MS
        retries = MANY
    else:
        retries = rng.choice([1, 3, MANY, MANY])
        delivery_ms = request_ms + rng.randint(200, 5_000)  # 200 is the longest linger_ms
        block_ms = rng.choice([300, 60_000])
    return {
        "request_timeout_ms": request_ms,
        "delivery_timeout_ms": delivery_ms,
        "max_block_ms": block_ms,
        "retries": retries,
    }
