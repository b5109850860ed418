"""The Coordinator: a task that carries out what the membership of a group asks for.

    wait until something is due -> poll the membership -> begin each step -> tell it of the end

    Send                    a request to the coordinator, beside everything else
    ShareOut                metadata of all topics -> the assignor
    Revoke, Lose, Assign    the user is done with what was handed over -> commit -> callback

Heartbeats wait for none of it. Code of the user's is called while nothing is handed over, one piece
at a time; what it raises is raised to who reads next, and the group goes on. Commits never come
through here, so callbacks can commit.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, Final

from kafka_aio.consumer.auto_committer import AutoCommitter
from kafka_aio.consumer.commits import NOBODY, Identity
from kafka_aio.consumer.committer import Committer
from kafka_aio.consumer.handover import Handover
from kafka_aio.consumer.interest import Interest
from kafka_aio.consumer.membership.consumer import ConsumerMember
from kafka_aio.consumer.membership.member import (
    Assign,
    Lose,
    Membership,
    OfUser,
    Overdue,
    Revoke,
    Send,
    ShareOut,
    Step,
    Tell,
)
from kafka_aio.consumer.subscription import Subscription
from kafka_aio.consumer.user_code import UserCode
from kafka_aio.errors import (
    CoordinatorNotAvailable,
    KafkaError,
    NotCoordinator,
    UserCodeError,
)
from kafka_aio.net import clock, coordinators
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.coordinators import CoordinatorKind
from kafka_aio.net.tasks import Running, Tasks, Wakeup
from kafka_aio.protocol.messages.groups import JoinGroupRequest
from kafka_aio.protocol.schema import Request
from kafka_aio.types import ConsumerGroupMetadata, TopicPartition

if TYPE_CHECKING:
    from kafka_aio.config import ConsumerConfig

FAREWELL: Final = 0.1
"""So many seconds longer than it may does `leave` take to say so: others would have to wait for
our session to end."""
_MOVED: Final = (NotCoordinator.code, CoordinatorNotAvailable.code)

logger = logging.getLogger(__name__)


class Coordinator:
    """Keeps a consumer in its group, and its commits by itself going."""

    def __init__(  # noqa: PLR0913 - keyword-only
        self,
        cluster: Cluster,
        tasks: Tasks,
        subscription: Subscription,
        membership: Membership,
        config: ConsumerConfig,
        *,
        committer: Committer | None,
        handover: Handover,
        user_code: UserCode,
        tell: Callable[[], None] = lambda: None,
        handed_over: Callable[[], int] = lambda: 0,
        is_asking: Callable[[], bool] = lambda: False,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        """Make it; `run` is its task, and the committer has one of its own.

        Args:
            cluster: The cluster.
            tasks: The client's.
            subscription: What is wanted and owned.
            membership: Of either protocol, or of none.
            config: The client's.
            committer: Who commits: it is told who we are in the group. None without a group.
            handover: Where records change hands.
            user_code: Who calls the listener and the assignor.
            tell: Has the subscription told how far we are: called before positions are read.
            handed_over: How many records were: who takes them has asked for them.
            is_asking: Whether somebody waits for records: who does asks for them all the time.
            changed: Is told when the assignment is another.
        """
        self.listener: object = None
        """Who is told of partitions that come and go: any object, or None."""
        self.trouble = ""
        """Why the coordinator of the group does not answer; empty if it does."""
        self._cluster = cluster
        self._tasks = tasks
        self._membership = membership
        self._group_id = config.group_id or ""
        self._instance_id = config.group_instance_id
        self._subscription = subscription
        self._handover = handover
        self._committer = committer
        self._user_code = user_code
        self._tell = tell
        self._handed_over = handed_over
        self._is_asking = is_asking
        self._changed = changed
        self._seen = handed_over()
        self._coordinator = coordinators.Coordinator(CoordinatorKind.GROUP, self._group_id)
        self._interest = Interest(
            subscription,
            cluster.metadata,
            exclude_internal=config.exclude_internal_topics,
            by_rack=bool(config.client_rack),
        )
        self._request_timeout = config.request_timeout_ms / 1000
        self._patience = min(config.default_api_timeout_ms, config.max_poll_interval_ms) / 1000
        self._rng: random.Random = clock.rng()
        self._loop = asyncio.get_running_loop()
        self._wakeup = Wakeup()
        self._serving: Running | None = None  # a step of the user's
        self._leaves = 0
        self._put_off: list[OfUser] = []  # steps that came or ended while we leave
        self._leave_lock = asyncio.Lock()
        self._auto: AutoCommitter | None = None
        if committer is not None:
            committer.identity = self.identity
            committer.barred = lambda: membership.barred
            self._auto = AutoCommitter(committer, subscription, config, tell=tell, wake=self.wake)

    def __repr__(self) -> str:
        return f"<Coordinator of group {self._group_id!r}: {self._membership!r}>"

    # What the façade calls.

    @property
    def state(self) -> str:
        """What we do in the group, in a word."""
        return self._membership.state if self._subscription.is_by_group else "not subscribed"

    def wake(self) -> None:
        """There may be something to do."""
        self._wakeup.set()

    def subscribe(self) -> None:
        """The subscription is another: want that of the group.

        Raises:
            KafkaError: The protocol of the group does not allow it.
        """
        self._membership.subscribe(self._interest.wanted(), now=self._loop.time())
        self._follow_topics()
        self.wake()

    def asked(self, now: float) -> None:
        """Records are asked for; not by a callback, which would wait for itself."""
        self._user_code.check_caller("read from")
        before = self._membership.deadline
        self._asked(now)
        due_at = self._membership.deadline
        if due_at <= now or due_at < before:
            self.wake()

    def _asked(self, now: float) -> None:
        """While a callback runs, nobody can have records: if it takes too long, we are out."""
        if self._user_code.runs is None:
            self._membership.asked(now=now)

    def metadata_changed(self) -> None:
        """Something was learnt of the cluster: topics may match, or have changed."""
        now = self._loop.time()
        if self._interest.has_changed():
            self._membership.subscribe(self._interest.wanted(), now=now)
        if self._interest.must_share_out_anew(self._membership):
            self._membership.rejoin("the topics of the group have other partitions or racks")
        if isinstance(self._membership, ConsumerMember):
            self._membership.metadata_changed(now=now)
            if self._membership.unresolved:
                self._cluster.request_refresh()
        self.wake()

    def commit_ahead(self) -> None:
        """The assignment by hand is about to be another: commit what is dealt with of this one."""
        if self._auto is not None:
            self._auto.begin()
            self._auto.forget(self._subscription.assignment)

    def enforce_rebalance(self, reason: str = "") -> None:
        """Join again: for assignors that look at more than the members say."""
        self._membership.rejoin(reason or "the user asks for it")
        self.wake()

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Our place in the group, for transactions."""
        member_id, generation, instance_id = self.identity() or NOBODY
        return ConsumerGroupMetadata(self._group_id, generation, member_id, instance_id)

    def identity(self) -> Identity | None:
        """Who we are in the group; None while we should be a member and are not."""
        if not self._subscription.is_by_group:
            return NOBODY
        generation = self._membership.generation
        if generation < 0:
            return None
        return Identity(self._membership.member_id, generation, self._instance_id)

    # The task.

    async def run(self) -> None:
        """The task: for ever."""
        while True:
            if not self._tasks.is_closed:  # else nothing can be begun, and we are cancelled next
                self._turn(self._loop.time())
            due_at = inf if self._auto is None else self._auto.due_at
            await self._wakeup.wait(until=min(self._membership.deadline, due_at))

    def _turn(self, now: float) -> None:
        if self._is_asking() or self._seen != self._handed_over():
            self._seen = self._handed_over()
            self._asked(now)
        for step in self._membership.poll(now=now):
            self._begin(step)
        if self._is_out and len(self._subscription):  # none of it, until the user asks and is told
            self._subscription.revoking(self._subscription.assignment)
            self._handover.interrupt()
        self._follow_topics()
        if self._auto is not None:
            self._auto.turn(now=now)

    def _begin(self, step: Step) -> None:
        match step:
            case Send(request=JoinGroupRequest()) if self._leaves:
                pass  # it would end the generation in which we commit
            case Send():
                name = type(step.request).__name__
                self._tasks.spawn(partial(self._send, step), name=name)
            case ShareOut():
                self._tasks.spawn(partial(self._share_out, step), name="assignor")
            case Tell():
                self._handover.tell(step.error)
            case Overdue():
                callback, _ = self._user_code.runs or ("", 0)
                logger.warning(step.text(callback))
            case _ if self._leaves:
                self._put_off.append(step)
            case _:
                self._serving = self._tasks.spawn(partial(self._serve, step), name="rebalance")

    def _follow_topics(self) -> None:
        """Have the metadata know the topics that count for us."""
        now = self._loop.time()
        if self._interest.follow(self._membership, now=now):
            self._cluster.request_refresh()

    # Requests, and the leader's work.

    async def _send(self, step: Send) -> None:
        try:
            response = await self._cluster.send_to_coordinator(
                self._coordinator, step.request, timeout=step.timeout
            )
        except KafkaError as error:
            logger.info("group %r: %s", self._group_id, error)
            self.trouble = f"group {self._group_id!r}: {error}"
            now = self._loop.time()
            self._membership.failed(step.request, error, now=now, jitter=self._jitter())
        else:
            self.trouble = ""
            if response.error_code in _MOVED:
                self._cluster.coordinator_moved(self._coordinator)
            now = self._loop.time()
            self._membership.answered(step.request, response, now=now, jitter=self._jitter())
        self.wake()

    async def _share_out(self, step: ShareOut) -> None:
        try:
            if unknown := self._interest.unknown(step.topics):
                await self._cluster.refresh(unknown, timeout=self._request_timeout)
        except KafkaError as error:
            self._membership.shared_out(step, error, now=self._loop.time())
        else:
            topics = self._interest.share_out(step.topics)
            shares = self._user_code.assign(step, topics)
            self._membership.shared_out(step, shares, now=self._loop.time())
        self.wake()

    def _jitter(self) -> float:
        return self._rng.uniform(-1, 1)

    # Partitions that come and go.

    async def _serve(self, step: OfUser) -> None:
        """Carry out a step of the user's, once the user is done with what was handed over."""
        if not isinstance(step, Assign):
            self._subscription.revoking(step.partitions)
        try:
            await self._handover.stop()
            try:
                error = await self._carried_out(step)
            finally:
                self._handover.go_on()
            if error is not None:
                self._handover.tell(error)
        finally:
            self._serving = None
            if self._leaves:
                self._put_off.append(step)
            else:
                self._membership.done(step, now=self._loop.time())
            self.wake()

    async def _carried_out(self, step: OfUser) -> UserCodeError | None:
        if isinstance(step, Lose) or (isinstance(step, Revoke) and self._is_out):
            return await self._lost()  # perhaps while the user was waited for
        if isinstance(step, Revoke):
            return await self._let_go(step.partitions, until=self._loop.time() + self._patience)
        if not self._subscription.is_by_group:
            return None
        change = self._subscription.assigned(step.partitions)
        self._gone(change.removed)
        self._follow_topics()
        logger.info("group %r: assigned %s", self._group_id, _named(step.partitions))
        try:
            return await self._called("assigned", step.added)
        finally:
            if not self._is_out:  # it may have taken too long: then all is lost next
                self._subscription.release(step.partitions)
            self._changed()

    async def _lost(self, *, limit: float = inf) -> UserCodeError | None:
        """Whoever is out has lost all, and is told once."""
        partitions = tuple(sorted(self._subscription.assignment))
        self._give_up(partitions)
        error = await self._called("lost", partitions, limit=limit) if partitions else None
        self._gone(partitions)
        return error

    async def _let_go(
        self, partitions: Sequence[TopicPartition], *, until: float, limit: float = inf
    ) -> UserCodeError | None:
        """Commit, call the callback, and let go; commits that were begun come first, if they can.

        Args:
            partitions: What is let go.
            until: The end of the time for commits.
            limit: That for the callback.
        """
        if self._auto is not None:
            await self._auto.commit(until=until)
        error = await self._called("revoked", partitions, limit=limit)
        await self._wait_settled(until)
        self._give_up(partitions)
        self._gone(partitions)
        return error

    @property
    def _is_out(self) -> bool:
        """Whether we should be a member and are not."""
        return self._committer is not None and self.identity() is None

    async def _called(
        self, method: str, partitions: Sequence[TopicPartition], *, limit: float = inf
    ) -> UserCodeError | None:
        return await self._user_code.tell(self.listener, method, partitions, limit=limit)

    def _give_up(self, partitions: Sequence[TopicPartition]) -> None:
        """Whatever is not committed of them is not tried again: another may have committed more."""
        if self._committer is not None:
            self._committer.give_up(partitions)

    def _gone(self, partitions: Sequence[TopicPartition]) -> None:
        self._subscription.revoked(partitions)
        if self._auto is not None:
            self._auto.forget(partitions)
        self._changed()

    # Leaving.

    async def leave(
        self, *, reason: str, stays: bool | None = None, until: float
    ) -> UserCodeError | None:
        """Be out of the group: commit, call the callback, say so; all until that time of the loop.

        A coordinator that does not answer only costs time. Afterwards nothing is owned, also if it
        is cancelled; without a group, only commits are waited for.

        Returns:
            What the callback raised.

        Raises:
            StateError: It is called by such a callback.
        """
        self._user_code.check_caller()
        self._leaves += 1
        try:
            async with self._leave_lock:
                try:
                    await self._end_step(until)
                    error = await self._let_all_go(until)
                finally:  # whoever is cancelled has left all the same
                    saying = self._begin_to_say(self._membership.leave(reason, stays=stays), until)
                if saying is not None:
                    await saying.wait()
                await self._user_code.wait_called(until=until)
                return error
        finally:
            self._leaves -= 1
            put_off, self._put_off = self._put_off, []
            for step in put_off:
                self._membership.done(step, now=self._loop.time())
            self._follow_topics()
            self.wake()

    async def _end_step(self, until: float) -> None:
        """Code of the user's has its time; but nobody waits for the user, who waits for us."""
        serving = self._serving
        if serving is None:
            return
        if self._user_code.runs is not None:
            await _wait(serving, until)
        serving.cancel()
        await _wait(serving, self._loop.time() + FAREWELL)

    async def _let_all_go(self, until: float) -> UserCodeError | None:
        if self._subscription.is_by_group and self._is_out:
            return await self._lost(limit=until)
        partitions = tuple(sorted(self._subscription.assignment))
        half = (self._loop.time() + until) / 2  # a dead coordinator leaves time for the callback
        if partitions and self._subscription.is_by_group:
            self._subscription.revoking(partitions)
            self._handover.interrupt()  # who still reads gets none of them
            try:
                return await self._let_go(partitions, until=half, limit=until)
            finally:  # also if it is cancelled
                self._give_up(partitions)
                self._gone(partitions)
        if self._auto is not None:
            await self._auto.commit(until=half)
        await self._wait_settled(until)
        if self._auto is not None:
            self._auto.forget(partitions)
        return None

    def _begin_to_say(self, request: Request[Any] | None, until: float) -> Running | None:
        if request is None or self._tasks.is_closed:
            return None
        return self._tasks.spawn(partial(self._say, request, until=until), name="farewell")

    async def _say(self, request: Request[Any], *, until: float) -> None:
        """Not behind a join that is under way: on the connection of the commits."""
        timeout = max(until - self._loop.time(), FAREWELL)
        channel = None if self._committer is None else self._committer.channel
        try:
            await self._cluster.send_to_coordinator(
                self._coordinator, request, channel=channel, timeout=timeout
            )
        except KafkaError as error:
            logger.info("group %r was not told that we leave: %s", self._group_id, error)

    async def _wait_settled(self, until: float) -> None:
        """The commits of the user's that are under way come before what follows, if they can."""
        if self._committer is not None:
            with suppress(KafkaError):  # the client ends
                await self._committer.wait_settled(until=until)


async def _wait(running: Running, until: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout_at(until):
            await running.wait()


def _named(partitions: Sequence[TopicPartition]) -> str:
    return ", ".join(map(str, partitions)) or "nothing"
