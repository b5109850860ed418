"""What can be wrong with a network, and with which of its connections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from kafka_aio.testing.link import Link
    from kafka_aio.testing.network import Network

Side: TypeAlias = Literal["client", "server"]
"""An end of a connection; the client is the one who asked for it."""

Where: TypeAlias = "int | str | tuple[str, int] | Callable[[Link], bool] | None"
"""Which connections: to that port, that address, both, those that a function says, or all."""


@dataclass(eq=False)
class Fault:
    """Something that is wrong until it is healed: by `heal`, or at the end of a `with`."""

    network: Network
    where: Where

    def __enter__(self) -> Fault:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.heal()

    def heal(self) -> None:
        """Let all be well again. The second call does nothing."""
        self.network.heal(self)

    def concerns(self, link: Link) -> bool:
        if self.where is None:
            return True
        if callable(self.where):
            return self.where(link)
        host, port = link.server
        return self.where in (port, host, (host, port))


class Refusal(Fault):
    """Nobody listens there any more."""


class BlackHole(Fault):
    """Nothing arrives; what was sent arrives when it is healed, as TCP sends it again."""


@dataclass(eq=False)
class Slowness(Fault):
    """What is sent takes another time than elsewhere."""

    latency: tuple[float, float]


@dataclass(eq=False)
class Cut(Fault):
    """Connections break after so many bytes."""

    after: tuple[int, int]
    """Between so many bytes; each connection has a number of its own."""
    to: Side | None
    """Whose bytes count: those that arrive at this end, or all."""
    reset: bool
    left: float
    """How many connections it still breaks."""
