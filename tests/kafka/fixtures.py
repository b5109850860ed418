"""Real Kafka as fixtures, each started when it is first asked for: a plugin of pytest."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from tests.kafka import cluster, jars, provider
from tests.kafka.certificates import Certificates
from tests.kafka.cluster import Cluster
from tests.kafka.provider import Borrowed, KafkaMissing
from tests.kafka.security import Security
from tests.kafka.tokens import Issuer

NEED_KAFKA = {
    *("kafka_libs", "kafka", "oldest_kafka", "each_kafka"),
    *("secured_kafka", "kafka_cluster"),
}


def _missing(why: str) -> NoReturn:
    """With CI set, the absence of a real Kafka is a failure."""
    if os.environ.get("CI"):
        pytest.fail(why, pytrace=False)
    pytest.skip(why)


@pytest.fixture(scope="session")
def kafka_libs() -> Path:
    """The folder with Apache Kafka's jars."""
    try:
        return jars.libs()
    except jars.JarsMissing as missing:
        _missing(str(missing))


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster | Borrowed]:
    """A real Kafka, of one node where we start it, for whatever can be had by plaintext."""
    try:
        with provider.running(tmp_path_factory.mktemp("kafka")) as running:
            yield running
    except KafkaMissing as missing:
        _missing(str(missing))


@pytest.fixture(scope="session")
def _ours() -> None:
    """For what needs nodes of our own."""
    if os.environ.get(provider.BOOTSTRAP):
        pytest.skip(f"needs nodes of its own: unset {provider.BOOTSTRAP} to have them started")


@pytest.fixture(scope="session")
def oldest_kafka(_ours: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One node of the oldest Kafka that we speak to."""
    try:
        jars.libs(jars.OLDEST)
    except jars.JarsMissing as missing:
        _missing(str(missing))
    with cluster.running(tmp_path_factory.mktemp("oldest"), version=jars.OLDEST) as running:
        yield running


@pytest.fixture(scope="session", params=["kafka", "oldest_kafka"])
def each_kafka(request: pytest.FixtureRequest) -> Cluster | Borrowed:
    """The test runs on the one and on the other.

    They are fixtures of their own: tests are in random order, and one that takes the other
    parameter ends what this one has started.
    """
    found: Cluster | Borrowed = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="session")
def secured_kafka(
    _ours: None,
    kafka_libs: Path,
    certificates: Certificates,
    issuer: Issuer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Cluster]:
    """One node with every listener of `tests.kafka.security`."""
    folder = tmp_path_factory.mktemp("secured-kafka")
    with cluster.running(folder, secured=Security(certificates, issuer)) as running:
        yield running


@pytest.fixture(scope="session")
def kafka_cluster(
    _ours: None, kafka_libs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Three nodes. A test may break them, if it calls `heal` in the end."""
    with cluster.running(tmp_path_factory.mktemp("kafka-cluster"), nodes=3) as running:
        yield running


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Keys and certificates of servers and clients, without a Kafka."""
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="session")
def issuer() -> Iterator[Issuer]:
    """Who signs tokens and gives them out, without a Kafka."""
    with Issuer() as issuer:
        yield issuer


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not NEED_KAFKA.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker("kafka")
            if not item.get_closest_marker("timeout"):  # the first one bears the start
                item.add_marker(pytest.mark.timeout(cluster.START_SECONDS + 60))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for name, value in getattr(item, "funcargs", {}).items():
            if isinstance(value, Cluster | Borrowed):
                report.sections.append((f"the end of the log of {name}", value.log()))
    return report
