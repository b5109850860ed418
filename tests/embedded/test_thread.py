from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kafka_aio.broker import BrokerThread, EmbeddedBroker, thread
from kafka_aio.errors import (
    ConfigError,
    InvalidTopic,
    KafkaTimeoutError,
    NotLeaderOrFollower,
    StateError,
    UnknownTopicOrPartition,
)
from kafka_aio.protocol.frame import decode_response
from kafka_aio.protocol.schema import Request
from tests.embedded.client import VERSIONS, framed, produce


@pytest.fixture
def broker() -> Iterator[BrokerThread]:
    with BrokerThread(topics={"t": 1}, seed=1) as started:
        yield started
    assert "kafka_aio broker" not in [each.name for each in threading.enumerate()]


def dialled(broker: BrokerThread) -> socket.socket:
    host, _, port = broker.bootstrap_servers.split(",")[0].partition(":")
    return socket.create_connection((host, int(port)), timeout=10)


def asked(connection: socket.socket, request: Request[Any], version: int) -> object:
    connection.sendall(framed(request, version=version))
    file = connection.makefile("rb")
    with file:
        length = int.from_bytes(file.read(4), "big")
        return decode_response(type(request), file.read(length), version)


def run_python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", program],
        capture_output=True,
        text=True,
        timeout=40,
    )


def test_a_program_without_a_loop_can_use_it(broker: BrokerThread) -> None:
    with dialled(broker) as connection:
        asked(connection, produce(b"a"), 12)

    broker.produce("t", ["b"])

    assert [record.value for record in broker.records("t")] == [b"a", b"b"]
    assert broker.end_offsets("t") == {("t", 0): 2}
    assert broker.statistics().apis["Produce"].requests == 1
    assert repr(broker).startswith("<BrokerThread of <EmbeddedBroker 127.0.0.1:")
    assert broker.security_protocol == "PLAINTEXT"


def test_errors_are_raised_where_the_call_was_made(broker: BrokerThread) -> None:
    with pytest.raises(UnknownTopicOrPartition):
        broker.delete_topic("missing")
    with pytest.raises(ConfigError, match="no node 5"):
        broker.stop_node(5)


def test_what_goes_wrong_at_the_start_is_raised_there() -> None:
    with pytest.raises(ConfigError, match="nodes"):
        BrokerThread(nodes=0)
    with BrokerThread() as taken:
        port = int(taken.bootstrap_servers.partition(":")[2])
        with pytest.raises(ConfigError, match=f"port {port}"):
            BrokerThread(port=port).start()


def test_nodes_stop_and_start() -> None:
    with BrokerThread(nodes=2, topics={"t": 2}) as broker:
        broker.stop_node(1)
        with pytest.raises(ConnectionRefusedError):
            dialled(broker)

        broker.start_node(1)

        with dialled(broker) as connection:
            assert asked(connection, VERSIONS, 3)


def test_faults_are_set_from_any_thread(broker: BrokerThread) -> None:
    with broker.faults.hold("Produce") as hold, dialled(broker) as connection:
        connection.sendall(framed(produce(b"a"), version=12))
        broker.wait_hits(hold)
        assert broker.records("t") == []

        hold.release()

        assert connection.recv(4)
        assert len(broker.records("t")) == 1
    with broker.faults.fail("Produce", NotLeaderOrFollower) as fault, dialled(broker) as connection:
        asked(connection, produce(b"b"), 12)

    assert fault.hits == 1


def test_who_waits_for_a_fault_in_vain_is_told(broker: BrokerThread) -> None:
    with pytest.raises(KafkaTimeoutError, match="Drop Produce: 0 hits"):
        broker.wait_hits(broker.faults.drop("Produce"), timeout=0.01)


def test_several_threads_may_use_it_at_once(broker: BrokerThread) -> None:
    def work(number: int) -> None:
        for turn in range(20):
            broker.produce("t", [f"{number}-{turn}"])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))

    assert len({record.value for record in broker.records("t")}) == 160


def test_a_broker_is_started_once_and_closed_any_number_of_times() -> None:
    broker = BrokerThread()
    with pytest.raises(StateError, match="not started"):
        broker.create_topic("t")
    assert not broker.is_running
    with broker:
        assert broker.is_running
        with pytest.raises(StateError, match="started before"):
            broker.start()
    broker.close()

    assert not broker.is_running
    with pytest.raises(StateError, match="closed: make a new one"):
        broker.create_topic("t")
    with pytest.raises(StateError, match="closed: make a new one"):
        broker.start()
    fault = broker.faults.drop("Produce")
    fault.remove()


def test_one_that_was_closed_before_is_not_started() -> None:
    broker = BrokerThread()
    broker.close()

    with pytest.raises(StateError, match="closed: make a new one"):
        broker.start()
    with pytest.raises(StateError, match="closed: make a new one"):
        broker.create_topic("t")


def test_a_start_that_failed_is_not_repeated() -> None:
    broker = BrokerThread(topics=["bad name"])
    with pytest.raises(InvalidTopic):
        broker.start()

    assert not broker.is_running
    with pytest.raises(StateError, match="closed: make a new one"):
        broker.start()


def test_one_that_is_closed_while_it_starts_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = BrokerThread()
    is_starting, is_closing = threading.Event(), threading.Event()
    prepare = broker._broker._prepare

    def wait_and_prepare() -> object:
        is_starting.set()
        is_closing.wait(10)
        return prepare()

    monkeypatch.setattr(broker._broker, "_prepare", wait_and_prepare)
    with ThreadPoolExecutor(2) as pool:
        started = pool.submit(broker.start)
        assert is_starting.wait(10)
        closed = pool.submit(broker.close)
        while not broker._is_closed:
            time.sleep(0.001)
        is_closing.set()

        assert closed.result(10) is None
        with pytest.raises(StateError, match="closed while it was starting: make a new one"):
            started.result(10)
    assert not broker.is_running


def test_its_own_thread_cannot_wait_for_itself(broker: BrokerThread) -> None:
    def call_back() -> None:
        broker.create_topic("x")

    with pytest.raises(StateError, match="own thread"):
        broker._do(call_back)


def test_a_thread_that_does_nothing_is_not_waited_for_ever(
    broker: BrokerThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert broker._lane is not None

    with pytest.raises(KafkaTimeoutError, match="did nothing"):
        broker._lane.run(asyncio.sleep(1), timeout=0.01)


def test_one_that_is_dropped_open_warns_and_ends() -> None:
    broker = BrokerThread()
    broker.start()
    (running,) = [each for each in threading.enumerate() if each.name == "kafka_aio broker"]

    with pytest.warns(ResourceWarning, match="unclosed <BrokerThread"):
        del broker

    running.join(10)
    assert not running.is_alive()


def test_it_serves_tls_and_users() -> None:
    with BrokerThread(tls=True, users={"alice": "secret"}) as broker:
        assert broker.security_protocol == "SASL_SSL"
        assert "PLAIN" in broker.mechanisms
        assert "BEGIN CERTIFICATE" in broker.certificates.ca_pem


def test_a_program_that_forgets_to_close_it_ends_all_the_same() -> None:
    start = time.monotonic()
    ended = run_python(
        "from kafka_aio.broker import BrokerThread\n"
        "broker = BrokerThread(tls=True, topics={'t': 1})\n"
        "broker.start()\n"
        "print(len(broker.end_offsets('t')))\n"
    )

    assert (ended.stdout, ended.returncode) == ("1\n", 0), ended.stderr
    assert time.monotonic() - start < 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_is_told_and_ends() -> None:
    ended = run_python(
        """
import os, sys
from kafka_aio.broker import BrokerThread
from kafka_aio.errors import StateError

with BrokerThread() as broker:
    child = os.fork()
    if child == 0:
        try:
            broker.create_topic("x")
        except StateError as error:
            print(error, flush=True)
        broker.close()
        os._exit(7)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), broker.create_topic("y"))
"""
    )

    assert ended.stdout == "the broker is in the process that was forked: use it there\n7 None\n"
    assert ended.returncode == 0, ended.stderr


def test_the_constructor_takes_what_that_of_the_embedded_broker_takes() -> None:
    with pytest.raises(TypeError, match="ports"):
        BrokerThread(ports=1)  # type: ignore[call-arg]  # the mistake

    assert thread.TIMEOUT > 0


def test_a_fault_is_not_waited_for_before_the_start() -> None:
    broker = BrokerThread()
    fault = broker.faults.hold("Metadata")

    with pytest.raises(StateError, match="was not started"):
        broker.wait_hits(fault)


def test_an_embedded_broker_is_not_asked_outside_of_its_loop() -> None:
    broker = EmbeddedBroker()

    async def main() -> None:
        async with broker:
            with pytest.raises(StateError, match="belongs to another event loop"):
                await asyncio.to_thread(broker.topics)

    asyncio.run(main())
