"""The producer beside its peers on a real Kafka: every row of the table "Produce", and its goals.

python -m benchmarks.produce [--only TEXT] [--seconds N] [--repetitions N] [-b HOST:PORT]
"""

from __future__ import annotations

from benchmarks.cases import AIOKAFKA, CONFLUENT, KAFKA_PYTHON, Goal, case, main
from kafka_aio.cli.bench.clients import OURS

ONE_BY_ONE, TASKS, MANY = "one call per record", "1,000 tasks", "many in one call"

CASES = (
    case(
        ONE_BY_ONE,
        (CONFLUENT, AIOKAFKA, KAFKA_PYTHON),
        Goal(1.5, (CONFLUENT,)),
        Goal(1.5, (CONFLUENT,), "cpu"),
        Goal(6, (AIOKAFKA,)),
        Goal(6, (AIOKAFKA,), "cpu"),
    ),
    case(
        TASKS,
        (CONFLUENT, AIOKAFKA),
        Goal(4, (CONFLUENT,)),
        Goal(4, (AIOKAFKA,)),
        Goal(3, (CONFLUENT,), "p99"),
        Goal(3, (AIOKAFKA,), "p99"),
        kind="tasks",
    ),
    case(
        "20,000 tasks",
        (AIOKAFKA,),
        Goal(0.8, (OURS.name,), row=TASKS),
        kind="tasks",
        tasks=20_000,
    ),
    case(MANY, (CONFLUENT, AIOKAFKA), Goal(4, (CONFLUENT, AIOKAFKA)), path="many"),
    case("from Arrow columns", (), Goal(4, (CONFLUENT,), row=MANY), path="arrow"),
    case(
        "1 KiB, one call per record",
        (CONFLUENT, AIOKAFKA, KAFKA_PYTHON),
        Goal(1.2, (CONFLUENT,)),
        Goal(4, (AIOKAFKA,)),
        record_size=1024,
    ),
    case(
        "keyed, one call per record",
        (CONFLUENT, AIOKAFKA, KAFKA_PYTHON),
        Goal(1.4, (CONFLUENT,)),
        Goal(7, (AIOKAFKA,)),
        keyed=True,
    ),
    case("lz4", (CONFLUENT, AIOKAFKA), Goal(1, (CONFLUENT,)), codec="lz4"),
    case("zstd", (CONFLUENT, AIOKAFKA), Goal(1, (CONFLUENT,)), codec="zstd"),
    case(
        "one awaited record at a time",
        (CONFLUENT, AIOKAFKA, KAFKA_PYTHON),
        Goal(2, (AIOKAFKA,), "p50"),
        Goal(2, (AIOKAFKA,), "p99"),
        kind="latency",
        linger_ms=0,
    ),
)

if __name__ == "__main__":
    main("produce", __doc__, CASES)
