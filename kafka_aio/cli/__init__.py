"""The command line, `kafka-aio`: `main` reads the arguments; `session` does the work."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_aio.cli import parser
from kafka_aio.cli.exits import Exit


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: Its arguments; those of the process if not given.

    Returns:
        The exit code (`kafka-aio --help` lists them).
    """
    try:
        given = parser.parse(argv)
        from kafka_aio.cli import session  # late: help and mistakes do without a client

        return session.run(given)
    except SystemExit as end:  # of argparse: help, or wrong usage
        return int(end.code or 0)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
