"""SaslHandshake and SaslAuthenticate, where nobody has to log in."""

from __future__ import annotations

from contextlib import suppress

import pytest

from kafka_aio.protocol.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from tests.comparison.sides import Both


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "unheard", ""])
def test_a_handshake_that_is_not_wanted(both: Both, mechanism: str) -> None:
    for side in both:
        with suppress(EOFError, ConnectionError):
            side.ask_in_each_version(SaslHandshakeRequest(mechanism=mechanism))

    both.agree()


def test_a_login_that_is_not_wanted(both: Both) -> None:
    for side in both:
        with suppress(EOFError, ConnectionError):
            side.ask_in_each_version(SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"))

    both.agree()
