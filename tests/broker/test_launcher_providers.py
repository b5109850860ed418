"""Which Kafka the tests get, what those without one say, and what a failing one shows."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kafka.cluster import Cluster

ROOT = Path(__file__).parents[2]
CHOICE = ("CI", "KAFKA_AIO_BOOTSTRAP", "KAFKA_AIO_CACHE", "DOCKER_HOST")
# The checkout, whole lines, and no plugin but that of Kafka.
ALONE = {"PYTHONPATH": str(ROOT), "COLUMNS": "1000", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """What a pytest of its own says, with the fixtures of Kafka, to a file with these tests."""
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  kafka\n  timeout\n")

    def run(tests: str, **environment: str) -> str:
        (tmp_path / "test_inner.py").write_text(textwrap.dedent(tests))
        inherited = {key: value for key, value in os.environ.items() if key not in CHOICE}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "tests.kafka.fixtures", "-ra"],
            env={**inherited, **ALONE, **environment},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
        return done.stdout + done.stderr

    return run


@pytest.fixture
def nothing(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine with neither Java nor Docker."""
    nowhere = str(tmp_path / "nowhere")
    return {"PATH": nowhere, "KAFKA_AIO_CACHE": nowhere, "DOCKER_HOST": f"unix://{nowhere}"}


EACH = """
def test_one_node(kafka): pass
def test_old_and_new(each_kafka): pass
def test_secured(secured_kafka): pass
def test_three(kafka_cluster): pass
"""


def test_without_kafka_tests_are_skipped_with_a_line_on_what_to_install(
    run: Run, nothing: dict[str, str]
) -> None:
    said = run(EACH, **nothing)

    lines = [line for line in said.splitlines() if line.startswith("SKIPPED")]
    assert lines
    assert all("install a JDK 17 and Maven" in line for line in lines)
    assert "5 skipped" in said


def test_without_kafka_a_run_in_ci_fails(run: Run, nothing: dict[str, str]) -> None:
    said = run(EACH, CI="1", **nothing)

    assert said.count("install a JDK 17 and Maven") >= 5
    assert "5 errors" in said
    assert "skipped" not in said


def test_an_external_kafka_comes_first_and_what_needs_more_than_its_address_is_skipped(
    run: Run, nothing: dict[str, str], kafka_cluster: Cluster
) -> None:
    tests = """
        def test_address(kafka):
            with kafka.connect() as connection:
                assert connection.versions
            assert kafka.bootstrap
        def test_nodes(kafka): kafka.nodes
        def test_tools(kafka): kafka.tool("Any")
        def test_old(oldest_kafka): pass
        def test_secured(secured_kafka): pass
        def test_three(kafka_cluster): pass
        """

    said = run(tests, KAFKA_AIO_BOOTSTRAP=kafka_cluster.bootstrap, CI="1", **nothing)

    assert "1 passed, 5 skipped" in said
    assert "`nodes` needs a Kafka that is started from the jars" in said
    assert "`tool` needs a Kafka that is started from the jars" in said
    assert "needs nodes of its own: unset KAFKA_AIO_BOOTSTRAP" in said


def test_a_failing_test_shows_the_end_of_kafkas_log(run: Run) -> None:
    said = run("""
        import pytest
        from tests.kafka.cluster import Cluster

        @pytest.fixture
        def kafka(tmp_path):
            cluster = Cluster(tmp_path)
            cluster.nodes[0].folder.mkdir()
            (cluster.nodes[0].folder / "node.log").write_text("ERROR no space left")
            return cluster

        def test_good(kafka): pass
        def test_bad(kafka): assert 1 == 2
        """)

    assert said.count("the end of the log of kafka") == 1
    assert "ERROR no space left" in said
