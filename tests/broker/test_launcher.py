"""Real Kafka does what the tests ask of it: it dies, hangs, comes back and elects leaders."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kafka_aio.protocol.messages.metadata import MetadataRequest
from tests.interop.sample import SMALL, batch_of
from tests.kafka import jars
from tests.kafka.cluster import Cluster
from tests.kafka.node import HOST, StartFailed
from tests.kafka.topic import Topic, create_topic

OWNER = """
import time
from pathlib import Path
from tests.kafka.process import Process

guarded = Process(["sleep", "60"], environment={}, log=Path("/dev/null"))
guarded.pause()
print(guarded.pid, flush=True)
time.sleep(60)
"""


@pytest.fixture
def three(kafka_cluster: Cluster) -> Iterator[Cluster]:
    """The cluster of three nodes, which a test may break."""
    yield kafka_cluster
    kafka_cluster.heal()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("listener", ["PLAIN", "PROXY"])
def test_each_node_knows_all_three_and_their_racks(kafka_cluster: Cluster, listener: str) -> None:
    known = []
    for node in kafka_cluster.nodes:
        with node.connect(listener) as connection:
            brokers = connection.send(MetadataRequest(topics=[])).brokers
        known.append({(each.node_id, f"{each.host}:{each.port}", each.rack) for each in brokers})

    nodes = kafka_cluster.nodes
    assert known == [{(node.id, node.address(listener), f"rack-{node.id}") for node in nodes}] * 3


def test_the_version_that_was_asked_for_is_what_runs(kafka_cluster: Cluster) -> None:
    logs = "".join(node.log(last=1_000_000) for node in kafka_cluster.nodes)

    first_two = ".".join(jars.VERSION.split(".")[:2])
    assert f"metadata.version {first_two}-IV" in logs


def test_the_port_of_a_proxy_is_free_for_one(kafka_cluster: Cluster) -> None:
    node = kafka_cluster.nodes[0]

    with socket.socket() as proxy:
        proxy.bind((HOST, node.proxy_port))

    assert node.proxy_port not in node.ports.values()


def test_a_killed_node_is_gone_and_comes_back_on_its_data(three: Cluster) -> None:
    with three.connect() as connection:
        name, topic_id = create_topic(connection, "on-one-node")
    three.wait_in_sync(name)
    node = three.leader(name)
    assert node is not None
    with node.connect() as connection:
        Topic(connection, name, topic_id).produce(batch_of(SMALL))
        before = Topic(connection, name, topic_id).fetch()

    node.kill()
    wait_until(lambda: three.leader(name) is None)
    with pytest.raises(ConnectionRefusedError):
        node.connect()
    three.heal()

    assert three.leader(name) is node
    with node.connect() as connection:
        assert Topic(connection, name, topic_id).fetch() == before


def test_a_paused_node_takes_connections_and_answers_when_it_is_resumed(three: Cluster) -> None:
    node = three.nodes[1]
    node.pause()

    with node.connect() as connection, ThreadPoolExecutor() as pool:
        answer = pool.submit(lambda: connection.versions)
        with pytest.raises(TimeoutError):
            answer.result(timeout=0.5)
        node.resume()

        assert answer.result().supports(MetadataRequest)


def test_when_a_leader_is_killed_another_node_leads(three: Cluster) -> None:
    name = three.create_topic("fail-over")
    before = three.leader(name)
    assert before is not None

    before.kill()
    wait_until(lambda: three.leader(name) not in (before, None))

    ((partition,),) = (topic.partitions for topic in three.metadata(name).topics)
    assert before.id not in partition.isr_nodes
    assert sorted(partition.replica_nodes) == [1, 2, 3]


def test_a_restarted_node_is_another_process_on_the_same_ports(three: Cluster) -> None:
    node = three.nodes[2]
    pid, address = node.pid, node.address()

    node.restart()

    assert node.is_running
    assert node.pid != pid
    with node.connect() as connection:
        brokers = connection.send(MetadataRequest(topics=[])).brokers
    assert address in {f"{each.host}:{each.port}" for each in brokers}


def test_healing_brings_back_what_is_paused_and_what_ended_by_itself(three: Cluster) -> None:
    paused, ended, _ = three.nodes
    paused.pause()
    assert ended.pid is not None
    os.kill(ended.pid, signal.SIGKILL)
    wait_until(lambda: not ended.is_running)

    three.heal()

    assert [(node.is_running, node.is_paused) for node in three.nodes] == [(True, False)] * 3
    assert len(three.metadata().brokers) == 3


@pytest.fixture
def alone(kafka_libs: Path, tmp_path: Path) -> Iterator[Cluster]:
    """A cluster that was not started."""
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.stop()


def test_a_failed_start_shows_the_log(alone: Cluster) -> None:
    (node,) = alone.nodes

    with socket.socket() as taken:
        taken.bind((HOST, node.ports["PLAIN"]))
        with pytest.raises(StartFailed, match=r"(?s)ended while starting.*Address already in use"):
            alone.start()

    assert not node.is_running


def test_a_paused_process_does_not_outlive_a_pytest_that_was_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert state_of(pid) == "T"
        owner.send_signal(signal.SIGKILL)

    wait_until(lambda: state_of(pid) in ("", "Z"))


def state_of(pid: int) -> str:
    """T is paused, Z is dead and not yet buried, nothing is gone."""
    command = ["ps", "-o", "state=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()[:1]
