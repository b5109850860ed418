"""Regular expressions that members subscribe by: RE2's, in time that cannot explode. Pure.

Not Python's `re`: it backtracks, so that one subscription could stop the broker for good. A pattern
becomes a program, and a name is matched by following all of its paths at once (Thompson, 1968).
"""

from __future__ import annotations

from typing import Final

from kafka_aio.broker.groups.pattern_syntax import WORD, Op, parse

_ASSERTIONS: Final = (Op.START, Op.END, Op.EDGE_OF_WORD, Op.NO_EDGE_OF_WORD)


class Pattern:
    """A regular expression that matches whole names of topics."""

    __slots__ = ("_program", "text")

    def __init__(self, text: str) -> None:
        """Read it.

        Raises:
            InvalidRegularExpression: RE2 does not know such an expression; why, in RE2J's words.
        """
        self.text = text
        self._program = parse(text)

    def __repr__(self) -> str:
        return f"<Pattern {self.text!r}>"

    def matches(self, name: str) -> bool:
        """Whether the whole name is such as the expression says."""
        program = self._program
        if not name.isascii():
            return False
        reached = self._follow([0], name, 0)
        for at, letter in enumerate(name):
            bit = 1 << ord(letter)
            moved = [
                step + 1
                for step in reached
                if step < len(program) and program[step][0] is Op.LETTER and program[step][1] & bit
            ]
            reached = self._follow(moved, name, at + 1)
        return len(program) in reached

    def _follow(self, steps: list[int], name: str, at: int) -> set[int]:
        """All steps that are reached from some without taking a letter. Past the last: matched."""
        reached = set(steps)
        while steps:
            step = steps.pop()
            if step == len(self._program):
                continue
            op, value = self._program[step]
            following = []
            if op in (Op.SPLIT, Op.JUMP):
                following.append(step + value)
            if op is Op.SPLIT or (op in _ASSERTIONS and _holds(op, name, at)):
                following.append(step + 1)
            steps += [each for each in following if each not in reached]
            reached.update(following)
        return reached


def _holds(op: Op, name: str, at: int) -> bool:
    if op is Op.START:
        return at == 0
    if op is Op.END:
        return at == len(name)
    before = at > 0 and bool(WORD >> ord(name[at - 1]) & 1)
    after = at < len(name) and bool(WORD >> ord(name[at]) & 1)
    return (before != after) == (op is Op.EDGE_OF_WORD)
