from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from kafka_aio.broker.api import SERVED
from kafka_aio.broker.call import Call
from kafka_aio.broker.core import Core
from kafka_aio.broker.state import State
from kafka_aio.errors import ConfigError, KafkaStorageError
from kafka_aio.protocol.messages import for_key
from kafka_aio.protocol.messages.index import REQUESTS
from kafka_aio.protocol.schema import Array, Request, Struct, schema_of
from tests.unit.broker.clusters import call, made
from tests.unit.broker.producing import batch

TOPIC: Any = {"topic": "t"}
PARTITION: Any = {"topic": "t", "partition": 1}
GROUP: Any = {"group": "g"}
OTHERS: Any = ({"topic": "u"}, {"topic": "t", "partition": 0}, {"group": "h"})

TOPICS = (TOPIC,)
PARTITIONS = (TOPIC, PARTITION)
GROUPS = (GROUP,)
ALL = (TOPIC, PARTITION, GROUP, {**PARTITION, **GROUP})
EVERY_TOPIC = (TOPIC, {"topic": "u"})
EVERY_PARTITION = (PARTITION, *EVERY_TOPIC, {"topic": "t", "partition": 0})

ERROR = KafkaStorageError
KEYS = {name.removesuffix("Request"): key for key, (_, name) in REQUESTS.items()}


def request(api: str, **values: Any) -> Request[Any]:
    """A request of plain values; whatever is not given is empty."""
    found: Request[Any] = _message(for_key(KEYS[api]), values)
    return found


def _message(cls: type, values: dict[str, Any]) -> Any:
    fields = schema_of(cls).fields
    assert {field.name for field in fields} >= values.keys(), cls
    given = {field.name: field.empty for field in fields if field.required}
    for field in fields:
        if field.name in values:
            given[field.name] = _value(field.type, values[field.name])
    return cls(**given)


def _value(kind: Any, value: Any) -> Any:
    if isinstance(kind, Array) and isinstance(kind.item, Struct) and value is not None:
        return [_message(kind.item.cls, each) for each in value]
    return value


OFFSET = {"partition_index": 1, "committed_offset": 0, "committed_metadata": ""}
COMMIT = request("OffsetCommit", group_id="g", topics=[{"name": "t", "partitions": [OFFSET]}])


def committed() -> State:
    """A topic of two partitions; a group has committed an offset of the second one."""
    state = made(1, {"t": 2, "u": 1})
    Core(state)
    call(state, COMMIT, version=9)
    return state


class Case(NamedTuple):
    """A request that names partition 1 of "t", or "t", or "g"; and the filters that fit it."""

    request: Request[Any]
    filters: tuple[Any, ...]
    version: int


def case(api: str, filters: tuple[Any, ...], *, version: int = -1, **values: Any) -> Case:
    last = schema_of(for_key(KEYS[api])).stable_versions[1]
    return Case(request(api, **values), filters, last if version == -1 else version)


T_ID = committed().topics.by_name["t"].id  # by the seed
DATA = {"partition_data": [{"index": 1, "records": batch()}]}
WANTED = [{"partition": 1, "partition_max_bytes": 1000}]
INDEX = [{"partition_index": 1}]
BY_NAME = [{"name": "t", "partition_indexes": [1]}]
BY_ID = [{"topic_id": T_ID, "partition_indexes": [1]}]
MEMBER: Any = {"group_id": "g", "member_id": "m"}
RESOURCES: list[tuple[Any, list[Any]]] = [
    (TOPICS, [{"resource_type": 2, "resource_name": "t"}]),
    (GROUPS, [{"resource_type": 32, "resource_name": "g"}]),
]
CONFIGS = ("DescribeConfigs", "AlterConfigs", "IncrementalAlterConfigs")

CASES = [
    case("Produce", PARTITIONS, acks=1, version=12, topic_data=[{"name": "t", **DATA}]),
    case("Produce", PARTITIONS, acks=1, topic_data=[{"topic_id": T_ID, **DATA}]),
    case("Fetch", PARTITIONS, version=12, topics=[{"topic": "t", "partitions": WANTED}]),
    case("Fetch", PARTITIONS, topics=[{"topic_id": T_ID, "partitions": WANTED}]),
    case("ListOffsets", PARTITIONS, topics=[{"name": "t", "partitions": INDEX}]),
    case("Metadata", TOPICS, topics=[{"name": "t"}]),
    case("Metadata", TOPICS, topics=[{"name": None, "topic_id": T_ID}]),
    case("Metadata", EVERY_TOPIC, topics=None),
    case("Metadata", EVERY_TOPIC, version=0, topics=[]),
    Case(COMMIT, ALL, 9),
    case("OffsetCommit", ALL, group_id="g", topics=[{"topic_id": T_ID, "partitions": [OFFSET]}]),
    case("OffsetFetch", ALL, version=1, group_id="g", topics=BY_NAME),
    case("OffsetFetch", ALL, version=7, group_id="g", topics=BY_NAME),
    case("OffsetFetch", ALL, version=7, group_id="g", topics=None),  # all that it has
    case("OffsetFetch", ALL, version=9, groups=[{"group_id": "g", "topics": BY_NAME}]),
    case("OffsetFetch", ALL, groups=[{"group_id": "g", "topics": BY_ID}]),
    case("OffsetFetch", ALL, groups=[{"group_id": "g", "topics": None}]),
    case("FindCoordinator", GROUPS, version=3, key="g"),
    case("FindCoordinator", GROUPS, coordinator_keys=["g"]),
    case("JoinGroup", GROUPS, session_timeout_ms=10_000, **MEMBER),
    case("Heartbeat", GROUPS, **MEMBER),
    case("LeaveGroup", GROUPS, group_id="g"),
    case("SyncGroup", GROUPS, protocol_type="consumer", protocol_name="range", **MEMBER),
    case("DescribeGroups", GROUPS, groups=["g"]),
    case("CreateTopics", TOPICS, topics=[{"name": "t", "num_partitions": 1}]),
    case("DeleteTopics", TOPICS, topics=[{"name": "t"}]),
    case("DeleteTopics", TOPICS, topics=[{"name": None, "topic_id": T_ID}]),
    case("DeleteTopics", TOPICS, version=5, topic_names=["t"]),
    case("DeleteRecords", PARTITIONS, topics=[{"name": "t", "partitions": INDEX}]),
    case(
        "OffsetForLeaderEpoch",
        PARTITIONS,
        topics=[{"topic": "t", "partitions": [{"partition": 1}]}],
    ),
    *(case(api, fit, resources=named) for api in CONFIGS for fit, named in RESOURCES),
    case("CreatePartitions", TOPICS, topics=[{"name": "t", "count": 3, "assignments": None}]),
    case("DeleteGroups", GROUPS, groups_names=["g"]),
    case("ElectLeaders", PARTITIONS, topic_partitions=[{"topic": "t", "partitions": [1]}]),
    case("ElectLeaders", EVERY_PARTITION, topic_partitions=None),
    case("AlterPartitionReassignments", PARTITIONS, topics=[{"name": "t", "partitions": INDEX}]),
    case("ListPartitionReassignments", PARTITIONS, topics=BY_NAME),
    case("ListPartitionReassignments", EVERY_PARTITION, topics=None),
    case("OffsetDelete", ALL, group_id="g", topics=[{"name": "t", "partitions": INDEX}]),
    case("DescribeProducers", PARTITIONS, topics=BY_NAME),
    case(
        "ConsumerGroupHeartbeat",
        (*ALL, {"topic": "t", "partition": 0}),
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
        **MEMBER,
    ),
    case(
        "ConsumerGroupHeartbeat",
        ALL,
        member_epoch=1,
        topic_partitions=[{"topic_id": T_ID, "partitions": [1]}],
        **MEMBER,
    ),
    case("ConsumerGroupDescribe", GROUPS, group_ids=["g"]),
    case("DescribeTopicPartitions", TOPICS, topics=[{"name": "t"}]),
    case("DescribeTopicPartitions", EVERY_TOPIC, topics=[]),
]


def api_of(case: Case) -> str:
    return schema_of(type(case.request)).api


NAMED: dict[str, set[str]] = {}
"""What the requests of each API can name."""
for each in CASES:
    NAMED.setdefault(api_of(each), set()).update(*each.filters)


def params(pairs: list[tuple[Case, Any]]) -> list[Any]:
    return [
        pytest.param(case, filters, id=f"{api_of(case)}-v{case.version}-{number}-{filters}")
        for number, (case, filters) in enumerate(pairs)
    ]


HITS = params([(case, filters) for case in CASES for filters in case.filters])
OTHER = [
    (case, filters)
    for case in CASES
    for filters in OTHERS
    if filters not in case.filters and filters.keys() <= NAMED[api_of(case)]
]
MISSES = params(OTHER)
# Who asks for all offsets names all topics; the answer has those of which there are offsets.
NOT_NAMED = params([each for each in OTHER if "topics=None" not in repr(each[0].request)])


def codes(answer: Any) -> set[int]:
    """All error codes in an answer, wherever they are."""
    if isinstance(answer, list):
        return set().union(*map(codes, answer))
    try:
        fields = schema_of(type(answer)).fields
    except (AttributeError, KeyError, TypeError):
        return set()
    return set().union(
        *(
            {value} if field.name == "error_code" else codes(value)
            for field in fields
            for value in [getattr(answer, field.name)]
        )
    )


def seen(state: State, case: Case) -> Call:
    """A call of that request, as faults see it."""
    return Call(state=state, request=case.request, version=case.version, node=1, now=0.0, wall_ms=0)


@pytest.mark.parametrize(("case", "filters"), HITS)
def test_a_failure_hits_what_a_request_names(case: Case, filters: Any) -> None:
    state = committed()
    fault = state.faults.fail(type(case.request), ERROR, **filters)

    answer = call(state, case.request, version=case.version)

    assert ERROR.code in codes(answer)
    assert fault.hits >= 1


@pytest.mark.parametrize(("case", "filters"), MISSES)
def test_a_failure_spares_what_a_request_does_not_name(case: Case, filters: Any) -> None:
    state = committed()
    fault = state.faults.fail(type(case.request), ERROR, **filters)

    answer = call(state, case.request, version=case.version)

    assert ERROR.code not in codes(answer)
    assert fault.hits == 0


@pytest.mark.parametrize(("case", "filters"), HITS)
def test_what_happens_to_a_request_hits_by_what_it_names(case: Case, filters: Any) -> None:
    state = committed()
    fault = state.faults.drop(type(case.request), **filters)

    assert state.faults.plan(seen(state, case)) == (fault,)


@pytest.mark.parametrize(("case", "filters"), NOT_NAMED)
def test_what_happens_to_a_request_spares_what_it_does_not_name(case: Case, filters: Any) -> None:
    state = committed()
    state.faults.drop(type(case.request), **filters)

    assert state.faults.plan(seen(state, case)) == ()


@pytest.mark.parametrize("key", SERVED)
def test_a_filter_by_what_the_requests_of_an_api_cannot_name_is_a_mistake(key: int) -> None:
    state = committed()
    cls = for_key(key)
    api = schema_of(cls).api

    for filters in (TOPIC, PARTITION, GROUP):
        if filters.keys() <= NAMED.get(api, set()):
            state.faults.drop(cls, **filters)
            continue
        with pytest.raises(ConfigError, match=f"{api} requests name no .*never happen"):
            state.faults.fail(cls, ERROR, **filters)
        with pytest.raises(ConfigError, match=f"{api} requests name no .*never happen"):
            state.faults.hold(cls, **filters)


def test_a_fault_of_a_group_is_not_counted_for_its_partitions_too() -> None:
    state = committed()
    by_group = state.faults.fail("OffsetFetch", ERROR, group="g", after=1)
    asking = request("OffsetFetch", groups=[{"group_id": "g", "topics": None}])

    first, second = call(state, asking), call(state, asking)

    assert codes(first) == {0}
    assert (second.groups[0].error_code, second.groups[0].topics) == (ERROR.code, [])
    assert by_group.hits == 1


def test_a_fault_of_a_partition_is_told_of_it_alone() -> None:
    state = committed()
    state.faults.fail("OffsetFetch", ERROR, topic="t", partition=1)
    topics = [{"topic_id": T_ID, "partition_indexes": [0, 1]}]

    answer = call(state, request("OffsetFetch", groups=[{"group_id": "g", "topics": topics}]))

    (group,) = answer.groups
    assert group.error_code == 0
    assert [each.error_code for each in group.topics[0].partitions] == [0, ERROR.code]


def test_an_offset_that_was_to_stay_is_not_deleted() -> None:
    state = committed()
    state.faults.fail("OffsetDelete", ERROR, topic="t", partition=1)
    topics = [{"name": "t", "partitions": INDEX}]

    answer = call(state, request("OffsetDelete", group_id="g", topics=topics))

    assert answer.error_code == 0
    assert answer.topics[0].partitions[0].error_code == ERROR.code
    assert state.groups.get("g").offsets.get("t", 1) is not None
