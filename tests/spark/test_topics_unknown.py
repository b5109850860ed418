"""Topics that a broker does not know, for a moment or for good: what readers say, without Spark."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.streaming.datasource import ReadAllAvailable

from kafka_aio.broker import BrokerThread
from kafka_aio.errors import UnknownTopicOrPartition
from spark_connector import stream
from spark_connector.options import ReadOptions
from spark_connector.reader import BatchReader
from spark_connector.stream import StreamReader

ALL = ReadAllAvailable()


@pytest.fixture(autouse=True)
def _quick_discovery(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "DISCOVERY_SECONDS", 0.0)


@pytest.fixture
def options(kafka_broker: BrokerThread, kafka_topic: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": kafka_broker.bootstrap_servers,
        "subscribe": kafka_topic,
        "fetchOffset.numRetries": "0",
    }


def streaming(options: dict[str, str]) -> StreamReader:
    return StreamReader(ReadOptions.parse(options))


@pytest.mark.parametrize("by", ["subscribe", "assign"])
def test_a_topic_that_a_broker_has_not_heard_of_yet_is_asked_for_again(
    options: dict[str, str], kafka_broker: BrokerThread, kafka_topic: str, by: str
) -> None:
    if by == "assign":
        options["assign"] = f'{{"{options.pop("subscribe")}": [0]}}'
    told = {"fetchOffset.numRetries": "2", "fetchOffset.retryIntervalMs": "10"}

    parsed = ReadOptions.parse({**options, **told})
    for read in (BatchReader(parsed).partitions, StreamReader(parsed).initialOffset):
        with kafka_broker.faults.fail("DescribeTopicPartitions", UnknownTopicOrPartition, times=2):
            assert len(read()) == 1


def test_a_topic_that_is_gone_is_named(
    options: dict[str, str], kafka_broker: BrokerThread, kafka_topic: str
) -> None:
    reader = streaming(options)
    end = reader.latestOffset(reader.initialOffset(), ALL)
    kafka_broker.delete_topic(kafka_topic)

    with pytest.raises(UnknownTopicOrPartition, match=kafka_topic) as caught:
        reader.latestOffset(end, ALL)
    kafka_broker.create_topic(kafka_topic, 1)

    assert "take it out of the options" in caught.value.__notes__[0]


@pytest.mark.parametrize("is_restart", [False, True])
@pytest.mark.parametrize("by", ["subscribe", "subscribePattern"])
def test_a_broker_that_does_not_know_a_topic_for_a_moment_does_not_end_a_query(
    options: dict[str, str], kafka_broker: BrokerThread, by: str, is_restart: bool
) -> None:
    options[by] = options.pop("subscribe")
    trying = {"fetchOffset.numRetries": "2", "fetchOffset.retryIntervalMs": "10"}
    reader = streaming({**options, **trying})
    end = reader.latestOffset(reader.initialOffset(), ALL)
    if is_restart:
        reader = streaming({**options, **trying})

    with kafka_broker.faults.fail("DescribeTopicPartitions", UnknownTopicOrPartition, times=2):
        assert reader.latestOffset(end, ALL) == end
