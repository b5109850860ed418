"""Sets in which order matters, in an order that does not depend on memory addresses.

asyncio and anyio keep tasks in sets, anyio its scopes too, and they cancel in the order of the set:
the order of addresses, which is another one in each run, so that no trace would come twice.

Of a virtual loop, tasks have their number as their hash (`VirtualTask`); and here the sets of
anyio's scopes are replaced, when a scope is made on such a loop. anyio offers no other way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, MutableSet
from typing import Any, TypeVar

from anyio._backends import _asyncio as backend

T = TypeVar("T")


class OrderedSet(MutableSet[T]):
    """A set in the order in which things were added."""

    def __init__(self) -> None:
        self._items: dict[T, None] = {}

    def __contains__(self, item: object) -> bool:
        return item in self._items

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def add(self, value: T) -> None:
        self._items[value] = None

    def discard(self, value: T) -> None:
        self._items.pop(value, None)


@functools.cache
def order_scopes(is_virtual: Callable[[], bool]) -> None:
    """Let scopes that are made on a virtual loop cancel in the order of their making."""
    init: Any = backend.CancelScope.__init__

    @functools.wraps(init)
    def init_in_order(scope: object, *args: object, **options: object) -> None:
        init(scope, *args, **options)
        if is_virtual():
            for name in ("_tasks", "_child_scopes"):
                if isinstance(getattr(scope, name, None), set):
                    setattr(scope, name, OrderedSet())

    setattr(backend.CancelScope, "__init__", init_in_order)  # noqa: B010  # mypy refuses the other
