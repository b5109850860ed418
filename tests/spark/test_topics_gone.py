"""Topics that are deleted after Spark has planned to read them: what readers say, without Spark."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from contextlib import aclosing

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMinRows

from kafka_aio.broker import BrokerThread
from kafka_aio.errors import (
    KafkaTimeoutError,
    NotLeaderOrFollower,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from spark_connector import ranges as module
from spark_connector import stream
from spark_connector.bridge import loop_thread
from spark_connector.errors import DataLossError
from spark_connector.offsets import OffsetRange
from spark_connector.options import ReadOptions
from spark_connector.reader import BatchReader
from spark_connector.stream import OffsetJson, StreamReader
from tests.spark.test_readers import offsets_read, ranges

ALL = ReadAllAvailable()


@pytest.fixture
def names(kafka_broker: BrokerThread) -> tuple[str, str]:
    """Two topics with three records each. The second one is to go."""
    common = uuid.uuid4().hex
    kept, gone = f"{common}-kept", f"{common}-gone"
    for name in (kept, gone):
        kafka_broker.create_topic(name, 1)
        kafka_broker.produce(name, [b"1", b"2", b"3"])
    return kept, gone


@pytest.fixture
def options(kafka_broker: BrokerThread, names: tuple[str, str]) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": kafka_broker.bootstrap_servers,
        "subscribePattern": f"^{names[0].removesuffix('-kept')}",
        "startingOffsets": "earliest",
        "fetchOffset.numRetries": "0",
    }


def streaming(options: dict[str, str], **more: str) -> StreamReader:
    return StreamReader(ReadOptions.parse({**options, **more}))


@pytest.fixture(params=["first", "second"])
def planned(
    request: pytest.FixtureRequest,
    options: dict[str, str],
    kafka_broker: BrokerThread,
    names: tuple[str, str],
) -> tuple[OffsetJson, OffsetJson]:
    """The ends of a batch that is in Spark's log, and did not finish: a query's first, or second.

    Then the second topic was deleted.
    """
    kept, gone = names
    reader = streaming(options)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ALL)
    if request.param == "second":
        for name in names:
            kafka_broker.produce(name, [b"4", b"5"])
        start, end = end, {kept: {"0": 5}, gone: {"0": 5}}
    kafka_broker.delete_topic(gone)
    return start, end


def test_a_batch_is_done_again_without_a_topic_that_is_gone_where_loss_does_not_matter(
    options: dict[str, str],
    planned: tuple[OffsetJson, OffsetJson],
    names: tuple[str, str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    start, end = planned
    reader = streaming(options, failOnDataLoss="false")
    start = start if start[names[0]]["0"] else reader.initialOffset()  # Spark asks for the first

    with caplog.at_level(logging.WARNING, "spark_connector"):
        parts = reader.partitions(start, end)
        read = offsets_read(reader, parts)
        after = reader.latestOffset(end, ALL)

    assert {each.topic for each in ranges(parts)} == {names[0]}
    assert read == ([0, 1, 2] if len(read) == 3 else [3, 4])
    assert after == {names[0]: end[names[0]]}
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1
    assert f"{names[1]}-0: the partition is not there any more" in told[0]


def test_a_topic_that_is_gone_is_not_waited_for_again_while_its_offset_is_the_start(
    options: dict[str, str],
    kafka_broker: BrokerThread,
    names: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream, "DISCOVERY_SECONDS", 0.0)
    again = {"fetchOffset.numRetries": "2", "fetchOffset.retryIntervalMs": "1000"}
    reader = streaming(options, failOnDataLoss="false", minOffsetsPerTrigger="9999", **again)
    start = reader.latestOffset(reader.initialOffset(), ALL)
    kafka_broker.delete_topic(names[1])
    reader.latestOffset(start, ReadMinRows(9999))

    began = time.monotonic()
    reader.latestOffset(start, ReadMinRows(9999))

    assert time.monotonic() - began < 1


def test_a_batch_that_was_planned_of_a_topic_that_is_gone_is_a_loss(
    options: dict[str, str], planned: tuple[OffsetJson, OffsetJson], names: tuple[str, str]
) -> None:
    start, end = planned
    reader = streaming(options)
    start = start if start[names[0]]["0"] else reader.initialOffset()

    with pytest.raises(DataLossError, match=f"{names[1]}-0: the partition is not there any more"):
        reader.partitions(start, end)


def test_a_topic_that_goes_before_its_range_is_read_is_a_loss(
    options: dict[str, str], kafka_broker: BrokerThread, names: tuple[str, str]
) -> None:
    reader = BatchReader(ReadOptions.parse(options))
    parts = reader.partitions()
    kafka_broker.delete_topic(names[1])

    began = time.monotonic()
    with pytest.raises(DataLossError, match=r"-gone-0 is to be read from offset 0 to 3") as caught:
        offsets_read(reader, parts)

    assert "failOnDataLoss" in str(caught.value)
    assert time.monotonic() - began < 10  # pollTimeoutMs is two minutes


def test_what_is_there_is_read_of_a_frame_whose_topic_went_where_loss_does_not_matter(
    options: dict[str, str],
    kafka_broker: BrokerThread,
    names: tuple[str, str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    reader = BatchReader(ReadOptions.parse({**options, "failOnDataLoss": "false"}))
    parts = reader.partitions()
    kafka_broker.delete_topic(names[1])

    began = time.monotonic()
    with caplog.at_level(logging.WARNING, "spark_connector"):
        read = offsets_read(reader, parts)

    assert read == [0, 1, 2]
    assert time.monotonic() - began < 10  # as above
    assert f"{names[1]}-0" in caplog.text


def test_a_topic_that_goes_while_its_range_is_read_is_a_loss(
    options: dict[str, str],
    kafka_broker: BrokerThread,
    names: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.2)
    for _ in range(20):  # batches that are too large for one fetch
        kafka_broker.produce(names[1], [b"v" * 1000])
    small = {**options, "kafka.max.partition.fetch.bytes": "1000", "kafka.fetch.max.bytes": "1000"}
    read: list[int] = []

    async def all_of_it() -> None:
        wanted = OffsetRange(names[1], 0, 0, 23)
        async with aclosing(module.batches(wanted, ReadOptions.parse(small))) as found:
            async for batch in found:
                if not read:
                    kafka_broker.delete_topic(names[1])
                read.extend(each.offset for each in batch.records)

    began = time.monotonic()
    with pytest.raises(DataLossError, match=r"-gone-0 is to be read from offset \d+ to 23"):
        loop_thread().run(all_of_it())

    assert read == list(range(len(read)))
    assert 0 < len(read) < 23
    assert time.monotonic() - began < 10  # pollTimeoutMs is two minutes


def test_who_has_no_answer_waits_as_long_as_was_said(
    options: dict[str, str], kafka_broker: BrokerThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.2)
    given = {**options, "kafkaConsumer.pollTimeoutMs": "1000"}
    reader = BatchReader(ReadOptions.parse(given))
    parts = reader.partitions()

    began = time.monotonic()
    with (
        kafka_broker.faults.hold("Fetch"),
        kafka_broker.faults.hold("DescribeTopicPartitions"),
        pytest.raises(KafkaTimeoutError),
    ):
        offsets_read(reader, parts)

    assert time.monotonic() - began < 10  # what is asked of the cluster may take a minute


def test_a_topic_that_is_there_and_does_not_answer_is_no_loss(
    options: dict[str, str], kafka_broker: BrokerThread, names: tuple[str, str]
) -> None:
    given = {**options, "failOnDataLoss": "false", "kafkaConsumer.pollTimeoutMs": "3000"}
    reader = BatchReader(ReadOptions.parse(given))
    parts = reader.partitions()

    with (
        kafka_broker.faults.fail("Fetch", NotLeaderOrFollower),
        pytest.raises(KafkaTimeoutError),
    ):
        offsets_read(reader, parts)


def test_a_broker_that_does_not_know_a_topic_for_a_moment_is_no_loss(
    options: dict[str, str], kafka_broker: BrokerThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.2)
    reader = BatchReader(ReadOptions.parse({**options, "failOnDataLoss": "false"}))
    parts = reader.partitions()

    with (
        kafka_broker.faults.delay("Fetch", 1.0, times=2),
        kafka_broker.faults.fail("DescribeTopicPartitions", UnknownTopicOrPartition, times=1),
    ):
        assert offsets_read(reader, parts) == [0, 1, 2, 0, 1, 2]


def test_a_cluster_that_does_not_say_whether_there_is_a_topic_is_no_loss(
    options: dict[str, str], kafka_broker: BrokerThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.1)
    reader = BatchReader(ReadOptions.parse({**options, "failOnDataLoss": "false"}))
    parts = reader.partitions()

    with (
        kafka_broker.faults.delay("Fetch", 1.0, times=2),
        kafka_broker.faults.fail("DescribeTopicPartitions", TopicAuthorizationFailed),
    ):
        assert offsets_read(reader, parts) == [0, 1, 2, 0, 1, 2]


def test_rows_do_not_wait_for_what_the_cluster_says_of_their_topic(
    options: dict[str, str], kafka_broker: BrokerThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.1)
    reader = BatchReader(ReadOptions.parse(options))
    parts = reader.partitions()

    began = time.monotonic()
    with (
        kafka_broker.faults.delay("Fetch", 0.5, times=2),
        kafka_broker.faults.hold("DescribeTopicPartitions"),
    ):
        assert offsets_read(reader, parts) == [0, 1, 2, 0, 1, 2]

    assert time.monotonic() - began < 10


def test_who_stops_reading_before_anything_has_come_leaves_nothing(
    options: dict[str, str], kafka_broker: BrokerThread, names: tuple[str, str]
) -> None:
    async def read() -> None:
        wanted = OffsetRange(names[0], 0, 0, 3)
        async with aclosing(module.batches(wanted, ReadOptions.parse(options))) as found:
            await anext(found)

    async def others() -> list[str]:
        await asyncio.sleep(0.1)
        return [repr(each) for each in asyncio.all_tasks()]

    with kafka_broker.faults.hold("Fetch") as hold:
        reading = loop_thread().submit(read())
        kafka_broker.wait_hits(hold)
        reading.cancel()
        left = loop_thread().run(others())

    assert not [each for each in left if "ranges.py" in each or "anext" in each], left
