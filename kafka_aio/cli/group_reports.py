"""What is printed about groups. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kafka_aio.admin import GroupDescription, GroupList, GroupMember, OffsetChange
from kafka_aio.cli.output import Json, Report, error_document, table
from kafka_aio.errors import GroupIdNotFound, KafkaError
from kafka_aio.types import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition

_ERROR: Final = "error      null, or an object: type, code, message; other keys are then missing"
_OFFSETS: Final = (
    "lag        records yet to be read, of all partitions where that is known; null if of none",
    "offsets    for each: topic, partition, committed (an offset, or null), end, lag (or null),",
    "           metadata (a text that was committed with it)",
)

KEYS: Final[Mapping[str, Sequence[str]]] = {
    "list": [
        "groups     for each: group, type, state, protocol_type, coordinator (the id of a broker)",
        "errors     for each broker that could not be asked: coordinator, error",
        _ERROR,
    ],
    "describe": [
        "groups     for each: group, error, type, state, protocol_type, assignor, coordinator,",
        "           epoch, target_assignment_epoch (null in classic groups), members, lag, offsets",
        "members    for each: member, instance (or null), client, host, rack, epoch,",
        "           assignment, target_assignment (for each: topic, partition), subscribed_topics,",
        "           subscribed_pattern, classic (or null)",
        *_OFFSETS,
        _ERROR,
    ],
    "offsets": ["groups     for each: group, error, lag, offsets", *_OFFSETS, _ERROR],
    "reset": [
        "group      its id",
        "executed   false where it is only shown",
        "offsets    for each: topic, partition, error, before (an offset, or null), after",
        _ERROR,
    ],
    "delete": ["groups     for each: group, error, deleted (false if it was not there)", _ERROR],
    "delete-offsets": [
        "group      its id",
        "offsets    for each: topic, partition, error, deleted",
        _ERROR,
    ],
    "remove-members": [
        "group      its id",
        "members    for each: member (its id, or instance id), error, removed",
        _ERROR,
    ],
}
"""Of `--json`, by command."""


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a group is in a partition."""

    partition: TopicPartition
    committed: OffsetAndMetadata | None
    end: int | None
    """Where the log ends; None where that is not known."""

    @property
    def records(self) -> int | None:
        """How many are yet to be read; None where that is not known."""
        if self.committed is None or self.end is None:
            return None
        return self.end - self.committed.offset


class Lags:
    """How far groups are."""

    def __init__(
        self,
        committed: Mapping[
            str, Mapping[TopicPartition, OffsetAndMetadata | KafkaError | None] | KafkaError
        ],
        ends: Mapping[TopicPartition, OffsetAndTimestamp | KafkaError | None],
    ) -> None:
        self.committed = committed
        self._ends = ends

    def __repr__(self) -> str:
        return f"<Lags of {len(self.committed)} groups>"

    def of(self, group: str, assigned: Iterable[TopicPartition] = ()) -> list[Lag]:
        """Of one group, by partition: those that it has committed for, and that it reads."""
        found = self.committed[group]
        known = {} if isinstance(found, KafkaError) else found
        return [self._lag(each, known.get(each)) for each in sorted({*known, *assigned})]

    def errors(self, group: str, lags: Iterable[Lag]) -> list[KafkaError]:
        """Why something of it is not known."""
        found = self.committed[group]
        if isinstance(found, KafkaError):
            return [found]
        told = [*found.values(), *(self._ends.get(lag.partition) for lag in lags)]
        return [each for each in told if isinstance(each, KafkaError)]

    def _lag(
        self, partition: TopicPartition, committed: OffsetAndMetadata | KafkaError | None
    ) -> Lag:
        end = self._ends.get(partition)
        return Lag(
            partition,
            None if isinstance(committed, KafkaError) else committed,
            end.offset if isinstance(end, OffsetAndTimestamp) else None,
        )


def listed(found: GroupList) -> Report:
    document = [
        {
            "group": group.group_id,
            "type": group.type.value,
            "state": group.state.value,
            "protocol_type": group.protocol_type,
            "coordinator": group.coordinator,
        }
        for group in found.groups
    ]
    errors = [
        {"coordinator": node, "error": error_document(error)}
        for node, error in found.errors.items()
    ]
    rows = [
        [group.group_id, group.type.value, group.state.value, group.coordinator]
        for group in found.groups
    ]
    lines = table(["group", "type", "state", "coordinator"], rows) if rows else []
    return Report({"groups": document, "errors": errors}, lines, list(found.errors.values()))


def described(
    found: Mapping[str, GroupDescription | KafkaError],
    lags: Lags,
    other_errors: Sequence[KafkaError] = (),
) -> Report:
    document: list[Json] = []
    lines: list[str] = []
    errors = list(other_errors)
    for name, group in found.items():
        if isinstance(group, KafkaError):
            document.append(_failed(name, group))
            errors.append(group)
            continue
        owners = {each: member for member in group.members for each in member.assignment}
        its = lags.of(name, owners)
        document.append(_group(group, its))
        errors += lags.errors(name, its)
        lines += ["", _headline(group, its), *_members(group), *_partitions(its, owners)]
    return Report({"groups": document}, lines[1:], errors)


def _headline(group: GroupDescription, lags: Sequence[Lag]) -> str:
    parts = [f"{group.group_id}: {group.type.value}", group.state.value]
    if group.assignor:
        parts.append(f"assignor {group.assignor}")
    if group.coordinator is not None:
        parts.append(f"coordinator {group.coordinator}")
    return ", ".join([*parts, _count(len(group.members), "member"), _lag_of(lags)])


def _members(group: GroupDescription) -> list[str]:
    if not group.members:
        return []
    rows = [
        [
            member.member_id,
            member.instance_id,
            member.client_id,
            member.host,
            member.epoch,
            len(member.assignment),
        ]
        for member in group.members
    ]
    names = ["member", "instance", "client", "host", "epoch", "partitions"]
    return table(names, rows)


def _partitions(
    lags: Sequence[Lag], owners: Mapping[TopicPartition, GroupMember] | None = None
) -> list[str]:
    if not lags:
        return []
    names = ["topic", "partition", "committed", "end", "lag"]
    rows: list[list[object]] = [
        [*lag.partition, lag.committed and lag.committed.offset, lag.end, lag.records]
        for lag in lags
    ]
    if owners:
        names.append("member")
        for lag, row in zip(lags, rows, strict=True):
            owner = owners.get(lag.partition)
            row.append(None if owner is None else owner.member_id)
    return table(names, rows)


def _group(group: GroupDescription, lags: Sequence[Lag]) -> Json:
    return {
        "group": group.group_id,
        "error": None,
        "type": group.type.value,
        "state": group.state.value,
        "protocol_type": group.protocol_type,
        "assignor": group.assignor,
        "coordinator": None if group.coordinator is None else group.coordinator.id,
        "epoch": group.epoch,
        "target_assignment_epoch": group.target_assignment_epoch,
        "members": [_member(member) for member in group.members],
        **_offsets(lags),
    }


def _member(member: GroupMember) -> Json:
    target = member.target_assignment
    return {
        "member": member.member_id,
        "instance": member.instance_id,
        "client": member.client_id,
        "host": member.host,
        "rack": member.rack,
        "epoch": member.epoch,
        "assignment": [each._asdict() for each in member.assignment],
        "target_assignment": None if target is None else [each._asdict() for each in target],
        "subscribed_topics": member.subscribed_topics,
        "subscribed_pattern": member.subscribed_pattern,
        "classic": member.is_classic,
    }


def offsets(lags: Lags) -> Report:
    document: list[Json] = []
    lines: list[str] = []
    errors: list[KafkaError] = []
    for name, found in lags.committed.items():
        if isinstance(found, KafkaError):
            document.append(_failed(name, found))
            errors.append(found)
            continue
        its = lags.of(name)
        document.append({"group": name, "error": None, **_offsets(its)})
        errors += lags.errors(name, its)
        state = _lag_of(its) if its else "nothing is committed"
        lines += ["", f"{name}: {state}", *_partitions(its)]
    return Report({"groups": document}, lines[1:], errors)


def _offsets(lags: Sequence[Lag]) -> Json:
    return {
        "lag": _total(lags),
        "offsets": [
            {
                **lag.partition._asdict(),
                "committed": lag.committed and lag.committed.offset,
                "end": lag.end,
                "lag": lag.records,
                "metadata": lag.committed and lag.committed.metadata,
            }
            for lag in lags
        ],
    }


def _total(lags: Iterable[Lag]) -> int | None:
    """Of the partitions where it is known; None where it is of none."""
    known = [lag.records for lag in lags if lag.records is not None]
    return sum(known) if known else None


def _lag_of(lags: Sequence[Lag]) -> str:
    total = _total(lags)
    if total is None:
        return "lag -"
    return f"lag at least {total}" if any(lag.records is None for lag in lags) else f"lag {total}"


def moved(
    group: str, changes: Mapping[TopicPartition, OffsetChange | KafkaError], *, dry_run: bool
) -> Report:
    document: list[Json] = []
    rows: list[list[object]] = []
    for partition, change in changes.items():
        head = partition._asdict()
        if isinstance(change, KafkaError):
            document.append({**head, "error": error_document(change)})
            continue
        document.append({**head, "error": None, "before": change.before, "after": change.after})
        rows.append([*partition, change.before, change.after])
    verb = "would be moved" if dry_run else "moved"
    count = sum(before != after for *_, before, after in rows)
    lines = [f"{group}: {_count(count, 'offset')} {verb}"]
    if rows:
        lines += table(["topic", "partition", "before", "after"], rows)
    hints = ["nothing was changed; --execute does it"] if dry_run and count else []
    if not changes:
        hints = ["nothing is committed; --topic names what is to be"]
    return Report(
        {"group": group, "executed": not dry_run, "offsets": document},
        lines,
        _errors(changes),
        hints,
    )


def deleted(results: Mapping[str, KafkaError | None], *, may_be_missing: bool) -> Report:
    document: list[Json] = []
    lines: list[str] = []
    errors: list[KafkaError] = []
    for name, error in results.items():
        was_missing = may_be_missing and isinstance(error, GroupIdNotFound)
        if error is None or was_missing:
            document.append({"group": name, "error": None, "deleted": not was_missing})
            lines.append(f"{name}: {'it was not there' if was_missing else 'deleted'}")
        else:
            document.append(_failed(name, error))
            errors.append(error)
    return Report({"groups": document}, lines, errors)


def forgotten(group: str, results: Mapping[TopicPartition, KafkaError | None]) -> Report:
    document = [
        {**each._asdict(), "error": error_document(error)}
        if error is not None
        else {**each._asdict(), "error": None, "deleted": True}
        for each, error in results.items()
    ]
    done = sum(error is None for error in results.values())
    lines = [f"{group}: {_count(done, 'offset')} deleted"]
    return Report({"group": group, "offsets": document}, lines, _errors(results))


def removed(group: str, results: Mapping[str, KafkaError | None]) -> Report:
    document = [
        {"member": member, "error": error_document(error)}
        if error is not None
        else {"member": member, "error": None, "removed": True}
        for member, error in results.items()
    ]
    done = sum(error is None for error in results.values())
    lines = [f"{group}: {_count(done, 'member')} removed"]
    return Report({"group": group, "members": document}, lines, _errors(results))


def _failed(group: str, error: KafkaError) -> Json:
    return {"group": group, "error": error_document(error)}


def _errors(results: Mapping[TopicPartition, object] | Mapping[str, object]) -> list[KafkaError]:
    return [result for result in results.values() if isinstance(result, KafkaError)]


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
