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


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("wrong", [[1], b"x", object()])
def test_a_value_of_another_type_is_refused_with_advice(kind: str, wrong: Any) -> None:
    with pytest.raises(TypeError, match="convert it first, or set another serializer"):
        getattr(serialization, f"serialize_{kind}")(wrong)


@pytest.mark.parametrize(
    ("kind", "wrong"), [("string", 5), ("integer", "x"), ("integer", 1.5), ("boolean", "false")]
)
def test_a_near_value_is_not_taken_for_the_right_one(kind: str, wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"serialize_{kind} takes .* or None, not a value"):
        getattr(serialization, f"serialize_{kind}")(wrong)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [("short", 2**15), ("integer", 2**31), ("long", -(2**63) - 1), ("float", 1e300)],
)
def test_a_number_that_does_not_fit_is_refused_with_advice(kind: str, wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"does not fit into . bytes: set another serializer"):
        getattr(serialization, f"serialize_{kind}")(wrong)


@pytest.mark.parametrize("kind", ["short", "integer", "long", "float", "double"])
def test_bytes_of_another_length_are_refused_with_advice(kind: str) -> None:
    with pytest.raises(ValueError, match="not 3: another serializer wrote it"):
        getattr(serialization, f"deserialize_{kind}")(b"abc")


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("wrong", [5, "x", [1]])
def test_what_is_not_bytes_is_not_deserialized(kind: str, wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"deserialize_{kind} takes bytes"):
        getattr(serialization, f"deserialize_{kind}")(wrong)


def test_bytes_that_are_no_text_or_uuid_are_refused_with_advice() -> None:
    for kind, data in (("string", b"\xff"), ("uuid", b"abc"), ("uuid", b"\xff")):
        with pytest.raises(ValueError, match="another serializer wrote it"):
            getattr(serialization, f"deserialize_{kind}")(data)


def test_a_view_of_bytes_is_deserialized_too() -> None:
    for kind, sample in SAMPLES.items():
        data = getattr(serialization, f"serialize_{kind}")(sample)

        assert getattr(serialization, f"deserialize_{kind}")(memoryview(data)) == sample
