"""Kafka's own programs, each in a JVM of its own: quick to start and small."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.kafka import jars

QUICK = (
    *("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xshare:auto"),
    *("-Dfile.encoding=UTF-8", "-Dsun.stdout.encoding=UTF-8"),
)

# log4j 2 for Kafka 4, log4j 1 (reload4j) for Kafka 3. A node that waits for the others would fill
# the log with its attempts.
_LOG4J2 = """\
rootLogger.level = WARN
rootLogger.appenderRef.c.ref = c
appender.c.type = Console
appender.c.name = c
appender.c.target = SYSTEM_ERR
appender.c.layout.type = PatternLayout
appender.c.layout.pattern = %d %p %c %m%n
logger.n.name = org.apache.kafka.clients.NetworkClient
logger.n.level = ERROR
"""
_LOG4J = """\
log4j.rootLogger=WARN, c
log4j.appender.c=org.apache.log4j.ConsoleAppender
log4j.appender.c.target=System.err
log4j.appender.c.layout=org.apache.log4j.PatternLayout
log4j.appender.c.layout.ConversionPattern=%d %p %c %m%n
log4j.logger.org.apache.kafka.clients.NetworkClient=ERROR
"""


class ToolFailed(Exception):
    """A program of Kafka's ended with an error or not at all; the message has what it printed."""


def command(
    main: str, *arguments: str, scratch: Path, options: Sequence[str] = ("-Xmx256m",)
) -> list[str]:
    """The command line that runs a main class, or a `.java` file, with Kafka's jars around it."""
    file = scratch / "log4j2.properties"
    if not file.exists():
        file.write_text(_LOG4J2)
        (scratch / "log4j.properties").write_text(_LOG4J)
    logging = [
        f"-Dlog4j2.configurationFile={file}",
        f"-Dlog4j.configuration=file:{scratch / 'log4j.properties'}",
    ]
    return ["java", *QUICK, *options, *logging, main, *arguments]


def environment(version: str = jars.VERSION) -> dict[str, str]:
    return {**os.environ, "CLASSPATH": jars.classpath(version)}


def run(
    main: str,
    *arguments: str,
    scratch: Path,
    given: str | None = None,
    timeout: float = 50,
    version: str = jars.VERSION,
) -> str:
    """What the program prints on its standard output; `given` is what it reads.

    Raises:
        ToolFailed: It ended with an error, or was still running after `timeout` seconds.
    """
    try:
        done = subprocess.run(
            command(main, *arguments, scratch=scratch),
            env=environment(version),
            input="" if given is None else given,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise ToolFailed(f"{main} still ran after {timeout} s:\n{late.stderr!r}") from None
    if done.returncode:
        printed = f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        raise ToolFailed(f"{main} ended with {done.returncode}:\n{printed}")
    return done.stdout
