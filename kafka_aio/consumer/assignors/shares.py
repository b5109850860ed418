"""Even shares where all members want the same topics. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from kafka_aio.types import TopicPartition


def share_between_all(
    ids: Sequence[str], partitions: Sequence[TopicPartition], had: Mapping[TopicPartition, str]
) -> dict[str, list[TopicPartition]]:
    """Give each member its share: first of what it had, then of what is left, in turn.

    Shares differ by one at most. Those who had most get the larger ones: so the number of
    partitions that stay where they were is the greatest possible.
    """
    if not ids:
        return {}
    kept: dict[str, list[TopicPartition]] = {member_id: [] for member_id in ids}
    # By number first, so that who has to give something up keeps some of each topic.
    for partition in sorted(had, key=lambda each: (each.partition, each.topic)):
        kept[had[partition]].append(partition)
    share, larger = divmod(len(partitions), len(ids))
    ranked = sorted(ids, key=lambda member_id: -len(kept[member_id]))
    quota = {member_id: share + (rank < larger) for rank, member_id in enumerate(ranked)}
    shared = {member_id: kept[member_id][: quota[member_id]] for member_id in ids}
    taken = {partition for mine in shared.values() for partition in mine}
    waiting = deque(each for each in ids if len(shared[each]) < quota[each])
    for partition in partitions:
        if partition not in taken:
            member_id = waiting.popleft()  # there is one: the quotas add up to all partitions
            shared[member_id].append(partition)
            if len(shared[member_id]) < quota[member_id]:
                waiting.append(member_id)
    return shared
