"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs and ListConfigResources. Pure.

A change is looked at twice, as in Kafka: by the node that is asked, which knows its own options,
and by the controller, which knows the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypedDict

from kafka_aio.broker.configs.broker import BROKER_OPTIONS
from kafka_aio.broker.configs.changes import (
    Change,
    Operation,
    changed,
    check_broker_changes,
    check_broker_configs,
    check_min_isr,
)
from kafka_aio.broker.configs.group import GROUP_OPTIONS, check_group_configs
from kafka_aio.broker.configs.metrics import check_metrics_configs
from kafka_aio.broker.configs.options import Option
from kafka_aio.broker.configs.topic import TOPIC_OPTIONS
from kafka_aio.broker.topics.placement import check_topic_name
from kafka_aio.errors import (
    BrokerError,
    InvalidConfig,
    InvalidRequest,
    UnknownServerError,
    UnknownTopicOrPartition,
    UnsupportedByBroker,
)
from kafka_aio.protocol.messages.configs import (
    AlterConfigsAlterConfigsResourceResponse,
    AlterConfigsRequest,
    AlterConfigsResponse,
    ConfigResource,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
    IncrementalAlterConfigsAlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call
    from kafka_aio.broker.configs.configs import Configs, Entry


class Kind(IntEnum):
    """What has options; the numbers are those of the wire."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


_MALFORMED: Final = (
    "This most likely occurs because of a request being malformed by the client library or the"
    " message was sent to an incompatible broker. See the broker logs for more details."
)


_KINDS: Final = tuple(Kind)
_OPERATIONS: Final = tuple(Operation)


def _check_faults(kind: int, name: str, call: Call) -> None:
    call.check_faults(
        topic=name if kind == Kind.TOPIC else "", group=name if kind == Kind.GROUP else ""
    )


# DescribeConfigs


def describe(request: DescribeConfigsRequest, call: Call) -> DescribeConfigsResponse:
    """The options of topics, nodes and groups, and where their values come from."""
    if any(resource.resource_type not in _KINDS for resource in request.resources):
        malformed = InvalidRequest(_MALFORMED)
        results = [_described(resource, error=malformed) for resource in request.resources]
        return DescribeConfigsResponse(throttle_time_ms=0, results=results)
    results = []
    for resource in request.resources:
        kind, name = Kind(resource.resource_type), resource.resource_name
        try:
            _check_faults(kind, name, call)
            entries = _entries(kind, name, call)
        except BrokerError as error:
            results.append(_described(resource, error=error))
            continue
        keys = resource.configuration_keys
        told = [
            _told(entry, with_synonyms=request.include_synonyms)
            for entry in entries
            if not keys or entry.option.name in keys
        ]
        results.append(_described(resource, told))
    return DescribeConfigsResponse(throttle_time_ms=0, results=results)


def _entries(kind: Kind, name: str, call: Call) -> Sequence[Entry]:
    configs = call.state.configs
    match kind:
        case Kind.TOPIC:
            check_topic_name(name)
            return configs.topic(call.topic(name).configs, call.node)
        case Kind.BROKER if not name:
            return configs.cluster()
        case Kind.BROKER:
            _check_node(name, call, "Broker id must be an integer", f"{call.node} or empty string,")
            return configs.node(call.node)
        case Kind.BROKER_LOGGER:
            if not name:
                raise InvalidRequest("Broker id must not be empty")
            _check_node(name, call, "Broker id must be an integer", f"{call.node}")
            return ()  # we log as Python does
        case Kind.CLIENT_METRICS:
            if not name:
                raise InvalidRequest("Client metrics subscription name must not be empty")
            return configs.subscription(name)
        case Kind.GROUP:
            if not name:
                raise InvalidRequest("Group name must not be empty")
            return configs.group(name, call.node)


def _check_node(name: str, call: Call, no_number: str, expected: str) -> None:
    """Raise InvalidRequest if it is not the id of the node that is asked."""
    if _number(name, no_number) != call.node:
        raise InvalidRequest(f"Unexpected broker id, expected {expected} but received {name}")


def _number(name: str, no_number: str) -> int:
    """The id of a node. Raises InvalidRequest if it is none, or none that Java would read."""
    if not re.fullmatch("[+-]?0*[0-9]{1,10}", name):
        raise InvalidRequest(f"{no_number}, but it is: {name}")
    digits = name.lstrip("+-0") or "0"
    return -int(digits) if name.startswith("-") else int(digits)


def _told(entry: Entry, *, with_synonyms: bool) -> DescribeConfigsResourceResult:
    return DescribeConfigsResourceResult(
        name=entry.option.name,
        value=entry.value,
        read_only=entry.is_read_only,
        config_source=entry.source,
        is_sensitive=entry.option.is_sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=each.name, value=each.value, source=each.source)
            for each in (entry.synonyms if with_synonyms else ())
        ],
        config_type=entry.option.type,
        documentation=None,
    )


def _described(
    resource: DescribeConfigsResource,
    configs: Sequence[DescribeConfigsResourceResult] = (),
    *,
    error: BrokerError | None = None,
) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=error.code if error else 0,
        error_message=error.message if error else "",
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=list(configs),
    )


# AlterConfigs, IncrementalAlterConfigs


def alter(request: AlterConfigsRequest, call: Call) -> AlterConfigsResponse:
    """Set all options of topics, nodes and groups: those that are not named go."""
    asked = [
        _Asked(
            resource.resource_type,
            resource.resource_name,
            [_Set(0, config.name, config.value) for config in resource.configs],
            is_complete=True,
        )
        for resource in request.resources
    ]
    altered = _altered(asked, call, validate_only=request.validate_only)
    responses = [AlterConfigsAlterConfigsResourceResponse(**each) for each in altered]
    return AlterConfigsResponse(throttle_time_ms=0, responses=responses)


def incremental_alter(
    request: IncrementalAlterConfigsRequest, call: Call
) -> IncrementalAlterConfigsResponse:
    """Change some options of topics, nodes and groups."""
    asked = [
        _Asked(
            resource.resource_type,
            resource.resource_name,
            [_Set(each.config_operation, each.name, each.value) for each in resource.configs],
        )
        for resource in request.resources
    ]
    altered = _altered(asked, call, validate_only=request.validate_only)
    responses = [IncrementalAlterConfigsAlterConfigsResourceResponse(**each) for each in altered]
    return IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=responses)


class _Set(NamedTuple):
    """A change as it is on the wire."""

    operation: int
    name: str
    value: str | None


class _Asked(NamedTuple):
    """What is asked for a resource."""

    kind: int
    name: str
    sets: Sequence[_Set]
    is_complete: bool = False
    """Whether options that are not named go."""

    @property
    def resource(self) -> tuple[int, str]:
        return self.kind, self.name


class _Altered(TypedDict):
    """What is answered of a resource."""

    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str


def _altered(asked: Sequence[_Asked], call: Call, *, validate_only: bool) -> Iterator[_Altered]:
    """Change what can be changed."""
    counts = Counter(each.resource for each in asked)
    for each in asked:
        try:
            if counts[each.resource] > 1:
                raise InvalidRequest("Each resource must appear at most once.")
            _check_faults(each.kind, each.name, call)
            apply = _checked(each, call)
        except BrokerError as error:
            code, message = error.code, error.message or None
        else:
            code, message = 0, None
            if not validate_only:
                apply()
        yield _Altered(
            error_code=code,
            error_message=message,
            resource_type=each.kind,
            resource_name=each.name,
        )


def _checked(asked: _Asked, call: Call) -> Callable[[], None]:
    """What is to be done."""
    names = [each.name for each in asked.sets]
    if len(set(names)) != len(names):
        raise InvalidRequest("Error due to duplicate config keys")
    delete = Operation.DELETE
    null = [each.name for each in asked.sets if each.value is None and each.operation != delete]
    if null:
        raise InvalidRequest(f"Null value not supported for : {', '.join(null)}")
    match asked.kind:
        case Kind.TOPIC:
            return _topic_changed(asked, call)
        case Kind.BROKER:
            return _broker_changed(asked, call)
        case Kind.BROKER_LOGGER if not asked.is_complete:
            return _logger_changed(asked, call)
        case Kind.CLIENT_METRICS:
            return _metrics_changed(asked, call)
        case Kind.GROUP:
            return _group_changed(asked, call)
    raise InvalidRequest(f"Unknown resource type {asked.kind}")


def _new(asked: _Asked, before: Mapping[str, str], options: Mapping[str, Option]) -> dict[str, str]:
    """What is set then."""
    changes = _changes(asked)
    return changed({} if asked.is_complete else before, changes, options)


def _changes(asked: _Asked) -> list[Change]:
    if any(each.operation not in _OPERATIONS for each in asked.sets):
        raise UnknownServerError()  # the controller stumbles over it
    return [Change(Operation(each.operation), each.name, each.value or "") for each in asked.sets]


def _topic_changed(asked: _Asked, call: Call) -> Callable[[], None]:
    topics = call.state.topics
    topic = topics.by_name.get(asked.name)
    new = _new(asked, topic.configs if topic else {}, TOPIC_OPTIONS)
    if not asked.name:
        raise InvalidRequest("Default topic resources are not allowed.")
    check_topic_name(asked.name)
    topics.check_configs(new)
    if topic is None:
        raise UnknownTopicOrPartition(f"The topic '{asked.name}' does not exist.")
    topics.check_room(topic, new)
    return partial(topics.configure, topic, new)


def _broker_changed(asked: _Asked, call: Call) -> Callable[[], None]:
    state = call.state
    if asked.name:
        _check_node(asked.name, call, "Node id must be an integer", f"{call.node},")
    before = state.configs.nodes.get(asked.name, {})
    for each in asked.sets:
        if each.operation not in _OPERATIONS:
            raise InvalidRequest(f"Unknown operations type {each.operation}")
    check_broker_changes(_changes(asked))
    new = _new(asked, before, BROKER_OPTIONS)
    check_broker_configs(new, for_node=bool(asked.name))
    check_min_isr(asked.name, _changes(asked), new)
    keep = _kept(state.configs, state.configs.nodes, asked.name, new)

    def apply() -> None:
        keep()
        state.topics.configure_all()

    return apply


def _logger_changed(asked: _Asked, call: Call) -> Callable[[], None]:
    """Nothing: there are no loggers here that could be changed."""
    node = _number(asked.name, "Node id must be an integer")
    if node != call.node:
        raise InvalidRequest(f"Unexpected node id. Expected {call.node}, but received {node}")
    for change in _changes(asked):
        if change.operation in (Operation.APPEND, Operation.SUBTRACT):
            raise InvalidRequest(
                f"{change.operation.name} operation is not allowed for the BROKER_LOGGER resource"
            )
        raise InvalidConfig(f"Logger {change.name} does not exist!")
    return lambda: None


def _metrics_changed(asked: _Asked, call: Call) -> Callable[[], None]:
    configs = call.state.configs
    before = configs.metrics.get(asked.name, {})
    new = _new(asked, before, {})  # the controller knows none as a list
    check_metrics_configs(asked.name, new)
    return _kept(configs, configs.metrics, asked.name, new)


def _group_changed(asked: _Asked, call: Call) -> Callable[[], None]:
    configs = call.state.configs
    new = _new(asked, configs.groups.get(asked.name, {}), GROUP_OPTIONS)
    if not asked.name:
        raise InvalidRequest("Default group resources are not allowed.")
    defaults = {name: configs.group_value("", name) for name in GROUP_OPTIONS}
    check_group_configs(new, defaults, configs.broker_value)
    return _kept(configs, configs.groups, asked.name, new)


def _kept(
    configs: Configs, kept: dict[str, dict[str, str]], name: str, new: dict[str, str]
) -> Callable[[], None]:
    """What is to be done, if there is room for it."""
    before = kept.get(name, {})
    configs.check_room(name, before, new)

    def apply() -> None:
        configs.take_room(name, before, new)
        if new:
            kept[name] = new
        else:
            kept.pop(name, None)

    return apply


# ListConfigResources


def list_resources(request: ListConfigResourcesRequest, call: Call) -> ListConfigResourcesResponse:
    """What has options that were set, or always has some."""
    call.check_faults()
    known = _KINDS if call.version > 0 else (Kind.CLIENT_METRICS,)
    kinds = request.resource_types or known
    if any(kind not in known for kind in kinds):
        raise UnsupportedByBroker()
    state = call.state
    nodes = [str(node) for node in state.nodes]
    names: dict[Kind, Iterable[str]] = {
        Kind.GROUP: state.configs.groups,
        Kind.CLIENT_METRICS: state.configs.metrics,
        Kind.BROKER_LOGGER: nodes,
        Kind.BROKER: nodes,
        Kind.TOPIC: state.topics.by_name,
    }
    return ListConfigResourcesResponse(
        throttle_time_ms=0,
        error_code=0,
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind, found in names.items()
            if kind in kinds
            for name in found
        ],
    )
