from __future__ import annotations

import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kafka_aio import serialization
from kafka_aio.config import (
    AdminConfig,
    ClientConfig,
    ConsumerConfig,
    KafkaConfigWarning,
    ProducerConfig,
    catalogue,
)
from kafka_aio.errors import ConfigError

HERE = {"bootstrap.servers": "localhost:9092"}
CLIENTS = "org.apache.kafka.clients."
OAUTH = "org.apache.kafka.common.security.oauthbearer."


def _refusal(options: dict[str, Any], config: type[ProducerConfig] = ProducerConfig) -> str:
    with pytest.raises(ConfigError) as caught:
        config.from_kafka({**HERE, **options})
    return str(caught.value)


def test_texts_are_read_as_java_reads_them() -> None:
    config = ProducerConfig.from_kafka(
        {
            **HERE,
            "linger.ms": " 20 ",
            "enable.idempotence": "FALSE",
            "ssl.enabled.protocols": "TLSv1.3 , TLSv1.2",
            "sasl.login.refresh.window.factor": "0.9",
            "client.id": " me ",
            "acks": "-1",
        }
    )

    assert config == ProducerConfig(
        bootstrap_servers="localhost:9092",
        linger_ms=20,
        enable_idempotence=False,
        ssl_enabled_protocols=["TLSv1.3", "TLSv1.2"],
        sasl_login_refresh_window_factor=0.9,
        client_id="me",
    )


def test_native_values_and_names_with_underscores_work_too() -> None:
    config = ProducerConfig.from_kafka({"bootstrap_servers": ["a:1"], "linger_ms": 20})

    assert (config.bootstrap_servers, config.linger_ms) == (("a:1",), 20)


def test_none_means_that_an_option_is_not_given() -> None:
    config = ProducerConfig.from_kafka({**HERE, "linger.ms": None})

    assert config.linger_ms == 5


def test_an_option_in_two_spellings_is_refused_unless_both_agree() -> None:
    config = ProducerConfig.from_kafka({**HERE, "linger.ms": "5", "linger_ms": 5})

    assert config.linger_ms == 5
    assert _refusal({"linger.ms": "5", "linger_ms": 6}).startswith("linger_ms is given twice")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("linger", "'linger' is not an option of the producer; did you mean 'linger_ms'?"),
        ("lingr.ms", "'lingr.ms' is not an option of the producer; did you mean 'linger.ms'?"),
        ("batch_sise", "did you mean 'batch_size'?"),
        ("sasl.user.name", "did you mean 'sasl_username'?"),
        ("schema.registry.url", "'schema.registry.url' is not an option of the producer"),
    ],
)
def test_a_name_that_kafka_does_not_know_is_refused_with_the_nearest(name: str, hint: str) -> None:
    assert hint in _refusal({name: "5"})


def test_unknown_names_are_those_that_no_client_of_kafka_has() -> None:
    options = {
        **HERE,
        "linger.ms": "no number",  # known, and wrong
        "group.id": "g",  # the consumer's
        "config.providers": "file",  # refused
        "sasl_username": "me",  # a field of ours
        "schema.registry.url": "http://here",
        "lingr.ms": "5",
        "Linger.Ms": "5",
        "not.given": None,
    }

    found = ProducerConfig.unknown_names(options)

    assert found == ["schema.registry.url", "lingr.ms", "Linger.Ms"]


@pytest.mark.parametrize("config", [ClientConfig, ProducerConfig, ConsumerConfig, AdminConfig])
def test_without_its_unknown_names_a_mapping_has_no_name_that_is_refused_as_unknown(
    config: type[ClientConfig],
) -> None:
    names = [*catalogue.PRODUCER, *catalogue.CONSUMER, *catalogue.ADMIN, "share.x", "x.y"]
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KafkaConfigWarning)
            try:
                config.from_kafka({name: "x"})
                said = ""
            except ConfigError as error:
                said = str(error)

        assert ("is not an option" in said) == (config.unknown_names({name: "x"}) == [name])


def test_ignored_names_are_those_that_have_no_effect_each_with_its_sentence() -> None:
    options = {
        **HERE,
        "linger.ms": "no number",
        "group.id": "g",
        "config.providers": "file",
        "metric.reporters": "Mine",
        "ssl.provider": "",  # changes nothing
        "lingr.ms": "5",
        "sasl.kerberos.kinit.cmd": None,
    }

    found = ProducerConfig.ignored_names(options)

    assert set(found) == {"group.id", "metric.reporters"}
    assert found["group.id"].startswith("group.id is an option of the consumer")
    assert found["metric.reporters"].startswith("metric.reporters is ignored: ")


@pytest.mark.parametrize("config", [ClientConfig, ProducerConfig, ConsumerConfig, AdminConfig])
def test_each_ignored_name_is_one_that_warns_with_that_sentence(
    config: type[ClientConfig],
) -> None:
    for name in {*catalogue.PRODUCER, *catalogue.CONSUMER, *catalogue.ADMIN}:
        with warnings.catch_warnings(record=True) as caught, suppress(ConfigError):
            warnings.simplefilter("always")
            config.from_kafka({**HERE, name: "x"})

        assert [str(each.message) for each in caught] == [
            *config.ignored_names({name: "x"}).values()
        ]


def test_unknown_and_ignored_names_are_those_of_a_mapping() -> None:
    with pytest.raises(ConfigError, match=r"unknown_names\(\) takes a mapping"):
        ProducerConfig.unknown_names("linger.ms")  # type: ignore[arg-type]  # the mistake
    with pytest.raises(ConfigError, match=r"ignored_names\(\) takes a mapping"):
        ProducerConfig.ignored_names("linger.ms")  # type: ignore[arg-type]  # the mistake


def test_an_option_of_another_client_is_ignored_with_a_warning() -> None:
    with pytest.warns(KafkaConfigWarning) as caught:
        config = ProducerConfig.from_kafka({**HERE, "group.id": "g", "retries": "3"})

    assert config.retries == 3
    assert [str(warning.message) for warning in caught] == [
        "group.id is an option of the consumer, not of the producer: it is ignored"
    ]


def test_an_option_of_the_jvm_is_ignored_with_a_warning_at_the_callers_line() -> None:
    with pytest.warns(KafkaConfigWarning) as caught:
        ConsumerConfig.from_kafka({**HERE, "metric.reporters": "x", "ssl.provider": "y"})

    assert [str(warning.message).partition(":")[0] for warning in caught] == [
        "metric.reporters is ignored",
        "ssl.provider is ignored",
    ]
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({"config.providers": "file"}, "nothing is read from files or the environment"),
        ({"ssl.engine.factory.class": "x.Y"}, "give an ssl.SSLContext as ssl_context"),
        ({"sasl.login.class": "x.Y"}, "no class is loaded"),
        ({"sasl.client.callback.handler.class": "x.Y"}, "no class is loaded"),
        ({"sasl.login.callback.handler.class": "x.Y"}, "no class is loaded here"),
        ({"sasl.oauthbearer.jwt.retriever.class": OAUTH + "FileJwtRetriever"}, "no class is load"),
        ({"transaction.two.phase.commit.enable": "true"}, "KIP-939"),
        ({"key.serializer": "x.Y"}, "'x.Y' is not one of Kafka's own Java classes"),
        ({"partitioner.class": "x.Y"}, "known are RoundRobinPartitioner"),
    ],
)
def test_an_option_that_would_load_code_or_change_what_happens_is_refused(
    options: dict[str, str], advice: str
) -> None:
    assert advice in _refusal(options)


def test_the_admin_does_not_go_to_controllers_directly() -> None:
    with pytest.raises(ConfigError, match=r"give bootstrap\.servers"):
        AdminConfig.from_kafka({"bootstrap.controllers": "a:1"})


def test_stock_assignors_are_known_by_their_java_names() -> None:
    names = ("Range", "RoundRobin", "Sticky", "CooperativeSticky")
    text = ", ".join(f"{CLIENTS}consumer.{name}Assignor" for name in names)
    expected = ("range", "roundrobin", "sticky", "cooperative-sticky")

    for value in (text, text.split(", "), "range,roundrobin,sticky,cooperative-sticky"):
        config = ConsumerConfig.from_kafka({**HERE, "partition.assignment.strategy": value})
        assert config.partition_assignment_strategy == expected


def test_stock_partitioner_and_serializers_are_known_by_their_java_names() -> None:
    package = "org.apache.kafka.common.serialization."
    producer = ProducerConfig.from_kafka(
        {
            **HERE,
            "partitioner.class": CLIENTS + "producer.RoundRobinPartitioner",
            "key.serializer": package + "StringSerializer",
            "value.serializer": package + "ByteArraySerializer",
        }
    )
    consumer = ConsumerConfig.from_kafka({**HERE, "key.deserializer": f"{package}LongDeserializer"})

    assert producer.partitioner == "roundrobin"
    assert producer.key_serializer is serialization.serialize_string
    assert producer.value_serializer is None
    assert consumer.key_deserializer is serialization.deserialize_long


def test_the_classes_that_java_needs_for_oidc_are_let_through() -> None:
    config = ProducerConfig.from_kafka(
        {
            **HERE,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.login.callback.handler.class": OAUTH + "OAuthBearerLoginCallbackHandler",
            "sasl.oauthbearer.jwt.retriever.class": OAUTH + "ClientCredentialsJwtRetriever",
            "sasl.oauthbearer.token.endpoint.url": "https://login.example/token",
            "sasl.jaas.config": f'{OAUTH}OAuthBearerLoginModule required clientId="me"'
            ' clientSecret="s3" scope="kafka" extension_logicalCluster="lkc-1";',
        }
    )

    assert config.sasl_oauthbearer_client_credentials_client_id == "me"
    assert config.sasl_oauthbearer_client_credentials_client_secret == "s3"
    assert config.sasl_oauthbearer_scope == "kafka"
    assert config.sasl_oauthbearer_extensions == (("logicalCluster", "lkc-1"),)


def test_a_login_module_is_known_by_its_name_on_databricks_too() -> None:
    plain = "kafkashaded.org.apache.kafka.common.security.plain.PlainLoginModule"
    config = ProducerConfig.from_kafka(
        {
            **HERE,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{plain} required username="me" password="s3";',
        }
    )

    assert config.sasl_username == "me"


def test_a_file_in_kafkas_format_is_read(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_bytes(
        b"# a client\r\nbootstrap.servers = a:1,\\\r\n    b:2\r\nclient.id: caf\xe9\nlinger.ms 20\n"
    )
    config = ProducerConfig.from_properties(path)

    assert config == ProducerConfig(
        bootstrap_servers="a:1,b:2", client_id="caf\u00e9", linger_ms=20
    )


def test_a_file_in_utf_8_is_read_as_such(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("\ufeffbootstrap.servers=a:1\nclient.id=\u4f60\n", encoding="utf-8")

    assert ProducerConfig.from_properties(path).client_id == "\u4f60"


def test_a_str_is_the_text_itself_and_warns_at_the_callers_line() -> None:
    with pytest.warns(KafkaConfigWarning) as caught:
        config = ProducerConfig.from_properties("bootstrap.servers=a:1\nssl.provider=x")

    assert config.bootstrap_addresses == [("a", 1)]
    assert caught[0].filename == __file__


def test_a_file_name_given_as_a_str_and_a_missing_file_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"to read a file give a pathlib\.Path"):
        ProducerConfig.from_properties("client.properties")
    with pytest.raises(ConfigError, match="No such file"):
        ProducerConfig.from_properties(tmp_path / "client.properties")


def test_a_broken_escape_is_named_by_its_line() -> None:
    with pytest.raises(ConfigError, match="line 3 has a"):
        ProducerConfig.from_properties("a=b\n# c\nclient.id=\\u00zz")


def test_no_option_without_effect_is_silent() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        AdminConfig.from_kafka({**HERE, "acks": "1", "enable.metrics.push": "false"})

    assert len(caught) == 2
