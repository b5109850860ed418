"""A consumer's partitions in few words."""

from __future__ import annotations

from kafka_aio.consumer.position import LATEST, Reset
from kafka_aio.consumer.subscription import Subscription
from kafka_aio.metadata import Leader
from kafka_aio.types import OffsetAndMetadata, TopicPartition

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
FIRST, SECOND = Leader(1, 5), Leader(2, 6)
"""The leaders of all partitions, one after the other."""


def led_by(leader: Leader | None, *partitions: TopicPartition) -> Subscription:
    """These partitions, assigned by hand and led, without a position."""
    subscription = Subscription(LATEST)
    subscription.assign(partitions)
    subscription.lead(lambda _: leader)
    return subscription


def fetching(
    *partitions: TopicPartition, at: int = 10, policy: Reset | None = LATEST
) -> Subscription:
    """These partitions, led by the first leader, at a position whose epoch is not known."""
    subscription = led_by(FIRST, *partitions)
    subscription.policy = policy
    for partition in partitions:
        subscription.seek(partition, at)
    return subscription


def awaiting_validation(
    at: int = 10, epoch: int = 5, policy: Reset | None = LATEST
) -> Subscription:
    """A partition whose leader has changed since it was read."""
    subscription = led_by(SECOND, A0)
    subscription.policy = policy
    subscription.seek(A0, OffsetAndMetadata(at, leader_epoch=epoch))
    return subscription
