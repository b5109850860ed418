"""`kafka-aio bench`: how fast this client is on a cluster, and its peers beside it. Pure.

`plan` says what is done, `clients` who takes part, `rounds` starts a `worker` for each of them;
there an adapter (`ours`, `ceiling`, or a peer's) does its `work` in one of the ways of `workloads`
or `crossing`. `summary` is what has come of it.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from typing import Final

from kafka_aio.admin import Admin
from kafka_aio.cli import options, terminal
from kafka_aio.cli.bench import arguments, summary
from kafka_aio.cli.bench.clients import CEILING, OURS, Client, peers
from kafka_aio.cli.bench.plan import Workload, portable
from kafka_aio.cli.options import Left
from kafka_aio.cli.output import Report
from kafka_aio.cli.parser import Parser
from kafka_aio.config import AdminConfig, ClientConfig, ProducerConfig
from kafka_aio.errors import ConfigError

_EPILOG: Final = """\
Every client has a process of its own, and takes its turn in every repetition. Values look like rows
of JSON, with random fields. CPU is that of the client's process, for a million records; a stall is
the longest time that its event loop let a timer wait. A run in which a record fails is no result.

The ceiling is what the broker takes if requests are made beforehand, or gives to who does not look
at the records: who comes near it has found the broker full.

What is to be read is written before, with our producer, to a topic that is deleted at the end. Each
client is a group of one, and is measured from its first records on; it commits nothing. A run in
which records are missing, or come twice, is no result.

--peers runs confluent-kafka, aiokafka and kafka-python too, where they are installed, with the
adapters in benchmarks/peers of a checkout. All clients have the same settings, and idempotence
where they have it.

--config and -X are for our producer, as in -X buffer.memory=1000000; with consume for our consumer.
Of these options, peers get those of the connection, acks, batch.size, compression.type,
enable.idempotence, linger.ms and max.partition.fetch.bytes.

keys of --json:
  {keys}

examples:
  kafka-aio bench produce -b localhost:9092
  kafka-aio bench produce -b localhost:9092 --codec zstd --size 1000 --peers
  kafka-aio bench tasks -b localhost:9092 --tasks 20000 --loop uvloop --peers aiokafka
  kafka-aio bench consume -b localhost:9092 --codec zstd --path each --peers
  kafka-aio bench end-to-end -b localhost:9092 --rate 1000
"""


def fill(parser: Parser) -> None:
    """Add the sub-commands and their arguments."""
    commands = parser.add_subparsers(
        metavar="COMMAND", title="commands", parser_class=Parser, required=True
    )
    for kind, about in arguments.ABOUT.items():
        its: Parser = commands.add_parser(
            kind,
            help=about,
            description=f"Measure {about}.",
            epilog=_EPILOG.format(keys="\n  ".join(summary.KEYS)),
        )
        arguments.add_to(its, kind)
        options.add_to(its, run, before=check, kind=arguments.kind_of_config(kind))
        its.set_defaults(kind_of_client=AdminConfig, client_defaults=arguments.defaults(kind))


def workload(given: argparse.Namespace) -> Workload:
    """What the arguments ask for, and the options of a client that every client gets."""
    config: ClientConfig = given.client_config
    names = Workload.__dataclass_fields__
    asked = {name: value for name, value in vars(given).items() if name in names}
    asked |= {name: getattr(config, name) for name in arguments.defaults(given.kind)}
    if isinstance(config, ProducerConfig):
        asked |= {"acks": str(config.acks), "codec": config.compression_type}
    return Workload(**asked)


def check(given: argparse.Namespace) -> None:
    """What only shows when the options are seen together.

    Raises:
        ConfigError: They do not fit, or something has to be installed for them.
    """
    asked = workload(given)
    if asked.is_watched and asked.loop != "asyncio":
        raise ConfigError(f"--watch sees into asyncio's own loop alone, not into {asked.loop}")
    for name, extra, is_needed in (
        ("uvloop", "uvloop", asked.loop == "uvloop"),
        ("pyarrow", "arrow", asked.path == "arrow"),
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
        topic=getattr(given, "topic", None),
        replication_factor=given.replication_factor,
    )
    outcomes = await rounds.play(match, admin, terminal.show)
    for client in clients:
        if client not in outcomes:
            terminal.say("info", f"{client.name} has no such workload: left out")
    found = summary.summaries(outcomes)
    errors = [each for runs in outcomes.values() for each in runs if isinstance(each, Exception)]
    return Report(summary.document(asked, found), summary.lines(found), errors)
