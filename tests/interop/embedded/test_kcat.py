from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable

import pytest

from kafka_aio.broker import BrokerThread
from tests.interop.embedded.waiting import SECONDS, USERS

Kcat = Callable[..., str]


@pytest.fixture(scope="module")
def kcat() -> Kcat:
    """Runs it; what it prints."""
    program = shutil.which("kcat")
    if program is None:
        pytest.skip("no `kcat` here: apt-get install kcat")

    def run(broker: BrokerThread, *arguments: str, given: str = "") -> str:
        done = subprocess.run(
            [program, "-b", broker.bootstrap_servers, *arguments],
            input=given,
            capture_output=True,
            encoding="utf-8",
            timeout=2 * SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_it_writes_it_reads_again(broker: BrokerThread, kcat: Kcat, codec: str) -> None:
    topic = f"codec-{codec}"
    broker.create_topic(topic)
    form = ("-f", r"%o %k %s %h\n")

    kcat(
        *(broker, "-P", "-t", topic, "-z", codec, "-K", ":", "-H", "a=1"),
        *("-X", "enable.idempotence=true"),
        given="k1:v1\nk2:v2\n",
    )
    printed = kcat(broker, "-C", "-t", topic, "-o", "beginning", "-e", "-q", *form)

    assert printed.splitlines() == ["0 k1 v1 a=1", "1 k2 v2 a=1"]
    assert [(record.key, record.value) for record in broker.records(topic)] == [
        (b"k1", b"v1"),
        (b"k2", b"v2"),
    ]


def test_it_lists_the_cluster_and_finds_offsets_by_time(broker: BrokerThread, kcat: Kcat) -> None:
    broker.create_topic("listed", 2)
    broker.produce("listed", [b"a", b"b"])

    listed = json.loads(kcat(broker, "-L", "-J", "-t", "listed"))
    found = kcat(broker, "-Q", "-t", "listed:0:1")

    (topic,) = listed["topics"]
    assert [each["name"] for each in listed["brokers"]] == broker.bootstrap_servers.split(",")
    assert sorted(each["leader"] for each in topic["partitions"]) == [1, 2]
    assert found.split() == ["listed", "[0]", "offset", "0"]


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_it_reads_as_a_group(broker: BrokerThread, kcat: Kcat, assignor: str) -> None:
    topic = f"group-{assignor}"
    broker.create_topic(topic, 2)
    for partition in range(2):
        broker.produce(topic, [b"a", b"b"], partition=partition)

    printed = kcat(
        *(broker, "-G", topic, "-c", "4", "-q", "-X", "auto.offset.reset=earliest"),
        *("-X", f"partition.assignment.strategy={assignor}", topic),
    )

    assert sorted(printed.split()) == ["a", "a", "b", "b"]
    assert sum(each.offset for each in broker.committed(topic).values()) == 4
    assert broker.group(topic).state == "Empty"


def test_it_logs_in_over_tls(secured_broker: BrokerThread, kcat: Kcat) -> None:
    # Not by SCRAM: librdkafka up to 2.6.0 gets the nonce wrong, for which Kafka 4 refuses it, too.
    secured_broker.create_topic("secured")
    options = {
        "security.protocol": secured_broker.security_protocol,
        "ssl.ca.pem": secured_broker.certificates.ca_pem,
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": USERS["alice"],
    }
    words = [word for name, value in options.items() for word in ("-X", f"{name}={value}")]

    kcat(secured_broker, "-P", "-t", "secured", *words, given="x\n")

    assert [record.value for record in secured_broker.records("secured")] == [b"x"]
