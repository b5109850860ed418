from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_aio.admin.outcome import Outcome
from kafka_aio.errors import (
    AuthenticationError,
    BrokerError,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    NotController,
    NotCoordinator,
    ProtocolError,
    RebootstrapRequired,
    RequestTimedOut,
    StateError,
    ThrottlingQuotaExceeded,
    TopicAlreadyExists,
    UnsupportedVersion,
    for_code,
)

AGAIN = (
    NotController.code,
    ThrottlingQuotaExceeded.code,
    RebootstrapRequired.code,
    CoordinatorLoadInProgress.code,
    CoordinatorNotAvailable.code,
    NotCoordinator.code,
)


def begun(*items: str, changes: bool = True) -> Outcome[str, str]:
    return Outcome("create_topics", items, changes=changes)


def lost(*, indefinite: bool) -> KafkaConnectionError:
    error = KafkaConnectionError("host:9092: the connection broke")
    error.indefinite = indefinite
    return error


def test_each_item_has_its_answer_in_the_order_of_the_items() -> None:
    outcome = begun("a", "b")
    exists = TopicAlreadyExists()

    outcome.answered({"b": "made", "a": exists})

    assert outcome.pending == []
    assert list(outcome.result().items()) == [("a", exists), ("b", "made")]


def test_a_call_about_nothing_is_done() -> None:
    outcome = begun()

    assert outcome.pending == []
    assert outcome.result() == {}


def test_what_was_not_asked_for_is_not_in_the_result() -> None:
    outcome = begun("a")

    outcome.answered({"a": "made", "z": "made"})

    assert outcome.result() == {"a": "made"}


@pytest.mark.parametrize("code", AGAIN)
def test_only_the_items_that_may_still_succeed_are_asked_for_again(code: int) -> None:
    outcome = begun("a", "b", "c")

    outcome.answered({"a": "made", "b": for_code(code), "c": TopicAlreadyExists()})
    pending = list(outcome.pending)
    outcome.answered({"b": "made"})

    assert pending == ["b"]
    assert outcome.pending == []
    assert outcome.result()["b"] == "made"
    assert outcome.attempts == 2


@pytest.mark.parametrize(
    ("code", "is_stale"),
    [(NotController.code, True), (RebootstrapRequired.code, True), (89, False), (36, False)],
)
def test_a_refusal_may_tell_that_our_metadata_is_old(code: int, is_stale: bool) -> None:
    outcome = begun("a", "b")

    outcome.answered({"a": "made", "b": for_code(code)})

    assert outcome.is_stale is is_stale


def test_a_loss_after_a_refusal_says_nothing_about_the_metadata() -> None:
    outcome = begun("a")
    outcome.answered({"a": NotController()})

    outcome.failed(lost(indefinite=False))

    assert not outcome.is_stale
    assert outcome.pending == ["a"]


@pytest.mark.parametrize(("changes", "indefinite"), [(True, False), (False, False), (False, True)])
def test_a_loss_that_did_no_harm_is_repeated(changes: bool, indefinite: bool) -> None:
    outcome = begun("a", changes=changes)

    outcome.failed(lost(indefinite=indefinite))

    assert outcome.pending == ["a"]


def test_a_change_that_was_lost_on_its_way_is_raised_and_says_what_to_do() -> None:
    outcome = begun("a", "b")
    error = lost(indefinite=True)

    outcome.failed(error)

    assert outcome.pending == []
    with pytest.raises(KafkaConnectionError) as raised:
        outcome.result()
    assert raised.value.indefinite
    assert raised.value.__cause__ is error
    assert str(raised.value) == (
        "create_topics: host:9092: the connection broke; it may have been carried out, so look"
        " before you repeat it"
    )


def test_a_change_that_was_lost_does_not_take_the_settled_items_with_it() -> None:
    outcome = begun("a", "b", "c")
    outcome.answered({"a": "made", "b": NotController(), "c": NotController()})

    outcome.failed(lost(indefinite=True))
    result = outcome.result()

    assert result["a"] == "made"
    errors = [result["b"], result["c"]]
    assert all(isinstance(error, KafkaConnectionError) and error.indefinite for error in errors)
    assert errors[0] is not errors[1]


@pytest.mark.parametrize(
    "error",
    [
        AuthenticationError("who are you"),
        ProtocolError("what was that"),
        UnsupportedVersion("too old"),
        StateError("closed"),
    ],
)
@pytest.mark.parametrize("changes", [True, False])
def test_an_error_that_will_come_again_ends_the_call_as_it_is(
    error: KafkaError, changes: bool
) -> None:
    outcome = begun("a", changes=changes)

    outcome.failed(error)

    assert outcome.pending == []
    with pytest.raises(type(error)) as raised:
        outcome.result()
    assert raised.value is error


def test_an_item_without_an_answer_is_an_error_of_the_protocol() -> None:
    outcome = begun("a", "b")

    outcome.answered({})

    with pytest.raises(ProtocolError, match=r"create_topics: .* nothing about a") as raised:
        outcome.result()
    assert raised.value.indefinite


def test_a_question_without_an_answer_has_changed_nothing() -> None:
    outcome = begun("a", changes=False)

    outcome.answered({})

    with pytest.raises(ProtocolError) as raised:
        outcome.result()
    assert not raised.value.indefinite


def test_an_item_without_an_answer_does_not_hide_the_answers_of_others() -> None:
    outcome = begun("a", "b", "c")
    refused = NotController()

    outcome.answered({"a": "made", "c": refused})
    result = outcome.result()

    assert outcome.pending == []
    assert result["a"] == "made"
    assert isinstance(result["b"], ProtocolError)
    assert result["c"] is refused


@pytest.mark.parametrize("changes", [True, False])
def test_a_time_out_of_the_broker_leaves_open_what_has_become_of_a_change(changes: bool) -> None:
    outcome = begun("a", changes=changes)

    outcome.answered({"a": RequestTimedOut()})

    error = outcome.result()["a"]
    assert isinstance(error, RequestTimedOut)
    assert error.indefinite is changes
    assert not RequestTimedOut.indefinite


def test_when_the_time_is_over_the_error_names_the_call_the_attempts_and_the_last_error() -> None:
    outcome = begun("a")
    error = lost(indefinite=False)
    outcome.failed(error)
    outcome.failed(error)

    outcome.time_over()

    with pytest.raises(KafkaTimeoutError) as raised:
        outcome.result()
    assert str(raised.value) == (
        "create_topics: not done in time, after 2 attempts; the last: host:9092: the connection"
        " broke"
    )
    assert raised.value.__cause__ is error
    assert not raised.value.indefinite


def test_when_the_time_is_over_what_is_settled_is_returned() -> None:
    outcome = begun("a", "b")
    outcome.answered({"a": "made", "b": ThrottlingQuotaExceeded(where="topic 'b'")})

    outcome.time_over()
    result = outcome.result()

    assert result["a"] == "made"
    assert isinstance(result["b"], KafkaTimeoutError)
    assert "after 1 attempt; the last: topic 'b': A quota of the cluster" in str(result["b"])


def test_without_further_attempts_an_item_has_the_error_that_the_broker_gave_it() -> None:
    outcome = begun("a", "b")
    refusals = {"a": NotController(), "b": ThrottlingQuotaExceeded()}
    outcome.answered(refusals)

    outcome.give_up()

    assert outcome.result() == refusals


def test_without_further_attempts_the_last_loss_is_raised() -> None:
    outcome = begun("a")
    error = lost(indefinite=False)
    outcome.answered({"a": NotController()})
    outcome.failed(error)

    outcome.give_up()

    with pytest.raises(KafkaConnectionError) as raised:
        outcome.result()
    assert raised.value is error


def test_of_several_requests_only_the_lost_ones_are_repeated() -> None:
    outcome = begun("a", "b", "c", "d")

    outcome.answered(
        {"a": "made", "b": NotCoordinator()},
        {"c": lost(indefinite=False), "d": lost(indefinite=True)},
    )
    pending = list(outcome.pending)
    outcome.answered({"b": "made", "c": "made"})
    result = outcome.result()

    assert pending == ["b", "c"]
    assert [result["a"], result["b"], result["c"]] == ["made"] * 3
    unknown = result["d"]
    assert isinstance(unknown, KafkaConnectionError)
    assert unknown.indefinite
    assert "look before you repeat it" in str(unknown)


def test_when_all_requests_are_lost_for_good_the_first_error_is_raised() -> None:
    outcome = begun("a", "b")

    outcome.answered({}, {"a": UnsupportedVersion("too old"), "b": StateError("closed")})

    assert outcome.pending == []
    with pytest.raises(UnsupportedVersion, match="too old"):
        outcome.result()


def test_without_further_attempts_a_lost_request_is_an_error_beside_what_was_answered() -> None:
    outcome = begun("a", "b")
    outcome.answered({"a": NotCoordinator()}, {"b": lost(indefinite=False)})

    outcome.give_up()
    result = outcome.result()

    assert isinstance(result["a"], NotCoordinator)
    assert isinstance(result["b"], KafkaConnectionError)


def test_a_request_that_was_refused_as_a_whole_may_be_worth_another() -> None:
    outcome = begun("a")

    outcome.failed(RebootstrapRequired())

    assert outcome.pending == ["a"]
    assert outcome.is_stale


def test_what_needs_no_question_is_settled_at_once() -> None:
    outcome = begun("a", "b")
    unknown = TopicAlreadyExists()

    outcome.settled({"a": unknown})
    pending = list(outcome.pending)
    outcome.answered({"b": "made"})

    assert pending == ["b"]
    assert outcome.attempts == 1
    assert outcome.result() == {"a": unknown, "b": "made"}


def test_what_is_worth_another_attempt_may_be_another_thing_for_a_call() -> None:
    outcome: Outcome[str, str] = Outcome(
        "list_offsets",
        "ab",
        changes=False,
        again=lambda error: isinstance(error, TopicAlreadyExists),
    )

    outcome.answered({"a": TopicAlreadyExists(), "b": NotController()})

    assert outcome.pending == ["a"]


def test_its_repr_tells_how_far_it_is() -> None:
    outcome = begun("a", "b")
    outcome.answered({"a": "made", "b": NotController()})

    assert repr(outcome) == "<Outcome of create_topics: 1 of 2 settled, 1 attempts>"


codes = st.integers(-1, 140).filter(bool)
answers = st.lists(
    st.dictionaries(st.sampled_from("abcd"), st.one_of(st.just(0), st.sampled_from(AGAIN), codes)),
    min_size=1,
    max_size=6,
)


@given(answers, st.booleans())
def test_whatever_brokers_answer_each_item_ends_with_its_last_answer(
    said: Sequence[dict[str, int]], changes: bool
) -> None:
    outcome = begun("a", "b", "c", changes=changes)
    last: dict[str, int | None] = {}  # None: the item was left out
    for codes_by_item in said:
        if not outcome.pending:
            break
        assert all(last.get(item, AGAIN[0]) in AGAIN for item in outcome.pending)
        last.update((item, codes_by_item.get(item)) for item in outcome.pending)
        outcome.answered(
            {item: for_code(code) if code else "made" for item, code in codes_by_item.items()}
        )
    if outcome.pending:
        outcome.give_up()

    try:
        result = outcome.result()
    except ProtocolError:
        assert set(last.values()) == {None}  # nothing that was answered is lost
        return
    assert list(result) == list(last)
    for item, value in result.items():
        if last[item] is None:
            assert isinstance(value, ProtocolError)
        elif last[item]:
            assert isinstance(value, BrokerError)
            assert value.code == last[item]
        else:
            assert value == "made"
