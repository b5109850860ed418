from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from kafka_aio.errors import (
    AuthenticationError,
    KafkaConnectionError,
    KafkaTimeoutError,
    ProtocolError,
    StateError,
)
from kafka_aio.net.coordinators import Coordinator, CoordinatorKind
from kafka_aio.net.links import FETCH
from kafka_aio.observability.registry import Distribution
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest
from kafka_aio.protocol.messages.fetch import FetchRequest
from kafka_aio.protocol.messages.groups import Coordinator as Found
from kafka_aio.protocol.messages.groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
)
from kafka_aio.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_aio.protocol.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from tests.net.admin_answers import in_turn
from tests.net.clusters import AT_ONCE, UNHURRIED, joined, made, scripted
from tests.net.server import (
    HOST,
    REFUSED,
    Asked,
    authenticated,
    closes,
    says,
    says_nothing,
    until,
    writes,
)

BEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
GROUP = Coordinator(CoordinatorKind.GROUP, "g")
ALICE: dict[str, Any] = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_username": "alice",
    "sasl_password": "alice-secret",
}


def beats(asked: Asked) -> None:
    asked.answer(HeartbeatResponse(error_code=0))


def refusing_port() -> int:
    with socket.socket() as nobody:
        nobody.bind((HOST, 0))
        return int(nobody.getsockname()[1])


async def seconds_of(awaitable: Any) -> tuple[float, BaseException | None]:
    """How long it took, and how it failed."""
    began_at = asyncio.get_running_loop().time()
    try:
        await awaitable
    except Exception as error:
        return asyncio.get_running_loop().time() - began_at, error
    return asyncio.get_running_loop().time() - began_at, None


async def test_any_of_several_bootstrap_servers_will_do() -> None:
    async with scripted(1) as script:
        bootstrap = f"{HOST}:{refusing_port()},{script.bootstrap()},{HOST}:{refusing_port()}"

        async with joined(bootstrap) as cluster:
            assert cluster.metadata.cluster_id == "scripted"
            assert list(cluster.metadata.nodes) == [1]


async def test_a_server_that_says_nothing_does_not_hold_up_the_next_one() -> None:
    async with scripted(2) as script:
        script.brokers[1].reactions[ApiVersionsRequest] = says_nothing

        async with made(script.bootstrap(1, 2), **UNHURRIED) as cluster:
            seconds, error = await seconds_of(cluster.start())

        assert error is None
        assert seconds < AT_ONCE


async def test_when_no_server_can_be_reached_each_is_named_with_its_reason() -> None:
    ports = (refusing_port(), refusing_port())
    bootstrap = ",".join(f"{HOST}:{port}" for port in ports)
    async with made(bootstrap, default_api_timeout_ms=50_000) as cluster:
        seconds, error = await seconds_of(cluster.start())

    assert isinstance(error, KafkaConnectionError)
    assert all(f"{HOST}:{port}" in str(error) for port in ports)
    assert "connection refused" in str(error)
    assert seconds < AT_ONCE


async def test_refused_credentials_are_raised_at_once_and_not_tried_for_ever() -> None:
    async with scripted(1) as script:
        script.brokers[1].reactions[SaslAuthenticateRequest] = says(REFUSED)

        async with made(script.bootstrap(), **UNHURRIED, **ALICE) as cluster:
            seconds, error = await seconds_of(cluster.start())

        assert isinstance(error, AuthenticationError)
        assert "alice-secret" not in str(error)
        assert seconds < AT_ONCE
        assert len(script.asked(SaslAuthenticateRequest)) == 1


async def test_a_listener_that_wants_sasl_is_suspected_when_it_hangs_up_at_the_first_request() -> (
    None
):
    async with scripted(1) as script:
        script.brokers[1].reactions[MetadataRequest] = closes

        async with made(script.bootstrap()) as cluster:
            _, error = await seconds_of(cluster.start(timeout=0.5))

    assert isinstance(error, KafkaConnectionError)
    assert "does this listener want SASL? security_protocol is 'PLAINTEXT'" in str(error)


async def test_servers_that_are_no_brokers_are_reported_at_once() -> None:
    async with scripted(1) as script:
        script.brokers[1].reactions[ApiVersionsRequest] = writes(b"HTTP/1.1 400 Bad Request\r\n")

        async with made(script.bootstrap(), **UNHURRIED) as cluster:
            seconds, error = await seconds_of(cluster.start())

    assert isinstance(error, ProtocolError)
    assert "HTTP" in str(error)
    assert seconds < AT_ONCE


async def test_metadata_does_not_wait_behind_a_fetch_nor_one_group_behind_another() -> None:
    async with scripted(1) as script, joined(script.bootstrap()) as cluster:
        fetch = asyncio.create_task(
            cluster.send(1, FetchRequest(max_wait_ms=1, min_bytes=1, topics=[]), channel=FETCH)
        )
        held = asyncio.create_task(cluster.send_to_coordinator(GROUP, BEAT))
        await script.brokers[1].next()
        await script.brokers[1].next()  # a broker that answers neither the one nor the other

        other = Coordinator(CoordinatorKind.GROUP, "h")
        request = HeartbeatRequest(group_id="h", generation_id=1, member_id="m")
        task = asyncio.create_task(cluster.send_to_coordinator(other, request))
        metadata = await cluster.send(1, MetadataRequest(topics=[]))
        asked = await script.brokers[1].next()
        beats(asked)

        assert metadata.cluster_id == "scripted"
        assert (await task).error_code == 0
        assert len({id(each.peer) for each in script.asked(HeartbeatRequest)}) == 2
        fetch.cancel()
        held.cancel()
        await asyncio.gather(fetch, held, return_exceptions=True)


async def test_a_request_to_a_node_uses_one_connection_for_all_that_is_general() -> None:
    async with scripted(2) as script, joined(script.bootstrap()) as cluster:
        await asyncio.gather(*(cluster.send(2, MetadataRequest(topics=[])) for _ in range(20)))

        asked = [each for each in script.asked(MetadataRequest, 2) if each.message.topics == []]
        assert len({id(each.peer) for each in asked[-20:]}) == 1


async def test_what_any_node_can_answer_goes_to_one_that_has_nothing_to_do() -> None:
    async with scripted(2) as script, joined(script.bootstrap()) as cluster:
        for node in (1, 2):
            await cluster.send(node, MetadataRequest(topics=[]))
        busy = asyncio.create_task(cluster.send(1, BEAT))
        await script.brokers[1].next()
        before = len(script.asked(MetadataRequest, 2))

        for _ in range(10):
            await cluster.send_any(MetadataRequest(topics=[]))

        assert len(script.asked(MetadataRequest, 2)) == before + 10
        busy.cancel()
        await asyncio.gather(busy, return_exceptions=True)


async def test_a_request_that_was_never_sent_goes_to_another_node() -> None:
    async with scripted(2) as script:
        script.ports[1] = refusing_port()
        async with joined(script.bootstrap(2)) as cluster:
            answers = [await cluster.send_any(MetadataRequest(topics=[])) for _ in range(10)]

            assert [answer.cluster_id for answer in answers] == ["scripted"] * 10


async def test_a_lost_request_is_indefinite_and_makes_us_look_at_the_cluster_again() -> None:
    async with scripted(1) as script, joined(script.bootstrap()) as cluster:
        before = len(script.asked(MetadataRequest))
        script.brokers[1].reactions[HeartbeatRequest] = closes

        with pytest.raises(KafkaConnectionError) as raised:
            await cluster.send(1, BEAT)

        assert raised.value.indefinite
        await until(lambda: len(script.asked(MetadataRequest)) > before)


async def test_a_request_without_an_answer_ends_in_its_time() -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **UNHURRIED) as cluster:
        seconds, error = await seconds_of(cluster.send(1, BEAT, timeout=0.2))

        assert isinstance(error, KafkaTimeoutError)
        assert error.indefinite
        assert 0.199 <= seconds < AT_ONCE  # timers of uvloop end up to a millisecond early


async def test_a_node_that_cannot_be_reached_ends_a_request_in_its_time_and_definitely() -> None:
    async with scripted(2) as script:
        script.ports[2] = refusing_port()
        async with joined(script.bootstrap(1)) as cluster:
            _, first = await seconds_of(cluster.send(2, BEAT, timeout=0.5))
            seconds, error = await seconds_of(cluster.send(9, BEAT, timeout=50))

            assert isinstance(first, KafkaConnectionError)
            assert not first.indefinite
            assert isinstance(error, KafkaConnectionError)
            assert "node 9 is not in the cluster" in str(error)
            assert seconds < AT_ONCE


async def test_a_node_that_is_not_known_yet_is_looked_for_before_the_request_fails() -> None:
    async with scripted(2) as script:
        port = script.ports.pop(2)
        async with joined(script.bootstrap(1)) as cluster:
            script.ports[2] = port
            script.brokers[2].reactions[HeartbeatRequest] = beats

            answer = await cluster.send(2, BEAT)

            assert answer.error_code == 0


async def test_a_coordinator_is_found_once_and_followed_when_it_moves() -> None:
    async with scripted(2) as script, joined(script.bootstrap()) as cluster:
        for broker in script.brokers.values():
            broker.reactions[HeartbeatRequest] = beats
        await cluster.send_to_coordinator(GROUP, BEAT)
        await cluster.send_to_coordinator(GROUP, BEAT)
        found = len(script.asked(FindCoordinatorRequest))

        script.coordinators["g"] = 2
        cluster.coordinator_moved(GROUP)
        await cluster.send_to_coordinator(GROUP, BEAT)

        assert found == 1
        assert len(script.asked(HeartbeatRequest, 1)) == 2
        assert len(script.asked(HeartbeatRequest, 2)) == 1


async def test_a_coordinator_that_is_lost_is_looked_for_anew() -> None:
    async with scripted(2) as script, joined(script.bootstrap()) as cluster:
        script.brokers[1].reactions[HeartbeatRequest] = closes
        script.brokers[2].reactions[HeartbeatRequest] = beats
        with pytest.raises(KafkaConnectionError):
            await cluster.send_to_coordinator(GROUP, BEAT)

        script.coordinators["g"] = 2
        answer = await cluster.send_to_coordinator(GROUP, BEAT)

        assert answer.error_code == 0


async def test_a_coordinator_that_never_comes_ends_in_time() -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **UNHURRIED) as cluster:
        absent = Found(key="g", node_id=-1, host="", port=-1, error_code=15, error_message=None)
        script.brokers[1].reactions[FindCoordinatorRequest] = says(
            FindCoordinatorResponse(coordinators=[absent])
        )

        seconds, error = await seconds_of(cluster.send_to_coordinator(GROUP, BEAT, timeout=1))

        assert isinstance(error, KafkaTimeoutError)
        assert "COORDINATOR_NOT_AVAILABLE" in str(error)
        assert seconds < AT_ONCE


async def test_a_coordinator_that_is_not_told_in_the_end_has_the_reason_of_before() -> None:
    """Refused once, then silence: also who waits behind another is told why."""
    async with scripted(1) as script, joined(script.bootstrap(), **UNHURRIED) as cluster:
        absent = Found(key="g", node_id=-1, host="", port=-1, error_code=15, error_message=None)
        script.brokers[1].reactions[FindCoordinatorRequest] = in_turn(
            says(FindCoordinatorResponse(coordinators=[absent])), says_nothing
        )

        errors = await asyncio.gather(
            cluster.send_to_coordinator(GROUP, BEAT, timeout=1),
            cluster.send_to_coordinator(GROUP, BEAT, timeout=1),
            return_exceptions=True,
        )

        assert [type(error) for error in errors] == [KafkaTimeoutError] * 2
        assert all("COORDINATOR_NOT_AVAILABLE" in str(error) for error in errors)


async def test_an_idle_connection_is_closed_and_made_again_when_it_is_needed() -> None:
    async with (
        scripted(2) as script,
        joined(script.bootstrap(1), connections_max_idle_ms=200) as cluster,
    ):
        await cluster.send(2, MetadataRequest(topics=[]))
        (first,) = script.brokers[2].peers
        await first.wait_gone()

        answer = await cluster.send(2, MetadataRequest(topics=[]))

        assert answer.cluster_id == "scripted"
        assert len(script.brokers[2].peers) == 2


async def test_a_connection_that_waits_for_an_answer_is_not_idle() -> None:
    async with (
        scripted(2) as script,
        joined(script.bootstrap(1), connections_max_idle_ms=100) as cluster,
    ):
        task = asyncio.create_task(cluster.send(2, BEAT))
        asked = await script.brokers[2].next()
        await asyncio.sleep(0.4)
        beats(asked)

        assert (await task).error_code == 0


async def test_a_throttled_node_is_left_alone_and_the_others_are_asked() -> None:
    async with scripted(2) as script, joined(script.bootstrap()) as cluster:
        for node in (1, 2):
            await cluster.send(node, MetadataRequest(topics=[]))
        throttled = HeartbeatResponse(throttle_time_ms=600, error_code=0)
        script.brokers[1].reactions[HeartbeatRequest] = says(throttled)
        await cluster.send(1, BEAT)
        before = len(script.asked(MetadataRequest, 1))

        for _ in range(5):
            await cluster.send_any(MetadataRequest(topics=[]))
        asked_meanwhile = len(script.asked(MetadataRequest, 1)) - before
        seconds, error = await seconds_of(cluster.send(1, MetadataRequest(topics=[])))

        assert asked_meanwhile == 0
        assert error is None
        assert seconds > 0.3


async def test_when_all_known_nodes_are_gone_the_bootstrap_servers_are_asked_again() -> None:
    async with scripted(2) as script:
        script.ports = {1: refusing_port()}
        async with made(script.bootstrap(2)) as cluster:
            await cluster.start()
            script.ports = {2: script.brokers[2].port}  # the cluster has moved altogether

            await cluster.refresh()

            assert list(cluster.metadata.nodes) == [2]


async def test_without_rebootstrap_the_known_nodes_are_all_there_is() -> None:
    async with scripted(2) as script:
        script.ports = {1: refusing_port()}
        async with made(script.bootstrap(2), metadata_recovery_strategy="none") as cluster:
            await cluster.start()
            script.ports = {2: script.brokers[2].port}

            with pytest.raises(KafkaConnectionError):
                await cluster.refresh(timeout=0.5)


async def test_a_broker_may_tell_us_to_begin_again() -> None:
    async with scripted(2) as script, joined(script.bootstrap(1)) as cluster:
        del script.ports[1]
        told = MetadataResponse(brokers=[], topics=[], error_code=129)
        for broker in script.brokers.values():
            broker.reactions[MetadataRequest] = says(told)
        refresh = asyncio.create_task(cluster.refresh())
        await until(lambda: -1 in cluster.metadata.nodes)
        script.brokers[1].reactions[MetadataRequest] = script.describe

        await refresh

        assert list(cluster.metadata.nodes) == [2]


async def test_a_node_with_a_new_address_is_dialled_there() -> None:
    async with scripted(2) as script:
        del script.ports[2]
        async with joined(script.bootstrap(1)) as cluster:
            await cluster.send(1, MetadataRequest(topics=[]))
            script.ports[1] = script.brokers[2].port
            await cluster.refresh()
            await until(lambda: cluster.metadata.nodes[1].port == script.brokers[2].port)
            script.brokers[2].reactions[HeartbeatRequest] = beats

            await cluster.send(1, BEAT)

            assert len(script.asked(HeartbeatRequest, 2)) == 1


async def test_a_session_is_renewed_on_the_connection_in_use() -> None:
    async with scripted(1) as script:
        broker = script.brokers[1]
        broker.reactions[SaslAuthenticateRequest] = says(authenticated(lifetime_ms=1_100))
        broker.reactions[HeartbeatRequest] = beats
        async with joined(script.bootstrap(), **ALICE) as cluster:
            await cluster.send(1, BEAT)
            peer = script.asked(HeartbeatRequest)[0].peer
            loop = asyncio.get_running_loop()
            until_time = loop.time() + 1.6
            while loop.time() < until_time:
                await cluster.send(1, BEAT)
                await asyncio.sleep(0.01)
            handshakes = [
                sum(each.peer is peer for each in script.asked(cls))
                for cls in (SaslHandshakeRequest, SaslAuthenticateRequest)
            ]

            assert handshakes == [2, 2]
            assert {id(each.peer) for each in script.asked(HeartbeatRequest)} == {id(peer)}


async def test_a_closed_cluster_says_so() -> None:
    async with scripted(1) as script:
        async with joined(script.bootstrap()) as cluster:
            pass

        with pytest.raises(StateError, match="closed"):
            await cluster.send(1, BEAT)


async def test_closing_fails_what_is_under_way() -> None:
    async with scripted(1) as script:
        async with joined(script.bootstrap()) as cluster:
            task: asyncio.Task[Any] = asyncio.create_task(cluster.send(1, BEAT))
            await script.brokers[1].next()

        _, error = await seconds_of(task)

        assert isinstance(error, KafkaConnectionError)
        assert error.indefinite


async def test_what_has_gone_over_the_wire_is_counted() -> None:
    async with scripted(1) as script, joined(script.bootstrap()) as cluster:
        await cluster.send(1, MetadataRequest(topics=[]))
        counted = {each.name: each.samples[0].value for each in cluster.registry.snapshot()}

        # ApiVersions and Metadata with the bootstrap server, then the same with the node.
        assert (counted["requests"], counted["answers"], counted["answers_dropped"]) == (4, 4, 0)
        assert (counted["connections_opened"], counted["connections_failed"]) == (2, 0)
        latency = counted["request_latency_seconds"]
        assert isinstance(latency, Distribution)
        assert latency.count == 1
