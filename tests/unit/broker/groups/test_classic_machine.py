"""Clients that behave at random, and a group that must never get stuck on them."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kafka_aio.broker.call import Call
from kafka_aio.broker.groups.classic_membership import Phase
from kafka_aio.errors import (
    FencedInstanceId,
    IllegalGeneration,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMemberId,
)
from kafka_aio.protocol.messages.groups import JoinGroupResponse, MemberIdentity, SyncGroupResponse
from tests.unit.broker.clusters import made
from tests.unit.broker.groups.classic import heartbeat, join, leave, sync, wanting

SESSION = 10.0
REBALANCE = 15.0
NAMES = ["s", "t"]
MOST = 5
WHICH = strategies.integers(0, MOST - 1)


@dataclass(eq=False)
class Client:
    """One client, with what it was told. It has one request under way at most, as clients do."""

    instance: str | None
    version: int
    member_id: str = ""
    generation: int = -1
    leads: list[str] | None = None
    """The members, if it has to assign the partitions."""
    has_assignment: bool = False
    wants: int = 0
    waiting: Call | None = None
    generations: list[int] = field(default_factory=list)

    def reset(self) -> None:
        self.member_id, self.generation, self.has_assignment = "", -1, False
        self.generations.clear()


class Groups(RuleBasedStateMachine):
    """Requests of clients in any order, time that passes, and what was answered."""

    def __init__(self) -> None:
        super().__init__()
        self.state = made(group_initial_rebalance_delay_ms=3000)
        self.now = 0.0
        self.all: list[Client] = []
        self.sent: dict[int, Call] = {}
        self.gone: set[int] = set()

    # What clients do

    @precondition(lambda self: len(self.all) < MOST)
    @rule(
        instance=strategies.sampled_from([None, None, *NAMES]),
        version=strategies.sampled_from([3, 4, 8, 9]),
    )
    def begin(self, instance: str | None, version: int) -> None:
        self.all.append(Client(instance if version >= 5 else None, version))

    @precondition(lambda self: self.all)
    @rule(which=WHICH, changes=strategies.booleans())
    def join(self, which: int, changes: bool) -> None:
        client = self._one(which)
        if client.waiting is None:
            client.wants += changes
            self._wait(client, self._join(client))
            self._hear()

    @precondition(lambda self: self.all)
    @rule(which=WHICH)
    def sync(self, which: int) -> None:
        client = self._one(which)
        if client.waiting is None and client.member_id:
            self._wait(client, self._sync(client))
            self._hear()

    @precondition(lambda self: self.all)
    @rule(which=WHICH, offset=strategies.sampled_from([0, 0, 0, -1, 1]))
    def heartbeat(self, which: int, offset: int) -> None:
        client = self._one(which)
        if client.waiting is None and client.member_id:
            self._beat(client, client.generation + offset)

    @precondition(lambda self: self.all)
    @rule(which=WHICH)
    def leave(self, which: int) -> None:
        client = self._one(which)
        if client.waiting is None and client.member_id:
            identity = MemberIdentity(member_id=client.member_id, group_instance_id=client.instance)
            leave(self.state, identity, now=self.now)
            client.reset()
            self._hear()

    @rule(name=strategies.sampled_from(NAMES))
    def dismiss(self, name: str) -> None:
        leave(self.state, MemberIdentity(member_id="", group_instance_id=name), now=self.now)
        self._hear()

    @precondition(lambda self: self.all)
    @rule(which=WHICH)
    def vanish(self, which: int) -> None:
        self._remove(self._one(which))

    @precondition(lambda self: self.all)
    @rule(which=WHICH)
    def lose_the_answer(self, which: int) -> None:
        """Its connection is gone; the client goes on with a new one."""
        client = self._one(which)
        if client.waiting is not None:
            self.gone.add(id(client.waiting))
            client.waiting = None

    @rule(seconds=strategies.sampled_from([0.0, 0.5, 3.0, 5.0, 9.9, 10.1, 16.0, 301.0]))
    def wait(self, seconds: float) -> None:
        self._pass(seconds)

    # What must be true

    @invariant()
    def every_call_is_answered_once_or_waits(self) -> None:
        group = self.state.groups.by_id.get("g")
        kept: set[int] = set()
        if group is not None and group.kind == "classic":
            for member in group.membership.members:
                kept |= {id(call) for call in (member.joining, member.syncing) if call}
        # Who has left its connection may still be waited for: the broker does not know.
        waiting = {id(client.waiting) for client in self.all if client.waiting}
        assert waiting <= kept <= waiting | self.gone

    @invariant()
    def the_leader_is_a_member(self) -> None:
        group = self.state.groups.by_id.get("g")
        if group is not None and group.kind == "classic":
            members = group.membership.members
            assert (members.leader in members.by_id) if members else not members.leader

    @precondition(lambda self: self.all)
    @rule()
    def all_behave(self) -> None:
        """If all do what they should for long enough, all are in one generation."""
        names: set[str] = set()
        for client in self.all[::-1]:  # of two with one name, the newer one goes on
            if client.instance in names:
                self._remove(client)
            elif client.instance is not None:
                names.add(client.instance)
        for _ in range(int((REBALANCE + SESSION + 303) * 2)):
            for client in self.all:
                self._behave(client)
            if self._is_settled():
                break
            self._pass(0.5)

        membership = self.state.groups.classic("g").membership
        assert membership.phase is Phase.STABLE
        assert {client.generation for client in self.all} == {membership.generation}
        assert {client.member_id for client in self.all} == set(membership.members.by_id)
        assert all(client.has_assignment for client in self.all)

    def teardown(self) -> None:
        """When all are gone for long, nothing is left of the group."""
        self.all.clear()
        for _ in range(100):
            self._pass(20.0)

        assert "g" not in self.state.groups.by_id
        assert self.state.room.used == 0
        assert not self.sent, "somebody waits for ever"

    # How

    def _one(self, which: int) -> Client:
        return self.all[which % len(self.all)]

    def _remove(self, client: Client) -> None:
        self.all.remove(client)
        if client.waiting is not None:
            self.gone.add(id(client.waiting))

    def _is_settled(self) -> bool:
        group = self.state.groups.by_id.get("g")
        return (
            group is not None
            and group.kind == "classic"
            and group.membership.phase is Phase.STABLE
            and len(group.membership.members) == len(self.all)
            and all(client.has_assignment and client.waiting is None for client in self.all)
            and {client.generation for client in self.all} == {group.membership.generation}
        )

    def _behave(self, client: Client) -> None:
        if client.waiting is not None:
            return
        if client.generation < 0:
            self._wait(client, self._join(client))
        elif not client.has_assignment:
            self._wait(client, self._sync(client))
        else:
            self._beat(client, client.generation)
        self._hear()

    def _join(self, client: Client) -> Call:
        return join(
            self.state,
            client.member_id,
            instance=client.instance,
            protocols={"range": wanting(str(client.wants))},
            session=SESSION,
            rebalance=REBALANCE,
            version=client.version,
            now=self.now,
        )

    def _sync(self, client: Client) -> Call:
        assignments = dict.fromkeys(client.leads or (), b"x")
        return sync(
            self.state,
            client.member_id,
            client.generation,
            assignments,
            instance=client.instance,
            now=self.now,
        )

    def _beat(self, client: Client, generation: int) -> None:
        code = heartbeat(self.state, client.member_id, generation, client.instance, now=self.now)
        if generation == client.generation:
            self._refused(client, code)

    def _wait(self, client: Client, call: Call) -> None:
        client.waiting = call
        self.sent[id(call)] = call

    def _pass(self, seconds: float) -> None:
        end = self.now + seconds
        while self.state.agenda.next_at <= end:
            self.state.agenda.run(now=self.state.agenda.next_at)
            self._hear()
        self.now = end

    def _hear(self) -> None:
        """Give each answer to whom it is for."""
        answers, self.state.answers = self.state.answers, []
        for call, response in answers:
            assert self.sent.pop(id(call), None) is call, "answered twice"
            client = next((each for each in self.all if each.waiting is call), None)
            if client is None:
                self.gone.discard(id(call))
                continue
            client.waiting = None
            if isinstance(response, JoinGroupResponse):
                self._joined(client, response)
            else:
                assert isinstance(response, SyncGroupResponse)
                self._refused(client, response.error_code)
                client.has_assignment = response.error_code == 0

    def _joined(self, client: Client, response: JoinGroupResponse) -> None:
        if response.error_code == MemberIdRequired.code:
            client.member_id = response.member_id
            return
        self._refused(client, response.error_code)
        if response.error_code:
            return
        assert response.generation_id >= max(client.generations, default=0), "it went back"
        client.generations.append(response.generation_id)
        client.member_id, client.generation = response.member_id, response.generation_id
        client.has_assignment = False
        is_leader = response.leader == response.member_id and not response.skip_assignment
        client.leads = [each.member_id for each in response.members] if is_leader else None

    def _refused(self, client: Client, code: int) -> None:
        assert code in (
            0,
            RebalanceInProgress.code,
            IllegalGeneration.code,
            UnknownMemberId.code,
            FencedInstanceId.code,
        )
        if code in (UnknownMemberId.code, FencedInstanceId.code):
            client.reset()
        elif code:
            client.generation, client.has_assignment = -1, False


TestGroups = Groups.TestCase
TestGroups.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)
