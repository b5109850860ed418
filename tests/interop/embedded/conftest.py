"""Embedded brokers, for clients that know nothing of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_aio.broker import BrokerThread
from tests.interop.embedded.waiting import USERS


@pytest.fixture(scope="module")
def broker() -> Iterator[BrokerThread]:
    """Of two nodes; the tests of a file share it, each with topics and groups of its own."""
    with BrokerThread(nodes=2, options={"group.initial.rebalance.delay.ms": 100}) as broker:
        yield broker


@pytest.fixture(scope="module")
def secured_broker() -> Iterator[BrokerThread]:
    """Of one node, with TLS and SASL."""
    with BrokerThread(tls=True, users=USERS) as broker:
        yield broker
