"""One fetch session with one node: what it was told that we want, and what it answers. Pure.

    request -> answered | failed -> request -> ... -> close

A full request names all partitions that are wanted, and asks for a session. If the broker gives
one, each later request names only what has changed, and the answers only what is new (KIP-227). The
epoch counts the requests of a session: so a broker that missed one says so.

Whatever leaves a doubt whether both sides mean the same is followed by a full request, which also
ends the session that was: an error for the whole answer, an answer that did not come, one about
partitions that nobody wants, one without some that were asked for in full. So is a topic that has
another id than before, and a change between ids and names, which a broker refuses in one session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kafka_aio.errors import (
    FetchSessionIdNotFound,
    KafkaError,
    ProtocolError,
    StateError,
    for_code,
)
from kafka_aio.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from kafka_aio.protocol.schema import NO_UUID, Uuid
from kafka_aio.types import TopicPartition

NO_SESSION: Final = 0
FULL_EPOCH: Final = 0
"""Of a request that names all that is wanted, and asks for a session."""
FINAL_EPOCH: Final = -1
"""Of a request that ends a session."""
GREATEST_EPOCH: Final = 2**31 - 1
BY_NAME: Final = 12
"""The last version of Fetch in which topics are named; later ones have their ids."""


class Ask(NamedTuple):
    """What is wanted of a partition."""

    offset: int
    leader_epoch: int
    """The epoch of the leader as we know it; -1 where that is not known."""
    max_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a request asks for as a whole."""

    max_wait: float
    """How many seconds the broker may wait for `min_bytes`."""
    min_bytes: int
    max_bytes: int
    isolation_level: int = 0
    """1 for what is committed only."""
    rack: str = ""
    """Where we are, so that the leader can name a replica nearby (KIP-392)."""


@dataclass(frozen=True, slots=True)
class Told:
    """What an answer says."""

    partitions: dict[TopicPartition, PartitionData] = field(default_factory=dict)
    """Only such as were wanted."""
    error: KafkaError | None = None
    """What was wrong with the answer as a whole; the next request is a full one."""


class Session:
    """What is wanted from one node, as the node knows it. One request is out at a time."""

    def __init__(self, node: int) -> None:
        """Begin without a session: the first request is a full one."""
        self.node = node
        self._id = NO_SESSION
        self._epoch = FULL_EPOCH
        """That of the next request, or of the one that is out."""
        self._is_out = False
        self._wanted: dict[TopicPartition, Ask] = {}
        self._ids: dict[str, Uuid] = {}
        """Of the topics of the session; empty if it goes by names."""
        self._names: dict[Uuid, str] = {}

    def __repr__(self) -> str:
        which = f"session {self._id}" if self._id else "no session"
        out = ", a request is out" if self._is_out else ""
        wanted = len(self._wanted)
        return (
            f"<Session with node {self.node}: {which}, epoch {self._epoch}, {wanted} wanted{out}>"
        )

    @property
    def is_full(self) -> bool:
        """Whether the next request names all that is wanted, or the one that is out does."""
        return self._epoch == FULL_EPOCH

    def request(
        self,
        asks: Mapping[TopicPartition, Ask],
        *,
        topic_id: Callable[[str], Uuid | None],
        terms: Terms,
    ) -> tuple[FetchRequest, int | None]:
        """The request for these partitions and no others, and the highest version it can have.

        Each topic has its name and its id: a version writes one of them.

        Raises:
            StateError: A request is out, or nothing is wanted.
        """
        if self._is_out or not asks:
            raise StateError(f"{self!r}: no request for {len(asks)} partitions now")
        ids = _ids_of(asks, topic_id)
        if not self._may_go_on(ids):
            self._begin_anew()
        gone = [] if self.is_full else [each for each in self._wanted if each not in asks]
        known = {} if self.is_full else self._wanted
        changed = ((each, ask) for each, ask in asks.items() if known.get(each) != ask)
        request = FetchRequest(
            max_wait_ms=int(terms.max_wait * 1000),
            min_bytes=terms.min_bytes,
            max_bytes=terms.max_bytes,
            isolation_level=terms.isolation_level,
            session_id=self._id,
            session_epoch=self._epoch,
            topics=_topics(changed, ids),
            forgotten_topics_data=_forgotten(gone, self._ids),
            rack_id=terms.rack,
        )
        self._wanted = dict(asks)
        self._ids = ids
        self._names = {each: name for name, each in ids.items()}
        self._is_out = True
        return request, None if ids else BY_NAME

    def _may_go_on(self, ids: dict[str, Uuid]) -> bool:
        """Whether topics are called in the session as they are called now."""
        if bool(ids) != bool(self._ids):
            return False
        return all(self._ids.get(name, each) == each for name, each in ids.items())

    def answered(self, response: FetchResponse) -> Told:
        """The broker has answered.

        Raises:
            StateError: No request is out.
        """
        self._came_back()
        if response.error_code:
            error = for_code(response.error_code, where=f"Fetch, node {self.node}")
            self._begin_anew(is_gone=isinstance(error, FetchSessionIdNotFound))
            return Told(error=error)
        partitions, unknown = self._read(response)
        if problem := self._problem(response, partitions, unknown):
            if self.is_full:  # which has ended the one before
                self._id = response.session_id
            self._begin_anew()
            return Told(partitions, ProtocolError(f"Fetch, node {self.node}: {problem}"))
        if response.session_id == NO_SESSION:  # it has no room for one, or closed it
            self._begin_anew(is_gone=True)
        else:
            self._id = response.session_id
            self._epoch = self._epoch + 1 if self._epoch < GREATEST_EPOCH else 1
        return Told(partitions)

    def failed(self) -> None:
        """There will be no answer, or none that can be read: nobody knows what the broker knows.

        Raises:
            StateError: No request is out.
        """
        self._came_back()
        self._begin_anew()

    def close(self) -> FetchRequest | None:
        """The request that ends the session, or None if there is none. Afterwards it begins anew.

        It may be sent while another is out, whose answer is not told any more.
        """
        session_id = self._id
        self._is_out = False
        self._begin_anew(is_gone=True)
        if session_id == NO_SESSION:
            return None
        return FetchRequest(
            max_wait_ms=0, min_bytes=0, session_id=session_id, session_epoch=FINAL_EPOCH, topics=[]
        )

    def _came_back(self) -> None:
        if not self._is_out:
            raise StateError(f"{self!r}: no request is out")
        self._is_out = False

    def _begin_anew(self, *, is_gone: bool = False) -> None:
        """The next request is a full one; it ends the session that was, if that may be there."""
        if is_gone:
            self._id = NO_SESSION
        self._epoch = FULL_EPOCH
        self._wanted, self._ids, self._names = {}, {}, {}

    def _read(
        self, response: FetchResponse
    ) -> tuple[dict[TopicPartition, PartitionData], list[str]]:
        """What is told of partitions that were wanted, and the names of others."""
        partitions: dict[TopicPartition, PartitionData] = {}
        unknown: list[str] = []
        for topic in response.responses:
            name = topic.topic or self._names.get(topic.topic_id, "")
            for data in topic.partitions:
                partition = TopicPartition(name, data.partition_index)
                if partition in self._wanted:
                    partitions[partition] = data
                else:
                    called = name or topic.topic_id.hex()
                    unknown.append(f"{called}-{data.partition_index}")
        return partitions, unknown

    def _problem(
        self,
        response: FetchResponse,
        partitions: Mapping[TopicPartition, PartitionData],
        unknown: list[str],
    ) -> str | None:
        """What is wrong with an answer, if anything."""
        if unknown:
            return f"the answer is about {unknown[0]} and {len(unknown) - 1} more, not asked for"
        if not self.is_full:
            is_other = response.session_id not in (NO_SESSION, self._id)
            return f"session {response.session_id} instead of {self._id}" if is_other else None
        is_throttled = response.throttle_time_ms > 0 and not partitions
        missing = len(self._wanted) - len(partitions)
        if missing and not (is_throttled and response.session_id == NO_SESSION):
            return f"the answer to a full request is silent about {missing} partitions"
        return None


def _ids_of(
    asks: Mapping[TopicPartition, Ask], topic_id: Callable[[str], Uuid | None]
) -> dict[str, Uuid]:
    """The ids of the topics; none of them if one is not known, as a request has all or none."""
    ids: dict[str, Uuid] = {}
    for name in {partition.topic for partition in asks}:
        found = topic_id(name)
        if found is None:
            return {}
        ids[name] = found
    return ids


def _topics(
    asks: Iterable[tuple[TopicPartition, Ask]], ids: Mapping[str, Uuid]
) -> list[FetchTopic]:
    topics: dict[str, FetchTopic] = {}
    for (name, number), ask in asks:
        topic = topics.get(name)
        if topic is None:
            found = ids.get(name, NO_UUID)
            topic = topics[name] = FetchTopic(topic=name, topic_id=found, partitions=[])
        topic.partitions.append(
            FetchPartition(
                partition=number,
                current_leader_epoch=ask.leader_epoch,
                fetch_offset=ask.offset,
                partition_max_bytes=ask.max_bytes,
            )
        )
    return list(topics.values())


def _forgotten(
    partitions: Iterable[TopicPartition], ids: Mapping[str, Uuid]
) -> list[ForgottenTopic]:
    topics: dict[str, ForgottenTopic] = {}
    for name, number in partitions:
        topic = topics.get(name)
        if topic is None:
            found = ids.get(name, NO_UUID)
            topic = topics[name] = ForgottenTopic(topic=name, topic_id=found, partitions=[])
        topic.partitions.append(number)
    return list(topics.values())
