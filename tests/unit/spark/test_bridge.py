from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import pytest

from kafka_aio.errors import StateError
from spark_connector import bridge
from spark_connector.bridge import LoopThread, loop_thread, partition_loop, pump, read_ahead
from tests.unit.spark.threads import (
    NEEDS_UVLOOP,
    SECONDS,
    Boom,
    Gate,
    boom,
    interrupted_after,
    soon,
)

# The thread.


def test_work_is_done_on_a_daemon_thread_of_its_own(thread: LoopThread) -> None:
    async def where() -> tuple[bool, bool]:
        current = threading.current_thread()
        return current is threading.main_thread(), current.daemon

    assert thread.run(where()) == (False, True)


def test_run_gives_the_result_and_raises_the_error_with_its_own_traceback(
    thread: LoopThread,
) -> None:
    assert thread.run(soon(5)) == 5

    with pytest.raises(Boom) as caught:
        thread.run(boom())
    assert caught.traceback[-1].name == "boom"


def test_work_of_several_threads_is_done_at_the_same_time(thread: LoopThread) -> None:
    gate = Gate(thread)
    futures = [thread.submit(gate.work(number)) for number in range(3)]

    gate.open()

    assert [future.result(SECONDS) for future in futures] == [0, 1, 2]


def test_to_cancel_a_future_cancels_the_work(thread: LoopThread) -> None:
    gate = Gate(thread)
    future = thread.submit(gate.work())
    assert gate.begun.wait(SECONDS)

    future.cancel()

    assert gate.cancelled.wait(SECONDS)


def test_an_interrupted_wait_cancels_the_work(thread: LoopThread) -> None:
    gate = Gate(thread)

    with pytest.raises(KeyboardInterrupt), interrupted_after(gate.begun):
        thread.run(gate.work())

    assert gate.cancelled.wait(SECONDS)


def test_run_on_the_thread_of_the_loop_is_refused_rather_than_waiting_for_itself(
    thread: LoopThread,
) -> None:
    async def inside() -> None:
        thread.run(soon(1))

    with pytest.raises(StateError, match="await the work"):
        thread.run(inside())


def test_stop_on_the_thread_of_the_loop_is_refused(thread: LoopThread) -> None:
    async def inside() -> None:
        thread.stop()

    with pytest.raises(StateError, match="cannot stop itself"):
        thread.run(inside())


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_what_would_end_the_loop_goes_to_who_waits_and_the_loop_runs_on(
    thread: LoopThread, error: BaseException
) -> None:
    async def leave() -> None:
        raise error

    gate = Gate(thread)
    other = thread.submit(gate.work(7))
    with pytest.raises(type(error)):
        thread.run(leave())
    gate.open()

    assert other.result(SECONDS) == 7


def test_a_loop_that_somebody_stops_runs_on(thread: LoopThread) -> None:
    thread.loop.call_soon_threadsafe(thread.loop.stop)

    assert [thread.run(soon(number)) for number in range(3)] == [0, 1, 2]


def test_stop_cancels_what_is_under_way_and_ends_the_thread(thread: LoopThread) -> None:
    gate = Gate(thread)
    future = thread.submit(gate.work())
    assert gate.begun.wait(SECONDS)

    thread.stop()

    assert gate.cancelled.is_set()
    assert future.cancelled()
    assert not thread.is_running
    assert thread.loop.is_closed()


def test_stop_may_be_called_again(thread: LoopThread) -> None:
    thread.stop()
    thread.stop()

    assert repr(thread).endswith("ended, 0 wait for it>")


def test_a_stopped_thread_takes_no_work(thread: LoopThread) -> None:
    thread.stop()

    with pytest.raises(StateError, match="ends, or has"):
        thread.run(soon(1))


def test_what_ends_with_the_thread_cannot_begin_anything_new(thread: LoopThread) -> None:
    refused: list[StateError] = []

    async def begin_again() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            try:
                thread.submit(soon(1))
            except StateError as error:
                refused.append(error)
            raise

    thread.submit(begin_again())
    thread.run(soon(1))
    thread.stop()

    assert len(refused) == 1


def test_two_who_stop_it_do_not_cut_short_its_end(
    thread: LoopThread, caplog: pytest.LogCaptureFixture
) -> None:
    ended = threading.Event()

    async def slow_to_end() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.2)
            ended.set()

    thread.submit(slow_to_end())
    thread.run(soon(1))
    other = threading.Timer(0.05, thread.stop)
    other.start()
    thread.stop()
    other.join(SECONDS)

    assert ended.is_set()
    assert thread.loop.is_closed()
    assert "failed" not in caplog.text


def test_stop_does_not_wait_for_ever_for_a_task_that_does_not_end(
    thread: LoopThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge, "GRACE", 0.1)
    is_enough = threading.Event()

    async def stubborn() -> None:
        while not is_enough.is_set():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)

    thread.submit(stubborn())
    begun = time.monotonic()
    thread.stop()

    assert time.monotonic() - begun < SECONDS / 2
    assert not thread.is_running
    is_enough.set()


@pytest.mark.parametrize("way", ["run", "pump", "read_ahead"])
def test_who_waits_for_a_thread_that_fails_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    thread = LoopThread()
    gate = Gate(thread)

    async def batches() -> AsyncIterator[int]:
        yield await gate.work()

    def fail() -> None:
        def gone(*_: Any) -> Any:
            raise OSError("the selector is gone")

        gate.begun.wait(SECONDS)
        monkeypatch.setattr(thread.loop._selector, "select", gone)  # type: ignore[attr-defined]
        thread.loop.call_soon_threadsafe(lambda: None)

    waits: dict[str, Callable[[], object]] = {
        "run": lambda: thread.run(gate.work()),
        "pump": lambda: list(pump(thread, [1], gate.work)),
        "read_ahead": lambda: list(read_ahead(thread, batches)),
    }
    threading.Thread(target=fail).start()
    with pytest.raises(StateError, match="ended while this was awaited") as caught:
        waits[way]()

    assert isinstance(caught.value.__cause__, OSError)
    assert "failed" in caplog.text
    with pytest.raises(StateError, match="ends, or has"):
        thread.submit(soon(1))
    monkeypatch.undo()  # what such a thread leaves behind is the test's to end
    for task in asyncio.all_tasks(thread.loop):
        task.cancel()
    thread.loop.run_until_complete(asyncio.sleep(0.05))
    thread.loop.close()


# That of the process.


def test_a_process_has_one_loop_thread() -> None:
    assert loop_thread() is loop_thread()


def test_threads_that_ask_at_the_same_time_get_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "_threads", {})
    barrier = threading.Barrier(8)
    found = []

    def ask() -> None:
        barrier.wait(SECONDS)
        found.append(loop_thread())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(SECONDS)

    assert len(found) == 8
    assert len(set(map(id, found))) == 1
    found[0].stop()


def test_one_that_has_ended_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "_threads", {})
    first = loop_thread()
    first.stop()

    second = loop_thread()

    assert second is not first
    assert second.run(soon(1)) == 1
    second.stop()


def test_partitions_share_the_loop_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "_threads", {})
    with partition_loop() as first:
        pass
    with partition_loop() as second:
        assert second is first is loop_thread()
        assert second.run(soon(1)) == 1
    loop_thread().stop()


def test_a_fresh_loop_is_of_one_partition_and_ends_with_it() -> None:
    with partition_loop(fresh=True) as first, partition_loop(fresh=True) as second:
        assert first is not second
        assert first is not loop_thread()
        assert first.run(soon(1)) == 1

    assert not first.is_running
    assert not second.is_running


def test_no_signal_handler_is_set(thread: LoopThread) -> None:
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    with partition_loop(fresh=True) as other:
        other.run(soon(1))
        wakeup = signal.set_wakeup_fd(-1)

        assert wakeup == -1
        assert before == {number: signal.getsignal(number) for number in signal.valid_signals()}


PROGRAM = """
import asyncio, os, sys, warnings
warnings.simplefilter("error")
warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
from kafka_aio.errors import StateError
from spark_connector import bridge
from spark_connector.bridge import loop_thread

async def pid():
    await asyncio.sleep(0.01)
    return os.getpid()

if sys.argv[1] == "asyncio":
    sys.modules["uvloop"] = None
parent = loop_thread()
assert parent.run(pid()) == os.getpid()
"""

FORKED = """
held = bridge._lock.acquire() if sys.argv[2] == "held" else None
child = os.fork()
if child == 0:
    status = 1
    try:
        try:
            parent.run(pid())
        except StateError as error:
            assert "another process" in str(error)
            ours = loop_thread()
            assert ours is not parent and ours.run(pid()) == os.getpid()
            parent.stop()
            status = 0
    finally:
        os._exit(status)
_, status = os.waitpid(child, 0)
assert status == 0, status
if held:
    bridge._lock.release()
for _ in range(3):
    assert parent.run(pid()) == os.getpid()
"""


def _run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


LOOPS = ["asyncio", pytest.param("uvloop", marks=NEEDS_UVLOOP)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("lock", ["free", "held"])
@pytest.mark.parametrize("loop", LOOPS)
def test_a_forked_process_has_a_loop_thread_of_its_own_and_the_parent_keeps_its(
    loop: str, lock: str
) -> None:
    ended = _run(PROGRAM + FORKED, loop, lock)

    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("loop", LOOPS)
def test_a_process_with_a_loop_thread_ends_by_itself_and_in_silence(loop: str) -> None:
    ended = _run(PROGRAM + "parent.submit(asyncio.sleep(60))", loop)

    assert (ended.returncode, ended.stderr) == (0, "")
