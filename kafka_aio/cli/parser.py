"""The arguments of `kafka-aio`: which commands there are, and mistakes in one line. Pure.

A command is a module of this package, imported only when it is the one that was given:

    def fill(parser: Parser) -> None    adds its arguments, and calls `options.add_to`
    async def run(given, admin, left) -> Report

One that needs no cluster has `alone` in place of `run`: `async def serve(given) -> Exit`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module, metadata
from typing import Any, Final, NoReturn

from kafka_aio.cli import terminal
from kafka_aio.cli.exits import MEANINGS, Exit

COMMANDS: Final = {
    "bench": "measure this client on a cluster, and its peers beside it",
    "broker": "run a Kafka broker in memory, for tests and development",
    "consume": "write the records of topics to stdout, each as a line",
    "groups": "list, describe, reset and delete groups of consumers, with their lag",
    "ping": "reach every broker of a cluster, and say what it is",
    "produce": "send lines of stdin or files to a topic, each as a record",
    "topics": "list, describe, create, change and delete topics",
}

_EPILOG: Final = """\
`kafka-aio COMMAND --help` has the options of a command. Results go to stdout, all else to stderr.

environment:
  KAFKA_AIO_PASSWORD    the password, where a user is given and --password-file is not

exit codes:
{exits}

examples:
  kafka-aio ping -b localhost:9092
  kafka-aio ping --config client.properties --versions
  kafka-aio topics create orders --partitions 6 -b localhost:9092
  kafka-aio consume orders --from -5 -b localhost:9092
  kafka-aio groups describe billing -b localhost:9092
  kafka-aio broker --port 9092 --topics orders:3
  kafka-aio topics list -b localhost:9092 --json | jq -r '.topics[].name'
"""


class Parser(argparse.ArgumentParser):
    """argparse, but a mistake takes two lines, and what may be a secret is not repeated."""

    def __init__(self, **options: Any) -> None:
        formatter = argparse.RawDescriptionHelpFormatter
        super().__init__(**{"allow_abbrev": False, "formatter_class": formatter, **options})

    def print_help(self, file: object = None) -> None:
        self.exit(terminal.put(self.format_help()))

    def error(self, message: str) -> NoReturn:
        self.exit(Exit.USAGE, f"kafka-aio: error: {message}\nkafka-aio: see '{self.prog} --help'\n")


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command and its options.

    Raises:
        SystemExit: Help was asked for, or the usage is wrong; that has been said.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    command = next((word for word in words if not word.startswith("-")), "")
    given, rest = _parser(command).parse_known_args(words)
    if rest:
        given.parser.error(_unknown(rest))
    return given


def _unknown(rest: Sequence[str]) -> str:
    options = [word.partition("=")[0] for word in rest if word.startswith("-")]
    if options:  # and no more of it: what follows a misspelt one may be its secret
        return f"there is no option {options[0]!r}"
    advice = f"; did you mean -b {rest[0]}?" if ":" in rest[0] else ""
    return f"one argument too many: {rest[0]!r}{advice}"


def _parser(command: str) -> Parser:
    exits = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in MEANINGS.items())
    parser = Parser(
        prog="kafka-aio",
        description="Look at an Apache Kafka cluster, and look after it.",
        epilog=_EPILOG.format(exits=exits),
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version")
    commands = parser.add_subparsers(
        metavar="COMMAND", title="commands", parser_class=Parser, required=True
    )
    for name, purpose in COMMANDS.items():
        its = commands.add_parser(
            name, help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}."
        )
        if name == command:
            import_module(f"kafka_aio.cli.{name}").fill(its)
    return parser


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        try:
            version = metadata.version("kafka-aio")
        except metadata.PackageNotFoundError:
            version = "(a checkout that was not installed)"
        parser.exit(terminal.put(f"kafka-aio {version}\n"))
