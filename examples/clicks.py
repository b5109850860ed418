"""Clicks from Kafka, counted by Spark per page and window of time, and the counts back to Kafka.

    python examples/clicks.py                   a demo with a broker of its own; ends by itself

    python examples/clicks.py feed -b localhost:9092
    python examples/clicks.py run -b localhost:9092 --checkpoint clicks.checkpoint

The second line sends clicks, the third is the pipeline. Kill that one when you like (kill -9) and
start it again: its checkpoint has what was read and what was counted, and no click is lost. Counts
that were on their way then are written twice, with the same key: who reads them keeps one of each.

On a cluster: spark-submit ... examples/clicks.py run -b ... --checkpoint hdfs://...
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from kafka_aio import Admin, Consumer, NewTopic, Producer
from kafka_aio.broker import EmbeddedBroker

try:
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import col, expr, from_json, window
    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from pyspark.sql.streaming.query import StreamingQuery

    import spark_connector
except ImportError as error:
    sys.exit(f"This example needs pyspark 4.2 or newer, and pyarrow: {error}")

CLICKS, COUNTS, PARTITIONS = "clicks", "counts", 2
WINDOW, LATENESS = 10, 5
"""Seconds: short, for whoever looks on. Minutes are more usual."""


# The pipeline: all that is about Spark and Kafka.

CLICK = "user string, page string, time timestamp"
KEY = "concat(page, ' ', date_format(window.start, \"yyyy-MM-dd'T'HH:mm:ssX\"))"
VALUE = "to_json(struct(page, window.start, window.end, count as clicks))"


def start(
    spark: SparkSession,
    kafka: Mapping[str, str],
    *,
    clicks_topic: str = CLICKS,
    counts_topic: str = COUNTS,
    checkpoint: str,
) -> StreamingQuery:
    """Begin to count, or go on where the checkpoint says.

    Args:
        spark: The session.
        kafka: Options of Kafka's clients by their own names: `bootstrap.servers` and the like.
        clicks_topic: Where the clicks are.
        counts_topic: Where the counts go.
        checkpoint: A folder; on a cluster, one that all of it can reach.
    """
    spark_connector.register(spark)  # makes format("kafka_aio") known
    options = {f"kafka.{name}": value for name, value in kafka.items()}

    clicks = (
        spark.readStream.format("kafka_aio")
        .options(**options)
        .option("subscribe", clicks_topic)
        # Where to begin without a checkpoint. With one it is not looked at.
        .option("startingOffsets", "earliest")
        .load()
        # What is no such JSON gives nulls: without a time it is in no window.
        .select(from_json(col("value").cast("string"), CLICK).alias("click"))
        .select("click.*")
    )
    counts = (
        # A window is closed when there is a click that is so much later than its end. Without this
        # Spark would keep every window for ever, as another click could come for it.
        clicks.withWatermark("time", f"{LATENESS} seconds")
        .groupBy("page", window("time", f"{WINDOW} seconds"))
        .count()
    )
    return (
        # Each count has a key, so that one that is written again can be told from another.
        counts.select(expr(KEY).alias("key"), expr(VALUE).alias("value"))
        .writeStream.format("kafka_aio")
        .options(**options)
        .option("topic", counts_topic)
        .option("checkpointLocation", checkpoint)
        .outputMode("append")  # a count is written when its window is closed, and not before
        .trigger(processingTime="1 second")
        .start()
    )


def run(options: argparse.Namespace) -> None:
    """The pipeline as a process, until it is stopped."""
    # Else Spark's workers are whatever `python3` is, and do not have kafka_aio.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("clicks").config("spark.sql.session.timeZone", "UTC")
    # Each of them keeps windows in a file of its own. The default, 200, is for large clusters.
    builder = builder.config("spark.sql.shuffle.partitions", "2")
    for name, value in options.conf:
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")  # it warns of much that is as it should be
    query = start(
        spark,
        options.kafka,
        clicks_topic=options.clicks,
        counts_topic=options.counts,
        checkpoint=options.checkpoint,
    )
    print("the query runs", flush=True)

    # Spark's own answer to Ctrl-C ends jobs under the query, so that it fails. Ours stops it.
    is_over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: is_over.set())
    batch = -1
    while query.isActive and not is_over.wait(0.2):
        progress = query.lastProgress
        if progress and progress.batchId != batch:
            batch = progress.batchId
            print(line_of(progress), flush=True)
    query.stop()
    query.awaitTermination()  # raises what the query has failed with
    spark.stop()


def line_of(progress: StreamingQueryProgress) -> str:
    closed = (progress.eventTime or {}).get("watermark", "1970")
    so_far = "" if closed.startswith("1970") else f"; windows up to {closed[11:19]} are closed"
    return f"batch {progress.batchId}: {progress.numInputRows:,} clicks{so_far}"


# The clicks.


def key_of(page: str, when: float) -> str:
    """What the key of a click's count is: that of its page and its window."""
    begin = datetime.fromtimestamp(when // WINDOW * WINDOW, UTC)
    return f"{page} {begin:%Y-%m-%dT%H:%M:%SZ}"


def click(page: str, when: float, user: str) -> bytes:
    at = datetime.fromtimestamp(when, UTC)
    return json.dumps({"user": user, "page": page, "time": at.isoformat()}).encode()


PAGES = {"/home": 8, "/search": 5, "/cart": 2, "/help": 1}
"""With how often they are looked at."""


async def feed(
    kafka: Mapping[str, str], topic: str, sent: Counter[str], is_over: asyncio.Event
) -> None:
    """Send clicks until it is over; `sent` has what the counts should be."""
    async with Producer.from_kafka(kafka) as producer:
        while not is_over.is_set():
            pages = random.choices(list(PAGES), list(PAGES.values()), k=100)
            # Some come late, as in life; none so late that its window is closed. Milliseconds: what
            # is finer would be rounded in the text of a click, now and then into the next window.
            times = [round(time.time() - random.uniform(0, LATENESS / 2), 3) for _ in pages]
            users = [f"user {random.randrange(1_000)}" for _ in pages]
            values = list(map(click, pages, times, users))
            await producer.send_many(topic, values, keys=[user.encode() for user in users])
            sent.update(map(key_of, pages, times))
            await asyncio.sleep(0.1)
        # Time is what clicks say. One that is late enough closes the windows before it; it is in
        # one that stays open.
        await producer.send(topic, click("/home", time.time() + WINDOW + LATENESS, "nobody"))


async def feed_for_ever(options: argparse.Namespace) -> None:
    topics = [NewTopic(each, PARTITIONS) for each in (options.clicks, options.counts)]
    async with Admin.from_kafka(options.kafka) as admin:
        await admin.create_topics(topics)  # or they are there already
    print(f"sends clicks to {options.clicks}, until Ctrl-C", flush=True)
    await feed(options.kafka, options.clicks, Counter(), asyncio.Event())


# The counts, as a reader has them.


class Counts:
    """By key, each count once, whatever was written again."""

    def __init__(self) -> None:
        self.clicks: dict[str, int] = {}
        self.again = 0

    async def read(self, kafka: Mapping[str, str], topic: str) -> None:
        options = {**kafka, "auto.offset.reset": "earliest"}
        async with Consumer.from_kafka(options, topic) as consumer:
            async for record in consumer:
                key = (record.key or b"").decode()
                self.again += key in self.clicks
                self.clicks[key] = json.loads(record.value or b"{}")["clicks"]

    def table(self) -> str:
        keys = [key.split() for key in self.clicks]
        lines = ["window    " + "".join(f"{page:>10}" for page in PAGES)]
        for begin in sorted({begin for _, begin in keys}):
            row = (self.clicks.get(f"{page} {begin}", 0) for page in PAGES)
            lines.append(f"{begin[11:19]}  " + "".join(f"{clicks:10,}" for clicks in row))
        return "\n".join(lines)


# The demo: a broker in this process, Spark in another one, which is killed.

MOST_SECONDS = 300.0
COLOURS = {"green": "32", "red": "31"}
SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.bindAddress": "127.0.0.1",
    # A JVM for a minute's life: it starts sooner.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
    " -Djava.io.tmpdir={}",
    "spark.local.dir": "{}/local",
    "spark.sql.warehouse.dir": "{}/warehouse",
    "spark.ui.enabled": "false",
}

HOW_TO_GO_ON = """
   To go on, in four terminals:
     {scripts}/kafka-aio broker
     {scripts}/python examples/clicks.py feed -b localhost:9092
     {scripts}/python examples/clicks.py run -b localhost:9092 --checkpoint /tmp/clicks
     {scripts}/kafka-aio consume counts -b localhost:9092
"""


class Pipeline:
    """`run` as a process, which is killed at the end of the block; all its files are in a folder.

    It says what the process prints.
    """

    def __init__(self, kafka: Mapping[str, str], folder: Path, say: Callable[[str], None]) -> None:
        self._words = ["-b", kafka["bootstrap.servers"], "--checkpoint", f"{folder}/checkpoint"]
        for name, value in SETTINGS.items():
            self._words += ["--conf", f"{name}={value.format(folder)}"]
        self._log = folder / "spark.log"
        self._say = say

    async def __aenter__(self) -> Pipeline:
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, __file__, "run", *self._words),
                env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # a group of processes, to be killed together
            )
        self._listening = asyncio.create_task(self._listen())
        return self

    async def __aexit__(self, *error: object) -> None:
        self.kill()
        self._listening.cancel()
        await self._process.wait()

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self._say(f"Spark: {line.decode().rstrip()}")

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            if self._process.returncode is not None:
                end = self._log.read_text(errors="replace")[-3_000:]
                sys.exit(f"Spark has ended by itself. The end of its log:\n{end}")
            await asyncio.sleep(0.01)

    def kill(self) -> None:
        """The end of Python and of its Java, without a word to them."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


class Demo:
    """The story, and what is known of it."""

    def __init__(self) -> None:
        self.sent: Counter[str] = Counter()
        self.counts = Counts()
        self._began = time.monotonic()
        self._colours = COLOURS if sys.stdout.isatty() else {}

    def say(self, text: str, colour: str = "") -> None:
        line = f"{time.monotonic() - self._began:5.1f} s  {text}"
        print("   " + self._paint(line, colour), flush=True)

    async def run(self) -> None:
        print("\nClicks from Kafka, counted by Spark, and the counts back to Kafka.")
        print("A broker and a feeder of clicks in this process, Spark in another one.\n")
        with TemporaryDirectory(prefix="clicks-", ignore_cleanup_errors=True) as folder:
            async with EmbeddedBroker(topics={CLICKS: PARTITIONS, COUNTS: PARTITIONS}) as broker:
                kafka = {"bootstrap.servers": broker.bootstrap_servers}
                with suppress(TimeoutError):  # what is missing then is said at the end
                    async with asyncio.timeout(MOST_SECONDS):
                        await self._show(kafka, Path(folder))

    async def _show(self, kafka: Mapping[str, str], folder: Path) -> None:
        clicks, is_over = self.counts.clicks, asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            feeding = tasks.create_task(feed(kafka, CLICKS, self.sent, is_over))
            reading = tasks.create_task(self.counts.read(kafka, COUNTS))
            self.say(f"clicks come in; they are counted in windows of {WINDOW} s")
            self.say("Spark starts, which takes a while")
            async with Pipeline(kafka, folder, self.say) as spark:
                await spark.until(lambda: bool(clicks))
                # Kafka has counts, but Spark has not noted yet that it has written them.
                spark.kill()
            before = len(clicks)
            self.say("the first counts are there: Spark is killed that moment (SIGKILL)", "red")
            self.say("Spark starts again, on the same checkpoint; clicks go on coming in")
            async with Pipeline(kafka, folder, self.say) as spark:
                await spark.until(lambda: len(clicks) > before)
                self.say("it has gone on where it was: there are new counts", "green")
                is_over.set()
                await feeding
                self.say("no more clicks; the last windows are closed")
                await spark.until(lambda: clicks.keys() >= self.sent.keys())
            reading.cancel()

    def conclude(self) -> bool:
        """The table, and whether nothing was lost."""
        print("\n   " + self.counts.table().replace("\n", "\n   ") + "\n")
        found = Counter(self.counts.clicks)
        if found != self.sent:
            keys = sorted(each for each in found | self.sent if found[each] != self.sent[each])
            print(self._paint("   These counts are wrong:", "red"))
            print(*(f"   {key}: {found[key]}, sent {self.sent[key]}" for key in keys), sep="\n")
            return False
        clicks, again = self.sent.total(), self.counts.again
        print(self._paint(f"   {clicks:,} clicks were sent, and each was counted.", "green"))
        if again:
            print(f"   {again} counts were written twice, as Spark was killed before it had noted")
            print("   them as written. Their keys tell, and whoever reads them keeps one of each.")
        else:
            print("   No count was written twice, which was luck: at least once is the rule.")
        print(
            HOW_TO_GO_ON.format(scripts=sysconfig.get_path("scripts")).replace(f"{Path.cwd()}/", "")
        )
        return True

    def _paint(self, text: str, colour: str) -> str:
        code = self._colours.get(colour)
        return f"\x1b[{code}m{text}\x1b[0m" if code else text


# The command line.


def check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else "java"
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        sys.exit(f"Spark needs Java: install a JDK 17 (`{java} -version` does not run)")
    version = re.search(r'version "(\d+)', told.stderr)
    if version and int(version[1]) < 17:
        sys.exit(f"Spark needs Java 17 or newer, and `{java}` is {version[1]}")


def pair(text: str) -> tuple[str, str]:
    name, is_there, value = text.partition("=")
    if not is_there:
        raise argparse.ArgumentTypeError(f"NAME=VALUE is meant, not {text!r}")
    return name, value


def parsed(words: Sequence[str] | None) -> argparse.Namespace:
    about, _, more = (__doc__ or "").partition("\n")
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=about, epilog=more, formatter_class=formatter)
    modes = parser.add_subparsers(dest="mode", metavar="MODE", help="without one, the demo")
    for mode, text in {"run": "the pipeline, on your Kafka", "feed": "clicks for it"}.items():
        add = modes.add_parser(mode, help=text, description=text).add_argument
        add("-b", "--bootstrap-servers", required=True, metavar="HOST:PORT")
        add(
            "-X",
            dest="kafka",
            type=pair,
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="an option of Kafka's clients, as in -X security.protocol=SSL",
        )
        add("--clicks", default=CLICKS, metavar="TOPIC", help="where the clicks are (%(default)s)")
        add("--counts", default=COUNTS, metavar="TOPIC", help="where counts go (%(default)s)")
        if mode == "run":
            add(
                "--checkpoint",
                required=True,
                metavar="FOLDER",
                help="where Spark notes how far it is: the same one after a restart",
            )
            add(
                "--conf",
                type=pair,
                action="append",
                default=[],
                metavar="NAME=VALUE",
                help="a setting of Spark, as in --conf spark.master=local[2]",
            )
    options = parser.parse_args(words)
    if options.mode:
        options.kafka = {"bootstrap.servers": options.bootstrap_servers, **dict(options.kafka)}
    return options


def main(words: Sequence[str] | None = None) -> None:
    options = parsed(words)
    if options.mode == "feed":
        asyncio.run(feed_for_ever(options))
        return
    check_java()
    if options.mode == "run":
        run(options)
        return
    story = Demo()
    asyncio.run(story.run())
    sys.exit(0 if story.conclude() else 1)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
