"""Offsets that brokers are asked for: where to begin, and whether a position is still good. Pure.

    begin            the committed offsets are known: go there, or reset
    plan_resets      whose offsets to ask for (ListOffsets)    settle_resets      what came of it
    plan_checks      whose epochs to ask for (KIP-320)         settle_checks      what came of it
    out_of_range     the leader has no such offset
    damaged          it has, and cannot read what is there

A plan keeps the era of each partition. An answer to an earlier era is old: it changes nothing, not
even by its error (B45). What is planned rests until `retry_at`; so a plan that is never settled is
made again, and no partition is stuck. Before checks are planned and settled, the subscription is
told how far the records were handed over: a check is about one position.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final, NamedTuple

from kafka_aio.consumer.position import LATEST, OwnedPartition, Phase, Position, ResetTo
from kafka_aio.consumer.subscription import Subscription
from kafka_aio.errors import (
    CorruptRecord,
    KafkaError,
    OffsetOutOfRange,
    ProtocolError,
    UnsupportedVersion,
    for_code,
)
from kafka_aio.listing import BEGINNING, CONSUMER, END, Listed, is_stale, is_worth_it
from kafka_aio.metadata import Leader
from kafka_aio.protocol.messages.offsets import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafka_aio.types import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition

FIRST_FOR_CONSUMERS: Final = 3
"""The first version of OffsetForLeaderEpoch that asks for no rights on the cluster."""


class NoOffsetForPartition(KafkaError):
    """There is no committed offset to begin at, and auto_offset_reset is none.

    Attributes:
        partitions: Where.
    """

    def __init__(self, text: str, partitions: Iterable[TopicPartition] = ()) -> None:
        super().__init__(text)
        self.partitions = tuple(partitions)


class LogTruncated(KafkaError):
    """Records that were read are not in the log any more, and auto_offset_reset is none.

    Attributes:
        partition: Where.
        position: The position that has become doubtful.
        diverged: The first offset at which the log may be another; None where nobody knows it.
    """

    def __init__(
        self,
        text: str,
        partition: TopicPartition | None = None,
        position: Position | None = None,
        diverged: Position | None = None,
    ) -> None:
        super().__init__(text)
        self.partition = partition
        self.position = position
        self.diverged = diverged


@dataclass(slots=True)
class Checked:
    """What came of an OffsetForLeaderEpoch request."""

    truncated: dict[TopicPartition, Position | None] = field(default_factory=dict)
    """The partitions that go on elsewhere; None where that is a reset."""
    again: dict[TopicPartition, KafkaError] = field(default_factory=dict)
    failed: dict[TopicPartition, KafkaError] = field(default_factory=dict)
    """What the user is told of."""

    @property
    def stale_metadata(self) -> bool:
        return is_stale(self.again.values())


class ResetPlan(NamedTuple):
    """An offset to ask for, because a position is to be reset."""

    partition: TopicPartition
    era: int
    timestamp: int
    """In milliseconds since 1970, or in place of a time."""


class CheckPlan(NamedTuple):
    """A position to hold against its leader."""

    partition: TopicPartition
    era: int
    position: Position
    leader: Leader


def begin(
    subscription: Subscription,
    eras: Mapping[TopicPartition, int],
    committed: Mapping[TopicPartition, OffsetAndMetadata | None],
) -> NoOffsetForPartition | None:
    """The committed offsets are known: go there, or where the policy leads; an error if nowhere.

    Args:
        subscription: The partitions.
        eras: Which committed offsets were asked for, and in which era of the partition.
        committed: The offsets; one that is missing or None was never committed.
    """
    lost = []
    for partition, era in eras.items():
        found = subscription.find(partition, era)
        if found is None:
            continue
        offset = committed.get(partition)
        if offset is not None:
            subscription.seek(partition, offset)
        elif subscription.policy is not None:
            found.reset(subscription.policy)
        else:
            lost.append(partition)
    if not lost:
        return None
    names = ", ".join(map(str, lost))
    text = f"{names}: no offset is committed, and auto_offset_reset is none: seek, or set it"
    return NoOffsetForPartition(text, lost)


def out_of_range(
    subscription: Subscription, partition: TopicPartition, era: int, offset: int
) -> OffsetOutOfRange | None:
    """The leader has no such offset: reset the position, or an error if there is no policy.

    An answer about an offset that is not the position any more is old.
    """
    found = _found_at(subscription, partition, era, offset)
    if found is None:
        return None
    if subscription.policy is None:
        return OffsetOutOfRange(where=f"{partition}, offset {offset}")
    found.reset(subscription.policy)
    return None


def damaged(
    subscription: Subscription, partition: TopicPartition, era: int, offset: int
) -> CorruptRecord | None:
    """The leader cannot read what it has at an offset: an error, if that is the position.

    It may not be yet: then what was fetched before is handed over first, and the leader is asked
    once more.
    """
    if _found_at(subscription, partition, era, offset) is None:
        return None
    topic, number = partition
    return CorruptRecord(
        "the broker cannot read what it has there (CORRUPT_MESSAGE); seek past it, or to it again",
        topic=topic,
        partition=number,
        offset=offset,
    )


def _found_at(
    subscription: Subscription, partition: TopicPartition, era: int, offset: int
) -> OwnedPartition | None:
    """The partition, if it is fetched from there, and all before is handed over."""
    found = subscription.find(partition, era)
    if found is None or found.phase is not Phase.FETCHING or found.position is None:
        return None
    return found if found.position.offset == offset else None


def plan_resets(
    subscription: Subscription, *, now: float, retry_at: float, wall_time: float
) -> list[ResetPlan]:
    """The offsets to ask for, for those that await a reset. They rest until `retry_at`.

    Args:
        subscription: The partitions.
        now: The time.
        retry_at: When to ask again, if nothing is heard of it.
        wall_time: Seconds since 1970, from which a reset by duration counts.
    """
    plans = []
    for each in _due(subscription, Phase.AWAITING_RESET, now):
        each.retry_at = retry_at
        plans.append(ResetPlan(each.partition, each.era, _time_of(each, wall_time)))
    return plans


def _time_of(owned: OwnedPartition, wall_time: float) -> int:
    to, lookback = owned.reset_to or LATEST
    if to is ResetTo.EARLIEST:
        return BEGINNING
    if to is ResetTo.LATEST or owned.asks_end:
        return END
    return max(int((wall_time - lookback) * 1000), 0)


def settle_resets(
    subscription: Subscription, plans: Iterable[ResetPlan], listed: Listed, *, retry_at: float
) -> dict[TopicPartition, KafkaError]:
    """Go where the answer leads. What it does not answer is asked for again at `retry_at`.

    Returns:
        What the user is told of: the errors that no other attempt would mend.
    """
    errors = {}
    for partition, era, _ in plans:
        owned = subscription.find(partition, era)
        if owned is None:
            continue
        if partition in listed.found:
            _settle_reset(owned, listed.found[partition])
        elif partition in listed.again:
            owned.retry_at = retry_at
        elif partition in listed.failed:
            owned.retry_at = retry_at
            errors[partition] = listed.failed[partition]
    return errors


def _settle_reset(owned: OwnedPartition, found: OffsetAndTimestamp | None) -> None:
    if found is not None:
        if owned.asks_end:
            owned.found_end(found.offset)
        else:
            owned.settle_reset(found.offset)
    elif owned.end_before is not None:
        owned.settle_reset(owned.end_before)
    else:
        owned.look_for_end()


def plan_checks(subscription: Subscription, *, now: float, retry_at: float) -> list[CheckPlan]:
    """The positions to hold against their leaders. They rest until `retry_at`."""
    plans = []
    for each in _due(subscription, Phase.AWAITING_VALIDATION, now):
        if each.position is not None and each.leader is not None:
            each.retry_at = retry_at
            plans.append(CheckPlan(each.partition, each.era, each.position, each.leader))
    return plans


def check_requests(plans: Iterable[CheckPlan]) -> dict[int, OffsetForLeaderEpochRequest]:
    """A request for each node that leads some of them."""
    by_node: dict[int, dict[str, OffsetForLeaderTopic]] = {}
    for (name, number), _, position, leader in plans:
        topics = by_node.setdefault(leader.node, {})
        topic = topics.setdefault(name, OffsetForLeaderTopic(topic=name, partitions=[]))
        topic.partitions.append(
            OffsetForLeaderPartition(
                partition=number, current_leader_epoch=leader.epoch, leader_epoch=position.epoch
            )
        )
    return {
        node: OffsetForLeaderEpochRequest(replica_id=CONSUMER, topics=list(topics.values()))
        for node, topics in by_node.items()
    }


def settle_checks(
    subscription: Subscription,
    plans: Iterable[CheckPlan],
    response: OffsetForLeaderEpochResponse,
    *,
    retry_at: float,
) -> Checked:
    """Go on where the leader's log agrees; elsewhere go back, reset, or tell the user.

    Args:
        subscription: The partitions.
        plans: Those of the request that this is the answer to.
        response: The answer.
        retry_at: When to ask again for what it does not answer.
    """
    told = {
        TopicPartition(topic.topic, each.partition): each
        for topic in response.topics
        for each in topic.partitions
    }
    checked = Checked()
    for plan in plans:
        owned = _still_awaiting(subscription, plan)
        if owned is None:
            continue
        owned.retry_at = retry_at
        answer = told.get(plan.partition)
        if answer is None:
            text = f"{plan.partition}: the broker's answer to OffsetForLeaderEpoch lacks it"
            checked.again[plan.partition] = ProtocolError(text)
        elif answer.error_code:
            error = for_code(answer.error_code, where=str(plan.partition))
            (checked.again if is_worth_it(error) else checked.failed)[plan.partition] = error
        else:
            _settle_check(subscription, owned, answer, checked)
    return checked


def _settle_check(
    subscription: Subscription, owned: OwnedPartition, answer: EpochEndOffset, checked: Checked
) -> None:
    """The epoch of the position, or the one before it that the leader knows, has such an end."""
    partition, position = owned.partition, owned.position
    is_known = answer.end_offset >= 0 and answer.leader_epoch >= 0
    diverged = Position(answer.end_offset, answer.leader_epoch) if is_known else None
    if position is None or (diverged is not None and diverged.offset >= position.offset):
        owned.confirm()
    elif subscription.policy is None:
        text = (
            f"{partition}: the log does not have all that was read before offset {position}; it"
            f" parts from it {'somewhere' if diverged is None else f'at {diverged}'}, and"
            " auto_offset_reset is none: seek"
        )
        checked.failed[partition] = LogTruncated(text, partition, position, diverged)
    else:
        checked.truncated[partition] = diverged
        if diverged is None:
            owned.reset(subscription.policy)
        else:
            owned.truncated(diverged)


def not_checked(
    subscription: Subscription, plans: Iterable[CheckPlan], error: KafkaError, *, retry_at: float
) -> Checked:
    """The request as a whole came to nothing. A broker that is too old for it is believed."""
    checked = Checked()
    for plan in plans:
        owned = _still_awaiting(subscription, plan)
        if owned is None:
            continue
        if isinstance(error, UnsupportedVersion):
            owned.confirm()
            continue
        owned.retry_at = retry_at
        (checked.again if is_worth_it(error) else checked.failed)[plan.partition] = error
    return checked


def next_plan_at(subscription: Subscription) -> float:
    """When the next plan is due; `inf` where there is nothing to plan."""
    phases = (Phase.AWAITING_RESET, Phase.AWAITING_VALIDATION)
    times = (
        each.retry_at for each in subscription if each.phase in phases and each.leader is not None
    )
    return min(times, default=inf)


def _due(subscription: Subscription, phase: Phase, now: float) -> list[OwnedPartition]:
    return [
        each
        for each in subscription
        if each.phase is phase and each.leader is not None and each.retry_at <= now
    ]


def _still_awaiting(subscription: Subscription, plan: CheckPlan) -> OwnedPartition | None:
    """The partition, if the answer is about where it is, and from who leads it."""
    owned = subscription.find(plan.partition, plan.era)
    if owned is None or owned.phase is not Phase.AWAITING_VALIDATION:
        return None
    if owned.position == plan.position and owned.checked_epoch == plan.leader.epoch:
        return owned
    owned.retry_at = -inf  # it has moved on since: ask about where it is now
    return None
