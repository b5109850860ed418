from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.admin import OffsetReset
from kafka_aio.cli import parser
from kafka_aio.cli.groups import Chosen
from tests.unit.cli.shell import call

RESET = ("groups", "reset", "billing", "--topic", "orders")
NOWHERE = ("-b", "127.0.0.1:1")


@pytest.mark.parametrize(
    ("words", "to"),
    [
        (["--to-earliest"], OffsetReset.earliest()),
        (["--to-latest"], OffsetReset.latest()),
        (["--to-current"], OffsetReset.current()),
        (["--to-offset", "5"], OffsetReset.offset(5)),
        (["--shift-by", "-5"], OffsetReset.shift(-5)),
        (["--shift-by=7"], OffsetReset.shift(7)),
        (["--to-datetime", "1970-01-01T01:00+01:00"], OffsetReset.timestamp(0)),
        (["--to-datetime", "@1500"], OffsetReset.timestamp(1_500)),
        (["--by-duration", "PT1M30S"], OffsetReset.duration(90)),
        (["--by-duration", "15m"], OffsetReset.duration(900)),
    ],
)
def test_a_reset_goes_where_one_option_says(words: list[str], to: OffsetReset) -> None:
    given = parser.parse([*RESET, *words])

    assert given.to == to
    assert given.topics == [Chosen("orders")]
    assert given.execute is False


WRONG: list[tuple[list[str], str]] = [
    ([*RESET], "one of the arguments --to-earliest --to-latest --to-current --to-offset"),
    ([*RESET, "--to-earliest", "--to-latest"], "not allowed with argument --to-earliest"),
    ([*RESET, "--all-topics", "--to-latest"], "not allowed with argument --topic"),
    (["groups", "reset", "billing", "--to-latest"], "one of the arguments --topic --all-topics is"),
    ([*RESET, "--to-offset", "-1"], "give an offset, 0 or more"),
    ([*RESET, "--to-offset", "x"], "give an offset, 0 or more"),
    ([*RESET, "--shift-by", "x"], "give a number, as 100 or -100"),
    ([*RESET, "--to-datetime", "beginning"], "'beginning' is no time: give 2026-11-30T08:00"),
    ([*RESET, "--to-datetime", "whenever"], "'whenever' is no place"),
    ([*RESET, "--by-duration", "PT-5S"], "'PT-5S' is no duration: give 15m or PT15M"),
    ([*RESET, "--by-duration", "beginning"], "'beginning' is no duration: give 15m or PT15M"),
    ([*RESET, "--by-duration", "whenever"], "'whenever' is no duration: give 15m or PT15M"),
    (["groups", "delete-offsets", "g"], "the following arguments are required: --topic"),
    (["groups", "list", "--state", "asleep"], "invalid choice: 'asleep'"),
    (["groups"], "the following arguments are required: COMMAND"),
]


@pytest.mark.parametrize(("words", "text"), WRONG)
def test_a_mistake_is_said_in_a_line(
    capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    outcome = call(capsys, *words)

    assert (outcome.code, outcome.out) == (2, "")
    assert text in outcome.err
    assert outcome.err.count("\n") == 2


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["describe"], "name some groups, or give --all"),
        (["describe", "g", "--all"], "name some groups, or give --all"),
        (["remove-members", "g"], "give some --instance-id or --member-id, or --all"),
        (["remove-members", "g", "--all", "--member-id", "m"], "give some --instance-id or"),
        (["remove-members", "g", "--all"], "there is no terminal to ask at: give --yes"),
        (["delete", "g"], "there is no terminal to ask at: give --yes"),
        (["delete-offsets", "g", "--topic", "a"], "there is no terminal to ask at: give --yes"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_dialled(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    text: str,
) -> None:
    monkeypatch.setattr("kafka_aio.cli.terminal.is_there", lambda: False)

    outcome = call(capsys, "groups", *words, *NOWHERE)

    assert (outcome.code, outcome.out) == (2, "")
    assert text in outcome.err


@pytest.mark.parametrize(
    ("words", "questions"),
    [
        (["--all"], ["Make every member of g leave?"]),
        (["--all", "--yes"], []),
        (["--member-id", "m"], []),
    ],
)
def test_only_who_removes_every_member_is_asked(
    monkeypatch: pytest.MonkeyPatch, words: list[str], questions: list[str]
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("kafka_aio.cli.terminal.confirm", lambda text, **_: asked.append(text))
    given = parser.parse(["groups", "remove-members", "g", *words])

    given.before(given)

    assert asked == questions


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("orders", Chosen("orders")),
        ("orders:0", Chosen("orders", (0,))),
        ("orders:3,1", Chosen("orders", (3, 1))),
    ],
)
def test_a_topic_may_be_meant_in_part(text: str, chosen: Chosen) -> None:
    given = parser.parse(["groups", "delete-offsets", "g", "--topic", text])

    assert given.topics == [chosen]


@pytest.mark.parametrize("text", ["", ":0", "orders:", "orders:x", "orders:-1", "orders:0,", "o:²"])
def test_what_is_no_topic_is_refused(capsys: pytest.CaptureFixture[str], text: str) -> None:
    outcome = call(capsys, "groups", "delete-offsets", "g", "--topic", text)

    assert outcome.code == 2
    assert "is no topic: give orders, or orders:0,3" in outcome.err


def test_states_and_types_may_be_written_in_any_case() -> None:
    words = ["groups", "list", "--state", "Empty", "--state", "STABLE", "--type", "classic"]

    given: Any = parser.parse(words)

    assert (given.states, given.types) == (["empty", "stable"], ["classic"])


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "groups", "--help")

    assert outcome.code == 0
    examples = outcome.out.partition("examples:\n")[2].splitlines()
    assert len(examples) > 4
    for line in examples:
        words = line.partition("|")[0].split()
        assert words[0] == "kafka-aio"
        parser.parse(words[1:])
