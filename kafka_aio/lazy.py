"""Names of a package that are imported when they are first used. Pure."""

from collections.abc import Callable, Mapping
from importlib import import_module
from sys import modules
from typing import Any


def names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package.

    Args:
        package: Its name.
        homes: The module of the package that has each public name.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(modules[package], name, found)
        return found

    def known() -> list[str]:
        return sorted({*vars(modules[package]), *homes})

    return get, known
