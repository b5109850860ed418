from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.shell import COMMAND, ROOT, Outcome, call, spawn

PASSWORD = "canary-of-a-password"


@contextmanager
def broker(*argv: object) -> Iterator[tuple[dict[str, Any], subprocess.Popen[str]]]:
    """What it prints when it is ready, and its process."""
    words = [*COMMAND, "broker", "--json", "--port", "0", *map(str, argv)]
    with subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield _document(process), process
        finally:
            process.kill()


def _document(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    lines: list[str] = []
    while not lines or lines[-1] != "}\n":
        line = process.stdout.readline()
        assert line, f"it ended: {process.stderr and process.stderr.read()}"
        lines.append(line)
    found: dict[str, Any] = json.loads("".join(lines))
    return found


def ping(ready: dict[str, Any], *argv: object) -> Outcome:
    return spawn("ping", "-b", ready["bootstrap_servers"], "--json", *argv)


def test_it_can_be_pinged_and_has_its_topics() -> None:
    with broker("--nodes", 3, "--topics", "orders:3,payments", "--topic", "refunds:2") as started:
        ready, _ = started
        pinged = ping(ready)
        listed = spawn("topics", "list", "--json", "-b", ready["bootstrap_servers"])

    assert ready["topics"] == {"orders": 3, "payments": 1, "refunds": 2}
    assert pinged.code == 0
    assert [each["id"] for each in pinged.document["brokers"]] == [1, 2, 3]
    assert [each["name"] for each in listed.document["topics"]] == ["orders", "payments", "refunds"]


def test_with_tls_and_a_user(tmp_path: Path) -> None:
    (tmp_path / "password").write_text(f"{PASSWORD}\n")
    (tmp_path / "wrong").write_text("another")
    ca = tmp_path / "ca.pem"
    login = ("--sasl-user", "alice", "--password-file", tmp_path / "password")
    way_in = ["--security-protocol", "SASL_SSL", "--username", "alice", "--ca", str(ca)]
    way_in += ["--sasl-mechanism", "SCRAM-SHA-512", "--password-file"]
    with broker("--tls", "--ca-out", ca, *login) as (ready, _):
        let_in = ping(ready, *way_in, tmp_path / "password")
        refused = ping(ready, *way_in, tmp_path / "wrong")

    assert ready["ca_pem"] == ca.read_text()
    assert ready["security_protocol"] == "SASL_SSL"
    assert (let_in.code, refused.code) == (0, 4)
    assert PASSWORD not in json.dumps(ready)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_its_normal_end(number: signal.Signals) -> None:
    with broker() as (_, process):
        process.send_signal(number)
        _, said = process.communicate(timeout=20)

    assert process.returncode == 0
    assert said == "kafka-aio: info: the broker has ended\n"


def test_people_are_told_what_it_is_for_and_how_to_reach_it() -> None:
    words = [*COMMAND, "broker", "--port", "0"]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = "".join(iter(process.stdout.readline, "stop it            Ctrl-C\n"))
        process.terminate()

    assert "for tests and development" in said
    assert "try it             kafka-aio ping -b 127.0.0.1:" in said


def test_a_port_that_is_taken_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with broker() as (ready, _):
        port = ready["bootstrap_servers"].rpartition(":")[2]
        outcome = call(capsys, "broker", "--port", port)

    assert outcome.code == 2
    assert port in outcome.err
    assert outcome.out == ""


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--host", "0.0.0.0"], "loopback"),
        (["-X", "num.partitons=3"], "num.partitions"),
        (["--topics", "orders:0"], "whole number"),
        (["--topics", "or ders"], "or ders"),
        (["--topics", "a:3", "--topic", "a:2"], "--topic a is given twice: leave one out"),
        (["--topics", "a,b,a"], "--topic a is given twice"),
        (["--port", "70000"], "give a port"),
        (["--sasl-mechanism", "PLAIN"], "--sasl-user"),
        (["--password-file", "x"], "--sasl-user"),
        (["--ca-out", "x"], "--tls"),
        (["--client-auth", "required"], "--tls"),
        (["--cert", "x"], "--ca"),
        (["--ca", "x"], "--cert"),
        (["--users", "/nowhere"], "cannot read"),
    ],
)
def test_what_is_wrong_is_told(
    capsys: pytest.CaptureFixture[str], words: list[str], complaint: str
) -> None:
    outcome = call(capsys, "broker", "--port", 0, *words)

    assert outcome.code not in (0, 70)
    assert complaint in outcome.err
    assert outcome.out == ""
