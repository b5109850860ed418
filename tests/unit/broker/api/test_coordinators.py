import pytest

from kafka_aio.errors import CoordinatorNotAvailable, InvalidRequest
from kafka_aio.protocol.messages.groups import Coordinator, FindCoordinatorRequest
from tests.unit.broker.clusters import call, made


@pytest.mark.parametrize("version", range(4))
def test_one_key_is_found_in_older_versions(version: int) -> None:
    answer = call(made(), FindCoordinatorRequest(key="g"), version=version)

    assert answer.error_code == 0
    assert (answer.node_id, answer.host, answer.port) == (1, "127.0.0.1", 9092)
    assert answer.error_message == ("NONE" if version else "")


@pytest.mark.parametrize("version", range(4, 7))
def test_several_keys_are_found_in_newer_versions(version: int) -> None:
    state = made(nodes=3, offsets_topic_num_partitions=50)
    keys = ["a", "b", "", "d"]

    answer = call(state, FindCoordinatorRequest(coordinator_keys=keys), version=version)

    assert answer.coordinators == [
        Coordinator(
            key=key,
            node_id=(node := state.groups.coordinator_of(key)),
            host="127.0.0.1",
            port=9091 + node,
            error_code=0,
            error_message="",
        )
        for key in keys
    ]


@pytest.mark.parametrize("node", [1, 2])
def test_every_node_knows_who_coordinates(node: int) -> None:
    state = made(nodes=2)

    answer = call(state, FindCoordinatorRequest(coordinator_keys=["g"]), node=node)

    assert answer.coordinators[0].node_id == state.groups.coordinator_of("g")


def test_a_transactional_id_has_a_coordinator() -> None:
    answer = call(made(), FindCoordinatorRequest(key_type=1, coordinator_keys=["tx"]))

    assert (answer.coordinators[0].error_code, answer.coordinators[0].node_id) == (0, 1)


@pytest.mark.parametrize("key_type", [2, 3, -1])
def test_what_is_neither_a_group_nor_a_transactional_id_has_no_coordinator(key_type: int) -> None:
    state = made()

    many = call(state, FindCoordinatorRequest(key_type=key_type, coordinator_keys=["x", "y"]))
    one = call(state, FindCoordinatorRequest(key_type=key_type, key="x"), version=3)

    assert [each.key for each in many.coordinators] == ["x", "y"]
    assert {each.error_code for each in many.coordinators} == {InvalidRequest.code}
    assert {each.error_message == "" for each in many.coordinators} == {key_type == 2}
    assert (one.error_code, one.node_id, one.host, one.port) == (InvalidRequest.code, -1, "", -1)
    assert one.error_message.startswith("This most likely occurs because")


def test_nobody_coordinates_while_the_nodes_that_could_are_down() -> None:
    state = made(nodes=2, offsets_topic_replication_factor=1)
    coordinator = state.groups.coordinator_of("g")
    state.node_down(coordinator)

    many = call(state, FindCoordinatorRequest(coordinator_keys=["g"]))
    one = call(state, FindCoordinatorRequest(key="g"), version=2)

    assert many.coordinators == [
        Coordinator(
            key="g",
            node_id=-1,
            host="",
            port=-1,
            error_code=CoordinatorNotAvailable.code,
            error_message="",
        )
    ]
    assert one.error_code == CoordinatorNotAvailable.code
    assert one.error_message == "The coordinator is not available."
