"""One command, from its arguments to its exit code: on a loop of its own, with a client."""

from __future__ import annotations

import argparse
import asyncio
import os
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kafka_aio.admin import Admin
from kafka_aio.cli import configuration, terminal
from kafka_aio.cli.credentials import TokenFile
from kafka_aio.cli.exits import Exit, code_of, code_of_all, in_our_words
from kafka_aio.cli.logs import logs
from kafka_aio.cli.output import Report
from kafka_aio.cli.progress import progress
from kafka_aio.config import AdminConfig, ClientConfig, ConsumerConfig, ProducerConfig
from kafka_aio.errors import AuthenticationError, KafkaError
from kafka_aio.net.clock import wall_time

if TYPE_CHECKING:
    from kafka_aio.consumer import Consumer
    from kafka_aio.producer import Producer

_Client: TypeAlias = "Admin | Consumer[bytes, bytes] | Producer[bytes, bytes]"
_PATIENCE: Final = 0.5
"""How many seconds threads have to end after the command."""


def run(given: argparse.Namespace) -> int:
    """Run a command; every way in which it can end is an exit code."""
    threads = _Threads()
    runner = asyncio.Runner()
    runner.get_loop().set_default_executor(threads)
    with logs(given.verbose):
        code = _guarded(lambda: _run(given, runner), debug=given.debug)
    if wait(threads.pending, timeout=_PATIENCE).not_done:
        os._exit(code)  # Python would wait for the threads: a name looked up in vain takes minutes
    runner.close()
    return code


class _Threads(ThreadPoolExecutor):
    """Threads that can be asked whether they are done."""

    def __init__(self) -> None:
        super().__init__(thread_name_prefix="kafka-aio")
        self.pending: set[Future[Any]] = set()

    def submit(self, *arguments: Any, **options: Any) -> Future[Any]:
        future = super().submit(*arguments, **options)
        self.pending.add(future)
        future.add_done_callback(self.pending.discard)
        return future


def _guarded(work: Callable[[], Exit], *, debug: bool) -> Exit:
    try:
        return work()
    except KafkaError as error:
        _trace(debug)
        terminal.say("error", in_our_words(str(error)))
        for sentence in getattr(error, "__notes__", ()):
            terminal.say("hint", in_our_words(sentence))
        return code_of(error)
    except terminal.Declined:
        terminal.say("error", "nothing was done")
        return Exit.FAILED
    except terminal.Gone:
        return Exit.PIPE
    except (KeyboardInterrupt, asyncio.CancelledError):
        terminal.say("error", "interrupted")
        return Exit.INTERRUPTED
    except Exception as error:
        _trace(debug)
        # Not its text: nobody has looked whether there is a secret in it.
        terminal.say("error", f"{type(error).__name__}: this is a bug; --debug shows where")
        return Exit.BUG


def _trace(debug: bool) -> None:
    if debug:
        terminal.tell(traceback.format_exc())


def _run(given: argparse.Namespace, runner: asyncio.Runner) -> Exit:
    if given.alone is not None:
        code: Exit = runner.run(given.alone(given))
        return code
    ask = terminal.ask_secret if terminal.is_there() else None
    kind = given.kind_of_config
    config, notes = configuration.load(kind, given, environment=os.environ, ask=ask)
    for note in notes:
        if note.is_about_file and not given.verbose:
            continue  # a file may serve several clients
        terminal.say("warning", in_our_words(note.text))
    given.client_config = config  # for a command that starts clients of its own, or changes it
    if given.before is not None:
        given.before(given)
    its_own = configuration.connecting(given.kind_of_client, given.client_config)
    report = runner.run(_command(given, its_own))
    return _print(report, as_json=given.json)


async def _command(given: argparse.Namespace, config: ClientConfig) -> Report:
    loop = asyncio.get_running_loop()
    seconds: float = given.timeout or getattr(config, given.time_option) / 1000
    deadline = loop.time() + seconds

    def left() -> float:
        return max(1.0, deadline - loop.time())  # who connects in the last moment may still speak

    async with await _connected(config) as client:
        report: Report = await given.run(given, client, left)
    return report


async def _connected(config: ClientConfig) -> aclosing[_Client]:
    """A client, to be closed at the end of the block."""
    client = _client(config)
    where = ", ".join(config.bootstrap_servers)
    try:
        async with progress(f"connecting to {where}"):
            await client.start()
    except AuthenticationError as error:
        provider = config.sasl_oauthbearer_token_provider
        if isinstance(provider, TokenFile) and provider.has_expired(now=wall_time()):
            error.add_note(f"the token in {provider.name} has expired")
        raise
    return aclosing(client)


def _client(config: ClientConfig) -> _Client:
    if isinstance(config, ProducerConfig):
        from kafka_aio.producer import Producer  # late: most commands do without

        return Producer(config)
    if isinstance(config, ConsumerConfig):
        from kafka_aio.consumer import Consumer  # late: as above

        return Consumer(config)
    assert isinstance(config, AdminConfig)
    return Admin(config)


def _print(report: Report, *, as_json: bool) -> Exit:
    written = terminal.put(report.text(as_json=as_json))
    for failure in report.errors:
        terminal.say("error", in_our_words(str(failure)))
    for hint in report.hints:
        terminal.say("hint", in_our_words(hint))
    return written or code_of_all(report.errors)
