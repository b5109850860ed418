"""GSSAPI with tickets of a real KDC, to a real Kafka."""

from __future__ import annotations

import re
import secrets
import time
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kafka_aio.config import ClientConfig
from kafka_aio.errors import AuthenticationError, ConfigError, KafkaConnectionError
from kafka_aio.net import kerberos
from kafka_aio.protocol.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from kafka_aio.protocol.messages.tokens import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from kafka_aio.protocol.sasl import Derive, Done, Exchange, Gssapi, Scram
from tests.kafka import settings
from tests.kafka.node import Node
from tests.kafka.raw import RawConnection
from tests.kerberos import kdc
from tests.kerberos.kdc import REALM, Kdc
from tests.unit.protocol.sasl_broker import derive

if problem := kdc.missing():  # also with CI set: this is no part of `make test`
    pytest.skip(problem, allow_module_level=True)

HOST = "localhost"
LISTENER = "KERBEROS"
REFUSED = 58
LOGIN = "com.sun.security.auth.module.Krb5LoginModule"
SCRAM_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    """A KDC that this process uses, and no ticket."""
    running = Kdc(tmp_path_factory.mktemp("kdc"))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in running.environment.items():
            patch.setenv(name, value)
        patch.setenv("KRB5CCNAME", f"FILE:{running.folder / 'no-tickets'}")
        patch.delenv("KRB5_CLIENT_KTNAME", raising=False)
        try:
            running.start()
            yield running
        finally:
            running.stop()


@pytest.fixture(scope="module")
def alice(realm: Kdc) -> Path:
    return realm.keytab("alice")


@pytest.fixture(scope="module")
def node(realm: Kdc, kafka_libs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A Kafka that knows people by Kerberos, and by the delegation tokens that it gives them."""
    principal = f"kafka/{HOST}"
    keytab = realm.keytab(principal)
    realm.keytab(f"other/{HOST}")
    prefix = f"listener.name.{LISTENER.lower()}"
    extra = settings.ALONE | {
        "sasl.kerberos.service.name": "kafka",
        "delegation.token.secret.key": "not-a-secret",
        f"{prefix}.sasl.enabled.mechanisms": "GSSAPI,SCRAM-SHA-256",
        f"{prefix}.scram-sha-256.sasl.jaas.config": f"{SCRAM_LOGIN} required;",
        f"{prefix}.gssapi.sasl.jaas.config": (
            f'{LOGIN} required useKeyTab=true storeKey=true keyTab="{keytab}"'
            f' principal="{principal}@{REALM}";'
        ),
    }
    node = Node(
        tmp_path_factory.mktemp("kerberos-kafka"),
        listeners=settings.LISTENERS | {LISTENER: "SASL_PLAINTEXT"},
        extra=extra,
        java=[f"-Djava.security.krb5.conf={realm.config}"],
    )
    try:
        node.format(node.address("CONTROLLER"), "--standalone")
        node.start()
        node.wait_ready()
        yield node
    finally:
        node.kill()


@pytest.fixture
def connection(node: Node) -> Iterator[RawConnection]:
    with node.connect(LISTENER) as connection:
        yield connection


def configured(
    *, service: str = "kafka", principal: str | None = None, keytab: Path | None = None
) -> ClientConfig:
    return ClientConfig(
        bootstrap_servers=f"{HOST}:9092",
        security_protocol="SASL_PLAINTEXT",
        sasl_kerberos_service_name=service,
        sasl_kerberos_principal=principal,
        sasl_kerberos_keytab=str(keytab) if keytab else None,
    )


def authenticate(connection: RawConnection, exchange: Exchange) -> int:
    """The broker's last error code, which is 0 if all went well."""
    shaken = connection.send(SaslHandshakeRequest(mechanism=exchange.mechanism))
    assert shaken.error_code == 0
    step = exchange.start()
    while not isinstance(step, Done):
        if isinstance(step, Derive):
            step = exchange.derived(derive(step))
            continue
        answer = connection.send(SaslAuthenticateRequest(auth_bytes=step.data))
        if answer.error_code:
            return answer.error_code
        step = exchange.receive(answer.auth_bytes)
    return 0


def new_token(connection: RawConnection) -> CreateDelegationTokenResponse:
    """A delegation token, which also says who the broker takes us for."""
    token = connection.send(
        CreateDelegationTokenRequest(
            owner_principal_type=None,
            owner_principal_name=None,
            renewers=[],
            max_lifetime_ms=-1,
        )
    )
    assert token.error_code == 0
    return token


@pytest.mark.parametrize("principal", ["alice", f"alice@{REALM}", None])
def test_a_keytab_proves_who_we_are(
    connection: RawConnection, alice: Path, principal: str | None
) -> None:
    config = configured(principal=principal, keytab=alice)

    assert authenticate(connection, Gssapi(kerberos.context(config, HOST))) == 0
    assert new_token(connection).principal_name == "alice"


def test_a_ticket_of_the_users_cache_proves_who_we_are(
    connection: RawConnection, realm: Kdc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path / 'tickets'}")
    realm.run("kinit", "-k", "-t", str(realm.keytab("carol")), "carol")

    assert authenticate(connection, Gssapi(kerberos.context(configured(), HOST))) == 0
    assert new_token(connection).principal_name == "carol"


def test_a_delegation_token_got_by_kerberos_is_good_for_scram(
    connection: RawConnection, node: Node, alice: Path
) -> None:
    config = configured(principal="alice", keytab=alice)
    authenticate(connection, Gssapi(kerberos.context(config, HOST)))
    token = new_token(connection)
    credentials = (token.token_id, b64encode(token.hmac).decode())

    deadline = time.monotonic() + 10
    code = REFUSED
    while code == REFUSED and time.monotonic() < deadline:  # the broker learns of it a bit later
        nonce = secrets.token_hex(16)
        with node.connect(LISTENER) as another:
            exchange = Scram("SCRAM-SHA-256", *credentials, nonce, tokenauth=True)
            code = authenticate(another, exchange)

    assert code == 0


def test_connections_that_come_together_share_one_login(realm: Kdc, node: Node) -> None:
    config = configured(principal="dave", keytab=realm.keytab("dave"))
    with ThreadPoolExecutor(4) as pool:
        contexts = list(pool.map(lambda _: kerberos.context(config, HOST), range(8)))

    logins = re.findall(r"AS_REQ .*ISSUE.* dave@", realm.log())
    assert len(logins) == 1
    for context in contexts:
        with node.connect(LISTENER) as connection:
            assert authenticate(connection, Gssapi(context)) == 0


def test_a_ticket_for_another_service_is_refused_by_the_broker(
    connection: RawConnection, alice: Path
) -> None:
    config = configured(service="other", principal="alice", keytab=alice)

    assert authenticate(connection, Gssapi(kerberos.context(config, HOST))) == REFUSED


def test_a_broker_that_answers_nonsense_is_not_believed(node: Node, alice: Path) -> None:
    exchange = Gssapi(kerberos.context(configured(principal="alice", keytab=alice), HOST))
    exchange.start()

    with pytest.raises(AuthenticationError, match="GSSAPI, kafka@localhost: Invalid token"):
        exchange.receive(b"nonsense")


def test_a_broker_that_kerberos_does_not_know_is_named(alice: Path) -> None:
    config = configured(principal="alice", keytab=alice)

    with pytest.raises(
        AuthenticationError,
        match=r"GSSAPI, kafka@nowhere: Server kafka/nowhere@.* not found in Kerberos database:"
        r" see whether .* Kerberos knows the broker as nowhere",
    ):
        kerberos.context(config, "nowhere")


@pytest.mark.usefixtures("realm")
def test_without_a_ticket_there_is_advice() -> None:
    with pytest.raises(AuthenticationError, match=r"GSSAPI, kafka@localhost: .*kinit"):
        kerberos.context(configured(), HOST)


@pytest.mark.usefixtures("realm")
def test_a_keytab_that_is_not_there_is_named(tmp_path: Path) -> None:
    config = configured(principal="alice", keytab=tmp_path / "none.keytab")

    with pytest.raises(ConfigError, match=r"sasl_kerberos_keytab: '.*none\.keytab' does not exist"):
        kerberos.context(config, HOST)


def test_a_realm_without_a_server_is_a_failed_connection(
    realm: Kdc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keytab = realm.keytab("erin")
    (tmp_path / "krb5.conf").write_text(
        f"[libdefaults]\ndefault_realm = {REALM}\ndns_lookup_kdc = false\n"
        f"[realms]\n{REALM} = {{\n kdc = 127.0.0.1:1\n}}\n"
    )
    monkeypatch.setenv("KRB5_CONFIG", str(tmp_path / "krb5.conf"))

    with pytest.raises(KafkaConnectionError, match=r"GSSAPI, kafka@localhost: .*contact any KDC"):
        kerberos.context(configured(principal="erin", keytab=keytab), HOST)
