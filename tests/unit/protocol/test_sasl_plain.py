from __future__ import annotations

import pytest

from kafka_aio.config.option import Secret
from kafka_aio.protocol.sasl import Done, Plain, Send


def test_the_message_is_user_and_password_each_after_a_nul() -> None:
    assert Plain("alice", "alice-secret").start() == Send(b"\0alice\0alice-secret")


def test_a_hidden_password_is_sent_as_it_really_is() -> None:
    assert Plain("alice", Secret("alice-secret")).start() == Send(b"\0alice\0alice-secret")


def test_names_and_passwords_are_sent_in_utf_8() -> None:
    assert Plain("älice", "ﬁ €").start() == Send("\0älice\0ﬁ €".encode())


@pytest.mark.parametrize("answer", [b"", b"welcome"])
def test_it_is_done_with_any_answer_because_the_error_code_decides(answer: bytes) -> None:
    exchange = Plain("alice", "alice-secret")
    exchange.start()

    assert exchange.receive(answer) == Done()
