from __future__ import annotations

from random import Random

from kafka_aio.broker.nodes import new_id
from kafka_aio.protocol.schema import uuid_text


class Scripted(Random):
    """Gives these bytes first."""

    def __init__(self, *first: bytes) -> None:
        super().__init__(0)
        self._first = list(first)

    def randbytes(self, n: int) -> bytes:
        return self._first.pop(0) if self._first else super().randbytes(n)


def test_a_seed_gives_the_same_ids() -> None:
    one, other = Random(7), Random(7)

    assert [new_id(one), new_id(one)] == [new_id(other), new_id(other)]
    assert new_id(one) != new_id(one)


def test_an_id_is_never_one_of_the_reserved() -> None:
    made = new_id(Scripted(bytes(16)))

    assert int.from_bytes(made) > 1_000
    assert made == bytes.fromhex("00000000000040008000000000000000")


def test_the_text_of_an_id_never_looks_like_an_option() -> None:
    first = bytes.fromhex("fb" + "00" * 15)

    made = new_id(Scripted(first))

    assert made[0] != 0xFB
    assert not uuid_text(made).startswith("-")
