"""A member of the consumer protocol (KIP-848), and its way to what it is to own. Pure.

Theory of operation. The group has a target: what each member is to own, as of an epoch. A member
owns what the answers to its heartbeats tell it. It goes to the target step by step, so that nothing
is owned by two:

1. What it owns and is to own no more, it is not told any longer. That is *being revoked* until a
   heartbeat lists what the member owns, and none of it is there. Until then the member stays in its
   epoch and gets nothing new; and if that takes longer than its rebalance time-out, it is out.
2. Then it is in the epoch of the target, and gets of it whatever no other member owns.
3. What others still own, it gets at its first heartbeat after they have given it back.

| state | it waits for | goes on to |
|---|---|---|
| STABLE | a new target | UNREVOKED_PARTITIONS, UNRELEASED_PARTITIONS, STABLE |
| UNREVOKED_PARTITIONS | itself: step 1 | the same |
| UNRELEASED_PARTITIONS | others: step 3 | the same |

The target may change at any time, in any state: each step looks at the newest one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from kafka_aio.broker.groups.assignors import Slot
from kafka_aio.errors import FencedMemberEpoch

if TYPE_CHECKING:
    from kafka_aio.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
    from kafka_aio.protocol.schema import Uuid

JOINING: Final = 0
LEAVING: Final = -1
LEAVING_FOR_NOW: Final = -2
"""A static member that will be back: nobody else gets what it owns, until its session ends."""


class MemberState(Enum):
    """How far a member has come to its target; the names are those of Kafka."""

    STABLE = auto()
    UNREVOKED_PARTITIONS = auto()
    UNRELEASED_PARTITIONS = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """What is known of a member. A change makes a new one."""

    id: str
    epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    """The name of a static member: it stays when the member comes back with another id."""
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    """The names that it is subscribed to: sorted, each once."""
    pattern: str = ""
    """The regular expression that it is subscribed to; empty for none."""
    assignor: str | None = None
    assigned: Mapping[Slot, int] = field(default_factory=dict)
    """What it owns or has just been given; and since which epoch (KIP-1251)."""
    revoking: Mapping[Slot, int] = field(default_factory=dict)
    """What it is asked to give back."""

    def told(
        self, request: ConsumerGroupHeartbeatRequest, *, client_id: str, client_host: str
    ) -> Member:
        """The member, with what a heartbeat says about it. What it leaves out stays as it was."""
        topics = request.subscribed_topic_names
        pattern = request.subscribed_topic_regex
        timeout = request.rebalance_timeout_ms
        return replace(
            self,
            instance_id=request.instance_id or self.instance_id,
            rack_id=request.rack_id or self.rack_id,
            rebalance_timeout_ms=self.rebalance_timeout_ms if timeout == -1 else timeout,
            assignor=request.server_assignor or self.assignor,
            topics=self.topics if topics is None else tuple(sorted(set(topics))),
            pattern=self.pattern if pattern is None else pattern,
            client_id=client_id,
            client_host=client_host,
        )

    def check_epoch(self, epoch: int, owned: Collection[Slot] | None) -> None:
        """Is a heartbeat of this epoch one of the member as it is?

        The epoch before is taken too, if the member owns nothing but what it has: then the answer
        with the newer epoch was lost.

        Raises:
            FencedMemberEpoch: No. It must give up all that it owns, and join anew.
        """
        if epoch in (JOINING, self.epoch):
            return
        if epoch < self.epoch:
            is_last = epoch == self.previous_epoch
            if is_last and owned is not None and all(slot in self.assigned for slot in owned):
                return
        relation = "greater" if epoch > self.epoch else "smaller"
        raise FencedMemberEpoch(
            f"The consumer group member has a {relation} member epoch ({epoch}) than the one known"
            f" by the group coordinator ({self.epoch}). The member must abandon all its partitions"
            " and rejoin."
        )

    def is_at(self, epoch: int) -> bool:
        """Whether it owns what the target of that epoch says."""
        return self.state is MemberState.STABLE and self.epoch == epoch

    def left_for_now(self) -> Member:
        """The static member, gone but expected back: then all that it owns counts as old."""
        return replace(
            self, epoch=LEAVING_FOR_NOW, assigned=dict.fromkeys(self.assigned, 0), revoking={}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Where a member is to get."""

    epoch: int
    slots: Collection[Slot]
    """What the target gives it."""
    topics: Collection[Uuid]
    """What it is subscribed to by now. The target may be older."""


def reconcile(
    member: Member,
    goal: Goal,
    *,
    owned: Collection[Slot] | None,
    has_resubscribed: bool,
    is_taken: Callable[[Slot], bool],
) -> Member:
    """The member, as many steps closer to its goal as possible; the same one if there is none.

    Args:
        member: As it was.
        goal: Where it is to get.
        owned: What the member says it owns; None if it does not say.
        has_resubscribed: Whether it has changed its subscription by this heartbeat.
        is_taken: Whether somebody owns a partition, the member itself included.
    """
    waits_for_itself = member.state is MemberState.UNREVOKED_PARTITIONS and _has_any(
        owned, member.revoking
    )
    if waits_for_itself or member.is_at(goal.epoch):
        return _without_unsubscribed(member, goal, owned) if has_resubscribed else member
    wanted = [slot for slot in goal.slots if slot[0] in goal.topics]
    kept = {slot: member.assigned[slot] for slot in wanted if slot in member.assigned}
    revoking = {slot: since for slot, since in member.assigned.items() if slot not in kept}
    if revoking and _has_any(owned, revoking):
        return _unrevoked(member, kept, revoking)
    missing = [slot for slot in wanted if slot not in kept]
    # What the member was asked to give back is its own to have again.
    given = [slot for slot in missing if slot in member.revoking or not is_taken(slot)]
    is_all = len(given) == len(missing)
    return replace(
        member,
        state=MemberState.STABLE if is_all else MemberState.UNRELEASED_PARTITIONS,
        epoch=goal.epoch,
        previous_epoch=member.epoch,
        assigned=kept | dict.fromkeys(given, goal.epoch),
        revoking={},
    )


def _without_unsubscribed(member: Member, goal: Goal, owned: Collection[Slot] | None) -> Member:
    """Take away what the member does not want any more; that need not wait for a new target."""
    kept = {slot: since for slot, since in member.assigned.items() if slot[0] in goal.topics}
    if len(kept) == len(member.assigned):
        return member
    gone = {slot: since for slot, since in member.assigned.items() if slot not in kept}
    if _has_any(owned, revoking := {**member.revoking, **gone}):
        return _unrevoked(member, kept, revoking)
    return replace(member, previous_epoch=member.epoch, assigned=kept)


def _unrevoked(member: Member, kept: Mapping[Slot, int], revoking: Mapping[Slot, int]) -> Member:
    return replace(
        member,
        state=MemberState.UNREVOKED_PARTITIONS,
        previous_epoch=member.epoch,
        assigned=kept,
        revoking=revoking,
    )


def _has_any(owned: Collection[Slot] | None, slots: Collection[Slot]) -> bool:
    """Whether a member may own some of these: it does until it says that it does not."""
    return owned is None or any(slot in slots for slot in owned)
