"""Kafka in a container, of an image that is told its settings as apache/kafka is.

The image is the one that `KAFKA_AIO_KAFKA_IMAGE` names, which is pulled if need be, or else our own
(`tests.kafka.image`). Host networking: Kafka listens on loopback alone, as it does without Docker.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kafka_aio.errors import KafkaError
from kafka_aio.protocol.messages.metadata import MetadataRequest
from tests.kafka import image, jars, settings
from tests.kafka.image import DockerMissing
from tests.kafka.node import (
    ANSWER_SECONDS,
    CLUSTER_ID,
    HEAP,
    HOST,
    START_SECONDS,
    StartFailed,
    free_ports,
)
from tests.kafka.raw import RawConnection

if TYPE_CHECKING:
    from testcontainers.core.container import DockerContainer

__all__ = ["IMAGE", "Contained", "DockerMissing", "running"]

IMAGE = "KAFKA_AIO_KAFKA_IMAGE"


class Contained:
    """A Kafka of one node in a container that runs.

    Attributes:
        image: What the container was made from.
        ports: The port of each listener.
    """

    def __init__(self, container: DockerContainer, ports: dict[str, int]) -> None:
        self.image = container.image
        self.ports = ports
        self._container = container

    @property
    def bootstrap(self) -> str:
        """Host and port of the plaintext listener."""
        return f"{HOST}:{self.ports['PLAIN']}"

    def log(self, last: int = 8_000) -> str:
        """The end of what it printed."""
        printed: bytes = self._container.get_wrapped_container().logs()
        return printed.decode(errors="replace")[-last:]

    def wait_ready(self, timeout: float = START_SECONDS) -> None:
        """Until it answers on a new connection and its metadata has the broker.

        Raises:
            StartFailed: It ended instead, or did not answer in time.
        """
        port, what = self.ports["PLAIN"], f"{self.image} at {self.bootstrap}"
        deadline = time.monotonic() + timeout
        problem: object = None
        while time.monotonic() < deadline:
            self._container.reload()
            if self._container.status not in ("created", "running"):
                raise StartFailed(f"{what} ended while starting:\n{self.log()}")
            try:
                with RawConnection(HOST, port, timeout=ANSWER_SECONDS) as connection:
                    if connection.send(MetadataRequest(topics=[])).brokers:
                        return
            except (OSError, EOFError, KafkaError) as error:
                problem = error
            time.sleep(0.1)
        raise StartFailed(f"{what} is not ready in {timeout} s: {problem!r}\n{self.log()}")


@contextmanager
def running(version: str) -> Iterator[Contained]:
    """A Kafka that is removed at the end, also when it did not come up.

    Args:
        version: Which one, unless `KAFKA_AIO_KAFKA_IMAGE` says it.

    Raises:
        DockerMissing: No engine answers, or there is no image and none can be had.
        StartFailed: There is an image, but Kafka did not come up.
    """
    name = _image(version)
    from testcontainers.core.config import testcontainers_config
    from testcontainers.core.container import DockerContainer

    # Ryuk, which removes what a killed run leaves, is one more image, and needs a bridge network.
    testcontainers_config.ryuk_disabled = True
    ports = dict(zip(("PLAIN", "CONTROLLER"), free_ports(2), strict=True))
    container = DockerContainer(name).with_envs(**_environment(ports)).with_kwargs(network="host")
    with container:
        contained = Contained(container, ports)
        contained.wait_ready()
        yield contained


def _image(version: str) -> str:
    """The name of an image that is there."""
    wanted = os.environ.get(IMAGE)
    if wanted:
        _pull(wanted)
        return wanted
    try:
        return image.build(version)
    except (jars.JarsMissing, image.PartsMissing) as missing:
        pull = f"set {IMAGE}=apache/kafka:{version} to have it pulled"
        raise DockerMissing(f"{pull}, as our own cannot be built: {missing}") from None


def _pull(name: str) -> None:
    """Get an image, unless it is there."""
    with image.engine() as docker:
        from docker.errors import (  # type: ignore[import-untyped]  # has no types
            DockerException,
            ImageNotFound,
        )

        try:
            docker.client.images.get(name)
        except ImageNotFound:
            try:
                docker.client.images.pull(name)
            except DockerException as error:
                why = " ".join(str(error).split())
                raise DockerMissing(f"set {IMAGE} to one that can be pulled: {why}") from None


def _environment(ports: dict[str, int]) -> dict[str, str]:
    """What the image makes Kafka's settings from."""
    addresses = {name: f"{HOST}:{port}" for name, port in ports.items()}
    told = {
        "process.roles": "broker,controller",
        "node.id": "1",
        # Not `controller.quorum.bootstrap.servers`: the image formats without `--standalone`.
        "controller.quorum.voters": f"1@{addresses['CONTROLLER']}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAIN",
        "listeners": ",".join(f"{name}://{address}" for name, address in addresses.items()),
        "advertised.listeners": f"PLAIN://{addresses['PLAIN']}",
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in ports),
        "log.dirs": "/tmp/kafka-aio",
        **settings.QUICK,
        **settings.ACCESS,
        **settings.ALONE,
    }
    return {
        **{f"KAFKA_{name.upper().replace('.', '_')}": value for name, value in told.items()},
        "CLUSTER_ID": CLUSTER_ID,
        "KAFKA_HEAP_OPTS": " ".join(HEAP),
        "KAFKA_JMX_OPTS": " ",  # were it empty, apache/kafka would open a port for JMX
    }
