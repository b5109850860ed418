"""The cluster as a whole: its nodes, elections, and which nodes have which partitions. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafka_aio.broker.api.authorized import CLUSTER_OPERATIONS, NOT_ASKED
from kafka_aio.broker.api.metadata import any_node
from kafka_aio.broker.topics.placement import check_replicas
from kafka_aio.errors import (
    BrokerError,
    ElectionNotNeeded,
    InvalidReplicationFactor,
    InvalidRequest,
    MismatchedEndpointType,
    NoReassignmentInProgress,
    UnknownTopicOrPartition,
    UnsupportedEndpointType,
)
from kafka_aio.protocol.messages.cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from kafka_aio.protocol.messages.topics import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    PartitionResult,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
    ReplicaElectionResult,
)

if TYPE_CHECKING:
    from kafka_aio.broker.call import Call

_BROKERS: Final = 1
_CONTROLLERS: Final = 2
_PREFERRED: Final = 0
_UNCLEAN: Final = 1


# DescribeCluster


def describe_cluster(request: DescribeClusterRequest, call: Call) -> DescribeClusterResponse:
    """The nodes of the cluster: its brokers, as controllers are not to be asked here."""
    try:
        call.check_faults()
        _check_endpoint_type(request.endpoint_type)
    except BrokerError as error:
        return DescribeClusterResponse(
            throttle_time_ms=0,
            error_code=error.code,
            error_message=error.message or None,
            cluster_id="",
            brokers=[],
        )
    state = call.state
    nodes = state.nodes.values() if request.include_fenced_brokers else state.live_nodes
    is_asked = request.include_cluster_authorized_operations
    return DescribeClusterResponse(
        throttle_time_ms=0,
        error_code=0,
        cluster_id=state.cluster_id,
        controller_id=any_node(state),
        brokers=[
            DescribeClusterBroker(
                broker_id=node.id,
                host=node.host,
                port=node.port,
                rack=node.rack,
                is_fenced=not node.is_up,
            )
            for node in nodes
        ],
        cluster_authorized_operations=CLUSTER_OPERATIONS if is_asked else NOT_ASKED,
    )


def _check_endpoint_type(endpoint_type: int) -> None:
    if endpoint_type == _CONTROLLERS:
        raise MismatchedEndpointType(
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type"
            " CONTROLLER"
        )
    if endpoint_type != _BROKERS:
        raise UnsupportedEndpointType(f"Unsupported endpoint type {endpoint_type}")


# ElectLeaders


def elect_leaders(request: ElectLeadersRequest, call: Call) -> ElectLeadersResponse:
    """Elect leaders, for each partition by itself."""
    error_code = 0
    if request.topic_partitions is None:
        results = _elected_of_all(request.election_type, call)
    else:
        results = [
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    _elected(topic.topic, index, request.election_type, call)
                    for index in topic.partitions
                ],
            )
            for topic in request.topic_partitions
        ]
    is_asked = request.topic_partitions is None or request.topic_partitions
    if is_asked and request.election_type not in (_PREFERRED, _UNCLEAN):
        error_code = InvalidRequest.code
    return ElectLeadersResponse(
        throttle_time_ms=0, error_code=error_code, replica_election_results=results
    )


def _elected_of_all(election_type: int, call: Call) -> list[ReplicaElectionResult]:
    """What came of the elections, but for partitions that needed none."""
    if election_type not in (_PREFERRED, _UNCLEAN):
        return []
    results = []
    for topic in call.state.topics.by_name.values():
        each_result = [
            _elected(topic.name, partition.index, election_type, call)
            for partition in topic.partitions
        ]
        needed = [each for each in each_result if each.error_code != ElectionNotNeeded.code]
        results.append(ReplicaElectionResult(topic=topic.name, partition_result=needed))
    return results


def _elected(topic: str, index: int, election_type: int, call: Call) -> PartitionResult:
    try:
        _elect(topic, index, election_type, call)
    except BrokerError as error:
        code, message = error.code, error.message or None
    else:
        code, message = 0, None
    return PartitionResult(partition_id=index, error_code=code, error_message=message)


def _elect(topic: str, index: int, election_type: int, call: Call) -> None:
    call.check_faults(topic, index)
    if election_type not in (_PREFERRED, _UNCLEAN):
        raise InvalidRequest(f"Unknown election type {election_type}")
    topics = call.state.topics
    if (found := topics.by_name.get(topic)) is None:
        raise UnknownTopicOrPartition(f"No such topic as {topic}")
    if not 0 <= index < len(found.partitions):
        raise UnknownTopicOrPartition(f"No such partition as {topic}-{index}")
    topics.elect(found.partitions[index], unclean=election_type == _UNCLEAN)


# AlterPartitionReassignments, ListPartitionReassignments


def alter_partition_reassignments(
    request: AlterPartitionReassignmentsRequest, call: Call
) -> AlterPartitionReassignmentsResponse:
    """Let other nodes have partitions, each for itself."""
    responses = []
    for topic in request.topics:
        partitions = []
        for each in topic.partitions:
            code, message = 0, None
            try:
                _reassign(topic.name, each, call, request)
            except BrokerError as error:
                code, message = error.code, error.message or None
            partitions.append(
                ReassignablePartitionResponse(
                    partition_index=each.partition_index, error_code=code, error_message=message
                )
            )
        responses.append(ReassignableTopicResponse(name=topic.name, partitions=partitions))
    return AlterPartitionReassignmentsResponse(
        throttle_time_ms=0,
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_code=0,
        error_message=None,
        responses=responses,
    )


def _reassign(
    name: str,
    asked: ReassignablePartition,
    call: Call,
    request: AlterPartitionReassignmentsRequest,
) -> None:
    index, replicas = asked.partition_index, asked.replicas
    call.check_faults(name, index)
    topics = call.state.topics
    if (topic := topics.by_name.get(name)) is None:
        raise UnknownTopicOrPartition(f"Unable to find a topic named {name}.")
    if not 0 <= index < len(topic.partitions):
        raise UnknownTopicOrPartition(f"Unable to find partition {name}:{index}.")
    if replicas is None:
        raise NoReassignmentInProgress()
    check_replicas(replicas, call.state.nodes)
    before = len(topic.partitions[index].replicas)
    if not request.allow_replication_factor_change and len(replicas) != before:
        raise InvalidReplicationFactor(
            f"The replication factor is changed from {before} to {len(replicas)}"
        )
    topics.reassign(topic.partitions[index], replicas)


def list_partition_reassignments(
    request: ListPartitionReassignmentsRequest, call: Call
) -> ListPartitionReassignmentsResponse:
    """None: they are over at once, as all replicas share a log."""
    call.check_faults_as_whole()
    return ListPartitionReassignmentsResponse(
        throttle_time_ms=0, error_code=0, error_message=None, topics=[]
    )
