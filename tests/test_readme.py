"""Every Python block of the README runs as it stands.

What runs a loop is meant for a Kafka, and is run by tests/broker/test_readme_on_kafka.py; what
has a session of Spark, by tests/spark/test_readme_on_spark.py.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

README = Path(__file__).parent.parent / "README.md"
ADDRESS = "localhost:9092"


class Block(NamedTuple):
    """The code between two fences."""

    code: str
    lines_before: int

    @property
    def is_for_kafka(self) -> bool:
        return "asyncio.run(" in self.code and not self.has_broker

    @property
    def has_broker(self) -> bool:
        """Whether it brings its own: an embedded one, which runs anywhere."""
        return "EmbeddedBroker(" in self.code

    @property
    def is_for_spark(self) -> bool:
        """Run by tests/spark/test_readme_on_spark.py, which has the session."""
        return "SparkSession" in self.code

    @property
    def is_test_file(self) -> bool:
        return "\ndef test_" in self.code

    def run(self, address: str = ADDRESS) -> None:
        # Empty lines in front, so that a traceback points into the README.
        code = "\n" * self.lines_before + self.code.replace(ADDRESS, address)
        exec(compile(code, str(README), "exec"), {"__name__": "readme"})


def blocks(text: str) -> list[Block]:
    found = re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(match[1], text.count("\n", 0, match.start(1))) for match in found]


BLOCKS = blocks(README.read_text())


def line(block: Block) -> str:
    return f"line {block.lines_before + 1}"


PLAIN = [each for each in BLOCKS if not (each.is_for_kafka or each.is_for_spark)]


@pytest.mark.parametrize("block", PLAIN, ids=line)
def test_the_block_runs(block: Block) -> None:
    block.run()


@pytest.mark.parametrize("block", [each for each in BLOCKS if each.is_test_file], ids=line)
def test_a_block_of_tests_passes(block: Block, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(block.code)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]

    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout
    assert f"{block.code.count('def test_')} passed" in done.stdout


def test_the_readme_has_blocks() -> None:
    assert BLOCKS


def test_a_block_for_kafka_names_the_address_that_tests_replace() -> None:
    for block in BLOCKS:
        assert not block.is_for_kafka or ADDRESS in block.code, line(block)


def test_a_block_knows_its_line_and_whether_it_needs_kafka() -> None:
    text = "# T\n```python\n1 + 1\n```\n```sh\nls\n```\n```python\nasyncio.run(main())\n```\n"

    first, second = blocks(text)

    assert first == Block("1 + 1\n", 2)
    assert (first.is_for_kafka, second.is_for_kafka) == (False, True)
    assert line(second) == "line 9"
