from __future__ import annotations

from typing import Any

import confluent_kafka.admin
import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from kafka_aio.broker import BrokerThread
from tests.interop.embedded.waiting import SECONDS, USERS, until

kinds: Any = confluent_kafka.admin  # the module does not say what it exports


@pytest.fixture
def admin(broker: BrokerThread) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap_servers})


def result(futures: Any) -> Any:
    """Of an operation on one thing."""
    (future,) = futures.values()
    return future.result(SECONDS)


def error_of(futures: Any) -> Any:
    """The code of the error with which an operation on one thing ends."""
    with pytest.raises(KafkaException) as refused:
        result(futures)
    return refused.value.args[0].code()


def joined(broker: BrokerThread, topic: str, **options: str) -> Consumer:
    """The one member of a group, which has committed the offset 1."""
    named = {name.replace("_", "."): value for name, value in options.items()}
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": topic,
            "client.id": "the-member",
            "enable.auto.commit": False,
            **named,
        }
    )
    consumer.subscribe([topic])
    until(lambda: consumer.poll(0.05) or consumer.assignment())
    consumer.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    return consumer


def test_it_creates_describes_and_deletes_topics(broker: BrokerThread, admin: AdminClient) -> None:
    new = kinds.NewTopic("made", 3, 2, config={"retention.ms": "1000"})

    result(admin.create_topics([new]))
    listed = admin.list_topics(timeout=SECONDS).topics["made"]
    described = result(admin.describe_topics(TopicCollection(["made"])))
    again = error_of(admin.create_topics([new]))
    result(admin.delete_topics(["made"]))

    assert len(listed.partitions) == 3
    assert described.name == "made"
    assert [len(each.replicas) for each in described.partitions] == [2, 2, 2]
    assert {each.leader.id for each in described.partitions} == {1, 2}
    assert again == KafkaError.TOPIC_ALREADY_EXISTS
    assert "made" not in broker.topics()
    assert error_of(admin.delete_topics(["made"])) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_it_adds_partitions(broker: BrokerThread, admin: AdminClient) -> None:
    broker.create_topic("grown")

    result(admin.create_partitions([kinds.NewPartitions("grown", 4)]))
    fewer = error_of(admin.create_partitions([kinds.NewPartitions("grown", 2)]))

    assert len(broker.end_offsets("grown")) == 4
    assert fewer == KafkaError.INVALID_PARTITIONS


def test_it_describes_and_changes_the_configs_of_a_topic(
    broker: BrokerThread, admin: AdminClient
) -> None:
    broker.create_topic("configured")
    change = kinds.ConfigEntry(
        "cleanup.policy", "compact", incremental_operation=kinds.AlterConfigOpType.APPEND
    )

    result(
        admin.incremental_alter_configs(
            [
                kinds.ConfigResource(
                    kinds.ResourceType.TOPIC, "configured", incremental_configs=[change]
                )
            ]
        )
    )
    configs = result(
        admin.describe_configs([kinds.ConfigResource(kinds.ResourceType.TOPIC, "configured")])
    )

    assert configs["cleanup.policy"].value == "delete,compact"
    assert not configs["cleanup.policy"].is_default
    assert configs["retention.ms"].value == "604800000"
    assert configs["retention.ms"].is_default


def test_it_describes_the_configs_of_a_broker(admin: AdminClient) -> None:
    configs = result(admin.describe_configs([kinds.ConfigResource(kinds.ResourceType.BROKER, "1")]))

    assert configs["node.id"].value == "1"
    assert configs["node.id"].is_read_only


def test_it_describes_the_cluster(broker: BrokerThread, admin: AdminClient) -> None:
    cluster = admin.describe_cluster(include_authorized_operations=True).result(SECONDS)

    addresses = [f"{node.host}:{node.port}" for node in cluster.nodes]
    assert addresses == broker.bootstrap_servers.split(",")
    assert cluster.controller.id in {1, 2}
    assert cluster.authorized_operations


def test_it_lists_offsets_and_deletes_records(broker: BrokerThread, admin: AdminClient) -> None:
    broker.create_topic("kept")
    broker.produce("kept", [b"a", b"b", b"c"])
    partition = TopicPartition("kept", 0)

    deleted = result(admin.delete_records([TopicPartition("kept", 0, 2)]))
    first = result(admin.list_offsets({partition: kinds.OffsetSpec.earliest()}))
    last = result(
        admin.list_offsets(
            {partition: kinds.OffsetSpec.latest()}, isolation_level=IsolationLevel.READ_COMMITTED
        )
    )
    newest = result(admin.list_offsets({partition: kinds.OffsetSpec.max_timestamp()}))

    assert deleted.low_watermark == 2
    assert (first.offset, last.offset, newest.offset) == (2, 3, 2)
    assert [record.value for record in broker.records("kept")] == [b"c"]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_it_lists_describes_and_deletes_groups(
    broker: BrokerThread, admin: AdminClient, protocol: str
) -> None:
    name = f"described-{protocol}"
    broker.create_topic(name)
    broker.produce(name, [b"a", b"b"])
    kind = ConsumerGroupType.CLASSIC if protocol == "classic" else ConsumerGroupType.CONSUMER
    consumer = joined(broker, name, group_protocol=protocol)

    listed = admin.list_consumer_groups(types={kind}).result(SECONDS)
    described = result(admin.describe_consumer_groups([name]))
    refused = error_of(admin.delete_consumer_groups([name]))
    consumer.close()
    left = result(admin.describe_consumer_groups([name]))
    result(admin.delete_consumer_groups([name]))

    assert (name, ConsumerGroupState.STABLE, kind) in [
        (each.group_id, each.state, each.type) for each in listed.valid
    ]
    assert {each.type for each in listed.valid} == {kind}
    assert described.state == ConsumerGroupState.STABLE
    assert [
        (member.client_id, member.assignment.topic_partitions) for member in described.members
    ] == [("the-member", [TopicPartition(name, 0)])]
    assert refused == KafkaError.NON_EMPTY_GROUP
    assert (left.state, left.members) == (ConsumerGroupState.EMPTY, [])
    remaining = admin.list_consumer_groups().result(SECONDS).valid
    assert name not in [each.group_id for each in remaining]


def test_it_lists_and_changes_the_offsets_of_a_group(
    broker: BrokerThread, admin: AdminClient
) -> None:
    broker.create_topic("moved")
    joined(broker, "moved").close()

    before = result(admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("moved")]))
    wanted = ConsumerGroupTopicPartitions("moved", [TopicPartition("moved", 0, 7)])
    result(admin.alter_consumer_group_offsets([wanted]))

    assert [each.offset for each in before.topic_partitions] == [1]
    assert [each.offset for each in broker.committed("moved").values()] == [7]


def test_it_makes_and_removes_users_of_scram(secured_broker: BrokerThread) -> None:
    security = {
        "bootstrap.servers": secured_broker.bootstrap_servers,
        "security.protocol": secured_broker.security_protocol,
        "ssl.ca.pem": secured_broker.certificates.ca_pem,
        "sasl.mechanism": "SCRAM-SHA-512",
    }
    admin = AdminClient({**security, "sasl.username": "alice", "sasl.password": USERS["alice"]})
    info = kinds.ScramCredentialInfo(kinds.ScramMechanism.SCRAM_SHA_512, 8192)

    result(
        admin.alter_user_scram_credentials(
            [kinds.UserScramCredentialUpsertion("bob", info, b"bob-secret", b"a-salt")]
        )
    )
    bob = AdminClient({**security, "sasl.username": "bob", "sasl.password": "bob-secret"})
    described = result(bob.describe_user_scram_credentials(["bob"]))
    gone = kinds.UserScramCredentialDeletion("bob", kinds.ScramMechanism.SCRAM_SHA_512)
    result(admin.alter_user_scram_credentials([gone]))

    assert [(each.mechanism, each.iterations) for each in described.scram_credential_infos] == [
        (kinds.ScramMechanism.SCRAM_SHA_512, 8192)
    ]
    assert error_of(admin.describe_user_scram_credentials(["bob"])) == KafkaError.RESOURCE_NOT_FOUND


def test_that_nobody_authorizes_is_told_to_who_makes_acls(admin: AdminClient) -> None:
    acl = kinds.AclBinding(
        kinds.ResourceType.TOPIC,
        "any",
        kinds.ResourcePatternType.LITERAL,
        "User:alice",
        "*",
        kinds.AclOperation.READ,
        kinds.AclPermissionType.ALLOW,
    )

    assert error_of(admin.create_acls([acl])) == KafkaError.SECURITY_DISABLED
