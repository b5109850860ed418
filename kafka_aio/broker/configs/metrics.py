"""The options of a subscription to metrics of clients (KIP-714). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kafka_aio.broker.configs.options import Option, Type, declared, list_of
from kafka_aio.errors import InvalidConfig, InvalidRequest

METRICS_OPTIONS: Final = declared(
    (
        Option("metrics", Type.LIST, "", list_of()),
        Option("interval.ms", Type.INT, "300000"),
        Option("match", Type.LIST, "", list_of()),
    )
)
_MATCHED: Final = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


def check_metrics_configs(name: str, configs: Mapping[str, str]) -> None:
    """Raise what Kafka says of the options that are set for a subscription.

    Raises:
        InvalidRequest: It has no name, or an option is unknown, or the interval out of bounds.
        InvalidConfig: A value is wrong.
    """
    if not name:
        raise InvalidRequest("Subscription name can't be empty")
    for each in configs:
        if each not in METRICS_OPTIONS:
            raise InvalidRequest(f"Unknown client metrics configuration: {each}")
    values = {each: METRICS_OPTIONS[each].read(text) for each, text in configs.items()}
    interval = values.get("interval.ms", 300_000)
    assert isinstance(interval, int)
    if not 100 <= interval <= 3_600_000:
        raise InvalidRequest(
            f"Invalid value {interval} for interval.ms, interval must be between 100 and 3600000"
            " (1 hour)"
        )
    patterns = values.get("match", ())
    assert isinstance(patterns, tuple)
    for pattern in patterns:
        _check_pattern(pattern)


def _check_pattern(text: str) -> None:
    name, _, pattern = text.partition("=")
    try:
        re.compile(pattern.strip())
    except re.error:
        pattern = ""
    if name.strip() not in _MATCHED or not pattern or "=" in pattern:
        raise InvalidConfig(f"Illegal client matching pattern: {text}")
