"""Loop threads that end with their test; a broker, a topic and options for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from kafka_aio.broker import BrokerThread
from spark_connector import bridge
from spark_connector.bridge import LoopThread
from tests.unit.spark.threads import NEEDS_UVLOOP


@pytest.fixture(params=["asyncio", pytest.param("uvloop", marks=NEEDS_UVLOOP)])
def thread(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopThread]:
    if request.param == "asyncio":
        monkeypatch.setitem(sys.modules, "uvloop", None)  # as where it is not installed
    made = LoopThread()
    assert type(made.loop).__module__.startswith(request.param)
    yield made
    made.stop()
    assert not made._thread.is_alive()


@pytest.fixture
def own_loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The loop of the process, and what is open on it, ends with the test."""
    monkeypatch.setattr(bridge, "_threads", {})
    yield
    for thread in bridge._threads.values():
        thread.stop()


@pytest.fixture(scope="module")
def broker() -> Iterator[BrokerThread]:
    with BrokerThread(seed=1, options={"auto.create.topics.enable": False}) as running:
        yield running


@pytest.fixture
def topic(broker: BrokerThread, request: pytest.FixtureRequest) -> str:
    name = f"t-{abs(hash(request.node.name))}"
    broker.create_topic(name, partitions=2)
    return name


@pytest.fixture
def options(broker: BrokerThread) -> dict[str, str]:
    return {"kafka.bootstrap.servers": broker.bootstrap_servers, "kafka.linger.ms": "0"}
