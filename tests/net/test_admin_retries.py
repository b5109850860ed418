from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafka_aio.admin import ConfigResource, NewTopic, TopicCreated
from kafka_aio.errors import (
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    NotController,
    ProtocolError,
    ThrottlingQuotaExceeded,
    TopicAlreadyExists,
)
from kafka_aio.protocol.messages.cluster import DescribeClusterRequest, DescribeClusterResponse
from kafka_aio.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_aio.protocol.messages.topics import CreateTopicsRequest, DeleteTopicsRequest
from tests.net.admin_answers import (
    FINE,
    adds_partitions,
    all_is_well,
    alters_configs,
    creates,
    deletes,
    describes_cluster,
    describes_configs,
    describes_topics,
    in_turn,
)
from tests.net.admin_calls import (
    CALLS,
    CHANGES,
    ORDERS,
    QUESTIONS,
    REQUESTS,
    Called,
    cancelled_after,
    each_call,
    is_well,
)
from tests.net.admin_group_answers import (
    describes_groups,
    fetches_offsets,
    lists_groups,
    lists_offsets,
)
from tests.net.clusters import AT_ONCE, UNHURRIED, Scripted, admin_of, scripted
from tests.net.server import Asked, Reaction, closes, falls_silent, resets, says
from tests.net.test_cluster import refusing_port

A, B, C = NewTopic("a"), NewTopic("b"), NewTopic("c")
NOT_CONTROLLER, THROTTLED, EXISTS = 41, 89, 36
BRIEF = {"request_timeout_ms": 200, "default_api_timeout_ms": 700}


def names(asked: Asked) -> list[str]:
    return [topic.name for topic in asked.message.topics]


def moves_controller(script: Scripted, answer: Reaction) -> Reaction:
    """As if it had moved to node 2 just before."""

    def react(asked: Asked) -> None:
        script.controller = 2
        answer(asked)

    return react


def right_answer(call: str, script: Scripted) -> Reaction:
    answers: dict[str, Reaction] = {
        "create_topics": creates(),
        "delete_topics": deletes(),
        "create_partitions": adds_partitions(),
        "alter_configs": alters_configs(),
        "describe_topics": describes_topics,
        "describe_configs": describes_configs(),
        "describe_cluster": describes_cluster(script),
        "list_groups": lists_groups("billing"),
        "describe_groups": describes_groups(),
        "list_group_offsets": fetches_offsets(),
        "list_offsets": lists_offsets(),
    }
    return answers[call]


async def test_what_an_old_controller_refuses_goes_to_the_new_one() -> None:
    async with scripted(2) as script, admin_of(script.bootstrap()) as admin:
        refuses = creates({"b": NOT_CONTROLLER, "c": EXISTS})
        script.brokers[1].reactions[CreateTopicsRequest] = moves_controller(script, refuses)
        script.brokers[2].reactions[CreateTopicsRequest] = creates()

        result = await admin.create_topics([A, B, C])

        assert list(result) == ["a", "b", "c"]
        assert isinstance(result["a"], TopicCreated)
        assert isinstance(result["b"], TopicCreated)
        assert isinstance(result["c"], TopicAlreadyExists)
        assert [names(asked) for asked in script.asked(CreateTopicsRequest, 1)] == [["a", "b", "c"]]
        assert [names(asked) for asked in script.asked(CreateTopicsRequest, 2)] == [["b"]]


async def test_a_whole_request_that_an_old_controller_refuses_goes_to_the_new_one() -> None:
    async with scripted(2) as script, admin_of(script.bootstrap()) as admin:
        refuses = deletes({"a": NOT_CONTROLLER, "b": NOT_CONTROLLER})
        script.brokers[1].reactions[DeleteTopicsRequest] = moves_controller(script, refuses)
        script.brokers[2].reactions[DeleteTopicsRequest] = deletes()

        assert await admin.delete_topics(["a", "b"]) == {"a": None, "b": None}


@pytest.mark.parametrize("call", ["create_topics", "delete_topics", "create_partitions"])
async def test_changes_of_topics_go_to_the_controller(call: str) -> None:
    async with scripted(3) as script:
        all_is_well(script)
        script.controller = 3
        async with admin_of(script.bootstrap()) as admin:
            await admin.describe_configs([ConfigResource.broker(1)])  # is connected, and idle

            await CALLS[call](admin)

            assert len(script.asked(REQUESTS[call], 3)) == 1


async def test_without_a_controller_any_node_is_asked() -> None:
    async with scripted(2) as script:
        all_is_well(script)
        script.controller = -1
        async with admin_of(script.bootstrap()) as admin:
            assert await is_well(admin)


async def test_a_quota_that_is_used_up_is_waited_for_as_long_as_the_broker_asks() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        used_up = creates({"a": THROTTLED, "b": THROTTLED}, throttle=300)
        script.react(CreateTopicsRequest, in_turn(used_up, creates({"a": THROTTLED}), creates()))
        loop = asyncio.get_running_loop()
        began_at = loop.time()

        result = await admin.create_topics([A, B])

        assert all(isinstance(value, TopicCreated) for value in result.values())
        assert loop.time() - began_at > 0.29
        asked = [names(each) for each in script.asked(CreateTopicsRequest)]
        assert asked == [["a", "b"], ["a", "b"], ["a"]]


@pytest.mark.parametrize("call", CHANGES)
async def test_a_change_that_was_never_sent_is_tried_again_elsewhere(call: str) -> None:
    async with scripted(2) as script:
        all_is_well(script)
        script.ports[1] = refusing_port()
        async with admin_of(script.bootstrap(2)) as admin:
            script.controller = 2
            script.ports[1] = script.brokers[2].port

            result = await CALLS[call](admin)

            assert not [value for value in result.values() if isinstance(value, KafkaError)]


@pytest.mark.parametrize("goes", [closes, resets])
@pytest.mark.parametrize("call", CHANGES)
async def test_a_change_that_was_lost_on_its_way_is_not_repeated(call: str, goes: Reaction) -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        all_is_well(script)
        script.react(REQUESTS[call], goes)

        with pytest.raises(KafkaConnectionError, match=rf"{call}: .*may have been carried") as e:
            await CALLS[call](admin)

        assert e.value.indefinite
        assert len(script.asked(REQUESTS[call])) == 1


@pytest.mark.parametrize("call", ["create_topics", "create_partitions", "alter_configs"])
async def test_a_change_that_is_only_looked_at_is_repeated(call: str) -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        all_is_well(script)
        script.react(REQUESTS[call], in_turn(closes, right_answer(call, script)))

        result = await CALLS[call](admin, validate_only=True)

        assert not [value for value in result.values() if isinstance(value, KafkaError)]
        asked = script.asked(REQUESTS[call])
        assert len(asked) > 1
        assert all(each.message.validate_only for each in asked)


@pytest.mark.parametrize("goes", [closes, resets, falls_silent])
@pytest.mark.parametrize("call", QUESTIONS)
async def test_a_question_that_was_lost_on_its_way_is_repeated(call: str, goes: Reaction) -> None:
    async with scripted(1) as script, admin_of(script.bootstrap(), **BRIEF) as admin:
        all_is_well(script)
        script.react(REQUESTS[call], in_turn(goes, right_answer(call, script)))

        assert await CALLS[call](admin)
        assert len(script.asked(REQUESTS[call])) > 1


async def test_what_is_settled_is_told_when_the_rest_was_lost() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        script.react(CreateTopicsRequest, in_turn(creates({"b": NOT_CONTROLLER}), closes))

        result = await admin.create_topics([A, B])

        assert isinstance(result["a"], TopicCreated)
        assert isinstance(result["b"], KafkaConnectionError)
        assert result["b"].indefinite


async def test_what_is_settled_is_told_when_the_new_controller_is_not_found() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        script.react(CreateTopicsRequest, creates({"b": NOT_CONTROLLER}))
        script.react(MetadataRequest, falls_silent)

        result = await admin.create_topics([A, B], timeout=1.5)

        assert isinstance(result["a"], TopicCreated)
        assert isinstance(result["b"], KafkaTimeoutError)
        assert "after 1 attempt; the last: topic 'b': This node is not the controller" in str(
            result["b"]
        )


async def test_a_refusal_that_does_not_end_ends_with_the_time() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap(), **UNHURRIED) as admin:
        script.react(CreateTopicsRequest, creates({"a": THROTTLED}))
        loop = asyncio.get_running_loop()
        began_at = loop.time()

        with pytest.raises(KafkaTimeoutError) as raised:
            await admin.create_topics([A], timeout=0.5)

        attempts = len(script.asked(CreateTopicsRequest))
        assert attempts > 2
        assert str(raised.value).startswith(
            f"create_topics: not done in time, after {attempts} attempts; the last: topic 'a':"
        )
        assert isinstance(raised.value.__cause__, ThrottlingQuotaExceeded)
        assert not raised.value.indefinite  # the last attempt had the time for an answer
        assert 0.2 < loop.time() - began_at < AT_ONCE


async def test_the_default_of_the_configuration_ends_a_call_too() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap(), **BRIEF) as admin:
        script.react(DescribeClusterRequest, falls_silent)
        loop = asyncio.get_running_loop()
        began_at = loop.time()

        with pytest.raises(
            KafkaTimeoutError, match=r"describe_cluster: .* attempts; the last: 127"
        ):
            await admin.describe_cluster()

        assert len(script.asked(DescribeClusterRequest)) > 1
        assert loop.time() - began_at < AT_ONCE


async def test_a_change_without_an_answer_is_not_repeated() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap(), **BRIEF) as admin:
        script.react(DeleteTopicsRequest, falls_silent)

        with pytest.raises(KafkaTimeoutError, match=r"delete_topics: 127.*look before") as raised:
            await admin.delete_topics(["a"])

        assert raised.value.indefinite
        (asked,) = script.asked(DeleteTopicsRequest)
        assert 100 < asked.message.timeout_ms <= 200


async def test_without_retries_a_refusal_is_the_value_of_its_item() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap(), retries=0) as admin:
        script.react(CreateTopicsRequest, creates({"a": NOT_CONTROLLER}))

        result = await admin.create_topics([A])

        assert isinstance(result["a"], NotController)
        assert len(script.asked(CreateTopicsRequest)) == 1


async def test_without_retries_a_loss_is_raised_as_it_is() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap(), retries=0) as admin:
        script.react(DescribeClusterRequest, closes)

        with pytest.raises(KafkaConnectionError, match="closed the connection"):
            await admin.describe_cluster()

        assert len(script.asked(DescribeClusterRequest)) == 1


async def test_there_are_as_many_retries_as_the_configuration_has() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap(), retries=2) as admin:
        script.react(CreateTopicsRequest, creates({"a": THROTTLED}))

        result = await admin.create_topics([A])

        assert isinstance(result["a"], ThrottlingQuotaExceeded)
        assert len(script.asked(CreateTopicsRequest)) == 3


async def test_an_item_that_the_answer_leaves_out_is_an_error_of_the_protocol() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        script.react(CreateTopicsRequest, creates({"a": None}))

        with pytest.raises(ProtocolError, match="create_topics: the answer says nothing about a"):
            await admin.create_topics([A])
        result = await admin.create_topics([A, B])

        assert isinstance(result["a"], ProtocolError)
        assert isinstance(result["b"], TopicCreated)


async def test_an_answer_that_makes_no_sense_leaves_a_change_open() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:

        def nonsense(asked: Asked) -> None:
            frame = asked.correlation_id.to_bytes(4, "big") + b"\xff" * 4
            asked.peer.write(len(frame).to_bytes(4, "big") + frame)

        script.react(DeleteTopicsRequest, nonsense)

        with pytest.raises(ProtocolError, match=r"delete_topics: .*look before") as raised:
            await admin.delete_topics(["a"])

        assert raised.value.indefinite


async def test_an_error_of_a_question_as_a_whole_is_raised() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        refused = DescribeClusterResponse(
            throttle_time_ms=0, error_code=31, error_message="no", cluster_id="", brokers=[]
        )
        script.react(DescribeClusterRequest, says(refused))

        with pytest.raises(KafkaError, match=r"describe_cluster: .*code 31.*: no"):
            await admin.describe_cluster()


async def test_a_broker_that_tells_us_to_begin_again_is_not_one_without_topics() -> None:
    async with scripted(1) as script, admin_of(script.bootstrap()) as admin:
        told: list[Asked] = []

        def begin_again_once(asked: Asked) -> None:
            if asked.message.topics is None and not told:
                told.append(asked)
                asked.answer(MetadataResponse(brokers=[], topics=[], error_code=129))
            else:
                script.describe(asked)

        script.react(MetadataRequest, begin_again_once)

        assert await admin.list_topics() == []
        assert len([each for each in script.asked(MetadataRequest) if not each.message.topics]) > 1
        assert told


@each_call
async def test_a_call_may_be_cancelled_at_any_turn(call: Called) -> None:
    async with scripted(2) as script:
        all_is_well(script)
        async with admin_of(script.bootstrap()) as admin:
            turns = 0
            while not await cancelled_after(turns, call(admin)):
                turns += 1

            assert turns > 3
            assert await is_well(admin)


async def test_a_call_of_several_nodes_may_be_cancelled_at_any_turn() -> None:
    resources = [ORDERS, ConfigResource.broker(1), ConfigResource.broker(2)]
    async with scripted(2) as script:
        all_is_well(script)
        async with admin_of(script.bootstrap()) as admin:
            turns = 0
            while not await cancelled_after(turns, admin.describe_configs(resources)):
                turns += 1

            assert turns > 3
            assert await is_well(admin)


async def test_a_call_may_be_cancelled_at_any_turn_of_its_retries() -> None:
    async with scripted(2) as script:
        all_is_well(script)
        refuses = creates({"orders": NOT_CONTROLLER})
        async with admin_of(script.bootstrap(), retry_backoff_ms=0) as admin:
            turns = 0
            while True:
                script.react(CreateTopicsRequest, in_turn(refuses, refuses, creates(FINE)))
                if await cancelled_after(turns, admin.create_topics([NewTopic("orders")])):
                    break
                turns += 1 + turns // 8  # a pause between attempts has thousands of turns

            assert turns > 10
            assert await is_well(admin)


async def test_calls_may_run_at_the_same_time() -> None:
    async with scripted(3) as script:
        all_is_well(script)
        async with admin_of(script.bootstrap()) as admin:
            calls: list[Any] = [CALLS[name](admin) for name in REQUESTS for _ in range(10)]

            results = await asyncio.gather(*calls)

        assert len(results) == 10 * len(REQUESTS)
