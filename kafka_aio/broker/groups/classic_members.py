"""The members of a classic group: who leads, who is awaited, and what they all understand. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

from kafka_aio.broker.groups.java import order_in_hash_map
from kafka_aio.broker.room import Room, bytes_of
from kafka_aio.errors import BrokerError, FencedInstanceId, ProtocolError, UnknownMemberId
from kafka_aio.protocol.codec import decode_from
from kafka_aio.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from kafka_aio.protocol.messages.groups import (
    JoinGroupResponse,
    JoinGroupResponseMember,
    SyncGroupResponse,
)

if TYPE_CHECKING:
    from kafka_aio.broker.agenda import Appointment
    from kafka_aio.broker.call import Call
    from kafka_aio.protocol.messages.groups import JoinGroupRequest

_NULLABLE_PROTOCOL_SINCE: Final = 7

_OBJECTS: Final = 1_024
"""The bytes of a member, without its texts."""
_OBJECTS_OF_PROTOCOL: Final = 256
_READ: Final = 8
"""So many times as large are names of topics, once what tells them is read."""

Protocols: TypeAlias = tuple[tuple[str, bytes], ...]
"""Names of assignors, the preferred one first, each with what the member tells the leader."""


class Member:
    """One member. While it waits for the others, the call that it waits with is here."""

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "id",
        "instance_id",
        "is_new",
        "joining",
        "protocols",
        "rebalance_timeout",
        "session",
        "session_timeout",
        "size",
        "syncing",
    )

    def __init__(self, member_id: str, instance_id: str | None, call: Call) -> None:
        self.id = member_id
        self.instance_id = instance_id
        """Of a static member: who comes back under that name gets the same partitions (KIP-345)."""
        self.client_id = call.client_id
        self.client_host = f"/{call.peer.host}"
        self.protocols: Protocols = ()
        self.rebalance_timeout = 0.0
        self.session_timeout = 0.0
        self.assignment = b""
        self.joining: Call | None = None
        self.syncing: Call | None = None
        self.is_new = True
        """It waits for its first generation: whether it still lives is not known by heartbeats."""
        self.session: Appointment | None = None
        """When it counts as dead."""
        self.size = 0
        """The bytes that it takes, as far as they are counted."""

    def __repr__(self) -> str:
        waits = "joining" if self.joining else "syncing" if self.syncing else "idle"
        return f"<Member {self.id}, {waits}>"

    def metadata(self, protocol: str) -> bytes:
        """What it tells the leader under a protocol that it supports."""
        return next(metadata for name, metadata in self.protocols if name == protocol)

    def refuse_join(self, error: BrokerError, member_id: str) -> None:
        """If it waits to join: no more."""
        if (call := self.joining) is not None:
            self.joining = None
            call.answer(join_refusal(call, error, member_id))

    def refuse_sync(self, error: BrokerError) -> None:
        """If it waits for its partitions: no more."""
        if (call := self.syncing) is not None:
            self.syncing = None
            call.answer(SyncGroupResponse(error_code=error.code, assignment=b""))

    def end_session(self) -> None:
        """Expect no sign of life any more."""
        if self.session is not None:
            self.session.cancel()


class Members:
    """The members by id, in the order in which they came; those who only have an id yet apart."""

    def __init__(self, room: Room) -> None:
        self.by_id: dict[str, Member] = {}
        self.leader = ""
        """The member that assigns the partitions; empty while there are no members."""
        self.pending: dict[str, Appointment] = {}
        """Ids that were given to clients, who must join with them (KIP-394), and until when."""
        self._static: dict[str, str] = {}
        self._supporters: Counter[str] = Counter()
        self._room = room

    def __len__(self) -> int:
        return len(self.by_id)

    def __iter__(self) -> Iterator[Member]:
        return iter(self.by_id.values())

    def __repr__(self) -> str:
        return f"<Members: {list(self.by_id)}, {len(self.pending)} pending>"

    @property
    def joining(self) -> int:
        """How many wait for the next generation."""
        return sum(member.joining is not None for member in self)

    @property
    def have_all_joined(self) -> bool:
        return not self.pending and all(member.joining is not None for member in self)

    @property
    def rebalance_timeout(self) -> float:
        """How long the slowest of them may take to join again, in seconds."""
        return max((member.rebalance_timeout for member in self), default=0.0)

    def have_room_for(self, member_id: str, protocols: Protocols) -> bool:
        """Whether a member, be it new or not, may tell so much."""
        member = self.by_id.get(member_id)
        before = -_OBJECTS if member is None else _size(member.protocols)
        return self._room.has(_size(protocols) - before)

    def have_room_to_get(self, assignments: Iterable[bytes]) -> bool:
        """Whether so much may be assigned to them."""
        before = sum(len(member.assignment) for member in self)
        return self._room.has(sum(map(len, assignments)) - before)

    def with_instance(self, instance_id: str | None) -> str | None:
        """The id of the static member of that name."""
        return None if instance_id is None else self._static.get(instance_id)

    def checked(self, member_id: str, instance_id: str | None) -> Member:
        """The member that a request comes from.

        Raises:
            UnknownMemberId: There is none of that id, or of that name.
            FencedInstanceId: Another one has taken its name.
        """
        if instance_id is not None:
            if (current := self._static.get(instance_id)) is None:
                raise UnknownMemberId()
            if current != member_id:
                raise FencedInstanceId()
        if (member := self.by_id.get(member_id)) is None:
            raise UnknownMemberId()
        return member

    def add(self, member: Member) -> None:
        """A new member, who leads if it is the first."""
        self.by_id[member.id] = member
        if member.instance_id is not None:
            self._static[member.instance_id] = member.id
        self.leader = self.leader or member.id
        self._count(member.protocols, 1)
        self._weigh(member)
        self.forget_pending(member.id)

    def remove(self, member: Member) -> None:
        """A member that is gone. If it led, another one does."""
        member.end_session()
        self._room.take(-member.size)
        del self.by_id[member.id]
        if member.instance_id is not None:
            del self._static[member.instance_id]
        self._count(member.protocols, -1)
        if self.leader == member.id:
            self.leader = next(iter(self.by_id), "")

    def rename(self, member: Member, member_id: str) -> None:
        """Give a static member the id of the one that takes its place, the lead included."""
        del self.by_id[member.id]
        if self.leader == member.id:
            self.leader = member_id
        member.id = member_id
        self.by_id[member_id] = member
        assert member.instance_id is not None, "a dynamic member has no name to come back under"
        self._static[member.instance_id] = member_id
        self._weigh(member)

    def add_pending(self, member_id: str, expiry: Appointment) -> None:
        """Await who was given an id."""
        self.pending[member_id] = expiry
        self._room.take(_OBJECTS + bytes_of(member_id))

    def forget_pending(self, member_id: str) -> None:
        """Await no longer who was only given an id."""
        if (expiry := self.pending.pop(member_id, None)) is not None:
            expiry.cancel()
            self._room.take(-_OBJECTS - bytes_of(member_id))

    def assign(self, member: Member, assignment: bytes) -> None:
        member.assignment = assignment
        self._weigh(member)

    def update_protocols(self, member: Member, protocols: Protocols) -> None:
        self._count(member.protocols, -1)
        member.protocols = protocols
        self._count(protocols, 1)
        self._weigh(member)

    def lead_by_joined(self) -> bool:
        """See that the leader is one who has joined again; False if nobody has."""
        if self.leader and self.by_id[self.leader].joining is None:
            joined = (member.id for member in self if member.joining is not None)
            if (found := next(joined, None)) is None:
                return False
            self.leader = found
        return bool(self.leader)

    def support_one_of(self, names: Iterable[str]) -> bool:
        """Whether one of the protocols is understood by all members."""
        return any(self._supporters[name] == len(self) for name in names)

    def vote(self) -> str:
        """The protocol that most members prefer, of those that all of them support."""
        votes: Counter[str] = Counter()
        for member in self:
            votes[next(name for name, _ in member.protocols if self.support_one_of([name]))] += 1
        return min(votes, key=lambda name: (-votes[name], order_in_hash_map(name)))

    def topics(self, protocol: str) -> frozenset[str] | None:
        """The topics that they want, being consumers; None if one of them cannot be understood."""
        found: set[str] = set()
        for member in self:
            try:  # every version begins as version 0 does, after two bytes that name it
                wanted, _ = decode_from(
                    ConsumerProtocolSubscription, member.metadata(protocol), 0, 2
                )
            except ProtocolError:
                return None
            found.update(wanted.topics)
        return frozenset(found)

    def for_leader(self, protocol: str) -> list[JoinGroupResponseMember]:
        """What the leader is told of them all."""
        return [
            JoinGroupResponseMember(
                member_id=member.id,
                group_instance_id=member.instance_id,
                metadata=member.metadata(protocol),
            )
            for member in self
        ]

    def _count(self, protocols: Protocols, by: int) -> None:
        for name in {name: None for name, _ in protocols}:  # once, even if a member names it twice
            self._supporters[name] += by
            if not self._supporters[name]:
                del self._supporters[name]  # others come without end

    def _weigh(self, member: Member) -> None:
        """Count what it takes by now."""
        texts = bytes_of(member.id, member.instance_id, member.client_id, member.assignment)
        size = _OBJECTS + texts + _size(member.protocols)
        self._room.take(size - member.size)
        member.size = size


def protocols_of(request: JoinGroupRequest) -> Protocols:
    return tuple((protocol.name, protocol.metadata) for protocol in request.protocols)


def _size(protocols: Protocols) -> int:
    return sum(
        _OBJECTS_OF_PROTOCOL + bytes_of(name) + _READ * len(metadata)
        for name, metadata in protocols
    )


def join_refusal(call: Call, error: BrokerError, member_id: str) -> JoinGroupResponse:
    """An answer to JoinGroup that says why not."""
    return JoinGroupResponse(
        error_code=error.code,
        protocol_name=None if call.version >= _NULLABLE_PROTOCOL_SINCE else "",
        leader="",
        member_id=member_id,
        members=[],
    )
