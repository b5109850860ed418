r"""Java's regular expressions, translated to those of Python: for subscribePattern. Pure.

Names of topics have letters, digits, `.`, `_` and `-` in them, all ASCII. So a class of characters
is worked out here, as the set of those ASCII characters that are in it: nested classes, `&&`,
`\p{...}` and the like need no counterpart in Python.
"""

from __future__ import annotations

import re
import string
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

_ASCII: Final = frozenset(map(chr, range(128)))
_SPACE: Final = frozenset(" \t\n\x0b\f\r")
_ALNUM: Final = frozenset(string.ascii_letters + string.digits)

_SETS: Final = {
    "d": frozenset(string.digits),
    "h": frozenset(" \t"),
    "s": _SPACE,
    "v": frozenset("\n\x0b\f\r"),
    "w": _ALNUM | {"_"},
}
_PROPERTIES: Final = {
    "ASCII": _ASCII,
    "Alnum": _ALNUM,
    "Alpha": frozenset(string.ascii_letters),
    "Blank": frozenset(" \t"),
    "Cntrl": frozenset(map(chr, range(32))) | {"\x7f"},
    "Digit": frozenset(string.digits),
    "Graph": _ALNUM | set(string.punctuation),
    "Lower": frozenset(string.ascii_lowercase),
    "Print": _ALNUM | set(string.punctuation) | {" "},
    "Punct": frozenset(string.punctuation),
    "Space": _SPACE,
    "Upper": frozenset(string.ascii_uppercase),
    "XDigit": frozenset(string.hexdigits),
    "IsAlphabetic": frozenset(string.ascii_letters),
    "IsDigit": frozenset(string.digits),
    "IsLatin": frozenset(string.ascii_letters),
    "IsLowercase": frozenset(string.ascii_lowercase),
    "IsUppercase": frozenset(string.ascii_uppercase),
}
_SAME: Final = {letter: f"\\{letter}" for letter in "dDsSwWbBA"} | {
    # A name has no line ends, and only the first match is looked for.
    "G": r"\A",
    "R": r"(?:\r\n|[\n\x0b\f\r])",
    "Z": r"\Z",
    "z": r"\Z",
}
_CONTROLS: Final = {"a": "\a", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

_REPEAT: Final = re.compile(r"\{[0-9]+(,[0-9]*)?\}")
_OPENING: Final = re.compile(r"\(\?(?:[:=!>]|<[=!])")
_NAMED: Final = re.compile(r"\(\?<([a-zA-Z][a-zA-Z0-9]*)>")
_FLAGS: Final = re.compile(r"\(\?([idmsuxU]*)(?:-([idmsuxU]*))?([:)])")
_REFERENCE: Final = re.compile(r"k<([a-zA-Z][a-zA-Z0-9]*)>")
_PROPERTY: Final = re.compile(r"[pP](?:\{([A-Za-z_]+)\}|([A-Z]))")
_CODE: Final = re.compile(
    r"0(?P<octal>[0-3][0-7]{2}|[0-7]{1,2})|x(?P<byte>[0-9a-fA-F]{2})"
    r"|x\{(?P<point>[0-9a-fA-F]{1,6})\}|u(?P<unit>[0-9a-fA-F]{4})"
)


class PatternError(ValueError):
    """It is no Java pattern, or one that Python cannot do."""


@lru_cache(maxsize=64)
def compiled(pattern: str) -> re.Pattern[str]:
    """What finds in a topic's name what Java's `Matcher.find` finds.

    Raises:
        PatternError: The pattern is wrong, or has something that Python's `re` has not.
    """
    translated = _Translator(pattern).translated()
    try:
        return re.compile(translated, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        problem = error.msg if isinstance(error, re.error) else str(error)
        raise PatternError(f"Python's re says: {problem}") from None


@dataclass
class _Group:
    """A group that is open; the whole pattern is one too."""

    ignores_case: bool = False
    flags: list[str] = field(default_factory=list)
    """Flags like `(?i)` hold up to the end of the group: each is a group in Python."""


class _Translator:
    """Goes through a pattern once."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._out: list[str] = []
        self._groups = [_Group()]
        self._captured = 0

    def translated(self) -> str:
        while self._at < len(self._text):
            self._step()
        if len(self._groups) > 1:
            raise PatternError("a group is not closed: there is a ( without its )")
        self._out.append(")" * len(self._groups[0].flags))
        return "".join(self._out)

    def _step(self) -> None:
        character = self._next()
        if character == "\\":
            self._out.append(self._escape())
        elif character == "[":
            self._out.append(_written(self._class()))
        elif character == "(":
            self._open()
        elif character == ")":
            self._close()
        elif character == "|":
            flags = self._groups[-1].flags
            self._out.append(f"{')' * len(flags)}|{''.join(flags)}")
        elif character == "{":
            self._repeat()
        else:
            self._out.append(character if character in "^$.*+?" else re.escape(character))

    def _next(self) -> str:
        if self._at == len(self._text):
            raise PatternError("it ends too early")
        self._at += 1
        return self._text[self._at - 1]

    def _sees(self, text: str) -> bool:
        return self._text.startswith(text, self._at)

    def _take(self, form: re.Pattern[str], back: int = 0) -> re.Match[str] | None:
        """Go beyond a piece of that form, which begins `back` characters ago."""
        found = form.match(self._text, self._at - back)
        if found:
            self._at = found.end()
        return found

    def _repeat(self) -> None:
        found = self._take(_REPEAT, back=1)
        if found is None:
            raise PatternError(r"after { there is no number of times; the character itself is \{")
        self._out.append(found[0])

    # Groups.

    def _open(self) -> None:
        inner = _Group(self._groups[-1].ignores_case)
        if not self._sees("?"):
            self._captured += 1
            self._out.append("(")
        elif found := self._take(_OPENING, back=1):
            self._out.append(found[0])
        elif found := self._take(_NAMED, back=1):
            self._captured += 1
            self._out.append(f"(?P<{found[1]}>")
        elif found := self._take(_FLAGS, back=1):
            self._flags(found[1], found[2] or "", inner, holds_on=found[3] == ")")
            return
        else:
            raise PatternError("Java has no group that begins like the one with (?")
        self._groups.append(inner)

    def _flags(self, on: str, off: str, inner: _Group, *, holds_on: bool) -> None:
        if "x" in on:
            raise PatternError("the flag x (comments) is not supported: leave it out")
        # d, u and U make no difference in ASCII.
        added = "".join(flag for flag in "ims" if flag in on and flag not in off)
        removed = "".join(flag for flag in "ims" if flag in off)
        opening = f"(?{added}{'-' if removed else ''}{removed}:"
        group = self._groups[-1] if holds_on else inner
        group.ignores_case = "i" in added or (group.ignores_case and "i" not in removed)
        self._out.append(opening)
        if holds_on:
            group.flags.append(opening)
        else:
            self._groups.append(inner)

    def _close(self) -> None:
        if len(self._groups) == 1:
            raise PatternError("there is a ) without its (")
        self._out.append(")" * (len(self._groups.pop().flags) + 1))

    # What a backslash begins.

    def _escape(self) -> str:
        letter = self._next()
        if letter == "Q":
            return re.escape(self._quoted())
        if letter == "k":
            found = self._take(_REFERENCE, back=1)
            if found is None:
                raise PatternError(r"after \k there is no <name> of a group")
            return f"(?P={found[1]})"
        if letter in "123456789":
            return self._back_reference(letter)
        if letter in _SAME:
            return _SAME[letter]
        members = self._set(letter)
        return re.escape(self._escaped(letter)) if members is None else _written(members)

    def _quoted(self) -> str:
        text, _, _ = self._text[self._at :].partition(r"\E")
        self._at = min(self._at + len(text) + 2, len(self._text))
        return text

    def _back_reference(self, digits: str) -> str:
        """As many digits as there are groups for; the others are characters."""
        while self._at < len(self._text) and self._text[self._at] in string.digits:
            longer = digits + self._text[self._at]
            if int(longer) > self._captured:
                break
            digits = longer
            self._at += 1
        return rf"(?:\{digits})"

    def _set(self, letter: str) -> frozenset[str] | None:
        """Those characters that an escape like `\\d` stands for; None if it is another escape."""
        if letter in "pP":
            found = self._take(_PROPERTY, back=1)
            if found is None:
                raise PatternError(rf"after \{letter} there is no {{property}}")
            members = self._folded(_property(found[1] or found[2]))
        elif letter.lower() in _SETS:
            members = _SETS[letter.lower()]
        else:
            return None
        return _ASCII - members if letter.isupper() else members

    def _escaped(self, letter: str) -> str:
        """The one character that an escape stands for."""
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if letter == "c":
            return chr(ord(self._next()) ^ 64)
        if letter in "0xu":
            found = self._take(_CODE, back=1)
            code = found and int(found[found.lastgroup or 0], 8 if found["octal"] else 16)
            if code is None or code > 0x10FFFF:
                raise PatternError(rf"after \{letter} there is no number of a character")
            return chr(code)
        if letter in string.ascii_letters:
            raise PatternError(rf"\{letter} is not supported here")
        return letter

    # Classes of characters.

    def _class(self) -> frozenset[str]:
        r"""The members of a class, from after its `[`; `&&` binds less than all the rest."""
        is_negated = self._sees("^")
        self._at += is_negated
        parts: list[frozenset[str]] = []
        members: frozenset[str] | None = None
        while members is None or not self._sees("]"):
            if self._at == len(self._text):
                raise PatternError("a class is not closed: there is a [ without its ]")
            if self._sees("&&"):
                parts.append(_checked(members))
                members = None
                self._at += 2
                if self._sees("]") or self._sees("&"):
                    break
            else:
                members = (members or frozenset()) | self._item()
        self._at += 1
        found = _checked(members).intersection(*parts)
        return _ASCII - found if is_negated else found

    def _item(self) -> frozenset[str]:
        first = self._next()
        if first == "[":
            return self._class()
        if first == "\\":
            letter = self._next()
            if letter == "Q":
                return self._folded(frozenset(self._quoted()))
            members = self._set(letter)
            if members is not None:
                return members
            first = self._escaped(letter)
        if not self._sees("-") or self._sees("-]") or self._sees("-["):
            return self._folded(frozenset(first))
        self._at += 1
        last = self._next()
        last = self._escaped(self._next()) if last == "\\" else last
        if last < first:
            raise PatternError(f"the range {first}-{last} ends before it begins")
        return self._folded(
            frozenset(character for character in _ASCII if first <= character <= last)
        )

    def _folded(self, members: frozenset[str]) -> frozenset[str]:
        if not self._groups[-1].ignores_case:
            return members
        return members | {each.swapcase() for each in members if each.isascii()}


def _checked(members: frozenset[str] | None) -> frozenset[str]:
    if members is None:
        raise PatternError("there is nothing before or after && in a class")
    return members


def _property(name: str) -> frozenset[str]:
    if name in _PROPERTIES:
        return _PROPERTIES[name]
    category = name.removeprefix("Is")
    members = frozenset(each for each in _ASCII if unicodedata.category(each).startswith(category))
    if len(category) > 2 or not members:
        raise PatternError(rf"\p{{{name}}} is not supported here")
    return members


def _written(members: frozenset[str]) -> str:
    """A class of Python's; what is not ASCII is in no name of a topic."""
    codes = sorted(ord(each) for each in members if each.isascii())
    if not codes:
        return r"[^\x00-\U0010ffff]"
    return "[" + "".join(rf"\x{code:02x}" for code in codes) + "]"
