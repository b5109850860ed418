from __future__ import annotations

from dataclasses import dataclass
from math import inf

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kafka_aio.errors import ProtocolError
from kafka_aio.metadata import Leader
from kafka_aio.protocol.messages.metadata import MetadataResponse
from kafka_aio.types import TopicPartition
from tests.unit.metadata.samples import (
    BOOTSTRAP,
    answer,
    ask,
    broker,
    endpoints,
    new,
    partition,
    state,
    tell,
    tell_all,
    topic,
)

PARTITIONS = range(2)
NODES = range(3)


@dataclass(frozen=True)
class View:
    """What a node of the cluster believes at some time."""

    leaders: tuple[Leader, ...]
    nodes: frozenset[int] = frozenset(NODES)

    def answer(self, *, code: int = 0) -> MetadataResponse:
        partitions = [partition(at, *leader) for at, leader in enumerate(self.leaders)]
        told = topic("a", code=code) if code else topic("a", *partitions)
        return answer(told, brokers=[broker(node) for node in sorted(self.nodes)])


class AnyOrder(RuleBasedStateMachine):
    """A cluster that elects leaders, and answers from nodes that are behind, in any order."""

    at = st.sampled_from(PARTITIONS)

    def __init__(self) -> None:
        super().__init__()
        self.metadata = new("a")
        self.now = 0.0
        self.views = [View(tuple(Leader(0, 0) for _ in PARTITIONS))]
        self.elected = {(at, 0): 0 for at in PARTITIONS}
        self.seen = dict.fromkeys(PARTITIONS, -1)

    @rule(at=at, node=st.sampled_from(NODES))
    def an_election(self, at: int, node: int) -> None:
        leaders = list(self.views[-1].leaders)
        leaders[at] = Leader(node, leaders[at].epoch + 1)
        self.elected[at, leaders[at].epoch] = node
        self.views.append(View(tuple(leaders), self.views[-1].nodes))

    @rule(nodes=st.frozensets(st.sampled_from(NODES), min_size=1))
    def nodes_come_and_go(self, nodes: frozenset[int]) -> None:
        self.views.append(View(self.views[-1].leaders, nodes))

    @rule(data=st.data(), about_all=st.booleans())
    def an_answer(self, data: st.DataObject, about_all: bool) -> None:
        view = data.draw(st.sampled_from(self.views))
        version = self.metadata.version
        ask(self.metadata, now=self.now)
        (tell_all if about_all else tell)(self.metadata, view.answer(), now=self.now)
        assert self.metadata.version > version
        assert self.metadata.partition_count("a") == len(PARTITIONS)
        assert self.metadata.refresh_at > self.now

    @rule()
    def the_newest_answer(self) -> None:
        view = self.views[-1]
        tell(self.metadata, view.answer(), now=self.now)
        for at, leader in enumerate(view.leaders):
            expected = leader if leader.node in view.nodes else None
            assert self.metadata.leader(TopicPartition("a", at)) == expected

    @rule(code=st.sampled_from([3, 5, 17, 29]))
    def an_error(self, code: int) -> None:
        tell(self.metadata, self.views[-1].answer(code=code), now=self.now)
        assert self.metadata.topic_error("a") == code
        assert self.metadata.partition_count("a") is None

    @rule(has_broker=st.booleans())
    def nonsense(self, has_broker: bool) -> None:
        nonsense = answer(topic("a", partition(-1))) if has_broker else answer(brokers=[])
        before = state(self.metadata)
        with pytest.raises(ProtocolError):
            tell(self.metadata, nonsense, now=self.now)
        assert state(self.metadata) == before

    @rule(data=st.data(), at=at, has_address=st.booleans())
    def a_hint(self, data: st.DataObject, at: int, has_address: bool) -> None:
        leader = data.draw(st.sampled_from(self.views)).leaders[at]
        addresses = endpoints((leader.node, "kafka", 9092)) if has_address else []
        before = self.metadata.epoch(TopicPartition("a", at))
        update = self.metadata.hint({TopicPartition("a", at): leader}, addresses)
        if update.new_leaders:
            assert leader.epoch > before
            assert self.metadata.leader(TopicPartition("a", at)) == leader

    @rule(data=st.data(), at=at)
    def an_epoch_elsewhere(self, data: st.DataObject, at: int) -> None:
        epoch = data.draw(st.sampled_from(self.views)).leaders[at].epoch
        if self.metadata.saw_epoch(TopicPartition("a", at), epoch):
            assert self.metadata.leader(TopicPartition("a", at)) is None

    @rule(seconds=st.floats(0.0, 400.0))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(jitter=st.floats(-1.0, 1.0))
    def an_attempt_fails(self, jitter: float) -> None:
        self.metadata.failed(now=self.now, jitter=jitter)

    @rule()
    def all_begins_again(self) -> None:
        self.metadata.bootstrap(BOOTSTRAP)
        assert self.metadata.topics == []

    @invariant()
    def a_leader_is_one_that_was_elected_and_can_be_dialled(self) -> None:
        for at in PARTITIONS:
            leader = self.metadata.leader(TopicPartition("a", at))
            if leader is not None:
                assert self.elected[at, leader.epoch] == leader.node
                assert self.metadata.epoch(TopicPartition("a", at)) == leader.epoch
                assert leader.node in self.metadata.nodes

    @invariant()
    def no_epoch_goes_back(self) -> None:
        for at in PARTITIONS:
            epoch = self.metadata.epoch(TopicPartition("a", at))
            assert epoch >= self.seen[at]
            self.seen[at] = epoch

    @invariant()
    def users_see_the_same_leaders(self) -> None:
        for info in self.metadata.partitions("a") or ():
            leader = self.metadata.leader(info.topic_partition)
            assert info.leader == (self.metadata.node(leader.node) if leader else None)

    @invariant()
    def there_is_always_a_time_to_wait_for(self) -> None:
        assert self.metadata.refresh_at < inf


TestAnyOrder = AnyOrder.TestCase
