"""Options that are set for topics, nodes and groups, and what follows from them. Pure.

What an option of a topic is, is said by the first of: the topic, the node, all nodes, the settings
of the broker, Kafka's default. Replicas share one log, so what is set for one node is told to who
asks, but has an effect on topics only where the node is the only one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_aio.broker.configs import group, topic
from kafka_aio.broker.configs.broker import BROKER_OPTIONS
from kafka_aio.broker.configs.group import GROUP_OPTIONS
from kafka_aio.broker.configs.metrics import METRICS_OPTIONS
from kafka_aio.broker.configs.options import Option, Source, Type, Value, shown
from kafka_aio.broker.configs.topic import TOPIC_OPTIONS
from kafka_aio.broker.room import Room, bytes_of
from kafka_aio.errors import PolicyViolation

if TYPE_CHECKING:
    from kafka_aio.broker.nodes import Node
    from kafka_aio.broker.settings import Settings

CLUSTER: Final = ""
"""The name of what is set for all nodes."""
MIN_ISR: Final = "min.insync.replicas"
_OBJECTS: Final = 200
"""The bytes of an option that is set, without its texts."""
_ITEM: Final = 64
"""The bytes of an item of a list, once it is read."""

_DEFAULTS: Final = {
    name: option.default for name, option in BROKER_OPTIONS.items() if option.default is not None
}
_SYNONYMS: Final = {
    name: tuple(name for name, _ in names)
    for names in topic.BROKER_NAMES.values()
    for name, _ in names
}
"""Options of the broker that say one thing in several units."""


class Synonym(NamedTuple):
    """A name by which an option has a value, and where from."""

    name: str
    value: str | None
    source: Source


class Entry(NamedTuple):
    """An option, its value, and where that comes from."""

    option: Option
    value: str | None
    source: Source
    synonyms: Sequence[Synonym] = ()
    is_read_only: bool = False


class Configs:
    """What is set for nodes and groups, and the values of all options. Topics keep their own."""

    def __init__(
        self, settings: Settings, nodes: Mapping[int, Node], room: Room | None = None
    ) -> None:
        self._nodes = nodes
        self._room = Room() if room is None else room
        self._static = _as_kafka(settings)
        # Kafka sets it when it makes a cluster with eligible leader replicas (KIP-966).
        self.nodes: dict[str, dict[str, str]] = {
            CLUSTER: {MIN_ISR: f"{settings.min_insync_replicas}"}
        }
        """What is set for a node, by the text of its id, and for all under `CLUSTER`."""
        self.groups: dict[str, dict[str, str]] = {}
        self.metrics: dict[str, dict[str, str]] = {}
        """Subscriptions to metrics of clients (KIP-714), which nobody reads."""

    # What holds

    def topic_values(self, configs: Mapping[str, str]) -> dict[str, Value]:
        """The value of each option of a topic for which `configs` are set."""
        node = next(iter(self._nodes), None) if len(self._nodes) == 1 else None
        return {
            entry.option.name: None if entry.value is None else entry.option.parse(entry.value)
            for entry in self.new_topic(configs, node)
        }

    def group_value(self, group_id: str, name: str) -> Value:
        """The value of an option of a group, be it there or not."""
        if (text := self.groups.get(group_id, {}).get(name)) is not None:
            return GROUP_OPTIONS[name].parse(text)
        if (broker_name := group.BROKER_NAMES.get(name)) is not None:
            return self.broker_value(broker_name)
        default = GROUP_OPTIONS[name].default
        return None if default is None else GROUP_OPTIONS[name].parse(default)

    def broker_value(self, name: str) -> Value:
        """The value of an option of all nodes."""
        for layer, _ in self._layers(None):
            if name in layer:
                return BROKER_OPTIONS[name].parse(layer[name])
        return None

    # What is kept

    def check_room(self, name: str, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        """Whether other options may be set for something. Kafka has a disk, we have memory.

        Raises:
            PolicyViolation: There is no room for more.
        """
        if not self._room.has(_size(name, after) - _size(name, before)):
            raise PolicyViolation("The embedded broker has no room for more options.")

    def take_room(self, name: str, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        """Other options are set for something from now on."""
        self._room.take(_size(name, after) - _size(name, before))

    # What is told

    def new_topic(self, configs: Mapping[str, str], node: int | None) -> list[Entry]:
        """The options of a topic as they are told to who makes it."""
        return [
            self._new_topic_entry(option, configs, node)
            for name, option in sorted(TOPIC_OPTIONS.items())
            if not option.is_internal or name in configs
        ]

    def _new_topic_entry(
        self, option: Option, configs: Mapping[str, str], node: int | None
    ) -> Entry:
        if option.name in configs:
            return Entry(option, configs[option.name], Source.TOPIC)
        names = topic.BROKER_NAMES.get(option.name, ())
        for layer, source in self._layers(node):
            for name, unit in names:
                if name in layer and source is not Source.DEFAULT:
                    text = layer[name]
                    return Entry(option, text if unit == 1 else f"{int(text) * unit}", source)
        return Entry(option, option.default, Source.DEFAULT)

    def topic(self, configs: Mapping[str, str], node: int) -> list[Entry]:
        """The options of a topic as a node describes them."""
        described = []
        for option, value, *_ in self.new_topic(configs, node):
            names = [name for name, _ in topic.BROKER_NAMES.get(option.name, ())]
            synonyms = self._synonyms(names, node) if names else []
            described.append(
                _entry(option, _normal(option, value), synonyms, configs, Source.TOPIC)
            )
        return described

    def node(self, node: int) -> list[Entry]:
        """The options of a node as it describes them."""
        own = [name for name in self._names_set(node) if name not in BROKER_OPTIONS]
        described = [self._unknown(name, self._synonyms([name], node)) for name in own]
        for name, option in BROKER_OPTIONS.items():
            value = next((layer[name] for layer, _ in self._layers(node) if name in layer), None)
            synonyms = self._synonyms(_SYNONYMS.get(name, (name,)), node, name)
            described.append(
                _entry(option, _normal(option, value), synonyms)._replace(
                    is_read_only=not option.scope
                )
            )
        return described

    def cluster(self) -> list[Entry]:
        """What is set for all nodes."""
        described = []
        for name, value in self.nodes[CLUSTER].items():
            synonyms = [Synonym(name, value, Source.DYNAMIC_DEFAULT_BROKER)]
            if (option := BROKER_OPTIONS.get(name)) is None:
                described.append(self._unknown(name, synonyms))
            else:
                described.append(_entry(option, value, synonyms))
        return described

    def group(self, group_id: str, node: int) -> list[Entry]:
        """The options of a group, be it there or not."""
        configs = self.groups.get(group_id, {})
        described = []
        for name, option in GROUP_OPTIONS.items():
            if (broker_name := group.BROKER_NAMES.get(name)) is not None:
                synonyms = self._synonyms([broker_name], node)
            else:
                synonyms = [Synonym(name, option.default, Source.DEFAULT)]
            value = _normal(option, configs.get(name, synonyms[0].value))
            described.append(_entry(option, value, synonyms, configs, Source.GROUP))
        return described

    def subscription(self, name: str) -> list[Entry]:
        """The options of a subscription to metrics, be it there or not."""
        configs = self.metrics.get(name, {})
        return [
            _entry(
                option,
                _normal(option, configs.get(option.name, option.default)),
                [],
                configs,
                Source.CLIENT_METRICS,
            )
            for option in METRICS_OPTIONS.values()
        ]

    def _unknown(self, name: str, synonyms: Iterable[Synonym]) -> Entry:
        """An option that only its user knows: it may be a secret."""
        hidden = [each._replace(value=None) for each in synonyms]
        return Entry(Option(name, Type.UNKNOWN, None), None, hidden[0].source, hidden, True)

    def _names_set(self, node: int) -> dict[str, str]:
        return self.nodes[CLUSTER] | self.nodes.get(str(node), {})

    def _synonyms(self, names: Sequence[str], node: int, name: str | None = None) -> list[Synonym]:
        """All values of `names`, the strongest first; without those before the first of `name`."""
        name = names[0] if name is None else name
        found = [
            Synonym(each, layer[each], source)
            for layer, source in self._layers(node)
            for each in names
            if each in layer
        ]
        first = next((at for at, each in enumerate(found) if each.name == name), len(found))
        return found[first:]

    def _layers(self, node: int | None) -> list[tuple[Mapping[str, str], Source]]:
        """Who says what an option of the broker is, the strongest first."""
        return [
            (self.nodes.get(str(node), {}), Source.DYNAMIC_BROKER),
            (self.nodes[CLUSTER], Source.DYNAMIC_DEFAULT_BROKER),
            (self._static if node is None else self._of_node(node), Source.STATIC_BROKER),
            (_DEFAULTS, Source.DEFAULT),
        ]

    def _of_node(self, node: int) -> dict[str, str]:
        own = {"node.id": f"{node}", "broker.id": f"{node}", "process.roles": "broker,controller"}
        if (rack := self._nodes[node].rack) is not None:
            own["broker.rack"] = rack
        return self._static | own


def _size(name: str, configs: Mapping[str, str]) -> int:
    """What it takes to keep the options of something."""
    if not configs:
        return 0
    items = sum(text.count(",") for text in configs.values())
    return (
        bytes_of(name, *configs, *configs.values()) + _OBJECTS * (1 + len(configs)) + _ITEM * items
    )


def _as_kafka(settings: Settings) -> dict[str, str]:
    """The settings that are not Kafka's defaults, under Kafka's names."""
    static = {}
    for field in fields(settings):
        name, value = field.name.replace("_", "."), shown(getattr(settings, field.name))
        if value is not None and _DEFAULTS.get(name) != value and name in BROKER_OPTIONS:
            static[name] = value
    return static


def _entry(
    option: Option,
    value: str | None,
    synonyms: Sequence[Synonym],
    configs: Mapping[str, str] | None = None,
    source: Source = Source.DEFAULT,
) -> Entry:
    """An option with all that would set it, the strongest first."""
    if configs and option.name in configs:
        synonyms = [Synonym(option.name, value, source), *synonyms]
    if option.is_sensitive:
        value, synonyms = None, [each._replace(value=None) for each in synonyms]
    return Entry(option, value, synonyms[0].source if synonyms else Source.DEFAULT, synonyms)


def _normal(option: Option, text: str | None) -> str | None:
    """A text as it is told after it was read."""
    return None if text is None else shown(option.parse(text))
