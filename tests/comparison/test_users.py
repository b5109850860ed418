"""DescribeUserScramCredentials and AlterUserScramCredentials."""

from __future__ import annotations

import pytest

from kafka_aio.protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    DescribeUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
    UserName,
)
from tests.comparison.sides import Both, Side

SHA_256, SHA_512 = 1, 2


def describes(*names: str) -> DescribeUserScramCredentialsRequest:
    return DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in names])


def gives(name: str, mechanism: int = SHA_256, iterations: int = 4_096) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=name,
        mechanism=mechanism,
        iterations=iterations,
        salt=b"salt",
        salted_password=b"salted password",
    )


def takes(name: str, mechanism: int = SHA_256) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=name, mechanism=mechanism)


def alters(
    *changes: ScramCredentialUpsertion | ScramCredentialDeletion,
) -> AlterUserScramCredentialsRequest:
    return AlterUserScramCredentialsRequest(
        deletions=[each for each in changes if isinstance(each, ScramCredentialDeletion)],
        upsertions=[each for each in changes if isinstance(each, ScramCredentialUpsertion)],
    )


def settles(side: Side, user: str, credentials: int) -> None:
    """Wait until the node knows what the controller has changed."""

    def is_known() -> bool:
        (result,) = side.quietly(describes(user)).results
        return len(result.credential_infos) == credentials

    side.wait(is_known)


def test_a_user_comes_and_goes(both: Both) -> None:
    user = both.name("user")
    for side in both:
        side.ask(alters(gives(user), gives(both.name("other"), SHA_512, 8_192)))
        settles(side, user, 1)
        side.ask(describes(user))
        side.ask(alters(gives(user, SHA_512, 16_384)))
        settles(side, user, 2)
        side.ask(describes(user))
        side.ask(alters(takes(user), takes(both.name("other"), SHA_512)))
        settles(side, user, 1)
        side.ask(describes(user))
        side.ask(alters(takes(user, SHA_512)))
        settles(side, user, 0)
        side.ask(describes(user))

    both.agree()


@pytest.mark.parametrize("iterations", [4_095, 16_385, 0, -1])
@pytest.mark.parametrize("mechanism", [SHA_256, SHA_512])
def test_iterations(both: Both, mechanism: int, iterations: int) -> None:
    for side in both:
        side.ask(alters(gives(both.name("user"), mechanism, iterations)))

    both.agree()


@pytest.mark.parametrize("mechanism", [0, 3, -1, 99])
def test_mechanisms_that_do_not_exist(both: Both, mechanism: int) -> None:
    for side in both:
        side.ask(alters(gives(both.name("user"), mechanism)))
        side.ask(alters(takes(both.name("user"), mechanism)))

    both.agree()


def test_users_that_do_not_exist(both: Both) -> None:
    user = both.name("nobody")
    for side in both:
        side.ask(describes(user))
        side.ask(describes(""))
        side.ask(describes(user, user))
        side.ask(alters(takes(user)))
        side.ask(alters(takes("")))
        side.ask(alters(gives("")))

    both.agree()


def test_contradictions(both: Both) -> None:
    user = both.name("user")
    for side in both:
        side.ask(alters(gives(user), gives(user)))
        side.ask(alters(gives(user), takes(user)))
        side.ask(alters(takes(user), takes(user)))
        side.ask(alters())

    both.agree()
