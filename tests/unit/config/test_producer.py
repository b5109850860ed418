from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kafka_aio.config import ProducerConfig
from kafka_aio.errors import ConfigError

make = partial(ProducerConfig, bootstrap_servers="localhost:9092")


@pytest.mark.parametrize(
    ("given", "kept"),
    [("all", "all"), (-1, "all"), ("-1", "all"), (0, 0), ("0", 0), (1, 1), ("1", 1)],
)
def test_acks_has_one_form(given: Any, kept: object) -> None:
    assert make(acks=given).acks == kept


@pytest.mark.parametrize("given", [2, "some", True, None, 1.0, "All"])
def test_other_acks_are_refused(given: Any) -> None:
    with pytest.raises(ConfigError, match="acks must be 0, 1 or 'all'"):
        make(acks=given)


# B26: the whole table is compared with Kafka's own producer in test_kafka_agrees.
def test_idempotence_is_on_by_default() -> None:
    assert make().enable_idempotence is True
    assert make().notes == []


@pytest.mark.parametrize("options", [{"acks": 1}, {"acks": 0}, {"retries": 0}])
def test_acks_or_retries_turn_unset_idempotence_off_and_say_so(options: Any) -> None:
    config = make(**options)
    (note,) = config.notes

    assert config.enable_idempotence is False
    assert note.startswith("idempotence is off, because")


@pytest.mark.parametrize("options", [{"acks": 1}, {"retries": 0}])
def test_explicit_idempotence_with_either_is_refused(options: Any) -> None:
    with pytest.raises(ConfigError, match="enable_idempotence needs acks='all' and retries, but"):
        make(enable_idempotence=True, **options)


@pytest.mark.parametrize("options", [{"acks": 1}, {"retries": 0}, {"enable_idempotence": False}])
def test_a_transactional_id_without_idempotence_is_refused(options: Any) -> None:
    with pytest.raises(ConfigError, match="transactional_id needs idempotence, but"):
        make(transactional_id="t", **options)


def test_more_than_five_in_flight_are_refused_unless_idempotence_is_turned_off() -> None:
    config = make(max_in_flight_requests_per_connection=6, enable_idempotence=False)

    assert config.max_in_flight_requests_per_connection == 6
    with pytest.raises(ConfigError, match="is 6, and idempotence allows 5"):
        make(max_in_flight_requests_per_connection=6)


def test_a_delivery_timeout_too_short_for_one_attempt_is_refused_if_given() -> None:
    with pytest.raises(ConfigError, match=r"linger_ms \+ request_timeout_ms = 30005"):
        make(delivery_timeout_ms=30_004)


def test_a_delivery_timeout_that_was_not_given_grows_to_fit_and_says_so() -> None:
    config = make(request_timeout_ms=200_000)

    assert config.delivery_timeout_ms == 200_005
    assert config.notes == [
        "delivery_timeout_ms is 200005, the sum of linger_ms and request_timeout_ms"
    ]


def test_a_delivery_timeout_never_outgrows_the_wire() -> None:
    assert make(linger_ms=2**63 - 1).delivery_timeout_ms == 2**31 - 1


def test_a_partitioner_is_a_word_or_a_function() -> None:
    assert make(partitioner="roundrobin").partitioner == "roundrobin"
    assert make(partitioner=max).partitioner is max
    with pytest.raises(ConfigError, match="'roundrobin', or a function, or None, not 'random'"):
        make(partitioner="random")
    with pytest.raises(ConfigError, match="or a function, or None, not <int>"):
        make(partitioner=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("level", [0, 10, -2])
def test_a_compression_level_outside_its_codecs_range_is_refused(level: int) -> None:
    with pytest.raises(ConfigError, match="from 1 to 9, or -1"):
        make(compression_gzip_level=level)
