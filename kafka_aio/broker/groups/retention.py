"""When the offsets of a group are forgotten: some days after the last member left. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafka_aio.broker.groups.classic import ClassicGroup
from kafka_aio.broker.groups.classic_membership import Phase

if TYPE_CHECKING:
    from kafka_aio.broker.groups.consumer import ConsumerGroup
    from kafka_aio.broker.groups.offsets import Committed

INTERVAL: Final = 600.0
"""So often Kafka looks for offsets that are too old, in seconds."""


def forget_expired(group: ClassicGroup | ConsumerGroup, *, retention: float, now: float) -> None:
    """Drop what nobody uses and what is older than `retention` seconds."""

    def is_wanted(topic: str, committed: Committed) -> bool:
        if group.is_subscribed(topic):
            return True
        if committed.expires_at is not None:
            return now < committed.expires_at
        since = _counts_from(group, committed)
        return since is None or now - since < retention

    group.offsets.keep_if(is_wanted)


def _counts_from(group: ClassicGroup | ConsumerGroup, committed: Committed) -> float | None:
    """Since when an offset is getting old; None while it is not."""
    if group.kind == "consumer" or not group.protocol_type:
        return committed.at
    membership = group.membership
    if membership.phase is Phase.EMPTY:
        return membership.empty_since
    if membership.phase is Phase.STABLE and membership.topics is not None:
        return committed.at
    return None
