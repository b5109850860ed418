import uuid
from random import Random

import pytest

from kafka_aio.broker.groups.java import java_hash, order_in_hash_map, partition_of, random_uuid


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("my-group", 0x100000000 - 1906497762),
        ("polygenelubricants", 2**31),  # the negative number without a positive twin
        ("\U0001f600", 1772899),  # two units of UTF-16
    ],
)
def test_a_text_has_the_hash_that_java_gives_it(text: str, expected: int) -> None:
    assert java_hash(text) == expected


def test_the_partition_of_a_key_is_the_absolute_hash_modulo_their_number() -> None:
    assert partition_of("a", 50) == 97 % 50
    assert partition_of("my-group", 50) == 1906497762 % 50
    assert partition_of("polygenelubricants", 50) == 0


def test_a_small_hash_map_has_its_texts_in_the_order_that_java_has_them() -> None:
    texts = ["range", "roundrobin", "sticky", "cooperative-sticky", "a", "b"]

    assert sorted(texts, key=order_in_hash_map) == [
        "a",
        "b",
        "sticky",
        "range",
        "roundrobin",
        "cooperative-sticky",
    ]


def test_a_random_uuid_is_of_version_4_and_follows_the_seed() -> None:
    made = random_uuid(Random(1))

    assert uuid.UUID(made).version == 4
    assert str(uuid.UUID(made)) == made
    assert random_uuid(Random(1)) == made
