"""The arguments of `kafka-aio bench`. Pure."""

from __future__ import annotations

import argparse
from typing import Any, Final

from kafka_aio.cli.arguments import whole_number
from kafka_aio.cli.bench.plan import PATHS, READ_PATHS, Workload
from kafka_aio.cli.parser import Parser
from kafka_aio.config import ClientConfig, ConsumerConfig, ProducerConfig

ABOUT: Final = {
    "produce": "how many records a second can be written",
    "latency": "how long one awaited record takes, one after the other",
    "tasks": "how fast many tasks are that each await one record after the other",
    "consume": "how many records a second can be read",
    "end-to-end": "how long a record takes from the call that sends it to who reads it",
}
RECORDS: Final = 2_000_000
"""So many there are to be read."""

_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")


def kind_of_config(kind: str) -> type[ClientConfig]:
    """Whose options are given."""
    return ConsumerConfig if kind == "consume" else ProducerConfig


def defaults(kind: str) -> dict[str, int]:
    """Options of a client that have other defaults here."""
    plain = Workload()
    if kind == "consume":
        return {"max_partition_fetch_bytes": plain.max_partition_fetch_bytes}
    linger = 0 if kind in ("latency", "end-to-end") else plain.linger_ms
    return {"linger_ms": linger, "batch_size": plain.batch_size}


def add_to(parser: Parser, kind: str) -> None:
    """Add those of one command."""
    parser.set_defaults(kind=kind)
    if kind == "consume":
        _add_reading(parser)
    else:
        _add_writing(parser, kind)
    _add_rounds(parser, kind)


def _add_reading(parser: Parser) -> None:
    add = parser.add_argument_group("records").add_argument
    plain = Workload()
    add(
        "--path",
        choices=READ_PATHS,
        default=READ_PATHS[0],
        help="lists: as many as a call brings; each: one after the other; arrow: columns (lists)",
    )
    _add_number(add, "--records", RECORDS, "how many there are", "records")
    _add_number(add, "--size", plain.record_size, "bytes of a value", "record_size")
    add("--no-keys", dest="keyed", action="store_false", help="keys of 8 bytes are left out")
    add("--codec", choices=_CODECS, default="none", help="how batches are compressed (none)")
    add(
        "--fetch-bytes",
        dest="max_partition_fetch_bytes",
        metavar="N",
        type=whole_number,
        help=f"bytes of a partition in one fetch ({plain.max_partition_fetch_bytes})",
    )
    group = parser.add_argument_group("topic")
    _add_partitions(group)
    _add_replicas(group)


def _add_writing(parser: Parser, kind: str) -> None:
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
    if kind == "end-to-end":
        add(
            "--rate",
            metavar="N",
            type=whole_number,
            help="so many a second; if not given, the next one is sent when the last has arrived",
        )
    _add_number(add, "--size", plain.record_size, "bytes of a value", "record_size")
    if kind != "end-to-end":
        add("--keys", dest="keyed", action="store_true", help="give each record a key of 8 bytes")
    add(
        "--codec",
        dest="compression_type",
        choices=_CODECS,
        help="how batches are compressed (none)",
    )
    add("--acks", choices=("all", "1", "0"), help="who has to have them (all)")
    _add_batches(add, defaults(kind))
    group = parser.add_argument_group("topic")
    if kind == "end-to-end":
        _add_partitions(group)
    else:
        topic = group.add_mutually_exclusive_group()
        topic.add_argument("--topic", metavar="NAME", help="write to this one, which is there")
        _add_partitions(topic)
    _add_replicas(group)


def _add_batches(add: Any, defaults: dict[str, int]) -> None:
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


def _add_partitions(group: Any) -> None:
    _add_number(
        group.add_argument,
        "--partitions",
        Workload().partitions,
        "of the topics that are created, and deleted at the end",
        "partitions",
    )


def _add_replicas(group: Any) -> None:
    _add_number(
        group.add_argument,
        "--replication-factor",
        -1,
        "how many replicas they have; the cluster's default if not given",
        "replication_factor",
    )


def _add_rounds(parser: Parser, kind: str) -> None:
    group = parser.add_argument_group("measuring")
    add = group.add_argument
    plain = Workload()
    if kind == "consume":
        add(
            "--watch",
            dest="is_watched",
            action="store_true",
            help="see what single callbacks of the loop take (asyncio's own)",
        )
        _add_seconds(group, "how long each client reads, if that is not all")
    else:
        _add_length(group)
    _add_number(add, "--repetitions", 3, "how often all of that is done", "repetitions")
    add(
        "--loop",
        choices=("asyncio", "uvloop"),
        default=plain.loop,
        help="the event loop of clients that need one (asyncio)",
    )
    _add_number(add, "--seed", plain.seed, "what the random records begin with", "seed")
    if kind == "end-to-end":
        parser.set_defaults(ceiling=False)
    else:
        add("--no-ceiling", dest="ceiling", action="store_false", help="leave that row out")
    add(
        "--peers",
        metavar="NAMES",
        nargs="?",
        const="",
        help="run other clients too: all, or these, joined by commas",
    )


def _add_length(group: Any) -> None:
    length = group.add_mutually_exclusive_group()
    _add_seconds(length, "how long each client writes")
    length.add_argument(
        "--records", metavar="N", type=whole_number, help="instead: how many records it writes"
    )
    group.add_argument(
        "--warm-up",
        metavar="SECONDS",
        type=_not_negative,
        default=Workload().warm_up,
        help=f"how long it writes before that ({Workload().warm_up:g})",
    )


def _add_seconds(group: Any, text: str) -> None:
    default = Workload().seconds
    group.add_argument(
        "--seconds", metavar="N", type=_positive, default=default, help=f"{text} ({default:g})"
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
