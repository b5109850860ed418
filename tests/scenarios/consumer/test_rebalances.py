"""Behaviours B53 and B54: what members are told, in which order, and what is committed before."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from kafka_aio.admin import Admin, NewPartitions
from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import CoordinatorLoadInProgress, StateError, UserCodeError
from kafka_aio.types import OffsetAndMetadata, TopicPartition
from tests.scenarios.consumer.committing import now, on_virtual_time
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


# -- coming and going


@by_protocol
@on_virtual_time
async def test_two_members_share_the_topic_and_the_one_that_stays_gets_all(protocol: str) -> None:
    one, two = Notes("one"), Notes("two")
    async with EmbeddedBroker(topics={"t": 4}) as broker, joined(broker, protocol, one) as first:
        assert one.told == [("assigned", [0, 1, 2, 3])]
        async with joined(broker, protocol, two) as second:
            await until(lambda: len(numbers(first)) == len(numbers(second)) == 2, first, second)
            shares = sorted(numbers(first) + numbers(second))
            ours = numbers(second)
        await until(lambda: len(numbers(first)) == 4, first)

        assert shares == [0, 1, 2, 3]
        assert two.told == [("assigned", ours), ("revoked", ours)]
        whats = [what for what, _ in one.told]
        eager = ["assigned", "revoked", "assigned", "revoked", "assigned"]
        assert whats == (eager if protocol == "classic" else ["assigned", "revoked", "assigned"])


@by_protocol
@on_virtual_time
async def test_nothing_is_taken_from_a_user_who_still_works_on_it(protocol: str) -> None:
    notes = Notes()
    async with EmbeddedBroker(topics={"t": 2}) as broker, joined(broker, protocol, notes) as first:
        broker.produce("t", [b"a"] * 3)
        got = await first.poll(timeout=5)
        second = member(broker, protocol)
        async with second:
            with reading(second):
                await asyncio.sleep(100)  # more than a session
                before = list(notes.told)
                assert members(broker) == 2
                await until(lambda: len(numbers(first)) == 1, first)

        assert len(got) == 1
        assert before == [("assigned", [0, 1])]
        assert notes.told[1][0] == "revoked"


@by_protocol
@on_virtual_time
async def test_what_was_dealt_with_is_committed_before_it_is_revoked(protocol: str) -> None:
    seen: list[dict[int, int]] = []
    async with EmbeddedBroker(topics={"t": 2}) as broker:

        class Looks(Notes):
            """Notes what is committed when partitions go."""

            def revoked(self, partitions: Any) -> None:
                seen.append(committed(broker))

        for number in range(2):
            broker.produce("t", [b"a"] * 5, partition=number)
        options = {"auto_commit_interval_ms": 3_600_000}
        async with joined(broker, protocol, Looks(), **options) as first:
            await first.poll(timeout=5)
            async with joined(broker, protocol, None, first, **options) as second:
                await until(lambda: len(numbers(first)) == len(numbers(second)) == 1, first, second)

            assert seen[0] == {0: 5, 1: 5}


@by_protocol
@on_virtual_time
async def test_no_record_is_read_twice_or_left_out_when_members_come_and_go(protocol: str) -> None:
    async with EmbeddedBroker(topics={"t": 4}) as broker, joined(broker, protocol) as first:
        second, third = member(broker, protocol), member(broker, protocol)
        got: list[tuple[int, int]] = []

        def produce() -> None:
            for number in range(4):
                broker.produce("t", [b"x"] * 50, partition=number)

        with reading(first) as one:
            produce()
            await asyncio.sleep(2)
            async with second:
                with reading(second) as two:
                    await asyncio.sleep(10)
                    produce()
                    async with third:
                        with reading(third) as three:
                            await asyncio.sleep(10)
                            produce()
                            await asyncio.sleep(10)
                    await asyncio.sleep(10)
                    produce()
                    await asyncio.sleep(10)
            await asyncio.sleep(10)
            produce()
            await asyncio.sleep(10)
        got = sorted(one + two + three)

        assert got == [(partition, at) for partition in range(4) for at in range(250)]


# -- callbacks


@by_protocol
@on_virtual_time
async def test_a_callback_can_commit_seek_and_ask_for_positions(protocol: str) -> None:
    log: list[Any] = []
    async with EmbeddedBroker(topics={"t": 2}) as broker:
        for number in range(2):
            broker.produce("t", [b"a"] * 5, partition=number)

        class Works(Notes):
            """Does in its callbacks what may be done there."""

            async def assigned(self, partitions: Any) -> None:
                for each in partitions:
                    log.append(await first.position(each))
                    first.seek(each, 2)
                    first.pause(each)
                    first.resume(each)

            async def revoked(self, partitions: Any) -> None:
                await first.commit()
                await first.commit_nowait({partitions[0]: OffsetAndMetadata(4, "by hand")})
                log.append(await first.committed(partitions))

        first = member(broker, protocol, Works(), enable_auto_commit=False)
        async with first:
            got = await first.poll(timeout=30)
            await first.unsubscribe()

        assert log[:2] == [0, 0]
        assert [record.offset for record in got[TopicPartition("t", 0)]] == [2, 3, 4]
        assert log[2][TopicPartition("t", 0)] == OffsetAndMetadata(4, "by hand")
        assert log[2][TopicPartition("t", 1)].offset == 5


@by_protocol
@pytest.mark.parametrize("method", ["assigned", "revoked"])
@on_virtual_time
async def test_what_a_callback_raises_is_raised_to_who_reads_and_the_group_goes_on(
    protocol: str, method: str
) -> None:
    class Raises(Notes):
        """Raises once."""

        def _note(self, what: str, partitions: Any) -> None:
            super()._note(what, partitions)
            if what == method and [each[1] for each in self.log].count(what) == 1:
                raise ValueError("of the user's")

    notes = Raises()
    async with EmbeddedBroker(topics={"t": 2}) as broker:
        first = member(broker, protocol, notes)
        errors: list[UserCodeError] = []
        async with first:

            async def ask() -> None:
                while len(errors) < 1:
                    try:
                        await first.poll(timeout=0.1)
                    except UserCodeError as error:
                        errors.append(error)

            asking = asyncio.ensure_future(ask())
            if method == "revoked":
                await until(lambda: numbers(first))
                async with joined(broker, protocol) as second:
                    await until(lambda: errors, second)
                    await until(lambda: len(numbers(first)) == 1, first, second)
            await asking
            await until(lambda: len(numbers(first)) == 2, first)
            broker.produce("t", [b"a"])
            got = await first.poll(timeout=10)

        assert isinstance(errors[0].__cause__, ValueError)
        assert "raised ValueError" in str(errors[0])
        assert len(got) == 1


@on_virtual_time
async def test_a_callback_that_cancels_itself_does_not_stop_the_group() -> None:
    class Cancels:
        """Is cancelled from within."""

        async def assigned(self, partitions: Any) -> None:
            raise asyncio.CancelledError

    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        member(broker, listener=Cancels()) as first,
    ):
        with pytest.raises(UserCodeError, match="raised CancelledError"):
            await first.poll(timeout=10)
        broker.produce("t", [b"a"])

        assert len(await first.poll(timeout=10)) == 1


@on_virtual_time
async def test_a_listener_may_have_some_of_the_methods_only() -> None:
    told: list[Any] = []

    class Gone:
        def revoked(self, partitions: Any) -> None:
            told.extend(partitions)

    async with EmbeddedBroker(topics={"t": 1}) as broker:
        broker.produce("t", [b"a"])
        async with member(broker, listener=Gone()) as first:
            assert len(await first.poll(timeout=10)) == 1

        assert told == [TopicPartition("t", 0)]


@pytest.mark.parametrize("way", ["unsubscribe", "aclose"])
@on_virtual_time
async def test_a_callback_cannot_leave_the_group_that_it_is_called_by(way: str) -> None:
    class Leaves:
        """Tries to."""

        async def assigned(self, partitions: Any) -> None:
            await getattr(first, way)()

    async with EmbeddedBroker(topics={"t": 1}) as broker:
        broker.produce("t", [b"a"])
        first = member(broker, listener=Leaves())
        async with first:
            with pytest.raises(UserCodeError) as caught:
                await first.poll(timeout=10)
            found = await first.poll(timeout=10)

    assert isinstance(caught.value.__cause__, StateError)
    assert len(found) == 1


@by_protocol
@on_virtual_time
async def test_heartbeats_go_on_while_a_callback_takes_its_time(protocol: str) -> None:
    class Slow(Notes):
        """Takes longer than a session."""

        async def assigned(self, partitions: Any) -> None:
            await asyncio.sleep(100)
            super().assigned(partitions)

    notes = Slow()
    async with EmbeddedBroker(topics={"t": 1}) as broker, member(broker, protocol, notes) as first:
        broker.produce("t", [b"a"])
        got = await first.poll(timeout=200)

        assert len(got) == 1
        assert notes.told == [("assigned", [0])]


# -- commits beside it all


@on_virtual_time
async def test_a_commit_does_not_wait_behind_a_join() -> None:
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        joined(broker, "cooperative", enable_auto_commit=False) as first,
    ):
        held = broker.faults.hold("JoinGroup")
        first.enforce_rebalance()
        await broker.wait_hits(held)
        start = now()
        await first.commit({TopicPartition("t", 0): 1}, timeout=20)
        found = await first.committed([TopicPartition("t", 0)], timeout=20)

        assert now() - start < 1
        assert found == {TopicPartition("t", 0): OffsetAndMetadata(1)}


@by_protocol
@on_virtual_time
async def test_commits_that_were_begun_come_before_the_revocation(protocol: str) -> None:
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        joined(broker, protocol, enable_auto_commit=False) as first,
    ):
        partition = TopicPartition("t", 0)
        fault = broker.faults.fail("OffsetCommit", CoordinatorLoadInProgress)
        commits = [first.commit_nowait({partition: number}) for number in range(1, 50)]
        leaving = asyncio.ensure_future(first.unsubscribe())
        await asyncio.sleep(2)
        fault.remove()
        await leaving

        assert all(each.done() for each in commits)
        await commits[-1]
        assert committed(broker) == {0: 49}


@by_protocol
@on_virtual_time
async def test_the_clock_commits_nothing_after_the_revocation(protocol: str) -> None:
    log: list[Any] = []

    class Watches:
        """Notes commits beside what the listener is told."""

        def on_commit(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
            log.append(("a", "committed", [each.offset for each in offsets.values()]))

    async with EmbeddedBroker(topics={"t": 1}) as broker:
        broker.produce("t", [b"a"] * 3)
        broker.faults.delay("OffsetCommit", 1.0)
        options = {"auto_commit_interval_ms": 200, "interceptors": [Watches()]}
        async with joined(broker, protocol, Notes("a", log), **options) as first:
            while not await first.poll(timeout=1):
                pass
            await asyncio.sleep(3)
            await first.poll(timeout=0)  # what was read is dealt with, and not committed yet
            log.clear()
            await first.unsubscribe()

    assert log == [("a", "committed", [3]), ("a", "revoked", [0])]


@by_protocol
@on_virtual_time
async def test_auto_commit_commits_what_is_dealt_with_and_nothing_else(protocol: str) -> None:
    async with EmbeddedBroker(topics={"t": 1}) as broker, joined(broker, protocol) as first:
        broker.produce("t", [b"a"] * 3)
        while not await first.poll(timeout=1):
            pass
        await asyncio.sleep(30)
        assert committed(broker) == {0: 0}
        await first.poll(timeout=0)
        await asyncio.sleep(6)

        assert committed(broker) == {0: 3}


@on_virtual_time
async def test_auto_commit_that_fails_is_said_once_and_tried_again(caplog: Any) -> None:
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        joined(broker, default_api_timeout_ms=5_000) as first,
    ):
        broker.produce("t", [b"a"] * 3)
        fault = broker.faults.fail("OffsetCommit", CoordinatorLoadInProgress)
        with reading(first):
            await asyncio.sleep(60)
            complaints = caplog.text.count("auto-commit failed")
            fault.remove()
            broker.produce("t", [b"a"])
            await asyncio.sleep(10)

            assert complaints == 1
            assert committed(broker) == {0: 4}


@on_virtual_time
async def test_partitions_assigned_by_hand_are_committed_too() -> None:
    async with EmbeddedBroker(topics={"t": 1}) as broker:
        broker.produce("t", [b"a"] * 3)
        first = member(broker)
        await first.unsubscribe()
        first.assign([TopicPartition("t", 0)])
        async with first:
            await first.poll(timeout=5)
            await first.poll(timeout=0)
            await asyncio.sleep(10)
            timed = committed(broker)
            broker.produce("t", [b"a"])
            await first.poll(timeout=5)

        assert timed == {0: 3}
        assert committed(broker) == {0: 4}
        assert members(broker) == 0


# -- topics


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@on_virtual_time
async def test_a_pattern_takes_in_topics_that_come_later_and_none_of_kafkas(protocol: str) -> None:
    async with EmbeddedBroker(topics={"t-1": 1, "other": 1}) as broker:
        first = member(broker, protocol, metadata_max_age_ms=5_000)
        await first.unsubscribe()
        first.subscribe(re.compile("t-.*|__.*"))
        async with first:
            broker.move_coordinator("g", 1)  # Kafka's own topic is made for it
            await until(first.assignment, first)
            before = first.assignment()
            broker.create_topic("t-2", partitions=2)
            await until(lambda: len(first.assignment()) == 3, first)
            topics = first.subscription()

        assert before == {TopicPartition("t-1", 0)}
        assert topics == {"t-1", "t-2"}


@by_protocol
@on_virtual_time
async def test_partitions_that_a_topic_gets_later_are_shared_out_too(protocol: str) -> None:
    async with (
        EmbeddedBroker(topics={"t": 1}) as broker,
        joined(broker, protocol, metadata_max_age_ms=5_000) as first,
        Admin(bootstrap_servers=broker.bootstrap_servers) as admin,
    ):
        await admin.create_partitions({"t": NewPartitions(3)})
        await until(lambda: len(numbers(first)) == 3, first)

        assert numbers(first) == [0, 1, 2]


@on_virtual_time
async def test_a_leader_shares_out_topics_that_it_does_not_read_itself() -> None:
    one, two = Notes("one"), Notes("two")
    async with EmbeddedBroker(topics={"t": 1, "u": 1}) as broker, joined(broker, "classic", one):
        second = member(broker)
        second.subscribe(["u"], two)
        async with second:
            await until(second.assignment, second)

    assert two.log[0] == ("two", "assigned", [0])  # not first without


@on_virtual_time
async def test_a_topic_that_is_made_after_it_was_subscribed_to_is_read() -> None:
    options: dict[str, Any] = {"metadata_max_age_ms": 5_000, "allow_auto_create_topics": False}
    async with EmbeddedBroker(topics={"x": 1}) as broker, member(broker, **options) as first:
        await first.poll(timeout=10)
        broker.create_topic("t")
        broker.produce("t", [b"a"])

        assert len(await first.poll(timeout=30)) == 1


@on_virtual_time
async def test_an_assignor_that_raises_is_told_of_and_the_next_attempt_counts() -> None:
    class Moody:
        """Raises once."""

        name = "moody"
        is_cooperative = False
        calls = 0

        def user_data(self, owned: Any, generation: int) -> bytes | None:
            return None

        def assign(self, members: Any, topics: Any) -> Any:
            self.calls += 1
            if self.calls == 1:
                raise ValueError("not today")
            return {members[0].id: [TopicPartition("t", 0)]}

    async with EmbeddedBroker(topics={"t": 1}) as broker:
        first = member(broker, partition_assignment_strategy=[Moody()])
        async with first:
            with pytest.raises(UserCodeError, match="raised ValueError"):
                await first.poll(timeout=10)
            await until(lambda: numbers(first) == [0], first)
