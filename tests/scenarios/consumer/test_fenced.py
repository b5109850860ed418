"""Behaviours B55 and B56: a static member whose place another has taken."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import CommitFailed, FencedInstanceId
from kafka_aio.types import TopicPartition
from tests.scenarios.consumer.committing import failure, now, on_virtual_time
from tests.scenarios.consumer.grouped import joined, until

T0 = TopicPartition("t", 0)


@pytest.mark.parametrize("auto_commit", [True, False])
@on_virtual_time
async def test_who_is_fenced_is_told_why_by_all_that_it_does_until_it_subscribes_anew(
    auto_commit: bool,
) -> None:
    options: dict[str, Any] = {"group_instance_id": "me", "enable_auto_commit": auto_commit}
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        joined(broker, **options) as first,
        joined(broker, **options) as second,
    ):
        errors = [await failure(first.poll(timeout=30)) for _ in range(3)]
        start = now()
        errors += [await failure(anext(first)) for _ in range(2)]
        took, health, healthy = now() - start, first.health(), second.health()
        late = await failure(first.commit({T0: 1}))
        first.subscribe(["t"])
        await until(first.assignment, first)
        back = first.health()

    assert [type(each) for each in errors] == [FencedInstanceId] * 5
    assert took < 3
    assert (health.is_healthy, health.group) == (False, "fenced")
    assert "group 'g'" in health.reason
    assert "group_instance_id" in health.reason
    assert "not let us in" not in health.reason
    assert isinstance(late, CommitFailed)
    assert isinstance(late.__cause__, FencedInstanceId)
    assert "another member with the same group_instance_id" in str(late)
    assert (healthy.is_healthy, back.is_healthy) == (True, True)
