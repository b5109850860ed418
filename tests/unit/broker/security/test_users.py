from __future__ import annotations

from random import Random

import pytest

from kafka_aio.broker.security.users import MECHANISMS, ScramMechanism, Users
from kafka_aio.errors import ConfigError


def test_users_may_log_in_by_the_mechanisms_that_are_enabled_and_no_other() -> None:
    users = Users()
    users.enable(["SCRAM-SHA-512"])

    users.add({"alice": "secret"}, randbytes=Random(1).randbytes)

    assert users.passwords == {}
    assert users.scram[ScramMechanism.SHA_256] == {}
    assert users.scram[ScramMechanism.SHA_512]["alice"].iterations == 4_096


def test_each_user_has_a_salt_of_their_own() -> None:
    users = Users()
    users.enable(MECHANISMS)

    users.add({"alice": "secret", "bob": "secret"}, randbytes=Random(1).randbytes)

    kept = [each for by_name in users.scram.values() for each in by_name.values()]
    assert len({each.salt for each in kept}) == 4
    assert len({each.stored_key for each in kept}) == 4


def test_mechanisms_are_named_in_the_order_of_kafka() -> None:
    users = Users()

    users.enable(["OAUTHBEARER", "SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN", "PLAIN"])

    assert users.mechanisms == ("PLAIN", "SCRAM-SHA-512", "SCRAM-SHA-256", "OAUTHBEARER")


def test_a_mechanism_that_is_not_there_cannot_be_enabled() -> None:
    with pytest.raises(ConfigError, match="OAUTHBEARER, not 'GSSAPI'"):
        Users().enable(["PLAIN", "GSSAPI"])


def test_who_checks_tokens_is_a_function_or_said_in_full() -> None:
    with pytest.raises(ConfigError, match="'unsecured'"):
        Users().enable(["OAUTHBEARER"], tokens="insecure")  # type: ignore[arg-type] # the mistake


def test_what_is_kept_of_a_password_does_not_show_it() -> None:
    users = Users()
    users.enable(MECHANISMS)

    users.add({"alice": "canary"}, randbytes=lambda count: b"s" * count)

    shown = f"{users!r} {users.passwords!r} {users.scram!r}"
    assert "canary" not in shown
    for kept in users.scram.values():
        for secret in (kept["alice"].salt, kept["alice"].stored_key, kept["alice"].server_key):
            assert repr(secret) not in shown
            assert secret.hex() not in shown
