"""The embedded broker in the foreground: from its start to Ctrl-C or SIGTERM."""

from __future__ import annotations

import argparse
import asyncio
import signal
from pathlib import Path

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.cli import broker as command
from kafka_aio.cli import terminal
from kafka_aio.cli.exits import Exit
from kafka_aio.errors import ConfigError


async def serve(given: argparse.Namespace) -> Exit:
    """Run a broker until somebody ends it.

    Raises:
        ConfigError: An argument is wrong, or a port is taken.
    """
    arguments = await asyncio.to_thread(command.arguments, given)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, ended.set)
    async with EmbeddedBroker(**arguments) as broker:
        if given.ca_out is not None:
            await asyncio.to_thread(_write, given.ca_out, broker.certificates.ca_pem)
        written = terminal.put(command.report(broker, given).text(as_json=given.json))
        if written is not Exit.DONE:
            return written
        await ended.wait()
    terminal.say("info", "the broker has ended")
    return Exit.DONE


def _write(name: str, text: str) -> None:
    try:
        Path(name).write_text(text, encoding="ascii")
    except OSError as error:
        raise ConfigError(f"--ca-out {name}: {error.strerror}") from None
