"""`kafka-aio produce`: its arguments, and the records that they ask for. Pure."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from typing import TYPE_CHECKING, Final

from kafka_aio.cli import options
from kafka_aio.cli.arguments import add_forms, assignment, number, typed, whole_number
from kafka_aio.cli.options import Left
from kafka_aio.cli.output import Report
from kafka_aio.cli.parser import Parser
from kafka_aio.config import ProducerConfig
from kafka_aio.errors import ConfigError

if TYPE_CHECKING:
    from kafka_aio.cli.produce_input import Form
    from kafka_aio.producer import Producer

STDIN: Final = "-"
LONGEST: Final = 8
"""So many times longer than a request may be a line: JSON writes a byte with six."""

_EPILOG: Final = """\
Every line is a record: all bytes up to the newline, whatever they are. Lines of a pipe or a
terminal are sent as they come; Ctrl-D ends the input. Ctrl-C or SIGTERM end it too: what was read
by then is still delivered, unless that is said twice.

A line that cannot be sent (no JSON, too large, a partition that is not there) ends it with an error
that names the line; all before it is delivered, and nothing after it is sent. A record that the
cluster does not take is counted, and the others go on. At the end stderr gets a line that says how
many records were delivered, and how many were not. The exit code is 0 if all were, and 1 if not.

--timeout is for the connection, and for finding a topic; -X delivery.timeout.ms is for a record.

fields of a line of --json:
  value       text; null is a tombstone. The one that has to be there
  key         text or null
  headers     an object of names and values, or a list of pairs [name, value]
  partition   a number; in place of --partition
  timestamp   milliseconds since 1970; the time of sending if not given
  topic       in place of TOPIC
  offset      is passed over: `kafka-aio consume --json` writes it
A text stands for its bytes in UTF-8, {"base64": "AP8="} and {"hex": "00ff"} for any bytes.

examples:
  echo hello | kafka-aio produce greetings -b localhost:9092
  kafka-aio produce orders -f orders.csv --compression zstd -b localhost:9092
  kafka-aio produce users --key-separator : --null-value '' -b localhost:9092
  tail -F app.log | kafka-aio produce logs -H host=web1 --linger 100 -b localhost:9092
  jq -c '{key: .id, value: tojson}' orders.json | kafka-aio produce orders --json -b localhost:9092
"""


def fill(parser: Parser) -> None:
    """Add the arguments."""
    parser.epilog = _EPILOG
    parser.add_argument("topic", metavar="TOPIC", help="where the records go")
    _add_input(parser)
    _add_delivery(parser)
    options.add_to(
        parser,
        run,
        before=check,
        time_option="socket_connection_setup_timeout_ms",
        kind=ProducerConfig,
        prints=False,
    )


def _add_input(parser: Parser) -> None:
    group = parser.add_argument_group("records")
    add = group.add_argument
    add(
        *("-f", "--file"),
        dest="files",
        metavar="FILE",
        nargs="+",
        action="extend",
        help=f"read files, one after the other; {STDIN} is stdin, which is read if none is given",
    )
    add_forms(
        group,
        keys="the key of a line ends where this is found first",
        objects="every line is a JSON object",
    )
    add("--null-value", metavar="TEXT", help="a value that is this text is a tombstone")
    add(
        *("-H", "--header"),
        dest="headers",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=_header,
        help="a header of every record; repeatable",
    )
    add("--partition", metavar="N", type=number, help="where in the topic; by key if not given")


def _add_delivery(parser: Parser) -> None:
    add = parser.add_argument_group("delivery").add_argument
    add("--acks", choices=("all", "1", "0"), help="which replicas have to have a record (all)")
    add(
        "--compression",
        dest="compression_type",
        choices=("none", "gzip", "snappy", "lz4", "zstd"),
        help="how batches are compressed (none)",
    )
    add(
        "--linger",
        dest="linger_ms",
        metavar="MS",
        type=number,
        help="how many milliseconds a batch may wait for more records (5)",
    )
    add(
        "--batch-size",
        metavar="BYTES",
        type=whole_number,
        help="how large a batch is that waits no longer (16384)",
    )


def _header(text: str) -> tuple[str, str]:
    name, value = assignment(text)
    try:
        name.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError("the name has to be UTF-8") from None
    return name, value


def check(given: argparse.Namespace) -> None:
    """What can be seen before there is a connection.

    Raises:
        ConfigError: A file cannot be read, or two options contradict each other.
    """
    if given.json_lines and given.null_value is not None:
        raise ConfigError("--null-value does not go with --json, where null is null")
    for name in files(given):
        if name != STDIN:
            _check_file(name)
        elif sys.stdin is None:
            raise ConfigError("stdin is closed: give --file")


def _check_file(name: str) -> None:
    # Not by opening it: a named pipe notices.
    try:
        is_folder = stat.S_ISDIR(os.stat(name).st_mode)
    except OSError as error:
        raise ConfigError(f"--file {name}: {error.strerror}") from None
    if is_folder or not os.access(name, os.R_OK):
        raise ConfigError(f"--file {name}: {'a folder' if is_folder else 'it is not for us'}")


def files(given: argparse.Namespace) -> list[str]:
    """What is to be read."""
    return given.files or [STDIN]


def form(given: argparse.Namespace) -> Form:
    """How a line is to be read."""
    from kafka_aio.cli.produce_input import Form  # late: help and mistakes do without a producer

    return Form(
        topic=given.topic,
        is_json=given.json_lines,
        key_separator=_typed(given.key_separator),
        null_value=_typed(given.null_value),
        headers=tuple((name, typed(value)) for name, value in given.headers),
        partition=given.partition,
    )


def _typed(text: str | None) -> bytes | None:
    return None if text is None else typed(text)


async def run(given: argparse.Namespace, producer: Producer[bytes, bytes], left: Left) -> Report:
    """Send what is read."""
    from kafka_aio.cli import producing  # late: as above

    config: ProducerConfig = given.client_config
    return await producing.produce(
        producer,
        form(given),
        files(given),
        timeout=left(),
        longest_line=LONGEST * config.max_request_size,
    )
