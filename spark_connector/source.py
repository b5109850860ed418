"""`format("kafka_aio")`: which reader or writer Spark gets, and what is wrong before that.

Spark imports this module, in a process of its own, to find out what formats there are. So it
imports nothing heavy; readers and writers come with the first call that needs them.

What options alone decide is said by `load()`, which asks for the schema. What depends on batch or
stream is said by the action: Spark does not tell a Python source which of the two it is to be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import pyspark  # noqa: F401  # for check_version: what follows may fail on it

from spark_connector.version import check_version
from spark_connector.workers import settle

NAME: Final = "kafka_aio"
OF_STREAMS: Final = (
    *("SPARK_LOCAL_DIRS", "SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE"),
    "SPARK_PYTHON_RUNTIME",
)
"""What Spark sets in the environment of a source when a stream of it begins."""


try:
    from pyspark.sql.datasource import DataSource
except ImportError:  # Spark 3 has no Python sources at all
    check_version()
    raise

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from spark_connector.options import ReadOptions, WriteOptions
    from spark_connector.reader import BatchReader
    from spark_connector.stream import StreamReader
    from spark_connector.writer import BatchWriter, StreamWriter


class KafkaSource(DataSource):
    """Kafka as a Spark data source, with the options and the schema of Spark's own connector."""

    @classmethod
    def name(cls) -> str:
        """What stands in `format(...)`."""
        return NAME

    def schema(self) -> StructType:
        """The columns of a read.

        Raises:
            ConfigError: The options are wrong, whatever is done with them.
        """
        check_version()
        from spark_connector import columns

        return columns.read_schema(headers=_read_options(self.options).include_headers)

    def reader(self, schema: StructType) -> BatchReader:
        """Who reads a batch.

        Raises:
            ConfigError: The options do not go with a batch, or the schema is not ours.
        """
        check_version()
        from spark_connector import columns, reader

        parsed = _read_options(self.options)
        columns.check_read_schema(schema, headers=parsed.include_headers)
        parsed.check_batch()
        return reader.FilteringReader(parsed) if parsed.push_filters else reader.BatchReader(parsed)

    def streamReader(self, schema: StructType) -> StreamReader:
        """Who reads a stream.

        Raises:
            ConfigError: The options do not go with a stream, or the schema is not ours.
        """
        check_version()
        from spark_connector import columns, stream

        parsed = _read_options(self.options)
        columns.check_read_schema(schema, headers=parsed.include_headers)
        parsed.check_stream()
        return stream.StreamReader(parsed)

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        """Who writes a batch.

        Raises:
            ConfigError: The options or the columns are wrong, or the mode is overwrite.
        """
        check_version()
        from kafka_aio.errors import ConfigError
        from spark_connector import columns, writer

        if overwrite:
            raise ConfigError(
                "records in Kafka cannot be overwritten: say mode('append'), and delete the topic"
                " first where its old records have to go"
            )
        parsed = _write_options(self.options)
        chosen = columns.chosen(schema, parsed)
        settle()
        return writer.BatchWriter(parsed, chosen)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        """Who writes a stream; in complete mode (`overwrite`) each result is sent as a whole.

        Raises:
            ConfigError: The options or the columns are wrong.
        """
        check_version()
        from spark_connector import columns, writer

        parsed = _write_options(self.options)
        chosen = columns.chosen(schema, parsed)
        settle()
        return writer.StreamWriter(parsed, chosen)


def _read_options(given: Mapping[str, str]) -> ReadOptions:
    from spark_connector.options import ReadOptions, warn_of_unknown

    parsed = ReadOptions.parse(given)
    warn_of_unknown(parsed.unknown)
    return parsed


def _write_options(given: Mapping[str, str]) -> WriteOptions:
    from spark_connector.options import WriteOptions, warn_of_unknown

    parsed = WriteOptions.parse(given)
    warn_of_unknown(parsed.unknown)
    return parsed


def register(spark: SparkSession) -> None:
    """Make `format("kafka_aio")` known to a session.

    Spark finds it by itself where the package is installed. It does not where another package's
    `pyspark_*` module cannot be imported: this is for such a case. It is also for a session with
    more than one stream: only then may they begin at the same time. And it is for a thread of your
    own, to be called there before it writes or begins a stream.

    Raises:
        ImportError: This Spark is too old.
    """
    check_version()
    spark.dataSource.register(KafkaSource)
    if hasattr(spark, "_jsparkSession"):  # with Spark Connect, the JVM is elsewhere
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]

        for mend in (_activate, _fill_environment):
            # Another Spark may have these otherwise.
            with suppress(Py4JError, TypeError, AttributeError):
                mend(spark)


def _activate(spark: Any) -> None:
    """Let this thread write: Spark looks for a Python sink in the session that is active there.

    In the main thread that is the one that was made or used last; in any other there is none, and
    Spark says DATA_SOURCE_NOT_FOUND. `createDataFrame` activates its session in the same way. One
    that is active is left so: its configuration is what much of Spark goes by in this thread.
    """
    sessions = spark._get_j_spark_session_class(spark._jvm)
    if not sessions.getActiveSession().isDefined():
        sessions.setActiveSession(spark._jsparkSession)


def _fill_environment(spark: Any) -> None:
    """Let streams of this session begin at the same time, which Spark is not made for.

    A source has one map of environment variables in Spark's JVM, which is not made for threads:

    1. Two streams begin, each on a thread of its own, and both find that a name is not there.
    2. Both put it in, and the map counts it twice, or loses one of the two.
    3. Every task of the source is shipped with that map, and none can be, until the JVM ends:
       "Task not serializable: Illegal size 5 of collection, expected 6", for one.

    Where all names are there, a stream only changes their values, to what it would have put in.
    """
    sources = spark._jsparkSession.sessionState().dataSourceManager()
    environment = sources.lookupDataSource(NAME).dataSourceCls().envVars()
    for name in OF_STREAMS:
        environment.putIfAbsent(name, "")


def write_batch(options: Mapping[str, Any]) -> Callable[[DataFrame, int], None]:
    """A function for `foreachBatch` that writes each result to Kafka; it serves every output mode.

        query = counts.writeStream.outputMode("update").foreachBatch(write_batch(options)).start()

    Spark refuses `outputMode("update")` for every Python sink, so this is the way to have it.

    Args:
        options: Those of the writer: `kafka.bootstrap.servers`, `topic`, ... One that is None is
            not given.

    Raises:
        TypeError: They are no mapping, or a name is no text.
    """
    from spark_connector.option_values import as_texts

    plain = as_texts(options)

    def write(frame: DataFrame, batch_id: int) -> None:
        writer = frame.write.format(NAME).options(**plain).mode("append")
        try:
            writer.save()
        except Exception as error:  # of one type or another, by Spark's version and by Connect
            if "[DATA_SOURCE_NOT_FOUND]" not in str(error):
                raise
            register(frame.sparkSession)
            writer.save()

    return write
