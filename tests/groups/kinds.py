"""The kinds of groups that are tried, and what a Kafka has to be told of some."""

from __future__ import annotations

import os
from typing import Any

from kafka_aio import Admin, ConfigChange, ConfigResource

LONG = bool(os.environ.get("KAFKA_AIO_LONG"))
"""Whether all of them are tried, and for long: `make test-long`."""
SESSION = 5_000
"""Milliseconds until who was killed is missed."""

KINDS: dict[str, dict[str, Any]] = {
    "cooperative-sticky": {"assignment_strategy": "cooperative-sticky"},
    "uniform": {"group_protocol": "consumer", "group_remote_assignor": "uniform"},
    "range": {"assignment_strategy": "range"},
    "roundrobin": {"assignment_strategy": "roundrobin"},
    "sticky": {"assignment_strategy": "sticky"},
    "static": {"assignment_strategy": "cooperative-sticky", "is_static": True},
    "remote-range": {"group_protocol": "consumer", "group_remote_assignor": "range"},
    "remote-static": {"group_protocol": "consumer", "is_static": True},
}
SHORT = ("cooperative-sticky", "uniform")


async def prepare(bootstrap: str, group: str, *, session: int = SESSION) -> None:
    """Have the broker miss members of a KIP-848 group as soon as those of a classic one."""
    changes = [
        ConfigChange.set("consumer.session.timeout.ms", str(session)),
        ConfigChange.set("consumer.heartbeat.interval.ms", str(session // 10)),
    ]
    async with Admin(bootstrap_servers=bootstrap) as admin:
        outcome = await admin.alter_configs({ConfigResource.group(group): changes})
    assert set(outcome.values()) == {None}, outcome
