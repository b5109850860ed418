from __future__ import annotations

import json
import pickle
import re
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_aio.config import Secret
from kafka_aio.types import (
    BearerToken,
    ConsumerGroupMetadata,
    Node,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    PartitionInfo,
    RecordMetadata,
    SubscriptionPattern,
    TimestampType,
    TopicPartition,
)

VALUES = [
    TopicPartition("orders", 3),
    RecordMetadata("orders", 3, 7, 1000),
    OffsetAndMetadata(7, "note", 2),
    OffsetAndTimestamp(7, 1000, 2),
    Node(1, "localhost", 9092, "a"),
    PartitionInfo("orders", 3, Node(1, "localhost", 9092)),
    ConsumerGroupMetadata("billing", 4, "m-1"),
    SubscriptionPattern("orders-.*"),
    BearerToken("eyJ.abc.def", 1_700_000_000.0, 1_600_000_000.0),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_survives_a_pickle_and_can_be_a_key(value: object) -> None:
    back = pickle.loads(pickle.dumps(value))

    assert back == value
    assert {value: 1}[back] == 1


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_does_not_change(value: object) -> None:
    first_field = type(value).__match_args__[0]  # type: ignore[attr-defined]

    with pytest.raises(AttributeError):
        setattr(value, first_field, 1)


def test_a_partition_reads_as_kafka_writes_it() -> None:
    assert str(TopicPartition("orders", 3)) == "orders-3"
    assert str(RecordMetadata("orders", 3, 7, 1000)) == "orders-3@7"


def test_a_place_knows_its_partition() -> None:
    assert RecordMetadata("orders", 3, 7, 1000).topic_partition == TopicPartition("orders", 3)
    assert PartitionInfo("orders", 3, None).topic_partition == TopicPartition("orders", 3)


def test_partitions_sort_by_topic_then_number() -> None:
    partitions = [TopicPartition("b", 0), TopicPartition("a", 10), TopicPartition("a", 9)]

    assert sorted(partitions) == [("a", 9), ("a", 10), ("b", 0)]


def test_a_node_with_an_ipv6_address_shows_brackets() -> None:
    assert str(Node(1, "::1", 9092)) == "[::1]:9092 (node 1)"
    assert str(Node(1, "kafka", 9092)) == "kafka:9092 (node 1)"


def test_a_negative_offset_cannot_be_committed() -> None:
    with pytest.raises(ValueError, match="0 or more, not -1"):
        OffsetAndMetadata(-1)


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"offset": "1"}, TypeError, "an offset to commit is an int, not '1'"),
        ({"offset": 1.0}, TypeError, "an offset to commit is an int, not 1.0"),
        ({"offset": True}, TypeError, "an offset to commit is an int, not True"),
        ({"offset": 2**63}, ValueError, "an offset to commit is below 2**63"),
        ({"offset": 10**5000}, ValueError, "an offset to commit is below 2**63"),
        ({"metadata": b"x"}, TypeError, "the metadata of an offset is a str, not <bytes>"),
        ({"metadata": None}, TypeError, "the metadata of an offset is a str, not <NoneType>"),
        ({"metadata": "a\ud800"}, ValueError, "the metadata of an offset cannot be sent as UTF-8"),
        ({"metadata": "x" * 32_768}, ValueError, "the metadata of an offset has 32,768 bytes"),
        ({"leader_epoch": 2**31}, ValueError, "a leader epoch is below 2**31"),
        ({"leader_epoch": -1}, ValueError, "a leader epoch is 0 or more, not -1"),
        ({"leader_epoch": "1"}, TypeError, "a leader epoch is an int, not '1'"),
    ],
)
def test_an_offset_that_cannot_be_sent_is_refused_where_it_is_made(
    given: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=re.escape(text)):
        OffsetAndMetadata(**{"offset": 1, **given})


def test_the_largest_offset_can_be_committed() -> None:
    largest = OffsetAndMetadata(2**63 - 1, "\u00e9" * 16_383, 2**31 - 1)

    assert (largest.offset, largest.leader_epoch) == (2**63 - 1, 2**31 - 1)


@pytest.mark.parametrize(
    ("pattern", "error", "text"),
    [
        ("", ValueError, "an empty pattern matches no topic"),
        ("a\ud800", ValueError, "a pattern of topics cannot be sent as UTF-8"),
        ("x" * 32_768, ValueError, "a pattern of topics has 32,768 bytes"),
        (b"a", TypeError, "a pattern of topics is a str, not <bytes>"),
        (re.compile("a"), TypeError, "a pattern of topics is a str, not <Pattern>"),
    ],
)
def test_a_pattern_that_cannot_be_sent_is_refused_where_it_is_made(
    pattern: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=re.escape(text)):
        SubscriptionPattern(pattern)


def test_timestamp_types_are_the_numbers_of_the_wire() -> None:
    assert [int(kind) for kind in TimestampType] == [-1, 0, 1]


def _jwt(payload: bytes) -> str:
    return f"eyJ.{urlsafe_b64encode(payload).decode().rstrip('=')}.c2ln"


def test_a_bearer_token_does_not_show_itself() -> None:
    token = BearerToken("Canary", expires_at=5.0)

    assert repr(token) == str(token) == "BearerToken(expires_at=5.0, issued_at=None)"


def test_a_bearer_token_of_a_secret_has_its_text() -> None:
    assert f"{BearerToken(Secret('abc')).value}" == "abc"
    assert f"{BearerToken.parse(Secret('abc')).value}" == "abc"


@pytest.mark.parametrize(
    "value", ["", "a b", "a\n", " a", "a\x01auth=Bearer b", "=", "a=b", "\xe9"]
)
def test_what_is_no_bearer_token_is_refused_and_not_repeated(value: str) -> None:
    with pytest.raises(ValueError, match="a bearer token") as caught:
        BearerToken(value)

    assert (
        str(caught.value)
        == "a bearer token has letters, digits and ._~+/-= in it, no spaces or line ends"
    )


@pytest.mark.parametrize("time", [-1.0, True, "5", float("nan"), float("inf"), 1_700_000_000_000])
@pytest.mark.parametrize("name", ["expires_at", "issued_at"])
def test_a_time_of_a_token_that_is_not_in_seconds_is_refused(name: str, time: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name} of a token is a number of seconds since 1970"):
        BearerToken("abc", **{name: time})


def test_a_jwt_has_its_times_in_itself() -> None:
    text = _jwt(b'{"exp": 1700000000, "iat": 1600000000.5, "sub": "me"}')

    assert BearerToken.parse(text) == BearerToken(text, 1_700_000_000, 1_600_000_000.5)


@pytest.mark.parametrize(
    "text",
    [
        "opaque",
        "two.parts",
        "a.b.c.d",
        "a.!.c".replace("!", "_"),
        _jwt(b"[]"),
        _jwt(b"nonsense"),
        _jwt(b"\xff\xfe"),
        _jwt(b"[" * 50_000),
        _jwt(b'{"exp": "1700000000", "iat": true}'),
        _jwt(b'{"exp": 1e400, "iat": NaN}'),
        _jwt(json.dumps({"exp": 10**400}).encode()),
        _jwt(b'{"exp": 1700000000000}'),
        _jwt(b'{"exp": -1}'),
    ],
)
def test_a_text_that_does_not_tell_its_times_is_a_token_without_them(text: str) -> None:
    assert BearerToken.parse(text) == BearerToken(text)


@given(st.text() | st.binary().map(_jwt))
def test_any_text_is_a_token_or_refused(text: str) -> None:
    try:
        found = BearerToken.parse(text).value
    except ValueError:
        found = ""

    assert found in (text, "")
