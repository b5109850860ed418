"""Declarations only, with no limit of lines: SCRAM credentials. Pure."""

from kafka_aio.protocol.schema import (
    Int8,
    Int16,
    Int32,
    Request,
    SecretBytes,
    String,
    message,
    request,
    response,
)


@message
class CredentialInfo:
    mechanism: Int8
    iterations: Int32


@message
class DescribeUserScramCredentialsResult:
    user: String
    error_code: Int16
    error_message: String | None
    credential_infos: list[CredentialInfo]


@response(key=50, versions=(0, 0), flexible=0)
class DescribeUserScramCredentialsResponse:
    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None
    results: list[DescribeUserScramCredentialsResult]


@message
class UserName:
    name: String


@request(key=50, versions=(0, 0), flexible=0)
class DescribeUserScramCredentialsRequest(Request[DescribeUserScramCredentialsResponse]):
    users: list[UserName] | None


@message
class AlterUserScramCredentialsResult:
    user: String
    error_code: Int16
    error_message: String | None


@response(key=51, versions=(0, 0), flexible=0)
class AlterUserScramCredentialsResponse:
    throttle_time_ms: Int32
    results: list[AlterUserScramCredentialsResult]


@message
class ScramCredentialDeletion:
    name: String
    mechanism: Int8


@message
class ScramCredentialUpsertion:
    name: String
    mechanism: Int8
    iterations: Int32
    salt: SecretBytes
    salted_password: SecretBytes


@request(key=51, versions=(0, 0), flexible=0)
class AlterUserScramCredentialsRequest(Request[AlterUserScramCredentialsResponse]):
    deletions: list[ScramCredentialDeletion]
    upsertions: list[ScramCredentialUpsertion]
