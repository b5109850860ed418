from __future__ import annotations

import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kafka_aio.config import ClientConfig
from kafka_aio.errors import ConfigError

tls = partial(ClientConfig, bootstrap_servers="localhost:9092", security_protocol="SSL")

PEM = "-----BEGIN CERTIFICATE-----"


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"ssl_truststore_location": "/etc/ca.pem"}, "PEM"),
        ({"ssl_truststore_location": "/etc/ca.CRT"}, "PEM"),
        ({"ssl_truststore_location": "ca.p12"}, "PKCS12"),
        ({"ssl_truststore_location": "ca.pfx", "ssl_truststore_password": "x"}, "PKCS12"),
        ({"ssl_truststore_location": "ca", "ssl_truststore_type": "pem"}, "PEM"),
        ({"ssl_truststore_certificates": PEM}, "PEM"),
        ({}, None),
    ],
)
def test_the_type_of_a_store_is_found_from_its_name(options: Any, kind: str | None) -> None:
    assert tls(**options).ssl_truststore_type == kind


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"ssl_truststore_location": "ca"}, "set ssl_truststore_type to 'PEM' or 'PKCS12'"),
        (
            {"ssl_truststore_location": "ca.pem", "ssl_truststore_certificates": PEM},
            "ssl_truststore_location and PEM texts are given: give one of them",
        ),
        ({"ssl_truststore_password": "x"}, "is given without ssl_truststore_location"),
        (
            {"ssl_truststore_location": "ca.pem", "ssl_truststore_password": "x"},
            "ssl_truststore_password has no place in a PEM store: leave it out",
        ),
        (
            {"ssl_keystore_location": "me.pem", "ssl_keystore_password": "x"},
            "leave it out; ssl_key_password is the password of the key in it",
        ),
        ({"ssl_keystore_location": "me.p12"}, "ssl_keystore_password is missing"),
        ({"ssl_keystore_key": "k"}, "and ssl_keystore_certificate_chain go together"),
        ({"ssl_keystore_certificate_chain": "c"}, "go together"),
        (
            {"ssl_truststore_certificates": PEM, "ssl_truststore_type": "PKCS12"},
            "the texts given are PEM: set 'PEM'",
        ),
        ({"ssl_truststore_location": "c", "ssl_truststore_type": "DER"}, "'PEM', 'PKCS12', 'JKS'"),
    ],
)
def test_stores_that_contradict_themselves_are_refused(options: Any, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        tls(**options)

    assert sentence in str(caught.value)


def test_a_java_key_store_is_refused_with_the_command_that_converts_it() -> None:
    with pytest.raises(ConfigError) as caught:
        tls(ssl_truststore_location="/etc/my certs/ca.jks", ssl_truststore_password="x")

    assert str(caught.value) == (
        "ssl_truststore_location='/etc/my certs/ca.jks' is a JKS store, which only the JVM reads."
        " Convert it with\n    keytool -importkeystore -srckeystore '/etc/my certs/ca.jks'"
        " -srcstoretype JKS -destkeystore '/etc/my certs/ca.p12' -deststoretype PKCS12\n"
        "and set ssl_truststore_location='/etc/my certs/ca.p12'"
    )


def test_a_store_of_an_unknown_name_is_one_that_kafka_takes_for_jks() -> None:
    with pytest.raises(ConfigError) as caught:
        tls(ssl_truststore_location="/a/kafka.truststore", ssl_truststore_password="x")

    assert str(caught.value) == (
        "ssl_truststore_type is missing, and ssl_truststore_location='/a/kafka.truststore' does not"
        " end like a .pem or .p12 file: set ssl_truststore_type to 'PEM' or 'PKCS12'. Kafka takes"
        " such a file for a JKS store, which only the JVM reads; if it is one, convert it with\n"
        "    keytool -importkeystore -srckeystore /a/kafka.truststore -srcstoretype JKS"
        " -destkeystore /a/kafka.truststore.p12 -deststoretype PKCS12\n"
        "and set ssl_truststore_location='/a/kafka.truststore.p12'"
    )


@pytest.mark.skipif(shutil.which("keytool") is None, reason="keytool is part of a JDK")
def test_that_command_makes_a_store_that_is_accepted(tmp_path: Path) -> None:
    store = tmp_path / "me.jks"
    made = f"keytool -genkeypair -alias me -keyalg EC -dname CN=me -keystore {store}"
    made += " -storetype JKS -storepass secret -keypass secret"
    subprocess.run(made.split(), check=True, capture_output=True, timeout=30)
    with pytest.raises(ConfigError) as caught:
        tls(ssl_keystore_location=str(store), ssl_keystore_password="secret")
    command = str(caught.value).splitlines()[1]
    subprocess.run(
        command, shell=True, check=True, capture_output=True, timeout=30, input=b"secret\n" * 3
    )
    converted = tmp_path / "me.p12"

    assert converted.stat().st_size > 0
    config = tls(ssl_keystore_location=str(converted), ssl_keystore_password="secret")
    assert config.ssl_keystore_type == "PKCS12"
