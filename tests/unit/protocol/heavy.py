"""Frames whose messages take much memory: of any shape, of tiny items, and of large clusters."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from functools import cache

from kafka_aio.protocol.codec import encode
from kafka_aio.protocol.layout import Layout, Part
from kafka_aio.protocol.messages.configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kafka_aio.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from kafka_aio.protocol.messages.groups import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    ListedGroup,
    ListGroupsResponse,
)
from kafka_aio.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
)
from kafka_aio.protocol.messages.offsets import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from kafka_aio.protocol.primitives import MAX_ELEMENTS, uvarint, write_tags
from kafka_aio.protocol.schema import (
    Array,
    Buffer,
    Bytes,
    Int8,
    Int32,
    Int64,
    Records,
    Scalar,
    Sized,
    String,
    Struct,
    Uuid,
    data,
    message,
)

MIB = 1 << 20

# --- of any shape ------------------------------------------------------------------------------

COUNTS = ((10, 12), (0, 1, 9), (0, 1, 2))
"""How many items an array may have, by depth."""


def crowd(rng: random.Random, layout: Layout, depth: int = 0) -> bytes:
    """Bytes of a struct with many small values, few of them equal."""
    out = [crowd_value(rng, part, depth) for part in layout.fields]
    if layout.flexible:
        tags = {
            part.tag or 0: crowd_value(rng, part, depth + 1)
            for part in layout.tagged
            if rng.random() < 0.3
        }
        if depth == 0:
            tags |= {rng.randrange(100, 1000): rng.randbytes(rng.randrange(9)) for _ in range(7)}
        out.append(tag_section(tags))
    return b"".join(out)


def tag_section(tags: dict[int, bytes]) -> bytes:
    out: list[Buffer] = []
    write_tags(out, tags)
    return b"".join(out)


def crowd_value(rng: random.Random, part: Part, depth: int) -> bytes:
    if isinstance(part.type, Array):
        count = rng.choice(COUNTS[min(depth, 2)])
        size = uvarint(count + 1) if part.compact else struct.pack(">i", count)
        return size + b"".join(crowd_item(rng, part, part.type.item, depth) for _ in range(count))
    if part.nullable and isinstance(part.type, Struct):
        return b"\xff" if rng.random() < 0.5 else b"\x01" + crowd_item(rng, part, part.type, depth)
    return crowd_item(rng, part, part.type, depth)


def crowd_item(rng: random.Random, part: Part, wire: Scalar | Sized | Struct, depth: int) -> bytes:
    if isinstance(wire, Struct):
        assert part.struct is not None
        return crowd(rng, part.struct, depth + 1)
    if isinstance(wire, Scalar):
        return rng.randbytes(wire.size)
    letters = rng.choice(("abcdefgh", "abcdefgh", "ab\xe9\u20ac\U0001f600"))
    text = "".join(rng.choices(letters, k=rng.randrange(12))).encode()
    if part.compact:
        return uvarint(len(text) + 1) + text
    return struct.pack(">h" if wire.name == "string" else ">i", len(text)) + text


# --- of tiny items -----------------------------------------------------------------------------


@data(versions=(0, 1), flexible=1)
class Texts:
    items: list[String]


@data(versions=(0, 1), flexible=1)
class Numbers:
    items: list[Int32]


@message
class Tiny:
    number: Int8


@data(versions=(0, 1), flexible=1)
class Tinies:
    items: list[Tiny]


@message
class Lists:
    numbers: list[Int8]


@data(versions=(0, 1), flexible=1)
class Nested:
    items: list[Lists]


@message
class Piece:
    records: Records


@data(versions=(0, 1), flexible=1)
class Pieces:
    items: list[Piece]


MANY_TAGS = b"".join(bytes([tag, 2, 7, 7]) for tag in range(11))


@data(versions=(0, 1), flexible=1)
class Blobs:
    items: list[Bytes]


@data(versions=(0, 1), flexible=1)
class Longs:
    items: list[Int64]


@data(versions=(0, 1), flexible=1)
class Ids:
    items: list[Uuid]


@message
class Pair:
    one: Int64
    other: Uuid


@data(versions=(0, 1), flexible=1)
class Pairs:
    items: list[Pair]


def digits(number: int) -> bytes:
    """Three printable characters, different ones for each number."""
    return bytes(32 + number // 90**place % 90 for place in range(3))


BOMBS: dict[str, tuple[type, Callable[[int], bytes]]] = {
    "texts": (Texts, lambda n: b"\x04" + digits(n)),
    "wide texts": (Texts, lambda n: b"\x05" + digits(n)[:2] + b"\xc4\x80"),
    "numbers": (Numbers, lambda n: struct.pack(">i", n + 1000)),
    "structs": (Tinies, lambda n: b"\x07\x00"),
    "structs with a tag": (Tinies, lambda n: b"\x07\x01" + uvarint(300 + n % 9000) + b"\x00"),
    "structs with tags": (Tinies, lambda n: b"\x07\x0b" + MANY_TAGS),
    "lists": (Nested, lambda n: b"\x02" + bytes([n % 256]) + b"\x00"),
    "views": (Pieces, lambda n: b"\x02x\x00"),
}
KINDS: dict[str, tuple[type, Callable[[int], bytes]]] = BOMBS | {
    "blobs": (Blobs, lambda n: b"\x04" + digits(n)),
    "long numbers": (Longs, lambda n: struct.pack(">q", n + 1000)),
    "ids": (Ids, lambda n: struct.pack(">QQ", n, n)),
    "pairs": (Pairs, lambda n: struct.pack(">QQQB", n + 1000, n, n, 0)),
}


def array_of(item: Callable[[int], bytes], count: int) -> bytes:
    return uvarint(count + 1) + b"".join(map(item, range(count))) + b"\x00"


def bomb(name: str, size: int) -> tuple[type, bytes]:
    """A frame of that size, full of items of which each takes many times its bytes."""
    cls, item = BOMBS[name]
    return cls, array_of(item, min(size // len(item(0)), MAX_ELEMENTS))


# --- of large clusters -------------------------------------------------------------------------


@cache
def metadata(partitions: int, replicas: int) -> bytes:
    """Topics of twelve partitions on 30 brokers; some replicas are not in sync."""
    rng = random.Random(partitions)
    brokers = [
        MetadataResponseBroker(node_id=1000 + node, host=f"broker-{node}", port=9092)
        for node in range(30)
    ]
    head = encode(MetadataResponse(brokers=brokers, topics=[]), 12)[:-2]
    nodes = struct.Struct(f">B{replicas}i")
    out = [head, uvarint(partitions // 12 + 1)]
    for topic in range(partitions // 12):
        name = b"topic-%d" % topic
        out += (b"\0\0", uvarint(len(name) + 1), name, rng.randbytes(16), b"\0\x0d")
        for index in range(12):
            leader = topic * 7 + index
            ids = (1000 + (leader + place * 5) % 30 for place in range(replicas))
            every = nodes.pack(replicas + 1, *ids)
            in_sync = every if rng.random() < 0.9 else b"\x02" + every[1:5]
            out.append(struct.pack(">hiii", 0, index, 1000 + leader % 30, rng.randrange(3000)))
            out += (every, in_sync, b"\x01\0")
        out.append(b"\x80\0\0\0\0")
    return b"".join((*out, b"\0"))


def list_groups() -> bytes:
    groups = [
        ListedGroup(group_id=f"group-{index}", protocol_type="consumer", group_state="Stable")
        for index in range(100_000)
    ]
    return encode(ListGroupsResponse(error_code=0, groups=groups), 5)


def find_coordinators() -> bytes:
    found = [
        Coordinator(
            key=f"group-{index}",
            node_id=index % 30,
            host=f"broker-{index % 30}",
            port=9092,
            error_code=0,
            error_message=None,
        )
        for index in range(100_000)
    ]
    return encode(FindCoordinatorResponse(coordinators=found), 4)


def describe_configs() -> bytes:
    results = [
        DescribeConfigsResult(
            error_code=0,
            error_message=None,
            resource_type=2,
            resource_name=f"topic-{topic}",
            configs=[
                DescribeConfigsResourceResult(
                    name=f"a.setting.of.topics.{setting}",
                    value=str(setting * 1000),
                    read_only=False,
                    config_source=5,
                    is_sensitive=False,
                    synonyms=[],
                )
                for setting in range(35)
            ],
        )
        for topic in range(3_000)
    ]
    return encode(DescribeConfigsResponse(throttle_time_ms=0, results=results), 4)


def fetch_offsets() -> bytes:
    rng = random.Random(1)
    topics = [
        OffsetFetchResponseTopics(
            name=f"topic-{topic}",
            partitions=[
                OffsetFetchResponsePartitions(
                    partition_index=index,
                    committed_offset=rng.randrange(1 << 40),
                    committed_leader_epoch=rng.randrange(3000),
                    metadata="",
                    error_code=0,
                )
                for index in range(4)
            ],
        )
        for topic in range(25_000)
    ]
    group = OffsetFetchResponseGroup(group_id="group", topics=topics)
    return encode(OffsetFetchResponse(groups=[group]), 9)


def fetch_nothing() -> bytes:
    rng = random.Random(1)
    topics = [
        FetchableTopicResponse(
            topic_id=Uuid(rng.randbytes(16)),
            partitions=[
                PartitionData(
                    partition_index=index,
                    error_code=0,
                    high_watermark=rng.randrange(1 << 40),
                    last_stable_offset=rng.randrange(1 << 40),
                    log_start_offset=rng.randrange(1 << 40),
                    aborted_transactions=None,
                    records=b"",
                )
                for index in range(4)
            ],
        )
        for _ in range(25_000)
    ]
    return encode(FetchResponse(throttle_time_ms=0, responses=topics), 16)


def million_topics() -> bytes:
    head = encode(MetadataResponse(brokers=[], topics=[]), 12)[:-2]
    topic = b"\0\0\0" + b"anything sixteen" + b"\0\x01" + bytes(5)
    return head + uvarint(MAX_ELEMENTS + 1) + topic * MAX_ELEMENTS + b"\0"


def distinct_keys() -> bytes:
    keys = b"".join(b"\x04" + digits(number) for number in range(300_000))
    return b"\0" + uvarint(300_001) + keys + b"\0"


HONEST: dict[str, tuple[type, int, Callable[[], bytes]]] = {
    "metadata of three replicas": (MetadataResponse, 12, lambda: metadata(100_000, 3)),
    "metadata of single replicas": (MetadataResponse, 12, lambda: metadata(100_000, 1)),
    "100,000 groups": (ListGroupsResponse, 5, list_groups),
    "100,000 coordinators": (FindCoordinatorResponse, 4, find_coordinators),
    "configs of 3,000 topics": (DescribeConfigsResponse, 4, describe_configs),
    "100,000 offsets": (OffsetFetchResponse, 9, fetch_offsets),
    "100,000 partitions without records": (FetchResponse, 16, fetch_nothing),
}

FRAMES: dict[str, tuple[type, int, Callable[[], bytes], str]] = {
    "a large cluster": (MetadataResponse, 12, lambda: metadata(300_000, 3), "decoded"),
    "a million topics": (MetadataResponse, 12, million_topics, "decoded"),
    "many keys": (FindCoordinatorRequest, 4, distinct_keys, "FindCoordinatorRequest v4: 1,200,005"),
}
