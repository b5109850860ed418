from __future__ import annotations

import ast
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kafka_aio import errors
from kafka_aio.errors import AuthenticationError, BrokerError, broker

CODES = [-1, *range(1, 134)]


@pytest.fixture(scope="module")
def kafka_errors(kafka_libs: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        ["java", "-XX:TieredStopAtLevel=1", str(Path(__file__).with_name("Errors.java"))],
        env={**os.environ, "CLASSPATH": f"{kafka_libs}/*"},
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    )
    facts: list[dict[str, Any]] = json.loads(done.stdout)
    return facts


def _facts(code: int) -> dict[str, Any]:
    error = errors.for_code(code)
    return {
        "code": error.code,
        "name": error.name,
        "retriable": error.retriable,
        "stale_metadata": error.stale_metadata,
        "authentication": isinstance(error, AuthenticationError),
        "authorization": isinstance(error, errors.AuthorizationError),
    }


def test_every_code_has_the_name_and_the_facts_that_kafka_gives_it(
    kafka_errors: list[dict[str, Any]],
) -> None:
    theirs = [error for error in kafka_errors if error["code"] != 0]

    assert [_facts(error["code"]) for error in theirs] == theirs
    assert [error["code"] for error in theirs] == CODES


def test_every_message_is_one_sentence_that_ends_with_a_full_stop() -> None:
    declared = ast.parse(Path(broker.__file__).read_text()).body
    sentences = [ast.get_docstring(item) for item in declared if isinstance(item, ast.ClassDef)]

    assert len(sentences) == len(CODES) + 2
    assert all(sentence and "\n" not in sentence for sentence in sentences)
    assert all(sentence and sentence.endswith((".", "?")) for sentence in sentences)
    assert len(set(sentences)) == len(sentences)


@pytest.mark.parametrize("name", ["ProducerFenced", "FencedInstanceId", "InvalidProducerEpoch"])
def test_whoever_was_replaced_can_be_caught_as_fenced(name: str) -> None:
    fenced: type[BrokerError] = getattr(errors, name)

    assert issubclass(fenced, errors.FencedError)
    assert not fenced.retriable


def test_an_error_that_another_kind_describes_is_of_that_kind_too() -> None:
    assert isinstance(errors.for_code(7), errors.KafkaTimeoutError | TimeoutError)
    assert isinstance(errors.for_code(7), TimeoutError)
    assert isinstance(errors.for_code(13), errors.KafkaConnectionError)
    assert isinstance(errors.for_code(13), ConnectionError)
    assert isinstance(errors.for_code(35), errors.UnsupportedVersion)
    assert isinstance(errors.for_code(58), AuthenticationError)
