"""What takes the answer to a request that nobody awaits. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from kafka_aio.errors import KafkaError

if TYPE_CHECKING:
    from kafka_aio.protocol.wire import Answer

R = TypeVar("R")

Done: TypeAlias = Callable[[R | None, KafkaError | None], None]
"""Is called with an answer, or with why there is none."""


class Reader(Protocol):
    """The connection that the answer comes from."""

    def take(self, answer: Answer[Any]) -> None: ...

    def decoded(self, answer: Answer[Any]) -> object: ...

    def report(self, failure: Exception) -> None: ...


class Reply:
    """Stands where a future would, for a request that nobody awaits."""

    __slots__ = ("_connection", "_done")

    def __init__(self, connection: Reader, done: Done[Any]) -> None:
        self._connection = connection
        self._done = done

    def done(self) -> bool:
        return False  # it cannot be cancelled

    def set_result(self, answers: list[Answer[Any]]) -> None:
        answer = answers.pop()
        self._connection.take(answer)
        try:
            response = self._connection.decoded(answer)
        except KafkaError as error:
            self._tell(None, error)
        else:
            self._tell(response, None)

    def set_exception(self, error: KafkaError) -> None:
        self._tell(None, error)

    def _tell(self, response: object, error: KafkaError | None) -> None:
        try:
            self._done(response, error)
        except Exception as failure:  # or those after it would not get to know
            self._connection.report(failure)
