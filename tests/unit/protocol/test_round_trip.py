from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_aio.protocol.codec import decode, encode, encode_buffers
from kafka_aio.protocol.schema import unknown_tags
from tests.unit.protocol.samples import decoders, every_version, full_message, messages_of


@every_version
@settings(max_examples=5)
@given(data=st.data())
def test_a_message_that_was_sent_is_received_as_it_was(
    cls: type, version: int, data: st.DataObject
) -> None:
    message = data.draw(messages_of(cls, version))

    sent = encode(message, version)

    assert b"".join(encode_buffers(message, version)) == sent
    for read in decoders(cls, version):
        assert read(sent, 0) == (message, len(sent))


@every_version
def test_a_message_with_every_field_set_survives_the_journey(cls: type, version: int) -> None:
    message: Any = full_message(cls, version)

    received: Any = decode(cls, b"before" + encode(message, version), version, start=6)

    assert received == message
    assert unknown_tags(received) == unknown_tags(message)
    assert encode(received, version) == encode(message, version)
