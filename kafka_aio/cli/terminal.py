"""Whoever sits at the terminal: what is said and asked. Nothing of it is a result. Pure."""

from __future__ import annotations

import getpass
import os
import sys
from contextlib import suppress
from typing import Final, TextIO

from kafka_aio.cli.exits import Exit
from kafka_aio.cli.output import printable
from kafka_aio.errors import ConfigError

NAME: Final = "kafka-aio"

_CLEAR: Final = "\r\x1b[K"


class Declined(Exception):
    """Somebody was asked, and said no."""


class Gone(Exception):
    """Whoever read the output has gone."""


def is_there() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin is not None and sys.stdin.isatty()


def has_output() -> bool:
    """Whether results are shown to somebody, and not kept or passed on."""
    return sys.stdout is not None and sys.stdout.isatty()


def say(kind: str, text: str) -> None:
    """One line on stderr, in the form of all of them."""
    tell(f"{NAME}: {kind}: {text}\n")


def tell(text: str) -> None:
    """Any text on stderr, if somebody can read it."""
    with suppress(OSError, ValueError):
        _write(sys.stderr, text)


def show(text: str) -> None:
    """What goes on, on a line that is shown again and again; a file gets nothing of it."""
    if sys.stderr is not None and sys.stderr.isatty():
        tell(f"{_CLEAR}{printable(text)}")


def put(text: str) -> Exit:
    """A result on stdout; whether that could be written."""
    try:
        _write(sys.stdout, text)
    except BrokenPipeError:
        _drop_stdout()
        return Exit.PIPE
    except OSError as error:
        _drop_stdout()
        say("error", f"the result cannot be written: {error.strerror}")
        return Exit.FAILED
    return Exit.DONE


def _write(stream: TextIO | None, text: str) -> None:
    """Write text that the stream's encoding may not have the characters for.

    Raises:
        OSError: It cannot be written.
    """
    if stream is None:  # it was closed before we began
        return
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def _drop_stdout() -> None:
    """What is left in its buffer would be tried again, and complained about, at the very end."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def confirm(question: str, *, instead: str) -> None:
    """Go on only if somebody says yes.

    Raises:
        ConfigError: There is nobody to ask.
        Declined: The answer is no.
    """
    if not is_there():
        raise ConfigError(f"there is no terminal to ask at: give {instead} to go on without")
    tell(f"{printable(question)} [y/N] ")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Declined


def ask_secret(question: str) -> str:
    """The answer of whoever sits there; it is not shown.

    Raises:
        ConfigError: There is no answer.
    """
    try:
        return getpass.getpass(printable(question))
    except EOFError:
        raise ConfigError("no password was given") from None
