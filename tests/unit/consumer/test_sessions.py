"""Fetch sessions with one node (KIP-227); B48 is a behaviour of Java's client."""

from __future__ import annotations

import pytest

from kafka_aio.consumer.sessions import BY_NAME, GREATEST_EPOCH, Ask, Session, Terms
from kafka_aio.errors import (
    FetchSessionIdNotFound,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpoch,
    ProtocolError,
    StateError,
)
from kafka_aio.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kafka_aio.protocol.schema import NO_UUID, Uuid
from kafka_aio.types import TopicPartition

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
IDS = {"a": Uuid(b"a" * 16), "b": Uuid(b"b" * 16)}
TERMS = Terms(max_wait=0.5, min_bytes=1, max_bytes=1_000)
ID = 77


def ask(offset: int = 0) -> Ask:
    return Ask(offset, 3, 100)


def send(
    session: Session, *partitions: TopicPartition, ids: dict[str, Uuid] = IDS, offset: int = 0
) -> FetchRequest:
    asks = dict.fromkeys(partitions, ask(offset))
    return session.request(asks, topic_id=ids.get, terms=TERMS)[0]


def answer(
    *partitions: TopicPartition, session_id: int = ID, error_code: int = 0, throttled: int = 0
) -> FetchResponse:
    """As version 13 and later have it: with ids."""
    return FetchResponse(
        throttle_time_ms=throttled,
        error_code=error_code,
        session_id=session_id,
        responses=[
            FetchableTopicResponse(topic_id=IDS[topic], partitions=[told(number)])
            for topic, number in partitions
        ],
    )


def told(number: int) -> PartitionData:
    return PartitionData(
        partition_index=number,
        error_code=0,
        high_watermark=9,
        aborted_transactions=None,
        records=None,
    )


def asked(request: FetchRequest) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic.topic, each.partition): each.fetch_offset
        for topic in request.topics
        for each in topic.partitions
    }


def forgotten(request: FetchRequest) -> set[TopicPartition]:
    return {
        TopicPartition(topic.topic, number)
        for topic in request.forgotten_topics_data
        for number in topic.partitions
    }


@pytest.fixture
def begun() -> Session:
    """A session in which a-0 and b-0 are wanted, from 0."""
    session = Session(1)
    send(session, A0, B0)
    session.answered(answer(A0, B0))
    return session


# B48: the requests of a session.


def test_the_first_request_names_all_and_asks_for_a_session() -> None:
    session = Session(1)

    request, at_most = session.request({A0: ask(5), B0: ask()}, topic_id=IDS.get, terms=TERMS)

    assert (request.session_id, request.session_epoch) == (0, 0)
    assert asked(request) == {A0: 5, B0: 0}
    assert [topic.topic_id for topic in request.topics] == [IDS["a"], IDS["b"]]
    assert at_most is None
    wanted = request.topics[0].partitions[0]
    assert (wanted.current_leader_epoch, wanted.partition_max_bytes) == (3, 100)
    assert wanted.last_fetched_epoch == -1  # a consumer's log is not compared with the leader's


def test_a_request_has_the_terms() -> None:
    terms = Terms(max_wait=0.25, min_bytes=7, max_bytes=70, isolation_level=1, rack="r")

    request, _ = Session(1).request({A0: ask()}, topic_id=IDS.get, terms=terms)

    assert (request.max_wait_ms, request.min_bytes, request.max_bytes) == (250, 7, 70)
    assert (request.isolation_level, request.rack_id) == (1, "r")


def test_later_requests_name_what_has_changed(begun: Session) -> None:
    request, _ = begun.request({A0: ask(8), A1: ask(), B0: ask()}, topic_id=IDS.get, terms=TERMS)

    assert (request.session_id, request.session_epoch) == (ID, 1)
    assert asked(request) == {A0: 8, A1: 0}
    assert forgotten(request) == set()


def test_what_is_not_wanted_any_more_is_forgotten(begun: Session) -> None:
    request = send(begun, A0)

    assert asked(request) == {}
    assert forgotten(request) == {B0}
    assert request.forgotten_topics_data[0].topic_id == IDS["b"]


def test_a_new_leader_epoch_is_told(begun: Session) -> None:
    request, _ = begun.request({A0: Ask(0, 4, 100), B0: ask()}, topic_id=IDS.get, terms=TERMS)

    assert asked(request) == {A0: 0}


def test_the_epoch_grows_with_each_answer(begun: Session) -> None:
    epochs = []
    for _ in range(3):
        epochs.append(send(begun, A0, B0).session_epoch)
        begun.answered(answer())

    assert epochs == [1, 2, 3]


def test_after_the_greatest_epoch_comes_1(begun: Session) -> None:
    begun._epoch = GREATEST_EPOCH  # a life of some hundred days

    last = send(begun, A0, B0)
    begun.answered(answer())

    assert last.session_epoch == GREATEST_EPOCH
    assert send(begun, A0, B0).session_epoch == 1


def test_a_broker_without_room_for_a_session_gets_full_requests() -> None:
    session = Session(1)
    send(session, A0)

    heard = session.answered(answer(A0, session_id=0))
    request = send(session, A0)

    assert heard.error is None
    assert (request.session_id, request.session_epoch) == (0, 0)
    assert asked(request) == {A0: 0}


def test_a_session_that_the_broker_closes_ends_with_its_last_answer(begun: Session) -> None:
    send(begun, A0, B0)

    heard = begun.answered(answer(A0, session_id=0))
    request = send(begun, A0, B0)

    assert set(heard.partitions) == {A0}
    assert heard.error is None
    assert (request.session_id, request.session_epoch) == (0, 0)


# B48: errors fall back to a full request.


def test_a_session_that_is_not_there_is_not_ended(begun: Session) -> None:
    send(begun, A0, B0)

    heard = begun.answered(answer(session_id=0, error_code=FetchSessionIdNotFound.code))
    request = send(begun, A0, B0)

    assert isinstance(heard.error, FetchSessionIdNotFound)
    assert (request.session_id, request.session_epoch) == (0, 0)
    assert asked(request) == {A0: 0, B0: 0}


@pytest.mark.parametrize("error", [InvalidFetchSessionEpoch, FetchSessionTopicIdError])
def test_after_another_error_the_session_is_ended_by_a_full_request(
    begun: Session, error: type[InvalidFetchSessionEpoch | FetchSessionTopicIdError]
) -> None:
    send(begun, A0, B0)

    heard = begun.answered(answer(A0, error_code=error.code))
    request = send(begun, A0, B0)

    assert isinstance(heard.error, error)
    assert heard.partitions == {}
    assert (request.session_id, request.session_epoch) == (ID, 0)
    assert asked(request) == {A0: 0, B0: 0}


def test_after_a_lost_answer_the_session_is_ended_by_a_full_request(begun: Session) -> None:
    send(begun, A0)

    begun.failed()
    request = send(begun, A0)

    assert (request.session_id, request.session_epoch) == (ID, 0)
    assert asked(request) == {A0: 0}
    assert forgotten(request) == set()


def test_partitions_that_nobody_asked_for_are_left_out(begun: Session) -> None:
    send(begun, A0, B0)

    heard = begun.answered(answer(A0, A1))

    assert set(heard.partitions) == {A0}
    assert isinstance(heard.error, ProtocolError)
    assert "a-1" in str(heard.error)
    assert send(begun, A0, B0).session_epoch == 0


def test_topics_with_an_unknown_id_are_left_out(begun: Session) -> None:
    send(begun, A0)  # b is forgotten

    heard = begun.answered(answer(B0))

    assert heard.partitions == {}
    assert IDS["b"].hex() in str(heard.error)


def test_the_answer_to_a_full_request_has_to_be_full() -> None:
    session = Session(1)
    send(session, A0, B0)

    heard = session.answered(answer(A0))
    request = send(session, A0, B0)

    assert set(heard.partitions) == {A0}
    assert "silent about 1 partition" in str(heard.error)
    assert (request.session_id, request.session_epoch) == (ID, 0)  # the new one, to be ended


def test_a_throttled_answer_to_a_full_request_may_be_empty() -> None:
    session = Session(1)
    send(session, A0)

    heard = session.answered(answer(session_id=0, throttled=100))

    assert (heard.error, heard.partitions) == (None, {})
    assert send(session, A0).session_epoch == 0


def test_an_answer_of_another_session_is_not_gone_on_with(begun: Session) -> None:
    send(begun, A0, B0)

    heard = begun.answered(answer(session_id=78))
    request = send(begun, A0, B0)

    assert "78" in str(heard.error)
    assert (request.session_id, request.session_epoch) == (ID, 0)


# Names and ids.


def test_one_topic_without_an_id_forces_names() -> None:
    only_a = {"a": IDS["a"]}

    request, at_most = Session(1).request({A0: ask(), B0: ask()}, topic_id=only_a.get, terms=TERMS)

    assert at_most == BY_NAME
    assert [(topic.topic, topic.topic_id) for topic in request.topics] == [
        ("a", NO_UUID),
        ("b", NO_UUID),
    ]


def test_answers_may_have_names() -> None:
    session = Session(1)
    send(session, A0, ids={})
    named = FetchableTopicResponse(topic="a", partitions=[told(0)])

    heard = session.answered(FetchResponse(throttle_time_ms=0, session_id=ID, responses=[named]))

    assert set(heard.partitions) == {A0}
    assert heard.error is None


def test_a_change_between_ids_and_names_begins_a_new_session(begun: Session) -> None:
    by_name = send(begun, A0, B0, ids={"a": IDS["a"]})
    begun.failed()
    by_id = send(begun, A0, B0)

    assert (by_name.session_id, by_name.session_epoch) == (ID, 0)
    assert asked(by_name) == {A0: 0, B0: 0}
    assert by_id.session_epoch == 0


def test_a_topic_that_was_created_anew_begins_a_new_session(begun: Session) -> None:
    other = Uuid(b"c" * 16)

    request = send(begun, A0, B0, ids={**IDS, "a": other})

    assert (request.session_id, request.session_epoch) == (ID, 0)
    assert {topic.topic: topic.topic_id for topic in request.topics} == {
        "a": other,
        "b": IDS["b"],
    }


# The end.


def test_close_ends_the_session(begun: Session) -> None:
    request = begun.close()

    assert request is not None
    assert (request.session_id, request.session_epoch) == (ID, -1)
    assert (request.max_wait_ms, request.topics) == (0, [])
    assert begun.close() is None


def test_close_while_a_request_is_out_ends_the_session_too(begun: Session) -> None:
    send(begun, A0, B0)

    request = begun.close()

    assert request is not None
    assert request.session_epoch == -1
    with pytest.raises(StateError, match="no request is out"):
        begun.answered(answer())


def test_without_a_session_there_is_nothing_to_close() -> None:
    assert Session(1).close() is None


def test_one_request_is_out_at_a_time(begun: Session) -> None:
    send(begun, A0, B0)

    with pytest.raises(StateError, match="a request is out"):
        send(begun, A1)
    begun.answered(answer())

    assert forgotten(send(begun, A0)) == {B0}


def test_an_empty_request_is_refused(begun: Session) -> None:
    with pytest.raises(StateError, match="0 partitions"):
        send(begun)


def test_the_repr_shows_the_state(begun: Session) -> None:
    send(begun, A0)

    assert repr(begun) == ("<Session with node 1: session 77, epoch 1, 1 wanted, a request is out>")
