"""The numbers are those of the cases that the JVM connector was observed in."""

from __future__ import annotations

import copy
import pickle
import warnings

import pytest

from kafka_aio import AdminConfig, ConsumerConfig, ProducerConfig
from kafka_aio.errors import ConfigError
from spark_connector.options import (
    ReadOptions,
    WriteOptions,
)

HERE = {"kafka.bootstrap.servers": "localhost:9092"}
A = {**HERE, "subscribe": "a"}
CANARY = "canary-7f3a"
JAAS = (
    "org.apache.kafka.common.security.scram.ScramLoginModule required"
    f' username="me" password="{CANARY}";'
)
SASL = {
    "kafka.security.protocol": "SASL_SSL",
    "kafka.sasl.mechanism": "SCRAM-SHA-512",
    "kafka.sasl.jaas.config": JAAS,
}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("key.deserializer", "keys come as bytes"),  # 61
        ("value.deserializer", "values come as bytes"),  # 62
        ("auto.offset.reset", "where to begin is said by startingOffsets"),  # 64
        ("enable.auto.commit", "Spark keeps the offsets"),  # 65
        ("interceptor.classes", "no Java class is loaded"),  # 65
    ],
)
def test_what_a_read_decides_itself_cannot_be_given(name: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ReadOptions.parse({**A, f"Kafka.{name}": "x"})

    assert f"option kafka.{name} cannot be given here: {reason}" in str(caught.value)


@pytest.mark.parametrize("given", [{}, {"kafka.bootstrap.servers": " "}])
def test_the_brokers_have_to_be_named(given: dict[str, str]) -> None:
    for parse, more in ((ReadOptions.parse, {"subscribe": "a"}), (WriteOptions.parse, {})):  # 24
        with pytest.raises(ConfigError, match=r"option kafka\.bootstrap\.servers is missing"):
            parse({**given, **more})


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("max.poll.records", "abc", "max.poll.records must be a whole number"),  # 69
        ("isolation.level", "sometimes", "isolation.level must be one of"),
        ("bootstrap.servers", "nowhere", "bootstrap"),
        ("session.timeout.ms", "long", "session.timeout.ms must be a whole number"),
        ("default.api.timeout.ms", "x", "default.api.timeout.ms must be a whole number"),
        ("security.protocol", "TLS", "security.protocol must be one of"),
    ],
)
def test_a_wrong_value_of_kafkas_is_found_before_any_task_runs(
    name: str, text: str, sentence: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        ReadOptions.parse({**A, f"kafka.{name}": text})

    assert "of the kafka.* options: " in str(caught.value)
    assert sentence in str(caught.value)


def test_names_that_kafka_does_not_know_are_ignored_and_told() -> None:
    read = ReadOptions.parse({**A, "kafka.no.such": "x", "kafka.MIIEvQIBADANBg=": "x"})  # 68
    write = WriteOptions.parse({**HERE, "kafka.no.such": "x"})

    assert read.unknown == ("no.such", "[hidden]")
    assert write.unknown == ("no.such",)
    for made in (read.consumer_options(), read.admin_options(), write.producer_options()):
        assert "no.such" not in made
        assert not [name for name in made if name.lower().startswith("miie")]


def test_options_without_effect_here_are_no_error_and_no_warning_of_pythons() -> None:
    ReadOptions.parse({**A, "kafka.metric.reporters": "x.Y", "kafka.acks": "all"})
    WriteOptions.parse({**HERE, "kafka.metric.reporters": "x.Y", "kafka.max.poll.records": "5"})


def test_serializers_of_a_read_are_accepted_without_effect() -> None:
    parsed = ReadOptions.parse(
        {**A, "kafka.key.serializer": "x.Y", "kafka.value.serializer": "x.Y"}  # 63
    )

    assert "key.serializer" not in parsed.consumer_options()
    assert "value.serializer" not in parsed.admin_options()


def test_a_read_is_in_no_group() -> None:
    parsed = ReadOptions.parse(
        {  # 66
            **A,
            "kafka.group.id": "g",
            "groupIdPrefix": "p",
            "kafka.group.protocol": "consumer",
            "kafka.partition.assignment.strategy": "com.example.Mine",
        }
    )

    config = ConsumerConfig.from_kafka(parsed.consumer_options())

    assert config.group_id is None
    assert not config.enable_auto_commit


def test_the_consumer_has_what_the_user_said_and_makes_no_topic() -> None:
    parsed = ReadOptions.parse(
        {
            **A,
            **SASL,
            "kafka.isolation.level": "read_committed",
            "kafka.fetch.max.bytes": "8388608",
            "kafka.allow.auto.create.topics": "true",
            "kafkaConsumer.pollTimeoutMs": "1500",
        }
    )

    config = ConsumerConfig.from_kafka(parsed.consumer_options())

    assert config.isolation_level == "read_committed"
    assert config.fetch_max_bytes == 8388608
    assert config.sasl_password == CANARY
    assert not config.allow_auto_create_topics  # 23
    assert config.default_api_timeout_ms == 1500


@pytest.mark.parametrize(
    ("poll", "wait"), [({}, 120_000), ({"kafkaConsumer.pollTimeoutMs": "40000"}, 40_000)]
)
def test_the_time_of_a_call_is_the_users_and_that_of_a_task_is_the_poll_timeout(
    poll: dict[str, str], wait: int
) -> None:
    parsed = ReadOptions.parse({**A, **poll, "kafka.default.api.timeout.ms": "5000"})  # 25

    assert ConsumerConfig.from_kafka(parsed.consumer_options()).default_api_timeout_ms == wait
    admin = AdminConfig.from_kafka(parsed.admin_options())
    assert (admin.default_api_timeout_ms, admin.request_timeout_ms) == (5000, 5000)
    assert admin.socket_connection_setup_timeout_ms == 5000


def test_a_wait_that_is_too_long_for_kafka_is_its_longest() -> None:
    parsed = ReadOptions.parse({**A, "kafkaConsumer.pollTimeoutMs": str(2**40)})

    assert ConsumerConfig.from_kafka(parsed.consumer_options()).default_api_timeout_ms == 2**31 - 1


def test_the_admin_client_has_no_options_of_the_consumer_and_so_nothing_to_warn_of() -> None:
    parsed = ReadOptions.parse(
        {**A, **SASL, "kafka.fetch.max.bytes": "5", "kafka.isolation.level": "read_committed"}
    )

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config = AdminConfig.from_kafka(parsed.admin_options())

    assert config.sasl_password == CANARY
    assert config.bootstrap_addresses == [("localhost", 9092)]


# Writing.


def test_a_write_is_to_a_topic_or_to_those_of_a_column() -> None:
    assert WriteOptions.parse(HERE).topic is None
    assert WriteOptions.parse({**HERE, "subscribe": "a"}).topic is None  # 94
    parsed = WriteOptions.parse({**HERE, "Topic": " t ", "useTimestampColumn": "true"})
    assert (parsed.topic, parsed.use_timestamp_column) == ("t", True)
    assert not WriteOptions.parse({**HERE, "checkpointlocation": "/tmp/x"}).use_timestamp_column


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"topic": " "}, "option topic is ''; expected is the name of a topic"),
        ({"useTimestampColumn": "yes"}, "option useTimestampColumn is 'yes'"),
        ({"kafka.key.serializer": "x"}, "kafka.key.serializer cannot be given here"),  # 108
        ({"kafka.value.serializer": "x"}, "kafka.value.serializer cannot be given here"),  # 108
        ({"kafka.interceptor.classes": "x"}, "no Java class is loaded here"),  # 109
        ({"kafka.transactional.id": "x"}, "exactly once, by transactions, is to come"),  # 110
        ({"kafka.acks": "5"}, "acks must be 0, 1 or 'all', not '5'"),  # 111
        ({"kafka.linger.ms": "abc"}, "linger.ms must be a whole number"),
    ],
)
def test_wrong_options_of_a_write_are_an_error(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        WriteOptions.parse({**HERE, **given})

    assert sentence in str(caught.value)


def test_the_producer_has_what_the_user_said() -> None:
    parsed = WriteOptions.parse({**HERE, "kafka.linger.ms": "5", "kafka.compression.type": "lz4"})

    config = ProducerConfig.from_kafka(parsed.producer_options())

    assert (config.linger_ms, config.compression_type) == (5, "lz4")
    assert config.enable_idempotence


# Secrets.


def test_options_travel_as_plain_texts_and_show_none_of_kafkas() -> None:
    for parsed in (ReadOptions.parse({**A, **SASL}), WriteOptions.parse({**HERE, **SASL})):
        shown = [repr(parsed), str(parsed), repr(copy.copy(parsed))]
        there = pickle.loads(pickle.dumps(parsed))

        assert there == parsed
        assert there.kafka["sasl.jaas.config"] == JAAS
        assert type(there.kafka) is dict
        assert not [text for text in shown if CANARY in text or "localhost" in text]


@pytest.mark.parametrize(
    "given",
    [
        {"kafka.sasl.jaas.config": f"PlainLoginModule {CANARY}"},
        {"kafka.sasl.jaas.config": JAAS.replace(";", f' "{CANARY}')},
        {**SASL, "kafka.sasl.mechanism": "PLAIN"},
        {**SASL, "kafka.security.protocol": CANARY.join(["-----BEGIN"] * 2)},
        {"kafka.ssl.keystore.key": CANARY, "kafka.ssl.keystore.type": "WRONG"},
        {"kafka.ssl.keystore.location": f"-----BEGIN {CANARY}"},
        {**SASL, "kafka.max.poll.records": "abc", "kafka.acks": "abc"},
        {**SASL, "includeHeaders": "yes", "useTimestampColumn": "yes"},
    ],
)
def test_an_error_shows_no_secret(given: dict[str, str]) -> None:
    for parse in (ReadOptions.parse, WriteOptions.parse):
        with pytest.raises(ConfigError) as caught:
            parse({**A, **given})

        error: BaseException | None = caught.value
        while error is not None:
            assert CANARY not in str(error)
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def test_batches_are_large_unless_the_user_says_otherwise() -> None:
    plain = WriteOptions.parse({"kafka.bootstrap.servers": "host:1"})
    told = WriteOptions.parse({"kafka.bootstrap.servers": "host:1", "kafka.batch.size": "500"})

    assert plain.producer_options()["batch.size"] == "131072"
    assert told.producer_options()["batch.size"] == "500"
