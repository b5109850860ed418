from __future__ import annotations

import pytest

from kafka_aio.broker.configs.changes import (
    Change,
    Operation,
    changed,
    check_broker_changes,
    check_broker_configs,
    check_min_isr,
)
from kafka_aio.broker.configs.configs import CLUSTER
from kafka_aio.broker.configs.topic import TOPIC_OPTIONS
from kafka_aio.errors import InvalidConfig, InvalidRequest

SET, DELETE, APPEND, SUBTRACT = Operation


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        ({}, Change(SET, "retention.ms", "5"), {"retention.ms": "5"}),
        ({"retention.ms": "4"}, Change(SET, "retention.ms", "5"), {"retention.ms": "5"}),
        ({"retention.ms": "4"}, Change(DELETE, "retention.ms"), {}),
        ({"flush.ms": "4"}, Change(DELETE, "retention.ms"), {"flush.ms": "4"}),
        ({}, Change(SET, "nope", "5"), {"nope": "5"}),
        ({}, Change(APPEND, "cleanup.policy", "compact"), {"cleanup.policy": "delete,compact"}),
        (
            {"cleanup.policy": "compact"},
            Change(APPEND, "cleanup.policy", "delete,compact"),
            {"cleanup.policy": "compact,delete"},
        ),
        ({}, Change(SUBTRACT, "cleanup.policy", "delete"), {"cleanup.policy": ""}),
        ({"cleanup.policy": ""}, Change(APPEND, "cleanup.policy", "x"), {"cleanup.policy": "x"}),
        ({}, Change(SET, "nope", "x" * 32_767), {"nope": "x" * 32_767}),
        (
            {"cleanup.policy": "compact,delete"},
            Change(SUBTRACT, "cleanup.policy", "compact,nope"),
            {"cleanup.policy": "delete"},
        ),
    ],
)
def test_a_change_makes_something_of_what_is_set(
    before: dict[str, str], change: Change, after: dict[str, str]
) -> None:
    kept = dict(before)

    assert changed(before, [change], TOPIC_OPTIONS) == after
    assert before == kept


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            Change(APPEND, "retention.ms", "1"),
            "Can't APPEND to key retention.ms because its type is not LIST.",
        ),
        (
            Change(SUBTRACT, "nope", "1"),
            "Can't SUBTRACT to key nope because its type is not LIST.",
        ),
        (
            Change(SET, "retention.ms", "1" * 32_768),
            "The configuration value cannot be added because it exceeds the maximum value size of"
            " 32767 bytes.",
        ),
    ],
)
def test_a_change_that_cannot_be(change: Change, message: str) -> None:
    with pytest.raises(InvalidConfig) as raised:
        changed({}, [change], TOPIC_OPTIONS)

    assert raised.value.message == message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (Change(APPEND, "nope", "1"), "Unknown config name: nope"),
        (
            Change(APPEND, "message.max.bytes", "1"),
            "Config value append is not allowed for config key: message.max.bytes",
        ),
        (
            Change(SUBTRACT, "message.max.bytes", "1"),
            "Config value subtract is not allowed for config key: message.max.bytes",
        ),
    ],
)
def test_only_lists_of_the_broker_are_made_longer_or_shorter(change: Change, message: str) -> None:
    with pytest.raises(InvalidConfig) as raised:
        check_broker_changes([change])

    assert raised.value.message == message


def test_lists_of_the_broker_may_be_longer_and_everything_may_be_set() -> None:
    check_broker_changes([Change(APPEND, "log.cleanup.policy", "compact"), Change(SET, "nope", "")])


@pytest.mark.parametrize("for_node", [True, False])
def test_options_of_all_nodes_and_of_plugins_may_be_set(for_node: bool) -> None:
    check_broker_configs({"message.max.bytes": "5", "my.plugin": "x"}, for_node=for_node)


def test_options_of_a_listener_may_be_set_for_one_node() -> None:
    check_broker_configs({"listeners": "PLAINTEXT://:9092"}, for_node=True)


@pytest.mark.parametrize(
    ("configs", "for_node", "message"),
    [
        (
            {"num.partitions": "1", "node.id": "2"},
            True,
            "Cannot update these configs dynamically: [node.id, num.partitions]",
        ),
        (
            {"ssl.keystore.type": "JKS"},
            True,
            "These security configs can be dynamically updated only per-listener using the listener"
            " prefix: [ssl.keystore.type]",
        ),
        (
            {"message.max.bytes": "-1"},
            True,
            "Invalid value -1 for configuration message.max.bytes: Value must be at least 0",
        ),
        (
            {"listeners": "PLAINTEXT://:9092"},
            False,
            "Cannot update these configs at default cluster level, broker id must be specified:"
            " [listeners]",
        ),
    ],
)
def test_options_of_the_broker_that_cannot_be_set(
    configs: dict[str, str], for_node: bool, message: str
) -> None:
    with pytest.raises(InvalidRequest) as raised:
        check_broker_configs(configs, for_node=for_node)

    assert raised.value.message == message


@pytest.mark.parametrize("operation", [SET, DELETE])
def test_the_least_number_in_sync_is_not_for_one_node(operation: Operation) -> None:
    with pytest.raises(InvalidConfig) as raised:
        check_min_isr("1", [Change(operation, "min.insync.replicas", "1")], {})

    expected = "Broker-level min.insync.replicas cannot be altered while ELR is enabled."
    assert raised.value.message == expected


def test_the_least_number_in_sync_stays_set_for_the_cluster() -> None:
    with pytest.raises(InvalidConfig) as raised:
        check_min_isr(CLUSTER, [], {"message.max.bytes": "1"})

    expected = "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
    assert raised.value.message == expected


def test_the_least_number_in_sync_may_be_another_for_the_cluster() -> None:
    check_min_isr(CLUSTER, [Change(SET, "min.insync.replicas", "2")], {"min.insync.replicas": "2"})
