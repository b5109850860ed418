"""Which topics to read, and from where to where: what the options of a read can say. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal

from kafka_aio.errors import ConfigError
from kafka_aio.types import TopicPartition
from spark_connector import java_regex
from spark_connector.offsets import from_json, read_object, shown
from spark_connector.option_values import Texts, wrong

EARLIEST: Final = -2
"""For one partition among offsets: where its log begins."""
LATEST: Final = -1
"""The same: where it ends."""

_TOPICS: Final = ("subscribe", "subscribePattern", "assign")
_ASSIGN_EXAMPLE: Final = '{"topicA": [0, 1], "topicB": [0]}'
_OFFSETS_EXAMPLE: Final = '{"topicA": {"0": 23, "1": -1}, "topicB": {"0": -2}}'
_TIMES_EXAMPLE: Final = '{"topicA": {"0": 1700000000000, "1": 1700000000000}}'
_LARGEST_PARTITION: Final = 2**31 - 1


class Word(Enum):
    """One end of every log."""

    EARLIEST = "earliest"
    LATEST = "latest"


@dataclass(frozen=True)
class ByOffset:
    """An offset for each partition; -2 is the beginning of its log, -1 the end."""

    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True)
class ByTimestamp:
    """A time for each partition, in milliseconds since 1970."""

    timestamps: Mapping[TopicPartition, int]


@dataclass(frozen=True)
class AtTimestamp:
    """One time for all partitions, in milliseconds since 1970."""

    timestamp: int


Where = Word | ByOffset | ByTimestamp | AtTimestamp


@dataclass(frozen=True)
class Subscribe:
    """Topics by their names."""

    topics: tuple[str, ...]


@dataclass(frozen=True)
class Pattern:
    """Topics whose names have something in them that a pattern of Java's finds.

    Raises:
        ConfigError: It is no such pattern, or it has something that Python cannot do.
    """

    text: str

    def __post_init__(self) -> None:
        try:
            java_regex.compiled(self.text)
        except java_regex.PatternError as error:
            raise ConfigError(
                f"option subscribePattern is {shown(self.text)}; expected is a regular expression"
                f" of Java's, such as clicks-.*: {error}"
            ) from None

    def matches(self, topic: str) -> bool:
        """Whether it is found anywhere in a name; `^` and `$` are for who wants the whole name."""
        return java_regex.compiled(self.text).search(topic) is not None


@dataclass(frozen=True)
class Assign:
    """Partitions by their numbers, in order."""

    partitions: tuple[TopicPartition, ...]


def topics(texts: Texts) -> Subscribe | Pattern | Assign:
    """Those to read.

    Raises:
        ConfigError: None are named, or in more than one way, or in a wrong one.
    """
    given = [name for name in _TOPICS if name in texts]
    if len(given) != 1:
        what = f"{' and '.join(given)} are given" if given else "none is"
        raise ConfigError(
            f"what to read is said by one of the options {', '.join(_TOPICS)}; {what}. For one"
            " topic: .option('subscribe', 'clicks')"
        )
    name, text = given[0], texts.text(given[0]) or ""
    if name == "assign":
        return _assigned(text)
    if name == "subscribePattern":
        if not text:
            raise wrong(name, text, "a regular expression of Java's", "clicks-.*")
        return Pattern(text)
    names = dict.fromkeys(part.strip() for part in text.split(","))
    names.pop("", None)
    if not names:
        raise wrong(name, text, "names of topics with commas between them", "clicks,orders")
    return Subscribe(tuple(names))


def _assigned(text: str) -> Assign:
    what = "option assign"
    found = set()
    for topic, numbers in read_object(text, what=what, example=_ASSIGN_EXAMPLE).items():
        if not isinstance(numbers, list) or not all(map(_is_partition, numbers)):
            raise ConfigError(
                f"{what}: topic {topic!r} has {shown(numbers)}, not a list of partitions; expected"
                f" is JSON such as {_ASSIGN_EXAMPLE}"
            )
        found |= {TopicPartition(topic, number) for number in numbers}
    if not found:
        raise wrong("assign", text, "JSON with partitions", _ASSIGN_EXAMPLE)
    return Assign(tuple(sorted(found)))


def _is_partition(value: object) -> bool:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return is_number and 0 <= value <= _LARGEST_PARTITION  # type: ignore[operator]  # it is an int


def where(texts: Texts, side: Literal["starting", "ending"]) -> Where | None:
    """By a time, by times, or by offsets: the first that is given counts, and is looked at.

    Raises:
        ConfigError: It is wrong.
    """
    by_times, by_offsets = f"{side}OffsetsByTimestamp", f"{side}Offsets"
    time = texts.number(f"{side}Timestamp", least=0, example=1_700_000_000_000)
    if time is not None:
        return AtTimestamp(time)
    text = texts.text(by_times)
    if text is not None:
        return ByTimestamp(from_json(text, what=f"option {by_times}", example=_TIMES_EXAMPLE))
    text = texts.text(by_offsets)
    if text is None:
        return None
    if text.lower() in ("earliest", "latest"):
        return Word(text.lower())
    if not text.startswith("{"):
        raise wrong(by_offsets, text, "earliest, latest or JSON", _OFFSETS_EXAMPLE)
    return ByOffset(
        from_json(text, what=f"option {by_offsets}", least=EARLIEST, example=_OFFSETS_EXAMPLE)
    )


def check_end(ending: Where | None) -> None:
    """It is not the beginning.

    Raises:
        ConfigError: It is.
    """
    instead = "nothing is before that: leave it out, or say latest (-1) or an offset"
    if ending is Word.EARLIEST:
        raise ConfigError(f"option endingOffsets is earliest, but {instead}")
    if isinstance(ending, ByOffset):
        for name, offset in ending.offsets.items():
            if offset == EARLIEST:
                raise ConfigError(
                    f"option endingOffsets has -2, earliest, for {name}, but {instead}"
                )


def check_order(starting: Where | None, ending: Where | None) -> None:
    """Where both are numbers, they are of the same partitions, and no start is after its end.

    Raises:
        ConfigError: That is not so.
    """
    if isinstance(starting, ByOffset) and isinstance(ending, ByOffset):
        what, start, end = "Offsets", starting.offsets, ending.offsets
    elif isinstance(starting, ByTimestamp) and isinstance(ending, ByTimestamp):
        what, start, end = "OffsetsByTimestamp", starting.timestamps, ending.timestamps
    else:
        return
    odd = sorted(set(start) ^ set(end))
    if odd:
        raise ConfigError(
            f"options starting{what} and ending{what} have to name the same partitions, but only"
            f" one of them names {', '.join(map(str, odd))}"
        )
    for name, begin in sorted(start.items()):
        if begin > end[name] >= 0:
            raise ConfigError(
                f"options starting{what} and ending{what}: {name} starts at {begin}, after its end,"
                f" {end[name]}"
            )
