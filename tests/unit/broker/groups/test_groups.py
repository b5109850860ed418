import pytest

from kafka_aio.broker.groups.classic import ClassicGroup
from kafka_aio.broker.groups.classic_membership import Phase
from kafka_aio.broker.groups.consumer import ConsumerGroup
from kafka_aio.broker.groups.group import Group
from kafka_aio.broker.groups.java import partition_of
from kafka_aio.broker.groups.offsets import Committed, Offsets
from kafka_aio.broker.state import State
from kafka_aio.errors import GroupIdNotFound
from kafka_aio.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.unit.broker.clusters import call, made, pass_time
from tests.unit.broker.groups.classic import (
    completing,
    heartbeat,
    leave,
    membership,
    stable,
    sync,
)

DAY = 86_400.0


def committed(offset: int = 5, *, at: float = 0.0) -> Committed:
    return Committed(offset=offset, leader_epoch=-1, metadata="", at=at, expires_at=None)


def commit(state: State, topic: str = "t", *, now: float = 0.0, retention_ms: int = -1) -> None:
    request = OffsetCommitRequest(
        group_id="g",
        member_id="",
        retention_time_ms=retention_ms,
        topics=[
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=0, committed_offset=1, committed_metadata=None
                    )
                ],
            )
        ],
    )
    answer = call(state, request, version=4, now=now)
    assert answer.topics[0].partitions[0].error_code == 0


def known(group: Group) -> str:
    """Both kinds are a `Group`: the type checker looks at this."""
    return group.id


# Coordinators


def test_the_topic_of_the_offsets_is_made_on_first_need() -> None:
    state = made(offsets_topic_num_partitions=50)
    assert "__consumer_offsets" not in state.topics.by_name

    assert state.groups.coordinator_of("g") == 1

    topic = state.topics.by_name["__consumer_offsets"]
    assert len(topic.partitions) == 50
    assert topic.is_internal


def test_a_group_belongs_to_the_leader_of_its_partition() -> None:
    state = made(nodes=3, offsets_topic_num_partitions=50)

    found = {group: state.groups.coordinator_of(group) for group in ("a", "b", "c", "d")}

    partitions = state.topics.by_name["__consumer_offsets"].partitions
    assert found == {group: partitions[partition_of(group, 50)].leader for group in found}
    assert len(set(found.values())) > 1


# Two kinds


def test_a_group_is_made_if_it_may_be() -> None:
    groups = made().groups
    with pytest.raises(GroupIdNotFound, match="Group g not found"):
        groups.classic("g")
    with pytest.raises(GroupIdNotFound, match="Group g not found"):
        groups.consumer("g")

    made_now = groups.classic("g", create=True)

    assert groups.classic("g") is made_now
    assert known(made_now) == "g"
    with pytest.raises(GroupIdNotFound, match="Group g is not a consumer group"):
        groups.consumer("g")


def test_an_empty_group_becomes_one_of_the_other_kind_and_keeps_its_offsets() -> None:
    groups = made(topics={"t": 1}).groups
    groups.classic("g", create=True).offsets.put("t", 0, committed())

    consumer = groups.consumer("g", create=True)
    assert isinstance(consumer, ConsumerGroup)
    assert consumer.offsets.get("t", 0) == committed()
    assert known(consumer) == "g"

    classic = groups.classic("g", create=True)
    assert isinstance(classic, ClassicGroup)
    assert classic.offsets.get("t", 0) == committed()


def test_a_group_with_members_stays_what_it_is() -> None:
    state = made()
    [first] = stable(state)

    with pytest.raises(GroupIdNotFound, match="Group g is not a consumer group"):
        state.groups.consumer("g", create=True)
    assert heartbeat(state, first, 1) == 0


# What is forgotten


def test_offsets_of_a_deleted_topic_are_forgotten() -> None:
    state = made(topics={"t": 1, "u": 1})
    commit(state, "t")
    commit(state, "u")

    state.topics.delete(state.topics.by_name["t"])

    assert list(state.groups.get("g").offsets.by_topic) == ["u"]


def test_offsets_of_a_lone_consumer_are_forgotten_a_week_after_their_commit() -> None:
    state = made(topics={"t": 1, "u": 1})
    commit(state, "t")
    commit(state, "u", now=DAY)
    pass_time(state, now=7 * DAY - 1)
    assert list(state.groups.get("g").offsets.by_topic) == ["t", "u"]

    pass_time(state, now=7 * DAY + 600)

    assert list(state.groups.get("g").offsets.by_topic) == ["u"]


def test_a_group_without_offsets_and_members_is_forgotten_too() -> None:
    state = made(topics={"t": 1})
    commit(state)

    pass_time(state, now=8 * DAY)

    assert not state.groups.by_id
    assert state.agenda.next_at == float("inf")


def test_offsets_of_a_group_are_kept_until_a_week_after_the_last_member_left() -> None:
    state = made(topics={"t": 1})
    [first] = stable(state, session=1800.0)
    state.groups.get("g").offsets.put("t", 0, committed())
    leave(state, first, now=10.0)
    state.groups.classic("g").check_commit("", -1, None, version=9, partitions=[("t", 0)])
    pass_time(state, now=7 * DAY + 9)
    assert len(state.groups.get("g").offsets) == 1

    pass_time(state, now=7 * DAY + 610)

    assert "g" not in state.groups.by_id


def test_members_keep_the_offsets_of_their_topics_but_not_of_others() -> None:
    state = made(topics={"t": 1, "u": 1}, offsets_retention_minutes=1)
    [first] = stable(state, session=1800.0)
    offsets = state.groups.get("g").offsets
    offsets.put("t", 0, committed())
    offsets.put("u", 0, committed())
    heartbeat(state, first, 1)

    pass_time(state, now=600.0)

    assert list(offsets.by_topic) == ["t"]


@pytest.mark.parametrize("is_stable", [True, False])
def test_all_offsets_stay_while_nobody_knows_what_the_members_use(is_stable: bool) -> None:
    state = made(topics={"u": 1}, offsets_retention_minutes=1)
    [first] = completing(state, protocol_type="connect", session=1800.0, rebalance=1800.0)
    offsets = state.groups.get("g").offsets
    offsets.put("u", 0, committed())
    if is_stable:
        sync(state, first, 1, protocol_type="connect")
    assert membership(state).phase is (Phase.STABLE if is_stable else Phase.COMPLETING)

    pass_time(state, now=600.0)

    assert list(offsets.by_topic) == ["u"]


def test_a_retention_that_the_client_asked_for_is_the_one_that_counts() -> None:
    state = made(topics={"t": 1})
    commit(state, retention_ms=60_000)
    commit(state, retention_ms=60_000, now=1.0)
    pass_time(state, now=599.0)
    assert "g" in state.groups.by_id

    pass_time(state, now=601.0)

    assert "g" not in state.groups.by_id


def test_a_new_commit_replaces_the_old_one() -> None:
    offsets = Offsets()
    offsets.put("t", 0, committed(1))
    offsets.put("t", 1, committed(2))
    offsets.put("t", 0, committed(3))

    assert [(topic, index, each.offset) for topic, index, each in offsets] == [
        ("t", 0, 3),
        ("t", 1, 2),
    ]
    assert repr(offsets) == "<Offsets of 2 partitions>"


def test_forgetting_what_is_not_there_does_no_harm() -> None:
    offsets = Offsets()
    offsets.put("t", 0, committed())

    offsets.forget("t", 1)
    offsets.forget("u", 0)
    offsets.forget_topic("u")

    assert len(offsets) == 1
    offsets.forget("t", 0)
    assert offsets.by_topic == {}


def test_groups_outlive_the_topic_that_they_are_coordinated_by() -> None:
    state = made()
    stable(state)

    state.topics.delete(state.topics.by_name["__consumer_offsets"])

    assert "__consumer_offsets" not in state.topics.by_name
    assert state.groups.coordinator_of("g") == 1
    assert "g" in state.groups.by_id
