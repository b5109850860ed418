from __future__ import annotations

import pytest

from kafka_aio.admin import resets
from kafka_aio.admin.offset_values import OffsetReset, OffsetSpec
from kafka_aio.errors import KafkaError, NotLeaderOrFollower
from kafka_aio.types import OffsetAndTimestamp, TopicPartition

A0 = TopicPartition("a", 0)
NOW = 5_000.0
EARLIEST, LATEST = OffsetSpec.earliest(), OffsetSpec.latest()
LOG = {EARLIEST: 10, LATEST: 20, OffsetSpec.at(3_000): 15, OffsetSpec.at(4_000_000): 18}


def goal(reset: OffsetReset, before: int | None) -> int | KafkaError:
    """Of a log from 10 to 20, with a record of 3 s after 1970 at 15."""
    told = []
    for spec in resets.asks(reset, now=NOW):
        offset = LOG.get(spec)
        told.append(None if offset is None else OffsetAndTimestamp(offset, -1))
    return resets.goal(reset, A0, before, told)


@pytest.mark.parametrize("before", [None, 12])
@pytest.mark.parametrize(
    ("reset", "offset"),
    [
        (OffsetReset.earliest(), 10),
        (OffsetReset.latest(), 20),
        (OffsetReset.timestamp(3_000), 15),
        (OffsetReset.timestamp(9_000), 20),  # no record is that young
        (OffsetReset.duration(1_000), 18),
        (OffsetReset.duration(1), 20),
        (OffsetReset.offset(13), 13),
        (OffsetReset.offset(3), 10),
        (OffsetReset.offset(33), 20),
    ],
    ids=repr,
)
def test_an_offset_goes_where_it_is_told(
    reset: OffsetReset, offset: int, before: int | None
) -> None:
    assert goal(reset, before) == offset


@pytest.mark.parametrize(("by", "offset"), [(3, 15), (-1, 11), (-50, 10), (50, 20), (0, 12)])
def test_a_shift_goes_from_where_it_is_and_no_further_than_there_are_records(
    by: int, offset: int
) -> None:
    assert goal(OffsetReset.shift(by), 12) == offset


def test_what_is_nowhere_cannot_be_shifted() -> None:
    error = goal(OffsetReset.shift(1), None)

    assert isinstance(error, KafkaError)
    assert str(error) == "a-0: nothing is committed that could be shifted"


@pytest.mark.parametrize(("before", "offset"), [(12, 12), (3, 3), (None, 20)])
def test_the_current_offset_is_kept_or_the_end_is_taken(before: int | None, offset: int) -> None:
    assert goal(OffsetReset.current(), before) == offset


def test_a_duration_that_is_longer_than_all_time_begins_in_1970() -> None:
    assert resets.asks(OffsetReset.duration(9_000_000), now=NOW)[0] == OffsetSpec.at(0)


def test_a_partition_whose_offsets_are_not_known_says_why() -> None:
    error = NotLeaderOrFollower()

    found = resets.goal(OffsetReset.offset(1), A0, 3, [OffsetAndTimestamp(1, -1), error])

    assert found is error


def test_a_log_without_an_end_is_an_error() -> None:
    found = resets.goal(OffsetReset.latest(), A0, 3, [None])

    assert isinstance(found, KafkaError)
    assert "does not say where the log ends" in str(found)
