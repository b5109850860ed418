"""Code of the user's: what it gives counts, what it raises has a type."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafka_aio.consumer.assignors.assignor import Assignor, Member
from kafka_aio.consumer.listener import RebalanceListener
from kafka_aio.consumer.membership.member import ShareOut
from kafka_aio.consumer.record import ConsumerRecord
from kafka_aio.consumer.user_code import UserCode
from kafka_aio.errors import DeserializationError, UserCodeError
from kafka_aio.net.tasks import Tasks
from kafka_aio.records.codec import Record
from kafka_aio.types import TopicPartition
from tests.unit.consumer.owned import A0, A1


def user_code(**options: Any) -> UserCode:
    """One that starts no task."""
    return UserCode(Tasks("consumer"), **options)


def record(offset: int, key: bytes | None = b"k", value: bytes | None = b"1") -> Record:
    return Record("t", 3, offset, 1_000, key, value, [("h", b"x")], leader_epoch=5)


# -- records


def test_without_any_records_need_not_come_here() -> None:
    class Sees:
        """Anything."""

        def on_consume(self, records: list[Any]) -> None:
            return None

    assert not user_code().deserializes
    assert user_code(key_deserializer=bytes.decode).deserializes
    assert user_code(value_deserializer=int).deserializes
    assert not user_code(interceptors=[object()]).intercepts
    assert user_code(interceptors=[Sees()]).intercepts


def test_deserialized_records_have_the_shape_of_others() -> None:
    code = user_code(key_deserializer=bytes.decode, value_deserializer=int)
    (made,), error = code.deserialized([record(7)])
    was = record(7)

    assert error is None
    assert isinstance(made, ConsumerRecord)
    assert (made.key, made.value) == ("k", 1)
    for name in ("topic", "partition", "offset", "timestamp", "timestamp_type", "headers"):
        assert getattr(made, name) == getattr(was, name)
    assert made.leader_epoch == 5


def test_what_is_not_there_is_not_deserialized() -> None:
    code = user_code(key_deserializer=int, value_deserializer=int)
    (made,), _ = code.deserialized([record(7, None, None)])

    assert (made.key, made.value) == (None, None)


@pytest.mark.parametrize(
    ("part", "option"), [("key", "key_deserializer"), ("value", "value_deserializer")]
)
def test_the_first_that_cannot_be_read_ends_the_list_with_an_error(part: str, option: str) -> None:
    bad = record(8, b"bad", b"bad")
    good = record(7, b"1", b"1")
    made, error = user_code(**{option: int}).deserialized([good, bad, good])

    assert [each.offset for each in made] == [7]
    assert isinstance(error, DeserializationError)
    assert (error.topic, error.partition, error.offset, error.next_offset) == ("t", 3, 8, 9)
    assert error.part == part
    assert str(error) == (
        f"t-3 at offset 8: the {part} cannot be deserialized: ValueError; seek to 9 to skip the"
        " record"
    )
    assert isinstance(error.__cause__, ValueError)


def test_interceptors_change_records_one_after_the_other_and_may_fail() -> None:
    class Moves:
        """Hands others over: those after them."""

        def on_consume(self, records: list[Any]) -> list[Any]:
            return [record(each.offset + 1) for each in records]

    class Adds:
        """Is passed over."""

        def on_consume(self, records: list[Any]) -> list[Any]:
            return records * 2

    class Raises:
        """Is passed over."""

        def on_consume(self, records: list[Any]) -> list[Any]:
            raise ValueError("of the user's")

    class Silent:
        """Forgets to return what it got."""

        def on_consume(self, records: list[Any]) -> None:
            return None

    class Loses:
        """All but the first."""

        def on_consume(self, records: list[Any]) -> list[Any]:
            return records[:1]

    every = [Moves(), Raises(), Silent(), Adds(), Loses(), Moves(), object()]
    code = user_code(interceptors=every)

    assert code.intercepted([record(1), record(2)]) == [record(3)]
    assert code.intercepted([]) == []


@pytest.mark.parametrize("given", [[None], (), "records", {}, [record(1), "record"]])
def test_an_interceptor_that_gives_something_else_is_passed_over(given: Any) -> None:
    class Gives:
        """What the test says."""

        def on_consume(self, records: list[Any]) -> Any:
            return given

    assert user_code(interceptors=[Gives()]).intercepted([record(1)] * 2) == [record(1)] * 2


def test_an_interceptor_may_give_records_with_any_values() -> None:
    made = ConsumerRecord("t", 3, 1, 1_000, "k", {"a": 1})

    class Makes:
        """One with a dict."""

        def on_consume(self, records: list[Any]) -> list[Any]:
            return [made]

    assert user_code(interceptors=[Makes()]).intercepted([record(1)]) == [made]


# -- listeners


class Plain:
    """Has all methods."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []

    def revoked(self, partitions: Any) -> None:
        self.told.append(("revoked", partitions))

    def assigned(self, partitions: Any) -> None:
        self.told.append(("assigned", partitions))


class Async(RebalanceListener):
    """Waits in one."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []

    async def revoked(self, partitions: Any) -> None:
        await asyncio.sleep(0)
        self.told.append(("revoked", partitions))


@pytest.mark.parametrize("kind", [Plain, Async])
async def test_listeners_are_told_and_who_knows_no_loss_hears_of_a_revocation(kind: Any) -> None:
    listener = kind()
    code = user_code()
    for method in ("assigned", "revoked", "lost"):
        assert await code.tell(listener, method, [A0, A1]) is None

    assert listener.told[-2:] == [("revoked", (A0, A1))] * 2


async def test_a_listener_need_not_have_any_of_the_methods() -> None:
    for method in ("assigned", "revoked", "lost"):
        assert await user_code().tell(None, method, [A0]) is None
        assert await user_code().tell(RebalanceListener(), method, [A0]) is None


async def test_what_a_listener_raises_comes_back_with_its_cause() -> None:
    class Raises:
        """Both ways."""

        def assigned(self, partitions: Any) -> None:
            raise ValueError("secret")

        async def revoked(self, partitions: Any) -> None:
            raise asyncio.CancelledError

    plain = await user_code().tell(Raises(), "assigned", [A0])
    cancelled = await user_code().tell(Raises(), "revoked", [A0])

    assert isinstance(plain, UserCodeError)
    assert "Raises.assigned raised ValueError" in str(plain)
    assert "secret" not in str(plain)
    assert isinstance(plain.__cause__, ValueError)
    assert plain.partitions == (A0,)
    assert isinstance(cancelled, UserCodeError)


async def test_who_is_cancelled_while_the_user_is_told_is_cancelled() -> None:
    class Waits:
        """For ever."""

        async def assigned(self, partitions: Any) -> None:
            await asyncio.Event().wait()

    task = asyncio.ensure_future(user_code().tell(Waits(), "assigned", [A0]))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])

    assert task.cancelled()


# -- assignors


class Giving(Assignor):
    """Gives what the test says."""

    name = "test"
    is_cooperative = False

    def __init__(self, gives: Any) -> None:
        self.gives = gives

    def user_data(self, owned: Any, generation: int) -> bytes | None:
        return None

    def assign(self, members: Any, topics: Any) -> Any:
        if isinstance(self.gives, Exception):
            raise self.gives
        return self.gives


def step(gives: Any, *, keeps: bool = False) -> ShareOut:
    return ShareOut(Giving(gives), (Member("m", ["t"]),), frozenset({"t"}), keeps)


def test_an_assignor_gives_partitions_to_members() -> None:
    gives = {"m": [("t", 0), TopicPartition("t", 1)]}
    shares = user_code().assign(step(gives), {"t": [frozenset()] * 3})

    assert shares == {"m": [TopicPartition("t", 0), TopicPartition("t", 1)]}


@pytest.mark.parametrize(
    ("gives", "text"),
    [
        (ValueError("of the user's"), "assignor 'test' raised ValueError"),
        (None, "assignor 'test' returned None, not a dict of partitions by member id"),
        ({"stranger": [("t", 0)]}, "assignor 'test' gives partitions to 'stranger'"),
    ],
)
def test_an_assignor_that_fails_is_an_error(gives: Any, text: str) -> None:
    error = user_code().assign(step(gives), {})

    assert isinstance(error, UserCodeError)
    assert text in str(error)


def test_where_all_keep_what_they_have_no_assignor_is_asked() -> None:
    assert user_code().assign(step(ValueError("it was asked"), keeps=True), {}) == {}
