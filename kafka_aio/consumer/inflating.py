"""A batch that is inflated in a thread, as it inflates to too much for the loop."""

from __future__ import annotations

import asyncio

from kafka_aio.consumer.pieces import MOST_BYTES
from kafka_aio.records.codec import RecordReader


class Inflating:
    """What a thread is at work on, if anything: one batch at a time."""

    def __init__(self) -> None:
        self._future: asyncio.Future[bool] | None = None

    def __repr__(self) -> str:
        return f"<Inflating{'' if self._future is None else ': a thread is at work'}>"

    @property
    def is_under_way(self) -> bool:
        return self._future is not None

    def is_done(self, walk: RecordReader) -> bool:
        """Whether the next batch can be read on the loop; otherwise a thread is at work on it.

        Raises:
            CorruptRecord: It cannot be inflated.
        """
        if self._future is None:
            if walk.to_inflate(MOST_BYTES) <= MOST_BYTES:
                return True
            self._future = asyncio.get_running_loop().run_in_executor(None, walk.open_batch)
            self._future.add_done_callback(_seen)
        if not self._future.done():
            return False
        done, self._future = self._future, None
        done.result()
        return True

    async def wait(self, timeout: float | None = None) -> None:
        """Wait for the thread, so many seconds at most. It goes on if we are cancelled."""
        if self._future is not None:
            await asyncio.wait([self._future], timeout=timeout)


def _seen(future: asyncio.Future[bool]) -> None:
    """Nobody may be left to look at how it ended."""
    if not future.cancelled():
        future.exception()
