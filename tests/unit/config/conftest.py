"""Kafka's own answers, from one run of its jar."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.unit.config import cases

Facts = dict[str, Any]


@pytest.fixture(scope="session")
def facts(kafka_libs: Path, tmp_path_factory: pytest.TempPathFactory) -> Facts:
    """What `Facts.java` prints: the options of Kafka's clients, and its answers to `cases`."""
    folder = tmp_path_factory.mktemp("facts")
    questions = folder / "questions.json"
    lists = ("producer", "consumer", "admin", "jaas", "properties")
    questions.write_text(json.dumps({name: getattr(cases, name.upper()) for name in lists}))
    (folder / "log4j2.properties").write_text("rootLogger.level = OFF\n")
    command = ["java", "-XX:TieredStopAtLevel=1", "-Xmx512m"]
    command += [f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}"]
    command += [str(Path(__file__).with_name("Facts.java")), str(questions)]
    environment = {**os.environ, "CLASSPATH": f"{kafka_libs}/*"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=50, check=False
    )
    printed = [line for line in done.stdout.splitlines() if line.startswith("FACTS ")]
    assert printed, done.stderr
    found: Facts = json.loads(printed[0].removeprefix("FACTS "))
    return found
