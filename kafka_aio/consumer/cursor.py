"""Chooses the cursor: compiled, or its plain-Python twin. Pure.

KAFKA_AIO_PURE=1 forces the twin. KAFKA_AIO_REQUIRE_COMPILED=1 makes it an error if the compiled
module is missing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_aio.consumer._cursor import Cursor
elif os.environ.get("KAFKA_AIO_PURE") == "1":
    from kafka_aio.consumer._cursor_py import Cursor
else:
    try:
        from kafka_aio.consumer._cursor import Cursor
    except ImportError:
        if os.environ.get("KAFKA_AIO_REQUIRE_COMPILED") == "1":
            raise
        from kafka_aio.consumer._cursor_py import Cursor

__all__ = ["Cursor"]
