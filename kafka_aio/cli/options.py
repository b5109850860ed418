"""The options that every command has. Pure.

`configuration` makes of them the configuration of a client.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from kafka_aio.cli.arguments import assignment
from kafka_aio.config import AdminConfig, ClientConfig

if TYPE_CHECKING:
    from kafka_aio.cli.output import Report

PASSWORD: Final = "KAFKA_AIO_PASSWORD"
CLIENT_ID: Final = "kafka-aio"

SEEN: Final = (
    "a secret on the command line is seen by whoever lists the processes of this machine, and kept"
    " by your shell"
)
Left = Callable[[], float]
"""How many seconds are left for a command."""
Run: TypeAlias = "Callable[[argparse.Namespace, Any, Left], Awaitable[Report]]"
"""A command; it gets the client of its kind: an `Admin`, if nothing else was asked for."""


def add_to(
    parser: argparse.ArgumentParser,
    run: Run,
    *,
    before: Callable[[argparse.Namespace], None] | None = None,
    time_option: str = "default_api_timeout_ms",
    kind: type[ClientConfig] = AdminConfig,
    prints: bool = True,
) -> None:
    """Add the options of a connection, and those of what is printed; and say what is run.

    Args:
        parser: Of a command.
        run: The command.
        before: What is to be done before there is a connection.
        time_option: How long it may take, where `--timeout` is not given.
        kind: Which client it needs, by the configuration of that. An argument that is called as a
            field of it is that field.
        prints: Whether there is a result, that can be had as JSON.
    """
    parser.set_defaults(parser=parser, run=run, before=before, time_option=time_option, alone=None)
    # Whose options are read, and for which client: `bench` has another one for these.
    parser.set_defaults(kind_of_config=kind, kind_of_client=kind, client_defaults={})
    add = parser.add_argument_group("connection").add_argument
    add(
        *("-b", "--bootstrap-server"),
        metavar="HOST:PORT",
        action="append",
        help="a broker to begin with; several may be given, or joined by commas",
    )
    add("--config", metavar="FILE", help="options of Kafka's clients, in Java's properties format")
    add(
        "-X",
        dest="kafka_options",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=assignment,
        help="one such option, as in -X request.timeout.ms=5000; no secrets",
    )
    add(
        "--timeout",
        metavar="SECONDS",
        type=_seconds,
        help="how long connecting may take, and how long the whole command"
        " (10 and 60 if not given; 10 for all of ping; produce and consume take what records do)",
    )
    add("--client-id", metavar="NAME", help=f"our name in the broker's logs ({CLIENT_ID})")
    _add_security(parser)
    add = parser.add_argument_group("output").add_argument
    if prints:
        add("--json", action="store_true", help="print one JSON document, with the keys told below")
    else:
        parser.set_defaults(json=False)
    add("-v", "--verbose", action="count", default=0, help="say what happens; -vv says more")
    add("--debug", action="store_true", help="with an error, show where in our code it came from")


def _add_security(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("security").add_argument
    protocols = ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
    mechanisms = ["GSSAPI", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]
    add(
        "--security-protocol",
        metavar="PROTOCOL",
        type=str.upper,
        choices=protocols,
        help=f"one of {', '.join(protocols)}; the first if not given",
    )
    add(
        "--sasl-mechanism",
        metavar="MECHANISM",
        type=str.upper,
        choices=mechanisms,
        help=f"one of {', '.join(mechanisms)}",
    )
    add("--username", metavar="NAME", help="the user of PLAIN and SCRAM")
    add(
        "--password-file",
        metavar="FILE",
        help=f"a file with the password; or set {PASSWORD}, or wait to be asked for it",
    )
    add("--password", nargs="?", action=_Refuse, help=argparse.SUPPRESS)
    add("--token-file", metavar="FILE", help="a file with the token of OAUTHBEARER")
    add("--ca", metavar="FILE", help="whom to trust (PEM or PKCS12); the system's if not given")
    add("--cert", metavar="FILE", help="our certificate, with its key if --key is not given")
    add("--key", metavar="FILE", help="the key of that certificate (PEM)")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= 86_400:
        raise argparse.ArgumentTypeError("give a number of seconds, up to a day")
    return seconds


class _Refuse(argparse.Action):
    """An option that people expect, and should not use."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        parser.error(
            f"--password is not taken: {SEEN}; use --password-file, set {PASSWORD}, or leave it"
            " out to be asked"
        )
