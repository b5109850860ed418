"""Offsets of a group: requests that commit or fetch them, and what the answers mean. Pure.

    commit_request, read_commit         OffsetCommit
    fetch_request, read_fetch           OffsetFetch
    not_answered                        either, without an answer
    failure, given_up, too_late         what the user gets

A topic is named twice in a request, by its name and by its id; the version writes one of them, and
the answer has that one. Where an id is not known, the versions with ids cannot be used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from kafka_aio.errors import (
    BrokerError,
    CommitFailed,
    CoordinatorNotAvailable,
    FencedInstanceId,
    FencedMemberEpoch,
    IllegalGeneration,
    KafkaError,
    KafkaTimeoutError,
    NotCoordinator,
    ProtocolError,
    RebalanceInProgress,
    RequestTimedOut,
    StaleMemberEpoch,
    UnknownMemberId,
    for_code,
    fresh,
)
from kafka_aio.listing import is_stale, is_worth_it
from kafka_aio.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from kafka_aio.protocol.schema import NO_UUID, Uuid
from kafka_aio.types import OffsetAndMetadata, TopicPartition

Offsets: TypeAlias = Mapping[TopicPartition, OffsetAndMetadata]
TopicIdOf: TypeAlias = Callable[[str], Uuid | None]
"""The id of a topic; None if it is not known."""

LAST_BY_NAME: Final = 9
"""The last version of either request in which topics go by their names."""
_MOVED: Final = (NotCoordinator, CoordinatorNotAvailable, RequestTimedOut)
_OUT: Final = (IllegalGeneration, UnknownMemberId, StaleMemberEpoch, FencedMemberEpoch)
_OF_GROUP: Final = (*_OUT, RebalanceInProgress, FencedInstanceId)
_COMMIT_FAILED: Final = (*_OF_GROUP, CommitFailed)
_AS_MEMBER: Final = (StaleMemberEpoch, UnknownMemberId)
_PASSING: Final = (StaleMemberEpoch, IllegalGeneration, RebalanceInProgress)
_NAMED: Final = 3
"""As many partitions are named in a text."""


class Identity(NamedTuple):
    """Who commits; without a member id, somebody who is in no group."""

    member_id: str = ""
    generation: int = -1
    instance_id: str | None = None


NOBODY: Final = Identity()


class FetchForm(Enum):
    """How offsets are asked for; the value is the last version of that form."""

    GROUPS = 10
    """Several groups in one request."""
    STABLE = 7
    """One group; offsets of open transactions are waited for."""
    OLD = 6
    """One group, and nobody knows of transactions."""

    @property
    def older(self) -> FetchForm | None:
        """The one before; None where there is none."""
        forms = list(FetchForm)
        at = forms.index(self) + 1
        return forms[at] if at < len(forms) else None


@dataclass(slots=True)
class Answer:
    """What came of a request, for each partition."""

    good: dict[TopicPartition, OffsetAndMetadata | None] = field(default_factory=dict)
    """What is committed; None where nothing is."""
    again: dict[TopicPartition, KafkaError] = field(default_factory=dict)
    """Why these have to be tried again."""
    failed: dict[TopicPartition, KafkaError] = field(default_factory=dict)
    """Why it is of no use to try these again."""

    @property
    def is_moved(self) -> bool:
        """Whether the coordinator has to be looked for."""
        return any(isinstance(error, _MOVED) for error in self.again.values())

    @property
    def stale_metadata(self) -> bool:
        return is_stale(self.again.values())


def to_commit(
    offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
) -> dict[TopicPartition, OffsetAndMetadata]:
    """What a user wants to commit, checked.

    Raises:
        TypeError, ValueError: These are not offsets of partitions.
    """
    if not isinstance(offsets, Mapping):
        kind = type(offsets).__qualname__
        raise TypeError(f"offsets are given as a dict of partitions and offsets, not as <{kind}>")
    return {_partition(partition): _offset(offset) for partition, offset in offsets.items()}


def _partition(given: object) -> TopicPartition:
    if isinstance(given, TopicPartition):
        return given
    if isinstance(given, tuple) and len(given) == 2:
        return TopicPartition(*given)
    raise TypeError(f"a partition is a TopicPartition(topic, number), not {given!r:.60}")


def _offset(given: object) -> OffsetAndMetadata:
    if isinstance(given, OffsetAndMetadata):
        return given
    if isinstance(given, int) and not isinstance(given, bool):
        return OffsetAndMetadata(given)
    raise TypeError(f"an offset to commit is an int or OffsetAndMetadata, not {given!r:.60}")


# OffsetCommit


def commit_request(
    group_id: str, identity: Identity, offsets: Offsets, topic_id: TopicIdOf
) -> tuple[OffsetCommitRequest, int | None]:
    """The request, and the highest version that it can have; None for any."""
    topics: dict[str, OffsetCommitRequestTopic] = {}
    for (name, number), offset in offsets.items():
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = OffsetCommitRequestTopic(
                name=name, topic_id=topic_id(name) or NO_UUID, partitions=[]
            )
        topic.partitions.append(
            OffsetCommitRequestPartition(
                partition_index=number,
                committed_offset=offset.offset,
                committed_leader_epoch=-1 if offset.leader_epoch is None else offset.leader_epoch,
                committed_metadata=offset.metadata,
            )
        )
    request = OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=identity.generation,
        member_id=identity.member_id,
        group_instance_id=identity.instance_id,
        topics=list(topics.values()),
    )
    return request, _at_most(topic.topic_id for topic in topics.values())


def read_commit(
    request: OffsetCommitRequest, response: OffsetCommitResponse, offsets: Offsets
) -> Answer:
    """What became of the offsets that the request has."""
    names = _names((topic.topic_id, topic.name) for topic in request.topics)
    codes = {
        TopicPartition(topic.name or names.get(topic.topic_id, ""), each.partition_index): (
            each.error_code
        )
        for topic in response.topics
        for each in topic.partitions
    }
    answer = Answer()
    for partition, offset in offsets.items():
        code = codes.get(partition)
        if code is None:
            answer.again[partition] = _not_mentioned(partition, "OffsetCommit")
        elif code:
            _refused(answer, partition, code)
        else:
            answer.good[partition] = offset
    return answer


# OffsetFetch


def fetch_request(
    group_id: str,
    identity: Identity,
    partitions: Iterable[TopicPartition],
    topic_id: TopicIdOf,
    form: FetchForm = FetchForm.GROUPS,
) -> tuple[OffsetFetchRequest, int | None]:
    """The request, and the highest version that it can have; None for any.

    Args:
        group_id: The group.
        identity: Who asks, if it is a member of a consumer group; of a classic one, nobody.
        partitions: What is asked for.
        topic_id: The ids of topics.
        form: How it is asked.
    """
    indexes: dict[str, list[int]] = {}
    for name, number in partitions:
        indexes.setdefault(name, []).append(number)
    if form is not FetchForm.GROUPS:
        old = [OffsetFetchRequestTopic(name=n, partition_indexes=i) for n, i in indexes.items()]
        is_stable = form is FetchForm.STABLE
        request = OffsetFetchRequest(group_id=group_id, topics=old, require_stable=is_stable)
        return request, form.value
    topics = [
        OffsetFetchRequestTopics(
            name=name, topic_id=topic_id(name) or NO_UUID, partition_indexes=numbers
        )
        for name, numbers in indexes.items()
    ]
    group = OffsetFetchRequestGroup(
        group_id=group_id,
        member_id=identity.member_id or None,
        member_epoch=identity.generation if identity.member_id else -1,
        topics=topics,
    )
    request = OffsetFetchRequest(groups=[group], require_stable=True)
    return request, _at_most(topic.topic_id for topic in topics)


def read_fetch(
    request: OffsetFetchRequest,
    response: OffsetFetchResponse,
    partitions: Collection[TopicPartition],
) -> Answer:
    """The offsets committed of the partitions that the request asks for."""
    group = request.groups[0] if request.groups else None
    found = [each for each in response.groups if group and each.group_id == group.group_id]
    code = found[0].error_code if found else response.error_code
    if code:
        answer = Answer()
        for partition in partitions:
            _refused(answer, partition, code, as_member=True)
        return answer
    names = _names(
        (topic.topic_id, topic.name) for topic in (group.topics if group else None) or ()
    )
    told: dict[TopicPartition, _Told] = {}
    for topics in found[0].topics if found else ():
        name = topics.name or names.get(topics.topic_id, "")
        for each in topics.partitions:
            told[TopicPartition(name, each.partition_index)] = _Told(
                each.error_code, each.committed_offset, each.committed_leader_epoch, each.metadata
            )
    for topic in response.topics:
        for one in topic.partitions:
            told[TopicPartition(topic.name, one.partition_index)] = _Told(
                one.error_code, one.committed_offset, one.committed_leader_epoch, one.metadata
            )
    return _read_told(told, partitions)


class _Told(NamedTuple):
    """What an answer has of a partition, in whichever form."""

    code: int
    offset: int
    epoch: int
    metadata: str | None

    def committed(self) -> OffsetAndMetadata | None:
        if self.offset < 0:
            return None
        epoch = self.epoch if self.epoch >= 0 else None
        return OffsetAndMetadata(self.offset, self.metadata or "", leader_epoch=epoch)


def _read_told(
    told: Mapping[TopicPartition, _Told], partitions: Iterable[TopicPartition]
) -> Answer:
    answer = Answer()
    for partition in partitions:
        each = told.get(partition)
        if each is None:
            answer.again[partition] = _not_mentioned(partition, "OffsetFetch")
        elif each.code:
            _refused(answer, partition, each.code, as_member=True)
        else:
            answer.good[partition] = each.committed()
    return answer


# What both have


def not_answered(partitions: Iterable[TopicPartition], error: KafkaError) -> Answer:
    """The request as a whole came to nothing."""
    told = dict.fromkeys(partitions, error)
    return Answer(again=told) if is_worth_it(error) else Answer(failed=told)


def _at_most(ids: Iterable[Uuid]) -> int | None:
    return LAST_BY_NAME if NO_UUID in ids else None


def _names(topics: Iterable[tuple[Uuid, str]]) -> dict[Uuid, str]:
    return {topic_id: name for topic_id, name in topics if topic_id != NO_UUID}


def _not_mentioned(partition: TopicPartition, api: str) -> ProtocolError:
    return ProtocolError(f"{partition}: the broker's answer to {api} does not mention it")


def _refused(
    answer: Answer, partition: TopicPartition, code: int, *, as_member: bool = False
) -> None:
    """An error of one partition. A rebalance ends, and a newer epoch comes: then it is tried again.

    Args:
        answer: Where to put it.
        partition: Which it is.
        code: Kafka's.
        as_member: Whether one who is not known may be so soon: it joins again.
    """
    error = for_code(code, where=str(partition))
    waits = isinstance(error, _AS_MEMBER if as_member else _PASSING)
    (answer.again if waits or is_worth_it(error) else answer.failed)[partition] = error


# What the user gets


def failure(
    group_id: str, offsets: Offsets, errors: Mapping[TopicPartition, KafkaError]
) -> KafkaError:
    """One error for all partitions of a commit that were refused: with that of the first.

    Args:
        group_id: The group.
        offsets: What was to be committed.
        errors: Why some of that was not.
    """
    lost = {partition: offsets[partition] for partition in errors}
    first = min(
        errors.values(),
        key=lambda error: (not isinstance(error, _COMMIT_FAILED), not error.indefinite),
    )
    if isinstance(first, CommitFailed):
        error = CommitFailed(f"{_places(lost)}: {first}", lost)
        error.indefinite = first.indefinite
        error.__cause__ = first.__cause__
        return error
    if isinstance(first, _OF_GROUP):
        text = f"{_places(lost)}: not committed for group {group_id!r}: {_why(first)}"
        error = CommitFailed(text, lost)
        error.__cause__ = first
        return error
    again = fresh(first)
    if isinstance(again, BrokerError):
        again.where = f"{_places(lost)}: not committed for group {group_id!r}"
    return again


def given_up(*, may_be_done: bool) -> CommitFailed:
    """The partition is not ours any more, so it is not tried again.

    Args:
        may_be_done: Whether the coordinator may have what was sent.
    """
    error = CommitFailed(f"{UNCLEAR} before the partition was given up" if may_be_done else REVOKED)
    error.indefinite = may_be_done
    return error


def too_late(
    group_id: str, offsets: Offsets, last: KafkaError | None, *, may_be_done: bool
) -> KafkaError:
    """The time is over; a member of a group that was refused to the end is told so.

    Args:
        group_id: The group.
        offsets: What was to be committed.
        last: Why the last attempt came to nothing; None if none has.
        may_be_done: Whether the coordinator may have what was sent.
    """
    if isinstance(last, _OF_GROUP):
        error = failure(group_id, offsets, dict.fromkeys(offsets, last))
    else:
        silent = "the coordinator has not answered yet" if may_be_done else "it was not sent"
        why = silent if last is None else f"last: {last}"
        error = KafkaTimeoutError(
            f"{_places(offsets)}: not committed for group {group_id!r} in time; {why}"
        )
        error.__cause__ = last
    error.indefinite = may_be_done
    return error


def not_fetched(
    group_id: str, errors: Mapping[TopicPartition, KafkaError], *, in_time: bool = True
) -> KafkaError:
    """Why it is not known what a group has committed: with the error of the first partition."""
    partition, first = next(iter(errors.items()))
    where = f"{partition}: what group {group_id!r} has committed is not known"
    if in_time:
        error = fresh(first)
        if isinstance(error, BrokerError):
            error.where = where
        return error
    late = KafkaTimeoutError(f"{where} in time; last: {first}")
    late.__cause__ = first
    return late


def _why(error: BrokerError) -> str:
    """What has happened, and what to do about it."""
    if isinstance(error, RebalanceInProgress):
        return (
            "the group is rebalancing; ask for the next records, and commit what is still assigned"
        )
    if isinstance(error, FencedInstanceId):
        return (
            "another member with the same group_instance_id has taken its place; give each member"
            " its own"
        )
    return (
        f"the group has moved on without this member ({error.name}), and another may read from the"
        " last commit on; if records take longer than max_poll_interval_ms, raise it or lower"
        " max_poll_records"
    )


OUT_OF_GROUP: Final = (
    "this consumer is not a member of its group at the moment; ask for the next records, and commit"
    " what is still assigned"
)
REVOKED: Final = "not committed before the partition was given up; who reads it next reads it again"
UNCLEAR: Final = "it is not known whether this was committed: it was sent, and no answer came"


def _places(offsets: Offsets) -> str:
    named = [f"{partition} to {each.offset}" for partition, each in list(offsets.items())[:_NAMED]]
    more = len(offsets) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")
