"""The messages of Kafka 4.3, one module per family of APIs, imported when first needed. Pure."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from kafka_aio.errors import UnsupportedVersion
from kafka_aio.protocol.messages.index import REQUESTS
from kafka_aio.protocol.schema import Request


@cache
def for_key(key: int) -> type[Request[Any]]:
    """The request class of an API key; `response_of` has its answer.

    Raises:
        UnsupportedVersion: No API that we know has this key.
    """
    try:
        module, name = REQUESTS[key]
    except KeyError:
        raise UnsupportedVersion(f"API key {key}: we do not know it") from None
    found: type[Request[Any]] = getattr(import_module(f"{__name__}.{module}"), name)
    return found
