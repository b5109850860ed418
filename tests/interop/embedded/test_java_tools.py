from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_aio.broker import BrokerThread
from kafka_aio.types import TopicPartition
from tests.interop.embedded.tools import Tools
from tests.interop.embedded.waiting import SECONDS, until
from tests.kafka import jars

Started = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def tools(
    broker: BrokerThread, kafka_libs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tools]:
    if not jars.VERSION.startswith("4.3."):
        pytest.skip(f"needs the tools of Kafka 4.3, not those of {jars.VERSION}")
    with Tools(broker.bootstrap_servers, tmp_path_factory.mktemp("tools")) as tools:
        yield tools


@pytest.fixture
def started(tools: Tools) -> Iterator[Started]:
    """Starts programs that run beside others, and ends them."""
    running: list[subprocess.Popen[str]] = []

    def start(name: str, *arguments: str) -> subprocess.Popen[str]:
        running.append(tools.started(name, *arguments))
        return running[-1]

    yield start
    for process in running:
        if process.poll() is None:
            process.kill()
            process.communicate()


def lines(text: str) -> list[list[str]]:
    """The words of each line that has any."""
    return [line.split() for line in text.splitlines() if line.strip()]


def test_kafka_topics_does_with_topics_all_that_it_can(broker: BrokerThread, tools: Tools) -> None:
    named = ("--topic", "theirs")
    shape = ("--partitions", "2", "--replication-factor", "2", "--config", "retention.ms=5000")

    created = tools.printed("topics", "--create", *named, *shape)
    listed = tools.printed("topics", "--list")
    tools.printed("topics", "--alter", *named, "--partitions", "3")
    described = tools.printed("topics", "--describe", *named)
    short = tools.printed("topics", "--describe", "--under-replicated-partitions")
    tools.printed("topics", "--delete", *named)
    gone = tools.run("topics", "--describe", *named)

    assert created.split() == ["Created", "topic", "theirs."]
    assert "theirs" in listed.split()
    assert "PartitionCount: 3\tReplicationFactor: 2" in described
    assert "retention.ms=5000" in described
    assert re.search(r"Partition: 2\tLeader: (\d)\tReplicas: \1,\d\tIsr: \1,\d", described)
    assert short == ""
    assert gone.code == 1
    assert "theirs" not in broker.topics()


def test_kafka_topics_is_told_why_something_cannot_be(broker: BrokerThread, tools: Tools) -> None:
    broker.create_topic("there")

    again = tools.run("topics", "--create", "--topic", "there")
    wide = tools.run("topics", "--create", "--topic", "wide", "--replication-factor", "3")
    odd = tools.run("topics", "--create", "--topic", "odd", "--config", "retention.ms=soon")

    assert "Topic 'there' already exists" in again.out
    assert "Unable to replicate the partition 3 time(s)" in wide.out
    assert "Invalid value soon for configuration retention.ms" in odd.out
    assert [again.code, wide.code, odd.code] == [1, 1, 1]


def test_kafka_configs_describes_and_changes_topics(broker: BrokerThread, tools: Tools) -> None:
    broker.create_topic("tuned")
    named = ("--entity-type", "topics", "--entity-name", "tuned")
    changed = "retention.ms=5,cleanup.policy=[compact,delete]"

    tools.printed("configs", "--alter", *named, "--add-config", changed)
    described = tools.printed("configs", "--describe", *named)
    tools.printed("configs", "--alter", *named, "--delete-config", "cleanup.policy")
    everything = tools.printed("configs", "--describe", *named, "--all")

    assert "cleanup.policy=compact,delete sensitive=false" in described
    assert "retention.ms=5 sensitive=false" in everything
    assert "cleanup.policy=delete sensitive=false" in everything


def test_kafka_configs_describes_and_changes_brokers_groups_and_users(tools: Tools) -> None:
    def alter(kind: str, name: str, change: str) -> str:
        where = ("--entity-type", kind, "--entity-name", name)
        tools.printed("configs", "--alter", *where, "--add-config", change)
        return tools.printed("configs", "--describe", *where)

    node = alter("brokers", "1", "log.cleaner.threads=2")
    group = alter("groups", "tuned", "consumer.session.timeout.ms=50000")
    user = alter("users", "bob", "SCRAM-SHA-256=[iterations=4096,password=bob-secret]")
    users = tools.printed("configs", "--describe", "--entity-type", "users")
    clients = tools.printed("configs", "--describe", "--entity-type", "clients")

    assert "log.cleaner.threads=2" in node
    assert "consumer.session.timeout.ms=50000" in group
    assert "SCRAM-SHA-256=iterations=4096" in user
    assert users == user
    assert clients == ""


def test_offsets_are_told_and_records_deleted(
    broker: BrokerThread, tools: Tools, tmp_path: Path
) -> None:
    broker.create_topic("cut", 2)
    broker.produce("cut", [b"a", b"b", b"c"])
    wanted = tmp_path / "wanted.json"
    where = [{"topic": "cut", "partition": 0, "offset": 2}]
    wanted.write_text(json.dumps({"partitions": where, "version": 1}))

    last = tools.printed("get-offsets", "--topic", "cut")
    deleted = tools.printed("delete-records", "--offset-json-file", str(wanted))
    first = tools.printed("get-offsets", "--topic", "cut", "--time", "earliest")
    newest = tools.printed("get-offsets", "--topic", "cut", "--time", "max-timestamp")

    assert last.split() == ["cut:0:3", "cut:1:0"]
    assert "partition: cut-0\tlow_watermark: 2" in deleted
    assert first.split() == ["cut:0:2", "cut:1:0"]
    assert newest.split() == ["cut:0:2"]


def test_kafka_leader_election_brings_back_the_preferred_leaders(
    broker: BrokerThread, tools: Tools
) -> None:
    broker.create_topic("led", 2)  # one for each node to lead
    for partition in range(2):
        broker.move_leader("led", partition, 1)

    elected = tools.printed(
        "leader-election", "--election-type", "preferred", "--all-topic-partitions"
    )
    described = tools.printed("topics", "--describe", "--topic", "led")

    assert "Successfully completed leader election (PREFERRED) for partitions led-" in elected
    assert "Leader: 1\tReplicas: 1,2" in described
    assert "Leader: 2\tReplicas: 2,1" in described


def test_kafka_broker_api_versions_knows_what_both_nodes_serve(tools: Tools) -> None:
    printed = tools.printed("broker-api-versions")

    assert printed.count("ConsumerGroupHeartbeat(68): 0 to 1 [usable: 1]") == 2
    assert printed.count("UNKNOWN") == 0


def test_that_nobody_authorizes_is_told_to_kafka_acls(tools: Tools) -> None:
    ended = tools.run("acls", "--list")

    assert ended.code == 1
    assert "SecurityDisabledException: No Authorizer is configured" in ended.out


def test_the_console_producer_writes_what_it_reads(broker: BrokerThread, tools: Tools) -> None:
    broker.create_topic("typed")
    properties = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")

    tools.printed(
        *("console-producer", "--topic", "typed", *properties),
        *("--compression-codec", "zstd", "--command-property", "enable.idempotence=true"),
        given="a:first\nb:second\n",
    )

    assert [(record.key, record.value) for record in broker.records("typed")] == [
        (b"a", b"first"),
        (b"b", b"second"),
    ]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_console_consumers_share_a_topic_and_their_group_is_administered(
    broker: BrokerThread, tools: Tools, started: Started, protocol: str
) -> None:
    topic = f"console-{protocol}"
    broker.create_topic(topic, 2)
    properties = {"group.protocol": protocol, "auto.commit.interval.ms": "100"}
    if protocol == "classic":  # in the other one, the broker says how often
        properties["heartbeat.interval.ms"] = "100"
    options = (
        *("--topic", topic, "--group", topic, "--from-beginning"),
        *(word for pair in properties.items() for word in ("--command-property", "=".join(pair))),
    )

    def shares() -> list[int]:
        return [len(member.partitions) for member in broker.group(topic).members]

    first, second = (started("console-consumer", *options) for _ in range(2))
    until(lambda: topic in tools.printed("consumer-groups", "--list").split(), seconds=40)
    until(lambda: shares() == [1, 1], seconds=40)
    tools.printed("console-producer", "--topic", topic, given="a\nb\nc\nd\n")
    broker.produce(topic, [b"e"], partition=0)
    broker.produce(topic, [b"f"], partition=1)
    members = tools.printed("consumer-groups", "--describe", "--group", topic, "--members")
    state = tools.printed("consumer-groups", "--describe", "--group", topic, "--state")
    first.terminate()
    until(lambda: shares() == [2])
    busy = tools.run("consumer-groups", "--delete", "--group", topic)
    broker.produce(topic, [b"g"], partition=0)
    broker.produce(topic, [b"h"], partition=1)
    until(lambda: _all_read(broker, topic))
    second.terminate()
    read = [process.communicate(timeout=SECONDS)[0] for process in (first, second)]

    assert sorted("".join(read).split()) == ["a", "b", "c", "d", "e", "f", "g", "h"]
    assert sorted(line[-1] for line in lines(members)[1:]) == ["1", "1"]
    assert "Stable" in state.split()
    assert "GroupNotEmptyException" in busy.out
    _administer(broker, tools, topic)


def _all_read(broker: BrokerThread, topic: str) -> bool:
    """Its consumers commit what they have read."""
    committed = {where: each.offset for where, each in broker.committed(topic).items()}
    return committed == broker.end_offsets(topic)


def _administer(broker: BrokerThread, tools: Tools, group: str) -> None:
    """What `kafka-consumer-groups` does with a group that has no members."""
    named = ("--group", group)
    first = TopicPartition(group, 0)
    until(lambda: broker.group(group).state == "Empty")

    described = lines(tools.printed("consumer-groups", "--describe", *named))
    reset = ("--reset-offsets", *named, "--topic", f"{group}:0", "--to-earliest")
    tools.printed("consumer-groups", *reset, "--execute")
    after_reset = broker.committed(group)[first].offset
    tools.printed("consumer-groups", "--delete-offsets", *named, "--topic", f"{group}:0")
    after_deletion = broker.committed(group)
    deleted = tools.printed("consumer-groups", "--delete", *named)

    lag = described[-3].index("LAG")
    assert [line[:3] for line in described[-2:]] == [[group, group, "0"], [group, group, "1"]]
    assert [line[lag] for line in described[-2:]] == ["0", "0"]
    assert after_reset == 0
    assert first not in after_deletion
    assert "was successful" in deleted
    assert group not in tools.printed("groups", "--list")


def test_the_client_compatibility_test_of_kafka_passes(tools: Tools) -> None:
    supported = (
        *("create-topics-supported", "offsets-for-times-supported", "cluster-id-supported"),
        *("describe-acls-supported", "describe-configs-supported"),
        "idempotent-producer-supported",
    )

    printed = tools.printed(
        *("client-compatibility", "--topic", "compatible", "--num-cluster-nodes", "2"),
        *(word for name in supported for word in (f"--{name}", "True")),
        *("--expect-record-too-large-exception", "False"),
    )

    assert printed.split() == ["SUCCESS."]
