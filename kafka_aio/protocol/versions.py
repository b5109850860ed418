"""Which version of each API to speak with one broker. Pure.

A connection begins with ApiVersions, asked in our highest version. A broker that does not know that
version answers in version 0 with error 35 and, since Kafka 2.4, with the versions that it knows: it
is then asked once more, in the highest of those (KIP-511), or in version 0 if it named none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafka_aio.errors import ProtocolError, StateError, UnsupportedVersion
from kafka_aio.protocol.codec import decode
from kafka_aio.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from kafka_aio.protocol.schema import Buffer, Request, schema_of

MAX_KEYS: Final = 1_000
"""A broker that says it has more APIs than this is not a Kafka broker."""

_UNSUPPORTED_VERSION: Final = 35


class BrokerVersions:
    """What a broker says it speaks, and what we speak with it."""

    def __init__(self, ranges: Mapping[int, tuple[int, int]], *, unstable: bool = False) -> None:
        """Take the broker's first and last version of each API key.

        Args:
            ranges: As the broker says.
            unstable: Whether versions that Kafka has not settled yet may be picked.
        """
        self._ranges = dict(ranges)
        self._unstable = unstable
        self._picked: dict[type[Request[Any]], int] = {}

    def __repr__(self) -> str:
        return f"<BrokerVersions of {len(self._ranges)} APIs>"

    @classmethod
    def from_response(
        cls, response: ApiVersionsResponse, *, unstable: bool = False
    ) -> BrokerVersions:
        """What an answer says.

        Raises:
            ProtocolError: It says nonsense.
        """
        return cls(_ranges(response.api_keys), unstable=unstable)

    def pick(self, cls: type[Request[Any]], *, at_most: int | None = None) -> int:
        """The highest version of a request that both sides speak.

        Raises:
            UnsupportedVersion: They have none in common.
        """
        if at_most is not None:
            return self._pick(cls, at_most)
        if cls not in self._picked:
            self._picked[cls] = self._pick(cls, None)
        return self._picked[cls]

    def _pick(self, cls: type[Request[Any]], at_most: int | None) -> int:
        schema = schema_of(cls)
        first, last = schema.versions if self._unstable else schema.stable_versions
        api = schema.api
        if at_most is not None:
            if at_most < first:
                text = f"{api}: we speak versions {first} to {last}, not {at_most}"
                raise UnsupportedVersion(text)
            last = min(last, at_most)
        if schema.key not in self._ranges:
            raise UnsupportedVersion(
                f"{api}: we speak versions {first} to {last}, the broker does not have this API"
            )
        theirs_first, theirs_last = self._ranges[schema.key]
        version = min(last, theirs_last)
        if version < max(first, theirs_first):
            raise UnsupportedVersion(
                f"{api}: we speak versions {first} to {last}, "
                f"the broker {theirs_first} to {theirs_last}"
            )
        return version

    def supports(self, cls: type[Request[Any]], version: int = 0) -> bool:
        """Whether a request can be sent in `version` or a later one."""
        try:
            return self.pick(cls) >= version
        except UnsupportedVersion:
            return False


class Negotiation:
    """The exchange that a connection begins with: at most two questions.

    Ask `request` in `version`; give the body of the answer to `receive`; ask again while it
    returns None.
    """

    def __init__(
        self, software_name: str, software_version: str, *, unstable: bool = False
    ) -> None:
        self.request = ApiVersionsRequest(
            client_software_name=software_name, client_software_version=software_version
        )
        self.version = schema_of(ApiVersionsRequest).stable_versions[1]
        self.response: ApiVersionsResponse | None = None
        """The answer, once there is one: it has the features of the cluster too."""
        self._unstable = unstable
        self._has_fallen_back = False

    def __repr__(self) -> str:
        state = "done" if self.response else "again" if self._has_fallen_back else "first"
        return f"<Negotiation {state} v{self.version}>"

    def receive(self, frame: Buffer, start: int = 0) -> BrokerVersions | None:
        """What the broker speaks, or None: then ask again, in the new `version`.

        Raises:
            UnsupportedVersion: It refuses the version that it told us to use, or version 0.
            ProtocolError: It says nonsense, or refuses for another reason.
            StateError: It has answered already.
        """
        if self.response is not None:
            raise StateError("ApiVersions: the broker has answered already")
        code = frame[start : start + 2]
        error = int.from_bytes(code, "big", signed=True)
        if error == _UNSUPPORTED_VERSION and len(code) == 2:
            self._fall_back(frame, start)
            return None
        response = decode(ApiVersionsResponse, frame, self.version, start=start)
        if error:
            raise ProtocolError(f"ApiVersions v{self.version}: the broker answers error {error}")
        versions = BrokerVersions.from_response(response, unstable=self._unstable)
        self.response = response
        return versions

    def _fall_back(self, frame: Buffer, start: int) -> None:
        first, last = schema_of(ApiVersionsRequest).stable_versions
        if self._has_fallen_back or self.version == first:
            raise UnsupportedVersion(
                f"ApiVersions: we speak versions {first} to {last}, "
                f"the broker refuses {self.version} too"
            )
        self.version = _offered(frame, start, below=self.version)
        self._has_fallen_back = True


def _offered(frame: Buffer, start: int, *, below: int) -> int:
    """The version to ask in after a refusal: 0 unless the broker names a better one."""
    try:
        answer = decode(ApiVersionsResponse, frame, 0, start=start)
    except ProtocolError:
        return 0  # some brokers send the error alone, or with a body that cannot be read
    versions = BrokerVersions.from_response(answer)
    if all(api.api_key != schema_of(ApiVersionsRequest).key for api in answer.api_keys):
        return 0  # those before 2.4 name none
    version = versions.pick(ApiVersionsRequest)
    return version if version < below else 0


def _ranges(api_keys: list[ApiVersion]) -> dict[int, tuple[int, int]]:
    if len(api_keys) > MAX_KEYS:
        raise ProtocolError(f"ApiVersions: {len(api_keys):,} APIs, more than {MAX_KEYS:,}")
    ranges: dict[int, tuple[int, int]] = {}
    for api in api_keys:
        if not 0 <= api.min_version <= api.max_version:
            raise ProtocolError(
                f"ApiVersions: key {api.api_key} from {api.min_version} to {api.max_version}"
            )
        if api.api_key in ranges:
            raise ProtocolError(f"ApiVersions: key {api.api_key} twice")
        ranges[api.api_key] = (api.min_version, api.max_version)
    return ranges
