"""The assignors that a configuration names. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kafka_aio.consumer.assignors.assignor import Assignor
from kafka_aio.consumer.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka_aio.consumer.assignors.custom import CustomAssignor
from kafka_aio.consumer.assignors.range import RangeAssignor
from kafka_aio.consumer.assignors.round_robin import RoundRobinAssignor
from kafka_aio.consumer.assignors.sticky import StickyAssignor
from kafka_aio.errors import ConfigError

STOCK: Final = (RangeAssignor, RoundRobinAssignor, StickyAssignor, CooperativeStickyAssignor)
"""Those of our own, which a configuration may name."""


def assignors_of(given: Sequence[Any]) -> list[Assignor]:
    """What is meant by names, and by assignors of the user's.

    Raises:
        ConfigError: Two have the same name, or one of the user's cannot assign.
    """
    stock = {each.name: each for each in STOCK}
    assignors: dict[str, Assignor] = {}
    for each in given:
        assignor = stock[each]() if isinstance(each, str) else _of_the_users(each)
        if assignor.name in assignors:
            raise ConfigError(
                f"partition_assignment_strategy: two assignors are named {assignor.name!r}, and"
                " members choose by name"
            )
        assignors[assignor.name] = assignor
    return list(assignors.values())


def _of_the_users(given: Any) -> Assignor:
    # Classes made of one of ours have all that there is to say.
    return given if isinstance(given, STOCK) else CustomAssignor(given)
