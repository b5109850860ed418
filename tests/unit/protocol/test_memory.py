from __future__ import annotations

import os
import random
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from kafka_aio.errors import ProtocolError
from kafka_aio.protocol import memory
from kafka_aio.protocol.codec import decode, encode
from kafka_aio.protocol.layout import Reader, layout_of
from kafka_aio.protocol.memory import Oversized, limit_of
from kafka_aio.protocol.messages.api_versions import ApiVersionsResponse
from kafka_aio.protocol.messages.configs import DescribeConfigsResponse
from kafka_aio.protocol.messages.fetch import FetchResponse
from kafka_aio.protocol.messages.metadata import MetadataResponse
from kafka_aio.protocol.messages.streams import StreamsGroupHeartbeatRequest
from kafka_aio.protocol.schema import (
    Int16,
    Int32,
    Records,
    String,
    data,
    message,
    schema_of,
)
from tests.unit.protocol.heavy import (
    BOMBS,
    FRAMES,
    HONEST,
    KINDS,
    MIB,
    Tinies,
    array_of,
    bomb,
    crowd,
)
from tests.unit.protocol.samples import decoders, every_message

ROOT = Path(__file__).parent.parent.parent.parent
UNLIMITED = 1 << 60


def is_oversized(read: Reader, frame: bytes, limit: int | None = None) -> bool:
    try:
        read(frame, 0, limit)
    except Oversized:
        return True
    return False


def taken(read: Reader, frame: bytes) -> int:
    """What the decoded message takes."""
    sizes = []
    for _ in range(3):  # the first time some is for ever, and other threads may take some too
        tracemalloc.start()
        kept = read(frame, 0, UNLIMITED)
        sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        del kept
    return min(sizes)


# --- what is counted ---------------------------------------------------------------------------


@every_message
def test_no_message_takes_more_than_was_counted_for_it(cls: type) -> None:
    rng = random.Random(cls.__name__)
    for version in schema_of(cls).versions:
        frame = crowd(rng, layout_of(cls, version))
        for read in decoders(cls, version):
            really = taken(read, frame)

            with pytest.raises(Oversized):
                read(frame, 0, int(really * 0.97) - 256)


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_of_item_is_counted_as_what_it_takes(name: str) -> None:
    cls, item = KINDS[name]
    frame = array_of(item, 2000)
    for read in decoders(cls, 1):
        really = taken(read, frame)

        assert is_oversized(read, frame, int(really * 0.99))
        assert not is_oversized(read, frame, 2 * really)


@pytest.mark.parametrize(
    ("cls", "version"),
    [
        (MetadataResponse, 1),
        (MetadataResponse, 13),
        (FetchResponse, 18),
        (ApiVersionsResponse, 4),
        (DescribeConfigsResponse, 4),
        (StreamsGroupHeartbeatRequest, 0),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_both_decoders_count_alike(cls: type, version: int) -> None:
    frame = crowd(random.Random(version), layout_of(cls, version))
    counts = []
    for read in decoders(cls, version):
        low, high = 0, 16 * MIB
        while low < high:
            middle = (low + high) // 2
            if is_oversized(read, frame, middle):
                low = middle + 1
            else:
                high = middle
        counts.append(low)

    assert 1024 < counts[0] < 16 * MIB
    assert len(set(counts)) == 1


# --- what is shared ----------------------------------------------------------------------------


@message
class Row:
    text: String
    number: Int32
    small: Int16
    replicas: list[Int32]
    texts: list[String]
    records: Records | None


@data(versions=(0, 1), flexible=1)
class Table:
    rows: list[Row]


def row(**changes: Any) -> Row:
    """A row with values of each kind that is shared."""
    fresh: dict[str, Any] = {
        "text": "text",
        "number": 70000,
        "small": -1000,
        "replicas": [1001, 1002],
        "texts": [],
        "records": b"",
    }
    return Row(**(fresh | changes))


def rows_of(read: Reader, sent: bytes) -> list[Row]:
    found = read(sent, 0)[0]
    assert isinstance(found, Table)
    return found.rows


@pytest.mark.parametrize("version", [0, 1])
def test_equal_values_of_a_message_are_one_object(version: int) -> None:
    sent = encode(Table(rows=[row(), row()]), version)

    for read in decoders(Table, version):
        one, other = rows_of(read, sent)
        assert one.text is other.text
        assert one.number is other.number
        assert one.small is other.small
        assert one.replicas is other.replicas
        assert one.texts is other.texts
        assert one.records is other.records


@pytest.mark.parametrize("version", [0, 1])
def test_different_values_stay_apart(version: int) -> None:
    rows = [row(), row(replicas=[1002, 1001]), row(replicas=[1001]), row(replicas=[0, 1, 2])]

    for read in decoders(Table, version):
        assert read(encode(Table(rows=rows), version), 0)[0] == Table(rows=rows)


def test_two_messages_share_nothing_that_can_change() -> None:
    sent = encode(Table(rows=[row()]), 0)

    for read in decoders(Table, 0):
        (one,), (other,) = rows_of(read, sent), rows_of(read, sent)
        assert one.replicas is not other.replicas
        assert one.texts is not other.texts


def test_more_values_than_are_remembered_are_read_all_the_same() -> None:
    count = 2 * memory.REMEMBERED + 10
    rows = [
        row(text=f"text {index}", number=index, replicas=[index, index + 1], texts=["again"])
        for index in (*range(count), *range(count))
    ]
    sent = encode(Table(rows=rows), 1)

    for read in decoders(Table, 1):
        assert read(sent, 0) == (Table(rows=rows), len(sent))


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["texts", "structs with a tag"])
def test_no_frame_that_may_come_before_authentication_takes_16_mib(name: str) -> None:
    cls, frame = bomb(name, 512 * 1024)
    for read in decoders(cls, 1):
        tracemalloc.start()
        is_oversized(read, frame)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert 10 * len(frame) < peak < 16 * MIB - len(frame)


@pytest.mark.parametrize("name", BOMBS)
def test_a_larger_frame_of_such_items_is_refused(name: str) -> None:
    cls, frame = bomb(name, 4 * MIB if name == "numbers" else 5 * MIB // 4)

    for read in decoders(cls, 1):
        assert is_oversized(read, frame)


def test_an_array_that_cannot_fit_is_refused_before_its_first_item() -> None:
    _, frame = bomb("structs", MIB)
    for read in decoders(Tinies, 1):
        tracemalloc.start()
        refused = is_oversized(read, frame)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert refused
        assert peak < 64 * 1024


def test_the_refusal_says_what_it_is_about() -> None:
    _, frame = bomb("structs", 2 * MIB)

    with pytest.raises(ProtocolError) as refused:
        decode(Tinies, frame, 1)

    assert str(refused.value) == (
        "Tinies v1: 2,000,004 bytes that would take more than 25 MiB when decoded"
    )


# --- what passes -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HONEST)
def test_what_a_large_cluster_says_passes_with_room_to_spare(name: str) -> None:
    cls, version, make = HONEST[name]
    frame = make()

    for read in decoders(cls, version):
        assert not is_oversized(read, frame, limit_of(len(frame)) - 8 * MIB)


# --- what the process takes --------------------------------------------------------------------

CHILD = """
import sys
from importlib import import_module
from pathlib import Path
from kafka_aio.errors import ProtocolError
from kafka_aio.protocol.codec import decode

def resident(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

module, name, version = sys.argv[1:]
cls = getattr(import_module(module), name)
try:
    decode(cls, b"", int(version))
except ProtocolError:
    pass
before = resident("VmRSS")
frame = sys.stdin.buffer.read()
Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
try:
    kept = decode(cls, frame, int(version))
    print("decoded")
except ProtocolError as error:
    print(error)
print(resident("VmHWM") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux can tell")
@pytest.mark.parametrize("pure", ["0", "1"], ids=["chosen", "twin"])
@pytest.mark.parametrize("name", FRAMES)
def test_a_process_grows_by_8_times_the_bytes_and_16_mib_at_most(name: str, pure: str) -> None:
    cls, version, make, outcome = FRAMES[name]
    frame = make()

    done = subprocess.run(
        [sys.executable, "-c", CHILD, cls.__module__, cls.__name__, str(version)],
        input=frame,
        cwd=ROOT,
        env=os.environ | {"KAFKA_AIO_PURE": pure},
        capture_output=True,
        check=True,
    )

    said, grown = done.stdout.decode().splitlines()
    assert said.startswith(outcome)
    assert int(grown) < 16 * MIB + 8 * len(frame)
