from __future__ import annotations

import logging
import os
import ssl
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import PrivateFormat

from kafka_aio.errors import ConfigError
from kafka_aio.net import tls
from tests.net.certificates import LOCALHOST
from tests.net.peers import greeting, serving
from tests.net.tls_client import (
    Options,
    broker,
    ca,
    greeted,
    made,
    me,
    other_ca,
    refused,
    trusting,
)

PASSWORD = "Canary-0fd7-Tweet"

# What the options may say.


def as_files(folder: Path) -> Options:
    (folder / "me.pem").write_text(f"Bag Attributes: \N{SNOWMAN}\n{me().pem}", encoding="utf-8")
    (folder / "ca.crt").write_text(f"# ours\n{other_ca().certificate_pem}{ca().certificate_pem}")
    return {
        "ssl_keystore_location": str(folder / "me.pem"),
        "ssl_truststore_location": str(folder / "ca.crt"),
    }


def as_files_certificate_first(folder: Path) -> Options:
    (folder / "me.pem").write_text(me().certificate_pem + ca().certificate_pem + me().key_pem())
    return as_files(folder) | {"ssl_keystore_location": str(folder / "me.pem")}


def as_texts(folder: Path) -> Options:
    return {
        "ssl_keystore_key": me().key_pem(),
        "ssl_keystore_certificate_chain": me().certificate_pem,
        "ssl_truststore_certificates": ca().certificate_pem,
    }


def as_texts_in_one_line(folder: Path) -> Options:
    return {name: text.replace("\n", " ") for name, text in as_texts(folder).items()}


def as_texts_from_windows(folder: Path) -> Options:
    return {name: text.replace("\n", "\r\n") for name, text in as_texts(folder).items()}


def with_an_encrypted_key(folder: Path) -> Options:
    key = me().key_pem(PASSWORD)
    assert "BEGIN ENCRYPTED PRIVATE KEY" in key
    return as_texts(folder) | {"ssl_keystore_key": key, "ssl_key_password": PASSWORD}


def with_a_key_encrypted_the_old_way(folder: Path) -> Options:
    key = me().key_pem(PASSWORD, PrivateFormat.TraditionalOpenSSL)
    assert "Proc-Type: 4,ENCRYPTED" in key
    return as_texts(folder) | {"ssl_keystore_key": key, "ssl_key_password": PASSWORD}


def with_a_password_that_is_not_needed(folder: Path) -> Options:
    return as_texts(folder) | {"ssl_key_password": PASSWORD}


def as_pkcs12(folder: Path) -> Options:
    (folder / "me.p12").write_bytes(me().key_store(PASSWORD))
    (folder / "ca.p12").write_bytes(ca().trust_store(PASSWORD))
    return {
        "ssl_keystore_location": str(folder / "me.p12"),
        "ssl_keystore_password": PASSWORD,
        "ssl_truststore_location": str(folder / "ca.p12"),
        "ssl_truststore_password": PASSWORD,
    }


@pytest.mark.parametrize(
    "options",
    [
        as_files,
        as_files_certificate_first,
        as_texts,
        as_texts_in_one_line,
        as_texts_from_windows,
        with_an_encrypted_key,
        with_a_key_encrypted_the_old_way,
        with_a_password_that_is_not_needed,
        as_pkcs12,
    ],
)
async def test_both_sides_prove_who_they_are(
    options: Callable[[Path], Options], tmp_path: Path
) -> None:
    config = made(**options(tmp_path))

    async with serving(greeting(broker().server(trusted=ca()))) as port:
        assert await greeted(config, port) == "TLSv1.3"
        assert await greeted(config, port, "127.0.0.1") == "TLSv1.3"


def test_openssl_gets_lines_of_64_characters_as_old_ones_want_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[str] = []
    monkeypatch.setattr(
        ssl.SSLContext, "load_verify_locations", lambda self, cadata: given.append(cadata)
    )
    tls.context(made(ssl_truststore_certificates=ca().certificate_pem.replace("\n", " ")))

    assert given == [ca().certificate_pem.strip()]


async def test_without_a_trust_store_the_system_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "system.pem").write_text(ca().certificate_pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "system.pem"))

    async with serving(greeting(broker().server())) as port:
        assert await greeted(made(), port) == "TLSv1.3"


def test_the_system_context_trusts_whom_the_system_trusts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "system.pem").write_text(ca().certificate_pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "system.pem"))

    (trusted,) = tls.system_context().get_ca_certs()
    assert "our authority" in str(trusted)


async def test_what_is_in_the_trust_store_need_not_be_a_root() -> None:
    between = ca().issue(is_authority=True)
    config = made(ssl_truststore_certificates=between.certificate_pem)

    async with serving(greeting(between.issue(*LOCALHOST).server())) as port:
        assert await greeted(config, port) == "TLSv1.3"


async def test_a_ready_context_is_used_as_it_is() -> None:
    ready = ssl.create_default_context()
    config = made(ssl_context=ready)

    assert tls.context(config) is ready
    assert await tls.Contexts(config).current() is ready


async def test_without_the_check_of_the_name_the_certificate_is_still_verified() -> None:
    unchecked: Options = {"ssl_endpoint_identification_algorithm": ""}
    elsewhere = greeting(ca().issue("elsewhere.example").server())

    async with serving(elsewhere) as port:
        assert await greeted(trusting(**unchecked), port) == "TLSv1.3"
    stranger = made(ssl_truststore_certificates=other_ca().certificate_pem, **unchecked)
    assert "no authority that we trust" in str(await refused(stranger, elsewhere))


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
async def test_only_the_enabled_protocols_are_spoken(version: str) -> None:
    config = trusting(ssl_enabled_protocols=(version,))

    async with serving(greeting(broker().server())) as port:
        assert await greeted(config, port) == version


def test_nothing_below_tls_1_2_is_ever_allowed() -> None:
    for context in (tls.context(made()), tls.system_context()):
        assert context.minimum_version == ssl.TLSVersion.TLSv1_2
        assert context.verify_mode == ssl.CERT_REQUIRED
        assert context.check_hostname


def test_only_the_given_cipher_suites_are_allowed() -> None:
    names = ("ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-AES128-GCM-SHA256")
    context = tls.context(made(ssl_cipher_suites=names))

    offered = {each["name"] for each in context.get_ciphers() if each["protocol"] != "TLSv1.3"}
    assert offered == set(names)


@pytest.mark.parametrize(
    "name", ["NO-SUCH-SUITE", "HIGH", "NULL-SHA256", "ADH-AES256-GCM-SHA384", "-HIGH"]
)
def test_a_cipher_suite_that_is_unknown_or_no_protection_is_refused(name: str) -> None:
    with pytest.raises(
        ConfigError, match=f"^ssl_cipher_suites: OpenSSL .* no .* suite .*'{name}';"
    ):
        tls.context(made(ssl_cipher_suites=("ECDHE-RSA-AES128-GCM-SHA256", name)))
    with pytest.raises(ConfigError, match=f"no TLS 1.2 suite '{name}';"):
        tls.context(made(ssl_cipher_suites=(name,)))


# What is wrong with the options.


def in_file(folder: Path, name: str, content: str | bytes, **options: Any) -> Options:
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    store = "truststore" if name.startswith("ca") else "keystore"
    return {f"ssl_{store}_location": str(file), **options}


def texts(**options: Any) -> Options:
    return as_texts(Path()) | options


DAMAGED = "-----BEGIN CERTIFICATE-----\nTWFk\n-----END CERTIFICATE-----"
DAMAGED_KEY = DAMAGED.replace("CERTIFICATE", "PRIVATE KEY")
MISTAKES: dict[str, tuple[Callable[[Path], Options], str]] = {
    "no trust file": (
        lambda f: {"ssl_truststore_location": str(f / "gone.pem")},
        r"ssl_truststore_location='.*/gone\.pem': No such file or directory$",
    ),
    "no key file": (
        lambda f: {"ssl_keystore_location": str(f / "gone.pem")},
        r"ssl_keystore_location='.*/gone\.pem': No such file or directory$",
    ),
    "a folder": (
        lambda f: {"ssl_keystore_location": str(f), "ssl_keystore_type": "PEM"},
        r"ssl_keystore_location='.*': Is a directory$",
    ),
    "a file that is not PEM": (
        lambda f: in_file(f, "ca.pem", b"\xff\x00 nonsense"),
        r"ssl_truststore_location='.*/ca\.pem': it is not PEM",
    ),
    "a text that is not PEM": (
        lambda f: texts(ssl_keystore_key=PASSWORD),
        "ssl_keystore_key: it is not PEM",
    ),
    "no certificate to trust": (
        lambda f: {"ssl_truststore_certificates": me().key_pem()},
        "ssl_truststore_certificates: there is no certificate in it",
    ),
    "no certificate of ours": (
        lambda f: in_file(f, "me.pem", me().key_pem()),
        r"ssl_keystore_location='.*/me\.pem': there is no certificate in it",
    ),
    "no key": (
        lambda f: in_file(f, "me.pem", me().certificate_pem),
        r"ssl_keystore_location='.*/me\.pem': there is no private key in it",
    ),
    "a certificate as the key": (
        lambda f: texts(ssl_keystore_key=me().certificate_pem),
        "ssl_keystore_key: there is no private key in it",
    ),
    "a damaged certificate to trust": (
        lambda f: {"ssl_truststore_certificates": ca().certificate_pem + DAMAGED},
        r"ssl_truststore_certificates: a certificate is damaged \(",
    ),
    "a damaged certificate of ours": (
        lambda f: texts(ssl_keystore_certificate_chain=DAMAGED),
        r"ssl_keystore_certificate_chain: the certificate or its key cannot be used \(",
    ),
    "a damaged key": (
        lambda f: texts(ssl_keystore_key=DAMAGED_KEY),
        r"the certificate or its key cannot be used \(",
    ),
    "the key of another": (
        lambda f: texts(ssl_keystore_key=broker().key_pem()),
        "ssl_keystore_certificate_chain and ssl_keystore_key: the private key does not belong",
    ),
    "the key of another, in a file": (
        lambda f: in_file(f, "me.pem", broker().key_pem() + me().certificate_pem),
        r"ssl_keystore_location='.*/me\.pem': the private key does not belong",
    ),
    "the authority's certificate first": (
        lambda f: in_file(f, "me.pem", me().key_pem() + ca().certificate_pem),
        "the certificates are not in order, ours first",
    ),
    "no password": (
        lambda f: texts(ssl_keystore_key=me().key_pem(PASSWORD)),
        "ssl_keystore_key: the private key is encrypted: give ssl_key_password",
    ),
    "a wrong password": (
        lambda f: texts(ssl_keystore_key=me().key_pem(PASSWORD), ssl_key_password="wrong"),
        "ssl_keystore_key: the private key cannot be decrypted: ssl_key_password is wrong",
    ),
    "a wrong password, the old way": (
        lambda f: texts(
            ssl_keystore_key=me().key_pem(PASSWORD, PrivateFormat.TraditionalOpenSSL),
            ssl_key_password="wrong",
        ),
        "ssl_keystore_key: the private key cannot be decrypted: ssl_key_password is wrong",
    ),
    "a password that is too long": (
        lambda f: texts(ssl_keystore_key=me().key_pem(PASSWORD), ssl_key_password="x" * 2000),
        "ssl_keystore_key: the private key cannot be decrypted: ssl_key_password is wrong",
    ),
    "a wrong password of a key store": (
        lambda f: in_file(f, "me.p12", me().key_store(PASSWORD), ssl_keystore_password="wrong"),
        r"ssl_keystore_location='.*/me\.p12': it cannot be read: ssl_keystore_password is wrong",
    ),
    "no password of a trust store": (
        lambda f: in_file(f, "ca.p12", ca().trust_store(PASSWORD)),
        r"ssl_truststore_location='.*/ca\.p12': .* ssl_truststore_password is wrong or missing",
    ),
    "PEM in a PKCS12 store": (
        lambda f: in_file(f, "me.p12", me().pem, ssl_keystore_password=PASSWORD),
        "it is not a PKCS12 store",
    ),
    "a key store without a key": (
        lambda f: in_file(f, "me.p12", ca().trust_store(PASSWORD), ssl_keystore_password=PASSWORD),
        "there is no private key in it",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_store_names_its_option_and_shows_no_key(
    mistake: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    options, message = MISTAKES[mistake]
    config = made(**options(tmp_path))

    with pytest.raises(ConfigError, match=message) as caught:
        tls.context(config)

    shown = repr(caught.value) + repr(caught.value.__cause__) + repr(caught.value.__context__)
    for secret in (PASSWORD, *me().key_pem().splitlines()[1:2], *me().pem.splitlines()[1:2]):
        assert secret not in shown
    assert capfd.readouterr() == ("", "")  # nobody was asked for a password


def test_a_pkcs12_store_without_the_extra_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = made(**as_pkcs12(tmp_path))
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)

    with pytest.raises(ConfigError, match=r"pip install 'kafka-aio\[pkcs12\]'"):
        tls.context(config)


@pytest.mark.parametrize("has_memfd", [True, False])
def test_no_key_is_left_on_disk_or_open(
    has_memfd: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_memfd:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = os.listdir("/proc/self/fd")
    tls.context(made(**as_texts(tmp_path)))
    with pytest.raises(ConfigError, match="is encrypted"):
        tls.context(made(**texts(ssl_keystore_key=me().key_pem(PASSWORD))))

    assert list(tmp_path.iterdir()) == []
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="Linux alone keeps it from the disk")
def test_a_key_given_as_text_does_not_touch_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    context = tls.context(made(**as_texts(tmp_path)))

    assert context.get_ca_certs()


# Files that change.


async def test_a_context_is_kept_while_its_files_stay(tmp_path: Path) -> None:
    contexts = tls.Contexts(made(**as_files(tmp_path)))
    first = await contexts.current()

    assert await contexts.current() is first


@pytest.mark.parametrize("store", ["me.pem", "ca.crt"])
async def test_a_changed_file_is_read_for_the_next_connection(store: str, tmp_path: Path) -> None:
    contexts = tls.Contexts(made(**as_files(tmp_path)))
    first = await contexts.current()
    renewed = tmp_path / "renewed"
    renewed.write_text((tmp_path / store).read_text())
    renewed.replace(tmp_path / store)
    second = await contexts.current()

    assert second is not first
    assert await contexts.current() is second


async def test_files_that_changed_for_the_worse_are_not_used_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    contexts = tls.Contexts(made(**as_files(tmp_path)))
    first = await contexts.current()
    (tmp_path / "me.pem").write_text(me().key_pem())
    with caplog.at_level(logging.WARNING):
        after = [await contexts.current() for _ in range(3)]
    (tmp_path / "me.pem").write_text(me().pem)

    assert after == [first] * 3
    (said,) = [each.getMessage() for each in caplog.records if each.name != "asyncio"]
    assert said.startswith("the TLS files have changed, the old ones stay in use: ssl_keystore_loc")
    assert said.endswith("me.pem': there is no certificate in it")
    assert await contexts.current() is not first


async def test_files_that_are_wrong_from_the_start_are_an_error_each_time(tmp_path: Path) -> None:
    contexts = tls.Contexts(made(ssl_truststore_location=str(tmp_path / "ca.pem")))

    for _ in range(2):
        with pytest.raises(ConfigError, match="No such file"):
            await contexts.current()
    (tmp_path / "ca.pem").write_text(ca().certificate_pem)
    assert len((await contexts.current()).get_ca_certs()) == 1
