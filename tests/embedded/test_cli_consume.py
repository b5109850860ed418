"""`kafka-aio consume` in a process of its own, on the embedded broker."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import sys
import termios
import threading
import time
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from kafka_aio.broker import BrokerThread
from kafka_aio.errors import GroupIdNotFound, UnknownMemberId
from kafka_aio.records.codec import Record
from kafka_aio.types import TopicPartition
from tests.embedded.running import PATIENCE, Running, timeless, wait_for
from tests.unit.cli.shell import at_terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of Unix")

INTERRUPTED = "kafka-aio: error: interrupted\n"


@pytest.fixture
def broker() -> Iterator[BrokerThread]:
    options = {"auto.create.topics.enable": "false"}
    with BrokerThread(topics={"t": 1, "three": 3}, options=options) as started:
        yield started


class Consume(Running):
    """The command, running."""

    def __init__(self, broker: BrokerThread, *words: object, **streams: int | IO[bytes]) -> None:
        super().__init__(broker, "consume", *words, **streams)

    def line(self) -> bytes:
        """The next line, and nothing after it is taken from the pipe."""
        line = b""
        while not line.endswith(b"\n"):
            byte = os.read(self.stdout.fileno(), 1)
            assert byte, line
            line += byte
        return line


def run(broker: BrokerThread, *words: object) -> tuple[int, list[bytes], str]:
    """Its exit code, its lines, and what it said."""
    with Consume(broker, *words) as consume:
        code, out, err = consume.outcome()
    return code, out.splitlines(), err


def committed(broker: BrokerThread, group: str = "g") -> dict[TopicPartition, int]:
    try:
        return {place: found.offset for place, found in broker.committed(group).items()}
    except GroupIdNotFound:
        return {}


def record(key: bytes, value: bytes, *headers: tuple[str, bytes | None]) -> Record:
    return Record("", 0, 0, 1_700, key, value, headers)


def numbers(count: int, start: int = 0) -> list[bytes]:
    return [b"%d" % number for number in range(start, start + count)]


def fill(broker: BrokerThread, topic: str, count: int) -> None:
    """So many different values, in turn in each partition."""
    places = len(broker.end_offsets(topic))
    for place in range(places):
        values = [b"%d" % number for number in range(place, count, places)]
        broker.produce(topic, values, partition=place)


def test_every_value_is_a_line_whatever_its_bytes(broker: BrokerThread) -> None:
    broker.produce("t", [b"one", b"", b"\xff\x00\r", None])
    code, lines, said = run(broker, "t", "--stop-at-end")

    assert (code, said) == (0, "kafka-aio: info: 4 records from t in _ s\n")
    assert lines == [b"one", b"", b"\xff\x00", b""]  # splitlines takes the \r


def test_a_topic_without_records_ends_at_once(broker: BrokerThread) -> None:
    assert run(broker, "three", "--stop-at-end") == (
        0,
        [],
        "kafka-aio: info: 0 records from three in _ s\n",
    )


def test_keys_headers_and_null_have_their_place_in_a_line(broker: BrokerThread) -> None:
    broker.produce("t", [record(b"k", b"v", ("a", b"1"), ("b", None)), (None, None)])
    words = ("-K", ":", "--headers", "--null-value", "NULL")
    _, lines, _ = run(broker, "t", *words, "--stop-at-end")

    assert lines == [b"a=1,b=NULL\tk:v", b"\tNULL:NULL"]


def test_what_is_written_as_json_can_be_produced_again(broker: BrokerThread) -> None:
    broker.create_topic("copy", 1)
    first = record(b"k\xff", "ä\n".encode(), ("h", b"\x00\xff"), ("h", None))
    broker.produce("t", [first, (None, None), (b"", b"")])
    _, lines, _ = run(broker, "t", "--json", "--stop-at-end")
    documents = [json.loads(line) for line in lines]
    with Running(broker, "produce", "copy", "--json") as produce:
        for each in documents:
            produce.write(json.dumps({**each, "topic": "copy"}).encode() + b"\n")
        code, _, said = produce.outcome()

    assert code == 0, said
    assert [each["offset"] for each in documents] == [0, 1, 2]
    originals, copies = broker.records("t"), broker.records("copy")
    assert len(copies) == 3
    for original, copy in zip(originals, copies, strict=True):
        for name in ("key", "value", "headers", "timestamp"):
            assert getattr(copy, name) == getattr(original, name)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--from", "3", "--to", "6"), numbers(3, 3)),
        (("--from", "-2", "--stop-at-end"), numbers(2, 8)),
        (("--to", "2"), numbers(2)),
        (("--from", "@1000", "--to", "end"), numbers(10)),
        (("--from", "1h", "--to", "1h"), []),
        (("--from", "5", "--max-records", "2"), numbers(2, 5)),
        (("--from", "beginning", "--max-records", "1"), numbers(1)),
        (("--from", "7", "--to", "7"), []),
    ],
)
def test_a_part_of_a_partition_can_be_read(
    broker: BrokerThread, words: tuple[str, ...], expected: list[bytes]
) -> None:
    broker.produce("t", numbers(10))
    code, lines, said = run(broker, "t", *words)

    assert (code, lines) == (0, expected)
    assert "warning" not in said


def test_a_time_is_found_in_each_partition(broker: BrokerThread) -> None:
    for place, first in ((0, 1_000), (1, 1_005), (2, 2_000)):
        with Running(broker, "produce", "three", "--json", "--partition", place) as produce:
            for step in range(10):
                line = {"value": f"{place}-{first + step}", "timestamp": first + step}
                produce.write(json.dumps(line).encode() + b"\n")
            assert produce.outcome()[0] == 0
    _, lines, _ = run(broker, "three", "--from", "@1008", "--to", "@1010")

    assert sorted(lines) == [b"0-1008", b"0-1009", b"1-1008", b"1-1009"]


def test_an_offset_that_is_not_there_is_said_and_the_nearest_is_taken(
    broker: BrokerThread,
) -> None:
    broker.produce("t", numbers(10))
    code, lines, said = run(broker, "t", "--from", "8", "--to", "12")

    assert (code, lines) == (0, numbers(2, 8))
    assert "kafka-aio: warning: --to: there is no offset 12: t-0 has 0 to 10\n" in said


def test_only_the_partitions_asked_for_are_read(broker: BrokerThread) -> None:
    fill(broker, "three", 9)
    _, lines, _ = run(broker, "three", "--partition", "0,2", "--stop-at-end")

    assert sorted(lines) == [b"0", b"2", b"3", b"5", b"6", b"8"]


def test_several_topics_are_read_together(broker: BrokerThread) -> None:
    broker.produce("t", [b"here"])
    fill(broker, "three", 3)
    code, lines, said = run(broker, "t", "three", "--stop-at-end")

    assert code == 0
    assert sorted(lines) == [b"0", b"1", b"2", b"here"]
    assert said == "kafka-aio: info: 4 records from 2 topics in _ s\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_records_are_written_as_they_come_until_somebody_ends_it(
    broker: BrokerThread, number: int
) -> None:
    broker.produce("t", [b"old"])
    with Consume(broker, "t", "--from", "beginning") as consume:
        assert consume.line() == b"old\n"
        for value in (b"a", b"b"):
            broker.produce("t", [value])
            assert consume.line() == value + b"\n"
        consume.signal(number)
        outcome = consume.outcome()

    assert outcome == (130, b"", f"kafka-aio: info: 3 records from t in _ s\n{INTERRUPTED}")


def test_without_a_place_only_new_records_are_written(broker: BrokerThread) -> None:
    broker.produce("t", [b"old"])
    with Consume(broker, "t") as consume:
        stopped = threading.Event()

        def write() -> None:
            while not stopped.wait(0.05):
                broker.produce("t", [b"new"])

        writer = threading.Thread(target=write)
        writer.start()
        assert consume.line() == b"new\n"
        stopped.set()
        writer.join()


# As a member of a group.


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_group_has_committed_what_was_written_when_it_is_ended(
    broker: BrokerThread, number: int
) -> None:
    broker.produce("t", numbers(5))
    with Consume(broker, "t", "-g", "g", "--from", "beginning") as consume:
        lines = [consume.line() for _ in range(5)]
        consume.signal(number)
        code, out, said = consume.outcome()

    assert (code, out, len(lines)) == (130, b"", 5)
    assert said.endswith(INTERRUPTED)
    assert committed(broker) == {TopicPartition("t", 0): 5}
    assert broker.group("g").members == ()  # it has left


def test_a_group_goes_on_where_it_was(broker: BrokerThread) -> None:
    fill(broker, "three", 30)
    read = [
        run(broker, "three", "-g", "g", *words)
        for words in (("--max-records", 7, "--from", "beginning"), ("--stop-at-end",))
    ]
    again = run(broker, "three", "-g", "g", "--stop-at-end")

    assert [code for code, _, _ in read] == [0, 0]
    assert len(read[0][1]) == 7
    assert sorted(read[0][1] + read[1][1], key=int) == numbers(30)
    assert again == (0, [], "kafka-aio: info: 0 records from three in _ s\n")
    assert sum(committed(broker).values()) == 30


def test_what_comes_after_the_end_is_left_to_the_group(broker: BrokerThread) -> None:
    broker.produce("t", numbers(5))
    hold = broker.faults.hold("Fetch")
    with Consume(broker, "t", "-g", "g", "--stop-at-end") as consume:
        wait_for(lambda: hold.held > 0)
        broker.produce("t", numbers(5, 5))
        hold.release()
        _, out, _ = consume.outcome()

    assert out.splitlines() == numbers(5)
    assert committed(broker) == {TopicPartition("t", 0): 5}


def test_a_group_that_is_not_to_commit_does_not(broker: BrokerThread) -> None:
    broker.produce("t", numbers(5))
    words = ("t", "-g", "g", "--stop-at-end", "-X", "enable.auto.commit=false")
    _, lines, _ = run(broker, *words)

    assert lines == numbers(5)
    assert committed(broker) == {}


def test_the_members_of_a_group_share_the_topic(broker: BrokerThread) -> None:
    fill(broker, "three", 300)
    words = ("three", "-g", "g", "--from", "beginning", "-X", "auto.commit.interval.ms=100")
    with Consume(broker, *words) as first, Consume(broker, *words) as second:
        wait_for(lambda: _is_shared(broker))
        fill(broker, "three", 300)
        wait_for(lambda: sum(committed(broker).values()) == 600)
        for each in (first, second):
            each.signal()
        outcomes = [first.outcome(), second.outcome()]

    lines = [line for _, out, _ in outcomes for line in out.splitlines()]
    assert [code for code, _, _ in outcomes] == [130, 130]
    assert sum(committed(broker).values()) == 600
    assert set(lines) == set(numbers(300))
    assert len(lines) >= 600  # what was not committed when they shared it comes again


def _is_shared(broker: BrokerThread) -> bool:
    try:
        members = broker.group("g").members
    except GroupIdNotFound:
        return False
    return len(members) == 2 and all(member.partitions for member in members)


def test_offsets_that_cannot_be_committed_are_an_error(broker: BrokerThread) -> None:
    broker.produce("t", numbers(5))
    broker.faults.fail("OffsetCommit", UnknownMemberId)
    code, lines, said = run(broker, "t", "-g", "g", "--stop-at-end")

    assert (code, lines) == (1, numbers(5))
    assert "kafka-aio: info: 5 records from t in _ s\n" in said
    assert re.search("^kafka-aio: error: .*commit", said, re.MULTILINE)


# The output.


def test_who_has_seen_enough_ends_it_without_a_word(broker: BrokerThread) -> None:
    broker.produce("t", [b"x" * 100] * 20_000)
    with Consume(broker, "t", "-g", "g", "--from", "beginning") as consume:
        assert consume.line() == b"x" * 100 + b"\n"
        consume.stdout.close()
        code = consume.process.wait(timeout=PATIENCE)
        assert consume.process.stderr is not None
        said = consume.process.stderr.read()
        consume.process.stdout = None

    assert (code, said) == (141, b"")
    assert sum(committed(broker).values()) < 20_000


def test_what_nobody_takes_is_written_after_an_interruption_and_committed(
    broker: BrokerThread,
) -> None:
    broker.produce("t", [b"%099d" % number for number in range(20_000)])
    with Consume(broker, "t", "-g", "g", "--from", "beginning") as consume:
        first = consume.line()
        wait_for(lambda: _is_full(consume))
        consume.signal()
        code, out, said = consume.outcome()

    lines = [first, *out.splitlines(keepends=True)]
    assert code == 130
    assert 600 < len(lines) < 20_000
    assert lines == [b"%099d\n" % number for number in range(len(lines))]
    assert committed(broker) == {TopicPartition("t", 0): len(lines)}
    assert f"{len(lines):,} records from t" in said


def test_the_second_interruption_gives_up_what_nobody_takes(broker: BrokerThread) -> None:
    broker.produce("t", [b"x" * 99] * 20_000)
    words = ("t", "-g", "g", "--from", "beginning", "-X", "max.poll.records=100")
    ours, theirs = pty.openpty()
    with Consume(broker, *words, stderr=theirs) as consume:
        os.close(theirs)
        assert len(consume.line()) == 100
        wait_for(lambda: _is_full(consume))
        consume.signal()
        shown = ""
        while "waiting for whoever reads the output" not in shown:
            shown += os.read(ours, 1_000).decode()
        consume.signal()
        while "interrupted" not in shown:
            shown += os.read(ours, 1_000).decode()
        code = consume.process.wait(timeout=PATIENCE)
        lines = 1 + consume.stdout.read().count(b"\n")
    os.close(ours)

    offset = committed(broker)[TopicPartition("t", 0)]
    assert code == 130
    assert offset % 100 == 0
    assert offset < lines < offset + 100  # what was written in part is read again
    assert f"{offset} records from t in _ s" in timeless(shown)


def _is_full(consume: Consume) -> bool:
    """Whether nothing more goes into the pipe."""
    before = _waiting(consume)
    time.sleep(0.2)
    return before > 60_000 and _waiting(consume) == before


def _waiting(consume: Consume) -> int:
    found = array("i", [0])
    fcntl.ioctl(consume.stdout.fileno(), termios.FIONREAD, found)
    return found[0]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_an_output_that_is_full_is_an_error_and_nothing_is_committed(
    broker: BrokerThread,
) -> None:
    broker.produce("t", numbers(5))
    words = ("t", "-g", "g", "--stop-at-end")
    with open("/dev/full", "wb") as full, Consume(broker, *words, stdout=full) as consume:
        code, _, said = consume.outcome()

    assert code == 1
    assert "kafka-aio: error: the output cannot be written: No space left on device\n" in said
    assert sum(committed(broker).values()) == 0


def test_a_terminal_shows_how_fast_it_is_if_the_output_is_elsewhere(
    broker: BrokerThread, tmp_path: Path
) -> None:
    broker.produce("t", [b"x" * 100] * 20_000)
    ours, theirs = pty.openpty()
    file = tmp_path / "file"
    with (
        file.open("wb") as out,
        Consume(broker, "t", "--from", "beginning", stdout=out, stderr=theirs) as consume,
    ):
        os.close(theirs)
        shown = ""
        while " 0 to be read" not in shown:
            shown += os.read(ours, 1_000).decode()
        consume.signal()
        consume.process.wait(timeout=PATIENCE)
    os.close(ours)

    last = shown.split("\r\x1b[K")[-1]
    assert re.fullmatch(r"20,000 records, 2.0 MB, [\d,]+ records/s, 0 to be read", last)
    assert file.stat().st_size == 20_000 * 101


def test_a_terminal_gets_lines_without_what_it_would_obey(broker: BrokerThread) -> None:
    broker.produce("t", [b"\x1b[2J\xff", "ä".encode()])
    words = ("consume", "t", "--stop-at-end", "-b", broker.bootstrap_servers)
    outcome = at_terminal(*words)

    assert outcome.code == 0
    assert timeless(outcome.err).splitlines() == [
        r"\x1b[2J\xff",
        "ä",
        "kafka-aio: info: 2 records from t in _ s",
    ]


# Mistakes.


def test_a_topic_that_is_not_there_is_an_error(broker: BrokerThread) -> None:
    code, lines, said = run(broker, "t", "absent", "--timeout", 2)

    assert (code, lines) == (1, [])
    assert re.search("topic 'absent' was not found within [12] s: check its name, or create", said)


@pytest.mark.parametrize("topic", ["", os.fsdecode(b"\xff")])
def test_what_cannot_be_the_name_of_a_topic_is_wrong_usage(
    broker: BrokerThread, topic: str
) -> None:
    assert run(broker, topic) == (
        2,
        [],
        f"kafka-aio: error: {topic!r} cannot be the name of a topic\n",
    )


def test_a_partition_that_is_not_there_is_wrong_usage(broker: BrokerThread) -> None:
    assert run(broker, "three", "--partition", "2-3") == (
        2,
        [],
        "kafka-aio: error: --partition 3: topic 'three' has 0 to 2\n",
    )


def test_a_record_that_is_damaged_is_an_error_that_names_it(broker: BrokerThread) -> None:
    broker.produce("t", [b"a", b"b"])
    broker.faults.corrupt("t")
    code, lines, said = run(broker, "t", "--stop-at-end")

    assert (code, lines) == (1, [])
    assert "kafka-aio: error: t-0" in said
