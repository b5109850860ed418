from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_aio.cli import produce_input
from kafka_aio.cli.consume_output import Form
from kafka_aio.producer import ProducerRecord
from kafka_aio.records.codec import Record

JSON = Form(is_json=True)


def record(
    value: bytes | None = b"v",
    key: bytes | None = b"k",
    headers: tuple[tuple[str, bytes | None], ...] = (),
    timestamp: int = 1_700,
) -> Record:
    return Record("t", 3, 7, timestamp, key, value, headers)


def test_a_value_is_written_as_it_is() -> None:
    records = [record(b"one"), record(b"\xff\x00"), record(b""), record(None)]

    assert Form().lines(records) == b"one\n\xff\x00\n\n\n"


def test_keys_and_headers_come_first_and_null_has_a_name() -> None:
    headers = (("a", b"1"), ("b", None))
    records = [record(b"v", b"k", headers), record(None, None)]

    assert Form(key_separator=b"\t").lines(records) == b"k\tv\n\t\n"
    assert Form(key_separator=b":", null_value=b"NULL").lines(records) == b"k:v\nNULL:NULL\n"
    assert Form(has_headers=True, null_value=b"-").lines(records) == b"a=1,b=-\tv\n\t-\n"
    assert Form(has_headers=True, key_separator=b":").lines(records[:1]) == b"a=1,b=\tk:v\n"


def test_a_line_of_json_has_all_that_a_record_has() -> None:
    line = JSON.lines([record("ä\n".encode(), b"\x00\xff", (("h", b"1"), ("h", None)))])

    assert line.decode() == (
        '{"topic":"t","partition":3,"offset":7,"timestamp":1700,"key":{"base64":"AP8="},'
        '"value":"ä\\n","headers":[["h","1"],["h",null]]}\n'
    )


def test_a_record_without_a_timestamp_has_null() -> None:
    assert json.loads(JSON.lines([record(timestamp=-1)]))["timestamp"] is None


DATA = st.none() | st.binary(max_size=20) | st.text(max_size=20).map(str.encode)


@given(DATA, DATA, st.lists(st.tuples(st.text(max_size=5), DATA), max_size=3), st.integers(0))
def test_what_is_written_as_json_is_read_back(
    value: bytes | None,
    key: bytes | None,
    headers: list[tuple[str, bytes | None]],
    timestamp: int,
) -> None:
    timestamp %= 2**63
    line = JSON.lines([record(value, key, tuple(headers), timestamp)])
    lines = produce_input.Lines(longest=10_000).cut(line)
    portion = produce_input.Form(topic="other", is_json=True).portion(lines, 1)

    assert portion.error is None
    assert portion.records == [
        ProducerRecord("t", value, key, 3, timestamp, tuple(headers) or None)
    ]


@pytest.mark.parametrize("is_json", [False, True])
def test_a_terminal_is_not_told_what_to_do(is_json: bool) -> None:
    evil = record("\x1b[2Jä\x9b\r\n".encode() + b"\xff", b"\x07", (("\x1b", b"\x1b"),))
    form = Form(is_json=is_json, key_separator=b"\t", has_headers=True, is_for_terminal=True)
    shown = form.lines([evil]).decode()

    assert shown.endswith("\n")
    assert all(part.isprintable() for part in shown[:-1].split("\t"))


def test_a_terminal_shows_what_can_be_read_and_tabs() -> None:
    form = Form(key_separator=b"\t", is_for_terminal=True)

    assert form.lines([record("ä\tb\n".encode(), b"\xff")]).decode() == "\\xff\tä\tb\\n\n"
    shown = Form(is_json=True, is_for_terminal=True).lines([record("ä".encode())])
    assert '"value":"ä"' in shown.decode()
