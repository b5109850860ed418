from __future__ import annotations

import pytest

from kafka_aio.errors import ProtocolError, StateError, UnsupportedVersion
from kafka_aio.protocol.codec import encode
from kafka_aio.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from kafka_aio.protocol.messages.fetch import FetchRequest
from kafka_aio.protocol.messages.produce import ProduceRequest
from kafka_aio.protocol.messages.transactions import InitProducerIdRequest
from kafka_aio.protocol.versions import MAX_KEYS, BrokerVersions, Negotiation


def answer(*ranges: tuple[int, int, int], error: int = 0) -> ApiVersionsResponse:
    keys = [ApiVersion(api_key=key, min_version=a, max_version=b) for key, a, b in ranges]
    return ApiVersionsResponse(error_code=error, api_keys=keys)


@pytest.mark.parametrize(
    ("theirs", "version"), [((0, 30), 18), ((4, 12), 12), ((4, 4), 4), ((18, 25), 18)]
)
def test_the_highest_version_in_common_is_picked(theirs: tuple[int, int], version: int) -> None:
    versions = BrokerVersions({1: theirs})

    assert versions.pick(FetchRequest) == version


@pytest.mark.parametrize("theirs", [(0, 3), (19, 20)])
def test_no_version_in_common_names_the_api_and_both_ranges(theirs: tuple[int, int]) -> None:
    versions = BrokerVersions({1: theirs})

    with pytest.raises(UnsupportedVersion) as refused:
        versions.pick(FetchRequest)

    assert str(refused.value) == (
        f"Fetch: we speak versions 4 to 18, the broker {theirs[0]} to {theirs[1]}"
    )


def test_an_api_that_the_broker_lacks_is_named() -> None:
    with pytest.raises(UnsupportedVersion, match=r"Fetch: .* the broker does not have this API"):
        BrokerVersions({}).pick(FetchRequest)


def test_a_lower_limit_can_be_asked_for() -> None:
    versions = BrokerVersions({1: (4, 18)})

    assert versions.pick(FetchRequest, at_most=12) == 12
    with pytest.raises(UnsupportedVersion):
        versions.pick(FetchRequest, at_most=3)


def test_produce_is_never_below_version_3_though_brokers_say_they_speak_0() -> None:
    assert BrokerVersions({0: (0, 3)}).pick(ProduceRequest) == 3
    with pytest.raises(UnsupportedVersion):
        BrokerVersions({0: (0, 2)}).pick(ProduceRequest)


def test_a_version_that_is_not_settled_is_picked_only_if_asked_for() -> None:
    assert BrokerVersions({22: (0, 6)}).pick(InitProducerIdRequest) == 5
    assert BrokerVersions({22: (0, 6)}, unstable=True).pick(InitProducerIdRequest) == 6


def test_support_can_be_asked_for() -> None:
    versions = BrokerVersions({1: (4, 12)})

    assert versions.supports(FetchRequest)
    assert versions.supports(FetchRequest, 12)
    assert not versions.supports(FetchRequest, 13)
    assert not versions.supports(ProduceRequest)
    assert repr(versions) == "<BrokerVersions of 1 APIs>"


@pytest.mark.parametrize(
    ("nonsense", "text"),
    [
        (answer((1, 5, 4)), "key 1 from 5 to 4"),
        (answer((1, -1, 4)), "key 1 from -1 to 4"),
        (answer((1, 0, 4), (2, 0, 1), (1, 0, 4)), "key 1 twice"),
        (answer(*((key, 0, 1) for key in range(MAX_KEYS + 1))), "1,001 APIs, more than 1,000"),
    ],
)
def test_nonsense_is_refused(nonsense: ApiVersionsResponse, text: str) -> None:
    with pytest.raises(ProtocolError, match=text):
        BrokerVersions.from_response(nonsense)


def test_a_broker_is_asked_in_our_highest_version_first() -> None:
    negotiation = Negotiation("kafka_aio", "1.0")

    versions = negotiation.receive(b"head" + encode(answer((18, 0, 4), (1, 4, 17)), 4), 4)

    assert negotiation.request == ApiVersionsRequest(
        client_software_name="kafka_aio", client_software_version="1.0"
    )
    assert versions is not None
    assert versions.pick(FetchRequest) == 17
    assert repr(negotiation) == "<Negotiation done v4>"


@pytest.mark.parametrize(("theirs", "then"), [((0, 3), 3), ((0, 2), 2), ((0, 0), 0)])
def test_an_older_broker_names_its_versions_and_is_asked_again(
    theirs: tuple[int, int], then: int
) -> None:
    negotiation = Negotiation("kafka_aio", "1.0")

    refused = negotiation.receive(encode(answer((18, *theirs), error=35), 0))

    assert refused is None
    assert negotiation.version == then
    assert repr(negotiation) == f"<Negotiation again v{then}>"
    assert negotiation.receive(encode(answer((1, 4, 17)), then)) is not None


@pytest.mark.parametrize(
    "body",
    [
        b"\x00\x23",  # the error alone
        b"\x00\x23\x00\x00\x00\x00",  # no keys
        b"\x00\x23\x7f\xff\xff\xff",  # keys that are not there
        encode(answer((18, 0, 9), error=35), 0),  # what it has just refused
        encode(answer((1, 4, 17), error=35), 0),  # others only
    ],
)
def test_a_refusal_that_says_nothing_of_use_leads_to_version_0(body: bytes) -> None:
    negotiation = Negotiation("kafka_aio", "1.0")

    assert negotiation.receive(body) is None
    assert negotiation.version == 0


def test_a_refusal_with_versions_that_we_do_not_speak_names_both() -> None:
    with pytest.raises(UnsupportedVersion, match=r"ApiVersions: we speak .* 0 to 4, .* 7 to 9"):
        Negotiation("kafka_aio", "1.0").receive(encode(answer((18, 7, 9), error=35), 0))


def test_a_refusal_with_nonsense_is_refused_itself() -> None:
    with pytest.raises(ProtocolError, match="key 18 from 5 to 3"):
        Negotiation("kafka_aio", "1.0").receive(encode(answer((18, 5, 3), error=35), 0))


def test_half_an_error_code_is_no_refusal() -> None:
    with pytest.raises(ProtocolError, match="error_code: 1 byte missing"):
        Negotiation("kafka_aio", "1.0").receive(b"\x23")


def test_a_limit_below_what_we_speak_is_named() -> None:
    with pytest.raises(UnsupportedVersion, match="Fetch: we speak versions 4 to 18, not 2"):
        BrokerVersions({1: (0, 18)}).pick(FetchRequest, at_most=2)


def test_a_broker_that_refuses_twice_is_given_up() -> None:
    negotiation = Negotiation("kafka_aio", "1.0")
    refusal = encode(answer((18, 0, 3), error=35), 0)
    negotiation.receive(refusal)

    with pytest.raises(UnsupportedVersion) as refused:
        negotiation.receive(refusal)

    text = "ApiVersions: we speak versions 0 to 4, the broker refuses 3 too"
    assert str(refused.value) == text
    assert negotiation.version == 3


def test_another_error_is_an_error() -> None:
    negotiation = Negotiation("kafka aio", "1.0")

    with pytest.raises(ProtocolError, match="ApiVersions v4: the broker answers error 42"):
        negotiation.receive(encode(answer(error=42), 4))


def test_bytes_that_are_no_answer_are_an_error_and_change_nothing() -> None:
    negotiation = Negotiation("kafka_aio", "1.0")

    with pytest.raises(ProtocolError, match="ApiVersionsResponse v4: error_code"):
        negotiation.receive(b"")
    assert repr(negotiation) == "<Negotiation first v4>"


def test_a_broker_answers_once() -> None:
    negotiation = Negotiation("kafka_aio", "1.0")
    negotiation.receive(encode(answer(), 4))

    with pytest.raises(StateError):
        negotiation.receive(encode(answer(), 4))
