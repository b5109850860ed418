"""An answer without what differs from one broker to the next: ids, times, addresses."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from kafka_aio.protocol.schema import NO_UUID, schema_of

# Which field holds an id that a broker makes up, and of what kind it is: the same id twice is the
# same name twice, so that what belongs together still does.
IDS = {
    "cluster_id": "cluster",
    "leader": "member",
    "member_id": "member",
    "producer_id": "producer",
    "session_id": "session",
    "topic_id": "topic",
}
ADDRESSES = {"host", "port", "client_host"}
TIMES = {"log_append_time_ms", "last_timestamp", "timestamp"}
NO_ID = {"producer": (-1,), "session": (0,)}
"""What says that there is none, for each kind of number."""
# Lists in no order, and what to sort them by: Kafka has them from a hash map, or shuffles them so
# that an answer about an id does not give away which topics there are (DeleteTopics).
UNORDERED = {
    "AlterUserScramCredentialsResponse": {"results": "user"},
    "DeleteGroupsResponse": {"results": "group_id"},
    "DeleteTopicsResponse": {"responses": "name"},
    "DescribeConfigsResult": {"configs": "name"},
    "DescribeUserScramCredentialsResult": {"credential_infos": "mechanism"},
    "DescribedGroup": {"members": "member_id"},
    "JoinGroupResponse": {"members": "member_id"},
    "TopicProduceResponse": {"partition_responses": "index"},
}
# Defaults of topics that the real one has from its file (`tests.kafka.settings`), under options
# that the embedded one does not have. What a topic says itself is compared.
TOLD = {"retention.ms", "segment.bytes", "segment.index.bytes"}
OF_THE_TOPIC = 1


class Names:
    """Made-up ids of one broker, by the order in which they were seen."""

    def __init__(self) -> None:
        self._seen: defaultdict[str, dict[object, str]] = defaultdict(dict)

    def of(self, kind: str, made_up: object) -> str:
        seen = self._seen[kind]
        return seen.setdefault(made_up, f"{kind} {len(seen) + 1}")


def plain(message: object, names: Names, times: frozenset[str] = frozenset(TIMES)) -> Any:
    """What `message` says, as plain values."""
    if isinstance(message, list):
        return [plain(each, names, times) for each in message]
    if isinstance(message, memoryview):
        return bytes(message)
    if not hasattr(type(message), "__schema__"):
        return message
    fields = (field.name for field in schema_of(type(message)).fields)
    said = {name: _value(name, getattr(message, name), names, times) for name in fields}
    for name, order in UNORDERED.get(type(message).__name__, {}).items():
        said[name].sort(key=lambda each, order=order: str(each[order]))
    if said.get("name") in TOLD and "config_source" in said:
        _forget_default(said)
    return said


def _forget_default(config: dict[str, Any]) -> None:
    if config["config_source"] != OF_THE_TOPIC:
        config["value"] = config["config_source"] = "as the broker was told"
    if "synonyms" in config:
        synonyms = config["synonyms"]
        config["synonyms"] = [each for each in synonyms if each["source"] == OF_THE_TOPIC]


def _value(name: str, value: object, names: Names, times: frozenset[str]) -> Any:
    if name in ADDRESSES:
        return "an address"
    if name in times and isinstance(value, int) and value >= 0:
        return "a time"
    if (kind := IDS.get(name)) is not None and isinstance(value, str | int | bytes):
        none = NO_ID.get(kind, (None, "", NO_UUID))
        return value if value in none else names.of(kind, value)
    return plain(value, names, times)


def difference(theirs: Any, ours: Any, where: str = "answer") -> str:
    """The first place in which two plain values differ."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        pairs = [(f"{where}.{name}", theirs[name], ours.get(name)) for name in theirs]
    elif (
        isinstance(theirs, list | tuple)
        and isinstance(ours, list | tuple)
        and len(theirs) == len(ours)
    ):
        pairs = [
            (f"{where}[{at}]", *pair) for at, pair in enumerate(zip(theirs, ours, strict=True))
        ]
    else:
        pairs = []
    for place, one, other in pairs:
        if one != other:
            return difference(one, other, place)
    return f"{where}: Kafka says {theirs!r}, the embedded broker {ours!r}"
