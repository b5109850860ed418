"""What the heartbeats of a member of a consumer group say (KIP-848). Pure.

The first one says everything; later ones only what has changed, and what the member owns when it is
to be acknowledged. The coordinator may not have heard one that failed or was not answered, so the
next one after it says everything again.
"""

from __future__ import annotations

from typing import Final

from kafka_aio.consumer.membership.member import Wanted
from kafka_aio.protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatTopicPartitions,
)

JOINING: Final = 0
LEAVING: Final = -1
LEAVING_FOR_NOW: Final = -2
"""A static member that will be back: it keeps what it owns until its session ends."""

_NO_REGEX: Final = ""
"""Takes back one that was told before; None leaves it as it is."""


class Heartbeats:
    """Writes the heartbeats of one member, and knows what the last ones said."""

    def __init__(
        self,
        *,
        group_id: str,
        instance_id: str | None,
        rack: str | None,
        server_assignor: str | None,
        rebalance_timeout: float,
    ) -> None:
        """The next heartbeat says everything."""
        self._group_id = group_id
        self._instance_id = instance_id
        self._rack = rack
        self._server_assignor = server_assignor
        self._rebalance_timeout_ms = round(rebalance_timeout * 1000)
        self._said: Wanted | None = None
        self._had_regex = False
        """The coordinator may have one of ours, also from a membership before."""

    def __repr__(self) -> str:
        if self._said is None:
            return "<Heartbeats: the next says everything>"
        return f"<Heartbeats: {len(self._said.topics)} topics, regex {self._said.regex!r} told>"

    @property
    def is_full(self) -> bool:
        """Whether the next one has to say everything."""
        return self._said is None

    def has_news(self, wanted: Wanted) -> bool:
        """Whether the coordinator has yet to hear what is wanted."""
        return wanted != self._said

    def forget(self) -> None:
        """What was said may not have been heard."""
        self._said = None

    def write(
        self,
        member_id: str,
        epoch: int,
        wanted: Wanted,
        owned: list[ConsumerGroupHeartbeatTopicPartitions] | None,
    ) -> ConsumerGroupHeartbeatRequest:
        """The next heartbeat of a member that joins or stays.

        Args:
            member_id: Who it is.
            epoch: `JOINING`, or the one it is in.
            wanted: What it subscribes to.
            owned: What it owns, where that is to be acknowledged; else it may be None, unless
                the heartbeat `is_full`.
        """
        said, is_full = self._said, self.is_full
        self._said = wanted
        return ConsumerGroupHeartbeatRequest(
            group_id=self._group_id,
            member_id=member_id,
            member_epoch=epoch,
            instance_id=self._instance_id,
            rack_id=self._rack if is_full else None,
            rebalance_timeout_ms=self._rebalance_timeout_ms if is_full else -1,
            server_assignor=self._server_assignor if is_full else None,
            subscribed_topic_names=(
                sorted(wanted.topics) if said is None or said.topics != wanted.topics else None
            ),
            subscribed_topic_regex=(
                self._regex(wanted) if said is None or said.regex != wanted.regex else None
            ),
            topic_partitions=owned,
        )

    def leave(self, member_id: str, *, is_for_good: bool) -> ConsumerGroupHeartbeatRequest:
        """The last heartbeat. Only a static member can leave for now."""
        is_for_now = self._instance_id is not None and not is_for_good
        return ConsumerGroupHeartbeatRequest(
            group_id=self._group_id,
            member_id=member_id,
            member_epoch=LEAVING_FOR_NOW if is_for_now else LEAVING,
            instance_id=self._instance_id,
        )

    def _regex(self, wanted: Wanted) -> str | None:
        """None where there was never one: older brokers have no place even for an empty one."""
        if wanted.regex is not None:
            self._had_regex = True
            return wanted.regex
        return _NO_REGEX if self._had_regex else None
