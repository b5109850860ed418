"""What the tests of this folder stand on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kafka.cluster import Cluster
from tests.kafka.raw import RawConnection


@pytest.fixture(scope="module")
def connection(kafka: Cluster) -> Iterator[RawConnection]:
    """A connection to the real Kafka; one for the tests of a file, which leave it in order."""
    with kafka.connect() as connection:
        yield connection
