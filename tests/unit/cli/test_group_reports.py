from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.admin import (
    GroupDescription,
    GroupList,
    GroupListing,
    GroupMember,
    GroupState,
    GroupType,
    OffsetChange,
)
from kafka_aio.cli import group_reports as reports
from kafka_aio.cli.group_reports import Lag, Lags
from kafka_aio.cli.output import Report
from kafka_aio.errors import (
    GroupIdNotFound,
    KafkaTimeoutError,
    LeaderNotAvailable,
    NonEmptyGroup,
    TopicAuthorizationFailed,
    UnknownMemberId,
)
from kafka_aio.types import Node, OffsetAndMetadata, OffsetAndTimestamp, TopicPartition
from tests.unit.cli.shell import call, keys_of

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
MISSING = GroupIdNotFound(where="group 'nope'")
DENIED = TopicAuthorizationFailed(where="group 'billing', b-0")
ACTIVE = NonEmptyGroup(where="group 'busy'")
CLASSIC = GroupDescription(
    "billing",
    GroupType.CLASSIC,
    GroupState.STABLE,
    "consumer",
    "range",
    (
        GroupMember("m-1", "app", "10.0.0.1", (A0,), instance_id="i", is_classic=True),
        GroupMember("m-2", "app", "10.0.0.2", (), is_classic=True),
    ),
    Node(1, "kafka", 9092),
)
MODERN = GroupDescription(
    "modern",
    GroupType.CONSUMER,
    GroupState.RECONCILING,
    "consumer",
    "uniform",
    (GroupMember("m", "app", "h", (B0,), None, "r", (A0,), 5, ("a",), "x.*", False),),
    epoch=6,
    target_assignment_epoch=5,
)
EMPTY = GroupDescription("empty", GroupType.CLASSIC, GroupState.EMPTY, "", "", ())


def lags() -> Lags:
    committed: dict[str, Any] = {
        "billing": {A0: OffsetAndMetadata(3, "note"), A1: OffsetAndMetadata(4), B0: None},
        "modern": {A0: None},
        "empty": {A0: OffsetAndMetadata(10)},
        "none": {},
    }
    ends: dict[TopicPartition, Any] = {
        A0: OffsetAndTimestamp(10, -1),
        A1: LeaderNotAvailable(where="a-1"),
        B0: OffsetAndTimestamp(7, -1),
    }
    return Lags(committed, ends)


def of_error(error: Exception) -> dict[str, Any]:
    return {
        "type": type(error).__name__,
        "code": getattr(error, "code", None),
        "message": str(error),
    }


@pytest.mark.parametrize(
    ("committed", "end", "records"), [(3, 10, 7), (10, 10, 0), (None, 10, None), (3, None, None)]
)
def test_the_lag_is_what_is_yet_to_be_read(
    committed: int | None, end: int | None, records: int | None
) -> None:
    offset = None if committed is None else OffsetAndMetadata(committed)

    assert Lag(A0, offset, end).records == records


def test_groups_are_listed_with_their_states_and_the_nodes_that_are_missing() -> None:
    lost = KafkaTimeoutError("list_groups: not done in time")
    group = GroupListing("billing", GroupType.CLASSIC, GroupState.STABLE, "consumer", 3)

    report = reports.listed(GroupList((group,), {2: lost}))

    assert report.lines == [
        "group    type     state   coordinator",
        "billing  Classic  Stable            3",
    ]
    assert report.errors == [lost]
    assert report.document == {
        "groups": [
            {
                "group": "billing",
                "type": "Classic",
                "state": "Stable",
                "protocol_type": "consumer",
                "coordinator": 3,
            }
        ],
        "errors": [{"coordinator": 2, "error": of_error(lost)}],
    }


def test_without_groups_nothing_is_printed() -> None:
    assert reports.listed(GroupList(())).lines == []


def test_a_description_has_members_and_the_lag_of_each_partition() -> None:
    report = reports.described({"billing": CLASSIC, "nope": MISSING, "modern": MODERN}, lags())

    assert report.lines == [
        "billing: Classic, Stable, assignor range, coordinator kafka:9092 (node 1), 2 members,"
        " lag at least 7",
        "member  instance  client  host      epoch  partitions",
        "m-1     i         app     10.0.0.1  -               1",
        "m-2     -         app     10.0.0.2  -               0",
        "topic  partition  committed  end  lag  member",
        "a              0          3   10    7  m-1",
        "a              1          4    -    -  -",
        "b              0          -    7    -  -",
        "",
        "modern: Consumer, Reconciling, assignor uniform, 1 member, lag -",
        "member  instance  client  host  epoch  partitions",
        "m       -         app     h         5           1",
        "topic  partition  committed  end  lag  member",
        "a              0  -           10  -    -",
        "b              0  -            7  -    m",
    ]
    assert [str(error) for error in report.errors] == [
        str(LeaderNotAvailable(where="a-1")),
        str(MISSING),
    ]


def test_a_group_without_members_has_its_lag_all_the_same() -> None:
    report = reports.described({"empty": EMPTY}, lags(), [DENIED])

    assert report.lines == [
        "empty: Classic, Empty, 0 members, lag 0",
        "topic  partition  committed  end  lag",
        "a              0         10   10    0",
    ]
    assert report.errors == [DENIED]


def test_the_document_of_a_description() -> None:
    report = reports.described({"modern": MODERN, "nope": MISSING}, lags())

    modern, nope = report.document["groups"]
    assert nope == {"group": "nope", "error": of_error(MISSING)}
    assert modern == {
        "group": "modern",
        "error": None,
        "type": "Consumer",
        "state": "Reconciling",
        "protocol_type": "consumer",
        "assignor": "uniform",
        "coordinator": None,
        "epoch": 6,
        "target_assignment_epoch": 5,
        "members": [
            {
                "member": "m",
                "instance": None,
                "client": "app",
                "host": "h",
                "rack": "r",
                "epoch": 5,
                "assignment": [{"topic": "b", "partition": 0}],
                "target_assignment": [{"topic": "a", "partition": 0}],
                "subscribed_topics": ("a",),
                "subscribed_pattern": "x.*",
                "classic": False,
            }
        ],
        "lag": None,
        "offsets": [
            {
                "topic": name,
                "partition": 0,
                "committed": None,
                "end": end,
                "lag": None,
                "metadata": None,
            }
            for name, end in (("a", 10), ("b", 7))
        ],
    }


def test_offsets_are_shown_by_group() -> None:
    report = reports.offsets(lags())

    assert report.lines[:5] == [
        "billing: lag at least 7",
        "topic  partition  committed  end  lag",
        "a              0          3   10    7",
        "a              1          4    -    -",
        "b              0          -    7    -",
    ]
    assert report.lines[-1] == "none: nothing is committed"
    assert report.document["groups"][0]["offsets"][0] == {
        "topic": "a",
        "partition": 0,
        "committed": 3,
        "end": 10,
        "lag": 7,
        "metadata": "note",
    }
    assert [group["lag"] for group in report.document["groups"]] == [7, None, 0, None]


def test_a_group_that_has_committed_nothing_has_no_lag_that_is_known() -> None:
    nothing = Lags({"empty": {}}, {})

    report = reports.described({"empty": EMPTY}, nothing)

    assert report.lines == ["empty: Classic, Empty, 0 members, lag -"]
    assert report.document["groups"][0]["lag"] is None


def test_an_offset_of_zero_is_one() -> None:
    zero = Lags({"g": {A0: OffsetAndMetadata(0)}}, {A0: OffsetAndTimestamp(0, -1)})

    report = reports.offsets(zero)

    assert report.lines[-1].split() == ["a", "0", "0", "0", "0"]
    assert report.document["groups"][0]["offsets"][0]["committed"] == 0


def test_what_is_not_known_of_a_group_is_an_error() -> None:
    some = Lags({"busy": ACTIVE, "billing": {B0: DENIED}}, {B0: OffsetAndTimestamp(7, -1)})

    report = reports.offsets(some)

    assert report.errors == [ACTIVE, DENIED]
    assert report.document["groups"][0] == {"group": "busy", "error": of_error(ACTIVE)}
    described = reports.described({"busy": CLASSIC}, some)
    assert described.errors == [ACTIVE]


@pytest.mark.parametrize(
    ("dry_run", "line", "hints"),
    [
        (True, "billing: 2 offsets would be moved", ["nothing was changed; --execute does it"]),
        (False, "billing: 2 offsets moved", []),
    ],
)
def test_a_reset_shows_where_each_offset_was_and_goes(
    dry_run: bool, line: str, hints: list[str]
) -> None:
    changes: dict[TopicPartition, Any] = {
        A0: OffsetChange(5, 0),
        A1: OffsetChange(None, 10),
        B0: DENIED,
    }

    report = reports.moved("billing", changes, dry_run=dry_run)

    assert report.lines == [
        line,
        "topic  partition  before  after",
        "a              0       5      0",
        "a              1       -     10",
    ]
    assert (report.errors, report.hints) == ([DENIED], hints)
    assert report.document == {
        "group": "billing",
        "executed": not dry_run,
        "offsets": [
            {"topic": "a", "partition": 0, "error": None, "before": 5, "after": 0},
            {"topic": "a", "partition": 1, "error": None, "before": None, "after": 10},
            {"topic": "b", "partition": 0, "error": of_error(DENIED)},
        ],
    }


@pytest.mark.parametrize("dry_run", [True, False])
def test_offsets_that_stay_where_they_are_are_shown_and_not_counted(dry_run: bool) -> None:
    changes = {A0: OffsetChange(9, 9), A1: OffsetChange(0, 5), B0: OffsetChange(9, 9)}
    verb = "would be moved" if dry_run else "moved"

    some = reports.moved("billing", changes, dry_run=dry_run)
    none = reports.moved("billing", {A0: OffsetChange(9, 9)}, dry_run=dry_run)

    assert (some.lines[0], len(some.lines)) == (f"billing: 1 offset {verb}", 5)
    assert none.lines[0] == f"billing: 0 offsets {verb}"
    assert none.hints == []


def test_a_reset_of_nothing_says_what_to_do() -> None:
    report = reports.moved("billing", {}, dry_run=False)

    assert report.lines == ["billing: 0 offsets moved"]
    assert report.hints == ["nothing is committed; --topic names what is to be"]


def test_a_group_that_is_missing_is_an_error_unless_it_may_be() -> None:
    results = {"billing": None, "nope": MISSING, "busy": ACTIVE}
    strict = reports.deleted(results, may_be_missing=False)
    lenient = reports.deleted(results, may_be_missing=True)

    assert (strict.lines, strict.errors) == (["billing: deleted"], [MISSING, ACTIVE])
    assert lenient.lines == ["billing: deleted", "nope: it was not there"]
    assert lenient.errors == [ACTIVE]
    assert lenient.document["groups"] == [
        {"group": "billing", "error": None, "deleted": True},
        {"group": "nope", "error": None, "deleted": False},
        {"group": "busy", "error": of_error(ACTIVE)},
    ]


def test_offsets_that_are_forgotten_are_counted() -> None:
    report = reports.forgotten("billing", {A0: None, B0: DENIED})

    assert (report.lines, report.errors) == (["billing: 1 offset deleted"], [DENIED])
    assert report.document == {
        "group": "billing",
        "offsets": [
            {"topic": "a", "partition": 0, "error": None, "deleted": True},
            {"topic": "b", "partition": 0, "error": of_error(DENIED)},
        ],
    }


def test_members_that_are_removed_are_counted() -> None:
    unknown = UnknownMemberId(where="group 'billing', member 'm'")
    report = reports.removed("billing", {"i": None, "m": unknown, "n": None})

    assert (report.lines, report.errors) == (["billing: 2 members removed"], [unknown])
    assert report.document == {
        "group": "billing",
        "members": [
            {"member": "i", "error": None, "removed": True},
            {"member": "m", "error": of_error(unknown)},
            {"member": "n", "error": None, "removed": True},
        ],
    }


GROUP = GroupListing("billing", GroupType.CLASSIC, GroupState.STABLE, "consumer", 3)


@pytest.mark.parametrize(
    ("command", "report"),
    [
        ("list", reports.listed(GroupList((GROUP,), {2: ACTIVE}))),
        ("describe", reports.described({"modern": MODERN, "nope": MISSING}, lags())),
        ("offsets", reports.offsets(lags())),
        ("reset", reports.moved("g", {A0: OffsetChange(1, 2), B0: DENIED}, dry_run=True)),
        ("delete", reports.deleted({"g": None, "nope": MISSING}, may_be_missing=False)),
        ("delete-offsets", reports.forgotten("g", {A0: None, B0: DENIED})),
        ("remove-members", reports.removed("g", {"m": None, "n": DENIED})),
    ],
)
def test_help_tells_every_key_of_a_document(
    capsys: pytest.CaptureFixture[str], command: str, report: Report
) -> None:
    told = call(capsys, "groups", command, "--help").out.partition("keys of --json:")[2]

    for key in keys_of(report.document):
        assert key in told
