"""What is told of commits that fail: whether they may be done all the same, and how often."""

from __future__ import annotations

import asyncio
from typing import Any

from kafka_aio.errors import (
    CommitFailed,
    GroupAuthorizationFailed,
    KafkaError,
    KafkaTimeoutError,
    StateError,
)
from kafka_aio.types import OffsetAndMetadata
from tests.scenarios.consumer.committing import (
    T0,
    committing,
    failure,
    now,
    offsets,
    on_virtual_time,
)


@on_virtual_time
async def test_what_was_on_its_way_when_it_was_given_up_is_not_said_to_be_lost() -> None:
    async with committing(request_timeout_ms=2_000) as (broker, committer):
        held = broker.faults.hold("OffsetCommit", when="after")
        flying = committer.commit_nowait({T0: 5})
        await broker.wait_hits(held)
        waiting = committer.commit_nowait({T0: 6})
        committer.give_up([T0])
        unclear, never = await failure(flying), await failure(waiting)

        assert offsets(broker) == {T0: 5}
        assert isinstance(unclear, CommitFailed)
        assert unclear.indefinite
        assert "not known whether" in str(unclear)
        assert unclear.offsets == {T0: OffsetAndMetadata(5)}
        assert isinstance(never, CommitFailed)
        assert not never.indefinite
        assert "given up" in str(never)


@on_virtual_time
async def test_what_was_never_sent_is_known_not_to_be_committed() -> None:
    async with committing() as (_, committer):
        error = await failure(committer.commit({T0: 5}, until=now()))
        await asyncio.sleep(3)

        assert isinstance(error, KafkaTimeoutError)
        assert not error.indefinite
        assert "it was not sent" in str(error)
        assert await committer.committed([T0], until=now() + 10) == {T0: None}


@on_virtual_time
async def test_the_end_of_the_client_is_the_end_of_each_commit() -> None:
    async with committing() as (broker, committer):
        broker.faults.drop("OffsetCommit")
        told: list[KafkaError | None] = []
        commit = committer.commit_nowait({T0: 5}, lambda _, error: told.append(error))
        await asyncio.sleep(1)
        waiting = committer.commit_nowait({T0: 6})

    assert [type(each) for each in told] == [StateError]
    assert isinstance(error := await failure(commit), StateError)
    assert error.indefinite
    assert "not known whether" in str(error)
    assert not (await failure(waiting)).indefinite


@on_virtual_time
async def test_a_failure_that_nobody_hears_of_is_logged(caplog: Any) -> None:
    async with committing() as (broker, committer):
        broker.faults.fail("OffsetCommit", GroupAuthorizationFailed)
        committer.commit_nowait({T0: 1})
        await asyncio.sleep(1)

    assert "a commit that nobody awaits has failed" in caplog.text


@on_virtual_time
async def test_thousands_that_fail_at_once_are_complained_of_once(caplog: Any) -> None:
    async with committing() as (broker, committer):
        held = broker.faults.hold("OffsetCommit")
        for number in range(2_000):
            committer.commit_nowait({T0: number})
        await broker.wait_hits(held)

    (said,) = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert "2000 commits that nobody awaits have failed" in said


@on_virtual_time
async def test_thousands_that_fail_one_after_the_other_are_complained_of_now_and_then(
    caplog: Any,
) -> None:
    async with committing(default_api_timeout_ms=5_000) as (broker, committer):
        broker.faults.hold("OffsetCommit")
        for number in range(2_000):
            committer.commit_nowait({T0: number})
            await asyncio.sleep(0.01)
        await asyncio.sleep(60)

        said = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
        counts = [int(text.split()[0].replace("a", "1")) for text in said]
        assert 2 <= len(said) <= 6
        assert sum(counts) == 2_000
