"""What is printed about topics. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kafka_aio.admin import (
    ConfigChange,
    ConfigEntry,
    PartitionDescription,
    TopicCreated,
    TopicDescription,
    TopicListing,
)
from kafka_aio.cli.output import Json, Report, error_document, table
from kafka_aio.errors import KafkaError, TopicAlreadyExists, UnknownTopicOrPartition

_ERROR: Final = "error      null, or an object: type, code, message; other keys are then missing"

KEYS: Final[Mapping[str, Sequence[str]]] = {
    "list": ["topics     for each: name, topic_id, internal"],
    "describe": [
        "topics     for each: name, error, topic_id, internal, partitions",
        "partitions for each: partition, leader (the id of a broker, or null), leader_epoch,",
        "           replicas, in_sync_replicas, offline_replicas (ids),",
        "           eligible_leader_replicas, last_known_eligible (ids, or null)",
        _ERROR,
    ],
    "create": [
        "topics     for each: name, error, created (false with --dry-run or if it was there),",
        "           topic_id, partitions, replication_factor (null if it was there)",
        _ERROR,
    ],
    "delete": ["topics     for each: name, error, deleted (false if it was not there)", _ERROR],
    "add-partitions": ["topics     for the one: name, error, partitions (in all)", _ERROR],
    "configs": [
        "topic      its name",
        "configs    for each: name, value (text, or null if it is secret), source, default,",
        "           read_only, sensitive, type; missing where something is changed",
        "changes    for each: operation, name; missing where nothing is changed",
        _ERROR,
    ],
}
"""Of `--json`, by command."""


def listed(topics: Sequence[TopicListing]) -> Report:
    document = [
        {"name": topic.name, "topic_id": topic.topic_id, "internal": topic.is_internal}
        for topic in topics
    ]
    return Report({"topics": document}, [topic.name for topic in topics])


def described(found: Mapping[str, TopicDescription | KafkaError]) -> Report:
    document: list[Json] = []
    lines: list[str] = []
    for name, topic in found.items():
        if isinstance(topic, KafkaError):
            document.append(_failed(name, topic))
            continue
        document.append(
            {
                "name": name,
                "error": None,
                "topic_id": topic.topic_id,
                "internal": topic.is_internal,
                "partitions": [_partition(each) for each in topic.partitions],
            }
        )
        count = _count(len(topic.partitions), "partition")
        lines += ["", f"{name}: {count}, id {topic.topic_id}", *_partitions(topic)]
    return Report({"topics": document}, lines[1:], _errors(found))


def _partitions(topic: TopicDescription) -> list[str]:
    rows = [
        [
            each.partition,
            each.leader.id if each.leader is not None else None,
            *map(_ids, (each.replicas, each.in_sync_replicas, each.offline_replicas)),
        ]
        for each in topic.partitions
    ]
    return table(["partition", "leader", "replicas", "in sync", "offline"], rows)


def _partition(described: PartitionDescription) -> Json:
    return {
        "partition": described.partition,
        "leader": described.leader.id if described.leader is not None else None,
        "leader_epoch": described.leader_epoch,
        "replicas": described.replicas,
        "in_sync_replicas": described.in_sync_replicas,
        "offline_replicas": described.offline_replicas,
        "eligible_leader_replicas": described.eligible_leader_replicas,
        "last_known_eligible": described.last_known_eligible,
    }


def created(
    made: Mapping[str, TopicCreated | KafkaError], *, dry_run: bool, may_exist: bool
) -> Report:
    document: list[Json] = []
    lines: list[str] = []
    errors: list[KafkaError] = []
    for name, topic in made.items():
        if not isinstance(topic, KafkaError):
            document.append(_creation(name, topic, created=not dry_run))
            count = _count(topic.partitions, "partition")
            verb = "can be created" if dry_run else "created"
            lines.append(f"{name}: {verb}, {count}, replication factor {topic.replication_factor}")
        elif may_exist and isinstance(topic, TopicAlreadyExists):
            document.append(_creation(name, None, created=False))
            lines.append(f"{name}: it was there")
        else:
            document.append(_failed(name, topic))
            errors.append(topic)
    return Report({"topics": document}, lines, errors)


def _creation(name: str, topic: TopicCreated | None, *, created: bool) -> Json:
    return {
        "name": name,
        "error": None,
        "created": created,
        "topic_id": topic and topic.topic_id,
        "partitions": topic and topic.partitions,
        "replication_factor": topic and topic.replication_factor,
    }


def deleted(results: Mapping[str, KafkaError | None], *, may_be_missing: bool) -> Report:
    document: list[Json] = []
    lines: list[str] = []
    errors: list[KafkaError] = []
    for name, error in results.items():
        was_missing = may_be_missing and isinstance(error, UnknownTopicOrPartition)
        if error is None or was_missing:
            document.append({"name": name, "error": None, "deleted": not was_missing})
            lines.append(f"{name}: {'it was not there' if was_missing else 'deleted'}")
        else:
            document.append(_failed(name, error))
            errors.append(error)
    return Report({"topics": document}, lines, errors)


def grown(results: Mapping[str, KafkaError | None], total: int, *, dry_run: bool) -> Report:
    document: list[Json] = []
    lines: list[str] = []
    for name, error in results.items():
        if error is None:
            document.append({"name": name, "error": None, "partitions": total})
            verb = "can have" if dry_run else "has"
            lines.append(f"{name}: {verb} {_count(total, 'partition')}")
        else:
            document.append(_failed(name, error))
    return Report({"topics": document}, lines, _errors(results))


def shown(name: str, found: Mapping[str, ConfigEntry] | KafkaError, *, everything: bool) -> Report:
    if isinstance(found, KafkaError):
        return Report({"topic": name, "error": error_document(found)}, errors=[found])
    entries = [entry for _, entry in sorted(found.items()) if everything or not entry.is_default]
    rows = [
        [
            entry.name,
            "[hidden]" if entry.is_sensitive else entry.value,
            entry.source.name.lower().replace("_", " "),
        ]
        for entry in entries
    ]
    lines = table(["option", "value", "set by"], rows)
    return Report(
        {"topic": name, "error": None, "configs": [_option(entry) for entry in entries]},
        lines if entries else [f"{name}: every option has its default"],
    )


def _option(entry: ConfigEntry) -> Json:
    return {
        "name": entry.name,
        "value": entry.value,
        "source": entry.source.name,
        "default": entry.is_default,
        "read_only": entry.is_read_only,
        "sensitive": entry.is_sensitive,
        "type": entry.type.name,
    }


def changed(
    name: str, changes: Sequence[ConfigChange], error: KafkaError | None, *, dry_run: bool
) -> Report:
    if error is not None:
        return Report({"topic": name, "error": error_document(error)}, errors=[error])
    document = [{"operation": change.operation.name, "name": change.name} for change in changes]
    count = _count(len(changes), "change")
    return Report(
        {"topic": name, "error": None, "changes": document},
        [f"{name}: {count} {'possible' if dry_run else 'made'}"],
    )


def _failed(name: str, error: KafkaError) -> Json:
    return {"name": name, "error": error_document(error)}


def _errors(results: Mapping[str, object]) -> list[KafkaError]:
    return [result for result in results.values() if isinstance(result, KafkaError)]


def _ids(nodes: Sequence[int]) -> str:
    return ",".join(map(str, nodes)) or "-"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
