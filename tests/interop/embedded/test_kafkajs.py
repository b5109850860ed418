from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from kafka_aio.broker import BrokerThread
from tests.interop.embedded.waiting import SECONDS, USERS
from tests.kafka import jars

FOLDER = Path(__file__).with_name("kafkajs")
SENT_AT = 1_700_000_000_000

Kafkajs = Callable[..., Any]


@pytest.fixture(scope="module")
def kafkajs() -> Kafkajs:
    """Does something with it; what comes of that."""
    modules = _installed()

    def run(broker: BrokerThread, action: str, **options: object) -> Any:
        environment = {
            "NODE_PATH": str(modules),
            "NODE_NO_WARNINGS": "1",
            "KAFKAJS_NO_PARTITIONER_WARNING": "1",
        }
        client = str(FOLDER / "client.js")
        done = subprocess.run(
            ["node", client, action, broker.bootstrap_servers, json.dumps(options)],
            env={**os.environ, **environment},
            capture_output=True,
            encoding="utf-8",
            timeout=2 * SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def _installed() -> Path:
    """Its modules, in the cache outside the checkout, where they are put on first use."""
    lock = (FOLDER / "package-lock.json").read_bytes()
    folder = jars.cache() / f"kafkajs-{sha256(lock).hexdigest()[:12]}"
    for tool in ["node"] if folder.is_dir() else ["node", "npm"]:
        if shutil.which(tool) is None:
            pytest.skip(f"kafkajs needs `{tool}`: install Node.js 20")
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            for name in ("package.json", "package-lock.json"):
                shutil.copy(FOLDER / name, scratch)
            _install(Path(scratch))
            try:
                os.rename(Path(scratch) / "node_modules", folder)
            except OSError:  # another process was first
                if not folder.is_dir():
                    raise
    return folder


def _install(scratch: Path) -> None:
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(
            command, cwd=scratch, capture_output=True, encoding="utf-8", timeout=45, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip("npm could not fetch kafkajs: no answer in time")
    if done.returncode:
        pytest.skip(f"npm could not fetch kafkajs: {done.stderr.strip()[-300:]}")


@pytest.mark.parametrize(("codec", "acks", "idempotent"), [("None", 1, False), ("GZIP", -1, True)])
def test_what_it_writes_it_reads_again(
    broker: BrokerThread, kafkajs: Kafkajs, codec: str, acks: int, idempotent: bool
) -> None:
    topic = f"codec-{codec}"
    broker.create_topic(topic)

    kafkajs(broker, "produce", topic=topic, codec=codec, acks=acks, idempotent=idempotent, count=10)
    messages = kafkajs(broker, "consume", topic=topic, group=topic, count=10)

    assert messages == [[f"k{n}", f"v{n}", SENT_AT + n, "1"] for n in range(10)]
    assert [record.value for record in broker.records(topic)] == [b"v%d" % n for n in range(10)]
    assert sum(each.offset for each in broker.committed(topic).values()) == 10


def test_members_that_come_and_go_share_the_partitions(
    broker: BrokerThread, kafkajs: Kafkajs
) -> None:
    broker.create_topic("shared", 4)

    read = kafkajs(broker, "share", topic="shared", group="shared")

    assert read == 20
    assert broker.group("shared").state == "Empty"


def test_it_administers_topics_configs_and_groups(broker: BrokerThread, kafkajs: Kafkajs) -> None:
    seen = kafkajs(broker, "administer", topic="made", group="made")

    assert seen == {
        "partitions": 2,
        "retention": "1000",
        "brokers": 2,
        "offsets": [["0", "0"], ["1", "2"]],
        "committed": ["-1", "2"],
        "group": "Empty",
        "listed": True,
        "topics": False,
    }


def test_it_logs_in_over_tls(secured_broker: BrokerThread, kafkajs: Kafkajs) -> None:
    secured_broker.create_topic("secured")
    login = {"mechanism": "scram-sha-256", "username": "alice", "password": USERS["alice"]}
    security = {"ssl": {"ca": [secured_broker.certificates.ca_pem]}, "sasl": login}
    what = {"topic": "secured", "codec": "None", "acks": -1, "idempotent": False, "count": 1}

    kafkajs(secured_broker, "produce", **what, security=security)

    assert [record.value for record in secured_broker.records("secured")] == [b"v0"]
