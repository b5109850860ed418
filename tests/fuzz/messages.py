"""Messages of every API and version, for the decoder in use and its twin."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from kafka_aio.errors import ProtocolError
from kafka_aio.protocol import _reader_py, frame
from kafka_aio.protocol.codec import decode, encode
from kafka_aio.protocol.layout import Reader, layout_of
from tests.fuzz.mutation import mutate
from tests.unit.protocol.samples import VERSIONS, full_message


class Messages:
    """The decoder of messages, and that of the head of a request."""

    name = "messages"

    def __init__(self) -> None:
        self._corpus = [encode(full_message(cls, version), version) for cls, version in VERSIONS]

    def make(self, rng: random.Random) -> bytes:
        """An input: two bytes that say which message, and the message."""
        number = rng.randrange(len(VERSIONS))
        return number.to_bytes(2, "big") + mutate(
            rng, self._corpus[number], rng.choice(self._corpus)
        )

    def run(self, given: bytes) -> None:
        """Decode it. Whatever is raised is a failure."""
        number, data = int.from_bytes(given[:2], "big") % len(VERSIONS), given[2:]
        cls, version = VERSIONS[number]
        message: Any = None
        try:
            message = decode(cls, data, version)
        except ProtocolError as error:
            str(error)
        assert _alike(_by_twin(cls, version, data), message), "the two decoders differ"
        if message is not None:
            # What was understood can be said, and is understood again.
            again: Any = decode(cls, encode(message, version), version)
            assert _alike(again, message), "not the same after a round"
        try:
            frame.decode_request_head(data)
        except ProtocolError as error:
            str(error)


@cache
def _twin(cls: type, version: int) -> Reader:
    return _reader_py.compile_reader(layout_of(cls, version))


def _by_twin(cls: type, version: int, data: bytes) -> object:
    """What the plain-Python decoder makes of it; None where it refuses."""
    try:
        message, stop = _twin(cls, version)(data, 0)
    except _reader_py.FAILURES:
        return None
    return message if stop == len(data) else None


def _alike(one: object, other: object) -> bool:
    """Equal, or alike but for a NaN, which is not equal to itself."""
    return one == other or repr(one) == repr(other)
