"""Which Spark this is for. Pure."""

from __future__ import annotations

import sys
from typing import Any, Final

_OLDEST: Final = (4, 2)


def check_version() -> None:
    """Say what is wrong with a Spark that is too old. Without Spark there is nothing to say.

    Raises:
        ImportError: It is.
    """
    pyspark: Any = sys.modules.get("pyspark")
    if pyspark is None:
        return
    found = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    if found < _OLDEST:
        raise ImportError(
            f"spark_connector needs pyspark 4.2 or newer, and this is {pyspark.__version__}:"
            " before that, Python sources have no limits per trigger and no availableNow"
        )
