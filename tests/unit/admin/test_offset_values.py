from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from kafka_aio.admin.offset_values import OffsetReset, OffsetSpec

SPECS = {
    OffsetSpec.earliest(): (-2, "OffsetSpec.earliest()"),
    OffsetSpec.latest(): (-1, "OffsetSpec.latest()"),
    OffsetSpec.max_timestamp(): (-3, "OffsetSpec.max_timestamp()"),
    OffsetSpec.earliest_local(): (-4, "OffsetSpec.earliest_local()"),
    OffsetSpec.latest_tiered(): (-5, "OffsetSpec.latest_tiered()"),
    OffsetSpec.earliest_pending_upload(): (-6, "OffsetSpec.earliest_pending_upload()"),
    OffsetSpec.at(1_500): (1_500, "OffsetSpec.at(1500)"),
}


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_each_offset_that_can_be_asked_for_has_its_number(spec: OffsetSpec) -> None:
    assert (spec.timestamp, repr(spec)) == SPECS[spec]


def test_a_time_may_be_a_datetime_of_any_zone() -> None:
    east = timezone(timedelta(hours=2))

    assert OffsetSpec.at(datetime(1970, 1, 1, 2, 0, 1, 2_999, tzinfo=east)).timestamp == 1_002
    assert OffsetReset.timestamp(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)).value == 1_000


@pytest.mark.parametrize("make", [OffsetSpec.at, OffsetReset.timestamp])
@pytest.mark.parametrize(
    ("time", "kind", "words"),
    [
        (datetime(2026, 1, 1), ValueError, "give the time a time zone"),
        (datetime(1960, 1, 1, tzinfo=UTC), ValueError, "a time in milliseconds since 1970"),
        (-1, ValueError, "a time in milliseconds since 1970"),
        (2**63, ValueError, "a time in milliseconds since 1970"),
        (1.5, TypeError, "must be int, not float"),
        (True, TypeError, "must be int, not bool"),
        ("now", TypeError, "must be int, not str"),
    ],
)
def test_what_is_no_time_is_refused(
    make: Any, time: Any, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        make(time)


@pytest.mark.parametrize(
    ("reset", "text"),
    [
        (OffsetReset.earliest(), "OffsetReset.earliest()"),
        (OffsetReset.latest(), "OffsetReset.latest()"),
        (OffsetReset.current(), "OffsetReset.current()"),
        (OffsetReset.timestamp(5), "OffsetReset.timestamp(5)"),
        (OffsetReset.duration(timedelta(minutes=1)), "OffsetReset.duration(60000)"),
        (OffsetReset.duration(0.25), "OffsetReset.duration(250)"),
        (OffsetReset.offset(0), "OffsetReset.offset(0)"),
        (OffsetReset.shift(-3), "OffsetReset.shift(-3)"),
    ],
)
def test_a_reset_shows_what_it_is(reset: OffsetReset, text: str) -> None:
    assert repr(reset) == text


@pytest.mark.parametrize(
    ("make", "value", "kind"),
    [
        (OffsetReset.offset, -1, ValueError),
        (OffsetReset.offset, "5", TypeError),
        (OffsetReset.shift, 1.5, TypeError),
        (OffsetReset.shift, 2**63, ValueError),
        (OffsetReset.duration, -1, ValueError),
        (OffsetReset.duration, timedelta(seconds=-1), ValueError),
        (OffsetReset.duration, float("nan"), ValueError),
        (OffsetReset.duration, "PT1H", TypeError),
        (OffsetReset.duration, True, TypeError),
    ],
)
def test_a_reset_to_nowhere_is_refused(make: Any, value: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        make(value)
