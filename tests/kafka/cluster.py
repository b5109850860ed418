"""A real Apache Kafka for a test session: its nodes, its files and its tools."""

from __future__ import annotations

import base64
import time
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from kafka_aio.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from tests.kafka import jars, jvm, security, settings
from tests.kafka.node import START_SECONDS, Node
from tests.kafka.raw import RawConnection
from tests.kafka.security import Security
from tests.kafka.topic import create_topic

__all__ = ["START_SECONDS", "Cluster", "running"]


class Cluster:
    """Nodes that make up one Kafka: one, or three with a rack each that replicate everything.

    Attributes:
        nodes: By their ids, which begin with 1.
        security: What its secured listeners were made with, if it has any.
        version: Which Kafka it is.
    """

    def __init__(
        self,
        folder: Path,
        nodes: int = 1,
        *,
        secured: Security | None = None,
        version: str = jars.VERSION,
    ) -> None:
        self.folder = folder
        self.version = version
        self.security = secured
        listeners = settings.LISTENERS | (security.LISTENERS if secured else {})
        extra = settings.ALONE if nodes == 1 else settings.TOGETHER
        extra = extra | (secured.settings() if secured else {})
        self.nodes = [
            Node(
                folder / f"node-{number}",
                number,
                brokers=nodes,
                listeners=listeners,
                extra=extra if nodes == 1 else extra | {"broker.rack": f"rack-{number}"},
                java=secured.java() if secured else (),
                version=version,
            )
            for number in range(1, nodes + 1)
        ]

    @property
    def bootstrap(self) -> str:
        """Host and port of the plaintext listeners."""
        return self.addresses()

    @property
    def data(self) -> Path:
        """The folder of the first node that has a folder for each partition."""
        return self.nodes[0].data

    def addresses(self, listener: str = "PLAIN") -> str:
        """What a client is given as `bootstrap_servers`, to come by that listener."""
        return ",".join(node.address(listener) for node in self.nodes)

    def segments(self, topic: str, partition: int = 0) -> list[Path]:
        """The files of a partition that have its records, oldest first."""
        return sorted((self.data / f"{topic}-{partition}").glob("*.log"))

    def node(self, node_id: int) -> Node:
        return self.nodes[node_id - 1]

    def connect(self) -> RawConnection:
        """A connection to the first node that answers."""
        return next(filter(_answers, self.nodes)).connect()

    def start(self) -> None:
        """Format and start all nodes, and wait until they serve.

        Raises:
            ToolFailed: A folder could not be formatted.
            StartFailed: A node did not come up.
        """
        quorum = ",".join(node.address("CONTROLLER") for node in self.nodes)
        arguments = [*self._first_controllers(), *(self.security.users() if self.security else ())]
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda node: node.format(quorum, *arguments), self.nodes))
        self.heal()

    def _first_controllers(self) -> list[str]:
        if len(self.nodes) == 1:
            return ["--standalone"]
        voters = (f"{node.id}@{node.address('CONTROLLER')}:{_id(node)}" for node in self.nodes)
        return ["--initial-controllers", ",".join(voters)]

    def heal(self) -> None:
        """Start what does not run, continue what is paused, and wait until all is as it was.

        That is: every node answers and knows all others, and every replica is in sync.

        Raises:
            StartFailed: A node did not come up.
        """
        for node in self.nodes:
            if node.is_paused:
                node.resume()
            elif not node.is_running:
                node.start()
        for node in self.nodes:
            node.wait_ready()
        self.wait_in_sync()

    def wait_in_sync(self, topic: str | None = None) -> None:
        """Until each partition, of one topic or of all, has a leader and all replicas in sync.

        All nodes that answer must say so.
        """
        deadline = time.monotonic() + START_SECONDS
        for node in filter(_answers, self.nodes):
            while not _is_whole(found := _metadata(node, topic)):
                assert time.monotonic() < deadline, f"not in sync: {found}\n{self.log()}"
                time.sleep(0.05)

    def metadata(self, topic: str | None = None) -> MetadataResponse:
        """What the first node that answers knows of one topic or of all."""
        return _metadata(next(filter(_answers, self.nodes)), topic)

    def create_topic(
        self, purpose: str, partitions: int = 1, *, configs: Mapping[str, str] | None = None
    ) -> str:
        """The name of a new topic that has a replica on each node, all in sync."""
        replicas = len(self.nodes)
        with self.connect() as connection:
            name, _ = create_topic(
                connection, purpose, partitions, replicas=replicas, configs=configs
            )
        self.wait_in_sync(name)
        return name

    def leader(self, topic: str, partition: int = 0) -> Node | None:
        """The node that leads a partition, if one does."""
        (found,) = self.metadata(topic).topics
        leaders = (each.leader_id for each in found.partitions if each.partition_index == partition)
        node_id = next(leaders, -1)
        return None if node_id < 0 else self.node(node_id)

    def stop(self) -> None:
        """The end of all nodes, at once: what they have written is of no use any more."""
        for node in self.nodes:
            node.kill()

    def tool(self, main: str, *arguments: str, given: str | None = None) -> str:
        """What one of Kafka's programs prints, `DumpLogSegments` for example.

        Raises:
            ToolFailed: It ended with an error or took too long.
        """
        return jvm.run(main, *arguments, scratch=self.folder, given=given, version=self.version)

    def log(self) -> str:
        """The end of what each node has printed."""
        last = 12_000 // len(self.nodes)
        return "\n".join(f"--- {node!r}\n{node.log(last)}" for node in self.nodes)


def _answers(node: Node) -> bool:
    return node.is_running and not node.is_paused


def _metadata(node: Node, topic: str | None) -> MetadataResponse:
    topics = None if topic is None else [MetadataRequestTopic(name=topic)]
    with node.connect() as connection:
        return connection.send(MetadataRequest(topics=topics, allow_auto_topic_creation=False))


def _is_whole(metadata: MetadataResponse) -> bool:
    partitions = [partition for topic in metadata.topics for partition in topic.partitions]
    return all(topic.error_code == 0 for topic in metadata.topics) and all(
        partition.leader_id >= 0 and len(partition.isr_nodes) == len(partition.replica_nodes)
        for partition in partitions
    )


def _id(node: Node) -> str:
    """The id of its data folder; Kafka has the first hundred for itself."""
    number = uuid.UUID(int=1_000 + node.id)
    return base64.urlsafe_b64encode(number.bytes).rstrip(b"=").decode()


@contextmanager
def running(
    folder: Path, nodes: int = 1, *, secured: Security | None = None, version: str = jars.VERSION
) -> Iterator[Cluster]:
    """A cluster that is stopped at the end, also when it did not come up."""
    cluster = Cluster(folder, nodes, secured=secured, version=version)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
