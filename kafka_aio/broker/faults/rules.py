"""What can happen to a request on purpose, and how it is told whether it does. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal, Protocol, Self, TypeAlias

from kafka_aio.broker.faults.mentions import names_group, names_partition
from kafka_aio.errors import BrokerError, for_code
from kafka_aio.protocol.messages.fetch import FetchRequest
from kafka_aio.protocol.messages.index import REQUESTS
from kafka_aio.protocol.schema import schema_of

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call
    from kafka_aio.broker.nodes import Rng

When: TypeAlias = Literal["before", "after"]
"""Whether it comes before a request is carried out, or when that is about to be answered."""


class Owner(Protocol):
    """Who keeps the rules: `Faults`."""

    rng: Rng
    run: Callable[[Callable[[], None]], None]
    """How a change is made: where the broker lives in another thread, there."""
    happened: Callable[[], None]
    """Is called for each hit."""

    def forget(self, rule: Rule) -> None:
        """Drop a rule."""


def check_type(name: str, value: object, kind: type | tuple[type, ...], what: str) -> None:
    """Raise a TypeError, unless it is None or of that type; bool is no number."""
    if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
        raise TypeError(f"{name} is {what}, not {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Options of a fault, complete and checked."""

    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    node: int | None = None
    client_id: str | None = None
    times: int | None = None
    after: int = 0
    probability: float = 1.0

    def __post_init__(self) -> None:
        for name in ("topic", "group", "client_id"):
            check_type(name, getattr(self, name), str, "a text")
        for name, least in (("partition", 0), ("node", 0), ("times", 1), ("after", 0)):
            value = getattr(self, name)
            check_type(name, value, int, "a number")
            if value is not None and value < least:
                raise ValueError(f"{name} is {least} at least, not {value}")
        check_type("probability", self.probability, (int, float), "a number")
        if not 0 <= self.probability <= 1:
            raise ValueError(f"probability is from 0 to 1, not {self.probability}")
        if self.partition is not None and self.topic is None:
            raise ValueError("partition needs topic: say of which")

    def __str__(self) -> str:
        set_ = (each.name for each in fields(self) if getattr(self, each.name) != each.default)
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in set_)


class Rule:
    """One fault, until it is removed: a handle that counts, and a context manager."""

    when: When = "after"

    def __init__(self, faults: Owner, key: int, options: Filter) -> None:
        self.key = key
        """Of the API."""
        self.hits = 0
        """How often it has happened."""
        self._faults = faults
        self._filter = options
        self._seen = 0

    def __repr__(self) -> str:
        api = REQUESTS[self.key][1].removesuffix("Request")
        details = ", ".join(text for text in (api, str(self._filter)) if text)
        return f"<{type(self).__name__} {details}: {self.hits} hits>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Let it happen no more. The second call does nothing."""
        self._faults.run(lambda: self._faults.forget(self))

    def concerns(self, call: Call) -> bool:
        """Whether it is for such a request, whatever that names."""
        options = self._filter
        return (
            self.key == schema_of(type(call.request)).key
            and options.node in (None, call.node)
            and options.client_id in (None, call.client_id)
        )

    def is_named(self, call: Call) -> bool:
        """Whether a request names the topic, partition or group that it is for."""
        topic, partition, group = self._filter.topic, self._filter.partition, self._filter.group
        if group is not None and not names_group(call.request, group):
            return False
        if topic is None or _reads(call, topic, partition):
            return True
        names = call.state.topics.by_id
        return names_partition(call.request, topic, partition, version=call.version, names=names)

    def happens(self) -> bool:
        """Whether it happens this time, after all that was asked for it. Counts."""
        options = self._filter
        if self.hits == options.times:
            return False
        self._seen += 1
        if self._seen <= options.after:
            return False
        if options.probability < 1 and self._faults.rng.random() >= options.probability:
            return False
        self.hits += 1
        self._faults.happened()
        return True


def _reads(call: Call, topic: str, partition: int | None) -> bool:
    """Whether it is a fetch in a session that has the partition: it need not name it again."""
    if not isinstance(call.request, FetchRequest):
        return False
    topics = call.state.topics
    known = topics.by_name.get(topic)
    return any(
        (name == topic or (known is not None and topic_id == known.id))
        and partition in (None, index)
        for name, topic_id, index in call.state.sessions.read_by(call.node, call.request.session_id)
    )


class Fail(Rule):
    """An error in the answer."""

    def __init__(
        self, faults: Owner, key: int, options: Filter, error: BrokerError, when: When
    ) -> None:
        super().__init__(faults, key, options)
        self._error = error
        self.when = when

    @property
    def has_topic(self) -> bool:
        """Whether it is for a topic, and not for all that can fail."""
        return self._filter.topic is not None

    def check(self, call: Call, *, topic: str, partition: int, group: str) -> None:
        """Raise the error, if it is for this part of this request.

        Raises:
            BrokerError: As it was told.
        """
        options = self._filter
        if (
            self.concerns(call)
            and options.topic in (None, topic)
            and options.partition in (None, partition)
            and options.group in (None, group)
        ):
            self._strike()

    def check_whole(self, call: Call) -> None:
        """Raise the error, if it is for anything that this request names.

        Raises:
            BrokerError: As it was told.
        """
        if self.concerns(call) and self.is_named(call):
            self._strike()

    def _strike(self) -> None:
        if self.happens():
            raise for_code(self._error.code, self._error.message)


class Delay(Rule):
    """The request is carried out late, or its answer is late."""

    def __init__(
        self, faults: Owner, key: int, options: Filter, seconds: float, when: When
    ) -> None:
        super().__init__(faults, key, options)
        self.seconds = seconds
        self.when = when


class Hold(Rule):
    """The request waits, or its answer does, until `release`."""

    def __init__(self, faults: Owner, key: int, options: Filter, when: When) -> None:
        super().__init__(faults, key, options)
        self.when = when
        self._held: list[Callable[[], None]] = []

    @property
    def held(self) -> int:
        """How many are waiting now."""
        return len(self._held)

    def keep(self, resume: Callable[[], None]) -> None:
        self._held.append(resume)

    def drop(self, resume: Callable[[], None]) -> None:
        """One that is held has gone."""
        self._held = [each for each in self._held if each != resume]

    def release(self, count: int | None = None) -> None:
        """Let the oldest go on: that many, or all of them; after all, the fault is over."""
        self._faults.run(lambda: self._release(count))

    def remove(self) -> None:
        """Let all go on, and hold none any more."""
        self.release()

    def _release(self, count: int | None) -> None:
        if count is None:
            self._faults.forget(self)
        free, self._held = self._held[:count], self._held[len(self._held[:count]) :]
        for resume in free:
            resume()


class Disconnect(Rule):
    """The connection is closed instead of an answer."""

    def __init__(self, faults: Owner, key: int, options: Filter, when: When) -> None:
        super().__init__(faults, key, options)
        self.when = when


class Drop(Rule):
    """The request is carried out and never answered: its connection hangs."""


class Throttle(Rule):
    """The answer asks the client to pause, and its connection is not read meanwhile (KIP-219)."""

    def __init__(self, faults: Owner, key: int, options: Filter, milliseconds: int) -> None:
        super().__init__(faults, key, options)
        self.milliseconds = milliseconds


class Garbage(Rule):
    """The answer is a frame of nonsense."""


class Corrupt(Rule):
    """Fetched batches have a wrong byte; those in the log stay as they are."""

    def hits_partition(self, topic: str, partition: int) -> bool:
        """Whether the records of a partition are to be damaged. Counts."""
        options = self._filter
        is_meant = topic == options.topic and options.partition in (None, partition)
        return is_meant and self.happens()
