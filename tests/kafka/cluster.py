"""A real Apache Kafka for a test session: its nodes, its files and its tools."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.kafka import jvm
from tests.kafka.node import START_SECONDS, Node, controllers
from tests.kafka.raw import RawConnection

__all__ = ["START_SECONDS", "Cluster", "running"]


class Cluster:
    """Nodes that make up one Kafka. One for now; more are made of the same parts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes = [Node(folder / "node-1")]

    @property
    def bootstrap(self) -> str:
        """Host and port of the plaintext listeners."""
        return ",".join(node.address() for node in self.nodes)

    @property
    def data(self) -> Path:
        """The folder of the first node that has a folder for each partition."""
        return self.nodes[0].data

    def segments(self, topic: str, partition: int = 0) -> list[Path]:
        """The files of a partition that have its records, oldest first."""
        return sorted((self.data / f"{topic}-{partition}").glob("*.log"))

    def connect(self) -> RawConnection:
        return self.nodes[0].connect()

    def start(self) -> None:
        """Format and start all nodes, and wait until they serve.

        Raises:
            ToolFailed: A folder could not be formatted.
            StartFailed: A node did not come up.
        """
        for node in self.nodes:
            node.format(controllers(self.nodes), "--standalone")
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            node.wait_ready(brokers=len(self.nodes))

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()

    def tool(self, main: str, *arguments: str, given: str | None = None) -> str:
        """What one of Kafka's programs prints, `DumpLogSegments` for example.

        Raises:
            ToolFailed: It ended with an error or took too long.
        """
        return jvm.run(main, *arguments, scratch=self.folder, given=given)

    def log(self) -> str:
        return "\n".join(f"--- {node!r}\n{node.log()}" for node in self.nodes)


@contextmanager
def running(folder: Path) -> Iterator[Cluster]:
    """A cluster that is stopped at the end, also when it did not come up."""
    cluster = Cluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
