from __future__ import annotations

from functools import partial
from typing import Any, cast

import pytest

from kafka_aio.config import ConsumerConfig
from kafka_aio.errors import ConfigError

make = partial(ConsumerConfig, bootstrap_servers="localhost:9092")


class Assignor:
    name = "mine"


def test_without_a_group_nothing_is_committed() -> None:
    assert make().enable_auto_commit is False
    assert make(group_id="g").enable_auto_commit is True
    with pytest.raises(ConfigError, match="no group to commit for: set group_id"):
        make(enable_auto_commit=True)


@pytest.mark.parametrize("group_id", ["", "  "])
def test_a_group_has_a_name(group_id: str) -> None:
    with pytest.raises(ConfigError, match="group_id must be a str that is not empty"):
        make(group_id=group_id)


@pytest.mark.parametrize("name", ["group_id", "client_rack", "group_remote_assignor"])
@pytest.mark.parametrize("value", ["a\ud800", "x" * 8_001])
def test_what_cannot_be_sent_to_a_broker_is_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} must be a str .*at most 8,000 characters"):
        make(**cast(Any, {"group_id": "g", "group_protocol": "consumer", name: value}))


def test_a_place_and_a_group_may_have_any_other_name() -> None:
    config = make(client_rack="r\u00fc\n" * 2_000, group_id="g\U0001f600" * 4_000)

    assert (len(config.client_rack), len(config.group_id or "")) == (6_000, 8_000)


def test_heartbeats_come_more_often_than_the_session_ends() -> None:
    with pytest.raises(ConfigError, match="heartbeat_interval_ms is 3000, but must be below"):
        make(group_id="g", session_timeout_ms=3_000)
    assert make(group_id="g", session_timeout_ms=3_001).session_timeout_ms == 3_001


@pytest.mark.parametrize(
    "options",
    [
        {"session_timeout_ms": 45_000},
        {"heartbeat_interval_ms": 3_000},
        {"partition_assignment_strategy": ["range"]},
    ],
)
def test_options_of_the_classic_protocol_are_refused_with_the_new_one(options: Any) -> None:
    with pytest.raises(ConfigError, match=f"{next(iter(options))} belongs to group_protocol='clas"):
        make(group_id="g", group_protocol="consumer", **options)


def test_the_brokers_assignor_is_refused_in_a_classic_group() -> None:
    config = make(group_id="g", group_protocol="consumer", group_remote_assignor="uniform")

    assert config.group_remote_assignor == "uniform"
    with pytest.raises(ConfigError, match="belongs to group_protocol='consumer'"):
        make(group_id="g", group_remote_assignor="uniform")


def test_assignors_are_known_by_name_or_are_objects_that_have_one() -> None:
    own = Assignor()

    assert make(partition_assignment_strategy=["sticky", own]).partition_assignment_strategy == (
        "sticky",
        own,
    )
    with pytest.raises(ConfigError, match="'range', 'roundrobin', 'sticky', 'cooperative-sticky'"):
        make(partition_assignment_strategy=["round_robin"])
    with pytest.raises(ConfigError, match="at least 1"):
        make(partition_assignment_strategy=[])


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ("cooperative-sticky", "'cooperative-sticky': give a list, ['cooperative-sticky']"),
        ("range, sticky", "'range, sticky': give a list, ['range', 'sticky']"),
        ("mine", "not 'mine'"),
        ("", "not ''"),
    ],
)
def test_one_assignor_in_place_of_a_list_is_explained(given: Any, advice: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make(partition_assignment_strategy=given)

    assert str(caught.value).endswith(advice)


@pytest.mark.parametrize(
    ("policy", "seconds"),
    [
        ("latest", None),
        ("by_duration:P1D", 86_400.0),
        ("by_duration:PT36H", 129_600.0),
        ("by_duration:P1DT2H3M4.5S", 93_784.5),
        ("by_duration:P1DT-1H", 82_800.0),
        ("by_duration:PT0S", 0.0),
        ("by_duration:-PT-5S", 5.0),
    ],
)
def test_a_reset_policy_may_look_back(policy: str, seconds: float | None) -> None:
    assert make(auto_offset_reset=policy).auto_offset_reset_lookback == seconds


@pytest.mark.parametrize("policy", ["first", "by_duration:", "by_duration:1d", "by_duration:-P1D"])
def test_another_reset_policy_is_refused_with_an_example(policy: str) -> None:
    with pytest.raises(ConfigError, match="such as 'by_duration:P1DT12H'"):
        make(auto_offset_reset=policy)


def test_a_fetch_that_outlasts_its_request_is_pointed_out() -> None:
    (note,) = make(fetch_max_wait_ms=30_000).notes

    assert "a fetch of a quiet topic ends as a failure" in note
    assert make(fetch_max_wait_ms=29_999).notes == []
