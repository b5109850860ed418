"""`kafka-aio broker`: its arguments, the broker that they ask for, and what is printed. Pure."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kafka_aio.cli import terminal
from kafka_aio.cli.arguments import assignment, whole_number
from kafka_aio.cli.credentials import read_bytes, read_secret
from kafka_aio.cli.options import PASSWORD
from kafka_aio.cli.output import Report
from kafka_aio.cli.parser import Parser
from kafka_aio.config import properties
from kafka_aio.errors import ConfigError

if TYPE_CHECKING:
    from kafka_aio.broker import EmbeddedBroker

_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

_EPILOG: Final = f"""\
It runs until Ctrl-C or SIGTERM, and then ends with 0. All that it holds is in its memory, and gone
with it. It listens on a loopback address only: it is for tests and development.

With --sasl-user, the password is that of --password-file, or of {PASSWORD}, or it is asked
for. With --tls and without --cert, certificates are made for the time of the run; --ca-out writes
the one that clients have to trust (`kafka-aio ping --ca FILE`).

keys of --json, printed once it can be used:
  bootstrap_servers    text, as clients take it
  security_protocol    what clients have to speak
  sasl_mechanisms      names
  ca_pem               the certificate that clients have to trust, or null
  topics               the topics given, each with the number of its partitions

examples:
  kafka-aio broker --port 9092 --topic orders:3 --topic payments
  kafka-aio broker --nodes 3 -X auto.create.topics.enable=false
  kafka-aio broker --tls --ca-out ca.pem --sasl-user alice --password-file secret
"""


def fill(parser: Parser) -> None:
    """Add the arguments."""
    from kafka_aio.cli.serving import serve

    parser.epilog = _EPILOG
    parser.set_defaults(parser=parser, alone=serve)
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="the loopback address to listen on (127.0.0.1)")
    add("--port", type=_port, default=9092, help="of the first node; others follow (9092; 0: any)")
    add("--nodes", metavar="N", type=whole_number, default=1, help="how many brokers (1)")
    add(
        *("--topic", "--topics"),
        metavar="NAME[:PARTITIONS]",
        dest="topics",
        action="extend",
        type=_topics,
        default=[],
        help="a topic to begin with; several may be given, or joined by commas",
    )
    add(
        "-X",
        dest="kafka_options",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=assignment,
        help="an option of Kafka's brokers, as in -X num.partitions=3",
    )
    add("--seed", type=int, help="for the ids that it makes up: the same seed, the same ids")
    _add_security(parser)
    add = parser.add_argument_group("output").add_argument
    add("--json", action="store_true", help="print one JSON document, with the keys told below")
    add("-v", "--verbose", action="count", default=0, help="say what happens; -vv says more")
    add("--debug", action="store_true", help="with an error, show where in our code it came from")


def _add_security(parser: Parser) -> None:
    add = parser.add_argument_group("security").add_argument
    add("--tls", action="store_true", help="clients have to speak TLS")
    add("--cert", metavar="FILE", help="the broker's own certificate and key (PEM); implies --tls")
    add("--ca", metavar="FILE", help="who has signed it (PEM)")
    add("--client-auth", choices=("none", "requested", "required"), default="none", help="mTLS")
    add("--ca-out", metavar="FILE", help="where to write whom clients have to trust")
    add("--sasl-user", metavar="NAME", help="clients have to log in as this user")
    add("--users", metavar="FILE", help="several users, as name=password in properties format")
    add("--password-file", metavar="FILE", help="a file with the password of --sasl-user")
    add(
        "--sasl-mechanism",
        metavar="MECHANISM",
        action="append",
        type=str.upper,
        choices=_MECHANISMS,
        help=f"one of {', '.join(_MECHANISMS)}; all of them if none is given",
    )


def arguments(given: argparse.Namespace) -> dict[str, Any]:
    """What `EmbeddedBroker` is made with.

    Raises:
        ConfigError: A file cannot be read, an option lacks another, or a topic is given twice.
    """
    users = _users(given)
    if given.sasl_mechanism and not users:
        raise ConfigError("--sasl-mechanism needs --sasl-user or --users")
    return {
        "host": given.host,
        "port": given.port,
        "nodes": given.nodes,
        "topics": _topic_counts(given.topics),
        "options": dict(given.kafka_options),
        "seed": given.seed,
        "users": users or None,
        "mechanisms": given.sasl_mechanism,
        "tls": _certificates(given),
    }


def _topic_counts(given: list[tuple[str, int]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name, count in given:
        if name in counts:
            raise ConfigError(f"--topic {name} is given twice: leave one out")
        counts[name] = count
    return counts


def _users(given: argparse.Namespace) -> dict[str, str]:
    users: dict[str, str] = {}
    if given.users is not None:
        users.update(properties.parse(properties.decode(read_bytes(given.users))))
    if given.sasl_user is not None:
        users[given.sasl_user] = _password(given)
    elif given.password_file is not None:
        raise ConfigError("--password-file needs --sasl-user")
    return users


def _password(given: argparse.Namespace) -> str:
    if given.password_file is not None:
        return read_secret("--password-file", given.password_file)
    if (password := os.environ.get(PASSWORD)) is not None:
        return password
    if not terminal.is_there():
        raise ConfigError(f"--sasl-user needs a password: give --password-file, or set {PASSWORD}")
    return terminal.ask_secret(f"password of {given.sasl_user}: ")


def _certificates(given: argparse.Namespace) -> Any:
    if given.cert is None:
        if given.ca is not None:
            raise ConfigError("--ca needs --cert: certificates that are made have an own authority")
        if not given.tls:
            for option in ("client_auth", "ca_out"):
                if getattr(given, option) not in (None, "none"):
                    raise ConfigError(f"--{option.replace('_', '-')} needs --tls")
            return False
    from kafka_aio.broker.security.certificates import (
        Certificates,  # late: without TLS it is not needed
    )

    if given.cert is None:
        return Certificates.generate(client_auth=given.client_auth)
    if given.ca is None:
        raise ConfigError("--cert needs --ca: who has signed it")
    cert, ca = (read_bytes(name).decode(errors="replace") for name in (given.cert, given.ca))
    return Certificates.from_pem(cert, ca_pem=ca, client_auth=given.client_auth)


def report(broker: EmbeddedBroker, given: argparse.Namespace) -> Report:
    """What to print once it can be used."""
    made = document(broker, given)
    lines = [
        "A Kafka broker in memory, for tests and development: what it holds is gone when it ends.",
        "",
        f"bootstrap servers  {made['bootstrap_servers']}",
        f"security protocol  {made['security_protocol']}",
    ]
    if made["sasl_mechanisms"]:
        lines.append(f"SASL mechanisms    {', '.join(made['sasl_mechanisms'])}")
    if made["topics"]:
        topics = ", ".join(f"{name} ({count})" for name, count in made["topics"].items())
        lines.append(f"topics             {topics}")
    lines += [
        f"try it             kafka-aio ping {_way_in(made, given)}",
        "stop it            Ctrl-C",
    ]
    if made["ca_pem"] is not None and given.ca_out is None:
        lines += ["", "clients have to trust:", *made["ca_pem"].strip().splitlines()]
    return Report(made, lines)


def document(broker: EmbeddedBroker, given: argparse.Namespace) -> dict[str, Any]:
    """The document of `--json`."""
    is_tls = broker.security_protocol.endswith("SSL")
    return {
        "bootstrap_servers": broker.bootstrap_servers,
        "security_protocol": broker.security_protocol,
        "sasl_mechanisms": list(broker.mechanisms),
        "ca_pem": broker.certificates.ca_pem if is_tls else None,
        "topics": dict(given.topics),
    }


def _way_in(made: Mapping[str, Any], given: argparse.Namespace) -> str:
    words = ["-b", made["bootstrap_servers"]]
    if made["security_protocol"] != "PLAINTEXT":
        words += ["--security-protocol", made["security_protocol"]]
    if made["ca_pem"] is not None:
        words += ["--ca", given.ca_out or "FILE"]
    if made["sasl_mechanisms"]:
        words += ["--sasl-mechanism", made["sasl_mechanisms"][0]]
        words += ["--username", given.sasl_user or "NAME"]
    return " ".join(words)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError("give a port, from 0 (any) to 65535")
    return int(text)


def _topics(text: str) -> list[tuple[str, int]]:
    """Names, each with the number of its partitions."""
    found = []
    for each in text.split(","):
        name, _, count = each.strip().partition(":")
        if not name:
            raise argparse.ArgumentTypeError("give NAME or NAME:PARTITIONS, joined by commas")
        found.append((name, whole_number(count) if count else 1))
    return found
