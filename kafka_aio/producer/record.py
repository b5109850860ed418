"""A record to send, as interceptors, partitioners and `send_many` see it. Pure."""

from __future__ import annotations

from typing import Any, NamedTuple

from kafka_aio.records.layout import Headers


class ProducerRecord(NamedTuple):
    """A record to send."""

    topic: str
    value: Any = None
    key: Any = None
    partition: int | None = None
    """Where it goes; None: the key or the load decides."""
    timestamp: int | None = None
    """Milliseconds since 1970; None: the time of the call."""
    headers: Headers | None = None
