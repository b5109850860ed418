"""Errors about options name them as a user of Spark gives them, and advise what a text can be."""

from __future__ import annotations

import re

import pytest

from kafka_aio.broker import BrokerThread
from kafka_aio.errors import ConfigError
from spark_connector.errors import RowError
from spark_connector.option_names import by_kafkas_names
from spark_connector.options import ReadOptions, WriteOptions
from spark_connector.rdd import foreach_partition

HERE = {"kafka.bootstrap.servers": "localhost:9092"}
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nTWFk\n-----END CERTIFICATE-----"
KEY = CERTIFICATE.replace("CERTIFICATE", "ENCRYPTED PRIVATE KEY")
SASL = {"kafka.security.protocol": "SASL_SSL", "kafka.sasl.mechanism": "PLAIN"}
SSL = {"kafka.security.protocol": "SSL"}
MODULES = "org.apache.kafka.common.security"
PLAIN = f"{MODULES}.plain.PlainLoginModule"


def told(given: dict[str, str]) -> str:
    with pytest.raises(ConfigError) as caught:
        WriteOptions.parse({**HERE, **given})
    return str(caught.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (SASL, "kafka.sasl.jaas.config is missing, or has no username: kafka.sasl.mechanism="),
        (
            {**SASL, "kafka.sasl.jaas.config": f'{PLAIN} required username="a";'},
            "kafka.sasl.jaas.config is missing, or has no password: kafka.sasl.mechanism=",
        ),
        (
            {**SASL, "kafka.sasl.jaas.config": "my.Module required a=b;"},
            "kafka.sasl.jaas.config names the login module my.Module; ",
        ),
        (
            {**SASL, "kafka.sasl.mechanism": "OAUTHBEARER"},
            "kafka.sasl.oauthbearer.token.endpoint.url is missing: ",
        ),
        ({"kafka.linger.ms": "x"}, "kafka.linger.ms must be a whole number"),
        ({"kafka.ssl.engine.factory.class": "x"}, "kafka.ssl.engine.factory.class cannot be given"),
        (
            {"kafka.sasl.login.callback.handler.class": "x.Y"},
            "kafka.sasl.login.callback.handler.class: ",
        ),
        ({"kafka.sasl.login.class": "x"}, "kafka.sasl.login.class cannot be given: "),
        (
            {"kafka.sasl.client.callback.handler.class": "x"},
            "no class is loaded from a configuration; give kafka.sasl.jaas.config",
        ),
    ],
)
def test_options_are_named_as_they_are_given(given: dict[str, str], said: str) -> None:
    text = told(given)

    assert said in text
    assert not re.search(r"[a-z]_[a-z]|function|object|ssl\.context|token\.provider", text)


@pytest.mark.parametrize("partitioner", ["RoundRobinPartitioner", "UniformStickyPartitioner"])
def test_a_partitioner_is_refused_on_the_driver_with_the_way_out(partitioner: str) -> None:
    text = told({"kafka.partitioner.class": f"org.apache.kafka.clients.producer.{partitioner}"})

    assert "option kafka.partitioner.class cannot be given here: rows are sent as columns" in text
    assert "a column partition" in text


@pytest.mark.parametrize(
    "text",
    [
        "topic 'batch_size': it is gone",
        "batch_size-3: 5 records",
        "/etc/client_id/ssl_key.pem: no such file",
        "localhost:9092: refused",
        "topic orders.by.day: it is gone",
    ],
)
def test_what_is_called_as_an_option_keeps_its_name(text: str) -> None:
    assert by_kafkas_names(text) == text


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (
            {"kafka.ssl.keystore.key": "x", "kafka.ssl.keystore.certificate.chain": CERTIFICATE},
            "key",
        ),
        ({"kafka.ssl.keystore.key": CERTIFICATE}, "key"),
        (
            {"kafka.ssl.keystore.key": KEY, "kafka.ssl.keystore.certificate.chain": KEY},
            "certificate.chain",
        ),
        ({"kafka.ssl.truststore.certificates": "junk"}, "truststore.certificates"),
    ],
)
def test_a_text_that_is_no_pem_is_an_error_on_the_driver(given: dict[str, str], name: str) -> None:
    assert re.search(
        rf"option kafka\.ssl\.\S*{name} has no (private key|certificate) in it",
        told({**SSL, **given}),
    )
    with pytest.raises(ConfigError, match=name):
        ReadOptions.parse({**HERE, "subscribe": "t", **SSL, **given})


def test_a_pem_of_any_kind_is_taken() -> None:
    WriteOptions.parse(
        {
            **HERE,
            **SSL,
            "kafka.ssl.keystore.key": KEY,
            "kafka.ssl.keystore.certificate.chain": CERTIFICATE,
            "kafka.ssl.truststore.certificates": CERTIFICATE.replace("CERT", "TRUSTED CERT"),
        }
    )


@pytest.mark.usefixtures("own_loop")
def test_options_that_are_wrong_on_an_executor_are_no_error_of_a_row() -> None:
    given = {**HERE, **SSL, "kafka.ssl.truststore.location": "/no/such.pem"}

    with pytest.raises(ConfigError) as caught:
        foreach_partition(given, topic="t")(iter([b"v"]))

    said = "kafka.ssl.truststore.location='/no/such.pem': No such file"
    assert str(caught.value).startswith(f"of the kafka.* options: {said}")


@pytest.mark.usefixtures("own_loop")
def test_an_error_of_a_row_names_options_too(
    broker: BrokerThread, topic: str, options: dict[str, str]
) -> None:
    with pytest.raises(RowError, match=r"row 1, .*: kafka\.max\.request\.size is 200$"):
        foreach_partition({**options, "kafka.max.request.size": "200"}, topic=topic)(
            iter([b"v", b"v" * 300])
        )
