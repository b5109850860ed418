"""Batches of ours on a real broker, read by the clients of others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_aio.records.compression import Codec
from tests.interop import peer
from tests.interop.sample import ALL, BINARY, COMPRESSIONS, LARGE, NAMES, SMALL, Written, batch_of
from tests.kafka.cluster import Cluster
from tests.kafka.raw import RawConnection
from tests.kafka.topic import Topic

pytestmark = pytest.mark.kafka

# kafka-python reads these with packages that are not among the test requirements.
NOT_FOR_KAFKA_PYTHON = {Codec.SNAPPY, Codec.ZSTD}

CASES = [
    (reader, name)
    for reader in peer.READERS
    for name in NAMES
    if not (reader == "kafka-python" and COMPRESSIONS[name].codec in NOT_FOR_KAFKA_PYTHON)
]


@pytest.fixture(scope="module")
def ours(connection: RawConnection) -> Topic:
    """A topic with the same records in every partition, each with a compression of its own."""
    topic = Topic.create(connection, "ours", partitions=len(NAMES))
    for partition, name in enumerate(NAMES):
        for records in (SMALL + BINARY, LARGE):
            topic.produce(batch_of(records, COMPRESSIONS[name]), partition)
    return topic


@pytest.fixture(scope="module")
def read_by(kafka: Cluster, ours: Topic) -> Callable[[str], peer.Read]:
    """What a reader finds in the topic; each is asked once."""
    found: dict[str, peer.Read] = {}

    def read(reader: str) -> peer.Read:
        if reader not in found:
            wanted = [NAMES.index(name) for other, name in CASES if other == reader]
            total = len(ALL) * len(wanted)
            found[reader] = peer.READERS[reader](kafka, ours.name, wanted, total)
        return found[reader]

    return read


@pytest.mark.parametrize(("reader", "name"), CASES)
def test_others_read_what_we_wrote(
    read_by: Callable[[str], peer.Read], reader: str, name: str
) -> None:
    read = read_by(reader)[NAMES.index(name)]

    assert read == list(enumerate(ALL))


def test_the_console_consumer_prints_what_we_wrote(kafka: Cluster, ours: Topic) -> None:
    printed = kafka.tool(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--bootstrap-server", kafka.bootstrap, "--topic", ours.name, "--from-beginning"),
        *("--max-messages", str(len(ALL) * len(NAMES)), "--timeout-ms", "30000"),
        *("--formatter-property", "print.partition=true"),
        *("--formatter-property", "print.offset=true"),
        *("--formatter-property", "print.timestamp=true"),
        *("--formatter-property", "print.headers=true"),
        *("--formatter-property", "print.key=true"),
        *("--formatter-property", "null.literal=<null>"),
    )
    lines = printed.split("\n")

    for partition in range(len(NAMES)):
        wanted = [as_printed(partition, at, each) for at, each in enumerate(ALL)]
        text = [line for line in wanted if "\ufffd" not in line and "\n" not in line]
        found = [line for line in lines if line in set(text)]
        assert found == text, NAMES[partition]


def as_printed(partition: int, offset: int, record: Written) -> str:
    headers = ",".join(f"{name}:{_text(value)}" for name, value in record.headers)
    return "\t".join(
        [
            f"CreateTime:{record.timestamp}",
            f"Partition:{partition}",
            f"Offset:{offset}",
            headers or "NO_HEADERS",
            _text(record.key),
            _text(record.value),
        ]
    )


def _text(part: bytes | None) -> str:
    return "<null>" if part is None else part.decode(errors="replace")
