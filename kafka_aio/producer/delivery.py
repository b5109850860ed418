"""Chooses who appends records and settles deliveries: compiled, or its plain-Python twin. Pure.

KAFKA_AIO_PURE=1 forces the twin, and so does a records codec that is not compiled.
KAFKA_AIO_REQUIRE_COMPILED=1 makes it an error if the compiled module is missing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_aio.producer._delivery import (
        Accepted,
        Delivery,
        OpenBatch,
        OpenTopic,
        Outcome,
    )
elif os.environ.get("KAFKA_AIO_PURE") == "1":
    from kafka_aio.producer._delivery_py import (
        Accepted,
        Delivery,
        OpenBatch,
        OpenTopic,
        Outcome,
    )
else:
    try:
        from kafka_aio.producer._delivery import Accepted, Delivery, OpenBatch, OpenTopic, Outcome
    except ImportError:
        if os.environ.get("KAFKA_AIO_REQUIRE_COMPILED") == "1":
            raise
        from kafka_aio.producer._delivery_py import (
            Accepted,
            Delivery,
            OpenBatch,
            OpenTopic,
            Outcome,
        )

__all__ = ["Accepted", "Delivery", "OpenBatch", "OpenTopic", "Outcome"]
