"""Random lives of a fetch session, against the sessions of a broker (B48)."""

from __future__ import annotations

from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from kafka_aio.broker.sessions import NodeSessions, Plan, Reading
from kafka_aio.consumer.sessions import Ask, Session, Terms
from kafka_aio.errors import BrokerError
from kafka_aio.protocol.codec import decode, encode
from kafka_aio.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kafka_aio.protocol.schema import Uuid
from kafka_aio.types import TopicPartition

TOPICS = ["a", "b"]
TERMS = Terms(max_wait=0.5, min_bytes=1, max_bytes=1_000)

topics = st.sampled_from(TOPICS)
partitions = st.builds(TopicPartition, topics, st.integers(0, 1))
asks = st.builds(Ask, st.integers(0, 1), st.integers(0, 1), st.just(100))
wishes = st.dictionaries(partitions, asks, min_size=1)
fates = st.sampled_from(["", "", "", "", "unsent", "unread", "extra", "missing"])


class Sessions(RuleBasedStateMachine):
    """A client and a node. What the node reads is what the client wants, whatever fails."""

    @initialize(version=st.sampled_from([12, 17]), slots=st.sampled_from([0, 1_000]))
    def begin(self, version: int, slots: int) -> None:
        self.session = Session(1)
        self.version = version
        self.slots = slots
        self.restart()
        self.wanted: dict[TopicPartition, Ask] = {}
        self.made = 0
        self.ids: dict[str, Uuid] = {}
        self.names: dict[Uuid, str] = {}
        for topic in TOPICS:
            self.create(topic)
        self.is_doubtful = False

    def restart(self) -> None:
        self.node = NodeSessions(self.slots, Random(7), most=1_000)

    def create(self, topic: str) -> None:
        self.made += 1
        self.ids[topic] = Uuid(self.made.to_bytes(16, "big"))
        self.names[self.ids[topic]] = topic

    @rule(topic=topics)
    def create_anew(self, topic: str) -> None:
        self.create(topic)

    @rule(topic=topics)
    def lose_id(self, topic: str) -> None:
        self.ids.pop(topic, None)

    @rule()
    def node_goes_down(self) -> None:
        self.restart()
        self.is_doubtful = True

    @rule(wanted=wishes, fate=fates, data=st.data())
    def exchange(self, wanted: dict[TopicPartition, Ask], fate: str, data: st.DataObject) -> None:
        self.wanted = wanted
        request, version = self.send()
        if fate == "unsent":
            self.session.failed()
            return
        response = self.handle(request, version, data)
        if fate == "unread":
            self.session.failed()
            return
        if fate == "extra":
            response.responses.append(FetchableTopicResponse(topic="z", partitions=[told(0)]))
        if fate == "missing":
            response.responses[:] = response.responses[1:]
        heard = self.session.answered(response)

        assert heard.partitions.keys() <= self.wanted.keys()
        if fate == "extra" and not response.error_code:
            assert heard.error is not None
        if fate in ("extra", "missing"):
            return
        assert (heard.error is not None) == bool(response.error_code)
        if heard.error is None and not self.session.is_full:
            assert self.read(self.known()) == self.wanted

    @rule(wishes=st.lists(wishes, min_size=2, max_size=5), data=st.data())
    def calm_exchanges_bring_good_answers(
        self, wishes: list[dict[TopicPartition, Ask]], data: st.DataObject
    ) -> None:
        errors = []
        for self.wanted in wishes:
            request, version = self.send()
            errors.append(self.session.answered(self.handle(request, version, data)).error)

        assert not any(errors[1:])
        assert self.slots == 0 or not self.session.is_full

    @rule()
    def close(self) -> None:
        request = self.session.close()
        known = self.session_ids()
        if request is not None:
            Plan(self.node, request, by_id=self.version > 12, now=0)

            assert request.session_id not in self.session_ids()
            assert known - {request.session_id} == self.session_ids()

    def send(self) -> tuple[FetchRequest, int]:
        request, at_most = self.session.request(self.wanted, topic_id=self.ids.get, terms=TERMS)
        version = min(self.version, at_most or self.version)
        return decode(FetchRequest, encode(request, version), version), version

    def handle(self, request: FetchRequest, version: int, data: st.DataObject) -> FetchResponse:
        """Let the node answer; what it reads is checked."""
        by_id = version > 12
        try:
            plan = Plan(self.node, request, by_id=by_id, now=0)
        except BrokerError as error:
            if not self.is_doubtful:
                raise
            self.is_doubtful = False
            return FetchResponse(throttle_time_ms=0, error_code=error.code, responses=[])
        assert self.read(plan.readings) == self.wanted
        if plan.session is None:
            self.is_doubtful = False
        is_new = st.booleans() if plan.session else st.just(True)
        results = [(each, told(each.wanted.partition, data.draw(is_new))) for each in plan.readings]
        session_id, news = plan.tell(results)
        response = FetchResponse(
            throttle_time_ms=0,
            session_id=session_id,
            responses=[
                FetchableTopicResponse(topic=each.key[0], topic_id=each.key[1], partitions=[said])
                for each, said in news
            ],
        )
        return decode(FetchResponse, encode(response, version), version)

    def session_ids(self) -> set[int]:
        return set(self.node._by_id)

    def known(self) -> list[Reading]:
        session = self.node.get(self.session._id)
        assert session is not None
        assert session.epoch == self.session._epoch
        return list(session.readings.values())

    def read(self, readings: list[Reading]) -> dict[TopicPartition, Ask]:
        """What the node reads, by name; each topic as the client last knew it."""
        found = {}
        for reading in readings:
            name, topic_id, number = reading.key
            wanted = reading.wanted
            if not name:
                name = self.names[topic_id]
                assert self.ids[name] == topic_id
            partition = TopicPartition(name, number)
            assert partition not in found
            found[partition] = Ask(
                wanted.fetch_offset, wanted.current_leader_epoch, wanted.partition_max_bytes
            )
        return found


def told(number: int, is_new: bool = True) -> PartitionData:
    return PartitionData(
        partition_index=number,
        error_code=0,
        high_watermark=9,
        aborted_transactions=None,
        records=b"x" if is_new else None,
    )


TestSessions = Sessions.TestCase
TestSessions.settings = settings(max_examples=60, stateful_step_count=20, deadline=None)
