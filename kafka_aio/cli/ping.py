"""`kafka-aio ping`: is the cluster there, who is in it, and what does it speak? Pure."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from kafka_aio.admin import Admin, ApiVersionRange, ClusterDescription, NodeStatus
from kafka_aio.cli import options
from kafka_aio.cli.arguments import whole_number
from kafka_aio.cli.exits import Exit, code_of
from kafka_aio.cli.output import Report, error_document, table
from kafka_aio.cli.parser import Parser
from kafka_aio.net.connection import address_text
from kafka_aio.types import Node

_EPILOG = """\
Every broker of the cluster is asked, at the address that it advertises; each one that cannot be
asked is an error, and the exit code is not 0. A cluster with KRaft calls one broker or another its
controller; that one passes on what it is told. If none of the servers given can be reached, nothing
is printed on stdout, with --json too: the exit code tells.

keys of --json:
  cluster_id    text, or null if no broker could be asked
  controller    the id of a broker, or null
  brokers       for each: id, host, port, rack (text or null),
                error (null, or an object: type, code, message),
                round_trips_ms (numbers, in the order of measuring),
                features (for each: name, min, max: the levels that the broker can have;
                level: the one of the cluster, or null),
                apis (for each: key, name, min, max: the versions that the broker has;
                used: the one we speak, or null)
"""


def fill(parser: Parser) -> None:
    """Add the arguments."""
    parser.epilog = _EPILOG
    parser.add_argument(
        *("-c", "--count"),
        metavar="N",
        type=whole_number,
        default=3,
        help="how many round trips to measure with each broker (3)",
    )
    parser.add_argument(
        "--versions", action="store_true", help="show the versions of every API, and which we use"
    )
    options.add_to(parser, run, time_option="socket_connection_setup_timeout_ms")


async def run(given: argparse.Namespace, admin: Admin, left: Callable[[], float]) -> Report:
    """Ask every broker."""
    statuses = await admin.nodes(pings=given.count, timeout=left())
    some = any(status.error is None for status in statuses)
    # Who advertises an address that cannot be reached can still be told so.
    cluster = await admin.describe_cluster(timeout=left()) if some else None
    return report(cluster, statuses, versions=given.versions)


def report(
    cluster: ClusterDescription | None, statuses: Sequence[NodeStatus], *, versions: bool
) -> Report:
    """What to print about a cluster and its brokers."""
    answered = [status for status in statuses if status.error is None]
    lines = []
    if cluster is not None:
        lines += [
            f"cluster     {cluster.cluster_id}",
            f"controller  {cluster.controller or '-'}",
            "",
        ]
    lines += _brokers(statuses)
    if answered:
        lines += ["", *_features(answered[0])]
    if versions:
        lines += _versions(answered)
    errors = [status.error for status in statuses if status.error is not None]
    return Report(_document(cluster, statuses), lines, errors, _hints(statuses))


def _brokers(statuses: Sequence[NodeStatus]) -> list[str]:
    names = ["broker", "address", "rack", "min ms", "avg ms", "max ms", "APIs"]
    rows: list[list[object]] = []
    for status in statuses:
        node = status.node
        row: list[object] = [node.id, _address(node), node.rack]
        times = [seconds * 1000 for seconds in status.round_trips]
        if status.error is None and times:
            row += [min(times), sum(times) / len(times), max(times), len(status.versions)]
        else:
            row += [None] * 4
        rows.append(row)
    return table(names, rows)


def _features(status: NodeStatus) -> list[str]:
    rows = [
        [feature.name, feature.finalized, "-".join(map(str, feature.supported))]
        for feature in status.features
    ]
    return table(["feature", "level", "supported"], rows)


def _versions(answered: Sequence[NodeStatus]) -> list[str]:
    """One table for all brokers that have the same versions."""
    alike: dict[tuple[ApiVersionRange, ...], list[int]] = {}
    for status in answered:
        alike.setdefault(status.versions, []).append(status.node.id)
    lines = []
    for versions, brokers in alike.items():
        lines += ["", f"APIs of broker {', '.join(map(str, brokers))}:"]
        rows = [[api.key, api.name or "?", f"{api.first}-{api.last}", api.used] for api in versions]
        lines += table(["key", "name", "versions", "used"], rows)
    return lines


def _hints(statuses: Sequence[NodeStatus]) -> list[str]:
    lost = [
        _address(status.node)
        for status in statuses
        if status.error is not None and code_of(status.error) is Exit.UNREACHABLE
    ]
    if not lost:
        return []
    return [
        f"a broker was reached and names {', '.join(lost)}; if that is not an address to use from"
        " here, see advertised.listeners of the brokers"
    ]


def _address(node: Node) -> str:
    return address_text(node.host, node.port)


def _document(cluster: ClusterDescription | None, statuses: Sequence[NodeStatus]) -> dict[str, Any]:
    controller = cluster.controller if cluster is not None else None
    return {
        "cluster_id": cluster.cluster_id if cluster is not None else None,
        "controller": controller.id if controller is not None else None,
        "brokers": [
            {
                "id": status.node.id,
                "host": status.node.host,
                "port": status.node.port,
                "rack": status.node.rack,
                "error": error_document(status.error),
                "round_trips_ms": [round(seconds * 1000, 3) for seconds in status.round_trips],
                "features": [
                    {
                        "name": feature.name,
                        "min": feature.supported[0],
                        "max": feature.supported[1],
                        "level": feature.finalized,
                    }
                    for feature in status.features
                ],
                "apis": [
                    {
                        "key": api.key,
                        "name": api.name,
                        "min": api.first,
                        "max": api.last,
                        "used": api.used,
                    }
                    for api in status.versions
                ],
            }
            for status in statuses
        ],
    }
