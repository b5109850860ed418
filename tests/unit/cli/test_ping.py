from __future__ import annotations

import json

import pytest

from kafka_aio.admin import ApiVersionRange, ClusterDescription, Feature, NodeStatus
from kafka_aio.cli import ping
from kafka_aio.cli.exits import code_of_all
from kafka_aio.errors import AuthenticationError, KafkaConnectionError
from kafka_aio.types import Node
from tests.unit.cli.shell import call, keys_of

FIRST, SECOND = Node(1, "::1", 9092, "rack-1"), Node(2, "other", 9093)
CLUSTER = ClusterDescription("4L6g3nShT-eMCtK--X86sw", FIRST, (FIRST, SECOND))
VERSIONS = (ApiVersionRange(3, "Metadata", 0, 13, 12), ApiVersionRange(999, "", 0, 1, None))
FEATURES = (Feature("metadata.version", (7, 30), 29), Feature("new.version", (0, 1)))
UP = NodeStatus(FIRST, None, (0.001, 0.0025, 0.001), VERSIONS, FEATURES)
DOWN = NodeStatus(SECOND, KafkaConnectionError("other:9093: connection refused"))


def test_a_cluster_is_its_id_its_controller_its_brokers_and_its_features() -> None:
    report = ping.report(CLUSTER, [UP, DOWN], versions=False)

    assert report.lines == [
        "cluster     4L6g3nShT-eMCtK--X86sw",
        "controller  [::1]:9092 (node 1)",
        "",
        "broker  address     rack    min ms  avg ms  max ms  APIs",
        "     1  [::1]:9092  rack-1    1.00    1.50    2.50     2",
        "     2  other:9093  -            -       -       -     -",
        "",
        "feature           level  supported",
        "metadata.version     29  7-30",
        "new.version           -  0-1",
    ]


def test_versions_are_shown_once_for_brokers_that_are_alike() -> None:
    older = NodeStatus(Node(3, "older", 9092), None, (0.001,), VERSIONS[:1], FEATURES)
    same = NodeStatus(SECOND, None, (0.001,), VERSIONS, FEATURES)
    report = ping.report(CLUSTER, [UP, same, older], versions=True)

    after_features = list(report.lines).index("new.version           -  0-1") + 1
    assert report.lines[after_features:] == [
        "",
        "APIs of broker 1, 2:",
        "key  name      versions  used",
        "  3  Metadata  0-13        12",
        "999  ?         0-1          -",
        "",
        "APIs of broker 3:",
        "key  name      versions  used",
        "  3  Metadata  0-13        12",
    ]


def test_a_broker_that_cannot_be_asked_is_an_error_with_a_hint() -> None:
    report = ping.report(CLUSTER, [UP, DOWN], versions=False)

    assert report.errors == [DOWN.error]
    assert code_of_all(report.errors) == 3
    (hint,) = report.hints
    assert "names other:9093; if that is not an address to use from here, see advertised" in hint


def test_a_broker_that_refuses_us_was_reached() -> None:
    refuses = NodeStatus(SECOND, AuthenticationError("other:9093: no"))
    report = ping.report(CLUSTER, [UP, refuses], versions=False)

    assert code_of_all(report.errors) == 4
    assert report.hints == []


def test_where_no_broker_can_be_asked_the_cluster_is_not_known() -> None:
    report = ping.report(None, [DOWN], versions=True)

    assert report.lines == [
        "broker  address     rack  min ms  avg ms  max ms  APIs",
        "     2  other:9093  -     -       -       -       -",
    ]
    assert report.document["cluster_id"] is None
    assert report.document["controller"] is None


def test_the_document_has_all_that_is_known() -> None:
    report = ping.report(CLUSTER, [UP, DOWN], versions=False)

    assert json.loads(report.text(as_json=True)) == {
        "cluster_id": "4L6g3nShT-eMCtK--X86sw",
        "controller": 1,
        "brokers": [
            {
                "id": 1,
                "host": "::1",
                "port": 9092,
                "rack": "rack-1",
                "error": None,
                "round_trips_ms": [1.0, 2.5, 1.0],
                "features": [
                    {"name": "metadata.version", "min": 7, "max": 30, "level": 29},
                    {"name": "new.version", "min": 0, "max": 1, "level": None},
                ],
                "apis": [
                    {"key": 3, "name": "Metadata", "min": 0, "max": 13, "used": 12},
                    {"key": 999, "name": "", "min": 0, "max": 1, "used": None},
                ],
            },
            {
                "id": 2,
                "host": "other",
                "port": 9093,
                "rack": None,
                "error": {
                    "type": "KafkaConnectionError",
                    "code": None,
                    "message": "other:9093: connection refused",
                },
                "round_trips_ms": [],
                "features": [],
                "apis": [],
            },
        ],
    }


def test_help_tells_every_key_of_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    told = call(capsys, "ping", "--help").out.partition("keys of --json:")[2]

    for key in keys_of(ping.report(CLUSTER, [UP, DOWN], versions=False).document):
        assert key in told
