"""Questions put to Kafka's own clients and to ours; `Facts.java` answers for Kafka."""

from __future__ import annotations

from itertools import product

Options = dict[str, str]


def _grid(**choices: tuple[str | None, ...]) -> list[Options]:
    names = [name.replace("_", ".") for name in choices]
    return [
        {name: value for name, value in zip(names, values, strict=True) if value is not None}
        for values in product(*choices.values())
    ]


IDEMPOTENCE = _grid(
    acks=(None, "all", "-1", "0", "1"),
    retries=(None, "0", "1"),
    max_in_flight_requests_per_connection=(None, "5", "6"),
    enable_idempotence=(None, "true", "false"),
    transactional_id=(None, "t"),
)

PRODUCER: list[Options] = [
    *IDEMPOTENCE,
    *_grid(
        delivery_timeout_ms=(None, "30004", "30005", "2147483647"),
        request_timeout_ms=(None, "200000"),
        linger_ms=(None, "0", "9223372036854775807"),
    ),
    *_grid(reconnect_backoff_ms=(None, "20"), reconnect_backoff_max_ms=(None, "10")),
    *({"acks": text} for text in ("All", " all ", "2", "")),
    *({"batch.size": text} for text in ("0", "-1", "+5", "1_0", "1.5", "", "0x10", "2147483648")),
    *({"buffer.memory": text} for text in ("2147483648", "9223372036854775808", "-1")),
    *({"enable.idempotence": text} for text in ("TRUE", " true ", "yes", "1", "")),
    *({"compression.type": text} for text in ("gzip", " gzip ", "GZIP", "brotli")),
    *({"compression.gzip.level": text} for text in ("-1", "0", "1", "9", "10")),
    *({"compression.lz4.level": text} for text in ("0", "1", "17", "18")),
    *({"compression.zstd.level": text} for text in ("-131073", "-131072", "22", "23")),
    *({"metadata.recovery.strategy": text} for text in ("NONE", "Rebootstrap", "other")),
    *({"security.protocol": text} for text in ("plaintext", "SSL", "TLS")),
    *({"transactional.id": text} for text in ("", " ")),
    *({"metadata.max.idle.ms": text} for text in ("4999", "5000")),
    {"max.in.flight.requests.per.connection": "0"},
    *({"sasl.login.refresh.window.factor": text} for text in ("0.49", "0.5", "1.0", "1e0", "x")),
    *({"sasl.login.refresh.buffer.seconds": text} for text in ("3600", "3601")),
    *(
        {"bootstrap.servers": text}
        for text in (
            *("localhost:9092", "localhost:9092, 127.0.0.1:9093", "[::1]:9092", "127.0.0.1:65535"),
            *("localhost", "localhost:", "localhost:70000", "", "localhost:1,,localhost:2"),
            *("PLAINTEXT://localhost:9092", "localhost:x"),
        )
    ),
]

CONSUMER: list[Options] = [
    *_grid(group_id=(None, "g"), enable_auto_commit=(None, "true", "false")),
    *_grid(
        group_id=(None, "g"),
        group_protocol=(None, "classic", "Consumer"),
        session_timeout_ms=(None, "1000", "3000", "3001"),
        heartbeat_interval_ms=(None, "500", "45000"),
    ),
    *_grid(
        group_id=("g",),
        group_protocol=("classic", "consumer"),
        group_remote_assignor=(None, "uniform"),
        partition_assignment_strategy=(
            None,
            "org.apache.kafka.clients.consumer.RangeAssignor",
            "org.apache.kafka.clients.consumer.StickyAssignor,"
            " org.apache.kafka.clients.consumer.RoundRobinAssignor",
        ),
    ),
    *(
        {"auto.offset.reset": text}
        for text in (
            *("latest", "earliest", "none", "EARLIEST", "nearest", "by_duration", "by_duration:"),
            *(
                f"by_duration:{text}"
                for text in ("P1D", "PT36H", "p2dt3h4m5.006s", "PT0S", "PT.5S")
            ),
            *(
                f"by_duration:{text}"
                for text in ("-P1D", "P1Y", "P1W", "P1DT-1H", "P", "PT", "P1DT")
            ),
            *(f"by_duration:{text}" for text in ("PT1,5S", "PT5.S", "P-1DT25H", "PT-1S", "-PT-1S")),
        )
    ),
    *({"isolation.level": text} for text in ("read_committed", "READ_COMMITTED")),
    *({"group.instance.id": text} for text in ("", "a", "a b", "a.b_c-1", ".", "..", "x" * 250)),
    *({"check.crcs": text} for text in ("false", "nope")),
    *({"max.poll.interval.ms": text} for text in ("0", "1")),
    *({"receive.buffer.bytes": text} for text in ("-2", "-1")),
    {"share.acknowledgement.mode": "explicit", "group.id": "g"},
    {"share.acknowledgement.mode": "implicit", "group.id": "g"},
    {"share.acquire.mode": "batch_optimized"},
    {"share.acquire.mode": "record_limit", "group.protocol": "consumer", "group.id": "g"},
]

ADMIN: list[Options] = _grid(
    request_timeout_ms=(None, "10", "200000"), default_api_timeout_ms=(None, "9", "10", "300000")
)

_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required "

JAAS = [
    *(
        _PLAIN + rest
        for rest in (
            *('username="a" password="b";', 'username="a" password="b"', "username=a password=b;"),
            *("username='a' password='b';", 'username = "a" password= "b" ;', ";", ""),
            *('username="a" /* c ; */ password="b" // x ;\n;', 'username="a" username="b";'),
            *("username=alice123 password=b-c_d$e;", "username=a password=123;", "username=a b;"),
            *("username=a password=-12;", "username=a password=12ab;", "username=a password=.5;"),
            *('username="a\nb";', 'username="a;b=c" password="";', "user/name=x;", "username=a@b;"),
            *(
                'username="unterminated;',
                '"username"=y;',
                "username==a;",
                "9x=y;",
                "username=\u00e9;",
            ),
            *('username="\\q\\r\\f\\b\\v\\a\\0\\377\\400\\\'\\"\\\\\\u0041\\18";', "username=a#b;"),
            *('username="it\'s" password=\'say "x"\';', 'username="a" "b";', "username=a;b"),
            *('username="a\\', 'username="a\\\n";', 'username="a" / gone\n;', "username=a.b.c;"),
        )
    ),
    *("", ";", "org.a.B", "org.a.B maybe a=b;", "org.a.B REQUISITE a=b;", '"org.a.B" "optional";'),
    *("X optional;Y required;", "\n  org.a.B\n  required\n  a=b\n;\n", "org.a.B required;;"),
]

PROPERTIES = [
    *("a=b", "a = b ", "a:b", "a b", "a", "a=", "=b", " \t\fa=b", "a\t=\tb", "a  :  b", "a = = b"),
    *("# c\na=b", "! c\na=b", "  # c\na=b", "a=b # not a comment", "a=b\n\n\nc=d", "", "\n", "   "),
    *(
        "a=b\\\n  c",
        "a=b\\\\\nc=d",
        "a=b\\\\\\\n c",
        "a=\\\n# no comment",
        "a\\\nb=c",
        "a=b\\",
        "a=b\\\n",
    ),
    *(
        "a=b\r\nc=d",
        "a=b\rc=d",
        "a=b\\\r\n  c\r\n",
        "a=b\\\r  c",
        "a=b\\\n\\\n\n",
        "\\\na=b",
    ),
    *(
        "a\\=b=c",
        "a\\:b:c",
        "a\\ b c",
        "a=\\t\\n\\r\\f\\q\\\\",
        "a=\\u0041\\u00e9",
        "\\u0061=b",
        "a=\\#",
    ),
    *(
        "a=\\u00",
        "a=\\uzzzz",
        "a=\\\\u00zz",
        "a=b=c:d",
        "a=b\na=c",
        "a=\u00e9",
        "a = \\ b",
        "#a\\\nb=c",
    ),
    *(
        "a=b\\\n   \nc=d",
        "a=1\\\n!2",
        "a\\\\=b",
        "  \\\n a=b",
        "a.b.c=d,e , f",
        "a:=b",
        "a=:b",
        "a ==b",
    ),
    *("\\\n# x", "\\\n\n a=b", "a=\\\n\\\nb"),
]
