"""OffsetCommit, OffsetFetch and OffsetDelete: the offsets of groups of both kinds. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_aio.broker.groups.offsets import Committed, Offsets
from kafka_aio.errors import (
    BrokerError,
    GroupIdNotFound,
    GroupMaxSizeReached,
    GroupSubscribedToTopic,
    IllegalGeneration,
    InvalidCommitOffsetSize,
    OffsetMetadataTooLarge,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from kafka_aio.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call
    from kafka_aio.broker.groups.groups import AnyGroup
    from kafka_aio.broker.topics.topics import Topic
    from kafka_aio.protocol.schema import Uuid

_TOPIC_IDS_SINCE: Final = 10
_GROUP_NOT_FOUND_SINCE: Final = 9
_SEVERAL_GROUPS_SINCE: Final = 8
_ERROR_OF_GROUP_SINCE: Final = 2


class _Wish(NamedTuple):
    """One offset that somebody wants to commit, for a partition that exists."""

    asked: OffsetCommitRequestTopic
    topic: Topic
    partition: OffsetCommitRequestPartition


def commit(request: OffsetCommitRequest, call: Call) -> OffsetCommitResponse:
    """Keep offsets for a group. What is wrong with the group is said of each partition."""
    codes: dict[tuple[str, Uuid], dict[int, int]] = {}
    wishes = []
    for asked in request.topics:
        for partition in asked.partitions:
            try:
                topic = _topic(asked, partition.partition_index, call)
                call.check_faults(topic.name, partition.partition_index, request.group_id)
            except BrokerError as error:
                _add(codes, asked, partition, error.code)
            else:
                wishes.append(_Wish(asked, topic, partition))
    if wishes:  # after the others, as Kafka has it
        for wish, code in zip(wishes, _committed(wishes, request, call), strict=True):
            _add(codes, wish.asked, wish.partition, code)
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=name,
                topic_id=topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=index, error_code=code)
                    for index, code in partitions.items()
                ],
            )
            for (name, topic_id), partitions in codes.items()
        ]
    )


def fetch(request: OffsetFetchRequest, call: Call) -> OffsetFetchResponse:
    """What groups have committed; before version 8 there is but one."""
    if call.version >= _SEVERAL_GROUPS_SINCE:
        return OffsetFetchResponse(groups=[_fetched(each, call) for each in request.groups])
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=each.name, partition_indexes=each.partition_indexes)
            for each in request.topics
        ]
    only = _fetched(OffsetFetchRequestGroup(group_id=request.group_id, topics=topics), call)
    return OffsetFetchResponse(
        error_code=only.error_code,
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=each.partition_index,
                        committed_offset=each.committed_offset,
                        committed_leader_epoch=each.committed_leader_epoch,
                        metadata=each.metadata,
                        error_code=each.error_code,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in only.topics
        ],
    )


def delete(request: OffsetDeleteRequest, call: Call) -> OffsetDeleteResponse:
    """Forget offsets of topics that the group does not use.

    Raises:
        BrokerError: This is not a node to ask, not a group, or nobody knows what it uses.
    """
    groups = call.state.groups
    groups.check_coordinator(call, request.group_id)
    group = groups.get(request.group_id)
    group.check_offset_deletion()
    codes: dict[str, dict[int, int]] = {}
    known: list[tuple[str, int]] = []
    for asked in request.topics:
        for each in asked.partitions:
            if _exists(asked.name, each.partition_index, call):
                known.append((asked.name, each.partition_index))
            else:  # told first, as Kafka does: its coordinator is asked for the others only
                code = UnknownTopicOrPartition.code
                codes.setdefault(asked.name, {})[each.partition_index] = code
    for name, index in known:
        codes.setdefault(name, {})[index] = _forgotten(group, name, index, call)
    topics = [
        OffsetDeleteResponseTopic(
            name=name,
            partitions=[
                OffsetDeleteResponsePartition(partition_index=index, error_code=code)
                for index, code in partitions.items()
            ],
        )
        for name, partitions in codes.items()
    ]
    return OffsetDeleteResponse(error_code=0, throttle_time_ms=0, topics=topics)


# Commit


def _topic(asked: OffsetCommitRequestTopic, index: int, call: Call) -> Topic:
    """The topic of a partition that exists."""
    topics = call.state.topics
    if call.version >= _TOPIC_IDS_SINCE:
        if (topic := topics.by_id.get(asked.topic_id)) is None:
            raise UnknownTopicId()
    elif (topic := topics.by_name.get(asked.name)) is None:
        raise UnknownTopicOrPartition()
    if not 0 <= index < len(topic.partitions):
        raise UnknownTopicOrPartition()
    return topic


def _add(
    codes: dict[tuple[str, Uuid], dict[int, int]],
    asked: OffsetCommitRequestTopic,
    partition: OffsetCommitRequestPartition,
    code: int,
) -> None:
    codes.setdefault((asked.name, asked.topic_id), {})[partition.partition_index] = code


def _committed(wishes: list[_Wish], request: OffsetCommitRequest, call: Call) -> list[int]:
    """Commit what can be committed: the error code of each."""
    limit = call.state.settings.offset_metadata_max_bytes
    fits = [_java_length(wish.partition.committed_metadata) <= limit for wish in wishes]
    good = list(compress(wishes, fits))
    try:
        group = _group_to_commit_to(request, call)
        group.check_commit(
            request.member_id,
            request.generation_id_or_member_epoch,
            request.group_instance_id,
            version=call.version,
            partitions=[(wish.topic.name, wish.partition.partition_index) for wish in good],
        )
    except BrokerError as error:
        return [error.code] * len(wishes)
    if group.kind == "classic":
        group.membership.committed(request.member_id, now=call.now)
    retention_ms = request.retention_time_ms
    expires_at = None if retention_ms == -1 else call.now + retention_ms / 1000
    return [
        _kept(wish, group.offsets, now=call.now, expires_at=expires_at)
        if each
        else OffsetMetadataTooLarge.code
        for wish, each in zip(wishes, fits, strict=True)
    ]


def _kept(wish: _Wish, offsets: Offsets, *, now: float, expires_at: float | None) -> int:
    """Keep an offset, if there is room: its error code."""
    partition = wish.partition
    committed = Committed(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        at=now,
        expires_at=expires_at,
    )
    try:
        offsets.put(wish.topic.name, partition.partition_index, committed)
    except InvalidCommitOffsetSize as error:
        return error.code
    return 0


def _group_to_commit_to(request: OffsetCommitRequest, call: Call) -> AnyGroup:
    groups = call.state.groups
    groups.check_node(call, request.group_id, may_be_empty=True)
    try:
        return groups.get(request.group_id)
    except GroupIdNotFound:
        if request.generation_id_or_member_epoch < 0:  # an admin, or a consumer without a group
            return _new_group(request.group_id, call)
        if call.version >= _GROUP_NOT_FOUND_SINCE:
            raise
        raise IllegalGeneration() from None


def _new_group(group_id: str, call: Call) -> AnyGroup:
    try:
        return call.state.groups.classic(group_id, create=True)
    except GroupMaxSizeReached:
        raise InvalidCommitOffsetSize() from None


def _java_length(text: str | None) -> int:
    """The length of a text as Java counts it, in units of UTF-16."""
    return len((text or "").encode("utf-16-le", "surrogatepass")) // 2


# Fetch


def _fetched(asked: OffsetFetchRequestGroup, call: Call) -> OffsetFetchResponseGroup:
    groups = call.state.groups
    try:
        groups.check_coordinator(call, asked.group_id, may_be_empty=True)
        if (group := groups.by_id.get(asked.group_id)) is not None:
            group.check_fetch(asked.member_id, asked.member_epoch)
    except BrokerError as error:
        return _refused(asked, error, call)
    offsets = group.offsets if group is not None else Offsets()
    if asked.topics is None:
        topics = _all_of(offsets, asked.group_id, call)
    else:
        topics = _named_of(offsets, asked.topics, asked.group_id, call)
    return OffsetFetchResponseGroup(group_id=asked.group_id, topics=topics)


def _all_of(offsets: Offsets, group: str, call: Call) -> list[OffsetFetchResponseTopics]:
    return [
        OffsetFetchResponseTopics(
            name=name,
            topic_id=call.state.topics.by_name[name].id,
            partitions=[
                _answered(index, each, _fault(name, index, group, call))
                for index, each in partitions.items()
            ],
        )
        for name, partitions in offsets.by_topic.items()
    ]


def _named_of(
    offsets: Offsets, asked: Iterable[OffsetFetchRequestTopics], group: str, call: Call
) -> list[OffsetFetchResponseTopics]:
    found: list[OffsetFetchResponseTopics] = []
    unknown: list[OffsetFetchResponseTopics] = []
    for each in asked:
        name, error = each.name, 0
        if call.version >= _TOPIC_IDS_SINCE:
            topic = call.state.topics.by_id.get(each.topic_id)
            name, error = (topic.name, 0) if topic is not None else ("", UnknownTopicId.code)
        (unknown if error else found).append(
            OffsetFetchResponseTopics(
                name=name,
                topic_id=each.topic_id,
                partitions=[
                    _answered(
                        index, offsets.get(name, index), error or _fault(name, index, group, call)
                    )
                    for index in each.partition_indexes
                ],
            )
        )
    return found + unknown


def _refused(
    asked: OffsetFetchRequestGroup, error: BrokerError, call: Call
) -> OffsetFetchResponseGroup:
    if call.version >= _ERROR_OF_GROUP_SINCE:
        return OffsetFetchResponseGroup(group_id=asked.group_id, topics=[], error_code=error.code)
    topics = [
        OffsetFetchResponseTopics(
            name=each.name,
            partitions=[_answered(index, None, error.code) for index in each.partition_indexes],
        )
        for each in asked.topics or ()
    ]
    return OffsetFetchResponseGroup(group_id=asked.group_id, topics=topics)


def _answered(
    index: int, committed: Committed | None, error: int = 0
) -> OffsetFetchResponsePartitions:
    committed = None if error else committed
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=committed.offset if committed else -1,
        committed_leader_epoch=committed.leader_epoch if committed else -1,
        metadata=committed.metadata if committed else "",
        error_code=error,
    )


def _fault(topic: str, index: int, group: str, call: Call) -> int:
    """The error that one partition of a group is to have."""
    try:
        call.check_faults_in_group(topic, index, group)
    except BrokerError as error:
        return error.code
    return 0


# Delete


def _exists(name: str, index: int, call: Call) -> bool:
    topic = call.state.topics.by_name.get(name)
    return topic is not None and 0 <= index < len(topic.partitions)


def _forgotten(group: AnyGroup, name: str, index: int, call: Call) -> int:
    if code := _fault(name, index, group.id, call):
        return code
    if group.is_subscribed(name):
        return GroupSubscribedToTopic.code
    group.offsets.forget(name, index)
    return 0
