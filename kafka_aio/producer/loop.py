"""What a pending delivery needs of the event loop, which it does not know. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Loop(Protocol):
    """Whose tasks wait, and who calls what the user gave us."""

    @property
    def owner(self) -> Any:
        """The event loop itself: tasks compare it with their own."""

    @property
    def cancelled(self) -> Callable[..., BaseException]:
        """What is raised in a task that was cancelled while it waited."""

    def call_soon(self, callback: Callable[[Any], object], value: object, /) -> object: ...
