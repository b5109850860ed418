from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_aio.cli.produce_input import Form, Lines
from kafka_aio.producer import ProducerRecord

JSON = Form(topic="t", is_json=True)


def read(line: bytes, form: Form = JSON) -> ProducerRecord:
    (record,), _, error, _ = form.portion([line], 1)
    assert error is None
    assert isinstance(record, ProducerRecord)
    return record


def record(**fields: Any) -> ProducerRecord:
    return read(json.dumps({"value": None, **fields}).encode())


@given(st.lists(st.binary(max_size=20), max_size=20))
def test_lines_are_the_same_however_the_bytes_come(pieces: list[bytes]) -> None:
    lines = Lines(longest=1_000)
    found = [line for piece in pieces for line in lines.cut(piece)] + lines.end()

    whole = b"".join(pieces)
    assert b"\n".join(found) == whole.removesuffix(b"\n")
    assert lines.count == len(found) == whole.count(b"\n") + (whole[-1:] not in (b"", b"\n"))
    assert lines.end() == []


def test_a_line_without_an_end_in_sight_is_an_error() -> None:
    lines = Lines(longest=10)
    lines.cut(b"x" * 30 + b"\n" + b"y" * 10)
    assert lines.error() is None
    lines.cut(b"y")

    assert str(lines.error()) == "there is no newline in 11 bytes"


def test_plain_lines_are_values_as_they_are() -> None:
    lines = [b"", b"\xff\x00", b" a\r"]
    portion = Form(topic="t").portion(lines, 7)

    assert portion.records is lines
    assert list(portion.numbers) == [7, 8, 9]


def test_a_value_that_is_the_null_value_is_a_tombstone() -> None:
    assert Form(topic="t", null_value=b"NULL").portion([b"NULL", b"NULLS"], 1).records == [
        None,
        b"NULLS",
    ]
    keyed = Form(topic="t", key_separator=b":", null_value=b"")
    assert [each[:3] for each in keyed.portion([b"k:", b"k:v"], 1).records] == [
        ("t", None, b"k"),
        ("t", b"v", b"k"),
    ]


def test_the_key_ends_where_the_separator_is_found_first() -> None:
    form = Form(topic="t", key_separator=b"::", partition=3)

    assert read(b"k::a::b", form) == ProducerRecord("t", b"a::b", b"k", 3)
    assert read(b"::v", form) == ProducerRecord("t", b"v", b"", 3)


def test_headers_are_those_of_every_record() -> None:
    form = Form(topic="t", headers=(("h", b"1"),), is_json=True)

    assert read(b"v", Form(topic="t", headers=(("h", b"1"),))).headers == (("h", b"1"),)
    assert read(b'{"value": null, "headers": {"own": null}}', form).headers == (
        ("h", b"1"),
        ("own", None),
    )


def test_a_line_of_json_has_all_that_a_record_has() -> None:
    line = {
        "value": "ä",
        "key": {"hex": "00FF"},
        "headers": [["a", {"base64": "AP8="}], ["a", "x"]],
        "partition": 2,
        "timestamp": 0,
        "topic": "other",
    }

    assert record(**line) == ProducerRecord(
        "other", "ä".encode(), b"\x00\xff", 2, 0, (("a", b"\x00\xff"), ("a", b"x"))
    )
    assert record() == ProducerRecord("t")


def test_lines_of_json_that_are_empty_are_passed_over_and_counted() -> None:
    portion = JSON.portion([b"", b'{"value":"a"}', b" \r", b'{"value":"b"}'], 10)

    assert [each.value for each in portion.records] == [b"a", b"b"]
    assert list(portion.numbers) == [11, 13]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{", "not JSON: Expecting property name enclosed in double quotes at column 2"),
        (b'{"value": "\xff"}', "not UTF-8 at byte 12"),
        (b"[" * 100_000, "not JSON that can be read"),
        (b'{"value": null, "partition": ' + b"9" * 5_000 + b"}", "not JSON that can be read"),
        (b'"text"', "a JSON object is needed"),
        (b"{}", "it has no value; null is a tombstone"),
        (b'{"value": null, "vlaue": 1}', "there is no field 'vlaue', but value, key, "),
        (b'{"value": 7}', "value has to be a text, null, "),
        (b'{"value": {"base64": "AA==", "hex": ""}}', "value has to be a text, null, "),
        (b'{"value": {"base64": "A"}}', "value: "),
        (b'{"value": {"base64": "A!A=="}}', "value: "),
        (b'{"value": {"hex": "0"}}', "value: Odd-length string"),
        (b'{"value": "\\ud800"}', "value: "),
        (b'{"value": null, "key": []}', "key has to be a text"),
        (b'{"value": null, "headers": "a=b"}', "headers have to be an object"),
        (b'{"value": null, "headers": [["a"]]}', "headers have to be an object"),
        (b'{"value": null, "headers": {"a": 1}}', "header 'a' has to be a text"),
        (b'{"value": null, "partition": -1}', "partition has to be a whole number"),
        (b'{"value": null, "partition": true}', "partition has to be a whole number"),
        (b'{"value": null, "timestamp": "now"}', "timestamp has to be a whole number"),
        (b'{"value": null, "timestamp": 9223372036854775808}', "timestamp has to be"),
        (b'{"value": null, "topic": null}', "topic has to be the name of one"),
    ],
)
def test_a_line_that_is_no_record_ends_the_portion_with_the_reason(line: bytes, why: str) -> None:
    portion = JSON.portion([b'{"value":"before"}', line, b'{"value":"after"}'], 4)

    assert [each.value for each in portion.records] == [b"before"]
    assert portion.failed == 5
    assert why in str(portion.error)


def test_a_line_without_a_key_is_an_error_where_there_have_to_be_keys() -> None:
    portion = Form(topic="t", key_separator=b"\t").portion([b"a\tb", b"c"], 1)

    assert (len(portion.records), portion.failed) == (1, 2)
    assert "there is no key" in str(portion.error)
