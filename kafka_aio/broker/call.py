"""One request as a broker sees it: who asks what of which node, and when. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kafka_aio.errors import (
    BrokerError,
    FencedLeaderEpoch,
    NotLeaderOrFollower,
    UnknownLeaderEpoch,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from kafka_aio.protocol.schema import NO_UUID, Request, Uuid, response_of, schema_of

if TYPE_CHECKING:
    from kafka_aio.broker.faults.rules import Fail, When
    from kafka_aio.broker.security.login import Login
    from kafka_aio.broker.state import State
    from kafka_aio.broker.topics.topics import Partition, Topic


@dataclass(slots=True, eq=False)
class Peer:
    """Who is at the other end of a connection."""

    host: str = "127.0.0.1"
    """The address it comes from."""
    principal: str = "User:ANONYMOUS"
    login: Login | None = None
    """How far they are in proving who they are; None where nobody has to."""
    must_close: bool = False
    """Whether the connection ends after the next answer."""

    @property
    def is_authenticated(self) -> bool:
        return self.login is None or self.login.is_authenticated


@dataclass(slots=True, eq=False, kw_only=True)
class Call:
    """A request, with what must be known to answer it. Who answers later keeps it as a ticket."""

    state: State
    request: Request[Any]
    version: int
    node: int
    """The id of the node that was asked."""
    now: float
    """Time of the loop in seconds: whatever waits goes by it."""
    wall_ms: int
    """Milliseconds since 1970: what is stamped on records."""
    client_id: str = ""
    peer: Peer = field(default_factory=Peer)
    ticket: Any = None
    """What belongs to the server: whom to send the answer."""
    is_exempt: bool = False
    """Whether no fault concerns it: what a test does itself, beside its clients."""
    gone: Callable[[], None] | None = None
    """What to do if nobody waits for the answer any more; where something is kept of it."""

    def answer(self, response: object) -> None:
        """Answer it. Once, at any later time; the server sends it."""
        self.state.answers.append((self, response))

    def refuse(self, error: BrokerError) -> None:
        """Answer with nothing but an error, where the response has a place for one."""
        self.answer(refusal(type(self.request), error))

    def topic(self, name: str = "", topic_id: Uuid = NO_UUID) -> Topic:
        """The topic that a request names, by its name or, in newer versions, by its id.

        Raises:
            UnknownTopicOrPartition, UnknownTopicId: There is none.
        """
        topics = self.state.topics
        if topic_id != NO_UUID:
            if (found := topics.by_id.get(topic_id)) is None:
                raise UnknownTopicId()
            return found
        if (found := topics.by_name.get(name)) is None:
            raise UnknownTopicOrPartition()
        return found

    def partition(self, topic: Topic, index: int, *, epoch: int = -1) -> Partition:
        """A partition that the asked node leads.

        Args:
            topic: Its topic.
            index: Its number.
            epoch: The leader epoch that the client believes in; -1 if it does not say.

        Raises:
            BrokerError: There is none, it is led elsewhere, the epoch is another, or a fault.
        """
        self.check_faults(topic.name, index)
        if not 0 <= index < len(topic.partitions):
            raise UnknownTopicOrPartition()
        partition = topic.partitions[index]
        if partition.leader != self.node:
            raise NotLeaderOrFollower()
        if epoch >= 0 and epoch != partition.leader_epoch:
            raise FencedLeaderEpoch() if epoch < partition.leader_epoch else UnknownLeaderEpoch()
        return partition

    def check_faults(self, topic: str = "", partition: int = -1, group: str = "") -> None:
        """Raise what somebody asked for with `faults.fail`.

        Every answerer asks once for each thing that can fail by itself: partition, group, or the
        whole request (no arguments).

        Raises:
            BrokerError: As the fault says.
        """
        for fault in self._failures():
            fault.check(self, topic=topic, partition=partition, group=group)

    def check_faults_after(self, topic: str, partition: int) -> None:
        """As `check_faults`, for a partition where the request was carried out.

        Raises:
            BrokerError: As the fault says.
        """
        for fault in self._failures("after"):
            fault.check(self, topic=topic, partition=partition, group="")

    def check_faults_in_group(self, topic: str, partition: int, group: str) -> None:
        """As `check_faults`, for a partition of a group that can fail by itself, and was asked for.

        Raises:
            BrokerError: As a fault says that names the topic; the others had their turn.
        """
        for fault in self._failures():
            if fault.has_topic:
                fault.check(self, topic=topic, partition=partition, group=group)

    def check_faults_as_whole(self) -> None:
        """As `check_faults`, where nothing that a request names can fail by itself.

        Raises:
            BrokerError: As the fault says.
        """
        for fault in self._failures():
            fault.check_whole(self)

    def _failures(self, when: When = "before") -> list[Fail]:
        if self.is_exempt:
            return []
        return [fault for fault in self.state.faults.failures if fault.when == when]


def refusal(cls: type[Request[Any]], error: BrokerError) -> object:
    """An answer that says nothing but what went wrong.

    Raises:
        BrokerError: `error`, if the response has no place for it.
    """
    response = response_of(cls)
    fields = schema_of(response).fields
    values = {each.name: each.empty for each in fields if each.required}
    names = {each.name for each in fields}
    if "error_code" not in names:
        raise error
    values["error_code"] = error.code
    if "error_message" in names:
        values["error_message"] = error.message or None
    return response(**values)
