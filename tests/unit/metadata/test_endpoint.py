from __future__ import annotations

import pytest

from kafka_aio.errors import ProtocolError
from kafka_aio.metadata.endpoint import MAX_NODES, read_nodes
from kafka_aio.protocol.messages import fetch, produce
from kafka_aio.types import Node
from tests.unit.metadata.samples import broker


def test_a_broker_becomes_a_node() -> None:
    nodes, refused = read_nodes([broker(1, "kafka", 9092, "rack-a"), broker(0, "other", 1)])

    assert nodes == {1: Node(1, "kafka", 9092, "rack-a"), 0: Node(0, "other", 1)}
    assert refused == []


@pytest.mark.parametrize("host", ["::1", "127.0.0.1", "fe80::1%eth0", "x" * 255, "bücher.example"])
@pytest.mark.parametrize("port", [1, 65_535])
def test_any_host_that_can_be_dialled_is_fine(host: str, port: int) -> None:
    nodes, refused = read_nodes([broker(1, host, port)])

    assert nodes == {1: Node(1, host, port)}
    assert refused == []


@pytest.mark.parametrize(
    ("host", "port", "problem"),
    [
        ("kafka", 0, "broker 7 at 'kafka', port 0: ports are from 1 to 65535"),
        ("kafka", 65_536, "broker 7 at 'kafka', port 65536: ports are from 1 to 65535"),
        ("kafka", -1, "broker 7 at 'kafka', port -1: ports are from 1 to 65535"),
        ("", 1, "broker 7 at '', port 1: host names have 1 to 255 characters"),
        ("x" * 300, 1, f"broker 7 at '{'x' * 40}', port 1: host names have 1 to 255 characters"),
        ("a\0b", 1, r"broker 7 at 'a\x00b', port 1: host names have no spaces or control char"),
        ("a\r\nb", 1, r"broker 7 at 'a\r\nb', port 1: host names have no spaces or control char"),
        ("a b", 1, "broker 7 at 'a b', port 1: host names have no spaces or control char"),
        ("a\u2028b", 1, r"broker 7 at 'a\u2028b', port 1: host names have no spaces or control"),
    ],
)
def test_a_broker_that_cannot_be_dialled_is_left_out_and_told(
    host: str, port: int, problem: str
) -> None:
    nodes, refused = read_nodes([broker(7, host, port), broker(1)])

    assert list(nodes) == [1]
    assert len(refused) == 1
    assert refused[0].startswith(problem)


def test_negative_ids_are_ours_alone() -> None:
    nodes, refused = read_nodes([broker(-1, "kafka", 9092), broker(1)])

    assert list(nodes) == [1]
    assert refused == ["broker -1 at 'kafka', port 9092: node ids are 0 or more"]


def test_of_brokers_with_one_id_the_last_is_taken() -> None:
    nodes, _ = read_nodes([broker(1, "first"), broker(1, "last")])

    assert nodes == {1: Node(1, "last", 9092)}


def test_far_too_many_brokers_are_not_a_cluster() -> None:
    many = [broker(1)] * (MAX_NODES + 1)

    assert list(read_nodes(many[:-1])[0]) == [1]
    with pytest.raises(ProtocolError, match=r"10,001 brokers, more than 10,000"):
        read_nodes(many)


def test_an_answer_without_any_broker_to_dial_is_refused_with_the_reason() -> None:
    with pytest.raises(ProtocolError, match=r"no broker that can be dialled; .* starting up"):
        read_nodes([])
    with pytest.raises(ProtocolError, match=r"no broker that can be dialled; broker 1 at .*port 0"):
        read_nodes([broker(1, port=0), broker(2, host="")])


@pytest.mark.parametrize("message", [produce.NodeEndpoint, fetch.NodeEndpoint])
def test_the_endpoints_of_other_messages_are_read_too(
    message: type[produce.NodeEndpoint] | type[fetch.NodeEndpoint],
) -> None:
    nodes, _ = read_nodes([message(node_id=3, host="kafka", port=9092, rack="r")])

    assert nodes == {3: Node(3, "kafka", 9092, "r")}
