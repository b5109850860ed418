"""`EmbeddedBroker`: a Kafka cluster of one or more nodes, inside the running event loop."""

from __future__ import annotations

import asyncio
import random
import ssl
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from kafka_aio.broker.core import Core
from kafka_aio.broker.faults.rules import Rule
from kafka_aio.broker.operations import Operations
from kafka_aio.broker.security.users import MECHANISMS
from kafka_aio.broker.server import Server
from kafka_aio.broker.settings import Settings
from kafka_aio.broker.state import State
from kafka_aio.errors import ConfigError, KafkaTimeoutError, StateError
from kafka_aio.net.clock import rng, seconds
from kafka_aio.net.connection import address_text

if TYPE_CHECKING:
    from kafka_aio.broker.security.certificates import Certificates
    from kafka_aio.broker.security.tokens import Tokens

T = TypeVar("T")

_MOST_NODES: Final = 100
PATIENCE: Final = 10.0
"""Seconds that one waits for a fault to happen."""

_OAUTH: Final = "OAUTHBEARER"


class EmbeddedBroker(Operations):
    """A Kafka cluster in memory, on loopback ports of this process: for tests and development.

        async with EmbeddedBroker(topics={"orders": 3}) as broker:
            admin = Admin(bootstrap_servers=broker.bootstrap_servers)

    It belongs to the event loop in which it is started. `BrokerThread` is for other programs.
    """

    def __init__(  # noqa: PLR0913 - keyword-only, each with its default
        self,
        *,
        nodes: int = 1,
        topics: Mapping[str, int | Mapping[str, Any]] | Iterable[str] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: bool | Certificates = False,
        users: Mapping[str, str] | None = None,
        mechanisms: Sequence[str] | None = None,
        oauth: Tokens = None,
        seed: int | None = None,
        options: Mapping[str, Any] | Settings | None = None,
    ) -> None:
        """Make it; `start`, or `async with`, opens its ports.

        Args:
            nodes: How many brokers there are, with ids from 1 on.
            topics: Topics to begin with: how many partitions each has, or the arguments of
                `create_topic` for it: {"orders": {"partitions": 3, "configs": {...}}}. Names alone
                are topics of one partition.
            host: Where to listen: a loopback address, as nothing here is for real data.
            port: The first node's; the next ones follow it. 0 takes any that are free.
            tls: Whether clients must speak TLS: with certificates that are made for it
                (`certificates` has them), or with one's own.
            users: Passwords by user: clients must log in.
            mechanisms: Those of SASL that are enabled. If not said: PLAIN and SCRAM where there are
                users, OAUTHBEARER where there is `oauth`.
            oauth: Who checks bearer tokens: a function, or "unsecured".
            seed: For ids and faults by chance: the same seed gives the same ones.
            options: Kafka's, such as {"auto.create.topics.enable": False}; or `Settings`.

        Raises:
            ConfigError: Something of it cannot be.
        """
        self._nodes = _whole("nodes", nodes, 1, _MOST_NODES)
        self._host = _loopback(host)
        self._port = _whole("port", port, 0, 65536 - nodes)
        self._topics = _topic_arguments(topics or {})
        self._users = _passwords(users or {})
        self._tls = tls
        settings = options if isinstance(options, Settings) else Settings.from_kafka(options or {})
        chosen = rng().getrandbits(64) if seed is None else seed
        self._state = State(settings, random.Random(chosen))
        self._core = Core(self._state)
        self.faults.nodes = range(1, nodes + 1)
        self._state.users.enable(_mechanisms(mechanisms, users, oauth), tokens=oauth)
        self._certificates: Certificates | None = None
        self._server: Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._bell = _Bell()
        self._ports_lock = asyncio.Lock()
        """Ports are opened and closed one after the other."""
        self._is_closed = False

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else self.bootstrap_servers or "not started"
        return f"<EmbeddedBroker {state}, {self._nodes} nodes>"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        server: Server | None = getattr(self, "_server", None)
        if server is None or self._loop is None or self._is_closed:
            return
        warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=1)
        with suppress(RuntimeError):  # the loop is closed, and has closed the sockets
            self._loop.call_soon_threadsafe(server.abort)

    @property
    def bootstrap_servers(self) -> str:
        """Where its nodes are, as every client takes it: "127.0.0.1:34567"."""
        return ",".join(address_text(node.host, node.port) for node in self._state.nodes.values())

    @property
    def security_protocol(self) -> str:
        """What clients have to speak, as Kafka calls it: "PLAINTEXT", "SASL_SSL" ..."""
        transport = "SSL" if self._tls else "PLAINTEXT"
        return f"SASL_{transport}" if self._state.users.mechanisms else transport

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The mechanisms of SASL by which clients can log in; none where they need not."""
        return tuple(self._state.users.mechanisms)

    @property
    def certificates(self) -> Certificates:
        """What clients have to trust, once it is started.

        Raises:
            StateError: It does not speak TLS, or was not started.
        """
        if self._certificates is None:
            raise StateError("the broker has no certificates: give it tls=True, and start it")
        return self._certificates

    async def start(self) -> None:
        """Open the ports. Once: after a start that failed, make a new one.

        Raises:
            ConfigError: A port is taken, or the certificates cannot be used.
            BrokerError: A topic cannot be created.
            StateError: It was started before, or is closed meanwhile.
        """
        self._check_open()
        if self._loop is not None:
            raise StateError("the broker was started before; make a new one")
        self._loop = asyncio.get_running_loop()
        async with self._ports_lock:
            try:
                await self._open(await self._loop.run_in_executor(None, self._prepare))
            except BaseException:
                await self._shut()
                raise

    async def aclose(self) -> None:
        """Close the ports and all connections; end a start. The second call does nothing.

        Raises:
            StateError: It belongs to another event loop.
        """
        if self._is_closed:
            return
        if self._loop is not None:
            self._check_loop()
        self._is_closed = True  # who opens ports sees it
        try:
            async with self._ports_lock:
                await self._shut()
        except asyncio.CancelledError:
            if self._server is not None:
                self._server.abort()
            raise

    async def stop_node(self, node: int) -> None:
        """Let a node fail: its port and its connections close, and others lead its partitions.

        Raises:
            ConfigError: There is no such node.
        """
        self._check_node(node)
        async with self._ports_lock:
            if self._state.nodes[node].is_up:
                self._do(lambda: self._state.node_down(node))
                await self._listening().hang_up(node)

    async def start_node(self, node: int) -> None:
        """Let a node come back, on the same port.

        Raises:
            ConfigError: There is no such node, or its port was taken meanwhile.
        """
        self._check_node(node)
        known = self._state.nodes[node]
        async with self._ports_lock:
            if not known.is_up:
                await self._listening().listen(node, known.port)
                self._do(lambda: self._state.node_up(node))

    async def wait_hits(self, fault: Rule, count: int = 1, *, timeout: float = PATIENCE) -> None:
        """Wait until a fault has happened: until a `Hold` holds a request, for example.

        Args:
            fault: What `faults` has returned.
            count: How often it must have happened, in all.
            timeout: Seconds.

        Raises:
            KafkaTimeoutError: It did not in that time.
        """
        self._listening()
        try:
            async with asyncio.timeout(seconds(timeout, PATIENCE)):
                while fault.hits < count:
                    await self._bell.wait()
        except TimeoutError:
            raise KafkaTimeoutError(f"{fault!r} and not {count} within {timeout} s") from None

    async def _open(self, tls: ssl.SSLContext | None) -> None:
        self._check_open("was closed while it was starting")
        self._server = Server(self._core, self._host, tls)
        self.faults.run = self._server.dispatch.do
        self.faults.happened = self._bell.ring
        for node in range(1, self._nodes + 1):
            port = self._port and self._port + node - 1
            found = await self._server.listen(node, port)
            self._check_open("was closed while it was starting")
            self._state.add_node(node, self._host, found)
        for name, arguments in self._topics.items():
            self.create_topic(name, **arguments)

    async def _shut(self) -> None:
        self._is_closed = True
        self.faults.run = _directly
        if self._server is not None:
            await self._server.aclose()

    def _do(self, action: Callable[[], T]) -> T:
        return self._listening().dispatch.do(action)

    def _listening(self) -> Server:
        self._check_open()
        if self._server is None:
            raise StateError("the broker was not started: use it in `async with`, or await start()")
        self._check_loop()
        return self._server

    def _check_open(self, what: str = "is closed") -> None:
        if self._is_closed:
            raise StateError(f"the broker {what}: make a new one")

    def _check_loop(self) -> None:
        try:
            is_ours = asyncio.get_running_loop() is self._loop
        except RuntimeError:  # none runs here
            is_ours = False
        if not is_ours:
            raise StateError(
                "the broker belongs to another event loop: see BrokerThread, or make one for each"
            )

    def _prepare(self) -> ssl.SSLContext | None:
        """What takes its time: certificates, and what is kept of passwords."""
        self._state.users.add(self._users, randbytes=self._state.rng.randbytes)
        if not self._tls:
            return None
        from kafka_aio.broker.security.certificates import Certificates

        if not isinstance(self._tls, Certificates):
            self._tls = Certificates.generate()
        self._certificates = self._tls
        return self._certificates.server_context()


class _Bell:
    """Wakes whoever waits for it, each time it rings."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        self._event.set()
        self._event = asyncio.Event()

    async def wait(self) -> None:
        await self._event.wait()


def _directly(action: Callable[[], None]) -> None:
    action()


def _whole(name: str, value: object, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ConfigError(f"{name} is a number from {least} to {most}, not {value!r}")
    return value


def _loopback(host: str) -> str:
    """The address of a host that nobody else can reach."""
    if host == "localhost":
        return "127.0.0.1"
    with suppress(ValueError):
        if ip_address(host).is_loopback:
            return host
    raise ConfigError(
        f"host is a loopback address such as 127.0.0.1, not {host!r}: the embedded broker is for"
        " tests and development, and keeps nobody out"
    )


def _topic_arguments(
    topics: Mapping[str, int | Mapping[str, Any]] | Iterable[str],
) -> dict[str, Mapping[str, Any]]:
    """The arguments of `create_topic`, by topic."""
    if isinstance(topics, str) or not isinstance(topics, Iterable):
        raise ConfigError(
            f'topics is a mapping such as {{"orders": 3}}, or a list of names, not {topics!r}'
        )
    pairs = topics.items() if isinstance(topics, Mapping) else ((name, 1) for name in topics)
    known = {"partitions", "replication_factor", "configs"}
    made: dict[str, Mapping[str, Any]] = {}
    for name, given in pairs:
        if not isinstance(name, str):
            raise ConfigError(f"topics: a name is a text, not {name!r}")
        if name in made:
            raise ConfigError(f"topics: {name!r} is named twice")
        arguments = given if isinstance(given, Mapping) else {"partitions": given}
        if unknown := [each for each in arguments if each not in known]:
            raise ConfigError(
                f"topic {name!r}: {unknown[0]!r} is none of {', '.join(sorted(known))}"
            )
        _whole(f"topic {name!r}: partitions", arguments.get("partitions", 1), 1, 2**31 - 1)
        made[name] = arguments
    return made


def _passwords(users: Mapping[str, str]) -> dict[str, str]:
    """The users. No text of an error has a value: it may be a password."""
    if not isinstance(users, Mapping):
        kind = type(users).__name__
        raise ConfigError(
            f'users is a mapping of names to passwords, such as {{"alice": "..."}}, not a {kind}'
        )
    for name, password in users.items():
        if not isinstance(name, str):
            raise ConfigError(f"users: a name is a text, not {name!r}")
        if not isinstance(password, str):
            raise ConfigError(f"users: the password of {name!r} is a text")
    return dict(users)


def _mechanisms(
    given: Sequence[str] | None, users: Mapping[str, str] | None, oauth: Tokens
) -> tuple[str, ...]:
    if given is None:
        with_password = [name for name in MECHANISMS if name != _OAUTH] if users else []
        return (*with_password, *([_OAUTH] if oauth is not None else []))
    if isinstance(given, str):
        raise ConfigError(f"mechanisms is a list of names, not {given!r}")
    return tuple(given)
