"""The one place that chooses the decoders: compiled, or their twin in plain Python. Pure.

KAFKA_AIO_PURE=1 forces the twin. KAFKA_AIO_REQUIRE_COMPILED=1 makes it an error if the compiled
module is missing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafka_aio.protocol._reader import FAILURES, compile_reader
elif os.environ.get("KAFKA_AIO_PURE") == "1":
    from kafka_aio.protocol._reader_py import FAILURES, compile_reader
else:
    try:
        from kafka_aio.protocol._reader import FAILURES, compile_reader
    except ImportError:
        if os.environ.get("KAFKA_AIO_REQUIRE_COMPILED") == "1":
            raise
        from kafka_aio.protocol._reader_py import FAILURES, compile_reader

__all__ = ["FAILURES", "IS_COMPILED", "compile_reader"]

IS_COMPILED: Final = not compile_reader.__module__.endswith("_py")
"""Whether messages are read by the compiled module."""
