from __future__ import annotations

from array import array
from typing import Any

import pytest

from kafka_aio.errors import ProtocolError, UnsupportedVersion
from kafka_aio.protocol.codec import decode, decode_from, encode, encode_buffers
from kafka_aio.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_aio.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_aio.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_aio.protocol.schema import (
    NO_UUID,
    Buffer,
    Int8,
    Int16,
    Int32,
    String,
    Uuid,
    data,
    message,
    since,
    tagged,
    until,
)


@message
class Inner:
    number: Int16
    late: Int32 = since(2, default=-1)


@data(versions=(1, 4), flexible=3)
class Outer:
    items: list[Inner]
    dropped: Int8 = since(2, default=7, ignorable=True)
    gone: String = until(2, default="")
    id: Uuid = since(3, default=NO_UUID)
    late_null: String | None = since(2, default="", nullable=3)
    extra: Inner = tagged(0, since=4, default=Inner(number=0))


def fetch(**changes: Any) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=5, partition_max_bytes=9, **changes)
    return FetchRequest(
        max_wait_ms=1, min_bytes=1, topics=[FetchTopic(topic="orders", partitions=[partition])]
    )


def test_an_ignorable_value_is_dropped_where_a_version_lacks_the_field() -> None:
    received = decode(Outer, encode(Outer(items=[], dropped=1), 1), 1)

    assert received.dropped == 7


@pytest.mark.parametrize(
    ("sent", "version", "text"),
    [
        (Outer(items=[Inner(number=1, late=0)]), 1, "Outer v1: items.late"),
        (Outer(items=[], gone="x"), 3, "Outer v3: gone"),
        (Outer(items=[], id=Uuid(bytes(range(16)))), 2, "Outer v2: id"),
        (Outer(items=[], extra=Inner(number=1)), 3, "Outer v3: extra"),
        (fetch(last_fetched_epoch=3), 11, "FetchRequest v11: topics.partitions.last_fetched_epoch"),
    ],
)
def test_a_value_with_no_place_in_the_version_is_an_error(
    sent: object, version: int, text: str
) -> None:
    with pytest.raises(UnsupportedVersion) as refused:
        encode(sent, version)

    assert str(refused.value) == f"{text}: this version has no such field"


def test_null_is_an_error_in_a_version_that_does_not_allow_it_yet() -> None:
    sent = Outer(items=[], late_null=None)

    with pytest.raises(UnsupportedVersion) as refused:
        encode(sent, 2)

    assert str(refused.value) == "Outer v2: late_null: null is not legal in this version"
    assert decode(Outer, encode(sent, 3), 3) == sent


@pytest.mark.parametrize("version", [0, 5])
def test_a_version_that_was_not_declared_is_an_error_both_ways(version: int) -> None:
    with pytest.raises(UnsupportedVersion, match=f"Outer v{version}: we speak versions 1 to 4"):
        encode(Outer(items=[]), version)
    with pytest.raises(UnsupportedVersion, match=f"Outer v{version}: we speak versions 1 to 4"):
        decode(Outer, b"", version)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (fetch(current_leader_epoch=2**31), "current_leader_epoch: 2147483648 is not a int32"),
        (fetch(current_leader_epoch="x"), "current_leader_epoch: 'x' is not a int32"),
        (fetch(current_leader_epoch=None), "current_leader_epoch: null where a value must be"),
    ],
)
def test_a_value_that_does_not_fit_names_its_field(wrong: FetchRequest, text: str) -> None:
    with pytest.raises(ValueError, match="FetchRequest") as refused:
        encode(wrong, 12)

    assert str(refused.value) == f"FetchRequest v12: topics[0].partitions[0].{text}"


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("topics", 5, "topics: int where a list must be"),
        ("topics", [Inner(number=1)], "topics[0]: Inner where FetchTopic must be"),
        ("topics", [FetchTopic(topic="x" * 32768, partitions=[])], "topics[0].topic: string of"),
        (
            "topics",
            [FetchTopic(topic="\ud800", partitions=[])],
            "topics[0].topic: not to be had in UTF-8",
        ),
        ("rack_id", b"x", "rack_id: bytes is not a string"),
    ],
)
def test_a_value_of_the_wrong_type_names_its_field(field: str, value: Any, text: str) -> None:
    arguments: dict[str, Any] = {"max_wait_ms": 1, "min_bytes": 1, "topics": [], field: value}
    wrong = FetchRequest(**arguments)

    with pytest.raises(ValueError, match="FetchRequest") as refused:
        encode(wrong, 11)

    assert str(refused.value).startswith(f"FetchRequest v11: {text}")


@pytest.mark.parametrize("size", [0, 15, 17])
def test_an_id_of_another_length_than_16_is_never_padded_or_cut(size: int) -> None:
    wrong = MetadataRequest(topics=[MetadataRequestTopic(topic_id=Uuid(bytes(size)), name=None)])

    with pytest.raises(ValueError, match=r"topics\[0\].topic_id: an id has 16 bytes"):
        encode(wrong, 12)


def test_a_default_is_not_sent_in_the_tagged_section() -> None:
    assert encode(Outer(items=[]), 4) == encode(Outer(items=[]), 3)
    assert encode(Outer(items=[], extra=Inner(number=1)), 4) != encode(Outer(items=[]), 4)


def test_large_payloads_are_handed_over_as_they_are() -> None:
    large, small = bytearray(5000), b"small"
    payloads: list[Buffer] = [large, small, memoryview(large)]
    partitions = [
        PartitionProduceData(index=index, records=records) for index, records in enumerate(payloads)
    ]
    sent = ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout_ms=1,
        topic_data=[TopicProduceData(name="orders", partition_data=partitions)],
    )

    buffers = encode_buffers(sent, 9)

    assert len(buffers) == 5
    assert buffers[1] is large
    assert buffers[3] is payloads[2]
    assert b"".join(buffers) == encode(sent, 9)


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        ("text", "str is not bytes"),
        (memoryview(array("i", [1, 2])), "a view of items of 4 bytes is not bytes"),
    ],
)
def test_a_payload_must_be_bytes(payload: Any, text: str) -> None:
    topic = TopicProduceData(
        name="orders", partition_data=[PartitionProduceData(index=0, records=payload)]
    )
    sent = ProduceRequest(transactional_id=None, acks=1, timeout_ms=1, topic_data=[topic])

    with pytest.raises(ValueError, match="ProduceRequest") as refused:
        encode(sent, 9)

    place = "topic_data[0].partition_data[0].records"
    assert str(refused.value) == f"ProduceRequest v9: {place}: {text}"


def test_a_message_without_payload_is_one_buffer() -> None:
    assert encode_buffers(fetch(), 12) == [encode(fetch(), 12)]


def test_decoding_can_begin_inside_a_buffer_and_stop_before_its_end() -> None:
    sent = encode(fetch(), 12)

    assert decode_from(FetchRequest, b"ab" + sent + b"cd", 12, 2) == (fetch(), 2 + len(sent))
    assert decode(FetchRequest, b"ab" + sent, 12, start=2) == fetch()


def test_what_is_not_a_message_cannot_be_sent() -> None:
    with pytest.raises(TypeError, match="int is not a message"):
        encode(5, 0)


def test_a_value_that_cannot_be_sent_is_not_kept_in_the_error() -> None:
    request = FetchRequest(
        max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic="hunter2\ud800", partitions=[])]
    )

    with pytest.raises(ValueError, match="lone surrogate") as refused:
        encode(request, 12)
    assert refused.value.__context__ is None
    assert refused.value.__cause__ is None


def test_a_fault_behind_many_good_items_is_named() -> None:
    topics = [MetadataRequestTopic(name=f"topic-{number:03}") for number in range(1000)]
    data = encode(MetadataRequest(topics=topics), 9).replace(b"topic-777", b"topic-77\xff")

    with pytest.raises(ProtocolError, match=r"topics\[777\]\.name: not UTF-8"):
        decode(MetadataRequest, data, 9)
