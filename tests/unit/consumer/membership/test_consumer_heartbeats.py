from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.consumer.membership.consumer_heartbeats import Heartbeats
from kafka_aio.consumer.membership.member import Wanted
from kafka_aio.errors import UnsupportedVersion
from kafka_aio.protocol.codec import encode
from kafka_aio.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest

T = Wanted(frozenset({"t"}))
BY_REGEX = Wanted(regex="t.*")
ALWAYS = {"group_id": "g", "member_id": "m", "member_epoch": 3, "instance_id": "i"}
FULL = {
    **ALWAYS,
    "rack_id": "r",
    "server_assignor": "uniform",
    "rebalance_timeout_ms": 300_000,
    "subscribed_topic_names": ["t"],
    "topic_partitions": [],
}


@pytest.fixture
def heartbeats() -> Heartbeats:
    return Heartbeats(
        group_id="g",
        instance_id="i",
        rack="r",
        server_assignor="uniform",
        rebalance_timeout=300.0,
    )


def told(fields: dict[str, Any]) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(**fields)


def test_the_first_one_says_everything_and_the_next_nothing(heartbeats: Heartbeats) -> None:
    first = heartbeats.write("m", 3, T, [])
    second = heartbeats.write("m", 3, T, None)

    assert first == told(FULL)
    assert second == told(ALWAYS)


def test_after_one_that_may_not_have_been_heard_all_is_said_again(heartbeats: Heartbeats) -> None:
    heartbeats.write("m", 3, T, [])

    heartbeats.forget()

    assert heartbeats.is_full
    assert heartbeats.write("m", 3, T, []) == told(FULL)


def test_what_has_changed_is_said_once(heartbeats: Heartbeats) -> None:
    heartbeats.write("m", 3, T, [])
    other = Wanted(frozenset({"u", "t"}))

    assert heartbeats.has_news(other)
    assert heartbeats.write("m", 3, other, None) == told(
        {**ALWAYS, "subscribed_topic_names": ["t", "u"]}
    )
    assert not heartbeats.has_news(other)


def test_a_regex_that_was_told_is_taken_back_even_if_a_heartbeat_is_lost(
    heartbeats: Heartbeats,
) -> None:
    said = [heartbeats.write("m", 3, BY_REGEX, [])]
    said += [heartbeats.write("m", 3, T, None) for _ in range(2)]
    heartbeats.forget()
    said += [heartbeats.write("m", 3, T, [])]

    assert [each.subscribed_topic_regex for each in said] == ["t.*", "", None, ""]
    assert [each.subscribed_topic_names for each in said] == [[], ["t"], None, ["t"]]


def test_version_0_has_a_place_for_all_but_a_regex(heartbeats: Heartbeats) -> None:
    encode(heartbeats.write("m", 0, T, []), 0)

    with pytest.raises(UnsupportedVersion):
        encode(heartbeats.write("m", 0, BY_REGEX, []), 0)
