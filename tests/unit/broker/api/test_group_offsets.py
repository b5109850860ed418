from typing import Any

import pytest

from kafka_aio.broker.state import State
from kafka_aio.errors import (
    BrokerError,
    GroupIdNotFound,
    GroupSubscribedToTopic,
    InvalidGroupId,
    NonEmptyGroup,
    NotCoordinator,
    UnknownMemberId,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from kafka_aio.protocol.messages.offsets import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from kafka_aio.protocol.schema import NO_UUID
from tests.unit.broker.api.offsets import STRANGE, commit, fetched, id_of
from tests.unit.broker.clusters import call, made
from tests.unit.broker.groups.classic import (
    join,
    leave,
    new_id,
    stable,
)

# Fetch


@pytest.mark.parametrize("version", range(1, 8))
def test_one_group_is_fetched_in_older_versions(version: int) -> None:
    state = made(topics={"t": 2})
    commit(state, {"t": {0: 5}}, metadata="note", leader_epoch=3)
    request = OffsetFetchRequest(
        group_id="g", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])]
    )

    answer = call(state, request, version=version)

    assert answer.error_code == 0
    [topic] = answer.topics
    found, missing = topic.partitions
    assert (topic.name, found.committed_offset, found.metadata) == ("t", 5, "note")
    assert found.committed_leader_epoch == (3 if version >= 5 else -1)
    assert (missing.committed_offset, missing.metadata, missing.error_code) == (-1, "", 0)


@pytest.mark.parametrize("version", range(8, 11))
def test_several_groups_are_fetched_in_newer_versions(version: int) -> None:
    state = made(topics={"t": 2})
    commit(state, {"t": {0: 5}}, metadata=None, leader_epoch=3)
    topic = OffsetFetchRequestTopics(
        name="t" if version < 10 else "",
        topic_id=NO_UUID if version < 10 else id_of(state, "t"),
        partition_indexes=[0, 1],
    )
    request = OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(group_id=group, topics=topics)
            for group, topics in (("g", [topic]), ("missing", [topic]), ("g", None), ("no", None))
        ]
    )

    answer = call(state, request, version=version)

    assert [(each.group_id, each.error_code) for each in answer.groups] == [
        ("g", 0),
        ("missing", 0),
        ("g", 0),
        ("no", 0),
    ]
    found, missing, everything, nothing = (each.topics for each in answer.groups)
    assert [
        (each.committed_offset, each.committed_leader_epoch, each.metadata)
        for each in found[0].partitions
    ] == [(5, 3, ""), (-1, -1, "")]
    assert [each.committed_offset for each in missing[0].partitions] == [-1, -1]
    assert [each.partition_index for each in everything[0].partitions] == [0]
    assert (everything[0].name, everything[0].topic_id) == (
        ("t", NO_UUID) if version < 10 else ("", id_of(state, "t"))
    )
    assert nothing == []


@pytest.mark.parametrize("version", range(2, 8))
def test_all_topics_of_one_group_are_fetched_in_older_versions(version: int) -> None:
    state = made(topics={"t": 1, "u": 1})
    commit(state, {"u": {0: 1}, "t": {0: 2}})

    answer = call(state, OffsetFetchRequest(group_id="g", topics=None), version=version)

    assert [(each.name, each.partitions[0].committed_offset) for each in answer.topics] == [
        ("u", 1),
        ("t", 2),
    ]


def test_a_topic_that_does_not_exist_has_no_offsets_and_an_id_is_an_error() -> None:
    state = made(topics={"t": 1})
    commit(state, {"t": {0: 5}})
    by_name = OffsetFetchRequestGroup(
        group_id="g", topics=[OffsetFetchRequestTopics(name="u", partition_indexes=[0])]
    )
    by_id = OffsetFetchRequestGroup(
        group_id="g",
        topics=[
            OffsetFetchRequestTopics(topic_id=STRANGE, partition_indexes=[0]),
            OffsetFetchRequestTopics(topic_id=id_of(state, "t"), partition_indexes=[0]),
        ],
    )

    named = call(state, OffsetFetchRequest(groups=[by_name]), version=9).groups[0]
    found = call(state, OffsetFetchRequest(groups=[by_id]), version=10).groups[0]

    assert named.topics[0].partitions[0].error_code == 0
    assert named.topics[0].partitions[0].committed_offset == -1
    assert [
        (each.topic_id, each.partitions[0].error_code, each.partitions[0].committed_offset)
        for each in found.topics
    ] == [(id_of(state, "t"), 0, 5), (STRANGE, UnknownTopicId.code, -1)]


@pytest.mark.parametrize("version", range(1, 11))
def test_only_the_coordinator_knows_the_offsets(version: int) -> None:
    state = made(nodes=2, topics={"t": 1})
    other = 3 - state.groups.coordinator_of("g")
    if version < 8:
        request = OffsetFetchRequest(
            group_id="g", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0])]
        )
    else:
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)])

    answer = call(state, request, version=version, node=other)

    if version == 1:
        partition = answer.topics[0].partitions[0]
        assert (partition.error_code, partition.committed_offset) == (NotCoordinator.code, -1)
    elif version < 8:
        assert (answer.error_code, answer.topics) == (NotCoordinator.code, [])
    else:
        assert (answer.groups[0].error_code, answer.groups[0].topics) == (NotCoordinator.code, [])


def test_a_fault_of_one_group_spares_the_others() -> None:
    state = made(topics={"t": 1})
    state.faults.fail(OffsetFetchRequest, NotCoordinator, group="g")
    asked = [OffsetFetchRequestGroup(group_id=each, topics=None) for each in ("g", "h")]

    answer = call(state, OffsetFetchRequest(groups=asked))

    assert [each.error_code for each in answer.groups] == [NotCoordinator.code, 0]


def test_who_reads_the_offsets_of_a_classic_group_need_not_be_a_member() -> None:
    state = made(topics={"t": 1})
    stable(state)
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id="g", member_id="x", member_epoch=99, topics=None)],
        require_stable=True,
    )

    assert call(state, request, version=9).groups[0].error_code == 0


def test_a_group_of_the_other_protocol_says_who_may_read_and_commit() -> None:
    state = made(topics={"t": 1})
    state.groups.consumer("g", create=True)
    asked = OffsetFetchRequestGroup(group_id="g", member_id="x", member_epoch=1, topics=None)

    answer = call(state, OffsetFetchRequest(groups=[asked]), version=9)

    assert answer.groups[0].error_code == UnknownMemberId.code
    assert commit(state, {"t": {0: 5}}, member="x", epoch=1) == {"t": {0: UnknownMemberId.code}}
    assert commit(state, {"t": {0: 5}}) == {"t": {0: 0}}
    assert state.groups.get("g").kind == "consumer"


# Delete


def deleted(state: State, offsets: dict[str, list[int]], group: str = "g", **how: Any) -> object:
    """The answer to OffsetDelete: its codes by topic, or its only one."""
    request = OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(
                name=name,
                partitions=[OffsetDeleteRequestPartition(partition_index=each) for each in indexes],
            )
            for name, indexes in offsets.items()
        ],
    )
    answer = call(state, request, **how)
    if answer.error_code:
        assert answer.topics == []
        return answer.error_code
    return {
        topic.name: {each.partition_index: each.error_code for each in topic.partitions}
        for topic in answer.topics
    }


def test_offsets_are_deleted_where_the_topic_exists() -> None:
    state = made(topics={"t": 3, "u": 1})
    commit(state, {"t": {0: 5, 1: 6}, "u": {0: 7}})

    codes = deleted(state, {"t": [0, 2, 3], "missing": [0]})

    unknown = UnknownTopicOrPartition.code
    assert codes == {"t": {0: 0, 2: 0, 3: unknown}, "missing": {0: unknown}}
    assert fetched(state) == {"t": {1: 6}, "u": {0: 7}}


def test_what_does_not_exist_is_told_first() -> None:
    state = made(topics={"t": 2})
    commit(state, {"t": {0: 5}})

    codes = deleted(state, {"t": [0, 7, 1], "missing": [0]})

    assert isinstance(codes, dict)
    assert [*codes] == ["t", "missing"]
    assert [*codes["t"]] == [7, 0, 1]


def test_offsets_of_topics_that_members_use_stay() -> None:
    state = made(topics={"t": 1, "u": 1})
    commit(state, {"t": {0: 5}, "u": {0: 5}})
    stable(state)

    assert deleted(state, {"t": [0], "u": [0]}) == {
        "t": {0: GroupSubscribedToTopic.code},
        "u": {0: 0},
    }
    assert fetched(state) == {"t": {0: 5}}


def test_a_topic_is_free_again_when_the_members_are_gone() -> None:
    state = made(topics={"t": 1})
    leave(state, *stable(state))

    assert deleted(state, {"t": [0]}) == {"t": {0: 0}}


@pytest.mark.parametrize("metadata", [b"", b"\0", b"\0\0\xff\xff\xff"])
def test_all_topics_count_as_used_if_a_consumer_cannot_be_understood(metadata: bytes) -> None:
    state = made(topics={"t": 1})
    stable(state, protocols={"range": metadata})

    assert deleted(state, {"t": [0]}) == {"t": {0: GroupSubscribedToTopic.code}}


def test_nobody_knows_what_members_use_that_are_no_consumers() -> None:
    state = made(topics={"t": 1})
    member = new_id(state, protocol_type="connect")
    join(state, member, protocol_type="connect")

    assert deleted(state, {"t": [0]}) == NonEmptyGroup.code


@pytest.mark.parametrize(("group", "error"), [("missing", GroupIdNotFound), ("", InvalidGroupId)])
def test_a_group_that_is_not_there_has_nothing_to_delete(
    group: str, error: type[BrokerError]
) -> None:
    assert deleted(made(topics={"t": 1}), {"t": [0]}, group) == error.code


def test_only_the_coordinator_deletes_offsets() -> None:
    state = made(nodes=2, topics={"t": 1})
    other = 3 - state.groups.coordinator_of("g")

    assert deleted(state, {"t": [0]}, node=other) == NotCoordinator.code
