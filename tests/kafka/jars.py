"""Jars from Maven Central, in a cache outside the checkout: Kafka's, and Spark's own connector.

`python -m tests.kafka.jars` fetches Kafka's ahead of a test run, with a line of progress.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# The newest of each line that we run against; any other version is asked for by its whole name.
NEWEST = {"4.3": "4.3.1", "4.0": "4.0.2", "3.9": "3.9.2"}
_wanted = os.environ.get("KAFKA_AIO_KAFKA_VERSION", "4.3")
VERSION = NEWEST.get(_wanted, _wanted)
OLDEST = NEWEST["3.9"]

_POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId><artifactId>kafka-libs</artifactId><version>1</version>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
_LOG4J2 = [
    ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.1"),
    ("org.apache.logging.log4j", "log4j-core", "2.25.1"),
]
_RELOAD4J = [("org.slf4j", "slf4j-reload4j", "1.7.36")]
# Spark's own connector, in Java: the newest of each that can be had, and all that it needs.
_SPARK = [
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.1.0-preview1"),
    ("org.apache.kafka", "kafka-clients", "3.9.2"),
    ("org.apache.commons", "commons-pool2", "2.13.1"),
]
# Followed to Spark's parent, Maven would ask for repositories that are not Maven Central.
_ALONE = (
    "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
)


class JarsMissing(Exception):
    """The jars are not in the cache and could not be fetched; the message, a line, says why."""


def cache() -> Path:
    base = os.environ.get("KAFKA_AIO_CACHE")
    return Path(base) if base else Path.home() / ".cache" / "kafka-aio"


def libs(version: str = VERSION) -> Path:
    """The folder with all jars of that Kafka, fetched on first use.

    Raises:
        JarsMissing: No JDK or Maven here, or Maven could not fetch them.
    """
    logging = _RELOAD4J if version.startswith("3.") else _LOG4J2
    wanted = [("org.apache.kafka", name, version) for name in ("kafka_2.13", "kafka-tools")]
    return _cached(f"kafka-{version}", [*wanted, *logging])


def spark_connector() -> list[Path]:
    """The jars of Spark's own connector, for `spark.jars`, fetched on first use.

    Raises:
        JarsMissing: No JDK or Maven here, or Maven could not fetch them.
    """
    name = f"spark-connector-{_SPARK[0][2]}"
    return sorted(_cached(name, _SPARK, with_theirs=False).glob("*.jar"))


def _cached(name: str, wanted: list[tuple[str, str, str]], *, with_theirs: bool = True) -> Path:
    """The folder with the jars that are wanted, and with those that they need."""
    folder = cache() / name / "libs"
    for tool in ["java"] if folder.is_dir() else ["java", "mvn"]:
        if shutil.which(tool) is None:
            what = "real Kafka" if with_theirs else "Spark's own connector"
            raise JarsMissing(f"{what} needs `{tool}`: install a JDK 17 and Maven")
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        _fetch(name, wanted, "" if with_theirs else _ALONE, Path(scratch))
        try:
            os.rename(Path(scratch) / "libs", folder)
        except OSError:  # another process was first
            if not folder.is_dir():
                raise
    return folder


def classpath(version: str = VERSION) -> str:
    """What goes into CLASSPATH for any of Kafka's tools."""
    return f"{libs(version)}/*"


def _fetch(what: str, wanted: list[tuple[str, str, str]], exclusions: str, scratch: Path) -> None:
    dependencies = "\n".join(
        f"    <dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
        f"<version>{number}</version>{exclusions}</dependency>"
        for group, name, number in wanted
    )
    (scratch / "pom.xml").write_text(_POM.format(dependencies=dependencies))
    command = ["mvn", "-q", "-B", "dependency:copy-dependencies"]
    options = [f"-DoutputDirectory={scratch / 'libs'}", "-DincludeScope=runtime"]
    done = subprocess.run(
        command + options, cwd=scratch, capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode:
        why = next(
            (line for line in done.stdout.splitlines() if "ERROR" in line), "no reason given"
        )
        raise JarsMissing(f"Maven could not fetch {what}: {why}")


def main() -> None:
    for version in dict.fromkeys((VERSION, OLDEST)):
        print(f"Apache Kafka {version}: fetching its jars unless cached ...", flush=True)
        try:
            folder = libs(version)
        except JarsMissing as missing:
            if os.environ.get("CI"):
                sys.exit(str(missing))
            print(f"the tests on it will be skipped: {missing}")
        else:
            print(f"Apache Kafka {version}: {sum(1 for _ in folder.glob('*.jar'))} jars ready")


if __name__ == "__main__":
    main()
