"""`kafka-aio produce` in a process of its own, on the embedded broker."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_aio.admin import Admin
from kafka_aio.broker import BrokerThread
from kafka_aio.errors import InvalidRecord
from tests.embedded.running import PATIENCE, Running, timeless, wait_for
from tests.unit.cli.shell import at_terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of Unix")


@pytest.fixture
def broker() -> Iterator[BrokerThread]:
    options = {"auto.create.topics.enable": "false"}
    with BrokerThread(topics={"t": 1, "three": 3}, options=options) as started:
        yield started


class Produce(Running):
    """The command, running."""

    def __init__(self, broker: BrokerThread, *words: object, **streams: int) -> None:
        super().__init__(broker, "produce", *words, **streams)

    def end(self) -> tuple[int, str]:
        """Its exit code and what it said; stdin ends."""
        code, out, err = self.outcome()
        assert out == b""
        return code, err

    def interrupted(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """The same, with stdin left open."""
        self.signal(number)
        self.process.wait(timeout=PATIENCE)
        return self.end()


def run(broker: BrokerThread, *words: object, data: bytes = b"") -> tuple[int, str]:
    with Produce(broker, *words) as produce:
        produce.write(data)
        return produce.end()


def values(broker: BrokerThread, topic: str = "t", partition: int = 0) -> list[bytes | None]:
    return [record.value for record in broker.records(topic, partition)]


async def add_partition(broker: BrokerThread) -> None:
    async with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        assert await admin.create_partitions({"t": 2}) == {"t": None}


def test_every_line_is_a_record_whatever_its_bytes(broker: BrokerThread) -> None:
    code, said = run(broker, "t", data=b"one\n\n\xff\x00\r\nno end")

    assert (code, said) == (0, "kafka-aio: info: 4 records to t in _ s\n")
    assert values(broker) == [b"one", b"", b"\xff\x00\r", b"no end"]


def test_no_input_is_no_record(broker: BrokerThread) -> None:
    assert run(broker, "t") == (0, "kafka-aio: info: 0 records to t in _ s\n")
    assert values(broker) == []


def test_keys_tombstones_headers_and_a_partition(broker: BrokerThread) -> None:
    words = ("three", "-K", ":", "--null-value", "-", "-H", "h=1", "--partition", 2)
    code, _ = run(broker, *words, "--compression", "gzip", "--acks", 1, data=b"a:b:c\nk:-\n")

    assert code == 0
    first, second = broker.records("three", 2)
    assert (first.key, first.value, list(first.headers)) == (b"a", b"b:c", [("h", b"1")])
    assert (second.key, second.value) == (b"k", None)


def test_what_is_said_names_the_topic_that_lines_of_json_name(broker: BrokerThread) -> None:
    outcome = run(broker, "t", "--json", data=b'{"value": "v", "topic": "three"}')

    assert outcome == (0, "kafka-aio: info: 1 record to three in _ s\n")


def test_lines_of_json_are_what_librdkafka_reads(broker: BrokerThread) -> None:
    confluent_kafka: Any = pytest.importorskip("confluent_kafka")
    lines = [
        {"value": "ä", "key": "k", "headers": [["h", "1"], ["h", None]], "timestamp": 1_700},
        {"value": {"base64": "AP8="}, "partition": 1, "topic": "three"},
    ]
    data = "\n".join(map(json.dumps, lines)).encode()
    code, said = run(broker, "t", "--json", data=data)
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "log_level": 0}
    )
    places = [("t", 0), ("three", 1)]
    consumer.assign([confluent_kafka.TopicPartition(*place, 0) for place in places])
    found: dict[str, Any] = {}
    until = time.monotonic() + 30
    while len(found) < 2 and time.monotonic() < until:
        found |= {message.topic(): message for message in consumer.consume(1, 0.2)}
    consumer.close()

    assert (code, said) == (0, "kafka-aio: info: 2 records to 2 topics in _ s\n")
    first, second = found["t"], found["three"]
    assert (first.key(), first.value(), first.headers()) == (
        b"k",
        "ä".encode(),
        [("h", b"1"), ("h", None)],
    )
    assert first.timestamp()[1] == 1_700
    assert (second.key(), second.value(), second.partition()) == (None, b"\x00\xff", 1)


def test_what_is_before_a_bad_line_is_delivered_and_nothing_after_it(
    broker: BrokerThread,
) -> None:
    data = b'{"value":"a"}\n\n{"value":"b"}\nnope\n{"value":"c"}\n'
    code, said = run(broker, "t", "--json", data=data)

    assert code == 1
    assert said == (
        "kafka-aio: info: 2 records to t in _ s, 1 failed\n"
        "kafka-aio: error: line 4: not JSON: Expecting value at column 1; nothing after it was"
        " sent\n"
    )
    assert values(broker) == [b"a", b"b"]


def test_a_line_that_is_too_large_is_such_a_line(broker: BrokerThread) -> None:
    data = b"a\n" + b"x" * 30_000 + b"\nc\n"
    code, said = run(broker, "t", "-X", "max.request.size=20000", data=data)

    assert code == 1
    assert "1 record to t in _ s, 1 failed" in said
    assert "line 2: a record of 30000 bytes for topic 't': max.request.size is 20000" in said
    assert values(broker) == [b"a"]


def test_a_line_without_end_does_not_fill_the_memory(broker: BrokerThread) -> None:
    with Produce(broker, "t", "-X", "max.request.size=20000") as produce:
        produce.write(b"a\n")
        with pytest.raises(BrokenPipeError):
            produce.write(b"x" * 10_000_000)
        produce.process.wait(timeout=40)
        assert produce.process.stderr is not None
        said = produce.process.stderr.read().decode()

    assert "line 2: there is no newline in " in said
    assert produce.process.returncode == 1
    assert values(broker) == [b"a"]


def test_files_are_read_one_after_the_other_and_named_in_errors(
    broker: BrokerThread, tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"k=1\nk=2")
    second.write_bytes(b"k=4\nno key\nk=5\n")
    code, said = run(broker, "t", "-K", "=", "-f", first, "-", second, data=b"k=3\n")

    assert code == 1
    assert values(broker) == [b"1", b"2", b"3", b"4"]
    assert f"error: {second}, line 2: there is no key" in said


def test_lines_of_a_pipe_that_stays_open_are_sent_as_they_come(broker: BrokerThread) -> None:
    with Produce(broker, "t") as produce:
        for number in range(1, 4):
            produce.write(b"%d\nrest" % number)
            wait_for(lambda number=number: len(values(broker)) == number)  # type: ignore[misc]  # mypy cannot infer the type of a lambda with a default
        code, _ = produce.end()

    assert code == 0
    assert values(broker) == [b"1", b"rest2", b"rest3", b"rest"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_delivers_what_was_read_and_says_so(
    broker: BrokerThread, number: int
) -> None:
    with Produce(broker, "t", "--linger", 20_000) as produce:
        hold = broker.faults.hold("Produce")
        produce.write(b"a\nb\n" + b"x" * 20_000 + b"\nc\n")  # the long one fills its batch
        wait_for(lambda: hold.held > 0)
        threading.Timer(0.1, hold.release).start()
        code, said = produce.interrupted(number)

    assert code == 130
    assert said == ("kafka-aio: info: 4 records to t in _ s\nkafka-aio: error: interrupted\n")
    assert len(values(broker)) == 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_second_interruption_gives_the_rest_up(broker: BrokerThread, number: int) -> None:
    hold = broker.faults.hold("Produce")
    ours, theirs = pty.openpty()
    with Produce(broker, "t", stderr=theirs) as produce:
        os.close(theirs)
        produce.write(b"a\n")
        wait_for(lambda: hold.held > 0)
        produce.process.send_signal(number)
        shown = ""
        while "waiting for the last records" not in shown:
            shown += os.read(ours, 1_000).decode()
        produce.process.send_signal(number)
        while "interrupted" not in shown:
            shown += os.read(ours, 1_000).decode()
        code = produce.process.wait(timeout=40)
    os.close(ours)
    hold.release()

    assert code == 130
    last = timeless(shown).splitlines()[-2:]
    assert last[0].endswith("kafka-aio: info: 0 records to t in _ s, 1 failed")
    assert last[1] == "kafka-aio: error: interrupted"


def test_a_record_that_the_cluster_refuses_is_counted_and_the_others_go_on(
    broker: BrokerThread,
) -> None:
    refusal = broker.faults.fail("Produce", InvalidRecord, times=1)
    with Produce(broker, "t") as produce:
        produce.write(b"a\nb\n")
        wait_for(lambda: refusal.hits == 1)
        produce.write(b"c\n")
        wait_for(lambda: values(broker) == [b"c"])
        code, said = produce.end()

    assert code == 1
    assert "kafka-aio: info: 1 record to t in _ s, 2 failed\n" in said
    assert re.search(r"^kafka-aio: error: line 1: .*INVALID_RECORD", said, re.MULTILINE)


def test_both_the_first_refusal_and_the_bad_line_are_said(broker: BrokerThread) -> None:
    broker.faults.fail("Produce", InvalidRecord)
    code, said = run(broker, "t", "-K", "=", data=b"k=1\nk=2\nno key\n")

    assert code == 1
    assert "kafka-aio: info: 0 records to t in _ s, 3 failed\n" in said
    assert re.search(r"^kafka-aio: error: line 1: .*INVALID_RECORD", said, re.MULTILINE)
    assert "kafka-aio: error: line 3: there is no key" in said


def test_records_before_one_that_is_not_accepted_may_be_refused_too(
    broker: BrokerThread, tmp_path: Path
) -> None:
    broker.faults.fail("Produce", InvalidRecord)
    file = tmp_path / "file"  # which is read at once
    file.write_bytes(b"a\nb\n" + b"x" * 30_000 + b"\n")
    code, said = run(broker, "t", "-X", "max.request.size=20000", "-f", file)

    assert code == 1
    assert "0 records to t in _ s, 3 failed\n" in said
    assert re.search(r"^kafka-aio: error: t-0: .*INVALID_RECORD", said, re.MULTILINE)
    assert f"kafka-aio: error: {file}, line 3: a record of 30000 bytes" in said


def test_a_topic_that_is_not_there_is_an_error_before_anything_is_read(
    broker: BrokerThread,
) -> None:
    with Produce(broker, "absent", "--timeout", 1) as produce:
        produce.process.wait(timeout=40)
        code, said = produce.end()

    assert code == 1
    assert "topic 'absent' was not found within 1 s: check its name, or create it" in said


@pytest.mark.parametrize("topic", ["", os.fsdecode(b"\xff")])
def test_what_cannot_be_the_name_of_a_topic_is_wrong_usage(
    broker: BrokerThread, topic: str
) -> None:
    code, said = run(broker, topic)

    assert (code, said) == (2, f"kafka-aio: error: {topic!r} cannot be the name of a topic\n")


def test_a_partition_that_is_not_there_is_wrong_usage(broker: BrokerThread) -> None:
    assert run(broker, "three", "--partition", 3) == (
        2,
        "kafka-aio: error: --partition 3: topic 'three' has 0 to 2\n",
    )


@pytest.mark.parametrize(
    ("place", "complaint"),
    [
        ({"partition": 1}, "partition 1: topic 't' has 0 to 0"),
        ({"partition": 3, "topic": "three"}, "partition 3: topic 'three' has 0 to 2"),
        ({"topic": "absent"}, "topic 'absent' was not found within _ s: check its name"),
        ({"topic": "\ud800"}, r"'\ud800' cannot be the name of a topic"),
    ],
)
def test_a_line_for_a_place_that_is_not_there_is_such_a_line(
    broker: BrokerThread, place: dict[str, Any], complaint: str
) -> None:
    lines = [{"value": "a"}, {"value": "b", **place}, {"value": "c"}]
    start = time.monotonic()
    data = "\n".join(map(json.dumps, lines)).encode()
    code, said = run(broker, "t", "--json", "--timeout", 2, data=data)
    said = re.sub(r"within [012] s", "within _ s", said)  # what the connection has left of them

    assert code == 1
    assert "kafka-aio: info: 1 record to t in _ s, 1 failed\n" in said
    assert f"kafka-aio: error: line 2: {complaint}" in said
    assert values(broker) == [b"a"]
    assert time.monotonic() - start < 30  # not max_block_ms


def test_a_line_for_a_partition_that_was_added_meanwhile_is_sent(broker: BrokerThread) -> None:
    with Produce(broker, "t", "--json", "-X", "metadata.max.age.ms=100") as produce:
        produce.write(b'{"value": "a"}\n')
        wait_for(lambda: values(broker) == [b"a"])
        asyncio.run(add_partition(broker))
        asked = broker.faults.delay("Metadata", 0)
        broker.wait_hits(asked, 2)  # who asks again has read the answer
        produce.write(b'{"value": "b", "partition": 1}\n')
        code, said = produce.end()

    assert (code, said) == (0, "kafka-aio: info: 2 records to t in _ s\n")
    assert values(broker, partition=1) == [b"b"]


def test_what_the_cluster_does_not_take_yet_is_not_read(broker: BrokerThread) -> None:
    hold = broker.faults.hold("Produce")
    line = b"x" * 99 + b"\n"
    with Produce(broker, "t", "-X", "buffer.memory=100000") as produce:
        written = 0

        def write() -> None:
            nonlocal written
            for _ in range(100_000):
                written += produce.stdin.write(line)

        writer = threading.Thread(target=write)
        writer.start()
        wait_for(lambda: hold.held > 0)
        writer.join(0.5)

        assert written < 1_000_000
        hold.release()
        writer.join(30)
        code, said = produce.end()

    assert (code, said) == (0, "kafka-aio: info: 100,000 records to t in _ s\n")
    assert broker.end_offsets("t").popitem()[1] == 100_000


def test_records_of_a_key_keep_their_order(broker: BrokerThread) -> None:
    lines = [b"%d:%d" % (number % 7, number) for number in range(30_000)]
    code, _ = run(broker, "three", "-K", ":", data=b"\n".join(lines))

    assert code == 0
    found = [record for place in range(3) for record in broker.records("three", place)]
    assert len(found) == len(lines)
    for key in range(7):
        numbers = [int(each.value or b"") for each in found if each.key == b"%d" % key]
        assert numbers == list(range(key, 30_000, 7))


def test_at_a_terminal_a_line_is_sent_at_once_and_ctrl_d_ends(broker: BrokerThread) -> None:
    ours, theirs = pty.openpty()
    with Produce(broker, "t", stdin=theirs) as produce:
        os.close(theirs)
        os.write(ours, b"hello\n")
        wait_for(lambda: values(broker) == [b"hello"])
        os.write(ours, b"\x04")
        code, said = produce.end()
    os.close(ours)

    assert code == 0
    assert said == (
        "kafka-aio: info: every line is a record; Ctrl-D ends\n"
        "kafka-aio: info: 1 record to t in _ s\n"
    )


def test_at_a_terminal_files_have_a_progress_bar(broker: BrokerThread, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes((b"x" * 99 + b"\n") * 3_000)
    broker.faults.delay("Produce", 0.1)
    words = ("-f", file, "-X", "buffer.memory=100000", "-b", broker.bootstrap_servers)
    outcome = at_terminal("produce", "t", *words)

    assert outcome.code == 0, outcome
    assert re.search(r"\r\x1b\[K\[#+ +\] +\d+%  0\.\d MB", outcome.err)
    assert "3,000 records to t" in outcome.err.splitlines()[-1]
