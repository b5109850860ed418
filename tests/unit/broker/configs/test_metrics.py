from __future__ import annotations

import pytest

from kafka_aio.broker.configs.metrics import check_metrics_configs
from kafka_aio.errors import BrokerError, InvalidConfig, InvalidRequest


@pytest.mark.parametrize(
    "configs",
    [
        {},
        {"interval.ms": "100"},
        {"interval.ms": "3600000"},
        {"metrics": "*"},
        {"match": "client_id=app-.*,client_software_name=java"},
    ],
)
def test_options_that_a_subscription_may_have(configs: dict[str, str]) -> None:
    check_metrics_configs("mine", configs)


@pytest.mark.parametrize(
    ("name", "configs", "error", "message"),
    [
        ("", {}, InvalidRequest, "Subscription name can't be empty"),
        ("s", {"nope": "1"}, InvalidRequest, "Unknown client metrics configuration: nope"),
        (
            "s",
            {"interval.ms": "99"},
            InvalidRequest,
            "Invalid value 99 for interval.ms, interval must be between 100 and 3600000 (1 hour)",
        ),
        (
            "s",
            {"interval.ms": "x"},
            InvalidConfig,
            "Invalid value x for configuration interval.ms: Not a number of type INT",
        ),
        ("s", {"match": "app"}, InvalidConfig, "Illegal client matching pattern: app"),
        ("s", {"match": "name=app"}, InvalidConfig, "Illegal client matching pattern: name=app"),
        (
            "s",
            {"match": "client_id=("},
            InvalidConfig,
            "Illegal client matching pattern: client_id=(",
        ),
    ],
)
def test_options_that_no_subscription_may_have(
    name: str, configs: dict[str, str], error: type[BrokerError], message: str
) -> None:
    with pytest.raises(error) as raised:
        check_metrics_configs(name, configs)

    assert raised.value.message == message
