"""What a request names: topics, partitions and groups, whatever its API calls them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from kafka_aio.protocol.schema import NO_UUID, Array, Request, Struct, Uuid, schema_of

if TYPE_CHECKING:
    from kafka_aio.broker.topics.topics import Topic

_TOPICS: Final = (
    "topics",
    "topic_data",
    "topic_names",
    "topic_partitions",
    "subscribed_topic_names",
)
_PARTITIONS: Final = ("partitions", "partition_data", "partition_indexes")
_PARTITION: Final = ("partition", "partition_index", "index")
_GROUPS: Final = ("groups", "group_ids", "groups_names", "coordinator_keys")
_GROUP: Final = ("group_id", "key")
_HOLDERS: Final = ("groups",)
"""What has topics of its own: in OffsetFetch."""
_RESOURCES: Final = ("resources",)
_TOPIC_RESOURCE: Final = 2
_GROUP_RESOURCE: Final = 32


def can_name(cls: type[Request[Any]]) -> frozenset[str]:
    """Of topic, partition and group, those that requests of this class have a place for."""
    holders = [cls, *_structs(cls, _HOLDERS)]
    fields = {field.name for holder in holders for field in schema_of(holder).fields}
    found = set()
    if not fields.isdisjoint(_TOPICS + _RESOURCES):
        found.add("topic")
    topics = [topic for holder in holders for topic in _structs(holder, _TOPICS)]
    if any(field.name in _PARTITIONS for topic in topics for field in schema_of(topic).fields):
        found.add("partition")
    if not fields.isdisjoint(_GROUP + _GROUPS + _RESOURCES):
        found.add("group")
    return frozenset(found)


def names_resources(cls: type[Request[Any]]) -> bool:
    """Whether what such requests are about is a topic or a group, and never both."""
    return any(field.name in _RESOURCES for field in schema_of(cls).fields)


def names_partition(
    request: Request[Any],
    topic: str,
    partition: int | None,
    *,
    version: int,
    names: Mapping[Uuid, Topic],
) -> bool:
    """Whether a request names a topic, or that partition of it.

    Args:
        request: The request.
        topic: The name of the topic.
        partition: None for any. A request for a whole topic names them all.
        version: That of the request.
        names: The topics by id: newer requests have no names, and some ask for all that there are.
    """
    items = names.values() if _asks_for_all(request, version) else _topics(request)
    for item in items:
        if _name(item, names) != topic:
            continue
        found = list(_partitions(item))
        if partition is None or not found or partition in found:
            return True
    return False


def names_group(request: Request[Any], group: str) -> bool:
    """Whether a request names a group."""
    return (
        any(getattr(request, name, None) == group for name in _GROUP)
        or any(
            group in (item, getattr(item, "group_id", None)) for item in _items(request, _GROUPS)
        )
        or group in _resources(request, _GROUP_RESOURCE)
    )


def _asks_for_all(request: Any, version: int) -> bool:
    """Whether a request means all topics, by naming none."""
    match schema_of(type(request)).api:
        case "Metadata":
            return request.topics is None or (version == 0 and not request.topics)
        case "DescribeTopicPartitions":
            return not request.topics
        case "ElectLeaders":
            return request.topic_partitions is None
        case "ListPartitionReassignments":
            return request.topics is None
        case "OffsetFetch":  # where before version 8 there is but one group
            return any(each.topics is None for each in request.groups or [request])
    return False


def _topics(request: Request[Any]) -> Iterator[Any]:
    yield from _items(request, _TOPICS)
    yield from _resources(request, _TOPIC_RESOURCE)
    for holder in _items(request, _HOLDERS):
        yield from _items(holder, _TOPICS)


def _resources(request: Request[Any], kind: int) -> Iterator[str]:
    """What has options, of one kind."""
    for each in _items(request, _RESOURCES):
        if each.resource_type == kind:
            yield each.resource_name


def _name(item: Any, names: Mapping[Uuid, Topic]) -> str | None:
    if isinstance(item, str):
        return item
    name: str | None = getattr(item, "name", None) or getattr(item, "topic", None)
    found = None if name else names.get(getattr(item, "topic_id", NO_UUID))
    return found.name if found is not None else name


def _partitions(item: Any) -> Iterator[int]:
    for each in _items(item, _PARTITIONS):
        if isinstance(each, int):
            yield each
        else:
            yield next(getattr(each, name) for name in _PARTITION if hasattr(each, name))


def _items(message: Any, names: tuple[str, ...]) -> Iterator[Any]:
    """What the lists of these names hold; a message may lack them, or have null there."""
    for name in names:
        yield from getattr(message, name, None) or ()


def _structs(cls: type, names: tuple[str, ...]) -> Iterator[type]:
    """The classes of what the lists of these names hold."""
    for field in schema_of(cls).fields:
        kind = field.type.item if isinstance(field.type, Array) else field.type
        if field.name in names and isinstance(kind, Struct):
            yield kind.cls
