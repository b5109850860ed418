"""The assignors that a configuration names. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_aio.consumer.assignors.assignor import Assignor
from kafka_aio.consumer.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka_aio.consumer.assignors.range import RangeAssignor
from kafka_aio.consumer.assignors.round_robin import RoundRobinAssignor
from kafka_aio.consumer.assignors.sticky import StickyAssignor

_STOCK = (RangeAssignor(), RoundRobinAssignor(), StickyAssignor(), CooperativeStickyAssignor())


def assignors_of(given: Sequence[Any]) -> list[Assignor]:
    """What is meant by names, and by assignors of the user's."""
    stock: dict[str, Assignor] = {each.name: each for each in _STOCK}
    return [stock[each] if isinstance(each, str) else each for each in given]
