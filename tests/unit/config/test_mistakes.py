from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from kafka_aio.config import (
    AdminConfig,
    ClientConfig,
    ConsumerConfig,
    KafkaConfigWarning,
    ProducerConfig,
)
from kafka_aio.config.catalogue import DEFAULTS
from kafka_aio.errors import ConfigError
from tests.unit.config.conftest import Facts

HERE = {"bootstrap.servers": "localhost:9092"}
SECURITY = "org.apache.kafka.common.security."
PLAIN = f'{SECURITY}plain.PlainLoginModule required username="a" password="b";'
SCRAM = f'{SECURITY}scram.ScramLoginModule required username="a" password="b";'


def _sasl(mechanism: str, jaas: str) -> dict[str, str]:
    return {
        **HERE,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": jaas,
    }


def test_what_every_client_shares_is_read_from_kafkas_names() -> None:
    config = ClientConfig.from_kafka({**HERE, "client.id": "me"})

    assert config.client_id == "me"
    assert ClientConfig.from_properties("bootstrap.servers=a:1\nclient.id=me").client_id == "me"
    with pytest.warns(KafkaConfigWarning, match=r"of the producer, not of every client"):
        ClientConfig.from_kafka({**HERE, "acks": "all"})
    with pytest.raises(ConfigError, match=r"did you mean 'client\.id'"):
        ClientConfig.from_kafka({**HERE, "client.idd": "me"})


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("linger.ms=1", "from_kafka() takes a mapping of names to values, not <str>"),
        ([("a", "b")], "from_kafka() takes a mapping of names to values, not <list>"),
        (None, "from_kafka() takes a mapping of names to values, not <NoneType>"),
        ({5: "b"}, "a name was given that is not an option"),
        ({10**5000: "b"}, "a name was given that is not an option"),
        ({**HERE, "sasl.login.callback.handler.class": 10**5000}, "must be a str, not <int>"),
        ({**HERE, "partition.assignment.strategy": 5}, "must be a sequence of at least 1"),
        ({**HERE, "partition.assignment.strategy": {"a": 5}}, "must be a sequence of at least 1"),
        ({**HERE, "max.poll.records": 10**5000}, "not <int>"),
        ({**HERE, "max.poll.records": (10**5000,)}, "not (<int>,)"),
    ],
)
def test_a_wrong_mapping_or_value_is_a_config_error(value: Any, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ConsumerConfig.from_kafka(value)

    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    "options", [{"linger_ms": 10**5000}, {"acks": 10**5000}, {"ssl_cipher_suites": [10**5000]}]
)
def test_a_number_too_long_to_print_is_a_config_error(options: Any) -> None:
    with pytest.raises(ConfigError, match="<int>"):
        ProducerConfig(bootstrap_servers="a:1", **options)


@pytest.mark.parametrize("options", ["linger_ms=1", [("a", "b")], {5: 1}])
def test_wrong_options_of_ours_are_a_config_error(options: Any) -> None:
    with pytest.raises(ConfigError, match=r"from_options\(\) takes|a name was given"):
        ProducerConfig.from_options(options)


@pytest.mark.parametrize("source", [b"a=b", 5, None])
def test_properties_are_a_text_or_a_path(source: Any) -> None:
    with pytest.raises(ConfigError, match=r"a str, which is the text, or a pathlib\.Path, not <"):
        ProducerConfig.from_properties(source)


def test_a_path_that_no_system_knows_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        ProducerConfig.from_properties(Path("a\0b"))


@pytest.mark.parametrize("client", ["producer", "consumer", "admin"])
def test_the_defaults_that_are_let_through_are_kafkas(facts: Facts, client: str) -> None:
    options = facts["options"][client]
    named = [name for name in DEFAULTS if name in options]

    assert named
    for name in named:
        assert options[name]["default"] in DEFAULTS[name], name


@pytest.mark.parametrize(
    ("config", "name", "value"),
    [
        (ProducerConfig, "sasl.oauthbearer.assertion.algorithm", "RS256"),
        (ProducerConfig, "sasl.oauthbearer.assertion.claim.exp.seconds", "300"),
        (ProducerConfig, "sasl.oauthbearer.assertion.claim.exp.seconds", 300),
        (ProducerConfig, "sasl.oauthbearer.assertion.claim.jti.include", "FALSE"),
        (ProducerConfig, "sasl.oauthbearer.assertion.claim.jti.include", False),
        (ProducerConfig, "sasl.oauthbearer.assertion.claim.nbf.seconds", " 60 "),
        (ProducerConfig, "sasl.oauthbearer.assertion.file", ""),
        (ProducerConfig, "transaction.two.phase.commit.enable", "false"),
        (ConsumerConfig, "config.providers", ""),
        (ConsumerConfig, "config.providers", []),
        (AdminConfig, "bootstrap.controllers", ""),
        (ProducerConfig, "interceptor.classes", ""),
        (ConsumerConfig, "interceptor.classes", []),
        (AdminConfig, "metric.reporters", ""),
    ],
)
def test_a_value_that_changes_nothing_is_let_through_in_silence(
    config: type[ClientConfig], name: str, value: object
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = config.from_kafka({**HERE, name: value})

    assert made == config(bootstrap_servers="localhost:9092")


def test_another_value_of_such_an_option_is_refused() -> None:
    with pytest.raises(ConfigError, match="tokens by assertion are not built in"):
        ProducerConfig.from_kafka({**HERE, "sasl.oauthbearer.assertion.algorithm": "ES256"})


@pytest.mark.parametrize(
    ("mechanism", "text", "sentence"),
    [
        ("PLAIN", SCRAM, "names ScramLoginModule, but sasl.mechanism is 'PLAIN'"),
        ("SCRAM-SHA-256", PLAIN, "names PlainLoginModule, but sasl.mechanism is 'SCRAM-SHA-256'"),
        ("SCRAM-SHA-512", PLAIN, "it goes with 'PLAIN'"),
        ("OAUTHBEARER", SCRAM, "it goes with 'SCRAM-SHA-256' or 'SCRAM-SHA-512'"),
    ],
)
def test_a_login_module_of_another_mechanism_is_refused(
    mechanism: str, text: str, sentence: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        ProducerConfig.from_kafka(_sasl(mechanism, text))

    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("mechanism", "text"), [("PLAIN", PLAIN), ("SCRAM-SHA-256", SCRAM), ("SCRAM-SHA-512", SCRAM)]
)
def test_a_login_module_of_the_mechanism_is_taken(mechanism: str, text: str) -> None:
    assert ProducerConfig.from_kafka(_sasl(mechanism, text)).sasl_username == "a"


def test_a_class_of_kafkas_that_we_do_not_have_is_not_called_foreign() -> None:
    name = "org.apache.kafka.common.serialization.ListSerializer"

    with pytest.raises(ConfigError, match=f"'{name}' has no counterpart here"):
        ProducerConfig.from_kafka({**HERE, "key.serializer": name})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"group_id": "g"}, "group_id is an option of the consumer, not of the producer"),
        ({"partitioner_class": "x"}, "did you mean 'partitioner'?"),
        ({"interceptor_classes": "x"}, "did you mean 'interceptors'?"),
        ({"ssl_provider": "x"}, "ssl_provider is Kafka's, and no field here"),
        ({"linger.ms": 5}, "linger.ms is Kafka's, and no field here: from_kafka() may take it"),
        ({"group_idd": "g"}, "did you mean the consumer's 'group_id'?"),
        ({"foo": 1}, "'foo' is not an option of the producer"),
        ({"Foo1": 1}, "'Foo1' is not an option of the producer"),
        ({"x" * 64: 1}, "it is not shown"),
    ],
)
def test_a_wrong_name_of_ours_is_shown_with_what_was_meant(options: Any, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ProducerConfig.from_options({"bootstrap_servers": "a:1", **options})

    assert sentence in str(caught.value)


def test_an_option_of_share_groups_is_refused_by_a_consumer_and_ignored_by_others() -> None:
    options = {**HERE, "share.acquire.mode": "batch_optimized"}

    with pytest.raises(ConfigError, match="a consumer of Kafka's own refuses it too"):
        ConsumerConfig.from_kafka(options)
    with pytest.warns(KafkaConfigWarning, match="of the share consumer, not of the producer"):
        ProducerConfig.from_kafka(options)


def test_a_name_near_to_another_clients_option_is_told_so() -> None:
    with pytest.raises(ConfigError, match=r"did you mean the consumer's 'group\.id'\?"):
        ProducerConfig.from_kafka({**HERE, "group.idd": "g"})


@pytest.mark.parametrize("config", [ClientConfig, ProducerConfig, ConsumerConfig, AdminConfig])
def test_copy_replace_settles_anew(config: type[ClientConfig]) -> None:
    one = config(bootstrap_servers="a:1", reconnect_backoff_ms=70)
    other = one.__replace__(reconnect_backoff_ms=80)

    assert other == config(bootstrap_servers="a:1", reconnect_backoff_ms=80)
    assert other.reconnect_backoff_max_ms == 80
