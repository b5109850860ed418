"""What a pending delivery needs of the event loop, which it does not know. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Loop(Protocol):
    """Makes what can be waited on, and calls what the user gave us."""

    def create_future(self) -> Any: ...

    def call_soon(self, callback: Callable[[Any], object], value: object, /) -> object: ...
