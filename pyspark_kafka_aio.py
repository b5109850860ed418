"""Lets Spark find `format("kafka_aio")` by itself: it imports every top-level `pyspark_*` module.

A module of that kind that raises hides all others from Spark, so this one never does: without a
Spark that has Python data sources there is no `DefaultSource` here.
"""

try:
    from spark_connector.source import KafkaSource as DefaultSource
except ImportError:  # pyspark is missing, or older than its Python data sources
    pass
else:
    __all__ = ["DefaultSource"]
