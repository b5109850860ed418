"""Messages to bytes and back, against kio (its encoder is Python, its decoder Rust).

    python -m benchmarks.protocol

Both make the same bytes and read the same bytes: that is checked first. kio's time over ours is the
ratio, so "within 4x of kio" is a goal of 0.25.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from kio.schema.errors import ErrorCode
from kio.schema.fetch.v12 import request as kio_fetch
from kio.schema.metadata.v12 import response as kio_metadata
from kio.serial import entity_reader, entity_writer

from benchmarks import ratio
from benchmarks.ratio import Row
from kafka_aio.protocol import _reader_py, reader
from kafka_aio.protocol.codec import decode, encode
from kafka_aio.protocol.layout import layout_of
from kafka_aio.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_aio.protocol.messages.metadata import MetadataResponse

ROUNDS = 60


def fetch_requests(partitions: int) -> tuple[FetchRequest, Any]:
    """A FetchRequest of ten topics, as ours and as kio's."""
    each = partitions // 10
    ours = FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        topics=[
            FetchTopic(
                topic=f"topic-{topic}",
                partitions=[
                    FetchPartition(
                        partition=index, fetch_offset=index * 1000, partition_max_bytes=1 << 20
                    )
                    for index in range(each)
                ],
            )
            for topic in range(10)
        ],
    )
    theirs = kio_fetch.FetchRequest(
        max_wait=timedelta(milliseconds=500),  # type: ignore[arg-type]
        min_bytes=1,  # type: ignore[arg-type]
        topics=tuple(
            kio_fetch.FetchTopic(
                topic=f"topic-{topic}",  # type: ignore[arg-type]
                partitions=tuple(
                    kio_fetch.FetchPartition(
                        partition=index,  # type: ignore[arg-type]
                        fetch_offset=index * 1000,  # type: ignore[arg-type]
                        partition_max_bytes=1 << 20,  # type: ignore[arg-type]
                    )
                    for index in range(each)
                ),
            )
            for topic in range(10)
        ),
        forgotten_topics_data=(),
    )
    return ours, theirs


def metadata_bytes(partitions: int) -> bytes:
    """A MetadataResponse of topics with ten partitions each, three replicas, as kio writes it."""
    topics = tuple(
        kio_metadata.MetadataResponseTopic(
            error_code=ErrorCode.none,
            name=f"topic-{topic}",  # type: ignore[arg-type]
            topic_id=UUID(int=topic + 1),
            is_internal=False,
            partitions=tuple(
                kio_metadata.MetadataResponsePartition(
                    error_code=ErrorCode.none,
                    partition_index=index,  # type: ignore[arg-type]
                    leader_id=index % 5,  # type: ignore[arg-type]
                    leader_epoch=7,  # type: ignore[arg-type]
                    replica_nodes=(1, 2, 3),  # type: ignore[arg-type]
                    isr_nodes=(1, 2, 3),  # type: ignore[arg-type]
                    offline_replicas=(),
                )
                for index in range(10)
            ),
        )
        for topic in range(partitions // 10)
    )
    brokers = tuple(
        kio_metadata.MetadataResponseBroker(
            node_id=node,  # type: ignore[arg-type]
            host=f"broker-{node}",
            port=9092,  # type: ignore[arg-type]
            rack=None,
        )
        for node in range(5)
    )
    response = kio_metadata.MetadataResponse(
        throttle_time=timedelta(0),  # type: ignore[arg-type]
        brokers=brokers,
        cluster_id="cluster",
        controller_id=1,  # type: ignore[arg-type]
        topics=topics,
    )
    return write(response)


def write(entity: Any) -> bytes:
    written = io.BytesIO()
    entity_writer(type(entity))(written, entity)
    return written.getvalue()


def row(name: str, goal: float, ours: Callable[[], object], theirs: Callable[[], object]) -> Row:
    mine, peer = ratio.best_of(ROUNDS, ours, theirs)
    return Row(name=name, peer_name="kio", ours=mine * 1e6, peer=peer * 1e6, goal=goal, unit="us")


def measure() -> list[Row]:
    ours, theirs = fetch_requests(100)
    assert encode(ours, 12) == write(theirs)
    frame = metadata_bytes(1000)
    message = decode(MetadataResponse, frame, 12)
    assert encode(message, 12) == frame
    plain = _reader_py.compile_reader(layout_of(MetadataResponse, 12))
    assert plain(frame, 0) == (message, len(frame))
    kio = entity_reader(kio_metadata.MetadataResponse)

    rows = [
        row("encode Fetch, 100 partitions", 10, lambda: encode(ours, 12), lambda: write(theirs)),
        row(
            "decode Metadata, 1,000 partitions, twin",
            1 / 4,
            lambda: plain(frame, 0),
            lambda: kio(frame, 0),
        ),
    ]
    if reader.IS_COMPILED:
        rows.append(
            row(
                "decode Metadata, 1,000 partitions",
                1 / 1.5,
                lambda: decode(MetadataResponse, frame, 12),
                lambda: kio(frame, 0),
            )
        )
    return rows


def main() -> None:
    print(f"decoders: {'compiled' if reader.IS_COMPILED else 'twin'}\n")
    rows = measure()
    print(ratio.table(rows))
    print(f"\n{ratio.save('protocol', rows)}")


if __name__ == "__main__":
    main()
