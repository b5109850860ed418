"""kafka_aio inside Spark: `format("kafka_aio")` on Arrow, and functions for RDDs.

    spark.read.format("kafka_aio").option("kafka.bootstrap.servers", ...).option("subscribe", ...)

Each name is imported when it is first used: Spark imports this package to find the format, and
should not wait for it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spark_connector.errors import DataLossError, RowError
    from spark_connector.listener import LagListener
    from spark_connector.offsets import OffsetRange
    from spark_connector.rdd import foreach_partition, map_partitions, records_rdd
    from spark_connector.source import KafkaSource, register, write_batch

_HOMES = {
    "DataLossError": "errors",
    "KafkaSource": "source",
    "LagListener": "listener",
    "OffsetRange": "offsets",
    "RowError": "errors",
    "foreach_partition": "rdd",
    "map_partitions": "rdd",
    "records_rdd": "rdd",
    "register": "source",
    "write_batch": "source",
}

__all__ = [
    "DataLossError",
    "KafkaSource",
    "LagListener",
    "OffsetRange",
    "RowError",
    "foreach_partition",
    "map_partitions",
    "records_rdd",
    "register",
    "write_batch",
]


def __getattr__(name: str) -> Any:
    """What is public and was not asked for yet."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
