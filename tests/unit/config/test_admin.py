from __future__ import annotations

from functools import partial

import pytest

from kafka_aio.config import AdminConfig
from kafka_aio.errors import ConfigError

make = partial(AdminConfig, bootstrap_servers="localhost:9092")


def test_a_call_of_the_admin_lasts_at_least_one_request() -> None:
    assert make(request_timeout_ms=90_000).default_api_timeout_ms == 90_000
    with pytest.raises(ConfigError, match="default_api_timeout_ms is 10, but one request may take"):
        make(default_api_timeout_ms=10)
