from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.broker.topics.partitions import NOBODY, Partition
from kafka_aio.broker.topics.topics import CONSUMER_OFFSETS, Topic, Topics, is_internal
from kafka_aio.errors import (
    BrokerError,
    InvalidConfig,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    InvalidTopic,
    PolicyViolation,
    TopicAlreadyExists,
)
from tests.unit.broker.clusters import made


def test_a_topic_is_found_by_name_and_by_id() -> None:
    topics = made(2).topics

    topic = topics.create("t", partitions=3, replication_factor=2)

    assert topics.by_name == {"t": topic}
    assert topics.by_id == {topic.id: topic}
    assert [each.replicas for each in topic.partitions] == [[1, 2], [2, 1], [1, 2]]
    assert [each.index for each in topic.partitions] == [0, 1, 2]
    assert repr(topic) == "<Topic t with 3 partitions>"


def test_numbers_that_are_not_given_are_those_of_the_broker() -> None:
    topics = made(2, num_partitions=3, default_replication_factor=2).topics

    topic = topics.create("t")

    assert [len(each.replicas) for each in topic.partitions] == [2, 2, 2]


def test_the_next_topic_is_led_by_the_next_node() -> None:
    topics = made(3).topics

    leaders = [topics.create(name).partitions[0].leader for name in ("a", "b", "c", "d")]

    assert leaders == [1, 2, 3, 1]


def test_replicas_may_be_chosen() -> None:
    topics = made(3).topics

    topic = topics.create("t", replicas=[(1, [3, 1]), (0, [2, 3])])

    assert [each.replicas for each in topic.partitions] == [[2, 3], [3, 1]]
    assert [each.leader for each in topic.partitions] == [2, 3]


def test_a_replica_that_is_down_is_not_in_sync_and_does_not_lead() -> None:
    state = made(2)
    state.node_down(1)

    topic = state.topics.create("t", replicas=[(0, [1, 2])])

    assert topic.partitions[0].leader == 2
    assert topic.partitions[0].isr == [2]


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"name": "there"}, TopicAlreadyExists, "Topic 'there' already exists."),
        (
            {"name": "a.b"},
            InvalidTopic,
            "Topic 'a.b' collides with existing topic: a_b",
        ),
        ({"name": ""}, InvalidTopic, "Topic name is invalid: the empty string is not allowed"),
        ({"configs": {"nope": "1"}}, InvalidConfig, "Unknown topic config name: nope"),
        (
            {"partitions": 0},
            InvalidPartitions,
            "Number of partitions was set to an invalid non-positive value.",
        ),
        (
            {"partitions": 0, "replication_factor": 0},
            InvalidReplicationFactor,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            {"replication_factor": 3},
            InvalidReplicationFactor,
            "Unable to replicate the partition 3 time(s): The target replication factor of 3"
            " cannot be reached because only 2 broker(s) are registered or some brokers have all"
            " their log directories cordoned.",
        ),
        (
            {"replicas": [(0, [1])], "replication_factor": 1},
            InvalidRequest,
            "A manual partition assignment was specified, but replication factor was not set"
            " to -1.",
        ),
        (
            {"replicas": [(0, [1])], "partitions": 1},
            InvalidRequest,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        ),
        (
            {"replicas": [(0, [1]), (0, [2])]},
            InvalidReplicaAssignment,
            "Found multiple manual partition assignments for partition 0",
        ),
        (
            {"replicas": [(0, [1]), (2, [2])]},
            InvalidReplicaAssignment,
            "partitions should be a consecutive 0-based integer sequence",
        ),
        (
            {"replicas": [(0, [1, 2]), (1, [2])]},
            InvalidReplicaAssignment,
            "The manual partition assignment includes a partition with 1 replica(s), but this is"
            " not consistent with previous partitions, which have 2 replica(s).",
        ),
    ],
)
def test_a_topic_that_cannot_be(how: Any, error: type[BrokerError], message: str) -> None:
    topics = made(2, {"there": 1, "a_b": 1}).topics
    before = topics.changes

    with pytest.raises(error) as raised:
        topics.create(**({"name": "t"} | how))

    assert raised.value.message == message
    assert list(topics.by_name) == ["there", "a_b"]
    assert topics.changes == before


def test_replicas_of_which_none_is_up_cannot_be_chosen() -> None:
    state = made(2)
    state.node_down(2)

    with pytest.raises(InvalidReplicaAssignment) as raised:
        state.topics.create("t", replicas=[(0, [1]), (1, [2])])

    assert raised.value.message == (
        "All brokers specified in the manual partition assignment for partition 1 are fenced or in"
        " controlled shutdown."
    )


def test_a_name_is_free_again_after_its_topic_was_deleted() -> None:
    topics = made(1, {"a.b": 1}).topics

    topics.delete(topics.by_name["a.b"])
    again = topics.create("a_b")

    assert topics.by_name == {"a_b": again}
    assert list(topics.by_id) == [again.id]


def test_a_topic_made_anew_has_another_id() -> None:
    topics = made(1, {"t": 1}).topics
    before = topics.by_name["t"]

    topics.delete(before)

    assert topics.create("t").id != before.id


def test_a_prepared_topic_is_not_there_until_it_is_added() -> None:
    topics = made().topics

    topic = topics.prepare("t")
    names = list(topics.by_name)
    topics.add(topic)

    assert names == []
    assert topics.by_name == {"t": topic}


def test_options_are_what_the_topic_says_and_else_what_the_broker_says() -> None:
    topics = made(message_max_bytes=500, log_message_timestamp_type="LogAppendTime").topics

    topic = topics.create("t", configs={"retention.ms": "7", "cleanup.policy": "compact"})

    assert topic.max_message_bytes == 500
    assert topic.timestamp_type == "LogAppendTime"
    assert topic.is_compacted
    assert topic.values["retention.ms"] == 7
    assert topic.values["delete.retention.ms"] == 86_400_000
    assert topic.configs == {"retention.ms": "7", "cleanup.policy": "compact"}


def test_segments_may_be_small_for_a_test() -> None:
    topics = made().topics

    topic = topics.create("t", configs={"internal.segment.bytes": "100"})

    assert topic.segment_bytes == 100
    assert topic.partitions[0].log.segment_bytes == 100


def test_new_options_reach_the_logs() -> None:
    topics = made(1, {"t": 1}).topics
    topic = topics.by_name["t"]

    topics.configure(topic, {"segment.bytes": "2000000", "max.message.bytes": "9"})

    assert topic.partitions[0].log.segment_bytes == 2_000_000
    assert topic.max_message_bytes == 9


def test_a_topic_grows() -> None:
    topics = made(2, {"t": 1}).topics
    topic, before = topics.by_name["t"], topics.changes

    topics.grow(topic, 3)

    assert [each.replicas for each in topic.partitions] == [[1, 2], [2, 1], [1, 2]]
    assert topics.changes == before + 1


def test_a_topic_grows_to_nodes_that_were_chosen() -> None:
    topics = made(2, {"t": 1}).topics
    topic = topics.by_name["t"]

    topics.grow(topic, 3, replicas=[[2, 1], [2, 1]])

    assert [each.leader for each in topic.partitions] == [1, 2, 2]


def test_growing_can_be_tried() -> None:
    topics = made(1, {"t": 1}).topics
    topic, before = topics.by_name["t"], topics.changes

    topics.grow(topic, 3, validate_only=True)

    assert len(topic.partitions) == 1
    assert topics.changes == before


@pytest.mark.parametrize(
    ("count", "replicas", "error", "message"),
    [
        (2, None, InvalidPartitions, "Topic already has 2 partition(s)."),
        (
            1,
            None,
            InvalidPartitions,
            "The topic t currently has 2 partition(s); 1 would not be an increase.",
        ),
        (
            4,
            [[1, 2]],
            InvalidReplicaAssignment,
            "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
        ),
        (
            3,
            [[1]],
            InvalidReplicaAssignment,
            "The manual partition assignment includes a partition with 1 replica(s), but this is"
            " not consistent with previous partitions, which have 2 replica(s).",
        ),
        (
            3,
            [[1, 9]],
            InvalidReplicaAssignment,
            "The manual partition assignment includes broker 9, but no such broker is registered.",
        ),
    ],
)
def test_growth_that_cannot_be(
    count: int, replicas: Any, error: type[BrokerError], message: str
) -> None:
    topics = made(2, {"t": 2}).topics

    with pytest.raises(error) as raised:
        topics.grow(topics.by_name["t"], count, replicas=replicas)

    assert raised.value.message == message
    assert len(topics.by_name["t"].partitions) == 2


def test_growth_to_nodes_that_are_down_cannot_be_chosen() -> None:
    state = made(2)
    topic = state.topics.create("t", replicas=[(0, [1])])
    state.node_down(2)

    with pytest.raises(InvalidReplicaAssignment, match="for partition 2 are fenced"):
        state.topics.grow(topic, 3, replicas=[[1], [2]])


class Watched:
    """Topics of two nodes, and what they say to those who wait or have committed."""

    def __init__(self) -> None:
        self.state = made(2)
        self.changed: list[Partition] = []
        self.deleted: list[Topic] = []
        self.topics = Topics(
            self.state.settings,
            self.state.rng,
            self.state.nodes,
            self.state.configs,
            changed=self.changed.append,
            deleted=self.deleted.append,
        )


def test_whoever_waits_or_has_committed_hears_of_a_deletion() -> None:
    watched = Watched()
    topic = watched.topics.create("t", partitions=2)

    watched.topics.delete(topic)

    assert watched.changed == topic.partitions
    assert [each.leader for each in topic.partitions] == [NOBODY, NOBODY]
    assert watched.deleted == [topic]
    assert watched.topics.changes == 2


def test_whoever_waits_hears_of_nodes_that_go_and_come() -> None:
    watched = Watched()
    one, other = watched.topics.create("t", replicas=[(0, [1]), (1, [2])]).partitions

    watched.state.nodes[2].is_up = False
    watched.topics.node_down(2)
    gone = list(watched.changed)
    watched.state.nodes[2].is_up = True
    watched.topics.node_up()

    assert gone == [other]
    assert watched.changed == [other, other]
    assert one.partition_epoch == 0


def test_whoever_waits_hears_of_elections() -> None:
    watched = Watched()
    (partition,) = watched.topics.create("t", replicas=[(0, [1, 2])]).partitions
    partition.lead(2)

    watched.topics.elect(partition)
    watched.state.nodes[1].is_up = False
    partition.lead(NOBODY)
    watched.topics.elect(partition, unclean=True)

    assert watched.changed == [partition, partition]
    assert partition.leader == 2


def test_whoever_waits_hears_of_other_replicas() -> None:
    watched = Watched()
    (partition,) = watched.topics.create("t", replicas=[(0, [1, 2])]).partitions

    watched.topics.reassign(partition, [1, 2])
    as_before = list(watched.changed)
    watched.topics.reassign(partition, [2])

    assert as_before == []
    assert watched.changed == [partition]
    assert partition.leader == 2


def test_other_defaults_reach_all_topics() -> None:
    state = made(1, {"a": 1})
    other = state.topics.create("b", configs={"max.message.bytes": "5"})
    state.configs.nodes["1"] = {"message.max.bytes": "7"}

    state.topics.configure_all()

    assert state.topics.by_name["a"].max_message_bytes == 7
    assert other.max_message_bytes == 5


def test_the_topic_of_offsets_is_compacted_and_as_safe_as_there_are_nodes() -> None:
    topics = made(2, offsets_topic_num_partitions=5).topics

    topic = topics.auto_create(CONSUMER_OFFSETS)

    assert len(topic.partitions) == 5
    assert topic.partitions[0].replicas == [1, 2]
    assert topic.is_internal
    assert topic.is_compacted


def test_other_topics_are_made_by_the_numbers_of_the_broker() -> None:
    topic = made(num_partitions=4).topics.auto_create("t")

    assert len(topic.partitions) == 4
    assert not topic.is_internal


@pytest.mark.parametrize(
    ("name", "internal"),
    [
        ("__consumer_offsets", True),
        ("__transaction_state", True),
        ("__share_group_state", True),
        ("__cluster_metadata", False),
        ("t", False),
    ],
)
def test_three_topics_are_kafkas_own(name: str, internal: bool) -> None:
    assert is_internal(name) == internal


def test_there_are_no_more_partitions_than_the_broker_may_have() -> None:
    topics = made(1, {"t": 3}, memory_max_logs=5).topics
    with pytest.raises(PolicyViolation, match="5 partitions at most"):
        topics.create("u", partitions=2**31 - 1)
    with pytest.raises(PolicyViolation):
        topics.grow(topics.by_name["t"], 6)
    with pytest.raises(PolicyViolation):
        topics.create("u", replicas=[(index, [1]) for index in range(3)])

    topics.create("u", partitions=2)
    topics.delete(topics.by_name["t"])
    topics.grow(topics.by_name["u"], 5)

    assert topics.partition_count == 5
