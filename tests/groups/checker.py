"""Whether a group kept its promises: from what its members said. Pure.

What is broken is named, one word for each promise:

    not-assigned         records of a partition that the member did not have
    gap, again           a record that does not follow the one before it
    below-committed      a partition begun before what was committed when it was assigned
    not-read-so-far      a partition begun after all that anybody had read
    above-position       committed, though the member had not read so far
    not-owned            committed for a partition that the member did not have
    assigned-again       a partition that the member had already
    owned-twice          two members had a partition in one generation
    owned-together       two members had a partition at one moment
    wrong                another record than was written there
    never-read           written, and read by nobody

Events are those of `tests.groups.member`, and may be those of Java's VerifiableConsumer, which has
neither generations nor `at`: then what needs these is not checked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

Event = Mapping[str, Any]
Partition = tuple[str, int]


class Broken(NamedTuple):
    """A promise that was not kept."""

    promise: str
    member: str
    partition: Partition | None
    why: str


class Tenure(NamedTuple):
    """A member had a partition from one moment to another."""

    partition: Partition
    member: str
    begin: int
    end: int
    is_lost: bool
    """It did not give it up, it was taken: another may have had it before this one knew."""


@dataclass
class _Owned:
    """What a member has, and how far it is in it."""

    since: int
    floor: int
    """What the group had committed when it was assigned: acknowledged, so known to all."""
    position: int | None = None


@dataclass
class _Group:
    """What is known of all members."""

    committed: dict[Partition, int] = field(default_factory=dict)
    reached: dict[Partition, int] = field(default_factory=dict)
    """After the last record that anybody has read."""
    read: dict[Partition, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    owners: dict[tuple[int, Partition], set[str]] = field(default_factory=lambda: defaultdict(set))
    tenures: list[Tenure] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)


class _Member:
    """One of them, event by event."""

    def __init__(self, name: str, group: _Group) -> None:
        self._name = name
        self._group = group
        self._owned: dict[Partition, _Owned] = {}

    def hear(self, event: Event) -> None:
        match event["name"]:
            case "partitions_assigned":
                self._assigned(event)
            case "partitions_revoked":
                self._gone(partitions_of(event), moment(event), bool(event.get("lost")))
            case "records_consumed":
                for each in event["partitions"]:
                    self._consumed(each)
            case "offsets_committed" if event["success"]:
                for each in event["offsets"]:
                    self._committed(each)
            case "wrong_record":
                self._break("wrong", None, f"{event['value']} at offset {event['offset']}")

    def end(self, at: int) -> None:
        """It is no more: killed, or at its end."""
        self._gone(list(self._owned), at, False)

    def _break(self, promise: str, partition: Partition | None, why: str) -> None:
        self._group.broken.append(Broken(promise, self._name, partition, why))

    def _assigned(self, event: Event) -> None:
        for name in partitions_of(event):
            if name in self._owned:
                self._break("assigned-again", name, "it had not been revoked")
            floor = self._group.committed.get(name, 0)
            self._owned[name] = _Owned(moment(event), floor)
        if "generation" not in event:
            return
        for name in self._owned:
            owners = self._group.owners[event["generation"], name]
            owners.add(event.get("instance") or self._name)  # a static member may be restarted
            if len(owners) > 1:
                self._break("owned-twice", name, f"{sorted(owners)} in {event['generation']}")

    def _gone(self, partitions: Iterable[Partition], at: int, is_lost: bool) -> None:
        for name in partitions:
            owned = self._owned.pop(name, None)
            if owned is not None:
                tenure = Tenure(name, self._name, owned.since, at, is_lost)
                self._group.tenures.append(tenure)

    def _consumed(self, summary: Mapping[str, Any]) -> None:
        name = (summary["topic"], summary["partition"])
        first, last = summary["minOffset"], summary["maxOffset"]
        self._group.read[name].append((first, last + 1))
        if last - first + 1 != summary["count"]:
            self._break("gap", name, f"{summary['count']} records from {first} to {last}")
        owned = self._owned.get(name)
        if owned is None:
            self._break("not-assigned", name, f"offsets {first} to {last}")
        elif owned.position is None:
            self._begun(name, owned, first)
        elif first != owned.position:
            promise = "again" if first < owned.position else "gap"
            self._break(promise, name, f"offset {first} after {owned.position - 1}")
        if owned is not None:
            owned.position = last + 1
        self._group.reached[name] = max(self._group.reached.get(name, 0), last + 1)

    def _begun(self, name: Partition, owned: _Owned, first: int) -> None:
        if first < owned.floor:
            self._break("below-committed", name, f"offset {first}, committed {owned.floor}")
        if first > self._group.reached.get(name, 0):
            reached = self._group.reached.get(name, 0)
            self._break("not-read-so-far", name, f"offset {first}, read up to {reached}")

    def _committed(self, offset: Mapping[str, Any]) -> None:
        name, at = (offset["topic"], offset["partition"]), offset["offset"]
        owned = self._owned.get(name)
        if owned is None:
            self._break("not-owned", name, f"committed {at}")
            return
        # What it has not read of is where another was, or where it began.
        most = owned.position
        if most is None:
            most = max(self._group.reached.get(name, 0), owned.floor)
        if at > most:
            self._break("above-position", name, f"committed {at}, position {most}")
        self._group.committed[name] = max(self._group.committed.get(name, 0), at)


def moment(event: Event) -> int:
    """When it happened, in nanoseconds; Java says it in milliseconds that have begun."""
    return int(event["at"]) if "at" in event else int(event["timestamp"]) * 1_000_000 + 999_999


def partitions_of(event: Event) -> list[Partition]:
    return [(each["topic"], each["partition"]) for each in event["partitions"]]


def check(
    members: Mapping[str, Sequence[Event]],
    ends: Mapping[str, int],
    written: Mapping[Partition, int] | None = None,
) -> list[Broken]:
    """All promises that were broken.

    Args:
        members: What each has said, in its order.
        ends: When each was killed or had ended: after that, others may have what it had.
        written: The offset after the last record of each partition; None if that is not of
            interest. All begin with 0.
    """
    group = _Group()
    watched = {name: _Member(name, group) for name in members}
    events = [
        (moment(event), name, event)
        for name, said in members.items()
        for event in said
        if "name" in event
    ]
    for _, name, event in sorted(events, key=lambda each: each[0]):
        watched[name].hear(event)
    for name, member in watched.items():
        member.end(ends[name])
    group.broken += _together(group.tenures)
    group.broken += _never_read(group.read, written or {})
    return group.broken


def _together(tenures: Iterable[Tenure]) -> list[Broken]:
    found = []
    by_partition: dict[Partition, list[Tenure]] = defaultdict(list)
    for tenure in tenures:
        if not tenure.is_lost:
            by_partition[tenure.partition].append(tenure)
    for name, those in by_partition.items():
        for before, after in pairwise(sorted(those, key=lambda each: each.begin)):
            if after.begin < before.end:
                early = (before.end - after.begin) / 1e9
                why = f"{after.member} has it {early:.3f} s before {before.member} gives it up"
                found.append(Broken("owned-together", after.member, name, why))
    return found


def _never_read(
    read: Mapping[Partition, Iterable[tuple[int, int]]], written: Mapping[Partition, int]
) -> list[Broken]:
    found = []
    for name, end in written.items():
        position = 0
        for first, after in [*sorted(read.get(name, ())), (end, end)]:
            if first > position:
                found.append(Broken("never-read", "", name, f"offsets {position} to {first - 1}"))
            position = max(position, after)
    return found


def again(members: Mapping[str, Sequence[Event]]) -> int:
    """How many records were read more than once."""
    read: dict[Partition, list[tuple[int, int]]] = defaultdict(list)
    for said in members.values():
        for event in said:
            if event["name"] == "records_consumed":
                for each in event["partitions"]:
                    name = (each["topic"], each["partition"])
                    read[name].append((each["minOffset"], each["maxOffset"] + 1))
    count = 0
    for ranges in read.values():
        total = sum(after - first for first, after in ranges)
        position = distinct = 0
        for first, after in sorted(ranges):
            distinct += max(0, after - max(first, position))
            position = max(position, after)
        count += total - distinct
    return count
