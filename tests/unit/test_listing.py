from __future__ import annotations

import pytest

from kafka_aio.errors import (
    AuthenticationError,
    BrokerError,
    KafkaConnectionError,
    KafkaError,
    NotLeaderOrFollower,
    OffsetNotAvailable,
    ProtocolError,
    TopicAuthorizationFailed,
    UnknownServerError,
    UnsupportedForMessageFormat,
    UnsupportedVersion,
)
from kafka_aio.listing import (
    BEGINNING,
    END,
    MAX_TIMESTAMP,
    Listed,
    list_requests,
    not_listed,
    read_listed,
)
from kafka_aio.metadata import Leader
from kafka_aio.protocol.messages.offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafka_aio.types import OffsetAndTimestamp, TopicPartition
from tests.unit.consumer.owned import A0, A1, B0, FIRST, SECOND


def request_for(partition: TopicPartition, time: int) -> ListOffsetsRequest:
    requests, _ = list_requests({partition: time}, lambda _: FIRST)
    return requests[FIRST.node]


def told(
    *, code: int = 0, offset: int = -1, timestamp: int = -1, epoch: int = -1
) -> ListOffsetsResponse:
    """An answer about the first partition of topic a."""
    answer = ListOffsetsPartitionResponse(
        partition_index=0, error_code=code, timestamp=timestamp, offset=offset, leader_epoch=epoch
    )
    return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="a", partitions=[answer])])


def test_there_is_one_request_for_each_node_that_leads() -> None:
    leaders = {A0: FIRST, A1: SECOND, B0: FIRST}
    times = {A0: BEGINNING, A1: END, B0: 1_000, TopicPartition("c", 0): END}

    requests, leaderless = list_requests(times, leaders.get)

    asked = {
        node: {
            (topic.name, each.partition_index, each.current_leader_epoch, each.timestamp)
            for topic in request.topics
            for each in topic.partitions
        }
        for node, request in requests.items()
    }
    assert asked == {
        1: {("a", 0, 5, BEGINNING), ("b", 0, 5, 1_000)},
        2: {("a", 1, 6, END)},
    }
    assert leaderless == [TopicPartition("c", 0)]


def test_partitions_of_a_topic_stand_together() -> None:
    requests, _ = list_requests({A0: END, B0: END, A1: END}, lambda _: FIRST)

    assert [topic.name for topic in requests[1].topics] == ["a", "b"]


@pytest.mark.parametrize("read_committed", [False, True])
def test_a_request_says_who_asks_and_for_what(read_committed: bool) -> None:
    requests, _ = list_requests(
        {A0: END}, lambda _: Leader(1, -1), read_committed=read_committed, timeout=1.5
    )

    request = requests[1]
    assert (request.replica_id, request.isolation_level) == (-1, int(read_committed))
    assert request.timeout_ms == 1_500
    assert request.topics[0].partitions[0].current_leader_epoch == -1


@pytest.mark.parametrize("time", [BEGINNING, END])
def test_the_ends_of_a_log_have_an_offset_and_no_time(time: int) -> None:
    listed = read_listed(request_for(A0, time), told(offset=42, epoch=3))

    assert listed == Listed(found={A0: OffsetAndTimestamp(42, -1, 3)})


@pytest.mark.parametrize("time", [1_000, MAX_TIMESTAMP])
def test_a_record_at_a_time_has_its_own_time(time: int) -> None:
    listed = read_listed(request_for(A0, time), told(offset=42, timestamp=1_005))

    assert listed == Listed(found={A0: OffsetAndTimestamp(42, 1_005, None)})


@pytest.mark.parametrize("time", [1_000, MAX_TIMESTAMP])
@pytest.mark.parametrize("code", [0, UnsupportedForMessageFormat.code])
def test_there_may_be_no_record_at_a_time(time: int, code: int) -> None:
    assert read_listed(request_for(A0, time), told(code=code)) == Listed(found={A0: None})


@pytest.mark.parametrize("time", [BEGINNING, END])
def test_a_log_without_ends_is_no_answer(time: int) -> None:
    # -1 is never taken for an offset.
    listed = read_listed(request_for(A0, time), told())

    assert listed.found == {}
    assert isinstance(listed.failed[A0], ProtocolError)


@pytest.mark.parametrize("error", [NotLeaderOrFollower, OffsetNotAvailable, UnknownServerError])
def test_what_may_be_mended_is_asked_again(error: type[BrokerError]) -> None:
    listed = read_listed(request_for(A0, END), told(code=error.code))

    assert isinstance(listed.again[A0], error)
    assert "a-0" in str(listed.again[A0])
    assert listed.stale_metadata == error.stale_metadata
    assert (listed.found, listed.failed) == ({}, {})


@pytest.mark.parametrize("error", [TopicAuthorizationFailed, UnsupportedForMessageFormat])
def test_what_cannot_be_mended_is_raised(error: type[BrokerError]) -> None:
    listed = read_listed(request_for(A0, END), told(code=error.code))

    assert isinstance(listed.failed[A0], error)
    assert (listed.found, listed.again) == ({}, {})


def test_a_code_of_tomorrow_is_raised() -> None:
    assert A0 in read_listed(request_for(A0, END), told(code=999)).failed


def test_what_is_not_mentioned_is_asked_again_and_what_was_not_asked_is_not_read() -> None:
    listed = read_listed(request_for(B0, END), told(offset=42))

    assert isinstance(listed.again[B0], ProtocolError)
    assert not listed.stale_metadata
    assert listed.found == {}


@pytest.mark.parametrize(
    ("error", "is_again"),
    [
        (KafkaConnectionError("cut"), True),
        (AuthenticationError("who?"), False),
        (UnsupportedVersion("too old"), False),
    ],
)
def test_a_request_that_came_to_nothing_is_one_for_all_its_partitions(
    error: KafkaError, is_again: bool
) -> None:
    requests, _ = list_requests({A0: END, B0: END}, lambda _: FIRST)
    listed = not_listed(requests[1], error)

    assert (listed.again if is_again else listed.failed) == {A0: error, B0: error}
    assert (listed.failed if is_again else listed.again) == {}
