from __future__ import annotations

import pytest

from kafka_aio.broker.described import (
    GroupDescription,
    MemberDescription,
    Statistics,
    Traffic,
    classic_group,
    consumer_protocol_group,
)
from kafka_aio.protocol.codec import encode
from kafka_aio.protocol.messages import consumer_group, groups
from kafka_aio.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
)
from kafka_aio.protocol.schema import NO_UUID
from kafka_aio.types import TopicPartition

ASSIGNMENT = ConsumerProtocolAssignment(
    assigned_partitions=[ConsumerProtocolAssignmentTopicPartition(topic="t", partitions=[0, 2])]
)


def classic(assignment: bytes, protocol_type: str = "consumer") -> GroupDescription:
    member = groups.DescribedGroupMember(
        member_id="m",
        client_id="c",
        client_host="/127.0.0.1",
        member_metadata=b"",
        member_assignment=assignment,
    )
    return classic_group(
        groups.DescribedGroup(
            error_code=0,
            group_id="g",
            group_state="Stable",
            protocol_type=protocol_type,
            protocol_data="range",
            members=[member],
        )
    )


@pytest.mark.parametrize("version", [0, 3, 4])
def test_the_assignment_of_a_classic_member_is_read(version: int) -> None:
    encoded = version.to_bytes(2, "big") + encode(ASSIGNMENT, min(version, 3))

    assert classic(encoded) == GroupDescription(
        "g",
        "classic",
        "Stable",
        "range",
        (MemberDescription("m", None, "c", (TopicPartition("t", 0), TopicPartition("t", 2))),),
    )


@pytest.mark.parametrize("assignment", [b"", b"\0", b"\0\0nonsense", b"\xff\xff\xff"])
def test_an_assignment_that_makes_no_sense_is_none(assignment: bytes) -> None:
    assert classic(assignment).members[0].partitions == ()


def test_what_others_than_consumers_assign_is_not_looked_at() -> None:
    encoded = b"\0\0" + encode(ASSIGNMENT, 0)

    assert classic(encoded, "connect").members[0].partitions == ()


def test_a_member_of_the_consumer_protocol_has_what_it_was_told() -> None:
    def assignment(*partitions: int) -> consumer_group.ConsumerGroupDescribeAssignment:
        topic = consumer_group.ConsumerGroupDescribeTopicPartitions(
            topic_id=NO_UUID, topic_name="t", partitions=list(partitions)
        )
        return consumer_group.ConsumerGroupDescribeAssignment(topic_partitions=[topic])

    member = consumer_group.Member(
        member_id="m",
        instance_id="i",
        member_epoch=1,
        client_id="c",
        client_host="/127.0.0.1",
        subscribed_topic_names=["t"],
        assignment=assignment(1),
        target_assignment=assignment(1, 2),
    )

    found = consumer_protocol_group(
        consumer_group.DescribedGroup(
            error_code=0,
            group_id="g",
            group_state="Reconciling",
            group_epoch=2,
            assignment_epoch=2,
            assignor_name="uniform",
            members=[member],
        )
    )

    member_found = MemberDescription("m", "i", "c", (TopicPartition("t", 1),))
    assert found == GroupDescription("g", "consumer", "Reconciling", "uniform", (member_found,))


def test_requests_are_added_up() -> None:
    apis = {"Fetch": Traffic(requests=2), "Produce": Traffic(requests=3)}

    assert Statistics(connections=0, connections_made=0, apis=apis).requests == 5
