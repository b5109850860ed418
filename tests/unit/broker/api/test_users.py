from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from kafka_aio.protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
    UserName,
)
from kafka_aio.protocol.sasl import Scram
from tests.unit.broker import clusters
from tests.unit.broker.logins import Client, secured

if TYPE_CHECKING:
    from kafka_aio.broker.state import State

SHA_256, SHA_512 = 1, 2
TWICE = "A user credential cannot be altered twice in the same request"


def put(
    name: str, mechanism: int = SHA_256, *, iterations: int = 4_096, password: str = "secret"
) -> ScramCredentialUpsertion:
    hash_name = "sha512" if mechanism == SHA_512 else "sha256"
    key = hashlib.pbkdf2_hmac(hash_name, password.encode(), b"pepper", min(iterations, 20_000))
    return ScramCredentialUpsertion(
        name=name, mechanism=mechanism, iterations=iterations, salt=b"pepper", salted_password=key
    )


def drop(name: str, mechanism: int = SHA_256) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=name, mechanism=mechanism)


def alter(
    state: State, *changes: ScramCredentialUpsertion | ScramCredentialDeletion
) -> list[tuple[str, int, str | None]]:
    answer = clusters.call(
        state,
        AlterUserScramCredentialsRequest(
            deletions=[each for each in changes if isinstance(each, ScramCredentialDeletion)],
            upsertions=[each for each in changes if isinstance(each, ScramCredentialUpsertion)],
        ),
    )
    assert isinstance(answer, AlterUserScramCredentialsResponse)
    return [(each.user, each.error_code, each.error_message) for each in answer.results]


def describe(state: State, *names: str) -> dict[str, tuple[int, str | None, list[tuple[int, int]]]]:
    users = [UserName(name=name) for name in names]
    answer = clusters.call(state, DescribeUserScramCredentialsRequest(users=users or None))
    assert isinstance(answer, DescribeUserScramCredentialsResponse)
    assert (answer.error_code, answer.error_message) == (0, "")
    return {
        each.user: (
            each.error_code,
            each.error_message,
            [(info.mechanism, info.iterations) for info in each.credential_infos],
        )
        for each in answer.results
    }


def test_a_user_is_made_and_described() -> None:
    state = clusters.made()

    assert alter(state, put("bob", iterations=8_192)) == [("bob", 0, None)]
    assert describe(state, "bob") == {"bob": (0, "", [(SHA_256, 8_192)])}


def test_users_have_a_credential_for_each_mechanism() -> None:
    state = clusters.made()
    alter(state, put("bob"))
    alter(state, put("bob", SHA_512, iterations=5_000))

    assert describe(state, "bob")["bob"][2] == [(SHA_256, 4_096), (SHA_512, 5_000)]
    assert alter(state, drop("bob", SHA_256)) == [("bob", 0, None)]
    assert describe(state, "bob")["bob"][2] == [(SHA_512, 5_000)]


def test_all_are_described_if_none_is_named() -> None:
    state = clusters.made()
    alter(state, put("zoe"), put("bob", SHA_512))

    assert list(describe(state)) == ["bob", "zoe"]
    answer = clusters.call(state, DescribeUserScramCredentialsRequest(users=[]))
    assert len(answer.results) == 2


def test_nobody_is_described_where_there_is_nobody() -> None:
    assert describe(clusters.made()) == {}


def test_one_who_is_not_there_or_asked_for_twice_is_not_described() -> None:
    state = clusters.made()
    alter(state, put("bob"), put("zoe"))

    assert describe(state, "bob", "nobody", "bob", "zoe") == {
        "bob": (
            92,
            "Cannot describe SCRAM credentials for the same user twice in a single request: bob",
            [],
        ),
        "nobody": (91, "Attempt to describe a user credential that does not exist: nobody", []),
        "zoe": (0, "", [(SHA_256, 4_096)]),
    }


@pytest.mark.parametrize(
    ("mechanism", "name"), [(SHA_256, "SCRAM-SHA-256"), (SHA_512, "SCRAM-SHA-512")]
)
def test_one_who_was_just_made_can_log_in_at_once(mechanism: int, name: str) -> None:
    state = secured("SCRAM-SHA-256", "SCRAM-SHA-512")
    alter(state, put("bob", mechanism, iterations=16_384, password="new"))
    client = Client(state)

    answer = client.log_in(name, Scram(name, "bob", "new", "ours"))

    assert answer.error_code == 0
    assert client.peer.principal == "User:bob"


def test_one_who_was_removed_cannot() -> None:
    state = secured("SCRAM-SHA-256")
    alter(state, drop("alice"))

    answer = Client(state).log_in(
        "SCRAM-SHA-256", Scram("SCRAM-SHA-256", "alice", "alice-secret", "ours")
    )

    assert answer.error_code == 58


def test_a_new_password_takes_the_place_of_the_old_one() -> None:
    state = secured("SCRAM-SHA-256")
    alter(state, put("alice", password="new"))

    def log_in(password: str) -> int:
        scram = Scram("SCRAM-SHA-256", "alice", password, "ours")
        return Client(state).log_in("SCRAM-SHA-256", scram).error_code

    assert log_in("alice-secret") == 58
    assert log_in("new") == 0


@pytest.mark.parametrize(
    ("change", "code", "text"),
    [
        (put("", SHA_256), 93, "Username must not be empty"),
        (drop(""), 93, "Username must not be empty"),
        (put("", 0), 93, "Username must not be empty"),
        (put("bob", 0), 33, "Unknown SCRAM mechanism"),
        (put("bob", 3), 33, "Unknown SCRAM mechanism"),
        (put("bob", -1), 33, "Unknown SCRAM mechanism"),
        (drop("bob", 3), 33, "Unknown SCRAM mechanism"),
        (put("bob", iterations=4_095), 93, "Too few iterations"),
        (put("bob", iterations=16_385), 93, "Too many iterations"),
        (drop("bob"), 91, "Attempt to delete a user credential that does not exist"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused_in_kafkas_words(
    change: ScramCredentialUpsertion | ScramCredentialDeletion, code: int, text: str
) -> None:
    state = clusters.made()

    assert alter(state, change) == [(change.name, code, text)]
    assert describe(state) == {}


@pytest.mark.parametrize(
    "changes",
    [
        [put("bob"), put("bob", SHA_512)],
        [drop("bob"), put("bob")],
        [drop("bob"), drop("bob", SHA_512)],
        [put("bob"), put("bob"), put("bob")],
    ],
)
def test_a_user_who_is_changed_twice_in_one_request_is_not_changed(
    changes: list[ScramCredentialUpsertion | ScramCredentialDeletion],
) -> None:
    state = clusters.made()
    alter(state, put("bob", iterations=5_000))
    alter(state, put("bob", SHA_512, iterations=5_000))

    results = alter(state, *changes, put("zoe"))

    assert results == [("zoe", 0, None), ("bob", 92, TWICE)]
    assert describe(state, "bob")["bob"][2] == [(SHA_256, 5_000), (SHA_512, 5_000)]
    assert describe(state, "zoe")["zoe"][0] == 0


def test_the_first_mistake_about_a_user_is_the_one_that_is_told() -> None:
    state = clusters.made()

    assert alter(state, drop("bob"), put("bob")) == [
        ("bob", 91, "Attempt to delete a user credential that does not exist")
    ]
    assert describe(state) == {}
