from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafka_aio.cli import configuration, parser, produce, producing
from kafka_aio.cli.produce_input import Form
from kafka_aio.config import ProducerConfig
from tests.unit.cli.shell import call

SERVER = ("-b", "127.0.0.1:9")


def form(*words: str) -> Form:
    return produce.form(parser.parse(["produce", "t", *words, *SERVER]))


def config(*words: str) -> ProducerConfig:
    given = parser.parse(["produce", "t", *words, *SERVER])
    made, notes = configuration.load(given.kind_of_config, given, environment={}, ask=None)
    assert notes == []
    assert isinstance(made, ProducerConfig)
    return made


def test_the_options_say_how_a_line_is_read() -> None:
    words = ("--null-value", "", "-H", "a=1", "-H", "a=b=c", "--partition", "0")

    assert form() == Form(topic="t")
    assert form("--json") == Form(topic="t", is_json=True)
    assert form("-K", r"\t", *words) == Form(
        topic="t",
        key_separator=b"\t",
        null_value=b"",
        headers=(("a", b"1"), ("a", b"b=c")),
        partition=0,
    )


def test_what_is_typed_stands_for_its_bytes() -> None:
    assert form("-K", os.fsdecode(b"\xff")).key_separator == b"\xff"


def test_the_options_of_delivery_are_those_of_a_producer_and_win_over_x() -> None:
    words = ("--acks", "1", "--compression", "zstd", "--linger", "0", "--batch-size", "99")
    made = config(*words, "-X", "acks=0", "-X", "buffer.memory=12345")

    assert (made.acks, made.compression_type, made.linger_ms) == (1, "zstd", 0)
    assert (made.batch_size, made.buffer_memory) == (99, 12_345)
    assert config() == ProducerConfig(bootstrap_servers="127.0.0.1:9", client_id="kafka-aio")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--json", "-K", ":"), "not allowed with"),
        (("--json", "--null-value", ""), "--null-value does not go with --json"),
        (("-K", ""), "give at least one character"),
        (("-H", "name"), "give NAME=VALUE"),
        (("-H", os.fsdecode(b"\xff=b")), "argument -H/--header: the name has to be UTF-8"),
        (("--partition", "-1"), "argument --partition: "),
        (("--partition", "2147483648"), "give a whole number, 0 or more"),
        (("--linger", "0.5"), "give a whole number, 0 or more"),
        (("--acks", "2"), "invalid choice: '2'"),
        (("--compression", "zip"), "invalid choice: 'zip'"),
        (("-X", "acks=2"), "-X: acks"),
        (("-f", "/nowhere/to/be/found"), "--file /nowhere/to/be/found: No such file"),
        (("-f", "/"), "--file /: a folder"),
    ],
)
def test_a_mistake_is_said_before_anything_is_dialled(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], text: str
) -> None:
    outcome = call(capsys, "produce", "t", *words, *SERVER)

    assert outcome.code == 2
    assert text in outcome.err


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_a_mistake(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "secret"
    file.touch(mode=0)
    outcome = call(capsys, "produce", "t", "-f", file, *SERVER)

    assert outcome.code == 2
    assert "it is not for us" in outcome.err


def test_help_has_examples_and_every_field_of_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "produce", "--help")

    assert outcome.code == 0
    assert "\nexamples:\n  echo hello | kafka-aio produce greetings" in outcome.out
    for field in ("value", "key", "headers", "partition", "timestamp", "topic"):
        assert f"\n  {field} " in outcome.out


def test_the_bar_shows_how_far_it_is() -> None:
    half = producing.bar(5_000_000, 10_000_000, seconds=2)

    assert half == f"[{'#' * 15}{' ' * 15}]  50%  5.0 MB  2.5 MB/s"
    assert producing.bar(3, 2, seconds=0).startswith(f"[{'#' * 30}] 100%")
