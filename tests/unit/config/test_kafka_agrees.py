from __future__ import annotations

import json
import re
from typing import Any

import pytest

from kafka_aio.config import AdminConfig, ClientConfig, ConsumerConfig, ProducerConfig, jaas
from kafka_aio.config import properties as properties_format
from kafka_aio.config.catalogue import CLIENTS, IGNORED, REFUSED
from kafka_aio.config.option import INT32, INT64, Float, Hidden, Int, Kind, Maybe, kinds
from kafka_aio.errors import ConfigError
from tests.unit.config import cases
from tests.unit.config.conftest import Facts

CONFIGS: dict[str, type[ClientConfig]] = {
    "producer": ProducerConfig,
    "consumer": ConsumerConfig,
    "admin": AdminConfig,
}

# Where our default is not Kafka's, and why.
OTHER_DEFAULTS = {
    "ssl_keystore_type": "Kafka's is JKS, which only the JVM reads; ours goes by the file's name",
    "ssl_truststore_type": "as above",
    "send_buffer_bytes": "Kafka's 64 KiB and 128 KiB turn the kernel's own tuning off",
    "receive_buffer_bytes": "as above; it made reading four times slower",
    "partition_assignment_strategy": "the same assignors, by name instead of by class",
}

# Names of our own, which Kafka does not have.
OUR_NAMES = {
    *("forbid_plaintext_credentials", "receive_max_bytes", "ssl_context"),
    *("sasl_username", "sasl_password", "sasl_scram_tokenauth", "sasl_oauthbearer_extensions"),
    *("sasl_kerberos_keytab", "sasl_kerberos_principal", "sasl_oauthbearer_token_provider"),
    *("interceptors", "partitioner", "max_decompressed_batch_bytes"),
}


def _kind(config: type[ClientConfig], name: str) -> Kind:
    kind = kinds(config)[name]
    return kind.kind if isinstance(kind, Maybe) else kind


def _verdict(config: type[ClientConfig], options: cases.Options) -> dict[str, Any] | str:
    try:
        made = config.from_kafka({"bootstrap.servers": "localhost:9092", **options})
    except ConfigError as error:
        return str(error)
    settled = ("enable.idempotence", "enable.auto.commit", "reconnect.backoff.max.ms")
    names = [name for name in settled if hasattr(made, name.replace(".", "_"))]
    return {name: getattr(made, name.replace(".", "_")) for name in names}


@pytest.mark.parametrize("client", CONFIGS)
def test_every_option_name_of_kafka_is_known_and_no_other(facts: Facts, client: str) -> None:
    names = set(facts["options"][client])

    assert names == CLIENTS[client]


@pytest.mark.parametrize("client", CONFIGS)
def test_every_field_is_an_option_of_kafka_or_one_of_our_own(facts: Facts, client: str) -> None:
    names = {name.replace(".", "_") for name in facts["options"][client]}

    assert set(kinds(CONFIGS[client])) - names <= OUR_NAMES


@pytest.mark.parametrize("client", CONFIGS)
def test_every_default_is_kafkas(facts: Facts, client: str) -> None:
    config = CONFIGS[client]
    without_group = config(bootstrap_servers="localhost:9092")
    ours = without_group.replace(group_id="g") if client == "consumer" else without_group
    differing = {}
    for name, option in facts["options"][client].items():
        field = name.replace(".", "_")
        if field in kinds(config) and field not in (
            *OTHER_DEFAULTS,
            "bootstrap_servers",
            "group_id",
        ):
            value = getattr(ours, field)
            plain = list(value) if isinstance(value, tuple) else value
            if plain != option["default"]:
                differing[field] = (plain, option["default"])

    assert differing == {}


@pytest.mark.parametrize("client", CONFIGS)
def test_numbers_have_kafkas_bounds(facts: Facts, client: str) -> None:
    config = CONFIGS[client]
    widths = {"INT": INT32, "LONG": INT64, "SHORT": 2**15 - 1}
    compared = 0
    for name, option in facts["options"][client].items():
        field = name.replace(".", "_")
        kind = _kind(config, field) if field in kinds(config) else None
        bounds = re.match(r"\[(-?[\d.]+),\.\.\.,?(-?[\d.]+)?\]", option["valid"])
        if isinstance(kind, Int):
            assert kind.high <= widths[option["type"]], field
        if isinstance(kind, Int | Float) and bounds:
            compared += 1
            assert kind.low == float(bounds[1]), field
            assert kind.high == (float(bounds[2]) if bounds[2] else widths[option["type"]]), field

    assert compared > 10


@pytest.mark.parametrize("client", CONFIGS)
def test_whatever_kafka_takes_for_a_password_is_hidden_here(facts: Facts, client: str) -> None:
    options = facts["options"][client]
    secrets = {name.replace(".", "_") for name in options if options[name]["type"] == "PASSWORD"}
    fields = secrets & set(kinds(CONFIGS[client]))

    assert all(isinstance(_kind(CONFIGS[client], name), Hidden) for name in fields)
    assert secrets - fields == {
        "sasl_jaas_config",
        "sasl_oauthbearer_assertion_private_key_passphrase",
    }


def test_an_option_without_a_field_is_translated_ignored_or_refused_but_never_forgotten() -> None:
    translated = {
        "partitioner.class",
        "sasl.jaas.config",
        "sasl.login.callback.handler.class",
        "sasl.oauthbearer.jwt.retriever.class",
        "sasl.oauthbearer.jwt.validator.class",
    }
    for client, names in CLIENTS.items():
        fields = {name.replace("_", ".") for name in kinds(CONFIGS[client])}

        assert names - fields <= translated | set(IGNORED) | set(REFUSED)
    assert not set(IGNORED) & set(REFUSED)


@pytest.mark.parametrize("client", CONFIGS)
def test_the_same_options_are_taken_or_refused_and_settle_alike(facts: Facts, client: str) -> None:
    differing = []
    questions: list[cases.Options] = getattr(cases, client.upper())
    for question, theirs in zip(questions, facts[client], strict=True):
        ours = _verdict(CONFIGS[client], question)
        agree = isinstance(ours, str) if "refused" in theirs else ours == theirs
        if not agree:
            differing.append((question, ours, theirs))

    assert differing == []


def test_jaas_is_read_as_kafka_reads_it(facts: Facts) -> None:
    differing = []
    for text, theirs in zip(cases.JAAS, facts["jaas"], strict=True):
        try:
            module, options = jaas.entry(text)
            ours: Any = {"module": module, "options": options}
        except ConfigError as error:
            ours = str(error)
        agree = isinstance(ours, str) if "refused" in theirs else ours == theirs
        if not agree:
            differing.append((text, ours, theirs))

    assert differing == []


def test_properties_are_read_as_java_reads_them(facts: Facts) -> None:
    differing = []
    for text, theirs in zip(cases.PROPERTIES, facts["properties"], strict=True):
        try:
            ours: Any = properties_format.parse(text)
        except ConfigError as error:
            ours = str(error)
        agree = isinstance(ours, str) if "refused" in theirs else ours == theirs
        if not agree:
            differing.append((text, ours, theirs))

    assert differing == [], json.dumps(differing, indent=1)
