from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kafka_aio.broker.call import Call
from kafka_aio.broker.core import Core
from kafka_aio.broker.faults.faults import Faults
from kafka_aio.broker.state import State
from kafka_aio.errors import (
    BrokerError,
    ConfigError,
    CoordinatorNotAvailable,
    NotLeaderOrFollower,
    UnknownServerError,
)
from kafka_aio.protocol.messages.groups import HeartbeatRequest
from kafka_aio.protocol.messages.metadata import MetadataRequest
from kafka_aio.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_aio.protocol.schema import Request
from tests.unit.broker.clusters import made

PRODUCE = ProduceRequest(
    acks=1,
    timeout_ms=0,
    topic_data=[
        TopicProduceData(
            name="orders",
            partition_data=[
                PartitionProduceData(index=0, records=None),
                PartitionProduceData(index=1, records=None),
            ],
        )
    ],
)
HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")


@pytest.fixture
def state() -> State:
    state = made(nodes=2, topics={"orders": 2})
    Core(state)
    return state


@pytest.fixture
def faults(state: State) -> Faults:
    return state.faults


def call(state: State, request: Request[Any] = PRODUCE, **facts: Any) -> Call:
    given: dict[str, Any] = {"node": 1, "client_id": "me"} | facts
    return Call(state=state, request=request, version=0, now=0.0, wall_ms=0, **given)


def failed(call: Call, topic: str = "", partition: int = -1, group: str = "") -> int:
    try:
        call.check_faults(topic, partition, group)
    except BrokerError as error:
        return error.code
    return 0


# Which requests.


@pytest.mark.parametrize("api", ["Produce", "ProduceRequest", 0, ProduceRequest])
@pytest.mark.parametrize(
    "error", [NotLeaderOrFollower, NotLeaderOrFollower(), NotLeaderOrFollower.code]
)
def test_an_api_and_an_error_may_be_named_in_any_way(
    state: State, faults: Faults, api: Any, error: Any
) -> None:
    fault = faults.fail(api, error)

    assert failed(call(state), "orders", 0) == NotLeaderOrFollower.code
    assert failed(call(state, HEARTBEAT), group="g") == 0
    assert fault.hits == 1


def test_an_error_says_what_it_was_told_to_say(state: State, faults: Faults) -> None:
    faults.fail("Produce", NotLeaderOrFollower("away"))

    with pytest.raises(NotLeaderOrFollower) as first:
        call(state).check_faults()
    with pytest.raises(NotLeaderOrFollower) as second:
        call(state).check_faults()

    assert first.value.message == "away"
    assert first.value is not second.value


def test_one_partition_fails_and_the_others_do_not(state: State, faults: Faults) -> None:
    faults.fail("Produce", 6, topic="orders", partition=1)

    assert failed(call(state), "orders", 0) == 0
    assert failed(call(state), "orders", 1) == 6
    assert failed(call(state), "other", 1) == 0
    assert failed(call(state)) == 0


def test_what_fails_after_it_was_carried_out_does_not_fail_before(
    state: State, faults: Faults
) -> None:
    fault = faults.fail("Produce", 6, when="after", topic="orders", partition=1)

    assert failed(call(state), "orders", 1) == 0
    call(state).check_faults_after("orders", 0)
    with pytest.raises(NotLeaderOrFollower):
        call(state).check_faults_after("orders", 1)
    assert fault.hits == 1


def test_only_produce_fails_after_it_was_carried_out(faults: Faults) -> None:
    with pytest.raises(ConfigError, match="only Produce can"):
        faults.fail("Heartbeat", CoordinatorNotAvailable, when="after")


def test_one_group_fails_and_the_others_do_not(state: State, faults: Faults) -> None:
    faults.fail("Heartbeat", CoordinatorNotAvailable, group="g")

    assert failed(call(state, HEARTBEAT), group="g") == CoordinatorNotAvailable.code
    assert failed(call(state, HEARTBEAT), group="h") == 0


@pytest.mark.parametrize(
    ("options", "other"), [({"node": 1}, {"node": 2}), ({"client_id": "me"}, {"client_id": "you"})]
)
def test_a_fault_is_for_one_node_or_one_client(
    state: State, faults: Faults, options: Any, other: Any
) -> None:
    faults.fail("Produce", 6, **options)
    faults.drop("Produce", **options)

    assert failed(call(state, **other)) == 0
    assert faults.plan(call(state, **other)) == ()
    assert failed(call(state)) == 6
    assert len(faults.plan(call(state))) == 1


@pytest.mark.parametrize(
    ("options", "is_hit"),
    [
        ({"topic": "orders"}, True),
        ({"topic": "orders", "partition": 1}, True),
        ({"topic": "orders", "partition": 2}, False),
        ({"topic": "other"}, False),
    ],
)
def test_what_happens_to_a_whole_request_goes_by_what_it_names(
    state: State, faults: Faults, options: Any, is_hit: bool
) -> None:
    fault = faults.drop("Produce", **options)

    assert faults.plan(call(state)) == ((fault,) if is_hit else ())


def test_no_fault_concerns_who_is_exempt(state: State, faults: Faults) -> None:
    faults.fail("Produce", 6)

    assert failed(call(state, is_exempt=True)) == 0


# How often.


def outcomes(check: Callable[[], int], count: int) -> list[int]:
    return [check() for _ in range(count)]


def test_a_fault_happens_after_some_and_so_many_times(state: State, faults: Faults) -> None:
    fault = faults.fail("Produce", 6, after=2, times=2)

    assert outcomes(lambda: failed(call(state)), 6) == [0, 0, 6, 6, 0, 0]
    assert fault.hits == 2


def test_what_does_not_match_is_not_counted(state: State, faults: Faults) -> None:
    faults.fail("Produce", 6, topic="orders", after=1)
    failed(call(state), "other", 0)

    assert outcomes(lambda: failed(call(state), "orders", 0), 2) == [0, 6]


def test_chance_is_that_of_the_seed() -> None:
    def run(seed: int) -> list[int]:
        state = made(seed=seed)
        state.faults.fail("Produce", 6, probability=0.3)
        return outcomes(lambda: failed(call(state)), 200)

    assert run(1) == run(1)
    assert run(1) != run(2)
    assert 30 < run(1).count(6) < 90


def test_faults_come_in_the_order_of_their_making(state: State, faults: Faults) -> None:
    first = faults.delay("Produce", 1.0)
    second = faults.drop("Produce")
    faults.fail("Produce", 3)
    faults.fail("Produce", 6)

    assert faults.plan(call(state)) == (first, second)
    assert failed(call(state)) == 3


# Handles.


def test_a_removed_fault_happens_no_more(state: State, faults: Faults) -> None:
    fault = faults.fail("Produce", 6)
    fault.remove()
    fault.remove()

    assert failed(call(state)) == 0
    assert faults.failures == ()


def test_a_fault_lasts_as_long_as_its_context(state: State, faults: Faults) -> None:
    with faults.drop("Produce") as fault:
        assert faults.plan(call(state)) == (fault,)

    assert faults.plan(call(state)) == ()


def test_clearing_removes_all_and_lets_go_what_is_held(state: State, faults: Faults) -> None:
    resumed: list[str] = []
    faults.fail("Produce", 6)
    hold = faults.hold("Produce", times=1)
    faults.plan(call(state))
    hold.keep(lambda: resumed.append("on"))

    faults.clear()

    assert (failed(call(state)), faults.plan(call(state)), resumed) == (0, (), ["on"])


def test_a_hold_lets_the_oldest_go_first(faults: Faults) -> None:
    resumed: list[int] = []
    hold = faults.hold("Produce")
    for number in range(4):
        hold.keep(lambda number=number: resumed.append(number))  # type: ignore[misc]  # bound early

    hold.release(1)
    after_one = list(resumed)
    hold.release()

    assert (after_one, resumed, hold.held) == ([0], [0, 1, 2, 3], 0)


def test_each_hit_is_told(state: State, faults: Faults) -> None:
    told: list[int] = []
    fault = faults.drop("Produce")
    faults.happened = lambda: told.append(fault.hits)

    faults.plan(call(state))
    faults.plan(call(state, HEARTBEAT))
    faults.plan(call(state))

    assert told == [1, 2]


def test_a_fault_says_what_it_is(faults: Faults) -> None:
    fault = faults.fail("Produce", 6, topic="orders", times=2)

    assert repr(fault) == "<Fail Produce, topic='orders', times=2: 0 hits>"
    assert repr(faults) == f"<Faults [{fault!r}]>"


# Mistakes.


@pytest.mark.parametrize(
    ("api", "text"),
    [
        ("Produze", "no API is called 'Produze'; Produce"),
        ("", "no API is called"),
        (999, "no API has the key 999"),
        ("ControlledShutdown", "no API is called"),
        ("WriteTxnMarkers", "WriteTxnMarkersRequest: the broker does not serve this API"),
    ],
)
def test_an_unknown_api_is_a_mistake(faults: Faults, api: Any, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        faults.drop(api)


@pytest.mark.parametrize("api", [True, 1.5, Request, int])
def test_what_names_no_api_is_a_mistake(faults: Faults, api: Any) -> None:
    with pytest.raises((TypeError, ConfigError)):
        faults.drop(api)


@pytest.mark.parametrize("error", [0, 9999, ValueError, "NOT_LEADER", None, BrokerError, True])
def test_what_is_no_error_is_a_mistake(faults: Faults, error: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        faults.fail("Produce", error)

    assert faults.failures == ()


@pytest.mark.parametrize(
    "options",
    [
        {"tpoic": "orders"},
        {"topic": b"orders"},
        {"partition": 1},
        {"topic": "orders", "partition": -1},
        {"node": "1"},
        {"times": 0},
        {"after": -1},
        {"after": True},
        {"probability": 1.1},
        {"probability": "half"},
        {"when": "during"},
    ],
)
def test_a_wrong_option_is_a_mistake(faults: Faults, options: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        faults.hold("Produce", **options)


def test_a_misspelt_option_is_told_with_all_that_there_are(faults: Faults) -> None:
    calls: list[tuple[str, Callable[..., object]]] = [
        ("fail", partial(faults.fail, "Produce", 6)),
        ("delay", partial(faults.delay, "Produce", 1)),
        ("hold", partial(faults.hold, "Produce")),
        ("disconnect", partial(faults.disconnect, "Produce")),
        ("drop", partial(faults.drop, "Produce")),
        ("throttle", partial(faults.throttle, "Produce", 1)),
        ("garbage", partial(faults.garbage, "Produce")),
        ("corrupt", partial(faults.corrupt, "orders")),
    ]
    for name, make in calls:
        text = rf"faults\.{name}\(\) has no option 'topik': did you mean topic\? It takes topic, "
        with pytest.raises(TypeError, match=text + ".*probability") as raised:
            make(topik="orders")

        assert ("when" in str(raised.value)) == (name in ("fail", "delay", "hold", "disconnect"))
    assert len(faults) == 0


def test_a_node_that_is_not_there_is_a_mistake(faults: Faults) -> None:
    with pytest.raises(ConfigError, match="there is no node 3: they are 1, 2"):
        faults.fail("Produce", 6, node=3)

    assert len(faults) == 0


def test_what_its_requests_do_not_name_is_a_mistake_that_says_what_they_do(faults: Faults) -> None:
    text = "Metadata requests name no partition: .* told by is topic, node, client_id"
    with pytest.raises(ConfigError, match=text):
        faults.delay("Metadata", 1, topic="orders", partition=0)


def test_what_has_options_is_a_topic_or_a_group(faults: Faults) -> None:
    faults.fail("DescribeConfigs", 6, topic="orders")
    faults.fail("DescribeConfigs", 6, group="g")

    with pytest.raises(ConfigError, match="what DescribeConfigs is about is a topic or a group"):
        faults.fail("DescribeConfigs", 6, topic="orders", group="g")


def test_times_that_never_end_or_are_none_are_mistakes(faults: Faults) -> None:
    with pytest.raises(ValueError, match="seconds"):
        faults.delay("Produce", float("inf"))
    with pytest.raises(TypeError, match="seconds"):
        faults.delay("Produce", "1")  # type: ignore[arg-type]  # the mistake
    with pytest.raises(ValueError, match="milliseconds"):
        faults.throttle("Produce", 0)


def test_an_answer_without_a_place_for_it_cannot_throttle(faults: Faults) -> None:
    with pytest.raises(ConfigError, match="throttle_time_ms"):
        faults.throttle("SaslHandshake", 100)


def test_the_topic_of_damage_is_named_once(faults: Faults) -> None:
    with pytest.raises(TypeError, match="once"):
        faults.corrupt("orders", topic="orders")


def test_an_unknown_server_error_is_an_error_too(state: State, faults: Faults) -> None:
    faults.fail(MetadataRequest, UnknownServerError)

    assert failed(call(state, MetadataRequest(topics=None))) == -1
