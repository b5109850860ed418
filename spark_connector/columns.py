"""The columns of a read, and those that a write takes from a frame. Pure."""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    CalendarIntervalType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    YearMonthIntervalType,
)

from kafka_aio.errors import ConfigError
from spark_connector.options import WriteOptions

_HEADERS: Final = ArrayType(
    StructType([StructField("key", StringType()), StructField("value", BinaryType())])
)
_READ: Final[dict[str, DataType]] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
}

_BYTES: Final = (StringType, BinaryType)
_NOT_FOR_PYTHON: Final = (CalendarIntervalType, YearMonthIntervalType)
_WRITE: Final[dict[str, tuple[tuple[type[DataType], ...], str]]] = {
    "key": (_BYTES, "string or binary"),
    "value": (_BYTES, "string or binary"),
    "topic": ((StringType,), "string"),
    "partition": ((IntegerType,), "int"),
    "timestamp": ((TimestampType,), "timestamp"),
}


def read_schema(*, headers: bool) -> StructType:
    """What a read gives, as Spark's own connector has it."""
    fields = {**_READ, "headers": _HEADERS} if headers else _READ
    return StructType([StructField(name, kind) for name, kind in fields.items()])


def check_read_schema(schema: StructType, *, headers: bool) -> None:
    """Refuse a schema of the user's that is another: Kafka's records have the columns they have.

    Raises:
        ConfigError: It is.
    """
    ours = read_schema(headers=headers)
    if _facts(schema) != _facts(ours):
        raise ConfigError(
            f"the schema of a read from Kafka is ({_shape(ours)}), not ({_shape(schema)}): leave"
            " .schema(...) out, and choose columns with select"
        )


def _facts(schema: StructType) -> list[tuple[str, str, bool]]:
    """What Spark compares our columns with; comments and other metadata are not among it."""
    return [(field.name, field.dataType.json(), field.nullable) for field in schema]


def _shape(schema: StructType) -> str:
    return ", ".join(
        f"{field.name} {field.dataType.simpleString()}{'' if field.nullable else ' not null'}"
        for field in schema
    )


def chosen(schema: StructType, options: WriteOptions) -> tuple[str, ...]:
    """The columns to write; others are left out, as Spark's own connector does.

    Raises:
        ConfigError: There is no value or no topic, or a column is of another type.
    """
    kinds = {field.name: field.dataType for field in schema}
    if "value" not in kinds:
        raise ConfigError(f"a column 'value' is needed; there are {', '.join(kinds) or 'none'}")
    if options.topic is None and "topic" not in kinds:
        raise ConfigError(
            "where to? Give the option 'topic', or a column 'topic' with a name in each row"
        )
    left_out = {"timestamp"} if not options.use_timestamp_column else set()
    left_out |= {"topic"} if options.topic is not None else set()
    names = tuple(name for name in (*_WRITE, "headers") if name in kinds and name not in left_out)
    if options.use_timestamp_column and "timestamp" not in names:
        raise ConfigError("useTimestampColumn is true, and there is no column 'timestamp'")
    for name in names:
        _check(name, kinds[name])
    for name, kind in kinds.items():
        if isinstance(kind, _NOT_FOR_PYTHON):
            raise ConfigError(
                f"column '{name}' is {kind.simpleString()}, which Spark cannot give to Python:"
                " leave it out with select"
            )
    return names


def _check(name: str, kind: DataType) -> None:
    if name == "headers":
        fits, wanted = _are_headers(kind), _HEADERS.simpleString()
    else:
        types, wanted = _WRITE[name]
        fits = isinstance(kind, types)
    if not fits:
        raise ConfigError(f"column '{name}' is {kind.simpleString()}, and has to be {wanted}")


def _are_headers(kind: DataType) -> bool:
    """Whatever may be null in them."""
    return kind.simpleString() == _HEADERS.simpleString()
