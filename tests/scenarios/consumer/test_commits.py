"""Behaviour B55: commits are in order, are tried again, and fail with the right error."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from kafka_aio.consumer.commits import Identity
from kafka_aio.errors import (
    CommitFailed,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    FencedInstanceId,
    GroupAuthorizationFailed,
    IllegalGeneration,
    KafkaTimeoutError,
    NotCoordinator,
    OffsetMetadataTooLarge,
    RebalanceInProgress,
    RequestTimedOut,
    StaleMemberEpoch,
    TopicAuthorizationFailed,
    UnknownMemberId,
    UnknownTopicOrPartition,
    UnstableOffsetCommit,
)
from kafka_aio.types import OffsetAndMetadata, TopicPartition
from tests.scenarios.consumer.committing import (
    GROUP,
    T0,
    T1,
    T2,
    committing,
    failure,
    now,
    offsets,
    on_virtual_time,
)


@on_virtual_time
async def test_what_is_committed_is_found_again() -> None:
    async with committing() as (_, committer):
        kept = OffsetAndMetadata(7, "a note", leader_epoch=3)
        await committer.commit({T0: kept, T1: 3}, until=now() + 10)
        found = await committer.committed([T0, T1, T2], until=now() + 10)

        assert found == {T0: kept, T1: OffsetAndMetadata(3), T2: None}


@on_virtual_time
async def test_a_topic_that_nobody_knows_has_nothing_committed() -> None:
    async with committing() as (_, committer):
        unknown = TopicPartition("unknown", 0)

        assert await committer.committed([unknown], until=now() + 10) == {unknown: None}


# -- order


@on_virtual_time
async def test_callbacks_of_earlier_commits_are_called_before_a_later_commit_returns() -> None:
    called: list[int] = []

    async def slow(committed: Any, error: Any) -> None:
        called.append(committed[T0].offset)
        await asyncio.sleep(30)

    def plain(committed: Any, error: Any) -> None:
        called.append(committed[T0].offset)

    async with committing() as (broker, committer):
        broker.faults.fail("OffsetCommit", CoordinatorLoadInProgress, times=3)
        committer.commit_nowait({T0: 1}, plain)
        committer.commit_nowait({T0: 2}, slow)
        committer.commit_nowait({T0: 3}, plain)
        await committer.commit({T1: 1}, until=now() + 60)

        assert sorted(called) == [1, 2, 3]
        assert offsets(broker) == {T0: 3, T1: 1}


@on_virtual_time
async def test_commits_that_wait_go_as_one_and_the_last_of_a_partition_wins() -> None:
    async with committing() as (broker, committer):
        held = broker.faults.hold("OffsetCommit")
        first = committer.commit_nowait({T0: 1})
        await broker.wait_hits(held)
        others = [committer.commit_nowait({T0: number, T1: number}) for number in range(2, 100)]
        held.remove()
        seen = broker.faults.delay("OffsetCommit", 0)
        await asyncio.gather(first, *others)

        assert offsets(broker) == {T0: 99, T1: 99}
        assert seen.hits == 1


@on_virtual_time
async def test_each_of_those_that_went_as_one_has_its_own_outcome() -> None:
    async with committing() as (broker, committer):
        broker.faults.fail("OffsetCommit", TopicAuthorizationFailed, topic="t", partition=1)
        held = broker.faults.hold("OffsetCommit", times=1)
        committer.commit_nowait({T0: 1})
        await broker.wait_hits(held)
        good, bad, both = (
            committer.commit_nowait(wanted) for wanted in ({T0: 2}, {T1: 2}, {T0: 3, T1: 3})
        )
        held.release()
        await good

        assert isinstance(await failure(bad), TopicAuthorizationFailed)
        assert isinstance(error := await failure(both), TopicAuthorizationFailed)
        assert str(error).startswith("t-1 to 3: not committed for group 'g'")
        assert offsets(broker) == {T0: 3}


@on_virtual_time
async def test_a_text_that_is_too_long_does_not_spoil_the_commit_before_it() -> None:
    async with committing() as (broker, committer):
        held = broker.faults.hold("OffsetCommit", times=1)
        committer.commit_nowait({T1: 1})
        await broker.wait_hits(held)
        good = committer.commit_nowait({T0: 1})
        bad = committer.commit_nowait({T0: OffsetAndMetadata(2, "x" * 10_000)})
        held.release()
        await good

        assert isinstance(await failure(bad), OffsetMetadataTooLarge)
        assert offsets(broker) == {T0: 1, T1: 1}


@on_virtual_time
async def test_thousands_of_commits_on_a_dead_coordinator_fail_once_each() -> None:
    told: list[int] = []
    async with committing(default_api_timeout_ms=20_000) as (broker, committer):
        await committer.commit({T0: 1}, until=now() + 10)
        await broker.stop_node(1)

        def note(committed: Any, error: Any) -> None:
            assert isinstance(error, KafkaTimeoutError)
            told.append(committed[T0].offset)

        count = 5 * sys.getrecursionlimit()
        commits = [committer.commit_nowait({T0: number}, note) for number in range(count)]
        await asyncio.sleep(30)

        assert told == list(range(count))
        assert all(each.done() for each in commits)


@on_virtual_time
async def test_thousands_of_commits_succeed_once_when_the_coordinator_is_back() -> None:
    told: list[int] = []
    async with committing() as (broker, committer):
        await broker.stop_node(1)

        def note(committed: Any, error: Any) -> None:
            assert error is None
            told.append(committed[T0].offset)

        for number in range(5_000):
            committer.commit_nowait({T0: number}, note)
        await asyncio.sleep(20)
        assert told == []
        await broker.start_node(1)
        await asyncio.sleep(5)

        assert told == list(range(5_000))
        assert offsets(broker) == {T0: 4_999}


# -- again


@pytest.mark.parametrize(
    "error",
    [
        CoordinatorLoadInProgress,
        CoordinatorNotAvailable,
        NotCoordinator,
        RequestTimedOut,
        UnknownTopicOrPartition,
    ],
)
@on_virtual_time
async def test_what_may_be_better_soon_is_tried_again(error: Any) -> None:
    async with committing() as (broker, committer):
        fault = broker.faults.fail("OffsetCommit", error, times=3)
        await committer.commit({T0: 5}, until=now() + 10)

        assert fault.hits == 3
        assert offsets(broker) == {T0: 5}


@on_virtual_time
async def test_pauses_between_attempts_grow() -> None:
    async with committing(retry_backoff_ms=100, retry_backoff_max_ms=1_000) as (broker, committer):
        broker.faults.fail("OffsetCommit", CoordinatorLoadInProgress, times=6)
        start = now()
        await committer.commit({T0: 5}, until=now() + 60)

        assert 0.8 * 3.1 < now() - start < 1.2 * 3.6


@on_virtual_time
async def test_commits_follow_the_coordinator_to_another_node() -> None:
    async with committing(nodes=3) as (broker, committer):
        for at, node in enumerate((1, 2, 3, 1), start=1):
            broker.move_coordinator(GROUP, node)
            await committer.commit({T0: at}, until=now() + 10)
            found = await committer.committed([T0], until=now() + 10)

            assert found == {T0: OffsetAndMetadata(at)}


@pytest.mark.parametrize("when", ["before", "after"])
@on_virtual_time
async def test_a_commit_whose_connection_breaks_is_sent_again(when: Any) -> None:
    async with committing() as (broker, committer):
        broker.faults.disconnect("OffsetCommit", when=when, times=2)
        await committer.commit({T0: 5}, until=now() + 10)

        assert offsets(broker) == {T0: 5}


@on_virtual_time
async def test_only_what_failed_is_sent_again() -> None:
    async with committing() as (broker, committer):
        broker.faults.fail("OffsetCommit", UnknownTopicOrPartition, topic="t", partition=1, times=1)
        both = committer.commit_nowait({T0: 1, T1: 1})
        good = broker.faults.delay("OffsetCommit", 0, topic="t", partition=0)
        again = broker.faults.delay("OffsetCommit", 0, topic="t", partition=1)
        await both

        assert (good.hits, again.hits) == (1, 2)
        assert offsets(broker) == {T0: 1, T1: 1}


@on_virtual_time
async def test_a_commit_without_an_answer_ends_when_its_time_is_over() -> None:
    async with committing() as (broker, committer):
        broker.faults.drop("OffsetCommit", times=1)
        start = now()
        error = await failure(committer.commit({T0: 5}, until=now() + 3))

        assert isinstance(error, KafkaTimeoutError)
        assert "t-0 to 5: not committed for group 'g' in time" in str(error)
        assert error.indefinite
        assert now() - start == pytest.approx(3)


@on_virtual_time
async def test_unstable_offsets_are_waited_for() -> None:
    async with committing() as (broker, committer):
        await committer.commit({T0: 5}, until=now() + 10)
        fault = broker.faults.fail("OffsetFetch", UnstableOffsetCommit, times=4)
        found = await committer.committed([T0, T1], until=now() + 30)

        assert found == {T0: OffsetAndMetadata(5), T1: None}
        assert fault.hits >= 3


@on_virtual_time
async def test_committed_says_what_stood_in_the_way_when_its_time_is_over() -> None:
    async with committing() as (broker, committer):
        broker.faults.fail("OffsetFetch", CoordinatorLoadInProgress)
        start = now()
        error = await failure(committer.committed([T0], until=now() + 5))

        assert isinstance(error, KafkaTimeoutError)
        assert "COORDINATOR_LOAD_IN_PROGRESS" in str(error)
        assert now() - start <= 5


# -- never again


@pytest.mark.parametrize(
    ("error", "text", "attempts"),
    [
        (IllegalGeneration, "max_poll_interval_ms", 2),
        (UnknownMemberId, "max_poll_interval_ms", 1),
        (FencedInstanceId, "group_instance_id", 1),
    ],
)
@on_virtual_time
async def test_who_is_out_of_the_group_is_told_why_and_what_to_do(
    error: Any, text: str, attempts: int
) -> None:
    async with committing() as (broker, committer):
        fault = broker.faults.fail("OffsetCommit", error)
        failed = await failure(committer.commit({T0: 5}, until=now() + 30))

        assert isinstance(failed, CommitFailed)
        assert isinstance(failed.__cause__, error)
        assert failed.offsets == {T0: OffsetAndMetadata(5)}
        assert failed.partitions == (T0,)
        assert text in str(failed)
        assert fault.hits == attempts


@pytest.mark.parametrize("error", [RebalanceInProgress, IllegalGeneration])
@on_virtual_time
async def test_a_rebalance_that_ends_in_time_does_not_fail_a_commit(error: Any) -> None:
    async with committing() as (broker, committer):
        broker.faults.fail("OffsetCommit", error, times=1)
        await committer.commit({T0: 5}, until=now() + 30)

        assert broker.committed(GROUP)[T0].offset == 5


@on_virtual_time
async def test_a_rebalance_that_does_not_end_in_time_is_told() -> None:
    async with committing() as (broker, committer):
        broker.faults.fail("OffsetCommit", RebalanceInProgress)
        failed = await failure(committer.commit({T0: 5}, until=now() + 3))

        assert isinstance(failed, CommitFailed)
        assert "ask for the next records" in str(failed)


@pytest.mark.parametrize("error", [GroupAuthorizationFailed, TopicAuthorizationFailed])
@on_virtual_time
async def test_who_has_no_right_to_commit_is_told_so_at_once(error: Any) -> None:
    async with committing() as (broker, committer):
        fault = broker.faults.fail("OffsetCommit", error)

        assert isinstance(await failure(committer.commit({T0: 5}, until=now() + 30)), error)
        assert fault.hits == 1


@on_virtual_time
async def test_a_member_that_knows_its_new_epoch_commits_with_that_at_once() -> None:
    async with committing() as (broker, committer):
        fault = broker.faults.fail("OffsetCommit", StaleMemberEpoch, times=1)
        identities = iter([Identity("m", 1), Identity(), Identity()])
        committer.identity = lambda: next(identities)
        start = now()
        await committer.commit({T0: 5}, until=now() + 30)

        assert fault.hits == 1
        assert now() - start < 0.05
        assert offsets(broker) == {T0: 5}


@on_virtual_time
async def test_a_member_whose_epoch_stays_old_is_told_so_in_the_end() -> None:
    async with committing() as (broker, committer):
        broker.faults.fail("OffsetCommit", StaleMemberEpoch)
        error = await failure(committer.commit({T0: 5}, until=now() + 10))

        assert isinstance(error, CommitFailed)
        assert isinstance(error.__cause__, StaleMemberEpoch)


@on_virtual_time
async def test_who_should_be_a_member_and_is_none_sends_nothing() -> None:
    async with committing() as (broker, committer):
        committer.identity = lambda: None
        fault = broker.faults.drop("OffsetCommit")
        error = await failure(committer.commit({T0: 5}, until=now() + 10))

        assert isinstance(error, CommitFailed)
        assert "not a member" in str(error)
        assert fault.hits == 0


@on_virtual_time
async def test_what_was_given_up_is_not_tried_again() -> None:
    async with committing() as (broker, committer):
        fault = broker.faults.fail("OffsetCommit", CoordinatorLoadInProgress)
        held = broker.faults.hold("OffsetCommit", times=1)
        flying = committer.commit_nowait({T0: 5})
        await broker.wait_hits(held)
        waiting = committer.commit_nowait({T0: 6, T1: 6})
        committer.give_up([T0])
        held.release()
        error = await failure(flying)
        fault.remove()

        assert isinstance(error, CommitFailed)
        assert "given up" in str(error)
        assert isinstance(await failure(waiting), CommitFailed)
        assert offsets(broker) == {T1: 6}


# -- cancelled, closed, unheard


@on_virtual_time
async def test_who_is_cancelled_cancels_neither_the_commit_nor_others() -> None:
    async with committing() as (broker, committer):
        held = broker.faults.hold("OffsetCommit", times=1)
        ours = asyncio.ensure_future(committer.commit({T0: 5}, until=now() + 60))
        await broker.wait_hits(held)
        others = committer.commit_nowait({T1: 5})
        ours.cancel()
        await asyncio.wait([ours])
        held.release()
        await others

        assert ours.cancelled()
        assert offsets(broker) == {T0: 5, T1: 5}


@on_virtual_time
async def test_a_callback_that_raises_is_logged_and_the_next_is_called(caplog: Any) -> None:
    async def raises(committed: Any, error: Any) -> None:
        raise ValueError("of the user's")

    async with committing() as (broker, committer):
        committer.commit_nowait({T0: 1}, lambda *_: 1 / 0)
        committer.commit_nowait({T0: 2}, raises)
        await committer.commit({T0: 3}, until=now() + 10)
        await asyncio.sleep(1)

        assert offsets(broker) == {T0: 3}
    assert "ZeroDivisionError" in caplog.text
    assert "of the user's" in caplog.text


@on_virtual_time
async def test_a_callback_can_commit_and_wait_for_it() -> None:
    async with committing() as (broker, committer):

        async def again(committed: Any, error: Any) -> None:
            await committer.commit({T1: 2}, until=now() + 10)

        committer.commit_nowait({T0: 1}, again)
        await committer.commit({T0: 3}, until=now() + 10)
        await asyncio.sleep(1)

        assert offsets(broker) == {T0: 3, T1: 2}


@on_virtual_time
async def test_interceptors_see_what_was_committed_and_not_what_was_not() -> None:
    class Watches:
        """Notes."""

        def __init__(self) -> None:
            self.seen: list[dict[TopicPartition, OffsetAndMetadata]] = []

        def on_commit(self, committed: dict[TopicPartition, OffsetAndMetadata]) -> None:
            self.seen.append(committed)
            raise ValueError("of an interceptor")

    watches = Watches()
    async with committing(interceptors=[watches]) as (broker, committer):
        await committer.commit({T0: 1}, until=now() + 10)
        broker.faults.fail("OffsetCommit", GroupAuthorizationFailed)
        await failure(committer.commit({T0: 2}, until=now() + 10))
        await committer.wait_settled(until=now() + 10)

    assert watches.seen == [{T0: OffsetAndMetadata(1)}]


@on_virtual_time
async def test_what_is_no_offset_is_refused_before_it_is_sent() -> None:
    async with committing() as (_, committer):
        wrong: Any
        for wrong, kind in (({T0: "5"}, TypeError), ({T0: -1}, ValueError), ([T0], TypeError)):
            with pytest.raises(kind):
                committer.commit_nowait(wrong)
