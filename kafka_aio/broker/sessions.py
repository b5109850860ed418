"""Incremental fetch sessions (KIP-227): what a consumer reads, kept between its requests. Pure.

A full fetch (epoch 0) names all partitions and begins a session. Those that follow, each with the
next epoch, name only what is to be read otherwise than before, and are told only what is new. Each
node has sessions of its own, and not too many.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, TypeAlias

from kafka_aio.errors import (
    FetchSessionIdNotFound,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpoch,
)

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call
    from kafka_aio.broker.nodes import Rng
    from kafka_aio.broker.settings import Settings
    from kafka_aio.protocol.messages.fetch import FetchPartition, FetchRequest, PartitionData
    from kafka_aio.protocol.schema import Uuid

NO_SESSION: Final = 0
_INITIAL: Final = 0
"""The epoch of a full fetch that wants a session."""
_FINAL: Final = -1
"""The epoch of a full fetch that wants none."""
_GREATEST: Final = 2**31 - 1
"""Of ids and epochs."""
_FIRST_BY_ID: Final = 13
"""The version of Fetch that names topics by their ids."""
_EVICTION_SECONDS: Final = 120.0
"""Who was not used for so long may go; who is so old may go for somebody larger."""

Key: TypeAlias = "tuple[str, Uuid, int]"
"""A partition as a request names it: by name or by id."""
Told: TypeAlias = "list[tuple[Reading, PartitionData]]"


class Reading:
    """One partition that is read: what was asked for it, and what was told of it last."""

    __slots__ = ("high_watermark", "key", "log_start_offset", "topic", "wanted")

    def __init__(self, key: Key, wanted: FetchPartition) -> None:
        self.key = key
        self.topic = key[0]
        """The name of the topic; empty until one with its id was found."""
        self.wanted = wanted
        self.high_watermark = -1
        self.log_start_offset = -1

    def __repr__(self) -> str:
        return f"<Reading {self.topic!r} {self.wanted.partition} from {self.wanted.fetch_offset}>"

    def tell(self, data: PartitionData) -> bool:
        """Note what is going to be told; whether anything of it is new."""
        is_new = (
            data.error_code != 0
            or data.high_watermark != self.high_watermark
            or data.log_start_offset != self.log_start_offset
            or data.diverging_epoch.epoch >= 0
            or bool(data.records)
        )
        self.high_watermark = data.high_watermark  # -1 with an error: the next one is new
        self.log_start_offset = data.log_start_offset
        return is_new


class Session:
    """What one consumer reads from one node."""

    __slots__ = ("by_id", "created_at", "epoch", "id", "readings", "used_at")

    def __init__(
        self, session_id: int, readings: Iterable[Reading], *, by_id: bool, now: float
    ) -> None:
        self.id = session_id
        self.epoch = 1
        """The one that the next request must have."""
        self.readings = {reading.key: reading for reading in readings}
        """In the order in which they are read."""
        self.by_id = by_id
        """Whether topics are named by their ids."""
        self.created_at = self.used_at = now

    def __repr__(self) -> str:
        return f"<Session {self.id} of {len(self.readings)} partitions, epoch {self.epoch}>"

    def update(self, request: FetchRequest) -> None:
        """Take in what a request says that is to be read otherwise, or no more."""
        for reading in _readings(request):
            self.readings.setdefault(reading.key, reading).wanted = reading.wanted
        for topic in request.forgotten_topics_data:
            for index in topic.partitions:
                self.readings.pop((topic.topic, topic.topic_id, index), None)

    def tell(self, results: Told) -> Told:
        """What is new of it. Those with records are read last the next time: none starves."""
        told = [(reading, data) for reading, data in results if reading.tell(data)]
        for reading, data in told:
            if data.records and self.readings.pop(reading.key, None) is not None:
                self.readings[reading.key] = reading
        return told


class NodeSessions:
    """The sessions of one node, by id, in the order of their last use."""

    def __init__(self, slots: int, rng: Rng, *, most: int) -> None:
        """None yet.

        Args:
            slots: How many there may be.
            rng: Where ids come from.
            most: How many partitions they may read together.
        """
        self._slots = slots
        self._most = most
        self._rng = rng
        self._by_id: dict[int, Session] = {}

    def __repr__(self) -> str:
        return f"<NodeSessions: {len(self._by_id)} of {self._slots}>"

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def _partitions(self) -> int:
        """How many they read together."""
        return sum(len(session.readings) for session in self._by_id.values())

    def get(self, session_id: int) -> Session | None:
        return self._by_id.get(session_id)

    def begin(self, readings: list[Reading], *, by_id: bool, now: float) -> int:
        """A new session, if there is room or somebody has to go for it; its id, or 0."""
        size = len(readings)
        if size > self._most:
            return NO_SESSION
        while len(self._by_id) >= self._slots or self._partitions + size > self._most:
            if not self._evict(size, now):
                return NO_SESSION
        session_id = self._rng.randrange(1, _GREATEST)
        while session_id in self._by_id:
            session_id = self._rng.randrange(1, _GREATEST)
        self._by_id[session_id] = Session(session_id, readings, by_id=by_id, now=now)
        return session_id

    def end(self, session_id: int) -> None:
        self._by_id.pop(session_id, None)

    def go_on(self, request: FetchRequest, *, by_id: bool, now: float) -> Session:
        """The session that a request goes on with, as it is after the request.

        Raises:
            FetchSessionIdNotFound: There is none: it was evicted, or its node was down; or it has
                grown too much.
            InvalidFetchSessionEpoch: A request is missing, or came twice.
            FetchSessionTopicIdError: It names topics by id, and the request by name, or vice versa.
        """
        session = self._by_id.get(request.session_id)
        if session is None:
            raise FetchSessionIdNotFound()
        if session.epoch != request.session_epoch:
            raise InvalidFetchSessionEpoch()
        if session.by_id != by_id:
            raise FetchSessionTopicIdError()
        before = len(session.readings)
        session.update(request)
        if len(session.readings) > before and self._partitions > self._most:
            self.end(session.id)
            raise FetchSessionIdNotFound()
        if not session.readings:
            self.end(session.id)
            return session
        session.epoch = session.epoch + 1 if session.epoch < _GREATEST else 1
        session.used_at = now
        self._by_id[session.id] = self._by_id.pop(session.id)
        return session

    def _evict(self, size: int, now: float) -> bool:
        """Make room for a session of so many partitions, if one can go for it."""
        if not self._by_id:
            return False
        victim = next(iter(self._by_id.values()))
        if now - victim.used_at <= _EVICTION_SECONDS:
            old = [
                session
                for session in self._by_id.values()
                if session.used_at - session.created_at > _EVICTION_SECONDS
            ]
            if not old:
                return False
            victim = min(old, key=lambda session: len(session.readings))
            if len(victim.readings) >= size:
                return False
        self.end(victim.id)
        return True


class Plan:
    """What one fetch reads, and what of it will be told."""

    __slots__ = ("_by_id", "_epoch", "_now", "_sessions", "readings", "session", "wants_session")

    def __init__(
        self, sessions: NodeSessions, request: FetchRequest, *, by_id: bool, now: float
    ) -> None:
        """Take in a request.

        Raises:
            FetchSessionIdNotFound, InvalidFetchSessionEpoch, FetchSessionTopicIdError: See `go_on`.
        """
        self._sessions = sessions
        self._by_id = by_id
        self._now = now
        self.session: Session | None = None
        """The one that goes on."""
        self.wants_session = request.session_epoch == _INITIAL
        if self.wants_session or request.session_epoch == _FINAL:
            sessions.end(request.session_id)
        else:
            session = sessions.go_on(request, by_id=by_id, now=now)
            if session.readings:
                self.session = session
                self._epoch = session.epoch
                self.readings = list(session.readings.values())
                return
        self.readings = list({reading.key: reading for reading in _readings(request)}.values())

    def tell(self, results: Told) -> tuple[int, Told]:
        """The id of the session for the answer, and what to tell.

        Raises:
            InvalidFetchSessionEpoch: Another request of the session came while this one waited.
        """
        if self.session is not None:
            if self.session.epoch != self._epoch:
                raise InvalidFetchSessionEpoch()
            return self.session.id, self.session.tell(results)
        if not self.wants_session:
            return NO_SESSION, results
        for reading, data in results:
            reading.tell(data)
        readings = [reading for reading, _ in results]
        return self._sessions.begin(readings, by_id=self._by_id, now=self._now), results


class Sessions:
    """The fetch sessions of all nodes."""

    def __init__(self, settings: Settings) -> None:
        self._slots = settings.max_incremental_fetch_session_cache_slots
        self._most = settings.memory_max_session_partitions
        self._by_node: dict[int, NodeSessions] = {}

    def __repr__(self) -> str:
        return f"<Sessions {self._by_node}>"

    def plan(self, call: Call, request: FetchRequest) -> Plan:
        """What a fetch is to read.

        Raises:
            FetchSessionIdNotFound, InvalidFetchSessionEpoch, FetchSessionTopicIdError: It does not
                fit the session that it names.
        """
        sessions = self._by_node.get(call.node)
        if sessions is None:
            sessions = NodeSessions(self._slots, call.state.rng, most=self._most)
            self._by_node[call.node] = sessions
        return Plan(sessions, request, by_id=call.version >= _FIRST_BY_ID, now=call.now)

    def read_by(self, node: int, session_id: int) -> Iterable[Key]:
        """The partitions that are read in a session; none if it is not there."""
        sessions = self._by_node.get(node)
        session = None if sessions is None else sessions.get(session_id)
        return () if session is None else session.readings

    def forget(self, node: int) -> None:
        """A node went down: its sessions are gone."""
        self._by_node.pop(node, None)


def _readings(request: FetchRequest) -> list[Reading]:
    return [
        Reading((topic.topic, topic.topic_id, wanted.partition), wanted)
        for topic in request.topics
        for wanted in topic.partitions
    ]
