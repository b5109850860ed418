"""What every client can be told: where the cluster is, how to connect, who we are. Pure.

The classes below it (`producer`, `consumer`, `admin`) add their own options. A field has Kafka's
name with `_` for `.`, Kafka's default, and one sentence. Where Kafka's option names a Java class,
ours takes an object and drops that word (`partitioner.class` is `partitioner`). Only
`from_properties` reads a file, and only when it is given the path of one.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path as FilePath
from typing import Annotated, Any, ClassVar, Protocol, Self

from kafka_aio.config import address, properties, security, store, translation
from kafka_aio.config.option import (
    INT32,
    INT64,
    Choice,
    Flag,
    Float,
    Int,
    Location,
    LongMilliseconds,
    Milliseconds,
    Name,
    Password,
    Path,
    Sent,
    Several,
    Text,
    Thing,
    Unset,
    kinds,
    unset,
)
from kafka_aio.errors import ConfigError
from kafka_aio.types import BearerToken


class KafkaConfigWarning(UserWarning):
    """An option was given that has no effect here."""


class TlsContext(Protocol):
    """What is needed of an `ssl.SSLContext`; only `net` may import ssl."""

    def wrap_bio(self, *arguments: Any, **options: Any) -> Any: ...


TokenProvider = Callable[[], Awaitable[str | BearerToken]]

_Socket = Annotated[int, Int(-1, INT32, unit=" of bytes")]
_Extensions = Several(Thing("a pair of str", lambda pair: _is_pair_of_str(pair)))


def _is_pair_of_str(value: object) -> bool:
    is_pair = isinstance(value, tuple) and len(value) == 2
    return is_pair and all(isinstance(part, str) for part in value)  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ClientConfig:
    """Options of every client. They are checked when it is made; after that it does not change.

    Raises:
        ConfigError: An option is wrong, missing, or contradicts another.
    """

    client: ClassVar[str] = "client"
    """Which of Kafka's clients it configures."""

    bootstrap_servers: Annotated[str | Sequence[str], address.Servers()] = ()
    """Brokers to begin with, such as "host:9092,other:9092" or a list; kept as a tuple."""
    client_id: Sent = ""
    """A name for this client in the logs and quotas of the broker."""
    client_dns_lookup: Annotated[
        str, Choice("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only")
    ] = "use_all_dns_ips"
    """Whether each address of a host name is tried, or its canonical name is looked up first."""

    request_timeout_ms: Milliseconds = 30_000
    """How long to wait for the answer to one request."""
    retry_backoff_ms: LongMilliseconds = 100
    """The pause before a request is first sent again; it doubles with each failure."""
    retry_backoff_max_ms: LongMilliseconds = 1_000
    """The longest such pause."""
    metadata_max_age_ms: LongMilliseconds = 300_000
    """After how long the list of brokers, topics and leaders is fetched anew."""
    metadata_recovery_strategy: Annotated[str, Choice("rebootstrap", "none", any_case=True)] = (
        "rebootstrap"
    )
    """Whether to begin again from bootstrap_servers when no known broker can be reached."""
    metadata_recovery_rebootstrap_trigger_ms: LongMilliseconds = 300_000
    """For how long no broker may have answered before that is done."""

    connections_max_idle_ms: Annotated[int, Int(-1, INT64)] = 540_000
    """After how long an unused connection is closed; -1 never."""
    reconnect_backoff_ms: LongMilliseconds = field(default=unset(50))
    """The pause before a broker is first dialled again; it doubles with each failure."""
    reconnect_backoff_max_ms: LongMilliseconds = field(default=unset(1_000))
    """The longest such pause; if only reconnect_backoff_ms is given, it is the same."""
    socket_connection_setup_timeout_ms: LongMilliseconds = 10_000
    """How long a connection may take to be ready; it doubles with each failure."""
    socket_connection_setup_timeout_max_ms: LongMilliseconds = 30_000
    """The longest such time."""
    send_buffer_bytes: _Socket = -1
    """The socket's buffer for sending; -1 leaves it to the system, which lets it grow."""
    receive_buffer_bytes: _Socket = -1
    """The socket's buffer for receiving; -1 leaves it to the system, which lets it grow."""
    receive_max_bytes: Annotated[int, Int(1_024, INT32, unit=" of bytes")] = 100 * 2**20
    """The largest answer that is accepted; a longer one closes the connection. Not in Kafka."""

    security_protocol: Annotated[
        str, Choice("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL", any_case=True)
    ] = "PLAINTEXT"
    """Whether connections are encrypted (SSL) and authenticated (SASL)."""
    ssl_context: Annotated[
        TlsContext | None, Thing("an ssl.SSLContext", lambda value: hasattr(value, "wrap_bio"))
    ] = None
    """A ready ssl.SSLContext, instead of the other ssl options. Not in Kafka."""
    ssl_truststore_location: Path = None
    """A file with the certificates of the authorities to trust; none means the system's."""
    ssl_truststore_certificates: Password = None
    """The same certificates as PEM text."""
    ssl_truststore_type: Annotated[str | None, store.STORE_TYPES] = field(default=unset(None))
    """PEM or PKCS12; found from the file's name where not given."""
    ssl_truststore_password: Password = None
    """The password of a PKCS12 trust store."""
    ssl_keystore_location: Path = None
    """A file with our certificate and its key, where the broker asks for one."""
    ssl_keystore_certificate_chain: Password = None
    """Our certificate, and those above it, as PEM text."""
    ssl_keystore_key: Password = None
    """Its private key as PEM text."""
    ssl_keystore_type: Annotated[str | None, store.STORE_TYPES] = field(default=unset(None))
    """PEM or PKCS12; found from the file's name where not given."""
    ssl_keystore_password: Password = None
    """The password of a PKCS12 key store."""
    ssl_key_password: Password = None
    """The password of the private key, where it is encrypted."""
    ssl_enabled_protocols: Annotated[
        Sequence[str], Several(Choice("TLSv1.2", "TLSv1.3"), least=1)
    ] = ("TLSv1.2", "TLSv1.3")
    """The versions of TLS that are allowed."""
    ssl_cipher_suites: Annotated[
        Sequence[str],
        Several(Text("the name of a TLS 1.2 suite as OpenSSL has it", form=r"(?!TLS_)[A-Z0-9-]+")),
    ] = ()
    """The suites allowed with TLS 1.2, such as ECDHE-RSA-AES128-GCM-SHA256; none means all good."""
    ssl_endpoint_identification_algorithm: Annotated[str, Choice("https", "", any_case=True)] = (
        "https"
    )
    """Whether ("https") the broker's certificate has to bear its host name, or ("") need not."""

    sasl_mechanism: Annotated[
        str, Choice("GSSAPI", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
    ] = "GSSAPI"
    """How we prove who we are; with a user and a password set PLAIN or SCRAM-SHA-512."""
    sasl_username: Name = None
    """The user of PLAIN or SCRAM. Not in Kafka, which has it in sasl.jaas.config."""
    sasl_password: Password = None
    """The password of that user. Not in Kafka, which has it in sasl.jaas.config."""
    sasl_scram_tokenauth: Flag = False
    """Whether user and password of SCRAM are those of a delegation token. Not in Kafka."""
    forbid_plaintext_credentials: Flag = False
    """Refuse PLAIN and OAUTHBEARER without TLS, rather than warn. Not in Kafka."""
    sasl_kerberos_service_name: Name = None
    """The Kerberos name of the brokers' service, mostly "kafka"."""
    sasl_kerberos_principal: Name = None
    """Who we are to Kerberos; none means the default of its cache. Not in Kafka."""
    sasl_kerberos_keytab: Path = None
    """The file with that principal's key; none means the ticket cache. Not in Kafka."""
    sasl_oauthbearer_token_provider: Annotated[
        TokenProvider | None, Thing("an async function without arguments")
    ] = None
    """An async function that returns a bearer token: a str or a `BearerToken`. Not in Kafka."""
    sasl_oauthbearer_token_endpoint_url: Annotated[str | None, security.Endpoint()] = None
    """Where tokens are fetched from (OpenID Connect, client credentials): https, or this host."""
    sasl_oauthbearer_client_credentials_client_id: Name = None
    """The client id that the token endpoint knows us by."""
    sasl_oauthbearer_client_credentials_client_secret: Password = None
    """The secret of that client id."""
    sasl_oauthbearer_scope: Name = None
    """The scope to ask the token endpoint for."""
    sasl_oauthbearer_header_urlencode: Flag = False
    """Whether client id and secret are URL-encoded in the request, as some endpoints want."""
    sasl_oauthbearer_extensions: Annotated[Sequence[tuple[str, str]], _Extensions] = ()
    """Names and values to send with a token (KIP-342). Not in Kafka: extension_ in JAAS."""
    sasl_login_connect_timeout_ms: Annotated[int | None, Int(0, INT32)] = None
    """How long the connection to the token endpoint may take."""
    sasl_login_read_timeout_ms: Annotated[int | None, Int(0, INT32)] = None
    """How long its answer may take."""
    sasl_login_retry_backoff_ms: LongMilliseconds = 100
    """The pause before a token is first asked for again; it doubles with each failure."""
    sasl_login_retry_backoff_max_ms: LongMilliseconds = 10_000
    """The longest such pause."""
    sasl_login_refresh_window_factor: Annotated[float, Float(0.5, 1.0)] = 0.8
    """After which part of its life a token is replaced."""
    sasl_login_refresh_window_jitter: Annotated[float, Float(0.0, 0.25)] = 0.05
    """By which part of its life that moment varies, so that clients do not come together."""
    sasl_login_refresh_min_period_seconds: Annotated[int, Int(0, 900)] = 60
    """The least time between two such replacements."""
    sasl_login_refresh_buffer_seconds: Annotated[int, Int(0, 3_600)] = 300
    """How long before its end a token is replaced at the latest."""

    _unset: frozenset[str] = field(default=frozenset(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        left_unset = set()
        for name, kind in kinds(type(self)).items():
            value = getattr(self, name)
            if isinstance(value, Unset):
                left_unset.add(name)
                value = value.value
            self._set(name, kind.checked(name, value))
        self._set("_unset", frozenset(left_unset))
        self._settle()

    @classmethod
    def from_kafka(cls, options: Mapping[str, Any]) -> Self:
        """From Kafka's names, as in `{"linger.ms": 20}`; texts are read as Java reads them.

        Names with `_` work too. An option that has no effect here warns (`KafkaConfigWarning`).

        Raises:
            ConfigError: A name that Kafka does not know, or a value that is wrong.
        """
        _check_mapping("from_kafka", options)
        return cls._translated(options, stacklevel=3)

    @classmethod
    def unknown_names(cls, options: Mapping[str, Any]) -> list[str]:
        """Those of Kafka's names that `from_kafka` refuses, as no client has such an option.

        For programs that take options meant for others too, and leave out what they do not know.
        A name that is not shown in an error is among them: it may be a piece of a secret.

        Raises:
            ConfigError: This is no mapping.
        """
        _check_mapping("unknown_names", options)
        return translation.unknown_names(cls.client, options, kinds(cls))

    @classmethod
    def ignored_names(cls, options: Mapping[str, Any]) -> dict[str, str]:
        """Those of Kafka's names that `from_kafka` warns of, each with its sentence.

        For programs that say so in another way than by a warning of Python's.

        Raises:
            ConfigError: This is no mapping.
        """
        _check_mapping("ignored_names", options)
        return translation.ignored_names(cls.client, options, kinds(cls))

    @classmethod
    def from_properties(cls, source: str | os.PathLike[str]) -> Self:
        """From Kafka's properties format: a str is its text, a `pathlib.Path` names a file.

        Raises:
            ConfigError: The file cannot be read, or as `from_kafka`.
        """
        if not isinstance(source, str | os.PathLike):
            raise ConfigError(
                "from_properties() takes a str, which is the text, or a pathlib.Path, not"
                f" <{type(source).__qualname__}>"
            )
        text = source if isinstance(source, str) else properties.decode(_bytes_of(source))
        options = properties.parse(text)
        if isinstance(source, str) and len(options) == 1 and not any(options.values()):
            raise ConfigError("the text has no option; to read a file give a pathlib.Path")
        return cls._translated(options, stacklevel=3)

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """From Python's names and values, as keyword arguments would be, but a wrong name is ours.

        Raises:
            ConfigError: A name that is not an option, with the nearest one; or a wrong value.
        """
        _check_mapping("from_options", options)
        translation.check_names(cls.client, options, kinds(cls))
        return cls(**options)

    def replace(self, **changes: Any) -> Self:
        """The same with some options changed; all is checked again."""
        given = {name: getattr(self, name) for name in kinds(type(self)) if name not in self._unset}
        return self.from_options({**given, **changes})

    # For copy.replace of Python 3.13. A class below repeats it, or @dataclass puts its own there.
    __replace__ = replace

    @property
    def bootstrap_addresses(self) -> list[tuple[str, int]]:
        """The host, an IPv6 address without brackets, and the port of each bootstrap server."""
        return list(address.split(tuple(self.bootstrap_servers)))

    @property
    def notes(self) -> list[str]:
        """Sentences about this configuration that a client logs once, as warnings."""
        return self._notes()

    def _notes(self) -> list[str]:
        found = security.notes(self)
        for name, limit in (
            ("retry_backoff_ms", self.retry_backoff_max_ms),
            ("reconnect_backoff_ms", self.reconnect_backoff_max_ms),
            ("socket_connection_setup_timeout_ms", self.socket_connection_setup_timeout_max_ms),
        ):
            if getattr(self, name) > limit:
                longest = name.replace("_ms", "_max_ms")
                found.append(f"{name} is above {longest}: it is always {limit} ms")
        return found

    def __repr__(self) -> str:
        """Only what differs from the defaults; secrets as [hidden], objects by their name."""
        defaults = {entry.name: entry.default for entry in fields(self)}
        shown = []
        for name, kind in kinds(type(self)).items():
            value, default = getattr(self, name), defaults[name]
            if value != (default.value if isinstance(default, Unset) else default):
                shown.append(f"{name}={kind.show(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    @classmethod
    def _translated(cls, options: Mapping[str, Any], stacklevel: int) -> Self:
        ours, ignored = translation.translate(cls.client, options, kinds(cls))
        for sentence in ignored:
            warnings.warn(sentence, KafkaConfigWarning, stacklevel=stacklevel)
        return cls(**ours)

    def _settle(self) -> None:
        """Check what options say together, and set those that were not given and depend on others.

        A class below calls this by name first: `super()` does not work in a slotted dataclass.
        """
        servers = address.checked(tuple(self.bootstrap_servers), self.security_protocol)
        self._set("bootstrap_servers", servers)
        if "reconnect_backoff_max_ms" in self._unset and "reconnect_backoff_ms" not in self._unset:
            self._set("reconnect_backoff_max_ms", self.reconnect_backoff_ms)
        for each, texts in (
            ("keystore", (self.ssl_keystore_key, self.ssl_keystore_certificate_chain)),
            ("truststore", (self.ssl_truststore_certificates,)),
        ):
            found = store.type_of(
                each,
                getattr(self, f"ssl_{each}_type"),
                location=getattr(self, f"ssl_{each}_location"),
                inline=any(texts),
                password=getattr(self, f"ssl_{each}_password") is not None,
            )
            self._set(f"ssl_{each}_type", found)
        security.check(self)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def _check_mapping(method: str, options: object) -> None:
    if not isinstance(options, Mapping):
        raise ConfigError(
            f"{method}() takes a mapping of names to values, not <{type(options).__qualname__}>"
        )


def _bytes_of(path: os.PathLike[str]) -> bytes:
    name = os.fsdecode(path)
    try:
        return FilePath(name).read_bytes()
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) else str(error)
    # Not from the system's error: that repeats the name, which may be a text put there by mistake.
    raise ConfigError(f"cannot read {Location().show(name)}: {problem}")
