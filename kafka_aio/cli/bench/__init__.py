"""`kafka-aio bench`: how fast this client is on a cluster, and its peers beside it. Pure.

`plan` says what is done, `clients` who takes part, `rounds` starts a `worker` for each of them;
there an adapter (`ours`, `ceiling`, or a peer's) does its `work` in one of the ways of `workloads`.
`summary` is what has come of it.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from typing import Any, Final

from kafka_aio.admin import Admin
from kafka_aio.cli import options, terminal
from kafka_aio.cli.arguments import whole_number
from kafka_aio.cli.bench import summary
from kafka_aio.cli.bench.clients import CEILING, OURS, Client, peers
from kafka_aio.cli.bench.plan import PATHS, Workload, portable
from kafka_aio.cli.options import Left
from kafka_aio.cli.output import Report
from kafka_aio.cli.parser import Parser
from kafka_aio.config import AdminConfig, ProducerConfig
from kafka_aio.errors import ConfigError

_ABOUT: Final = {
    "produce": "how many records a second can be written",
    "latency": "how long one awaited record takes, one after the other",
    "tasks": "how fast many tasks are that each await one record after the other",
}
_EPILOG: Final = """\
Every client has a process of its own, and takes its turn in every repetition. Values look like rows
of JSON, with random fields. CPU is that of the client's process, for a million records; a stall is
the longest time that its event loop let a timer wait. A run in which a record fails is no result.

The ceiling is what the broker takes if requests are made beforehand: who comes near it has found
the broker full.

--peers runs confluent-kafka, aiokafka and kafka-python too, where they are installed, with the
adapters in benchmarks/peers of a checkout. All clients have the same settings, and idempotence
where they have it.

--config and -X are for our producer, as in -X buffer.memory=1000000. Of these options, peers get
those of the connection, acks, batch.size, compression.type, enable.idempotence and linger.ms.

keys of --json:
  {keys}

examples:
  kafka-aio bench produce -b localhost:9092
  kafka-aio bench produce -b localhost:9092 --codec zstd --size 1000 --peers
  kafka-aio bench tasks -b localhost:9092 --tasks 20000 --loop uvloop --peers aiokafka
"""


def fill(parser: Parser) -> None:
    """Add the sub-commands and their arguments."""
    commands = parser.add_subparsers(
        metavar="COMMAND", title="commands", parser_class=Parser, required=True
    )
    for kind, about in _ABOUT.items():
        its: Parser = commands.add_parser(
            kind,
            help=about,
            description=f"Measure {about}.",
            epilog=_EPILOG.format(keys="\n  ".join(summary.KEYS)),
        )
        its.set_defaults(kind=kind)
        _add_workload(its, kind)
        _add_rounds(its)
        options.add_to(its, run, before=check, kind=ProducerConfig)
        its.set_defaults(kind_of_client=AdminConfig, client_defaults=_defaults(kind))


def _defaults(kind: str) -> dict[str, int]:
    """Options of the producer that have other defaults here."""
    plain = Workload()
    linger = 0 if kind == "latency" else plain.linger_ms
    return {"linger_ms": linger, "batch_size": plain.batch_size}


def _add_workload(parser: Parser, kind: str) -> None:
    add = parser.add_argument_group("records").add_argument
    plain = Workload()
    if kind == "produce":
        add(
            "--path",
            choices=PATHS,
            default=plain.path,
            help="submit: a call for each, and a look at each delivery; many: lists in one call;"
            " arrow: columns in one call (submit)",
        )
    if kind == "tasks":
        add(
            "--tasks",
            metavar="N",
            type=whole_number,
            default=plain.tasks,
            help=f"how many at a time ({plain.tasks})",
        )
    _add_number(add, "--size", plain.record_size, "bytes of a value", "record_size")
    add("--keys", dest="keyed", action="store_true", help="give each record a key of 8 bytes")
    add(
        "--codec",
        dest="compression_type",
        choices=("none", "gzip", "snappy", "lz4", "zstd"),
        help="how batches are compressed (none)",
    )
    add("--acks", choices=("all", "1", "0"), help="who has to have them (all)")
    defaults = _defaults(kind)
    add(
        "--linger",
        dest="linger_ms",
        metavar="MS",
        type=_milliseconds,
        help=f"how long a batch may wait for more records ({defaults['linger_ms']})",
    )
    add(
        "--batch-size",
        metavar="N",
        type=whole_number,
        help=f"bytes of a batch ({defaults['batch_size']})",
    )
    topic = parser.add_argument_group("topic").add_mutually_exclusive_group()
    topic.add_argument("--topic", metavar="NAME", help="write to this one, which is there")
    _add_number(
        topic.add_argument,
        "--partitions",
        plain.partitions,
        "of the topics that are created, and deleted at the end",
        "partitions",
    )
    _add_number(
        parser.add_argument, "--replication-factor", -1, "their replicas", "replication_factor"
    )


def _add_rounds(parser: Parser) -> None:
    group = parser.add_argument_group("measuring")
    plain = Workload()
    length = group.add_mutually_exclusive_group()
    length.add_argument(
        "--seconds",
        metavar="N",
        type=_positive,
        default=plain.seconds,
        help=f"how long each client writes ({plain.seconds:g})",
    )
    length.add_argument(
        "--records", metavar="N", type=whole_number, help="instead: how many records it writes"
    )
    add = group.add_argument
    add(
        "--warm-up",
        metavar="SECONDS",
        type=_not_negative,
        default=plain.warm_up,
        help=f"how long it writes before that ({plain.warm_up:g})",
    )
    _add_number(add, "--repetitions", 3, "how often all of that is done", "repetitions")
    add(
        "--loop",
        choices=("asyncio", "uvloop"),
        default=plain.loop,
        help="the event loop of clients that need one (asyncio)",
    )
    _add_number(add, "--seed", plain.seed, "what the random records begin with", "seed")
    add("--no-ceiling", dest="ceiling", action="store_false", help="leave that row out")
    add(
        "--peers",
        metavar="NAMES",
        nargs="?",
        const="",
        help="run other clients too: all, or these, joined by commas",
    )


def _add_number(add: Any, flag: str, default: int, text: str, dest: str) -> None:
    shown = f"{text} ({default})" if default >= 0 else text
    add(flag, dest=dest, metavar="N", type=whole_number, default=default, help=shown)


def _milliseconds(text: str) -> int:
    if not text.isdecimal() or int(text) > 86_400_000:
        raise argparse.ArgumentTypeError("give a whole number of milliseconds")
    return int(text)


def _not_negative(text: str) -> float:
    number = float(text) if text.replace(".", "", 1).isdecimal() else -1.0
    if not 0 <= number <= 86_400:
        raise argparse.ArgumentTypeError("give a number, 0 or more")
    return number


def _positive(text: str) -> float:
    number = _not_negative(text)
    if not number:
        raise argparse.ArgumentTypeError("give a number above 0")
    return number


def workload(given: argparse.Namespace) -> Workload:
    """What the arguments ask for, and the options of the producer that every client gets."""
    config: ProducerConfig = given.client_config
    names = Workload.__dataclass_fields__
    asked = {name: value for name, value in vars(given).items() if name in names}
    asked |= {name: getattr(config, name) for name in ("linger_ms", "batch_size")}
    return Workload(**{**asked, "acks": str(config.acks), "codec": config.compression_type})


def check(given: argparse.Namespace) -> None:
    """What only shows when the options are seen together.

    Raises:
        ConfigError: They do not fit, or something has to be installed for them.
    """
    asked = workload(given)
    for name, extra, is_needed in (
        ("uvloop", "uvloop", asked.loop == "uvloop"),
        ("pyarrow", "arrow", asked.way == "arrow"),
    ):
        if is_needed and find_spec(name) is None:
            raise ConfigError(f"{name} is not installed: pip install 'kafka-aio[{extra}]'")
    _clients(given)


def _clients(given: argparse.Namespace) -> tuple[list[Client], list[str]]:
    clients = [OURS, *([CEILING] if given.ceiling else [])]
    if given.peers is None:
        return clients, []
    found, notes = peers([name for name in given.peers.split(",") if name])
    return [*clients, *found], notes


async def run(given: argparse.Namespace, admin: Admin, left: Left) -> Report:
    """Measure."""
    from kafka_aio.cli.bench import rounds  # late: help and mistakes do without processes

    asked = workload(given)
    clients, notes = _clients(given)
    for note in notes:
        terminal.say("info", note)
    match = rounds.Match(
        workload=asked,
        clients=clients,
        connection=portable(given.client_config),
        repetitions=given.repetitions,
        topic=given.topic,
        replication_factor=given.replication_factor,
    )
    outcomes = await rounds.play(match, admin, terminal.show)
    for client in clients:
        if client not in outcomes:
            terminal.say("info", f"{client.name} has no such workload: left out")
    found = summary.summaries(outcomes)
    errors = [each for runs in outcomes.values() for each in runs if isinstance(each, Exception)]
    return Report(summary.document(asked, found), summary.lines(found), errors)
