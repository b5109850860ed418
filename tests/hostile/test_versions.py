"""Answers to ApiVersions that can be read, and yet make no sense."""

from __future__ import annotations

import struct

import pytest

from kafka_aio.errors import KafkaError, ProtocolError, UnsupportedVersion
from kafka_aio.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from kafka_aio.protocol.messages.metadata import MetadataRequest
from kafka_aio.protocol.primitives import MAX_ELEMENTS, MAX_TAGS, uvarint
from kafka_aio.protocol.schema import schema_of
from tests.hostile.attacks import (
    QUICK_TO_GIVE_UP,
    SLACK,
    answers,
    first,
    outcome_of,
    the_first_asked_is,
    works,
)
from tests.net.clusters import UNHURRIED, made, scripted
from tests.net.server import ALL_VERSIONS, PATIENCE, Reaction, says

METADATA = schema_of(MetadataRequest).key
UNSUPPORTED_VERSION = struct.pack(">hi", 35, 0)  # in version 0, with no versions


def speaks(*ranges: tuple[int, int, int], error_code: int = 0) -> Reaction:
    """Each range is a key, the first version and the last."""
    keys = [ApiVersion(api_key=key, min_version=a, max_version=b) for key, a, b in ranges]
    return says(ApiVersionsResponse(error_code=error_code, api_keys=keys))


def speaks_also(*ranges: tuple[int, int, int]) -> Reaction:
    """All that brokers speak, and this."""
    known = [(each.api_key, each.min_version, each.max_version) for each in ALL_VERSIONS]
    return speaks(*known, *ranges)


def lists(count: int) -> Reaction:
    """So many keys, in the newest version; packed by hand: it is refused sooner than it is made."""
    keys = b"".join(struct.pack(">hhhB", key % 30_000, 0, 1, 0) for key in range(count))
    return answers(b"\0\0" + uvarint(count + 1) + keys + bytes(5))


def in_the_oldest_version(body: bytes) -> Reaction:
    """Error 35 at first, so that we ask again in version 0, which has no varints."""
    return first(answers(UNSUPPORTED_VERSION), then=answers(body))


NONSENSE: dict[str, tuple[Reaction, type[KafkaError]]] = {
    "error 35, for ever": (answers(UNSUPPORTED_VERSION), UnsupportedVersion),
    "error 35, and the version that we asked for": (
        answers(struct.pack(">hihhh", 35, 1, 18, 0, 4)),
        UnsupportedVersion,
    ),
    "error 35, and versions that we do not speak": (
        answers(struct.pack(">hihhh", 35, 1, 18, 100, 200)),
        UnsupportedVersion,
    ),
    "an error that nobody knows": (speaks(error_code=32_767), ProtocolError),
    "no API at all": (speaks(), ProtocolError),
    "a first version above the last": (speaks_also((999, 2, 1)), ProtocolError),
    "a version below zero": (speaks_also((999, -1, 1)), ProtocolError),
    "a key twice": (speaks_also((METADATA, 0, 1)), ProtocolError),
    "60,000 keys": (lists(60_000), ProtocolError),
    "100,000 keys, which is above 512 KiB": (lists(100_000), ProtocolError),
    "2^31-1 keys, promised": (in_the_oldest_version(b"\0\0\x7f\xff\xff\xff"), ProtocolError),
    "2^31-1 keys, promised in a varint": (answers(b"\0\0" + uvarint(2**31 - 1)), ProtocolError),
    "keys that do not end": (answers(b"\0\0" + b"\xff" * 400), ProtocolError),
    "more keys than any array may have": (
        answers(b"\0\0" + uvarint(MAX_ELEMENTS + 2) + bytes(1_000)),
        ProtocolError,
    ),
    "-1 keys": (in_the_oldest_version(b"\0\0\xff\xff\xff\xff"), ProtocolError),
    "2^31-1 tagged fields, promised": (
        answers(b"\0\0\1" + bytes(4) + uvarint(2**31 - 1)),
        ProtocolError,
    ),
    "more tagged fields than a struct may have": (
        answers(
            b"\0\0\1"
            + bytes(4)
            + uvarint(MAX_TAGS + 1)
            + b"".join(uvarint(tag) + b"\0" for tag in range(100, MAX_TAGS + 101))
        ),
        ProtocolError,
    ),
    "a tagged field twice": (answers(b"\0\0\1" + bytes(4) + b"\2\x09\0\x09\0"), ProtocolError),
}


@pytest.mark.parametrize("name", NONSENSE)
async def test_nonsense_is_refused_at_once(name: str) -> None:
    hostile, kind = NONSENSE[name]
    async with scripted(1) as script:
        reactions = script.brokers[1].reactions
        good = reactions[ApiVersionsRequest]
        reactions[ApiVersionsRequest] = hostile

        async with made(script.bootstrap(), **UNHURRIED) as cluster:
            _, error, seconds = await outcome_of(cluster.start(timeout=PATIENCE))

            assert type(error) is kind
            assert f":{script.brokers[1].port}: " in str(error)
            assert seconds < SLACK
            assert len(script.asked(ApiVersionsRequest)) <= 2
            reactions[ApiVersionsRequest] = good
            await works(cluster, script)


@pytest.mark.parametrize("behind", [b"", b"\0\0\0\0", b"\x7f\xff\xff\xff", b"\xff" * 100])
async def test_a_version_that_is_refused_is_not_asked_for_again_whatever_comes_with_it(
    behind: bytes,
) -> None:
    async with scripted(1) as script:
        reactions = script.brokers[1].reactions
        good = reactions[ApiVersionsRequest]
        reactions[ApiVersionsRequest] = first(answers(b"\0\x23" + behind), then=good)

        async with made(script.bootstrap()) as cluster:
            await cluster.start()

            assert [each.version for each in script.asked(ApiVersionsRequest)] == [4, 0]
            await works(cluster, script)


@pytest.mark.parametrize("hostile", [speaks((0, 0, 9)), speaks((METADATA, 100, 200))])
async def test_without_a_version_of_metadata_in_common_there_is_no_point_in_waiting(
    hostile: Reaction,
) -> None:
    async with scripted(1) as script:
        script.brokers[1].reactions[ApiVersionsRequest] = hostile

        async with made(script.bootstrap(), **UNHURRIED) as cluster:
            _, error, seconds = await outcome_of(cluster.start(timeout=PATIENCE))

        assert type(error) is UnsupportedVersion
        assert "Metadata: we speak versions 0 to" in str(error)
        assert seconds < SLACK


async def test_without_a_version_of_metadata_in_common_another_server_is_asked() -> None:
    async with scripted(2) as script:
        the_first_asked_is(speaks((0, 0, 9)), script, ApiVersionsRequest)

        async with made(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
            await cluster.start(timeout=PATIENCE)

            assert list(cluster.metadata.nodes) == [1, 2]
