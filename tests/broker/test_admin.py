"""`Admin` on real Kafka: what it says is what Kafka did."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TypeVar

import pytest

from kafka_aio.admin import (
    Admin,
    ConfigChange,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ConfigType,
    NewPartitions,
    NewTopic,
    TopicCreated,
    TopicDescription,
)
from kafka_aio.errors import (
    InvalidConfig,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidTopic,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    TopicAlreadyExists,
    UnknownTopicOrPartition,
)
from kafka_aio.protocol.messages.groups import FindCoordinatorRequest
from tests.kafka.cluster import Cluster

T = TypeVar("T")

PATIENCE = 20.0
"""Seconds for what was decided to be known everywhere."""


@pytest.fixture
async def admin(kafka: Cluster) -> AsyncIterator[Admin]:
    async with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        yield admin


@pytest.fixture
async def node(admin: Admin) -> int:
    """The id of a node."""
    return (await admin.describe_cluster()).nodes[0].id


@pytest.fixture
def healed(kafka_cluster: Cluster) -> Iterator[Cluster]:
    yield kafka_cluster
    kafka_cluster.heal()


def fresh(purpose: str) -> str:
    """A name that no topic has."""
    return f"{purpose}-{uuid.uuid4().hex[:12]}"


async def eventually(ask: Callable[[], Awaitable[T]], is_so: Callable[[T], bool]) -> T:
    """What a broker says once it knows of what the controller has decided."""
    async with asyncio.timeout(PATIENCE):
        while not is_so(told := await ask()):  # noqa: ASYNC110 - only the broker knows
            await asyncio.sleep(0.02)
    return told


async def described(admin: Admin, name: str, partitions: int) -> TopicDescription:
    def is_so(found: object) -> bool:
        return isinstance(found, TopicDescription) and len(found.partitions) == partitions

    async def ask() -> TopicDescription | KafkaError:
        return (await admin.describe_topics([name]))[name]

    found = await eventually(ask, is_so)
    assert isinstance(found, TopicDescription)
    return found


async def options_of(admin: Admin, resource: ConfigResource) -> dict[str, ConfigEntry]:
    found = (await admin.describe_configs([resource]))[resource]
    assert isinstance(found, dict), found
    return found


async def has_option(
    admin: Admin, resource: ConfigResource, name: str, value: str | None
) -> ConfigEntry:
    async def ask() -> ConfigEntry:
        return (await options_of(admin, resource))[name]

    return await eventually(ask, lambda entry: entry.value == value)


async def new_topic(admin: Admin, purpose: str, partitions: int = 1) -> str:
    name = fresh(purpose)
    result = await admin.create_topics([NewTopic(name, partitions)])
    assert isinstance(result[name], TopicCreated)
    await described(admin, name, partitions)
    return name


async def test_a_topic_is_created_with_its_options(admin: Admin) -> None:
    name = fresh("created")

    result = await admin.create_topics(
        [NewTopic(name, 3, 1, configs={"cleanup.policy": "compact", "retention.ms": "5000"})]
    )
    topic = result[name]
    found = await described(admin, name, 3)

    assert isinstance(topic, TopicCreated)
    assert (topic.name, topic.partitions, topic.replication_factor) == (name, 3, 1)
    assert topic.configs["cleanup.policy"].value == "compact"
    assert topic.configs["cleanup.policy"].source is ConfigSource.TOPIC
    assert topic.configs["segment.ms"].is_default
    assert topic.topic_id == found.topic_id
    assert not found.is_internal
    listed = {each.name: each.topic_id for each in await admin.list_topics()}
    assert listed[name] == topic.topic_id


async def test_a_topic_is_created_where_it_is_wanted(admin: Admin, node: int) -> None:
    name = fresh("assigned")

    result = await admin.create_topics([NewTopic(name, assignments={0: [node], 1: [node]})])
    found = await described(admin, name, 2)

    topic = result[name]
    assert isinstance(topic, TopicCreated)
    assert (topic.partitions, topic.replication_factor) == (2, 1)
    assert [each.replicas for each in found.partitions] == [(node,), (node,)]


async def test_a_topic_that_is_only_looked_at_is_not_created(admin: Admin) -> None:
    name = fresh("looked-at")

    result = await admin.create_topics([NewTopic(name, 2)], validate_only=True)
    found = await admin.describe_topics([name])

    topic = result[name]
    assert isinstance(topic, TopicCreated)
    assert topic.partitions == 2
    assert isinstance(found[name], UnknownTopicOrPartition)


async def test_a_topic_that_cannot_be_created_says_why_beside_one_that_can(admin: Admin) -> None:
    there, new, many, odd = await new_topic(admin, "there"), *map(fresh, ("new", "many", "odd"))

    result = await admin.create_topics(
        [
            NewTopic(there),
            NewTopic(new),
            NewTopic("no spaces, please"),
            NewTopic(many, 1, 99),
            NewTopic(odd, configs={"retention.ms": "soon"}),
            NewTopic("none", partitions=0),
        ]
    )

    kinds = [type(value) for value in result.values()]
    assert kinds == [
        TopicAlreadyExists,
        TopicCreated,
        InvalidTopic,
        InvalidReplicationFactor,
        InvalidConfig,
        InvalidPartitions,
    ]
    error = result[there]
    assert isinstance(error, TopicAlreadyExists)
    assert f"topic '{there}'" in str(error)


async def test_a_topic_is_deleted_and_one_that_is_not_there_says_so(admin: Admin) -> None:
    name, other = await new_topic(admin, "deleted"), fresh("never-there")

    result = await admin.delete_topics([name, other])

    assert result[name] is None
    assert isinstance(result[other], UnknownTopicOrPartition)
    await eventually(admin.list_topics, lambda topics: name not in {each.name for each in topics})


async def test_a_topic_is_described_with_its_leaders(admin: Admin) -> None:
    name, other = await new_topic(admin, "described", 3), fresh("never-there")
    nodes = (await admin.describe_cluster()).nodes

    found = await admin.describe_topics([other, name])

    assert isinstance(found[other], UnknownTopicOrPartition)
    topic = found[name]
    assert isinstance(topic, TopicDescription)
    assert [each.partition for each in topic.partitions] == [0, 1, 2]
    for partition in topic.partitions:
        assert partition.leader in nodes
        assert partition.leader_epoch >= 0
        assert partition.replicas == partition.in_sync_replicas
        assert partition.offline_replicas == ()


async def test_topics_that_do_not_fit_on_a_page_are_described_in_whole(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = await new_topic(admin, "paged-a", 5), await new_topic(admin, "paged-b", 3)
    missing = fresh("paged-m")
    monkeypatch.setattr("kafka_aio.admin.admin.PAGE", 2)

    found = await admin.describe_topics([second, missing, first])

    partitions = [
        [each.partition for each in topic.partitions]
        for topic in found.values()
        if isinstance(topic, TopicDescription)
    ]
    assert list(found) == [second, missing, first]
    assert partitions == [[0, 1, 2], [0, 1, 2, 3, 4]]
    assert isinstance(found[missing], UnknownTopicOrPartition)


async def test_topics_of_kafka_itself_are_listed_on_demand(admin: Admin, kafka: Cluster) -> None:
    def coordinated() -> None:
        with kafka.connect() as connection:  # this makes Kafka create the topic
            connection.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]))

    await asyncio.to_thread(coordinated)
    name = await new_topic(admin, "listed")

    everything = await eventually(
        lambda: admin.list_topics(internal=True),
        lambda topics: any(topic.name == "__consumer_offsets" for topic in topics),
    )
    ours = await admin.list_topics()

    names = [topic.name for topic in everything]
    assert names == sorted(names)
    assert {topic.name for topic in everything if topic.is_internal} >= {"__consumer_offsets"}
    assert name in {topic.name for topic in ours}
    assert not any(topic.is_internal for topic in ours)


async def test_a_topic_is_given_more_partitions_but_never_fewer(admin: Admin, node: int) -> None:
    grows, shrinks = await new_topic(admin, "grows"), await new_topic(admin, "shrinks", 3)
    assigned, missing = await new_topic(admin, "assigned"), fresh("never-there")

    result = await admin.create_partitions(
        {grows: 4, shrinks: 2, assigned: NewPartitions(2, [[node]]), missing: 2}
    )
    found = await described(admin, grows, 4)

    assert [type(value) for value in result.values()] == [
        type(None),
        InvalidPartitions,
        type(None),
        UnknownTopicOrPartition,
    ]
    assert [each.partition for each in found.partitions] == [0, 1, 2, 3]
    assert len((await described(admin, shrinks, 3)).partitions) == 3
    assert (await described(admin, assigned, 2)).partitions[1].replicas == (node,)


async def test_partitions_that_are_only_looked_at_are_not_made(admin: Admin) -> None:
    name = await new_topic(admin, "looked-at")
    wrong = NewPartitions(3, [[99], [99]])

    fine = await admin.create_partitions({name: 2}, validate_only=True)
    refused = await admin.create_partitions({name: wrong}, validate_only=True)

    assert fine == {name: None}
    assert isinstance(refused[name], InvalidReplicaAssignment)
    assert len((await described(admin, name, 1)).partitions) == 1


async def test_options_are_described_with_their_sources(admin: Admin, node: int) -> None:
    topic = ConfigResource.topic(await new_topic(admin, "options"))
    broker, group = ConfigResource.broker(node), ConfigResource.group(fresh("group"))
    missing = ConfigResource.topic(fresh("never-there"))

    found = await admin.describe_configs([topic, broker, missing, group])

    of_topic, of_broker, of_group = found[topic], found[broker], found[group]
    assert isinstance(of_topic, dict)
    assert isinstance(of_broker, dict)
    assert isinstance(of_group, dict)
    assert isinstance(found[missing], UnknownTopicOrPartition)
    retention = of_topic["retention.ms"]
    assert (retention.type, retention.is_sensitive) == (ConfigType.LONG, False)
    assert "retain" in retention.documentation
    assert of_topic["cleanup.policy"].type is ConfigType.LIST
    assert of_topic["cleanup.policy"].is_default
    assert of_topic["cleanup.policy"].synonyms == (
        ("log.cleanup.policy", "delete", ConfigSource.DEFAULT),
    )
    number = of_broker["node.id"]
    assert (number.value, number.source) == (str(node), ConfigSource.STATIC_BROKER)
    assert number.is_read_only
    assert number.type is ConfigType.INT
    password = of_broker["ssl.keystore.password"]
    assert (password.value, password.is_sensitive) == (None, True)
    assert password.type is ConfigType.PASSWORD
    assert "consumer.session.timeout.ms" in of_group


async def test_options_of_a_topic_are_changed_one_by_one(admin: Admin) -> None:
    topic = ConfigResource.topic(await new_topic(admin, "changed"))
    policy = "cleanup.policy"

    async def change(*changes: ConfigChange, value: str) -> ConfigEntry:
        assert await admin.alter_configs({topic: changes}) == {topic: None}
        return await has_option(admin, topic, policy, value)

    entry = await change(
        ConfigChange.set(policy, "compact"),
        ConfigChange.set("retention.ms", "5000"),
        value="compact",
    )
    assert entry.source is ConfigSource.TOPIC
    await change(ConfigChange.append(policy, "delete"), value="compact,delete")
    await change(ConfigChange.subtract(policy, "compact"), value="delete")
    entry = await change(ConfigChange.delete(policy), value="delete")
    assert await eventually(lambda: options_of(admin, topic), lambda o: o[policy].is_default)
    retention = (await options_of(admin, topic))["retention.ms"]  # the others stay as they are

    assert entry.value == "delete"
    assert (retention.value, retention.source) == ("5000", ConfigSource.TOPIC)


async def test_a_change_that_cannot_be_made_says_why_beside_one_that_can(admin: Admin) -> None:
    fine = ConfigResource.topic(await new_topic(admin, "fine"))
    wrong = ConfigResource.topic(await new_topic(admin, "wrong"))
    missing = ConfigResource.topic(fresh("never-there"))

    result = await admin.alter_configs(
        {
            fine: [ConfigChange.set("retention.ms", "5000")],
            wrong: [ConfigChange.set("retention.ms", "soon")],
            missing: [ConfigChange.set("retention.ms", "5000")],
        }
    )

    assert result[fine] is None
    assert isinstance(result[wrong], InvalidConfig)
    assert isinstance(result[missing], UnknownTopicOrPartition)
    await has_option(admin, fine, "retention.ms", "5000")


async def test_a_change_that_is_only_looked_at_is_not_made(admin: Admin) -> None:
    topic = ConfigResource.topic(await new_topic(admin, "looked-at"))
    before = (await options_of(admin, topic))["retention.ms"]

    fine = await admin.alter_configs(
        {topic: [ConfigChange.set("retention.ms", "5000")]}, validate_only=True
    )
    wrong = await admin.alter_configs(
        {topic: [ConfigChange.set("retention.ms", "soon")]}, validate_only=True
    )

    assert fine == {topic: None}
    assert isinstance(wrong[topic], InvalidConfig)
    assert (await options_of(admin, topic))["retention.ms"] == before


async def test_options_of_one_node_and_of_all_nodes_are_changed(admin: Admin, node: int) -> None:
    one, everyone = ConfigResource.broker(node), ConfigResource.broker(None)
    name = "max.connections"
    changes = {one: "10001", everyone: "10002"}
    try:
        set_both = await admin.alter_configs(
            {resource: [ConfigChange.set(name, value)] for resource, value in changes.items()}
        )
        of_node = await has_option(admin, one, name, "10001")
        of_all = await has_option(admin, everyone, name, "10002")
        await admin.alter_configs({one: [ConfigChange.delete(name)]})
        fallen_back = await has_option(admin, one, name, "10002")
    finally:
        await admin.alter_configs({each: [ConfigChange.delete(name)] for each in changes})

    assert set_both == {one: None, everyone: None}
    assert of_node.source is ConfigSource.DYNAMIC_BROKER
    assert of_all.source is ConfigSource.DYNAMIC_DEFAULT_BROKER
    assert fallen_back.source is ConfigSource.DYNAMIC_DEFAULT_BROKER


async def test_options_of_a_group_are_changed(admin: Admin) -> None:
    group = ConfigResource.group(fresh("group"))

    result = await admin.alter_configs(
        {group: [ConfigChange.set("consumer.session.timeout.ms", "50000")]}
    )
    entry = await has_option(admin, group, "consumer.session.timeout.ms", "50000")

    assert result == {group: None}
    assert (entry.source, entry.type) == (ConfigSource.GROUP, ConfigType.INT)


async def test_loggers_of_a_node_are_changed(admin: Admin, node: int) -> None:
    loggers = ConfigResource.broker_logger(node)
    name = next(name for name in await options_of(admin, loggers) if name != "root")

    result = await admin.alter_configs({loggers: [ConfigChange.set(name, "ERROR")]})
    entry = await has_option(admin, loggers, name, "ERROR")
    await admin.alter_configs({loggers: [ConfigChange.delete(name)]})

    assert result == {loggers: None}
    assert entry.source is ConfigSource.DYNAMIC_BROKER_LOGGER


async def test_the_cluster_is_described(admin: Admin, kafka: Cluster) -> None:
    found = await admin.describe_cluster()

    assert len(found.cluster_id) == 22
    assert found.controller in found.nodes
    assert ",".join(f"{node.host}:{node.port}" for node in found.nodes) == kafka.bootstrap


async def test_a_node_tells_what_it_speaks(admin: Admin) -> None:
    (status, *_) = await admin.nodes(pings=5)

    assert status.error is None
    assert len(status.round_trips) == 5
    versions = {each.name: each for each in status.versions}
    assert versions["Metadata"].used == versions["Metadata"].last
    features = {each.name: each for each in status.features}
    level = features["metadata.version"].finalized
    first, last = features["metadata.version"].supported
    assert level is not None
    assert first <= level <= last


async def test_a_node_that_was_killed_fails_what_is_its_own(healed: Cluster) -> None:
    resources = [ConfigResource.broker(node) for node in (1, 2, 3)]
    async with Admin(bootstrap_servers=healed.bootstrap) as admin:
        before = await admin.nodes(pings=1)
        await asyncio.to_thread(healed.node(2).kill)

        statuses = await admin.nodes(pings=1, timeout=5)
        options = await admin.describe_configs(resources, timeout=2)

        assert [status.error for status in before] == [None] * 3
        assert [status.node.rack for status in before] == ["rack-1", "rack-2", "rack-3"]
        assert [status.error is None for status in statuses] == [True, False, True]
        assert isinstance(statuses[1].error, KafkaConnectionError | KafkaTimeoutError)
        first, second, third = options.values()
        assert isinstance(first, dict)
        assert isinstance(second, KafkaTimeoutError)
        assert isinstance(third, dict)
        assert (first["node.id"].value, third["node.id"].value) == ("1", "3")


async def test_when_the_node_that_is_asked_was_killed_the_others_do_the_work(
    healed: Cluster,
) -> None:
    led, new = await asyncio.to_thread(healed.create_topic, "led", 3), fresh("after-a-kill")
    async with Admin(bootstrap_servers=healed.bootstrap) as admin:
        for node in healed.nodes:  # a connection to each, one of which is about to be lost
            await admin.describe_configs([ConfigResource.broker(node.id)])
        assert admin._cluster is not None
        killed = admin._cluster.metadata.controller_id
        assert killed is not None
        before = {
            partition.partition: partition.leader_epoch
            for partition in (await described(admin, led, 3)).partitions
            if partition.leader is not None and partition.leader.id == killed
        }
        await asyncio.to_thread(healed.node(killed).kill)

        result = await admin.create_topics([NewTopic(new, 1, 1)])
        topic = await described(admin, new, 1)
        after = await eventually(
            lambda: described(admin, led, 3),
            lambda found: all(found.partitions[at].leader_epoch > before[at] for at in before),
        )

        created = result[new]
        assert isinstance(created, TopicCreated)
        assert created.topic_id == topic.topic_id
        assert before
        for partition in after.partitions:
            assert partition.leader is not None
            assert partition.leader.id != killed
            assert partition.leader.host
            assert len(partition.replicas) == 3
