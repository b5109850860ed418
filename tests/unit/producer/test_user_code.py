from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from kafka_aio.errors import ConfigError, SerializationError
from kafka_aio.producer.record import ProducerRecord
from kafka_aio.producer.user_code import UserCode

RECORD = ProducerRecord("t", {"a": 1}, "key")


class Adds:
    """Makes the key longer."""

    def __init__(self, text: str) -> None:
        self._text = text

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        return record._replace(key=record.key + self._text)


class Gives:
    """Gives something else than a record."""

    def on_send(self, record: ProducerRecord) -> Any:
        return None


class Fails:
    """Raises."""

    def on_send(self, record: ProducerRecord) -> Any:
        raise ZeroDivisionError("mine")


async def test_interceptors_see_the_record_one_after_the_other() -> None:
    code = UserCode(interceptors=[Adds("1"), Gives(), object(), Adds("2")])

    assert code.intercepted(RECORD).key == "key12"


async def test_one_that_raises_is_passed_over_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    code = UserCode(interceptors=[Adds("1"), Fails(), Adds("2")])
    changed = code.intercepted(RECORD)
    (logged,) = [each for each in caplog.records if each.name.startswith("kafka_aio")]

    assert changed.key == "key12"
    assert logged.levelno == logging.ERROR
    assert logged.getMessage() == "Fails.on_send raised"
    assert logged.exc_info is not None
    assert logged.exc_info[0] is ZeroDivisionError


@pytest.mark.parametrize("error", [KeyboardInterrupt, asyncio.CancelledError])
async def test_what_ends_the_program_is_not_held_back(error: type[BaseException]) -> None:
    class Ends:
        """Ends it."""

        def on_send(self, record: ProducerRecord) -> Any:
            raise error

    with pytest.raises(error):
        UserCode(interceptors=[Ends()]).intercepted(RECORD)


async def test_serializers_make_bytes_of_key_and_value() -> None:
    code = UserCode(key_serializer=str.encode, value_serializer=lambda value: b"%d" % value["a"])

    assert code.serialized(RECORD) == ProducerRecord("t", b"1", b"key")


async def test_a_serializer_decides_what_none_is() -> None:
    code = UserCode(value_serializer=lambda value: b"null" if value is None else value)

    assert code.serialized(ProducerRecord("t")).value == b"null"
    assert code.serialized(ProducerRecord("t")).key is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"key_serializer": lambda key: key["x"]}, "the key of a record for topic 't' cannot be"),
        ({"value_serializer": lambda value: value.x}, "the value of a record for topic 't' cannot"),
        ({"key_serializer": lambda key: 5}, "the key serializer gave <int> for topic 't': it has"),
        ({"value_serializer": lambda value: "x"}, "the value serializer gave <str> for topic 't'"),
    ],
)
async def test_a_serializer_that_fails_is_an_error_that_says_which(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(SerializationError, match=words):
        UserCode(**options).serialized(RECORD)


async def test_an_error_of_ours_stays_what_it_is() -> None:
    def refuse(value: object) -> bytes:
        raise ConfigError("no schema")

    with pytest.raises(ConfigError, match="no schema"):
        UserCode(value_serializer=refuse).serialized(RECORD)


async def test_a_partitioner_chooses_where_no_partition_is_given() -> None:
    code = UserCode(partitioner=lambda record, partitions: partitions - 1)

    assert code.placed(RECORD, 4).partition == 3
    assert code.placed(RECORD._replace(partition=0), 4).partition == 0
    assert UserCode().placed(RECORD, 4).partition is None


@pytest.mark.parametrize("wrong", [4, -1, None, 1.0, True, "0"])
async def test_one_that_chooses_none_of_them_is_an_error(wrong: Any) -> None:
    with pytest.raises(ValueError, match=f"the partitioner chose {wrong!r} for topic 't', which"):
        UserCode(partitioner=lambda record, partitions: wrong).placed(RECORD, 4)


async def test_a_callback_is_called_in_a_later_turn_and_may_raise(
    caplog: pytest.LogCaptureFixture,
) -> None:
    called: list[object] = []

    def fails(value: object) -> None:
        called.append(value)
        raise ZeroDivisionError

    code = UserCode()
    code.call_soon(fails, 1)
    code.call_soon(called.append, 2)
    were_called = list(called)
    await asyncio.sleep(0)

    assert were_called == []
    assert called == [1, 2]
    assert "fails raised" in caplog.text


@pytest.mark.parametrize(
    "options",
    [
        {"key_serializer": str.encode},
        {"value_serializer": str.encode},
        {"partitioner": lambda record, partitions: 0},
        {"interceptors": [Gives()]},
    ],
)
async def test_it_knows_whether_a_record_has_to_go_through_any(options: dict[str, Any]) -> None:
    assert UserCode(interceptors=[object()]).is_absent
    assert not UserCode(**options).is_absent
