"""`kafka-aio consume`: its arguments, and the records that they ask for. Pure."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kafka_aio.cli import options, terminal
from kafka_aio.cli.arguments import add_forms, number, typed, whole_number
from kafka_aio.cli.options import Left
from kafka_aio.cli.output import Report
from kafka_aio.cli.parser import Parser
from kafka_aio.cli.places import BEGINNING, END, Kind, Place, place
from kafka_aio.config import ConsumerConfig
from kafka_aio.errors import ConfigError

if TYPE_CHECKING:
    from kafka_aio.cli.consume_output import Form
    from kafka_aio.consumer import Consumer

_PORTION: Final = 5_000
"""Records that are written at a time, at most."""
_MOST_PARTITIONS: Final = 100_000

_EPILOG: Final = """\
Every record is a line: its value, as it is. A terminal gets escapes for what is not printable; a
file or a pipe gets the bytes. Whoever has newlines in values wants --json.

With --group this is a member of that group: it begins where the group is, and commits what it has
written, every 5 s (-X auto.commit.interval.ms) and at the end. --from is then for partitions of
which nothing was committed. Who is to stop at the end, and is given no partition by the group for
15 s, has come to the end too. Without --group it reads all partitions, or those of --partition, and
leaves no trace.

It goes on until Ctrl-C or SIGTERM, unless --stop-at-end, --to or --max-records end it. What it has
in hand by then is still written and committed, unless that is said twice. On stderr is how many
records there were; and while it goes on, where that is a terminal and the output is not, how fast
they come, and the lag: how many are still to be read.

places, for --from and --to:
  beginning   the first record that there is
  end         after the last record that there is now
  1234        an offset
  -10         the last 10 records of each partition
  2026-11-30T08:00, 2026-11-30T07:00Z, @1796029200000
              the first record of that time or later; it is the time of this machine if no zone is
              given. The last one is in milliseconds since 1970
  90s, 15m, 12h, 7d
              so long ago

fields of a line of --json, which `kafka-aio produce --json` reads:
  topic       where the record is from
  partition   a number
  offset      a number
  timestamp   milliseconds since 1970, or null
  key         text or null
  value       text; null is a tombstone
  headers     a list of pairs [name, value]
What is not UTF-8 is {"base64": "AP8="} in place of a text.

examples:
  kafka-aio consume orders -b localhost:9092
  kafka-aio consume orders --from -5 --stop-at-end -b localhost:9092
  kafka-aio consume orders payments --group audit --json -b localhost:9092 >> audit.jsonl
  kafka-aio consume orders --partition 0 --from 1200 --to 1300 --key-separator : -b localhost:9092
  kafka-aio consume orders --from 15m --max-records 10 --headers -b localhost:9092
  kafka-aio consume orders --json --stop-at-end -b localhost:9092 \\
      | jq -c 'del(.topic, .partition)' | kafka-aio produce copy --json -b localhost:9092
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be read."""

    topics: tuple[str, ...]
    partitions: tuple[int, ...] = ()
    """Of the one topic; all if there are none."""
    group: str | None = None
    begin: Place | None = None
    """If none, where the configuration says."""
    end: Place | None = None
    """If none, there is no end."""
    max_records: int | None = None


def fill(parser: Parser) -> None:
    """Add the arguments."""
    parser.epilog = _EPILOG
    parser.add_argument("topics", metavar="TOPIC", nargs="+", help="where the records are")
    _add_places(parser)
    _add_form(parser)
    options.add_to(
        parser,
        run,
        before=check,
        time_option="socket_connection_setup_timeout_ms",
        kind=ConsumerConfig,
        prints=False,
    )
    # A topic that somebody has misspelt is not to be created.
    parser.set_defaults(
        client_defaults={"max_poll_records": _PORTION, "allow_auto_create_topics": False}
    )


def _add_places(parser: Parser) -> None:
    group = parser.add_argument_group("records")
    add = group.add_argument
    either = group.add_mutually_exclusive_group()
    either.add_argument(
        *("-g", "--group"),
        dest="group_id",
        metavar="NAME",
        help="share the topics with the members of this group, and commit what was written",
    )
    either.add_argument(
        "--partition",
        dest="partitions",
        metavar="N",
        type=_partitions,
        help="read these alone, as in 3 or 0,4-7; all if not given",
    )
    add(
        "--from",
        dest="begin",
        metavar="PLACE",
        type=place,
        help="where to begin, see below (end; beginning, if it is to stop at the end)",
    )
    ends = group.add_mutually_exclusive_group()
    ends.add_argument(
        "--to", dest="end", metavar="PLACE", type=place, help="where to end: before this"
    )
    ends.add_argument(
        "--stop-at-end",
        dest="end",
        action="store_const",
        const=END,
        help="end where the topic ended when this began, instead of waiting for more",
    )
    add("--max-records", metavar="N", type=whole_number, help="end after so many")
    add(
        "--read-committed",
        dest="isolation_level",
        action="store_const",
        const="read_committed",
        help="leave out the records of transactions that are open or aborted",
    )


def _add_form(parser: Parser) -> None:
    group = parser.add_argument_group("lines")
    add = group.add_argument
    add_forms(
        group,
        keys="begin each line with the key, and this after it",
        objects="write JSON objects",
    )
    add("--null-value", metavar="TEXT", help="what to write for null (nothing)")
    add(
        "--headers",
        action="store_true",
        help="begin each line with name=value,name=value and a tab",
    )


def _partitions(text: str) -> tuple[int, ...]:
    found: dict[int, None] = {}
    for part in text.split(","):
        first, _, last = part.partition("-")
        span = range(number(first), number(last or first) + 1)
        if not span or len(span) > _MOST_PARTITIONS:
            raise argparse.ArgumentTypeError("give numbers and spans of them, as in 0,4-7")
        found.update(dict.fromkeys(span))
    return tuple(found)


def check(given: argparse.Namespace) -> None:
    """What can be seen before there is a connection; and the configuration is made to fit.

    Raises:
        ConfigError: Two options contradict each other.
    """
    if given.json_lines and (given.headers or given.null_value is not None):
        raise ConfigError("--headers and --null-value do not go with --json, which has them")
    if sys.stdout is None:
        raise ConfigError("stdout is closed: there is nowhere to write to")
    config: ConsumerConfig = given.client_config
    if len(set(given.topics)) < len(given.topics):
        raise ConfigError("a topic is given twice")
    if given.partitions and len(given.topics) > 1:
        raise ConfigError("--partition is of one topic: give one")
    if given.begin is not None and given.end is not None and given.begin.is_after(given.end):
        raise ConfigError("--from is after --to: there is nothing between them")
    changes: dict[str, object] = {"key_deserializer": None, "value_deserializer": None}
    if config.group_id is not None:
        _check_group(given)
        changes["auto_offset_reset"] = _reset(given, config)
    given.client_config = config.replace(**changes)


def _check_group(given: argparse.Namespace) -> None:
    if given.partitions:
        raise ConfigError("--partition does not go with a group, which decides that: leave it out")
    if given.end not in (None, END):
        raise ConfigError("--to does not go with a group: give --stop-at-end, or no group")
    if given.begin is not None and given.begin.kind not in (Kind.BEGINNING, Kind.END, Kind.AGO):
        raise ConfigError(
            "a group begins where it has committed: --from can be beginning, end, or so long ago,"
            " for partitions of which nothing was committed"
        )


def _reset(given: argparse.Namespace, config: ConsumerConfig) -> str:
    """Where a group begins of which nothing was committed."""
    begin: Place | None = given.begin
    if begin is None:
        is_default = config.auto_offset_reset == "latest"
        return "earliest" if given.end == END and is_default else config.auto_offset_reset
    if begin.kind is Kind.AGO:
        return f"by_duration:PT{begin.number // 1000}S"
    return "earliest" if begin.kind is Kind.BEGINNING else "latest"


def wanted(given: argparse.Namespace) -> Wanted:
    """What is to be read."""
    group: str | None = given.client_config.group_id
    begin: Place | None = given.begin
    if begin is None and given.end is not None:
        begin = BEGINNING
    return Wanted(
        topics=tuple(given.topics),
        partitions=given.partitions or (),
        group=group,
        begin=None if group is not None else begin,
        end=given.end,
        max_records=given.max_records,
    )


def form(given: argparse.Namespace, *, is_for_terminal: bool) -> Form:
    """How a record is to be written."""
    from kafka_aio.cli.consume_output import Form  # late: help and mistakes do without records

    return Form(
        is_json=given.json_lines,
        key_separator=None if given.key_separator is None else typed(given.key_separator),
        null_value=typed(given.null_value or ""),
        has_headers=given.headers,
        is_for_terminal=is_for_terminal,
    )


async def run(given: argparse.Namespace, consumer: Consumer[bytes, bytes], left: Left) -> Report:
    """Write what is read."""
    from kafka_aio.cli import consuming  # late: as above

    return await consuming.consume(
        consumer,
        wanted(given),
        form(given, is_for_terminal=terminal.has_output()),
        timeout=left(),
        commits=given.client_config.enable_auto_commit,
    )
