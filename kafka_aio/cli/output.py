"""What a command prints: aligned tables for people, one JSON document for scripts. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_aio.errors import BrokerError, KafkaError

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a command."""

    document: Json
    """For `--json`. Its keys are told in `--help`, and stay."""
    lines: Sequence[str] = ()
    """For people."""
    errors: Sequence[KafkaError] = ()
    """Of single items; one decides the exit code, or all of them do."""
    hints: Sequence[str] = ()
    """What may help against the errors."""

    def text(self, *, as_json: bool) -> str:
        if as_json:
            return json.dumps(self.document, indent=2) + "\n"
        return "".join(f"{printable(line)}\n" for line in self.lines)


def table(names: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Rows under their names; a column of numbers is aligned to the right."""
    texts = [[_cell(value) for value in row] for row in rows]
    columns = list(zip(names, *texts, strict=True))
    widths = [max(map(len, column)) for column in columns]
    to_right = [
        any(isinstance(value, int | float) for value in column)
        for column in zip(*rows, strict=True)
    ]
    return [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(
                line, widths, to_right or [False] * len(names), strict=True
            )
        ).rstrip()
        for line in (names, *texts)
    ]


def printable(text: str) -> str:
    """The text without anything that a terminal would obey: a broker may be anybody."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def error_document(error: KafkaError | None) -> Json | None:
    """An error in JSON."""
    if error is None:
        return None
    return {
        "type": type(error).__name__,
        "code": error.code if isinstance(error, BrokerError) else None,
        "message": str(error),
    }


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return printable(f"{value:.2f}" if isinstance(value, float) else str(value))
