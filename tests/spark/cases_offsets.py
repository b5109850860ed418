"""The table of batch reads by where they begin, end and are split: cases 26 to 57."""

from __future__ import annotations

from tests.spark.cases import Fails, Read, Rows
from tests.spark.cases_read import EARLIER, QUICK, SUBSCRIBE_A, A
from tests.spark.topics import T0

DEL = {"del-0": range(40, 100)}

NOT_TOLD = "Spark does not tell a Python source at load whether it is a batch or a stream"


def offsets(**partitions: int) -> str:
    """The JSON of offsets, or timestamps, in topic `a`: p0, p1, p2."""
    inside = ",".join(f'"{name[1:]}":{offset}' for name, offset in partitions.items())
    return f'{{"<a>":{{{inside}}}}}'


OFFSETS = [
    *(
        Read(
            number=26,
            part=part,
            options=SUBSCRIBE_A | more,
            theirs=Rows(A, 3),
        )
        for part, more in {
            "nothing": {},
            "words": {"startingOffsets": "earliest", "endingOffsets": "latest"},
            "case": {"startingOffsets": "EARLIEST", "endingOffsets": "Latest"},
        }.items()
    ),
    Read(
        number=27,
        options={"subscribe": "<a>", "startingOffsets": "latest"},
        theirs=Fails("load", "starting offset can't be latest for batch queries"),
        ours=Fails("action", "startingOffsets.*latest"),
        why=NOT_TOLD,
    ),
    Read(
        number=28,
        options={"subscribe": "<a>", "startingOffsets": offsets(p0=-1, p1=-2, p2=-2)},
        theirs=Fails("load", "startingOffsets for <a>-0 can't be latest for batch queries"),
        ours=Fails("action", "startingOffsets.*latest"),
        why=NOT_TOLD,
    ),
    Read(
        number=29,
        options={"subscribe": "<a>", "startingOffsets": offsets(p0=3, p1=-2, p2=0)},
        theirs=Rows({"a-0": range(3, 10), "a-1": range(20)}, 3),
    ),
    *(
        Read(
            number=30,
            part=part,
            options={"subscribe": "<a>", "startingOffsets": value},
            theirs=Fails("action", "specified for Kafka start offsets don't match what are assign"),
            ours=Fails("action", words),
        )
        for part, value, words in [
            ("lacks", offsets(p0=3, p1=-2), "startingOffsets.*<a>.*2"),
            ("unknown", offsets(p0=3, p1=-2, p2=0, p9=0), "startingOffsets.*<a>.*9"),
            ("topic", '{"<b>":{"0":0,"1":0}}', "startingOffsets.*<b>-0"),
        ]
    ),
    Read(
        number=31,
        options={"subscribe": "<a>", "startingOffsets": '{"<a>":{"0":"3","1":"0","2":"0"}}'},
        theirs=Fails("load", r'Expected e.g. {"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}, got'),
        ours=Fails("load", "startingOffsets"),
    ),
    Read(
        number=32,
        options={"subscribe": "<a>", "startingOffsets": offsets(p0=-3, p1=0, p2=0)},
        theirs=Fails("action", "earliest offset -3 does not equal -2"),
        ours=Fails("load", "startingOffsets.*-3"),
        why=EARLIER,
    ),
    Read(
        number=33,
        options={"subscribe": "<a>", "endingOffsets": "earliest"},
        theirs=Fails("load", "ending offset can't be earliest for batch queries"),
        ours=Fails("load", "endingOffsets.*earliest"),
    ),
    Read(
        number=34,
        options={"subscribe": "<a>", "endingOffsets": offsets(p0=-2, p1=-1, p2=-1)},
        theirs=Fails("load", "ending offset for <a>-0 can't be earliest for batch queries"),
        ours=Fails("load", "endingOffsets.*earliest"),
    ),
    Read(
        number=35,
        options={"subscribe": "<a>", "endingOffsets": offsets(p0=5, p1=-1, p2=-1)},
        theirs=Rows({"a-0": range(5), "a-1": range(20)}, 3),
    ),
    Read(
        number=36,
        options={"subscribe": "<a>", "endingOffsets": offsets(p0=50, p1=-1, p2=-1), **QUICK},
        theirs=Fails("action", "Some data may have been lost.*{<a>-0=10}"),
        ours=Fails("action", "<a>.*50"),
    ),
    Read(
        number=37,
        options={
            "subscribe": "<a>",
            "startingOffsets": offsets(p0=8, p1=0, p2=0),
            "endingOffsets": offsets(p0=2, p1=20, p2=0),
        },
        theirs=Fails("load", "specified start offset 8 is greater than the end offset 2 for"),
        ours=Fails("load", r"<a>.*\b8\b.*\b2\b"),
    ),
    Read(
        number=38,
        options={"subscribe": "<a>", "startingOffsets": offsets(p0=99, p1=0, p2=0)},
        theirs=Fails("action", "resolved start offset 99 is greater than .* end offset 10"),
        ours=Fails("action", r"<a>.*\b99\b.*\b10\b"),
    ),
    Read(
        number=39,
        options={"subscribe": "<del>", "startingOffsets": '{"<del>":{"0":10}}', **QUICK},
        theirs=Fails("action", "Some data may have been lost.*offset=10.*out of range"),
        ours=Fails("action", r"<del>.*\b10\b.*\b40\b"),
    ),
    Read(
        number=40,
        options={
            "subscribe": "<del>",
            "startingOffsets": '{"<del>":{"0":10}}',
            "failOnDataLoss": "false",
        },
        theirs=Rows(DEL, 1),
    ),
    Read(
        number=41,
        options={"subscribe": "<del>", "startingOffsets": "earliest"},
        theirs=Rows(DEL, 1),
    ),
    Read(
        number=42,
        options={"subscribe": "<a>", "failOnDataLoss": "maybe"},
        theirs=Fails("load", 'For input string: "maybe"'),
        ours=Fails("load", "failOnDataLoss.*maybe"),
    ),
]


def at(i: int) -> int:
    """The timestamp of record i of any partition; 500 is later than all."""
    return T0 + 1000 * i


LATEST = {"startingOffsetsByTimestampStrategy": "latest"}
TIMESTAMPS = [
    Read(
        number=43,
        options={
            "subscribe": "<a>",
            "startingOffsetsByTimestamp": offsets(p0=at(500), p1=at(0), p2=at(0)),
            **QUICK,
        },
        theirs=Fails("action", r"No offset matched from request of topic-partition <a>-\d"),
        ours=Fails("action", "<a>-0 has no record from timestamp"),
    ),
    Read(
        number=44,
        options={
            "subscribe": "<a>",
            "startingOffsetsByTimestamp": offsets(p0=at(500), p1=at(0), p2=at(0)),
            **LATEST,
        },
        theirs=Rows({"a-1": range(20)}, 3),
    ),
    Read(
        number=45,
        options={
            "subscribe": "<a>",
            "startingTimestamp": f"{at(0)}",
            "startingOffsetsByTimestampStrategy": "nearest",
        },
        theirs=Fails("load", "No value found for 'NEAREST'"),
        ours=Fails("load", "startingOffsetsByTimestampStrategy.*nearest"),
    ),
    Read(
        number=46,
        options={"subscribe": "<a>", "startingOffsetsByTimestamp": offsets(p0=at(0), p1=at(0))},
        theirs=Fails("action", "timestamp based start offsets don't match what are assigned"),
        ours=Fails("action", "startingOffsetsByTimestamp.*<a>.*2"),
    ),
    Read(
        number=47,
        options={"subscribe": "<a>", "startingTimestamp": f"{at(5)}", **QUICK},
        theirs=Fails("action", "No offset matched from request of topic-partition <a>-2"),
        ours=Fails("action", "<a>-2 has no record from timestamp"),
    ),
    Read(
        number=47,
        part="latest",
        options={"subscribe": "<a>", "startingTimestamp": f"{at(5)}", **LATEST},
        theirs=Rows({"a-0": range(5, 10), "a-1": range(5, 20)}, 3),
    ),
    Read(
        number=48,
        options={"subscribe": "<a>", "startingTimestamp": "x"},
        theirs=Fails("load", "Expected a single long value, got x"),
        ours=Fails("load", "startingTimestamp"),
    ),
    Read(
        number=49,
        options={"subscribe": "<a>", "endingTimestamp": f"{at(500)}"},
        theirs=Rows(A, 3),
    ),
    Read(
        number=49,
        part="partition",
        options={
            "subscribe": "<a>",
            "endingOffsetsByTimestamp": offsets(p0=at(5), p1=at(500), p2=at(5)),
        },
        theirs=Rows({"a-0": range(5), "a-1": range(20)}, 3),
    ),
    Read(
        number=50,
        part="start",
        options={
            "subscribe": "<a>",
            "startingTimestamp": f"{at(15)}",
            "startingOffsetsByTimestamp": offsets(p0=at(5), p1=at(5), p2=at(5)),
            "startingOffsets": "earliest",
            **LATEST,
        },
        theirs=Rows({"a-1": range(15, 20)}, 3),
    ),
    Read(
        number=50,
        part="start-second",
        options={
            "subscribe": "<a>",
            "startingOffsetsByTimestamp": offsets(p0=at(5), p1=at(5), p2=at(5)),
            "startingOffsets": "earliest",
            **LATEST,
        },
        theirs=Rows({"a-0": range(5, 10), "a-1": range(5, 20)}, 3),
    ),
    Read(
        number=50,
        part="end",
        options={
            "subscribe": "<a>",
            "endingTimestamp": f"{at(5)}",
            "endingOffsetsByTimestamp": offsets(p0=at(8), p1=at(8), p2=at(8)),
            "endingOffsets": "latest",
        },
        theirs=Rows({"a-0": range(5), "a-1": range(5)}, 3),
    ),
    Read(
        number=50,
        part="end-second",
        options={
            "subscribe": "<a>",
            "endingOffsetsByTimestamp": offsets(p0=at(8), p1=at(8), p2=at(8)),
            "endingOffsets": "latest",
        },
        theirs=Rows({"a-0": range(8), "a-1": range(8)}, 3),
    ),
]

SPLITTING = [
    Read(number=51, options={"subscribe": "<a>", "minPartitions": "10"}, theirs=Rows(A, 10)),
    Read(
        number=51,
        part="uneven",
        options={
            "subscribe": "<a>",
            "minPartitions": "10",
            "startingOffsets": offsets(p0=8, p1=0, p2=0),
        },
        theirs=Rows({"a-0": range(8, 10), "a-1": range(20)}, 10),
    ),
    Read(number=52, options={"subscribe": "<a>", "minPartitions": "2"}, theirs=Rows(A, 3)),
    Read(
        number=53,
        options={"subscribe": "<a>", "minPartitions": "0"},
        theirs=Fails("load", "minPartitions must be positive"),
        ours=Fails("load", "minPartitions"),
    ),
    Read(
        number=53,
        part="text",
        options={"subscribe": "<a>", "minPartitions": "abc"},
        theirs=Fails("load", 'For input string: "abc"'),
        ours=Fails("load", "minPartitions.*abc"),
    ),
    Read(number=54, options={"subscribe": "<a>", "maxRecordsPerPartition": "4"}, theirs=Rows(A, 3)),
    Read(
        number=54,
        part="to-numbers",
        options={
            "subscribe": "<a>",
            "maxRecordsPerPartition": "4",
            "endingOffsets": offsets(p0=8, p1=18, p2=0),
        },
        theirs=Rows({"a-0": range(8), "a-1": range(18)}, 7),
    ),
    Read(
        number=54,
        part="to-a-time",
        options={
            "subscribe": "<a>",
            "maxRecordsPerPartition": "4",
            "endingTimestamp": f"{at(5)}",
        },
        theirs=Rows({"a-0": range(5), "a-1": range(5)}, 4),
    ),
    Read(
        number=54,
        part="words-as-numbers",
        options={
            "subscribe": "<a>",
            "maxRecordsPerPartition": "4",
            "startingOffsets": offsets(p0=-2, p1=-2, p2=-2),
            "endingOffsets": offsets(p0=-1, p1=-1, p2=-1),
        },
        theirs=Rows(A, 3),
    ),
    Read(
        number=54,
        part="from-numbers",
        options={
            "subscribe": "<a>",
            "maxRecordsPerPartition": "4",
            "startingOffsets": offsets(p0=0, p1=0, p2=0),
        },
        theirs=Rows(A, 3),
    ),
    Read(
        number=54,
        part="numbers",
        options={
            "subscribe": "<a>",
            "maxRecordsPerPartition": "4",
            "startingOffsets": offsets(p0=0, p1=0, p2=0),
            "endingOffsets": offsets(p0=8, p1=18, p2=0),
        },
        theirs=Rows({"a-0": range(8), "a-1": range(18)}, 7),
    ),
    Read(
        number=55,
        options={"subscribe": "<a>", "maxRecordsPerPartition": "0"},
        theirs=Fails("load", "maxrecordsperpartition must be positive"),
        ours=Fails("load", "maxRecordsPerPartition"),
    ),
    Read(number=57, options={"subscribe": "<a>", "maxOffsetsPerTrigger": "7"}, theirs=Rows(A, 3)),
]


OFFSETS_AND_SPLITS = [*OFFSETS, *TIMESTAMPS, *SPLITTING]
