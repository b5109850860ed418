from __future__ import annotations

import json
import logging
import traceback
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from typing import Any

import pytest

from kafka_aio.protocol.messages.sasl import SaslAuthenticateRequest, SaslAuthenticateResponse
from tests.net.dials import PLAIN, SCRAM, SETUP, refusal
from tests.net.server import PATIENCE, Asked, Broker, Reaction, authenticated, resets, says_nothing

SECRET = "correct.horse~battery+staple/"  # fit for a password, and for a token
FORMS: list[Callable[[bytes], str]] = [
    bytes.decode,
    bytes.hex,
    lambda secret: secret.hex().upper(),
    lambda secret: b64encode(secret).decode(),
    lambda secret: b64encode(secret).decode().rstrip("="),
    lambda secret: urlsafe_b64encode(secret).decode(),
]


async def the_secret() -> str:
    return SECRET


THREE: list[dict[str, Any]] = [
    {**PLAIN, "sasl_password": SECRET},
    {**SCRAM, "sasl_password": SECRET},
    {"sasl_mechanism": "OAUTHBEARER", "sasl_oauthbearer_token_provider": the_secret},
]


def told_back(asked: Asked, form: Callable[[bytes], str]) -> str:
    return f"<{form(SECRET.encode())}> and <{form(asked.message.auth_bytes)}>"


def refuses_with(form: Callable[[bytes], str]) -> Reaction:
    def react(asked: Asked) -> None:
        said = told_back(asked, form)
        asked.answer(SaslAuthenticateResponse(error_code=58, error_message=said, auth_bytes=b""))

    return react


def challenges_with(form: Callable[[bytes], str]) -> Reaction:
    """As OAUTHBEARER and SCRAM refuse: in what they say to each other."""

    def react(asked: Asked) -> None:
        said = told_back(asked, form).replace(",", ".")
        is_scram = asked.message.auth_bytes.startswith(b"n,,n=")
        answer = f"e={said}" if is_scram else json.dumps({"status": said})
        asked.answer(authenticated(answer.encode()))

    return react


def says_nonsense(asked: Asked) -> None:
    """A frame that answers the request, and what follows is no answer."""
    body = asked.correlation_id.to_bytes(4, "big") + SECRET.encode() + asked.message.auth_bytes
    asked.peer.write(len(body).to_bytes(4, "big") + body)


async def all_that_is_said(
    broker: Broker, caplog: pytest.LogCaptureFixture, options: dict[str, Any]
) -> str:
    """What is to be read anywhere of a dial that fails."""
    silent = broker.reactions[SaslAuthenticateRequest] is says_nothing
    with caplog.at_level(logging.DEBUG):
        error = await refusal(broker, timeout=SETUP if silent else PATIENCE, **options)
    return "".join([caplog.text, repr(error), *traceback.format_exception(error)])


def secrets_in(text: str, broker: Broker) -> list[str]:
    sent = [asked.message.auth_bytes for asked in broker.seen[2:]]
    assert sent
    # What is as short as OAUTHBEARER's last word is no secret.
    secrets = [SECRET.encode(), *(data for data in sent if len(data) > 1)]
    return [form(secret) for secret in secrets for form in FORMS if form(secret) in text]


@pytest.mark.parametrize("options", THREE, ids=lambda options: options["sasl_mechanism"])
@pytest.mark.parametrize(
    "reaction", [*map(refuses_with, FORMS), resets, says_nothing, says_nonsense]
)
async def test_no_form_of_a_secret_is_in_log_error_or_traceback(
    broker: Broker,
    caplog: pytest.LogCaptureFixture,
    reaction: Reaction,
    options: dict[str, Any],
) -> None:
    broker.reactions[SaslAuthenticateRequest] = reaction

    said = await all_that_is_said(broker, caplog, options)

    assert secrets_in(said, broker) == []
    assert "sent SaslAuthenticateRequest" in said


@pytest.mark.parametrize("options", THREE[1:], ids=lambda options: options["sasl_mechanism"])
@pytest.mark.parametrize("form", FORMS)
async def test_no_form_of_a_secret_comes_back_in_a_challenge(
    broker: Broker,
    caplog: pytest.LogCaptureFixture,
    form: Callable[[bytes], str],
    options: dict[str, Any],
) -> None:
    broker.reactions[SaslAuthenticateRequest] = challenges_with(form)

    said = await all_that_is_said(broker, caplog, options)

    assert secrets_in(said, broker) == []
    assert "[hidden]" in said
