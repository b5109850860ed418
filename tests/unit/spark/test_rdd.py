"""What Spark calls in a worker, without Spark: `tests/spark/test_rdd.py` has it with Spark."""

from __future__ import annotations

import asyncio
import pickle
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")


from kafka_aio import KafkaConfigWarning, Producer, ProducerRecord
from kafka_aio.broker import BrokerThread
from kafka_aio.errors import (
    ConfigError,
    InvalidTopic,
    KafkaConnectionError,
    StateError,
    UnknownTopicOrPartition,
)
from spark_connector import bridge, clients, rdd
from spark_connector.bridge import loop_thread
from spark_connector.errors import DataLossError, RowError
from spark_connector.offsets import OffsetRange
from spark_connector.rdd import foreach_partition, map_partitions, records_rdd

SECONDS = 10.0
pytestmark = pytest.mark.usefixtures("own_loop")

HERE = {"kafka.bootstrap.servers": "localhost:9092"}


class Boom(Exception):
    """Of the tests."""


# The sink.


def test_all_rows_are_there_when_the_partition_ends(
    broker: BrokerThread, topic: str, options: dict[str, str]
) -> None:
    rows = [b"%d" % number for number in range(5000)]

    foreach_partition(options, topic=topic)(iter(rows))

    assert sorted(record.value or b"" for record in broker.records(topic)) == sorted(rows)


@pytest.mark.parametrize("batch_size", ["16384", "131072"])
def test_rows_of_a_key_keep_their_order(
    broker: BrokerThread, topic: str, options: dict[str, str], batch_size: str
) -> None:
    padding = b"." * 1000  # so a chunk fills more batches than the producer opens in one turn
    rows = [(b"k%d" % (number % 3), b"%d " % number + padding) for number in range(6000)]

    foreach_partition({**options, "kafka.batch.size": batch_size}, topic=topic)(iter(rows))

    for key in (b"k0", b"k1", b"k2"):
        mine = (each.value or b"" for each in broker.records(topic) if each.key == key)
        found = [int(value.split()[0]) for value in mine]
        assert found == sorted(found)
        assert len(found) == 2000


def test_a_record_is_sent_as_it_is(
    broker: BrokerThread, topic: str, options: dict[str, str]
) -> None:
    row = ProducerRecord(topic, b"v", b"k", 1, 1234, [("h", b"x")])

    foreach_partition(options)(iter([row]))

    (found,) = broker.records(topic)
    assert (found.value, found.key, found.partition, found.timestamp) == (b"v", b"k", 1, 1234)
    assert found.headers == (("h", b"x"),)


def test_the_topic_may_be_an_option_or_a_column(
    broker: BrokerThread, topic: str, options: dict[str, str]
) -> None:
    foreach_partition({**options, "Topic": topic})(iter([b"option"]))
    foreach_partition(options)(iter([{"value": b"column", "topic": topic}]))

    assert {record.value for record in broker.records(topic)} == {b"option", b"column"}


def test_an_empty_partition_connects_to_nothing() -> None:
    foreach_partition({"kafka.bootstrap.servers": "localhost:1"}, topic="t")(iter([]))


def test_a_sink_in_a_function_on_the_loop_is_refused_rather_than_waiting_for_itself(
    topic: str, options: dict[str, str]
) -> None:
    sink = foreach_partition(options, topic=topic)

    async def nested(row: bytes) -> bytes:
        sink([row])
        return row

    with pytest.raises(StateError, match="cannot wait for itself"):
        list(map_partitions(nested)(iter([b"v"])))


def test_the_next_partition_has_the_same_client(
    topic: str, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = _producers(monkeypatch)
    sink = foreach_partition(options, topic=topic)
    for _ in range(3):
        sink(iter([b"v"]))

    assert len(made) == 1
    assert made[0].health().state == "open"


def test_with_a_fresh_loop_each_partition_has_a_client_of_its_own_that_is_closed(
    topic: str, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = _producers(monkeypatch)
    sink = foreach_partition(options, topic=topic, fresh_loop=True)
    for _ in range(3):
        sink(iter([b"v"]))

    assert [producer.health().state for producer in made] == ["closed"] * 3
    assert not bridge._threads


def _producers(monkeypatch: pytest.MonkeyPatch) -> list[Producer]:
    """Each that is opened from now on."""
    made = []
    start = Producer.start

    async def noted(self: Producer, **options: Any) -> None:
        made.append(self)
        await start(self, **options)

    monkeypatch.setattr(Producer, "start", noted)
    return made


def test_a_row_that_cannot_be_sent_is_an_error_with_its_place(
    topic: str, options: dict[str, str]
) -> None:
    rows = [b"v"] * 250 + [5]

    with pytest.raises(RowError, match=rf"^row 250, topic {topic}: a row is bytes"):
        foreach_partition(options, topic=topic, chunk_rows=100)(iter(rows))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"value": b"v" * 2_000_000}, "a record of 200"),
        ({"value": b"v", "partition": 7}, "partition 7"),
        ({"value": b"v", "partition": -1}, "partition -1"),
    ],
)
def test_an_error_of_the_producer_has_the_place_of_the_row(
    topic: str, options: dict[str, str], row: Any, reason: str
) -> None:
    rows: list[Any] = [{"value": b"v", "partition": 0}] * 250 + [row] + [{"value": b"v"}] * 20

    with pytest.raises(RowError) as caught:
        foreach_partition(options, topic=topic, chunk_rows=100)(iter(rows))

    assert str(caught.value).startswith(f"row 250, topic {topic}: ")
    assert reason in str(caught.value)
    assert "row 50" not in str(caught.value)  # which is its number in the chunk


def test_an_error_of_a_topic_has_the_place_of_its_first_row(
    topic: str, options: dict[str, str]
) -> None:
    given = {**options, "kafka.max.block.ms": "200"}
    rows = [ProducerRecord(topic, b"v")] * 150 + [ProducerRecord("no-such", b"v")] * 5

    with pytest.raises(RowError, match=r"^row 150, topic no-such: .*no-such"):
        foreach_partition(given, chunk_rows=100)(iter(rows))


def test_an_error_of_the_broker_has_the_place_of_the_first_row_that_it_refused(
    broker: BrokerThread, topic: str, options: dict[str, str]
) -> None:
    rows = [(None, b"v")] * 30

    with (
        broker.faults.fail("Produce", InvalidTopic, topic=topic),
        pytest.raises(
            RowError, match=rf"^row 0, topic {topic}: .*INVALID_TOPIC.*; 29 more rows were"
        ),
    ):
        foreach_partition(options, topic=topic)(iter(rows))


def test_an_error_of_the_broker_has_the_place_of_the_row_that_it_blames(
    broker: BrokerThread, topic: str, options: dict[str, str]
) -> None:
    compacted = f"{topic}-compacted"
    broker.create_topic(compacted, configs={"cleanup.policy": "compact"})
    rows = [(None if number in (17, 20) else b"k", b"v") for number in range(30)]

    with pytest.raises(RowError, match=rf"^row 17, topic {compacted}: .*without key") as caught:
        foreach_partition(options, topic=compacted)(iter(rows))

    assert "29 more rows were not delivered" in str(caught.value)
    assert "for the sake of others" not in str(caught.value)


def test_an_error_of_the_connection_has_the_place_of_the_rows() -> None:
    with BrokerThread() as gone:
        options = {"kafka.bootstrap.servers": gone.bootstrap_servers}
    options |= {"kafka.max.block.ms": "200", "kafka.reconnect.backoff.max.ms": "50"}

    begun = time.monotonic()
    with pytest.raises(RowError, match=r"^rows 0 to 29, topic t: .*could be reached") as caught:
        foreach_partition(options, topic="t")(iter([b"v"] * 30))

    assert isinstance(caught.value.__cause__, KafkaConnectionError)
    assert time.monotonic() - begun < 5  # a connection has 10 s


def test_an_error_of_the_rows_is_raised_as_it_is(topic: str, options: dict[str, str]) -> None:
    def rows() -> Iterator[bytes]:
        yield b"v"
        raise Boom("of Spark's")

    with pytest.raises(Boom, match="of Spark's"):
        foreach_partition(options, topic=topic)(rows())


def test_wrong_options_are_an_error_on_the_driver() -> None:
    with pytest.raises(ConfigError, match=r"bootstrap\.servers is missing"):
        foreach_partition({"topic": "t"})
    with pytest.raises(ConfigError, match="topic is 'a', and the option 'topic' 'b'"):
        foreach_partition({**HERE, "topic": "b"}, topic="a")
    with pytest.raises(ValueError, match="chunk_rows is 1 or more, not 0"):
        foreach_partition(HERE, chunk_rows=0)
    with pytest.raises(TypeError, match="chunk_rows is a whole number, not str"):
        foreach_partition(HERE, chunk_rows="1")  # type: ignore[arg-type]  # the mistake
    with pytest.raises(TypeError, match="topic is a str, not int"):
        foreach_partition(HERE, topic=5)  # type: ignore[arg-type]  # the mistake
    for wrong in ([("topic", "t")], None, "topic"):
        with pytest.raises(TypeError, match="options are a mapping of names to values, not "):
            foreach_partition(wrong)  # type: ignore[arg-type]  # the mistake
    with pytest.raises(TypeError, match="the name of an option is a str, not None"):
        foreach_partition({None: "t"})  # type: ignore[dict-item]  # the mistake


def test_what_kafka_does_not_know_warns_on_the_driver_and_is_ignored(
    broker: BrokerThread, topic: str, options: dict[str, str]
) -> None:
    with pytest.warns(KafkaConfigWarning, match=r"kafka\.schema\.registry\.url is no option"):
        sink = foreach_partition({**options, "kafka.schema.registry.url": "x"}, topic=topic)
    sink(iter([b"v"]))

    assert len(broker.records(topic)) == 1


def test_options_may_be_numbers_and_flags(
    broker: BrokerThread, topic: str, options: dict[str, Any]
) -> None:
    options = {**options, "useTimestampColumn": True, "kafka.linger.ms": 0, "kafka.acks": None}
    foreach_partition(options, topic=topic)(iter([{"value": b"v", "timestamp": 5}]))

    assert broker.records(topic)[0].timestamp == 5


def test_what_travels_is_small_and_shows_no_secret() -> None:
    secret = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u"'
    options = {
        **HERE,
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": secret + ' password="canary";',
    }
    sink = foreach_partition(options, topic="t")

    assert "canary" not in repr(sink)
    assert pickle.loads(pickle.dumps(sink)) == sink
    assert len(pickle.dumps(sink)) < 1000


# Records.


class Context:
    """As much of a SparkContext as is needed to see what is asked of it."""

    def __init__(self) -> None:
        self.slices: list[Any] = []

    def parallelize(self, values: list[Any], slices: int) -> Context:
        assert slices == len(values)
        self.slices = values
        return self

    def mapPartitions(self, function: Any) -> list[list[Any]]:
        return [list(function(iter([each]))) for each in self.slices]

    def emptyRDD(self) -> list[Any]:
        return []


def read(ranges: list[OffsetRange], options: dict[str, str], **more: Any) -> Any:
    return records_rdd(Context(), ranges, options, **more)  # type: ignore[arg-type]  # see Context


@pytest.mark.parametrize("fresh_loop", [False, True])
def test_each_range_is_read_exactly(
    broker: BrokerThread, topic: str, options: dict[str, str], fresh_loop: bool
) -> None:
    broker.produce(topic, [b"%d" % number for number in range(100)], partition=1)

    found = read(
        [OffsetRange(topic, 1, 10, 20), OffsetRange(topic, 1, 50, 50), OffsetRange(topic, 1, 0, 1)],
        options,
        fresh_loop=fresh_loop,
    )

    assert [[record.offset for record in part] for part in found] == [[*range(10, 20)], [], [0]]
    assert found[0][0].value == b"10"


def test_no_ranges_are_no_records() -> None:
    assert read([], HERE) == []


def test_a_range_that_is_not_there_is_an_error(
    broker: BrokerThread, topic: str, options: dict[str, str]
) -> None:
    broker.produce(topic, [b"v"], partition=0)

    with pytest.raises(DataLossError, match=f"{topic}-0"):
        read([OffsetRange(topic, 0, 0, 5)], options)


@pytest.mark.parametrize("wrong", ["topic", "partition"])
def test_a_range_of_no_partition_is_an_error_on_the_driver(
    topic: str, options: dict[str, str], wrong: str
) -> None:
    name, partition = ("no-such", 0) if wrong == "topic" else (topic, 7)
    context = Context()

    with pytest.raises(UnknownTopicOrPartition, match=f"range {name}-{partition} 5..9"):
        records_rdd(
            context,  # type: ignore[arg-type]  # see Context
            [OffsetRange(topic, 0, 0, 0), OffsetRange(name, partition, 5, 9)],
            options,
        )

    assert context.slices == []


def test_a_topic_of_a_range_that_a_broker_has_not_heard_of_yet_is_asked_for_again(
    broker: BrokerThread, topic: str, options: dict[str, str]
) -> None:
    options["fetchOffset.retryIntervalMs"] = "10"
    broker.produce(topic, [b"v"], partition=0)

    with broker.faults.fail("DescribeTopicPartitions", UnknownTopicOrPartition, times=2):
        assert len(read([OffsetRange(topic, 0, 0, 1)], options)) == 1


def test_a_range_without_offsets_may_be_of_no_partition() -> None:
    assert read([OffsetRange("no-such", 3, 5, 5)], HERE) == [[]]


def test_what_says_which_topics_to_read_is_refused() -> None:
    with pytest.raises(ConfigError, match="option subscribe is given, but the ranges say"):
        read([OffsetRange("t", 0, 0, 1)], {**HERE, "Subscribe": "t"})
    with pytest.raises(ConfigError, match=r"bootstrap\.servers is missing"):
        read([], {})


def test_a_reader_that_stops_early_stops_the_fetch(
    broker: BrokerThread, topic: str, options: dict[str, str]
) -> None:
    broker.produce(topic, [b"v" * 1000] * 2000, partition=0)
    reading = rdd._Reading({**options, "assign": f'{{"{topic}":[0]}}'}, fresh_loop=False)

    records = reading(iter([OffsetRange(topic, 0, 0, 2000)]))
    assert next(records).offset == 0
    records.close()  # type: ignore[attr-defined]  # it is a generator

    async def is_kept() -> bool:
        cache = clients._caches[asyncio.get_running_loop()]
        return all(entry.borrowers == 0 for entry in cache._entries.values())

    assert loop_thread().run(is_kept())


@pytest.mark.parametrize(
    "name", ["subscribe", "startingOffsets", "endingTimestamp", "minPartitions"]
)
def test_ranges_and_options_do_not_both_say_what_to_read(name: str) -> None:
    with pytest.raises(ConfigError, match="the ranges say what to read"):
        records_rdd(None, [OffsetRange("t", 0, 0, 1)], {**HERE, name: "1"})  # type: ignore[arg-type]  # not used


@pytest.mark.parametrize(
    ("topic", "partition", "error"),
    [
        ("", 0, ValueError("topic of an offset range is a name, not ''")),
        (None, 0, TypeError("topic of an offset range is a str, not None")),
        ("t", 2**33, ValueError("partition of an offset range is 2147483647 at most, not 85899")),
    ],
)
def test_a_range_is_of_a_partition_that_there_may_be(
    topic: Any, partition: int, error: Exception
) -> None:
    with pytest.raises(type(error), match=str(error)):
        OffsetRange(topic, partition, 0, 1)


def test_what_is_no_range_is_refused() -> None:
    with pytest.raises(TypeError, match="OffsetRange"):
        records_rdd(None, [("t", 0, 0, 1)], HERE)  # type: ignore[list-item, arg-type]  # the mistake
