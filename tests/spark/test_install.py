"""The wheel on a cluster of two workers: installed on executors, or brought to them in an archive.

Nobody has the checkout on its path here, so Spark finds the format as it does for users.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from tests.spark import clusters, sessions
from tests.spark.clusters import Standalone
from tests.spark.programs import installed
from tests.spark.topics import Topics

pytestmark = [pytest.mark.spark_long, pytest.mark.timeout(900)]

PRODUCT = ("kafka_aio", "spark_connector", "pyspark_kafka_aio.py")
PROJECT = ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in")
SCRIPT = str(Path(installed.__file__))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: another build in the checkout would remove files of this one."""
    folder = tmp_path_factory.mktemp("wheel")
    built = shutil.ignore_patterns("*.so", "*.c", "__pycache__")
    for name in PRODUCT + PROJECT:
        source = sessions.CHECKOUT / name
        if source.is_dir():
            shutil.copytree(source, folder / "copy" / name, ignore=built)
        else:
            shutil.copy(source, folder / "copy" / name)
    build = ("-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder))
    done([sys.executable, *build, str(folder / "copy")], folder)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel and what it needs, with pyarrow; Spark brings pyspark itself."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    done([sys.executable, "-m", "venv", str(folder)], folder.parent)
    pip = (str(folder / "bin" / "python"), "-m", "pip", "install", "--no-compile", "--quiet")
    locked = str(sessions.CHECKOUT / "requirements" / "demo.txt")
    done([*pip, "--require-hashes", "-r", locked], folder.parent)
    done([*pip, "--no-deps", str(wheel)], folder.parent)
    return folder


@pytest.fixture(scope="module")
def cluster(spark_here: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """A master, and two workers on two hosts."""
    with clusters.standalone(tmp_path_factory.mktemp("standalone")) as started:
        yield started


def outside_the_checkout() -> dict[str, str]:
    ours = ("PYTHON", "PYSPARK", "SPARK", "KAFKA_AIO_", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def done(command: list[str], folder: Path, **variables: str) -> str:
    """What it has printed, if all went well."""
    ended = subprocess.run(
        command,
        cwd=folder,
        env={**outside_the_checkout(), **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stdout[-4_000:] + ended.stderr[-8_000:]
    return ended.stdout


@dataclass(frozen=True)
class Submitted:
    """A program that is given to the cluster."""

    cluster: Standalone
    topics: Topics
    topic: str
    folder: Path

    def run(self, python: str, *more: str) -> Any:
        """What it says.

        Args:
            python: The Python of the driver, of what plans there, and of the executors. A data
                source has one path for all of them, so it has to be good everywhere.
            more: Of spark-submit.
        """
        import pyspark

        home = Path(pyspark.__file__).parent
        settings = {
            **sessions.settings(self.folder / "spark"),
            **self.cluster.place.settings,
            "spark.executorEnv.PYTHONPATH": "",
        }
        given = [part for each in settings.items() for part in ("--conf", "=".join(each))]
        told = {
            "kafka": {"kafka.bootstrap.servers": self.topics.bootstrap},
            "topic": self.topics.name(self.topic),
            "checkpoint": str(self.folder / "checkpoint"),
        }
        submit = [str(home / "bin" / "spark-submit"), "--master", self.cluster.place.master]
        printed = done(
            [*submit, *given, *more, SCRIPT, json.dumps(told)],
            self.folder,
            SPARK_HOME=str(home),
            SPARK_LOCAL_IP=sessions.HOST,
            PYSPARK_PYTHON=python,
        )
        return json.loads(printed.splitlines()[-1])

    def check(self, found: Any) -> None:
        """All that was written was read, in both directions."""
        there = sorted(record.value or b"" for record in self.topics.read(self.topic))
        texts = [str(number) for number in range(installed.ROWS)]
        both = [text.encode() for text in texts + [text[::-1] for text in texts]]

        assert sorted(found["values"]) == sorted(texts)
        assert there == sorted(both)
        assert found["compiled"]


@pytest.fixture
def submitted(cluster: Standalone, topics: Topics, tmp_path: Path) -> Submitted:
    topic = f"installed-{uuid.uuid4().hex[:8]}"
    topics.create(topic, 2)
    (tmp_path / "spark").mkdir()
    return Submitted(cluster, topics, topic, tmp_path)


def test_executors_have_the_wheel_installed(submitted: Submitted, environment: Path) -> None:
    found = submitted.run(str(environment / "bin" / "python"))

    submitted.check(found)
    assert Path(found["home"]).is_relative_to(environment)


def test_executors_get_the_environment_in_an_archive(
    submitted: Submitted, environment: Path
) -> None:
    archive = submitted.folder / "environment.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as packed:
        packed.add(environment, ".")
    with tarfile.open(archive) as packed:  # for the driver, which gets none from Spark
        packed.extractall(submitted.folder / "environment", filter="fully_trusted")

    found = submitted.run("./environment/bin/python", "--archives", f"{archive}#environment")

    submitted.check(found)
    # A folder of an executor, not that of the driver.
    assert re.search(r"/worker-\d/app-[^/]+/\d+/environment/lib/", found["home"]), found["home"]
