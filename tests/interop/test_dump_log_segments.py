"""Files of ours, read by Apache Kafka's DumpLogSegments."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

from kafka_aio.protocol.codec import encode
from kafka_aio.protocol.messages.control_records import ControlRecordTypeSchema, EndTxnMarker
from kafka_aio.records import layout
from kafka_aio.records.batch import read_header
from kafka_aio.records.codec import BatchBuilder
from kafka_aio.records.layout import ProducerStamp
from tests.interop.sample import COMPRESSIONS, LARGE, NOW, SMALL, Written, batch_of
from tests.kafka import jvm

pytestmark = pytest.mark.kafka

STAMP = ProducerStamp(
    producer_id=4711, producer_epoch=3, base_sequence=2**31 - 2, transactional=True
)
VERSION_0 = b"\0\0"  # what the keys and values of control records begin with


class Dumped(NamedTuple):
    """A batch as Java sees it."""

    fields: dict[str, str]
    records: list[str]


def marker(kind: int, base_offset: int) -> memoryview:
    builder = BatchBuilder(1_000)
    key = VERSION_0 + encode(ControlRecordTypeSchema(type=kind), 0)
    builder.append(key, VERSION_0 + encode(EndTxnMarker(coordinator_epoch=9), 0), NOW)
    stamp = STAMP._replace(base_sequence=-1)
    return builder.finish(stamp=stamp, base_offset=base_offset, leader_epoch=6, control=True)


def batches(name: str) -> list[memoryview]:
    """A log of ours: plain, large, transactional, its sequence wrapping around, and a marker."""
    compression = COMPRESSIONS[name]
    made = [batch_of(SMALL, compression)]
    made.append(batch_of(LARGE, compression, base_offset=100))
    made.append(batch_of(SMALL[:3], compression, STAMP, base_offset=1_000))
    return [*made, marker(1, 1_003), marker(0, 1_004)]


@pytest.fixture(scope="module")
def dumped(kafka_libs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Dumped]]:
    """All logs, as one run of the tool prints them; and a damaged one."""
    folder = tmp_path_factory.mktemp("logs")
    logs = {name: b"".join(batches(name)) for name in COMPRESSIONS}
    damaged = bytearray(batches("none")[2])
    damaged[layout.CRC_FROM - 1] ^= 1
    logs["damaged"] = bytes(batches("none")[0]) + damaged
    files = []
    for name, log in logs.items():
        (folder / name).mkdir()
        files.append(folder / name / "00000000000000000000.log")
        files[-1].write_bytes(log)
    printed = jvm.run(
        "org.apache.kafka.tools.DumpLogSegments",
        *("--files", ",".join(map(str, files)), "--deep-iteration", "--print-data-log"),
        scratch=folder,
    )
    parts = re.split(r"^Dumping .*/(.+)/\d+\.log$", printed, flags=re.MULTILINE)
    return {
        name: list(parsed(text.splitlines()))
        for name, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def parsed(lines: Iterable[str]) -> Iterable[Dumped]:
    batch: Dumped | None = None
    for line in lines:
        if line.startswith("baseOffset: "):
            if batch is not None:
                yield batch
            batch = Dumped(dict(re.findall(r"(\w+): (\S+)", line)), [])
        elif line.startswith("| offset: "):
            assert batch is not None
            batch.records.append(line.removeprefix("| "))
    if batch is not None:
        yield batch


def as_printed(record: Written, offset: int, sequence: int) -> str:
    """How the tool prints a record; of the headers it prints the keys alone."""
    sizes = [-1 if part is None else len(part) for part in (record.key, record.value)]
    names = ",".join(key for key, _ in record.headers)
    line = (
        f"offset: {offset} CreateTime: {record.timestamp} keySize: {sizes[0]}"
        f" valueSize: {sizes[1]} sequence: {sequence} headerKeys: [{names}]"
    )
    if record.key is not None:
        line += f" key: {record.key.decode()}"
    return line if record.value is None else f"{line} payload: {record.value.decode()}"


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_java_finds_every_batch_valid(dumped: dict[str, list[Dumped]], name: str) -> None:
    assert [batch.fields["isvalid"] for batch in dumped[name]] == ["true"] * 5


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_java_reads_the_headers_that_we_wrote(dumped: dict[str, list[Dumped]], name: str) -> None:
    for ours, theirs in zip(batches(name), dumped[name], strict=True):
        header = read_header(ours)
        expected = {
            "baseOffset": header.base_offset,
            "lastOffset": header.last_offset,
            "count": header.record_count,
            "baseSequence": header.base_sequence,
            "producerId": header.producer_id,
            "producerEpoch": header.producer_epoch,
            "partitionLeaderEpoch": header.leader_epoch,
            "isTransactional": str(header.is_transactional).lower(),
            "isControl": str(header.is_control).lower(),
            "deleteHorizonMs": "OptionalLong.empty",
            "CreateTime": header.max_timestamp,
            "size": header.size,
            "magic": 2,
            "compresscodec": "none" if header.is_control else name.partition("-")[0],
            "crc": header.crc,
        }
        assert {key: theirs.fields[key] for key in expected} == {
            key: str(value) for key, value in expected.items()
        }


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_java_reads_the_records_that_we_wrote(dumped: dict[str, list[Dumped]], name: str) -> None:
    small, large, stamped, commit, abort = (batch.records for batch in dumped[name])

    assert small == [as_printed(each, at, -1) for at, each in enumerate(SMALL)]
    assert large == [as_printed(each, at + 100, -1) for at, each in enumerate(LARGE)]
    sequences = [2**31 - 2, 2**31 - 1, 0]
    assert stamped == [
        as_printed(each, at + 1_000, sequences[at]) for at, each in enumerate(SMALL[:3])
    ]
    assert "endTxnMarker: COMMIT coordinatorEpoch: 9" in commit[0]
    assert "endTxnMarker: ABORT coordinatorEpoch: 9" in abort[0]


def test_java_finds_a_damaged_batch_invalid(dumped: dict[str, list[Dumped]]) -> None:
    assert [batch.fields["isvalid"] for batch in dumped["damaged"]] == ["true", "false"]
