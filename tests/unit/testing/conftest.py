from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafka_aio.testing import VirtualLoop
from tests.unit.testing.recorder import Play, Story

LOOPS = {"sockets": asyncio.new_event_loop, "virtual": VirtualLoop}


@pytest.fixture(params=LOOPS)
def play(request: pytest.FixtureRequest) -> Play:
    """Runs a story over sockets, and in memory."""

    def play(story: Story) -> Any:
        with asyncio.Runner(loop_factory=LOOPS[request.param]) as runner:
            return runner.run(story())

    return play
