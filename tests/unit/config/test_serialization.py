from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kafka_aio import serialization
from tests.unit.config.conftest import Facts

SAMPLES: dict[str, Any] = {
    "string": "h\u00e9llo \U0001f600",
    "short": -2,
    "integer": -305419896,
    "long": 81985529216486895,
    "float": 1.5,
    "double": -2.25,
    "boolean": True,
    "uuid": UUID("00112233-4455-6677-8899-aabbccddeeff"),
}


@pytest.mark.parametrize("kind", SAMPLES)
def test_a_value_has_the_bytes_that_kafkas_serializer_gives_it(facts: Facts, kind: str) -> None:
    serialize = getattr(serialization, f"serialize_{kind}")

    assert serialize(SAMPLES[kind]).hex() == facts["serialized"][kind]


@pytest.mark.parametrize("kind", SAMPLES)
def test_a_value_comes_back_and_none_stays_none(kind: str) -> None:
    serialize = getattr(serialization, f"serialize_{kind}")
    deserialize = getattr(serialization, f"deserialize_{kind}")

    assert deserialize(serialize(SAMPLES[kind])) == SAMPLES[kind]
    assert serialize(None) is None
    assert deserialize(None) is None


def test_void_takes_none_only() -> None:
    with pytest.raises(ValueError, match="only None"):
        serialization.serialize_void("x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="without this part"):
        serialization.deserialize_void(b"x")


def test_a_boolean_of_another_byte_is_refused() -> None:
    with pytest.raises(ValueError, match="0 or 1"):
        serialization.deserialize_boolean(b"\x02")
