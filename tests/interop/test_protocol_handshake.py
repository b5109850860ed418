"""Version negotiation with a real broker, and its answer to every request that we know."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_aio.protocol.layout import Layout, layout_of
from kafka_aio.protocol.messages import for_key
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest
from kafka_aio.protocol.messages.index import REQUESTS
from kafka_aio.protocol.messages.transactions import AddPartitionsToTxnTransaction
from kafka_aio.protocol.schema import Array, Request, Struct, schema_of
from kafka_aio.protocol.versions import Negotiation
from tests.kafka import jars
from tests.kafka.cluster import Cluster
from tests.kafka.raw import CLIENT_ID, RawConnection

pytestmark = pytest.mark.kafka

UNSUPPORTED_VERSION = 35
PRODUCE = 0
# A broker has these only with a metrics reporter that takes in what clients send (KIP-714).
TELEMETRY = {71, 72}

# What a request must have for Kafka to answer at all, by API key and first version.
LEAST: dict[int, tuple[int, dict[str, object]]] = {
    0: (0, {"acks": -1}),  # 0 means that no answer is wanted
    18: (3, {"client_software_name": CLIENT_ID, "client_software_version": "0"}),
    24: (
        4,  # Kafka 4.3 never answers one without a transaction
        {
            "transactions": [
                AddPartitionsToTxnTransaction(
                    transactional_id="none", producer_id=0, producer_epoch=0, topics=[]
                )
            ]
        },
    ),
    29: (0, {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1}),
}
LEAST[29][1]["permission_type"] = 1  # 1 is "any"; for 0, "unknown", Kafka closes the connection


def stable_versions(key: int) -> range:
    first, last = schema_of(for_key(key)).stable_versions
    return range(first, last + 1)


VERSIONS = [
    (key, version) for key in sorted(set(REQUESTS) - TELEMETRY) for version in stable_versions(key)
]
IDS = [f"{REQUESTS[key][1]}-v{version}" for key, version in VERSIONS]


def emptiest(cls: type[Request[Any]], version: int) -> Request[Any]:
    """The request with as little in it as Kafka answers to: no items, no names, zeros."""
    made: Request[Any] = _empty_struct(layout_of(cls, version))
    since, least = LEAST.get(schema_of(cls).key, (0, {}))
    if version >= since:
        for name, value in least.items():
            object.__setattr__(made, name, value)
    return made


def _empty_struct(layout: Layout) -> Any:
    fields: dict[str, object] = {}
    for part in layout.fields:
        if isinstance(part.type, Array):
            fields[part.name] = []
        elif isinstance(part.type, Struct):
            assert part.struct is not None
            fields[part.name] = None if part.nullable else _empty_struct(part.struct)
        else:
            fields[part.name] = part.type.zero
    return layout.cls(**fields)


@pytest.fixture
def fresh(kafka: Cluster) -> Iterator[RawConnection]:
    """A connection that may be closed by the broker without harm to another test."""
    with kafka.connect() as connection:
        yield connection


@pytest.fixture(scope="module")
def advertised(connection: RawConnection) -> dict[int, tuple[int, int]]:
    """First and last version of each API, as the broker says."""
    negotiation = Negotiation(CLIENT_ID, "0")
    connection.negotiate(negotiation)
    assert negotiation.response is not None
    return {
        each.api_key: (each.min_version, each.max_version) for each in negotiation.response.api_keys
    }


def test_one_question_is_enough_with_a_broker_of_our_own_age(fresh: RawConnection) -> None:
    negotiation = Negotiation(CLIENT_ID, "0")

    versions = fresh.negotiate(negotiation)

    assert versions.pick(ApiVersionsRequest) == negotiation.version
    assert negotiation.response is not None
    assert "metadata.version" in {each.name for each in negotiation.response.finalized_features}


def test_a_version_from_the_future_is_answered_with_those_the_broker_has(
    fresh: RawConnection,
) -> None:
    negotiation = Negotiation(CLIENT_ID, "0")
    ours = negotiation.version
    negotiation.version = 99
    header = struct.pack(">hhih", 18, negotiation.version, 7, -1) + b"\0"

    answer = fresh.exchange([struct.pack(">i", len(header)), header])

    assert struct.unpack_from(">ih", answer) == (7, UNSUPPORTED_VERSION)
    assert negotiation.receive(answer, start=4) is None
    assert negotiation.version == ours
    assert fresh.negotiate(negotiation).pick(ApiVersionsRequest) == ours


def test_we_know_every_api_of_the_broker(advertised: dict[int, tuple[int, int]]) -> None:
    assert set(advertised) - set(REQUESTS) == set()
    if jars.VERSION.startswith("4.3"):
        assert set(REQUESTS) - set(advertised) <= TELEMETRY


def test_we_speak_the_versions_of_the_broker(advertised: dict[int, tuple[int, int]]) -> None:
    ours = {key: schema_of(for_key(key)).stable_versions for key in advertised}
    theirs = dict(advertised)
    # Said for old librdkafka only (KAFKA-18659): a broker of 4.0 or later refuses those below 3.
    theirs[PRODUCE] = (max(theirs[PRODUCE][0], 3), theirs[PRODUCE][1])

    if jars.VERSION.startswith("4.3"):
        assert ours == theirs
    for key, (first, last) in ours.items():
        assert first <= theirs[key][1], REQUESTS[key]
        assert last >= theirs[key][0], REQUESTS[key]


@pytest.mark.parametrize(("key", "version"), VERSIONS, ids=IDS)
def test_the_answer_to_a_request_with_nothing_in_it_is_read_to_its_last_byte(
    fresh: RawConnection, advertised: dict[int, tuple[int, int]], key: int, version: int
) -> None:
    first, last = advertised.get(key, (0, -1))
    if not first <= version <= last:
        pytest.skip(f"Kafka {jars.VERSION} as it is set up here has no version {version} of it")
    request = emptiest(for_key(key), version)

    answer = fresh.send(request, version)

    assert getattr(answer, "error_code", 0) != UNSUPPORTED_VERSION
