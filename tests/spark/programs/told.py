"""What a program is told by its test, and what it answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

ANSWER = "the answer is "


@dataclass(frozen=True, kw_only=True)
class Told:
    """The arguments of a program.

    Attributes:
        folder: For its session's files, and for the files by which it and the test speak.
        kafka: Options of `format("kafka_aio")` that readers and writers need.
        source: The name of a topic.
        target: The name of another one.
        what: What to do.
    """

    folder: str
    kafka: dict[str, str]
    source: str
    target: str = ""
    what: Sequence[str] = field(default_factory=list)

    @classmethod
    def read(cls) -> Self:
        """As a program; it was started with `as_argument`."""
        return cls(**json.loads(sys.argv[1]))

    def as_argument(self) -> str:
        return json.dumps(asdict(self))

    def file(self, name: str) -> Path:
        return Path(self.folder) / name


def answer(value: object) -> None:
    """As a program: say what came out."""
    print(f"\n{ANSWER}{json.dumps(value)}", flush=True)


def answered(printed: str) -> Any:
    """As a test: what a program has said."""
    lines = [line for line in printed.splitlines() if line.startswith(ANSWER)]
    assert lines, f"no answer in {printed[-8_000:]}"
    return json.loads(lines[-1].removeprefix(ANSWER))
