from __future__ import annotations

import subprocess
import sys
from importlib import metadata

import pytest

from kafka_aio.cli.exits import MEANINGS
from kafka_aio.cli.parser import COMMANDS
from tests.unit.cli.shell import ROOT, call

SECRET = "hunter2"
LEAVES = [
    ("ping",),
    *(
        ("topics", name)
        for name in ("list", "describe", "create", "delete", "add-partitions", "configs")
    ),
]


def test_help_names_every_command_and_every_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "--help")

    assert (outcome.code, outcome.err) == (0, "")
    for command in COMMANDS:
        assert f"\n    {command} " in outcome.out
    for code, meaning in MEANINGS.items():
        assert f"{code:>5}  {meaning}\n" in outcome.out


@pytest.mark.parametrize("leaf", LEAVES, ids=" ".join)
def test_help_of_a_command_has_the_options_of_a_connection(
    capsys: pytest.CaptureFixture[str], leaf: tuple[str, ...]
) -> None:
    outcome = call(capsys, *leaf, "--help")

    assert (outcome.code, outcome.err) == (0, "")
    assert f"usage: kafka-aio {' '.join(leaf)}" in outcome.out
    for option in ("-b HOST:PORT", "--config FILE", "-X NAME=VALUE", "--ca FILE", "--timeout"):
        assert option in outcome.out
    assert "keys of --json:" in outcome.out
    assert "--password " not in outcome.out  # it is refused


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["pong"]])
def test_a_command_is_imported_only_if_it_is_the_one_that_was_given(argv: list[str]) -> None:
    script = (
        "import sys; from kafka_aio.cli import main; main(sys.argv[1:]);"
        "print(*(name for name in sys.modules if name.startswith('kafka_aio.cli.')))"
    )
    words = [sys.executable, "-c", script, *argv]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)

    names = done.stdout.splitlines()[-1].split()
    imported = {name.removeprefix("kafka_aio.cli.") for name in names}
    assert "parser" in imported
    assert imported.isdisjoint({*COMMANDS, "options", "session"})


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "--version")

    assert (outcome.code, outcome.out) == (0, f"kafka-aio {metadata.version('kafka-aio')}\n")


@pytest.mark.parametrize(
    ("argv", "words", "see"),
    [
        ("", "the following arguments are required: COMMAND", "kafka-aio --help"),
        ("pong", "invalid choice: 'pong'", "kafka-aio --help"),
        ("topics", "the following arguments are required: COMMAND", "kafka-aio topics --help"),
        ("topics describe", "are required: NAME", "kafka-aio topics describe --help"),
        ("ping -b", "argument -b/--bootstrap-server: expected one argument", "kafka-aio ping"),
        ("ping --vers", "there is no option '--vers'", "kafka-aio ping --help"),
        ("ping x:1", "one argument too many: 'x:1'; did you mean -b x:1?", "kafka-aio ping --help"),
        ("topics list orders", "one argument too many: 'orders'", "kafka-aio topics list --help"),
        ("ping --timeout 0", "argument --timeout: give a number of seconds", "kafka-aio ping"),
        ("ping --timeout nan", "argument --timeout: give a number of seconds", "kafka-aio ping"),
        ("ping --timeout soon", "argument --timeout: give a number of seconds", "kafka-aio ping"),
        ("ping --count 0", "argument -c/--count: give a whole number", "kafka-aio ping"),
        ("ping --count few", "argument -c/--count: give a whole number", "kafka-aio ping"),
        ("ping --security-protocol TLS", "invalid choice: 'TLS'", "kafka-aio ping"),
        ("topics add-partitions t many", "argument TOTAL: give a whole number", "kafka-aio topics"),
    ],
)
def test_wrong_usage_is_two_lines_on_stderr(
    capsys: pytest.CaptureFixture[str], argv: str, words: str, see: str
) -> None:
    outcome = call(capsys, *argv.split())

    assert (outcome.code, outcome.out) == (2, "")
    first, second = outcome.err.splitlines()
    assert first.startswith("kafka-aio: error: ")
    assert words in first
    assert second.startswith(f"kafka-aio: see '{see}")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("--password", SECRET), "--password is not taken"),
        ((f"--password={SECRET}",), "--password is not taken"),
        (("--passwrod", SECRET), "there is no option '--passwrod'"),
        ((f"--pass={SECRET}",), "there is no option '--pass'"),
        (("-X", SECRET), "argument -X: give NAME=VALUE"),
        (("-X", f"={SECRET}"), "argument -X: give NAME=VALUE"),
        (("-X", f"sasl.password={SECRET}"), "a secret on the command line is seen"),
        (("-X", f"sasl_password={SECRET}"), "a secret on the command line is seen"),
        (("-X", f"ssl.key.password={SECRET}"), "a secret on the command line is seen"),
        (("-X", f"sasl.jaas.config={SECRET}"), "a secret on the command line is seen"),
        (("-X", f"sasl_jaas_config={SECRET}"), "a secret on the command line is seen"),
    ],
)
def test_a_secret_on_the_command_line_is_refused_and_not_repeated(
    capsys: pytest.CaptureFixture[str], argv: tuple[str, ...], words: str
) -> None:
    outcome = call(capsys, "ping", "-b", "localhost:9092", *argv)

    assert outcome.code == 2
    assert words in outcome.err
    assert SECRET not in outcome.err + outcome.out
