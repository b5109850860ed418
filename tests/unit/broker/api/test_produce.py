from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.broker.topics.topics import CONSUMER_OFFSETS
from kafka_aio.errors import (
    BrokerError,
    CorruptMessage,
    MessageTooLarge,
    NotEnoughReplicas,
    UnknownServerError,
)
from kafka_aio.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_aio.protocol.schema import Uuid
from kafka_aio.records.batch import verify
from kafka_aio.records.compression import Codec
from kafka_aio.records.layout import TRANSACTIONAL, ProducerStamp
from tests.unit.broker.clusters import WALL_MS, answer_to, call, made, send
from tests.unit.broker.producing import (
    batch,
    fetch,
    idempotent,
    patched,
    produce,
    producing,
    values,
    wants,
    written,
)

VERSIONS = range(3, 14)


def by_id(topic_id: Uuid, data: Any, index: int = 0) -> ProduceRequest:
    item = PartitionProduceData(index=index, records=data)
    return producing(topic_data=[TopicProduceData(topic_id=topic_id, partition_data=[item])])


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_produced_can_be_fetched(version: int) -> None:
    state = made(topics={"t": 1})
    topic_id = state.topics.by_name["t"].id
    request = producing(batch(b"a", b"b")) if version < 13 else by_id(topic_id, batch(b"a", b"b"))

    call(state, request, version=version)
    answer = written(call(state, request, version=version))

    assert (answer.error_code, answer.base_offset, answer.log_append_time_ms) == (0, 2, -1)
    assert answer.log_start_offset == (0 if version >= 5 else -1)
    assert values(fetch(state, wants()).records) == [b"a", b"b"] * 2


@pytest.mark.parametrize("codec", list(Codec))
def test_batches_of_all_codecs_are_stored_as_they_came(codec: Codec) -> None:
    state = made(topics={"t": 1})
    sent = batch(b"x" * 100, b"y", codec=codec)

    produce(state, sent)

    stored = fetch(state, wants()).records
    assert stored is not None
    assert bytes(stored[16:]) == bytes(sent[16:])


def test_several_topics_and_partitions_are_answered_in_their_order() -> None:
    state = made(topics={"t": 2, "u": 1})
    data = [
        TopicProduceData(
            name="u", partition_data=[PartitionProduceData(index=0, records=batch(b"a"))]
        ),
        TopicProduceData(
            name="t",
            partition_data=[
                PartitionProduceData(index=1, records=batch(b"b")),
                PartitionProduceData(index=7, records=batch(b"c")),
                PartitionProduceData(index=0, records=batch(b"d")),
            ],
        ),
    ]

    response = call(state, producing(topic_data=data), version=9)

    assert [
        (topic.name, each.index, each.error_code)
        for topic in response.responses
        for each in topic.partition_responses
    ] == [("u", 0, 0), ("t", 1, 0), ("t", 7, 3), ("t", 0, 0)]


# Who wants an answer


@pytest.mark.parametrize("acks", [1, -1])
def test_who_wants_an_answer_gets_it(acks: int) -> None:
    state = made(topics={"t": 1})

    assert produce(state, batch(), acks=acks).error_code == 0


def test_who_wants_no_answer_gets_none() -> None:
    state = made(topics={"t": 1})

    sent = send(state, producing(batch(b"a"), acks=0), version=9)

    assert state.answers == [(sent, None)]
    assert values(fetch(state, wants()).records) == [b"a"]


def test_a_failure_that_cannot_be_told_ends_the_connection() -> None:
    state = made(topics={"t": 2})

    with pytest.raises(BrokerError, match="CORRUPT_MESSAGE"):
        send(state, producing(patched(batch(), crc=1), batch(b"b"), acks=0), version=9)

    assert state.answers == []
    assert values(fetch(state, wants(1)).records) == [b"b"]


@pytest.mark.parametrize("acks", [2, -2])
def test_other_acks_are_refused(acks: int) -> None:
    state = made(topics={"t": 1})

    answer = produce(state, batch(), acks=acks)

    assert (answer.error_code, answer.base_offset, answer.log_start_offset) == (21, -1, -1)
    assert state.topics.by_name["t"].partitions[0].log.end_offset == 0


def test_acks_do_not_matter_where_there_is_no_topic() -> None:
    assert produce(made(), batch(), acks=2).error_code == 3


# Where it goes


@pytest.mark.parametrize("index", [1, -1])
def test_a_partition_that_is_not_there_is_unknown(index: int) -> None:
    answer = produce(made(topics={"t": 1}), batch(), partition=index)

    assert (answer.index, answer.error_code, answer.log_start_offset) == (index, 3, -1)


def test_an_id_that_is_not_there_is_unknown() -> None:
    response = call(made(topics={"t": 1}), by_id(Uuid(b"x" * 16), batch()), version=13)

    assert response.responses[0].topic_id == b"x" * 16
    assert written(response).error_code == 100


@pytest.mark.parametrize("version", [9, 10, 12])
def test_who_does_not_lead_says_who_does(version: int) -> None:
    state = made(3, {"t": 1})
    state.move_leader("t", 0, 2)

    response = call(state, producing(batch()), version=version, node=1)

    answer = written(response)
    assert (answer.error_code, answer.log_start_offset) == (6, -1)
    if version < 10:
        return
    assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (2, 1)
    (node,) = response.node_endpoints
    assert (node.node_id, node.host, node.port, node.rack) == (2, "127.0.0.1", 9093, "rack-2")


def test_a_leader_that_is_nowhere_has_no_address() -> None:
    state = made(2)
    state.topics.create("t", replicas=[(0, [2])])
    state.node_down(2)

    response = call(state, producing(batch()), version=12, node=1)

    assert written(response).error_code == 6
    assert written(response).current_leader.leader_id == -1
    assert response.node_endpoints == []


def test_a_node_without_a_replica_does_not_lead() -> None:
    state = made(2)
    state.topics.create("t", replicas=[(0, [2])])

    assert written(call(state, producing(batch()), version=12, node=1)).error_code == 6


def test_internal_topics_are_for_admins() -> None:
    state = made()
    state.topics.auto_create(CONSUMER_OFFSETS)

    def write(client_id: str) -> int:
        answer = produce(state, batch(), topic=CONSUMER_OFFSETS, client_id=client_id)
        return answer.error_code

    assert write("tester") == 17
    assert write("__admin_client") == 0


def test_too_few_replicas_in_sync_are_refused_who_wants_all() -> None:
    state = made(3)
    state.topics.create(
        "t", partitions=1, replication_factor=3, configs={"min.insync.replicas": "2"}
    )
    partition = state.topics.by_name["t"].partitions[0]
    node = partition.leader
    for other in [each for each in (1, 2, 3) if each != node]:
        state.node_down(other)

    refused = produce(state, batch(), node=node)

    assert (refused.error_code, refused.log_start_offset) == (NotEnoughReplicas.code, 0)
    assert produce(state, batch(), node=node, acks=1).error_code == 0


def test_more_replicas_than_there_are_cannot_be_asked_for() -> None:
    state = made()
    state.topics.create("t", partitions=1, configs={"min.insync.replicas": "2"})

    assert produce(state, batch()).error_code == 0


def test_a_fault_on_purpose_is_answered_and_nothing_is_written() -> None:
    state = made(topics={"t": 2})
    state.faults.fail("Produce", MessageTooLarge, topic="t", partition=1)

    response = call(state, producing(batch(), batch()), version=9)

    assert [each.error_code for each in response.responses[0].partition_responses] == [0, 10]
    assert [each.log.end_offset for each in state.topics.by_name["t"].partitions] == [1, 0]


# What is refused


@pytest.mark.parametrize(
    ("records", "code", "start"),
    [
        (b"", 87, -1),
        (bytes(batch())[:40], 87, -1),
        (bytes(batch()) * 2, 87, -1),
        (patched(batch(), magic=1), 87, -1),
        (patched(batch(), base_offset=5), 87, 0),
        (patched(batch(), record_count=0), 87, 0),
        (patched(batch(), crc=1), 2, -1),
        (patched(batch(), attributes=5), -1, 0),
        (batch(b"x" * 2_000_000), 10, -1),
        (idempotent(7, 0, 9), 45, 0),
        (idempotent(7, -1, 1), 47, 0),
    ],
)
def test_a_bad_batch_is_refused_as_kafka_does(records: Any, code: int, start: int) -> None:
    state = made(topics={"t": 1})
    produce(state, idempotent(7, 0, 0))

    answer = produce(state, records)

    assert (answer.error_code, answer.base_offset, answer.log_append_time_ms) == (code, -1, -1)
    assert answer.log_start_offset == start
    assert (answer.record_errors, answer.error_message) == ([], None)
    assert state.topics.by_name["t"].partitions[0].log.end_offset == 1


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (patched(batch(), magic=3), "Invalid magic found in record: 3"),
        (
            patched(batch(), length=10),
            "Record size 10 is less than the minimum record overhead (14)",
        ),
    ],
)
def test_what_is_no_batch_fails_the_whole_request(records: Any, message: str) -> None:
    state = made(topics={"t": 2})

    response = call(state, producing(batch(), records), version=9)

    for answer in response.responses[0].partition_responses:
        assert (answer.error_code, answer.error_message) == (CorruptMessage.code, message)
    assert state.topics.by_name["t"].partitions[0].log.end_offset == 0


def test_who_sends_a_small_batch_that_becomes_a_huge_one_is_told_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kafka_aio.broker.log.batches.MAX_INFLATED", 100_000)
    state = made()
    state.topics.create("t", partitions=1, configs={"compression.type": "lz4"})

    answer = produce(state, batch(bytes(100_000), codec=Codec.GZIP), version=12)

    assert answer.error_code == MessageTooLarge.code
    assert answer.error_message is not None
    assert "inflates to more than" in answer.error_message
    assert state.topics.by_name["t"].partitions[0].log.end_offset == 0


def test_a_null_instead_of_records_ends_the_connection() -> None:
    with pytest.raises(UnknownServerError):
        send(made(topics={"t": 1}), producing(None), version=9)


def test_zstd_is_refused_in_versions_that_do_not_know_it() -> None:
    state = made(topics={"t": 1})
    sent = batch(codec=Codec.ZSTD)

    assert produce(state, sent, version=6).error_code == 76
    assert produce(state, sent, version=7).error_code == 0


def test_an_unknown_codec_fails_the_whole_request_in_versions_without_zstd() -> None:
    state = made(topics={"t": 2})
    sent = producing(batch(), patched(batch(), attributes=5))

    for version, codes in ((6, [-1, -1]), (7, [0, -1])):
        (topic,) = call(state, sent, version=version).responses
        assert [each.error_code for each in topic.partition_responses] == codes


def test_records_that_are_refused_are_named() -> None:
    state = made(topics={"t": 1})
    sent = batch(b"a", b"b", timestamp=WALL_MS + 3_600_000)

    answer = produce(state, sent, version=9)

    assert (answer.error_code, answer.log_start_offset) == (32, 0)
    assert answer.error_message == "One or more records have been rejected due to invalid timestamp"
    assert [each.batch_index for each in answer.record_errors] == [1]
    assert produce(state, sent, version=7).error_code == 32


def test_a_batch_larger_than_the_segments_of_its_topic_is_refused() -> None:
    state = made(log_segment_bytes=2**20)
    limit = {"max.message.bytes": "9000000"}
    state.topics.create("t", partitions=1, configs={**limit, "segment.bytes": "1048576"})
    state.topics.create("u", partitions=1, configs=limit)
    sent = batch(b"x" * 1_100_000)

    assert produce(state, sent).error_code == 18
    assert produce(state, sent, topic="u").error_code == 0


def test_a_transactional_batch_wants_a_transactional_id() -> None:
    state = made(topics={"t": 2})
    sent = patched(idempotent(7, 0, 0), attributes=TRANSACTIONAL)

    response = call(state, producing(batch(), sent), version=9)

    answers = response.responses[0].partition_responses
    assert [(each.error_code, each.error_message) for each in answers] == [(53, None)] * 2


@pytest.mark.parametrize("version", [11, 12])
def test_a_transaction_that_nobody_knows_is_refused(version: int) -> None:
    state = made(topics={"t": 1})
    sent = patched(idempotent(7, 0, 0), attributes=TRANSACTIONAL)

    response = call(state, producing(sent, transactional_id="tx"), version=version)

    assert written(response).error_code == 49


def test_a_transactional_id_alone_makes_no_transaction() -> None:
    state = made(topics={"t": 1})

    response = call(state, producing(batch(), transactional_id="tx"), version=9)

    assert written(response).error_code == 0


# Idempotence


def test_a_batch_that_comes_again_is_answered_as_before() -> None:
    state = made(topics={"t": 1})
    produce(state, idempotent(7, 0, 0, 3))
    produce(state, idempotent(7, 0, 3))

    again = produce(state, idempotent(7, 0, 0, 3))

    assert (again.error_code, again.base_offset) == (0, 0)
    assert again.log_append_time_ms == WALL_MS + 2
    assert state.topics.by_name["t"].partitions[0].log.end_offset == 4


def test_sequences_are_counted_for_each_partition() -> None:
    state = made(topics={"t": 2})
    produce(state, idempotent(7, 0, 0))

    assert produce(state, idempotent(7, 0, 0), partition=1).base_offset == 0
    assert produce(state, idempotent(7, 0, 1), partition=1).error_code == 0


def test_a_batch_can_be_written_again_after_it_was_lost() -> None:
    state = made(topics={"t": 1})
    produce(state, idempotent(7, 0, 0))
    produce(state, idempotent(7, 0, 1))

    state.truncate("t", 0, 1)

    assert produce(state, idempotent(7, 0, 1)).base_offset == 1


def test_a_stamp_survives_the_codec_of_the_topic() -> None:
    state = made()
    state.topics.create("t", partitions=1, configs={"compression.type": "zstd"})
    sent = batch(b"x" * 300, stamp=ProducerStamp(7, 0, 0))
    produce(state, sent)

    assert produce(state, sent).base_offset == 0
    stored = fetch(state, wants()).records
    assert stored is not None
    assert [each.codec for each in verify(stored)] == [Codec.ZSTD]


# Time


def test_the_time_of_the_append_is_told_where_the_topic_has_it() -> None:
    state = made()
    state.topics.create("t", partitions=1, configs={"message.timestamp.type": "LogAppendTime"})

    answer = produce(state, batch(timestamp=5), now=2.0)

    assert answer.log_append_time_ms == WALL_MS + 2_000
    stored = fetch(state, wants()).records
    assert stored is not None
    assert [each.max_timestamp for each in verify(stored)] == [WALL_MS + 2_000]


# Room


def test_old_segments_go_when_the_topic_has_enough() -> None:
    state = made()
    state.topics.create(
        "t", partitions=1, configs={"retention.bytes": "300000", "segment.bytes": "1048576"}
    )
    starts = [produce(state, batch(b"x" * 50_000)).log_start_offset for _ in range(40)]

    log = state.topics.by_name["t"].partitions[0].log
    assert 300_000 <= log.size < 300_000 + 1_048_576
    assert starts[-1] == log.start_offset > 0


def test_a_compacted_topic_keeps_them() -> None:
    state = made()
    state.topics.create(
        "t", partitions=1, configs={"retention.bytes": "1000", "cleanup.policy": "compact"}
    )
    for _ in range(10):
        produce(state, batch(b"x" * 50_000))

    assert state.topics.by_name["t"].partitions[0].log.start_offset == 0


def test_all_topics_together_stay_within_memory() -> None:
    state = made(topics={"t": 1, "u": 1}, memory_max_bytes=1_000_000)
    produce(state, batch(b"x" * 50_000), topic="u")

    for _ in range(40):
        produce(state, batch(b"x" * 50_000))

    logs = [state.topics.by_name[name].partitions[0].log for name in "tu"]
    assert sum(log.size for log in logs) <= 1_000_000
    assert logs[0].end_offset == 40
    assert logs[1].start_offset == 0


# Versions


@pytest.mark.parametrize("version", VERSIONS)
def test_every_answer_can_be_told_in_every_version(version: int) -> None:
    state = made(2, {"t": 2})
    state.move_leader("t", 1, 2)
    state.move_leader("t", 0, 1)
    topic = state.topics.by_name["t"]
    data = [
        PartitionProduceData(index=index, records=records)
        for index, records in ((0, batch()), (1, batch()), (9, batch()))
    ]
    data.append(PartitionProduceData(index=0, records=batch(timestamp=2 * WALL_MS)))
    topics = [TopicProduceData(name=topic.name, topic_id=topic.id, partition_data=data)]

    sent = send(state, producing(topic_data=topics), version=version, node=1)

    answer = answer_to(state, sent)
    codes = [each.error_code for each in answer.responses[0].partition_responses]
    assert codes == [0, 6, 3, 32]
