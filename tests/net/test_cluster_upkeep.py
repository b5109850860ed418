"""What befalls a cluster while it is used: moves, silence, refusals, names that are gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import pytest

from kafka_aio.config import AdminConfig
from kafka_aio.errors import (
    AuthenticationError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    StateError,
)
from kafka_aio.metadata import Leader
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.coordinators import Coordinator, CoordinatorKind
from kafka_aio.net.dial import Dialer
from kafka_aio.net.links import FETCH, Channel
from kafka_aio.net.tasks import Tasks
from kafka_aio.protocol.messages.groups import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    HeartbeatResponse,
)
from kafka_aio.protocol.messages.metadata import MetadataRequest, MetadataResponseBroker
from kafka_aio.protocol.messages.sasl import SaslAuthenticateRequest
from kafka_aio.types import TopicPartition
from tests.net.clusters import AT_ONCE, UNHURRIED, joined, made, scripted
from tests.net.server import HOST, REFUSED, closes, says, says_nothing, until
from tests.net.test_cluster import ALICE, BEAT, GROUP, beats, refusing_port, seconds_of

MOST_TURNS = 500  # about 30 are needed, more when a packet takes its time
TRANSACTION = Coordinator(CoordinatorKind.TRANSACTION, GROUP.key)
CANONICAL = {"client_dns_lookup": "resolve_canonical_bootstrap_servers_only"}


@pytest.mark.parametrize("name", ["\ud800", "", "x" * 40_000, 5])
async def test_a_topic_name_that_cannot_be_sent_fails_its_caller_alone(name: Any) -> None:
    async with scripted(1) as script, joined(script.bootstrap()) as cluster:
        with pytest.raises((TypeError, ValueError)):
            await cluster.refresh([name])

        await cluster.refresh(["good"])
        assert cluster.metadata.partition_count("good") == 1


async def test_a_busy_connection_to_a_node_that_moved_takes_no_new_requests() -> None:
    async with scripted(2) as script:
        del script.ports[2]
        async with joined(script.bootstrap(1)) as cluster:
            busy = asyncio.create_task(cluster.send(1, BEAT, channel=FETCH))
            held = await script.brokers[1].next()
            script.ports[1] = script.brokers[2].port
            await cluster.refresh()
            script.brokers[2].reactions[HeartbeatRequest] = beats

            answers = [await cluster.send(1, BEAT, channel=FETCH) for _ in range(3)]
            beats(held)

            assert [answer.error_code for answer in answers] == [0, 0, 0]
            assert len(script.asked(HeartbeatRequest, 2)) == 3
            assert (await busy).error_code == 0


async def test_whoever_wants_it_is_called_when_something_is_learnt_and_only_then() -> None:
    async with scripted(1) as script, joined(script.bootstrap()) as cluster:
        known: list[int | None] = []
        cluster.when_updated(lambda: known.append(cluster.metadata.partition_count("t")))
        await cluster.refresh(["t"])
        assert known == [1]  # the answer was taken before the call

        asked = len(script.asked(MetadataRequest))
        script.react(MetadataRequest, closes)
        cluster.request_refresh()
        await until(lambda: len(script.asked(MetadataRequest)) == asked + 2)  # once in vain
        assert known == [1]

        script.react(MetadataRequest, script.describe)
        await until(lambda: len(known) == 2)


async def test_a_leader_hint_with_a_new_address_is_dialled_there() -> None:
    partition = TopicPartition("t", 0)
    async with scripted(2) as script:
        port = script.ports.pop(2)
        async with joined(script.bootstrap(1)) as cluster:
            await cluster.refresh(["t"])
            before = len(script.asked(MetadataRequest))
            script.brokers[2].reactions[HeartbeatRequest] = beats

            told = cluster.hint(
                {partition: Leader(2, 6)}, [MetadataResponseBroker(node_id=2, host=HOST, port=port)]
            )
            leader = cluster.metadata.leader(partition)
            answer = await cluster.send(2, BEAT)

            assert told == (partition,)
            assert leader == Leader(2, 6)
            assert answer.error_code == 0
            assert len(script.asked(MetadataRequest)) == before


async def test_a_group_and_a_transactional_id_of_one_name_have_a_connection_each() -> None:
    async with scripted(1) as script, joined(script.bootstrap()) as cluster:
        script.brokers[1].reactions[HeartbeatRequest] = beats

        await cluster.send_to_coordinator(GROUP, BEAT)
        await cluster.send_to_coordinator(TRANSACTION, BEAT)

        assert len({id(asked.peer) for asked in script.asked(HeartbeatRequest)}) == 2


async def test_what_is_asked_of_a_coordinator_may_go_by_another_connection_and_version() -> None:
    async with scripted(1) as script, joined(script.bootstrap()) as cluster:
        script.brokers[1].reactions[HeartbeatRequest] = beats

        await cluster.send_to_coordinator(GROUP, BEAT)
        await cluster.send_to_coordinator(GROUP, BEAT, channel=Channel("offsets", "g"), at_most=2)
        own, other = script.asked(HeartbeatRequest)

        assert own.peer is not other.peer
        assert (own.version, other.version) == (4, 2)
        assert len(script.asked(FindCoordinatorRequest)) == 1


async def test_all_who_look_for_a_coordinator_share_one_request() -> None:
    async with scripted(1) as script, joined(script.bootstrap()) as cluster:
        script.brokers[1].reactions[HeartbeatRequest] = beats

        await asyncio.gather(*(cluster.send_to_coordinator(GROUP, BEAT) for _ in range(50)))

        assert len(script.asked(FindCoordinatorRequest)) == 1


async def test_who_looked_for_a_coordinator_and_was_cancelled_leaves_it_to_the_next() -> None:
    async with scripted(1) as script, joined(script.bootstrap()) as cluster:
        broker = script.brokers[1]
        broker.reactions[HeartbeatRequest] = beats
        broker.reactions[FindCoordinatorRequest] = says_nothing
        first = asyncio.create_task(cluster.send_to_coordinator(GROUP, BEAT))
        await until(lambda: len(script.asked(FindCoordinatorRequest)) == 1)
        second = asyncio.create_task(cluster.send_to_coordinator(GROUP, BEAT))
        await asyncio.sleep(0)
        first.cancel()
        await until(lambda: len(script.asked(FindCoordinatorRequest)) == 2)
        for asked in script.asked(FindCoordinatorRequest):
            script.find(asked)

        assert (await second).error_code == 0


async def test_refused_credentials_are_shown_again_only_when_somebody_asks() -> None:
    async with scripted(1) as script:
        script.brokers[1].reactions[SaslAuthenticateRequest] = says(REFUSED)
        async with made(script.bootstrap(), **ALICE) as cluster:
            with pytest.raises(AuthenticationError):
                await cluster.start()
            await asyncio.sleep(0.5)
            meanwhile = len(script.asked(SaslAuthenticateRequest))
            with pytest.raises(AuthenticationError):
                await cluster.refresh()

            assert meanwhile == 1
            assert len(script.asked(SaslAuthenticateRequest)) == 2


async def test_a_cluster_that_was_not_started_says_so_and_is_started_once() -> None:
    async with scripted(1) as script, made(script.bootstrap()) as cluster:
        for call in (cluster.send_any(BEAT), cluster.send(1, BEAT), cluster.refresh()):
            with pytest.raises(StateError, match="was not started"):
                await call

        await cluster.start()

        with pytest.raises(StateError, match="started before"):
            await cluster.start()


async def test_a_throttled_cluster_is_said_to_be_throttled_when_the_time_is_over() -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **UNHURRIED) as cluster:
        throttled = HeartbeatResponse(throttle_time_ms=30_000, error_code=0)
        script.brokers[1].reactions[HeartbeatRequest] = says(throttled)
        await cluster.send(1, BEAT)

        seconds, error = await seconds_of(cluster.send_any(BEAT, timeout=0.3))

        assert isinstance(error, KafkaTimeoutError)
        assert "asked us to pause" in str(error)
        assert 0.25 < seconds < AT_ONCE


async def test_who_waits_for_any_node_is_told_at_once_when_the_client_closes() -> None:
    async with scripted(1) as script:
        async with joined(script.bootstrap(), **UNHURRIED) as cluster:
            throttled = HeartbeatResponse(throttle_time_ms=30_000, error_code=0)
            script.brokers[1].reactions[HeartbeatRequest] = says(throttled)
            await cluster.send(1, BEAT)
            waiting = asyncio.create_task(seconds_of(cluster.send_any(BEAT)))
            await asyncio.sleep(0.05)

        seconds, error = await waiting

        assert isinstance(error, StateError)
        assert seconds < AT_ONCE


async def test_a_node_that_does_not_answer_metadata_does_not_hold_up_the_others() -> None:
    options = {"request_timeout_ms": 20_000, "default_api_timeout_ms": 20_000}
    async with scripted(3) as script, joined(script.bootstrap(), **options) as cluster:
        for node in (1, 2, 3):
            await cluster.send(node, MetadataRequest(topics=[]))
        script.brokers[2].reactions[MetadataRequest] = says_nothing

        seconds = [(await seconds_of(cluster.refresh(timeout=6)))[0] for _ in range(3)]

        assert max(seconds) < 3


async def test_slow_metadata_is_waited_for_when_all_nodes_are_slow() -> None:
    options = {"request_timeout_ms": 10_000, "default_api_timeout_ms": 10_000}
    async with scripted(2) as script, joined(script.bootstrap(), **options) as cluster:
        loop = asyncio.get_running_loop()
        for broker in script.brokers.values():
            broker.reactions[MetadataRequest] = lambda asked: (
                loop.call_later(1.3, script.describe, asked),
                None,
            )[1]

        _, error = await seconds_of(cluster.refresh(timeout=9))

        assert error is None
        await asyncio.sleep(1.4)  # the answers that come late


async def test_without_backoff_there_is_still_a_pause() -> None:
    options = dict.fromkeys(
        (
            "reconnect_backoff_ms",
            "reconnect_backoff_max_ms",
            "retry_backoff_ms",
            "retry_backoff_max_ms",
        ),
        0,
    )
    async with made(f"{HOST}:{refusing_port()}", **options) as cluster:
        with pytest.raises(KafkaConnectionError):
            await cluster.start(timeout=0.5)

        failed = {each.name: each.samples[0].value for each in cluster.registry.snapshot()}
        assert isinstance(failed["connections_failed"], int)
        assert 2 < failed["connections_failed"] <= 50


async def test_a_name_that_cannot_be_resolved_leaves_the_other_servers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def names(dialer: Dialer, host: str, port: int) -> list[str]:
        if host != HOST:
            raise KafkaConnectionError(f"{host}: the name cannot be resolved")
        return [HOST]

    monkeypatch.setattr(Dialer, "canonical_names", names)
    async with scripted(1) as script:
        async with joined(f"nowhere:9092,{script.bootstrap()}", **CANONICAL) as cluster:
            assert cluster.metadata.cluster_id == "scripted"

        async with made("nowhere:9092,noplace:9092", **CANONICAL) as cluster:
            with pytest.raises(KafkaConnectionError, match=r"nowhere.*noplace"):
                await cluster.start()


async def test_start_ends_in_time_while_names_are_looked_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def names(dialer: Dialer, host: str, port: int) -> list[str]:
        await asyncio.sleep(30)
        return [host]

    monkeypatch.setattr(Dialer, "canonical_names", names)
    async with made(f"{HOST}:9092", **CANONICAL) as cluster:
        seconds, error = await seconds_of(cluster.start(timeout=0.3))

    assert isinstance(error, KafkaConnectionError)
    assert seconds < AT_ONCE


async def test_dns_that_is_down_when_we_begin_again_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_down = False

    async def names(dialer: Dialer, host: str, port: int) -> list[str]:
        if is_down:
            raise KafkaConnectionError(f"{host}: the name cannot be resolved")
        return [HOST]

    monkeypatch.setattr(Dialer, "canonical_names", names)
    async with scripted(2) as script:
        script.ports = {1: refusing_port()}
        async with made(script.bootstrap(2), **CANONICAL) as cluster:
            await cluster.start()
            script.ports = {2: script.brokers[2].port}
            is_down = True
            with pytest.raises(KafkaConnectionError):
                await cluster.refresh(timeout=0.5)

            is_down = False
            await cluster.refresh(timeout=5)

            assert list(cluster.metadata.nodes) == [2]


async def test_a_bug_in_a_dial_reaches_those_who_wait_for_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with scripted(2) as script:
        async with joined(script.bootstrap(1)) as cluster:

            async def dial(*_: object, **__: object) -> None:
                raise ZeroDivisionError("a bug")

            monkeypatch.setattr(Dialer, "dial", dial)
            with pytest.raises(StateError) as raised:
                await cluster.send(2, BEAT)

        assert isinstance(raised.value.__cause__, ZeroDivisionError)


async def test_work_may_send_while_the_client_closes() -> None:
    said = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            with anyio.CancelScope(shield=True):
                said.append(await cluster.send(2, BEAT))  # by a connection that is not there yet

    async with scripted(2) as script:
        script.brokers[2].reactions[HeartbeatRequest] = beats
        tasks = Tasks("test")
        await tasks.start()
        cluster = Cluster(
            AdminConfig.from_options({"bootstrap_servers": script.bootstrap(1)}), tasks
        )
        await cluster.start()
        tasks.spawn(work, name="work")
        await asyncio.sleep(0)
        await tasks.aclose()

    assert [answer.error_code for answer in said] == [0]


Calls = dict[str, Callable[[Cluster], Coroutine[Any, Any, Any]]]
CALLS: Calls = {
    "send": lambda cluster: cluster.send(2, BEAT),
    "send_any": lambda cluster: cluster.send_any(BEAT),
    "send_to_coordinator": lambda cluster: cluster.send_to_coordinator(GROUP, BEAT),
    "find_coordinator": lambda cluster: cluster.find_coordinator(GROUP),
    "refresh": lambda cluster: cluster.refresh(["t"]),
}


@pytest.mark.parametrize("name", CALLS)
async def test_a_call_cancelled_in_any_turn_leaves_the_cluster_in_order(name: str) -> None:
    was_done, turns = False, 0
    for turns in range(MOST_TURNS):
        async with scripted(2) as script, joined(script.bootstrap(1)) as cluster:
            for broker in script.brokers.values():
                broker.reactions[HeartbeatRequest] = beats
            task = asyncio.create_task(CALLS[name](cluster))
            for _ in range(turns):
                await asyncio.sleep(0)
            was_done = task.done()

            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await CALLS[name](cluster)

        if was_done:
            break
    assert was_done
    assert turns > 2


async def test_start_cancelled_in_any_turn_leaves_nothing() -> None:
    was_done, turns = False, 0
    for turns in range(MOST_TURNS):
        async with scripted(1) as script, made(script.bootstrap()) as cluster:
            task = asyncio.create_task(cluster.start())
            for _ in range(turns):
                await asyncio.sleep(0)
            was_done = task.done()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        if was_done:
            break
    assert was_done
    assert turns > 5


async def test_closing_in_any_turn_ends_what_is_under_way() -> None:
    for turns in range(0, 40, 3):
        async with scripted(2) as script:
            async with joined(script.bootstrap(1), **UNHURRIED) as cluster:
                task = asyncio.create_task(seconds_of(cluster.send(2, BEAT)))
                for _ in range(turns):
                    await asyncio.sleep(0)

            seconds, error = await task

            assert isinstance(error, KafkaError)
            assert seconds < AT_ONCE
