"""The tables of writes: cases 90 to 121."""

from __future__ import annotations

from tests.spark.cases import Fails, Record, StreamWrite, Write, Written

NO_DEFAULT = "Spark takes only append and overwrite for a Python sink"

V = Written([Record(value=b"v")])
SAVED_V = "select 'v' as value"

COLUMNS = [
    Write(number=91, options={"topic": None}, frame="select '<out>' topic, 'v' value", theirs=V),
    Write(
        number=92,
        frame="select '<elsewhere>' topic, 'v' value",
        theirs=V,
        afterwards=lambda topics: topics.name("elsewhere") not in topics.names(),
    ),
    Write(
        number=93,
        options={"topic": None},
        frame="select cast(null as string) topic, 'v' value",
        theirs=Fails("save", "contains a null topic"),
        ours=Fails("save", r"row 0\b.*topic"),
    ),
    Write(
        number=94,
        options={"topic": None, "subscribe": "<out>"},
        frame=SAVED_V,
        theirs=Fails("save", "topic option required when no 'topic' attribute is present"),
        ours=Fails("save", "option 'topic'.*column 'topic'"),
    ),
    Write(
        number=121,
        options={"topic": None},
        frame=SAVED_V,
        theirs=Fails("save", "topic option required when no 'topic' attribute is present"),
        ours=Fails("save", "option 'topic'.*column 'topic'"),
    ),
    *(
        Write(
            number=95,
            part=kind,
            frame=f"select 'k' key, cast(null as {kind}) value",
            theirs=Written([Record(key=b"k", value=None)]),
        )
        for kind in ("string", "binary")
    ),
    *(
        Write(
            number=number,
            part=part,
            options={"topic": None} if column == "topic" else {},
            frame=f"select {expression} {column}{'' if column == 'value' else extra}",
            theirs=Fails("save", f"{column} attribute unsupported type {kind}"),
            ours=Fails("save", f"column '{column}' is {kind}"),
        )
        for number, part, column, expression, kind in [
            (96, "", "value", "null", "void"),
            (97, "value", "value", "1", "int"),
            (97, "struct", "value", "named_struct('a', 1)", "struct<a:int>"),
            (97, "key", "key", "1", "int"),
            (98, "", "topic", "1", "int"),
            (100, "bigint", "partition", "1L", "bigint"),
            (100, "string", "partition", "'1'", "string"),
            (103, "map", "headers", "map('k', X'01')", "map<string,binary>"),
            (
                *(103, "strings", "headers", "array(named_struct('key', 'k', 'value', 'v'))"),
                "array<struct<key:string,value:string>>",
            ),
            (
                *(103, "names", "headers", "array(named_struct('k', 'k', 'v', X'01'))"),
                "array<struct<k:string,v:binary>>",
            ),
        ]
        for extra in [", 'v' value"]
    ),
    Write(
        number=99,
        partitions=4,
        frame="select 'key-0' key, 'v0' value, 3 partition"
        " union all select 'key-0', 'v1', cast(null as int)",
        theirs=Written(
            [
                Record(key=b"key-0", value=b"v0", partition=3),
                Record(key=b"key-0", value=b"v1"),
            ]
        ),
    ),
    Write(
        number=101,
        partitions=4,
        options={"kafka.max.block.ms": "1000"},
        frame="select 'v' value, 9 partition",
        theirs=Fails("save", "Partition 9 of topic <out> with partition count 4 is not present"),
        ours=Fails("save", "partition 9 of .* 4 partitions"),
    ),
    Write(
        number=102,
        frame="select 'v' value, -1 partition",
        theirs=Fails("save", "Invalid partition: -1"),
        ours=Fails("save", r"partition.*-1\b"),
    ),
    Write(
        number=104,
        frame="select 'v' value, array(named_struct('key', string(null), 'value', X'01')) headers",
        theirs=Fails("save", "NullPointerException"),
        ours=Fails("save", r"row 0\b.*header"),
    ),
    Write(
        number=105,
        frame="select 'v' value, 5L offset, timestamp'2001-01-01 00:00:00' timestamp, 'x' foo",
        theirs=V,
    ),
]

MODES_AND_OPTIONS = [
    Write(number=106, part="append", before=1, frame=SAVED_V, theirs=V),
    *(
        Write(
            number=106,
            part=part,
            mode=mode,
            before=1,
            frame=SAVED_V,
            theirs=V,
            ours=Fails("save", "UNSUPPORTED_DATA_SOURCE_SAVE_MODE"),
            why=NO_DEFAULT,
        )
        for part, mode in [("default", None), ("errorifexists", "errorifexists")]
    ),
    Write(
        number=107,
        part="overwrite",
        mode="overwrite",
        frame=SAVED_V,
        theirs=Fails("save", "Save mode Overwrite not allowed for Kafka"),
        ours=Fails("save", "overwritten.*append"),
    ),
    Write(
        number=107,
        part="ignore",
        mode="ignore",
        frame=SAVED_V,
        theirs=Fails("save", "Save mode Ignore not allowed for Kafka"),
        ours=Fails("save", "UNSUPPORTED_DATA_SOURCE_SAVE_MODE"),
    ),
    *(
        Write(
            number=108,
            part=part,
            options={f"kafka.{part}.serializer": "x"},
            frame=SAVED_V,
            theirs=Fails("save", f"Kafka option '{part}.serializer' is not supported"),
            ours=Fails("save", f"kafka.{part}.serializer"),
        )
        for part in ("key", "value")
    ),
    Write(
        number=109,
        options={"kafka.interceptor.classes": "x"},
        frame=SAVED_V,
        theirs=Fails("save", "Class x cannot be found"),
        ours=Fails("save", "kafka.interceptor.classes"),
    ),
    Write(
        number=110,
        options={
            "kafka.transactional.id": "<id>",
            "kafka.delivery.timeout.ms": "1500",
            "kafka.request.timeout.ms": "1000",
            "kafka.linger.ms": "0",
        },
        frame=SAVED_V,
        theirs=Fails("save", "(Cannot add partition|cannot execute) .*transaction"),
        ours=Fails("save", "kafka.transactional.id"),
    ),
    Write(
        number=111,
        options={"kafka.acks": "5"},
        frame=SAVED_V,
        theirs=Fails("save", "Invalid value 5 for configuration acks"),
        ours=Fails("save", "acks"),
    ),
    *(
        Write(
            number=112,
            part=codec,
            options={"kafka.compression.type": codec},
            frame="select repeat('v', 1000) value",
            theirs=Written([Record(value=b"v" * 1000)]),
        )
        for codec in ("gzip", "snappy", "lz4", "zstd")
    ),
    Write(
        number=113,
        frame="select repeat('v', 2000000) value",
        theirs=Fails("save", "RecordTooLargeException.* larger than 1048576"),
        ours=Fails("save", "row.*1048576"),
    ),
    Write(
        number=114,
        options={"kafka.bootstrap.servers": None},
        frame=SAVED_V,
        theirs=Fails("save", "Kafka option bootstrap.servers is not set"),
        ours=Fails("save", "kafka.bootstrap.servers"),
    ),
    Write(
        number=115,
        partitions=8,
        frame="select 'key-' || id key, 'v' value from range(16)",
        theirs=Written([Record(key=f"key-{n}".encode(), value=b"v") for n in range(16)]),
    ),
]

WRITES = [*COLUMNS, *MODES_AND_OPTIONS]

VALUES = [f"{p}:{i}".encode() for p, count in ((0, 10), (1, 20)) for i in range(count)]
COUNTS = ["cast(partition as string) key", "cast(count as string) value"]
COUNTED = Written([Record(key=b"0", value=b"10"), Record(key=b"1", value=b"20")])

STREAM_WRITES = [
    StreamWrite(
        number=90,
        subscribe="<b>",
        trigger={"continuous": "1 second"},
        theirs=Written([Record(value=value) for value in [*VALUES[:5], *VALUES[10:15]]]),
        ours=Fails("start", "continuous"),
        why="Spark has no continuous mode for a Python source",
    ),
    StreamWrite(
        number=116,
        theirs=Written([Record(value=value) for value in VALUES]),
    ),
    StreamWrite(
        number=117,
        select=["*"],
        partitions=4,
        theirs=Written(
            [Record(value=value, partition=0) for value in VALUES[:10]]
            + [Record(value=value, partition=1) for value in VALUES[10:]]
        ),
    ),
    StreamWrite(
        number=118,
        options={"checkpointLocation": None},
        theirs=Fails("start", "checkpointLocation must be specified"),
    ),
    StreamWrite(
        number=119,
        part="topic",
        options={"topic": None},
        theirs=Fails("query", "topic option required when no 'topic' attribute is present"),
        ours=Fails("query", "option 'topic'.*column 'topic'"),
    ),
    StreamWrite(
        number=119,
        part="int",
        select=["partition value"],
        theirs=Fails("query", "value attribute unsupported type int"),
        ours=Fails("query", "column 'value' is int"),
    ),
    StreamWrite(
        number=120,
        part="complete",
        mode="complete",
        select=COUNTS,
        theirs=COUNTED,
    ),
    StreamWrite(
        number=120,
        part="update",
        mode="update",
        select=COUNTS,
        theirs=COUNTED,
        ours=Fails("query", "does not support Update mode"),
        why="Spark refuses it for a Python sink; write_batch serves it",
    ),
]
