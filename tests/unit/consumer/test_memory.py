"""What becomes of the memory of records that the user lets go of."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

CHILD = """
import asyncio
import resource
from kafka_aio import Consumer
from kafka_aio.broker import EmbeddedBroker

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

async def main():
    async with EmbeddedBroker(topics={"t": 1}) as broker:
        async with Consumer("t", bootstrap_servers=broker.bootstrap_servers):
            kept = [b"%01100d" % number for number in range(30_000)]  # fills what is free already
            counted = []
            for _ in range(20):
                before = faults()
                records = [b"%01100d" % number for number in range(4_000)]
                del records
                counted.append(faults() - before)
            print(sorted(counted)[10])

asyncio.run(main())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="others are not known")
def test_records_that_are_freed_leave_their_memory_to_those_that_come_next() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD], capture_output=True, check=True, text=True, timeout=60
    )

    pages = 4_000 * 1_100 // 4_096
    assert int(done.stdout) < pages / 10
