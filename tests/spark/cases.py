"""What a case is: what Spark is asked, and what comes of it with Spark's own connector and ours.

The tables are `cases_read`, `cases_stream` and `cases_write`. Texts name topics in angle brackets
(`tests.spark.topics`). An error's words are a regular expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.spark.topics import Topics


@dataclass(frozen=True)
class Fails:
    """An error is what comes of it.

    Attributes:
        at: The call that raises: load, action, start, query or save.
        words: What the error says, whatever else.
    """

    at: str
    words: str


class Failed(NamedTuple):
    """The call that raised, and all that its error says."""

    at: str
    text: str


Options = Mapping[str, str | None]  # None takes one away that is always there
Places = Mapping[str, Iterable[int]]  # offsets by topic and partition: {"a-0": range(10)}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A row of a table.

    Attributes:
        number: That of the list of observed cases.
        part: Which one of several in a row.
        why: Why ours differs, where it does otherwise or at another call.
        says: What ours says of it besides, in Spark's log.
    """

    number: int
    part: str = ""
    why: str = ""
    says: str = ""

    @property
    def id(self) -> str:
        return f"{self.number}-{self.part}" if self.part else str(self.number)


@dataclass(frozen=True)
class Rows:
    """Records are what comes of it.

    Attributes:
        places: Which, exactly.
        partitions: How many Spark partitions they are in, empty ones too.
        values: What the columns hold that were selected, in place of which records they are.
    """

    places: Places = field(default_factory=dict)
    partitions: int | None = None
    values: Sequence[tuple[Any, ...]] | None = None


@dataclass(frozen=True, kw_only=True)
class Read(Case):
    """A batch read.

    Attributes:
        options: Over `kafka.bootstrap.servers`.
        theirs: What comes of it with Spark's own connector.
        ours: With ours; where it is not given, the same.
        schema: What the user says it is.
        where: A condition on the rows.
        select: Columns, if it is not to be seen which records they are.
        columns: What the schema is, every column nullable and without metadata.
        afterwards: What is also true then.
    """

    options: Options
    theirs: Rows | Fails
    ours: Rows | Fails | None = None
    schema: str | None = None
    where: str | None = None
    select: Sequence[str] = ()
    columns: str | None = None
    afterwards: Callable[[Topics], bool] = lambda topics: True


@dataclass(frozen=True)
class Batches:
    """Micro-batches are what comes of a run of a query.

    Attributes:
        rows: How many are in each.
        end: The offsets in the checkpoint after the last: {"a-0": 10}. All that are there.
        ends: Those of each batch, in place of the last.
        places: Which records, exactly, in all batches.
        partitions: How many Spark partitions the first batch with rows is in.
        later: No batch but the first came before so many seconds had passed since it.
    """

    rows: Sequence[int]
    end: Mapping[str, int] | None = None
    ends: Sequence[Mapping[str, int]] = ()
    places: Places | None = None
    partitions: int | None = None
    later: float = 0


@dataclass(frozen=True)
class Create:
    """A step of a case of streams: a topic, and how many records each partition has."""

    topic: str
    counts: Sequence[int]


@dataclass(frozen=True)
class Produce:
    """Some more records to partitions of a topic."""

    topic: str
    counts: Mapping[int, int]


@dataclass(frozen=True)
class Grow:
    """More partitions for a topic: so many in all."""

    topic: str
    partitions: int


@dataclass(frozen=True)
class Delete:
    """No such topic any more."""

    topic: str


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run of the case's query, on the case's checkpoint.

    Attributes:
        trigger: As `trigger` of Spark is given it.
        during: What happens while the first batch is under way.
    """

    options: Options
    theirs: Batches | Fails
    ours: Batches | Fails | None = None
    trigger: Mapping[str, Any] = field(default_factory=lambda: {"availableNow": True})
    during: Produce | None = None


Step = Create | Produce | Grow | Delete | Run


@dataclass(frozen=True, kw_only=True)
class Stream(Case):
    """Streaming reads, one after the other, with what is done to the topics in between."""

    steps: Sequence[Step]


@dataclass(frozen=True, kw_only=True)
class Record:
    """A record that is in the topic then; without a partition, that of its key, or any."""

    value: bytes | None
    key: bytes | None = None
    partition: int | None = None


@dataclass(frozen=True)
class Written:
    """Records are in the topic then: these, in any order, with new timestamps, and no others."""

    records: Sequence[Record]


@dataclass(frozen=True, kw_only=True)
class Write(Case):
    """A batch write, to a topic `<out>` of its own.

    Attributes:
        frame: What is written, in SQL.
        options: Over `kafka.bootstrap.servers` and `topic`.
        mode: That of the save; None for Spark's default.
        partitions: How many the topic has.
        before: How many records it holds before.
    """

    frame: str
    theirs: Written | Fails
    ours: Written | Fails | None = None
    options: Options = field(default_factory=dict)
    mode: str | None = "append"
    partitions: int = 1
    before: int = 0
    afterwards: Callable[[Topics], bool] = lambda topics: True


@dataclass(frozen=True, kw_only=True)
class StreamWrite(Case):
    """A stream from one topic to another, `<out>`, that is of its own.

    Attributes:
        options: Of the sink, over `kafka.bootstrap.servers`, `topic` and `checkpointLocation`.
        select: Columns, of the source or of its counts by partition.
        mode: The output mode; any but append writes counts.
    """

    theirs: Written | Fails
    ours: Written | Fails | None = None
    subscribe: str = "<a>"
    options: Options = field(default_factory=dict)
    select: Sequence[str] = ("value",)
    mode: str = "append"
    partitions: int = 1
    trigger: Mapping[str, Any] = field(default_factory=lambda: {"availableNow": True})


def options(given: Options, topics: Topics) -> dict[str, str]:
    """What Spark is given, in order, with whole names."""
    all_of_them = {"kafka.bootstrap.servers": topics.bootstrap, **given}
    return {name: topics.filled(value) for name, value in all_of_them.items() if value is not None}


def places(found: Places, topics: Topics) -> list[tuple[str, int, int]]:
    """Topic, partition and offset of each, in order."""
    named = ((short.rpartition("-"), offsets) for short, offsets in found.items())
    return sorted(
        (topics.name(topic), int(partition), offset)
        for (topic, _, partition), offsets in named
        for offset in offsets
    )


def assert_fails(found: object, expected: Fails, topics: Topics) -> None:
    assert isinstance(found, Failed), f"no error, but {found}"
    assert found.at == expected.at, found.text
    assert re.search(topics.filled(expected.words), found.text, re.IGNORECASE | re.DOTALL), (
        found.text
    )
