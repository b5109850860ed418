"""For tests: an event loop with virtual time and the network in memory. The public names.

    from kafka_aio.testing import VirtualLoop

    def test_an_hour_of_patience() -> None:
        with VirtualLoop(seed=1) as loop:
            loop.run_until_complete(asyncio.sleep(3600))    # takes no time

Each is imported when it is first used: pytest loads our plugin with every run.
"""

from typing import TYPE_CHECKING

from kafka_aio import lazy

if TYPE_CHECKING:
    from kafka_aio.testing.deadlock import DeadlockError
    from kafka_aio.testing.faults import Fault
    from kafka_aio.testing.link import Link
    from kafka_aio.testing.loop import VirtualLoop, run
    from kafka_aio.testing.network import Network, Traced

__all__ = ["DeadlockError", "Fault", "Link", "Network", "Traced", "VirtualLoop", "run"]

__getattr__, __dir__ = lazy.names(
    __name__,
    {
        "DeadlockError": "deadlock",
        "Fault": "faults",
        "Link": "link",
        "Network": "network",
        "Traced": "network",
        "VirtualLoop": "loop",
        "run": "loop",
    },
)
