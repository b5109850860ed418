"""What the library logs, on stderr while a command runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafka_aio.cli import terminal
from kafka_aio.cli.exits import in_our_words

_LEVELS: Final = (logging.WARNING, logging.INFO, logging.DEBUG)


@contextmanager
def logs(verbose: int) -> Iterator[None]:
    """Show warnings; with 1, what happens; with 2, every request."""
    logger = logging.getLogger("kafka_aio")
    handler = _Handler(is_plain=verbose == 0)
    level_before = logger.level
    logger.addHandler(handler)
    logger.setLevel(_LEVELS[min(verbose, 2)])
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level_before)


class _Handler(logging.Handler):
    """Writes a line as all others of a command are."""

    def __init__(self, *, is_plain: bool) -> None:
        super().__init__()
        self._is_plain = is_plain
        self._times = logging.Formatter(datefmt="%H:%M:%S")

    def emit(self, record: logging.LogRecord) -> None:
        level = record.levelname.lower()
        text = in_our_words(record.getMessage())
        if not self._is_plain:
            time = f"{self._times.formatTime(record, '%H:%M:%S')}.{int(record.msecs):03}"
            text = f"{time} {record.name}: {text}"
        terminal.show("")  # over the line of `progress`
        terminal.say(level, text)
