from __future__ import annotations

import ast
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_aio.config import AdminConfig, ClientConfig, ConsumerConfig, ProducerConfig
from kafka_aio.config import client as client_module
from kafka_aio.config.option import kinds
from kafka_aio.errors import ConfigError

CONFIGS = [ClientConfig, ProducerConfig, ConsumerConfig, AdminConfig]
HERE = "localhost:9092"


def _problem(**options: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        ClientConfig(bootstrap_servers=HERE, **options)
    return str(caught.value)


@pytest.mark.parametrize("config", CONFIGS)
def test_every_option_is_explained_by_one_sentence_below_it(config: type[ClientConfig]) -> None:
    body = ast.parse(Path(inspect.getfile(config)).read_text()).body
    (declared,) = [
        item for item in body if isinstance(item, ast.ClassDef) and item.name == config.__name__
    ]
    unexplained = []
    for item, following in zip(declared.body, [*declared.body[1:], None], strict=True):
        if not isinstance(item, ast.AnnAssign) or not isinstance(item.target, ast.Name):
            continue
        name = item.target.id
        text = following.value if isinstance(following, ast.Expr) else None
        says = text.value if isinstance(text, ast.Constant) else ""
        if name in kinds(config) and not (isinstance(says, str) and says.strip().endswith(".")):
            unexplained.append(name)

    assert unexplained == []


@pytest.mark.parametrize("config", CONFIGS)
def test_equal_options_make_equal_configurations_with_equal_hashes(
    config: type[ClientConfig],
) -> None:
    one = config(bootstrap_servers="a:1, b:2", client_id="x")
    other = config(bootstrap_servers=["a:1", "b:2"], client_id="x")

    assert one == other
    assert hash(one) == hash(other)
    assert one != config(bootstrap_servers="a:1")


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_carries_all_options(config: type[ClientConfig], protocol: int) -> None:
    made = config(
        bootstrap_servers=HERE,
        security_protocol="SASL_SSL",
        sasl_mechanism="SCRAM-SHA-512",
        sasl_username="alice",
        sasl_password="wonderland",
    )
    back = pickle.loads(pickle.dumps(made, protocol))

    assert back == made
    assert back.sasl_password == "wonderland"
    assert back.sasl_password.encode() == b"wonderland"
    assert back.replace(client_id="y").client_id == "y"


def test_a_configuration_does_not_change() -> None:
    config = ClientConfig(bootstrap_servers=HERE)

    with pytest.raises(AttributeError):
        config.client_id = "x"  # type: ignore[misc]


def test_its_repr_shows_only_what_was_changed() -> None:
    config = ProducerConfig(bootstrap_servers=HERE, linger_ms=20)

    assert repr(config) == "ProducerConfig(bootstrap_servers=('localhost:9092',), linger_ms=20)"
    assert str(config) == repr(config)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"request_timeout_ms": -1},
            "request_timeout_ms must be a whole number of milliseconds from 0 to 2147483647,"
            " not -1",
        ),
        ({"request_timeout_ms": 2**31}, "from 0 to 2147483647, not 2147483648"),
        ({"request_timeout_ms": "30000"}, "not '30000' (from_kafka() reads texts)"),
        ({"request_timeout_ms": 1.5}, "not 1.5"),
        ({"request_timeout_ms": True}, "not True"),
        ({"request_timeout_ms": None}, "not None"),
        ({"client_id": b"x"}, "client_id must be a str of at most 8,000 characters, not <bytes>"),
        ({"client_id": "x" * 8_001}, "client_id must be a str of at most 8,000 characters, not"),
        ({"client_id": "\ud800"}, "client_id must be a str of at most 8,000 characters, not"),
        ({"security_protocol": "TLS"}, "must be one of 'PLAINTEXT', 'SSL',"),
        ({"ssl_enabled_protocols": ["TLSv1"]}, "at least 1, each one of 'TLSv1.2', 'TLSv1.3'"),
        ({"ssl_enabled_protocols": "TLSv1.2"}, "not 'TLSv1.2': give a list, ['TLSv1.2']"),
        ({"ssl_enabled_protocols": []}, "must be a sequence of at least 1"),
        ({"ssl_cipher_suites": ["TLS_AES_128_GCM_SHA256"]}, "as OpenSSL has it"),
        ({"sasl_login_refresh_window_factor": 1.1}, "a number from 0.5 to 1.0, not 1.1"),
        ({"sasl_mechanism": "SCRAM-SHA-1"}, "'SCRAM-SHA-256', 'SCRAM-SHA-512'"),
        ({"receive_max_bytes": 10}, "from 1024 to 2147483647"),
        ({"sasl_oauthbearer_token_provider": "x"}, "must be an async function without arguments"),
        ({"sasl_oauthbearer_extensions": [("a", 1)]}, "each a pair of str"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(options: Any, sentence: str) -> None:
    assert sentence in _problem(**options)


def test_lists_are_kept_as_tuples_so_that_the_configuration_can_be_a_key() -> None:
    config = ClientConfig(bootstrap_servers=[HERE], ssl_enabled_protocols=["TLSv1.3"])

    assert config.ssl_enabled_protocols == ("TLSv1.3",)
    assert {config: 1}[config] == 1


def test_words_may_come_in_any_case_where_kafka_allows_it() -> None:
    config = ClientConfig(bootstrap_servers=HERE, security_protocol="ssl")

    assert config.security_protocol == "SSL"


def test_replace_checks_everything_again() -> None:
    config = ProducerConfig(bootstrap_servers=HERE, transactional_id="t")

    with pytest.raises(ConfigError, match="transactional_id needs idempotence, but acks is 1"):
        config.replace(acks=1)


def test_replace_settles_anew_what_was_not_given() -> None:
    config = ProducerConfig(bootstrap_servers=HERE, acks=1)

    assert config.enable_idempotence is False
    assert config.replace(acks="all").enable_idempotence is True
    assert config.replace(request_timeout_ms=200_000).delivery_timeout_ms == 200_005
    assert config.replace(request_timeout_ms=200_000).replace(
        request_timeout_ms=30_000
    ) == ProducerConfig(bootstrap_servers=HERE, acks=1)


def test_replace_keeps_what_was_given_even_if_it_is_the_default() -> None:
    config = ProducerConfig(bootstrap_servers=HERE, enable_idempotence=True)

    with pytest.raises(ConfigError, match="enable_idempotence needs acks='all'"):
        config.replace(acks=1)


def test_replace_finds_the_type_of_another_store() -> None:
    config = ClientConfig(
        bootstrap_servers=HERE, security_protocol="SSL", ssl_truststore_location="ca.pem"
    )

    assert config.ssl_truststore_type == "PEM"
    assert config.replace(ssl_truststore_location="ca.p12").ssl_truststore_type == "PKCS12"


@pytest.mark.parametrize(
    "call",
    [
        lambda value: ProducerConfig(bootstrap_servers=HERE).replace(linger=value),
        lambda value: ProducerConfig.from_options({"bootstrap_servers": HERE, "linger": value}),
    ],
)
def test_a_wrong_name_gets_the_nearest_one(call: Callable[[int], object]) -> None:
    with pytest.raises(ConfigError, match=r"'linger' is not.*did you mean 'linger_ms'"):
        call(5)


def test_an_option_of_kafkas_without_a_field_is_left_to_from_kafka() -> None:
    with pytest.raises(ConfigError, match=r"sasl_jaas_config is Kafka's.*from_kafka\(\)"):
        ProducerConfig.from_options({"bootstrap_servers": HERE, "sasl_jaas_config": "x"})


def test_a_backoff_given_alone_is_constant_as_in_kafka() -> None:
    config = ClientConfig(bootstrap_servers=HERE, reconnect_backoff_ms=20)

    assert config.reconnect_backoff_max_ms == 20
    assert config.notes == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"retry_backoff_ms": 5_000}, "retry_backoff_ms is above retry_backoff_max_ms"),
        ({"socket_connection_setup_timeout_ms": 60_000}, "it is always 30000 ms"),
    ],
)
def test_a_first_pause_above_the_longest_is_pointed_out(options: Any, sentence: str) -> None:
    (note,) = ClientConfig(bootstrap_servers=HERE, **options).notes

    assert sentence in note


def test_a_module_imports_nothing_that_waits() -> None:
    folder = Path(client_module.__file__).parent
    banned = {"asyncio", "anyio", "time", "ssl", "socket", "random", "logging", "threading"}
    imported = set()
    for path in folder.glob("*.py"):
        for item in ast.walk(ast.parse(path.read_text())):
            if isinstance(item, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in item.names}
            elif isinstance(item, ast.ImportFrom) and item.module:
                imported.add(item.module.partition(".")[0])

    assert imported & banned == set()
    assert "dataclasses" in imported
