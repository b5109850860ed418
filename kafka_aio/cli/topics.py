"""`kafka-aio topics`: its arguments, and what they ask of the cluster. Pure."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from kafka_aio.admin import Admin, ConfigChange, ConfigResource, NewTopic
from kafka_aio.cli import options, terminal
from kafka_aio.cli import topic_reports as reports
from kafka_aio.cli.arguments import assignment, whole_number
from kafka_aio.cli.options import Left
from kafka_aio.cli.output import Report
from kafka_aio.cli.parser import Parser


def fill(parser: Parser) -> None:
    """Add the sub-commands and their arguments."""
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

    _fill_list(command("list", "the names of all topics that we may see"))
    _fill_describe(command("describe", "partitions, leaders and replicas of topics"))
    _fill_create(command("create", "create topics"))
    _fill_delete(command("delete", "delete topics, with all that is in them"))
    _fill_add_partitions(command("add-partitions", "give a topic more partitions"))
    _fill_configs(command("configs", "show or change the options of a topic"))


# Arguments.


def _fill_list(parser: Parser) -> None:
    parser.add_argument("--internal", action="store_true", help="Kafka's own too")
    options.add_to(parser, list_topics)


def _fill_describe(parser: Parser) -> None:
    _add_names(parser)
    options.add_to(parser, describe)


def _fill_create(parser: Parser) -> None:
    _add_names(parser)
    parser.add_argument(
        "--partitions",
        metavar="N",
        type=whole_number,
        default=-1,
        help="how many each has (num.partitions of the brokers)",
    )
    parser.add_argument(
        "--replication-factor",
        metavar="N",
        type=whole_number,
        default=-1,
        help="how many brokers keep each partition (default.replication.factor of the brokers)",
    )
    _add_change(parser, "--set", assignment, "NAME=VALUE", "an option of the topics")
    parser.add_argument(
        "--if-not-exists", action="store_true", help="a topic that is there is no error"
    )
    _add_dry_run(parser)
    options.add_to(parser, create)


def _fill_delete(parser: Parser) -> None:
    _add_names(parser)
    parser.add_argument(
        *("-y", "--yes"),
        action="store_true",
        help="do not ask; needed where there is no terminal",
    )
    parser.add_argument(
        "--if-exists", action="store_true", help="a topic that is not there is no error"
    )
    options.add_to(parser, delete, before=_confirm)


def _fill_add_partitions(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="the topic")
    parser.add_argument(
        "total", metavar="TOTAL", type=whole_number, help="how many it is to have in all"
    )
    _add_dry_run(parser)
    options.add_to(parser, add_partitions)


def _fill_configs(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="the topic")
    _add_change(parser, "--set", assignment, "NAME=VALUE", "give an option a value")
    _add_change(parser, "--delete", str, "NAME", "set an option back to its default")
    _add_change(parser, "--append", assignment, "NAME=VALUE", "add to an option that is a list")
    _add_change(parser, "--subtract", assignment, "NAME=VALUE", "take out of such a list")
    parser.add_argument("--all", action="store_true", help="show those too that have their default")
    _add_dry_run(parser)
    options.add_to(parser, configs)


def _add_names(parser: Parser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="+", help="a topic")


def _add_dry_run(parser: Parser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only see whether it would be done")


def _add_change(
    parser: Parser, flag: str, kind: Callable[[str], Any], metavar: str, text: str
) -> None:
    parser.add_argument(
        flag, metavar=metavar, type=kind, action="append", default=[], help=f"{text}; repeatable"
    )


# Commands.


async def list_topics(given: argparse.Namespace, admin: Admin, left: Left) -> Report:
    return reports.listed(await admin.list_topics(internal=given.internal, timeout=left()))


async def describe(given: argparse.Namespace, admin: Admin, left: Left) -> Report:
    return reports.described(await admin.describe_topics(given.names, timeout=left()))


async def create(given: argparse.Namespace, admin: Admin, left: Left) -> Report:
    new = [
        NewTopic(name, given.partitions, given.replication_factor, configs=dict(given.set))
        for name in dict.fromkeys(given.names)
    ]
    made = await admin.create_topics(new, validate_only=given.dry_run, timeout=left())
    return reports.created(made, dry_run=given.dry_run, may_exist=given.if_not_exists)


def _confirm(given: argparse.Namespace) -> None:
    if not given.yes:
        terminal.confirm(f"Delete, with all records: {', '.join(given.names)}?", instead="--yes")


async def delete(given: argparse.Namespace, admin: Admin, left: Left) -> Report:
    results = await admin.delete_topics(given.names, timeout=left())
    return reports.deleted(results, may_be_missing=given.if_exists)


async def add_partitions(given: argparse.Namespace, admin: Admin, left: Left) -> Report:
    counts = {given.name: given.total}
    results = await admin.create_partitions(counts, validate_only=given.dry_run, timeout=left())
    return reports.grown(results, given.total, dry_run=given.dry_run)


async def configs(given: argparse.Namespace, admin: Admin, left: Left) -> Report:
    changes = _changes(given)
    topic = ConfigResource.topic(given.name)
    if not changes:
        found = await admin.describe_configs([topic], timeout=left())
        return reports.shown(given.name, found[topic], everything=given.all)
    results = await admin.alter_configs(
        {topic: changes}, validate_only=given.dry_run, timeout=left()
    )
    return reports.changed(given.name, changes, results[topic], dry_run=given.dry_run)


def _changes(given: argparse.Namespace) -> list[ConfigChange]:
    return [
        *(ConfigChange.set(*pair) for pair in given.set),
        *(ConfigChange.delete(name) for name in given.delete),
        *(ConfigChange.append(*pair) for pair in given.append),
        *(ConfigChange.subtract(*pair) for pair in given.subtract),
    ]
