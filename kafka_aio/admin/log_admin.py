"""The part of `Admin` that is about the logs of partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

from kafka_aio.admin import logs
from kafka_aio.admin.calls import RoutedCall
from kafka_aio.admin.client import AdminClient
from kafka_aio.admin.offset_values import LARGEST, OffsetSpec
from kafka_aio.admin.routes import ToLeaders
from kafka_aio.admin.values import check_number, checked
from kafka_aio.errors import KafkaError
from kafka_aio.listing import is_worth_it
from kafka_aio.protocol.messages.offsets import ListOffsetsRequest, ListOffsetsResponse
from kafka_aio.protocol.messages.topics import DeleteRecordsResponse
from kafka_aio.types import OffsetAndTimestamp, TopicPartition


class LogAdmin(AdminClient):
    """Finds offsets, and deletes records."""

    async def list_offsets(
        self,
        specs: Mapping[TopicPartition, OffsetSpec],
        *,
        isolation_level: Literal["read_uncommitted", "read_committed"] = "read_uncommitted",
        timeout: float | None = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp | KafkaError | None]:
        """Where logs begin and end, and what they hold at a time.

            orders = TopicPartition("orders", 0)
            found = await admin.list_offsets({orders: OffsetSpec.latest()})

        Args:
            specs: Which offset of each partition.
            isolation_level: With `read_committed`, the latest is where open transactions begin.
            timeout: Seconds for the whole call.

        Returns:
            For each partition the offset, with the timestamp of its record where one was looked
            for; None where there is no such record; or why it is not known.

        Raises:
            KafkaError: What concerns the whole call.
        """
        if not isinstance(specs, Mapping):
            raise TypeError("list_offsets takes a dict: an OffsetSpec for each partition")
        checked("list_offsets", specs.values(), OffsetSpec)
        if isolation_level not in ("read_uncommitted", "read_committed"):
            raise ValueError(
                "isolation_level is 'read_uncommitted' or 'read_committed',"
                f" not {isolation_level!r}"
            )
        cluster, calls = self._open()
        route = ToLeaders(cluster)

        def request(items: Sequence[TopicPartition], milliseconds: int) -> ListOffsetsRequest:
            return logs.list_offsets(
                {item: specs[item] for item in items},
                route.leader,
                read_committed=isolation_level == "read_committed",
                timeout_ms=milliseconds,
            )

        call: RoutedCall[TopicPartition, OffsetAndTimestamp | None, ListOffsetsResponse]
        call = RoutedCall(
            name="list_offsets",
            items=checked("list_offsets", specs, TopicPartition),
            route=route,
            request=request,
            read=lambda items, response: logs.listed(request(items, 0), response),
            changes=False,
            again=is_worth_it,
        )
        return await calls.run_routed(call, deadline=calls.deadline(timeout))

    async def delete_records(
        self, before: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> dict[TopicPartition, int | KafkaError]:
        """Let logs begin later: all records before an offset are gone for ever.

            await admin.delete_records({TopicPartition("orders", 0): 1_000})

        Args:
            before: The offset of the first record to keep, for each partition; -1 keeps none of
                those that are there.
            timeout: Seconds for the whole call.

        Returns:
            For each partition where its log begins now, or why nothing was deleted.

        Raises:
            ValueError: A number is no offset.
            KafkaError: What concerns the whole call.
        """
        if not isinstance(before, Mapping):
            raise TypeError("delete_records takes a dict: an offset for each partition")
        for partition, offset in before.items():
            check_number(f"delete_records: the offset of {partition}", offset, logs.ALL, LARGEST)
        cluster, calls = self._open()
        # Done twice it is the same, unless it means whatever there is by then.
        is_repeatable = logs.ALL not in before.values()
        call: RoutedCall[TopicPartition, int, DeleteRecordsResponse] = RoutedCall(
            name="delete_records",
            items=checked("delete_records", before, TopicPartition),
            route=ToLeaders(cluster),
            request=lambda items, milliseconds: logs.delete_records(
                {item: before[item] for item in items}, timeout_ms=milliseconds
            ),
            read=lambda _, response: logs.records_deleted(response),
            changes=not is_repeatable,
            again=partial(logs.is_worth_another_deletion, is_repeatable=is_repeatable),
        )
        return await calls.run_routed(call, deadline=calls.deadline(timeout))
