from __future__ import annotations

import ssl
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from threading import Thread
from typing import Any

import pytest

from kafka_aio.broker import BrokerThread
from tests.interop.embedded.waiting import SECONDS, USERS, until

with warnings.catch_warnings():  # it reads its schemas on import, in a way of before 3.11
    warnings.filterwarnings("ignore", r"(read|open)_text is deprecated", DeprecationWarning)
    from kafka import (
        KafkaAdminClient,
        KafkaConsumer,
        KafkaProducer,
        OffsetAndMetadata,
        TopicPartition,
    )
    from kafka.admin import (
        ConfigResource,
        ConfigResourceType,
        OffsetSpec,
        ScramMechanism,
        UserScramCredentialUpsertion,
    )
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

SENT_AT = 1_700_000_000_000
STOP = b"stop"
ASSIGNORS = [
    RangePartitionAssignor,
    RoundRobinPartitionAssignor,
    StickyPartitionAssignor,
    CooperativeStickyAssignor,
]

Consumers = Callable[..., Any]


@pytest.fixture
def consumer(broker: BrokerThread) -> Iterator[Consumers]:
    """Makes consumers, which are closed in the end."""
    made: list[Any] = []

    def make(*topics: str, **options: Any) -> Any:
        made.append(
            KafkaConsumer(
                *topics,
                bootstrap_servers=broker.bootstrap_servers,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                heartbeat_interval_ms=100,
                metadata_max_age_ms=500,
                **options,
            )
        )
        return made[-1]

    yield make
    for each in made:
        each.close(autocommit=False)


@pytest.fixture
def admin(broker: BrokerThread) -> Iterator[Any]:
    with closing(KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)) as admin:
        yield admin


def send(broker: BrokerThread, topic: str, count: int, **options: Any) -> list[int]:
    """The offsets that records get."""
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers, linger_ms=20, **options)
    with closing(producer):
        sent = [
            producer.send(topic, b"v%d" % n, b"k%d" % n, [("a", b"1")], timestamp_ms=SENT_AT + n)
            for n in range(count)
        ]
        return [each.get(SECONDS).offset for each in sent]


def read(consumer: Any, count: int) -> list[Any]:
    found: list[Any] = []

    def is_read() -> bool:
        for records in consumer.poll(timeout_ms=1000 * SECONDS).values():
            found.extend(records)
        return len(found) >= count

    until(is_read)
    return found


class Reader(Thread):
    """Reads in a thread of its own until it meets `STOP`; then it commits and closes.

    A poll that comes to its end while the member joins loses what is assigned to it, for good
    (kafka-python 3.0): so none may, and two members need a thread each.
    """

    def __init__(self, consumer: Any) -> None:
        super().__init__(daemon=True)
        self.consumer = consumer
        self.values: list[bytes] = []
        self.start()

    @property
    def topics(self) -> list[str]:
        """That of each partition that it has."""
        return [partition.topic for partition in self.consumer.assignment()]

    def run(self) -> None:
        for record in self.consumer:
            self.values.append(record.value)
            if record.value == STOP:
                break
        self.consumer.commit()
        self.consumer.close(autocommit=False)


@pytest.mark.parametrize("idempotent", [False, True])
@pytest.mark.parametrize("codec", [None, "gzip", "lz4"])  # the others need libraries of its own
def test_what_it_writes_with_any_codec_it_reads_again(
    broker: BrokerThread, consumer: Consumers, codec: str | None, idempotent: bool
) -> None:
    topic = f"codec-{codec}-{idempotent}"
    broker.create_topic(topic)
    reader = consumer()
    reader.assign([TopicPartition(topic, 0)])

    offsets = send(broker, topic, 100, compression_type=codec, enable_idempotence=idempotent)
    records = read(reader, 100)

    assert offsets == list(range(100))
    assert [(each.key, each.value, each.timestamp) for each in records] == [
        (b"k%d" % n, b"v%d" % n, SENT_AT + n) for n in range(100)
    ]
    assert all(list(each.headers) == [("a", b"1")] for each in records)


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_records_arrive_whatever_it_wants_to_hear_of_them(
    broker: BrokerThread, acks: int | str
) -> None:
    topic = f"acks-{acks}"
    broker.create_topic(topic)

    send(broker, topic, 5, acks=acks, enable_idempotence=False)

    until(lambda: len(broker.records(topic)) == 5)
    assert [record.value for record in broker.records(topic)] == [b"v%d" % n for n in range(5)]


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_members_that_come_and_go_share_the_partitions(
    broker: BrokerThread, consumer: Consumers, assignor: Any
) -> None:
    topic = f"share-{assignor.name}"
    broker.create_topic(topic, 4)
    options = {"group_id": topic, "partition_assignment_strategy": [assignor]}
    first = Reader(consumer(topic, **options))
    until(lambda: len(first.topics) == 4)

    second = Reader(consumer(topic, **options))
    until(lambda: (len(first.topics), len(second.topics)) == (2, 2))
    broker.produce(topic, [STOP], partition=min(first.consumer.assignment()).partition)
    first.join(SECONDS)
    until(lambda: len(second.topics) == 4)
    for partition in range(4):
        broker.produce(topic, [b"a", b"b"], partition=partition)
    until(lambda: len(second.values) == 8)
    broker.produce(topic, [STOP])
    second.join(SECONDS)

    assert first.values == [STOP]
    assert sorted(second.values) == [b"a"] * 4 + [b"b"] * 4 + [STOP]
    assert sum(each.offset for each in broker.committed(topic).values()) == 10
    assert broker.group(topic).state == "Empty"


def test_offsets_are_found_by_time_and_by_the_ends_of_the_log(
    broker: BrokerThread, consumer: Consumers
) -> None:
    broker.create_topic("times")
    partition = TopicPartition("times", 0)
    reader = consumer(group_id="times")
    reader.assign([partition])

    send(broker, "times", 5)
    found = reader.offsets_for_times({partition: SENT_AT + 3})
    reader.commit({partition: OffsetAndMetadata(4, "note", -1)})
    reader.seek(partition, 3)

    assert found[partition].offset == 3
    assert reader.beginning_offsets([partition]) == {partition: 0}
    assert reader.end_offsets([partition]) == {partition: 5}
    assert reader.committed(partition) == 4
    assert [record.offset for record in read(reader, 2)] == [3, 4]


def test_a_pattern_takes_in_topics_that_are_made_later(
    broker: BrokerThread, consumer: Consumers
) -> None:
    broker.create_topic("pattern-a")
    subscribed = consumer(group_id="pattern")
    subscribed.subscribe(pattern="^pattern-.*")
    reader = Reader(subscribed)
    until(lambda: reader.topics == ["pattern-a"])

    broker.create_topic("pattern-b")

    until(lambda: sorted(reader.topics) == ["pattern-a", "pattern-b"])
    broker.produce("pattern-b", [STOP])
    reader.join(SECONDS)
    assert reader.values == [STOP]


def test_it_administers_topics_and_their_configs(broker: BrokerThread, admin: Any) -> None:
    changed = ConfigResource(ConfigResourceType.TOPIC, "made", {"retention.ms": "1000"})
    partition = TopicPartition("made", 0)

    admin.create_topics({"made": {"num_partitions": 2, "replication_factor": 2}})
    admin.create_partitions({"made": 3})
    (topic,) = admin.describe_topics(["made"])
    admin.alter_configs([changed])
    configs = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, "made")])
    broker.produce("made", [b"a", b"b"])
    admin.delete_records({partition: 1})
    first = admin.list_partition_offsets({partition: OffsetSpec.EARLIEST})
    admin.delete_topics(["made"])

    assert [len(each["replica_nodes"]) for each in topic["partitions"]] == [2, 2, 2]
    assert configs["topic"]["made"]["retention.ms"]["value"] == "1000"
    assert first[partition].offset == 1
    assert "made" not in admin.list_topics()
    assert len(admin.describe_cluster()["brokers"]) == 2


def test_it_administers_groups(broker: BrokerThread, consumer: Consumers, admin: Any) -> None:
    broker.create_topic("group")
    broker.produce("group", [b"a", b"b"])
    partition = TopicPartition("group", 0)
    reader = consumer("group", group_id="group")
    read(reader, 2)
    reader.commit()

    states = {each["group_id"]: each["group_state"] for each in admin.list_groups()}
    described = admin.describe_groups(["group"])["group"]
    offsets = admin.list_group_offsets(["group"])["group"]
    refused = admin.delete_groups(["group"])
    reader.close(autocommit=False)
    reset = admin.reset_group_offsets("group", {partition: OffsetSpec.EARLIEST})
    deleted = admin.delete_groups(["group"])

    assert states["group"] == "Stable"
    assert [each["member_assignment"]["assigned_partitions"] for each in described["members"]] == [
        [{"topic": "group", "partitions": [0]}]
    ]
    assert offsets[partition].offset == 2
    assert refused == {"group": "NonEmptyGroupError"}
    assert reset[partition]["offset"] == 0
    assert deleted == {"group": "OK"}


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_it_logs_in_over_tls_and_makes_users(secured_broker: BrokerThread, mechanism: str) -> None:
    security = {
        "bootstrap_servers": secured_broker.bootstrap_servers,
        "security_protocol": secured_broker.security_protocol,
        "ssl_context": ssl.create_default_context(cadata=secured_broker.certificates.ca_pem),
        "sasl_mechanism": mechanism,
    }
    alice = {"sasl_plain_username": "alice", "sasl_plain_password": USERS["alice"]}
    bob = UserScramCredentialUpsertion("bob", ScramMechanism.SCRAM_SHA_256, "bob-secret")

    with closing(KafkaAdminClient(**security, **alice)) as admin:
        admin.alter_user_scram_credentials([bob])
        users = admin.describe_user_scram_credentials()

    assert sorted(users) == ["alice", "bob"]
