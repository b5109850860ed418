"""One node of Apache Kafka, broker and controller in one process (KRaft), on loopback alone."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from kafka_aio.errors import KafkaError
from kafka_aio.protocol.messages.metadata import MetadataRequest
from tests.kafka import jars, jvm, settings
from tests.kafka.process import Process
from tests.kafka.raw import RawConnection

HOST = "127.0.0.1"
CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
START_SECONDS = 60
ANSWER_SECONDS = 5  # then another connection is tried
HEAP = ("-Xms192m", "-Xmx512m")

_given: set[int] = set()


class StartFailed(Exception):
    """A node did not come up; the message ends with its log."""


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on, below those that outgoing connections get.

    None is given twice in this process.
    """
    numbers = random.SystemRandom()  # pytest-randomly gives every worker the same seed
    ports: list[int] = []
    with ExitStack() as held:
        while len(ports) < count:
            port = numbers.randrange(15_000, 32_000)
            try:
                held.enter_context(socket.socket()).bind((HOST, port))
            except OSError:
                continue
            if port not in _given:
                ports.append(port)
                _given.add(port)
    return ports


class Node:
    """A process that can be started, stopped, killed and started again on the same data.

    Attributes:
        folder: Where its settings, log and data are.
        data: Its log directory, with a folder for each partition.
        ports: The port of each listener.
        proxy_port: What it advertises for the listener PROXY: a proxy may be bound there.
    """

    def __init__(
        self,
        folder: Path,
        node_id: int = 1,
        *,
        brokers: int = 1,
        listeners: Mapping[str, str] = settings.LISTENERS,
        extra: Mapping[str, str] = settings.ALONE,
        java: Sequence[str] = (),
        version: str = jars.VERSION,
    ) -> None:
        """
        Args:
            brokers: How many nodes its metadata has when it is ready.
            listeners: The security protocol of each.
            extra: Settings beside those of every node.
            java: Options of its JVM.
            version: Which Kafka it is.
        """
        self.folder = folder
        self.id = node_id
        self.data = folder / "data"
        *ports, self.proxy_port = free_ports(len(listeners) + 1)
        self.ports = dict(zip(listeners, ports, strict=True))
        self._brokers = brokers
        self._listeners = listeners
        self._extra = extra
        self._java = java
        self._version = version
        self._file = folder / "node.properties"
        self._log = folder / "node.log"
        self._process: Process | None = None

    def __repr__(self) -> str:
        return f"<Node {self.id} at {self.address()}>"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def is_running(self) -> bool:
        """A paused one runs too."""
        return self._process is not None and self._process.is_running

    @property
    def is_paused(self) -> bool:
        return self._process is not None and self._process.is_paused

    def address(self, listener: str = "PLAIN") -> str:
        """Host and port that it advertises. TLS goes by a name; PROXY is where a proxy may be."""
        host = "localhost" if self._listeners[listener].endswith("SSL") else HOST
        return f"{host}:{self.proxy_port if listener == 'PROXY' else self.ports[listener]}"

    def connect(self, listener: str = "PLAIN", *, timeout: float = 20) -> RawConnection:
        """A connection to a listener without TLS."""
        return RawConnection(HOST, self.ports[listener], timeout=timeout)

    def log(self, last: int = 8_000) -> str:
        """The end of what it printed."""
        return self._log.read_text(errors="replace")[-last:] if self._log.exists() else ""

    def format(self, quorum: str, *arguments: str) -> None:
        """Write the settings and prepare the data folder for its first start.

        Args:
            quorum: The addresses of all controllers.
            arguments: What else the storage tool is told: who the first controllers are, users.

        Raises:
            ToolFailed: Kafka refused the settings or the folder.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = self._settings(quorum).items()
        self._file.write_text("".join(f"{name}={value}\n" for name, value in lines))
        options = ("-t", CLUSTER_ID, "-c", str(self._file), *arguments)
        tool = "kafka.tools.StorageTool"
        jvm.run(tool, "format", *options, scratch=self.folder, version=self._version)

    def _settings(self, quorum: str) -> dict[str, str]:
        public = [name for name in self._listeners if name != "CONTROLLER"]
        return {
            "process.roles": "broker,controller",
            "node.id": str(self.id),
            "controller.quorum.bootstrap.servers": quorum,
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAIN",
            "listeners": ",".join(f"{name}://{HOST}:{port}" for name, port in self.ports.items()),
            "advertised.listeners": ",".join(f"{name}://{self.address(name)}" for name in public),
            "listener.security.protocol.map": ",".join(
                f"{name}:{protocol}" for name, protocol in self._listeners.items()
            ),
            "log.dirs": str(self.data),
            **settings.QUICK,
            **settings.ACCESS,
            **self._extra,
        }

    def start(self) -> None:
        """Start the process; `wait_ready` tells when it serves."""
        assert not self.is_running
        self.kill()  # which buries one that has ended by itself
        command = jvm.command(
            "kafka.Kafka", str(self._file), scratch=self.folder, options=(*HEAP, *self._java)
        )
        environment = jvm.environment(self._version)
        self._process = Process(command, environment=environment, log=self._log)

    def wait_ready(self, timeout: float = START_SECONDS) -> None:
        """Until it answers ApiVersions on a new connection, and its metadata has all brokers.

        Raises:
            StartFailed: It ended instead, or did not answer in time.
        """
        deadline = time.monotonic() + timeout
        problem: object = None
        while (left := deadline - time.monotonic()) > 0:
            if not self.is_running:
                raise StartFailed(f"{self!r} ended while starting:\n{self.log()}")
            try:
                with self.connect(timeout=min(left, ANSWER_SECONDS)) as connection:
                    found = len(connection.send(MetadataRequest(topics=[])).brokers)
                if found >= self._brokers:
                    return
                problem = f"{found} of {self._brokers} brokers"
            except (OSError, EOFError, KafkaError) as error:
                problem = error
            time.sleep(0.05)
        raise StartFailed(f"{self!r} is not ready in {timeout} s: {problem!r}\n{self.log()}")

    def stop(self) -> None:
        """An orderly end (SIGTERM); one that takes too long is cut short."""
        if self._process is not None:
            self._process.stop()
            self._process = None

    def kill(self) -> None:
        """The end as in a power failure (SIGKILL)."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def pause(self) -> None:
        """It still accepts connections, as the kernel does that, but answers nothing (SIGSTOP)."""
        assert self._process is not None
        self._process.pause()

    def resume(self) -> None:
        """The end of a pause (SIGCONT)."""
        assert self._process is not None
        self._process.resume()

    def restart(self) -> None:
        """Stop, start on the same data, wait until it serves.

        Raises:
            StartFailed: It did not come up again.
        """
        self.stop()
        self.start()
        self.wait_ready()
