"""The tables themselves: every case is there, and what ours does otherwise has its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.spark.cases import Case, Fails, Run, Stream
from tests.spark.cases_offsets import OFFSETS_AND_SPLITS
from tests.spark.cases_read import TOPICS_AND_OPTIONS
from tests.spark.cases_stream import STREAMS
from tests.spark.cases_write import STREAM_WRITES, WRITES

TABLE: list[Case] = [*TOPICS_AND_OPTIONS, *OFFSETS_AND_SPLITS, *STREAMS, *WRITES, *STREAM_WRITES]


def test_every_observed_case_is_a_row() -> None:
    assert {case.number for case in TABLE} == set(range(1, 122))


def test_no_two_rows_have_one_id() -> None:
    assert [name for name, count in Counter(case.id for case in TABLE).items() if count > 1] == []


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.id)
def test_a_difference_has_a_reason_and_only_a_difference(case: Case) -> None:
    assert any(is_otherwise(theirs, ours) for theirs, ours in pairs(case)) == bool(case.why)


def pairs(case: Case) -> Iterator[tuple[object, object]]:
    if isinstance(case, Stream):
        for step in case.steps:
            if isinstance(step, Run):
                yield step.theirs, step.ours
    else:
        yield case.theirs, case.ours  # type: ignore[attr-defined]  # each of the others has them


def is_otherwise(theirs: object, ours: object) -> bool:
    """Other words are none; another call is."""
    if ours is None:
        return False
    if isinstance(theirs, Fails) and isinstance(ours, Fails):
        return theirs.at != ours.at
    return theirs != ours
