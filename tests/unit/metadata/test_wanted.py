from __future__ import annotations

from math import inf

import pytest

from kafka_aio.metadata import Leader
from kafka_aio.protocol.messages.metadata import MetadataResponseTopic
from tests.unit.metadata.samples import A0, answer, ask, led, names, new, tell, tell_all, topic


def test_the_first_request_is_for_the_wanted_topics_in_their_order() -> None:
    metadata = new("b", "a", "b")

    request = metadata.request(now=0.0)

    assert names(request) == ["b", "a"]
    assert request.allow_auto_topic_creation


def test_topics_need_not_be_created_by_asking() -> None:
    assert not new(create_topics=False).request(now=0.0).allow_auto_topic_creation


def test_with_nothing_wanted_only_the_nodes_are_asked_for() -> None:
    assert ask(new()) == []


def test_a_new_topic_is_asked_for_at_once_and_alone() -> None:
    metadata = new("a")
    tell(metadata, answer(led("a", {0: 1})), now=100.0)
    ask(metadata, now=100.0)
    tell(metadata, answer(led("a", {0: 1})), now=100.0)

    assert metadata.want(["b"], now=100.0)
    assert metadata.refresh_at == -inf
    assert ask(metadata, now=100.0) == ["b"]
    tell(metadata, answer(led("b", {0: 1})), requested=["b"], now=100.0)
    assert metadata.refresh_at == 400.0
    assert metadata.topics == ["a", "b"]


def test_a_new_topic_goes_with_the_others_when_they_are_due() -> None:
    metadata = new("a")
    ask(metadata)
    tell(metadata, answer(led("a", {0: 1})), now=100.0)
    metadata.want(["b"], now=100.0)

    assert ask(metadata, now=400.0) == ["a", "b"]


def test_a_topic_wanted_while_a_request_is_under_way_is_asked_for_next() -> None:
    metadata = new("a")
    request = metadata.request(now=100.0)
    metadata.want(["b"], now=100.0)

    tell(metadata, answer(led("a", {0: 1})), requested=[str(each) for each in names(request) or ()])

    assert metadata.refresh_at == -inf
    assert ask(metadata, now=101.0) == ["a", "b"]


def test_to_want_what_is_wanted_or_known_already_asks_for_nothing() -> None:
    metadata = new("a")
    ask(metadata)
    tell_all(metadata, answer(led("a", {0: 1}), led("b", {0: 1})), now=100.0)

    assert not metadata.want(["a", "b"], now=100.0)
    assert metadata.refresh_at == 400.0
    assert list(metadata.wanted) == ["a", "b"]


def test_a_new_topic_with_an_error_is_not_new_any_more() -> None:
    metadata = new()
    ask(metadata)
    tell(metadata, answer(), now=100.0)
    metadata.want(["a"], now=100.0)

    ask(metadata, now=100.0)
    tell(metadata, answer(topic("a", code=17)), now=100.0)

    assert metadata.refresh_at == 400.0


def test_a_topic_out_of_use_is_not_asked_for_any_more() -> None:
    metadata = new("a", "b", topic_idle=60.0)
    ask(metadata)
    tell(metadata, answer(led("a", {0: 1}), led("b", {0: 1})), now=0.0)
    metadata.touch("b", now=30.0)
    metadata.touch("c", now=30.0)

    assert ask(metadata, now=59.9) == ["a", "b"]
    assert ask(metadata, now=60.0) == ["b"]
    tell(metadata, answer(led("b", {0: 1})), now=60.0)
    assert metadata.topics == ["b"]
    assert list(metadata.wanted) == ["b"]


def test_a_topic_that_is_wanted_again_is_in_use() -> None:
    metadata = new("a", topic_idle=60.0)
    tell(metadata, answer(led("a", {0: 1})))
    metadata.want(["a"], now=50.0)

    assert ask(metadata, now=100.0) == ["a"]


def test_a_new_topic_does_not_go_out_of_use_before_it_is_answered() -> None:
    metadata = new("a", topic_idle=60.0)

    assert ask(metadata, now=1_000.0) == ["a"]


def test_a_topic_can_be_unwanted() -> None:
    metadata = new("a", "b")

    metadata.unwant(["b", "c"])

    assert ask(metadata) == ["a"]


def test_a_new_topic_that_is_unwanted_is_not_asked_for() -> None:
    metadata = new()
    ask(metadata)
    tell(metadata, answer(), now=100.0)
    metadata.want(["a"], now=100.0)

    metadata.unwant(["a"])

    assert metadata.refresh_at == 400.0
    assert ask(metadata, now=100.0) == []


def test_all_topics_can_be_wanted() -> None:
    metadata = new("a")
    ask(metadata)
    tell(metadata, answer(led("a", {0: 1})), now=100.0)

    metadata.want_all()
    due_at = metadata.refresh_at
    request = ask(metadata, now=101.0)
    tell_all(metadata, answer(led("a", {0: 1}), led("b", {0: 1})), now=101.0)
    metadata.want_all()

    assert due_at == 101.0
    assert request is None
    assert metadata.topics == ["a", "b"]
    assert metadata.refresh_at == 401.0


def test_with_all_wanted_an_answer_about_some_is_not_about_all() -> None:
    metadata = new("a")
    metadata.want_all()
    ask(metadata)
    tell_all(metadata, answer(led("a", {0: 1}), led("b", {0: 1})), now=100.0)

    tell(metadata, answer(led("a", {0: 2})), requested=["a"], now=200.0)

    assert metadata.topics == ["b", "a"]
    assert metadata.refresh_at == 400.0


def test_all_topics_can_be_wanted_no_more() -> None:
    metadata = new("a")
    metadata.want_all()
    metadata.want_all(False)

    assert ask(metadata) == ["a"]


@pytest.mark.parametrize(
    "unsettled",
    [
        topic("a", code=3),
        topic("a", code=5),
        topic("a"),
        led("a", {0: 1, 1: -1}),
        led("a", {0: 1, 1: 7}),
    ],
)
def test_a_wanted_topic_that_is_on_its_way_is_asked_for_again_soon(
    unsettled: MetadataResponseTopic,
) -> None:
    metadata = new("a")
    ask(metadata, now=100.0)

    tell(metadata, answer(unsettled), now=100.0)

    assert metadata.refresh_at == 101.0


@pytest.mark.parametrize("code", [17, 29])
def test_a_topic_that_is_refused_is_not_asked_for_again_soon(code: int) -> None:
    metadata = new("a")
    ask(metadata, now=100.0)

    tell(metadata, answer(topic("a", code=code)), now=100.0)

    assert metadata.refresh_at == 400.0


def test_a_topic_that_nobody_wants_may_be_without_a_leader() -> None:
    metadata = new()
    metadata.want_all()
    ask(metadata, now=100.0)

    tell_all(metadata, answer(led("a", {0: -1})), now=100.0)

    assert metadata.refresh_at == 400.0


def test_a_topic_that_does_not_come_is_asked_for_less_and_less_often() -> None:
    metadata = new("a")
    pauses = []
    now = 100.0
    for _ in range(6):
        ask(metadata, now=now)
        tell(metadata, answer(topic("a", code=3)), now=now)
        pauses.append(metadata.refresh_at - now)
        now = metadata.refresh_at

    assert pauses == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_a_leader_that_flaps_within_an_epoch_does_not_make_us_ask_more_often() -> None:
    metadata = new("a")
    pauses = []
    now = 100.0
    for attempt in range(6):
        ask(metadata, now=now)
        tell(metadata, answer(led("a", {0: 1 + attempt % 2}, epoch=5)), now=now)
        metadata.request_refresh()
        pauses.append(metadata.refresh_at - now)
        now = metadata.refresh_at

    assert pauses == [1.0, 1.0, 2.0, 4.0, 8.0, 10.0]


def test_a_leader_that_flaps_with_each_epoch_is_followed_at_the_first_pause() -> None:
    metadata = new("a")
    now = 100.0
    for epoch in range(20):
        ask(metadata, now=now)
        tell(metadata, answer(led("a", {0: 1 + epoch % 2}, epoch=epoch)), now=now)
        metadata.request_refresh()

        assert metadata.leader(A0) == Leader(1 + epoch % 2, epoch)
        assert metadata.refresh_at == now + 1.0
        now += 1.0


def test_a_refresh_can_be_asked_for() -> None:
    metadata = new("a")
    ask(metadata)
    tell(metadata, answer(led("a", {0: 1})), now=100.0)

    metadata.request_refresh()

    assert metadata.refresh_at == 101.0
    assert ask(metadata, now=101.0) == ["a"]


def test_a_failure_makes_the_next_attempt_wait() -> None:
    metadata = new("a")

    metadata.failed(now=100.0, jitter=0.0)

    assert metadata.refresh_at == 101.0


@pytest.mark.parametrize("name", ["", "\ud800", "x" * 32_768, "ü" * 16_384])
def test_what_cannot_be_sent_as_a_name_is_not_wanted(name: str) -> None:
    metadata = new()

    with pytest.raises(ValueError, match="cannot be the name of a topic"):
        metadata.want(["a", name], now=0.0)
    assert list(metadata.wanted) == []


def test_a_name_that_is_no_text_is_not_wanted() -> None:
    metadata = new()

    with pytest.raises(TypeError, match="a topic is named by a str, not <bytes>"):
        metadata.want(["a", b"b"], now=0.0)  # type: ignore[list-item]  # it is the mistake
    assert list(metadata.wanted) == []
