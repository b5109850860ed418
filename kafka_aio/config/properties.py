"""Java's properties format: names and values, escapes, comments, long lines. Pure.

The rules are those of `java.util.Properties`; a test puts the same texts before both. One point is
wider: a file in UTF-8 is read as such, where Java takes every file for Latin-1.
"""

from __future__ import annotations

import re

from kafka_aio.errors import ConfigError

_BLANK = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def decode(data: bytes) -> str:
    """The text of a properties file."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def parse(text: str) -> dict[str, str]:
    """The names and values. No part of the text appears in an error: it may hold secrets.

    Raises:
        ConfigError: An escape is not finished; says in which line.
    """
    options: dict[str, str] = {}
    for number, line in _logical_lines(text):
        end = _end_of_name(line)
        rest = line[end:].lstrip(_BLANK)
        value = rest[1:].lstrip(_BLANK) if rest[:1] in ("=", ":") else rest
        options[_unescape(line[:end], number)] = _unescape(value, number)
    return options


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Lines joined where one ends in an odd number of backslashes; each with its first number."""
    lines: list[tuple[int, str]] = []
    held, began = "", 0
    for number, natural in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        line = natural.lstrip(_BLANK)
        if not held and (not line or line[0] in "#!"):
            continue
        began = began if held else number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            held += line[:-1]
            continue
        lines.append((began, held + line))
        held = ""
    if held:
        lines.append((began, held))
    return lines


def _end_of_name(line: str) -> int:
    name = re.match(r"(?:\\.|[^\\=: \t\f])*", line, re.DOTALL)
    return name.end() if name else 0


def _unescape(text: str, number: int) -> str:
    if re.search(r"(?<!\\)(?:\\\\)*\\u(?![0-9A-Fa-f]{4})", text):
        raise ConfigError(f"line {number} has a \\u that four hexadecimal digits do not follow")
    return re.sub(
        r"\\(?:u([0-9A-Fa-f]{4})|(.)|$)",
        lambda escape: chr(int(escape[1], 16)) if escape[1] else _plain(escape[2] or ""),
        text,
        flags=re.DOTALL,
    )


def _plain(char: str) -> str:
    return _ESCAPES.get(char, char)
