"""What a worker of Spark's has loaded, and keeps: left out of garbage collections. Pure."""

from __future__ import annotations

import gc
import sys
from typing import Final

_DAEMON: Final = "pyspark.daemon"

_is_settled = False


def settle() -> None:
    """Have garbage collections pass over what is there now.

    To be called when all is loaded, and where no code of the user's is under way: by the data
    source, that is, and not by functions for RDDs. What is in a cycle now is never collected.

    After every task Spark's daemon has the worker collect garbage, by a walk over all objects that
    there are. Pyarrow, numpy, pyspark and we are 70,000 to 110,000, none of them garbage: the walk
    takes 30 to 100 ms of a core, as long as a tenth of a million rows do.

    It is done once in a process, and only in those of Spark's daemon: not in a user's own program.
    """
    global _is_settled
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    if _is_settled or spec is None or spec.name != _DAEMON:
        return
    _is_settled = True
    gc.collect()  # what is garbage already is not to stay for good
    gc.freeze()
