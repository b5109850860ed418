from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from kafka_aio.cli import bench, configuration, parser
from kafka_aio.cli.bench.clients import ROOT, peers
from kafka_aio.cli.bench.plan import Order, Workload, configured, portable
from kafka_aio.cli.credentials import TokenFile
from kafka_aio.config import AdminConfig, ConsumerConfig, ProducerConfig, Secret
from kafka_aio.errors import ConfigError
from tests.unit.cli.shell import call

SERVER = ("-b", "127.0.0.1:9")


def given(*words: str) -> argparse.Namespace:
    """The arguments, with the configuration that is made of them."""
    found = parser.parse(["bench", *words, *SERVER])
    found.client_config, notes = configuration.load(
        found.kind_of_config, found, environment={}, ask=None
    )
    assert notes == []
    return found


def asked(*words: str) -> Workload:
    return bench.workload(given(*words))


def test_a_workload_is_what_the_options_say() -> None:
    words = "--path many --size 1000 --partitions 3 --codec zstd --acks 1 --linger 7 --seed 3"

    assert asked("produce", *words.split()) == Workload(
        path="many", record_size=1000, partitions=3, codec="zstd", acks="1", linger_ms=7, seed=3
    )
    assert asked("tasks", "--tasks", "20", "--records", "9", "--loop", "uvloop") == Workload(
        kind="tasks", tasks=20, records=9, loop="uvloop"
    )


def test_who_reads_has_a_topic_with_keys_and_both_a_count_and_a_time() -> None:
    words = "--path each --records 500 --seconds 2 --codec lz4 --no-keys --fetch-bytes 1000"

    assert asked("consume") == Workload(
        kind="consume", path="lists", keyed=True, records=2_000_000, seconds=5
    )
    assert asked("consume", *words.split(), "--watch") == Workload(
        kind="consume",
        path="each",
        records=500,
        seconds=2,
        codec="lz4",
        max_partition_fetch_bytes=1000,
        is_watched=True,
    )
    assert asked("consume", "-X", "max.partition.fetch.bytes=7").max_partition_fetch_bytes == 7


def test_records_go_from_end_to_end_one_at_a_time_or_at_a_rate() -> None:
    assert asked("end-to-end") == Workload(kind="end-to-end", linger_ms=0)
    assert asked("end-to-end", "--rate", "100").rate == 100


def test_what_is_read_is_written_before_in_lists() -> None:
    reading = asked("consume", "--codec", "zstd", "--size", "1000")
    filling = reading.filling()

    assert (reading.way, filling.way) == ("read_lists", "many")
    assert filling == Workload(
        path="many", keyed=True, records=2_000_000, codec="zstd", record_size=1000, warm_up=0
    )


def test_a_record_that_is_timed_alone_does_not_wait_for_others() -> None:
    assert asked("latency").linger_ms == asked("end-to-end").linger_ms == 0
    assert asked("produce").linger_ms == asked("tasks").linger_ms == 5


def test_options_of_the_producer_are_for_every_client_where_all_have_them() -> None:
    options = ("linger.ms=0", "batch.size=16384", "acks=-1", "compression.type=lz4")
    words = [word for option in options for word in ("-X", option)]

    assert asked("produce", *words) == Workload(linger_ms=0, batch_size=16_384, codec="lz4")
    assert asked("latency", "-X", "linger.ms=7").linger_ms == 7
    assert asked("produce", *words, "--linger", "3", "--codec", "gzip") == Workload(
        linger_ms=3, batch_size=16_384, codec="gzip"
    )
    assert asked("produce", "-X", "acks=1", "--acks", "0").acks == "0"


def test_the_others_reach_our_producer_and_not_the_admin(tmp_path: Path) -> None:
    file = tmp_path / "producer.properties"
    file.write_text(
        "max.in.flight.requests.per.connection=1\nrequest.timeout.ms=1234\nretries=3\n"
        "value.serializer=org.apache.kafka.common.serialization.StringSerializer\n"
    )
    found = given("produce", "--config", str(file), "-X", "buffer.memory=99", "--acks", "1")
    measured = through_json(found.client_config)
    admin = configuration.connecting(found.kind_of_client, found.client_config)

    assert (measured.buffer_memory, measured.max_in_flight_requests_per_connection) == (99, 1)
    assert (measured.acks, measured.retries, measured.request_timeout_ms) == (1, 3, 1234)
    assert measured.value_serializer is None  # the records are bytes
    assert admin == AdminConfig(
        bootstrap_servers="127.0.0.1:9", client_id="kafka-aio", request_timeout_ms=1234
    )


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("produce", "-X", "buffer.memory=much"), "buffer.memory must be"),
        (("produce", "-X", "linger=5"), "linger.ms"),
        (("produce", "--seconds", "1", "--records", "5"), "not allowed with"),
        (("produce", "--topic", "t", "--partitions", "5"), "not allowed with"),
        (("produce", "--seconds", "0"), "give a number above 0"),
        (("produce", "--warm-up", "-1"), "give a number, 0 or more"),
        (("produce", "--warm-up", "long"), "give a number, 0 or more"),
        (("produce", "--linger", "0.5"), "give a whole number of milliseconds"),
        (("produce", "--tasks", "5"), "there is no option '--tasks'"),
        (("latency", "--path", "many"), "there is no option '--path'"),
        (("consume", "--path", "many"), "invalid choice: 'many'"),
        (("consume", "--topic", "t"), "there is no option '--topic'"),
        (("consume", "--acks", "1"), "there is no option '--acks'"),
        (("consume", "--watch", "--loop", "uvloop"), "--watch sees into asyncio's own loop alone"),
        (("end-to-end", "--rate", "0"), "give a whole number, 1 or more"),
    ],
)
def test_a_mistake_is_said_before_anything_is_dialled(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], text: str
) -> None:
    outcome = call(capsys, "bench", *words, *SERVER)

    assert outcome.code == 2
    assert text in outcome.err


@pytest.mark.skipif(not ROOT.joinpath("benchmarks").is_dir(), reason="no checkout")
def test_a_peer_that_is_not_there_is_said_before_anything_is_dialled(
    capsys: pytest.CaptureFixture[str],
) -> None:
    outcome = call(capsys, "bench", "produce", "--peers", "nobody", *SERVER)

    assert outcome.code == 2
    assert "--peers: there is no 'nobody', but aiokafka" in outcome.err


def test_what_has_to_be_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "find_spec", lambda name: None)
    for kind in ("produce", "consume"):
        arrow = given(kind, "--path", "arrow")

        with pytest.raises(ConfigError, match=r"pyarrow is not installed: .*kafka-aio\[arrow\]"):
            bench.check(arrow)


def test_a_cluster_that_is_not_there_is_no_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "bench", "produce", *SERVER, "--timeout", "5")

    assert outcome.code == 3
    assert outcome.out == ""


def test_without_a_checkout_there_are_no_peers_and_one_line_says_so(tmp_path: Path) -> None:
    found, notes = peers(root=tmp_path)

    assert found == []
    assert len(notes) == 1
    assert "needs a checkout" in notes[0]


def test_a_peer_has_an_adapter_and_is_installed(tmp_path: Path) -> None:
    folder = tmp_path / "benchmarks" / "peers"
    folder.mkdir(parents=True)
    for name in ("__init__.py", "anyio.py", "not_there_at_all.py"):
        (folder / name).touch()
    found, notes = peers(root=tmp_path)

    assert [(each.name, each.module) for each in found] == [("anyio", "benchmarks.peers.anyio")]
    assert found[0].version
    assert notes == ["not-there-at-all is not installed: it is left out"]


def through_json(config: ProducerConfig) -> ProducerConfig:
    order = Order(module="m", topic="t", workload=Workload(), connection=portable(config))
    read = Order.of(json.loads(json.dumps(order.document())))

    assert read.workload == order.workload
    return configured(ProducerConfig, read.connection)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"security_protocol": "SSL", "ssl_truststore_location": "ca.pem"},
        {"request_timeout_ms": 1234, "client_id": "us", "max_block_ms": 2000},
        {
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_username": "alice",
            "sasl_password": Secret("s3cret"),
        },
        {
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "OAUTHBEARER",
            "sasl_oauthbearer_token_provider": TokenFile("token"),
            "sasl_oauthbearer_extensions": (("a", "b"),),
        },
    ],
)
def test_a_worker_connects_as_we_do(options: dict[str, Any]) -> None:
    ours = ProducerConfig(bootstrap_servers="one:1,two:2", **options)
    theirs = through_json(ours)

    assert theirs.bootstrap_servers == ours.bootstrap_servers
    for name, value in options.items():
        if name == "sasl_oauthbearer_token_provider":
            assert repr(theirs.sasl_oauthbearer_token_provider) == repr(value)
        else:
            assert getattr(theirs, name) == value


def test_one_connection_serves_both_who_writes_and_who_reads() -> None:
    reader = given("consume", "-X", "fetch.min.bytes=9", "-X", "request.timeout.ms=1234")
    connection = portable(reader.client_config)
    writer = configured(ProducerConfig, connection, linger_ms=3)

    assert configured(ConsumerConfig, connection).fetch_min_bytes == 9
    assert (writer.request_timeout_ms, writer.linger_ms) == (1234, 3)


def test_an_order_does_not_show_its_secrets() -> None:
    order = Order(module="m", topic="t", workload=Workload(), connection={"password": "s3cret"})

    assert "s3cret" not in repr(order)


def test_a_worker_that_writes_for_longer_is_given_more_time() -> None:
    assert Workload(seconds=100).patience > Workload(seconds=5).patience > 5
    assert Workload(records=10**7).patience > Workload(records=10).patience
    assert Workload(kind="consume", records=10**7).patience == Workload().patience


@pytest.mark.parametrize("kind", ["produce", "latency", "tasks", "consume", "end-to-end"])
def test_help_has_every_option_in_its_group(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = call(capsys, "bench", kind, "--help")
    options = told.out.partition("\noptions:\n")[2].partition("\n\n")[0]

    assert options == "  -h, --help            show this help message and exit"
