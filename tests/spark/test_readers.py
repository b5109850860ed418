"""What readers answer to Spark's calls, in the order of its calls: without Spark, on a broker.

The JVM asks the same of them in tests/spark/test_stream.py; here a case takes milliseconds.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections.abc import Sequence

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

from kafka_aio import Admin, Record, TopicPartition
from kafka_aio.broker import BrokerThread
from kafka_aio.errors import ConfigError, OffsetOutOfRange, UnknownTopicOrPartition
from spark_connector import stream
from spark_connector.errors import DataLossError
from spark_connector.offsets import OffsetRange
from spark_connector.options import ReadOptions
from spark_connector.reader import BatchReader
from spark_connector.stream import StreamReader

ALL = ReadAllAvailable()


@pytest.fixture
def options(kafka_broker: BrokerThread, kafka_topic: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": kafka_broker.bootstrap_servers,
        "subscribe": kafka_topic,
        "fetchOffset.numRetries": "0",
    }


def streaming(options: dict[str, str], **more: str) -> StreamReader:
    parsed = ReadOptions.parse({**options, **more})
    parsed.check_stream()
    return StreamReader(parsed)


def batch(options: dict[str, str], **more: str) -> BatchReader:
    parsed = ReadOptions.parse({**options, **more})
    parsed.check_batch()
    return BatchReader(parsed)


async def commit(options: dict[str, str], topic: str) -> None:
    async with Admin(bootstrap_servers=options["kafka.bootstrap.servers"]) as admin:
        await admin.alter_group_offsets("any", {TopicPartition(topic, 0): 0})


def ranges(partitions: Sequence[InputPartition]) -> list[OffsetRange]:
    return [each.value for each in partitions]


def offsets_read(
    reader: StreamReader | BatchReader, partitions: Sequence[InputPartition]
) -> list[int]:
    """What executors would read, by a reader that has travelled to them."""
    there = pickle.loads(pickle.dumps(reader))
    batches = [batch for each in partitions for batch in there.read(each)]
    return [offset for batch in batches for offset in batch.column("offset").to_pylist()]


# A query from its beginning.


def test_a_topic_of_kafkas_own_is_left_out_with_one_warning_however_often_a_stream_looks(
    options: dict[str, str],
    kafka_topic: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    asyncio.run(commit(options, kafka_topic))  # it makes the topic
    monkeypatch.setattr(stream, "DISCOVERY_SECONDS", 0)
    reader = streaming(options, subscribe=f"{kafka_topic},__consumer_offsets")
    start = reader.initialOffset()

    for _ in range(3):
        reader.latestOffset(start, ALL)

    assert list(start) == [kafka_topic]
    warned = [each.message for each in caplog.records if "Kafka's own" in each.message]
    assert warned == ["topic __consumer_offsets is Kafka's own, and is left out"]


def test_a_stream_begins_at_the_end_and_reads_what_comes(
    options: dict[str, str], kafka_broker: BrokerThread, kafka_topic: str
) -> None:
    kafka_broker.produce(kafka_topic, [b"old"])
    reader = streaming(options)
    start = reader.initialOffset()
    kafka_broker.produce(kafka_topic, [b"new"])

    first = reader.latestOffset(start, ALL)
    second = reader.latestOffset(first, ALL)

    assert (start, first, second) == ({kafka_topic: {"0": 1}}, start, {kafka_topic: {"0": 2}})
    assert offsets_read(reader, reader.partitions(first, second)) == [1]


def test_the_beginning_is_the_same_for_all_calls_of_a_run(
    options: dict[str, str], kafka_broker: BrokerThread, kafka_topic: str
) -> None:
    reader = streaming(options)
    start = reader.initialOffset()
    kafka_broker.produce(kafka_topic, [b"new"])

    assert reader.initialOffset() == start


@pytest.mark.parametrize(
    "starting",
    [
        {},
        {"startingOffsets": "latest"},
        {"startingOffsets": '{"TOPIC": {"0": -1}}'},
        {"startingTimestamp": "99999999999999", "startingOffsetsByTimestampStrategy": "latest"},
    ],
    ids=["by default", "word", "number", "timestamp"],
)
def test_a_first_batch_that_failed_loses_nothing_if_it_began_at_the_end(
    options: dict[str, str],
    kafka_broker: BrokerThread,
    kafka_topic: str,
    starting: dict[str, str],
) -> None:
    told = {name: value.replace("TOPIC", kafka_topic) for name, value in starting.items()}
    kafka_broker.produce(kafka_topic, [b"old"])
    failed = streaming(options, **told)
    logged = failed.latestOffset(failed.initialOffset(), ALL)  # Spark writes this to its log
    kafka_broker.produce(kafka_topic, [b"in between"])

    again = streaming(options, **told)  # after a restart Spark asks where it began
    replayed = offsets_read(again, again.partitions(again.initialOffset(), logged))
    end = again.latestOffset(logged, ALL)

    assert replayed == []
    assert offsets_read(again, again.partitions(logged, end)) == [1]


@pytest.mark.kafka_topic(partitions=2)
@pytest.mark.parametrize(
    "starting",
    [
        {"startingOffsets": '{"TOPIC": {"0": -1, "1": -2}}'},
        {"startingTimestamp": "1", "startingOffsetsByTimestampStrategy": "latest"},
    ],
    ids=["number", "timestamp"],
)
def test_a_first_batch_that_is_done_again_is_followed_by_what_there_is(
    options: dict[str, str],
    kafka_broker: BrokerThread,
    kafka_topic: str,
    starting: dict[str, str],
) -> None:
    told = {name: value.replace("TOPIC", kafka_topic) for name, value in starting.items()}
    kafka_broker.produce(kafka_topic, [b"1", b"2"], partition=1)  # and none in the other
    failed = streaming(options, **told)
    logged = failed.latestOffset(failed.initialOffset(), ALL)

    again = streaming(options, **told)
    replayed = offsets_read(again, again.partitions(again.initialOffset(), logged))
    end = again.latestOffset(logged, ALL)

    assert replayed == []
    assert end == {kafka_topic: {"0": 0, "1": 2}}  # availableNow ends if nothing more is told


def test_a_first_batch_that_failed_is_the_same_where_its_time_has_found_a_record(
    options: dict[str, str], kafka_broker: BrokerThread, kafka_topic: str
) -> None:
    def produce(timestamp: int) -> None:
        kafka_broker.produce(kafka_topic, [Record(kafka_topic, 0, 0, timestamp, value=b"v")])

    produce(1_000)
    told = {"startingTimestamp": "5000", "startingOffsetsByTimestampStrategy": "latest"}
    failed = streaming(options, **told)
    logged = failed.latestOffset(failed.initialOffset(), ALL)
    for timestamp in (2_000, 3_000, 6_000):
        produce(timestamp)

    again = streaming(options, **told)
    replayed = offsets_read(again, again.partitions(again.initialOffset(), logged))
    end = again.latestOffset(logged, ALL)

    assert replayed == []
    assert offsets_read(again, again.partitions(logged, end)) == [1, 2, 3]


def test_a_first_batch_that_failed_leaves_a_topic_that_is_new_to_the_next_one(
    options: dict[str, str], kafka_broker: BrokerThread
) -> None:
    kafka_broker.create_topic("again-a", 1)
    kafka_broker.produce("again-a", [b"1", b"2"])
    del options["subscribe"]
    told = {"subscribePattern": "^again-", "startingOffsets": "earliest"}
    failed = streaming(options, **told)
    logged = failed.latestOffset(failed.initialOffset(), ALL)
    kafka_broker.create_topic("again-b", 1)
    kafka_broker.produce("again-b", [b"3"])

    again = streaming(options, **told)
    replayed = ranges(again.partitions(again.initialOffset(), logged))
    end = again.latestOffset(logged, ALL)

    assert replayed == [OffsetRange("again-a", 0, 0, 2)]
    assert ranges(again.partitions(logged, end)) == [OffsetRange("again-b", 0, 0, 1)]


def test_a_first_batch_from_the_beginning_has_what_there_is(
    options: dict[str, str], kafka_broker: BrokerThread, kafka_topic: str
) -> None:
    kafka_broker.produce(kafka_topic, [b"one", b"two"])
    reader = streaming(options, startingOffsets="earliest")
    start = reader.initialOffset()

    end = reader.latestOffset(start, ALL)

    assert offsets_read(reader, reader.partitions(start, end)) == [0, 1]


def test_the_progress_shows_where_logs_end(
    options: dict[str, str], kafka_broker: BrokerThread, kafka_topic: str
) -> None:
    kafka_broker.produce(kafka_topic, [b"one", b"two", b"three"])
    reader = streaming(options, startingOffsets="earliest", maxOffsetsPerTrigger="1")
    assert reader.reportLatestOffset() is None

    end = reader.latestOffset(reader.initialOffset(), reader.getDefaultReadLimit())

    assert (end, reader.reportLatestOffset()) == ({kafka_topic: {"0": 1}}, {kafka_topic: {"0": 3}})


@pytest.mark.parametrize(
    ("told", "limit"),
    [
        ({}, ReadAllAvailable()),
        ({"maxOffsetsPerTrigger": "7"}, ReadMaxRows(7)),
        ({"minOffsetsPerTrigger": "7"}, ReadMinRows(7)),
        ({"minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "7"}, ReadMaxRows(7)),
    ],
)
def test_sparks_limit_is_ours(options: dict[str, str], told: dict[str, str], limit: object) -> None:
    assert streaming(options, **told).getDefaultReadLimit() == limit


def test_what_comes_after_available_now_is_left_for_the_next_run(
    options: dict[str, str], kafka_broker: BrokerThread, kafka_topic: str
) -> None:
    kafka_broker.produce(kafka_topic, [b"one", b"two"])
    reader = streaming(options, startingOffsets="earliest", maxOffsetsPerTrigger="1")
    limit = reader.getDefaultReadLimit()
    reader.prepareForTriggerAvailableNow()
    first = reader.latestOffset(reader.initialOffset(), limit)
    kafka_broker.produce(kafka_topic, [b"late"])

    second = reader.latestOffset(first, limit)
    third = reader.latestOffset(second, limit)

    assert (first, second) == ({kafka_topic: {"0": 1}}, {kafka_topic: {"0": 2}})
    assert third == second


# What happens to partitions meanwhile.


@pytest.fixture
def _quick_discovery(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "DISCOVERY_SECONDS", 0.0)


@pytest.mark.usefixtures("_quick_discovery")
def test_a_partition_that_is_new_is_read_from_its_beginning(
    options: dict[str, str], kafka_broker: BrokerThread
) -> None:
    kafka_broker.create_topic("new-a", 1)
    del options["subscribe"]
    reader = streaming(options, subscribePattern="^new-")
    start = reader.latestOffset(reader.initialOffset(), ALL)
    kafka_broker.create_topic("new-b", 1)
    kafka_broker.produce("new-b", [b"first"])

    end = reader.latestOffset(start, ALL)

    assert end == {"new-a": {"0": 0}, "new-b": {"0": 1}}
    assert ranges(reader.partitions(start, end)) == [OffsetRange("new-b", 0, 0, 1)]


def test_partitions_are_looked_for_once_a_second(
    options: dict[str, str], kafka_broker: BrokerThread, kafka_topic: str
) -> None:
    reader = streaming(options)
    end = reader.latestOffset(reader.initialOffset(), ALL)
    described = kafka_broker.faults.delay("DescribeTopicPartitions", seconds=0)
    listed = kafka_broker.faults.delay("ListOffsets", seconds=0)

    for _ in range(10):
        end = reader.latestOffset(end, ALL)

    assert (described.hits <= 1, listed.hits) == (True, 10)


@pytest.mark.usefixtures("_quick_discovery")
def test_a_topic_that_was_made_anew_is_a_loss(
    options: dict[str, str], kafka_broker: BrokerThread, kafka_topic: str
) -> None:
    kafka_broker.produce(kafka_topic, [b"1", b"2", b"3"])
    reader = streaming(options, startingOffsets="earliest")
    end = reader.latestOffset(reader.initialOffset(), ALL)
    kafka_broker.delete_topic(kafka_topic)
    kafka_broker.create_topic(kafka_topic, 1)
    kafka_broker.produce(kafka_topic, [b"1", b"2", b"3", b"4"])  # longer: offsets do not tell

    with pytest.raises(DataLossError, match=r"deleted and made anew.*failOnDataLoss"):
        reader.latestOffset(end, ALL)


def test_a_log_that_ends_before_where_we_are_is_a_loss(
    options: dict[str, str], kafka_broker: BrokerThread, kafka_topic: str
) -> None:
    kafka_broker.produce(kafka_topic, [b"1", b"2", b"3"])

    with pytest.raises(DataLossError, match="ends at offset 3, but was read up to 20"):
        streaming(options).latestOffset({kafka_topic: {"0": 20}}, ALL)


def test_a_loss_is_said_once_where_it_does_not_matter(
    options: dict[str, str],
    kafka_broker: BrokerThread,
    kafka_topic: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    kafka_broker.produce(kafka_topic, [b"1", b"2", b"3"])
    reader = streaming(options, failOnDataLoss="false")
    start = {kafka_topic: {"0": 20}}

    with caplog.at_level(logging.WARNING, "spark_connector"):
        ends = [reader.latestOffset(start, ALL) for _ in range(3)]

    assert ends == [{kafka_topic: {"0": 3}}] * 3
    assert len(caplog.records) == 1
    assert reader.partitions(start, ends[0]) == []


def test_a_topic_of_the_checkpoint_that_is_not_read_any_more_is_a_loss(
    options: dict[str, str], kafka_topic: str
) -> None:
    start = {kafka_topic: {"0": 0}, "other": {"0": 5}}

    with pytest.raises(DataLossError, match="other-0"):
        streaming(options).latestOffset(start, ALL)


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("startingOffsets", r"-1\. For a partition of no interest, -2 is its beginning$"),
        ("endingOffsets", r"-1\. For a partition of no interest, -1 is its end$"),
        ("startingOffsetsByTimestamp", "-1$"),
        ("endingOffsetsByTimestamp", "-1$"),
    ],
)
@pytest.mark.kafka_topic(partitions=2)
def test_a_partition_that_is_not_named_is_told_with_what_may_be_said_of_it(
    options: dict[str, str], kafka_topic: str, option: str, hint: str
) -> None:
    given = batch(options, **{option: f'{{"{kafka_topic}": {{"0": 0}}}}'})

    with pytest.raises(ConfigError, match=hint):
        given.partitions()


# A batch.


@pytest.mark.kafka_topic(partitions=3)
def test_a_batch_has_a_range_for_each_partition(
    options: dict[str, str], kafka_broker: BrokerThread, kafka_topic: str
) -> None:
    kafka_broker.produce(kafka_topic, [b"1", b"2"], partition=1)

    found = ranges(batch(options).partitions())

    assert [(each.partition, len(each)) for each in found] == [(0, 0), (1, 2), (2, 0)]


@pytest.mark.kafka_topic(partitions=2)
@pytest.mark.parametrize("given", ['{"T": {"0": 0}}', '{"T": {"0": 0, "1": 0, "2": 0}}'])
def test_offsets_are_given_for_all_partitions_or_for_none(
    options: dict[str, str], kafka_topic: str, given: str
) -> None:
    reader = batch(options, startingOffsets=given.replace("T", kafka_topic))

    with pytest.raises(ConfigError, match=rf"startingOffsets.*{kafka_topic}-[12]"):
        reader.partitions()


def test_a_partition_that_is_assigned_and_not_there_is_named(
    options: dict[str, str], kafka_topic: str
) -> None:
    del options["subscribe"]

    with pytest.raises(UnknownTopicOrPartition, match=f"{kafka_topic}-7"):
        batch(options, assign=f'{{"{kafka_topic}": [0, 7]}}').partitions()


def test_a_range_that_the_log_has_not_is_a_loss(
    options: dict[str, str], kafka_broker: BrokerThread, kafka_topic: str
) -> None:
    kafka_broker.produce(kafka_topic, [b"1", b"2"])
    reader = batch(options, endingOffsets=f'{{"{kafka_topic}": {{"0": 5}}}}')

    with pytest.raises(DataLossError, match="failOnDataLoss") as caught:
        offsets_read(reader, reader.partitions())

    assert isinstance(caught.value.__cause__, OffsetOutOfRange)


def test_what_is_left_of_a_range_is_read_where_loss_does_not_matter(
    options: dict[str, str], kafka_broker: BrokerThread, kafka_topic: str
) -> None:
    kafka_broker.produce(kafka_topic, [b"1", b"2"])
    told = {"endingOffsets": f'{{"{kafka_topic}": {{"0": 5}}}}', "failOnDataLoss": "false"}
    reader = batch(options, **told)

    assert offsets_read(reader, reader.partitions()) == [0, 1]


def test_times_before_all_records_mean_all(
    options: dict[str, str], kafka_broker: BrokerThread, kafka_topic: str
) -> None:
    kafka_broker.produce(kafka_topic, [b"1", b"2"])

    assert len(ranges(batch(options, startingTimestamp="0").partitions())[0]) == 2


def test_a_time_after_all_records_is_an_error_with_the_way_out(
    options: dict[str, str], kafka_broker: BrokerThread, kafka_topic: str
) -> None:
    reader = batch(options, startingTimestamp="99999999999999")

    with pytest.raises(ConfigError, match=r"-0 has no record.*startingOffsetsByTimestampStrategy"):
        reader.partitions()


def test_a_record_without_headers_has_null_there(
    options: dict[str, str], kafka_broker: BrokerThread, kafka_topic: str
) -> None:
    with_headers = Record(kafka_topic, 0, 0, 0, value=b"1", headers=(("a", b"x"), ("a", None)))
    kafka_broker.produce(kafka_topic, [with_headers, b"2"])
    reader = batch(options, includeHeaders="true")

    (rows,) = reader.read(reader.partitions()[0])

    pairs = [{"key": "a", "value": b"x"}, {"key": "a", "value": None}]
    assert rows.column("headers").to_pylist() == [pairs, None]
