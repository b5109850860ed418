"""What async tests run on, and what they may not leave behind: a plugin of pytest.

Each runs twice, on asyncio in debug mode and on uvloop where that is installed.
`@pytest.mark.loop("asyncio")` keeps a test to one of them, `KAFKA_AIO_LOOP=asyncio` a whole run.

A test that passes has cleaned up: at its end, and after its fixtures, there is no task, file,
socket or thread that was not there before, and no failure that nobody has seen. On asyncio, a
call in `kafka_aio` that would block the loop raises.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import io
import linecache
import logging
import os
import threading
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest
from pytest_asyncio import is_async_test

if TYPE_CHECKING:
    from blockbuster import BlockBuster

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
with contextlib.suppress(ImportError):  # Windows, and Pythons that are too new for it
    import uvloop

    class Uvloop(uvloop.Loop):
        """uvloop whose `close` ends: with a warning that is an error, it waits for ever."""

        def close(self) -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)
                super().close()

    LOOPS["uvloop"] = Uvloop

DESCRIPTORS = "/proc/self/fd"
# What was closed gives its socket back in one of the next turns of the loop; TLS takes the most.
TURNS = 20
THREAD_SECONDS = 1.0  # for one that was told to end
FRAMES = 10  # as many as asyncio itself notes of a callback

# What blocks and blockbuster does not know: look-ups of names, reading of stores, slow hashes.
ALSO_BLOCKS = (
    "hashlib.pbkdf2_hmac",
    "socket.getaddrinfo",
    "socket.getfqdn",
    "socket.gethostbyname",
    "ssl.SSLContext.load_cert_chain",
    "ssl.SSLContext.load_default_certs",
    "ssl.SSLContext.load_verify_locations",
)
# Where the product may block all the same: file and function.
MAY_BLOCK = (
    ("<frozen importlib._bootstrap>", "_find_and_load"),  # modules come when needed, once
)

LOOP = pytest.StashKey[asyncio.AbstractEventLoop]()
PASSED = pytest.StashKey[bool]()
FOUND = pytest.StashKey[list[str]]()


def loops_of_the_run() -> set[str]:
    wish = os.environ.get("KAFKA_AIO_LOOP", "both")
    if wish != "both" and wish not in LOOPS:
        raise pytest.UsageError(f"KAFKA_AIO_LOOP={wish}: here it is {', '.join(LOOPS)} or both")
    return set(LOOPS) if wish == "both" else {wish}


def loops_of_the_test(item: pytest.Item) -> set[str]:
    mark = item.get_closest_marker("loop")
    if mark is None:
        return loops_of_the_run()
    if not set(mark.args) <= {"asyncio", "uvloop"} or len(mark.args) != 1 or mark.kwargs:
        raise pytest.UsageError(f"{item.nodeid}: the marker is loop('asyncio') or loop('uvloop')")
    return loops_of_the_run() & set(mark.args)


def pytest_asyncio_loop_factories(
    item: pytest.Item,
) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    # Without one the hook fails; such a test is skipped below.
    names = loops_of_the_test(item) or {"asyncio"}
    return {name: make for name, make in LOOPS.items() if name in names}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not loops_of_the_test(item):
            item.add_marker(pytest.mark.skip(reason="not on the loops of this run"))


@pytest.fixture(scope="module", autouse=True)
def _what_is_there_stays() -> None:
    """After each async test garbage is looked for, and not among what earlier files have left.

    The tables of some hold millions of objects: to look at them takes a fifth of a second.
    """
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "call":
        item.stash[PASSED] = report.passed
    if report.failed and LOOP in item.stash:
        # The traceback of a test that hangs ends where the loop waits, not where its tasks do.
        report.sections += [("task", stack) for stack in stacks(item.stash[LOOP])]
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Fails last, so that warnings which could not be raised stay with the test they came from."""
    try:
        yield
    except BaseException as error:
        if text := left_behind(item):
            error.add_note(text)
        raise
    if text := left_behind(item):
        pytest.fail(text, pytrace=False)


def left_behind(item: pytest.Item) -> str:
    found: list[str] = item.stash.get(FOUND, [])
    passed: bool = item.stash.get(PASSED, False)
    # The traceback of a test that has failed holds on to all that the test had.
    return "\n".join(["left behind by the test:", *found]) if found and passed else ""


@pytest.fixture(autouse=True)
def _guarded(request: pytest.FixtureRequest) -> None:
    if is_async_test(request.node):
        request.node.stash[FOUND] = []
        request.getfixturevalue("_nothing_left_behind")


@pytest.fixture
def _nothing_left_behind(
    request: pytest.FixtureRequest, _collected: None, _loop: asyncio.AbstractEventLoop
) -> Iterator[None]:
    """Begins before all other fixtures of an async test and ends after them, but for the loop.

    It looks while the loop stands still: uvloop opens sockets of its own to run.
    """
    request.node.stash[LOOP] = _loop
    found = request.node.stash[FOUND]
    on_asyncio = isinstance(_loop, asyncio.BaseEventLoop)
    _loop.set_debug(on_asyncio)
    _loop.set_exception_handler(partial(_note, found))
    threads, descriptors = set(threading.enumerate()), open_descriptors()

    with watched_closely() if on_asyncio else contextlib.nullcontext():
        yield

    def left() -> list[str]:
        tasks = [repr(task) for task in asyncio.all_tasks(_loop)]
        return tasks + sorted(open_descriptors() - descriptors)

    turns = iter(range(TURNS))
    while left() and next(turns, None) is not None:
        _loop.run_until_complete(asyncio.sleep(0))
    found += left()
    _loop.run_until_complete(_loop.shutdown_default_executor())
    found += [repr(thread) for thread in still_running(threads)]


@pytest.fixture
def _collected() -> Iterator[None]:
    """Ends after the loop. A failed task that nobody asked says so when it goes; a socket warns."""
    yield
    gc.collect()


@pytest.fixture
async def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def _note(found: list[str], loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Keeps and logs the text alone: what it tells of would live on, into the next test."""
    message = context.get("message", "Exception in the loop")  # uvloop may give none
    error = context.get("exception")
    found.append(message)
    found += traceback.format_exception(error) if error else []
    logging.getLogger("asyncio").error("%s: %r", message, error)
    if isinstance(error, pytest.fail.Exception):
        # pytest-timeout's. It is raised out of a signal, and uvloop gives it to us and goes on.
        loop.stop()


def stacks(loop: asyncio.AbstractEventLoop) -> Iterator[str]:
    for task in asyncio.all_tasks(loop):
        task.print_stack(file=(text := io.StringIO()))
        yield text.getvalue()


def open_descriptors() -> set[str]:
    """Number and target of each: a number alone is soon another file's."""
    found = set()
    for name in os.listdir(DESCRIPTORS) if os.path.isdir(DESCRIPTORS) else ():
        with contextlib.suppress(OSError):  # the one that lists them is closed by now
            found.add(f"file {name}: {os.readlink(f'{DESCRIPTORS}/{name}')}")
    return {file for file in found if not file.endswith("/dev/null")}  # uvloop keeps a spare one


def still_running(before: set[threading.Thread]) -> list[threading.Thread]:
    new = [thread for thread in threading.enumerate() if thread not in before]
    for thread in new:
        thread.join(THREAD_SECONDS)
    return [thread for thread in new if thread.is_alive()]


@contextlib.contextmanager
def watched_closely() -> Iterator[None]:
    """What is done in debug mode alone."""
    with short_stacks(), blocking_refused():
        yield


@contextlib.contextmanager
def short_stacks() -> Iterator[None]:
    """Debug mode notes where each future was made: in the last few frames, not in all of pytest's.

    To note them all, and to ask for each whether its file has changed, is most of what the tests
    would do.
    """
    walk = traceback.walk_stack
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(traceback, "walk_stack", lambda frame: islice(walk(frame), FRAMES))
        patch.setattr(linecache, "checkcache", lambda filename=None: None)
        yield


@contextlib.contextmanager
def blocking_refused() -> Iterator[None]:
    """A call that would block raises, if it comes from `kafka_aio` and a loop runs.

    Not where blockbuster is not installed, which is on the other Pythons (requirements/test.in).
    """
    guard = _blockbuster() if find_spec("blockbuster") else None
    if guard is None:
        yield
        return
    guard.activate()
    try:
        yield
    finally:
        guard.deactivate()


@functools.cache
def _blockbuster() -> BlockBuster:
    from blockbuster import BlockBuster, BlockBusterFunction

    loops = ["kafka_aio.testing"]  # a test on a VirtualLoop may block, as on any other
    guard = BlockBuster("kafka_aio", excluded_modules=loops)
    for name in ALSO_BLOCKS:
        guard.functions[name] = BlockBusterFunction(
            None, name, scanned_modules="kafka_aio", excluded_modules=loops
        )
    for function in guard.functions.values():
        for place in MAY_BLOCK:
            function.can_block_in(*place)
    return guard
