from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from kafka_aio.broker import BrokerThread
from tests.interop.embedded.waiting import SECONDS, USERS, until

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
SENT_AT = 1_700_000_000_000

Members = Callable[..., Consumer]


@pytest.fixture
def producer(broker: BrokerThread) -> Producer:
    return Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 5})


@pytest.fixture
def member(broker: BrokerThread) -> Iterator[Members]:
    """Makes consumers of a group, which are closed in the end."""
    made: list[Consumer] = []

    def make(group: str, **options: object) -> Consumer:
        made.append(consumer(broker, group, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()  # a second time does nothing


def consumer(broker: BrokerThread, group: str, **options: object) -> Consumer:
    named = {name.replace("_", "."): value for name, value in options.items()}
    defaults = {
        "bootstrap.servers": broker.bootstrap_servers,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "topic.metadata.refresh.interval.ms": 500,
    }
    return Consumer({**defaults, **named})


def produce(producer: Producer, topic: str, count: int, **how: Any) -> list[object]:
    """Errors of what was not delivered."""
    errors: list[object] = []

    def delivered(error: object, message: object) -> None:
        if error is not None:
            errors.append(error)

    for number in range(count):
        producer.produce(topic, f"value-{number}", str(number), on_delivery=delivered, **how)
    assert producer.flush(SECONDS) == 0
    return errors


def read(consumer: Consumer, count: int) -> list[Any]:
    found: list[Any] = []

    def is_read() -> bool:
        found.extend(consumer.consume(max(1, count - len(found)), 0.2))
        return len(found) >= count

    until(is_read)
    assert [message.error() for message in found if message.error() is not None] == []
    return found


def assigned(consumer: Consumer) -> int:
    """How many partitions it has; it polls, as it must to get any."""
    message = consumer.poll(0.05)
    assert message is None or message.error() is None, message.error()
    return len(consumer.assignment())


@contextmanager
def without(broker: BrokerThread, node: int) -> Iterator[None]:
    broker.stop_node(node)
    try:
        yield
    finally:
        broker.start_node(node)


# --- producing and reading ---------------------------------------------------------------------


@pytest.mark.parametrize("idempotent", [False, True])
@pytest.mark.parametrize("codec", CODECS)
def test_what_it_writes_with_any_codec_it_reads_again(
    broker: BrokerThread, member: Members, codec: str, idempotent: bool
) -> None:
    topic = f"codec-{codec}-{idempotent}"
    broker.create_topic(topic)
    options = {"compression.type": codec, "enable.idempotence": idempotent, "linger.ms": 20}
    writer = Producer({"bootstrap.servers": broker.bootstrap_servers, **options})
    reader = member(topic)
    reader.assign([TopicPartition(topic, 0, 0)])

    errors = produce(writer, topic, 100, timestamp=SENT_AT, headers=[("a", b"1"), ("b", None)])
    messages = read(reader, 100)

    assert errors == []
    assert [message.value() for message in messages] == [b"value-%d" % n for n in range(100)]
    assert [message.key() for message in messages] == [b"%d" % n for n in range(100)]
    assert {message.timestamp() for message in messages} == {
        (confluent_kafka.TIMESTAMP_CREATE_TIME, SENT_AT)
    }
    assert all(message.headers() == [("a", b"1"), ("b", None)] for message in messages)
    assert [record.value for record in broker.records(topic)] == [
        message.value() for message in messages
    ]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_records_arrive_whatever_it_wants_to_hear_of_them(broker: BrokerThread, acks: str) -> None:
    topic = f"acks-{acks}"
    broker.create_topic(topic)
    writer = Producer({"bootstrap.servers": broker.bootstrap_servers, "acks": acks})

    errors = produce(writer, topic, 10)

    assert errors == []
    until(lambda: len(broker.records(topic)) == 10)


def test_the_broker_can_be_who_says_when_a_record_was_written(
    broker: BrokerThread, producer: Producer, member: Members
) -> None:
    broker.create_topic("appended", configs={"message.timestamp.type": "LogAppendTime"})
    reader = member("appended")
    reader.assign([TopicPartition("appended", 0, 0)])

    errors = produce(producer, "appended", 1, timestamp=SENT_AT)
    (message,) = read(reader, 1)

    kind, when = message.timestamp()
    assert errors == []
    assert kind == confluent_kafka.TIMESTAMP_LOG_APPEND_TIME
    assert when > SENT_AT


def test_a_record_that_is_too_large_is_refused_by_the_broker(
    broker: BrokerThread, producer: Producer
) -> None:
    broker.create_topic("small", configs={"max.message.bytes": "1000"})
    errors: list[Any] = []

    producer.produce("small", b"x" * 5000, on_delivery=lambda error, _: errors.append(error))
    producer.flush(SECONDS)

    assert [error.code() for error in errors] == [confluent_kafka.KafkaError.MSG_SIZE_TOO_LARGE]


def test_offsets_are_found_by_time_and_by_the_ends_of_the_log(
    broker: BrokerThread, producer: Producer, member: Members
) -> None:
    broker.create_topic("times")
    for number in range(5):
        produce(producer, "times", 1, timestamp=SENT_AT + 1000 * number)
    reader = member("times")

    found = reader.offsets_for_times([TopicPartition("times", 0, SENT_AT + 1500)], timeout=SECONDS)
    beyond = reader.offsets_for_times([TopicPartition("times", 0, SENT_AT + 9000)], timeout=SECONDS)

    assert [each.offset for each in found] == [2]
    assert [each.offset for each in beyond] == [confluent_kafka.OFFSET_END]
    assert reader.get_watermark_offsets(TopicPartition("times", 0), timeout=SECONDS) == (0, 5)


def test_seeking_goes_back_to_what_was_read(
    broker: BrokerThread, producer: Producer, member: Members
) -> None:
    broker.create_topic("seeking")
    produce(producer, "seeking", 10)
    reader = member("seeking")
    reader.assign([TopicPartition("seeking", 0, 0)])
    read(reader, 10)

    reader.seek(TopicPartition("seeking", 0, 7))

    assert [message.offset() for message in read(reader, 3)] == [7, 8, 9]


# --- groups ------------------------------------------------------------------------------------

PROTOCOLS = {
    "range": {"partition_assignment_strategy": "range"},
    "cooperative": {"partition_assignment_strategy": "cooperative-sticky"},
    "static": {"group_instance_id": "me"},
    "kip-848": {"group_protocol": "consumer"},
    "kip-848-range": {"group_protocol": "consumer", "group_remote_assignor": "range"},
}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_group_reads_and_commits_and_begins_there_next_time(
    broker: BrokerThread, producer: Producer, member: Members, name: str
) -> None:
    topic = f"group-{name}"
    broker.create_topic(topic, 3)
    produce(producer, topic, 30)
    first = member(topic, **PROTOCOLS[name])
    first.subscribe([topic])

    messages = read(first, 30)
    first.commit(asynchronous=False)
    committed = first.committed([TopicPartition(topic, each) for each in range(3)], SECONDS)
    first.close()
    produce(producer, topic, 3, partition=1)
    second = member(topic, **PROTOCOLS[name])
    second.subscribe([topic])

    assert {message.value() for message in messages} == {b"value-%d" % n for n in range(30)}
    assert sum(each.offset for each in committed) == 30
    assert {message.partition() for message in read(second, 3)} == {1}


@pytest.mark.parametrize("name", [name for name in PROTOCOLS if name != "static"])
def test_members_that_come_and_go_share_the_partitions(
    broker: BrokerThread, producer: Producer, member: Members, name: str
) -> None:
    topic = f"share-{name}"
    broker.create_topic(topic, 4)
    options = {"heartbeat_interval_ms": 200} if "kip" not in name else {}
    first, second = (member(topic, **PROTOCOLS[name], **options) for _ in range(2))
    first.subscribe([topic])
    until(lambda: assigned(first) == 4)

    second.subscribe([topic])
    until(lambda: (assigned(first), assigned(second)) == (2, 2))
    first.close()
    until(lambda: assigned(second) == 4)
    produce(producer, topic, 20)

    assert len(read(second, 20)) == 20
    assert len(broker.group(topic).members) == 1


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_pattern_takes_in_topics_that_are_made_later(
    broker: BrokerThread, member: Members, protocol: str
) -> None:
    broker.create_topic(f"pattern-{protocol}-a")
    reader = member(f"pattern-{protocol}", group_protocol=protocol)
    reader.subscribe([f"^pattern-{protocol}-.*"])
    until(lambda: assigned(reader) == 1)

    broker.create_topic(f"pattern-{protocol}-b", 2)

    until(lambda: assigned(reader) == 3)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_goes_on_when_its_coordinator_fails(
    broker: BrokerThread, producer: Producer, member: Members, protocol: str
) -> None:
    topic = f"failing-{protocol}"
    broker.create_topic(topic, 2)
    broker.move_coordinator(topic, 2)
    reader = member(topic, group_protocol=protocol)
    reader.subscribe([topic])
    until(lambda: assigned(reader) == 2)

    with without(broker, 2):
        errors = produce(producer, topic, 10)
        messages = read(reader, 10)
        reader.commit(asynchronous=False)

    assert errors == []
    assert len(messages) == 10
    assert sum(each.offset for each in broker.committed(topic).values()) == 10


# --- security ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_it_logs_in_over_tls(secured_broker: BrokerThread, mechanism: str) -> None:
    topic = f"secured-{mechanism}"
    secured_broker.create_topic(topic)
    writer = Producer(
        {
            "bootstrap.servers": secured_broker.bootstrap_servers,
            "security.protocol": secured_broker.security_protocol,
            "ssl.ca.pem": secured_broker.certificates.ca_pem,
            "sasl.mechanism": mechanism,
            "sasl.username": "alice",
            "sasl.password": USERS["alice"],
        }
    )

    errors = produce(writer, topic, 1)

    assert errors == []
    assert [record.value for record in secured_broker.records(topic)] == [b"value-0"]


def test_a_wrong_password_is_told_to_it(secured_broker: BrokerThread) -> None:
    told: list[Any] = []
    writer = Producer(
        {
            "bootstrap.servers": secured_broker.bootstrap_servers,
            "security.protocol": secured_broker.security_protocol,
            "ssl.ca.pem": secured_broker.certificates.ca_pem,
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.username": "alice",
            "sasl.password": "wrong",
            "error_cb": told.append,
        }
    )

    until(lambda: writer.poll(0.05) or told)

    assert told[0].code() == confluent_kafka.KafkaError._AUTHENTICATION
