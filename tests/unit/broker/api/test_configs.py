"""DescribeConfigs, AlterConfigs and IncrementalAlterConfigs."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.broker.state import State
from kafka_aio.errors import (
    BrokerError,
    InvalidConfig,
    InvalidRequest,
    InvalidTopic,
    RequestTimedOut,
    UnknownServerError,
    UnknownTopicOrPartition,
)
from kafka_aio.protocol.messages.configs import (
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)
from kafka_aio.protocol.schema import Request
from tests.unit.broker.api.administration import (
    APPEND,
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    SUBTRACT,
    TOPIC,
    alter,
    change,
    describe,
)
from tests.unit.broker.clusters import call, made

UNKNOWN_KIND = 77


# DescribeConfigs


def described(state: State, request: DescribeConfigsRequest, **how: Any) -> dict[str, Any]:
    """The options of the one resource, by name."""
    (result,) = call(state, request, **how).results
    assert (result.error_code, result.error_message) == (0, "")
    return {each.name: each for each in result.configs}


def test_all_options_of_a_topic_are_described() -> None:
    state = made()
    state.topics.create("t", configs={"retention.ms": " 5 "})

    told = described(state, describe(TOPIC, "t"))

    retention = told["retention.ms"]
    assert len(told) == 33
    assert (retention.value, retention.config_source, retention.config_type) == ("5", 1, 5)
    assert not retention.read_only
    assert not retention.is_sensitive
    assert (retention.synonyms, retention.documentation) == ([], None)


def test_options_may_be_chosen() -> None:
    state = made(1, {"t": 1})

    told = described(state, describe(TOPIC, "t", ["retention.ms", "nope"]))

    assert list(told) == ["retention.ms"]


@pytest.mark.parametrize("keys", [None, []])
def test_no_choice_is_all(keys: list[str] | None) -> None:
    assert len(described(made(1, {"t": 1}), describe(TOPIC, "t", keys))) == 33


def test_synonyms_are_told_if_they_are_wanted() -> None:
    state = made(1, {"t": 1}, message_max_bytes=9)

    told = described(state, describe(TOPIC, "t", ["max.message.bytes"], synonyms=True))

    assert [
        (each.name, each.value, each.source) for each in told["max.message.bytes"].synonyms
    ] == [("message.max.bytes", "9", 4), ("message.max.bytes", "1048588", 5)]


def test_a_node_describes_itself_and_the_cluster() -> None:
    state = made(2)

    own = described(state, describe(BROKER, "2"), node=2)
    common = described(state, describe(BROKER, ""), node=2)

    assert own["node.id"].value == "2"
    assert own["node.id"].read_only
    assert own["ssl.key.password"].is_sensitive
    assert list(common) == ["min.insync.replicas"]


def test_a_node_has_no_loggers_that_could_be_described() -> None:
    assert described(made(), describe(BROKER_LOGGER, "1")) == {}


def test_groups_and_subscriptions_are_described_whether_they_are_there_or_not() -> None:
    state = made()

    assert described(state, describe(GROUP, "g"))["consumer.session.timeout.ms"].value == "45000"
    assert described(state, describe(CLIENT_METRICS, "m"))["interval.ms"].value == "300000"


@pytest.mark.parametrize(
    ("kind", "name", "error", "message"),
    [
        (TOPIC, "nope", UnknownTopicOrPartition, ""),
        (TOPIC, "", InvalidTopic, "Topic name is invalid: the empty string is not allowed"),
        (BROKER, "x", InvalidRequest, "Broker id must be an integer, but it is: x"),
        (
            BROKER,
            "2",
            InvalidRequest,
            "Unexpected broker id, expected 1 or empty string, but received 2",
        ),
        (BROKER_LOGGER, "", InvalidRequest, "Broker id must not be empty"),
        (BROKER_LOGGER, "2", InvalidRequest, "Unexpected broker id, expected 1 but received 2"),
        (CLIENT_METRICS, "", InvalidRequest, "Client metrics subscription name must not be empty"),
        (GROUP, "", InvalidRequest, "Group name must not be empty"),
    ],
)
def test_what_cannot_be_described(
    kind: int, name: str, error: type[BrokerError], message: str
) -> None:
    (result,) = call(made(), describe(kind, name)).results

    assert (result.error_code, result.error_message) == (error.code, message)
    assert (result.resource_type, result.resource_name, result.configs) == (kind, name, [])


def test_one_resource_of_an_unknown_kind_spoils_the_request() -> None:
    resources = [describe(kind, "t").resources[0] for kind in (TOPIC, UNKNOWN_KIND)]

    response = call(made(1, {"t": 1}), DescribeConfigsRequest(resources=resources))

    assert [each.error_code for each in response.results] == [InvalidRequest.code] * 2
    assert response.results[0].error_message.startswith("This most likely occurs because of")


@pytest.mark.parametrize(
    ("kind", "name", "fault"), [(TOPIC, "t", {"topic": "t"}), (GROUP, "g", {"group": "g"})]
)
def test_a_fault_concerns_what_it_names(kind: int, name: str, fault: Any) -> None:
    state = made(1, {"t": 1})
    state.faults.fail("DescribeConfigs", RequestTimedOut, **fault)

    (result,) = call(state, describe(kind, name)).results

    assert result.error_code == RequestTimedOut.code
    assert "node.id" in described(state, describe(BROKER, "1"))


# AlterConfigs, IncrementalAlterConfigs


def altered(state: State, request: Request[Any], **how: Any) -> tuple[int, str | None]:
    (response,) = call(state, request, **how).responses
    return response.error_code, response.error_message


def test_options_that_are_not_named_go_when_all_are_set() -> None:
    state = made()
    topic = state.topics.create("t", configs={"retention.ms": "5", "flush.ms": "6"})

    assert altered(state, alter(TOPIC, "t", {"flush.ms": "7"})) == (0, None)
    assert topic.configs == {"flush.ms": "7"}


def test_options_that_are_not_named_stay_when_some_are_changed() -> None:
    state = made()
    topic = state.topics.create("t", configs={"retention.ms": "5", "flush.ms": "6"})

    outcome = altered(
        state,
        change(
            TOPIC,
            "t",
            (SET, "retention.ms", "7"),
            (DELETE, "flush.ms", None),
            (APPEND, "cleanup.policy", "compact"),
        ),
    )

    assert outcome == (0, None)
    assert topic.configs == {"retention.ms": "7", "cleanup.policy": "delete,compact"}
    assert topic.is_compacted


@pytest.mark.parametrize(
    "request_",
    [
        alter(TOPIC, "t", {"retention.ms": "7"}, validate_only=True),
        change(TOPIC, "t", (SET, "retention.ms", "7"), validate_only=True),
    ],
)
def test_a_change_may_be_tried(request_: Request[Any]) -> None:
    state = made(1, {"t": 1})

    assert altered(state, request_) == (0, None)
    assert state.topics.by_name["t"].configs == {}


@pytest.mark.parametrize(
    ("name", "configs", "error", "message"),
    [
        ("t", {"nope": "1"}, InvalidConfig, "Unknown topic config name: nope"),
        (
            "t",
            {"retention.ms": "x"},
            InvalidConfig,
            "Invalid value x for configuration retention.ms: Not a number of type LONG",
        ),
        (
            "t",
            {"retention.ms": None},
            InvalidRequest,
            "Null value not supported for : retention.ms",
        ),
        ("u", {"flush.ms": "1"}, UnknownTopicOrPartition, "The topic 'u' does not exist."),
        ("u", {"nope": "1"}, InvalidConfig, "Unknown topic config name: nope"),
        ("", {}, InvalidRequest, "Default topic resources are not allowed."),
        (
            "a b",
            {},
            InvalidTopic,
            "Topic name is invalid: 'a b' contains one or more characters other than ASCII"
            " alphanumerics, '.', '_' and '-'",
        ),
    ],
)
def test_options_of_a_topic_that_cannot_be(
    name: str, configs: dict[str, str | None], error: type[BrokerError], message: str
) -> None:
    state = made(1, {"t": 1})
    changes = [(SET, option, value) for option, value in configs.items()]

    for request in (alter(TOPIC, name, configs), change(TOPIC, name, *changes)):
        assert altered(state, request) == (error.code, message)

    assert state.topics.by_name["t"].configs == {}


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            [(SUBTRACT, "retention.ms", "1")],
            InvalidConfig,
            "Can't SUBTRACT to key retention.ms because its type is not LIST.",
        ),
        (
            [(SET, "flush.ms", "1"), (DELETE, "flush.ms", None)],
            InvalidRequest,
            "Error due to duplicate config keys",
        ),
        ([(9, "flush.ms", "1")], UnknownServerError, None),
    ],
)
def test_changes_that_cannot_be(
    changes: list[tuple[int, str, str | None]], error: type[BrokerError], message: str | None
) -> None:
    state = made(1, {"t": 1})

    assert altered(state, change(TOPIC, "t", *changes)) == (error.code, message)


def test_a_resource_appears_once() -> None:
    resources = change(TOPIC, "t", (SET, "flush.ms", "1")).resources * 2
    request = IncrementalAlterConfigsRequest(resources=resources, validate_only=False)
    state = made(1, {"t": 1})

    responses = call(state, request).responses

    assert [(each.error_code, each.error_message) for each in responses] == [
        (InvalidRequest.code, "Each resource must appear at most once.")
    ] * 2
    assert state.topics.by_name["t"].configs == {}


@pytest.mark.parametrize("request_", [alter(UNKNOWN_KIND, "t", {}), change(UNKNOWN_KIND, "t")])
def test_a_resource_of_an_unknown_kind(request_: Request[Any]) -> None:
    expected = InvalidRequest.code, "Unknown resource type 77"

    assert altered(made(), request_) == expected


def test_what_is_set_for_all_nodes_reaches_the_topics() -> None:
    state = made(2, {"t": 1})

    outcome = altered(state, change(BROKER, "", (SET, "message.max.bytes", "9")))

    assert outcome == (0, None)
    assert state.topics.by_name["t"].max_message_bytes == 9
    assert state.topics.create("u").max_message_bytes == 9


def test_what_a_topic_says_is_stronger() -> None:
    state = made()
    topic = state.topics.create("t", configs={"max.message.bytes": "5"})

    altered(state, change(BROKER, "", (SET, "message.max.bytes", "9")))

    assert topic.max_message_bytes == 5


def test_options_of_the_cluster_are_all_set_anew() -> None:
    state = made()
    altered(state, change(BROKER, "", (SET, "message.max.bytes", "9")))

    configs = {"min.insync.replicas": "1", "log.retention.bytes": "5"}

    assert altered(state, alter(BROKER, "", configs)) == (0, None)
    assert state.configs.nodes[""] == configs


@pytest.mark.parametrize(
    ("name", "changes", "error", "message"),
    [
        ("x", [], InvalidRequest, "Node id must be an integer, but it is: x"),
        ("2", [], InvalidRequest, "Unexpected broker id, expected 1, but received 2"),
        (
            "1",
            [(SET, "node.id", "5")],
            InvalidRequest,
            "Cannot update these configs dynamically: [node.id]",
        ),
        ("1", [(9, "message.max.bytes", "5")], InvalidRequest, "Unknown operations type 9"),
        ("1", [(APPEND, "nope", "5")], InvalidConfig, "Unknown config name: nope"),
        (
            "1",
            [(SET, "min.insync.replicas", "5")],
            InvalidConfig,
            "Broker-level min.insync.replicas cannot be altered while ELR is enabled.",
        ),
        (
            "",
            [(DELETE, "min.insync.replicas", None)],
            InvalidConfig,
            "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.",
        ),
    ],
)
def test_options_of_a_node_that_cannot_be(
    name: str,
    changes: list[tuple[int, str, str | None]],
    error: type[BrokerError],
    message: str,
) -> None:
    state = made()

    assert altered(state, change(BROKER, name, *changes)) == (error.code, message)
    assert state.configs.nodes == {"": {"min.insync.replicas": "1"}}


def test_options_of_a_group_are_kept_and_go_with_the_last() -> None:
    state = made()

    altered(state, change(GROUP, "g", (SET, "consumer.session.timeout.ms", "50000")))
    kept = dict(state.configs.groups)
    altered(state, change(GROUP, "g", (DELETE, "consumer.session.timeout.ms", None)))

    assert kept == {"g": {"consumer.session.timeout.ms": "50000"}}
    assert state.configs.groups == {}


@pytest.mark.parametrize(
    ("name", "option", "error", "message"),
    [
        ("g", "nope", InvalidConfig, "Unknown group config name: nope"),
        ("", "nope", InvalidRequest, "Default group resources are not allowed."),
        (
            "g",
            "consumer.session.timeout.ms",
            InvalidConfig,
            "consumer.session.timeout.ms must be less than or equal to"
            " group.consumer.max.session.timeout.ms",
        ),
    ],
)
def test_options_of_a_group_that_cannot_be(
    name: str, option: str, error: type[BrokerError], message: str
) -> None:
    state = made()

    outcome = altered(state, change(GROUP, name, (SET, option, "99999")))

    assert outcome == (error.code, message)
    assert state.configs.groups == {}


def test_a_subscription_to_metrics_is_kept() -> None:
    state = made()

    assert altered(state, alter(CLIENT_METRICS, "m", {"interval.ms": "500"})) == (0, None)
    assert state.configs.metrics == {"m": {"interval.ms": "500"}}


def test_lists_of_a_subscription_are_not_made_longer() -> None:
    outcome = altered(made(), change(CLIENT_METRICS, "m", (APPEND, "metrics", "*")))

    message = "Can't APPEND to key metrics because its type is not LIST."
    assert outcome == (InvalidConfig.code, message)


@pytest.mark.parametrize(
    ("name", "changes", "error", "message"),
    [
        ("x", [], InvalidRequest, "Node id must be an integer, but it is: x"),
        ("2", [], InvalidRequest, "Unexpected node id. Expected 1, but received 2"),
        ("1", [(SET, "root", "INFO")], InvalidConfig, "Logger root does not exist!"),
        (
            "1",
            [(APPEND, "root", "INFO")],
            InvalidRequest,
            "APPEND operation is not allowed for the BROKER_LOGGER resource",
        ),
    ],
)
def test_there_are_no_loggers_to_change(
    name: str,
    changes: list[tuple[int, str, str | None]],
    error: type[BrokerError],
    message: str,
) -> None:
    assert altered(made(), change(BROKER_LOGGER, name, *changes)) == (error.code, message)


def test_nothing_may_be_changed_of_a_logger_but_not_by_setting_all() -> None:
    assert altered(made(), change(BROKER_LOGGER, "1")) == (0, None)
    assert altered(made(), alter(BROKER_LOGGER, "1", {})) == (
        InvalidRequest.code,
        "Unknown resource type 8",
    )


@pytest.mark.parametrize(
    ("api", "request_"),
    [
        ("AlterConfigs", alter(TOPIC, "t", {"flush.ms": "7"})),
        ("IncrementalAlterConfigs", change(TOPIC, "t", (SET, "flush.ms", "7"))),
    ],
)
def test_a_fault_keeps_options_as_they_are(api: str, request_: Request[Any]) -> None:
    state = made(1, {"t": 1})
    state.faults.fail(api, RequestTimedOut, topic="t")

    assert altered(state, request_) == (RequestTimedOut.code, None)
    assert state.topics.by_name["t"].configs == {}
