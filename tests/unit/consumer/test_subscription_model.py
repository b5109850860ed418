"""Random lives of a consumer's partitions, on logs that move, are cut and change their leaders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kafka_aio.consumer import offsets
from kafka_aio.consumer.position import EARLIEST, LATEST, OwnedPartition, Position, Reset, ResetTo
from kafka_aio.consumer.subscription import Subscription
from kafka_aio.errors import KafkaConnectionError, NotLeaderOrFollower
from kafka_aio.listing import BEGINNING, END, Listed
from kafka_aio.metadata import Leader
from kafka_aio.protocol.messages.offsets import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from kafka_aio.types import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition
from tests.unit.consumer.owned import A0, B0

PARTITIONS = [A0, B0]
ENOUGH_TURNS = 20
POLICIES = [EARLIEST, LATEST, Reset(ResetTo.BY_DURATION, 60.0), None]


@dataclass
class Log:
    """A partition at its broker: the epoch of each record, and where it begins."""

    start: int = 0
    epochs: list[int] = field(default_factory=lambda: [0] * 5)
    leader: Leader = field(default_factory=lambda: Leader(0, 0))
    committed: OffsetAndMetadata | None = None

    @property
    def end(self) -> int:
        return len(self.epochs)

    def end_of(self, epoch: int) -> tuple[int, int]:
        """The greatest epoch up to this one, and where it ends."""
        known = [(each, at) for at, each in enumerate(self.epochs) if each <= epoch]
        return (known[-1][0], known[-1][1] + 1) if known else (-1, -1)

    def position(self, offset: int) -> Position:
        return Position(offset, self.epochs[offset - 1])


partitions = st.sampled_from(PARTITIONS)
subsets = st.sets(partitions)
numbers = st.integers(0, 9)


class Lives(RuleBasedStateMachine):
    """A consumer of two logs, whose questions are answered late, wrongly or never.

    Positions go back by a seek or a reset only; what is committable was handed over before records
    were last asked for; of what is revoked nothing is kept; and when the faults end, all that is
    owned gets to be fetched.
    """

    def __init__(self) -> None:
        super().__init__()
        self.subscription = Subscription()
        self.logs = {partition: Log() for partition in PARTITIONS}
        self.now = 0.0
        self.answers: list[Callable[[bool], None]] = []
        """Those under way: each is called with whether it is a good one."""
        self.furthest: dict[int, tuple[OwnedPartition, int]] = {}
        """Of each era, whose it is, and its greatest position."""
        self.asked_at: dict[OwnedPartition, int] = {}

    @initialize(policy=st.sampled_from(POLICIES))
    def begin(self, policy: Reset | None) -> None:
        self.subscription.policy = policy
        self.subscription.subscribe(["a", "b"])
        self.assign(set(PARTITIONS))

    # The group

    @rule(to=subsets)
    def assign(self, to: set[TopicPartition]) -> None:
        change = self.subscription.assigned(to)
        assert self.subscription.assignment == to
        assert all(self.subscription[each].is_held for each in change.added)
        self.lead()

    @rule(of=subsets)
    def release(self, of: set[TopicPartition]) -> None:
        self.subscription.release(of)

    @rule(of=subsets)
    def begin_to_revoke(self, of: set[TopicPartition]) -> None:
        self.subscription.revoking(of)

    @rule(of=subsets)
    def revoke(self, of: set[TopicPartition]) -> None:
        self.subscription.revoked(of)
        assert not of & self.subscription.assignment

    @rule()
    def lose_and_get_back(self) -> None:
        self.subscription.lost()
        assert not self.subscription.assignment
        self.assign(set(PARTITIONS))

    # The user

    @rule(of=partitions, offset=numbers, epoch=st.integers(-1, 3))
    def seek(self, of: TopicPartition, offset: int, epoch: int) -> None:
        if of in self.subscription:
            to = OffsetAndMetadata(offset, leader_epoch=None if epoch < 0 else epoch)
            self.subscription.seek(of, to)

    @rule(of=subsets, to_end=st.booleans())
    def seek_to(self, of: set[TopicPartition], to_end: bool) -> None:
        owned = of & self.subscription.assignment
        if to_end:
            self.subscription.seek_to_end(owned)
        else:
            self.subscription.seek_to_beginning(owned)

    @rule(of=subsets, is_on=st.booleans())
    def pause(self, of: set[TopicPartition], is_on: bool) -> None:
        owned = of & self.subscription.assignment
        (self.subscription.pause if is_on else self.subscription.resume)(owned)

    @rule()
    def ask(self) -> None:
        self.subscription.ask()
        for each in self.subscription:
            if each.position is not None:
                self.asked_at[each] = each.position.offset

    @rule()
    def commit(self) -> None:
        for partition, offset in self.subscription.committable().items():
            self.logs[partition].committed = offset

    # The brokers

    @rule(of=partitions, count=st.integers(1, 4))
    def write(self, of: TopicPartition, count: int) -> None:
        log = self.logs[of]
        log.epochs += [log.leader.epoch] * count

    @rule(of=partitions, lost=st.integers(0, 6))
    def elect(self, of: TopicPartition, lost: int) -> None:
        """A new leader, which may lack the last records."""
        log = self.logs[of]
        del log.epochs[max(log.end - lost, log.start) :]
        log.leader = Leader(1 - log.leader.node, log.leader.epoch + 1)

    @rule(of=partitions, count=st.integers(1, 4))
    def expire(self, of: TopicPartition, count: int) -> None:
        log = self.logs[of]
        log.start = min(log.start + count, log.end)

    @rule(of=subsets)
    def lead(self, of: set[TopicPartition] | frozenset[TopicPartition] = frozenset()) -> None:
        """The metadata comes; of these it knows no leader."""
        self.subscription.lead(lambda each: None if each in of else self.logs[each].leader)

    # Questions

    @rule()
    def ask_for_committed(self) -> None:
        asked = {each.partition: each.era for each in self.subscription.initialising()}

        def answer(is_good: bool) -> None:
            if is_good:
                committed = {each: self.logs[each].committed for each in asked}
                offsets.begin(self.subscription, asked, committed)

        self.answers.append(answer)

    @rule()
    def ask_for_resets(self) -> None:
        retry_at = self.now + 5
        plans = offsets.plan_resets(
            self.subscription, now=self.now, retry_at=retry_at, wall_time=1e6
        )

        def answer(is_good: bool) -> None:
            listed = Listed()
            for partition, _, time in plans:
                if not is_good:
                    listed.again[partition] = NotLeaderOrFollower()
                    continue
                log = self.logs[partition]
                by_time = {BEGINNING: log.start, END: log.end}
                found = by_time.get(time, log.end - 1 if log.end > log.start else None)
                listed.found[partition] = None if found is None else OffsetAndTimestamp(found, -1)
            offsets.settle_resets(self.subscription, plans, listed, retry_at=self.now + 1)

        self.answers.append(answer)

    @rule()
    def ask_for_checks(self) -> None:
        plans = offsets.plan_checks(self.subscription, now=self.now, retry_at=self.now + 5)

        def answer(is_good: bool) -> None:
            if not is_good:
                cut = KafkaConnectionError("cut")
                offsets.not_checked(self.subscription, plans, cut, retry_at=self.now + 1)
                return
            topics = []
            for partition, _, position, leader in plans:
                log = self.logs[partition]
                epoch, end = log.end_of(position.epoch)
                code = 0 if leader == log.leader else NotLeaderOrFollower.code
                told = EpochEndOffset(
                    error_code=code, partition=partition[1], leader_epoch=epoch, end_offset=end
                )
                topics.append(OffsetForLeaderTopicResult(topic=partition[0], partitions=[told]))
            response = OffsetForLeaderEpochResponse(throttle_time_ms=0, topics=topics)
            offsets.settle_checks(self.subscription, plans, response, retry_at=self.now + 1)

        self.answers.append(answer)

    @rule(count=st.integers(1, 3))
    def fetch(self, count: int) -> None:
        for each in self.subscription.fetchable():
            assert each.position is not None
            self.answers.append(self._fetched(each.partition, each.era, each.position, count))

    def _fetched(
        self, partition: TopicPartition, era: int, position: Position, count: int
    ) -> Callable[[bool], None]:
        def answer(is_good: bool) -> None:
            log, start = self.logs[partition], position.offset
            if not is_good:
                return
            if not log.start <= start <= log.end:
                offsets.out_of_range(self.subscription, partition, era, start)
            elif (owned := self.subscription.find(partition, era)) and owned.position == position:
                end = min(start + count, log.end)
                if end > start:
                    assert self.subscription.advance(partition, era, log.position(end))

        return answer

    @rule(at=st.integers(0, 3), is_good=st.sampled_from([True, False, None]))
    def answer(self, at: int, is_good: bool | None) -> None:
        """One answer comes, or never will."""
        for answer in self.answers[at : at + 1]:
            self.answers.remove(answer)
            if is_good is not None:
                answer(is_good)

    @rule(count=st.integers(1, 3))
    def poll(self, count: int) -> None:
        """All goes well for once."""
        self.ask()
        self.ask_for_committed()
        self.ask_for_resets()
        self.ask_for_checks()
        self.fetch(count)
        self._answer_all()

    @rule(seconds=st.integers(1, 6))
    def wait(self, seconds: int) -> None:
        self.now += seconds

    # What always holds

    @invariant()
    def positions_go_back_by_jumps_only(self) -> None:
        for each in self.subscription:
            offset = -1 if each.position is None else each.position.offset
            owner, furthest = self.furthest.get(each.era, (each, offset))
            assert owner is each, "an era came again"
            assert offset >= furthest
            self.furthest[each.era] = (each, offset)

    @invariant()
    def what_is_committable_was_dealt_with(self) -> None:
        for each in self.subscription:
            if each.committable is None:
                continue
            assert each.committable.offset <= self.asked_at[each]
            if each.position is not None:
                assert each.committable.offset <= each.position.offset

    @invariant()
    def nothing_is_kept_of_what_is_not_owned(self) -> None:
        owned = self.subscription.assignment
        assert self.subscription.committable().keys() <= owned
        assert self.subscription.positions().keys() <= owned
        assert {each.partition for each in self.subscription.fetchable()} <= owned

    @invariant()
    def only_what_is_free_is_fetched(self) -> None:
        for each in self.subscription.fetchable():
            assert each.position is not None
            assert not each.is_held
            assert not each.is_paused
            assert each.leader is not None

    @invariant()
    def nobody_waits_for_ever(self) -> None:
        assert all(each.retry_at <= self.now + 5 for each in self.subscription)

    def teardown(self) -> None:
        for turn in range(ENOUGH_TURNS):
            if self._heal_a_little():
                break
            assert turn < ENOUGH_TURNS - 1, f"stuck: {list(self.subscription)}"

    def _heal_a_little(self) -> bool:
        """One turn without faults; whether all that is owned is fetched, from where its log is."""
        self.now += 10
        names = set(PARTITIONS)
        self.release(names)
        self.pause(names, is_on=False)
        self.lead()
        self.ask_for_committed()
        self.ask_for_resets()
        self.ask_for_checks()
        self.fetch(1)
        self._answer_all()
        if self.subscription.policy is None:  # the user was told of what nobody else can mend
            self._seek_what_is_out_of_range()
        return all(map(self._is_good, self.subscription))

    def _answer_all(self) -> None:
        while self.answers:
            self.answers.pop(0)(True)

    def _is_good(self, owned: OwnedPartition) -> bool:
        log = self.logs[owned.partition]
        if owned.position is None or not owned.is_fetchable:
            return False
        return log.start <= owned.position.offset <= log.end

    def _seek_what_is_out_of_range(self) -> None:
        for each in self.subscription:
            if not self._is_good(each):
                self.subscription.seek(each.partition, self.logs[each.partition].end)


Lives.TestCase.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
TestLives = Lives.TestCase
