from __future__ import annotations

import re
from typing import Any

import pytest

from kafka_aio.broker.configs.broker import BROKER_OPTIONS
from kafka_aio.broker.settings import Settings, kafka_names
from kafka_aio.errors import ConfigError


def test_texts_are_read_as_a_broker_would_read_them() -> None:
    settings = Settings.from_kafka(
        {
            "num.partitions": " 3 ",
            "auto.create.topics.enable": "FALSE",
            "log.cleanup.policy": "compact, delete",
            "log.retention.bytes": "-1",
        }
    )

    assert settings == Settings(
        num_partitions=3,
        auto_create_topics_enable=False,
        log_cleanup_policy=("compact", "delete"),
        log_retention_bytes=-1,
    )


def test_typed_values_and_our_own_spelling_are_taken_too() -> None:
    settings = Settings.from_kafka({"num_partitions": 3, "group.consumer.assignors": ["range"]})

    assert settings == Settings(num_partitions=3, group_consumer_assignors=("range",))


def test_an_unknown_name_is_refused_with_those_that_are_near() -> None:
    expected = (
        "'num.partition' is no option of the embedded broker:"
        " did you mean num.partitions or offsets.topic.num.partitions?"
    )

    with pytest.raises(ConfigError, match=re.escape(expected)):
        Settings.from_kafka({"num.partition": 3})


@pytest.mark.parametrize("name", ["zzz", 7, None])
def test_a_name_that_is_near_to_nothing_is_refused(name: Any) -> None:
    with pytest.raises(ConfigError, match="is no option of the embedded broker: Settings has"):
        Settings.from_kafka({name: 3})


def test_an_option_is_given_once() -> None:
    with pytest.raises(ConfigError, match="num_partitions is given twice"):
        Settings.from_kafka({"num.partitions": 3, "num_partitions": 3})


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("num_partitions", 0),
        ("num_partitions", "3"),
        ("num_partitions", True),
        ("default_replication_factor", 2**15),
        ("log_message_timestamp_type", "createtime"),
        ("compression_type", "none"),
        ("log_cleanup_policy", ("shrink",)),
        ("group_consumer_assignors", ()),
        ("auto_create_topics_enable", "yes"),
    ],
)
def test_a_value_that_is_not_of_its_kind_is_refused(option: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"^{option} must be"):
        Settings(**{option: value})


def test_a_text_that_is_no_number_is_refused_under_the_name_that_was_given() -> None:
    with pytest.raises(ConfigError, match=r"^num\.partitions must be a whole number"):
        Settings.from_kafka({"num.partitions": "many"})


def test_all_settings_but_the_bounds_of_memory_are_options_of_kafka() -> None:
    assert set(kafka_names()) - set(BROKER_OPTIONS) == {
        "memory.max.bytes",
        "memory.max.logs",
        "memory.max.producers",
        "memory.max.session.partitions",
        "memory.max.state.bytes",
    }
