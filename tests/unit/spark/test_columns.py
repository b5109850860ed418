"""The columns of a read, and those that a write takes."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    CalendarIntervalType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    YearMonthIntervalType,
)

from kafka_aio.errors import ConfigError
from spark_connector.columns import check_read_schema, chosen, read_schema
from spark_connector.options import WriteOptions

SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}
HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])


def frame(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


def write(**options: str) -> WriteOptions:
    return WriteOptions.parse({**SERVERS, **options})


def test_a_read_has_the_columns_of_sparks_own_connector() -> None:
    assert read_schema(headers=False).simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,"
        "timestamp:timestamp,timestampType:int>"
    )
    assert read_schema(headers=True)["headers"].dataType.simpleString() == (
        "array<struct<key:string,value:binary>>"
    )
    assert all(field.nullable for field in read_schema(headers=True))


def test_a_schema_that_is_ours_is_accepted_with_any_comments() -> None:
    given = StructType(
        [StructField(f.name, f.dataType, True, {"comment": "x"}) for f in read_schema(headers=True)]
    )

    check_read_schema(given, headers=True)


def test_a_schema_in_which_a_column_is_never_null_is_refused_here_and_not_by_a_task() -> None:
    given = StructType([StructField(f.name, f.dataType, False) for f in read_schema(headers=False)])

    with pytest.raises(ConfigError, match=r"not \(key binary not null, "):
        check_read_schema(given, headers=False)


def test_another_schema_is_refused_with_both() -> None:
    with pytest.raises(ConfigError, match=r"key binary.*not \(value string\).*select"):
        check_read_schema(frame(value=StringType()), headers=False)


def test_columns_that_are_not_for_kafka_are_left_out() -> None:
    given = frame(offset=LongType(), value=StringType(), foo=LongType(), key=BinaryType())

    assert chosen(given, write(topic="orders")) == ("key", "value")


def test_the_topic_of_the_options_wins_over_the_column() -> None:
    given = frame(value=StringType(), topic=StringType())

    assert chosen(given, write(topic="orders")) == ("value",)
    assert chosen(given, write()) == ("value", "topic")


def test_a_column_of_timestamps_counts_on_request_only() -> None:
    given = frame(value=StringType(), timestamp=TimestampType())

    assert chosen(given, write(topic="orders")) == ("value",)
    assert "timestamp" in chosen(given, write(topic="orders", useTimestampColumn="true"))


def test_timestamps_that_are_asked_for_have_to_be_there() -> None:
    with pytest.raises(ConfigError, match="useTimestampColumn"):
        chosen(frame(value=StringType()), write(topic="orders", useTimestampColumn="true"))


@pytest.mark.parametrize(
    ("name", "kind", "wanted"),
    [
        ("value", IntegerType(), "'value' is int.*string or binary"),
        ("value", NullType(), "'value' is void"),
        ("value", frame(a=IntegerType()), "'value' is struct<a:int>"),
        ("key", IntegerType(), "'key' is int.*string or binary"),
        ("topic", IntegerType(), "'topic' is int.*string"),
        ("partition", LongType(), "'partition' is bigint.*int"),
        ("partition", StringType(), "'partition' is string.*int"),
        ("headers", MapType(StringType(), BinaryType()), "'headers' is map.*array<struct<key"),
        ("headers", ArrayType(frame(key=StringType(), value=StringType())), "'headers' is array"),
        ("headers", ArrayType(frame(k=StringType(), v=BinaryType())), "'headers' is array"),
    ],
)
def test_a_column_of_another_type_is_refused_by_name(
    name: str, kind: DataType, wanted: str
) -> None:
    given = frame(**{"value": StringType(), "topic": StringType(), name: kind})

    with pytest.raises(ConfigError, match=wanted):
        chosen(given, write())


@pytest.mark.parametrize("kind", [YearMonthIntervalType(), CalendarIntervalType()])
def test_a_column_that_python_cannot_have_is_refused_though_it_is_not_written(
    kind: DataType,
) -> None:
    with pytest.raises(ConfigError, match=r"'other' is .*interval.*leave it out with select"):
        chosen(frame(value=StringType(), other=kind), write(topic="orders"))


def test_headers_may_hold_nulls_or_not() -> None:
    strict = StructType(
        [StructField("key", StringType(), False), StructField("value", BinaryType(), False)]
    )

    assert "headers" in chosen(
        frame(value=StringType(), headers=ArrayType(strict, False)), write(topic="orders")
    )


def test_a_frame_without_a_value_is_refused() -> None:
    with pytest.raises(ConfigError, match="column 'value' is needed; there are key"):
        chosen(frame(key=StringType()), write(topic="orders"))


def test_a_frame_without_a_topic_is_refused() -> None:
    with pytest.raises(ConfigError, match="option 'topic'"):
        chosen(frame(value=StringType()), write())
