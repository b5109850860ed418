"""One process of Apache Kafka, broker and controller in one (KRaft), on loopback alone."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from kafka_aio.errors import KafkaError
from kafka_aio.protocol.messages.metadata import MetadataRequest
from tests.kafka import jvm
from tests.kafka.raw import RawConnection

HOST = "127.0.0.1"
CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
START_SECONDS = 60
STOP_SECONDS = 10
HEAP = ("-Xms192m", "-Xmx512m")

# Listeners, and the security protocol of each.
PROTOCOLS = {"PLAIN": "PLAINTEXT", "CONTROLLER": "PLAINTEXT"}

# Replication factors for a node that is alone.
ALONE = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}

# Quick groups, quick cleaning, small memory; records of long ago stay.
QUICK = {
    "log.retention.ms": "-1",
    "num.partitions": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.coordinator.threads": "1",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
    "log.cleaner.threads": "1",
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.dedupe.buffer.size": "16777216",
    "log.index.size.max.bytes": "1048576",
    "log.segment.bytes": "67108864",
    "metadata.log.segment.bytes": "16777216",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}

# Everyone may do everything, but the APIs of access control answer.
ACCESS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "allow.everyone.if.no.acl.found": "true",
}


class StartFailed(Exception):
    """A node did not come up; the message ends with its log."""


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on, below those that outgoing connections get."""
    numbers = random.SystemRandom()  # pytest-randomly gives every worker the same seed
    ports: list[int] = []
    with ExitStack() as held:
        while len(ports) < count:
            taken = held.enter_context(socket.socket())
            try:
                taken.bind((HOST, numbers.randrange(15_000, 32_000)))
            except OSError:
                continue
            ports.append(taken.getsockname()[1])
    return ports


class Node:
    """A process that can be started, stopped, killed and started again on the same data.

    Attributes:
        folder: Where its settings, log and data are.
        data: Its log directory, with a folder for each partition.
        ports: The port of each listener.
    """

    def __init__(
        self,
        folder: Path,
        node_id: int = 1,
        *,
        protocols: Mapping[str, str] = PROTOCOLS,
        settings: Mapping[str, str] = ALONE,
    ) -> None:
        self.folder = folder
        self.id = node_id
        self.data = folder / "data"
        self.ports = dict(zip(protocols, free_ports(len(protocols)), strict=True))
        self._protocols = protocols
        self._settings = settings
        self._file = folder / "node.properties"
        self._log = folder / "node.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None

    def __repr__(self) -> str:
        return f"<Node {self.id} at {HOST}:{self.ports['PLAIN']}>"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def address(self, listener: str = "PLAIN") -> str:
        return f"{HOST}:{self.ports[listener]}"

    def connect(self, listener: str = "PLAIN") -> RawConnection:
        return RawConnection(HOST, self.ports[listener])

    def log(self, last: int = 8_000) -> str:
        """The end of what it printed."""
        return self._log.read_text(errors="replace")[-last:] if self._log.exists() else ""

    def format(self, quorum: str, *arguments: str) -> None:
        """Write the settings and prepare the data folder for its first start.

        Args:
            quorum: The addresses of all controllers.
            arguments: What else the storage tool is told: who the first controllers are.
        """
        listeners = ",".join(f"{name}://{self.address(name)}" for name in self.ports)
        security = ",".join(f"{name}:{protocol}" for name, protocol in self._protocols.items())
        settings = {
            "process.roles": "broker,controller",
            "node.id": str(self.id),
            "controller.quorum.bootstrap.servers": quorum,
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAIN",
            "listeners": listeners,
            "listener.security.protocol.map": security,
            "log.dirs": str(self.data),
            **QUICK,
            **ACCESS,
            **self._settings,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        options = ("-t", CLUSTER_ID, "-c", str(self._file), *arguments)
        jvm.run("kafka.tools.StorageTool", "format", *options, scratch=self.folder)

    def start(self) -> None:
        """Start the process; `wait_ready` tells when it serves."""
        assert not self.is_running
        command = jvm.command("kafka.Kafka", str(self._file), scratch=self.folder, heap=HEAP)
        with self._log.open("ab") as log:
            # A session of its own: Ctrl-C in a terminal is for pytest, which then stops it.
            self._process = subprocess.Popen(
                command,
                env=jvm.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._guard = _guard(self._process.pid)

    def wait_ready(self, brokers: int = 1, timeout: float = START_SECONDS) -> None:
        """Until it answers ApiVersions, and its metadata has that many brokers.

        Raises:
            StartFailed: It ended instead, or did not answer in time.
        """
        deadline = time.monotonic() + timeout
        problem: Exception | None = None
        while time.monotonic() < deadline:
            if not self.is_running:
                raise StartFailed(f"{self!r} ended while starting:\n{self.log()}")
            try:
                with self.connect() as connection:
                    assert connection.versions is not None
                    metadata = connection.send(MetadataRequest(topics=[]))
                if len(metadata.brokers) >= brokers:
                    return
            except (OSError, EOFError, KafkaError) as error:
                problem = error
            time.sleep(0.05)
        raise StartFailed(f"{self!r} is not ready in {timeout} s: {problem!r}\n{self.log()}")

    def stop(self) -> None:
        """An orderly stop; one that takes too long is cut short."""
        self.signal(signal.SIGTERM)
        self._reap(STOP_SECONDS)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self._reap(STOP_SECONDS)

    def signal(self, number: signal.Signals) -> None:
        if self._process is not None and self.is_running:
            self._process.send_signal(number)

    def _reap(self, timeout: float) -> None:
        if self._process is None:
            return
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._guard is not None:
            self._guard.communicate(b"ended\n")
        self._process = self._guard = None


def _guard(pid: int) -> subprocess.Popen[bytes]:
    """A process that kills `pid` when this one is gone, however it went: its pipe is closed then.

    A word on the pipe says that there is nothing left to guard.
    """
    return subprocess.Popen(
        ["sh", "-c", 'read -r word || kill -KILL "$0"', str(pid)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )


def controllers(nodes: Sequence[Node]) -> str:
    return ",".join(node.address("CONTROLLER") for node in nodes)
