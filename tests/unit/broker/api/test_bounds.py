"""How much an administrator can have the broker keep, and that all of it is given back."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.broker.security.users import ScramMechanism
from kafka_aio.broker.state import State
from kafka_aio.errors import PolicyViolation
from kafka_aio.protocol.messages.configs import IncrementalAlterConfigsRequest
from kafka_aio.protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from tests.unit.broker.api.administration import (
    BROKER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    TOPIC,
    alter,
    change,
    create,
    delete,
    topic,
)
from tests.unit.broker.clusters import call, made

SHA_256 = ScramMechanism.SHA_256
MANY = 1_000
SMALL = 100_000
"""Of memory: fewer than `MANY` of anything fit in."""
LONG = "x" * 20_000
REPLICAS = ",".join(f"{each}:1" for each in range(1_000))


def small(**settings: Any) -> State:
    return made(memory_max_state_bytes=SMALL, **settings)


def codes_of(state: State, request: IncrementalAlterConfigsRequest) -> int:
    (response,) = call(state, request).responses
    assert response.error_code in (0, PolicyViolation.code)
    return int(response.error_code)


def assert_full(codes: list[int]) -> None:
    """Some are taken, and no more after the first that is refused."""
    taken = codes.count(0)
    assert 2 < taken < len(codes)
    assert codes == [0] * taken + [PolicyViolation.code] * (len(codes) - taken)


# Options


@pytest.mark.parametrize(
    ("kind", "option", "value"),
    [
        (GROUP, "consumer.session.timeout.ms", "50000"),
        (CLIENT_METRICS, "interval.ms", "500"),
        (CLIENT_METRICS, "metrics", "a," * 100 + "b"),
    ],
)
def test_what_has_options_is_not_without_number(kind: int, option: str, value: str) -> None:
    state = small()

    assert_full(
        [codes_of(state, change(kind, f"g{each}", (SET, option, value))) for each in range(MANY)]
    )


def test_long_names_take_room() -> None:
    state = small()
    option = (SET, "consumer.session.timeout.ms", "50000")

    assert_full([codes_of(state, change(GROUP, f"{each}{LONG}", option)) for each in range(10)])


def test_unknown_options_of_a_node_are_not_without_number() -> None:
    state = small()

    assert_full(
        [codes_of(state, change(BROKER, "1", (SET, f"my.{each}", ""))) for each in range(MANY)]
    )


def test_a_node_has_not_names_without_number() -> None:
    state = small()

    codes = [
        codes_of(state, change(BROKER, "0" * each * 100 + "1", (SET, "my.own", "")))
        for each in range(100)
    ]

    assert_full(codes)


def test_options_of_topics_are_not_without_number() -> None:
    state = small()
    for each in range(10):
        state.topics.create(f"t{each}")
    option = (SET, "leader.replication.throttled.replicas", REPLICAS)

    codes = [codes_of(state, change(TOPIC, f"t{each}", option)) for each in range(10)]

    assert codes == [0] + [PolicyViolation.code] * 9
    assert state.topics.by_name["t1"].configs == {}


@pytest.mark.parametrize("validate_only", [False, True])
def test_options_of_new_topics_are_not_without_number(validate_only: bool) -> None:
    state = small()
    options = {"leader.replication.throttled.replicas": "1:1"}
    topics = [topic(f"t{each}", configs=options) for each in range(MANY)]

    results = call(state, create(*topics, validate_only=validate_only)).topics

    assert_full([each.error_code for each in results])
    assert (state.room.used == 0) == validate_only


def test_a_change_that_is_only_tried_takes_no_room() -> None:
    state = small()
    option = (SET, "consumer.session.timeout.ms", "50000")

    codes = [
        codes_of(state, change(GROUP, f"g{each}", option, validate_only=True)) for each in range(5)
    ]

    assert codes == [0] * 5
    assert state.room.used == 0


def test_options_that_are_there_can_be_changed_and_taken_away_when_nothing_more_fits() -> None:
    state = small()
    option = "consumer.session.timeout.ms"
    assert any(
        codes_of(state, change(GROUP, f"g{each}", (SET, option, "50000"))) for each in range(MANY)
    )

    assert codes_of(state, change(GROUP, "g0", (SET, option, "50001"))) == 0
    assert codes_of(state, change(GROUP, "g1", (DELETE, option, None))) == 0
    assert codes_of(state, change(GROUP, "new", (SET, option, "50000"))) == 0


def test_what_is_set_no_longer_gives_all_back() -> None:
    state = small()
    group, metrics, node = "consumer.session.timeout.ms", "interval.ms", "my.own"
    call(state, create(topic("t", configs={"retention.ms": "5"}), topic("u")))
    for how, value in ((SET, "50000"), (SET, "6000"), (DELETE, None)):
        codes_of(state, change(GROUP, "g", (how, group, value and "50000")))
        codes_of(state, change(CLIENT_METRICS, "m", (how, metrics, value)))
        codes_of(state, change(BROKER, "1", (how, node, value)))
        codes_of(state, change(BROKER, "", (how, node, value)))
        codes_of(state, change(TOPIC, "u", (how, "retention.ms", value)))
    call(state, alter(TOPIC, "t", {"flush.ms": "7"}))

    call(state, delete("t"))

    assert state.room.used == 0


def test_topics_of_kafkas_own_are_made_when_nothing_more_fits() -> None:
    state = made(memory_max_state_bytes=1)

    state.topics.auto_create("__consumer_offsets")

    assert state.room.used == 0


# Users of SCRAM


def put(name: str, salt: bytes = b"pepper") -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=name, mechanism=SHA_256, iterations=4_096, salt=salt, salted_password=b"key"
    )


def altered(
    state: State, *users: ScramCredentialUpsertion, without: tuple[str, ...] = ()
) -> dict[str, int]:
    deletions = [ScramCredentialDeletion(name=name, mechanism=SHA_256) for name in without]
    request = AlterUserScramCredentialsRequest(deletions=deletions, upsertions=list(users))
    return {each.user: each.error_code for each in call(state, request).results}


def test_users_are_not_without_number() -> None:
    state = small()

    codes = altered(state, *(put(f"u{each}") for each in range(MANY)))

    assert_full(list(codes.values()))
    assert len(state.users.scram[SHA_256]) == list(codes.values()).count(0)


def test_salts_are_not_without_length() -> None:
    state = small()

    assert altered(state, put("u"), put("v", bytes(SMALL))) == {"u": 0, "v": PolicyViolation.code}
    assert altered(state, put("u", bytes(SMALL))) == {"u": PolicyViolation.code}
    assert state.users.scram[SHA_256]["u"].salt == b"pepper"


def test_users_who_are_there_can_be_changed_and_go_when_nothing_more_fits() -> None:
    state = small()
    altered(state, *(put(f"u{each}") for each in range(MANY)))

    assert altered(state, put("u0", b"paprik")) == {"u0": 0}
    assert altered(state, without=("u1",)) == {"u1": 0}
    assert altered(state, put("v1")) == {"v1": 0}


def test_users_who_go_give_all_back() -> None:
    state = small()
    altered(state, put("u"), put("v"))
    altered(state, put("u", b"a longer one"))

    altered(state, without=("u", "v"))

    assert state.room.used == 0
