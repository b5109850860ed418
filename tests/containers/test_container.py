"""Kafka in a container serves our client, stays on loopback, and is gone in the end."""

from __future__ import annotations

import gc
import io
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_aio.admin import Admin, NewTopic, TopicCreated, TopicDescription
from kafka_aio.records.batch import verify
from kafka_aio.records.compression import Codec
from tests.interop.sample import SMALL, batch_of
from tests.kafka import container, image, jars, provider
from tests.kafka.container import Contained, DockerMissing
from tests.kafka.node import CLUSTER_ID, HOST, StartFailed
from tests.kafka.raw import RawConnection
from tests.kafka.topic import Topic

# The first test may have to build the image, or to pull it.
pytestmark = pytest.mark.timeout(600)

ROOT = Path(__file__).parents[2]
LABEL = "org.testcontainers"  # what testcontainers gives to each
INNER = """
def test_address(kafka):
    with kafka.connect() as connection:
        assert connection.versions
def test_nodes(kafka): kafka.nodes
"""


@pytest.fixture(scope="session")
def contained() -> Iterator[Contained]:
    """Without Docker the run ends here, in a line: it was asked for."""
    try:
        with container.running(jars.VERSION) as running:
            yield running
    except DockerMissing as missing:
        pytest.exit(str(missing), returncode=1)


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a Docker engine that does not run."""
    address = f"unix://{tmp_path}/docker.sock"
    monkeypatch.setenv("DOCKER_HOST", address)
    return address


@pytest.fixture
def broken(contained: Contained, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of an image, chosen by the variable, whose Kafka ends at once."""
    name = "kafka-aio/broken:1"
    recipe = f"FROM {contained.image}\nCMD echo no space left; exit 3\n"
    with image.engine() as docker:
        docker.client.images.build(fileobj=io.BytesIO(recipe.encode()), tag=name, rm=True)
        monkeypatch.setenv(container.IMAGE, name)
        yield name
        docker.client.images.remove(name, force=True)


def containers() -> set[str]:
    """The ids of all containers of tests, also of those that have ended."""
    with image.engine() as docker:
        found = docker.client.containers.list(all=True, filters={"label": LABEL})
        return {each.id for each in found}


async def test_our_client_creates_lists_and_describes_topics(contained: Contained) -> None:
    async with Admin(bootstrap_servers=contained.bootstrap) as admin:
        cluster = await admin.describe_cluster()
        created = (await admin.create_topics([NewTopic("orders", partitions=3)]))["orders"]
        listed = await admin.list_topics()
        described = (await admin.describe_topics(["orders"]))["orders"]
        deleted = await admin.delete_topics(["orders"])

    assert cluster.cluster_id == CLUSTER_ID
    assert [f"{node.host}:{node.port}" for node in cluster.nodes] == [contained.bootstrap]
    assert isinstance(created, TopicCreated)
    assert isinstance(described, TopicDescription)
    assert ("orders", created.topic_id) in [(topic.name, topic.topic_id) for topic in listed]
    assert [partition.in_sync_replicas for partition in described.partitions] == [(1,)] * 3
    assert deleted == {"orders": None}


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_its_kafka_packs_and_unpacks_each_compression(contained: Contained, codec: str) -> None:
    with RawConnection(HOST, contained.ports["PLAIN"]) as connection:
        packed = Topic.create(connection, "packed", configs={"compression.type": codec})
        plain = Topic.create(connection, "plain", configs={"compression.type": "uncompressed"})

        packed.produce(batch_of(SMALL))
        plain.produce(packed.fetch().records)

        (packed_batch,) = verify(packed.fetch().records)
        (plain_batch,) = verify(plain.fetch().records)
    assert packed_batch.codec == Codec[codec.upper()]
    assert plain_batch.codec == Codec.NONE
    assert plain_batch.record_count == len(SMALL)


def test_it_listens_on_one_address_of_loopback_alone(contained: Contained) -> None:
    for port in contained.ports.values():
        with socket.create_connection((HOST, port), timeout=5):
            pass
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), timeout=5).close()


def test_without_jars_the_tests_get_kafka_in_a_container_which_is_removed(
    contained: Contained, tmp_path: Path
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  kafka\n  timeout\n")
    (tmp_path / "test_inner.py").write_text(INNER)
    nowhere = str(tmp_path / "nowhere")
    inherited = {key: value for key, value in os.environ.items() if key != provider.BOOTSTRAP}
    alone = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    before = containers()

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.kafka.fixtures", "-ra"],
        env={**inherited, **alone, "CI": "1", "PATH": nowhere, "KAFKA_AIO_CACHE": nowhere},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert "1 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
    assert "started from the jars, not one in a container" in done.stdout
    assert containers() == before


def test_one_that_does_not_come_up_shows_its_log_and_is_removed(broken: str) -> None:
    before = containers()

    with pytest.raises(StartFailed) as failed, container.running(jars.VERSION):
        pass

    assert str(failed.value).startswith(broken)
    assert "ended while starting" in str(failed.value)
    assert "no space left" in str(failed.value)
    assert containers() == before


def test_a_stopped_engine_is_told_in_a_line(nowhere: str) -> None:
    with pytest.raises(DockerMissing) as missing, container.running(jars.VERSION):
        pass
    gc.collect()  # a socket that was left open is a warning now, and not in another test

    line = f"start a Docker engine or set DOCKER_HOST: none answers at {nowhere}"
    assert str(missing.value) == f"{line} ([Errno 2] No such file or directory)"


def test_an_image_that_cannot_be_pulled_is_told_in_a_line(
    contained: Contained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(container.IMAGE, f"{HOST}:1/kafka:1")  # a registry that does not run

    with pytest.raises(DockerMissing) as missing, container.running(jars.VERSION):
        pass

    assert str(missing.value).startswith(f"set {container.IMAGE} to one that can be pulled: ")
    assert "connection refused" in str(missing.value)
    assert "\n" not in str(missing.value)


def test_an_image_that_cannot_be_built_is_told_in_a_line(
    contained: Contained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(container.IMAGE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(DockerMissing) as missing, container.running("4.9.9"):
        pass

    start = (
        f"set {container.IMAGE}=apache/kafka:4.9.9 to have it pulled, as our own cannot be built"
    )
    assert str(missing.value) == f"{start}: real Kafka needs `java`: install a JDK 17 and Maven"
