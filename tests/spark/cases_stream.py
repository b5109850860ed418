"""The table of streaming reads: case 56 and cases 71 to 90."""

from __future__ import annotations

from tests.spark.cases import Batches, Create, Delete, Fails, Grow, Produce, Run, Stream
from tests.spark.cases_offsets import DEL, LATEST, NOT_TOLD, at, offsets
from tests.spark.cases_read import EARLIER, QUICK, A

END = {"a-0": 10, "a-1": 20, "a-2": 0}
EARLIEST = {"subscribe": "<a>", "startingOffsets": "earliest"}
EMPTY = Batches([0], END)

SPLITTING = [
    Stream(
        number=56,
        part=part,
        steps=[
            Run(options=EARLIEST | more, theirs=Batches([30], END, places=A, partitions=partitions))
        ],
    )
    for part, more, partitions in [
        ("minPartitions", {"minPartitions": "8"}, 8),
        ("maxRecords", {"maxRecordsPerPartition": "4"}, 8),
        ("neither", {}, 2),
    ]
]

STARTS_AND_LIMITS = [
    Stream(number=71, steps=[Run(options=EARLIEST, theirs=Batches([30], END, places=A))]),
    Stream(number=72, steps=[Run(options={"subscribe": "<a>"}, theirs=EMPTY)]),
    Stream(
        number=23,
        part="stream",
        steps=[
            Run(
                options={"subscribe": "<no-such>", "startingOffsets": "earliest"},
                theirs=Fails("query", "UnknownTopicOrPartitionException"),
                ours=Fails("query", "<no-such>"),
            )
        ],
    ),
    Stream(
        number=73,
        steps=[
            Run(
                options={"subscribe": "<a>", "startingOffsets": offsets(p0=3, p1=0, p2=0, p9=0)},
                theirs=Fails("query", "you must specify all TopicPartitions.*<a>-9.*Assigned"),
                ours=Fails("query", "startingOffsets.*<a>.*9"),
            )
        ],
    ),
    *(
        Stream(
            number=74,
            part=option,
            why=NOT_TOLD,
            steps=[
                Run(
                    options=EARLIEST | {option: value},
                    theirs=Fails("load", f"ending {word} not valid in streaming queries"),
                    ours=Fails("query", option),
                )
            ],
        )
        for option, value, word in [
            ("endingOffsets", "latest", "offset"),
            ("endingOffsetsByTimestamp", offsets(p0=at(1), p1=at(1), p2=at(1)), "timestamp"),
        ]
    ),
    Stream(
        number=74,
        part="endingTimestamp",
        steps=[Run(options=EARLIEST | {"endingTimestamp": f"{at(1)}"}, theirs=Batches([30], END))],
    ),
    Stream(
        number=75,
        steps=[
            Run(
                options=EARLIEST | {"maxOffsetsPerTrigger": "7"},
                theirs=Batches(
                    [6] * 5,
                    ends=[{"a-0": 2 * n, "a-1": 4 * n, "a-2": 0} for n in range(1, 6)],
                    places=A,
                ),
            )
        ],
    ),
    Stream(
        number=76,
        steps=[
            Run(
                options={
                    "subscribe": "<a>",
                    "startingOffsets": offsets(p0=8, p1=17, p2=0),
                    "maxOffsetsPerTrigger": "1",
                },
                theirs=Batches(
                    [2, 2, 1],
                    ends=[{"a-0": 9, "a-1": 18, "a-2": 0}, {"a-0": 10, "a-1": 19, "a-2": 0}, END],
                ),
            )
        ],
    ),
    Stream(
        number=77,
        steps=[
            Run(
                options=EARLIEST | {"maxOffsetsPerTrigger": "0"},
                theirs=Batches([0], {"a-0": 0, "a-1": 0, "a-2": 0}),
            )
        ],
    ),
    Stream(
        number=78,
        why=EARLIER,
        steps=[
            Run(
                options=EARLIEST | {"maxOffsetsPerTrigger": "abc"},
                theirs=Fails("query", 'For input string: "abc"'),
                ours=Fails("load", "maxOffsetsPerTrigger.*abc"),
            )
        ],
    ),
    Stream(
        number=79,
        steps=[
            Run(
                options=EARLIEST | {"minOffsetsPerTrigger": "100"},
                theirs=Batches([30], END, places=A),
            )
        ],
    ),
    Stream(
        number=80,
        steps=[
            Create("follow", [20]),
            Run(
                options={
                    "subscribe": "<follow>",
                    "startingOffsets": "earliest",
                    "minOffsetsPerTrigger": "100",
                    "maxTriggerDelay": "4s",
                },
                trigger={"processingTime": "0 seconds"},
                during=Produce("follow", {0: 3}),
                theirs=Batches([20, 3], {"follow-0": 23}, later=3),
            ),
        ],
    ),
    Stream(
        number=81,
        steps=[
            Run(
                options=EARLIEST | {"maxOffsetsPerTrigger": "7"},
                trigger={"once": True},
                theirs=Batches([30], END, places=A),
            )
        ],
    ),
    Stream(
        number=82,
        steps=[
            Create("during", [10, 20]),
            Run(
                options={
                    "subscribe": "<during>",
                    "startingOffsets": "earliest",
                    "maxOffsetsPerTrigger": "12",
                },
                during=Produce("during", {0: 5}),
                theirs=Batches([12, 12, 6], {"during-0": 10, "during-1": 20}),
            ),
        ],
    ),
    Stream(
        number=83,
        steps=[
            Run(
                options={
                    "subscribe": "<tx>",
                    "startingOffsets": "earliest",
                    "kafka.isolation.level": "read_committed",
                    "maxOffsetsPerTrigger": "4",
                },
                theirs=Batches([4, 1, 0, 4, 1], ends=[{"tx-0": end} for end in (4, 8, 12, 16, 18)]),
            )
        ],
    ),
]

FROM_10 = {"subscribe": "<del>", "startingOffsets": '{"<del>":{"0":10}}'}
LOST = "Some data may have been lost"
LOSSES_AND_RESTARTS = [
    Stream(
        number=84,
        steps=[
            Run(
                options=FROM_10 | QUICK,
                theirs=Fails("query", LOST),
                ours=Fails("query", r"<del>.*\b10\b.*\b40\b"),
            )
        ],
    ),
    Stream(
        number=84,
        part="allowed",
        steps=[
            Run(
                options=FROM_10 | {"failOnDataLoss": "false"},
                theirs=Batches([60], {"del-0": 100}, places=DEL),
            )
        ],
    ),
    Stream(
        number=85,
        steps=[
            Create("grown", [3]),
            Run(
                options={"subscribe": "<grown>", "startingOffsets": "latest"},
                theirs=Batches([0], {"grown-0": 3}),
            ),
            Grow("grown", 2),
            Produce("grown", {0: 4, 1: 2}),
            Run(
                options={"subscribe": "<grown>", "startingOffsets": "latest"},
                theirs=Batches(
                    [6],
                    {"grown-0": 7, "grown-1": 2},
                    places={"grown-0": range(3, 7), "grown-1": range(2)},
                ),
            ),
        ],
    ),
    Stream(
        number=86,
        steps=[
            Run(options={"subscribe": "<a>", "startingOffsets": "latest"}, theirs=EMPTY),
            Run(
                options={"subscribe": "<a>,<b>", "startingOffsets": "latest"},
                theirs=Batches(
                    [10], END | {"b-0": 5, "b-1": 5}, places={"b-0": range(5), "b-1": range(5)}
                ),
            ),
        ],
    ),
    Stream(
        number=87,
        steps=[
            Run(
                options={"subscribe": "<a>,<b>"},
                theirs=Batches([0], END | {"b-0": 5, "b-1": 5}),
            ),
            Run(
                options={"subscribe": "<a>"},
                theirs=Fails("query", LOST),
                ours=Fails("query", "<b>.*failOnDataLoss"),
            ),
            Run(
                options={"subscribe": "<a>", "failOnDataLoss": "false"},
                theirs=Batches([0], END),
            ),
        ],
    ),
    Stream(
        number=88,
        says="<re>-0: the log ends at offset 5, but was read up to 20 before",
        steps=[
            Create("re", [20]),
            Run(
                options={"subscribe": "<re>", "startingOffsets": "earliest"},
                theirs=Batches([20], {"re-0": 20}),
            ),
            Delete("re"),
            Create("re", [5]),
            Run(
                options={"subscribe": "<re>"},
                theirs=Fails("query", LOST),
                ours=Fails("query", r"<re>-0.*\b5\b.*\b20\b.*made anew"),
            ),
            Run(
                options={"subscribe": "<re>", "failOnDataLoss": "false"},
                theirs=Batches([0], {"re-0": 5}),
            ),
        ],
    ),
    Stream(
        number=89,
        steps=[
            Run(
                options={
                    "subscribe": "<a>",
                    "startingOffsetsByTimestamp": offsets(p0=at(500), p1=at(500), p2=at(500)),
                    **QUICK,
                },
                theirs=Fails("query", "No offset matched from request of topic-partition <a>-"),
                ours=Fails("query", "<a>-0 has no record from timestamp"),
            )
        ],
    ),
    Stream(
        number=89,
        part="latest",
        steps=[
            Run(
                options={
                    "subscribe": "<a>",
                    "startingOffsetsByTimestamp": offsets(p0=at(500), p1=at(500), p2=at(500)),
                    **LATEST,
                },
                theirs=EMPTY,
            )
        ],
    ),
]

STREAMS = [*SPLITTING, *STARTS_AND_LIMITS, *LOSSES_AND_RESTARTS]
