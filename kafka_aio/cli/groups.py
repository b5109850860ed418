"""`kafka-aio groups`: its arguments, and what they ask of the cluster. Pure."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from kafka_aio.admin import Admin, GroupDescription, GroupState, GroupType, OffsetReset, OffsetSpec
from kafka_aio.cli import group_reports as reports
from kafka_aio.cli import options, terminal
from kafka_aio.cli.group_reports import Lags
from kafka_aio.cli.options import Left
from kafka_aio.cli.output import Report
from kafka_aio.cli.parser import Parser
from kafka_aio.cli.places import Kind, place
from kafka_aio.config import duration
from kafka_aio.errors import ConfigError, KafkaError
from kafka_aio.types import TopicPartition

_EXAMPLES: Final = """\
examples:
  kafka-aio groups list --state empty -b localhost:9092
  kafka-aio groups describe billing -b localhost:9092
  kafka-aio groups describe --all -b localhost:9092 --json | jq '.groups[] | {group, lag}'
  kafka-aio groups reset billing --topic orders --to-earliest -b localhost:9092
  kafka-aio groups reset billing --topic orders:0,1 --shift-by -100 --execute -b localhost:9092
  kafka-aio groups remove-members billing --instance-id worker-1 -b localhost:9092
"""


class Chosen(NamedTuple):
    """A topic, and which of its partitions are meant."""

    topic: str
    partitions: tuple[int, ...] = ()
    """All, if empty."""


def fill(parser: Parser) -> None:
    """Add the sub-commands and their arguments."""
    parser.epilog = _EXAMPLES
    commands = parser.add_subparsers(
        metavar="COMMAND", title="commands", parser_class=Parser, required=True
    )

    def command(name: str, purpose: str) -> Parser:
        keys = "\n  ".join(reports.KEYS[name])
        its: Parser = commands.add_parser(
            name,
            help=purpose,
            description=f"{purpose[0].upper()}{purpose[1:]}.",
            epilog=f"keys of --json:\n  {keys}",
        )
        return its

    _fill_list(command("list", "all groups that we may see, with their states"))
    _fill_describe(command("describe", "members of groups, what they have, and their lag"))
    _fill_offsets(command("offsets", "what groups have committed, and their lag"))
    _fill_reset(command("reset", "move the committed offsets of a group without members"))
    _fill_delete(command("delete", "delete groups without members, with their offsets"))
    _fill_delete_offsets(command("delete-offsets", "forget what a group has committed"))
    _fill_remove_members(command("remove-members", "make members leave a group"))


# Arguments.


def _fill_list(parser: Parser) -> None:
    for flag, kind in (("--state", GroupState), ("--type", GroupType)):
        words = [word.value.lower() for word in kind if word.name != "UNKNOWN"]
        parser.add_argument(
            flag,
            dest=f"{flag[2:]}s",
            metavar="WORD",
            type=str.lower,
            choices=words,
            action="append",
            default=[],
            help=f"only those: {', '.join(words)}; repeatable",
        )
    options.add_to(parser, list_groups)


def _fill_describe(parser: Parser) -> None:
    parser.add_argument("names", metavar="GROUP", nargs="*", help="a group")
    parser.add_argument("--all", action="store_true", help="all groups of consumers that there are")
    options.add_to(parser, describe, before=_check_names)


def _fill_offsets(parser: Parser) -> None:
    parser.add_argument("names", metavar="GROUP", nargs="+", help="a group")
    options.add_to(parser, offsets)


def _fill_reset(parser: Parser) -> None:
    parser.add_argument("name", metavar="GROUP", help="the group; it is created if it is not there")
    scope = parser.add_mutually_exclusive_group(required=True)
    _add_topics(scope)
    scope.add_argument(
        "--all-topics", action="store_true", help="all for which something is committed"
    )
    add = parser.add_mutually_exclusive_group(required=True).add_argument
    fixed = {
        "--to-earliest": (OffsetReset.earliest(), "to the first record that there is"),
        "--to-latest": (OffsetReset.latest(), "to the end: only new records are read"),
        "--to-current": (OffsetReset.current(), "to where it is; to the end, if it is nowhere"),
    }
    for flag, (to, text) in fixed.items():
        add(flag, dest="to", action="store_const", const=to, help=text)
    add("--to-offset", dest="to", metavar="N", type=_offset, help="to an offset, or the nearest")
    add(
        "--shift-by",
        dest="to",
        metavar="N",
        type=_shift,
        help="by so many records, back if negative, as far as there are records",
    )
    add(
        "--to-datetime",
        dest="to",
        metavar="TIME",
        type=_time,
        help="to the first record since then, as 2026-11-30T08:00; without a zone it is the time"
        " of this machine",
    )
    add(
        "--by-duration",
        dest="to",
        metavar="TIME",
        type=_duration,
        help="to the first record of the last 15m (s, m, h, d), or PT15M",
    )
    parser.add_argument(
        "--execute", action="store_true", help="do it; otherwise it is only shown what would be"
    )
    options.add_to(parser, reset)


def _fill_delete(parser: Parser) -> None:
    parser.add_argument("names", metavar="GROUP", nargs="+", help="a group")
    _add_yes(parser)
    parser.add_argument(
        "--if-exists", action="store_true", help="a group that is not there is no error"
    )
    options.add_to(parser, delete, before=_confirm_delete)


def _fill_delete_offsets(parser: Parser) -> None:
    parser.add_argument("name", metavar="GROUP", help="the group")
    _add_topics(parser, required=True)
    _add_yes(parser)
    options.add_to(parser, delete_offsets, before=_confirm_delete_offsets)


def _fill_remove_members(parser: Parser) -> None:
    parser.add_argument("name", metavar="GROUP", help="the group")
    for flag, text in (
        ("--instance-id", "a static member, by its group.instance.id"),
        ("--member-id", "a member, by the id that `describe` shows"),
    ):
        parser.add_argument(
            flag,
            dest=f"{flag[2:].replace('-', '_')}s",
            metavar="ID",
            action="append",
            default=[],
            help=f"{text}; repeatable",
        )
    parser.add_argument("--all", action="store_true", help="every member; it asks before")
    parser.add_argument("--reason", metavar="TEXT", default="", help="for the broker's log")
    _add_yes(parser)
    options.add_to(parser, remove_members, before=_check_members)


def _add_topics(parser: argparse._ActionsContainer, *, required: bool = False) -> None:
    parser.add_argument(
        "--topic",
        dest="topics",
        metavar="NAME[:N,N]",
        type=chosen,
        action="append",
        default=[],
        required=required,
        help="all partitions of a topic, or some, as orders:0,3; repeatable",
    )


def _add_yes(parser: Parser) -> None:
    parser.add_argument(
        *("-y", "--yes"),
        action="store_true",
        help="do not ask; needed where there is no terminal",
    )


def chosen(text: str) -> Chosen:
    """A topic and partitions of it, from an argument."""
    name, colon, numbers = text.partition(":")
    parts = numbers.split(",") if colon else []
    if not name or not all(part.isascii() and part.isdigit() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is no topic: give orders, or orders:0,3")
    return Chosen(name, tuple(map(int, parts)))


def _offset(text: str) -> OffsetReset:
    try:
        return OffsetReset.offset(int(text))
    except ValueError:
        raise argparse.ArgumentTypeError("give an offset, 0 or more") from None


def _shift(text: str) -> OffsetReset:
    try:
        return OffsetReset.shift(int(text))
    except ValueError:
        raise argparse.ArgumentTypeError("give a number, as 100 or -100") from None


def _time(text: str) -> OffsetReset:
    found = place(text)
    if found.kind is not Kind.TIME:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: give 2026-11-30T08:00, for one")
    return OffsetReset.timestamp(found.number)


def _duration(text: str) -> OffsetReset:
    seconds = duration.seconds(text)
    if seconds is None:
        try:
            found = place(text)
        except argparse.ArgumentTypeError:
            found = None
        if found is not None and found.kind is Kind.AGO:
            seconds = found.number / 1000
    if seconds is None or seconds < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration: give 15m or PT15M, for one")
    return OffsetReset.duration(seconds)


# Before there is a connection.


def _check_names(given: argparse.Namespace) -> None:
    if given.all == bool(given.names):
        raise ConfigError("name some groups, or give --all")


def _check_members(given: argparse.Namespace) -> None:
    if given.all == bool(given.instance_ids or given.member_ids):
        raise ConfigError("give some --instance-id or --member-id, or --all")
    if given.all and not given.yes:
        terminal.confirm(f"Make every member of {given.name} leave?", instead="--yes")


def _confirm_delete(given: argparse.Namespace) -> None:
    if not given.yes:
        terminal.confirm(f"Delete, with offsets: {', '.join(given.names)}?", instead="--yes")


def _confirm_delete_offsets(given: argparse.Namespace) -> None:
    if not given.yes:
        topics = ", ".join(each.topic for each in given.topics)
        terminal.confirm(f"Delete the offsets of {given.name} for {topics}?", instead="--yes")


# Commands.


async def list_groups(given: argparse.Namespace, admin: Admin, left: Left) -> Report:
    found = await admin.list_groups(states=given.states, types=given.types, timeout=left())
    return reports.listed(found)


async def describe(given: argparse.Namespace, admin: Admin, left: Left) -> Report:
    names, errors = given.names, []
    if given.all:
        found = await admin.list_groups(types=["classic", "consumer"], timeout=left())
        names = [group.group_id for group in found.groups]
        errors = list(found.errors.values())
    described = await admin.describe_groups(names, timeout=left())
    lags = await _lags(admin, described, left)
    return reports.described(described, lags, errors)


async def offsets(given: argparse.Namespace, admin: Admin, left: Left) -> Report:
    return reports.offsets(await _lags(admin, dict.fromkeys(given.names), left))


async def reset(given: argparse.Namespace, admin: Admin, left: Left) -> Report:
    moved = await admin.reset_group_offsets(
        given.name,
        given.to,
        topics=[each.topic for each in given.topics if not each.partitions],
        partitions=_partitions(given.topics),
        dry_run=not given.execute,
        timeout=left(),
    )
    return reports.moved(given.name, moved, dry_run=not given.execute)


async def delete(given: argparse.Namespace, admin: Admin, left: Left) -> Report:
    results = await admin.delete_groups(given.names, timeout=left())
    return reports.deleted(results, may_be_missing=given.if_exists)


async def delete_offsets(given: argparse.Namespace, admin: Admin, left: Left) -> Report:
    wanted = _partitions(given.topics)
    whole = {each.topic for each in given.topics if not each.partitions}
    if whole:
        found = (await admin.list_group_offsets([given.name], timeout=left()))[given.name]
        if isinstance(found, KafkaError):
            raise found
        wanted += [each for each in found if each.topic in whole and each not in wanted]
        if not wanted:
            raise KafkaError(f"group {given.name!r} has committed nothing for these topics")
    results = await admin.delete_group_offsets(given.name, wanted, timeout=left())
    return reports.forgotten(given.name, results)


async def remove_members(given: argparse.Namespace, admin: Admin, left: Left) -> Report:
    results = await admin.remove_members(
        given.name,
        instance_ids=given.instance_ids,
        member_ids=given.member_ids,
        everyone=given.all,
        reason=given.reason,
        timeout=left(),
    )
    return reports.removed(given.name, results)


def _partitions(topics: Iterable[Chosen]) -> list[TopicPartition]:
    """Those that are named by their numbers."""
    return [TopicPartition(each.topic, number) for each in topics for number in each.partitions]


async def _lags(
    admin: Admin, names: Mapping[str, GroupDescription | KafkaError | None], left: Left
) -> Lags:
    """What groups have committed, and where the logs of those and of their members' end."""
    wanted = [name for name, found in names.items() if not isinstance(found, KafkaError)]
    committed = await admin.list_group_offsets(wanted, timeout=left())
    partitions = {
        *(each for found in committed.values() if isinstance(found, dict) for each in found),
        *(
            each
            for found in names.values()
            if isinstance(found, GroupDescription)
            for member in found.members
            for each in member.assignment
        ),
    }
    latest = dict.fromkeys(sorted(partitions), OffsetSpec.latest())
    return Lags(committed, await admin.list_offsets(latest, timeout=left()))
