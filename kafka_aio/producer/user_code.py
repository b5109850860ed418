"""Code of the user's, called in one place: what it raises is logged, or typed and raised."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from kafka_aio.errors import KafkaError, SerializationError
from kafka_aio.producer.delivery import Delivery
from kafka_aio.producer.record import ProducerRecord
from kafka_aio.serialization import Serializer

logger = logging.getLogger(__name__)


class UserCode:
    """Callbacks, interceptors, serializers and the partitioner of one producer."""

    def __init__(
        self,
        *,
        key_serializer: Serializer | None = None,
        value_serializer: Serializer | None = None,
        partitioner: Callable[[ProducerRecord, int], int] | None = None,
        interceptors: Sequence[Any] = (),
    ) -> None:
        self._key_serializer = key_serializer
        self._value_serializer = value_serializer
        self._partitioner = partitioner
        self._on_send = _methods(interceptors, "on_send")
        self._on_acknowledgement = _methods(interceptors, "on_acknowledgement")
        self.owner = asyncio.get_running_loop()
        self.cancelled = asyncio.CancelledError

    def __repr__(self) -> str:
        return f"<UserCode: {len(self._on_send)} interceptors>"

    @property
    def is_absent(self) -> bool:
        """Whether there is none that a record has to go through."""
        return not (
            self._key_serializer
            or self._value_serializer
            or self._partitioner
            or self._on_send
            or self._on_acknowledgement
        )

    def call_soon(self, callback: Callable[[Any], object], value: object) -> None:
        """Call it in the next turn of the loop."""
        self.owner.call_soon(_call, callback, value)

    def intercepted(self, record: ProducerRecord) -> ProducerRecord:
        """The record as the interceptors want it. One that raises is passed over, as in Java."""
        for on_send in self._on_send:
            changed = _call(on_send, record)
            if isinstance(changed, ProducerRecord):
                record = changed
        return record

    def serialized(self, record: ProducerRecord) -> ProducerRecord:
        """The record with bytes for its key and value.

        Raises:
            SerializationError: A serializer raises, or gives something else than bytes.
        """
        if self._key_serializer is not None:
            record = record._replace(
                key=_serialize("key", self._key_serializer, record, record.key)
            )
        if self._value_serializer is not None:
            value = _serialize("value", self._value_serializer, record, record.value)
            record = record._replace(value=value)
        return record

    def placed(self, record: ProducerRecord, partitions: int) -> ProducerRecord:
        """The record with the partition that the user's partitioner chooses, if there is one.

        Raises:
            ValueError: It chooses none of those that there are.
        """
        if self._partitioner is None or record.partition is not None:
            return record
        chosen = self._partitioner(record, partitions)
        if type(chosen) is not int or not 0 <= chosen < partitions:
            raise ValueError(
                f"the partitioner chose {chosen!r} for topic {record.topic!r}, which has partitions"
                f" 0 to {partitions - 1}"
            )
        return record._replace(partition=chosen)

    def watch(self, delivery: Delivery) -> None:
        """Tell the interceptors how it ends."""
        if self._on_acknowledgement:
            delivery.add_done_callback(self._acknowledged)

    def _acknowledged(self, delivery: Delivery) -> None:
        metadata, error = delivery.peek()
        for on_acknowledgement in self._on_acknowledgement:
            _call(on_acknowledgement, metadata, error)


def _methods(interceptors: Sequence[Any], name: str) -> list[Callable[..., Any]]:
    return [found for each in interceptors if (found := getattr(each, name, None)) is not None]


def _call(function: Callable[..., Any], *arguments: object) -> Any:
    """Whatever it raises is logged, and that is all: nobody is there to catch it."""
    try:
        return function(*arguments)
    except Exception:
        logger.exception("%s raised", getattr(function, "__qualname__", function))
        return None


def _serialize(
    what: str, serializer: Serializer, record: ProducerRecord, value: Any
) -> bytes | None:
    try:
        data = serializer(value)
    except KafkaError:
        raise
    except Exception as error:
        raise SerializationError(
            f"the {what} of a record for topic {record.topic!r} cannot be serialized: {error}"
        ) from error
    if data is not None and not isinstance(data, bytes | bytearray | memoryview):
        raise SerializationError(
            f"the {what} serializer gave <{type(data).__qualname__}> for topic {record.topic!r}:"
            " it has to give bytes or None"
        )
    return data
