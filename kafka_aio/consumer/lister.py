"""Asks brokers where logs begin and end, and what they hold at a time, until that is known."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Mapping
from typing import Final

from kafka_aio.backoff import Backoff
from kafka_aio.errors import (
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    UnknownTopicOrPartition,
    for_code,
)
from kafka_aio.listing import Listed, list_requests, not_listed, read_listed
from kafka_aio.metadata import Metadata
from kafka_aio.net import clock
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.tasks import Tasks
from kafka_aio.protocol.messages.metadata import MetadataRequest
from kafka_aio.protocol.messages.offsets import ListOffsetsRequest
from kafka_aio.types import OffsetAndTimestamp, PartitionInfo, TopicPartition

_TOPICS_WAIT: Final = 1.0
"""For so many seconds one attempt waits for metadata."""


class Lister:
    """What calls of the API ask of logs."""

    def __init__(
        self, cluster: Cluster, tasks: Tasks, retry: Backoff, *, request_timeout: float
    ) -> None:
        self._cluster = cluster
        self._request_timeout = request_timeout
        self._tasks = tasks
        self._retry = retry
        self._rng: random.Random = clock.rng()
        self._loop = asyncio.get_running_loop()

    def __repr__(self) -> str:
        return f"<Lister on {self._cluster!r}>"

    async def ask(
        self, node: int, request: ListOffsetsRequest, *, timeout: float | None = None
    ) -> Listed:
        """What a node says; failures too."""
        try:
            response = await self._cluster.send(node, request, timeout=timeout)
        except KafkaError as error:
            return not_listed(request, error)
        return read_listed(request, response)

    async def find(
        self, times: Mapping[TopicPartition, int], *, read_committed: bool, until: float
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The offset at each of the times; None where no record is that young.

        Args:
            times: In milliseconds since 1970, or one of the numbers of `listing`.
            read_committed: Whether the end is that of what is committed.
            until: When to give up.

        Raises:
            KafkaTimeoutError: Not all are known by then; the text says why.
            KafkaError: Some cannot be asked for.
        """
        found: dict[TopicPartition, OffsetAndTimestamp | None] = {}
        attempt = 0
        while left := {name: time for name, time in times.items() if name not in found}:
            listed = await self._list(left, read_committed=read_committed, until=until)
            found |= listed.found
            if listed.failed:
                raise next(iter(listed.failed.values()))
            if not listed.again:
                continue
            if listed.stale_metadata:
                self._cluster.request_refresh()
            name, error = next(iter(listed.again.items()))
            pause = self._retry.delay(attempt, jitter=self._rng.uniform(-1, 1))
            attempt += 1
            if self._loop.time() + pause >= until:
                raise KafkaTimeoutError(f"{name}: its offset is not known in time; last: {error}")
            await self._tasks.sleep(until=self._loop.time() + pause)
        return {name: found[name] for name in times}

    async def partitions(self, topic: str, *, until: float) -> tuple[PartitionInfo, ...]:
        """The partitions of a topic, once the metadata has it.

        Raises:
            KafkaTimeoutError: It is not there by then.
            BrokerError: It never will be.
        """
        attempt = 0
        while True:
            unknown = await self._know_topics({topic}, until)
            found = self._cluster.metadata.partitions(topic)
            if found is not None:
                return found
            pause = self._retry.delay(attempt, jitter=self._rng.uniform(-1, 1))
            attempt += 1
            if self._loop.time() + pause >= until:
                why = "" if unknown is None else f"; last: {unknown}"
                raise KafkaTimeoutError(f"topic {topic!r} is not there in time{why}")
            await self._tasks.sleep(until=self._loop.time() + pause)

    async def all_topics(self, *, timeout: float) -> dict[str, tuple[PartitionInfo, ...]]:
        """All topics of the cluster. What is known of those that we read stays as it was.

        Raises:
            KafkaError: Nobody answers.
        """
        response = await self._cluster.send_any(MetadataRequest(topics=None), timeout=timeout)
        seen = Metadata(max_age=0.0, backoff=self._retry)
        seen.want_all()
        seen.update(response, requested=None, now=0.0, jitter=0.0)
        return {name: seen.partitions(name) or () for name in sorted(seen.topics)}

    async def _list(
        self, times: Mapping[TopicPartition, int], *, read_committed: bool, until: float
    ) -> Listed:
        """Ask all nodes once."""
        unknown = await self._know_topics({name.topic for name in times}, until)
        timeout = min(max(until - self._loop.time(), 0.0), self._request_timeout)
        requests, leaderless = list_requests(
            times,
            self._cluster.metadata.leader,
            read_committed=read_committed,
            timeout=timeout,
        )
        listed = Listed(again={name: self._why_leaderless(name, unknown) for name in leaderless})
        asking = (self.ask(*each, timeout=timeout) for each in requests.items())
        for each in await asyncio.gather(*asking):
            listed.found |= each.found
            listed.again |= each.again
            listed.failed |= each.failed
        return listed

    async def _know_topics(self, topics: set[str], until: float) -> KafkaError | None:
        """Ask for those that are not known, for a while; why nobody has answered."""
        unknown = [name for name in topics if self._cluster.metadata.partition_count(name) is None]
        left = until - self._loop.time()
        if unknown and left <= 0:
            return KafkaTimeoutError(f"topic {unknown[0]!r}: there was no time to ask for it")
        if unknown:
            try:
                await self._cluster.refresh(sorted(unknown), timeout=min(left, _TOPICS_WAIT))
            except (KafkaConnectionError, KafkaTimeoutError) as error:
                return error
            self._check_refusals(unknown)
        return None

    def _check_refusals(self, topics: Iterable[str]) -> None:
        """Raise what no other attempt would mend."""
        for topic in topics:
            code = self._cluster.metadata.topic_error(topic)
            if code and not (refusal := for_code(code, where=f"topic {topic!r}")).retriable:
                raise refusal

    def _why_leaderless(self, name: TopicPartition, unknown: KafkaError | None) -> KafkaError:
        count = self._cluster.metadata.partition_count(name.topic)
        if count is None:
            if unknown is not None:
                return unknown
            return UnknownTopicOrPartition(where=f"topic {name.topic!r}")
        if name.partition >= count:
            told = f"the topic has partitions 0 to {count - 1}"
            return UnknownTopicOrPartition(told, where=str(name))
        return KafkaError(f"{name}: nobody leads it at the moment")
