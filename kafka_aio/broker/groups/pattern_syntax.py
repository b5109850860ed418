"""The syntax of RE2's regular expressions, read into a program that `patterns` follows. Pure.

The answer will be yes or no, so what concerns captures only is read and forgotten: their names, and
which repetitions are greedy. Names of topics are ASCII and have no line ends: a set of letters is
128 bits of an int, and `^` and `$` are the ends of the text, whatever the flags are.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from enum import Enum, auto
from typing import Final, NamedTuple, TypeAlias
from unicodedata import category

from kafka_aio.errors import InvalidRegularExpression

_LIMIT: Final = 10_000
"""The longest program. RE2J has no limit, and runs out of memory instead."""

_MOST_REPEATS: Final = 1_000


class Op(Enum):
    """What a step of a program does; where it says so, with a number."""

    LETTER = auto()
    """One letter of a set: its bits."""
    JUMP = auto()
    """Go on that much further."""
    SPLIT = auto()
    """Go on with the next step, and also that much further."""
    START = auto()
    END = auto()
    EDGE_OF_WORD = auto()
    NO_EDGE_OF_WORD = auto()


Program: TypeAlias = list[tuple[Op, int]]
"""Its jumps are relative, so that programs can be joined and repeated as lists."""


def _bits(letters: str) -> int:
    return sum(1 << ord(letter) for letter in set(letters))


def _span(first: int, last: int) -> int:
    """The letters between two code points, both included."""
    return (1 << min(last, 127) + 1) - (1 << first) if first <= 127 else 0


_ALL: Final = _span(0, 127)
_UPPER: Final = _bits(string.ascii_uppercase)
_LOWER: Final = _bits(string.ascii_lowercase)
_DIGITS: Final = _bits(string.digits)
_LETTERS: Final = _UPPER | _LOWER
WORD: Final = _LETTERS | _DIGITS | _bits("_")

_PERL_CLASSES: Final = {"d": _DIGITS, "s": _bits("\t\n\f\r "), "w": WORD}

_POSIX_CLASSES: Final = {
    "alnum": _LETTERS | _DIGITS,
    "alpha": _LETTERS,
    "ascii": _ALL,
    "blank": _bits("\t "),
    "cntrl": _span(0, 31) | _span(127, 127),
    "digit": _DIGITS,
    "graph": _span(33, 126),
    "lower": _LOWER,
    "print": _span(32, 126),
    "punct": _bits(string.punctuation),
    "space": _bits("\t\n\v\f\r "),
    "upper": _UPPER,
    "word": WORD,
    "xdigit": _bits(string.hexdigits),
}

_CATEGORIES: Final = {
    "C": "cfos",
    "L": "lmotu",
    "M": "cen",
    "N": "dlo",
    "P": "cdefios",
    "S": "ckmo",
    "Z": "lps",
}
"""Those of Unicode: by the first letter of their names, the second ones."""

_ASSERTIONS: Final = {
    "A": Op.START,
    "z": Op.END,
    "b": Op.EDGE_OF_WORD,
    "B": Op.NO_EDGE_OF_WORD,
}

_CONTROLS: Final = {"a": 7, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13}


class _Flags(NamedTuple):
    """Those that change what is matched; `m` and `U` do not."""

    i: bool = False
    s: bool = False


class Open:
    """What is inside of a parenthesis that is still open, or the whole."""

    def __init__(self, flags: _Flags) -> None:
        self.flags_before = flags
        self.branches: list[Program] = []
        self.items: list[Program] = []

    def next_branch(self) -> None:
        self.branches.append([step for item in self.items for step in item])
        self.items = []

    def program(self) -> Program:
        """All branches, as ways to choose from."""
        self.next_branch()
        *others, last = self.branches
        left = sum(len(branch) + 2 for branch in others) + len(last)
        made: Program = []
        for branch in others:
            left -= len(branch) + 2
            made += [(Op.SPLIT, len(branch) + 2), *branch, (Op.JUMP, left + 1)]
        return made + last


def parse(text: str) -> Program:
    """From an expression to its program.

    Raises:
        InvalidRegularExpression: RE2 does not know such an expression; why, in RE2J's words.
    """
    return _Parser(text).parse()


class _Parser:
    """Reads an expression from left to right; parentheses are a stack, not a recursion."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._flags = _Flags()
        self._stack = [Open(self._flags)]
        self._names: set[str] = set()
        self._was_repeated = False
        self._readers: dict[str, Callable[[], None]] = {
            "(": self._read_open,
            ")": self._read_close,
            "|": self._read_bar,
            "[": self._read_class,
            "\\": self._read_escape,
            "{": self._read_count,
            "*": lambda: self._repeat(0, None),
            "+": lambda: self._repeat(1, None),
            "?": lambda: self._repeat(0, 1),
            "^": lambda: self._add(Op.START),
            "$": lambda: self._add(Op.END),
            ".": lambda: self._add(Op.LETTER, _ALL if self._flags.s else _ALL ^ _bits("\n")),
        }

    def parse(self) -> Program:
        while self._at < len(self._text):
            letter = self._next()
            if letter not in "*+?{":
                self._was_repeated = False
            if reader := self._readers.get(letter):
                reader()
            else:
                self._add_letter(ord(letter))
        if len(self._stack) > 1:
            raise self._invalid("missing closing )")
        return self._checked(self._stack[0].program())

    def _invalid(self, why: str) -> InvalidRegularExpression:
        return InvalidRegularExpression(
            f"SubscribedTopicRegex `{self._text}` is not a valid regular expression: {why}."
        )

    def _checked(self, program: Program) -> Program:
        if len(program) > _LIMIT:
            raise self._invalid("expression too large")
        return program

    # Letters

    def _next(self) -> str:
        """The next letter, taken; empty at the end."""
        letter = self._text[self._at : self._at + 1]
        self._at += 1
        return letter

    def _take(self, wanted: str) -> bool:
        """Take these letters, if they come next."""
        if self._text.startswith(wanted, self._at):
            self._at += len(wanted)
            return True
        return False

    def _take_until(self, end: str) -> str | None:
        """Take all up to a mark, and the mark; None if there is none."""
        found = self._text.find(end, self._at)
        if found < 0:
            return None
        taken = self._text[self._at : found]
        self._at = found + len(end)
        return taken

    def _take_while(self, letters: str, most: int) -> str:
        start = self._at
        while self._at - start < most and self._text[self._at : self._at + 1] in set(letters):
            self._at += 1
        return self._text[start : self._at]

    # What is matched

    def _add(self, op: Op, value: int = 0) -> None:
        self._stack[-1].items.append([(op, value)])

    def _add_letter(self, code: int) -> None:
        self._add(Op.LETTER, self._folded(_span(code, code)))

    def _folded(self, bits: int) -> int:
        """Both cases of each letter, if that flag is set."""
        if not self._flags.i:
            return bits
        return bits | (bits & _UPPER) << 32 | (bits & _LOWER) >> 32

    def _signed(self, bits: int, *, negative: bool) -> int:
        return _ALL ^ self._folded(bits) if negative else self._folded(bits)

    # Escapes

    def _read_escape(self) -> None:
        if (op := _ASSERTIONS.get(self._text[self._at : self._at + 1])) is not None:
            self._at += 1
            self._add(op)
        elif self._take("Q"):
            quoted = self._take_until("\\E")
            if quoted is None:
                quoted, self._at = self._text[self._at :], len(self._text)
            for letter in quoted:
                self._add_letter(ord(letter))
        elif (bits := self._shorthand()) is not None:
            self._add(Op.LETTER, bits)
        else:
            self._add_letter(self._escaped())

    def _shorthand(self) -> int | None:
        r"""The set that stands behind a backslash, such as that of `\d` or `\pL`."""
        letter = self._text[self._at : self._at + 1]
        if letter and letter in "dswDSW":
            self._at += 1
            return self._signed(_PERL_CLASSES[letter.lower()], negative=letter.isupper())
        if letter and letter in "pP":
            self._at += 1
            return self._unicode_class(negative=letter == "P")
        return None

    def _unicode_class(self, *, negative: bool) -> int:
        name = self._take_until("}") if self._take("{") else self._next()
        if not name:
            raise self._invalid("invalid character class range")
        if name.startswith("^"):
            name, negative = name[1:], not negative
        if name == "Any":
            found = _ALL
        elif len(name) < 3 and name[:1] in _CATEGORIES and name[1:] in _CATEGORIES[name[0]]:
            found = _bits("".join(c for c in map(chr, range(128)) if category(c).startswith(name)))
        elif name in ("Latin", "Common"):
            found = _LETTERS if name == "Latin" else _ALL ^ _LETTERS
        elif len(name) > 2 and name[0].isupper() and name.replace("_", "").isalpha():
            found = 0  # some other script: no letter of it is in ASCII
        else:
            raise self._invalid("invalid character class range")
        return self._signed(found, negative=negative)

    def _escaped(self) -> int:
        """The one letter that stands behind a backslash."""
        letter = self._next()
        if not letter:
            raise self._invalid("trailing backslash at end of expression")
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        code: int | None = None
        if letter == "x":
            code = self._hexadecimal()
        elif letter == "0":
            code = int("0" + self._take_while(string.octdigits, 2), 8)
        elif letter in "1234567":
            # By itself it would refer back to a group, and RE2 has no such thing.
            if more := self._take_while(string.octdigits, 2):
                code = int(letter + more, 8)
        elif not (letter.isascii() and letter.isalnum()):
            code = ord(letter)
        if code is None:
            raise self._invalid("invalid escape sequence")
        return code

    def _hexadecimal(self) -> int | None:
        if self._take("{"):
            digits = self._take_until("}")
        else:
            digits = self._take_while(string.hexdigits, 2)
            digits = digits if len(digits) == 2 else None
        if not digits or not set(digits) <= set(string.hexdigits):
            return None
        code = int(digits, 16)
        return code if code <= 0x10FFFF else None

    # Sets of letters

    def _read_class(self) -> None:
        negative = self._take("^")
        bits = 0
        is_first = True
        while is_first or not self._take("]"):
            is_first = False
            bits |= self._class_item()
        self._add(Op.LETTER, _ALL ^ bits if negative else bits)

    def _class_item(self) -> int:
        if (named := self._posix_class()) is not None:
            return named
        if self._take("\\"):
            if (shorthand := self._shorthand()) is not None:
                return shorthand
            self._at -= 1
        first = last = self._class_letter()
        if not self._text.startswith("-]", self._at) and self._take("-"):
            last = self._class_letter()
            if last < first:
                raise self._invalid("invalid character class range")
        return self._folded(_span(first, last))

    def _posix_class(self) -> int | None:
        start = self._at
        if not self._take("["):
            return None
        if not self._take(":") or (name := self._take_until(":]")) is None:
            self._at = start
            return None
        if (bits := _POSIX_CLASSES.get(name.removeprefix("^"))) is None:
            raise self._invalid("invalid character class range")
        return self._signed(bits, negative=name.startswith("^"))

    def _class_letter(self) -> int:
        if self._take("\\"):
            return self._escaped()
        if not (letter := self._next()):
            raise self._invalid("missing closing ]")
        return ord(letter)

    # Groups

    def _read_open(self) -> None:
        if not self._take("?"):
            self._stack.append(Open(self._flags))
        elif self._take("P<") or self._take("<"):
            self._read_name()
        else:
            self._read_flags()

    def _read_name(self) -> None:
        name = self._take_until(">")
        if not name or not (name.replace("_", "a").isalnum() and name.isascii()):
            raise self._invalid("invalid named capture")
        if name in self._names:
            raise self._invalid("duplicate capture group name")
        self._names.add(name)
        self._stack.append(Open(self._flags))

    def _read_flags(self) -> None:
        """`(?i)` for the rest of the group, `(?i:` for a group of its own."""
        letters = self._take_while("imsU-", len(self._text))
        end = self._next()
        on, minus, off = letters.partition("-")
        if end not in (":", ")") or not end or "-" in off or (minus and not off):
            raise self._invalid("invalid or unsupported Perl syntax")
        before = self._flags
        self._flags = _Flags(
            i=(before.i or "i" in on) and "i" not in off,
            s=(before.s or "s" in on) and "s" not in off,
        )
        if end == ":":
            self._stack.append(Open(before))

    def _read_bar(self) -> None:
        self._stack[-1].next_branch()

    def _read_close(self) -> None:
        if len(self._stack) == 1:
            raise self._invalid("regexp/syntax: internal error")  # RE2J's word for one too many
        closed = self._stack.pop()
        self._flags = closed.flags_before
        self._stack[-1].items.append(self._checked(closed.program()))

    # Repetitions

    def _read_count(self) -> None:
        """`{2}`, `{2,}` or `{2,5}`; anything else is a brace like other letters."""
        start = self._at
        inside = self._take_until("}")
        low, comma, high = (inside or "").partition(",")
        numbers = [low, high] if high else [low]
        if inside is None or not all(map(_is_number, numbers)):
            self._at = start
            self._add_letter(ord("{"))
            self._was_repeated = True  # so is `{*` one too many, as in RE2J
            return
        least = int(low[:9])
        most = int(high[:9]) if high else None if comma else least
        if least > _MOST_REPEATS or (most is not None and not least <= most <= _MOST_REPEATS):
            raise self._invalid("invalid repeat count")
        self._repeat(least, most)

    def _repeat(self, least: int, most: int | None) -> None:
        self._take("?")  # not greedy
        if self._was_repeated:
            raise self._invalid("invalid nested repetition operator")
        items = self._stack[-1].items
        if not items:
            raise self._invalid("missing argument to repetition operator")
        self._was_repeated = True
        once = items.pop()
        if len(once) * max(least, most or 1) > _LIMIT:
            raise self._invalid("expression too large")
        made = once * least
        if most is None:
            made += [(Op.SPLIT, len(once) + 2), *once, (Op.JUMP, -len(once) - 1)]
        else:
            size = len(once) + 1
            for left in range(most - least, 0, -1):
                made += [(Op.SPLIT, left * size), *once]
        items.append(made)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and (text == "0" or text[0] != "0")
