"""Clients of this process, by their configuration: borrowed, kept open, and closed when idle.

    async with clients.producer({"bootstrap.servers": "localhost:9092"}) as producer: ...

A client belongs to the running loop, so those of a loop are in one cache. All that happens to it
happens on that loop. After a fork there is another loop, and so another cache. A worker is killed
without warning, and the clients with it: what they were given has been waited for by who gave it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

import kafka_aio
from kafka_aio.errors import BrokerError, ConfigError, KafkaError
from spark_connector.option_names import by_kafkas_names

if TYPE_CHECKING:
    from kafka_aio import Admin, ClientConfig, Consumer, Producer

Kind = Literal["producer", "consumer", "admin"]
Key = tuple[Kind, frozenset[tuple[str, str]]]

IDLE_SECONDS: Final = 300.0
"""A client that nobody has borrowed for so long is closed."""
CLOSE_SECONDS: Final = 5.0
"""How long a client has to close."""

log = logging.getLogger("spark_connector")


def producer(options: Mapping[str, str]) -> AbstractAsyncContextManager[Producer]:
    """Borrow a producer; several may have it at the same time.

    Args:
        options: By Kafka's names. What has no effect is left out, with one warning in the log.

    Raises:
        ConfigError: An option is wrong, or contradicts another.
        KafkaError: The cluster cannot be reached, or does not let us in.
    """
    return _borrowed("producer", options)


def consumer(options: Mapping[str, str]) -> AbstractAsyncContextManager[Consumer]:
    """Borrow a consumer, to read ranges with: what it is assigned is nobody's. As `producer`."""
    return _borrowed("consumer", options)


def admin(options: Mapping[str, str]) -> AbstractAsyncContextManager[Admin]:
    """Borrow an admin client. As `producer`."""
    return _borrowed("admin", options)


async def close_all() -> None:
    """Close the clients of the running loop, borrowed or not. What fails there is logged."""
    cache = _caches.pop(asyncio.get_running_loop(), None)
    if cache is not None:
        await cache.close()


@asynccontextmanager
async def _borrowed(kind: Kind, options: Mapping[str, str]) -> AsyncIterator[Any]:
    cache = _cache_of(asyncio.get_running_loop())
    entry = cache.borrow((kind, frozenset(options.items())))
    try:
        # Shielded: others may wait for it too, and if nobody does it will be there, and idle.
        yield await asyncio.shield(entry.opening)
    except KafkaError as error:
        # An admin client does not tell of its health; an answer of the broker's says that it works.
        if kind == "admin" and not isinstance(error, BrokerError | ConfigError):
            cache.retire(entry)
        raise
    finally:
        cache.give_back(entry)


class _Entry:
    """A client, from the moment that somebody wants it."""

    def __init__(self, key: Key, opening: asyncio.Task[Any]) -> None:
        self.key = key
        self.opening = opening
        self.borrowers = 0
        self.expiry: asyncio.TimerHandle | None = None
        self.closing: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"<_Entry of a {self.key[0]}, {self.borrowers} have it>"

    def is_good(self) -> bool:
        """Whether it is being opened, or open and well.

        Who has one that is not well may still send by it: what another sends next would overtake.
        """
        if not self.opening.done():
            return True
        if self.opening.cancelled() or self.opening.exception() is not None:
            return False
        if self.key[0] == "admin":
            return True
        health = self.opening.result().health()
        return bool(health.is_healthy or (self.borrowers and health.state == "open"))

    def keep(self) -> None:
        """Let it not expire, for now."""
        if self.expiry is not None:
            self.expiry.cancel()
            self.expiry = None


class _Cache:
    """The clients of one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._entries: dict[Key, _Entry] = {}
        self._retired: set[_Entry] = set()
        """Nobody new gets these, and the last who has one closes it."""

    def __repr__(self) -> str:
        return f"<_Cache of {len(self._entries)} clients, {len(self._retired)} retired>"

    def borrow(self, key: Key) -> _Entry:
        entry = self._entries.get(key)
        if entry is not None and not entry.is_good():
            self.retire(entry)
            entry = None
        if entry is None:
            entry = self._entries[key] = self._opened(key)
        entry.borrowers += 1
        entry.keep()
        return entry

    def _opened(self, key: Key) -> _Entry:
        entry = _Entry(key, self._loop.create_task(_open(*key)))
        # Who wanted it may be gone by then. An error is for who waits for it.
        entry.opening.add_done_callback(lambda _: self._settle(entry))
        return entry

    def give_back(self, entry: _Entry) -> None:
        entry.borrowers -= 1
        self._settle(entry)

    def retire(self, entry: _Entry) -> None:
        if self._entries.get(entry.key) is entry:
            del self._entries[entry.key]
            self._retired.add(entry)
        self._settle(entry)

    def _settle(self, entry: _Entry) -> None:
        """See what becomes of a client that nobody has."""
        entry.keep()
        if entry.borrowers > 0 or not entry.opening.done():
            return
        if entry in self._retired:
            self._close(entry)
        else:
            entry.expiry = self._loop.call_later(IDLE_SECONDS, self.retire, entry)

    def _close(self, entry: _Entry) -> asyncio.Task[None]:
        if entry.closing is None:
            entry.closing = self._loop.create_task(_close(entry))
            entry.closing.add_done_callback(lambda _: self._retired.discard(entry))
        return entry.closing

    async def close(self) -> None:
        """Close all of them, whoever has one."""
        self._retired.update(self._entries.values())
        self._entries.clear()
        for entry in self._retired:
            entry.keep()
        if self._retired:
            await asyncio.wait([self._close(entry) for entry in self._retired])


_caches: dict[asyncio.AbstractEventLoop, _Cache] = {}


def _cache_of(loop: asyncio.AbstractEventLoop) -> _Cache:
    if loop not in _caches:
        for other in list(_caches):
            if other.is_closed():
                del _caches[other]
        _caches[loop] = _Cache(loop)
    return _caches[loop]


async def _open(kind: Kind, options: frozenset[tuple[str, str]]) -> Any:
    try:
        config = _configured(kind, dict(options))
        client: Any = getattr(kafka_aio, kind.capitalize())(config)
        patience = None
        if isinstance(config, kafka_aio.ProducerConfig):
            patience = config.max_block_ms / 1000  # Java's connects with its first record
        await client.start(timeout=patience)
    except ConfigError as error:  # a file that is not there, for one
        text = by_kafkas_names(str(error), dict(options))
        raise ConfigError(f"of the kafka.* options: {text}") from None
    return client


async def _close(entry: _Entry) -> None:
    entry.opening.cancel()
    await asyncio.wait([entry.opening])
    if entry.opening.cancelled() or entry.opening.exception() is not None:
        return
    client = entry.opening.result()
    try:
        await (client.aclose() if entry.key[0] == "admin" else client.aclose(CLOSE_SECONDS))
    except KafkaError as error:  # of records that nobody waited for
        log.warning("a %s that nobody uses any more was closed: %s", entry.key[0], error)


def _configured(kind: Kind, options: dict[str, str]) -> ClientConfig:
    """The configuration, without what has no effect; that is said once in a process.

    Raises:
        ConfigError: An option is wrong, or contradicts another.
    """
    config: type[ClientConfig] = getattr(kafka_aio, f"{kind.capitalize()}Config")
    left_out = config.ignored_names(options)
    for name, sentence in left_out.items():
        if name not in _told:
            _told.add(name)
            log.warning("%s", sentence)
    return config.from_kafka(
        {name: value for name, value in options.items() if name not in left_out}
    )


_told: set[str] = set()
"""Names of options that were said to have no effect."""
