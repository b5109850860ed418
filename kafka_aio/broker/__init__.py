"""A Kafka broker in one asyncio process, in memory: for tests and development. Pure.

    async with EmbeddedBroker(topics={"orders": 3}) as broker:
        admin = Admin(bootstrap_servers=broker.bootstrap_servers)

`BrokerThread` is the same for programs without a loop. Each name is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafka_aio.broker.embedded import EmbeddedBroker
    from kafka_aio.broker.thread import BrokerThread

__all__ = ["BrokerThread", "EmbeddedBroker"]

_MODULES = {"BrokerThread": "thread", "EmbeddedBroker": "embedded"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
