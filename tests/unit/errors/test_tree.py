from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_aio import errors
from kafka_aio.errors import BrokerError, CorruptRecord, NotLeaderOrFollower, UnknownBrokerError

BUILT_INS = [
    (errors.ConfigError, ValueError),
    (errors.StateError, RuntimeError),
    (errors.KafkaConnectionError, ConnectionError),
    (errors.KafkaTimeoutError, TimeoutError),
]


@pytest.mark.parametrize(("ours", "built_in"), BUILT_INS)
def test_a_kind_is_caught_by_the_built_in_that_says_the_same(
    ours: type[Exception], built_in: type[Exception]
) -> None:
    assert issubclass(ours, built_in)
    assert issubclass(ours, errors.KafkaError)


def test_a_broker_error_says_what_failed_where_and_what_the_broker_said() -> None:
    error = NotLeaderOrFollower("moved", where="orders-3")

    assert str(error) == (
        "orders-3: This node does not lead the partition any more; refresh the metadata and try"
        " again (NOT_LEADER_OR_FOLLOWER, code 6); the broker says: moved"
    )


def test_a_broker_error_without_place_and_message_says_what_failed() -> None:
    assert str(errors.for_code(69)) == "There is no such group (GROUP_ID_NOT_FOUND, code 69)"


def test_the_facts_of_a_broker_error_are_its_class_keywords() -> None:
    assert NotLeaderOrFollower.code == 6
    assert NotLeaderOrFollower.retriable
    assert NotLeaderOrFollower.stale_metadata
    assert not errors.GroupIdNotFound.retriable


def test_two_lookups_of_a_code_give_two_errors() -> None:
    assert errors.for_code(6) is not errors.for_code(6)


def test_a_second_class_for_a_code_is_refused() -> None:
    with pytest.raises(TypeError, match="broker error code 6 is NotLeaderOrFollower already"):
        type("Second", (BrokerError,), {}, code=6)

    assert type(errors.for_code(6)) is NotLeaderOrFollower


def test_a_subclass_of_a_users_own_keeps_the_facts() -> None:
    class Mine(NotLeaderOrFollower):
        pass

    assert (Mine.code, Mine.retriable, Mine.stale_metadata) == (6, True, True)


@given(st.integers(), st.none() | st.text(), st.text())
def test_any_number_makes_an_error_that_can_be_printed_and_pickled(
    code: int, message: str | None, where: str
) -> None:
    error = errors.for_code(code, message, where=where)
    back = pickle.loads(pickle.dumps(error))

    assert error.code == code
    assert type(back) is type(error)
    assert (back.code, back.message, back.where) == (code, message or "", where)
    assert str(back) == str(error)
    assert str(code) in str(error)


def test_a_code_that_nobody_knows_is_not_retriable_and_keeps_its_number() -> None:
    error = errors.for_code(32767, "new")

    assert isinstance(error, UnknownBrokerError)
    assert (error.code, error.retriable) == (32767, False)
    assert "32767" in str(error)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copied_error_says_the_same(copied: object) -> None:
    error = errors.for_code(3, "gone", where="orders")

    assert callable(copied)
    assert str(copied(error)) == str(error)


def test_a_group_of_errors_and_a_class_of_the_users_keep_their_class_in_a_pickle() -> None:
    for error in (errors.AuthorizationError("no", where="orders"), errors.for_code(6, "x", "o-1")):
        back = pickle.loads(pickle.dumps(error))

        assert type(back) is type(error)
        assert str(back) == str(error)


def test_a_kind_of_error_says_one_sentence() -> None:
    assert str(errors.BrokerError("why")).startswith("The broker answered with an error code")
    assert "\n" not in str(errors.BrokerError("why"))


def test_a_corrupt_record_says_where_and_how_to_go_on_and_pickles() -> None:
    error = CorruptRecord("CRC is wrong", topic="orders", partition=3, offset=7, next_offset=9)
    back = pickle.loads(pickle.dumps(error))

    assert str(error) == "orders-3 at offset 7: CRC is wrong; seek to 9 to skip it"
    assert str(back) == str(error)
    assert back.next_offset == 9


def test_a_record_that_cannot_be_deserialized_says_how_to_go_on_and_pickles() -> None:
    error = errors.DeserializationError("bad", topic="t", partition=1, offset=7, part="key")
    back = pickle.loads(pickle.dumps(error))

    assert str(error) == (
        "t-1 at offset 7: the key cannot be deserialized: bad; seek to 8 to skip the record"
    )
    assert str(back) == str(error)
    assert (back.part, back.next_offset) == ("key", 8)
    assert isinstance(error, errors.SerializationError)


def test_a_failed_commit_keeps_what_was_not_committed_in_a_pickle() -> None:
    back = pickle.loads(pickle.dumps(errors.CommitFailed("late", {"t-1": 2})))

    assert (str(back), back.offsets, back.partitions) == ("late", {"t-1": 2}, ("t-1",))


def test_a_corrupt_record_of_unknown_place_says_only_what_is_wrong() -> None:
    assert str(CorruptRecord("too short")) == "record batch: too short"


class Own(errors.KafkaError):
    def __init__(self, what: str, number: int) -> None:
        super().__init__(what)
        self.number = number


@pytest.mark.parametrize(
    "error",
    [
        Own("of a user's", 2),
        errors.KafkaConnectionError("lost"),
        errors.KafkaTimeoutError("late"),
        errors.for_code(58, "no", where="here"),
        errors.for_code(999),
        errors.CorruptRecord("bad", topic="t"),
        errors.DeserializationError("bad", topic="t", partition=1, offset=2),
        errors.CommitFailed("late", {"t-1": 2}),
        errors.UserCodeError("raised", ["t-1"]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_fresh_error_says_the_same_and_is_another(error: errors.KafkaError) -> None:
    error.indefinite = True
    error.__cause__ = OSError("why")

    again = errors.fresh(error)

    assert type(again) is type(error)
    assert again is not error
    assert (str(again), vars(again)) == (str(error), vars(error))
    assert again.__cause__ is error.__cause__
