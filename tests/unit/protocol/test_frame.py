from __future__ import annotations

import pytest

from kafka_aio.errors import ProtocolError, UnsupportedVersion
from kafka_aio.protocol.codec import decode, encode
from kafka_aio.protocol.frame import (
    correlation_id_of,
    decode_request_head,
    decode_response,
    encode_request,
    encode_response,
)
from kafka_aio.protocol.messages import for_key
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_aio.protocol.messages.groups import HeartbeatRequest, HeartbeatResponse
from kafka_aio.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")


@pytest.mark.parametrize(
    ("version", "header"),
    [
        (3, "000c 0003 00000007 0002 6d65"),
        (4, "000c 0004 00000007 0002 6d65 00"),  # the tagged section; the client id stays as it was
    ],
)
def test_a_request_frame_is_length_header_and_body(version: int, header: str) -> None:
    frame = b"".join(encode_request(HEARTBEAT, version, correlation_id=7, client_id="me"))

    content = bytes.fromhex(header) + encode(HEARTBEAT, version)
    assert frame == len(content).to_bytes(4, "big") + content


def test_a_client_may_have_no_id() -> None:
    frame = b"".join(encode_request(HEARTBEAT, 3, correlation_id=7, client_id=None))

    assert frame[12:14] == b"\xff\xff"


@pytest.mark.parametrize("version", [3, 4])
def test_a_broker_reads_the_head_and_then_the_body(version: int) -> None:
    frame = b"".join(encode_request(HEARTBEAT, version, correlation_id=7, client_id="me"))[4:]

    head = decode_request_head(frame)

    assert head.cls is HeartbeatRequest
    assert head.header.client_id == "me"
    assert head.header.correlation_id == 7
    assert head.header.request_api_version == version
    assert decode(head.cls, frame, version, start=head.body) == HEARTBEAT


def test_the_head_of_a_version_that_we_do_not_speak_can_be_read() -> None:
    frame = bytes.fromhex("0012 0063 00000007 0002 6d65 00") + b"what ever"

    head = decode_request_head(frame)

    assert head.cls is ApiVersionsRequest
    assert head.header.request_api_version == 99
    assert head.body == 13


@pytest.mark.parametrize(("version", "header"), [(3, "00000007"), (4, "00000007 00")])
def test_a_response_frame_is_length_header_and_body(version: int, header: str) -> None:
    response = HeartbeatResponse(error_code=27, throttle_time_ms=5)

    frame = b"".join(encode_response(HeartbeatRequest, response, version, correlation_id=7))

    content = bytes.fromhex(header) + encode(response, version)
    assert frame == len(content).to_bytes(4, "big") + content
    assert correlation_id_of(frame[4:]) == 7
    assert decode_response(HeartbeatRequest, frame[4:], version) == response


def test_the_answer_to_api_versions_has_the_old_header_in_every_version() -> None:
    response = ApiVersionsResponse(error_code=0, api_keys=[])

    for version in range(5):
        frame = b"".join(encode_response(ApiVersionsRequest, response, version, correlation_id=7))

        assert frame[8:] == encode(response, version)
        assert decode_response(ApiVersionsRequest, frame[4:], version) == response


def test_the_payload_of_a_request_is_not_copied() -> None:
    records = bytes(100_000)
    partition = PartitionProduceData(index=0, records=records)
    topic = TopicProduceData(name="orders", partition_data=[partition])
    request = ProduceRequest(transactional_id=None, acks=1, timeout_ms=1, topic_data=[topic])

    buffers = encode_request(request, 9, correlation_id=1, client_id="me")

    assert buffers[1] is records
    assert int.from_bytes(buffers[0][:4], "big") == sum(map(len, buffers)) - 4


def test_a_frame_too_short_for_its_head_is_an_error() -> None:
    with pytest.raises(ProtocolError, match="response of 3 bytes"):
        correlation_id_of(b"123")
    with pytest.raises(ProtocolError, match="request of 3 bytes"):
        decode_request_head(b"123")
    with pytest.raises(ProtocolError, match="RequestHeader v1: correlation_id: 4 bytes missing"):
        decode_request_head(bytes.fromhex("000c 0000"))


def test_an_unknown_key_is_an_error() -> None:
    with pytest.raises(UnsupportedVersion, match="API key 999: we do not know it"):
        for_key(999)
