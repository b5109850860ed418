"""What the value of an option may be: its kind and bounds, as the type of its field. Pure.

A field is declared as `linger_ms: Milliseconds = 5`. To mypy that is an int; `kinds()` finds the
`Int` in the annotation, which checks a value, reads one from a Java properties file, and says in
words what it takes. So a bound stands in one place, next to the option that it belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Annotated, Any, ClassVar, Final, Self, TypeVar, cast, get_args, get_type_hints

from kafka_aio.errors import ConfigError

INT32: Final = 2**31 - 1
INT64: Final = 2**63 - 1

T = TypeVar("T")


class Secret(str):
    """A text that shows itself nowhere by accident: `repr`, `str` and f-strings say `[hidden]`.

    It is a str, so `encode()` and `==` work on what it really is, and a pickle carries it. Code
    that needs the text calls `encode()` or `reveal()`, never `str()`. For the same reason it hides
    no more than that: `json.dumps`, `"".join`, `+`, slices and methods of str give the text.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        return super().__new__(cls, text.reveal() if isinstance(text, Secret) else text)

    def reveal(self) -> str:
        """The text itself, as a plain str."""
        return str.__str__(self)

    def __repr__(self) -> str:
        return "[hidden]"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return "[hidden]"

    def __reduce__(self) -> tuple[object, ...]:
        return (Secret, (self.reveal(),))


class Unset:
    """A default whose absence matters: Kafka treats such an option otherwise when it is given."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


def unset(value: T) -> T:
    """The default of a field that has to know whether it was given; `ClientConfig` unwraps it."""
    return cast(T, Unset(value))


class Kind:
    """What an option takes. A value that does not fit comes back as `REFUSED`."""

    REFUSED: ClassVar[Any] = object()
    takes: str = "any value"
    secret: bool = False
    shown: bool = True
    """Whether a value may be printed."""

    def accept(self, value: Any) -> Any:
        """The value in its one normal form."""
        return value

    def read(self, text: str) -> Any:
        """The value that Java would read from a text."""
        return self.accept(text.strip())

    def checked(self, name: str, value: object, *, from_text: bool = False) -> Any:
        """The value in its normal form.

        Raises:
            ConfigError: It does not fit; says what was given, unless that may be a secret.
        """
        read = self.read if from_text else self.accept
        accepted = read(cast(Any, value))
        if accepted is not self.REFUSED:
            return accepted
        hint = self.hint(value)
        if not from_text and isinstance(value, str) and isinstance(self, Int | Float | Bool):
            hint = " (from_kafka() reads texts)"
        raise ConfigError(f"{name} must be {self.takes}, not {self.show(value)}{hint}")

    def hint(self, value: object) -> str:
        """What to do instead, for a value that does not fit; empty where there is no advice."""
        return ""

    def show(self, value: object) -> str:
        """How a value is named in a message or a `repr`; a PEM text is hidden wherever it is."""
        if self.secret or (isinstance(value, str) and _PEM.search(value)):
            return "[hidden]"
        if self.shown and isinstance(value, tuple):
            items = ", ".join(self.show(item) for item in value)
            return _shortened(f"({items},)" if len(value) == 1 else f"({items})")
        too_long = isinstance(value, int) and value.bit_length() > 512
        if self.shown and isinstance(value, bool | int | float | str | None) and not too_long:
            return _shortened(repr(value))
        return f"<{getattr(value, '__qualname__', type(value).__qualname__)}>"


_PEM = re.compile("-----(BEGIN|END)")


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}..."


class Int(Kind):
    """A whole number within bounds, both included."""

    def __init__(self, low: int, high: int, *, also: int | None = None, unit: str = "") -> None:
        self.low, self.high, self.also = low, high, also
        self.takes = f"a whole number{unit} from {low} to {high}"
        if also is not None:
            self.takes += f", or {also}"

    def accept(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int):
            return self.REFUSED
        fits = self.low <= value <= self.high or value == self.also
        return value if fits else self.REFUSED

    def read(self, text: str) -> Any:
        digits = re.fullmatch(r"[+-]?[0-9]{1,19}", text.strip())
        return self.accept(int(digits[0])) if digits else self.REFUSED


class Float(Kind):
    """A number within bounds, both included."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high
        self.takes = f"a number from {low} to {high}"

    def accept(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return self.REFUSED
        return float(value) if self.low <= value <= self.high else self.REFUSED

    def read(self, text: str) -> Any:
        number = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text.strip())
        return self.accept(float(number[0])) if number else self.REFUSED


class Bool(Kind):
    """True or False."""

    takes = "True or False"

    def accept(self, value: Any) -> Any:
        return value if isinstance(value, bool) else self.REFUSED

    def read(self, text: str) -> Any:
        return {"true": True, "false": False}.get(text.strip().lower(), self.REFUSED)


class Text(Kind):
    """A str, of a form where one is asked for."""

    def __init__(self, takes: str = "a str", *, form: str = r"(?s:.*)") -> None:
        self.takes = takes
        self.form = re.compile(form)

    def accept(self, value: Any) -> Any:
        fits = isinstance(value, str) and self.form.fullmatch(value)
        return value if fits else self.REFUSED


class Location(Kind):
    """The path of a file; what a file has in it is often put there by mistake."""

    takes = "the path of a file, as a str"

    def accept(self, value: Any) -> Any:
        fits = isinstance(value, str) and value and not self._is_content(value)
        return value if fits else self.REFUSED

    def hint(self, value: object) -> str:
        if not self._is_content(value):
            return ""
        return (
            ": it looks like PEM text: give it as ssl_keystore_key, ssl_keystore_certificate_chain"
            " or ssl_truststore_certificates"
        )

    def show(self, value: object) -> str:
        return "[hidden]" if self._is_content(value) else super().show(value)

    def _is_content(self, value: object) -> bool:
        return isinstance(value, str) and bool(re.search(r"[\r\n]", value) or _PEM.search(value))


class Hidden(Kind):
    """A text that is a secret."""

    takes = "a str that is not empty"
    secret = True

    def accept(self, value: Any) -> Any:
        return Secret(value) if isinstance(value, str) and value else self.REFUSED


class Choice(Kind):
    """One of a few words."""

    def __init__(self, *words: str, any_case: bool = False) -> None:
        self.words = words
        self.any_case = any_case
        self.takes = "one of " * (len(words) > 1) + ", ".join(map(repr, words))

    def accept(self, value: Any) -> Any:
        for word in self.words:
            if value == word:
                return word
            if self.any_case and isinstance(value, str) and value.upper() == word.upper():
                return word
        return self.REFUSED


class Acks(Kind):
    """How many replicas confirm a batch: 0, 1 or "all", which Java also writes as -1."""

    takes = "0, 1 or 'all'"

    def accept(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | str):
            return self.REFUSED
        forms = {"0": 0, "1": 1, "-1": "all", "all": "all", 0: 0, 1: 1, -1: "all"}
        return forms.get(value, self.REFUSED)


class Several(Kind):
    """A sequence, kept as a tuple, of things of one kind; a Java text separates them by commas."""

    def __init__(self, item: Kind, *, least: int = 0) -> None:
        self.item = item
        self.least = least
        self.shown, self.secret = item.shown, item.secret
        self.takes = f"a sequence, each {item.takes}"
        if least:
            self.takes = f"a sequence of at least {least}, each {item.takes}"

    def accept(self, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return self.REFUSED
        items = tuple(self.item.accept(item) for item in value)
        fits = len(items) >= self.least and all(item is not self.REFUSED for item in items)
        return items if fits else self.REFUSED

    def read(self, text: str) -> Any:
        items = re.split(r"\s*,\s*", text.strip()) if text.strip() else []
        return self.accept(list(dict.fromkeys(items)))

    def hint(self, value: object) -> str:
        if not isinstance(value, str) or not self.item.shown:
            return ""
        items = self.read(value)
        if items is self.REFUSED or not items:
            return ""
        return f": give a list, [{', '.join(map(self.item.show, items))}]"

    def show(self, value: object) -> str:
        if isinstance(value, list | tuple):
            return f"({', '.join(self.item.show(item) for item in value)})"
        return super().show(value)


class Thing(Kind):
    """An object or function of the user's; its `repr` is never shown, it may hold secrets."""

    shown = False

    def __init__(self, takes: str, fits: Callable[[Any], bool] = callable) -> None:
        self.takes = takes
        self.fits = fits

    def accept(self, value: Any) -> Any:
        return value if self.fits(value) else self.REFUSED


class Either(Kind):
    """What the first of several kinds accepts."""

    def __init__(self, *kinds: Kind) -> None:
        self.kinds = kinds
        self.takes = ", or ".join(kind.takes for kind in kinds)

    def accept(self, value: Any) -> Any:
        for kind in self.kinds:
            accepted = kind.accept(value)
            if accepted is not self.REFUSED:
                return accepted
        return self.REFUSED

    def show(self, value: object) -> str:
        return Kind.show(self, value) if isinstance(value, str) else self.kinds[-1].show(value)


class Maybe(Kind):
    """None, or what another kind takes."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.secret = kind.secret
        self.takes = f"{kind.takes}, or None"

    def accept(self, value: Any) -> Any:
        return None if value is None else self.kind.accept(value)

    def read(self, text: str) -> Any:
        return self.kind.read(text)

    def hint(self, value: object) -> str:
        return self.kind.hint(value)

    def show(self, value: object) -> str:
        return "None" if value is None else self.kind.show(value)


Flag = Annotated[bool, Bool()]
Count = Annotated[int, Int(1, INT32)]
Milliseconds = Annotated[int, Int(0, INT32, unit=" of milliseconds")]
LongMilliseconds = Annotated[int, Int(0, INT64, unit=" of milliseconds")]
Bytes = Annotated[int, Int(0, INT32, unit=" of bytes")]
Sent = Annotated[str, Text("a str of at most 8,000 characters", form=r"[^\ud800-\udfff]{0,8000}")]
Name = Annotated[
    str | None,
    Text(
        "a str that is not empty, of at most 8,000 characters",
        form=r"(?=(?s:.*\S))[^\ud800-\udfff]{1,8000}",
    ),
]
Path = Annotated[str | None, Location()]
Password = Annotated[str | None, Hidden()]


_kinds: dict[type, dict[str, Kind]] = {}


def kinds(config: type) -> Mapping[str, Kind]:
    """What each option of a configuration takes, by name."""
    if config in _kinds:
        return _kinds[config]
    hints = get_type_hints(config, include_extras=True)
    found = _kinds.setdefault(config, {})
    for field in fields(config):
        if field.init:
            plain, kind = get_args(hints[field.name])
            found[field.name] = Maybe(kind) if type(None) in get_args(plain) else kind
    return found
