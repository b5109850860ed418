"""Requests that commit and fetch offsets, in all versions, and what the answers mean."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.consumer.commits import (
    LAST_BY_NAME,
    NOBODY,
    Answer,
    FetchForm,
    Identity,
    commit_request,
    failure,
    fetch_request,
    given_up,
    not_answered,
    not_fetched,
    read_commit,
    read_fetch,
    to_commit,
    too_late,
)
from kafka_aio.errors import (
    AuthenticationError,
    BrokerError,
    CommitFailed,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    FencedInstanceId,
    GroupAuthorizationFailed,
    IllegalGeneration,
    KafkaConnectionError,
    KafkaTimeoutError,
    NotCoordinator,
    ProtocolError,
    RebalanceInProgress,
    RequestTimedOut,
    StaleMemberEpoch,
    TopicAuthorizationFailed,
    UnknownMemberId,
    UnknownTopicId,
    UnstableOffsetCommit,
    UnsupportedVersion,
)
from kafka_aio.protocol.codec import decode, encode
from kafka_aio.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from kafka_aio.protocol.schema import NO_UUID, Uuid
from kafka_aio.types import OffsetAndMetadata, TopicPartition
from tests.unit.consumer.owned import A0, A1, B0

IDS: dict[str, Uuid] = {"a": Uuid(b"a" * 16), "b": Uuid(b"b" * 16)}
MEMBER = Identity("m", 7, "static")
OFFSETS = {
    A0: OffsetAndMetadata(5, "note", leader_epoch=3),
    B0: OffsetAndMetadata(6),
    A1: OffsetAndMetadata(0),
}


def commit_answer(version: int, codes: dict[TopicPartition, int]) -> OffsetCommitResponse:
    """What a broker answers, as it comes off the wire in a version."""
    return decode(
        OffsetCommitResponse,
        encode(
            OffsetCommitResponse(
                topics=[
                    OffsetCommitResponseTopic(
                        name=name,
                        topic_id=IDS.get(name, NO_UUID),
                        partitions=[
                            OffsetCommitResponsePartition(partition_index=number, error_code=code)
                        ],
                    )
                    for (name, number), code in codes.items()
                ]
            ),
            version,
        ),
        version,
    )


def fetch_answer(version: int, *, code: int = 0, group: int = 0) -> OffsetFetchResponse:
    """What a broker answers of A0 and B0, as it comes off the wire in a version."""
    if version < 8:
        old = [
            OffsetFetchResponseTopic(
                name=name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=0,
                        committed_offset=at,
                        committed_leader_epoch=3,
                        metadata=text,
                        error_code=code,
                    )
                ],
            )
            for name, at, text in (("a", 5, "note"), ("b", -1, None))
        ]
        answer = OffsetFetchResponse(topics=[] if group else old, error_code=group)
    else:
        topics = [
            OffsetFetchResponseTopics(
                name=name,
                topic_id=IDS[name],
                partitions=[
                    OffsetFetchResponsePartitions(
                        partition_index=0,
                        committed_offset=at,
                        committed_leader_epoch=3,
                        metadata=text,
                        error_code=code,
                    )
                ],
            )
            for name, at, text in (("a", 5, "note"), ("b", -1, None))
        ]
        found = OffsetFetchResponseGroup(
            group_id="g", topics=[] if group else topics, error_code=group
        )
        answer = OffsetFetchResponse(groups=[found])
    return decode(OffsetFetchResponse, encode(answer, version), version)


# -- OffsetCommit


@pytest.mark.parametrize("version", range(7, 11))
def test_a_commit_can_be_written_in_each_version_and_says_who_where_and_what(version: int) -> None:
    request, at_most = commit_request("g", MEMBER, OFFSETS, IDS.get)
    read = decode(OffsetCommitRequest, encode(request, version), version)

    assert at_most is None
    assert (read.group_id, read.member_id) == ("g", "m")
    assert (read.generation_id_or_member_epoch, read.group_instance_id) == (7, "static")
    assert [(len(each.partitions)) for each in read.topics] == [2, 1]
    assert [each.name for each in read.topics] == (["a", "b"] if version < 10 else ["", ""])
    assert [each.topic_id for each in read.topics] == (
        [IDS["a"], IDS["b"]] if version == 10 else [NO_UUID] * 2
    )
    first = read.topics[0].partitions[0]
    assert (first.partition_index, first.committed_offset) == (0, 5)
    assert (first.committed_leader_epoch, first.committed_metadata) == (3, "note")


@pytest.mark.parametrize("version", range(2, 7))
def test_old_versions_have_no_place_for_static_members_only(version: int) -> None:
    dynamic, _ = commit_request("g", Identity("m", 7), OFFSETS, IDS.get)
    static, _ = commit_request("g", MEMBER, OFFSETS, IDS.get)

    assert encode(dynamic, version)
    with pytest.raises(UnsupportedVersion):
        encode(static, version)


def test_a_topic_without_a_known_id_is_written_by_its_name() -> None:
    _, at_most = commit_request("g", NOBODY, OFFSETS, {"a": IDS["a"]}.get)

    assert at_most == LAST_BY_NAME == 9


@pytest.mark.parametrize("version", [2, 9, 10])
def test_an_answer_is_read_for_each_partition(version: int) -> None:
    request, _ = commit_request("g", NOBODY, OFFSETS, IDS.get)
    codes = {A0: 0, A1: CoordinatorLoadInProgress.code, B0: TopicAuthorizationFailed.code}
    answer = read_commit(request, commit_answer(version, codes), OFFSETS)

    assert answer.good == {A0: OFFSETS[A0]}
    assert {each: type(error) for each, error in answer.again.items()} == {
        A1: CoordinatorLoadInProgress
    }
    assert {each: type(error) for each, error in answer.failed.items()} == {
        B0: TopicAuthorizationFailed
    }


def test_a_partition_that_the_answer_leaves_out_is_tried_again() -> None:
    request, _ = commit_request("g", NOBODY, OFFSETS, IDS.get)
    answer = read_commit(request, commit_answer(9, {A0: 0}), OFFSETS)

    assert answer.good == {A0: OFFSETS[A0]}
    assert {type(error) for error in answer.again.values()} == {ProtocolError}
    assert answer.again.keys() == {A1, B0}


@pytest.mark.parametrize("error", [NotCoordinator, CoordinatorNotAvailable, RequestTimedOut])
def test_some_errors_say_that_the_coordinator_is_another(error: type[BrokerError]) -> None:
    assert Answer(again={A0: error()}).is_moved
    assert not Answer(again={A0: CoordinatorLoadInProgress()}).is_moved


def test_an_unknown_id_says_that_the_metadata_is_old() -> None:
    assert Answer(again={A0: UnknownTopicId()}).stale_metadata


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (KafkaConnectionError("gone"), True),
        (KafkaTimeoutError("late"), True),
        (ProtocolError("nonsense"), True),
        (AuthenticationError("no"), False),
        (GroupAuthorizationFailed(), False),
        (UnsupportedVersion("too old"), False),
    ],
)
def test_without_an_answer_the_error_says_whether_to_try_again(error: Any, again: bool) -> None:
    answer = not_answered([A0, A1], error)

    assert answer.again == (dict.fromkeys([A0, A1], error) if again else {})
    assert answer.failed == ({} if again else dict.fromkeys([A0, A1], error))


# -- OffsetFetch


@pytest.mark.parametrize(
    ("form", "version"),
    [(FetchForm.GROUPS, 8), (FetchForm.GROUPS, 9), (FetchForm.GROUPS, 10)]
    + [(FetchForm.STABLE, 7)]
    + [(FetchForm.OLD, version) for version in range(1, 7)],
)
def test_offsets_are_asked_for_in_each_version(form: FetchForm, version: int) -> None:
    request, at_most = fetch_request("g", NOBODY, [A0, B0], IDS.get, form)
    read = decode(OffsetFetchRequest, encode(request, version), version)
    answer = read_fetch(request, fetch_answer(version), [A0, B0])

    assert at_most == (None if form is FetchForm.GROUPS else form.value)
    assert (at_most or 10) >= version
    assert read.require_stable == (version >= 7)
    epoch = 3 if version >= 5 else None
    assert answer.good == {A0: OffsetAndMetadata(5, "note", leader_epoch=epoch), B0: None}


def test_a_form_leads_to_the_one_before() -> None:
    assert FetchForm.GROUPS.older is FetchForm.STABLE
    assert FetchForm.STABLE.older is FetchForm.OLD
    assert FetchForm.OLD.older is None


def test_a_member_of_a_consumer_group_says_who_asks() -> None:
    request, _ = fetch_request("g", MEMBER, [A0], IDS.get)
    nobody, _ = fetch_request("g", NOBODY, [A0], IDS.get)

    assert (request.groups[0].member_id, request.groups[0].member_epoch) == ("m", 7)
    assert (nobody.groups[0].member_id, nobody.groups[0].member_epoch) == (None, -1)


@pytest.mark.parametrize("version", [2, 7, 8, 10])
@pytest.mark.parametrize("error", [CoordinatorLoadInProgress, StaleMemberEpoch, UnknownMemberId])
def test_an_error_of_the_group_is_one_of_each_partition(
    version: int, error: type[BrokerError]
) -> None:
    form = FetchForm.GROUPS if version >= 8 else FetchForm.OLD
    request, _ = fetch_request("g", NOBODY, [A0, B0], IDS.get, form)
    answer = read_fetch(request, fetch_answer(version, group=error.code), [A0, B0])

    assert {type(each) for each in answer.again.values()} == {error}
    assert answer.again.keys() == {A0, B0}


def test_unstable_offsets_are_asked_for_again_and_refused_ones_not() -> None:
    request, _ = fetch_request("g", NOBODY, [A0, B0], IDS.get)
    unstable = read_fetch(request, fetch_answer(9, code=UnstableOffsetCommit.code), [A0, B0])
    refused = read_fetch(request, fetch_answer(9, code=TopicAuthorizationFailed.code), [A0, B0])

    assert unstable.again.keys() == {A0, B0}
    assert refused.failed.keys() == {A0, B0}
    assert (unstable.good, refused.good) == ({}, {})


def test_an_answer_about_another_group_is_none() -> None:
    request, _ = fetch_request("g", NOBODY, [A0], IDS.get)
    other = OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id="x", topics=[])])

    assert read_fetch(request, other, [A0]).again.keys() == {A0}


# -- what the user gives and gets


def test_offsets_may_be_given_as_numbers() -> None:
    assert to_commit({A0: 5, ("a", 1): OffsetAndMetadata(6)}) == {  # type: ignore[dict-item]  # a plain tuple will do
        A0: OffsetAndMetadata(5),
        A1: OffsetAndMetadata(6),
    }


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [({A0: True}, TypeError), ({A0: -1}, ValueError), ({"a": 1}, TypeError), ([A0], TypeError)],
)
def test_what_is_no_offset_is_refused(wrong: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        to_commit(wrong)


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (IllegalGeneration(), "raise it or lower max_poll_records"),
        (RebalanceInProgress(), "ask for the next records"),
        (FencedInstanceId(), "give each member its own"),
    ],
)
def test_a_failure_says_where_why_and_what_to_do(cause: BrokerError, text: str) -> None:
    error = failure("g", OFFSETS, {A0: cause, A1: cause})

    assert isinstance(error, CommitFailed)
    assert str(error).startswith("a-0 to 5, a-1 to 0: not committed for group 'g': ")
    assert text in str(error)
    assert error.__cause__ is cause
    assert error.partitions == (A0, A1)
    assert error.offsets == {A0: OFFSETS[A0], A1: OFFSETS[A1]}


def test_that_the_group_has_moved_on_comes_before_other_errors() -> None:
    errors = {A0: TopicAuthorizationFailed(), A1: IllegalGeneration()}

    assert isinstance(failure("g", OFFSETS, errors), CommitFailed)


def test_what_another_has_refused_is_raised_as_it_is_with_its_place() -> None:
    error = failure("g", OFFSETS, {A0: TopicAuthorizationFailed("no")})

    assert isinstance(error, TopicAuthorizationFailed)
    assert str(error).startswith("a-0 to 5: not committed for group 'g': ")


def test_many_partitions_are_not_all_named() -> None:
    many = {TopicPartition("t", number): OffsetAndMetadata(1) for number in range(100)}
    error = failure("g", many, dict.fromkeys(many, IllegalGeneration()))

    assert "t-2 to 1 and 97 more: " in str(error)
    assert isinstance(error, CommitFailed)
    assert len(error.partitions) == 100


def test_too_late_says_what_stood_in_the_way_last() -> None:
    late = too_late("g", OFFSETS, CoordinatorLoadInProgress(), may_be_done=False)
    silent = too_late("g", OFFSETS, None, may_be_done=True)
    out = too_late("g", OFFSETS, StaleMemberEpoch(), may_be_done=False)

    assert isinstance(late, KafkaTimeoutError)
    assert "last: " in str(late)
    assert not late.indefinite
    assert silent.indefinite
    assert "has not answered yet" in str(silent)
    assert isinstance(out, CommitFailed)
    assert not out.indefinite


def test_too_late_says_that_nothing_was_sent() -> None:
    error = too_late("g", OFFSETS, None, may_be_done=False)

    assert isinstance(error, KafkaTimeoutError)
    assert not error.indefinite
    assert "it was not sent" in str(error)


@pytest.mark.parametrize("last", [CoordinatorLoadInProgress(), StaleMemberEpoch()])
def test_too_late_for_the_answer_to_another_attempt_is_not_known(last: BrokerError) -> None:
    assert too_late("g", OFFSETS, last, may_be_done=True).indefinite


def test_of_what_was_given_up_it_is_told_first_what_may_be_committed() -> None:
    errors = {A0: given_up(may_be_done=False), A1: given_up(may_be_done=True)}
    error = failure("g", OFFSETS, errors)

    assert isinstance(error, CommitFailed)
    assert error.indefinite
    assert "not known whether" in str(error)
    assert not failure("g", OFFSETS, {A0: given_up(may_be_done=False)}).indefinite


def test_what_is_not_known_to_be_committed_says_why() -> None:
    error = not_fetched("g", {A0: GroupAuthorizationFailed()})
    late = not_fetched("g", {A0: CoordinatorLoadInProgress()}, in_time=False)

    assert isinstance(error, GroupAuthorizationFailed)
    assert "what group 'g' has committed is not known" in str(error)
    assert isinstance(late, KafkaTimeoutError)
    assert isinstance(late.__cause__, CoordinatorLoadInProgress)
