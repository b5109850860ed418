"""ApiVersions: what the broker speaks, and the features of its cluster. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kafka_aio.errors import InvalidRequest, UnsupportedByBroker
from kafka_aio.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from kafka_aio.protocol.schema import schema_of

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call

SUPPORTED: Final = (
    SupportedFeatureKey(name="group.version", min_version=0, max_version=1),
    SupportedFeatureKey(name="metadata.version", min_version=7, max_version=30),
)
"""The features of Kafka 4.3 that are here, too: clients rely on what is named."""

_FINALIZED: Final = [
    FinalizedFeatureKey(
        name=feature.name,
        max_version_level=feature.max_version,
        min_version_level=feature.max_version,
    )
    for feature in SUPPORTED
]

_SAID_FROM: Final = {0: 0}
"""Where the first version that is named is not the first that is served: without Produce 0,
librdkafka takes a broker for one that knows no codec but gzip (KAFKA-18659)."""

_LEVEL_0_SINCE: Final = 4
"""Older clients cannot read a feature that begins at level 0 (KAFKA-17492)."""

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def api_versions(request: ApiVersionsRequest, call: Call) -> ApiVersionsResponse:
    """What is served, in the order of the keys."""
    call.check_faults()
    software = (request.client_software_name, request.client_software_version)
    if call.version >= 3 and not all(map(_SOFTWARE.fullmatch, software)):
        return ApiVersionsResponse(error_code=InvalidRequest.code, api_keys=[])
    if call.peer.login is not None:
        call.peer.login.versions_told()
    return ApiVersionsResponse(
        error_code=0,
        api_keys=[
            ApiVersion(api_key=key, min_version=_SAID_FROM.get(key, first), max_version=last)
            for key, (first, last) in sorted(call.state.versions.items())
        ],
        supported_features=[
            feature
            for feature in SUPPORTED
            if feature.min_version > 0 or call.version >= _LEVEL_0_SINCE
        ],
        finalized_features_epoch=0,
        finalized_features=_FINALIZED,
    )


def unsupported_version() -> ApiVersionsResponse:
    """The answer, in version 0, to ApiVersions in a version that is not served (KIP-511)."""
    schema = schema_of(ApiVersionsRequest)
    first, last = schema.stable_versions
    named = ApiVersion(api_key=schema.key, min_version=first, max_version=last)
    return ApiVersionsResponse(error_code=UnsupportedByBroker.code, api_keys=[named])
