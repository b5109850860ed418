"""Behaviours B54 and B56: how a member leaves, or is left out, and that it always ends in time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import (
    CommitFailed,
    FencedInstanceId,
    NotCoordinator,
    UnknownMemberId,
    UserCodeError,
)
from kafka_aio.types import TopicPartition
from tests.scenarios.consumer.committing import failure, now, on_virtual_time
from tests.scenarios.consumer.grouped import (
    PROTOCOLS,
    Notes,
    committed,
    joined,
    member,
    members,
    numbers,
    reading,
    until,
)

by_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)
T0 = TopicPartition("t", 0)


# -- by itself


@by_protocol
@on_virtual_time
async def test_who_closes_commits_and_is_out_of_the_group_at_once(protocol: str) -> None:
    notes = Notes()
    async with EmbeddedBroker(topics={"t": 1}) as broker:
        broker.produce("t", [b"a"] * 3)
        async with member(broker, protocol, notes) as first:
            await first.poll(timeout=10)

        assert members(broker) == 0
        assert committed(broker) == {0: 3}
        assert notes.told == [("assigned", [0]), ("revoked", [0])]


@by_protocol
@on_virtual_time
async def test_what_is_in_the_users_hands_is_not_committed_when_it_closes(protocol: str) -> None:
    async with EmbeddedBroker(topics={"t": 1}) as broker:
        broker.produce("t", [b"a"] * 3)
        first = member(broker, protocol)
        await first.start()
        await first.poll(timeout=10, max_records=2)
        await first.poll(timeout=10)
        await first.aclose()

        assert committed(broker) == {0: 2}


@by_protocol
@on_virtual_time
async def test_who_unsubscribes_may_subscribe_again(protocol: str) -> None:
    notes = Notes()
    async with EmbeddedBroker(topics={"t": 1, "u": 1}) as broker:
        broker.produce("t", [b"a"] * 3)
        broker.produce("u", [b"b"])
        async with member(broker, protocol, notes) as first:
            await first.poll(timeout=10)
            await first.unsubscribe()
            between = members(broker), first.assignment()
            first.subscribe(["u"], notes)
            got = await first.poll(timeout=10)

        assert between == (0, frozenset())
        assert list(got) == [TopicPartition("u", 0)]
        assert [what for what, _ in notes.told] == ["assigned", "revoked"] * 2


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize(("leave_group", "left"), [(None, 1), (False, 1), (True, 0)])
@on_virtual_time
async def test_static_members_stay_unless_they_are_told_not_to(
    protocol: str, leave_group: bool | None, left: int
) -> None:
    async with EmbeddedBroker(topics={"t": 1}) as broker:
        first = member(broker, protocol, group_instance_id="me")
        await first.start()
        await until(first.assignment, first)
        await first.aclose(leave_group=leave_group)

        assert members(broker) == left


@by_protocol
@on_virtual_time
async def test_a_dynamic_member_may_stay_for_its_session(protocol: str) -> None:
    async with EmbeddedBroker(topics={"t": 1}) as broker:
        first = member(broker, protocol)
        await first.start()
        await until(first.assignment, first)
        await first.aclose(leave_group=False)
        at_first = members(broker)
        await asyncio.sleep(60)

        assert (at_first, members(broker)) == (1, 0)


@on_virtual_time
async def test_who_leaves_while_it_joins_does_not_wait_for_the_join() -> None:
    async with EmbeddedBroker(topics={"t": 1}) as broker, joined(broker) as first:
        held = broker.faults.hold("JoinGroup")
        first.enforce_rebalance()
        await broker.wait_hits(held)
        start = now()
        await first.unsubscribe(timeout=20)
        held.remove()
        await asyncio.sleep(1)

        assert now() - start < 2.5
        assert members(broker) == 0


@on_virtual_time
async def test_what_is_committed_on_the_way_out_does_not_meet_a_join_of_our_own() -> None:
    async with EmbeddedBroker(topics={"t": 4}) as broker:
        broker.produce("t", [b"a"] * 3)
        first = member(broker, "cooperative")
        await first.start()
        await first.poll(timeout=10)
        await first.poll(timeout=0)
        held = broker.faults.hold("OffsetCommit", times=1)
        closing = asyncio.ensure_future(first.aclose())
        await broker.wait_hits(held)
        async with member(broker, "cooperative", enable_auto_commit=False) as second:
            with reading(second):
                await asyncio.sleep(10)  # a heartbeat says that the group rebalances
                joins = broker.statistics().apis["JoinGroup"].requests
                held.release()
                await closing

        assert joins == 4  # two of each: the first one is for the id
        assert committed(broker) == {0: 3, 1: 0, 2: 0, 3: 0}


# -- in time


@by_protocol
@on_virtual_time
async def test_a_coordinator_that_never_answers_does_not_keep_us(protocol: str) -> None:
    async with EmbeddedBroker(topics={"t": 1}) as broker:
        broker.produce("t", [b"a"] * 3)
        notes = Notes()
        first = member(broker, protocol, notes)
        await first.start()
        while not await first.poll(timeout=1):
            pass
        await first.poll(timeout=0)
        for api in ("OffsetCommit", "LeaveGroup", "ConsumerGroupHeartbeat"):
            broker.faults.hold(api)
        start = now()
        await first.aclose(timeout=5)

        assert 5 <= now() - start < 5.5
        assert notes.told[-1] == ("revoked", [0])


@by_protocol
@on_virtual_time
async def test_a_coordinator_that_is_gone_does_not_keep_us(protocol: str) -> None:
    async with EmbeddedBroker(topics={"t": 1}) as broker:
        broker.produce("t", [b"a"] * 3)
        first = member(broker, protocol)
        await first.start()
        while not await first.poll(timeout=1):
            pass
        await first.poll(timeout=0)
        await broker.stop_node(1)
        start = now()
        await first.aclose(timeout=5)

        assert now() - start < 5.5


@by_protocol
@on_virtual_time
async def test_a_callback_that_never_ends_does_not_keep_us(protocol: str) -> None:
    class Hangs(Notes):
        """Never comes back."""

        async def revoked(self, partitions: Any) -> None:
            await asyncio.Event().wait()

    async with EmbeddedBroker(topics={"t": 1}) as broker:
        first = member(broker, protocol, Hangs())
        await first.start()
        await until(first.assignment, first)
        start = now()
        error = await failure(first.aclose(timeout=5))

        assert isinstance(error, UserCodeError)
        assert "'revoked' did not end in time" in str(error)
        assert now() - start < 5.5
        assert members(broker) == 0


@by_protocol
@on_virtual_time
async def test_a_coordinator_that_never_answers_leaves_the_callback_its_time(protocol: str) -> None:
    class Slow(Notes):
        """Takes a second, and notes its end."""

        async def revoked(self, partitions: Any) -> None:
            await asyncio.sleep(1)
            super().revoked(partitions)

    notes = Slow()
    async with EmbeddedBroker(topics={"t": 1}) as broker:
        broker.produce("t", [b"a"])
        first = member(broker, protocol, notes)
        await first.start()
        await first.poll(timeout=10)
        await first.poll(timeout=0)
        broker.faults.hold("OffsetCommit")
        await first.aclose(timeout=5)

        assert notes.told == [("assigned", [0]), ("revoked", [0])]


@on_virtual_time
async def test_callbacks_of_commits_have_their_time_and_may_leave_themselves() -> None:
    ended: list[str] = []
    async with EmbeddedBroker(topics={"t": 1}) as broker:
        first = member(broker)

        async def slow(*_: Any) -> None:
            await asyncio.sleep(3)
            ended.append("slow")

        async def leaves(*_: Any) -> None:
            await first.unsubscribe(timeout=20)
            ended.append("left")

        await first.start()
        await until(first.assignment, first)
        start = now()
        first.commit_nowait({T0: 0}, leaves)
        first.commit_nowait({T0: 0}, slow)
        await asyncio.sleep(1)
        await first.aclose()

        assert ended == ["slow", "left"]
        assert now() - start < 4


@on_virtual_time
async def test_who_leaves_without_time_still_says_so() -> None:
    async with EmbeddedBroker(topics={"t": 1}) as broker:
        first = member(broker)
        await first.start()
        await until(first.assignment, first)
        start = now()
        await first.aclose(timeout=0)

        assert now() - start < 0.2
        assert members(broker) == 0


@by_protocol
@on_virtual_time
async def test_a_revocation_that_waits_for_the_user_does_not_keep_the_user(protocol: str) -> None:
    notes = Notes()
    async with EmbeddedBroker(topics={"t": 2}) as broker:
        broker.produce("t", [b"a"] * 3)
        first = member(broker, protocol, notes)
        await first.start()
        await first.poll(timeout=10)
        second = member(broker, protocol)
        async with second:
            with reading(second):
                await asyncio.sleep(10)  # they are to be revoked, and the user works
                start = now()
                await first.aclose(timeout=20)
                took = now() - start
                await asyncio.sleep(10)
                assert numbers(second) == [0, 1]

        assert took < 1
        assert notes.told == [("assigned", [0, 1]), ("revoked", [0, 1])]


@by_protocol
@on_virtual_time
async def test_a_callback_that_runs_is_waited_for(protocol: str) -> None:
    class Slow(Notes):
        """Takes its time, and notes its end."""

        async def assigned(self, partitions: Any) -> None:
            await asyncio.sleep(10)
            super().assigned(partitions)

    notes = Slow()
    async with EmbeddedBroker(topics={"t": 1}) as broker:
        first = member(broker, protocol, notes)
        await first.start()
        await first.poll(timeout=5)
        start = now()
        await first.aclose(timeout=30)

        assert notes.told == [("assigned", [0]), ("revoked", [0])]
        assert 4 < now() - start < 10
        assert members(broker) == 0


@by_protocol
@on_virtual_time
async def test_what_the_callback_raises_is_raised_by_close_and_all_is_closed(protocol: str) -> None:
    class Raises(Notes):
        """Raises."""

        def revoked(self, partitions: Any) -> None:
            raise ValueError("of the user's")

    async with EmbeddedBroker(topics={"t": 1}) as broker:
        first = member(broker, protocol, Raises())
        await first.start()
        await until(first.assignment, first)
        error = await failure(first.aclose())

        assert isinstance(error, UserCodeError)
        assert members(broker) == 0


# -- left out


@by_protocol
@on_virtual_time
async def test_who_does_not_ask_in_time_loses_all_and_joins_again(protocol: str) -> None:
    one, two = Notes("one"), Notes("two")
    options = {"max_poll_interval_ms": 60_000}
    async with EmbeddedBroker(topics={"t": 2}) as broker:
        broker.produce("t", [b"a"] * 3)
        async with (
            member(broker, protocol, one, **options) as first,
            member(broker, protocol, two, **options) as second,
        ):
            await first.poll(timeout=10)
            with reading(second):
                await asyncio.sleep(100)
                theirs = numbers(second)
                told = list(one.told)
                late = await failure(first.commit({T0: 3}))
                await until(lambda: len(numbers(first)) == 1, first)

        assert theirs == [0, 1]
        assert told == [("assigned", [0, 1])]
        assert isinstance(late, CommitFailed)
        assert one.told[1] == ("lost", [0, 1])
        assert one.told[2][0] == "assigned"


@by_protocol
@pytest.mark.parametrize("how", ["poll", "anext"])
@on_virtual_time
async def test_who_is_out_gets_nothing_of_what_it_had(protocol: str, how: str) -> None:
    notes = Notes()
    async with EmbeddedBroker(topics={"t": 1}) as broker:
        broker.produce("t", [b"a"] * 6)
        options = {"max_poll_interval_ms": 60_000}
        async with member(broker, protocol, notes, **options) as first:

            async def next_offset() -> int:
                if how == "anext":
                    return (await anext(first)).offset
                ((record,),) = (await first.poll(max_records=1)).values()
                return int(record.offset)

            before = [await next_offset() for _ in range(3)]
            await asyncio.sleep(30)
            committed_at = committed(broker)[0]  # then it is not a member any more
            await asyncio.sleep(70)
            after = await next_offset()

            assert before == [0, 1, 2]
            assert after == committed_at == 2
            assert notes.told == [("assigned", [0]), ("lost", [0]), ("assigned", [0])]


@by_protocol
@on_virtual_time
async def test_who_waits_for_records_stays(protocol: str) -> None:
    notes = Notes()
    async with EmbeddedBroker(topics={"t": 1}) as broker, member(broker, protocol, notes) as first:
        with reading(first) as got:
            await asyncio.sleep(1_200)  # four times max_poll_interval_ms
            broker.produce("t", [b"a"])
            await asyncio.sleep(1)

        assert got == [(0, 0)]
        assert notes.told == [("assigned", [0])]


@by_protocol
@on_virtual_time
async def test_who_reads_slowly_what_came_at_once_stays(protocol: str) -> None:
    notes = Notes()
    async with EmbeddedBroker(topics={"t": 1}) as broker:
        broker.produce("t", [b"a"] * 20)
        options = {"max_poll_interval_ms": 60_000}
        async with member(broker, protocol, notes, **options) as first:
            count = 0
            async for _ in first:
                await asyncio.sleep(20)
                count += 1
                if count == 20:
                    break

            assert members(broker) == 1
            assert notes.told == [("assigned", [0])]


@on_virtual_time
async def test_who_is_fenced_by_its_double_is_told() -> None:
    async with EmbeddedBroker(topics={"t": 1}) as broker:
        first = member(broker, group_instance_id="me")
        await first.start()
        await until(first.assignment, first)
        async with joined(broker, group_instance_id="me"):
            with pytest.raises(FencedInstanceId):
                await first.poll(timeout=30)
            error = await failure(first.commit({T0: 1}))
            await first.aclose(timeout=5)

            assert isinstance(error, CommitFailed)
            assert members(broker) == 1


@by_protocol
@on_virtual_time
async def test_who_was_thrown_out_loses_all_and_joins_again(protocol: str) -> None:
    notes = Notes()
    async with EmbeddedBroker(topics={"t": 1}) as broker, joined(broker, protocol, notes) as first:
        api = "ConsumerGroupHeartbeat" if protocol == "consumer" else "Heartbeat"
        broker.faults.fail(api, UnknownMemberId, times=1)
        await until(lambda: len(notes.told) == 3, first)

        assert [what for what, _ in notes.told] == ["assigned", "lost", "assigned"]


@by_protocol
@on_virtual_time
async def test_a_coordinator_that_moves_costs_nobody_a_partition(protocol: str) -> None:
    notes = Notes()
    async with (
        EmbeddedBroker(nodes=3, topics={"t": 3}) as broker,
        joined(broker, protocol, notes, enable_auto_commit=False) as first,
    ):
        with reading(first) as got:
            for node in (1, 2, 3, 1):
                broker.move_coordinator("g", node)
                await asyncio.sleep(60)  # more than a session
                broker.produce("t", [b"a"])
            api = "ConsumerGroupHeartbeat" if protocol == "consumer" else "Heartbeat"
            broker.faults.fail(api, NotCoordinator, times=2)
            await asyncio.sleep(60)

        assert notes.told == [("assigned", [0, 1, 2])]
        assert got == [(0, at) for at in range(4)]
        assert members(broker) == 1
