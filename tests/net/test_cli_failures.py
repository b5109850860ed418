"""`kafka-aio ping` against what is no broker: an error of its own for each, and in time."""

from __future__ import annotations

import logging
import re
import socket
from pathlib import Path

import pytest

from tests.kafka.certificates import Certificates
from tests.net import cli_peers
from tests.net.cli_peers import Attend, serving
from tests.unit.cli.shell import Outcome, call

TIMEOUT = 1.0
SLACK = 3.0  # a busy machine; a dial that has no bound would take 10 s


def ping(capsys: pytest.CaptureFixture[str], address: str, *more: object) -> Outcome:
    outcome = call(capsys, "ping", "-b", address, "--timeout", TIMEOUT, *more)
    assert outcome.seconds < TIMEOUT + SLACK
    assert outcome.out == ""
    return outcome


@pytest.mark.parametrize(
    ("attend", "code", "words"),
    [
        (cli_peers.speaks_http, 5, "the peer speaks HTTP, not Kafka's protocol"),
        (cli_peers.speaks_nonsense, 5, "(ApiVersions) is to be answered, but the answer to"),
        (cli_peers.says_nothing, 3, "the answer to ApiVersions was not there within 1.0 s (--tim"),
        (cli_peers.closes, 3, "before the answer to ApiVersions; is it a listener with TLS? --sec"),
    ],
)
def test_a_port_that_is_no_brokers_says_what_it_is(
    capsys: pytest.CaptureFixture[str], attend: Attend, code: int, words: str
) -> None:
    with serving(attend) as address:
        outcome = ping(capsys, address)

    assert outcome.code == code
    (line,) = outcome.err.splitlines()
    assert line.startswith("kafka-aio: error: ")
    assert address in line
    assert words in line


@pytest.mark.parametrize(
    ("attend", "words"),
    [
        (cli_peers.speaks_http, "it does not speak TLS: check the port, and --security-protocol"),
        (cli_peers.says_nothing, "the connection, or its TLS handshake, was not there within 1.0"),
        (cli_peers.closes, "closed in the TLS handshake: this may be a listener without TLS"),
    ],
)
def test_a_port_without_tls_says_so_to_a_client_with_tls(
    capsys: pytest.CaptureFixture[str], attend: Attend, words: str
) -> None:
    with serving(attend) as address:
        outcome = ping(capsys, address, "--security-protocol", "SSL")

    assert outcome.code == 3
    assert words in outcome.err


@pytest.mark.parametrize(
    ("server", "trusted", "words"),
    [
        ("elsewhere_server", "ca", "its certificate is for another host"),
        ("expired_server", "ca", "has expired"),
        ("server", "other_ca", "no authority that we trust has signed its certificate: put the"),
    ],
)
def test_a_certificate_that_proves_nothing_is_refused(
    capsys: pytest.CaptureFixture[str],
    certificates: Certificates,
    server: str,
    trusted: str,
    words: str,
) -> None:
    attend = cli_peers.speaks_tls(certificates.server_context(getattr(certificates, server)))
    with serving(attend) as address:
        ca = getattr(certificates, trusted)
        outcome = ping(capsys, address, "--security-protocol", "SSL", "--ca", ca)

    assert outcome.code == 4
    assert words in outcome.err


def test_a_closed_port_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    outcome = ping(capsys, f"127.0.0.1:{port}")

    assert outcome.code == 3
    assert "connection refused" in outcome.err


def test_a_name_that_is_no_host_is_not_resolved(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = ping(capsys, "no-such-host.invalid:9092")

    assert outcome.code == 3
    assert "no-such-host.invalid:9092: the name cannot be resolved" in outcome.err


def test_every_address_that_was_tried_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(cli_peers.speaks_http) as web, serving(cli_peers.says_nothing) as silent:
        outcome = ping(capsys, f"{web},{silent}")

    assert outcome.code == 3
    assert f"{web}: the peer speaks HTTP" in outcome.err
    assert silent in outcome.err


def test_a_file_that_is_missing_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    missing = tmp_path / "missing"
    with serving(cli_peers.says_nothing) as address:
        outcome = ping(capsys, address, "--security-protocol", "SSL", "--ca", missing)

    assert outcome.code == 2
    assert f"--ca='{missing}': No such file or directory" in outcome.err


def test_what_happens_is_said_if_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("kafka_aio")
    before = (logger.level, list(logger.handlers))
    with serving(cli_peers.speaks_http) as address:
        quiet = ping(capsys, address)
        some = ping(capsys, address, "-v")
        more = ping(capsys, address, "-vv")

    when = r"\d\d:\d\d:\d\d\.\d\d\d"
    assert "kafka_aio.net" not in quiet.err
    assert re.search(rf"kafka-aio: info: {when} kafka_aio.net.links: no connection", some.err)
    assert re.search(rf"kafka-aio: debug: {when} kafka_aio.net.connection: sent ApiV", more.err)
    assert "debug" not in some.err
    assert (logger.level, logger.handlers) == before


def test_debug_shows_where_an_error_comes_from(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(cli_peers.speaks_http) as address:
        plain = ping(capsys, address)
        debug = ping(capsys, address, "--debug")

    assert "Traceback" not in plain.err
    assert "Traceback" in debug.err
    assert debug.err.splitlines()[-1] == plain.err.splitlines()[-1]
