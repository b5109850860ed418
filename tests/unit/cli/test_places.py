from __future__ import annotations

import argparse
from datetime import datetime

import pytest

from kafka_aio.cli.places import BEGINNING, END, Kind, Log, Place, place
from kafka_aio.types import OffsetAndTimestamp, TopicPartition

LOG = Log(10, 90)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("beginning", BEGINNING),
        ("end", END),
        ("0", Place(Kind.OFFSET, 0)),
        ("1234", Place(Kind.OFFSET, 1234)),
        ("-5", Place(Kind.LAST, 5)),
        ("@1700000000123", Place(Kind.TIME, 1_700_000_000_123)),
        ("2026-11-30T07:00Z", Place(Kind.TIME, 1_796_022_000_000)),
        ("2026-11-30T08:00:00.250+01:00", Place(Kind.TIME, 1_796_022_000_250)),
        ("1969-01-01T00:00Z", Place(Kind.TIME, 0)),
        ("90s", Place(Kind.AGO, 90_000)),
        ("15m", Place(Kind.AGO, 900_000)),
        ("12h", Place(Kind.AGO, 43_200_000)),
        ("7d", Place(Kind.AGO, 604_800_000)),
    ],
)
def test_a_place_is_read_as_it_is_written(text: str, found: Place) -> None:
    assert place(text) == found


def test_a_time_without_a_zone_is_that_of_this_machine() -> None:
    there = datetime(2026, 11, 30, 8, 0).timestamp()

    assert place("2026-11-30T08:00") == Place(Kind.TIME, round(there * 1000))


@pytest.mark.parametrize(
    "text", ["", "-", "@", "begin", "1.5", "--5", "5w", "-1h", "2026-13-01", "9" * 19, "٣"]
)
def test_what_is_no_place_is_said_with_all_that_are(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is no place: give beginning, end, "):
        place(text)


@pytest.mark.parametrize(
    ("where", "offset"),
    [
        (BEGINNING, 10),
        (END, 90),
        (Place(Kind.OFFSET, 50), 50),
        (Place(Kind.OFFSET, 5), 10),
        (Place(Kind.OFFSET, 91), 90),
        (Place(Kind.LAST, 5), 85),
        (Place(Kind.LAST, 500), 10),
    ],
)
def test_a_place_is_an_offset_that_there_is(where: Place, offset: int) -> None:
    assert where.offset(LOG) == offset


@pytest.mark.parametrize("kind", [Kind.TIME, Kind.AGO])
def test_a_time_is_where_its_first_record_is_or_the_end(kind: Kind) -> None:
    found = Log(10, 90, OffsetAndTimestamp(42, 1_000))

    assert Place(kind, 999).offset(found) == 42
    assert Place(kind, 999).offset(LOG) == 90
    # It came after the end was asked for.
    assert Place(kind, 999).offset(Log(10, 90, OffsetAndTimestamp(91, 1_000))) == 90


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("5", "3"),
        ("-3", "-5"),
        ("@5", "@3"),
        ("15m", "1h"),
        ("end", "beginning"),
        ("end", "5"),
        ("end", "-5"),
        ("5", "beginning"),
    ],
)
def test_a_place_after_another_is_known_without_a_log(begin: str, end: str) -> None:
    assert place(begin).is_after(place(end))
    assert not place(end).is_after(place(begin))


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("5", "5"),
        ("5", "@3"),
        ("5", "-5"),
        ("5", "end"),
        ("end", "end"),
        ("beginning", "beginning"),
    ],
)
def test_where_it_depends_on_the_log_no_place_is_after_another(begin: str, end: str) -> None:
    assert not place(begin).is_after(place(end))


def test_only_a_time_has_to_be_asked_for() -> None:
    now = 1_700_000_000.0

    assert Place(Kind.TIME, 123).time(now=now) == 123
    assert Place(Kind.AGO, 60_000).time(now=now) == 1_699_999_940_000
    assert Place(Kind.AGO, 10**15).time(now=now) == 0
    assert Place(Kind.OFFSET, 5).time(now=now) is None


def test_an_offset_that_is_not_there_is_said() -> None:
    logs = {TopicPartition("t", number): Log(10, end) for number, end in enumerate((90, 60, 30))}

    assert Place(Kind.OFFSET, 20).missed(logs) is None
    assert Place(Kind.OFFSET, 90).missed(logs) == (
        "there is no offset 90: t-1 has 10 to 60, and 1 more lack it"
    )
    assert Place(Kind.OFFSET, 50).missed(logs) == "there is no offset 50: t-2 has 10 to 30"
    assert Place(Kind.LAST, 500).missed(logs) is None
