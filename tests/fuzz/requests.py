"""Streams of requests for a live broker: broken, absurd, or right, all from one seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from kafka_aio.broker.api import SERVED
from kafka_aio.protocol.frame import encode_request
from kafka_aio.protocol.layout import Layout, Part, layout_of
from kafka_aio.protocol.messages import for_key
from kafka_aio.protocol.schema import Array, Request, Scalar, Sized, Struct, schema_of
from kafka_aio.records.codec import BatchBuilder
from kafka_aio.records.layout import ProducerStamp
from tests.fuzz.mutation import mutate

APIS: Sequence[tuple[type[Request[Any]], int]] = [
    (cls, version)
    for cls in map(for_key, SERVED)
    for first, last in [schema_of(cls).stable_versions]
    for version in range(first, last + 1)
]
"""Every class and version that is served."""

_MOST = {"int8": 2**7 - 1, "int16": 2**15 - 1, "int32": 2**31 - 1, "int64": 2**63 - 1}
_MOST |= {"uint16": 2**16 - 1, "uint32": 2**32 - 1}
_SMALL = (0, 0, 0, 1, 1, -1, -1, 2, 3, 5, 7, 100, 500, 1000, 6000)
_TOPICS = ("t", "t", "t", "u", "nope", "__consumer_offsets", "", ".", "é", "a b", "x" * 249)
_GROUPS = ("g", "g", "h", "", "é", "k" * 10_000)
_MEMBERS = ("", "", "m", "n", "m" * 5_000)
_PATTERNS = (
    "t.*",
    "(a+)+$",
    "(x|x)*y",
    "(x+x+)+y",
    "(((x{10}){10}){10})",
    "x*" * 400 + "y",
    "(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)z",
    "[",
    "(?P<",
    "(" * 500,
    "x{1000}{1000}",
    "\\",
)
_WORDS = (
    *("", "text", "range", "uniform", "consumer", "roundrobin", "read_committed", "PLAIN"),
    *("SCRAM-SHA-256", "retention.bytes", "cleanup.policy", "segment.bytes", "-1", "0", "compact"),
    *("9" * 40, "\0", "é" * 1_000, "max.message.bytes", "log.retention.bytes", "1", "2", "User:*"),
)


def _batches() -> list[bytes]:
    made = []
    for stamp in (ProducerStamp(), ProducerStamp(0, 0, 0), ProducerStamp(5, 1, 2**31 - 1)):
        for values in ([b"x"], [b"v" * 100] * 50, [b"v" * 20_000]):
            builder = BatchBuilder(2**20)
            for value in values:
                builder.append(b"key", value, 1_700_000_000_000)
            made.append(bytes(builder.finish(stamp=stamp)))
    return made


class Requests:
    """Makes what one client sends."""

    def __init__(self, ids: Sequence[bytes] = ()) -> None:
        """Prepare.

        Args:
            ids: Those of topics that exist.
        """
        self._ids = [*ids, bytes(16), bytes(range(16))]
        self._batches = _batches()
        self._many = False
        """Whether what is made is to be repeated: then it is small."""

    def stream(self, rng: random.Random) -> bytes:
        """What is written to one connection, before it is closed or left as it is."""
        kind = rng.random()
        if kind < 0.05:
            return rng.randbytes(rng.randrange(300))
        frames = [self._frame(rng) for _ in range(rng.choice((1, 1, 1, 2, 3, 8)))]
        if kind < 0.12:  # a nonsense length, or half of a frame
            frames.append(
                rng.choice((0, 1, 2**31 - 1, -1, -(2**31), 100 << 20)).to_bytes(
                    4, "big", signed=True
                )
            )
        elif kind < 0.2:
            frames[-1] = frames[-1][: rng.randrange(len(frames[-1]))]
        return b"".join(frames)

    def _frame(self, rng: random.Random) -> bytes:
        cls, version = rng.choice(APIS)
        body = self._message(rng, layout_of(cls, version), 0)
        client_id = rng.choice(("fuzz", "", None, "c" * 30_000))
        encoded = encode_request(
            body, version, correlation_id=rng.randrange(2**31), client_id=client_id
        )
        frame = b"".join(encoded)
        if rng.random() < 0.5:
            return frame
        broken = mutate(rng, frame[4:], frame)
        return len(broken).to_bytes(4, "big") + broken

    def _message(self, rng: random.Random, layout: Layout, depth: int) -> Any:
        parts = (*layout.fields, *layout.tagged)
        return layout.cls(**{part.name: self._value(rng, part, depth) for part in parts})

    def _value(self, rng: random.Random, part: Part, depth: int) -> object:
        if part.nullable and rng.random() < 0.15:
            return None
        if not isinstance(part.type, Array):
            return self._item(rng, part, part.type, depth)
        count = rng.choice((0, 1, 1, 1, 2, 3))
        if not self._many and rng.random() < 0.01:
            self._many = True
            items = [self._item(rng, part, part.type.item, depth + 1) for _ in range(10)]
            self._many = False
            return items * rng.choice((1, 10, 200))
        return [self._item(rng, part, part.type.item, depth + 1) for _ in range(count)]

    def _item(
        self, rng: random.Random, part: Part, wire: Scalar | Sized | Struct, depth: int
    ) -> object:
        if isinstance(wire, Struct):
            assert part.struct is not None
            return self._message(rng, part.struct, depth + 1)
        made = _MAKERS.get(wire.name, Requests._number)(self, rng, part, wire)
        return made[:250] if self._many and isinstance(made, str | bytes) else made

    def _number(self, rng: random.Random, part: Part, wire: Any) -> int:
        most = _MOST[wire.name]
        least = 0 if wire.name.startswith("u") else -most - 1
        if rng.random() < 0.1:
            return rng.choice((most, least, most - 1, least + 1))
        if part.name.endswith("type") and rng.random() < 0.8:
            return rng.choice((2, 4, 32, 1, 0, 3))
        return min(max(rng.choice(_SMALL), least), most)

    def _text(self, rng: random.Random, part: Part, wire: Any) -> str:
        name = part.name
        if "regex" in name or "pattern" in name:
            return rng.choice(_PATTERNS)
        if rng.random() < 0.02:
            return f"n{rng.randrange(10**6)}"  # one more topic, group, member
        if "group" in name:
            return rng.choice(_GROUPS)
        if "member" in name or "instance" in name:
            return rng.choice(_MEMBERS)
        if "topic" in name or rng.random() < 0.4:
            return rng.choice(_TOPICS)
        return rng.choice((*_WORDS, *_GROUPS[:2], *_MEMBERS[:3]))

    def _bytes(self, rng: random.Random, part: Part, wire: Any) -> bytes:
        kind = rng.random()
        if wire.name == "records" or kind < 0.2:
            batch = rng.choice(self._batches)
            return batch if kind < 0.7 else bytes(mutate(rng, batch, rng.choice(self._batches)))
        return rng.choice((b"", b"\0a\0b", rng.randbytes(30), bytes(20_000)))

    def _bool(self, rng: random.Random, part: Part, wire: Any) -> bool:
        return rng.random() < 0.5

    def _float(self, rng: random.Random, part: Part, wire: Any) -> float:
        return rng.choice((0.0, -1.0, 1e300, float("inf"), float("nan")))

    def _uuid(self, rng: random.Random, part: Part, wire: Any) -> bytes:
        return rng.choice(self._ids)


_Maker = Callable[[Requests, random.Random, Part, Any], object]
_MAKERS: dict[str, _Maker] = {
    "bool": Requests._bool,
    "float64": Requests._float,
    "uuid": Requests._uuid,
    "string": Requests._text,
    "bytes": Requests._bytes,
    "records": Requests._bytes,
}
