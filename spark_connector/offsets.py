"""Offsets of a read: JSON, ranges and how they are split, limits, what has changed. Pure.

The JSON is that of Spark's own Kafka connector, `{"topic": {"0": 23}}`, so that offsets can be
carried from the one to the other; it is sorted, as Spark compares it as a text in places.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, floor, inf
from typing import Any, Final

from kafka_aio.errors import ConfigError
from kafka_aio.types import TopicPartition

Offsets = dict[TopicPartition, int]

LARGEST: Final = 2**63 - 1
"""The largest offset or timestamp: Java has 64 bits."""

_EXAMPLE: Final = '{"topicA": {"0": 23, "1": 5}, "topicB": {"0": 0}}'
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,9}", re.ASCII)
_LARGEST_PARTITION: Final = 2**31 - 1


def to_json(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """What Spark keeps; sorted by topic, then by the number of the partition."""
    found: dict[str, dict[str, int]] = {}
    for name in sorted(offsets):
        found.setdefault(name.topic, {})[str(name.partition)] = offsets[name]
    return found


def from_json(
    value: object, *, what: str = "the offsets", least: int = 0, example: str = _EXAMPLE
) -> Offsets:
    """The offsets, from the text or from what Spark has read of it.

    Args:
        value: The JSON as a str, or as a dict.
        what: What to call it in an error.
        least: The smallest number that is one; options have -2 and -1 too.
        example: One that would do, for the error.

    Raises:
        ConfigError: It is not of that form; says where.
    """
    topics = read_object(value, what=what, example=example)
    found: Offsets = {}
    for topic, numbers in topics.items():
        if not isinstance(numbers, dict):
            raise _wrong(what, f"topic {topic!r} has no {{...}} with partitions", example)
        for partition, offset in numbers.items():
            place = f"topic {topic!r}, partition {shown(partition)}"
            name = TopicPartition(topic, _partition(partition, what, place, example))
            if isinstance(offset, bool) or not isinstance(offset, int):
                raise _wrong(what, f"{place}: {shown(offset)} is not a whole number", example)
            if offset < least:
                raise _wrong(what, f"{place}: {shown(offset)} is not from {least} on", example)
            if offset > LARGEST:
                raise _wrong(what, f"{place}: {shown(offset)} is more than {LARGEST}", example)
            found[name] = offset
    return found


def read_object(value: object, *, what: str, example: str) -> dict[str, Any]:
    """A JSON object with a name for each topic; of what it holds nothing is said yet.

    Raises:
        ConfigError: It is none.
    """
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise _wrong(what, f"{shown(value)} is not JSON", example) from None
    if not isinstance(value, Mapping):
        raise _wrong(what, f"{shown(value)} is no JSON object", example)
    for topic in value:
        if not isinstance(topic, str) or not topic:
            raise _wrong(what, f"{shown(topic)} is not the name of a topic", example)
    return dict(value)


def _partition(key: object, what: str, place: str, example: str) -> int:
    if isinstance(key, str) and _NUMBER.fullmatch(key) and int(key) <= _LARGEST_PARTITION:
        return int(key)
    raise _wrong(what, f'{place}: a partition is a number in quotes, such as "0"', example)


def _wrong(what: str, problem: str, example: str) -> ConfigError:
    return ConfigError(f"{what}: {problem}; expected is JSON such as {example}")


def shown(value: object) -> str:
    """A value in an error, cut where it is long."""
    too_long = isinstance(value, int) and value.bit_length() > 512
    text = "a very large number" if too_long else repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


@dataclass(frozen=True, order=True)
class OffsetRange:
    """Records of one partition: from offset `start` up to, and without, `end`.

    Its length counts offsets. Compacted topics and transactions have fewer records than that.

    Raises:
        ValueError: There is no such range.
        TypeError: The topic is no str, or another part no int.
    """

    topic: str
    partition: int
    start: int
    end: int

    def __post_init__(self) -> None:
        if not isinstance(self.topic, str):
            raise TypeError(f"topic of an offset range is a str, not {self.topic!r}")
        if not self.topic:
            raise ValueError("topic of an offset range is a name, not ''")
        for name in ("partition", "start", "end"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"{name} of an offset range is an int, not {value!r}")
            if value < 0:
                raise ValueError(f"{name} of an offset range is 0 or more, not {shown(value)}")
            most = _LARGEST_PARTITION if name == "partition" else LARGEST
            if value > most:
                text = f"{name} of an offset range is {most} at most, not {shown(value)}"
                raise ValueError(text)
        if self.end < self.start:
            raise ValueError(f"{self} ends before it begins")

    def __len__(self) -> int:
        return self.end - self.start

    def __bool__(self) -> bool:
        return self.end > self.start

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} {self.start}..{self.end}"

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


def between(
    start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]
) -> list[OffsetRange]:
    """The range of each partition that has both; where the end is before the start, none of it."""
    return [
        OffsetRange(*name, min(start[name], end[name]), end[name])
        for name in sorted(end)
        if name in start
    ]


def split(
    ranges: Iterable[OffsetRange],
    *,
    min_partitions: int | None,
    max_records: int | None,
    keep_empty: bool = True,
    asked: Iterable[int] | None = None,
) -> list[OffsetRange]:
    """Ranges for the tasks of Spark: as many as the JVM connector makes. Ranges are never merged.

    Args:
        ranges: One for each partition of Kafka.
        min_partitions: Where there are fewer ranges than that, large ones are cut in proportion to
            their size, so that there are about as many.
        max_records: Ranges with more offsets than that are cut into equal parts.
        keep_empty: In a batch empty ranges are tasks too, unless something is cut; in a stream
            (False) they never are.
        asked: The sizes by which it is found out whether `max_records` cuts anything; None means
            those of the ranges. For a batch the JVM connector takes the offsets as they are in the
            options, where earliest is -2 and latest -1.
    """
    given = sorted(ranges)
    filled = [each for each in given if each]
    wanted = given if keep_empty else filled
    sizes = [len(each) for each in given] if asked is None else asked
    too_large = max_records is not None and any(size > max_records for size in sizes)
    if not too_large and (min_partitions is None or min_partitions <= len(wanted)):
        return wanted
    if max_records is not None:
        filled = [piece for each in filled for piece in _cut(each, -(-len(each) // max_records))]
    if min_partitions is None or min_partitions <= len(filled):
        return filled
    return _spread(filled, min_partitions)


def _spread(ranges: Sequence[OffsetRange], parts: int) -> list[OffsetRange]:
    """About as many as `parts`; those that are small anyway do not count for the others' share."""
    total = sum(len(each) for each in ranges)
    small = [each for each in ranges if _share(len(each), total, parts) == 1]
    whole = {each.topic_partition for each in small}
    left = total - sum(len(each) for each in small)
    wanted = max(parts - len(small), 1)
    return [
        piece
        for each in ranges
        for piece in _cut(
            each, 1 if each.topic_partition in whole else _share(len(each), left, wanted)
        )
    ]


def _share(size: int, total: int, parts: int) -> int:
    # A half is rounded up, as Java does it.
    return max(floor(size / total * parts + 0.5), 1)


def _cut(given: OffsetRange, parts: int) -> list[OffsetRange]:
    """Equal parts, the last ones larger by one where it has to be; none is empty."""
    pieces, start = [], given.start
    for left in range(parts, 0, -1):
        end = start + (given.end - start) // left
        if end > start:
            pieces.append(OffsetRange(given.topic, given.partition, start, end))
        start = end
    return pieces


def limited(
    start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int], most: int
) -> Offsets:
    """Ends that are about `most` offsets away from the start, all together.

    Each partition has a share in proportion to what it has to be read, rounded down; a share below
    1 is rounded up, so that small partitions are not left behind for ever. So it may be a little
    less or more than `most`. No end is beyond the one given.

    Raises:
        ValueError: A partition has no start.
    """
    for name in end:
        if name not in start:
            raise ValueError(f"{name} has no start")
    sizes = {name: end[name] - start[name] for name in end if end[name] > start[name]}
    total = sum(sizes.values())
    found = dict(end)
    for name, size in sizes.items():
        share = most * (size / total)
        found[name] = min(start[name] + (ceil(share) if share < 1 else floor(share)), end[name])
    return found


class Admission:
    """Decides where the next micro-batch ends: maxOffsetsPerTrigger and its relations.

    What Spark's calls mean to it:

    - `latestOffset(start, limit)` asks for the next end; the answer is that of `end()`. If it is
      `start` itself, there is no batch, and Spark asks again soon.
    - A `limit` of `ReadAllAvailable`, although the default limit is another, comes from the trigger
      `once`: `everything=True`, and no limit counts. So `getDefaultReadLimit` must not be
      `ReadAllAvailable` where an option is set.
    - `prepareForTriggerAvailableNow()` comes once, before all others, with the trigger
      `availableNow`: `fix_end()`. The first call of `end()` then fixes where the query ends, and
      whoever calls asks the cluster no more (`fixed`). A lower limit does not count, as Spark takes
      "no batch" for the end of the query: the JVM connector leaves records behind there.

    A lower limit lets the first batch pass, whatever there is. After that there is none until
    enough offsets are there, or until `delay` has passed since the last time that one was let pass.

    Attributes:
        fixed: Where an availableNow query ends; None while that is open.
    """

    def __init__(
        self, *, most: int | None = None, least: int | None = None, delay: float = 900.0
    ) -> None:
        self.fixed: Offsets | None = None
        self._most = most
        self._least = least
        self._delay = delay
        self._is_fixing = False
        self._last = -inf

    def __repr__(self) -> str:
        return f"<Admission: most {self._most}, least {self._least} within {self._delay} s>"

    def fix_end(self) -> None:
        """Read what there is at the next call of `end()`, and no more."""
        self._is_fixing = True

    def end(
        self,
        start: Mapping[TopicPartition, int],
        latest: Mapping[TopicPartition, int],
        *,
        now: float,
        beginnings: Mapping[TopicPartition, int] | None = None,
        everything: bool = False,
    ) -> Offsets:
        """Where the next batch ends; `start` itself if there is to be none.

        Args:
            start: Where it begins, as Spark has it.
            latest: Where the logs end. If the end is fixed already, this does not count.
            now: The time in seconds, by any clock that only goes forward.
            beginnings: Where the partitions begin that are new, and so not in `start`.
            everything: No limit counts.

        Raises:
            ValueError: A new partition has no beginning, and there is a limit.
        """
        if self._is_fixing:
            self.fixed = latest = dict(latest) if self.fixed is None else self.fixed
        begin = {**(beginnings or {}), **start}
        if everything:
            return dict(latest)
        if self._least is not None and not self._is_fixing:
            if self._is_too_early(begin, latest, self._least, now):
                return dict(start)
            self._last = now
        return dict(latest) if self._most is None else limited(begin, latest, self._most)

    def _is_too_early(
        self,
        begin: Mapping[TopicPartition, int],
        latest: Mapping[TopicPartition, int],
        least: int,
        now: float,
    ) -> bool:
        if now - self._last >= self._delay:
            return False
        there = sum(max(end - begin.get(name, 0), 0) for name, end in latest.items())
        return there < least


@dataclass(frozen=True)
class Changes:
    """How the partitions of today differ from those that a checkpoint knows."""

    vanished: tuple[TopicPartition, ...] = ()
    """Those that are not there any more."""
    went_back: Mapping[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    """Where we are, and where the log ends: before that. The topic was made anew."""
    begun_late: Mapping[TopicPartition, int] = field(default_factory=dict)
    """New ones whose log does not begin at 0, and where it does."""

    @property
    def losses(self) -> list[str]:
        """A sentence on each loss of records, without an end; none where nothing is lost."""
        found = []
        if self.vanished:
            names = ", ".join(map(str, self.vanished))
            found.append(
                f"{names}: the partition is not there any more (its topic was deleted, or is not"
                " among the options now), and what was not read of it is lost"
            )
        for name, (known, end) in self.went_back.items():
            found.append(
                f"{name}: the log ends at offset {end}, but was read up to {known} before: the"
                " topic was deleted and made anew, the start is wrong, or, with read_committed, a"
                f" transaction is open at {end} that was read before; records below {known} are not"
                " read"
            )
        for name, begin in self.begun_late.items():
            found.append(
                f"{name}: the partition is new, and its log begins at offset {begin}, not at 0"
            )
        return found


def changes(
    known: Mapping[TopicPartition, int],
    latest: Mapping[TopicPartition, int],
    *,
    earliest: Mapping[TopicPartition, int] | None = None,
) -> Changes:
    """What has changed since a checkpoint; what that means is the caller's decision.

    Args:
        known: The offsets of the checkpoint: up to where each partition was read.
        latest: Where the logs of today's partitions end.
        earliest: Where those begin that the checkpoint does not know.
    """
    begins = earliest or {}
    names = sorted(latest)
    return Changes(
        vanished=tuple(name for name in sorted(known) if name not in latest),
        went_back={
            name: (known[name], latest[name])
            for name in names
            if name in known and latest[name] < known[name]
        },
        begun_late={
            name: begins[name] for name in names if name not in known and begins.get(name, 0) > 0
        },
    )
