"""The table of batch reads, but for where they begin and end: cases 1 to 25 and 58 to 70."""

from __future__ import annotations

from collections.abc import Mapping

from tests.spark.cases import Fails, Read, Rows
from tests.spark.topics import Topics

A = {"a-0": range(10), "a-1": range(20)}
B = {"b-0": range(5), "b-1": range(5)}

COLUMNS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "timestampType int"
)
HEADERS = "headers array<struct<key:string,value:binary>>"

# Why ours differs, where it does.
EARLIER = "the options alone decide it"
NO_ZERO = "Spark makes one partition of none for a Python source"

QUICK = {"fetchOffset.numRetries": "1", "kafkaConsumer.pollTimeoutMs": "1000"}
SUBSCRIBE_A = {"subscribe": "<a>"}
SCHEMA_AND_ROWS = [
    Read(number=1, options=SUBSCRIBE_A, theirs=Rows(A, 3), columns=COLUMNS),
    Read(
        number=2,
        options={"subscribe": "<h>", "includeHeaders": "true"},
        columns=f"{COLUMNS}, {HEADERS}",
        select=("headers",),
        theirs=Rows(values=[([("x", b"1"), ("x", b"2"), ("n", None)],), (None,)]),
    ),
    Read(
        number=3,
        options={"subscribe": "<a>", "includeHeaders": "yes"},
        theirs=Fails("load", 'For input string: "yes"'),
        ours=Fails("load", "includeHeaders.*yes"),
    ),
    Read(
        number=4,
        options={"subscribe": "<h>"},
        select=("key", "value", "timestampType", "cast(timestamp as string)"),
        theirs=Rows(
            values=[(b"k", b"v", 0, "2023-11-14 22:13:20"), (None, None, 0, "2023-11-14 22:13:20")]
        ),
    ),
    Read(number=5, options=SUBSCRIBE_A, schema=COLUMNS, theirs=Rows(A, 3)),
    Read(
        number=6,
        options=SUBSCRIBE_A,
        schema="value string",
        select=("value",),
        theirs=Fails("load", "USER_SPECIFIED_AND_ACTUAL_SCHEMA_MISMATCH"),
        ours=Fails("action", "schema"),
        why="Spark does not compare a user's schema with a Python source's; reader() does",
    ),
    Read(
        number=7,
        options=SUBSCRIBE_A,
        where="partition = 1 and offset >= 15",
        theirs=Rows({"a-1": range(15, 20)}, 3),
    ),
]

CHOOSING_TOPICS = [
    Read(number=8, options=SUBSCRIBE_A, theirs=Rows(A, 3)),
    Read(number=9, options={"subscribe": "<a>,<b>"}, theirs=Rows(A | B, 5)),
    Read(number=10, options={"subscribe": " <a> , <b> ,,"}, theirs=Rows(A | B, 5)),
    Read(number=11, options={"subscribe": "<a>,<a>"}, theirs=Rows(A, 3)),
    *(
        Read(
            number=12,
            part=part,
            options={"subscribe": value},
            theirs=Fails("load", f"No topics to subscribe to as .* 'subscribe' is '{value}'"),
            ours=Fails("load", "subscribe"),
        )
        for part, value in {"empty": "", "comma": " , "}.items()
    ),
    Read(number=13, options={"subscribePattern": "<part>-[ab]"}, theirs=Rows(A | B, 5)),
    Read(
        number=14,
        options={"subscribePattern": "<stem>-no-such"},
        theirs=Rows(partitions=0),
        ours=Rows(partitions=1),
        why=NO_ZERO,
    ),
    Read(
        number=15,
        options={"subscribePattern": "^__(consumer_offsets|transaction_state)$"},
        theirs=Rows(partitions=0),
        ours=Rows(partitions=1),
        why=NO_ZERO,
    ),
    Read(
        number=16,
        options={"subscribe": "__transaction_state"},
        theirs=Rows(partitions=0),
        ours=Rows(partitions=1),
        says="__transaction_state is Kafka's own, and is left out",
        why=NO_ZERO,
    ),
    Read(
        number=16,
        part="assign",
        options={"assign": '{"__transaction_state":[0]}'},
        theirs=Rows(partitions=0),
        ours=Rows(partitions=1),
        says="__transaction_state is Kafka's own, and is left out",
        why=NO_ZERO,
    ),
    Read(
        number=17,
        options={"subscribePattern": "["},
        theirs=Fails("load", "Unclosed character class near index 0"),
        ours=Fails("load", "subscribePattern"),
    ),
    Read(
        number=18,
        options={"assign": '{"<a>":[1]}'},
        theirs=Rows({"a-1": range(20)}, 1),
    ),
    Read(
        number=18,
        part="unknown",
        options={"assign": '{"<a>":[1,9]}', **QUICK},
        theirs=Rows({"a-1": range(20)}, 1),
        ours=Fails("action", "assign.*<a>-9"),
        why="a partition that was asked for and is not there is an error, not silence",
    ),
    Read(
        number=19,
        options={"assign": "{x"},
        theirs=Fails("load", r'Expected e.g. {"topicA":\[0,1\],"topicB":\[0,1\]}, got {x'),
        ours=Fails("load", "assign"),
    ),
    Read(
        number=20,
        options={"assign": "<a>"},
        theirs=Fails("load", "No topicpartitions to assign as .* 'assign' is '<a>'"),
        ours=Fails("load", "assign"),
    ),
    *(
        Read(
            number=21,
            part=other,
            options={"subscribe": "<a>", other: value},
            theirs=Fails("load", "Only one of the following options .* subscribepattern, assign"),
            ours=Fails("load", f"subscribe.*{other}|{other}.*subscribe"),
        )
        for other, value in {"assign": '{"<a>":[1]}', "subscribePattern": "<a>"}.items()
    ),
    Read(
        number=22,
        options={},
        theirs=Fails("load", "One of the following options must be .* subscribepattern, assign"),
        ours=Fails("load", "subscribe.*subscribePattern.*assign|assign.*subscribe"),
    ),
    *(
        Read(
            number=23,
            part=part,
            options={"subscribe": value, **QUICK},
            theirs=Fails("action", "UnknownTopicOrPartitionException"),
            ours=Fails("action", "<no-such>"),
            afterwards=lambda topics: topics.name("no-such") not in topics.names(),
        )
        for part, value in {"alone": "<no-such>", "beside": "<a>,<no-such>"}.items()
    ),
    Read(
        number=24,
        options={"subscribe": "<a>", "kafka.bootstrap.servers": None},
        theirs=Fails("load", "'kafka.bootstrap.servers' must be specified .* Kafka consumer"),
        ours=Fails("load", "kafka.bootstrap.servers"),
    ),
    Read(
        number=25,
        options={
            "subscribe": "<a>",
            "kafka.bootstrap.servers": "127.0.0.1:1",
            "kafka.default.api.timeout.ms": "2000",
            "kafka.request.timeout.ms": "1000",  # Java's client wants it within a call
            "fetchOffset.numRetries": "1",
        },
        theirs=Fails("action", "TimeoutException: Timed out waiting for a node assignment"),
        ours=Fails("action", "127.0.0.1:1"),
    ),
]


TX = {"subscribe": "<tx>"}
COMMITTED = TX | {"kafka.isolation.level": "read_committed"}


def refused(number: int, option: str, value: str, theirs: str, part: str = "") -> Read:
    """A read that an option of Kafka's ends at load."""
    return Read(
        number=number,
        part=part,
        options={"subscribe": "<a>", option: value},
        theirs=Fails("load", theirs),
        ours=Fails("load", option),
    )


def no_group(topics: Topics) -> bool:
    """No group of the connectors' is left on the broker."""
    return not any(topics.name("group") in group for group in topics.groups())


GROUPS: Mapping[str, dict[str, str]] = {
    "id": {"kafka.group.id": "<group>"},
    "prefix": {"groupIdPrefix": "<group>"},
    "both": {"kafka.group.id": "<group>", "groupIdPrefix": "<group>-p"},
}
KAFKA_OPTIONS = [
    Read(
        number=58,
        options=TX,
        theirs=Rows({"tx-0": [*range(5), *range(6, 11), *range(12, 17)]}, 1),
    ),
    Read(number=59, options=COMMITTED, theirs=Rows({"tx-0": [*range(5), *range(12, 17)]}, 1)),
    Read(
        number=60,
        options=COMMITTED
        | {"startingOffsets": '{"<tx>":{"0":6}}', "endingOffsets": '{"<tx>":{"0":12}}'},
        theirs=Rows({}, 1),
    ),
    refused(61, "kafka.key.deserializer", "x", "'key.deserializer' is not supported as keys"),
    refused(62, "kafka.value.deserializer", "x", "'value.deserializer' is not supported as value"),
    Read(
        number=63,
        options=SUBSCRIBE_A | {"kafka.key.serializer": "x", "kafka.value.serializer": "x"},
        theirs=Rows(A, 3),
    ),
    refused(64, "kafka.auto.offset.reset", "latest", "'auto.offset.reset' is not supported"),
    refused(65, "kafka.enable.auto.commit", "true", "'enable.auto.commit' is not supported"),
    refused(
        *(65, "kafka.interceptor.classes", "x", "'interceptor.classes' is not supported"),
        part="interceptors",
    ),
    *(
        Read(
            number=66,
            part=part,
            options=SUBSCRIBE_A | more,
            theirs=Rows(A, 3),
            afterwards=no_group,
        )
        for part, more in GROUPS.items()
    ),
    Read(number=67, options={"subscribe": "<b>", "SubScribe": "<a>"}, theirs=Rows(A, 3)),
    Read(
        number=68,
        options=SUBSCRIBE_A | {"noSuchOption": "1", "kafka.no.such": "1"},
        theirs=Rows(A, 3),
        says="kafka.no.such is no option",
    ),
    Read(
        number=69,
        options=SUBSCRIBE_A | {"kafka.max.poll.records": "abc"},
        theirs=Fails("action", "Invalid value abc for configuration max.poll.records"),
        ours=Fails("load", "max.poll.records.*abc|abc.*max.poll.records"),
        why=EARLIER,
    ),
    refused(70, "kafkaConsumer.pollTimeoutMs", "abc", 'For input string: "abc"'),
]

TOPICS_AND_OPTIONS = [
    *SCHEMA_AND_ROWS,
    *CHOOSING_TOPICS,
    *KAFKA_OPTIONS,
]
