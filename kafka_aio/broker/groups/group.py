"""What both kinds of group have in common, for those who do not care which one it is. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final, Literal, Protocol

if TYPE_CHECKING:
    from kafka_aio.broker.groups.offsets import Offsets

CONSUMER: Final = "consumer"
"""The protocol type of consumers, in classic groups too. Connect has another one."""


class Group(Protocol):
    """A group, whichever protocol its members speak."""

    id: str
    offsets: Offsets
    """What it has committed. An empty group that becomes one of the other kind hands it on."""

    @property
    def kind(self) -> Literal["classic", "consumer"]:
        """Which of the two it is."""

    @property
    def state_name(self) -> str:
        """The state, as Kafka's tools print it: Empty, Stable, ..."""

    @property
    def protocol_type(self) -> str:
        """Such as "consumer"; empty for a group that only holds offsets."""

    @property
    def is_empty(self) -> bool:
        """Whether it has no members, so that it may be deleted, or become one of the other kind."""

    def is_subscribed(self, topic: str) -> bool:
        """Whether a member wants records of the topic, so that its offsets must stay."""

    def check_commit(
        self,
        member_id: str,
        epoch: int,
        instance_id: str | None,
        *,
        version: int,
        partitions: Collection[tuple[str, int]],
    ) -> None:
        """May a member commit offsets?

        Args:
            member_id: Who commits; empty for who is no member.
            epoch: Of the member, or the generation of a classic group; -1 for who is no member.
            instance_id: The name of a static member.
            version: Of the request.
            partitions: The topics (by name) and partitions that it commits.

        Raises:
            BrokerError: No: why.
        """

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """May a member read the offsets?

        Raises:
            BrokerError: No: why.
        """

    def check_offset_deletion(self) -> None:
        """May offsets of topics that nobody is subscribed to be deleted?

        Raises:
            BrokerError: No: why.
        """

    def check_deletion(self) -> None:
        """May the group be deleted?

        Raises:
            NonEmptyGroup: No, it has members.
        """

    def close(self) -> None:
        """The group is gone: no appointment of it may do anything any more."""
