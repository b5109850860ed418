"""A Kafka broker in one asyncio process, in memory: for tests and development. Pure.

    async with EmbeddedBroker(topics={"orders": 3}) as broker:
        admin = Admin(bootstrap_servers=broker.bootstrap_servers)

`BrokerThread` is the same for programs without a loop. Each name is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafka_aio.broker.certificates import Certificates
    from kafka_aio.broker.embedded import EmbeddedBroker
    from kafka_aio.broker.settings import Settings
    from kafka_aio.broker.thread import BrokerThread
    from kafka_aio.broker.tokens import ValidToken

__all__ = ["BrokerThread", "Certificates", "EmbeddedBroker", "Settings", "ValidToken"]

_HOMES = {
    "BrokerThread": "thread",
    "Certificates": "certificates",
    "EmbeddedBroker": "embedded",
    "Settings": "settings",
    "ValidToken": "tokens",
}


def __getattr__(name: str) -> Any:
    """What is public and was not asked for yet."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
