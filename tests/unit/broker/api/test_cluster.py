"""DescribeCluster, elections and reassignments."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.errors import (
    BrokerError,
    ElectionNotNeeded,
    EligibleLeadersNotAvailable,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    MismatchedEndpointType,
    NoReassignmentInProgress,
    PreferredLeaderNotAvailable,
    RequestTimedOut,
    UnknownTopicOrPartition,
    UnsupportedEndpointType,
)
from kafka_aio.protocol.messages.cluster import DescribeClusterRequest
from kafka_aio.protocol.messages.topics import (
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from tests.unit.broker.api.administration import elect, reassign
from tests.unit.broker.clusters import call, made

PREFERRED, UNCLEAN = 0, 1

# DescribeCluster


def test_the_nodes_that_are_up_are_described() -> None:
    state = made(3)
    state.node_down(3)

    response = call(state, DescribeClusterRequest(include_cluster_authorized_operations=False))

    assert [(each.broker_id, each.port, each.rack) for each in response.brokers] == [
        (1, 9092, "rack-1"),
        (2, 9093, "rack-2"),
    ]
    assert response.cluster_id == state.cluster_id
    assert response.controller_id in (1, 2)
    assert response.cluster_authorized_operations == -0x80000000


def test_nodes_that_are_down_are_described_if_that_is_wanted() -> None:
    state = made(2)
    state.node_down(2)
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=True, include_fenced_brokers=True
    )

    response = call(state, request)

    assert [(each.broker_id, each.is_fenced) for each in response.brokers] == [
        (1, False),
        (2, True),
    ]
    assert response.cluster_authorized_operations == 8_096


@pytest.mark.parametrize(
    ("endpoint_type", "error", "message"),
    [
        (
            2,
            MismatchedEndpointType,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type"
            " CONTROLLER",
        ),
        (7, UnsupportedEndpointType, "Unsupported endpoint type 7"),
    ],
)
def test_only_brokers_can_be_asked_for(
    endpoint_type: int, error: type[BrokerError], message: str
) -> None:
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=False, endpoint_type=endpoint_type
    )

    response = call(made(), request)

    assert (response.error_code, response.error_message) == (error.code, message)
    assert (response.brokers, response.controller_id) == ([], -1)


def test_a_fault_of_the_whole_request() -> None:
    state = made()
    state.faults.fail("DescribeCluster", RequestTimedOut)

    response = call(state, DescribeClusterRequest(include_cluster_authorized_operations=False))

    assert response.error_code == RequestTimedOut.code


# ElectLeaders


def results(response: Any) -> dict[str, list[tuple[int, int, str | None]]]:
    return {
        each.topic: [
            (partition.partition_id, partition.error_code, partition.error_message)
            for partition in each.partition_result
        ]
        for each in response.replica_election_results
    }


def test_the_preferred_leader_leads_after_its_election() -> None:
    state = made(2, {"t": 2})
    state.node_down(1)
    state.node_up(1)

    response = call(state, elect(PREFERRED, t=[0, 1]))

    assert results(response) == {
        "t": [
            (0, 0, None),
            (1, ElectionNotNeeded.code, "Leader election not needed for topic partition."),
        ]
    }
    assert [each.leader for each in state.topics.by_name["t"].partitions] == [1, 2]


def test_a_preferred_leader_that_is_down_is_not_elected() -> None:
    state = made(2, {"t": 1})
    state.node_down(1)

    response = call(state, elect(PREFERRED, t=[0]))

    message = "The preferred leader was not available."
    assert results(response) == {"t": [(0, PreferredLeaderNotAvailable.code, message)]}


def test_what_is_not_there_is_not_led() -> None:
    response = call(made(1, {"t": 1}), elect(PREFERRED, t=[7, -1], u=[0]))

    code = UnknownTopicOrPartition.code
    assert results(response) == {
        "t": [(7, code, "No such partition as t-7"), (-1, code, "No such partition as t--1")],
        "u": [(0, code, "No such topic as u")],
    }


def test_of_all_partitions_those_that_need_no_election_are_not_told() -> None:
    state = made(2, {"a": 2, "b": 1})
    state.node_down(1)
    state.node_up(1)

    response = call(state, ElectLeadersRequest(election_type=PREFERRED, topic_partitions=None))

    assert results(response) == {"a": [(0, 0, None)], "b": [(0, 0, None)]}
    again = call(state, ElectLeadersRequest(election_type=PREFERRED, topic_partitions=None))
    assert results(again) == {"a": [], "b": []}


def test_an_unclean_election_takes_who_is_up() -> None:
    state = made(2)
    state.topics.create("t", replicas=[(0, [2, 1])])
    state.topics.create("u", replicas=[(0, [2])])
    for node in (1, 2):
        state.node_down(node)
    state.node_up(1)

    response = call(state, elect(UNCLEAN, t=[0], u=[0]))

    message = "Eligible topic partition leaders are not available."
    assert results(response) == {
        "t": [(0, 0, None)],
        "u": [(0, EligibleLeadersNotAvailable.code, message)],
    }
    assert state.topics.by_name["t"].partitions[0].leader == 1


def test_an_election_of_an_unknown_kind() -> None:
    response = call(made(1, {"t": 1}), elect(5, t=[0, 3]))

    message = "Unknown election type 5"
    assert response.error_code == InvalidRequest.code
    assert results(response) == {
        "t": [(0, InvalidRequest.code, message), (3, InvalidRequest.code, message)]
    }


@pytest.mark.parametrize("topics", [{}, {"t": 1}])
def test_an_election_of_an_unknown_kind_for_all(topics: dict[str, int]) -> None:
    request = ElectLeadersRequest(election_type=5, topic_partitions=None)

    response = call(made(1, topics), request)

    assert response.error_code == InvalidRequest.code
    assert results(response) == {}


def test_an_election_of_nothing_has_no_error() -> None:
    response = call(made(1, {"t": 1}), elect(5))

    assert response.error_code == 0
    assert results(response) == {}


def test_a_fault_concerns_the_partition_that_it_names() -> None:
    state = made(2, {"t": 2})
    state.faults.fail("ElectLeaders", RequestTimedOut, topic="t", partition=1)

    response = call(state, elect(PREFERRED, t=[0, 1]))

    assert [code for _, code, _ in results(response)["t"]] == [
        ElectionNotNeeded.code,
        RequestTimedOut.code,
    ]


# AlterPartitionReassignments, ListPartitionReassignments


def reassigned(response: Any) -> list[tuple[int, str | None]]:
    return [
        (each.error_code, each.error_message)
        for topic in response.responses
        for each in topic.partitions
    ]


def test_a_partition_is_moved_at_once() -> None:
    state = made(3)
    state.topics.create("t", replicas=[(0, [1, 2])])

    response = call(state, reassign("t", 0, [3, 2]))
    listed = call(state, ListPartitionReassignmentsRequest(topics=None))

    partition = state.topics.by_name["t"].partitions[0]
    assert reassigned(response) == [(0, None)]
    assert (partition.replicas, partition.leader, partition.isr) == ([3, 2], 3, [2, 3])
    assert (listed.error_code, listed.topics) == (0, [])


def test_replicas_that_stay_change_nothing() -> None:
    state = made(2, {"t": 1})

    response = call(state, reassign("t", 0, [1, 2]))

    assert reassigned(response) == [(0, None)]
    assert state.topics.by_name["t"].partitions[0].partition_epoch == 0


@pytest.mark.parametrize(
    ("name", "index", "replicas", "may_change_factor", "error", "message"),
    [
        ("u", 0, [1], True, UnknownTopicOrPartition, "Unable to find a topic named u."),
        ("t", 3, [1], True, UnknownTopicOrPartition, "Unable to find partition t:3."),
        ("t", 0, None, True, NoReassignmentInProgress, None),
        (
            "t",
            0,
            [],
            True,
            InvalidReplicaAssignment,
            "The manual partition assignment includes an empty replica list.",
        ),
        (
            "t",
            0,
            [1],
            False,
            InvalidReplicationFactor,
            "The replication factor is changed from 2 to 1",
        ),
    ],
)
def test_a_partition_that_cannot_be_moved(
    name: str,
    index: int,
    replicas: list[int] | None,
    may_change_factor: bool,
    error: type[BrokerError],
    message: str | None,
) -> None:
    state = made(2, {"t": 1})

    request = reassign(name, index, replicas, may_change_factor=may_change_factor)
    response = call(state, request)

    assert reassigned(response) == [(error.code, message)]
    assert response.allow_replication_factor_change == may_change_factor
    assert state.topics.by_name["t"].partitions[0].replicas == [1, 2]


def test_no_reassignment_is_ever_under_way() -> None:
    asked = [ListPartitionReassignmentsTopics(name="t", partition_indexes=[0])]

    response = call(made(1, {"t": 1}), ListPartitionReassignmentsRequest(topics=asked))

    assert (response.error_code, response.topics) == (0, [])


def test_a_fault_of_the_list() -> None:
    state = made()
    state.faults.fail("ListPartitionReassignments", RequestTimedOut)

    response = call(state, ListPartitionReassignmentsRequest(topics=None))

    assert response.error_code == RequestTimedOut.code
