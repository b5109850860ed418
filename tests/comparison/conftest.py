"""The two sides as a fixture."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_aio.broker import BrokerThread
from tests.comparison.sides import Both, Side
from tests.kafka.cluster import Cluster
from tests.kafka.settings import ALONE, QUICK

# What the real one is told and the embedded one knows too.
OPTIONS = (
    "group.consumer.min.heartbeat.interval.ms",
    "group.consumer.min.session.timeout.ms",
    "group.initial.rebalance.delay.ms",
    "group.min.session.timeout.ms",
    "num.partitions",
    "offsets.topic.num.partitions",
    "offsets.topic.replication.factor",
)
KAFKAS_OWN = {
    "group.consumer.assignment.interval.ms": 1_000,
    "group.consumer.heartbeat.interval.ms": 5_000,
    "log.retention.bytes": -1,
    "log.segment.bytes": 67_108_864,
}
"""Where the defaults differ on purpose (`kafka_aio.broker.settings`)."""


@pytest.fixture(scope="module")
def embedded() -> Iterator[BrokerThread]:
    told = {**QUICK, **ALONE}
    options = {name: told[name] for name in OPTIONS} | KAFKAS_OWN
    with BrokerThread(options=options, seed=0) as broker:
        yield broker


@pytest.fixture
def both(kafka: Cluster, embedded: BrokerThread) -> Iterator[Both]:
    sides = Both(Side("kafka", kafka.bootstrap), Side("embedded", embedded.bootstrap_servers))
    try:
        yield sides
    finally:
        for side in sides:
            side.close()
