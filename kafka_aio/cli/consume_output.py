"""What `kafka-aio consume` writes: records become lines. Pure.

Lines of JSON are what `kafka-aio produce --json` reads.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kafka_aio.cli.output import printable

if TYPE_CHECKING:
    from kafka_aio.consumer.record import ReadRecord

Record: TypeAlias = "ReadRecord[bytes, bytes]"

_PLAIN: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_ASCII: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How a record is written."""

    is_json: bool = False
    key_separator: bytes | None = None
    """What is between a key and its value; without it there are no keys."""
    null_value: bytes = b""
    """What stands for null."""
    has_headers: bool = False
    is_for_terminal: bool = False
    """Whether what a terminal would obey is shown instead."""

    def lines(self, records: Sequence[Record]) -> bytes:
        """The records, each with a newline at its end."""
        if self.is_json:
            return "".join([f"{self._json(record)}\n" for record in records]).encode()
        return b"".join([self._text(record) + b"\n" for record in records])

    def _json(self, record: Record) -> str:
        found = document(record)
        text = _PLAIN.encode(found)
        return _ASCII.encode(found) if self.is_for_terminal and not text.isprintable() else text

    def _text(self, record: Record) -> bytes:
        text = self._data(record.value)
        if self.key_separator is not None:
            text = self._data(record.key) + self.key_separator + text
        if self.has_headers:
            pairs = [
                self._data(name.encode()) + b"=" + self._data(value)
                for name, value in record.headers
            ]
            text = b",".join(pairs) + b"\t" + text
        return text

    def _data(self, found: bytes | None) -> bytes:
        data = self.null_value if found is None else found
        return _shown(data) if self.is_for_terminal else data


def _shown(data: bytes) -> bytes:
    text = data.decode(errors="backslashreplace")
    return "\t".join(map(printable, text.split("\t"))).encode()


def document(record: Record) -> dict[str, Any]:
    """A record in JSON."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp if record.timestamp >= 0 else None,
        "key": _data(record.key),
        "value": _data(record.value),
        "headers": [[name, _data(value)] for name, value in record.headers],
    }


def _data(found: bytes | None) -> Any:
    """As text where that is possible: nobody reads base64."""
    if found is None:
        return None
    try:
        return found.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(found).decode()}
