"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs and ListConfigResources."""

from __future__ import annotations

import pytest

from kafka_aio.protocol.messages.configs import (
    AlterConfigsAlterableConfig,
    AlterConfigsAlterConfigsResource,
    AlterConfigsRequest,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    IncrementalAlterConfigsAlterableConfig,
    IncrementalAlterConfigsAlterConfigsResource,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
)
from tests.comparison.sides import Both, Side

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


def describes(
    kind: int, name: str, keys: list[str] | None = None, *, more: bool = True
) -> DescribeConfigsRequest:
    wanted = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=keys
    )
    return DescribeConfigsRequest(resources=[wanted], include_synonyms=more)


def replaces(
    kind: int, name: str, configs: dict[str, str | None], *, only_checks: bool = False
) -> AlterConfigsRequest:
    given = [AlterConfigsAlterableConfig(name=k, value=v) for k, v in configs.items()]
    wanted = AlterConfigsAlterConfigsResource(resource_type=kind, resource_name=name, configs=given)
    return AlterConfigsRequest(resources=[wanted], validate_only=only_checks)


def changes(
    kind: int, name: str, *given: tuple[str, int, str | None], only_checks: bool = False
) -> IncrementalAlterConfigsRequest:
    configs = [
        IncrementalAlterConfigsAlterableConfig(name=key, config_operation=operation, value=value)
        for key, operation, value in given
    ]
    wanted = IncrementalAlterConfigsAlterConfigsResource(
        resource_type=kind, resource_name=name, configs=configs
    )
    return IncrementalAlterConfigsRequest(resources=[wanted], validate_only=only_checks)


def settles(side: Side, topic: str, key: str, value: str) -> None:
    """Wait until the node knows what the controller has changed."""

    def is_known() -> bool:
        (result,) = side.quietly(describes(TOPIC, topic, [key])).results
        return [config.value for config in result.configs] == [value]

    side.wait(is_known)


@pytest.mark.parametrize("more", [False, True])
def test_all_configs_of_a_topic(both: Both, more: bool) -> None:
    name = both.name("configs")
    for side in both:
        side.topic(name, configs={"retention.ms": "1000", "cleanup.policy": "compact"})
        side.ask_in_each_version(describes(TOPIC, name, more=more))

    both.agree()


@pytest.mark.parametrize("keys", [[], ["retention.ms"], ["no.such.config"], ["retention.ms"] * 2])
def test_some_configs_of_a_topic(both: Both, keys: list[str]) -> None:
    name = both.name("configs")
    for side in both:
        side.topic(name)
        side.ask_in_each_version(describes(TOPIC, name, keys))

    both.agree()


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (TOPIC, "nowhere"),
        (TOPIC, ""),
        (TOPIC, "a/b"),
        (BROKER, "99"),
        (BROKER, "one"),
        (BROKER, ""),
        (LOGGER, "99"),
        (LOGGER, ""),
        (METRICS, ""),
        (METRICS, "some"),
        (GROUP, ""),
        (GROUP, "some"),
        (0, "x"),
        (3, "x"),
        (-1, "x"),
    ],
)
def test_configs_of_other_resources(both: Both, kind: int, name: str) -> None:
    for side in both:
        side.ask_in_each_version(describes(kind, name))

    both.agree()


# `num.partitions` would differ: the embedded broker does not remember that it was told a default.
def test_some_configs_of_a_broker(both: Both) -> None:
    keys = [
        "delete.topic.enable",
        "message.max.bytes",
        "auto.create.topics.enable",
        "compression.type",
    ]
    for side in both:
        side.ask_in_each_version(describes(BROKER, "1", keys, more=False))

    both.agree()


@pytest.mark.parametrize(
    "configs",
    [
        {"retention.ms": "5000"},
        {},
        {"retention.ms": None},
        {"retention.ms": "many"},
        {"retention.ms": "-2"},
        {"no.such.config": "1"},
        {"cleanup.policy": "compact, delete"},
        {"cleanup.policy": "forget"},
    ],
    ids=str,
)
def test_configs_are_replaced(both: Both, configs: dict[str, str | None]) -> None:
    name = both.name("configs")
    for side in both:
        side.topic(name)
        side.ask_in_each_version(replaces(TOPIC, name, configs, only_checks=True))

    both.agree()


def test_what_is_left_out_goes_back_to_its_default(both: Both) -> None:
    name = both.name("configs")
    for side in both:
        side.topic(name, configs={"retention.ms": "1000"})
        side.ask(replaces(TOPIC, name, {"retention.bytes": "5000"}))
        settles(side, name, "retention.bytes", "5000")
        side.ask(describes(TOPIC, name))

    both.agree()


@pytest.mark.parametrize(
    "given",
    [
        [("retention.ms", SET, "5000")],
        [("retention.ms", SET, None)],
        [("retention.ms", SET, "many")],
        [("retention.ms", DELETE, None)],
        [("retention.ms", DELETE, "5")],
        [("retention.ms", APPEND, "5")],
        [("retention.ms", SUBTRACT, "5")],
        [("retention.ms", SET, "5"), ("retention.ms", SET, "6")],
        [("cleanup.policy", APPEND, "compact")],
        [("cleanup.policy", APPEND, "delete")],
        [("cleanup.policy", APPEND, "forget")],
        [("cleanup.policy", APPEND, None)],
        [("cleanup.policy", SUBTRACT, "delete")],
        [("cleanup.policy", SUBTRACT, "compact")],
        [("no.such.config", SET, "1")],
        [("no.such.config", DELETE, None)],
        [("no.such.config", APPEND, "1")],
        [],
    ],
    ids=str,
)
def test_configs_are_changed(both: Both, given: list[tuple[str, int, str | None]]) -> None:
    name = both.name("configs")
    for side in both:
        side.topic(name)
        side.ask_in_each_version(changes(TOPIC, name, *given, only_checks=True))

    both.agree()


@pytest.mark.parametrize("operation", [4, -1])
def test_an_operation_that_does_not_exist(both: Both, operation: int) -> None:
    name = both.name("configs")
    for side in both:
        side.topic(name)
        side.ask(changes(TOPIC, name, ("retention.ms", operation, "5"), only_checks=True))
        # Kafka's controller resigns over it, and is elected again.
        good = changes(TOPIC, name, ("retention.ms", SET, "5"), only_checks=True)
        side.until(lambda answer: answer.responses[0].error_code == 0, good)

    both.agree()


def test_what_a_change_does(both: Both) -> None:
    name = both.name("configs")
    for side in both:
        side.topic(name, configs={"retention.ms": "1000"})
        given = [("cleanup.policy", APPEND, "compact"), ("retention.ms", DELETE, None)]
        side.ask(changes(TOPIC, name, *given))
        settles(side, name, "cleanup.policy", "delete,compact")
        side.ask(describes(TOPIC, name))

    both.agree()


@pytest.mark.parametrize(
    ("kind", "name", "key"),
    [
        (TOPIC, "nowhere", "retention.ms"),
        (TOPIC, "", "retention.ms"),
        (TOPIC, "a/b", "retention.ms"),
        (BROKER, "99", "log.retention.ms"),
        (BROKER, "one", "log.retention.ms"),
        (BROKER, "1", "num.partitions"),
        (BROKER, "1", "no.such.config"),
        (LOGGER, "99", "root"),
        (METRICS, "", "interval.ms"),
        (METRICS, "some", "interval.ms"),
        (METRICS, "some", "no.such.config"),
        (GROUP, "", "consumer.session.timeout.ms"),
        (GROUP, "some", "consumer.session.timeout.ms"),
        (GROUP, "some", "no.such.config"),
        (0, "x", "retention.ms"),
        (3, "x", "retention.ms"),
    ],
)
def test_changes_of_other_resources(both: Both, kind: int, name: str, key: str) -> None:
    for side in both:
        side.ask_in_each_version(changes(kind, name, (key, SET, "50000"), only_checks=True))
        side.ask_in_each_version(replaces(kind, name, {key: "50000"}, only_checks=True))

    both.agree()


# With AlterConfigs, Kafka 4.3.1 fails while it counts the errors of its own answer (Duplicate key),
# and never answers.
def test_a_resource_that_is_named_twice(both: Both) -> None:
    name = both.name("configs")
    for side in both:
        side.topic(name)
        (twice,) = changes(TOPIC, name, ("retention.ms", SET, "5000")).resources
        side.ask_in_each_version(
            IncrementalAlterConfigsRequest(resources=[twice, twice], validate_only=False)
        )

    both.agree()


@pytest.mark.parametrize("kinds", [[BROKER], [LOGGER], [3], [0], [BROKER, 5]], ids=str)
def test_resources(both: Both, kinds: list[int]) -> None:
    for side in both:
        side.ask_in_each_version(ListConfigResourcesRequest(resource_types=kinds))

    both.agree()


def test_resources_that_are_told_to_old_clients(both: Both) -> None:
    for side in both:
        side.ask(ListConfigResourcesRequest(), 0)

    both.agree()
