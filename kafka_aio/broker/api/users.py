"""DescribeUserScramCredentials and AlterUserScramCredentials: users of SCRAM (KIP-554). Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, TypeAlias

from kafka_aio.broker.security.users import ITERATIONS, ScramCredential, ScramMechanism, Users
from kafka_aio.errors import (
    BrokerError,
    DuplicateResource,
    PolicyViolation,
    ResourceNotFound,
    UnacceptableCredential,
    UnsupportedSaslMechanism,
)
from kafka_aio.protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call

Change: TypeAlias = ScramCredentialDeletion | ScramCredentialUpsertion

MAX_ITERATIONS: Final = 16_384
"""Kafka accepts no more."""


def describe(
    request: DescribeUserScramCredentialsRequest, call: Call
) -> DescribeUserScramCredentialsResponse:
    """Which mechanisms users have, and with how many iterations; of all users, if none is named."""
    call.check_faults()
    users = call.state.users
    names = Counter(user.name for user in request.users or ())
    if not names:
        names.update(sorted({name for kept in users.scram.values() for name in kept}))
    return DescribeUserScramCredentialsResponse(
        throttle_time_ms=0,
        error_code=0,
        error_message="",
        results=[_description(users, name, times) for name, times in names.items()],
    )


def alter(
    request: AlterUserScramCredentialsRequest, call: Call
) -> AlterUserScramCredentialsResponse:
    """Let users log in, or no longer. A user is changed once in a request, or not at all."""
    users = call.state.users
    changes: dict[str, Change] = {}
    errors: dict[str, BrokerError] = {}
    asked: list[Change] = [*request.deletions, *request.upsertions]
    for change in asked:
        if change.name in errors:
            continue
        try:
            call.check_faults()
            if changes.pop(change.name, None) is not None:
                raise DuplicateResource(
                    "A user credential cannot be altered twice in the same request"
                )
            _check(users, change)
        except BrokerError as error:
            errors[change.name] = error
        else:
            changes[change.name] = change
    for name, change in list(changes.items()):
        try:
            _make(users, change)
        except PolicyViolation as error:
            errors[name] = error
            del changes[name]
    return AlterUserScramCredentialsResponse(
        throttle_time_ms=0,
        results=[
            *(_result(name, 0, None) for name in changes),
            *(_result(name, error.code, error.message or None) for name, error in errors.items()),
        ],
    )


def _description(users: Users, name: str, times: int) -> DescribeUserScramCredentialsResult:
    error: BrokerError | None = None
    infos = [
        CredentialInfo(mechanism=mechanism, iterations=kept[name].iterations)
        for mechanism, kept in users.scram.items()
        if name in kept
    ]
    if times > 1:
        error = DuplicateResource(
            f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
        )
    elif not infos:
        error = ResourceNotFound(
            f"Attempt to describe a user credential that does not exist: {name}"
        )
    return DescribeUserScramCredentialsResult(
        user=name,
        error_code=error.code if error else 0,
        error_message=error.message if error else "",
        credential_infos=[] if error else infos,
    )


def _check(users: Users, change: Change) -> None:
    """Whether a change can be made.

    Raises:
        BrokerError: It cannot, and why.
    """
    if not change.name:
        raise UnacceptableCredential("Username must not be empty")
    if change.mechanism not in set(ScramMechanism):
        raise UnsupportedSaslMechanism("Unknown SCRAM mechanism")
    if isinstance(change, ScramCredentialDeletion):
        if change.name not in users.scram[ScramMechanism(change.mechanism)]:
            raise ResourceNotFound("Attempt to delete a user credential that does not exist")
    elif change.iterations < ITERATIONS:
        raise UnacceptableCredential("Too few iterations")
    elif change.iterations > MAX_ITERATIONS:
        raise UnacceptableCredential("Too many iterations")


def _make(users: Users, change: Change) -> None:
    mechanism = ScramMechanism(change.mechanism)
    if isinstance(change, ScramCredentialDeletion):
        users.drop(mechanism, change.name)
        return
    credential = ScramCredential.from_salted_password(
        mechanism, bytes(change.salted_password), bytes(change.salt), change.iterations
    )
    users.put(mechanism, change.name, credential)


def _result(name: str, code: int, message: str | None) -> AlterUserScramCredentialsResult:
    return AlterUserScramCredentialsResult(user=name, error_code=code, error_message=message)
