"""Which Kafka the tests get: the first that is there of three.

1. The one that `KAFKA_AIO_BOOTSTRAP` names (`host:port`), started by somebody else.
2. One that we start from the jars of Maven Central; only this one has files, tools and faults.
3. One in a container, where a Docker engine answers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import NoReturn

import pytest

from tests.kafka import cluster, container, jars
from tests.kafka.cluster import Cluster
from tests.kafka.raw import RawConnection

BOOTSTRAP = "KAFKA_AIO_BOOTSTRAP"


class KafkaMissing(Exception):
    """No real Kafka can be had here; the message is a line that says what to install."""


class Borrowed:
    """A Kafka that is not ours to break: it has an address.

    A test that asks it for anything else of a `Cluster` is skipped.
    """

    def __init__(self, bootstrap: str, whose: str, log: Callable[[], str]) -> None:
        self.bootstrap = bootstrap
        self.whose = whose
        self.log = log

    def __getattr__(self, name: str) -> NoReturn:
        if hasattr(Cluster, name) or name in ("nodes", "folder", "security", "version"):
            pytest.skip(f"`{name}` needs a Kafka that is started from the jars, not {self.whose}")
        raise AttributeError(name)

    def connect(self) -> RawConnection:
        host, _, port = self.bootstrap.partition(",")[0].rpartition(":")
        return RawConnection(host.strip("[]"), int(port))


def running(folder: Path) -> AbstractContextManager[Cluster | Borrowed]:
    """A Kafka with at least one node and a plaintext listener.

    Raises:
        KafkaMissing: There is none of the three (on entering).
        StartFailed: There are jars, but the node did not come up (on entering).
    """
    if external := os.environ.get(BOOTSTRAP):
        return nullcontext(Borrowed(external, f"that of {BOOTSTRAP}", lambda: "(not ours)"))
    try:
        jars.libs()
    except jars.JarsMissing as missing:
        return _contained(missing)
    return cluster.running(folder)


@contextmanager
def _contained(no_jars: jars.JarsMissing) -> Iterator[Borrowed]:
    with ExitStack() as stack:
        try:
            found = stack.enter_context(container.running(jars.VERSION))
        except container.DockerMissing as no_docker:
            ways = f"{no_jars}; or {no_docker}; or set {BOOTSTRAP}=host:port of one that runs"
            raise KafkaMissing(ways) from None
        yield Borrowed(found.bootstrap, "one in a container", found.log)
