"""Declarations only, with no limit of lines: delegation tokens. Pure."""

from kafka_aio.protocol.schema import (
    Int16,
    Int32,
    Int64,
    Request,
    SecretBytes,
    String,
    message,
    request,
    response,
    since,
)


@response(key=38, versions=(1, 3), flexible=2)
class CreateDelegationTokenResponse:
    error_code: Int16
    principal_type: String
    principal_name: String
    token_requester_principal_type: String = since(3, default="")
    token_requester_principal_name: String = since(3, default="")
    issue_timestamp_ms: Int64
    expiry_timestamp_ms: Int64
    max_timestamp_ms: Int64
    token_id: String
    hmac: SecretBytes
    throttle_time_ms: Int32


@message
class CreatableRenewers:
    principal_type: String
    principal_name: String


@request(key=38, versions=(1, 3), flexible=2)
class CreateDelegationTokenRequest(Request[CreateDelegationTokenResponse]):
    owner_principal_type: String | None = since(3, default="")
    owner_principal_name: String | None = since(3, default="")
    renewers: list[CreatableRenewers]
    max_lifetime_ms: Int64


@response(key=39, versions=(1, 2), flexible=2)
class RenewDelegationTokenResponse:
    error_code: Int16
    expiry_timestamp_ms: Int64
    throttle_time_ms: Int32


@request(key=39, versions=(1, 2), flexible=2)
class RenewDelegationTokenRequest(Request[RenewDelegationTokenResponse]):
    hmac: SecretBytes
    renew_period_ms: Int64


@response(key=40, versions=(1, 2), flexible=2)
class ExpireDelegationTokenResponse:
    error_code: Int16
    expiry_timestamp_ms: Int64
    throttle_time_ms: Int32


@request(key=40, versions=(1, 2), flexible=2)
class ExpireDelegationTokenRequest(Request[ExpireDelegationTokenResponse]):
    hmac: SecretBytes
    expiry_time_period_ms: Int64


@message
class DescribedDelegationTokenRenewer:
    principal_type: String
    principal_name: String


@message
class DescribedDelegationToken:
    principal_type: String
    principal_name: String
    token_requester_principal_type: String = since(3, default="")
    token_requester_principal_name: String = since(3, default="")
    issue_timestamp: Int64
    expiry_timestamp: Int64
    max_timestamp: Int64
    token_id: String
    hmac: SecretBytes
    renewers: list[DescribedDelegationTokenRenewer]


@response(key=41, versions=(1, 3), flexible=2)
class DescribeDelegationTokenResponse:
    error_code: Int16
    tokens: list[DescribedDelegationToken]
    throttle_time_ms: Int32


@message
class DescribeDelegationTokenOwner:
    principal_type: String
    principal_name: String


@request(key=41, versions=(1, 3), flexible=2)
class DescribeDelegationTokenRequest(Request[DescribeDelegationTokenResponse]):
    owners: list[DescribeDelegationTokenOwner] | None
