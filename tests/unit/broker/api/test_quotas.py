from __future__ import annotations

import pytest

from kafka_aio.protocol.messages.quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from tests.unit.broker import clusters

EXACT, DEFAULT, SPECIFIED = 0, 1, 2
UNSUPPORTED_VERSION, INVALID_REQUEST = 35, 42


def describe(*components: tuple[str, int, str | None]) -> DescribeClientQuotasResponse:
    state = clusters.made()
    parts = [
        ComponentData(entity_type=kind, match_type=how, match=match)
        for kind, how, match in components
    ]
    answer = clusters.call(state, DescribeClientQuotasRequest(components=parts, strict=False))
    assert isinstance(answer, DescribeClientQuotasResponse)
    return answer


@pytest.mark.parametrize(
    "components",
    [
        [],
        [("user", SPECIFIED, None)],
        [("user", EXACT, "alice"), ("client-id", DEFAULT, None)],
        [("ip", DEFAULT, None)],
    ],
)
def test_nobody_has_a_quota(components: list[tuple[str, int, str | None]]) -> None:
    answer = describe(*components)

    assert answer == DescribeClientQuotasResponse(
        throttle_time_ms=0, error_code=0, error_message=None, entries=[]
    )


@pytest.mark.parametrize(
    ("components", "code", "why"),
    [
        ([("", EXACT, "a")], INVALID_REQUEST, "empty entity type"),
        ([("user", EXACT, "a"), ("user", EXACT, "b")], INVALID_REQUEST, "more than once"),
        ([("planet", EXACT, "a")], UNSUPPORTED_VERSION, "Unsupported entity type planet"),
        ([("user", 3, None)], INVALID_REQUEST, "Unknown match type 3"),
        ([("user", EXACT, None)], INVALID_REQUEST, "MATCH_TYPE_EXACT"),
        ([("user", DEFAULT, "a")], INVALID_REQUEST, "MATCH_TYPE_DEFAULT"),
        ([("user", SPECIFIED, "a")], INVALID_REQUEST, "MATCH_TYPE_SPECIFIED"),
        ([("ip", EXACT, "::1"), ("user", EXACT, "a")], INVALID_REQUEST, "combination"),
    ],
)
def test_a_filter_of_quotas_that_cannot_be_is_refused(
    components: list[tuple[str, int, str | None]], code: int, why: str
) -> None:
    answer = describe(*components)

    assert (answer.error_code, answer.entries) == (code, None)
    assert why in (answer.error_message or "")
