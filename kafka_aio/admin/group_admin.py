"""The part of `Admin` that is about groups, their members and their offsets."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kafka_aio.admin import group_offsets, groups, logs, resets
from kafka_aio.admin.calls import RoutedCall
from kafka_aio.admin.group_offsets import GroupOffsets
from kafka_aio.admin.group_values import (
    Departure,
    GroupDescription,
    GroupList,
    GroupState,
    GroupType,
    check_id,
    words_of,
)
from kafka_aio.admin.log_admin import LogAdmin
from kafka_aio.admin.offset_values import OffsetChange, OffsetReset
from kafka_aio.admin.routes import ToCoordinators
from kafka_aio.admin.values import checked
from kafka_aio.errors import GroupIdNotFound, KafkaError, NonEmptyGroup
from kafka_aio.net import clock
from kafka_aio.net.coordinators import Coordinator, CoordinatorKind
from kafka_aio.protocol.messages.cluster import DescribeClusterRequest
from kafka_aio.protocol.messages.consumer_group import ConsumerGroupDescribeResponse
from kafka_aio.protocol.messages.groups import (
    DeleteGroupsResponse,
    DescribeGroupsResponse,
    LeaveGroupResponse,
)
from kafka_aio.protocol.messages.offsets import (
    OffsetCommitResponse,
    OffsetDeleteResponse,
    OffsetFetchResponse,
)
from kafka_aio.types import OffsetAndMetadata, TopicPartition


class GroupAdmin(LogAdmin):
    """Looks after groups."""

    async def list_groups(
        self,
        *,
        states: Iterable[GroupState | str] = (),
        types: Iterable[GroupType | str] = (),
        timeout: float | None = None,
    ) -> GroupList:
        """All groups that we may see, asked of every node.

        Args:
            states: Only groups in one of these states, such as "Empty".
            types: Only groups of one of these types, such as "Consumer".
            timeout: Seconds for the whole call.

        Returns:
            The groups, and the nodes that could not be asked: their groups are missing.

        Raises:
            ValueError: There is no such state or type.
            KafkaError: No node could be asked.
        """
        request = groups.list_all(
            words_of("states", states, GroupState), words_of("types", types, GroupType)
        )
        _, calls = self._open()
        deadline = calls.deadline(timeout)
        wanted = DescribeClusterRequest(include_cluster_authorized_operations=False)
        cluster = await calls.ask("list_groups", wanted, deadline=deadline)
        nodes = sorted(broker.broker_id for broker in cluster.brokers)
        answers = await calls.ask_each("list_groups", nodes, request, deadline=deadline)
        return groups.listed(answers)

    async def describe_groups(
        self,
        ids: Iterable[str],
        *,
        authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> dict[str, GroupDescription | KafkaError]:
        """Groups of consumers with their members, whichever protocol those speak.

        Args:
            ids: The groups.
            authorized_operations: Whether to ask what we may do with them.
            timeout: Seconds for the whole call.

        Returns:
            By id, the description, or why there is none: `GroupIdNotFound`, for one.

        Raises:
            KafkaError: What concerns the whole call.
        """
        wanted = list(dict.fromkeys(checked("describe_groups", ids, str)))
        cluster, calls = self._open()
        deadline = calls.deadline(timeout)
        first: RoutedCall[str, GroupDescription, ConsumerGroupDescribeResponse] = RoutedCall(
            name="describe_groups",
            items=wanted,
            route=ToCoordinators(cluster, str),
            request=lambda some, _: groups.describe(
                some, authorized_operations=authorized_operations
            ),
            read=lambda _, response: groups.described(response),
            changes=False,
        )
        try:
            found = await calls.run_routed(first, deadline=deadline)
        except KafkaError as error:
            if not groups.is_of_another_protocol(error):
                raise
            found = dict.fromkeys(wanted, error)
        second: RoutedCall[str, GroupDescription, DescribeGroupsResponse] = RoutedCall(
            name="describe_groups",
            items=[each for each in wanted if groups.is_of_another_protocol(found[each])],
            route=ToCoordinators(cluster, str),
            request=lambda some, _: groups.describe_classic(
                some, authorized_operations=authorized_operations
            ),
            read=lambda _, response: groups.classic_described(response),
            changes=False,
        )
        others = await calls.run_routed(second, deadline=deadline)
        return {
            group: self._with_coordinator(others.get(group, each)) for group, each in found.items()
        }

    async def delete_groups(
        self, ids: Iterable[str], *, timeout: float | None = None
    ) -> dict[str, KafkaError | None]:
        """Delete groups without members, with the offsets that they have committed.

        Returns:
            By id, None, or why it was not deleted: `NonEmptyGroup`, for one.

        Raises:
            KafkaError: What concerns the whole call.
        """
        cluster, calls = self._open()
        call: RoutedCall[str, None, DeleteGroupsResponse] = RoutedCall(
            name="delete_groups",
            items=list(dict.fromkeys(checked("delete_groups", ids, str))),
            route=ToCoordinators(cluster, str),
            request=lambda some, _: groups.delete(some),
            read=lambda _, response: groups.deleted(response),
            changes=True,
        )
        return await calls.run_routed(call, deadline=calls.deadline(timeout))

    async def remove_members(
        self,
        group: str,
        *,
        instance_ids: Iterable[str] = (),
        member_ids: Iterable[str] = (),
        everyone: bool = False,
        reason: str = "",
        timeout: float | None = None,
    ) -> dict[str, KafkaError | None]:
        """Make members leave a group, static ones too. Who is still running joins again.

        Args:
            group: The group.
            instance_ids: Members by their group.instance.id.
            member_ids: Members by the ids that the broker gave them.
            everyone: All that are in it, in place of ids.
            reason: What the broker writes to its log.
            timeout: Seconds for the whole call.

        Returns:
            By instance id, or member id where there is none, None or why it was not removed.

        Raises:
            ValueError: Both `everyone` and ids are given, or neither.
            KafkaError: What concerns the whole call.
        """
        check_id(group)
        leaving = [
            *(Departure(instance_id=each) for each in checked("instance_ids", instance_ids, str)),
            *(Departure(each) for each in checked("member_ids", member_ids, str)),
        ]
        if everyone == bool(leaving):
            raise ValueError("remove_members: give ids of members, or everyone=True")
        cluster, calls = self._open()
        deadline = calls.deadline(timeout)
        if everyone:
            found = await self._described(group, deadline)
            leaving = [Departure.of(member) for member in found.members]
        call: RoutedCall[Departure, None, LeaveGroupResponse] = RoutedCall(
            name="remove_members",
            items=list(dict.fromkeys(leaving)),
            route=ToCoordinators(cluster, lambda _: group),
            request=lambda some, _: groups.remove(group, some, reason=reason),
            read=lambda some, response: groups.removed(group, some, response),
            changes=True,
        )
        results = await calls.run_routed(call, deadline=deadline)
        return {str(member): result for member, result in results.items()}

    # Offsets.

    async def list_group_offsets(
        self,
        ids: Iterable[str],
        partitions: Iterable[TopicPartition] | None = None,
        *,
        require_stable: bool = False,
        timeout: float | None = None,
    ) -> dict[str, GroupOffsets | KafkaError]:
        """What groups have committed.

            offsets = (await admin.list_group_offsets(["billing"]))["billing"]

        Args:
            ids: The groups. One that does not exist has committed nothing.
            partitions: The partitions; all for which something is committed, if not given.
            require_stable: Wait for the end of transactions that may still change it (KIP-447).
                Without it, a coordinator that has just taken over may miss the last commits.
            timeout: Seconds for the whole call.

        Returns:
            By group, what is committed for each partition: None where nothing is, an error where
            it is not known. In place of all that an error, if it concerns the whole group.

        Raises:
            KafkaError: What concerns the whole call.
        """
        some = (
            None
            if partitions is None
            else list(dict.fromkeys(checked("list_group_offsets", partitions, TopicPartition)))
        )
        cluster, calls = self._open()
        call: RoutedCall[str, GroupOffsets, OffsetFetchResponse] = RoutedCall(
            name="list_group_offsets",
            items=list(dict.fromkeys(checked("list_group_offsets", ids, str))),
            route=ToCoordinators(cluster, str),
            request=lambda wanted, _: group_offsets.fetch(
                wanted, some, require_stable=require_stable
            ),
            read=lambda _, response: group_offsets.fetched(response),
            changes=False,
            again=group_offsets.is_worth_another_fetch,
            at_most=group_offsets.LAST_WITH_NAMES,
        )
        return await calls.run_routed(call, deadline=calls.deadline(timeout))

    async def alter_group_offsets(
        self,
        group: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        *,
        timeout: float | None = None,
    ) -> dict[TopicPartition, KafkaError | None]:
        """Commit offsets for a group without members; one that does not exist is created.

        Returns:
            For each partition None, or why it was not committed: `NonEmptyGroup`, for one.

        Raises:
            ValueError: A number is no offset.
            KafkaError: What concerns the whole call.
        """
        check_id(group)
        if not isinstance(offsets, Mapping):
            raise TypeError("alter_group_offsets takes a dict: an offset for each partition")
        wanted = {
            partition: each if isinstance(each, OffsetAndMetadata) else OffsetAndMetadata(each)
            for partition, each in offsets.items()
        }
        cluster, calls = self._open()
        call: RoutedCall[TopicPartition, None, OffsetCommitResponse] = RoutedCall(
            name="alter_group_offsets",
            items=checked("alter_group_offsets", wanted, TopicPartition),
            route=ToCoordinators(cluster, lambda _: group),
            request=lambda some, _: group_offsets.commit(
                group, {each: wanted[each] for each in some}
            ),
            read=lambda _, response: group_offsets.committed(group, response),
            changes=True,
            again=group_offsets.is_worth_another_commit,
            at_most=group_offsets.LAST_WITH_NAMES,
        )
        return await calls.run_routed(call, deadline=calls.deadline(timeout))

    async def delete_group_offsets(
        self, group: str, partitions: Iterable[TopicPartition], *, timeout: float | None = None
    ) -> dict[TopicPartition, KafkaError | None]:
        """Forget what a group has committed, for topics that no member is subscribed to.

        Returns:
            For each partition None, or why it was not done: `GroupSubscribedToTopic`, for one.

        Raises:
            KafkaError: What concerns the whole call.
        """
        check_id(group)
        some = list(dict.fromkeys(checked("delete_group_offsets", partitions, TopicPartition)))
        cluster, calls = self._open()
        call: RoutedCall[TopicPartition, None, OffsetDeleteResponse] = RoutedCall(
            name="delete_group_offsets",
            items=some,
            route=ToCoordinators(cluster, lambda _: group),
            request=lambda wanted, _: group_offsets.delete(group, wanted),
            read=lambda wanted, response: group_offsets.deleted(group, wanted, response),
            changes=True,
        )
        return await calls.run_routed(call, deadline=calls.deadline(timeout))

    async def reset_group_offsets(
        self,
        group: str,
        to: OffsetReset,
        *,
        topics: Iterable[str] = (),
        partitions: Iterable[TopicPartition] = (),
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> dict[TopicPartition, OffsetChange | KafkaError]:
        """Move the committed offsets of a group without members.

            await admin.reset_group_offsets("billing", OffsetReset.earliest(), topics=["orders"])

        Args:
            group: The group; one that does not exist is created.
            to: Where to.
            topics: All partitions of these topics,
            partitions: and these; without either, all for which something is committed.
            dry_run: Only see where each would go.
            timeout: Seconds for the whole call.

        Returns:
            For each partition where it was and where it is now, or why it was not moved.

        Raises:
            NonEmptyGroup: It has members, who would commit again what they have.
            KafkaError: What concerns the whole call: a topic that does not exist, for one.
        """
        check_id(group)
        if not isinstance(to, OffsetReset):
            raise TypeError("reset_group_offsets takes an OffsetReset, as OffsetReset.earliest()")
        chosen = checked("partitions", partitions, TopicPartition)
        names = checked("topics", topics, str)
        _, calls = self._open()
        deadline = calls.deadline(timeout)
        await self._check_inactive(group, deadline)
        chosen += await self._partitions_of(names, deadline)
        committed = await self._committed(group, chosen or None, deadline)
        moves = await self._moves(to, committed, deadline)
        goals = {each: move.after for each, move in moves.items() if isinstance(move, OffsetChange)}
        if dry_run or not goals:
            return moves
        results = await self.alter_group_offsets(group, goals, timeout=calls.left(deadline))
        return {each: results.get(each) or move for each, move in moves.items()}

    async def _moves(
        self,
        to: OffsetReset,
        committed: Mapping[TopicPartition, OffsetAndMetadata | KafkaError | None],
        deadline: float,
    ) -> dict[TopicPartition, OffsetChange | KafkaError]:
        asks = resets.asks(to, now=clock.wall_time())
        left = self._calls.left(deadline)
        lists = await asyncio.gather(
            *(self.list_offsets(dict.fromkeys(committed, spec), timeout=left) for spec in asks)
        )
        moves: dict[TopicPartition, OffsetChange | KafkaError] = {}
        for partition, known in committed.items():
            if isinstance(known, KafkaError):
                moves[partition] = known
                continue
            before = None if known is None else known.offset
            goal = resets.goal(to, partition, before, [listed[partition] for listed in lists])
            moves[partition] = goal if isinstance(goal, KafkaError) else OffsetChange(before, goal)
        return moves

    async def _check_inactive(self, group: str, deadline: float) -> None:
        try:
            found = await self._described(group, deadline)
        except GroupIdNotFound:
            return
        if found.is_active:
            raise NonEmptyGroup(where=groups.place(group))

    async def _partitions_of(self, names: Sequence[str], deadline: float) -> list[TopicPartition]:
        if not names:
            return []
        request = logs.ask_topics(names)
        told = logs.Leaders(
            await self._calls.ask("reset_group_offsets", request, deadline=deadline)
        )
        found = []
        for name in names:
            its = told.partitions(name)
            if isinstance(its, KafkaError):
                raise its
            found += its
        return found

    async def _committed(
        self, group: str, partitions: Sequence[TopicPartition] | None, deadline: float
    ) -> GroupOffsets:
        left = self._calls.left(deadline)
        found = (
            await self.list_group_offsets([group], partitions, require_stable=True, timeout=left)
        )[group]
        if isinstance(found, KafkaError):
            raise found
        return found

    async def _described(self, group: str, deadline: float) -> GroupDescription:
        left = self._calls.left(deadline)
        found = (await self.describe_groups([group], timeout=left))[group]
        if isinstance(found, KafkaError):
            raise found
        return found

    def _with_coordinator(
        self, found: GroupDescription | KafkaError
    ) -> GroupDescription | KafkaError:
        if isinstance(found, KafkaError):
            return found
        coordinator = Coordinator(CoordinatorKind.GROUP, found.group_id)
        node = self._cluster.coordinator_of(coordinator)
        known = None if node is None else self._cluster.metadata.node(node)
        return replace(found, coordinator=known)
