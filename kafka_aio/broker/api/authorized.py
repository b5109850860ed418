"""What a client may do with the cluster, a topic or a group: all, as there are no ACLs. Pure."""

from __future__ import annotations

from typing import Final

NOT_ASKED: Final = -0x80000000
"""In place of the operations, if they are not asked for."""

# Bits by number of Kafka's AclOperation: 3 read, 4 write, 5 create, 6 delete, 7 alter, 8 describe,
# 9 cluster action, 10 and 11 describe and alter configs, 12 idempotent write.
TOPIC_OPERATIONS: Final = sum(1 << bit for bit in (3, 4, 5, 6, 7, 8, 10, 11))
GROUP_OPERATIONS: Final = sum(1 << bit for bit in (3, 6, 8, 10, 11))
CLUSTER_OPERATIONS: Final = sum(1 << bit for bit in (5, 7, 8, 9, 10, 11, 12))
