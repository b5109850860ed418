"""`Admin`: topics, configuration and the state of a cluster.

What it can do with groups and with the logs of partitions it has from `GroupAdmin` and `LogAdmin`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Final

from kafka_aio.admin import configs, nodes, topics
from kafka_aio.admin.calls import Call
from kafka_aio.admin.group_admin import GroupAdmin
from kafka_aio.admin.values import (
    ClusterDescription,
    ConfigChange,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    NodeStatus,
    TopicCreated,
    TopicDescription,
    TopicListing,
    check_number,
    checked,
)
from kafka_aio.errors import KafkaError, ProtocolError, UnsupportedVersion
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.dial import SOFTWARE_NAME, SOFTWARE_VERSION
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest
from kafka_aio.protocol.messages.cluster import DescribeClusterRequest
from kafka_aio.protocol.messages.configs import (
    DescribeConfigsResponse,
    IncrementalAlterConfigsResponse,
)
from kafka_aio.protocol.messages.metadata import Cursor, MetadataRequest
from kafka_aio.protocol.messages.topics import (
    CreatePartitionsResponse,
    CreateTopicsResponse,
    DeleteTopicsResponse,
)
from kafka_aio.types import Node

PAGE: Final = 2_000
"""How many partitions are described in one answer at most."""


class Admin(GroupAdmin):
    """Looks after a cluster.

        async with Admin(bootstrap_servers="localhost:9092") as admin:
            await admin.create_topics([NewTopic("orders", partitions=3)])

    What concerns one item of several is in the result, as an error in its place; what concerns the
    whole call is raised. Every call ends within its `timeout`, or default_api_timeout_ms.
    """

    # Topics.

    async def create_topics(
        self,
        new: Iterable[NewTopic],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> dict[str, TopicCreated | KafkaError]:
        """Create topics.

            await admin.create_topics([NewTopic("orders", partitions=3, replication_factor=3)])

        Args:
            new: The topics.
            validate_only: Only see whether they could be created.
            timeout: Seconds for the whole call.

        Returns:
            By name, what was created, or why it was not: `TopicAlreadyExists`, for one.

        Raises:
            ValueError: A topic is named twice.
            KafkaError: What concerns the whole call.
        """
        wanted: dict[str, NewTopic] = {}
        for topic in checked("create_topics", new, NewTopic):
            if topic.name in wanted:
                raise ValueError(f"create_topics: topic {topic.name!r} is named twice")
            wanted[topic.name] = topic
        _, calls = self._open()
        call: Call[str, TopicCreated, CreateTopicsResponse] = Call(
            name="create_topics",
            items=list(wanted),
            request=lambda names, milliseconds: topics.create(
                [wanted[name] for name in names], timeout_ms=milliseconds, validate=validate_only
            ),
            send=calls.to_controller,
            read=topics.created,
            changes=not validate_only,
        )
        return await calls.run(call, deadline=calls.deadline(timeout))

    async def delete_topics(
        self, names: Iterable[str], *, timeout: float | None = None
    ) -> dict[str, KafkaError | None]:
        """Delete topics, with all that is in them.

        Returns:
            By name, None, or why it was not deleted.

        Raises:
            KafkaError: What concerns the whole call.
        """
        _, calls = self._open()
        call: Call[str, None, DeleteTopicsResponse] = Call(
            name="delete_topics",
            items=list(dict.fromkeys(checked("delete_topics", names, str))),
            request=lambda some, milliseconds: topics.delete(some, timeout_ms=milliseconds),
            send=calls.to_controller,
            read=topics.deleted,
            changes=True,
        )
        return await calls.run(call, deadline=calls.deadline(timeout))

    async def create_partitions(
        self,
        counts: Mapping[str, int | NewPartitions],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> dict[str, KafkaError | None]:
        """Give topics more partitions: `{"orders": 6}` makes it six in all.

        Returns:
            By name, None, or why it was not done.

        Raises:
            ValueError: A number is not one that a topic can have.
            KafkaError: What concerns the whole call.
        """
        if not isinstance(counts, Mapping):
            raise TypeError("create_partitions takes a dict: the number for each topic")
        wanted = {
            name: count if isinstance(count, NewPartitions) else NewPartitions(count)
            for name, count in counts.items()
        }
        _, calls = self._open()
        call: Call[str, None, CreatePartitionsResponse] = Call(
            name="create_partitions",
            items=checked("create_partitions", wanted, str),
            request=lambda names, milliseconds: topics.add_partitions(
                {name: wanted[name] for name in names},
                timeout_ms=milliseconds,
                validate=validate_only,
            ),
            send=calls.to_controller,
            read=topics.partitions_added,
            changes=not validate_only,
        )
        return await calls.run(call, deadline=calls.deadline(timeout))

    async def list_topics(
        self, *, internal: bool = False, timeout: float | None = None
    ) -> list[TopicListing]:
        """All topics that we may see, by name.

        Args:
            internal: Whether Kafka's own are wanted too.
            timeout: Seconds for the whole call.

        Raises:
            KafkaError: They could not be listed.
        """
        _, calls = self._open()
        request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
        deadline = calls.deadline(timeout)
        response = await calls.ask("list_topics", request, deadline=deadline)
        return topics.listed(response, internal=internal)

    async def describe_topics(
        self, names: Iterable[str], *, timeout: float | None = None
    ) -> dict[str, TopicDescription | KafkaError]:
        """Topics with their partitions: who leads each, and where its replicas are.

        Returns:
            By name, the description, or why there is none: `UnknownTopicOrPartition`, for one.

        Raises:
            KafkaError: What concerns the whole call.
        """
        wanted = list(dict.fromkeys(checked("describe_topics", names, str)))
        cluster, calls = self._open()
        if not wanted:
            return {}
        deadline = calls.deadline(timeout)
        try:
            found = await self._describe_pages(wanted, deadline)
        except UnsupportedVersion:  # a broker before 3.8
            request = topics.describe_all(wanted)
            response = await calls.ask("describe_topics", request, deadline=deadline)
            found = topics.Descriptions()
            found.add(response)
        if not found.leaders <= cluster.metadata.nodes.keys():
            with suppress(KafkaError):  # a leader without an address is better than no answer
                await cluster.refresh(timeout=calls.left(deadline))
        return found.of(wanted, cluster.metadata.nodes)

    # Configuration.

    async def describe_configs(
        self, resources: Iterable[ConfigResource], *, timeout: float | None = None
    ) -> dict[ConfigResource, dict[str, ConfigEntry] | KafkaError]:
        """The options of topics, brokers and groups.

            resource = ConfigResource.topic("orders")
            options = (await admin.describe_configs([resource]))[resource]

        Returns:
            For each resource, its options by name, or why they are not known.

        Raises:
            ValueError: A broker is not named by its id.
            KafkaError: What concerns the whole call.
        """
        _, calls = self._open()
        call: Call[ConfigResource, dict[str, ConfigEntry], DescribeConfigsResponse] = Call(
            name="describe_configs",
            items=list(dict.fromkeys(checked("describe_configs", resources, ConfigResource))),
            request=lambda some, _: configs.describe(some),
            send=calls.to_any,
            read=configs.described,
            changes=False,
        )
        return await calls.run_by_node(call, configs.node_of, deadline=calls.deadline(timeout))

    async def alter_configs(
        self,
        changes: Mapping[ConfigResource, Iterable[ConfigChange]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> dict[ConfigResource, KafkaError | None]:
        """Change some options and leave the others (KIP-339).

            await admin.alter_configs(
                {ConfigResource.topic("orders"): [ConfigChange.set("retention.ms", "60000")]}
            )

        Returns:
            For each resource, None, or why nothing was changed.

        Raises:
            ValueError: A broker is not named by its id.
            KafkaError: What concerns the whole call.
        """
        if not isinstance(changes, Mapping):
            raise TypeError("alter_configs takes a dict: a list of changes for each resource")
        wanted = {
            resource: checked("alter_configs", some, ConfigChange)
            for resource, some in changes.items()
        }
        _, calls = self._open()
        call: Call[ConfigResource, None, IncrementalAlterConfigsResponse] = Call(
            name="alter_configs",
            items=checked("alter_configs", wanted, ConfigResource),
            request=lambda some, _: configs.alter(
                {resource: wanted[resource] for resource in some}, validate=validate_only
            ),
            send=calls.to_any,
            read=configs.altered,
            changes=not validate_only,
        )
        return await calls.run_by_node(call, configs.node_of, deadline=calls.deadline(timeout))

    # The cluster.

    async def describe_cluster(self, *, timeout: float | None = None) -> ClusterDescription:
        """Its id, its controller, and its nodes.

        Raises:
            KafkaError: It could not be described.
        """
        _, calls = self._open()
        request = DescribeClusterRequest(include_cluster_authorized_operations=False)
        deadline = calls.deadline(timeout)
        return nodes.cluster(await calls.ask("describe_cluster", request, deadline=deadline))

    async def nodes(self, *, pings: int = 3, timeout: float | None = None) -> list[NodeStatus]:
        """Ask every node of the cluster directly, all at the same time.

        Args:
            pings: How many round trips to measure with each.
            timeout: Seconds for the whole call.

        Returns:
            By id, what each node said, or why it could not be asked.

        Raises:
            TypeError, ValueError: `pings` is not 1 or more.
            KafkaError: The nodes are not known.
        """
        check_number("pings", pings, 1, 1_000)
        cluster, calls = self._open()
        deadline = calls.deadline(timeout)
        if any(node < 0 for node in cluster.metadata.nodes):  # bootstrap servers: it was lost
            await cluster.refresh(timeout=calls.left(deadline))
        known = sorted(cluster.metadata.nodes.values(), key=lambda node: node.id)
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(_status(cluster, node, pings, deadline)) for node in known]
        self._open()  # closed meanwhile: that is not the fault of any node
        return [task.result() for task in asked]

    async def _describe_pages(self, names: Sequence[str], deadline: float) -> topics.Descriptions:
        _, calls = self._open()
        found = topics.Descriptions()
        after: Cursor | None = None
        while True:
            request = topics.describe_page(names, PAGE, after)
            response = await calls.ask("describe_topics", request, deadline=deadline)
            found.add(response)
            following = response.next_cursor
            if following is None:
                return found
            if after is not None and _place(following) <= _place(after):
                raise ProtocolError(f"describe_topics: after {after} comes {following}")
            after = following


async def _status(cluster: Cluster, node: Node, pings: int, deadline: float) -> NodeStatus:
    loop = asyncio.get_running_loop()
    hello = ApiVersionsRequest(
        client_software_name=SOFTWARE_NAME, client_software_version=SOFTWARE_VERSION
    )
    round_trips = []
    try:
        connection = await cluster.connection(node.id, timeout=deadline - loop.time())
        for _ in range(pings):
            began_at = perf_counter()  # uvloop's own time goes by milliseconds
            await connection.send(hello, deadline=deadline)
            round_trips.append(perf_counter() - began_at)
    except KafkaError as error:
        return NodeStatus(node, error)
    said = connection.api_versions
    assert said is not None
    # In a thread, as it imports every message there is.
    versions = await loop.run_in_executor(None, nodes.versions, said)
    return NodeStatus(node, None, tuple(round_trips), versions, nodes.features(said))


def _place(cursor: Cursor) -> tuple[str, int]:
    return cursor.topic_name, cursor.partition_index
