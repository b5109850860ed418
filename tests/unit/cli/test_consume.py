from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest

from kafka_aio.cli import configuration, consume, consuming, parser
from kafka_aio.cli.consume import Wanted
from kafka_aio.cli.consume_output import Form
from kafka_aio.cli.places import BEGINNING, END, Kind, Place
from kafka_aio.config import ConsumerConfig
from tests.unit.cli.shell import call

SERVER = ("-b", "127.0.0.1:9")


def given(*words: str) -> argparse.Namespace:
    """The arguments, with the configuration that is made of them."""
    found = parser.parse(["consume", *words, *SERVER])
    found.client_config, notes = configuration.load(
        found.kind_of_config, found, environment={}, ask=None
    )
    assert notes == []
    consume.check(found)
    return found


def wanted(*words: str) -> Wanted:
    return consume.wanted(given(*words))


def config(*words: str) -> ConsumerConfig:
    made = given("t", *words).client_config
    assert isinstance(made, ConsumerConfig)
    return made


def form(*words: str) -> Form:
    return consume.form(given("t", *words), is_for_terminal=False)


def test_the_options_say_what_is_read() -> None:
    assert wanted("t") == Wanted(topics=("t",))
    assert wanted("t", "u", "--from", "-5", "--max-records", "9") == Wanted(
        topics=("t", "u"), begin=Place(Kind.LAST, 5), max_records=9
    )
    assert wanted("t", "--partition", "3,0-2,1", "--from", "5", "--to", "@9") == Wanted(
        topics=("t",),
        partitions=(3, 0, 1, 2),
        begin=Place(Kind.OFFSET, 5),
        end=Place(Kind.TIME, 9),
    )


def test_what_stops_at_the_end_begins_at_the_beginning() -> None:
    assert wanted("t", "--stop-at-end").begin == BEGINNING
    assert wanted("t", "--to", "5").begin == BEGINNING
    assert wanted("t", "--to", "5", "--from", "3").begin == Place(Kind.OFFSET, 3)
    assert wanted("t", "--max-records", "5").begin is None


def test_a_group_begins_where_it_is_and_the_options_are_for_what_it_does_not_know() -> None:
    assert wanted("t", "-g", "us", "--from", "beginning", "--stop-at-end") == Wanted(
        topics=("t",), group="us", end=END
    )
    assert config("-g", "us").auto_offset_reset == "latest"
    assert config("-g", "us", "--stop-at-end").auto_offset_reset == "earliest"
    assert config("-g", "us", "--stop-at-end", "--from", "end").auto_offset_reset == "latest"
    assert config("-g", "us", "--from", "beginning").auto_offset_reset == "earliest"
    assert config("-g", "us", "--from", "15m").auto_offset_reset == "by_duration:PT900S"
    assert config("-g", "us", "-X", "auto.offset.reset=none").auto_offset_reset == "none"
    assert config("-g", "us").enable_auto_commit
    assert not config("-g", "us", "-X", "enable.auto.commit=false").enable_auto_commit


def test_the_group_may_be_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "consumer.properties"
    file.write_text(
        "group.id=theirs\nisolation.level=read_committed\n"
        "value.deserializer=org.apache.kafka.common.serialization.StringDeserializer\n"
    )
    made = config("--config", str(file))

    assert wanted("t", "--config", str(file)).group == "theirs"
    assert made.isolation_level == "read_committed"
    assert made.value_deserializer is None  # lines are bytes
    assert config("--config", str(file), "--group", "ours").group_id == "ours"


def test_options_of_the_consumer_are_those_that_one_has_at_a_shell() -> None:
    made = config("--read-committed", "-X", "fetch.max.wait.ms=7")

    assert (made.isolation_level, made.fetch_max_wait_ms) == ("read_committed", 7)
    assert not config().allow_auto_create_topics  # somebody may have misspelt it
    assert config("-X", "allow.auto.create.topics=true").allow_auto_create_topics
    assert config("-X", "max.poll.records=3").max_poll_records == 3


def test_the_options_say_how_a_record_is_written() -> None:
    assert form() == Form()
    assert form("--json") == Form(is_json=True)
    assert form("-K", r"\t", "--null-value", "NULL", "--headers") == Form(
        key_separator=b"\t", null_value=b"NULL", has_headers=True
    )
    assert form("-K", os.fsdecode(b"\xff")).key_separator == b"\xff"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--json", "-K", ":"), "not allowed with"),
        (("--json", "--headers"), "--headers and --null-value do not go with --json"),
        (("--json", "--null-value", ""), "--headers and --null-value do not go with --json"),
        (("-K", ""), "give at least one character"),
        (("--from", "soon"), "argument --from: 'soon' is no place: give beginning, end, an offset"),
        (("--to", "5", "--stop-at-end"), "not allowed with"),
        (("--max-records", "0"), "give a whole number, 1 or more"),
        (("--partition", "a"), "give a whole number, 0 or more"),
        (("--partition", "5-3"), "give numbers and spans of them"),
        (("--partition", "0-999999999"), "give numbers and spans of them"),
        (("--partition", "1", "-g", "us"), "not allowed with"),
        (("--partition", "1", "-X", "group.id=us"), "--partition does not go with a group"),
        (
            ("--partition", "0", "--from", "5", "--to", "3"),
            "--from is after --to: there is nothing",
        ),
        (("--from", "15m", "--to", "1h"), "--from is after --to: there is nothing"),
        (("-g", "us", "--to", "5"), "--to does not go with a group: give --stop-at-end"),
        (("-g", "us", "--from", "5"), "a group begins where it has committed"),
        (("u", "--partition", "1"), "--partition is of one topic"),
        (("t",), "a topic is given twice"),
        (("-X", "enable.auto.commit=true"), "there is no group to commit for: set --group"),
        (("-X", "isolation.level=none"), "isolation.level must be"),
    ],
)
def test_a_mistake_is_said_before_anything_is_dialled(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], text: str
) -> None:
    outcome = call(capsys, "consume", "t", *words, *SERVER)

    assert outcome.code == 2
    assert text in outcome.err


def test_help_has_examples_and_every_field_of_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "consume", "--help")

    assert outcome.code == 0
    assert "\nexamples:\n  kafka-aio consume orders -b localhost:9092\n" in outcome.out
    for field in ("topic", "partition", "offset", "timestamp", "key", "value", "headers"):
        assert f"\n  {field} " in outcome.out


def test_the_status_shows_how_fast_it_is_and_how_far() -> None:
    shown = consuming.status(1_234_567, 98_765_432, rate=45_678.9, lag=1_000)

    assert shown == "1,234,567 records, 98.8 MB, 45,679 records/s, 1,000 to be read"
