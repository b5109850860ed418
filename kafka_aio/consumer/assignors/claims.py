"""Whose a partition was before, by what the members say. Pure.

Members may be wrong: one that missed some generations still claims what has long been given to
others. So the claim of the highest generation holds; if two members claim a partition in the same
one, neither is believed. A claim that nobody contradicts holds, however old it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka_aio.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Claim:
    """What a member says that it has, or had until it joined again."""

    partitions: Sequence[TopicPartition] = ()
    generation: int = -1
    """-1 where it does not say since when."""


def owners(claims: Mapping[str, Claim]) -> dict[TopicPartition, str]:
    """Whose claims hold, by member id."""
    latest: dict[TopicPartition, tuple[int, str | None]] = {}
    for member_id, claim in claims.items():
        for partition in dict.fromkeys(claim.partitions):
            generation, _ = latest.get(partition, (-2, None))
            if claim.generation > generation:
                latest[partition] = claim.generation, member_id
            elif claim.generation == generation:
                latest[partition] = generation, None
    return {
        partition: member_id
        for partition, (_, member_id) in latest.items()
        if member_id is not None
    }


def claimants(claims: Mapping[str, Claim]) -> dict[TopicPartition, set[str]]:
    """All that claim each partition, rightly or not."""
    found: dict[TopicPartition, set[str]] = {}
    for member_id, claim in claims.items():
        for partition in claim.partitions:
            found.setdefault(partition, set()).add(member_id)
    return found
