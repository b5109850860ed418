from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.admin.values import (
    ConfigChange,
    ConfigEntry,
    ConfigOperation,
    ConfigResource,
    ConfigResourceKind,
    NewPartitions,
    NewTopic,
    checked,
)
from kafka_aio.types import ConfigSource, ConfigType


def test_a_new_topic_leaves_its_numbers_to_the_broker() -> None:
    topic = NewTopic("orders")

    assert (topic.partitions, topic.replication_factor) == (-1, -1)


@pytest.mark.parametrize("numbers", [{"partitions": 1}, {"replication_factor": 1}])
def test_a_new_topic_has_numbers_or_an_assignment(numbers: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="'orders': give its assignments, or"):
        NewTopic("orders", assignments={0: [1]}, **numbers)


@pytest.mark.parametrize("total", [0, -1])
def test_a_topic_has_at_least_one_partition(total: int) -> None:
    with pytest.raises(ValueError, match=f"is from 1 to 2,147,483,647, not {total}"):
        NewPartitions(total)


def wrong(made: Any, *arguments: Any) -> str:
    with pytest.raises(TypeError) as raised:
        made(*arguments)
    return str(raised.value)


def test_a_value_of_the_wrong_type_is_named_when_it_is_made() -> None:
    assert wrong(NewTopic, 3) == "the name of a topic must be str, not int"
    assert wrong(NewPartitions, "3") == "the number of partitions must be int, not str"
    assert wrong(ConfigResource.topic, None) == "the name of a topic must be str, not NoneType"
    assert (
        wrong(ConfigResource, "topic", "orders")
        == "the kind of a resource must be ConfigResourceKind, not str"
    )
    assert wrong(ConfigChange.set, 1, "x") == "the name of an option must be str, not int"
    assert wrong(ConfigChange.append, "a", None) == "the value of a must be str, not NoneType"
    assert (
        wrong(ConfigChange, 0, "a", "x")
        == "the operation of a change must be ConfigOperation, not int"
    )


def test_a_value_is_not_shown_by_the_error_about_its_type() -> None:
    assert "secret" not in wrong(ConfigChange.set, "sasl.jaas.config", b"secret")


@pytest.mark.parametrize(
    ("change", "operation", "value"),
    [
        (ConfigChange.set("a", "x"), ConfigOperation.SET, "x"),
        (ConfigChange.append("a", "x"), ConfigOperation.APPEND, "x"),
        (ConfigChange.subtract("a", "x"), ConfigOperation.SUBTRACT, "x"),
        (ConfigChange.delete("a"), ConfigOperation.DELETE, None),
    ],
)
def test_a_change_is_made_by_the_name_of_its_operation(
    change: ConfigChange, operation: ConfigOperation, value: str | None
) -> None:
    assert (change.operation, change.name, change.value) == (operation, "a", value)


def test_the_value_of_a_change_does_not_show() -> None:
    change = ConfigChange.set("ssl.keystore.password", "hush")

    assert "hush" not in repr(change)
    assert "ssl.keystore.password" in repr(change)


def test_a_sensitive_value_is_dropped_should_a_broker_tell_it() -> None:
    synonyms = (("ssl.key.password", "hush", ConfigSource.STATIC_BROKER),)

    entry = ConfigEntry("ssl.key.password", "hush", is_sensitive=True, synonyms=synonyms)

    assert entry.value is None
    assert entry.synonyms == (("ssl.key.password", None, ConfigSource.STATIC_BROKER),)
    assert "hush" not in repr(entry)


def test_an_option_that_is_not_sensitive_keeps_its_value() -> None:
    synonyms = (("log.retention.ms", "5", ConfigSource.STATIC_BROKER),)

    entry = ConfigEntry("retention.ms", "5", ConfigSource.DEFAULT, synonyms=synonyms)

    assert (entry.value, entry.synonyms, entry.is_default) == ("5", synonyms, True)


def test_numbers_that_are_newer_than_we_are_unknown() -> None:
    assert ConfigSource(99) is ConfigSource.UNKNOWN
    assert ConfigType(-1) is ConfigType.UNKNOWN


@pytest.mark.parametrize(
    ("resource", "kind", "name", "text"),
    [
        (ConfigResource.topic("orders"), ConfigResourceKind.TOPIC, "orders", "topic orders"),
        (ConfigResource.broker(1), ConfigResourceKind.BROKER, "1", "broker 1"),
        (ConfigResource.broker(None), ConfigResourceKind.BROKER, "", "broker (default)"),
        (ConfigResource.broker_logger(2), ConfigResourceKind.BROKER_LOGGER, "2", "broker logger 2"),
        (ConfigResource.group("g"), ConfigResourceKind.GROUP, "g", "group g"),
    ],
)
def test_a_resource_is_named_in_words(
    resource: ConfigResource, kind: ConfigResourceKind, name: str, text: str
) -> None:
    assert (resource.kind, resource.name, str(resource)) == (kind, name, text)


def test_a_collection_is_taken_as_it_comes() -> None:
    assert checked("delete_topics", (name for name in "ab"), str) == ["a", "b"]
    assert checked("delete_topics", {"a": 1}, str) == ["a"]
    assert checked("create_topics", [], NewTopic) == []


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        ("orders", str, "describe takes a list of str, not one str"),
        (NewTopic("x"), NewTopic, "describe takes a list of NewTopic, not one NewTopic"),
        ("orders", NewTopic, "describe takes a list of NewTopic, not one str"),
        (["orders"], NewTopic, "each item of describe must be NewTopic, not str"),
        ([b"orders"], str, "each item of describe must be str, not bytes"),
        (b"orders", str, "each item of describe must be str, not int"),
        ([["orders"]], str, "each item of describe must be str, not list"),
        (3, str, "describe takes a list of str, not one int"),
        (None, str, "describe takes a list of str, not one NoneType"),
    ],
)
def test_what_is_no_list_of_the_right_things_is_said_so(
    given: object, kind: type, text: str
) -> None:
    assert wrong(checked, "describe", given, kind) == text


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"partitions": "3"}, TypeError),
        ({"partitions": True}, TypeError),
        ({"partitions": 2**31}, ValueError),
        ({"replication_factor": 2**15}, ValueError),
        ({"configs": ["a"]}, TypeError),
        ({"configs": {"retention.ms": 1000}}, TypeError),
        ({"assignments": [[1]]}, TypeError),
    ],
    ids=str,
)
def test_numbers_and_options_of_a_topic_are_checked(
    options: dict[str, Any], kind: type[Exception]
) -> None:
    with pytest.raises(kind, match="topic 'x': "):
        NewTopic("x", **options)
