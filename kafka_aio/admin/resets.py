"""Committed offsets moved elsewhere: what has to be known, and where each goes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from kafka_aio.admin.offset_values import OffsetReset, OffsetSpec, ResetKind
from kafka_aio.errors import KafkaError
from kafka_aio.types import OffsetAndTimestamp, TopicPartition

Listed: TypeAlias = OffsetAndTimestamp | KafkaError | None
"""What a broker says of an offset that it was asked for."""

_BOUNDS: Final = (OffsetSpec.earliest(), OffsetSpec.latest())


def asks(reset: OffsetReset, *, now: float) -> tuple[OffsetSpec, ...]:
    """The offsets to ask for, of each partition; `now` is the wall clock, in seconds."""
    kind = reset.kind
    if kind is ResetKind.EARLIEST:
        return (OffsetSpec.earliest(),)
    if kind in (ResetKind.LATEST, ResetKind.CURRENT):
        return (OffsetSpec.latest(),)
    if kind is ResetKind.TIMESTAMP:
        return (OffsetSpec.at(reset.value), OffsetSpec.latest())
    if kind is ResetKind.DURATION:
        return (OffsetSpec.at(max(0, int(now * 1000) - reset.value)), OffsetSpec.latest())
    return _BOUNDS


def goal(
    reset: OffsetReset, partition: TopicPartition, before: int | None, told: Sequence[Listed]
) -> int | KafkaError:
    """Where the offset of a partition goes.

    Args:
        reset: What is wanted.
        partition: Where.
        before: What is committed; None if nothing is.
        told: What came of what was asked for, in that order.
    """
    offsets: list[int | None] = []
    for each in told:
        if isinstance(each, KafkaError):
            return each
        offsets.append(None if each is None else each.offset)
    first, last = offsets[0], offsets[-1]
    if last is None:
        return KafkaError(f"{partition}: the broker does not say where the log ends")
    if reset.kind is ResetKind.CURRENT and before is not None:
        return before
    if reset.kind is ResetKind.OFFSET:
        return _within(reset.value, first, last)
    if reset.kind is ResetKind.SHIFT:
        if before is None:
            return KafkaError(f"{partition}: nothing is committed that could be shifted")
        return _within(before + reset.value, first, last)
    return last if first is None else first  # without a record that is young enough, the end


def _within(offset: int, first: int | None, last: int) -> int:
    return min(max(offset, first or 0), last)
