from __future__ import annotations

import base64
import dataclasses
import io
import logging
import pickle
import traceback
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_aio.config import ConsumerConfig, ProducerConfig, Secret, jaas, properties
from kafka_aio.config.option import Hidden, Maybe, kinds
from kafka_aio.errors import ConfigError

CANARY = "Canary-0fd7-Tweet"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SECRETS = [
    name
    for name, kind in kinds(ProducerConfig).items()
    if isinstance(kind, Maybe) and isinstance(kind.kind, Hidden)
]
HERE = "localhost:9092"


def _forms(secret: str) -> list[str]:
    raw = secret.encode()
    return [secret, base64.b64encode(raw).decode().rstrip("="), raw.hex(), raw.hex().upper()]


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _shown_by(error: BaseException) -> str:
    shown = traceback.format_exception(error)
    for each in _chain(error):
        shown += [str(each), repr(each), repr(each.args), repr(vars(each))]
    return "\n".join(shown)


def _shown_by_config(config: ProducerConfig) -> str:
    stream = io.StringIO()
    logger = logging.getLogger("canary")
    logger.propagate = False
    logger.handlers = [logging.StreamHandler(stream)]
    for name in SECRETS:
        value = getattr(config, name)
        logger.error("%s %r %s %r", config, config, value, value)
    return "\n".join(
        [
            *(repr(config), str(config), f"{config}", repr(dataclasses.asdict(config))),
            *(repr(config.notes), repr(dataclasses.astuple(config)), stream.getvalue()),
        ]
    )


def _assert_hidden(shown: str, secret: str = CANARY) -> None:
    assert shown
    for form in _forms(secret):
        assert form not in shown


def _with_all_secrets() -> ProducerConfig:
    return ProducerConfig(
        bootstrap_servers=HERE,
        security_protocol="SASL_SSL",
        sasl_mechanism="PLAIN",
        sasl_username="alice",
        sasl_password=CANARY,
        sasl_oauthbearer_client_credentials_client_secret=CANARY,
        ssl_keystore_key=CANARY,
        ssl_keystore_certificate_chain=CANARY,
        ssl_key_password=CANARY,
        ssl_truststore_certificates=CANARY,
        sasl_oauthbearer_token_provider=partial(print, CANARY),  # type: ignore[arg-type]
    )


def test_no_view_of_a_configuration_shows_a_secret() -> None:
    config = _with_all_secrets()
    stores = ProducerConfig(
        bootstrap_servers=HERE,
        security_protocol="SSL",
        ssl_keystore_location="me.p12",
        ssl_keystore_password=CANARY,
        ssl_truststore_location="ca.p12",
        ssl_truststore_password=CANARY,
    )
    used = {name for name in SECRETS for made in (config, stores) if getattr(made, name)}

    assert used == set(SECRETS)
    assert "sasl_password=[hidden]" in repr(config)
    assert "sasl_oauthbearer_token_provider=<partial>" in repr(config)
    _assert_hidden(_shown_by_config(config.replace(sasl_oauthbearer_token_provider=None)))
    _assert_hidden(_shown_by_config(stores))
    _assert_hidden(repr(config))


def test_a_secret_keeps_its_text_through_replace_pickle_and_itself() -> None:
    config = _with_all_secrets().replace(sasl_oauthbearer_token_provider=None)
    copies = [config.replace(client_id="x").replace(client_id="y")]
    copies += [pickle.loads(pickle.dumps(config, protocol)) for protocol in range(6)]

    for copied in copies:
        assert copied.sasl_password is not None
        assert copied.sasl_password.encode() == CANARY.encode()
    assert Secret(Secret(CANARY)).reveal() == CANARY
    assert type(Secret(CANARY).reveal()) is str
    assert f"{Secret(CANARY)} {Secret(CANARY)!s:>10} {Secret(CANARY)!r}" == " ".join(
        ["[hidden]", "  [hidden]", "[hidden]"]
    )


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("wrap", [str.encode, lambda text: [text], lambda text: {text: text}])
def test_a_secret_of_the_wrong_type_is_not_repeated(name: str, wrap: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        ProducerConfig.from_options({"bootstrap_servers": HERE, name: wrap(CANARY)})
    with pytest.raises(ConfigError) as dotted:
        ProducerConfig.from_kafka({"bootstrap.servers": HERE, name: wrap(CANARY)})

    assert str(caught.value) == f"{name} must be a str that is not empty, or None, not [hidden]"
    _assert_hidden(_shown_by(caught.value))
    _assert_hidden(_shown_by(dotted.value))


@pytest.mark.parametrize("name", SECRETS)
def test_a_contradiction_does_not_repeat_the_secrets_in_it(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ProducerConfig.from_options({"bootstrap_servers": HERE, "acks": 5, name: CANARY})

    _assert_hidden(_shown_by(caught.value))


@pytest.mark.parametrize(
    "options",
    [
        {"bootstrap_servers": f"alice:{CANARY}@localhost:9092"},
        {"sasl_oauthbearer_token_endpoint_url": f"https://me:{CANARY}@login.example/"},
        {"sasl_oauthbearer_token_endpoint_url": f"http://login.example/?secret={CANARY}"},
        {"sasl_oauthbearer_token_provider": [CANARY]},
        {"bootstrap_servers": (f"alice:{CANARY}@localhost:9092", 5)},
        {"bootstrap_servers": f"alice:{CANARY},x@localhost:9092"},
        {"sasl_oauthbearer_extensions": CANARY},
        {"value_serializer": (CANARY,)},
        {"interceptors": {CANARY}},
        {"client_id": [CANARY]},
        {CANARY: 5},
        {"sasl.jaas.config": [CANARY]},
    ],
)
def test_a_secret_in_the_wrong_place_is_not_repeated(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        ProducerConfig.from_kafka({"bootstrap_servers": HERE, **options})

    _assert_hidden(_shown_by(caught.value))


@pytest.mark.parametrize(
    "text",
    [
        f'{PLAIN} username="a" password="{CANARY}"',
        f'{PLAIN} username="a" password={CANARY}/x;',
        f'{PLAIN} username="a" "{CANARY}";',
        f'{PLAIN} username="a" {CANARY}',
        f"{PLAIN} {CANARY}=;",
        f'{PLAIN} password="{CANARY}"; {PLAIN};',
        f"{PLAIN.split()[0]} {CANARY} a=b;",
        f'{CANARY} required username="a";',
        f'com.evil.Module required password="{CANARY}";',
        CANARY,
    ],
)
def test_a_malformed_jaas_text_is_not_repeated(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ProducerConfig.from_kafka({"bootstrap.servers": HERE, "sasl.jaas.config": text})

    assert "sasl.jaas.config" in str(caught.value)
    _assert_hidden(_shown_by(caught.value))


def test_lines_lost_from_a_pem_text_are_not_repeated() -> None:
    pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\n-----END PRIVATE KEY-----"

    with pytest.raises(ConfigError, match="not shown") as caught:
        ProducerConfig.from_properties(f"bootstrap.servers=a:1\nssl.keystore.key={pem}")
    _assert_hidden(_shown_by(caught.value), "MIIEvQIBADANBgkqhkiG9w0BAQEF")


PEM = f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----"
PATHS = ("ssl_keystore_location", "ssl_truststore_location", "sasl_kerberos_keytab")


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("text", [PEM, PEM.replace("\n", " "), f"{CANARY}\n{CANARY}"])
@pytest.mark.parametrize("kind", [None, "PEM", "PKCS12", "JKS"])
def test_a_key_given_as_a_path_is_refused_and_not_repeated(
    name: str, text: str, kind: str | None
) -> None:
    types = {"ssl_keystore_type": kind} if kind else {}
    with pytest.raises(ConfigError, match="looks like PEM text: give it as") as caught:
        ProducerConfig.from_options(
            {"bootstrap_servers": HERE, "security_protocol": "SSL", name: text, **types}
        )
    with pytest.raises(ConfigError, match="looks like PEM text: give it as") as dotted:
        ProducerConfig.from_kafka({"bootstrap.servers": HERE, name.replace("_", "."): text})

    _assert_hidden(_shown_by(caught.value))
    _assert_hidden(_shown_by(dotted.value))


@pytest.mark.parametrize("name", sorted(set(kinds(ProducerConfig)) - {*SECRETS, *PATHS}))
@pytest.mark.parametrize("wrap", [str, lambda text: (text,), lambda text: ((text,), 5)])
def test_a_key_given_as_any_other_option_is_not_repeated(name: str, wrap: Any) -> None:
    for make in (ProducerConfig.from_options, ProducerConfig.from_kafka):
        try:
            shown = repr(make({"bootstrap_servers": HERE, name: wrap(PEM)}))
        except ConfigError as error:
            shown = _shown_by(error)
        _assert_hidden(shown)


def test_a_key_given_as_a_class_or_as_a_file_name_is_not_repeated() -> None:
    with pytest.raises(ConfigError) as as_class:
        ProducerConfig.from_kafka({"bootstrap.servers": HERE, "key.serializer": f"{PEM}."})
    with pytest.raises(ConfigError) as as_file:
        ProducerConfig.from_properties(Path(PEM))

    _assert_hidden(_shown_by(as_class.value))
    _assert_hidden(_shown_by(as_file.value))


def test_the_fragment_and_the_query_of_an_endpoint_are_cut_off() -> None:
    for text in (f"https://h/t#{CANARY}", f"https://h/t?{CANARY}", f"https://h/t#?{CANARY}"):
        config = ProducerConfig(bootstrap_servers=HERE, sasl_oauthbearer_token_endpoint_url=text)

        assert "sasl_oauthbearer_token_endpoint_url='https://h/t'" in repr(config)
        _assert_hidden(repr(config))


@given(
    st.text(min_size=1), st.integers(0, 400), st.sampled_from(["", '"', "'", ";", "=", "\\", "/"])
)
def test_no_damage_to_a_jaas_text_brings_its_password_to_light(
    other: str, at: int, damage: str
) -> None:
    whole = f'{PLAIN} username="alice" password="{CANARY}" other="{other}";'
    text = whole[:at] + damage + whole[at + 1 :]
    try:
        config = ConsumerConfig.from_kafka(
            {
                "bootstrap.servers": HERE,
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": text,
            }
        )
    except ConfigError as error:
        shown = _shown_by(error)
    else:
        shown = repr(config)

    intact = CANARY in text
    assert not intact or CANARY not in shown


@given(st.text())
def test_any_jaas_text_is_read_or_refused(text: str) -> None:
    try:
        module, _ = jaas.entry(text)
    except ConfigError as error:
        module = str(error)

    assert module


@given(st.text(alphabet="ab=:#!\\u0041 \t\f\r\n"))
def test_any_properties_text_is_read_or_refused_without_repeating_it(text: str) -> None:
    try:
        outcome = repr(sorted(properties.parse(text).values()))
    except ConfigError as error:
        outcome = str(error)

    assert outcome.endswith(("]", "hexadecimal digits do not follow"))
