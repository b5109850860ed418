"""`kafka-aio` against real Kafka: every kind of listener, every kind of refusal, every command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.kafka.certificates import Certificates
from tests.kafka.cluster import Cluster
from tests.kafka.security import SCRAM, USERS
from tests.kafka.tokens import Issuer, claims, unsecured
from tests.unit.cli.shell import Outcome, at_terminal, call, spawn

TIMEOUT = 2.0
SLACK = 4.0  # a busy machine; without --timeout it would be 10 s
PASSWORD = USERS["alice"]
WRONG_PASSWORD = "canary-of-a-wrong-password"
MECHANISMS = ("PLAIN", *SCRAM)

Options = tuple[object, ...]
Shell = Callable[..., Outcome]


class Files:
    """What a user has on disk."""

    def __init__(self, folder: Path, certificates: Certificates, issuer: Issuer) -> None:
        self._folder = folder
        self.issuer = issuer
        self.certificates = certificates
        self.password = self.write("password", f"{PASSWORD}\n")
        self.wrong_password = self.write("wrong-password", f"{WRONG_PASSWORD}\n")
        self.token = self.write("token", f"{issuer.token()}\n")
        self.expired_token = self.write("expired-token", issuer.token(lifetime=-60))
        self.unsecured_token = self.write("unsecured-token", unsecured(claims()))
        self.secrets = [PASSWORD, WRONG_PASSWORD, issuer.client_secret]
        for token in (self.token, self.expired_token, self.unsecured_token):
            # The first part of all is the same, and the last one of an unsecured one is empty.
            self.secrets.append(token.read_text().split(".")[1])
        for line in certificates.client_key.read_text().splitlines()[1:-1]:
            self.secrets.append(line)

    def write(self, name: str, text: str) -> Path:
        file = self._folder / name
        file.write_text(text)
        return file

    def oidc(self, secret: str) -> Path:
        return self.write(
            "client.properties",
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n"
            f"sasl.oauthbearer.token.endpoint.url={self.issuer.token_url}\n"
            f"sasl.oauthbearer.client.credentials.client.id={self.issuer.client_id}\n"
            f"sasl.oauthbearer.client.credentials.client.secret={secret}\n"
            "sasl.oauthbearer.scope=kafka\n",
        )


@pytest.fixture
def files(tmp_path: Path, certificates: Certificates, issuer: Issuer) -> Files:
    return Files(tmp_path, certificates, issuer)


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], files: Files) -> Shell:
    """Runs a command in this process, and sees to it that no secret is printed."""

    def run(*argv: object) -> Outcome:
        outcome = call(capsys, *argv)
        printed = outcome.out + outcome.err
        assert [secret for secret in files.secrets if secret in printed] == []
        assert ("Traceback" in printed) == ("--debug" in argv)
        return outcome

    return run


def tls(files: Files, identity: str = "") -> Options:
    given: Options = ("--security-protocol", "SSL", "--ca", files.certificates.ca)
    return (*given, "--cert", getattr(files.certificates, identity)) if identity else given


def tls_of_two_files(files: Files) -> Options:
    return (*tls(files, "client_certificate"), "--key", files.certificates.client_key)


def tls_of_a_store(files: Files) -> Options:
    password = files.write("p12.properties", f"ssl.truststore.password={Certificates.password}\n")
    store = files.certificates.trust_store
    return ("--security-protocol", "ssl", "--ca", store, "--config", password)


def sasl(files: Files, protocol: str, mechanism: str, password: str = "password") -> Options:
    given: Options = ("--security-protocol", protocol, "--sasl-mechanism", mechanism)
    if protocol == "SASL_SSL":
        given += ("--ca", files.certificates.ca)
    return (*given, "--username", "alice", "--password-file", getattr(files, password))


def token(files: Files, protocol: str, file: str) -> Options:
    given: Options = ("--security-protocol", protocol, "--token-file", getattr(files, file))
    return (*given, "--ca", files.certificates.ca) if protocol == "SASL_SSL" else given


def endpoint(files: Files, secret: str = Issuer.client_secret) -> Options:
    return ("--config", files.oidc(secret))


LISTENERS: dict[str, tuple[str, Callable[[Files], Options]]] = {
    "plaintext": ("PLAIN", lambda _: ()),
    "tls": ("TLS", tls),
    "tls, p12": ("TLS", tls_of_a_store),
    "mutual tls, one file": ("MTLS", partial(tls, identity="client")),
    "mutual tls, two files": ("MTLS", tls_of_two_files),
    **{
        f"{protocol} {mechanism}": (listener, partial(sasl, protocol=protocol, mechanism=mechanism))
        for listener, protocol in (("SASLP", "SASL_PLAINTEXT"), ("SASLS", "SASL_SSL"))
        for mechanism in MECHANISMS
    },
    **{
        f"{protocol} OAUTHBEARER": (
            listener,
            partial(token, protocol=protocol, file="unsecured_token"),
        )
        for listener, protocol in (("SASLP", "SASL_PLAINTEXT"), ("SASLS", "SASL_SSL"))
    },
    "signed token": ("OAUTH", partial(token, protocol="SASL_PLAINTEXT", file="token")),
    "token endpoint": ("OAUTH", endpoint),
}


@pytest.mark.parametrize("kind", LISTENERS)
def test_ping_reaches_every_kind_of_listener(
    secured_kafka: Cluster, shell: Shell, files: Files, kind: str
) -> None:
    listener, options = LISTENERS[kind]
    address = secured_kafka.addresses(listener)
    outcome = shell("ping", "-b", address, *options(files), "--json", "-vv")

    assert outcome.code == 0
    assert f"kafka_aio.net.dial: connected to {address}" in outcome.err  # it was verbose
    (broker,) = outcome.document["brokers"]
    assert (broker["id"], f"{broker['host']}:{broker['port']}") == (1, address)
    assert broker["error"] is None


# Refusals: the listener, the options, the exit code, and what is said.
REFUSALS: dict[str, tuple[str, Callable[[Files], Options], int, str]] = {
    **{
        f"wrong password, {mechanism}": (
            "SASLS",
            partial(sasl, protocol="SASL_SSL", mechanism=mechanism, password="wrong_password"),
            4,
            "The broker refused us",
        )
        for mechanism in MECHANISMS
    },
    "wrong authority": (
        "TLS",
        lambda files: ("--security-protocol", "SSL", "--ca", files.certificates.other_ca),
        4,
        "no authority that we trust has signed its certificate: put the right one into --ca",
    ),
    "the system's authorities": (
        "TLS",
        lambda _: ("--security-protocol", "SSL"),
        4,
        "no authority that we trust has signed its certificate: put the right one into --ca",
    ),
    "expired certificate": (
        "EXPIRED",
        tls,
        4,
        "we refuse the broker: its certificate, or one above it, has expired",
    ),
    "no certificate of ours": ("MTLS", tls, 4, "it wants a certificate of ours"),
    "a stranger's certificate": (
        "MTLS",
        partial(tls, identity="stranger"),
        4,
        "it does not trust our certificate: see --cert",
    ),
    "expired token": (
        "OAUTH",
        partial(token, protocol="SASL_PLAINTEXT", file="expired_token"),
        4,
        "expired-token has expired\n",
    ),
    "a token that nobody has signed": (
        "OAUTH",
        partial(token, protocol="SASL_PLAINTEXT", file="unsecured_token"),
        4,
        "The broker refused us",
    ),
    "wrong client secret": (
        "OAUTH",
        partial(endpoint, secret=WRONG_PASSWORD),
        4,
        "invalid_client",
    ),
    "missing token file": (
        "OAUTH",
        lambda _: ("--security-protocol", "SASL_PLAINTEXT", "--token-file", "/nowhere"),
        2,
        "cannot read /nowhere: No such file or directory",
    ),
    "plaintext to tls": (
        "TLS",
        lambda _: (),
        5,
        "the peer speaks TLS; set --security-protocol to 'SSL' or 'SASL_SSL'",
    ),
    "tls to plaintext": (
        "PLAIN",
        tls,
        3,
        "closed in the TLS handshake: this may be a listener without TLS (--security-protocol)",
    ),
    "plaintext to sasl": (
        "SASLP",
        lambda _: (),
        3,
        "does this listener want SASL? --security-protocol is 'PLAINTEXT'",
    ),
    "tls to sasl over tls": (
        "SASLS",
        tls,
        3,
        "does this listener want SASL? --security-protocol is 'SSL'",
    ),
    "sasl to plaintext": (
        "PLAIN",
        partial(sasl, protocol="SASL_PLAINTEXT", mechanism="SCRAM-SHA-256"),
        4,
        "this listener does not want SASL",
    ),
    "a mechanism that is not offered": (
        "OAUTH",
        partial(sasl, protocol="SASL_PLAINTEXT", mechanism="SCRAM-SHA-256"),
        4,
        "set --sasl-mechanism to one that it does",
    ),
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_each_refusal_has_an_error_of_its_own_and_comes_in_time(
    secured_kafka: Cluster, shell: Shell, files: Files, kind: str
) -> None:
    listener, options, code, words = REFUSALS[kind]
    address = secured_kafka.addresses(listener)
    outcome = shell("ping", "-b", address, *options(files), "--timeout", TIMEOUT)

    assert (outcome.code, outcome.out) == (code, "")
    assert words in outcome.err
    assert "kafka-aio: error: " in outcome.err
    assert outcome.seconds < TIMEOUT + SLACK


def test_a_name_that_the_certificate_does_not_have_is_refused(
    secured_kafka: Cluster, shell: Shell, files: Files
) -> None:
    port = secured_kafka.nodes[0].ports["TLS"]
    outcome = shell("ping", "-b", f"127.1:{port}", *tls(files))  # 127.0.0.1 by another name

    assert outcome.code == 4
    assert "its certificate is for another host: connect by a name that is in it" in outcome.err


@pytest.mark.parametrize("kind", ["wrong password, PLAIN", "expired token", "wrong client secret"])
def test_no_secret_is_printed_however_much_is_asked_for(
    secured_kafka: Cluster, shell: Shell, files: Files, kind: str
) -> None:
    listener, options, code, _ = REFUSALS[kind]
    address = secured_kafka.addresses(listener)
    outcome = shell("ping", "-b", address, *options(files), "-vv", "--debug")

    assert outcome.code == code  # and the shell has looked for them
    assert "kafka_aio.net.connection: sent ApiVersionsRequest" in outcome.err


def test_an_address_that_nobody_can_use_from_here_is_named_with_advice(
    secured_kafka: Cluster, shell: Shell
) -> None:
    node = secured_kafka.nodes[0]
    advertised = f"127.0.0.1:{node.proxy_port}"  # where there is no proxy now
    outcome = shell("ping", "-b", f"127.0.0.1:{node.ports['PROXY']}", "--timeout", TIMEOUT)

    assert outcome.code == 3
    assert f"     1  {advertised}  -     -" in outcome.out
    first, second = outcome.err.splitlines()
    assert first.startswith(f"kafka-aio: error: {advertised}: ")
    assert "connection refused" in first
    assert f"names {advertised}; if that is not an address to use from here, see adver" in second


def test_ping_shows_a_cluster_to_people(kafka_cluster: Cluster, shell: Shell) -> None:
    outcome = shell("ping", "-b", kafka_cluster.bootstrap, "--versions", "--count", 2)

    lines = outcome.out.splitlines()
    assert (outcome.code, outcome.err) == (0, "")
    assert lines[0].startswith("cluster     ")
    assert lines[1].startswith("controller  127.0.0.1:")
    assert lines[3].split("  ")[-3:] == ["avg ms", "max ms", "APIs"]
    for node, line in zip(kafka_cluster.nodes, lines[4:7], strict=True):
        number, address, rack, *times, apis = line.split()
        assert (number, address, rack) == (str(node.id), node.address(), f"rack-{node.id}")
        assert all(0 < float(each) < 1_000 for each in times)
        assert int(apis) > 50
    assert any(line.startswith("metadata.version ") for line in lines)
    assert "APIs of broker 1, 2, 3:" in lines
    (metadata,) = (line.split() for line in lines if line.split()[1:2] == ["Metadata"])
    assert metadata[0] == "3"
    assert metadata[2].endswith(f"-{metadata[3]}")  # we speak the newest


def test_ping_tells_scripts_all_it_knows(kafka_cluster: Cluster, shell: Shell) -> None:
    outcome = shell("ping", "-b", kafka_cluster.bootstrap, "--count", 2, "--json")

    document = outcome.document
    assert document["controller"] in (1, 2, 3)
    assert [broker["rack"] for broker in document["brokers"]] == ["rack-1", "rack-2", "rack-3"]
    for broker in document["brokers"]:
        assert len(broker["round_trips_ms"]) == 2
        by_name = {feature["name"]: feature for feature in broker["features"]}
        assert by_name["metadata.version"]["level"] is not None
        assert all(api["name"] and api["used"] is not None for api in broker["apis"])


def test_a_password_is_asked_for_at_a_terminal(secured_kafka: Cluster, files: Files) -> None:
    argv: Options = ("ping", "-b", secured_kafka.addresses("SASLS"), "--json", "-vv")
    argv += ("--security-protocol", "SASL_SSL", "--ca", str(files.certificates.ca))
    argv += ("--sasl-mechanism", "SCRAM-SHA-512", "--username", "alice")
    outcome = at_terminal(*argv, question="Password of alice: ", answer=f"{PASSWORD}\n")

    assert outcome.code == 0
    assert PASSWORD not in outcome.err
    assert '"cluster_id"' in outcome.err


def test_the_command_in_a_process_of_its_own(secured_kafka: Cluster, files: Files) -> None:
    argv: Options = ("-b", secured_kafka.addresses("SASLS"), "--security-protocol", "SASL_SSL")
    argv += ("--ca", str(files.certificates.ca), "--sasl-mechanism", "PLAIN", "--username", "alice")
    allowed = spawn("ping", *argv, environment={"KAFKA_AIO_PASSWORD": PASSWORD})
    refused = spawn("ping", *argv, environment={"KAFKA_AIO_PASSWORD": WRONG_PASSWORD})

    assert (allowed.code, allowed.err) == (0, "")
    assert allowed.out.startswith("cluster     ")
    assert (refused.code, refused.out) == (4, "")
    assert refused.err.count("\n") == 1


# Topics.


@pytest.fixture
def topic(kafka: Any, shell: Shell) -> Iterator[str]:
    name = f"cli-{uuid4().hex}"
    assert shell("topics", "create", name, "--partitions", 2, "-b", kafka.bootstrap).code == 0
    yield name
    shell("topics", "delete", name, "--yes", "--if-exists", "-b", kafka.bootstrap)


def test_a_topic_is_listed_and_described(kafka: Any, shell: Shell, topic: str) -> None:
    listed = shell("topics", "list", "-b", kafka.bootstrap)
    as_json = shell("topics", "list", "-b", kafka.bootstrap, "--json").document
    described = shell("topics", "describe", topic, "-b", kafka.bootstrap, "--json").document

    assert topic in listed.out.splitlines()
    (entry,) = described["topics"]
    assert {"name": topic, "topic_id": entry["topic_id"], "internal": False} in as_json["topics"]
    assert [each["partition"] for each in entry["partitions"]] == [0, 1]
    for partition in entry["partitions"]:
        assert partition["leader"] in partition["in_sync_replicas"]


def test_a_topic_that_exists_is_not_created(kafka: Any, shell: Shell, topic: str) -> None:
    again = shell("topics", "create", topic, "-b", kafka.bootstrap)
    tolerant = shell("topics", "create", topic, "--if-not-exists", "-b", kafka.bootstrap)

    assert (again.code, again.out) == (1, "")
    assert f"kafka-aio: error: topic '{topic}': A topic of this name exists already" in again.err
    assert (tolerant.code, tolerant.out, tolerant.err) == (0, f"{topic}: it was there\n", "")


def test_a_dry_run_creates_nothing(kafka: Any, shell: Shell) -> None:
    name = f"cli-{uuid4().hex}"
    tried = shell("topics", "create", name, "--dry-run", "-b", kafka.bootstrap)
    described = shell("topics", "describe", name, "-b", kafka.bootstrap)

    assert tried.code == 0
    assert tried.out.startswith(f"{name}: can be created, ")
    assert described.code == 1
    assert "The broker has no such topic or partition" in described.err


def test_partitions_are_added(kafka: Any, shell: Shell, topic: str) -> None:
    added = shell("topics", "add-partitions", topic, 3, "-b", kafka.bootstrap)
    again = shell("topics", "add-partitions", topic, 3, "-b", kafka.bootstrap)
    described = shell("topics", "describe", topic, "-b", kafka.bootstrap)

    assert (added.code, added.out) == (0, f"{topic}: has 3 partitions\n")
    assert again.code == 1
    assert "INVALID_PARTITIONS" in again.err
    assert described.out.startswith(f"{topic}: 3 partitions, id ")


def test_options_are_changed_and_shown(kafka: Any, shell: Shell, topic: str) -> None:
    def configs(*more: object) -> Outcome:
        return shell("topics", "configs", topic, *more, "-b", kafka.bootstrap)

    set_two = configs("--set", "retention.ms=60000", "--set", "cleanup.policy=compact")
    appended = configs("--append", "cleanup.policy=delete", "--delete", "retention.ms")
    shown = {each["name"]: each for each in configs("--json").document["configs"]}
    subtracted = configs("--subtract", "cleanup.policy=compact")
    everything = {each["name"]: each for each in configs("--json", "--all").document["configs"]}

    assert (set_two.code, set_two.out) == (0, f"{topic}: 2 changes made\n")
    assert appended.code == subtracted.code == 0
    assert shown["cleanup.policy"]["value"] == "compact,delete"
    assert shown["cleanup.policy"]["source"] == "TOPIC"
    assert "max.message.bytes" not in shown
    assert everything["max.message.bytes"]["default"] is True
    assert everything["cleanup.policy"]["value"] == "delete"


def test_an_option_that_does_not_exist_is_refused(kafka: Any, shell: Shell, topic: str) -> None:
    outcome = shell("topics", "configs", topic, "--set", "no.such=1", "-b", kafka.bootstrap)

    assert outcome.code == 1
    assert "Unknown topic config name: no.such" in outcome.err


def test_topics_are_deleted_one_by_one(kafka: Any, shell: Shell, topic: str) -> None:
    missing = f"cli-{uuid4().hex}"
    unsure = shell("topics", "delete", topic, "-b", kafka.bootstrap)
    deleted = shell("topics", "delete", topic, missing, "--yes", "-b", kafka.bootstrap)

    assert unsure.code == 2
    assert "there is no terminal to ask at: give --yes" in unsure.err
    assert (deleted.code, deleted.out) == (1, f"{topic}: deleted\n")
    assert f"kafka-aio: error: topic '{missing}': The broker has no such topic" in deleted.err
