"""The requests of clients and admins, in every version, do on a real broker what they say."""

from __future__ import annotations

import pytest

from kafka_aio.protocol.messages.acls import (
    AclCreation,
    CreateAclsRequest,
    DeleteAclsFilter,
    DeleteAclsRequest,
    DescribeAclsRequest,
)
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest
from kafka_aio.protocol.messages.cluster import (
    DescribeClusterRequest,
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)
from kafka_aio.protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    IncrementalAlterConfigsAlterableConfig,
    IncrementalAlterConfigsAlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafka_aio.protocol.messages.fetch import FetchRequest
from kafka_aio.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_aio.protocol.messages.offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafka_aio.protocol.messages.produce import ProduceRequest
from kafka_aio.protocol.messages.topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    DeletableTopicResult,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
    DeleteTopicsRequest,
    DeleteTopicState,
)
from kafka_aio.protocol.schema import NO_UUID
from kafka_aio.records.codec import BatchBuilder, RecordReader
from tests.interop.versions import each_version, require
from tests.kafka.cluster import Cluster
from tests.kafka.node import CLUSTER_ID
from tests.kafka.raw import RawConnection
from tests.kafka.topic import Topic

pytestmark = pytest.mark.kafka

NOW = 1_700_000_000_000
TOPIC, ANY, LITERAL, READ, ALLOW = 2, 1, 3, 3, 3


def batch(*values: bytes) -> memoryview:
    builder = BatchBuilder(10_000)
    builder.append_many(values, NOW)
    return builder.finish()


@pytest.fixture(scope="module")
def topic(connection: RawConnection) -> Topic:
    """A topic of two partitions, the first with three records."""
    topic = Topic.create(connection, "versions", partitions=2)
    topic.produce(batch(b"zero", b"one", b"two"))
    return topic


@each_version(ApiVersionsRequest)
def test_the_broker_says_what_it_speaks(connection: RawConnection, version: int) -> None:
    require(connection, ApiVersionsRequest, version)
    request = ApiVersionsRequest(client_software_name="test", client_software_version="1")

    answer = connection.send(request, version)

    assert answer.error_code == 0
    assert len(answer.api_keys) > 50
    assert bool(answer.finalized_features) == (version >= 3)


@each_version(MetadataRequest)
def test_metadata_has_the_topic_that_was_named(
    connection: RawConnection, topic: Topic, version: int
) -> None:
    require(connection, MetadataRequest, version)
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic.name)])

    answer = connection.send(asked, version)

    (broker,) = answer.brokers
    assert (broker.node_id, broker.host) == (1, "127.0.0.1")
    assert answer.cluster_id == (CLUSTER_ID if version >= 2 else None)
    (found,) = answer.topics
    assert (found.error_code, found.name) == (0, topic.name)
    assert found.topic_id == (topic.id if version >= 10 else NO_UUID)
    assert sorted(each.partition_index for each in found.partitions) == [0, 1]
    assert all(each.leader_id == 1 and each.isr_nodes == [1] for each in found.partitions)


@pytest.mark.parametrize("version", [12, 13])
def test_metadata_has_the_topic_of_that_id(
    connection: RawConnection, topic: Topic, version: int
) -> None:
    asked = MetadataRequest(topics=[MetadataRequestTopic(topic_id=topic.id, name=None)])

    (found,) = connection.send(asked, version).topics

    assert found.name == topic.name


@each_version(DescribeClusterRequest)
def test_the_cluster_is_described(connection: RawConnection, kafka: Cluster, version: int) -> None:
    require(connection, DescribeClusterRequest, version)

    answer = connection.send(
        DescribeClusterRequest(include_cluster_authorized_operations=True), version
    )

    assert (answer.error_code, answer.cluster_id) == (0, CLUSTER_ID)
    assert [each.port for each in answer.brokers] == [kafka.nodes[0].ports["PLAIN"]]
    assert answer.cluster_authorized_operations > 0


@each_version(DescribeQuorumRequest)
def test_the_quorum_is_described(connection: RawConnection, kafka: Cluster, version: int) -> None:
    require(connection, DescribeQuorumRequest, version)
    partitions = [DescribeQuorumRequestPartitionData(partition_index=0)]
    asked = DescribeQuorumRequestTopicData(topic_name="__cluster_metadata", partitions=partitions)

    answer = connection.send(DescribeQuorumRequest(topics=[asked]), version)

    (found,) = answer.topics[0].partitions
    assert (answer.error_code, found.error_code, found.leader_id) == (0, 0, 1)
    assert [each.replica_id for each in found.current_voters] == [1]
    ports = [listener.port for node in answer.nodes for listener in node.listeners]
    assert ports == ([kafka.nodes[0].ports["CONTROLLER"]] if version >= 2 else [])


@each_version(CreateTopicsRequest)
def test_a_topic_that_can_be_created_and_one_that_cannot_are_told_apart(
    connection: RawConnection, version: int
) -> None:
    require(connection, CreateTopicsRequest, version)
    wanted = CreatableTopic(
        name=f"created-v{version}",
        num_partitions=2,
        replication_factor=1,
        assignments=[],
        configs=[CreatableTopicConfig(name="cleanup.policy", value="compact")],
    )
    refused = CreatableTopic(
        name="a name with spaces",
        num_partitions=1,
        replication_factor=1,
        assignments=[],
        configs=[],
    )

    answer = connection.send(
        CreateTopicsRequest(topics=[wanted, refused], validate_only=True), version
    )

    results = {each.name: each for each in answer.topics}
    assert results[wanted.name].error_code == 0
    assert results[refused.name].error_code == 17
    if version >= 5:
        configs = results[wanted.name].configs or []
        assert {each.value for each in configs if each.name == "cleanup.policy"} == {"compact"}


@each_version(DeleteTopicsRequest)
def test_a_topic_is_deleted(connection: RawConnection, version: int) -> None:
    require(connection, DeleteTopicsRequest, version)
    doomed = Topic.create(connection, "doomed")
    by_id = [DeleteTopicState(name=None, topic_id=doomed.id)] if version >= 6 else []
    by_name = [] if version >= 6 else [doomed.name]

    request = DeleteTopicsRequest(topics=by_id, topic_names=by_name, timeout_ms=10_000)
    (result,) = connection.send(request, version).responses

    expected = DeletableTopicResult(
        name=doomed.name, topic_id=doomed.id if version >= 6 else NO_UUID, error_code=0
    )
    assert result == expected


@each_version(CreatePartitionsRequest)
def test_partitions_are_added_only_to_a_topic_that_exists(
    connection: RawConnection, topic: Topic, version: int
) -> None:
    require(connection, CreatePartitionsRequest, version)
    asked = [
        CreatePartitionsTopic(name=topic.name, count=3, assignments=None),
        CreatePartitionsTopic(name="no-such-topic", count=3, assignments=None),
    ]

    answer = connection.send(
        CreatePartitionsRequest(topics=asked, timeout_ms=10_000, validate_only=True), version
    )

    assert {each.name: each.error_code for each in answer.results} == {
        topic.name: 0,
        "no-such-topic": 3,
    }


@each_version(ProduceRequest)
def test_a_batch_is_written_at_the_end(
    connection: RawConnection, topic: Topic, version: int
) -> None:
    require(connection, ProduceRequest, version)
    before = topic.end(1)

    answer = topic.produce(batch(b"a", b"b"), 1, version=version)

    assert answer.base_offset == before
    assert answer.log_start_offset == (0 if version >= 5 else -1)
    assert topic.end(1) == answer.base_offset + 2


@each_version(ProduceRequest)
def test_a_damaged_batch_is_refused(connection: RawConnection, topic: Topic, version: int) -> None:
    require(connection, ProduceRequest, version)
    broken = bytearray(batch(b"a", b"b"))
    broken[-1] ^= 1

    answer = topic.try_produce(broken, 1, version=version)

    assert answer.error_code == 2  # CORRUPT_MESSAGE


@each_version(FetchRequest)
def test_records_are_fetched_from_an_offset_on(
    connection: RawConnection, topic: Topic, version: int
) -> None:
    require(connection, FetchRequest, version)

    fetched = topic.fetch_once(0, 1, version=version)

    records = RecordReader(fetched.records, topic.name, 0, start_offset=1).read()
    assert [(each.offset, each.value) for each in records] == [(1, b"one"), (2, b"two")]
    assert (fetched.high_watermark, fetched.last_stable_offset) == (3, 3)


@each_version(ListOffsetsRequest)
@pytest.mark.parametrize(("timestamp", "expected"), [(-2, 0), (-1, 3), (NOW, 0), (NOW + 1, -1)])
def test_offsets_are_found_by_time(
    connection: RawConnection, topic: Topic, version: int, timestamp: int, expected: int
) -> None:
    require(connection, ListOffsetsRequest, version)
    wanted = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    topics = [ListOffsetsTopic(name=topic.name, partitions=[wanted])]

    answer = connection.send(ListOffsetsRequest(replica_id=-1, topics=topics), version)

    ((found,),) = (each.partitions for each in answer.topics)
    assert (found.error_code, found.offset) == (0, expected)


@each_version(OffsetForLeaderEpochRequest)
def test_the_end_of_a_leader_epoch_is_found(
    connection: RawConnection, topic: Topic, version: int
) -> None:
    require(connection, OffsetForLeaderEpochRequest, version)
    wanted = OffsetForLeaderPartition(partition=0, current_leader_epoch=0, leader_epoch=0)
    topics = [OffsetForLeaderTopic(topic=topic.name, partitions=[wanted])]

    answer = connection.send(OffsetForLeaderEpochRequest(replica_id=-1, topics=topics), version)

    ((found,),) = (each.partitions for each in answer.topics)
    assert (found.error_code, found.leader_epoch, found.end_offset) == (0, 0, 3)


@each_version(DeleteRecordsRequest)
def test_records_are_deleted_up_to_an_offset(connection: RawConnection, version: int) -> None:
    require(connection, DeleteRecordsRequest, version)
    topic = Topic.create(connection, "shortened")
    topic.produce(batch(b"a", b"b", b"c"))
    partitions = [DeleteRecordsPartition(partition_index=0, offset=2)]
    topics = [DeleteRecordsTopic(name=topic.name, partitions=partitions)]

    answer = connection.send(DeleteRecordsRequest(topics=topics, timeout_ms=10_000), version)

    ((found,),) = (each.partitions for each in answer.topics)
    assert (found.error_code, found.low_watermark) == (0, 2)


@each_version(DescribeConfigsRequest)
def test_the_configuration_of_a_topic_is_described(
    connection: RawConnection, topic: Topic, version: int
) -> None:
    require(connection, DescribeConfigsRequest, version)
    asked = DescribeConfigsResource(
        resource_type=TOPIC, resource_name=topic.name, configuration_keys=["retention.ms"]
    )

    answer = connection.send(
        DescribeConfigsRequest(resources=[asked], include_synonyms=True), version
    )

    ((result,),) = (each.configs for each in answer.results)
    assert (result.name, result.value) == ("retention.ms", "-1")
    assert result.config_type == (5 if version >= 3 else 0)


@each_version(IncrementalAlterConfigsRequest)
def test_a_change_of_configuration_is_validated(
    connection: RawConnection, topic: Topic, version: int
) -> None:
    require(connection, IncrementalAlterConfigsRequest, version)
    change = IncrementalAlterConfigsAlterableConfig(
        name="max.message.bytes", config_operation=0, value="2000000"
    )
    resource = IncrementalAlterConfigsAlterConfigsResource(
        resource_type=TOPIC, resource_name=topic.name, configs=[change]
    )

    answer = connection.send(
        IncrementalAlterConfigsRequest(resources=[resource], validate_only=True), version
    )

    (result,) = answer.responses
    assert (result.error_code, result.resource_name) == (0, topic.name)


@each_version(CreateAclsRequest)
def test_acls_are_created_described_and_deleted(connection: RawConnection, version: int) -> None:
    require(connection, CreateAclsRequest, version)
    name, who = f"acl-v{version}", "User:nobody"
    acl = AclCreation(
        resource_type=TOPIC,
        resource_name=name,
        resource_pattern_type=LITERAL,
        principal=who,
        host="*",
        operation=READ,
        permission_type=ALLOW,
    )
    wanted = DescribeAclsRequest(
        resource_type_filter=TOPIC,
        resource_name_filter=name,
        pattern_type_filter=LITERAL,
        principal_filter=None,
        host_filter=None,
        operation=ANY,
        permission_type=ANY,
    )
    unwanted = DeleteAclsFilter(
        resource_type_filter=TOPIC,
        resource_name_filter=name,
        pattern_type_filter=LITERAL,
        principal_filter=who,
        host_filter=None,
        operation=ANY,
        permission_type=ANY,
    )

    (created,) = connection.send(CreateAclsRequest(creations=[acl]), version).results
    described = connection.send(wanted, version).resources
    (deleted,) = connection.send(DeleteAclsRequest(filters=[unwanted]), version).filter_results

    assert created.error_code == deleted.error_code == 0
    assert [(each.resource_name, each.acls[0].principal) for each in described] == [(name, who)]
    assert [(each.resource_name, each.operation) for each in deleted.matching_acls] == [
        (name, READ)
    ]
