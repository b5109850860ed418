from __future__ import annotations

import pytest

from kafka_aio.config import ClientConfig
from kafka_aio.errors import ConfigError


def test_servers_are_split_into_hosts_and_ports() -> None:
    config = ClientConfig(bootstrap_servers=" a:1 ,b.example:65535,[::1]:9092, [fe80::1%eth0]:9093")

    assert config.bootstrap_addresses == [
        ("a", 1),
        ("b.example", 65535),
        ("::1", 9092),
        ("fe80::1%eth0", 9093),
    ]


def test_a_server_named_twice_counts_once() -> None:
    config = ClientConfig(bootstrap_servers=["a:1", "a:1", "b:2"])

    assert config.bootstrap_servers == ("a:1", "b:2")


def test_the_protocol_of_a_listener_before_an_address_is_dropped_where_it_is_ours() -> None:
    config = ClientConfig(bootstrap_servers="PLAINTEXT://localhost:9092")

    assert config.bootstrap_servers == ("localhost:9092",)


@pytest.mark.parametrize(
    ("servers", "sentence"),
    [
        ((), "bootstrap_servers is missing: name one or more brokers"),
        ("", "bootstrap_servers is missing"),
        ("localhost", "'localhost' has no port; write 'host:port'"),
        ("[::1]", "has no port"),
        ("localhost:0", "has a port outside 1 to 65535"),
        ("localhost:65536", "has a port outside 1 to 65535"),
        ("localhost:kafka", "is not of the form 'host:port'"),
        ("::1:9092", "put it in brackets, such as '[::1]:9092'"),
        ("a:1,,b:2", "is there a comma too many?"),
        ("http://localhost:9092", "begins like a URL"),
        ("SSL://localhost:9092", "say in security_protocol how to connect (it is 'PLAINTEXT')"),
        ("local host:9092", "is not of the form"),
        (["a:1,b:2"], "looks like an IPv6 address"),
        (9092, "must be a str such as 'host:9092,other:9092'"),
        ([9092], "must be a str such as"),
        ({"a:1"}, "must be a str such as"),
    ],
)
def test_what_is_not_an_address_gets_a_sentence_of_its_own(servers: object, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ClientConfig(bootstrap_servers=servers)  # type: ignore[arg-type]

    assert sentence in str(caught.value)
