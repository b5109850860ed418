from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.admin import (
    ConfigChange,
    ConfigEntry,
    ConfigSource,
    ConfigType,
    PartitionDescription,
    TopicCreated,
    TopicDescription,
    TopicListing,
)
from kafka_aio.cli import topic_reports as reports
from kafka_aio.cli.output import Report
from kafka_aio.errors import (
    InvalidConfig,
    InvalidPartitions,
    TopicAlreadyExists,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from kafka_aio.types import Node
from tests.unit.cli.shell import call, keys_of

PARTITIONS = (
    PartitionDescription(0, Node(1, "a", 9092), 7, (1, 2), (1,), (2,), (), (2,)),
    PartitionDescription(1, None, 8, (2, 1), (), ()),
)
ORDERS = TopicDescription("orders", "id-of-orders", False, PARTITIONS)
MISSING = UnknownTopicOrPartition(where="topic 'nope'")
EXISTS = TopicAlreadyExists(where="topic 'orders'")
DENIED = TopicAuthorizationFailed(where="topic 'secret'")
CREATED = TopicCreated("orders", "id-of-orders", 3, 1)
ENTRIES = {
    "retention.ms": ConfigEntry("retention.ms", "1", ConfigSource.TOPIC, type=ConfigType.LONG),
    "cleanup.policy": ConfigEntry("cleanup.policy", "delete", ConfigSource.DEFAULT),
    "a.password": ConfigEntry("a.password", None, ConfigSource.STATIC_BROKER, is_sensitive=True),
}
CHANGES = [ConfigChange.set("retention.ms", "1"), ConfigChange.delete("cleanup.policy")]


def of_error(error: Exception) -> dict[str, Any]:
    return {
        "type": type(error).__name__,
        "code": getattr(error, "code", None),
        "message": str(error),
    }


def test_a_list_is_one_name_per_line() -> None:
    report = reports.listed([TopicListing("a", "id-a", False), TopicListing("__b", "id-b", True)])

    assert report.lines == ["a", "__b"]
    assert report.document == {
        "topics": [
            {"name": "a", "topic_id": "id-a", "internal": False},
            {"name": "__b", "topic_id": "id-b", "internal": True},
        ]
    }


def test_a_description_is_a_table_of_partitions() -> None:
    single = TopicDescription("one", "id-of-one", True, PARTITIONS[:1])
    report = reports.described({"orders": ORDERS, "nope": MISSING, "one": single})

    assert report.lines == [
        "orders: 2 partitions, id id-of-orders",
        "partition  leader  replicas  in sync  offline",
        "        0       1  1,2       1        2",
        "        1       -  2,1       -        -",
        "",
        "one: 1 partition, id id-of-one",
        "partition  leader  replicas  in sync  offline",
        "        0       1  1,2       1        2",
    ]
    assert report.errors == [MISSING]


def test_the_document_of_a_description() -> None:
    report = reports.described({"orders": ORDERS, "nope": MISSING})

    orders, nope = report.document["topics"]
    assert nope == {"name": "nope", "error": of_error(MISSING)}
    assert orders == {
        "name": "orders",
        "error": None,
        "topic_id": "id-of-orders",
        "internal": False,
        "partitions": [
            {
                "partition": 0,
                "leader": 1,
                "leader_epoch": 7,
                "replicas": (1, 2),
                "in_sync_replicas": (1,),
                "offline_replicas": (2,),
                "eligible_leader_replicas": (),
                "last_known_eligible": (2,),
            },
            {
                "partition": 1,
                "leader": None,
                "leader_epoch": 8,
                "replicas": (2, 1),
                "in_sync_replicas": (),
                "offline_replicas": (),
                "eligible_leader_replicas": None,
                "last_known_eligible": None,
            },
        ],
    }


@pytest.mark.parametrize(("dry_run", "verb"), [(False, "created"), (True, "can be created")])
def test_what_was_created_is_said_with_its_numbers(dry_run: bool, verb: str) -> None:
    report = reports.created({"orders": CREATED}, dry_run=dry_run, may_exist=False)

    assert report.lines == [f"orders: {verb}, 3 partitions, replication factor 1"]
    assert report.document["topics"] == [
        {
            "name": "orders",
            "error": None,
            "created": not dry_run,
            "topic_id": "id-of-orders",
            "partitions": 3,
            "replication_factor": 1,
        }
    ]


def test_a_topic_that_exists_is_an_error_unless_it_may() -> None:
    strict = reports.created({"orders": EXISTS}, dry_run=False, may_exist=False)
    lenient = reports.created({"orders": EXISTS, "x": DENIED}, dry_run=False, may_exist=True)

    assert (strict.lines, strict.errors) == ([], [EXISTS])
    assert (lenient.lines, lenient.errors) == (["orders: it was there"], [DENIED])
    assert strict.document["topics"] == [{"name": "orders", "error": of_error(EXISTS)}]
    assert lenient.document["topics"][0]["created"] is False


def test_a_topic_that_is_missing_is_an_error_unless_it_may_be() -> None:
    results = {"orders": None, "nope": MISSING, "secret": DENIED}
    strict = reports.deleted(results, may_be_missing=False)
    lenient = reports.deleted(results, may_be_missing=True)

    assert (strict.lines, strict.errors) == (["orders: deleted"], [MISSING, DENIED])
    assert lenient.lines == ["orders: deleted", "nope: it was not there"]
    assert lenient.errors == [DENIED]
    assert lenient.document["topics"] == [
        {"name": "orders", "error": None, "deleted": True},
        {"name": "nope", "error": None, "deleted": False},
        {"name": "secret", "error": of_error(DENIED)},
    ]


def test_new_partitions_are_counted_in_all() -> None:
    too_few = InvalidPartitions(where="topic 'orders'")
    done = reports.grown({"orders": None}, 4, dry_run=False)
    tried = reports.grown({"orders": None}, 4, dry_run=True)
    refused = reports.grown({"orders": too_few}, 4, dry_run=False)

    assert done.lines == ["orders: has 4 partitions"]
    assert done.document["topics"] == [{"name": "orders", "error": None, "partitions": 4}]
    assert tried.lines == ["orders: can have 4 partitions"]
    assert (refused.lines, refused.errors) == ([], [too_few])


def test_options_are_shown_by_name_without_defaults_and_secrets() -> None:
    report = reports.shown("orders", ENTRIES, everything=False)

    assert report.lines == [
        "option        value     set by",
        "a.password    [hidden]  static broker",
        "retention.ms  1         topic",
    ]
    assert report.document["configs"][1] == {
        "name": "retention.ms",
        "value": "1",
        "source": "TOPIC",
        "default": False,
        "read_only": False,
        "sensitive": False,
        "type": "LONG",
    }


def test_all_options_are_shown_if_asked_for() -> None:
    report = reports.shown("orders", ENTRIES, everything=True)

    assert [entry["name"] for entry in report.document["configs"]] == sorted(ENTRIES)
    assert "cleanup.policy  delete    default" in report.lines


def test_a_topic_with_nothing_but_defaults_says_so() -> None:
    report = reports.shown("orders", {}, everything=False)

    assert report.lines == ["orders: every option has its default"]
    assert report.document == {"topic": "orders", "error": None, "configs": []}


def test_changes_are_counted_and_their_values_not_repeated() -> None:
    made = reports.changed("orders", CHANGES, None, dry_run=False)
    possible = reports.changed("orders", CHANGES[:1], None, dry_run=True)

    assert made.lines == ["orders: 2 changes made"]
    assert possible.lines == ["orders: 1 change possible"]
    assert made.document["changes"] == [
        {"operation": "SET", "name": "retention.ms"},
        {"operation": "DELETE", "name": "cleanup.policy"},
    ]


@pytest.mark.parametrize("show", [True, False])
def test_a_topic_whose_options_are_refused_is_an_error(show: bool) -> None:
    refused = InvalidConfig(where="topic orders")
    report = (
        reports.shown("orders", refused, everything=False)
        if show
        else reports.changed("orders", CHANGES, refused, dry_run=False)
    )

    assert (list(report.lines), report.errors) == ([], [refused])
    assert report.document == {"topic": "orders", "error": of_error(refused)}


@pytest.mark.parametrize(
    ("command", "report"),
    [
        ("list", reports.listed([TopicListing("a", "id-a", False)])),
        ("describe", reports.described({"orders": ORDERS, "nope": MISSING})),
        (
            "create",
            reports.created({"orders": CREATED, "x": DENIED}, dry_run=False, may_exist=False),
        ),
        ("delete", reports.deleted({"orders": None, "nope": MISSING}, may_be_missing=False)),
        ("add-partitions", reports.grown({"orders": None, "x": DENIED}, 4, dry_run=False)),
        ("configs", reports.shown("orders", ENTRIES, everything=True)),
        ("configs", reports.changed("orders", CHANGES, None, dry_run=False)),
        ("configs", reports.changed("orders", CHANGES, DENIED, dry_run=False)),
    ],
)
def test_help_tells_every_key_of_a_document(
    capsys: pytest.CaptureFixture[str], command: str, report: Report
) -> None:
    told = call(capsys, "topics", command, "--help").out.partition("keys of --json:")[2]

    for key in keys_of(report.document):
        assert key in told
