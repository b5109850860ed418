from __future__ import annotations

import re

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.unit.broker.clusters import made, pass_time
from tests.unit.broker.groups.consumers import Consumer, group, settle

SUBSCRIPTIONS: tuple[tuple[list[str], str], ...] = (
    (["t"], ""),
    (["t", "u"], ""),
    ([], "[tu].*"),
    (["u"], "t|tt"),
    ([], ""),
)
"""Names and a pattern. Both are always said: else a static member has those that it had before."""


class AnyOrder(RuleBasedStateMachine):
    """Members that come, go, are late or forgetful, lose answers; topics that come and grow.

    A member believes to own what it was last told, until it is told otherwise, leaves, or would
    have to know that its session has ended.
    """

    slots = st.sampled_from(range(4))
    """Of four programs, the last two with a name of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.state = made(
            topics={"t": 3, "u": 2},
            group_consumer_session_timeout_ms=10_000,
            group_consumer_assignors=("uniform", "range"),
        )
        self.now = 0.0
        self.members: dict[int, Consumer] = {}
        self.started = 0

    @property
    def present(self) -> list[Consumer]:
        return [self.members[slot] for slot in sorted(self.members)]

    @rule(slot=slots, subscription=st.sampled_from(SUBSCRIPTIONS), rebalance=st.floats(1.0, 8.0))
    def somebody_starts(
        self, slot: int, subscription: tuple[list[str], str], rebalance: float
    ) -> None:
        if slot in self.members:
            return
        self.started += 1
        self.members[slot] = Consumer(
            self.state,
            f"member-{self.started}",
            instance_id=f"name-{slot}" if slot > 1 else None,
            rebalance=rebalance,
            topics=subscription[0],
            pattern=subscription[1],
        )
        self.members[slot].beat(now=self.now)

    @rule(slot=slots, reports=st.booleans(), is_lost=st.booleans())
    def somebody_beats(self, slot: int, reports: bool, is_lost: bool) -> None:
        if slot in self.members:
            self.members[slot].beat(now=self.now, reports=reports, is_lost=is_lost)

    @rule(slot=slots, subscription=st.sampled_from(SUBSCRIPTIONS))
    def somebody_wants_something_else(self, slot: int, subscription: tuple[list[str], str]) -> None:
        if slot in self.members:
            member = self.members[slot]
            member.topics, member.pattern = subscription
            member.reported = None
            member.beat(now=self.now)

    @rule(slot=slots)
    def somebody_leaves(self, slot: int) -> None:
        if slot in self.members:
            self.members.pop(slot).leave(now=self.now)

    @rule(slot=slots)
    def somebody_leaves_for_now(self, slot: int) -> None:
        if slot in self.members and self.members[slot].instance_id:
            self.members.pop(slot).leave(now=self.now, epoch=-2)

    @rule(slot=slots)
    def somebody_dies(self, slot: int) -> None:
        self.members.pop(slot, None)

    @rule(seconds=st.floats(0.1, 6.0))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        pass_time(self.state, now=self.now)

    @rule(name=st.sampled_from(["t", "u", "tt"]))
    def a_topic_comes_or_grows(self, name: str) -> None:
        topics = self.state.topics
        if (topic := topics.by_name.get(name)) is None:
            topics.create(name, partitions=1, replication_factor=1)
        elif len(topic.partitions) < 6:
            topics.grow(topic, len(topic.partitions) + 1)

    @invariant()
    def no_partition_is_owned_by_two(self) -> None:
        if "g" not in self.state.groups.by_id:
            return
        owned = [
            (name, index)
            for member in self.present
            if member.id in group(self.state).members
            for name, indexes in member.owned.items()
            for index in indexes
        ]
        assert len(owned) == len(set(owned))

    @invariant()
    def the_epochs_are_in_order(self) -> None:
        if "g" in self.state.groups.by_id:
            found = group(self.state)
            assert all(member.epoch <= found.target_epoch for member in found.members)
            assert found.target_epoch <= found.epoch

    def teardown(self) -> None:
        """All is well soon if all behave; and nothing is left when all are gone for long."""
        if self.present:
            self._all_behave()
        pass_time(self.state, now=self.now + 2_000.0)

        assert self.state.room.used == 0

    def _all_behave(self) -> None:
        """Those that died are missed after some time."""
        for _ in range(6):
            self.now = settle(*self.present, now=self.now + 2.0, rounds=1)
        self.now = settle(*self.present, now=self.now, rounds=6)

        assert group(self.state).state_name == "Stable"
        assert [member.error for member in self.present] == [None] * len(self.present)
        topics = self.state.topics.by_name
        wanted = {
            name
            for member in self.present
            for name in topics
            if name in (member.topics or []) or re.fullmatch(member.pattern or "", name)
        }
        owned = sorted(
            (name, index)
            for member in self.present
            for name, indexes in member.owned.items()
            for index in indexes
        )
        assert owned == sorted(
            (name, index) for name in wanted for index in range(len(topics[name].partitions))
        )


TestAnyOrder = AnyOrder.TestCase
