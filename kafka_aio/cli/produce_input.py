"""What `kafka-aio produce` reads: bytes become lines, and lines become records. Pure."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from kafka_aio.errors import SerializationError
from kafka_aio.producer import ProducerRecord

FIELDS: Final = ("value", "key", "headers", "partition", "timestamp", "topic", "offset")
"""Of a line of JSON. The last one is passed over: `kafka-aio consume --json` has written it."""

_Headers = tuple[tuple[str, bytes | None], ...]


class Lines:
    """Cuts bytes into lines, as they come."""

    def __init__(self, *, longest: int) -> None:
        self._longest = longest
        self._rest = b""
        self.count = 0
        """How many were cut."""

    def __repr__(self) -> str:
        return f"<Lines: {self.count} cut, {len(self._rest)} bytes left>"

    def cut(self, data: bytes) -> list[bytes]:
        """The lines that are complete now, without their ends."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        self.count += len(lines)
        return lines

    def error(self) -> SerializationError | None:
        """What is wrong with the line that is not complete: it has no end in sight."""
        if len(self._rest) <= self._longest:
            return None
        return SerializationError(f"there is no newline in {len(self._rest)} bytes")

    def end(self) -> list[bytes]:
        """The last line, if the input does not end with a newline."""
        return self.cut(b"\n") if self._rest else []


class Portion(NamedTuple):
    """What became of some lines."""

    records: list[Any]
    """Values, or `ProducerRecord`s."""
    numbers: Sequence[int]
    """The line of each."""
    error: SerializationError | None = None
    """Why the next line is no record; those after it were not looked at."""
    failed: int = 0
    """The number of that line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How a line is read as a record."""

    topic: str
    is_json: bool = False
    key_separator: bytes | None = None
    null_value: bytes | None = None
    headers: _Headers = ()
    partition: int | None = None

    def portion(self, lines: list[bytes], first: int) -> Portion:
        """The records of lines, the first of which has that number."""
        numbers = range(first, first + len(lines))
        if self.is_json:
            return self._each(lines, numbers, self._from_json)
        if self.key_separator is not None or self.headers:
            return self._each(lines, numbers, self._from_text)
        if self.null_value is not None:
            return Portion([self._value(line) for line in lines], numbers)
        return Portion(lines, numbers)

    def _each(
        self,
        lines: list[bytes],
        numbers: range,
        read: Callable[[bytes], ProducerRecord | None],
    ) -> Portion:
        records: list[ProducerRecord] = []
        of_records: list[int] = []
        for number, line in zip(numbers, lines, strict=True):
            try:
                record = read(line)
            except SerializationError as error:
                return Portion(records, of_records, error, number)
            if record is not None:
                records.append(record)
                of_records.append(number)
        return Portion(records, of_records)

    def _value(self, data: bytes) -> bytes | None:
        return None if data == self.null_value else data

    def _from_text(self, line: bytes) -> ProducerRecord:
        key, value = None, line
        if self.key_separator is not None:
            key, separator, value = line.partition(self.key_separator)
            if not separator:
                raise SerializationError("there is no key: the line lacks --key-separator")
        headers = self.headers or None
        return ProducerRecord(self.topic, self._value(value), key, self.partition, None, headers)

    def _from_json(self, line: bytes) -> ProducerRecord | None:
        if not line or line.isspace():
            return None
        fields = _object(line)
        headers = (*self.headers, *_headers(fields.get("headers")))
        return ProducerRecord(
            _topic(fields.get("topic", self.topic)),
            _data("value", fields["value"]),
            _data("key", fields.get("key")),
            _whole("partition", fields.get("partition", self.partition), below=2**31),
            _whole("timestamp", fields.get("timestamp"), below=2**63),
            headers or None,
        )


def _object(line: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise SerializationError(f"not UTF-8 at byte {error.start + 1}") from None
    except json.JSONDecodeError as error:
        raise SerializationError(f"not JSON: {error.msg} at column {error.colno}") from None
    except (RecursionError, ValueError):  # too deep; a number of too many digits
        raise SerializationError("not JSON that can be read") from None
    if not isinstance(found, dict):
        raise SerializationError("a JSON object is needed, as in {'value': 'text'}")
    for name in found:
        if name not in FIELDS:
            raise SerializationError(f"there is no field {name!r}, but {', '.join(FIELDS)}")
    if "value" not in found:
        raise SerializationError("it has no value; null is a tombstone")
    return found


def _data(name: str, found: object) -> bytes | None:
    if found is None:
        return None
    try:
        match found:
            case str():
                return found.encode()
            case {"base64": str(text), **others} if not others:
                return base64.b64decode(text, validate=True)
            case {"hex": str(text), **others} if not others:
                return binascii.unhexlify(text)
    except ValueError as error:  # binascii.Error too
        raise SerializationError(f"{name}: {error}") from None
    raise SerializationError(
        f'{name} has to be a text, null, {{"base64": text}} or {{"hex": text}}'
    )


def _headers(found: object) -> _Headers:
    if found is None:
        return ()
    pairs = list(found.items()) if isinstance(found, dict) else found
    if not isinstance(pairs, list) or not all(_is_pair(each) for each in pairs):
        raise SerializationError("headers have to be an object, or a list of pairs [name, value]")
    return tuple((name, _data(f"header {name!r}", value)) for name, value in pairs)


def _is_pair(found: object) -> bool:
    return isinstance(found, list | tuple) and len(found) == 2 and isinstance(found[0], str)


def _topic(found: object) -> str:
    if not isinstance(found, str) or not found:
        raise SerializationError("topic has to be the name of one")
    return found


def _whole(name: str, found: object, *, below: int) -> int | None:
    if found is None:
        return None
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found < below:
        raise SerializationError(f"{name} has to be a whole number, 0 or more")
    return found
