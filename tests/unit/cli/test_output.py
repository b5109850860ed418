from __future__ import annotations

import json

from kafka_aio.cli.output import Report, error_document, printable, table
from kafka_aio.errors import KafkaConnectionError, TopicAlreadyExists


def test_a_table_aligns_numbers_to_the_right_and_texts_to_the_left() -> None:
    lines = table(["id", "name", "ms", "rack"], [[1, "a", 0.126, None], [10, "bcdef", None, None]])

    assert lines == [
        "id  name     ms  rack",
        " 1  a      0.13  -",
        "10  bcdef     -  -",
    ]


def test_a_table_without_rows_has_its_names() -> None:
    assert table(["id", "name"], []) == ["id  name"]


def test_a_cell_cannot_steer_the_terminal() -> None:
    assert table(["x"], [["\x1b]0;title\x07"]])[1] == "\\x1b]0;title\\x07"


def test_letters_of_other_languages_are_printable() -> None:
    assert printable("größe 大小\t\ud800") == "größe 大小\\t\\ud800"


def test_a_report_is_lines_or_one_document() -> None:
    report = Report({"a": ["\x1b", 1]}, ["one", "two\x1b"])

    assert report.text(as_json=False) == "one\ntwo\\x1b\n"
    assert json.loads(report.text(as_json=True)) == {"a": ["\x1b", 1]}
    assert report.text(as_json=True).endswith("}\n")
    assert Report({}).text(as_json=False) == ""


def test_an_error_in_json_has_the_brokers_code_where_there_is_one() -> None:
    exists = TopicAlreadyExists("there", where="topic 'a'")

    assert error_document(None) is None
    assert error_document(KafkaConnectionError("gone")) == {
        "type": "KafkaConnectionError",
        "code": None,
        "message": "gone",
    }
    assert error_document(exists) == {
        "type": "TopicAlreadyExists",
        "code": 36,
        "message": str(exists),
    }
