from __future__ import annotations

import pytest

from kafka_aio.consumer.assignors.assignor import Member
from kafka_aio.consumer.membership.subscriptions import Subscription
from kafka_aio.errors import ProtocolError
from kafka_aio.types import TopicPartition

OWNED = (TopicPartition("x", 0), TopicPartition("x", 2), TopicPartition("y", 1))
WHOLE = Subscription(("x", "y"), b"data", OWNED, 7, "rack")

TOPICS = b"\0\0\0\2\0\1x\0\1y"
DATA = b"\0\0\0\4data"
PARTITIONS = b"\0\0\0\2\0\1x\0\0\0\2\0\0\0\0\0\0\0\2\0\1y\0\0\0\1\0\0\0\1"
GENERATION = b"\0\0\0\7"
RACK = b"\0\4rack"


def test_a_subscription_has_its_version_in_front() -> None:
    assert WHOLE.encode() == b"\0\3" + TOPICS + DATA + PARTITIONS + GENERATION + RACK


def test_topics_and_partitions_are_in_order() -> None:
    mixed = Subscription(("y", "x"), b"data", OWNED[::-1], 7, "rack")

    assert mixed.encode() == WHOLE.encode()


@pytest.mark.parametrize(
    ("version", "body", "read"),
    [
        (0, TOPICS + DATA, Subscription(("x", "y"), b"data")),
        (1, TOPICS + DATA + PARTITIONS, Subscription(("x", "y"), b"data", OWNED)),
        (2, TOPICS + DATA + PARTITIONS + GENERATION, Subscription(("x", "y"), b"data", OWNED, 7)),
        (3, TOPICS + DATA + PARTITIONS + GENERATION + RACK, WHOLE),
    ],
)
def test_older_versions_leave_out_what_they_have_no_place_for(
    version: int, body: bytes, read: Subscription
) -> None:
    data = version.to_bytes(2, "big") + body

    assert WHOLE.encode(version) == data
    assert Subscription.decode(data) == read


def test_what_is_newer_is_read_as_the_newest_known() -> None:
    data = b"\0\x09" + WHOLE.encode()[2:] + b"more"

    assert Subscription.decode(data) == WHOLE


def test_a_newer_version_that_ends_too_early_is_read_as_an_older_one() -> None:
    assert Subscription.decode(b"\0\3" + TOPICS + DATA) == Subscription(("x", "y"), b"data")
    assert Subscription.decode(b"\0\3" + TOPICS + DATA + PARTITIONS).owned == OWNED


def test_no_user_data_is_not_empty_user_data() -> None:
    without = Subscription(("x",))

    assert Subscription.decode(without.encode()) == without
    assert Subscription.decode(Subscription(("x",), b"").encode()).user_data == b""


def test_an_empty_rack_is_none() -> None:
    assert Subscription.decode(Subscription(("x",), rack="").encode()).rack is None


@pytest.mark.parametrize(
    "data", [b"", b"\0", b"\0\0", b"\0\3\0\0\0\1", b"\xff\xff" + TOPICS + DATA]
)
def test_bytes_that_are_no_subscription_are_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError, match="ConsumerProtocolSubscription"):
        Subscription.decode(data)


def test_the_one_who_sent_it_is_a_member() -> None:
    assert WHOLE.member("id", "static") == Member(
        "id", ("x", "y"), OWNED, 7, "static", "rack", b"data"
    )
    assert Subscription(("x",)).member("id") == Member("id", ("x",))
