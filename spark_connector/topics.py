"""Which partitions there are, and which offsets they have: asked of the cluster."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from kafka_aio import Admin, OffsetSpec, TopicDescription, TopicPartition
from kafka_aio.errors import (
    BrokerError,
    ConfigError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    UnknownTopicOrPartition,
)
from spark_connector import clients
from spark_connector.offsets import Offsets
from spark_connector.options import (
    Assign,
    AtTimestamp,
    ByOffset,
    ByTimestamp,
    Pattern,
    ReadOptions,
    Where,
    Word,
)
from spark_connector.places import EARLIEST, LATEST

log = logging.getLogger("spark_connector")

T = TypeVar("T")
Side = Literal["start", "end"]

QUICK_SECONDS = 2.0
"""So long the consumer may look for the ends of logs."""


@dataclass
class Found:
    """The partitions that are to be read."""

    partitions: tuple[TopicPartition, ...] = ()
    """In order."""
    topic_ids: dict[str, str] = field(default_factory=dict)
    """A topic that was deleted and made anew has another one."""


@dataclass(frozen=True)
class Resolved:
    """Where to begin or to end, in numbers."""

    offsets: Offsets
    has_latest: bool
    """Whether any of them is the end of a log at this moment, and would be another one later."""


class Topics:
    """Asks for what a read needs to know; each call is repeated as fetchOffset.numRetries says."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._left_out: set[str] = set()
        """Of Kafka's own topics, those that were warned of: a stream looks once a second."""

    def __repr__(self) -> str:
        return f"<Topics {self._options.topics}>"

    async def find(self, *, known: Collection[str] = ()) -> Found:
        """The partitions of the topics.

        Args:
            known: Topics that there were before: that one is not there any more is believed when
                as many answers have said so as fetchOffset.numRetries allows.

        Raises:
            UnknownTopicOrPartition: A topic that was named does not exist, or has fewer partitions.
            KafkaError: That cannot be found out.
        """
        tries = self._options.fetch_retries
        while True:
            found = await self.ask(self._find)
            if tries <= 0 or found.topic_ids.keys() >= set(known):
                return found
            tries -= 1
            await asyncio.sleep(self._options.fetch_retry_interval)

    async def earliest(self, partitions: Collection[TopicPartition]) -> Offsets:
        """Where their logs begin."""
        return (await self._resolve_all(partitions, OffsetSpec.earliest())).offsets

    async def latest(self, partitions: Collection[TopicPartition]) -> Offsets:
        """Where their logs end; with read_committed, where open transactions begin.

        The consumer knows the leaders, so it is asked first: one request for each of them. The
        admin client asks for leaders every time, but says what is wrong.
        """
        try:
            async with clients.consumer(self._options.consumer_options()) as consumer:
                return await consumer.end_offsets(partitions, timeout=QUICK_SECONDS)
        except KafkaError:
            return (await self._resolve_all(partitions, OffsetSpec.latest())).offsets

    async def resolve(
        self, partitions: Collection[TopicPartition], where: Where, side: Side
    ) -> Resolved:
        """Where to begin or to end, in numbers.

        Raises:
            ConfigError: Partitions are named that are not there, or some are left out; or no record
                is as young as a timestamp.
            KafkaError: That cannot be found out.
        """
        match where:
            case Word.EARLIEST:
                return await self._resolve_all(partitions, OffsetSpec.earliest())
            case Word.LATEST:
                return await self._resolve_all(partitions, OffsetSpec.latest())
            case AtTimestamp(timestamp):
                return await self._at_times(dict.fromkeys(partitions, timestamp), side)
            case ByTimestamp(timestamps):
                _check_same(partitions, timestamps, f"{side}ingOffsetsByTimestamp", "")
                return await self._at_times(timestamps, side)
            case ByOffset(offsets):
                for_others = "-2 is its beginning" if side == "start" else "-1 is its end"
                _check_same(partitions, offsets, f"{side}ingOffsets", for_others)
                return await self._by_offset(offsets)

    async def first_at(
        self, partitions: Collection[TopicPartition], timestamp: int
    ) -> dict[TopicPartition, int | None]:
        """The first record of each that is not older; None where all are."""
        return await self._list(dict.fromkeys(partitions, OffsetSpec.at(timestamp)))

    async def ask(self, question: Callable[[Admin], Awaitable[T]]) -> T:
        """Ask until there is an answer, or no more tries are left.

        A topic that is unknown is asked for again, too: brokers hear a little late of a new one.
        """
        tries = self._options.fetch_retries
        while True:
            try:
                async with clients.admin(self._options.admin_options()) as admin:
                    return await question(admin)
            except (BrokerError, KafkaConnectionError, KafkaTimeoutError) as error:
                is_for_good = isinstance(error, BrokerError) and not error.retriable
                if is_for_good or tries <= 0:
                    raise
                log.warning("offsets could not be found, and are asked for again: %s", error)
            tries -= 1
            await asyncio.sleep(self._options.fetch_retry_interval)

    # Partitions.

    async def _find(self, admin: Admin) -> Found:
        wanted = self._options.topics
        if isinstance(wanted, Pattern):
            listed = await admin.list_topics()
            described = await self._described(
                admin, [topic.name for topic in listed if wanted.matches(topic.name)]
            )
        elif isinstance(wanted, Assign):
            described = await self._described(admin, {each.topic for each in wanted.partitions})
        else:
            described = await self._described(admin, wanted.topics)
        known = {
            TopicPartition(topic.name, each.partition)
            for topic in described
            for each in topic.partitions
        }
        ids = {topic.name: topic.topic_id for topic in described}
        if isinstance(wanted, Assign):
            asked = [each for each in wanted.partitions if each.topic in ids]  # not Kafka's own
            _check_assigned(asked, known)
            known &= set(asked)
        return Found(tuple(sorted(known)), ids)

    async def _described(self, admin: Admin, names: Iterable[str]) -> list[TopicDescription]:
        described = []
        for name, topic in (await admin.describe_topics(sorted(names))).items():
            if isinstance(topic, KafkaError):
                is_listed = isinstance(self._options.topics, Pattern)
                if is_listed and isinstance(topic, UnknownTopicOrPartition):
                    continue  # deleted since it was listed
                raise topic
            if topic.is_internal:
                if name not in self._left_out:
                    log.warning("topic %s is Kafka's own, and is left out", name)
                self._left_out.add(name)
                continue
            described.append(topic)
        return described

    # Offsets.

    async def _resolve_all(
        self, partitions: Collection[TopicPartition], spec: OffsetSpec
    ) -> Resolved:
        found = await self._list(dict.fromkeys(partitions, spec))
        offsets = {name: offset for name, offset in found.items() if offset is not None}
        return Resolved(offsets, has_latest=spec == OffsetSpec.latest())

    async def _at_times(self, times: Mapping[TopicPartition, int], side: Side) -> Resolved:
        found = await self._list({name: OffsetSpec.at(time) for name, time in times.items()})
        offsets = {name: offset for name, offset in found.items() if offset is not None}
        unmatched = [name for name in times if name not in offsets]
        if unmatched:
            if side == "start" and self._options.timestamp_strategy == "error":
                name = min(unmatched)
                raise ConfigError(
                    f"{name} has no record from timestamp {times[name]} on: take an earlier time,"
                    " or set startingOffsetsByTimestampStrategy to latest to begin at its end"
                )
            offsets.update(await self.latest(unmatched))
        return Resolved(offsets, has_latest=bool(unmatched))

    async def _by_offset(self, given: Mapping[TopicPartition, int]) -> Resolved:
        offsets = dict(given)
        first = [name for name, offset in given.items() if offset == EARLIEST]
        last = [name for name, offset in given.items() if offset == LATEST]
        if first:
            offsets.update(await self.earliest(first))
        if last:
            offsets.update(await self.latest(last))
        return Resolved(offsets, has_latest=bool(last))

    async def _list(
        self, specs: Mapping[TopicPartition, OffsetSpec]
    ) -> dict[TopicPartition, int | None]:
        if not specs:
            return {}

        async def ask(admin: Admin) -> dict[TopicPartition, int | None]:
            found = await admin.list_offsets(
                specs,
                isolation_level=(
                    "read_committed" if self._options.read_committed else "read_uncommitted"
                ),
            )
            offsets: dict[TopicPartition, int | None] = {}
            for name, answer in found.items():
                if isinstance(answer, KafkaError):
                    raise answer
                offsets[name] = None if answer is None else answer.offset
            return offsets

        return await self.ask(ask)


def _check_assigned(wanted: Iterable[TopicPartition], known: Collection[TopicPartition]) -> None:
    missing = [str(each) for each in wanted if each not in known]
    if missing:
        raise UnknownTopicOrPartition(where=f"option assign: {', '.join(missing)}")


def _check_same(
    partitions: Collection[TopicPartition],
    named: Collection[TopicPartition],
    option: str,
    for_others: str,
) -> None:
    """What is given for each partition is given for all, and for no others."""
    missing, unknown = set(partitions) - set(named), set(named) - set(partitions)
    told = [
        f"{text} {', '.join(map(str, sorted(names)))}"
        for text, names in (("lacks", missing), ("names, but there is no", unknown))
        if names
    ]
    if told:
        hint = f". For a partition of no interest, {for_others}" if missing and for_others else ""
        raise ConfigError(
            f"option {option} has to name every partition that is read, and no other: it"
            f" {'; it '.join(told)}{hint}"
        )
