"""Key and trust stores: which kind is meant, and whether the options fit together. Pure.

No file is opened: a configuration may be made on another machine than the one that connects, as
Spark's driver does. `net` opens them, and says then what it did not find.
"""

from __future__ import annotations

import re
import shlex

from kafka_aio.config.option import Choice
from kafka_aio.errors import ConfigError

STORE_TYPES = Choice("PEM", "PKCS12", "JKS", any_case=True)

_PEM_FILE = re.compile(r".*\.(pem|crt|cer|cert|key)", re.IGNORECASE | re.DOTALL)
_PKCS12_FILE = re.compile(r".*\.(p12|pfx|pkcs12)", re.IGNORECASE | re.DOTALL)
_JKS_FILE = re.compile(r".*\.jks", re.IGNORECASE | re.DOTALL)


def type_of(
    store: str, given: str | None, *, location: str | None, inline: bool, password: bool
) -> str | None:
    """PEM or PKCS12, for the "keystore" or the "truststore"; None where there is no such store.

    Where the type was not given, the file's name tells.

    Raises:
        ConfigError: The options contradict each other, or the store is of a kind that only the
            JVM reads; then the message has the command that converts it.
    """
    prefix = f"ssl_{store}"
    if location is None and not inline:
        if password:
            raise ConfigError(f"{prefix}_password is given without {prefix}_location: give both")
        return None
    if inline and location is not None:
        raise ConfigError(f"{prefix}_location and PEM texts are given: give one of them")
    kind = given or ("PEM" if location is None else _by_name(prefix, location))
    if kind == "JKS":
        path = location or f"{store}.jks"
        raise ConfigError(
            f"{prefix}_location={path!r} is a JKS store, which only the JVM reads. Convert it with"
            + _conversion(prefix, path)
        )
    if inline and kind != "PEM":
        raise ConfigError(f"{prefix}_type is {kind!r}, but the texts given are PEM: set 'PEM'")
    if kind == "PEM" and password:
        instead = "; ssl_key_password is the password of the key in it" * (store == "keystore")
        raise ConfigError(f"{prefix}_password has no place in a PEM store: leave it out{instead}")
    if kind == "PKCS12" and store == "keystore" and not password:
        raise ConfigError("ssl_keystore_password is missing: a PKCS12 key store is encrypted by it")
    return kind


def _by_name(prefix: str, location: str) -> str:
    for kind, form in (("PEM", _PEM_FILE), ("PKCS12", _PKCS12_FILE), ("JKS", _JKS_FILE)):
        if form.fullmatch(location):
            return kind
    raise ConfigError(
        f"{prefix}_type is missing, and {prefix}_location={location!r} does not end like a .pem or"
        f" .p12 file: set {prefix}_type to 'PEM' or 'PKCS12'. Kafka takes such a file for a JKS"
        " store, which only the JVM reads; if it is one, convert it with"
        + _conversion(prefix, location)
    )


def _conversion(prefix: str, location: str) -> str:
    target = re.sub(r"\.jks$", "", location, flags=re.IGNORECASE) + ".p12"
    command = ["keytool", "-importkeystore", "-srckeystore", location, "-srcstoretype", "JKS"]
    command += ["-destkeystore", target, "-deststoretype", "PKCS12"]
    return f"\n    {shlex.join(command)}\nand set {prefix}_location={target!r}"
