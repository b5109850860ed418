"""The two brokers that are compared, and what is said to both of them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Generic, TypeVar

from kafka_aio.errors import UnknownMemberId, UnsupportedVersion
from kafka_aio.protocol.messages.groups import FindCoordinatorRequest, HeartbeatRequest
from kafka_aio.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_aio.protocol.messages.topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafka_aio.protocol.messages.transactions import InitProducerIdRequest
from kafka_aio.protocol.schema import Request, schema_of
from tests.comparison.sameness import TIMES, Names, difference, plain
from tests.kafka.raw import RawConnection
from tests.kafka.topic import Topic

R = TypeVar("R")

# A Kafka that somebody else started may know the names of earlier runs.
_numbers = itertools.count(time.time_ns() // 10**9 % 10**6 * 1000)


class Side:
    """One broker: it is asked, and what it says is kept to be compared."""

    def __init__(self, name: str, address: str) -> None:
        host, _, port = address.rpartition(":")
        self.name = name
        self.said: list[Any] = []
        self._host, self._port = host, int(port)
        self._connections: dict[str, RawConnection] = {}
        self._names = Names()
        self._pool = ThreadPoolExecutor(thread_name_prefix=f"asks {name}")
        self.times = frozenset(TIMES)
        """Fields in which any time is as good as another."""

    def __repr__(self) -> str:
        return f"<Side {self.name}>"

    def ask(self, request: Request[R], version: int | None = None, *, by: str = "one") -> R:
        """The answer, which is also kept.

        Args:
            request: What to ask.
            version: In which version; by default the last stable one.
            by: Who asks: each has a connection of its own.
        """
        return self.begin(request, version, by=by).result()

    def ask_in_each_version(self, request: Request[Any], *, by: str = "one") -> None:
        """Ask in every version that has a place for all that is asked."""
        self.ask_in_versions(request, *schema_of(type(request)).stable_versions, by=by)

    def ask_in_versions(
        self, request: Request[Any], first: int, last: int, *, by: str = "one"
    ) -> None:
        """Ask in those of some versions that have a place for all that is asked."""
        asked = 0
        for version in range(first, last + 1):
            with suppress(UnsupportedVersion):
                self.ask(request, version, by=by)
                asked += 1
        assert asked > 0, f"no version can say {request}"

    def begin(
        self, request: Request[R], version: int | None = None, *, by: str = "one"
    ) -> Pending[R]:
        """Ask without waiting for the answer: it is kept when `result` is called."""
        if version is None:
            version = schema_of(type(request)).stable_versions[1]
        return Pending(self, request, self._pool.submit(self.quietly, request, version, by=by))

    def quietly(self, request: Request[R], version: int | None = None, *, by: str = "one") -> R:
        """The answer, which is not kept: for what only prepares a case."""
        try:
            return self.connection(by).send(request, version)
        except (EOFError, ConnectionError):
            self._connections.pop(by).close()
            raise

    def connection(self, by: str = "one") -> RawConnection:
        """The connection of one who asks; a new one after the broker has closed it."""
        if by not in self._connections:
            self._connections[by] = RawConnection(self._host, self._port)
        return self._connections[by]

    def keep(self, what: str, value: object) -> None:
        """Keep anything else that must be the same on both sides."""
        self.said.append((what, plain(value, self._names, self.times)))

    def topic(
        self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None
    ) -> Topic:
        """A topic that can be used at once."""
        wanted = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            assignments=[],
            configs=[CreatableTopicConfig(name=k, value=v) for k, v in (configs or {}).items()],
        )
        (created,) = self.quietly(CreateTopicsRequest(topics=[wanted])).topics
        assert created.error_code == 0, created
        topic = Topic(self.connection(), name, created.topic_id)
        self.wait(lambda: topic._is_served(partitions))
        return topic

    def found(self, name: str) -> Topic:
        """A topic that is there."""
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=name)])
        (topic,) = self.quietly(asked).topics
        assert topic.error_code == 0, topic
        return Topic(self.connection(), name, topic.topic_id)

    def coordinated(self, group: str) -> str:
        """A group's id, once its coordinator answers for it."""
        asked = FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
        self.until(lambda answer: answer.coordinators[0].error_code == 0, asked)
        beat = HeartbeatRequest(group_id="nobody's", generation_id=1, member_id="nobody")
        self.until(lambda answer: answer.error_code == UnknownMemberId.code, beat)
        return group

    def producer(self) -> int:
        """The id of a new producer; a Kafka that has just started has none yet to give."""
        asked = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        ids: list[int] = []

        def is_given() -> bool:
            answer = self.quietly(asked)
            ids.append(answer.producer_id)
            return answer.error_code == 0

        self.wait(is_given)
        return ids[-1]

    def until(self, is_so: Callable[[R], bool], request: Request[R]) -> None:
        """Ask quietly until the answer is as it should be."""
        self.wait(lambda: is_so(self.quietly(request)))

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._pool.shutdown()

    def wait(self, is_so: Callable[[], bool]) -> None:
        """Until something is so."""
        deadline = time.monotonic() + 20
        while not is_so():
            assert time.monotonic() < deadline, f"{self.name} does not get there"
            time.sleep(0.01)


class Pending(Generic[R]):
    """A request that is under way."""

    def __init__(self, side: Side, request: Request[R], answer: Future[R]) -> None:
        self._side = side
        self._request = request
        self._answer = answer

    def result(self) -> R:
        """The answer, or that the broker has closed the connection; kept either way."""
        api = schema_of(type(self._request)).api
        try:
            answer = self._answer.result(timeout=30)
        except (EOFError, ConnectionError):
            self._side.keep(api, "the connection was closed")
            raise
        except TimeoutError as late:
            raise TimeoutError(f"{self._side.name} does not answer {api}") from late
        self._side.keep(api, answer)
        return answer


class Both:
    """Kafka and the embedded broker, in turn: `for side in both: ...`, then `both.agree()`."""

    def __init__(self, *sides: Side) -> None:
        self.sides = sides
        self._number = next(_numbers)

    def __iter__(self) -> Iterator[Side]:
        return iter(self.sides)

    def name(self, purpose: str) -> str:
        """A name that no other case has, the same on both sides."""
        return f"{purpose}-{self._number}"

    def agree(self) -> None:
        """All that was asked and kept is the same on both sides."""
        theirs, ours = (side.said for side in self.sides)
        assert theirs, "nothing was asked"
        assert ours == theirs, difference(theirs, ours)
