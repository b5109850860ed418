"""Secrets among the options are in no plan, no log, no error, no checkpoint and no `repr`."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import PySparkException, StreamingQueryException

from kafka_aio.broker import BrokerThread, Certificates
from kafka_aio.errors import ConfigError
from spark_connector import KafkaSource, OffsetRange, foreach_partition, records_rdd
from spark_connector.columns import read_schema
from spark_connector.options import ReadOptions, WriteOptions
from tests.spark import clusters
from tests.spark.clusters import Place
from tests.spark.programs import kinds
from tests.spark.programs.told import Told
from tests.spark.queries import FORMAT, Journal, run, running, stream
from tests.spark.sessions import QUICK, errors, log

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PASSWORD = "Canary-0fd7-Tweet"
WRONG = "Canary-31c8-Chirp"
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" {};'
KEY = re.compile(r"-----BEGIN PRIVATE KEY-----\n.*-----END PRIVATE KEY-----\n", re.DOTALL)

REDACTION = "spark.sql.redaction.options.regex"

Options = dict[str, str]


def jaas(password: str) -> str:
    return JAAS.format(f'password="{password}"')


@pytest.fixture(scope="module")
def broker() -> Iterator[BrokerThread]:
    """It wants a password, and a certificate."""
    certificates = Certificates.generate(client_auth="required")
    topics = {"source": 2, "target": 1}
    with BrokerThread(tls=certificates, users={"alice": PASSWORD}, topics=topics) as started:
        started.produce("source", [b"one", b"two"], partition=0)
        yield started


@pytest.fixture(scope="module")
def options(broker: BrokerThread) -> Options:
    """What a user has to say to that broker, as Java's users do."""
    pem = broker.certificates.client_pem("alice")
    found = KEY.search(pem)
    assert found is not None
    return {
        "kafka.bootstrap.servers": broker.bootstrap_servers,
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": jaas(PASSWORD),
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": broker.certificates.ca_pem,
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.certificate.chain": pem.replace(found[0], ""),
        "kafka.ssl.keystore.key": found[0],
        "fetchOffset.numRetries": "0",
    }


@pytest.fixture(scope="module")
def secrets(options: Options) -> list[str]:
    """What may be seen nowhere; of the key, each line that only it has."""
    return [PASSWORD, WRONG, *options["kafka.ssl.keystore.key"].splitlines()[2:-1]]


def reading(spark: SparkSession, options: Options) -> DataFrame:
    return stream(spark, options["kafka.bootstrap.servers"], "source", **options)


@pytest.fixture
def _quiet_log(spark_folder: Path, secrets: list[str]) -> Iterator[None]:
    """What the driver and the workers of Spark have logged meanwhile has no secret."""
    yield
    assert_hidden(log(spark_folder, last=10_000_000), secrets)


def assert_hidden(text: str, secrets: list[str]) -> None:
    assert text
    for secret in secrets:
        before, found, after = text.partition(secret)
        assert not found, f"{before[-500:]}{found}{after[:100]}"


def files(folder: Path) -> str:
    """All that is in it."""
    found = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    return "\n".join(f"{file}\n{file.read_text(errors='replace')}" for file in found)


@pytest.mark.usefixtures("_quiet_log")
def test_a_batch_shows_none_in_its_plans(
    spark: SparkSession, options: Options, secrets: list[str]
) -> None:
    frame = spark.read.format(FORMAT).options(**options, subscribe="source").load()
    rows = frame.collect()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        frame.explain(extended=True)
        frame.explain(mode="formatted")

    assert [bytes(row.value) for row in rows] == [b"one", b"two"]
    assert_hidden(printed.getvalue(), secrets)
    assert_hidden(frame._jdf.queryExecution().toString(), secrets)
    assert_hidden(repr(frame), secrets)


@pytest.mark.usefixtures("_quiet_log")
def test_a_query_shows_none_in_its_plans_its_progress_and_its_checkpoint(
    spark: SparkSession, broker: BrokerThread, options: Options, secrets: list[str], tmp_path: Path
) -> None:
    frame = reading(spark, options)
    sink = {**options, "topic": "target"}
    printed = io.StringIO()
    with running(frame, tmp_path / "checkpoint", sink, now=True) as query:
        assert query.awaitTermination(60)
        with contextlib.redirect_stdout(printed):
            query.explain(extended=True)

    assert len(broker.records("target")) == 2
    assert_hidden(printed.getvalue(), secrets)
    assert_hidden(f"{query.lastProgress!r} {query.lastProgress} {query.status}", secrets)
    assert_hidden(files(tmp_path), secrets)


def test_spark_shows_none_in_the_plan_of_a_stream_if_it_knows_which_are_secret(
    spark: SparkSession, options: Options, secrets: list[str]
) -> None:
    frame = reading(spark, options)

    by_default = frame._jdf.queryExecution().toString()
    spark.conf.set(REDACTION, "(?i)url|keystore[.]key")
    try:
        told = frame._jdf.queryExecution().toString()
    finally:
        spark.conf.unset(REDACTION)

    assert_hidden(by_default, [PASSWORD])  # an option that says "password" is one by itself
    assert_hidden(told, secrets)


@pytest.mark.usefixtures("_quiet_log")
def test_an_error_of_a_task_has_none(
    spark: SparkSession, options: Options, secrets: list[str]
) -> None:
    rows = spark.sql("SELECT 'one' AS value, 9 AS partition")
    writer = rows.write.format(FORMAT).options(**options, topic="target").mode("append")

    with pytest.raises(PySparkException) as raised:
        writer.option("kafka.max.block.ms", "500").save()

    assert "partition 9" in str(raised.value)
    assert_hidden(str(raised.value), secrets)


@pytest.mark.usefixtures("_quiet_log")
def test_rdds_and_errors_of_their_tasks_have_none(
    spark: SparkSession, options: Options, secrets: list[str]
) -> None:
    sink = foreach_partition({**options, "kafka.max.block.ms": "500"}, topic="target")
    written = spark.sparkContext.parallelize([{"value": "one", "partition": 9}], 1)
    beyond = records_rdd(spark.sparkContext, [OffsetRange("source", 0, 0, 99)], options)

    with pytest.raises(errors()) as writing:
        written.foreachPartition(sink)
    with pytest.raises(errors()) as reading:
        beyond.collect()

    assert "partition 9" in str(writing.value)
    assert "source-0 is to be read from offset 0 to 99" in str(reading.value)
    plan = beyond.toDebugString()
    assert plan is not None
    for said in (str(writing.value), str(reading.value), repr(sink), repr(beyond), plan.decode()):
        assert_hidden(said, secrets)


@pytest.mark.usefixtures("_quiet_log")
def test_a_password_that_is_refused_is_not_in_the_error(
    spark: SparkSession, options: Options, secrets: list[str], tmp_path: Path
) -> None:
    wrong = {**options, "kafka.sasl.jaas.config": jaas(WRONG)}
    rows = spark.sql("SELECT 'one' AS value")

    with pytest.raises(PySparkException) as reading_a_batch:
        spark.read.format(FORMAT).options(**wrong, subscribe="source").load().collect()
    with pytest.raises(PySparkException) as writing_a_batch:
        rows.write.format(FORMAT).options(**wrong, topic="target").mode("append").save()
    with pytest.raises(StreamingQueryException) as reading_a_stream:
        run(reading(spark, wrong), tmp_path / "checkpoint", Journal(tmp_path / "journal"))

    for raised in (reading_a_batch, writing_a_batch, reading_a_stream):
        assert "SASL_AUTHENTICATION_FAILED" in str(raised.value)
        assert_hidden(str(raised.value), secrets)
    assert_hidden(files(tmp_path), secrets)


# With executors, which have logs of their own.

LOGS = """\
rootLogger.level = INFO
rootLogger.appenderRef.f.ref = f
appender.f.type = File
appender.f.name = f
appender.f.fileName = {}
appender.f.layout.type = PatternLayout
appender.f.layout.pattern = %d %p %c %m%n%ex
"""


@pytest.mark.spark_long
@pytest.mark.timeout(400)
def test_logs_of_a_cluster_and_its_events_have_none(
    spark_here: None, broker: BrokerThread, options: Options, secrets: list[str], tmp_path: Path
) -> None:
    for name in ("all-source", "all-target"):
        broker.create_topic(name, 2)
    (tmp_path / "events").mkdir()
    logs = tmp_path / "log4j2.properties"
    logs.write_text(LOGS.format(tmp_path / "driver.log"))
    more = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(tmp_path / "events"),
        "spark.eventLog.compress": "false",
        "spark.driver.extraJavaOptions": f"{QUICK} -Dlog4j2.configurationFile=file:{logs}",
    }
    told = Told(
        folder=str(tmp_path),
        kafka=options,
        source="all-source",
        target="all-target",
        what=list(kinds.WAYS),
    )

    with clusters.local_cluster(tmp_path) as place:
        where = Place(place.master, {**place.settings, **more}, place.home)
        printed = clusters.run(where, kinds.__name__, told.as_argument())

    assert len(broker.records("all-target")) == 2 * kinds.ROWS
    assert_hidden(printed, secrets)
    for part in ("events", "home/work", "session", "checkpoint-read", "checkpoint-write"):
        assert_hidden(files(tmp_path / part), secrets)
    assert_hidden((tmp_path / "driver.log").read_text(errors="replace"), secrets)


# Without Spark.


def test_nothing_that_holds_options_shows_them(options: Options, secrets: list[str]) -> None:
    schema = read_schema(headers=False)
    source = KafkaSource({**options, "subscribe": "source"})
    filtering = KafkaSource({**options, "subscribe": "source", "pushFilters": "true"})
    sink = KafkaSource({**options, "topic": "target"})
    parsed: list[Any] = [ReadOptions.parse(source.options), WriteOptions.parse(sink.options)]
    holders: list[Any] = [
        *(source.reader(schema), filtering.reader(schema), source.streamReader(schema)),
        *(sink.writer(schema, overwrite=False), sink.streamWriter(schema, overwrite=True)),
    ]

    inside = [value for holder in holders for value in vars(holder).values()]
    for each in [source, sink, *parsed, *holders, *inside]:
        assert_hidden(f"{each!r} {each}", secrets)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kafka.sasl.jaas.config": PASSWORD},
        {"kafka.sasl.jaas.config": jaas(PASSWORD).rstrip(";")},
        {"kafka.sasl.jaas.config": jaas(PASSWORD).replace("required", PASSWORD)},
        {"kafka.sasl.jaas.config": f"{jaas(PASSWORD)} {PASSWORD}"},
        {"kafka.ssl.keystore.key": PASSWORD},
        {"kafka.ssl.keystore.certificate.chain": PASSWORD},
        {"kafka.ssl.truststore.certificates": PASSWORD},
        {"kafka.ssl.truststore.password": PASSWORD},
        {"kafka.security.protocol": "PLAINTEXT"},
        {f"kafka.{PASSWORD}": PASSWORD},
    ],
    ids=lambda wrong: next(iter(wrong)).removeprefix("kafka."),
)
@pytest.mark.filterwarnings("always")
def test_options_that_are_wrong_are_not_quoted(
    options: Options, secrets: list[str], wrong: Options, recwarn: pytest.WarningsRecorder
) -> None:
    schema = read_schema(headers=False)
    source = KafkaSource({**options, "subscribe": "source", **wrong})
    sink = KafkaSource({**options, "topic": "target", **wrong})
    said = ["nothing"]
    for ask in (source.schema, partial(source.reader, schema), partial(sink.writer, schema, False)):
        try:
            said.append(repr(ask()))
        except ConfigError as error:
            said.append(f"{error} {error!r} {error.__cause__!r} {error.__context__!r}")

    said += [str(each.message) for each in recwarn]
    assert_hidden("\n".join(said), secrets)
