"""CreateTopics, DeleteTopics and CreatePartitions. The texts of the errors are Kafka's. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, TypeAlias

from kafka_aio.errors import (
    BrokerError,
    InvalidConfig,
    InvalidRequest,
    PolicyViolation,
    TopicDeletionDisabled,
    UnknownServerError,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from kafka_aio.protocol.messages.topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from kafka_aio.protocol.schema import NO_UUID, Uuid

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call
    from kafka_aio.broker.topics.topics import Topic

_MOST_PARTITIONS: Final = 10_000
"""Of all topics that one request creates, or of one that it lets grow."""
_METADATA_LOG: Final = "__cluster_metadata"
_DELETION_DISABLED_SINCE: Final = 3
_SUPPLIED: Final = "The provided topic name maps to an ID that was already supplied."

_Named: TypeAlias = tuple[str | None, Uuid]
"""A topic as it is named: by name or by id."""


# CreateTopics


def create(request: CreateTopicsRequest, call: Call) -> CreateTopicsResponse:
    """Make topics, each for itself; those that are named twice not at all."""
    counts = Counter(topic.name for topic in request.topics)
    wanted = [topic for topic in request.topics if counts[topic.name] == 1]
    prepared: list[Topic] = []
    results = []
    try:
        _check_size(wanted, call)
    except BrokerError as error:
        results = [_not_created(topic.name, error) for topic in request.topics]
        return CreateTopicsResponse(throttle_time_ms=0, topics=results)
    for topic in wanted:
        try:
            prepared.append(_prepared(topic, call))
        except BrokerError as error:
            results.append(_not_created(topic.name, error))
        else:
            results.append(_created(prepared[-1], call))
    twice = [name for name, count in counts.items() if count > 1]
    results += [_not_created(name, InvalidRequest("Duplicate topic name.")) for name in twice]
    for each in prepared:
        if request.validate_only:
            call.state.topics.discard(each)
        else:
            call.state.topics.add(each)
    return CreateTopicsResponse(throttle_time_ms=0, topics=results)


def _check_size(wanted: list[CreatableTopic], call: Call) -> None:
    total = 0
    for topic in wanted:
        default = call.state.settings.num_partitions
        number = default if topic.num_partitions == -1 else max(topic.num_partitions, 0)
        total += len(topic.assignments) or number
    if total > _MOST_PARTITIONS:
        raise PolicyViolation("Excessively large number of partitions per request.")


def _prepared(topic: CreatableTopic, call: Call) -> Topic:
    call.check_faults(topic=topic.name)
    if topic.name == _METADATA_LOG:
        raise InvalidRequest(f"Creation of internal topic {_METADATA_LOG} is prohibited.")
    topics = call.state.topics
    topics.check_name(topic.name)
    if null := [config.name for config in topic.configs if config.value is None]:
        raise InvalidConfig(f"Null value not supported for topic configs: {','.join(null)}")
    return topics.prepare(
        topic.name,
        partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        replicas=[(each.partition_index, each.broker_ids) for each in topic.assignments],
        configs={config.name: config.value or "" for config in topic.configs},
    )


def _created(topic: Topic, call: Call) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=topic.name,
        topic_id=topic.id,
        error_code=0,
        error_message=None,
        num_partitions=len(topic.partitions),
        replication_factor=len(topic.partitions[0].replicas),
        configs=[
            CreatableTopicConfigs(
                name=entry.option.name,
                value=entry.value,
                read_only=False,
                config_source=entry.source,
                is_sensitive=False,
            )
            for entry in call.state.configs.new_topic(topic.configs, call.state.controller)
        ],
    )


def _not_created(name: str, error: BrokerError) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=name, error_code=error.code, error_message=error.message or None
    )


# DeleteTopics


def delete(request: DeleteTopicsRequest, call: Call) -> DeleteTopicsResponse:
    """Delete topics by name or id, each for itself; those that are named twice not at all."""
    asked: list[_Named] = [(topic.name, topic.topic_id) for topic in request.topics]
    asked += [(name, NO_UUID) for name in request.topic_names]
    if not call.state.settings.delete_topic_enable:
        is_known = call.version >= _DELETION_DISABLED_SINCE
        disabled = TopicDeletionDisabled() if is_known else InvalidRequest()
        results = [_not_deleted(named, disabled) for named in asked]
        return DeleteTopicsResponse(throttle_time_ms=0, responses=results)
    results = [_not_deleted(named, error) for named in asked if (error := _malformed(*named))]
    counts = Counter(named for named in asked if not _malformed(*named))
    found: list[Topic] = []
    for named, count in counts.items():
        try:
            topic = _deletable(*named, count, call)
        except BrokerError as error:
            results.append(_not_deleted(named, error))
            continue
        by_name, by_id = (topic.name, NO_UUID) in counts, (None, topic.id) in counts
        if by_name and by_id:  # one answer for both, in the name of the name
            if named == (topic.name, NO_UUID):
                results.append(_not_deleted((topic.name, topic.id), InvalidRequest(_SUPPLIED)))
            continue
        found.append(topic)
        results.append(DeletableTopicResult(name=topic.name, topic_id=topic.id, error_code=0))
    for topic in found:
        call.state.topics.delete(topic)
    return DeleteTopicsResponse(throttle_time_ms=0, responses=results)


def _malformed(name: str | None, topic_id: Uuid) -> InvalidRequest | None:
    if name is None and topic_id == NO_UUID:
        return InvalidRequest("Neither topic name nor id were specified.")
    if name is not None and topic_id != NO_UUID:
        return InvalidRequest("You may not specify both topic name and topic id.")
    return None


def _deletable(name: str | None, topic_id: Uuid, count: int, call: Call) -> Topic:
    topics = call.state.topics
    if count > 1:
        raise InvalidRequest(f"Duplicate topic {'id' if name is None else 'name'}.")
    topic = topics.by_id.get(topic_id) if name is None else topics.by_name.get(name)
    call.check_faults(topic=topic.name if topic else name or "")
    if topic is not None:
        return topic
    if name is None:
        raise UnknownTopicId("This server does not host this topic ID.")
    raise UnknownTopicOrPartition("This server does not host this topic-partition.")


def _not_deleted(named: _Named, error: BrokerError) -> DeletableTopicResult:
    name, topic_id = named
    return DeletableTopicResult(
        name=name,
        topic_id=topic_id,
        error_code=error.code,
        error_message=error.message or None,
    )


# CreatePartitions


def create_partitions(request: CreatePartitionsRequest, call: Call) -> CreatePartitionsResponse:
    """Let topics grow, each for itself; those that are named twice do not."""
    counts = Counter(topic.name for topic in request.topics)
    results = [
        _result(name, InvalidRequest("Duplicate topic name."))
        for name, count in counts.items()
        if count > 1
    ]
    for topic in request.topics:
        if counts[topic.name] > 1:
            continue
        try:
            _grow(topic, call, validate_only=request.validate_only)
        except BrokerError as error:
            results.append(_result(topic.name, error))
        else:
            results.append(_result(topic.name))
    return CreatePartitionsResponse(throttle_time_ms=0, results=results)


def _grow(asked: CreatePartitionsTopic, call: Call, *, validate_only: bool) -> None:
    call.check_faults(topic=asked.name)
    topic = call.topic(asked.name)
    chosen = asked.assignments
    replicas = None if chosen is None else [each.broker_ids for each in chosen]
    if replicas is None and asked.count - len(topic.partitions) > _MOST_PARTITIONS:
        raise UnknownServerError()  # so does Kafka, which has begun to make them by then
    call.state.topics.grow(topic, asked.count, replicas=replicas, validate_only=validate_only)


def _result(name: str, error: BrokerError | None = None) -> CreatePartitionsTopicResult:
    if error is None:
        return CreatePartitionsTopicResult(name=name, error_code=0)
    return CreatePartitionsTopicResult(
        name=name, error_code=error.code, error_message=error.message or None
    )
