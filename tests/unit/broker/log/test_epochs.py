from __future__ import annotations

from kafka_aio.broker.log.epochs import Epochs


def begun(*pairs: tuple[int, int]) -> Epochs:
    epochs = Epochs()
    for epoch, offset in pairs:
        epochs.begin(epoch, offset)
    return epochs


def test_an_epoch_ends_where_the_next_one_begins() -> None:
    epochs = begun((0, 0), (2, 10), (5, 30))

    assert epochs.end_of(0, 50) == (0, 10)
    assert epochs.end_of(2, 50) == (2, 30)


def test_the_last_epoch_ends_where_the_log_does() -> None:
    assert begun((0, 0), (2, 10)).end_of(2, 50) == (2, 50)


def test_an_epoch_without_records_is_answered_by_the_one_before() -> None:
    assert begun((0, 0), (2, 10), (5, 30)).end_of(3, 50) == (2, 30)


def test_an_epoch_before_the_first_ended_where_that_begins() -> None:
    epochs = begun((3, 10))

    assert epochs.end_of(1, 50) == (1, 10)
    assert epochs.end_of(-2, 50) == (-2, 10)


def test_nothing_is_known_of_epochs_to_come_nor_of_none() -> None:
    epochs = begun((0, 0))

    assert epochs.end_of(1, 50) == (-1, -1)
    assert epochs.end_of(-1, 50) == (-1, -1)
    assert Epochs().end_of(0, 0) == (-1, -1)


def test_an_epoch_in_which_nothing_was_written_is_replaced() -> None:
    epochs = begun((0, 0), (1, 10), (2, 10))

    assert epochs.end_of(1, 50) == (0, 10)
    assert epochs.at(10) == 2


def test_a_record_has_the_epoch_that_began_before_it() -> None:
    epochs = begun((0, 0), (2, 10))

    assert [epochs.at(offset) for offset in (0, 9, 10, 99)] == [0, 0, 2, 2]


def test_there_is_no_epoch_before_the_first() -> None:
    assert begun((2, 10)).at(9) == -1
    assert Epochs().latest == -1


def test_what_began_after_the_new_end_is_forgotten() -> None:
    epochs = begun((0, 0), (1, 10), (2, 20))

    epochs.truncate(10)

    assert epochs.latest == 0
    assert epochs.end_of(1, 10) == (-1, -1)


def test_the_first_epoch_begins_where_the_log_does() -> None:
    epochs = begun((0, 0), (1, 10), (2, 20))

    epochs.forget_before(15)

    assert epochs.at(15) == 1
    assert epochs.end_of(0, 30) == (0, 15)
    assert epochs.end_of(1, 30) == (1, 20)


def test_nothing_is_forgotten_by_a_start_before_the_first() -> None:
    epochs = begun((1, 10))

    epochs.forget_before(5)

    assert epochs.at(10) == 1
