"""A live broker, in a process of its own, that is sent what no client would send.

An input is what one connection gets. After each one the broker must have dealt with it in time,
without a traceback in its log; and every so often a client that behaves is served, and the memory
of the broker is looked at.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import mmap
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.broker.api import SERVED
from kafka_aio.protocol.messages.groups import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
)
from kafka_aio.protocol.messages.metadata import MetadataRequest
from kafka_aio.protocol.messages.topics import DeleteTopicsRequest, DeleteTopicState
from kafka_aio.records.codec import BatchBuilder
from tests.fuzz.requests import Requests
from tests.kafka.raw import RawConnection
from tests.kafka.topic import Topic

HOST = "127.0.0.1"
PATIENCE = 3.0
"""Seconds in which the broker must have dealt with any input."""
EVERY = 100
"""Inputs between two visits of a client that behaves."""
OPEN = 30
"""Connections that are left open, at the most."""
MOST_GROWTH = 512 << 20
MOST_ADDRESSES = 3 << 30
LOG_BYTES = 32 << 20
"""What the broker may keep of records."""


class Broker:
    """The target."""

    name = "broker"

    def __init__(self, *, planted: bool = False) -> None:
        """Start it.

        Args:
            planted: Whether it has a bug, to see that it is found.
        """
        self._process = _Process(*(["planted"] if planted else []))
        with self._connect() as connection:
            topics = connection.send(MetadataRequest(topics=None)).topics
        self._requests = Requests([topic.topic_id for topic in topics])
        self._left: deque[socket.socket] = deque()
        self._count = 0
        self._visit()
        self._first_size = self._process.size()

    def make(self, rng: random.Random) -> bytes:
        """An input: a byte that says whether the connection is left open, and what is sent."""
        return bytes([rng.random() < 0.2]) + self._requests.stream(rng)

    def run(self, given: bytes) -> None:
        """Send it. Whatever is raised is a failure."""
        self._count += 1
        self._send(given[1:], leave=bool(given[:1] == b"\1"))
        self._process.check()
        if self._count % EVERY == 0 or self._count == 1:
            self._visit()
            grown = self._process.size() - self._first_size
            assert grown < MOST_GROWTH, f"the broker grew by {grown >> 20} MiB"

    def _send(self, data: bytes, *, leave: bool) -> None:
        begun = time.monotonic()
        peer = socket.create_connection((HOST, self._process.port), PATIENCE)
        try:
            peer.sendall(data)
            if leave:
                self._left.append(peer)
                if len(self._left) > OPEN:
                    self._left.popleft().close()
                return
            peer.shutdown(socket.SHUT_WR)
            while peer.recv(1 << 16):
                if time.monotonic() - begun > PATIENCE:
                    raise TimeoutError
        except TimeoutError:
            where = self._process.stack()
            raise AssertionError(f"the broker takes too long:\n{where}") from None
        except OSError:
            pass  # it has hung up on us
        if not leave:
            peer.close()

    def _connect(self) -> RawConnection:
        return RawConnection(HOST, self._process.port, timeout=PATIENCE)

    def _visit(self) -> None:
        """A client that behaves: all that it does works, in time."""
        begun = time.monotonic()
        with self._connect() as connection:
            _use(connection, self._count)
        took = time.monotonic() - begun
        assert took < PATIENCE, f"a client that behaves had to wait for {took:.1f} s"
        self._process.check()


def _use(connection: RawConnection, number: int) -> None:
    # What was sent before may have changed the defaults of the whole cluster.
    configs = {"max.message.bytes": "1000000", "retention.bytes": "-1", "retention.ms": "-1"}
    topic = Topic.create(connection, f"good-{number}", configs=configs)
    topic.produce(_batch())
    assert topic.fetch().high_watermark == 1
    _join(connection, f"good-{number}")
    deleting = DeleteTopicState(name=None, topic_id=topic.id)
    deleted = connection.send(DeleteTopicsRequest(topics=[deleting], timeout_ms=1_000))
    assert deleted.responses[0].error_code == 0, deleted


def _batch() -> bytes:
    builder = BatchBuilder(1_000)
    builder.append(None, b"value", int(time.time() * 1000))
    return bytes(builder.finish())


def _join(connection: RawConnection, group: str) -> None:
    """Join as the first and only member, in a version that asks but once; and leave."""
    joining = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    joined = connection.send(joining, 3)
    assert joined.error_code == 0, joined
    assert joined.leader == joined.member_id
    left = connection.send(LeaveGroupRequest(group_id=group, member_id=joined.member_id), 2)
    assert left.error_code == 0, left


class _Process:
    """The process of the broker, and what it has written to its log."""

    def __init__(self, *arguments: str) -> None:
        # It ends with its input, and so with us, however we end.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.live", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._log = self._process.stderr
        os.set_blocking(self._log.fileno(), False)
        self.port = int(self._process.stdout.readline())

    def size(self) -> int:
        """Bytes of memory that it really uses."""
        fields = Path(f"/proc/{self._process.pid}/statm").read_text().split()
        return int(fields[1]) * mmap.PAGESIZE

    def check(self) -> None:
        """Fail if it has ended, or met a bug."""
        assert self._process.poll() is None, f"the broker ended:\n{self._unread()}"
        if "Traceback" in (new := self._unread()):
            raise AssertionError(f"the broker met a bug:\n{new}")

    def stack(self) -> str:
        """What it is at."""
        self._process.send_signal(signal.SIGUSR1)
        time.sleep(0.5)
        return self._unread()

    def _unread(self) -> str:
        """What is new in its log."""
        new = b""
        while part := self._log.read(1 << 16):
            new += part
        return new.decode(errors="replace")


async def _serve() -> None:
    options = {"memory.max.bytes": LOG_BYTES, "log.segment.bytes": 1 << 20}
    async with EmbeddedBroker(topics={"t": 3, "u": 1}, seed=0, options=options) as broker:
        print(broker.bootstrap_servers.rpartition(":")[2], flush=True)
        await asyncio.Event().wait()


def main() -> None:
    """Be the broker."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    faulthandler.register(signal.SIGUSR1)
    if sys.argv[1:] == ["planted"]:
        SERVED[60] = "cluster.planted"  # DescribeCluster: there is no such function
    logging.basicConfig(level=logging.ERROR)
    asyncio.run(_serve())


if __name__ == "__main__":
    main()
