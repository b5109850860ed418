"""What a request names: topics, partitions and groups, whatever its API calls them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from kafka_aio.protocol.schema import NO_UUID, Request, Uuid

if TYPE_CHECKING:
    from kafka_aio.broker.topics.topics import Topic

_TOPICS: Final = ("topics", "topic_data", "topic_names", "topic_partitions")
_PARTITIONS: Final = ("partitions", "partition_data", "partition_indexes")
_PARTITION: Final = ("partition", "partition_index", "index")
_GROUPS: Final = ("groups", "group_ids", "groups_names", "coordinator_keys")
_GROUP: Final = ("group_id", "key")


def names_partition(
    request: Request[Any], topic: str, partition: int | None, *, names: Mapping[Uuid, Topic]
) -> bool:
    """Whether a request names a topic, or that partition of it.

    Args:
        request: The request.
        topic: The name of the topic.
        partition: None for any. A request for a whole topic names them all.
        names: The topics by id: newer requests have no names.
    """
    for item in _topics(request):
        if _name(item, names) != topic:
            continue
        found = list(_partitions(item))
        if partition is None or not found or partition in found:
            return True
    return False


def names_group(request: Request[Any], group: str) -> bool:
    """Whether a request names a group."""
    return any(getattr(request, name, None) == group for name in _GROUP) or any(
        group in (item, getattr(item, "group_id", None)) for item in _items(request, _GROUPS)
    )


def _topics(request: Request[Any]) -> Iterator[Any]:
    yield from _items(request, _TOPICS)
    for group in _items(request, ("groups",)):  # OffsetFetch
        yield from _items(group, _TOPICS)


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
