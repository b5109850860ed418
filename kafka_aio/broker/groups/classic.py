"""A group of the classic protocol: who may commit to it, and when it may go. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final, Literal

from kafka_aio.broker.groups.classic_membership import Membership, Phase
from kafka_aio.broker.groups.group import CONSUMER
from kafka_aio.broker.groups.offsets import Offsets
from kafka_aio.errors import (
    IllegalGeneration,
    NonEmptyGroup,
    RebalanceInProgress,
)

if TYPE_CHECKING:
    from kafka_aio.broker.state import State


class ClassicGroup:
    """A group in which a member assigns the partitions. A lone consumer's has no members."""

    kind: Final[Literal["classic"]] = "classic"

    def __init__(self, group_id: str, state: State) -> None:
        self.id = group_id
        self.offsets = Offsets(state.room)
        self.membership = Membership(state)

    def __repr__(self) -> str:
        return f"<ClassicGroup {self.id}: {self.membership!r}>"

    @property
    def state_name(self) -> str:
        return self.membership.phase.value

    @property
    def protocol_type(self) -> str:
        return self.membership.protocol_type

    @property
    def is_empty(self) -> bool:
        return self.membership.phase is Phase.EMPTY

    def is_subscribed(self, topic: str) -> bool:
        if (topics := self.membership.topics) is None:
            return self.protocol_type == CONSUMER
        return topic in topics

    def check_commit(
        self,
        member_id: str,
        epoch: int,
        instance_id: str | None,
        *,
        version: int,
        partitions: Collection[tuple[str, int]],
    ) -> None:
        """As `Group` says. A group without members takes what admins and lone consumers commit.

        Raises:
            BrokerError: It is not of this generation, or the generation has no assignment yet.
        """
        del version, partitions  # the other kind of group looks at them
        membership = self.membership
        if epoch < 0 and self.is_empty:
            return
        membership.members.checked(member_id, instance_id)
        if epoch != membership.generation:
            raise IllegalGeneration()
        if membership.phase is Phase.COMPLETING:
            raise RebalanceInProgress()

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """Anybody may read what a classic group has committed."""

    def check_offset_deletion(self) -> None:
        """As `Group` says: what members want is known of consumers only.

        Raises:
            NonEmptyGroup: It has members, and they are no consumers.
        """
        if not self.is_empty and self.protocol_type != CONSUMER:
            raise NonEmptyGroup()

    def check_deletion(self) -> None:
        """As `Group` says.

        Raises:
            NonEmptyGroup: It has members.
        """
        if not self.is_empty:
            raise NonEmptyGroup()

    def close(self) -> None:
        """As `Group` says: the group is dead."""
        self.membership.close()
