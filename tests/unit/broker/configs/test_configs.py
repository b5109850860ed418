"""What an option is, and where its value comes from."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.broker.configs.configs import CLUSTER, Configs, Entry, Synonym
from kafka_aio.broker.configs.options import Source, Type
from tests.unit.broker.clusters import made


def configs(nodes: int = 1, **settings: Any) -> Configs:
    return made(nodes, **settings).configs


def by_name(entries: list[Entry]) -> dict[str, Entry]:
    return {entry.option.name: entry for entry in entries}


def test_a_default_of_kafka_is_told_with_the_name_that_the_broker_has_for_it() -> None:
    entry = by_name(configs().topic({}, 1))["delete.retention.ms"]

    synonym = Synonym("log.cleaner.delete.retention.ms", "86400000", Source.DEFAULT)
    assert (entry.value, entry.source) == ("86400000", Source.DEFAULT)
    assert entry.synonyms == [synonym]
    assert entry.option.type is Type.LONG


def test_a_setting_that_is_not_kafkas_default_is_static() -> None:
    entry = by_name(configs(message_max_bytes=7).topic({}, 1))["max.message.bytes"]

    assert (entry.value, entry.source) == ("7", Source.STATIC_BROKER)
    assert entry.synonyms == [
        Synonym("message.max.bytes", "7", Source.STATIC_BROKER),
        Synonym("message.max.bytes", "1048588", Source.DEFAULT),
    ]


def test_each_place_is_stronger_than_the_next() -> None:
    kept = configs(message_max_bytes=4)
    kept.nodes[CLUSTER]["message.max.bytes"] = "3"
    kept.nodes["1"] = {"message.max.bytes": "2"}

    entry = by_name(kept.topic({"max.message.bytes": " 1 "}, 1))["max.message.bytes"]

    assert (entry.value, entry.source) == ("1", Source.TOPIC)
    assert [(each.value, each.source) for each in entry.synonyms] == [
        ("1", Source.TOPIC),
        ("2", Source.DYNAMIC_BROKER),
        ("3", Source.DYNAMIC_DEFAULT_BROKER),
        ("4", Source.STATIC_BROKER),
        ("1048588", Source.DEFAULT),
    ]


def test_what_is_set_for_one_node_is_not_told_by_another() -> None:
    kept = configs(2)
    kept.nodes["1"] = {"message.max.bytes": "2"}

    assert by_name(kept.topic({}, 1))["max.message.bytes"].value == "2"
    assert by_name(kept.topic({}, 2))["max.message.bytes"].value == "1048588"


def test_the_least_number_in_sync_is_set_for_the_cluster() -> None:
    entry = by_name(configs(min_insync_replicas=2).topic({}, 1))["min.insync.replicas"]

    assert (entry.value, entry.source) == ("2", Source.DYNAMIC_DEFAULT_BROKER)


def test_an_option_in_another_unit_gives_the_value_but_is_no_synonym_before_the_first() -> None:
    kept = configs()
    kept.nodes[CLUSTER]["log.roll.hours"] = "2"

    entry = by_name(kept.topic({}, 1))["segment.ms"]

    assert entry.value == "7200000"
    assert entry.synonyms == []
    assert entry.source is Source.DEFAULT


def test_synonyms_in_other_units_follow_the_first() -> None:
    kept = configs()
    kept.nodes[CLUSTER]["log.retention.ms"] = "5"

    entry = by_name(kept.topic({}, 1))["retention.ms"]

    assert entry.synonyms == [
        Synonym("log.retention.ms", "5", Source.DYNAMIC_DEFAULT_BROKER),
        Synonym("log.retention.hours", "168", Source.DEFAULT),
    ]


def test_an_internal_option_is_told_only_if_it_is_set() -> None:
    kept = configs()

    assert "internal.segment.bytes" not in by_name(kept.topic({}, 1))
    assert by_name(kept.topic({"internal.segment.bytes": "9"}, 1))["internal.segment.bytes"].value


def test_who_makes_a_topic_is_told_the_text_as_it_was_given() -> None:
    entry = by_name(configs().new_topic({"retention.ms": " 5 "}, 1))["retention.ms"]

    assert (entry.value, entry.source) == (" 5 ", Source.TOPIC)


def test_what_is_set_for_the_only_node_has_an_effect_on_topics() -> None:
    alone, together = configs(1), configs(2)
    for kept in (alone, together):
        kept.nodes["1"] = {"message.max.bytes": "2"}

    assert alone.topic_values({})["max.message.bytes"] == 2
    assert together.topic_values({})["max.message.bytes"] == 1_048_588


def test_values_have_their_types() -> None:
    values = configs().topic_values({"cleanup.policy": "compact,delete"})

    assert values["cleanup.policy"] == ("compact", "delete")
    assert values["min.cleanable.dirty.ratio"] == 0.5
    assert values["preallocate"] is False
    assert values["retention.ms"] == 604_800_000
    assert "internal.segment.bytes" not in values


def test_a_node_tells_all_its_options() -> None:
    kept = configs(2, num_partitions=3)
    kept.nodes["2"] = {"log.retention.bytes": "9"}

    entries = kept.node(2)

    told = by_name(entries)
    assert len(entries) == len(told) == 340
    assert (told["node.id"].value, told["node.id"].source) == ("2", Source.STATIC_BROKER)
    assert told["broker.rack"].value == "rack-2"
    assert told["num.partitions"].value == "3"
    assert told["num.partitions"].is_read_only
    assert not told["log.retention.bytes"].is_read_only
    assert told["log.retention.bytes"].source is Source.DYNAMIC_BROKER
    assert (told["log.retention.ms"].value, told["log.retention.ms"].synonyms) == (None, [])
    assert told["log.retention.hours"].value == "168"


def test_a_node_has_no_rack_unless_it_was_given_one() -> None:
    state = made()
    state.nodes[1].rack = None

    entry = by_name(state.configs.node(1))["broker.rack"]

    assert (entry.value, entry.source) == (None, Source.DEFAULT)


def test_what_only_its_user_knows_is_hidden() -> None:
    kept = configs()
    kept.nodes["1"] = {"my.plugin.password": "secret"}
    kept.nodes[CLUSTER]["my.plugin.password"] = "older secret"

    (entry,) = (each for each in kept.node(1) if each.option.name == "my.plugin.password")

    assert entry.value is None
    assert entry.synonyms == [
        Synonym("my.plugin.password", None, Source.DYNAMIC_BROKER),
        Synonym("my.plugin.password", None, Source.DYNAMIC_DEFAULT_BROKER),
    ]
    assert entry.option.is_sensitive
    assert entry.is_read_only


def test_a_password_is_hidden_with_its_synonyms() -> None:
    kept = configs()
    kept.nodes["1"] = {"sasl.jaas.config": "secret"}

    entry = by_name(kept.node(1))["sasl.jaas.config"]

    assert entry.value is None
    assert entry.synonyms == [Synonym("sasl.jaas.config", None, Source.DYNAMIC_BROKER)]


def test_of_the_cluster_only_what_is_set_is_told() -> None:
    kept = configs()
    kept.nodes[CLUSTER].update({"log.retention.bytes": "9", "mine": "x"})

    told = by_name(kept.cluster())

    assert set(told) == {"min.insync.replicas", "log.retention.bytes", "mine"}
    assert told["log.retention.bytes"].synonyms == [
        Synonym("log.retention.bytes", "9", Source.DYNAMIC_DEFAULT_BROKER)
    ]
    assert told["mine"].value is None


def test_a_group_has_options_of_its_own_and_those_of_the_broker() -> None:
    kept = configs(group_consumer_heartbeat_interval_ms=700)
    kept.groups["g"] = {"consumer.session.timeout.ms": "50000"}

    told = by_name(kept.group("g", 1))

    assert len(told) == 17
    session, heartbeat = told["consumer.session.timeout.ms"], told["consumer.heartbeat.interval.ms"]
    assert (session.value, session.source) == ("50000", Source.GROUP)
    assert [each.value for each in session.synonyms] == ["50000", "45000"]
    assert (heartbeat.value, heartbeat.source) == ("700", Source.STATIC_BROKER)
    assert told["share.isolation.level"].synonyms == [
        Synonym("share.isolation.level", "read_uncommitted", Source.DEFAULT)
    ]


@pytest.mark.parametrize(
    ("group", "name", "value"),
    [
        ("g", "consumer.session.timeout.ms", 50_000),
        ("other", "consumer.session.timeout.ms", 45_000),
        ("g", "consumer.heartbeat.interval.ms", 700),
        ("g", "share.renew.acknowledge.enable", True),
    ],
)
def test_the_value_of_an_option_of_a_group(group: str, name: str, value: object) -> None:
    kept = configs(group_consumer_heartbeat_interval_ms=700)
    kept.groups["g"] = {"consumer.session.timeout.ms": "50000"}

    assert kept.group_value(group, name) == value


def test_a_subscription_has_options_whether_it_is_there_or_not() -> None:
    kept = configs()
    kept.metrics["mine"] = {"interval.ms": "500"}

    mine, other = by_name(kept.subscription("mine")), by_name(kept.subscription("other"))

    assert (mine["interval.ms"].value, mine["interval.ms"].source) == ("500", Source.CLIENT_METRICS)
    assert (other["interval.ms"].value, other["interval.ms"].source) == ("300000", Source.DEFAULT)
