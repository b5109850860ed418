from __future__ import annotations

import asyncio
import struct
from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import (
    CorruptRecord,
    KafkaTimeoutError,
    NotLeaderOrFollower,
    RebalanceInProgress,
    TopicAuthorizationFailed,
)
from kafka_aio.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_aio.protocol.messages.groups import HeartbeatRequest
from kafka_aio.protocol.messages.metadata import MetadataRequest
from kafka_aio.protocol.messages.topics import CreatableTopic, CreateTopicsRequest
from kafka_aio.records.batch import verify
from tests.embedded.client import (
    METADATA,
    VERSIONS,
    Client,
    connected,
    fetch,
    framed,
    produce,
    values,
)

HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")


async def produced(client: Client, value: bytes) -> int:
    answer = await client.ask(produce(value), version=12)
    return answer.responses[0].partition_responses[0].error_code


async def test_a_failure_is_answered_and_nothing_is_carried_out(
    broker: EmbeddedBroker, client: Client
) -> None:
    with broker.faults.fail("Produce", NotLeaderOrFollower, topic="t", times=2) as fault:
        codes = [await produced(client, value) for value in (b"a", b"b", b"c")]

    assert codes == [NotLeaderOrFollower.code] * 2 + [0]
    assert values(broker) == [b"c"]
    assert fault.hits == 2


async def test_a_failure_may_come_after_the_records_were_written(
    broker: EmbeddedBroker, client: Client
) -> None:
    broker.faults.fail("Produce", NotLeaderOrFollower, when="after", times=1)

    assert await produced(client, b"a") == NotLeaderOrFollower.code
    assert values(broker) == [b"a"]


async def test_a_failure_reaches_groups_and_admins_too(
    broker: EmbeddedBroker, client: Client
) -> None:
    broker.faults.fail(HeartbeatRequest, RebalanceInProgress, group="g")
    broker.faults.fail("CreateTopics", TopicAuthorizationFailed, topic="secret")

    heartbeat = await client.ask(HEARTBEAT)
    created = await client.ask(
        CreateTopicsRequest(
            topics=[
                CreatableTopic(
                    name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[]
                )
                for name in ("open", "secret")
            ],
            timeout_ms=1000,
        )
    )

    assert heartbeat.error_code == RebalanceInProgress.code
    assert [topic.error_code for topic in created.topics] == [0, TopicAuthorizationFailed.code]


async def test_a_delay_is_before_the_request_is_carried_out_or_after(
    broker: EmbeddedBroker, client: Client
) -> None:
    loop = asyncio.get_running_loop()
    for when, meanwhile in (("before", 0), ("after", 1)):
        before = len(values(broker))
        fault = broker.faults.delay("Produce", 0.1, when=when)  # type: ignore[arg-type]  # one of the two
        start = loop.time()
        client.send(produce(b"a"), version=12)
        await broker.wait_hits(fault)
        await asyncio.sleep(0)

        assert len(values(broker)) - before == meanwhile
        await client.frame()
        assert loop.time() - start >= 0.09
        assert len(values(broker)) - before == 1
        fault.remove()


async def test_what_is_held_goes_on_when_it_is_released(
    broker: EmbeddedBroker, client: Client
) -> None:
    hold = broker.faults.hold("Produce")
    async with connected(broker) as other:
        client.send(produce(b"first"), version=12)
        await broker.wait_hits(hold)
        other.send(produce(b"second"), version=12)
        await broker.wait_hits(hold, 2)
        assert (hold.held, values(broker)) == (2, [])

        hold.release(1)

        await client.frame()
        assert (hold.held, values(broker)) == (1, [b"first"])

        hold.release()

        await other.frame()
        assert values(broker) == [b"first", b"second"]
        assert await produced(client, b"free") == 0


async def test_an_answer_that_is_held_is_that_of_a_request_that_was_carried_out(
    broker: EmbeddedBroker, client: Client
) -> None:
    with broker.faults.hold("Produce", when="after") as hold:
        client.send(produce(b"a"), version=12)
        await broker.wait_hits(hold)

        assert values(broker) == [b"a"]
        assert await client.is_silent()

    await client.frame()


async def test_a_held_request_keeps_its_bytes_while_more_come(
    broker: EmbeddedBroker, client: Client
) -> None:
    hold = broker.faults.hold("Produce", times=1)
    sent = [bytes([number]) * 3000 for number in range(50)]
    for value in sent:
        client.send(produce(value), version=12)
    await broker.wait_hits(hold)
    await asyncio.sleep(0.02)

    hold.release()

    for number in range(1, 51):
        assert await client.next_id() == number
    assert values(broker) == sent


async def test_a_client_that_goes_while_it_is_held_is_forgotten(broker: EmbeddedBroker) -> None:
    hold = broker.faults.hold("Produce")
    async with connected(broker) as client:
        client.send(produce(b"a"), version=12)
        await broker.wait_hits(hold)
    async with asyncio.timeout(5):
        while broker.statistics().connections:  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0.005)

    hold.release()

    assert values(broker) == []


async def test_a_request_that_is_dropped_is_carried_out_and_its_connection_hangs(
    broker: EmbeddedBroker, client: Client
) -> None:
    broker.faults.drop("Produce", times=1)
    client.send(produce(b"a"), version=12)
    client.send(VERSIONS)

    assert await client.is_silent(0.1)
    assert values(broker) == [b"a"]
    async with connected(broker) as other:
        assert await produced(other, b"b") == 0


@pytest.mark.parametrize("version", [12, 18])
async def test_a_fetch_in_a_session_need_not_name_the_topic_again(
    broker: EmbeddedBroker, client: Client, version: int
) -> None:
    topic_id = broker._state.topics.by_name["t"].id
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    topic = FetchTopic(topic="t", topic_id=topic_id, partitions=[partition])
    full = FetchRequest(max_wait_ms=0, min_bytes=0, session_epoch=0, topics=[topic])
    session = (await client.ask(full, version=version)).session_id
    meant = broker.faults.delay("Fetch", 0, topic="t", partition=0)
    other = broker.faults.delay("Fetch", 0, topic="t", partition=1)

    following = FetchRequest(
        max_wait_ms=0, min_bytes=0, session_id=session, session_epoch=1, topics=[]
    )
    answer = await client.ask(following, version=version)

    assert session != 0
    assert (answer.error_code, meant.hits, other.hits) == (0, 1, 0)


@pytest.mark.parametrize(("when", "kept"), [("before", []), ("after", [b"a"])])
async def test_a_connection_is_cut_before_or_after(
    broker: EmbeddedBroker, client: Client, when: Any, kept: list[bytes]
) -> None:
    fault = broker.faults.disconnect("Produce", when=when)
    client.send(produce(b"a"), version=12)

    await client.wait_closed()

    assert (values(broker), fault.hits) == (kept, 1)


async def test_who_is_throttled_is_told_and_not_served_meanwhile(
    broker: EmbeddedBroker, client: Client
) -> None:
    loop = asyncio.get_running_loop()
    broker.faults.throttle("Produce", 150, times=1)
    start = loop.time()
    client.send(produce(b"a"), version=12)
    client.send(produce(b"b"), version=12)

    first = await client.answer(produce(b""), version=12)

    assert loop.time() - start < 0.14
    assert first.throttle_time_ms == 150
    assert values(broker) == [b"a"]

    second = await client.answer(produce(b""), version=12)

    assert loop.time() - start >= 0.14
    assert second.throttle_time_ms == 0


async def test_what_is_fetched_is_damaged_and_what_is_kept_is_not(
    broker: EmbeddedBroker, client: Client
) -> None:
    broker.create_topic("other")
    broker.produce("t", [b"a"])
    fault = broker.faults.corrupt("t", times=1)
    broker.faults.corrupt("other")

    damaged, good = [
        (await client.ask(fetch(), version=12)).responses[0].partitions[0].records for _ in range(2)
    ]

    assert damaged is not None
    assert good is not None
    with pytest.raises(CorruptRecord):
        verify(damaged)
    assert verify(good)
    assert fault.hits == 1
    assert values(broker) == [b"a"]


async def test_nonsense_comes_in_place_of_an_answer(broker: EmbeddedBroker, client: Client) -> None:
    broker.faults.garbage("Metadata", times=1)
    asked = client.send(MetadataRequest(topics=None))

    (answered,) = struct.unpack_from(">i", await client.frame())

    assert answered != asked
    assert (await client.ask(VERSIONS)).error_code == 0


async def test_several_faults_happen_to_one_request(broker: EmbeddedBroker, client: Client) -> None:
    broker.faults.delay("Produce", 0.01)
    hold = broker.faults.hold("Produce", when="after")
    broker.faults.throttle("Produce", 10)
    client.send(produce(b"a"), version=12)
    await broker.wait_hits(hold)
    async with asyncio.timeout(5):
        while not hold.held:  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0.005)

    hold.release()

    assert (await client.answer(produce(b""), version=12)).throttle_time_ms == 10


async def test_a_fault_on_a_produce_without_acks_answers_nothing(
    broker: EmbeddedBroker, client: Client
) -> None:
    broker.faults.throttle("Produce", 10)
    broker.faults.delay("Produce", 0.01)
    client.send(produce(b"a", acks=0), version=12)
    following = client.send(VERSIONS)

    assert await client.next_id() == following
    assert values(broker) == [b"a"]


async def test_no_fault_concerns_what_a_test_does_itself(broker: EmbeddedBroker) -> None:
    broker.faults.fail("Produce", NotLeaderOrFollower)
    broker.faults.drop("Produce")

    broker.produce("t", [b"a"])

    assert values(broker) == [b"a"]


async def test_who_waits_for_a_fault_in_vain_is_told(broker: EmbeddedBroker) -> None:
    fault = broker.faults.drop("Produce")

    with pytest.raises(KafkaTimeoutError, match="Drop Produce: 0 hits"):
        await broker.wait_hits(fault, timeout=0.01)


async def test_faults_may_be_set_before_the_start() -> None:
    broker = EmbeddedBroker(topics={"t": 1})
    fault = broker.faults.disconnect("ApiVersions", times=1)
    async with broker, connected(broker) as client:
        client.write(framed(VERSIONS))
        await client.wait_closed()

    assert fault.hits == 1
    fault.remove()


async def test_closing_the_broker_lets_go_what_is_held_or_delayed() -> None:
    async with EmbeddedBroker(topics={"t": 1}) as broker:
        hold = broker.faults.hold("Produce")
        delay = broker.faults.delay("ApiVersions", 1000)
        async with connected(broker) as held, connected(broker) as delayed:
            held.send(produce(b"a"), version=12)
            delayed.send(VERSIONS)
            await broker.wait_hits(hold)
            await broker.wait_hits(delay)

            await broker.aclose()

            await held.wait_closed()
            await delayed.wait_closed()
    hold.release()


async def test_who_has_gone_is_not_held_any_more() -> None:
    async with EmbeddedBroker() as broker:
        hold = broker.faults.hold("Metadata")
        async with connected(broker) as first:
            first.send(METADATA)
            await broker.wait_hits(hold)
        async with connected(broker) as second:
            second.send(METADATA)
            await broker.wait_hits(hold, 2)
            while hold.held > 1:  # noqa: ASYNC110 - the broker hears of it in one of the next turns
                await asyncio.sleep(0)
            hold.release(1)
            answer = await second.frame()

    assert answer
    assert hold.held == 0
