"""TLS: the context of a connection, from the ssl options; and what its failures mean.

Whatever the store, its certificates and its key are brought into PEM, and OpenSSL gets only that:
so key and certificate come from one reading of a file, and a text in one line, as Kafka's own
examples have it, is as good as any. A key never touches the disk where the system can help it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, NoReturn, cast

from kafka_aio.config import ClientConfig
from kafka_aio.errors import (
    AuthenticationError,
    ConfigError,
    KafkaConnectionError,
    KafkaError,
)

logger = logging.getLogger(__name__)

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----([\x00-\x7f]*?)-----END \1-----")


class Contexts:
    """The context of a client's connections, made anew when one of its files has changed."""

    def __init__(self, config: ClientConfig) -> None:
        self._config = config
        stores = (config.ssl_keystore_location, config.ssl_truststore_location)
        self._files = [file for file in stores if file is not None]
        # One value, so that two threads cannot join the context of one to the stamps of the other.
        self._made: tuple[list[_Stamp | None], ssl.SSLContext] | None = None

    async def current(self) -> ssl.SSLContext:
        """The context for a new connection. Files that changed for the worse are not used.

        A thread makes it: the system's trust store alone takes 20 ms, a key's password may more.

        Raises:
            ConfigError: As `context`.
        """
        return await asyncio.get_running_loop().run_in_executor(None, self._current)

    def _current(self) -> ssl.SSLContext:
        stamps = [_stamp(file) for file in self._files]  # before the files are read
        if self._made is None:
            self._made = (stamps, context(self._config))
        last_stamps, made = self._made
        if stamps != last_stamps:
            try:
                made = context(self._config)
            except ConfigError as error:  # perhaps they are half written
                logger.warning("the TLS files have changed, the old ones stay in use: %s", error)
            self._made = (stamps, made)
        return made


class _Stamp(NamedTuple):
    """By which a change of a file is seen."""

    inode: int
    size: int
    modified: int
    changed: int


def _stamp(file: str) -> _Stamp | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return _Stamp(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def context(config: ClientConfig) -> ssl.SSLContext:
    """A context that says what the options say. It reads files, so not in the loop.

    Raises:
        ConfigError: A file cannot be read, has not in it what it should, or its password is wrong;
            or a cipher suite is unknown. Says which option, and nothing of a key.
    """
    if config.ssl_context is not None:
        return cast(ssl.SSLContext, config.ssl_context)
    made = _verifying()
    made.check_hostname = bool(config.ssl_endpoint_identification_algorithm)
    allowed = sorted(_VERSIONS[name] for name in config.ssl_enabled_protocols)
    made.minimum_version, made.maximum_version = allowed[0], allowed[-1]
    _limit_ciphers(made, list(config.ssl_cipher_suites))
    _trust(made, config)
    _present(made, config)
    return made


def system_context() -> ssl.SSLContext:
    """A context that trusts whom the system trusts. It reads files, so not in the loop."""
    made = _verifying()
    made.load_default_certs()
    return made


def _verifying() -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    # Whatever is in the trust store is trusted, as in Java, and need not be a root.
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return made


def _limit_ciphers(made: ssl.SSLContext, names: list[str]) -> None:
    if not names:
        return
    try:
        # Never those without a certificate or without encryption, which a name could ask for.
        made.set_ciphers(":".join([*names, "!aNULL", "!eNULL"]))
    except ssl.SSLError:
        offered = set()
    else:
        offered = {cipher["name"] for cipher in made.get_ciphers()}
    unknown = [name for name in names if name not in offered]
    if unknown:
        raise ConfigError(
            f"ssl_cipher_suites: {ssl.OPENSSL_VERSION} offers no TLS 1.2 suite"
            f" {', '.join(map(repr, unknown))}; `openssl ciphers -tls1_2` lists them"
        )


# Whom we trust, and who we are.


class _Pem(NamedTuple):
    """Certificates and a key, and the options that they came from, for messages."""

    certificates: str
    key: str
    option: str
    key_option: str


def _trust(made: ssl.SSLContext, config: ClientConfig) -> None:
    text = config.ssl_truststore_certificates
    if text is not None:
        found = _pem("ssl_truststore_certificates", text.encode())
    elif config.ssl_truststore_location is not None:
        found = _stored("truststore", config)
    else:
        made.load_default_certs()
        return
    try:
        made.load_verify_locations(cadata=_some_certificates(found))
    except ssl.SSLError as error:
        raise ConfigError(f"{found.option}: a certificate is damaged ({_words(error)})") from error


def _present(made: ssl.SSLContext, config: ClientConfig) -> None:
    chain, key = config.ssl_keystore_certificate_chain, config.ssl_keystore_key
    if chain is not None and key is not None:
        found = _pem("ssl_keystore_certificate_chain", chain.encode())
        found_key = _pem("ssl_keystore_key", key.encode())
        found = found._replace(key=found_key.key, key_option=found_key.option)
    elif config.ssl_keystore_location is not None:
        found = _stored("keystore", config)
    else:
        return
    certificates = _some_certificates(found)
    if not found.key:
        raise ConfigError(f"{found.key_option}: there is no private key in it")

    def password() -> bytes:
        # OpenSSL would ask at the terminal.
        if config.ssl_key_password is None:
            raise ConfigError(
                f"{found.key_option}: the private key is encrypted: give ssl_key_password"
            )
        return config.ssl_key_password.encode()

    try:
        with as_file(f"{found.key}\n{certificates}".encode()) as path:
            made.load_cert_chain(path, password=password)
    except (ssl.SSLError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        _refuse_pair(found, error)


def _refuse_pair(found: _Pem, error: ssl.SSLError | ValueError) -> NoReturn:
    """OpenSSL does not take certificate and key: say why. A password too long is a ValueError."""
    if getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
        options = " and ".join(dict.fromkeys([found.option, found.key_option]))
        problem = (
            f"{options}: the private key does not belong to the first certificate: it is that of"
            " another, or the certificates are not in order, ours first"
        )
    elif "ENCRYPTED" in found.key:
        problem = (
            f"{found.key_option}: the private key cannot be decrypted: ssl_key_password is wrong,"
            " or the key is damaged"
        )
    else:
        problem = f"{found.option}: the certificate or its key cannot be used ({_words(error)})"
    raise ConfigError(problem) from error


def _some_certificates(found: _Pem) -> str:
    if not found.certificates:
        raise ConfigError(f"{found.option}: there is no certificate in it")
    return found.certificates


def _stored(store: str, config: ClientConfig) -> _Pem:
    """What is in the file of the "keystore" or the "truststore"."""
    location = cast(str, getattr(config, f"ssl_{store}_location"))
    option = f"ssl_{store}_location={location!r}"
    try:
        data = Path(location).read_bytes()
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"{option}: {problem}") from error
    if getattr(config, f"ssl_{store}_type") == "PEM":
        return _pem(option, data)
    return _pkcs12(store, option, data, getattr(config, f"ssl_{store}_password"))


def _pem(option: str, data: bytes) -> _Pem:
    """The certificates and the key in a PEM text, each as OpenSSL wants it."""
    certificates, keys = [], []
    # What is between the blocks may be anything, in any encoding.
    for label, body in _BLOCK.findall(data.decode("latin-1")):
        if ":" not in body:  # no headers, as old encrypted keys have them
            body = "\n".join(re.findall(".{1,64}", "".join(body.split())))
        block = f"-----BEGIN {label}-----\n{body.strip()}\n-----END {label}-----"
        if label.endswith("CERTIFICATE"):
            certificates.append(block)
        elif label.endswith("PRIVATE KEY"):
            keys.append(block)
    if not certificates and not keys:
        raise ConfigError(f"{option}: it is not PEM, or there is nothing in it")
    return _Pem("\n".join(certificates), "\n".join(keys[:1]), option, option)


def _pkcs12(store: str, option: str, data: bytes, password: str | None) -> _Pem:
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.serialization import pkcs12
    except ImportError as error:
        raise ConfigError(
            f"{option}: a PKCS12 store needs the cryptography package: pip install"
            " 'kafka-aio[pkcs12]'; or convert it to PEM with openssl pkcs12"
        ) from error
    try:
        found = pkcs12.load_pkcs12(data, None if password is None else password.encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ConfigError(
            f"{option}: it cannot be read: ssl_{store}_password is wrong or missing, or it is not a"
            " PKCS12 store"
        ) from error
    certificates = [found.cert] if found.cert else []
    certificates += found.additional_certs
    pem = serialization.Encoding.PEM
    key = b""
    if found.key is not None:
        key = found.key.private_bytes(
            pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    texts = [each.certificate.public_bytes(pem).decode() for each in certificates]
    return _Pem("".join(texts), key.decode(), option, option)


@contextmanager
def as_file(data: bytes) -> Iterator[str]:
    """A path by which OpenSSL, and nobody else, can read the bytes for a moment."""
    if hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd"):
        with open(os.memfd_create("kafka_aio"), "wb") as memory:
            memory.write(data)
            memory.flush()
            yield f"/proc/self/fd/{memory.fileno()}"
    else:
        with TemporaryDirectory(prefix="kafka_aio") as folder:  # of mode 0700
            file = Path(folder, "key.pem")
            file.write_bytes(data)
            yield str(file)


# What failures mean.

_STORE = "ssl_truststore_location or ssl_truststore_certificates"
_OURS = "ssl_keystore_location, or ssl_keystore_certificate_chain and ssl_keystore_key"
_UNTRUSTED = (
    f"no authority that we trust has signed its certificate: put the right one into {_STORE}"
)
_OTHER_NAME = (
    "its certificate is for another host: connect by a name that is in it, or give the broker a"
    " certificate with this one (ssl_endpoint_identification_algorithm='' would turn the check off)"
)

# By OpenSSL's number of the reason.
_VERIFICATION = {
    2: _UNTRUSTED,
    9: "its certificate is not valid yet: compare the clocks of both sides",
    10: "its certificate, or one above it, has expired: renew it, or set the clock right",
    18: f"its certificate is signed by itself: if it is the broker's, put it into {_STORE}",
    19: _UNTRUSTED,
    20: _UNTRUSTED,
    21: _UNTRUSTED,
    23: "its certificate has been revoked",
    26: "its certificate is not for servers (extended key usage)",
    62: _OTHER_NAME,
    64: _OTHER_NAME,
}

# Alerts, by OpenSSL's name without its prefix: the broker has refused us.
_REFUSALS = {
    "CERTIFICATE_REQUIRED": f"it wants a certificate of ours: give {_OURS}",
    "BAD_CERTIFICATE": f"it wants a certificate of ours, or refuses the one it got: see {_OURS}",
    "HANDSHAKE_FAILURE": (
        f"it wants a certificate of ours ({_OURS}), or shares no cipher suite with us"
        " (ssl_cipher_suites, ssl_enabled_protocols)"
    ),
    "UNKNOWN_CA": f"it does not trust the authority of our certificate: see {_OURS}",
    "CERTIFICATE_UNKNOWN": f"it does not trust our certificate: see {_OURS}",
    "UNSUPPORTED_CERTIFICATE": f"it cannot use our certificate: see {_OURS}",
    "CERTIFICATE_REVOKED": f"it says that our certificate has been revoked: see {_OURS}",
    "CERTIFICATE_EXPIRED": f"it says that our certificate has expired: see {_OURS}",
    "ACCESS_DENIED": f"it denies access to our certificate: see {_OURS}",
}
_VERSION_MISMATCH = (
    "PROTOCOL_VERSION",
    "UNSUPPORTED_PROTOCOL",
    "NO_PROTOCOLS_AVAILABLE",
    "WRONG_SSL_VERSION",
)
_NOT_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")


def explain(error: Exception, peer: str) -> KafkaError:
    """What an error of a connection with TLS means, and what to change. It is not raised.

    Args:
        error: What the handshake raised, or the connection was lost by: with TLS 1.3, a broker
            refuses our certificate after the handshake.
        peer: The host and port.
    """
    meant = _meaning(error, peer)
    meant.__cause__ = error
    return meant


def _meaning(error: Exception, peer: str) -> KafkaError:
    if isinstance(error, ssl.SSLCertVerificationError):
        problem = _VERIFICATION.get(error.verify_code, error.verify_message)
        return AuthenticationError(f"{peer}: we refuse the broker: {problem}")
    is_other = isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError)
    if not is_other:
        return KafkaConnectionError(
            f"{peer}: the connection was closed in the TLS handshake: this may be a listener"
            " without TLS (security_protocol), or the broker refuses us and does not say why; its"
            f" log does ({_words(error)})"
        )
    reason = re.sub("^(SSLV3|TLSV1|TLSV13)_(ALERT_)?", "", getattr(error, "reason", None) or "")
    if reason in _REFUSALS:
        return AuthenticationError(f"{peer}: the broker refuses us: {_REFUSALS[reason]}")
    if reason in _VERSION_MISMATCH:
        return KafkaConnectionError(
            f"{peer}: the two sides share no version of TLS: see ssl_enabled_protocols"
        )
    if reason in _NOT_TLS:
        return KafkaConnectionError(
            f"{peer}: it does not speak TLS: check the port, and security_protocol"
        )
    return KafkaConnectionError(f"{peer}: TLS failed: {_words(error)}")


def _words(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    return reason.lower().replace("_", " ") if reason else str(error) or type(error).__name__
