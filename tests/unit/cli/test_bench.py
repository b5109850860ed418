from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafka_aio.cli import bench, parser
from kafka_aio.cli.bench.clients import ROOT, peers
from kafka_aio.cli.bench.plan import Order, Workload, configured, portable
from kafka_aio.cli.credentials import TokenFile
from kafka_aio.config import AdminConfig, ProducerConfig, Secret
from kafka_aio.errors import ConfigError
from tests.unit.cli.shell import call

SERVER = ("-b", "127.0.0.1:9")


def asked(*words: str) -> Workload:
    return bench.workload(parser.parse(["bench", *words, *SERVER]))


def test_a_workload_is_what_the_options_say() -> None:
    words = "--path many --size 1000 --partitions 3 --codec zstd --acks 1 --linger 7 --seed 3"

    assert asked("produce", *words.split()) == Workload(
        path="many", record_size=1000, partitions=3, codec="zstd", acks="1", linger_ms=7, seed=3
    )
    assert asked("tasks", "--tasks", "20", "--records", "9", "--loop", "uvloop") == Workload(
        kind="tasks", tasks=20, records=9, loop="uvloop"
    )


def test_a_record_that_is_timed_alone_does_not_wait_for_others() -> None:
    assert asked("latency").linger_ms == 0
    assert asked("produce").linger_ms == asked("tasks").linger_ms == 5


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("produce", "--seconds", "1", "--records", "5"), "not allowed with"),
        (("produce", "--topic", "t", "--partitions", "5"), "not allowed with"),
        (("produce", "--seconds", "0"), "give a number above 0"),
        (("produce", "--warm-up", "-1"), "give a number, 0 or more"),
        (("produce", "--warm-up", "long"), "give a number, 0 or more"),
        (("produce", "--linger", "0.5"), "give a whole number of milliseconds"),
        (("produce", "--tasks", "5"), "there is no option '--tasks'"),
        (("latency", "--path", "many"), "there is no option '--path'"),
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
    given = parser.parse(["bench", "produce", "--path", "arrow", *SERVER])

    with pytest.raises(ConfigError, match=r"pyarrow is not installed: .*kafka-aio\[arrow\]"):
        bench.check(given)


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


def through_json(config: AdminConfig) -> ProducerConfig:
    order = Order(module="m", topic="t", workload=Workload(), connection=portable(config))
    read = Order.of(json.loads(json.dumps(order.document())))

    assert read.workload == order.workload
    return configured(ProducerConfig, read.connection)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"security_protocol": "SSL", "ssl_truststore_location": "ca.pem"},
        {"request_timeout_ms": 1234, "client_id": "us", "default_api_timeout_ms": 2000},
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
    ours = AdminConfig(bootstrap_servers="one:1,two:2", **options)
    theirs = through_json(ours)

    assert theirs.bootstrap_servers == ours.bootstrap_servers
    for name, value in options.items():
        if name == "sasl_oauthbearer_token_provider":
            assert repr(theirs.sasl_oauthbearer_token_provider) == repr(value)
        elif name != "default_api_timeout_ms":  # of an admin alone
            assert getattr(theirs, name) == value


def test_an_order_does_not_show_its_secrets() -> None:
    order = Order(module="m", topic="t", workload=Workload(), connection={"password": "s3cret"})

    assert "s3cret" not in repr(order)


def test_a_worker_that_writes_for_longer_is_given_more_time() -> None:
    assert Workload(seconds=100).patience > Workload(seconds=5).patience > 5
    assert Workload(records=10**7).patience > Workload(records=10).patience
