"""The consumer beside its peers on a real Kafka: every row of the table "Consume", and its goals.

    python -m benchmarks.consume [--only TEXT] [--seconds N] [--repetitions N] [-b HOST:PORT]

Each row has a topic that is filled before, with keys of 8 bytes, and every client is a group that
reads it from the beginning: all of it, or as much as it gets in its time.

Three rows are about the loop: what its single callbacks take at full speed, in CPU time of the
thread, and how late a timer comes, beside the same timer in a process that does nothing.
"""

from __future__ import annotations

from benchmarks.cases import (
    AIOKAFKA,
    CONFLUENT,
    IDLE,
    KAFKA_PYTHON,
    Case,
    Goal,
    Limit,
    case,
    main,
)

LISTS = "lists"
RECORDS = 8_000_000
LARGE = 4_000_000
"""Of 1 KiB: seconds of reading, as in the other rows, and not the first tenths of one."""


def reading(name: str, peers: tuple[str, ...], *goals: Goal | Limit, **options: object) -> Case:
    plain = {"kind": "consume", "path": "lists", "keyed": True, "records": RECORDS}
    return case(name, peers, *goals, **{**plain, **options})  # type: ignore[arg-type]  # checked by its class


def stalls(codec: str, loop: str = "asyncio") -> Case:
    goals: list[Goal | Limit] = [Goal(0, (IDLE.name,), "tick p99")]
    if loop == "asyncio":
        goals[:0] = [Limit(10, "callback"), Limit(3, "callback p99")]
    return reading(
        f"stalls, {codec}, {loop}",
        (IDLE.name,),
        *goals,
        codec=codec,
        loop=loop,
        is_watched=loop == "asyncio",
    )


CASES = (
    reading(
        LISTS,
        (CONFLUENT, AIOKAFKA, KAFKA_PYTHON),
        Goal(3, (CONFLUENT,)),
        Goal(3.5, (AIOKAFKA,)),
    ),
    reading(
        "async for",
        (CONFLUENT, AIOKAFKA, KAFKA_PYTHON),
        Goal(8, (AIOKAFKA,)),
        Goal(1.5, (CONFLUENT,)),
        path="each",
    ),
    reading(
        "Arrow columns",
        (),
        Goal(6, (CONFLUENT,), row=LISTS),
        path="arrow",
        note="a quarter of the CPU is for the headers of batches, which are walked twice in Python",
    ),
    reading(
        "1 KiB, lists",
        (CONFLUENT, AIOKAFKA, KAFKA_PYTHON),
        Goal(1.4, (CONFLUENT,)),
        Goal(1.4, (CONFLUENT,), "cpu"),
        record_size=1024,
        records=LARGE,
        note="one thread of ours: of its CPU, 57 % is receiving 1 GB (the ceiling's row), a third"
        " malloc and the copy into bytes, a tenth CRC; confluent-kafka has twice the CPU, on two"
        " cores. Of six runs, 1.1x to 2.1x",
    ),
    reading("zstd, lists", (CONFLUENT, AIOKAFKA), Goal(1.5, (CONFLUENT,)), codec="zstd"),
    reading("lz4, lists", (CONFLUENT, AIOKAFKA), Goal(1.5, (CONFLUENT,)), codec="lz4"),
    stalls("zstd"),
    stalls("lz4"),
    stalls("zstd", "uvloop"),
    case("end to end, one at a time", (CONFLUENT, AIOKAFKA), kind="end-to-end", linger_ms=0),
    case(
        "end to end, 1,000 a second",
        (CONFLUENT, AIOKAFKA),
        kind="end-to-end",
        linger_ms=0,
        rate=1_000,
    ),
)

if __name__ == "__main__":
    main("consume", __doc__, CASES)
