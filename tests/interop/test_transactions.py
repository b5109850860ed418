"""Idempotent and transactional batches: ours accepted by a real broker, those of others read."""

from __future__ import annotations

from collections.abc import Iterator

import confluent_kafka
import pytest

from kafka_aio.protocol.codec import decode
from kafka_aio.protocol.messages.control_records import (
    ControlRecordTypeSchema,
    EndTxnMarker,
    LeaderChangeMessage,
)
from kafka_aio.protocol.messages.groups import FindCoordinatorRequest
from kafka_aio.protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    InitProducerIdRequest,
)
from kafka_aio.protocol.schema import Buffer
from kafka_aio.records import _codec_py, codec
from kafka_aio.records.batch import FetchedBatch, read_header, split, verify
from kafka_aio.records.codec import Record
from kafka_aio.records.layout import ProducerStamp, advance_sequence
from tests.interop import peer
from tests.interop.sample import CODECS, COMPRESSIONS, LARGE, SMALL, Written, batch_of
from tests.interop.versions import each_version, patiently, require
from tests.kafka.cluster import Cluster
from tests.kafka.raw import RawConnection
from tests.kafka.topic import READ_COMMITTED, Topic

pytestmark = pytest.mark.kafka

TRANSACTION = 1  # the kind of a coordinator
MESSAGE_TOO_LARGE, OUT_OF_ORDER_SEQUENCE = 10, 45
ABORT, COMMIT, LEADER_CHANGE = 0, 1, 2
TWINS = [codec.RecordReader, _codec_py.RecordReader]


def new_producer(
    connection: RawConnection, transactional_id: str | None = None, version: int | None = None
) -> ProducerStamp:
    if transactional_id is not None:
        find = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=[transactional_id])
        patiently(lambda: connection.send(find).coordinators[0], lambda found: found.error_code)
    request = InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=30_000
    )
    answer = patiently(lambda: connection.send(request, version), lambda found: found.error_code)
    assert answer.error_code == 0, answer
    transactional = transactional_id is not None
    return ProducerStamp(answer.producer_id, answer.producer_epoch, 0, transactional)


def committed(topic: Topic, partition: int = 0) -> list[Record]:
    """What a reader of committed records sees, by what a real Fetch says was aborted."""
    fetched = topic.fetch(partition, isolation=READ_COMMITTED)
    return FetchedBatch(fetched.records, topic.name, partition, aborted=fetched.aborted).records


@each_version(InitProducerIdRequest)
def test_a_producer_id_is_given_in_every_version(connection: RawConnection, version: int) -> None:
    require(connection, InitProducerIdRequest, version)

    stamp = new_producer(connection, version=version)
    transactional = new_producer(connection, f"init-v{version}", version)
    again = new_producer(connection, f"init-v{version}", version)

    assert stamp.producer_id >= 0
    assert stamp.producer_epoch == 0
    assert again[:2] == (transactional.producer_id, transactional.producer_epoch + 1)


@pytest.mark.parametrize("name", CODECS)
def test_idempotent_batches_are_accepted_once_and_in_order(
    connection: RawConnection, name: str
) -> None:
    topic = Topic.create(connection, "idempotent")
    stamp = new_producer(connection)
    first = batch_of(SMALL, COMPRESSIONS[name], stamp)
    second = batch_of(LARGE, COMPRESSIONS[name], stamp._replace(base_sequence=len(SMALL)))
    far = batch_of(SMALL, COMPRESSIONS[name], stamp._replace(base_sequence=5_000))

    offsets = [topic.produce(batch).base_offset for batch in (first, second, first, second)]
    refused = topic.try_produce(far)

    assert offsets == [0, len(SMALL), 0, len(SMALL)]
    assert refused.error_code == OUT_OF_ORDER_SEQUENCE
    records = FetchedBatch(topic.fetch().records, topic.name, 0).records
    assert [Written.of(each) for each in records] == SMALL + LARGE


@pytest.mark.parametrize("name", CODECS)
def test_a_batch_over_the_limit_is_accepted_in_parts(connection: RawConnection, name: str) -> None:
    topic = Topic.create(connection, "split", configs={"max.message.bytes": "30000"})
    stamp = new_producer(connection)
    whole = batch_of(LARGE, COMPRESSIONS[name], stamp)
    following = stamp._replace(base_sequence=advance_sequence(0, len(LARGE)))

    refused = topic.try_produce(whole)
    parts = split(whole, 29_000, COMPRESSIONS[name])
    for part in parts:
        topic.produce(part)
    topic.produce(batch_of(SMALL, COMPRESSIONS[name], following))

    assert refused.error_code == MESSAGE_TOO_LARGE
    assert len(parts) > 5
    fetched = topic.fetch().records
    sequences = [header.base_sequence for header in verify(fetched)]
    assert sequences == [header.base_offset for header in verify(fetched)]
    records = FetchedBatch(fetched, topic.name, 0).records
    assert [Written.of(each) for each in records] == LARGE + SMALL


def add_partition(
    connection: RawConnection, topic: Topic, who: str, stamp: ProducerStamp, version: int
) -> None:
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=who,
        v3_and_below_producer_id=stamp.producer_id,
        v3_and_below_producer_epoch=stamp.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic.name, partitions=[0])],
    )
    patiently(
        lambda: (
            connection.send(request, version)
            .results_by_topic_v3_and_below[0]
            .results_by_partition[0]
        ),
        lambda found: found.partition_error_code,
    )


def produce_patiently(topic: Topic, batch: Buffer, who: str, version: int | None) -> None:
    """Where a Produce request adds the partition, the transaction before may still be ending."""
    answer = patiently(
        lambda: topic.try_produce(batch, transactional_id=who, version=version),
        lambda found: found.error_code,
    )
    assert answer.error_code == 0, answer


def end_transaction(
    connection: RawConnection, who: str, stamp: ProducerStamp, commits: bool, version: int
) -> ProducerStamp:
    """The marks of the next transaction."""
    request = EndTxnRequest(
        transactional_id=who,
        producer_id=stamp.producer_id,
        producer_epoch=stamp.producer_epoch,
        committed=commits,
    )
    answer = patiently(lambda: connection.send(request, version), lambda found: found.error_code)
    assert answer.error_code == 0, answer
    if version < 5:
        return stamp
    return stamp._replace(
        producer_id=answer.producer_id, producer_epoch=answer.producer_epoch, base_sequence=0
    )


@each_version(EndTxnRequest)
def test_transactions_of_ours_are_committed_and_aborted(
    connection: RawConnection, kafka: Cluster, version: int
) -> None:
    require(connection, EndTxnRequest, version)
    topic, who = Topic.create(connection, "transaction"), f"ours-v{version}"
    stamp = new_producer(connection, who)
    sent = 0
    for commits in (True, False, True):
        records = SMALL[sent : sent + 2]
        if version < 5:  # from 5 on a Produce request adds the partition (KIP-890)
            add_partition(connection, topic, who, stamp, min(version, 3))
            stamp = stamp._replace(base_sequence=sent)
        produce_version = None if version >= 5 else 11
        batch = batch_of(records, COMPRESSIONS["zstd"], stamp)
        produce_patiently(topic, batch, who, produce_version)
        stamp = end_transaction(connection, who, stamp, commits, version)
        sent += 2
    wait_until_stable(topic, 9)

    assert [Written.of(each) for each in committed(topic)] == SMALL[0:2] + SMALL[4:6]
    theirs = peer.read_by_confluent(kafka, topic.name, [0], 4)[0]
    assert [(each.offset, Written.of(each)) for each in committed(topic)] == theirs
    assert markers(topic) == [COMMIT, ABORT, COMMIT]


def wait_until_stable(topic: Topic, end: int) -> None:
    """Markers are written after the answer to EndTxn."""
    patiently(
        lambda: topic.fetch(isolation=READ_COMMITTED),
        lambda fetched: 0 if fetched.last_stable_offset >= end else 51,
    )


def markers(topic: Topic) -> list[int]:
    """The kind of each control record, in order."""
    data = topic.fetch().records
    control = {header.base_offset for header in verify(data) if header.is_control}
    kinds = []
    for record in codec.RecordReader(data, topic.name, 0, control_records=True).read():
        if record.offset in control:
            assert record.key is not None
            assert record.value is not None
            kinds.append(decode(ControlRecordTypeSchema, record.key, 0, start=2).type)
            assert decode(EndTxnMarker, record.value, 0, start=2).coordinator_epoch >= 0
    return kinds


@pytest.fixture(scope="module")
def mixed(kafka: Cluster, connection: RawConnection) -> Iterator[Topic]:
    """Two transactional producers of librdkafka and one plain, one after the other."""
    topic = Topic.create(connection, "mixed")
    plain = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 0})
    producers = []
    for name in ("lz4", "zstd"):
        options = {
            "bootstrap.servers": kafka.bootstrap,
            "transactional.id": f"mixed-{name}",
            "compression.type": name,
            "linger.ms": 0,
        }
        producers.append(confluent_kafka.Producer(options))
        producers[-1].init_transactions(30)
    first, second = producers
    for turn in range(4):
        first.begin_transaction()
        second.begin_transaction()
        for step in range(3):
            for who, producer in (("first", first), ("second", second), ("plain", plain)):
                producer.produce(topic.name, f"{who} {turn} {step}", f"key {turn}", 0)
                assert producer.flush(30) == 0
        if turn % 2:
            first.abort_transaction(30)
            second.commit_transaction(30)
        else:
            second.abort_transaction(30)
            first.commit_transaction(30)
    end = topic.end()
    assert end is not None
    wait_until_stable(topic, end)
    yield topic
    del plain, producers


def expected_of_mixed() -> list[str]:
    return [
        f"{who} {turn} {step}"
        for turn in range(4)
        for step in range(3)
        for who in (("second", "plain") if turn % 2 else ("first", "plain"))
    ]


@pytest.mark.parametrize("reader", TWINS, ids=["chosen", "twin"])
def test_aborted_transactions_are_left_out(mixed: Topic, reader: type[codec.RecordReader]) -> None:
    fetched = mixed.fetch(isolation=READ_COMMITTED)

    records = reader(fetched.records, mixed.name, 0, aborted=fetched.aborted).read()

    assert len(fetched.aborted) == 4
    assert [(each.value or b"").decode() for each in records] == expected_of_mixed()


def test_others_see_the_same_committed_records(kafka: Cluster, mixed: Topic) -> None:
    ours = [(each.offset, Written.of(each)) for each in committed(mixed)]

    assert peer.read_by_confluent(kafka, mixed.name, [0], len(ours))[0] == ours
    assert peer.read_by_aiokafka(kafka, mixed.name, [0], len(ours))[0] == ours


def test_who_reads_uncommitted_records_sees_all_of_them(mixed: Topic) -> None:
    records = FetchedBatch(mixed.fetch().records, mixed.name, 0).records

    assert len(records) == 4 * 3 * 3
    assert sorted(markers(mixed)) == [ABORT] * 4 + [COMMIT] * 4


def test_the_files_of_transactions_are_read_with_their_markers(
    kafka: Cluster, mixed: Topic
) -> None:
    log = b"".join(file.read_bytes() for file in kafka.segments(mixed.name))
    headers = list(verify(log))
    reader = codec.RecordReader(log, mixed.name, 0)
    records = reader.read()

    assert sum(header.is_control for header in headers) == 8
    assert sum(header.is_transactional for header in headers) == 24 + 8
    assert len(records) == 36
    assert reader.next_offset == 44 == mixed.end()


def test_the_metadata_log_of_the_controller_is_read(kafka: Cluster) -> None:
    data = kafka.segments("__cluster_metadata")[0].read_bytes()
    reader = codec.RecordReader(data, control_records=True)
    records = reader.read()
    first_batch = read_header(data)

    assert first_batch.is_control
    assert reader.is_done
    assert len(records) == sum(header.record_count for header in verify(data))
    assert records[0].key is not None
    assert records[0].value is not None
    assert decode(ControlRecordTypeSchema, records[0].key, 0, start=2).type == LEADER_CHANGE
    message = decode(LeaderChangeMessage, records[0].value, int(records[0].value[1]), start=0)
    assert message.leader_id == 1
    assert [each.voter_id for each in message.voters] == [1]
