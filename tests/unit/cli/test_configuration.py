from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_aio.cli import configuration, parser
from kafka_aio.cli.credentials import TokenFile
from kafka_aio.config import AdminConfig
from kafka_aio.config.option import Secret
from kafka_aio.errors import ConfigError

BROKER = ("-b", "localhost:9092")
SCRAM = (*BROKER, "--security-protocol", "sasl_ssl", "--sasl-mechanism", "scram-sha-512")
JAAS = (
    "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required"
    ' username="bob" password="of-the-file";\n'
)
SCRAM_FILE = f"security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n{JAAS}"
ENDPOINT_FILE = """\
security.protocol=SASL_SSL
sasl.mechanism=OAUTHBEARER
sasl.oauthbearer.token.endpoint.url=https://login.example/token
sasl.oauthbearer.client.credentials.client.id=me
sasl.oauthbearer.client.credentials.client.secret=s3
"""


def load(
    *argv: object, environment: Mapping[str, str] | None = None, ask: Any = None
) -> AdminConfig:
    given = parser.parse(["ping", *map(str, argv)])
    config, _ = configuration.load(AdminConfig, given, environment=environment or {}, ask=ask)
    return config


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def revealed(secret: str | None) -> str:
    assert isinstance(secret, Secret)
    return secret.reveal()


def test_a_broker_is_enough() -> None:
    config = load(*BROKER)

    assert config == AdminConfig(bootstrap_servers="localhost:9092", client_id="kafka-aio")


def test_several_brokers_may_be_given_in_two_ways() -> None:
    config = load("-b", "a:1, b:2", "--bootstrap-server", "c:3")

    assert config.bootstrap_servers == ("a:1", "b:2", "c:3")


def test_an_option_of_our_own_wins_over_x_and_x_over_the_file(tmp_path: Path) -> None:
    file = written(
        tmp_path / "client.properties",
        "bootstrap.servers=file:1\nclient.id=file\nrequest.timeout.ms=1\nretries=1\n",
    )
    config = load("--config", file, "-X", "client.id=x", "-X", "retries=2", "--client-id", "ours")

    assert config.bootstrap_servers == ("file:1",)
    assert (config.client_id, config.retries, config.request_timeout_ms) == ("ours", 2, 1)


def test_the_time_out_is_that_of_a_connection_too() -> None:
    config = load(*BROKER, "--timeout", "2.5")

    assert config.socket_connection_setup_timeout_ms == 2_500
    assert config.socket_connection_setup_timeout_max_ms == 2_500


def test_what_has_no_effect_is_noted_with_where_it_was_given(tmp_path: Path) -> None:
    file = written(tmp_path / "client.properties", "linger.ms=5\n")
    given = parser.parse(["ping", *BROKER, "--config", str(file), "-X", "group.id=g"])
    _, (of_file, of_x) = configuration.load(AdminConfig, given, environment={}, ask=None)

    assert of_file.text.startswith("linger.ms is an option of the producer")
    assert of_x.text.startswith("group.id is an option of the consumer")
    assert (of_file.is_about_file, of_x.is_about_file) == (True, False)


# Passwords.


def test_the_password_comes_from_a_file_without_its_line_end(tmp_path: Path) -> None:
    file = written(tmp_path / "password", " p w \r\n")
    environment = {"KAFKA_AIO_PASSWORD": "of-the-environment"}
    config = load(*SCRAM, "--username", "alice", "--password-file", file, environment=environment)

    assert (config.sasl_username, revealed(config.sasl_password)) == ("alice", " p w ")
    assert config.sasl_mechanism == "SCRAM-SHA-512"


def test_the_password_comes_from_the_environment_before_anybody_is_asked() -> None:
    environment = {"KAFKA_AIO_PASSWORD": "of-the-environment"}
    config = load(*SCRAM, "--username", "alice", environment=environment, ask=pytest.fail)

    assert revealed(config.sasl_password) == "of-the-environment"


def test_whoever_is_at_the_terminal_is_asked_for_the_password_of_the_user() -> None:
    asked = []

    def ask(question: str) -> str:
        asked.append(question)
        return "typed"

    config = load(*SCRAM, "--username", "alice", ask=ask)

    assert revealed(config.sasl_password) == "typed"
    assert asked == ["Password of alice: "]


@pytest.mark.parametrize(
    ("argv", "environment", "username", "password"),
    [
        ((), {}, "bob", "of-the-file"),
        ((), {"KAFKA_AIO_PASSWORD": "of-the-environment"}, "bob", "of-the-environment"),
        (("--username", "alice"), {}, "alice", "typed"),
    ],
)
def test_the_password_of_the_file_is_for_its_own_user(
    tmp_path: Path,
    argv: tuple[str, ...],
    environment: Mapping[str, str],
    username: str,
    password: str,
) -> None:
    file = written(tmp_path / "client.properties", SCRAM_FILE)
    config = load(*BROKER, "--config", file, *argv, environment=environment, ask=lambda _: "typed")

    assert (config.sasl_username, revealed(config.sasl_password)) == (username, password)


def test_a_password_of_the_environment_is_left_alone_where_none_is_wanted() -> None:
    config = load(*BROKER, environment={"KAFKA_AIO_PASSWORD": "for-others"})

    assert config.sasl_password is None


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ((), "there is no password: give --password-file, or set KAFKA_AIO_PASSWORD"),
        (("--password-file", "/nowhere"), "cannot read /nowhere: No such file or directory"),
        (("--password-file", "/dev/null"), "--password-file /dev/null: it is empty"),
    ],
)
def test_a_missing_password_is_an_error(argv: tuple[str, ...], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load(*SCRAM, "--username", "alice", *argv)


def test_an_empty_answer_is_no_password() -> None:
    with pytest.raises(ConfigError, match="the password is empty"):
        load(*SCRAM, "--username", "alice", ask=lambda _: "")


def test_a_password_file_that_is_no_text_is_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_bytes(b"canary\xff")

    with pytest.raises(ConfigError, match="it is not a text in UTF-8") as raised:
        load(*SCRAM, "--username", "alice", "--password-file", file)
    assert "canary" not in str(raised.value)
    assert raised.value.__suppress_context__


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("--security-protocol", "SASL_SSL", "--username", "a"), "--username needs --sasl-mechan"),
        (("--password-file", "/dev/null"), "--password-file needs --username"),
        (("--username", "alice"), "sasl_username is given, but security_protocol is 'PLAINTEXT'"),
        (("--ca", "ca.pem"), "ssl_truststore_location is given, but security_protocol is 'PLAI"),
        (("--security-protocol", "SSL", "--key", "k.pem"), "--key is given without --cert"),
        (("-X", "request.timeout.ms=soon"), "-X: request.timeout.ms must be a whole number"),
        (("-X", "request.timeuot.ms=1"), "-X: .* did you mean 'request.timeout.ms'"),
        (("--config", "/nowhere"), "--config /nowhere: cannot read /nowhere: No such file"),
    ],
)
def test_options_that_do_not_fit_say_so_in_words_of_the_shell(
    argv: tuple[str, ...], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        load(*BROKER, *argv)


def test_an_error_of_the_file_names_it(tmp_path: Path) -> None:
    file = written(tmp_path / "client.properties", "request.timeout.ms=soon\n")

    with pytest.raises(ConfigError, match=f"--config {file}: request.timeout.ms must be"):
        load(*BROKER, "--config", file)


# Tokens.


def test_a_token_file_means_oauthbearer() -> None:
    config = load(*BROKER, "--security-protocol", "SASL_SSL", "--token-file", "t")

    assert config.sasl_mechanism == "OAUTHBEARER"
    assert isinstance(config.sasl_oauthbearer_token_provider, TokenFile)


def test_a_token_file_replaces_the_endpoint_of_the_file(tmp_path: Path) -> None:
    file = written(tmp_path / "client.properties", ENDPOINT_FILE)
    by_endpoint = load(*BROKER, "--config", file)
    by_file = load(*BROKER, "--config", file, "--token-file", "t")

    assert by_endpoint.sasl_oauthbearer_token_endpoint_url == "https://login.example/token"
    assert by_file.sasl_oauthbearer_token_endpoint_url is None


def test_oauthbearer_without_a_token_says_where_one_may_come_from() -> None:
    with pytest.raises(ConfigError, match="give --token-file, or the token endpoint in --config"):
        load(*BROKER, "--security-protocol", "SASL_SSL", "--sasl-mechanism", "oauthbearer")


# Certificates.


TLS = (*BROKER, "--security-protocol", "ssl")


@pytest.mark.parametrize(
    ("name", "kind"), [("ca", "PEM"), ("/dev/fd/63", "PEM"), ("a.crt", "PEM"), ("a.P12", "PKCS12")]
)
def test_a_file_to_trust_is_pem_unless_its_name_says_otherwise(name: str, kind: str) -> None:
    config = load(*TLS, "--ca", name)

    assert (config.ssl_truststore_location, config.ssl_truststore_type) == (name, kind)


def test_a_java_store_comes_with_the_command_that_converts_it() -> None:
    with pytest.raises(ConfigError, match="keytool -importkeystore"):
        load(*TLS, "--ca", "trust.jks")


def test_a_certificate_with_its_key_is_one_file_or_two(tmp_path: Path) -> None:
    cert, key = written(tmp_path / "c.pem", "CERT"), written(tmp_path / "k.pem", "KEY")
    one = load(*TLS, "--cert", cert)
    two = load(*TLS, "--cert", cert, "--key", key)

    assert (one.ssl_keystore_location, one.ssl_keystore_key) == (str(cert), None)
    assert two.ssl_keystore_location is None
    assert revealed(two.ssl_keystore_certificate_chain) == "CERT"
    assert revealed(two.ssl_keystore_key) == "KEY"


def test_our_files_replace_the_stores_of_the_file(tmp_path: Path) -> None:
    file = written(
        tmp_path / "client.properties",
        "security.protocol=SSL\nssl.truststore.location=t.p12\nssl.truststore.password=p\n"
        "ssl.keystore.location=k.p12\nssl.keystore.password=p\n",
    )
    cert, key = written(tmp_path / "c.pem", "CERT"), written(tmp_path / "k.pem", "KEY")
    config = load(*BROKER, "--config", file, "--ca", "ca.pem", "--cert", cert, "--key", key)

    assert config == load(*TLS, "--ca", "ca.pem", "--cert", cert, "--key", key)


def test_a_key_that_is_not_pem_is_not_shown(tmp_path: Path) -> None:
    cert, key = written(tmp_path / "c.pem", "CERT"), tmp_path / "k.p12"
    key.write_bytes(b"canary\xff")

    with pytest.raises(ConfigError, match="it is not PEM") as raised:
        load(*TLS, "--cert", cert, "--key", key)
    assert "canary" not in str(raised.value)
    assert raised.value.__suppress_context__
