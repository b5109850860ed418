from __future__ import annotations

import pytest

from kafka_aio.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse
from kafka_aio.protocol.messages.produce import PartitionProduceData
from kafka_aio.protocol.messages.sasl import SaslAuthenticateRequest
from kafka_aio.protocol.messages.scram import ScramCredentialUpsertion
from kafka_aio.protocol.schema import (
    NO_UUID,
    Int32,
    String,
    Uuid,
    data,
    keep_unknown_tags,
    response_of,
    schema_of,
    since,
    unknown_tags,
    uuid_from_text,
    uuid_text,
)


@data(versions=(0, 3), flexible=3)
class Example:
    number: Int32
    names: list[String] = since(1, default=[])
    maybe: list[Int32] | None = since(2, default=[])


def test_a_field_without_a_default_must_be_given() -> None:
    with pytest.raises(TypeError, match="number"):
        Example()  # type: ignore[call-arg]


def test_fields_are_given_by_name_only() -> None:
    with pytest.raises(TypeError):
        Example(1)  # type: ignore[call-arg]


def test_a_type_checker_knows_the_fields_and_that_they_are_not_to_be_changed() -> None:
    wrong = Example(number="x")  # type: ignore[arg-type]
    wrong.number = 2  # type: ignore[misc]

    assert wrong == Example(number=2)


def test_messages_do_not_share_their_lists() -> None:
    first, second = Example(number=1), Example(number=1)

    first.names.append("mine")

    assert second.names == []


def test_null_can_be_given_where_the_default_is_an_empty_list() -> None:
    assert Example(number=1, maybe=None).maybe is None
    assert Example(number=1).maybe == []


def test_messages_are_equal_when_their_fields_and_unknown_tags_are() -> None:
    message, same, other = Example(number=1), Example(number=1), Example(number=2)

    assert message == same
    assert message != other
    keep_unknown_tags(same, {7: b"x"})
    assert message != same
    assert message != Uuid(b"")  # type: ignore[comparison-overlap]


def test_unknown_tags_are_kept_in_order_and_can_be_taken_away() -> None:
    message = Example(number=1)

    keep_unknown_tags(message, {9: b"nine", 7: b"seven"})

    assert list(unknown_tags(message)) == [7, 9]
    keep_unknown_tags(message, {})
    assert message == Example(number=1)


def test_a_message_has_slots_and_no_dictionary() -> None:
    with pytest.raises(AttributeError):
        Example(number=1).nmber = 2  # type: ignore[attr-defined]


def test_repr_is_what_one_would_write() -> None:
    message = Example(number=1, names=["a"])

    assert repr(message) == "Example(number=1, names=['a'], maybe=[])"
    keep_unknown_tags(message, {7: b"x"})
    assert repr(message).endswith("maybe=[], bytes_of_unknown_tags={7: 1})")


def test_repr_shows_records_by_their_size() -> None:
    data = PartitionProduceData(index=0, records=bytes(13_000))

    assert repr(data) == "PartitionProduceData(index=0, records=<13,000 bytes>)"


@pytest.mark.parametrize("tag", [-1, 0])
def test_a_tag_that_is_negative_or_declared_is_not_unknown(tag: int) -> None:
    message = FetchResponse(throttle_time_ms=0, responses=[])

    with pytest.raises(ValueError, match=f"FetchResponse: tag {tag} is not an unknown one"):
        keep_unknown_tags(message, {tag: b"x"})


def test_repr_does_not_tell_secrets() -> None:
    token = SaslAuthenticateRequest(auth_bytes=b"\0user\0hunter2")
    user = ScramCredentialUpsertion(
        name="user", mechanism=1, iterations=4096, salt=b"salty", salted_password=b"hunter2"
    )

    assert repr(token) == "SaslAuthenticateRequest(auth_bytes=***)"
    assert "hunter2" not in repr(user)
    assert "salty" not in repr(user)


def test_a_request_knows_its_response() -> None:
    assert response_of(FetchRequest) is FetchResponse


def test_a_schema_tells_what_was_declared() -> None:
    schema = schema_of(FetchRequest)

    assert repr(schema) == "<Schema FetchRequest request v4-18>"
    assert schema.stable_versions == (4, 18)
    assert (schema.is_flexible(11), schema.is_flexible(12)) == (False, True)


def test_what_is_not_a_message_has_no_schema() -> None:
    with pytest.raises(TypeError, match="int is not a message"):
        schema_of(int)


def test_structs_declare_fields_too() -> None:
    names = [field.name for field in schema_of(FetchPartition).fields]

    assert names[:3] == ["partition", "current_leader_epoch", "fetch_offset"]


def test_an_id_has_the_text_that_kafka_prints() -> None:
    uuid = Uuid(bytes.fromhex("6ba7b8109dad11d180b400c04fd430c8"))

    assert uuid_text(uuid) == "a6e4EJ2tEdGAtADAT9QwyA"
    assert uuid_from_text("a6e4EJ2tEdGAtADAT9QwyA") == uuid
    assert uuid_text(NO_UUID) == "AAAAAAAAAAAAAAAAAAAAAA"


@pytest.mark.parametrize(
    "text", ["", "short", "a6e4EJ2tEdGAtADAT9QwyAAA", "a6e4EJ2tEdG!tADAT9Qwy!", "é" * 22]
)
def test_other_texts_are_not_ids(text: str) -> None:
    with pytest.raises(ValueError, match=r"base64|ASCII"):
        uuid_from_text(text)
