from __future__ import annotations

import traceback
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_aio.errors import AuthenticationError, ConfigError, KafkaError, StateError
from kafka_aio.protocol.sasl import (
    Derive,
    Done,
    Exchange,
    Gssapi,
    OAuthBearer,
    Plain,
    Scram,
    Send,
    shown,
)
from tests.unit.protocol.sasl_broker import ScramBroker, derive, failed

PASSWORD = "canary-5f1c"
MAKERS: dict[str, Callable[[], Exchange]] = {
    "PLAIN": lambda: Plain("alice", PASSWORD),
    "SCRAM-SHA-256": lambda: Scram("SCRAM-SHA-256", "alice", PASSWORD, "ours"),
    "SCRAM-SHA-512": lambda: Scram("SCRAM-SHA-512", "alice", PASSWORD, "ours", tokenauth=True),
    "OAUTHBEARER": lambda: OAuthBearer(PASSWORD, [("tenant", "blue")]),
    "GSSAPI": lambda: Gssapi(Stubborn()),
}
every_mechanism = pytest.mark.parametrize("mechanism", MAKERS)


class Stubborn:
    """A context that is never complete, and refuses what is not of its own kind."""

    complete = False

    def step(self, token: bytes | None) -> bytes | None:
        if token is not None and not token.startswith(b"\0"):
            raise AuthenticationError("a token of another kind")
        return b"token"

    def unwrap(self, message: bytes) -> bytes:
        raise NotImplementedError

    wrap = unwrap


def locals_of(error: BaseException) -> list[str]:
    """What a traceback with local variables shows of each frame, this module's first."""
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    return [repr(frame.locals) for frame in told.stack]


@every_mechanism
def test_an_exchange_says_which_mechanism_it_is_and_begins_with_bytes_to_send(
    mechanism: str,
) -> None:
    exchange = MAKERS[mechanism]()

    assert exchange.mechanism == mechanism
    assert repr(exchange) == f"<{type(exchange).__name__} {mechanism} new>"
    assert isinstance(exchange.start(), Send)
    assert repr(exchange) == f"<{type(exchange).__name__} {mechanism} sent>"


@every_mechanism
def test_an_exchange_that_is_new_can_only_be_started(mechanism: str) -> None:
    exchange = MAKERS[mechanism]()

    with pytest.raises(StateError, match=rf"{mechanism}: receive\(\) while it is new"):
        exchange.receive(b"")
    with pytest.raises(StateError, match=rf"{mechanism}: derived\(\) while it is new"):
        exchange.derived(b"")
    assert exchange.start() == MAKERS[mechanism]().start()


@every_mechanism
def test_a_call_out_of_turn_leaves_an_exchange_as_it_was(mechanism: str) -> None:
    exchange = MAKERS[mechanism]()
    exchange.start()

    with pytest.raises(StateError, match=r"start\(\) while it is sent"):
        exchange.start()
    with pytest.raises(StateError, match=r"derived\(\) while it is sent"):
        exchange.derived(b"key")
    assert repr(exchange).endswith(" sent>")


def test_a_key_is_taken_only_when_one_was_asked_for() -> None:
    broker = ScramBroker("SCRAM-SHA-256", "alice", PASSWORD)
    exchange = MAKERS["SCRAM-SHA-256"]()
    first = exchange.start()
    assert isinstance(first, Send)
    step = exchange.receive(broker.first(first.data))

    assert repr(exchange) == "<Scram SCRAM-SHA-256 deriving>"
    with pytest.raises(StateError, match=r"receive\(\) while it is deriving"):
        exchange.receive(b"v=")
    with pytest.raises(StateError, match=r"start\(\) while it is deriving"):
        exchange.start()
    assert isinstance(exchange.derived(derive(step)), Send)


def test_an_exchange_that_is_done_stays_done() -> None:
    exchange = MAKERS["PLAIN"]()
    exchange.start()
    exchange.receive(b"")

    for call in (exchange.start, lambda: exchange.receive(b""), lambda: exchange.derived(b"")):
        with pytest.raises(StateError, match="while it is done"):
            call()
    assert repr(exchange) == "<Plain PLAIN done>"


def test_an_exchange_that_has_failed_stays_failed() -> None:
    exchange = MAKERS["SCRAM-SHA-256"]()
    exchange.start()
    with pytest.raises(KafkaError):
        exchange.receive(b"nonsense")

    with pytest.raises(StateError, match="while it is failed"):
        exchange.receive(b"nonsense")


def test_steps_do_not_show_what_they_carry() -> None:
    assert repr(Send(PASSWORD.encode())) == "Send()"
    assert repr(Derive("sha256", PASSWORD.encode(), b"salt", 4_096)) == (
        "Derive(hash_name='sha256', iterations=4096)"
    )
    assert repr(Done()) == "Done()"


@every_mechanism
def test_a_failure_shows_no_secret_not_even_with_the_local_variables(mechanism: str) -> None:
    exchange = MAKERS[mechanism]()
    exchange.start()
    with pytest.raises(KafkaError) as failure:  # noqa: PT012 - PLAIN does not fail by itself
        exchange.receive(b"nonsense")
        exchange.receive(b"nonsense")

    _, *ours = locals_of(failure.value)
    assert ours
    assert PASSWORD not in "".join(ours)


def test_a_broker_that_is_not_believed_does_not_bring_the_key_into_a_traceback() -> None:
    broker = ScramBroker("SCRAM-SHA-256", "alice", PASSWORD)
    exchange = MAKERS["SCRAM-SHA-256"]()
    first = exchange.start()
    assert isinstance(first, Send)
    step = exchange.receive(broker.first(first.data))
    exchange.derived(derive(step))
    with pytest.raises(AuthenticationError) as refused:
        exchange.receive(b"v=AAAA")

    _, *ours = locals_of(refused.value)
    assert "signature" in "".join(ours)
    assert PASSWORD not in "".join(ours)
    assert repr(derive(step)) not in "".join(ours)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
@pytest.mark.parametrize(
    ("username", "password", "text"),
    [
        ("al\0ice", PASSWORD, "the user name of SASL has a NUL"),
        ("alice", f"{PASSWORD}\0", "the password of SASL has a NUL"),
        ("alice", f"{PASSWORD}\udc80", "the password of SASL has .* half of a surrogate pair"),
        ("", PASSWORD, "the user name of SASL is empty"),
        ("alice", "", "the password of SASL is empty"),
    ],
)
def test_credentials_that_cannot_be_sent_are_refused_and_not_shown(
    mechanism: str, username: str, password: str, text: str
) -> None:
    with pytest.raises(ConfigError, match=text) as refused:  # noqa: PT012 - one of the two
        if mechanism == "PLAIN":
            Plain(username, password)
        else:
            Scram(mechanism, username, password, "ours")

    _, *ours = locals_of(refused.value)
    assert ours
    assert PASSWORD not in "".join(ours)
    assert refused.value.__context__ is None


def test_what_a_broker_says_is_bounded_and_printable() -> None:
    assert shown("no such user") == "no such user"
    assert shown("a\r\nb\x1b[31m\u202ec\0") == "a??b?[31m?c?"
    assert shown("x" * 200) == "x" * 200
    assert shown("x" * 10_000) == "x" * 200 + "..."


@every_mechanism
@given(challenges=st.lists(st.binary(max_size=200), min_size=1, max_size=12))
def test_whatever_a_broker_sends_leads_to_an_end_or_to_our_own_error(
    mechanism: str, challenges: list[bytes]
) -> None:
    exchange = MAKERS[mechanism]()
    step = exchange.start()

    problem = ""
    try:
        for challenge in challenges:
            if isinstance(step, Done):
                break
            step = exchange.receive(challenge)
    except KafkaError as error:
        problem = str(error)

    assert PASSWORD not in problem
    assert bool(problem) == failed(exchange)
    assert isinstance(step, Send | Done)
