"""Regular expressions that members subscribe by: RE2's, in time that cannot explode. Pure.

Not Python's `re`: it backtracks, so that one subscription could stop the broker for good. A pattern
becomes a program, and a name is matched by following all of its paths at once (Thompson, 1968).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from kafka_aio.broker.groups.pattern_syntax import WORD, Op, parse

_Place: TypeAlias = tuple[bool, ...]
_MOST_MOVES: Final = 1_000
"""As many are remembered."""
_ASSERTIONS: Final = (Op.START, Op.END, Op.EDGE_OF_WORD, Op.NO_EDGE_OF_WORD)


class Pattern:
    """A regular expression that matches whole names of topics."""

    __slots__ = ("_assertions", "_moves", "_program", "_reach", "_takers", "text")

    def __init__(self, text: str) -> None:
        """Read it.

        Raises:
            InvalidRegularExpression: RE2 does not know such an expression; why, in RE2J's words.
        """
        self.text = text
        self._program = parse(text)
        used = {op for op, _ in self._program}
        self._assertions: list[Op] = [op for op in _ASSERTIONS if op in used]
        self._reach: dict[_Place, list[int]] = {}
        """By place, all steps that are reached from each step without taking a letter."""
        self._takers: dict[str, int] = {}
        """By letter, the steps that take it."""
        self._moves: dict[tuple[int, str, _Place], int] = {}
        """What was found out: the steps reached with a letter, from some others."""

    def __repr__(self) -> str:
        return f"<Pattern {self.text!r}>"

    def matches(self, name: str) -> bool:
        """Whether the whole name is such as the expression says."""
        if not name.isascii():
            return False
        reached = self._reached_from(self._place(name, 0))[0]
        for at, letter in enumerate(name, 1):
            reached = self._move(reached, letter, self._place(name, at))
            if not reached:
                return False
        return bool(reached >> len(self._program) & 1)

    # A set of steps is an int, in which each step is a bit. Past the last step: matched.

    def _place(self, name: str, at: int) -> _Place:
        """Which assertions hold there."""
        return tuple(_holds(op, name, at) for op in self._assertions)

    def _move(self, reached: int, letter: str, place: _Place) -> int:
        found = self._moves.get((reached, letter, place))
        if found is None:
            found = 0
            reached_from = self._reached_from(place)
            for step in _bits(reached & self._takers_of(letter)):
                found |= reached_from[step + 1]
            if len(self._moves) < _MOST_MOVES:
                self._moves[reached, letter, place] = found
        return found

    def _takers_of(self, letter: str) -> int:
        found = self._takers.get(letter)
        if found is None:
            bit = 1 << ord(letter)
            digits = ("01"[op is Op.LETTER and value & bit > 0] for op, value in self._program)
            found = self._takers[letter] = int("0" + "".join(digits)[::-1], 2)
        return found

    def _reached_from(self, place: _Place) -> list[int]:
        found = self._reach.get(place)
        if found is None:
            found = self._reach[place] = self._closures(place)
        return found

    def _closures(self, place: _Place) -> list[int]:
        """From the last step to the first, and again while loops bring something new."""
        holds = dict(zip(self._assertions, place, strict=True))
        following = [
            [step + each for each in _jumps(op, value, holds)]
            for step, (op, value) in enumerate(self._program)
        ]
        reach = [1 << step for step in range(len(self._program) + 1)]
        is_new = True
        while is_new:
            is_new = False
            for step in range(len(following) - 1, -1, -1):
                before = after = reach[step]
                for each in following[step]:
                    after |= reach[each]
                if after != before:
                    reach[step] = after
                    is_new = True
        return reach


def _jumps(op: Op, value: int, holds: dict[Op, bool]) -> tuple[int, ...]:
    """How much further one comes without taking a letter."""
    if op is Op.SPLIT:
        return 1, value
    if op is Op.JUMP:
        return (value,)
    return (1,) if holds.get(op) else ()


def _bits(number: int) -> Iterator[int]:
    """Which bits are set, from the lowest on."""
    digits = bin(number)[:1:-1]
    at = digits.find("1")
    while at >= 0:
        yield at
        at = digits.find("1", at + 1)


def _holds(op: Op, name: str, at: int) -> bool:
    if op is Op.START:
        return at == 0
    if op is Op.END:
        return at == len(name)
    before = at > 0 and bool(WORD >> ord(name[at - 1]) & 1)
    after = at < len(name) and bool(WORD >> ord(name[at]) & 1)
    return (before != after) == (op is Op.EDGE_OF_WORD)
