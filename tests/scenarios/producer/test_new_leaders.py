"""Behaviour B05: leaders that the answer to Produce names (KIP-951)."""

from __future__ import annotations

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.producer import Producer
from tests.scenarios.producer.delivering import TOPIC, leader_of, now, on_virtual_time, values


@on_virtual_time
async def test_a_new_leader_on_a_node_that_is_not_known_yet_gets_the_batch_at_once() -> None:  # B05
    async with EmbeddedBroker(nodes=3, topics={TOPIC: 1}) as broker:
        await broker.stop_node(3)
        producer: Producer[bytes, bytes] = Producer(
            bootstrap_servers=broker.bootstrap_servers,
            linger_ms=0,
            retry_backoff_ms=10_000,
            retry_backoff_max_ms=10_000,
        )
        async with producer:
            await producer.send(TOPIC, b"a")
            known = set(producer._cluster.metadata.nodes)
            asked = broker.faults.hold("Metadata")  # nothing is learnt by asking
            await broker.start_node(3)
            broker.move_leader(TOPIC, 0, 3)
            start = now()
            metadata = await producer.send(TOPIC, b"b")
            took = now() - start
            leader = await leader_of(producer)
            asked.remove()

        assert 3 not in known
        assert metadata.offset == 1
        assert took < 0.5
        assert leader == 3
        assert values(broker) == [b"a", b"b"]
