"""The checker of groups, proved by histories that are known to be bad, and one that is good."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.groups.checker import again, check

Said = dict[str, list[dict[str, Any]]]

WRITTEN = {("t", 0): 30, ("t", 1): 20}
ENDS = {"a": 900, "b": 900}


def event(at: int, name: str, **details: Any) -> dict[str, Any]:
    return {"at": at, "name": name} | details


def named(*numbers: int) -> list[dict[str, Any]]:
    return [{"topic": "t", "partition": number} for number in numbers]


def assigned(at: int, generation: int, *numbers: int) -> dict[str, Any]:
    return event(at, "partitions_assigned", partitions=named(*numbers), generation=generation)


def revoked(at: int, *numbers: int, lost: bool = False) -> dict[str, Any]:
    return event(at, "partitions_revoked", partitions=named(*numbers), lost=lost)


def consumed(at: int, number: int, first: int, last: int) -> dict[str, Any]:
    one = {"minOffset": first, "maxOffset": last, "count": last - first + 1}
    return event(at, "records_consumed", partitions=[named(number)[0] | one])


def committed(at: int, number: int, offset: int, *, success: bool = True) -> dict[str, Any]:
    one = named(number)[0] | {"offset": offset}
    return event(at, "offsets_committed", success=success, offsets=[one])


def good() -> Said:
    """One has both; another joins and gets one of them; the first leaves and it gets both."""
    return {
        "a": [
            assigned(10, 1, 0, 1),
            consumed(20, 0, 0, 9),
            consumed(21, 1, 0, 4),
            committed(30, 0, 10),
            committed(31, 1, 5),
            revoked(40, 0, 1),
            assigned(50, 2, 0),
            consumed(60, 0, 10, 19),
            committed(70, 0, 20),
            revoked(80, 0),
        ],
        "b": [
            assigned(55, 2, 1),
            consumed(65, 1, 5, 9),
            revoked(85, 1),
            assigned(90, 3, 0, 1),
            consumed(100, 1, 5, 19),  # it had not committed: read again
            consumed(101, 0, 20, 29),
            committed(110, 0, 30),
        ],
    }


def of(said: Said) -> set[str]:
    return {each.promise for each in check(said, ENDS, WRITTEN)}


def test_a_good_history_breaks_nothing() -> None:
    assert check(good(), ENDS, WRITTEN) == []
    assert again(good()) == 5


def test_java_says_neither_generations_nor_nanoseconds() -> None:
    said = good()
    for each in said["a"]:
        each["timestamp"] = each.pop("at")
        each.pop("generation", None)
    for each in said["b"]:
        each["at"] = each["at"] * 1_000_000 + 999_999

    assert check(said, dict.fromkeys(ENDS, 10**12), WRITTEN) == []


BAD: dict[str, tuple[set[str], Callable[[Said], object]]] = {
    "records without an assignment": (
        {"not-assigned"},
        lambda said: said["a"].append(consumed(120, 1, 20, 20)),
    ),
    "records after the revocation": (
        {"not-assigned"},
        lambda said: said["a"].insert(6, consumed(45, 0, 10, 12)),
    ),
    "a commit after the revocation": (
        {"not-owned"},
        lambda said: said["a"].insert(6, committed(45, 0, 10)),
    ),
    "a record left out between two polls": (
        {"gap", "never-read"},
        lambda said: said["b"].__setitem__(
            slice(4, 5), [consumed(98, 1, 5, 9), consumed(99, 1, 11, 19)]
        ),
    ),
    "a record left out within a poll": (
        {"gap"},
        lambda said: said["a"][1]["partitions"][0].update(count=9),
    ),
    "a record twice in one assignment": (
        {"again"},
        lambda said: said["a"].insert(2, consumed(22, 0, 5, 9)),
    ),
    "a start before what was committed": (
        {"below-committed"},
        lambda said: said["a"].__setitem__(7, consumed(60, 0, 9, 19)),
    ),
    "a start after all that was read": (
        {"not-read-so-far", "never-read"},
        lambda said: said["a"].__setitem__(7, consumed(60, 0, 12, 19)),
    ),
    "a commit ahead of the position": (
        {"above-position", "below-committed"},
        lambda said: said["a"].__setitem__(3, committed(30, 0, 11)),
    ),
    "a commit of what nobody has read": (
        {"above-position", "below-committed"},
        lambda said: said["b"].insert(1, committed(57, 1, 6)),
    ),
    "two owners in a generation": (
        {"owned-twice", "owned-together"},
        lambda said: said["b"].__setitem__(
            slice(0, 3), [assigned(55, 2, 0, 1), consumed(65, 1, 5, 9), revoked(85, 0, 1)]
        ),
    ),
    "a partition that comes though it was not gone": (
        {"assigned-again"},
        lambda said: said["a"].insert(7, assigned(52, 2, 0)),
    ),
    "an owner that kept a partition of another's": (
        {"owned-twice", "owned-together"},
        lambda said: said["a"].__setitem__(5, revoked(40, 0)),
    ),
    "two owners at a time, each in its own generation": (
        {"owned-together"},
        lambda said: said["a"].__setitem__(9, revoked(95, 0)),
    ),
    "another record than was written": (
        {"wrong"},
        lambda said: said["a"].insert(2, event(22, "wrong_record", offset=3, value="b'x'")),
    ),
    "records that nobody has read": (
        {"never-read"},
        lambda said: said["b"].__delitem__(slice(5, None)),
    ),
    "a partition that nobody has read": (
        {"never-read"},
        lambda said: [said[name].__setitem__(slice(None), []) for name in said],
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_history_is_called_by_its_name(what: str) -> None:
    promises, spoil = BAD[what]
    said = good()

    spoil(said)

    assert of(said) == promises


def test_who_lost_a_partition_may_not_have_known_yet() -> None:
    said = good()
    said["a"][9] = revoked(95, 0, lost=True)

    assert check(said, ENDS, WRITTEN) == []


def test_who_was_killed_has_nothing_from_then_on() -> None:
    said = good()
    said["a"].pop()

    assert check(said, ENDS | {"a": 82}, WRITTEN) == []
    assert {each.promise for each in check(said, ENDS, WRITTEN)} == {"owned-together"}


def test_a_static_member_that_is_restarted_is_the_same_owner() -> None:
    said: Said = {
        "a": [assigned(10, 1, 0) | {"instance": "i"}, revoked(20, 0)],
        "b": [assigned(30, 1, 0) | {"instance": "i"}],
    }

    assert check(said, ENDS) == []


def test_a_commit_that_failed_is_none() -> None:
    said = good()
    said["a"].insert(4, committed(32, 0, 99, success=False))

    assert check(said, ENDS, WRITTEN) == []


def mutants() -> Iterator[Said]:
    """The good history with one thing wrong: each is bad."""
    for name, events in good().items():
        for index, each in enumerate(events):
            if each["name"] == "records_consumed":
                for key, by in [("minOffset", 1), ("maxOffset", 1), ("maxOffset", -1)]:
                    said = copy.deepcopy(good())
                    said[name][index]["partitions"][0][key] += by
                    yield said
            if each["name"] == "partitions_assigned":
                for number in range(len(each["partitions"])):
                    said = copy.deepcopy(good())
                    del said[name][index]["partitions"][number]
                    yield said


def test_each_history_with_one_thing_wrong_is_found_out() -> None:
    found = [of(said) for said in mutants()]

    assert len(found) > 20
    assert all(found)
