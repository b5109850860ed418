"""What the mechanisms share: the steps of an exchange, and the order they come in. Pure.

A mechanism is written as a generator that yields what to do next and is sent what came of it, so
its code reads in the order of the RFC. `Exchange` drives it, and refuses calls out of turn:

| state | waits for | which leads to |
|---|---|---|
| new | `start()` | sent |
| sent | `receive()`: what the broker answered | sent, deriving, done |
| deriving | `derived()`: the key | sent |
| done, failed | nothing | - |

A step that raises leads to failed; a call out of turn changes nothing.

Secrets stay `Secret` texts until they go into a step, whose `repr` hides them; so not even a
traceback that prints local variables has them.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from kafka_aio.errors import ConfigError, StateError

_LONGEST_SHOWN: Final = 200
# NUL ends a field of PLAIN and is in no name or password of SCRAM; half of a surrogate pair has no
# bytes in UTF-8.
_UNSENDABLE: Final = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Send:
    """Send these bytes in a SaslAuthenticate request; give the answer's to `receive()`."""

    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Derive:
    """Run PBKDF2, off the loop because it takes up to a second; give the key to `derived()`.

    The fields are the arguments of `hashlib.pbkdf2_hmac`, in its order.
    """

    hash_name: str
    password: bytes = field(repr=False)
    salt: bytes = field(repr=False)
    iterations: int


@dataclass(frozen=True, slots=True)
class Done:
    """Both sides are satisfied."""


Step = Send | Derive | Done
Talk = Generator[Send | Derive, bytes, None]


class State(Enum):
    """Where an exchange is."""

    NEW = "new"
    SENT = "sent"
    DERIVING = "deriving"
    DONE = "done"
    FAILED = "failed"


class Exchange:
    """One authentication on one connection: asked for its steps in turn until it is `Done`.

    A class below calls `__init__` first and checks its arguments after that, so that there is a
    `repr` even of one that is refused. Nothing of the generator runs before `start()`.

    Attributes:
        mechanism: Its name as SaslHandshake has it.
    """

    __slots__ = ("_state", "_talk", "mechanism")

    def __init__(self, mechanism: str, talk: Talk) -> None:
        self.mechanism = mechanism
        self._talk = talk
        self._state = State.NEW

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.mechanism} {self._state.value}>"

    def start(self) -> Step:
        """The first step.

        Raises:
            StateError: It has been started already.
            AuthenticationError: There is nothing to start with, such as a Kerberos ticket.
        """
        self._expect(State.NEW, "start")
        return self._advance(None)

    def receive(self, challenge: bytes) -> Step:
        """The step after the broker's answer to what was sent.

        Raises:
            StateError: No answer is waited for.
            AuthenticationError: The broker refuses us, or what it says is not believed.
            ProtocolError: The answer cannot be read.
        """
        self._expect(State.SENT, "receive")
        return self._advance(challenge)

    def derived(self, key: bytes) -> Step:
        """The step after a `Derive`.

        Raises:
            StateError: No key is waited for.
        """
        self._expect(State.DERIVING, "derived")
        return self._advance(key)

    def _expect(self, state: State, call: str) -> None:
        if self._state is not state:
            raise StateError(f"{self.mechanism}: {call}() while it is {self._state.value}")

    def _advance(self, given: bytes | None) -> Step:
        self._state = State.FAILED  # what the next line raises passes through
        try:
            step = next(self._talk) if given is None else self._talk.send(given)
        except StopIteration:
            self._state = State.DONE
            return Done()
        self._state = State.DERIVING if isinstance(step, Derive) else State.SENT
        return step


def check_sendable(what: str, text: str) -> None:
    """Whether a user name or password can be sent at all.

    Raises:
        ConfigError: It is empty or has a character that cannot be sent; does not show it.
    """
    if not text:
        raise ConfigError(f"the {what} of SASL is empty")
    if _UNSENDABLE.search(text):
        raise ConfigError(f"the {what} of SASL has a NUL or half of a surrogate pair in it")


def shown(text: str) -> str:
    """What a broker says, fit to be in a message: bounded, and one printable line."""
    cut = text[:_LONGEST_SHOWN]
    printable = "".join(char if char.isprintable() else "?" for char in cut)
    return printable if len(text) <= _LONGEST_SHOWN else f"{printable}..."
