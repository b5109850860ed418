"""The numbers are those of the cases that the JVM connector was observed in."""

from __future__ import annotations

import json
import pickle

import pytest

from kafka_aio.errors import ConfigError
from kafka_aio.types import TopicPartition
from spark_connector.options import (
    Assign,
    AtTimestamp,
    ByOffset,
    ByTimestamp,
    Pattern,
    ReadOptions,
    Subscribe,
    Where,
    Word,
    WriteOptions,
)

HERE = {"kafka.bootstrap.servers": "localhost:9092"}
A = {**HERE, "subscribe": "a"}


def a(number: int) -> TopicPartition:
    return TopicPartition("a", number)


def offsets(**by_partition: int) -> str:
    """The JSON of topic a, with p0=... for its partitions."""
    return json.dumps({"a": {name[1:]: offset for name, offset in by_partition.items()}})


# What to read.


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        ("a", ("a",)),
        (" a , b ,,", ("a", "b")),  # 10
        ("b,a,b", ("b", "a")),  # 11
    ],
)
def test_topics_are_named_with_commas_between_them(text: str, topics: tuple[str, ...]) -> None:
    assert ReadOptions.parse({**HERE, "subscribe": text}).topics == Subscribe(topics)


def test_the_case_of_a_name_does_not_count_and_the_last_one_set_wins() -> None:
    assert ReadOptions.parse({**HERE, "subscribe": "b", "SubScribe": "a"}).topics == Subscribe(
        ("a",)
    )  # 67
    assert ReadOptions.parse({**A, "STARTINGOFFSETS": "earliest"}).starting is Word.EARLIEST


def test_partitions_are_assigned_by_their_numbers() -> None:
    parsed = ReadOptions.parse({**HERE, "assign": '{"b": [1, 0, 1], "a": [2]}'})

    assert parsed.topics == Assign((a(2), TopicPartition("b", 0), TopicPartition("b", 1)))


def test_a_pattern_is_found_anywhere_in_a_name() -> None:
    topics = ReadOptions.parse({**HERE, "subscribePattern": " lick|^or "}).topics

    assert isinstance(topics, Pattern)
    assert [name for name in ("clicks", "orders", "major") if topics.matches(name)] == [
        "clicks",
        "orders",
    ]
    assert pickle.loads(pickle.dumps(topics)) == topics


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"subscribe": ""}, "option subscribe is ''; expected is names of topics"),  # 12
        ({"subscribe": " , "}, "such as clicks,orders"),  # 12
        ({"subscribePattern": "["}, "option subscribePattern is '['"),  # 17
        ({"subscribePattern": " "}, "such as clicks-.*"),
        ({"assign": "{x"}, "option assign: '{x' is not JSON"),  # 19
        ({"assign": "a"}, "option assign: 'a' is not JSON"),  # 20
        ({"assign": "[0]"}, "option assign: [0] is no JSON object"),
        ({"assign": '{"a": 0}'}, "topic 'a' has 0, not a list of partitions"),
        ({"assign": '{"a": [0, "1"]}'}, "topic 'a' has [0, '1'], not a list of partitions"),
        ({"assign": '{"a": [-1]}'}, "topic 'a' has [-1], not a list of partitions"),
        ({"assign": '{"a": [true]}'}, "topic 'a' has [True], not a list of partitions"),
        ({"assign": '{"a": []}'}, "expected is JSON with partitions"),
        ({"assign": '{"": [1]}'}, "'' is not the name of a topic"),
        ({"subscribe": "a", "assign": '{"a": [1]}'}, "subscribe and assign are given"),  # 21
        ({"subscribe": "a", "subscribePattern": "a"}, "subscribe and subscribePattern are given"),
        ({}, "one of the options subscribe, subscribePattern, assign; none is"),  # 22
    ],
)
def test_topics_that_are_named_wrongly_are_an_error(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ReadOptions.parse({**HERE, **given})

    assert sentence in str(caught.value)


# Where to begin and to end.


@pytest.mark.parametrize(
    ("given", "starting"),
    [
        ({}, None),
        ({"startingOffsets": "EARLIEST"}, Word.EARLIEST),  # 26
        ({"startingOffsets": " Latest "}, Word.LATEST),
        ({"startingOffsets": offsets(p0=3, p1=-2)}, ByOffset({a(0): 3, a(1): -2})),  # 29
        ({"startingOffsetsByTimestamp": offsets(p0=17)}, ByTimestamp({a(0): 17})),
        ({"startingTimestamp": " 17 "}, AtTimestamp(17)),
        (  # 50
            {
                "startingTimestamp": "17",
                "startingOffsetsByTimestamp": "not looked at",
                "startingOffsets": "not looked at",
            },
            AtTimestamp(17),
        ),
        (
            {"startingOffsetsByTimestamp": offsets(p0=1), "startingOffsets": "latest"},
            ByTimestamp({a(0): 1}),
        ),
    ],
)
def test_a_start_is_given_as_a_word_by_offsets_or_by_time(
    given: dict[str, str], starting: Where | None
) -> None:
    assert ReadOptions.parse({**A, **given}).starting == starting


def test_an_end_is_given_in_the_same_ways() -> None:
    def ending(**given: str) -> Where | None:
        return ReadOptions.parse({**A, **given}).ending

    assert ending() is None
    assert ending(endingOffsets="latest") is Word.LATEST
    assert ending(endingOffsets=offsets(p0=5, p1=-1)) == ByOffset({a(0): 5, a(1): -1})
    assert ending(endingTimestamp="5", endingOffsets="earliest") == AtTimestamp(5)  # 50


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"startingOffsets": '{"a":{"0":"3"}}'},  # 31
            "option startingOffsets: topic 'a', partition '0': '3' is not a whole number; expected"
            ' is JSON such as {"topicA": {"0": 23, "1": -1}',
        ),
        ({"startingOffsets": offsets(p0=-3)}, "partition '0': -3 is not from -2 on"),  # 32
        ({"startingOffsets": '{"a":{"0":3.5}}'}, "3.5 is not a whole number"),
        ({"startingOffsets": '{"a":{"0":true}}'}, "True is not a whole number"),
        ({"startingOffsets": '{"a":{"0":9223372036854775808}}'}, "08 is more than 92233720368547"),
        ({"startingOffsets": f'{{"a":{{"0":{"9" * 5000}}}}}'}, "is not JSON"),
        ({"startingOffsets": '{"a":{"0":' + "[" * 100_000}, "is not JSON"),
        ({"startingOffsets": '{"a":[0]}'}, "topic 'a' has no {...} with partitions"),
        ({"startingOffsets": '{"a":{"x":0}}'}, 'a partition is a number in quotes, such as "0"'),
        ({"startingOffsets": '{"a":{"01":0}}'}, "a partition is a number in quotes"),
        ({"startingOffsets": '{"a":{"4294967296":0}}'}, "a partition is a number in quotes"),
        ({"startingOffsets": "first"}, "'first'; expected is earliest, latest or JSON"),
        ({"endingOffsets": "now"}, "option endingOffsets is 'now'"),
        ({"endingOffsets": "earliest"}, "option endingOffsets is earliest, but nothing"),  # 33
        ({"endingOffsets": offsets(p0=-2)}, "has -2, earliest, for a-0, but nothing"),  # 34
        (
            {"startingOffsets": offsets(p0=8), "endingOffsets": offsets(p0=2)},  # 37
            "a-0 starts at 8, after its end, 2",
        ),
        (
            {"startingOffsets": offsets(p0=1, p1=1), "endingOffsets": offsets(p0=2, p2=2)},
            "only one of them names a-1, a-2",
        ),
        (
            {
                "startingOffsetsByTimestamp": offsets(p0=8),
                "endingOffsetsByTimestamp": offsets(p0=2),
            },
            "endingOffsetsByTimestamp: a-0 starts at 8, after its end, 2",
        ),
        ({"startingOffsetsByTimestamp": offsets(p0=-1)}, "partition '0': -1 is not from 0 on"),
        (
            {"startingOffsetsByTimestampStrategy": "nearest"},  # 45
            "option startingOffsetsByTimestampStrategy is 'nearest'; expected is error or latest",
        ),
        ({"startingTimestamp": "x"}, "option startingTimestamp is 'x'; expected is a whole"),  # 48
        ({"startingTimestamp": "-1"}, "a whole number from 0 on, such as 1700000000000"),
        ({"endingTimestamp": "9" * 19}, "option endingTimestamp is"),
    ],
)
def test_a_wrong_start_or_end_is_an_error(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ReadOptions.parse({**A, **given})

    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 500


def test_numbers_that_stand_for_the_ends_of_a_log_are_not_compared() -> None:
    parsed = ReadOptions.parse(
        {**A, "startingOffsets": offsets(p0=8), "endingOffsets": offsets(p0=-1)}
    )

    assert parsed.starting == ByOffset({a(0): 8})


# Numbers, flags, times.


def test_what_is_not_given_is_as_the_documentation_has_it() -> None:
    parsed = ReadOptions.parse(A)

    assert (parsed.fail_on_data_loss, parsed.include_headers, parsed.push_filters) == (
        True,
        False,
        False,
    )
    assert (parsed.max_offsets_per_trigger, parsed.min_offsets_per_trigger) == (None, None)
    assert (parsed.min_partitions, parsed.max_records_per_partition) == (None, None)
    assert (parsed.max_trigger_delay, parsed.poll_timeout) == (900.0, 120.0)
    assert (parsed.fetch_retries, parsed.fetch_retry_interval) == (3, 1.0)
    assert parsed.timestamp_strategy == "error"
    assert not parsed.read_committed
    assert parsed.unknown == ()


def test_what_is_given_is_read() -> None:
    parsed = ReadOptions.parse(
        {
            **A,
            "failOnDataLoss": "FALSE",
            "includeHeaders": "true",
            "pushFilters": "True",
            "maxOffsetsPerTrigger": "0",  # 77
            "minPartitions": "10",
            "maxRecordsPerPartition": "+4",
            "kafkaConsumer.pollTimeoutMs": "1500",
            "fetchOffset.numRetries": "0",
            "fetchOffset.retryIntervalMs": "10",
            "partition.metadata.cache.ttl.ms": "500",
            "startingOffsetsByTimestampStrategy": "LATEST",
            "groupIdPrefix": "p",
            "kafka.isolation.level": "read_committed",
        }
    )

    assert (parsed.fail_on_data_loss, parsed.include_headers, parsed.push_filters) == (
        False,
        True,
        True,
    )
    assert parsed.max_offsets_per_trigger == 0
    assert (parsed.min_partitions, parsed.max_records_per_partition) == (10, 4)
    assert (parsed.poll_timeout, parsed.fetch_retries, parsed.fetch_retry_interval) == (
        1.5,
        0,
        0.01,
    )
    assert parsed.timestamp_strategy == "latest"
    assert parsed.read_committed


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("15m", 900.0),
        ("2min", 120.0),
        ("12s", 12.0),
        ("100ms", 0.1),
        ("250us", 0.00025),
        ("1H", 3_600.0),
        (" 1d ", 86_400.0),
        ("1500", 1.5),
    ],
)
def test_a_delay_is_written_as_spark_writes_times(text: str, seconds: float) -> None:
    parsed = ReadOptions.parse({**A, "maxTriggerDelay": text})

    assert parsed.max_trigger_delay == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("includeHeaders", "yes", "true or false"),  # 3
        ("failOnDataLoss", "maybe", "true or false"),  # 42
        ("minPartitions", "0", "a whole number from 1 to 2147483647, such as 8"),  # 53
        ("minPartitions", "abc", "a whole number from 1"),  # 53
        ("minPartitions", "4294967296", "a whole number from 1"),
        ("maxRecordsPerPartition", "0", "a whole number from 1 on"),  # 55
        ("kafkaConsumer.pollTimeoutMs", "abc", "a whole number from 1 on"),  # 70
        ("kafkaConsumer.pollTimeoutMs", "0", "a whole number from 1 on"),
        ("maxOffsetsPerTrigger", "abc", "a whole number from 0 on, such as 10000"),  # 78
        ("maxOffsetsPerTrigger", "-1", "a whole number from 0 on"),
        ("minOffsetsPerTrigger", "1.5", "a whole number from 0 on"),
        ("maxOffsetsPerTrigger", "٣", "a whole number from 0 on"),
        ("maxTriggerDelay", "12x", "a time in us, ms, s, m (or min), h or d, such as 15m"),
        ("maxTriggerDelay", "-1s", "a time in"),
        ("maxTriggerDelay", "", "a time in"),
        ("fetchOffset.numRetries", "many", "a whole number from 0"),
        ("fetchOffset.retryIntervalMs", "1s", "a whole number from 0"),
        ("partition.metadata.cache.ttl.ms", "abc", "a whole number from -1 on"),
        ("pushFilters", "1", "true or false"),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_what_is_expected(
    name: str, text: str, expected: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        ReadOptions.parse({**A, name.lower(): text})

    assert str(caught.value).startswith(f"option {name} is '{text}'; expected is {expected}")


def test_the_lower_limit_of_a_trigger_is_not_above_the_upper_one() -> None:
    with pytest.raises(ConfigError, match=r"minOffsetsPerTrigger is 10, more than maxOff.*, 5"):
        ReadOptions.parse({**A, "minOffsetsPerTrigger": "10", "maxOffsetsPerTrigger": "5"})

    same = ReadOptions.parse({**A, "minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "5"})
    assert same.min_offsets_per_trigger == same.max_offsets_per_trigger == 5


# Batch and stream.


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        ("latest", "option startingOffsets is latest, but a batch reads what is there"),  # 27
        (offsets(p0=-1, p1=-2), "has -1, latest, for a-0, but a batch reads"),  # 28
    ],
)
def test_a_batch_does_not_begin_at_the_end(start: str, sentence: str) -> None:
    parsed = ReadOptions.parse({**A, "startingOffsets": start})

    parsed.check_stream()
    with pytest.raises(ConfigError) as caught:
        parsed.check_batch()
    assert sentence in str(caught.value)


@pytest.mark.parametrize("name", ["endingOffsets", "endingOffsetsByTimestamp"])
def test_a_stream_has_no_end(name: str) -> None:
    text = offsets(p0=5)
    parsed = ReadOptions.parse({**A, name: text})
    overruled = ReadOptions.parse({**A, name: text, "endingTimestamp": "5"})

    parsed.check_batch()
    for each in (parsed, overruled):  # 74
        with pytest.raises(ConfigError, match=f"option {name} is given, but a stream has no end"):
            each.check_stream()


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"startingOffsets": "earliest"},
        {"startingOffsets": offsets(p0=1, p1=-2)},
        {"startingTimestamp": "5"},
        {"endingTimestamp": "5"},  # 74: without effect in a stream
        {"maxOffsetsPerTrigger": "7", "minOffsetsPerTrigger": "5", "maxTriggerDelay": "1s"},  # 57
        {"minPartitions": "8", "maxRecordsPerPartition": "4"},
        {"noSuchOption": "x"},  # 68
    ],
)
def test_the_rest_is_right_in_a_batch_and_in_a_stream(given: dict[str, str]) -> None:
    parsed = ReadOptions.parse({**A, **given})

    parsed.check_batch()
    parsed.check_stream()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {
                "kafka.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule"
                ' required username="u" password="p";'
            },
            "kafka.sasl.jaas.config is given, but kafka.security.protocol is 'PLAINTEXT'.*"
            "set kafka.security.protocol='SASL_SSL', or leave kafka.sasl.jaas.config out",
        ),
        (
            {"kafka.ssl.truststore.location": "/client-id.jks"},
            "set kafka.ssl.truststore.location='/client-id.p12'",
        ),
    ],
)
def test_what_does_not_go_together_is_told_by_the_names_that_were_given(
    given: dict[str, str], said: str
) -> None:
    with pytest.raises(ConfigError, match=rf"(?s){said}") as caught:
        ReadOptions.parse({**A, **given})

    assert "_" not in str(caught.value).replace("SASL_SSL", "")


def test_a_file_that_is_called_as_an_option_keeps_its_name() -> None:
    with pytest.raises(ConfigError, match=r"-srckeystore /etc/client_id\.jks"):
        ReadOptions.parse({**A, "kafka.ssl.truststore.location": "/etc/client_id.jks"})


def test_a_comma_too_many_between_servers_is_nothing_as_in_java() -> None:
    told = {"kafka.bootstrap.servers": " h:1,, g:2 ,"}

    reads = ReadOptions.parse({**A, **told})
    writes = WriteOptions.parse({**told, "topic": "t"})

    for options in (reads.consumer_options(), reads.admin_options(), writes.producer_options()):
        assert options["bootstrap.servers"] == " h:1, g:2 "
    with pytest.raises(ConfigError, match=r"kafka.bootstrap.servers is missing"):
        ReadOptions.parse({**A, "kafka.bootstrap.servers": " , "})


def test_a_group_without_a_name_is_none_as_is_every_other() -> None:
    parsed = ReadOptions.parse({**A, "kafka.group.id": " "})

    assert "group.id" not in {**parsed.consumer_options(), **parsed.admin_options()}
