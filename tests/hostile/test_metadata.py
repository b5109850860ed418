"""Answers to Metadata that can be read, and that nobody should follow."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable
from itertools import count, cycle

import pytest

from kafka_aio.errors import KafkaConnectionError
from kafka_aio.metadata.endpoint import MAX_NODES
from kafka_aio.net.cluster import Cluster
from kafka_aio.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from kafka_aio.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_aio.protocol.primitives import MAX_ELEMENTS, uvarint
from kafka_aio.protocol.schema import schema_of
from kafka_aio.types import TopicPartition
from tests.hostile.attacks import (
    BEAT,
    QUICK_TO_GIVE_UP,
    REQUEST_SECONDS,
    SLACK,
    START_SECONDS,
    answers,
    first,
    outcome_of,
    the_first_asked_is,
    works,
)
from tests.net.clusters import AT_ONCE, UNHURRIED, Scripted, joined, made, scripted
from tests.net.server import ALL_VERSIONS, HOST, PATIENCE, Reaction, says

T0 = TopicPartition("t", 0)
Address = tuple[str, int]


def broker_at(host: str, port: int, node: int = 2) -> MetadataResponseBroker:
    return MetadataResponseBroker(node_id=node, host=host, port=port)


def partition(leader: int, *, index: int = 0, epoch: int = 5) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        error_code=0,
        partition_index=index,
        leader_id=leader,
        leader_epoch=epoch,
        replica_nodes=[leader],
        isr_nodes=[leader],
    )


def topic(*partitions: MetadataResponsePartition, error_code: int = 0) -> MetadataResponseTopic:
    return MetadataResponseTopic(error_code=error_code, name="t", partitions=list(partitions))


def describes(
    brokers: Iterable[MetadataResponseBroker],
    topics: Iterable[MetadataResponseTopic] = (),
    error_code: int = 0,
) -> MetadataResponse:
    return MetadataResponse(
        brokers=list(brokers),
        cluster_id="scripted",
        controller_id=1,
        topics=list(topics),
        error_code=error_code,
    )


def real(script: Scripted) -> list[MetadataResponseBroker]:
    return [broker_at(HOST, port, node) for node, port in script.ports.items()]


def metadata(script: Scripted, reaction: Reaction) -> None:
    """All nodes answer so from now on."""
    for broker in script.brokers.values():
        broker.reactions[MetadataRequest] = reaction


# Addresses.

UNFIT: dict[str, Address] = {
    "port 0": (HOST, 0),
    "port -1": (HOST, -1),
    "port 65536": (HOST, 65_536),
    "port 2^31-1": (HOST, 2**31 - 1),
    "no host": ("", 9_092),
    "a host of 300 characters": ("a" * 300, 9_092),
    "a host with a NUL": (f"{HOST}\0.example", 9_092),
    "a host with a line break": (f"{HOST}\r\nHost: example", 9_092),
    "a host with a space": (f"{HOST} ", 9_092),
}
UNKNOWN: dict[str, Address] = {
    "a label of 64 characters": (f"{'a' * 64}.invalid", 9_092),
    "a host of 255 characters": ("a" * 255, 9_092),
    "an empty label": ("a..invalid", 9_092),
    "brackets": ("[::1]", 9_092),
}


@pytest.mark.parametrize("name", UNFIT)
async def test_a_node_whose_address_cannot_be_is_left_out(name: str) -> None:
    async with scripted(1) as script:
        metadata(script, says(describes([*real(script), broker_at(*UNFIT[name])])))

        async with joined(script.bootstrap(), **UNHURRIED) as cluster:
            _, error, seconds = await outcome_of(cluster.send(2, BEAT))

            assert type(error) is KafkaConnectionError
            assert "node 2 is not in the cluster" in str(error)
            assert seconds < AT_ONCE
            metadata(script, script.describe)
            await works(cluster, script)


async def test_when_no_address_can_be_the_answer_is_as_good_as_none() -> None:
    async with scripted(1) as script:
        metadata(script, says(describes([broker_at(*each) for each in UNFIT.values()])))

        async with made(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
            _, error, seconds = await outcome_of(cluster.start(timeout=START_SECONDS))

            assert type(error) is KafkaConnectionError
            assert "names no broker that can be dialled; broker 2 at" in str(error)
            assert seconds < START_SECONDS + SLACK
            metadata(script, script.describe)
            await works(cluster, script)


@pytest.mark.parametrize("name", UNKNOWN)
async def test_a_node_whose_name_cannot_be_resolved_is_a_typed_error(name: str) -> None:
    async with scripted(1) as script:
        metadata(script, says(describes([*real(script), broker_at(*UNKNOWN[name])])))

        async with joined(script.bootstrap(), **UNHURRIED) as cluster:
            _, error, seconds = await outcome_of(cluster.send(2, BEAT))

            assert type(error) is KafkaConnectionError
            assert "cannot be resolved" in str(error)
            assert seconds < AT_ONCE
            metadata(script, script.describe)
            await works(cluster, script)


async def test_an_address_of_ip_version_6_is_dialled_as_it_is() -> None:
    with socket.socket(socket.AF_INET6) as nobody:
        nobody.bind(("::1", 0))  # and does not listen
        port = nobody.getsockname()[1]
        async with scripted(1) as script:
            metadata(script, says(describes([*real(script), broker_at("::1", port)])))

            async with joined(script.bootstrap()) as cluster:
                _, error, _ = await outcome_of(cluster.send(2, BEAT))

                assert type(error) is KafkaConnectionError
                assert str(error).startswith(f"[::1]:{port}: ")
                assert "connection refused" in str(error)


async def test_of_nodes_with_one_id_the_last_counts() -> None:
    async with scripted(1) as script:
        twice = [broker_at(HOST, 1, node=1), *real(script)]
        metadata(script, says(describes(twice, [topic(partition(1))])))

        async with joined(script.bootstrap()) as cluster:
            assert list(cluster.metadata.nodes) == [1]
            await works(cluster, script)


async def test_more_nodes_than_a_cluster_can_have_are_refused_and_those_known_stay() -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
        many = [broker_at(HOST, 9_092, node) for node in range(MAX_NODES + 1)]
        metadata(script, says(describes(many)))

        _, error, seconds = await outcome_of(cluster.refresh())

        assert type(error) is KafkaConnectionError
        assert "10,001 brokers, more than 10,000" in str(error)
        assert seconds < REQUEST_SECONDS + SLACK
        assert list(cluster.metadata.nodes) == [1]
        metadata(script, script.describe)
        await works(cluster, script)


async def test_thousands_of_nodes_that_are_not_there_do_not_fill_a_message() -> None:
    with socket.socket() as nobody:
        nobody.bind((HOST, 0))
        absent = nobody.getsockname()[1]
        async with scripted(1) as script, joined(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
            many = [broker_at(HOST, absent, node) for node in range(10, MAX_NODES)]
            metadata(script, says(describes(many)))
            await cluster.refresh(timeout=PATIENCE)

            _, error, seconds = await outcome_of(cluster.refresh())

            assert type(error) is KafkaConnectionError
            assert "and 9,980 others" in str(error)
            assert len(str(error)) < 2_000
            assert seconds < REQUEST_SECONDS + SLACK


# Leaders.


async def test_a_leader_that_is_no_node_is_no_leader() -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
        metadata(script, says(describes(real(script), [topic(partition(99))])))

        await cluster.refresh(["t"])

        assert cluster.metadata.leader(T0) is None
        before = len(script.asked(MetadataRequest))
        await asyncio.sleep(0.5)
        assert len(script.asked(MetadataRequest)) - before < 30  # 20 ms between two
        metadata(script, script.describe)
        await works(cluster, script)


async def test_a_leader_that_is_another_with_each_answer_does_not_make_us_ask_on() -> None:
    async with scripted(2) as script, joined(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
        leaders, epochs = cycle([1, 2]), count(10)
        metadata(
            script,
            lambda asked: asked.answer(
                describes(real(script), [topic(partition(next(leaders), epoch=next(epochs)))])
            ),
        )

        seen = []
        for _ in range(6):
            await works(cluster, script)
            seen.append(cluster.metadata.leader(T0))
        before = len(script.asked(MetadataRequest))
        await asyncio.sleep(0.3)

        assert {leader.node for leader in seen if leader} == {1, 2}
        assert len(script.asked(MetadataRequest)) == before


async def test_a_leader_that_is_another_in_the_same_epoch_is_not_believed_for_ever() -> None:
    async with scripted(2) as script, joined(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
        leaders = cycle([1, 99, 2, 98])
        metadata(
            script,
            lambda asked: asked.answer(describes(real(script), [topic(partition(next(leaders)))])),
        )

        await cluster.refresh(["t"])
        before = len(script.asked(MetadataRequest))
        await asyncio.sleep(0.5)

        assert len(script.asked(MetadataRequest)) - before < 30
        metadata(script, script.describe)
        await works(cluster, script)


async def test_a_node_that_moves_with_each_answer_is_followed() -> None:
    async with scripted(2) as script, joined(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
        ports = cycle(script.ports.values())
        metadata(
            script,
            lambda asked: asked.answer(
                describes([broker_at(HOST, next(ports), node=1)], [topic(partition(1))])
            ),
        )

        for _ in range(6):
            await cluster.refresh()
            await works(cluster, script)


# Errors, and what cannot be read.


async def test_an_error_that_nobody_knows_is_that_of_the_topic_alone() -> None:
    async with scripted(1) as script, joined(script.bootstrap()) as cluster:
        metadata(script, says(describes(real(script), [topic(error_code=32_767)], 32_767)))

        await cluster.refresh(["t"])

        assert cluster.metadata.topic_error("t") == 32_767
        assert cluster.metadata.leader(T0) is None
        metadata(script, script.describe)
        await works(cluster, script)


async def test_being_told_to_begin_again_for_ever_ends_in_time() -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
        metadata(script, says(describes([], error_code=129)))
        before = len(script.asked(MetadataRequest))

        _, error, seconds = await outcome_of(cluster.refresh())

        assert type(error) is KafkaConnectionError
        assert seconds < REQUEST_SECONDS + SLACK
        assert len(script.asked(MetadataRequest)) - before < 60
        metadata(script, script.describe)
        await works(cluster, script)


async def test_topics_that_nobody_asked_about_are_not_kept() -> None:
    async with scripted(1) as script, joined(script.bootstrap()) as cluster:
        others = [
            MetadataResponseTopic(error_code=0, name=f"other-{n}", partitions=[partition(1)])
            for n in range(1_000)
        ]
        metadata(script, says(describes(real(script), [topic(partition(1)), *others])))

        await cluster.refresh(["t"])

        assert cluster.metadata.topics == ["t"]
        await works(cluster, script)


HEAD = bytes(5)  # no tags in the header, no throttle
NONSENSE: dict[str, Callable[[Scripted], Reaction]] = {
    "2^31-1 brokers, promised": lambda script: answers(HEAD + uvarint(2**31 - 1)),
    "more brokers than any array may have": lambda script: answers(
        HEAD + uvarint(MAX_ELEMENTS + 2) + bytes(100_000)
    ),
    "a varint without an end": lambda script: answers(HEAD + b"\xff" * 1_000),
    "2^31-1 tagged fields in the header": lambda script: answers(uvarint(2**31 - 1)),
    "a broker with 2^31-1 tagged fields": lambda script: answers(
        HEAD + b"\2" + bytes(4) + b"\2a" + bytes(5) + uvarint(2**31 - 1)
    ),
    "a host of 2^31-1 bytes": lambda script: answers(HEAD + b"\2" + bytes(4) + uvarint(2**31 - 1)),
    "a host that is not UTF-8": lambda script: answers(
        HEAD + b"\2" + bytes(4) + b"\3\xc3\x28" + bytes(6)
    ),
    "no broker": lambda script: says(describes([])),
    "a partition below zero": lambda script: says(
        describes(real(script), [topic(partition(1, index=-1))])
    ),
}


async def asked_again(cluster: Cluster, script: Scripted, hostile: Reaction) -> None:
    """One answer is hostile; the next one will do."""
    metadata(script, first(hostile, then=script.describe))

    _, error, seconds = await outcome_of(cluster.refresh(["t"], timeout=PATIENCE))

    assert error is None
    assert seconds < REQUEST_SECONDS + SLACK
    await works(cluster, script)


async def test_a_node_that_names_no_node_is_left_for_one_that_does() -> None:
    async with scripted(2) as script:
        the_first_asked_is(says(describes([])), script, MetadataRequest)

        async with made(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
            await cluster.start(timeout=PATIENCE)

            assert list(cluster.metadata.nodes) == [1, 2]


@pytest.mark.parametrize("name", NONSENSE)
async def test_an_answer_that_cannot_be_taken_changes_nothing_and_is_asked_for_again(
    name: str,
) -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
        await asked_again(cluster, script, NONSENSE[name](script))


async def test_2_31_brokers_promised_in_an_old_version_are_refused_too() -> None:
    key = schema_of(MetadataRequest).key
    old = [each for each in ALL_VERSIONS if each.api_key != key]
    old.append(ApiVersion(api_key=key, min_version=0, max_version=8))
    async with scripted(1) as script:
        script.brokers[1].reactions[ApiVersionsRequest] = says(
            ApiVersionsResponse(error_code=0, api_keys=old)
        )
        async with joined(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
            await asked_again(cluster, script, answers(bytes(4) + b"\x7f\xff\xff\xff"))


@pytest.mark.parametrize(
    "name", ["2^31-1 brokers, promised", "no broker", "a partition below zero"]
)
async def test_nonsense_for_ever_ends_in_time_and_says_what_it_was(name: str) -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
        metadata(script, NONSENSE[name](script))

        _, error, seconds = await outcome_of(cluster.refresh(["t"]))

        assert type(error) is KafkaConnectionError
        assert "Metadata" in str(error) or "ResponseHeader" in str(error)
        assert seconds < REQUEST_SECONDS + SLACK
        assert list(cluster.metadata.nodes) in ([1], [-1])
        metadata(script, script.describe)
        await works(cluster, script)
