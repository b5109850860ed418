"""Reads the texts that Spark's options are: flags, numbers, durations, words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kafka_aio.errors import ConfigError
from spark_connector.offsets import LARGEST, shown

_DURATION: Final = re.compile(r"([0-9]+)([a-z]*)", re.ASCII)
_UNITS: Final = {
    "us": 0.000_001,
    "ms": 0.001,
    "": 0.001,
    "s": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3_600.0,
    "d": 86_400.0,
}
_KAFKA: Final = "kafka."


def as_texts(options: Mapping[str, Any]) -> dict[str, str]:
    """Options of the user's as Spark gives them to its sources: names in lower case, and texts.

    One that is None is not given.

    Raises:
        TypeError: They are no mapping, or a name is no text.
    """
    if not isinstance(options, Mapping):
        raise TypeError(f"options are a mapping of names to values, not {type(options).__name__}")
    found = {}
    for name, value in options.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of an option is a str, not {name!r}")
        if value is not None:
            is_flag = isinstance(value, bool)
            found[name.lower()] = str(value).lower() if is_flag else str(value)
    return found


class Texts:
    """Options by their names, whatever their case; of those given twice the last one counts.

    Spaces around a value do not count. What is read and does not fit is a `ConfigError`.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._texts = {name.lower(): str(text) for name, text in options.items()}

    def __repr__(self) -> str:
        return f"<Texts: {', '.join(self._texts)}>"

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._texts

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def kafka(self) -> dict[str, str]:
        """Kafka's own options, by Kafka's names."""
        return {
            name.removeprefix(_KAFKA).replace("_", "."): text
            for name, text in self._texts.items()
            if name.startswith(_KAFKA)
        }

    def text(self, name: str) -> str | None:
        """An option as it is; None if it is not given."""
        found = self._texts.get(name.lower())
        return None if found is None else found.strip()

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        text = self.text(name)
        if text is None:
            return default
        if text.lower() not in ("true", "false"):
            raise wrong(name, text, "true or false")
        return text.lower() == "true"

    def number(
        self, name: str, *, least: int, most: int = LARGEST, example: int | None = None
    ) -> int | None:
        """A whole number; None if it is not given."""
        text = self.text(name)
        if text is None:
            return None
        is_number = re.fullmatch(r"[+-]?[0-9]{1,19}", text, re.ASCII)
        if not is_number or not least <= int(text) <= most:
            expected = f"a whole number from {least}" + (
                " on" if most == LARGEST else f" to {most}"
            )
            raise wrong(name, text, expected, example)
        return int(text)

    def milliseconds(self, name: str, default: float, *, least: int = 0) -> float:
        """A number of milliseconds, in seconds."""
        found = self.number(name, least=least, example=1_000)
        return default if found is None else found / 1000

    def duration(self, name: str, default: float) -> float:
        """A time with its unit as Spark writes it, in seconds; without one it is milliseconds."""
        text = self.text(name)
        if text is None:
            return default
        found = _DURATION.fullmatch(text.lower())
        if found is None or found[2] not in _UNITS or len(found[1]) > 19:
            raise wrong(name, text, "a time in us, ms, s, m (or min), h or d", "15m")
        return int(found[1]) * _UNITS[found[2]]

    def word(self, name: str, *words: str) -> str | None:
        """One of a few words, in any case; None if it is not given."""
        text = self.text(name)
        if text is None or text.lower() in words:
            return text and text.lower()
        raise wrong(name, text, " or ".join(words))


def wrong(name: str, text: str, expected: str, example: object = None) -> ConfigError:
    """The error for a value that does not fit. Not for Kafka's own: they may be secrets."""
    such_as = "" if example is None else f", such as {example}"
    return ConfigError(f"option {name} is {shown(text)}; expected is {expected}{such_as}")
