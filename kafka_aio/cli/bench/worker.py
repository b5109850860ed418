"""A process of a benchmark: takes one order from stdin, and says on stdout what has come of it.

A line of JSON is one of

    {"sent": N}         from time to time
    {"result": {...}}   what was measured (`work.Work.runs`)
    {"lacks": WAY}      the client cannot be used this way
    {"error": TEXT}     it failed
"""

from __future__ import annotations

import asyncio
import inspect
import json
import signal
import sys
import threading
from importlib import import_module
from typing import Any, Final

from kafka_aio.cli.bench.plan import Order
from kafka_aio.cli.bench.work import Work

MODULE: Final = __name__
_PAUSE: Final = 0.25


def main() -> None:
    """Do what the order says; an end is set to it, whatever the client does, and the parent."""
    order = Order.of(json.loads(sys.stdin.readline()))
    signal.alarm(round(order.workload.patience) + 1)
    try:
        _say(_done(order))
    except Exception as error:
        cause = error
        while isinstance(cause, ExceptionGroup):
            cause = cause.exceptions[0]
        _say({"error": f"{type(cause).__name__}: {cause}"})


def _done(order: Order) -> dict[str, Any]:
    adapter = import_module(order.module)
    do = getattr(adapter, order.workload.way, None)
    if do is None:
        return {"lacks": order.workload.way}
    work = Work(order)
    threading.Thread(target=_report, args=(work,), daemon=True).start()
    if inspect.iscoroutinefunction(do):
        with asyncio.Runner(loop_factory=_loop_factory(order.workload.loop)) as runner:
            runner.run(do(work))
    else:
        do(work)
    return {"result": work.result}


def _loop_factory(name: str) -> Any:
    if name == "asyncio":
        return None
    import uvloop  # late: an extra

    return uvloop.new_event_loop


def _report(work: Work) -> None:
    while not threading.Event().wait(_PAUSE):
        if work.result is None and work.run is not None:
            _say({"sent": work.run.sent})


def _say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
