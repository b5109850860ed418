"""Declarations only: every option name of Kafka 4.3's clients, and what becomes of it here. Pure.

An option that a configuration class has as a field needs no word here but its name. A test compares
the names with the jar.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


COMMON: Final = _names("""
    bootstrap.servers client.dns.lookup client.id config.providers connections.max.idle.ms
    enable.metrics.push metadata.max.age.ms metadata.recovery.rebootstrap.trigger.ms
    metadata.recovery.strategy metric.reporters metrics.num.samples metrics.recording.level
    metrics.sample.window.ms receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms
    request.timeout.ms retry.backoff.max.ms retry.backoff.ms sasl.client.callback.handler.class
    sasl.jaas.config sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin
    sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter
    sasl.kerberos.ticket.renew.window.factor sasl.login.callback.handler.class sasl.login.class
    sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds
    sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor
    sasl.login.refresh.window.jitter sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms
    sasl.mechanism sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
    sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
    sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
    sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file
    sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.assertion.private.key.passphrase
    sasl.oauthbearer.assertion.template.file sasl.oauthbearer.client.credentials.client.id
    sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.clock.skew.seconds
    sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer
    sasl.oauthbearer.header.urlencode sasl.oauthbearer.jwks.endpoint.refresh.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url
    sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class
    sasl.oauthbearer.scope sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name
    sasl.oauthbearer.token.endpoint.url security.protocol security.providers send.buffer.bytes
    socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms ssl.cipher.suites
    ssl.enabled.protocols ssl.endpoint.identification.algorithm ssl.engine.factory.class
    ssl.key.password ssl.keymanager.algorithm ssl.keystore.certificate.chain ssl.keystore.key
    ssl.keystore.location ssl.keystore.password ssl.keystore.type ssl.protocol ssl.provider
    ssl.secure.random.implementation ssl.trustmanager.algorithm ssl.truststore.certificates
    ssl.truststore.location ssl.truststore.password ssl.truststore.type
""")
"""Options of producer, consumer and admin alike."""

PRODUCER: Final = COMMON | _names("""
    acks batch.size buffer.memory compression.gzip.level compression.lz4.level compression.type
    compression.zstd.level delivery.timeout.ms enable.idempotence interceptor.classes
    key.serializer linger.ms max.block.ms max.in.flight.requests.per.connection max.request.size
    metadata.max.idle.ms partitioner.adaptive.partitioning.enable
    partitioner.availability.timeout.ms partitioner.class partitioner.ignore.keys retries
    transaction.timeout.ms transaction.two.phase.commit.enable transactional.id value.serializer
""")

CONSUMER: Final = COMMON | _names("""
    allow.auto.create.topics auto.commit.interval.ms auto.offset.reset check.crcs client.rack
    default.api.timeout.ms enable.auto.commit exclude.internal.topics fetch.max.bytes
    fetch.max.wait.ms fetch.min.bytes group.id group.instance.id group.protocol
    group.remote.assignor heartbeat.interval.ms interceptor.classes
    internal.throw.on.fetch.stable.offset.unsupported isolation.level key.deserializer
    max.partition.fetch.bytes max.poll.interval.ms max.poll.records partition.assignment.strategy
    session.timeout.ms share.acknowledgement.mode share.acquire.mode value.deserializer
""")

ADMIN: Final = COMMON | {"bootstrap.controllers", "default.api.timeout.ms", "retries"}

CLIENTS: Final = {"producer": PRODUCER, "consumer": CONSUMER, "admin": ADMIN}

_METRICS = "the JVM's metrics; here statistics() and health() tell"
_KERBEROS = "the JVM renews tickets by itself; here the system's Kerberos does"
_BROKER = "the broker verifies a token; a client only carries it"
_JVM_TLS = "a part of the JVM; here TLS is OpenSSL's"

IGNORED: Final = {
    "enable.metrics.push": "metrics are not pushed to the broker by this version",
    "interceptor.classes": "these are Java classes; give objects to `interceptors`",
    "internal.throw.on.fetch.stable.offset.unsupported": "for Kafka Streams only",
    "metric.reporters": _METRICS,
    "metrics.num.samples": _METRICS,
    "metrics.recording.level": _METRICS,
    "metrics.sample.window.ms": _METRICS,
    "sasl.kerberos.kinit.cmd": _KERBEROS,
    "sasl.kerberos.min.time.before.relogin": _KERBEROS,
    "sasl.kerberos.ticket.renew.jitter": _KERBEROS,
    "sasl.kerberos.ticket.renew.window.factor": _KERBEROS,
    "sasl.oauthbearer.clock.skew.seconds": _BROKER,
    "sasl.oauthbearer.expected.audience": _BROKER,
    "sasl.oauthbearer.expected.issuer": _BROKER,
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": _BROKER,
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": _BROKER,
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": _BROKER,
    "sasl.oauthbearer.jwks.endpoint.url": _BROKER,
    "sasl.oauthbearer.scope.claim.name": _BROKER,
    "sasl.oauthbearer.sub.claim.name": _BROKER,
    "security.providers": _JVM_TLS,
    "ssl.keymanager.algorithm": _JVM_TLS,
    "ssl.protocol": "the JVM's choice of a context; ssl.enabled.protocols says which are allowed",
    "ssl.provider": _JVM_TLS,
    "ssl.secure.random.implementation": _JVM_TLS,
    "ssl.trustmanager.algorithm": _JVM_TLS,
}
"""Options without effect here, each with the reason: given, they warn."""

_NO_CLASSES = "no class is loaded from a configuration; "
_ASSERTION = "tokens by assertion are not built in; give sasl_oauthbearer_token_provider a function"
_SHARE = "it is for share groups; a consumer of Kafka's own refuses it too"

REFUSED: Final = {
    "bootstrap.controllers": "admin requests go through brokers: give bootstrap.servers",
    "config.providers": "nothing is read from files or the environment for a value; put it in",
    "sasl.client.callback.handler.class": f"{_NO_CLASSES}give sasl_username and sasl_password",
    "sasl.login.class": f"{_NO_CLASSES}see sasl_username and sasl_oauthbearer_token_provider",
    "sasl.oauthbearer.assertion.algorithm": _ASSERTION,
    "sasl.oauthbearer.assertion.claim.aud": _ASSERTION,
    "sasl.oauthbearer.assertion.claim.exp.seconds": _ASSERTION,
    "sasl.oauthbearer.assertion.claim.iss": _ASSERTION,
    "sasl.oauthbearer.assertion.claim.jti.include": _ASSERTION,
    "sasl.oauthbearer.assertion.claim.nbf.seconds": _ASSERTION,
    "sasl.oauthbearer.assertion.claim.sub": _ASSERTION,
    "sasl.oauthbearer.assertion.file": _ASSERTION,
    "sasl.oauthbearer.assertion.private.key.file": _ASSERTION,
    "sasl.oauthbearer.assertion.private.key.passphrase": _ASSERTION,
    "sasl.oauthbearer.assertion.template.file": _ASSERTION,
    "share.acknowledgement.mode": _SHARE,
    "share.acquire.mode": _SHARE,
    "ssl.engine.factory.class": f"{_NO_CLASSES}give an ssl.SSLContext as ssl_context",
    "transaction.two.phase.commit.enable": "two-phase commit (KIP-939) is not built in",
}
"""Options that would change what happens, and cannot here: given, they are an error."""

DEFAULTS: Final[Mapping[str, tuple[object, ...]]] = {
    "sasl.oauthbearer.assertion.algorithm": ("RS256",),
    "sasl.oauthbearer.assertion.claim.exp.seconds": (300, "300"),
    "sasl.oauthbearer.assertion.claim.jti.include": (False, "false"),
    "sasl.oauthbearer.assertion.claim.nbf.seconds": (60, "60"),
    "transaction.two.phase.commit.enable": (False, "false"),
}
"""Kafka's defaults of such options, where there is one: with these nothing changes."""
