from __future__ import annotations

import pytest

from kafka_aio.errors import ProtocolError
from kafka_aio.protocol.member_data import Assigned
from kafka_aio.types import TopicPartition

OWNED = (TopicPartition("x", 0), TopicPartition("x", 2), TopicPartition("y", 1))

PARTITIONS = b"\0\0\0\2\0\1x\0\0\0\2\0\0\0\0\0\0\0\2\0\1y\0\0\0\1\0\0\0\1"
DATA = b"\0\0\0\4data"


@pytest.mark.parametrize("version", range(4))
def test_an_assignment_is_the_same_in_all_versions(version: int) -> None:
    assigned = Assigned(OWNED, b"data")
    data = version.to_bytes(2, "big") + PARTITIONS + DATA

    assert assigned.encode(version) == data
    assert Assigned.decode(data) == assigned
    assert Assigned.decode(b"\0\x09" + data[2:] + b"more") == assigned


def test_topics_of_an_assignment_keep_their_order() -> None:
    assigned = Assigned((OWNED[2], OWNED[1], OWNED[0]))

    assert Assigned.decode(assigned.encode()) == assigned


def test_no_bytes_are_no_partitions() -> None:
    assert Assigned.decode(b"") == Assigned()
    assert Assigned.decode(Assigned().encode()) == Assigned()


@pytest.mark.parametrize(
    "data", [b"\0", b"\0\0", b"\0\3" + PARTITIONS, b"\x80\0" + PARTITIONS + DATA]
)
def test_bytes_that_are_no_assignment_are_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError, match="ConsumerProtocolAssignment"):
        Assigned.decode(data)
