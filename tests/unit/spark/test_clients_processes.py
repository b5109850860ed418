from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from kafka_aio.broker import BrokerThread

SECONDS = 10.0
NEEDS_UVLOOP = pytest.mark.skipif(find_spec("uvloop") is None, reason="uvloop is not installed")


PROGRAM = """
import asyncio, os, sys, warnings
from kafka_aio.broker import BrokerThread
from spark_connector import clients
from spark_connector.bridge import loop_thread

warnings.simplefilter("error")
warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
if sys.argv[1] == "asyncio":
    sys.modules["uvloop"] = None
address = sys.argv[2]

async def send(value):
    async with clients.producer({"bootstrap.servers": address}) as producer:
        metadata = await producer.send("t", value)
        return id(producer), metadata.offset

first, offset = loop_thread().run(send(b"parent"))
"""

FORKED = """
child = os.fork()
if child == 0:
    status = 1
    try:
        loop_thread().run(send(b"child"))
        status = 0
    finally:
        os._exit(status)
_, status = os.waitpid(child, 0)
assert status == 0, status
second, offset = loop_thread().run(send(b"parent again"))
assert second == first
"""

LOOPS = ["asyncio", pytest.param("uvloop", marks=NEEDS_UVLOOP)]


def _run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("loop", LOOPS)
def test_a_forked_process_has_clients_of_its_own_and_the_parent_keeps_its(loop: str) -> None:
    with BrokerThread(topics={"t": 1}) as broker:
        ended = _run(PROGRAM + FORKED, loop, broker.bootstrap_servers)

        assert (ended.returncode, ended.stderr) == (0, "")
        values = [record.value for record in broker.records("t")]
        assert values == [b"parent", b"child", b"parent again"]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_process_with_an_open_client_ends_by_itself_and_in_silence(loop: str) -> None:
    with BrokerThread(topics={"t": 1}) as broker:
        ended = _run(PROGRAM, loop, broker.bootstrap_servers)

    assert (ended.returncode, ended.stderr) == (0, "")
