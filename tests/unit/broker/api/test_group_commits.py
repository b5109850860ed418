from typing import Any

import pytest

from kafka_aio.errors import (
    BrokerError,
    GroupIdNotFound,
    IllegalGeneration,
    NotCoordinator,
    OffsetMetadataTooLarge,
    RebalanceInProgress,
    UnknownMemberId,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from kafka_aio.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.unit.broker.api.offsets import commit, fetched
from tests.unit.broker.clusters import call, made, pass_time
from tests.unit.broker.groups.classic import (
    completing,
    join,
    leave,
    membership,
    new_id,
    stable,
)

# Commit: without a group


@pytest.mark.parametrize("version", range(2, 11))
def test_a_lone_consumer_commits_to_a_group_that_is_made_for_it(version: int) -> None:
    state = made(topics={"t": 2})

    codes = commit(state, {"t": {0: 5, 1: 7}}, version=version)

    assert codes == {"t": {0: 0, 1: 0}}
    assert fetched(state) == {"t": {0: 5, 1: 7}}
    group = state.groups.classic("g")
    assert (group.state_name, group.protocol_type) == ("Empty", "")


def test_the_group_of_a_lone_consumer_may_even_have_no_name() -> None:
    state = made(topics={"t": 1})

    assert commit(state, {"t": {0: 5}}, group="") == {"t": {0: 0}}
    assert fetched(state, "") == {"t": {0: 5}}


@pytest.mark.parametrize("version", range(2, 10))
def test_what_does_not_exist_cannot_be_committed(version: int) -> None:
    state = made(topics={"t": 1})

    codes = commit(state, {"t": {0: 5, 1: 5, -1: 5}, "u": {0: 5}}, version=version)

    unknown = UnknownTopicOrPartition.code
    assert codes == {"t": {1: unknown, -1: unknown, 0: 0}, "u": {0: unknown}}
    assert fetched(state) == {"t": {0: 5}}


def test_what_was_refused_comes_first_in_the_answer() -> None:
    state = made(topics={"t": 1, "v": 1})

    codes = commit(state, {"t": {0: 5}, "u": {0: 5}, "v": {0: 5, 1: 5}})

    assert list(codes) == ["u", "v", "t"]
    assert list(codes["v"]) == [1, 0]


def test_a_topic_id_that_does_not_exist_cannot_be_committed() -> None:
    state = made(topics={"t": 1})

    codes = commit(state, {"t": {0: 5, 1: 5}, "u": {0: 5}}, version=10)

    assert codes == {
        "t": {0: 0, 1: UnknownTopicOrPartition.code},
        "?": {0: UnknownTopicId.code},
    }


def test_a_request_about_nothing_that_exists_makes_no_group() -> None:
    state = made(nodes=2)
    other = 3 - state.groups.coordinator_of("g")

    # Nor does it matter which node is asked.
    assert commit(state, {"u": {0: 5}}, node=other) == {"u": {0: UnknownTopicOrPartition.code}}
    assert not state.groups.by_id


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        ("x" * 4096, 0),
        ("x" * 4097, OffsetMetadataTooLarge.code),
        ("\U0001f600" * 2048, 0),
        ("\U0001f600" * 2049, OffsetMetadataTooLarge.code),  # Java counts units of UTF-16
    ],
)
def test_the_metadata_of_an_offset_must_not_be_too_long(metadata: str, code: int) -> None:
    state = made(topics={"t": 1})

    assert commit(state, {"t": {0: 5}}, metadata=metadata) == {"t": {0: code}}


def test_another_offset_is_committed_though_the_metadata_of_one_is_too_long() -> None:
    state = made(topics={"t": 2}, offset_metadata_max_bytes=3)
    request = OffsetCommitRequest(
        group_id="g",
        member_id="",
        topics=[
            OffsetCommitRequestTopic(
                name="t",
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=index, committed_offset=5, committed_metadata=metadata
                    )
                    for index, metadata in enumerate(["four", "xxx"])
                ],
            )
        ],
    )

    [topic] = call(state, request, version=9).topics

    assert [each.error_code for each in topic.partitions] == [OffsetMetadataTooLarge.code, 0]
    assert fetched(state) == {"t": {1: 5}}


# Commit: by members


@pytest.mark.parametrize(
    ("who", "error"),
    [
        ({"epoch": 1}, None),
        ({"epoch": 1, "member": "x"}, UnknownMemberId),
        ({"epoch": 0}, IllegalGeneration),
        ({"epoch": 2}, IllegalGeneration),
        ({"epoch": -1}, IllegalGeneration),
        ({"epoch": -1, "member": ""}, UnknownMemberId),
        ({"epoch": 1, "instance": "x"}, UnknownMemberId),
    ],
)
def test_members_commit_in_their_generation_only(
    who: dict[str, Any], error: type[BrokerError] | None
) -> None:
    state = made(topics={"t": 1})
    [first] = stable(state)

    codes = commit(state, {"t": {0: 5}}, **{"member": first, **who})

    assert codes == {"t": {0: error.code if error else 0}}
    assert fetched(state) == ({} if error else {"t": {0: 5}})


@pytest.mark.parametrize(
    ("version", "error"), [(8, IllegalGeneration), (9, GroupIdNotFound), (10, GroupIdNotFound)]
)
def test_a_member_of_a_group_that_is_not_there_cannot_commit(
    version: int, error: type[BrokerError]
) -> None:
    state = made(topics={"t": 1})

    codes = commit(state, {"t": {0: 5}}, member="x", epoch=1, version=version)

    assert codes == {"t": {0: error.code}}
    assert not state.groups.by_id


def test_nobody_commits_between_the_rounds_of_a_rebalance() -> None:
    state = made(topics={"t": 1})
    [first] = completing(state)

    codes = commit(state, {"t": {0: 5}}, member=first, epoch=1)

    assert codes == {"t": {0: RebalanceInProgress.code}}


def test_members_commit_while_the_next_generation_is_prepared() -> None:
    state = made(topics={"t": 1})
    first, second = stable(state, 2)
    join(state, first)

    assert commit(state, {"t": {0: 5}}, member=second, epoch=1) == {"t": {0: 0}}


def test_a_member_cannot_commit_to_a_group_that_lost_all_members() -> None:
    state = made(topics={"t": 1})
    [first] = stable(state)
    leave(state, first)

    assert commit(state, {"t": {0: 5}}, member=first, epoch=1) == {"t": {0: UnknownMemberId.code}}
    assert commit(state, {"t": {0: 5}}) == {"t": {0: 0}}


def test_a_commit_is_as_good_as_a_heartbeat() -> None:
    state = made(topics={"t": 1})
    [first] = stable(state, session=5.0)
    pass_time(state, now=4.0)
    commit(state, {"t": {0: 5}}, member=first, epoch=1, now=4.0)

    pass_time(state, now=8.9)
    assert list(membership(state).members.by_id) == [first]
    pass_time(state, now=9.0)
    assert not membership(state).members


def test_a_fault_of_one_partition_spares_the_others() -> None:
    state = made(topics={"t": 2})
    state.faults.fail(OffsetCommitRequest, RebalanceInProgress, topic="t", partition=1)
    state.faults.fail(OffsetCommitRequest, IllegalGeneration, group="other")

    assert commit(state, {"t": {0: 5, 1: 5}}) == {"t": {1: RebalanceInProgress.code, 0: 0}}
    assert commit(state, {"t": {0: 5}}, group="other") == {"t": {0: IllegalGeneration.code}}
    assert fetched(state) == {"t": {0: 5}}


def test_only_the_coordinator_takes_offsets() -> None:
    state = made(nodes=2, topics={"t": 1})
    other = 3 - state.groups.coordinator_of("g")

    assert commit(state, {"t": {0: 5}}, node=other) == {"t": {0: NotCoordinator.code}}


def test_a_group_that_only_gave_out_an_id_is_open_to_lone_consumers() -> None:
    state = made(topics={"t": 1})
    new_id(state)

    assert commit(state, {"t": {0: 5}}) == {"t": {0: 0}}
