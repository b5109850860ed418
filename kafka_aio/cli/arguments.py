"""What the arguments of several commands are made of. Pure."""

from __future__ import annotations

import argparse
import os


def assignment(text: str) -> tuple[str, str]:
    """A name and a value. What was given is not repeated: it may be a secret."""
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise argparse.ArgumentTypeError("give NAME=VALUE")
    return name.strip(), value


def whole_number(text: str) -> int:
    """One or more."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number < 2**31:
        raise argparse.ArgumentTypeError("give a whole number, 1 or more")
    return number


def number(text: str) -> int:
    """None or more."""
    if not text.isdecimal() or int(text) >= 2**31:
        raise argparse.ArgumentTypeError("give a whole number, 0 or more")
    return int(text)


def separator(text: str) -> str:
    """What is between two parts of a line."""
    if not text:
        raise argparse.ArgumentTypeError("give at least one character")
    return text.replace("\\t", "\t")


def add_forms(group: argparse._ArgumentGroup, *, keys: str, objects: str) -> None:
    """The options of what a line is, beside a value: with a key, or an object of JSON."""
    either = group.add_mutually_exclusive_group()
    either.add_argument(
        *("-K", "--key-separator"), metavar="TEXT", type=separator, help=rf"{keys}; \t is a tab"
    )
    either.add_argument(
        "--json",
        dest="json_lines",
        action="store_true",
        help=f"{objects}, with the fields told below",
    )


def typed(text: str) -> bytes:
    """The bytes that somebody has typed."""
    return os.fsencode(text)
