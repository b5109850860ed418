"""Kerberos: the context by which GSSAPI speaks with a broker, from the `gssapi` package (an extra).

Only `context` asks a Kerberos server (KDC), and blocks meanwhile: it is for a thread. The steps of
what it returns only compute.

A keytab's ticket is kept in memory for all clients of this process with that keytab and principal,
and renewed by the Kerberos library: not every connection logs in anew. Without a keytab the ticket
is the one that the user has (`kinit`), read each time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib import import_module
from threading import Lock
from types import ModuleType
from typing import Any, Final

from kafka_aio.config import ClientConfig
from kafka_aio.errors import AuthenticationError, ConfigError, KafkaConnectionError
from kafka_aio.protocol.sasl import Context, shown

_SEE_MINOR: Final = 13 << 16  # GSS_S_FAILURE
_KDC_UNREACHABLE: Final = -1_765_328_228 % 2**32  # KRB5_KDC_UNREACH

# Connections are opened side by side: without this each of them would find no ticket, and log in.
_one_at_a_time = Lock()


class Kerberos:
    """A context of the `gssapi` package that has taken its first step; its errors are ours."""

    def __init__(self, context: Any, service: str) -> None:  # Any: the package has no types
        self._context = context
        self._service = service
        self._first: bytes | None = context.step()

    def __repr__(self) -> str:
        return f"<Kerberos {self._service}>"

    @property
    def complete(self) -> bool:
        return bool(self._context.complete)

    def step(self, token: bytes | None) -> bytes | None:
        if token is None:
            return self._first
        with _translated(self._service):
            answer: bytes | None = self._context.step(token)
        return answer

    def unwrap(self, message: bytes) -> bytes:
        with _translated(self._service):
            return bytes(self._context.unwrap(message).message)

    def wrap(self, message: bytes) -> bytes:
        with _translated(self._service):
            return bytes(self._context.wrap(message, False).message)


def context(config: ClientConfig, host: str) -> Context:
    """A context for the broker at `host`: the name by which Kerberos knows it, not an address.

    Raises:
        ConfigError: The `gssapi` package or the keytab is missing or of no use.
        AuthenticationError: There is no ticket for us, or none for the broker.
        KafkaConnectionError: No Kerberos server can be reached.
    """
    gssapi = _package()
    service = f"{config.sasl_kerberos_service_name}@{host}"
    flags = gssapi.RequirementFlag
    with _one_at_a_time, _translated(service):
        initiator = gssapi.SecurityContext(
            name=gssapi.Name(service, gssapi.NameType.hostbased_service),
            creds=_credentials(gssapi, config),
            mech=gssapi.MechType.kerberos,
            flags=flags.mutual_authentication | flags.integrity,
            usage="initiate",
        )
        return Kerberos(initiator, service)


def _credentials(gssapi: ModuleType, config: ClientConfig) -> object:
    principal, keytab = config.sasl_kerberos_principal, config.sasl_kerberos_keytab
    name = gssapi.Name(principal, gssapi.NameType.kerberos_principal) if principal else None
    if keytab is None:
        return gssapi.Credentials(name=name, usage="initiate", mechs=[gssapi.MechType.kerberos])
    if not os.access(keytab.removeprefix("FILE:"), os.R_OK):  # the library would miss a cache
        raise ConfigError(f"sasl_kerberos_keytab: {keytab!r} does not exist, or cannot be read")
    cache = sha256(f"{principal}\0{keytab}".encode()).hexdigest()
    store = {"client_keytab": keytab, "ccache": f"MEMORY:kafka_aio-{cache}"}
    try:
        return gssapi.Credentials(name=name, usage="initiate", store=store)
    except NotImplementedError as error:  # Heimdal, which macOS has
        raise ConfigError(
            "sasl_kerberos_keytab needs MIT's Kerberos library; with another one log in by kinit"
            " with the keytab, and leave the option out"
        ) from error


def _package() -> ModuleType:
    try:
        return import_module("gssapi")
    except (ImportError, OSError) as error:  # OSError: on Windows, without MIT's Kerberos
        raise ConfigError(
            "sasl_mechanism='GSSAPI' needs the gssapi package: pip install kafka-aio[gssapi], with"
            " the Kerberos library and its headers in place (libkrb5-dev, krb5-devel)"
        ) from error


@contextmanager
def _translated(service: str) -> Iterator[None]:
    try:
        yield
    except _package().exceptions.GSSError as error:
        text = f"GSSAPI, {service}: {shown(_said(error))}"
        if error.min_code % 2**32 == _KDC_UNREACHABLE:
            raise KafkaConnectionError(f"{text}: see krb5.conf") from error
        host = service.partition("@")[2]
        raise AuthenticationError(
            f"{text}: see whether we have a ticket (kinit, or sasl_kerberos_keytab and"
            f" sasl_kerberos_principal), and whether Kerberos knows the broker as {host}"
        ) from error


def _said(error: Any) -> str:
    """What the library says to a GSSError, without the words that say nothing."""
    minor = [text for text in error.get_all_statuses(error.min_code, False) if text != "Success"]
    major = error.get_all_statuses(error.maj_code, True)
    return "; ".join(minor if minor and error.maj_code == _SEE_MINOR else [*major, *minor])
