"""How a command ends, whatever happens: its exit code, and no traceback."""

from __future__ import annotations

import argparse
import io
import sys
from typing import NoReturn

import pytest

from kafka_aio.cli import parser, session, terminal


def run(capsys: pytest.CaptureFixture[str], error: BaseException, *more: str) -> tuple[int, str]:
    """A command in which something is raised, before anything is connected."""

    def fail(_: argparse.Namespace) -> NoReturn:
        raise error

    given = parser.parse(["ping", "-b", "localhost:9092", *more])
    given.before = fail
    code = session.run(given)
    return code, capsys.readouterr().err


def test_ctrl_c_is_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, KeyboardInterrupt()) == (130, "kafka-aio: error: interrupted\n")


def test_a_no_is_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, terminal.Declined()) == (1, "kafka-aio: error: nothing was done\n")


def test_a_bug_is_70_without_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, LookupError("canary"))

    assert code == 70
    assert said == "kafka-aio: error: LookupError: this is a bug; --debug shows where\n"


def test_debug_shows_where_a_bug_is(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, LookupError("canary"), "--debug")

    assert code == 70
    assert "Traceback" in said
    assert "raise error\nLookupError: canary\n" in said


def test_an_option_without_effect_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    _, said = run(capsys, KeyboardInterrupt(), "-X", "linger.ms=5")

    assert said.startswith(
        "kafka-aio: warning: linger.ms is an option of the producer, not of the admin: it is ign"
    )


def test_letters_that_the_output_does_not_have_are_escaped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))

    assert terminal.put("größe\n") == 0
    assert written.getvalue() == b"gr\\xf6\\xdfe\n"


def test_closed_streams_are_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    terminal.say("error", "nobody can read this")

    assert terminal.put("nor this") == 0
