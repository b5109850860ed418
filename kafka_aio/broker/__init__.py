"""A Kafka broker in one asyncio process, in memory: for tests and development. Pure.

    async with EmbeddedBroker(topics={"orders": 3}) as broker:
        admin = Admin(bootstrap_servers=broker.bootstrap_servers)

`BrokerThread` is the same for programs without a loop. Each name is imported when it is first used.
"""

from typing import TYPE_CHECKING

from kafka_aio import lazy

if TYPE_CHECKING:
    from kafka_aio.broker.embedded import EmbeddedBroker
    from kafka_aio.broker.security.certificates import Certificates
    from kafka_aio.broker.security.tokens import ValidToken
    from kafka_aio.broker.settings import Settings
    from kafka_aio.broker.thread import BrokerThread

__all__ = ["BrokerThread", "Certificates", "EmbeddedBroker", "Settings", "ValidToken"]

__getattr__, __dir__ = lazy.names(
    __name__,
    {
        "BrokerThread": "thread",
        "Certificates": "security.certificates",
        "EmbeddedBroker": "embedded",
        "Settings": "settings",
        "ValidToken": "security.tokens",
    },
)
