"""Tests of every version that both sides have."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from kafka_aio.errors import UnsupportedVersion
from kafka_aio.protocol.schema import Request, schema_of
from tests.kafka.raw import RawConnection

T = TypeVar("T")

# The coordinator loads, is not there yet, or is busy with the end of the transaction before.
NOT_YET = {14, 15, 16, 51}


def each_version(cls: type[Request[Any]]) -> pytest.MarkDecorator:
    first, last = schema_of(cls).stable_versions
    return pytest.mark.parametrize("version", range(first, last + 1))


def require(connection: RawConnection, cls: type[Request[Any]], version: int) -> None:
    """Skip where an older broker does not have the version."""
    try:
        connection.versions.pick(cls, at_most=version)
    except UnsupportedVersion as missing:
        pytest.skip(str(missing))
    if connection.versions.pick(cls) < version:
        pytest.skip(f"the broker has no {cls.__name__} v{version}")


def patiently(ask: Callable[[], T], error_of: Callable[[T], int]) -> T:
    """The first answer that is more than a "not yet" of a coordinator."""
    deadline = time.monotonic() + 30
    answer = ask()
    while error_of(answer) in NOT_YET:
        assert time.monotonic() < deadline, answer
        time.sleep(0.02)
        answer = ask()
    return answer
