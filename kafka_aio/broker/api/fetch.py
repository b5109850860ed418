"""Fetch: records from an offset on, at once or when there are enough of them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafka_aio.broker.api.replicas import check_replica, existing, leader_node
from kafka_aio.broker.log.segment import EMPTY
from kafka_aio.broker.sessions import NO_SESSION
from kafka_aio.errors import (
    BrokerError,
    FencedLeaderEpoch,
    InconsistentTopicId,
    InvalidFetchSessionEpoch,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    UnknownServerError,
    UnknownTopicId,
)
from kafka_aio.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)

if TYPE_CHECKING:
    from kafka_aio.broker.agenda import Appointment
    from kafka_aio.broker.call import Call
    from kafka_aio.broker.log import PartitionLog
    from kafka_aio.broker.sessions import Key, Plan, Reading, Told
    from kafka_aio.broker.topics.topics import Partition
    from kafka_aio.protocol.messages.fetch import (
        AbortedTransaction,
        FetchPartition,
        FetchRequest,
    )

_READ_COMMITTED: Final = 1
_FIRST_BY_ID: Final = 13
_FIRST_FROM_FOLLOWERS: Final = 11
"""The version in which consumers may ask any replica (KIP-392)."""
_FIRST_WITH_HINTS: Final = 16
_NOT_DIVERGING: Final = EpochEndOffset()
_NO_LEADER: Final = LeaderIdAndEpoch()


def fetch(request: FetchRequest, call: Call) -> FetchResponse | None:
    """Read from all partitions of a fetch, or of its session; wait for more if it says so."""
    try:
        plan = call.state.sessions.plan(call, request)
    except BrokerError as error:
        return FetchResponse(throttle_time_ms=0, error_code=error.code, responses=[])
    return _Fetching(request, call, plan).begin()


class _Fetching:
    """One fetch, from its request to its answer. While it waits, it is a `Waiter`."""

    __slots__ = (
        "_call",
        "_endpoints",
        "_found",
        "_max_bytes",
        "_min_bytes",
        "_plan",
        "_request",
        "_results",
        "_timeout",
        "_unknown",
        "missing",
    )

    def __init__(self, request: FetchRequest, call: Call, plan: Plan) -> None:
        self._request = request
        self._call = call
        self._plan = plan
        self._max_bytes = min(request.max_bytes, call.state.settings.fetch_max_bytes)
        self._min_bytes = min(request.min_bytes, self._max_bytes)
        self._found: list[Partition] = []
        self._results: Told = []
        """What was read of those that were found."""
        self._unknown: Told = []
        """What is told of the others. It is no reason not to wait."""
        self._endpoints: dict[int, NodeEndpoint] = {}
        self._timeout: Appointment | None = None
        self.missing = 0

    def begin(self) -> FetchResponse | None:
        """Answer at once, or wait."""
        call = self._call
        self._read(check_faults=bool(call.state.faults.failures))
        if self._is_enough():
            return self._response()
        ends_at = call.now + self._request.max_wait_ms / 1000
        self._timeout = call.state.agenda.at(ends_at, lambda now: self.finish())
        call.state.waiting.enter(self, self._found)
        call.gone = self._leave
        return None

    # Waiting

    def look(self) -> None:
        """Answer, if there is enough by now."""
        self.missing = self._min_bytes - self._available()
        if self.missing <= 0:
            self.finish()

    def finish(self) -> None:
        """Answer with what there is."""
        self._leave()
        self._read()
        self._call.answer(self._response())

    def _leave(self) -> None:
        assert self._timeout is not None, "only who waits can end it"
        self._timeout.cancel()
        self._call.state.waiting.leave(self, self._found)

    def _is_enough(self) -> bool:
        """Whether to answer with what was read first."""
        if self._request.max_wait_ms <= 0 or not self._results:
            return True
        size = 0
        for _, data in self._results:
            if data.error_code or data.diverging_epoch is not _NOT_DIVERGING:
                return True
            size += len(data.records or b"")
        if size >= self._min_bytes:
            return True
        self.missing = self._min_bytes - self._available()
        return self.missing <= 0

    def _available(self) -> int:
        """How many bytes there are to read, be it in more than one fetch."""
        available = 0
        for (reading, _), partition in zip(self._results, self._found, strict=True):
            wanted = reading.wanted
            unread = partition.log.available(wanted.fetch_offset)
            available += min(unread, wanted.partition_max_bytes)
        return available

    # Reading

    def _read(self, *, check_faults: bool = False) -> None:
        """Read from each partition in turn, while the limit of the request allows it."""
        self._found, self._results, self._unknown = [], [], []
        room = self._max_bytes
        at_least_one = True
        for reading in self._plan.readings:
            try:
                partition = self._find(reading)
            except BrokerError as error:
                self._unknown.append((reading, self._failure(reading, error, None)))
                continue
            try:
                if check_faults:
                    self._call.check_faults(partition.topic.name, partition.index)
                data = self._read_one(partition, reading.wanted, room, at_least_one=at_least_one)
            except BrokerError as error:
                data = self._failure(reading, error, partition)
            if data.records:
                room = max(0, room - len(data.records))
                at_least_one = False
            self._found.append(partition)
            self._results.append((reading, data))

    def _find(self, reading: Reading) -> Partition:
        topics = self._call.state.topics
        name, topic_id, index = reading.key
        if self._call.version < _FIRST_BY_ID:
            return existing(topics.by_name.get(name), index)
        topic = topics.by_id.get(topic_id)
        if topic is not None:
            reading.topic = topic.name
        elif not reading.topic:
            raise UnknownTopicId()
        elif reading.topic in topics.by_name:
            raise InconsistentTopicId()  # deleted, and there is another one of its name
        return existing(topic, index)

    def _read_one(
        self, partition: Partition, wanted: FetchPartition, room: int, *, at_least_one: bool
    ) -> PartitionData:
        version = self._call.version
        check_replica(
            self._call,
            partition,
            epoch=wanted.current_leader_epoch,
            leader_only=version < _FIRST_FROM_FOLLOWERS,
        )
        log = partition.log
        offset = wanted.fetch_offset
        diverging = _NOT_DIVERGING
        if wanted.last_fetched_epoch >= 0:
            diverging = _divergence(log, wanted)
        aborted: list[AbortedTransaction] | None = None
        if diverging is not _NOT_DIVERGING:
            records = EMPTY
        else:
            max_bytes = min(room, wanted.partition_max_bytes)
            if max_bytes < 0 and offset < log.end_offset:
                raise UnknownServerError("a negative number of bytes")
            records = log.read(offset, max_bytes=max(max_bytes, 0), at_least_one=at_least_one)
            if self._request.isolation_level == _READ_COMMITTED:
                aborted = []
        return PartitionData(
            partition_index=wanted.partition,
            error_code=0,
            high_watermark=log.end_offset,
            last_stable_offset=log.end_offset,
            log_start_offset=log.start_offset,
            diverging_epoch=diverging,
            aborted_transactions=aborted,
            records=records,
        )

    # Answering

    def _failure(
        self, reading: Reading, error: BrokerError, partition: Partition | None
    ) -> PartitionData:
        leader = _NO_LEADER
        is_elsewhere = isinstance(error, (NotLeaderOrFollower, FencedLeaderEpoch))
        if is_elsewhere and partition is not None and self._call.version >= _FIRST_WITH_HINTS:
            leader = self._leader(partition)
        return PartitionData(
            partition_index=reading.wanted.partition,
            error_code=error.code,
            high_watermark=-1,
            current_leader=leader,
            aborted_transactions=[] if partition is None else None,
            records=EMPTY,
        )

    def _leader(self, partition: Partition) -> LeaderIdAndEpoch:
        """Who leads a partition instead; where that is, is told too (KIP-951)."""
        if (node := leader_node(self._call, partition)) is not None:
            self._endpoints[node.id] = NodeEndpoint(
                node_id=node.id, host=node.host, port=node.port, rack=node.rack
            )
        return LeaderIdAndEpoch(leader_id=partition.leader, leader_epoch=partition.leader_epoch)

    def _response(self) -> FetchResponse:
        try:
            session_id, told = self._plan.tell(self._results + self._unknown)
        except InvalidFetchSessionEpoch as error:
            session = self._plan.session
            return FetchResponse(
                throttle_time_ms=0,
                error_code=error.code,
                session_id=session.id if session is not None else NO_SESSION,
                responses=[],
            )
        responses: list[FetchableTopicResponse] = []
        last: Key | None = None
        for reading, data in told:
            key = reading.key
            if last is None or key[0] != last[0] or key[1] != last[1]:
                topic = FetchableTopicResponse(topic=key[0], topic_id=key[1], partitions=[])
                responses.append(topic)
            responses[-1].partitions.append(data)
            last = key
        return FetchResponse(
            throttle_time_ms=0,
            session_id=session_id,
            responses=responses,
            node_endpoints=list(self._endpoints.values()),
        )


def _divergence(log: PartitionLog, wanted: FetchPartition) -> EpochEndOffset:
    """Where the log of who asks and this one parted, if they did (KIP-595).

    Raises:
        OffsetOutOfRange: That cannot be told, or what is wanted is gone.
    """
    epoch, end_offset = log.end_of_epoch(wanted.last_fetched_epoch)
    if epoch == -1 or wanted.fetch_offset < log.start_offset:
        raise OffsetOutOfRange()
    if epoch < wanted.last_fetched_epoch or end_offset < wanted.fetch_offset:
        return EpochEndOffset(epoch=epoch, end_offset=end_offset)
    return _NOT_DIVERGING
