"""Real Spark for the tests: what a session is told, and the session itself.

Also for programs of their own process, which a cluster needs: there is one session in a process.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHECKOUT = Path(__file__).parents[2]
HOST = "127.0.0.1"
# The 4 lets a task that has failed be tried again, which plain `local[2]` does not.
LOCAL = "local[2,4]"
END_SECONDS = 30

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"

_FRAME = re.compile(r"\s+(at |\.\.\. \d+ more)")  # of a stack trace of Java's

_LOG4J2 = """\
rootLogger.level = WARN
rootLogger.appenderRef.f.ref = f
appender.f.type = File
appender.f.name = f
appender.f.fileName = {log}
appender.f.layout.type = PatternLayout
appender.f.layout.pattern = %d %p %c %m%n%ex
"""


def missing() -> str | None:
    """What to install to have Spark here, if there is something."""
    if importlib.util.find_spec("pyspark") is None:
        return "the Spark connector needs `pyspark`: make setup"
    if shutil.which("java") is None:
        return "Spark needs `java`: install a JDK 17"
    return None


def environment(host: str = HOST) -> dict[str, str]:
    """What Spark and its Python processes are started with; they import the checkout's modules.

    PYTHONPATH has it too: Spark finds a data source by listing modules, and an editable install
    is in no list.
    """
    return {
        "SPARK_LOCAL_IP": host,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": str(CHECKOUT),
    }


def settings(folder: Path, *, jars: Sequence[Path] = ()) -> dict[str, str]:
    """What every session is told: small, quick to start, on loopback, its files in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log4j2.properties"
    log.write_text(_LOG4J2.format(log=folder / "spark.log"))
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"{QUICK} -Dlog4j2.configurationFile=file:{log}"
        f" -Dderby.system.home={folder}",
        "spark.executor.extraJavaOptions": QUICK,
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        **({"spark.jars": ",".join(map(str, jars))} if jars else {}),
    }


@contextmanager
def running(
    folder: Path,
    master: str = LOCAL,
    *,
    jars: Sequence[Path] = (),
    extra: Mapping[str, str] | None = None,
    home: str | None = None,
) -> Iterator[SparkSession]:
    """The session of this process, stopped at the end, with its JVM.

    Args:
        extra: What it is told besides.
        home: Spark's own folder, if it is not that of the package.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    told = {**settings(folder, jars=jars), **(extra or {})}
    conf = SparkConf(loadDefaults=False).setAll(list(told.items()))
    conf.setMaster(master).setAppName("kafka_aio tests")
    with _environment(home), (folder / "printed.log").open("ab") as printed:
        gateway: Any = launch_gateway(conf, {"stdout": printed, "stderr": printed})  # type: ignore[no-untyped-call]
        SparkContext(conf=conf, gateway=gateway)
        session = SparkSession.builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
        _end(gateway)
        SparkContext._gateway = SparkContext._jvm = None  # another session may follow


@contextmanager
def _environment(home: str | None) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_REMOTE", "PYSPARK_SUBMIT_ARGS"):
            patch.delenv(name, raising=False)  # a desk's own Spark is not meant
        for name, value in environment().items():
            patch.setenv(name, value)
        if home is not None:
            patch.setenv("SPARK_HOME", home)
        yield


def _end(gateway: Any) -> None:
    """The end of the JVM, which would stay until this process ends."""
    gateway.shutdown()
    gateway.proc.stdin.close()
    try:
        gateway.proc.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()


def log(folder: Path, last: int = 8_000) -> str:
    """The end of what the driver's JVM and the Python processes have logged and printed."""
    lines = f"{_text(folder / 'spark.log')}\n{printed(folder)}".splitlines()
    return "\n".join(line for line in lines if not _FRAME.match(line))[-last:]


def printed(folder: Path) -> str:
    """All that the JVM and the Python processes have printed, among it the warnings of ours."""
    return _text(folder / "printed.log")


def _text(file: Path) -> str:
    return file.read_text(errors="replace") if file.exists() else ""


def errors() -> tuple[type[Exception], ...]:
    """What a call of Spark's raises: some of Java's exceptions have no class in Python."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    return PySparkException, Py4JJavaError


def failure(act: Callable[[], Any]) -> str:
    """What Spark says of the task."""
    with pytest.raises(Exception, match="Traceback") as caught:
        act()
    return str(caught.value)
