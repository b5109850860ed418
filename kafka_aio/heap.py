"""Memory that is freed now and wanted again in a moment: not returned to the system. Pure."""

from __future__ import annotations


def keep_freed(size: int) -> None:
    """Have malloc keep what is freed, some twice `size` bytes of it, for what comes next.

    What is free at the end of a heap, glibc returns to the system, which has to clear it before it
    is used again: for who frees and takes megabytes all the time, that takes longer than what is
    done with them. It keeps twice the bytes of the largest block that it was given back and had
    mapped, up to 32 MiB. So here is one; nothing of it is ever touched.
    """
    bytes(size)
