from __future__ import annotations

import pytest

from kafka_aio.errors import AuthenticationError, ProtocolError
from kafka_aio.protocol.sasl import Done, Gssapi, Send
from kafka_aio.protocol.sasl.gssapi import MAX_ROUNDS, MAX_TOKEN
from tests.unit.protocol.sasl_broker import failed

SIGNED = b"signed:"


class Scripted:
    """A context of a made-up mechanism: tokens in the order of a script; "signed:" is a signature.

    The script has, for each step, what must have come and what to send.
    """

    def __init__(self, *script: tuple[bytes | None, bytes | None]) -> None:
        self.script = list(script)

    @property
    def complete(self) -> bool:
        return not self.script

    def step(self, token: bytes | None) -> bytes | None:
        expected, answer = self.script.pop(0)
        if token != expected:
            raise AuthenticationError("a wrong token")
        return answer

    def unwrap(self, message: bytes) -> bytes:
        if not message.startswith(SIGNED):
            raise AuthenticationError("a wrong signature")
        return message.removeprefix(SIGNED)

    def wrap(self, message: bytes) -> bytes:
        return SIGNED + message


def kerberos() -> Scripted:
    """With mutual authentication: the second step has nothing to send."""
    return Scripted((None, b"AP-REQ"), (b"AP-REP", None))


def test_steps_are_taken_until_the_context_is_complete_and_then_no_layer_is_chosen() -> None:
    exchange = Gssapi(kerberos())

    assert exchange.start() == Send(b"AP-REQ")
    assert exchange.receive(b"AP-REP") == Send(b"")
    assert exchange.receive(SIGNED + b"\x07\x00\xff\xff") == Send(SIGNED + b"\x01\x00\x00\x00")
    assert exchange.receive(b"") == Done()
    assert repr(exchange) == "<Gssapi GSSAPI done>"


def test_a_context_may_be_complete_after_its_first_token() -> None:
    exchange = Gssapi(Scripted((None, b"AP-REQ")))
    exchange.start()

    assert exchange.receive(SIGNED + b"\x01\0\0\0") == Send(SIGNED + b"\x01\0\0\0")


def test_whom_to_act_as_is_sent_with_the_choice() -> None:
    exchange = Gssapi(kerberos(), "bøb")
    exchange.start()
    exchange.receive(b"AP-REP")

    choice = exchange.receive(SIGNED + b"\x01\0\0\0")

    assert choice == Send(SIGNED + b"\x01\0\0\0" + "bøb".encode())


@pytest.mark.parametrize("layers", [0, 2, 4, 6])
def test_a_broker_that_insists_on_a_security_layer_is_refused(layers: int) -> None:
    exchange = Gssapi(kerberos())
    exchange.start()
    exchange.receive(b"AP-REP")

    with pytest.raises(AuthenticationError, match="insists on a security layer"):
        exchange.receive(SIGNED + bytes((layers, 0, 1, 0)))
    assert failed(exchange)


@pytest.mark.parametrize("offer", [b"", b"\x01", b"\x01\0\0\0\0"])
def test_an_offer_of_another_size_is_refused(offer: bytes) -> None:
    exchange = Gssapi(kerberos())
    exchange.start()
    exchange.receive(b"AP-REP")

    with pytest.raises(ProtocolError, match=f"security layers have {len(offer)} bytes, not 4"):
        exchange.receive(SIGNED + offer)


def test_what_the_context_refuses_is_raised() -> None:
    exchange = Gssapi(kerberos())
    exchange.start()

    with pytest.raises(AuthenticationError, match="a wrong token"):
        exchange.receive(b"AP-REP of somebody else")
    assert failed(exchange)


def test_an_offer_without_signature_is_refused() -> None:
    exchange = Gssapi(kerberos())
    exchange.start()
    exchange.receive(b"AP-REP")

    with pytest.raises(AuthenticationError, match="a wrong signature"):
        exchange.receive(b"\x01\0\0\0")


def test_a_broker_that_never_comes_to_an_end_is_left() -> None:
    endless = Scripted((None, b"first"), *[(b"more", b"again")] * 100)
    exchange = Gssapi(endless)
    exchange.start()
    for _ in range(MAX_ROUNDS - 1):
        assert exchange.receive(b"more") == Send(b"again")

    with pytest.raises(AuthenticationError, match="no end after 10 messages"):
        exchange.receive(b"more")


def test_a_message_that_is_too_long_is_not_given_to_the_context() -> None:
    exchange = Gssapi(kerberos())
    exchange.start()

    with pytest.raises(ProtocolError, match="65,537 bytes, more than 65,536"):
        exchange.receive(bytes(MAX_TOKEN + 1))
