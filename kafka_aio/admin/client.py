"""What all parts of `Admin` stand on: the cluster, and calls that go to it."""

from __future__ import annotations

from kafka_aio.admin.calls import Calls
from kafka_aio.config import AdminConfig
from kafka_aio.net import clock
from kafka_aio.net.client import Client
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.tasks import Tasks


class AdminClient(Client[AdminConfig]):
    """A client with calls, and none of them yet."""

    _config_type = AdminConfig
    _calls: Calls

    def _make(self, tasks: Tasks) -> None:
        rng = clock.rng()
        self._cluster = Cluster(self._config, tasks, rng=rng)
        self._calls = Calls(self._cluster, self._config, rng)

    def _open(self) -> tuple[Cluster, Calls]:
        self._started().check()
        return self._cluster, self._calls
