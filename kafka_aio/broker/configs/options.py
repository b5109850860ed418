"""An option of a topic, group or broker: its type, its default, and what it accepts. Pure.

Values travel as texts. They are read as Java reads them, and refused in the words of Kafka, which
tools show to their users.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from kafka_aio.errors import InvalidConfig
from kafka_aio.types import ConfigSource, ConfigType

Value: TypeAlias = bool | int | float | str | tuple[str, ...] | None


Type: TypeAlias = ConfigType
Source: TypeAlias = ConfigSource

Check: TypeAlias = Callable[[str, Value], None]
"""Takes the name of an option and a value of its type; raises InvalidConfig."""

_BITS: Final = {Type.SHORT: 16, Type.INT: 32, Type.LONG: 64}
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")
_REAL: Final = re.compile(
    r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)"
)


@dataclass(frozen=True, slots=True)
class Option:
    """One option, as Kafka declares it."""

    name: str
    type: Type
    default: str | None
    check: Check | None = None
    is_internal: bool = False
    """Not told unless it is set: for Kafka's own tests."""

    def read(self, text: str) -> Value:
        """The value of a text.

        Raises:
            InvalidConfig: It is not of the type, or not accepted.
        """
        value = self.parse(text)
        if self.check is not None:
            self.check(self.name, value)
        return value

    @property
    def is_sensitive(self) -> bool:
        """Whether its value is never told: that of an unknown one may be a secret."""
        return self.type in (Type.PASSWORD, Type.UNKNOWN)

    def parse(self, text: str) -> Value:
        """As `read`, but of its type is enough.

        Raises:
            InvalidConfig: It is not of the type.
        """
        trimmed = text.strip()
        if self.type is Type.BOOLEAN:
            if trimmed.lower() not in ("true", "false"):
                raise invalid(self.name, text, "Expected value to be either true or false")
            return trimmed.lower() == "true"
        if self.type is Type.LIST:
            return tuple(dict.fromkeys(re.split(r"\s*,\s*", trimmed))) if trimmed else ()
        if self.type is Type.DOUBLE:
            if not _REAL.fullmatch(trimmed):
                raise invalid(self.name, text, "Not a number of type DOUBLE")
            return float(trimmed.rstrip("fFdD"))
        if self.type in _BITS:
            return self._whole_number(trimmed, text)
        return trimmed

    def _whole_number(self, trimmed: str, text: str) -> int:
        largest = 1 << _BITS[self.type] - 1
        number = int(trimmed) if len(trimmed) < 21 and _WHOLE.fullmatch(trimmed) else largest
        if not -largest <= number < largest:
            raise invalid(self.name, text, f"Not a number of type {self.type.name}")
        return number


def invalid(name: str, value: object, why: str) -> InvalidConfig:
    """What Kafka says of a value that it does not take."""
    return InvalidConfig(f"Invalid value {value} for configuration {name}: {why}")


def shown(value: Value) -> str | None:
    """A value as the text in which Kafka tells it."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case float():
            return _java_double(value)
        case tuple():
            return ",".join(value)
    return str(value)


def _java_double(value: float) -> str:
    """As `Double.toString`: with an exponent below 0.001 and from ten million on."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    mantissa, _, exponent = f"{value:e}".partition("e")
    digits = repr(value).partition("e")[0].replace(".", "").strip("-0")
    sign = "-" if mantissa.startswith("-") else ""
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{int(exponent)}"


def at_least(least: int) -> Check:
    return _range(least, None)


def between(least: int, most: int) -> Check:
    return _range(least, most)


def _range(least: int, most: int | None) -> Check:
    def check(name: str, value: Value) -> None:
        assert isinstance(value, int | float)
        if value < least:
            raise invalid(name, shown(value), f"Value must be at least {least}")
        if most is not None and value > most:
            raise invalid(name, shown(value), f"Value must be no more than {most}")

    return check


def one_of(*words: str) -> Check:
    def check(name: str, value: Value) -> None:
        if value not in words:
            raise invalid(name, value, f"String must be one of: {', '.join(words)}")

    return check


def list_of(*words: str) -> Check:
    """Any of some words; without words, of all that is not empty."""
    check_word = one_of(*words)

    def check(name: str, value: Value) -> None:
        assert isinstance(value, tuple)
        for word in value:
            if not word:
                raise InvalidConfig(f"Configuration '{name}' values must not be empty.")
            if words:
                check_word(name, word)

    return check


def declared(options: Iterable[Option]) -> Mapping[str, Option]:
    """Options by name, in the order in which they are declared and checked."""
    return {option.name: option for option in options}
