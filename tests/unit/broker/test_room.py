from __future__ import annotations

from kafka_aio.broker.room import Room, bytes_of


def test_there_is_room_up_to_the_limit() -> None:
    room = Room(100)
    room.take(60)

    assert [room.has(40), room.has(41)] == [True, False]


def test_what_is_given_back_can_be_taken_again() -> None:
    room = Room(100)
    room.take(100)
    room.take(-30)

    assert [room.has(30), room.has(31)] == [True, False]


def test_what_does_not_grow_fits_even_if_too_much_is_kept() -> None:
    room = Room(100)
    room.take(150)

    assert [room.has(-1), room.has(0), room.has(1)] == [True, True, False]


def test_texts_take_what_they_are_long_and_nothing_takes_little() -> None:
    assert bytes_of("a" * 1_000, b"b" * 1_000) > 2_000
    assert bytes_of(None) < 100
