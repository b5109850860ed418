"""A process that does nothing, as a client of `kafka_aio.cli.bench`: how late is a timer anyway?"""

from __future__ import annotations

import asyncio

from kafka_aio.cli.bench.work import Work


async def read_lists(work: Work) -> None:
    for run in work.runs():
        if run.has_read(1):  # there is no need to warm up
            await asyncio.sleep(work.load.seconds)
