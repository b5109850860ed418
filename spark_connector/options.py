"""The options of a read and of a write, by the names of Spark's own Kafka connector. Pure.

What is wrong whatever the options are used for is said when they are read (`parse`). Spark does not
tell a Python source whether it is to be a batch or a stream before that is begun: `check_batch` and
`check_stream` say what is wrong with the one or with the other.

Both classes travel to the executors. They hold plain texts, secrets too, and show none of them.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Final, Literal, cast

from kafka_aio import (
    AdminConfig,
    ClientConfig,
    ConsumerConfig,
    KafkaConfigWarning,
    ProducerConfig,
)
from kafka_aio.errors import ConfigError
from spark_connector import places
from spark_connector.option_names import by_kafkas_names
from spark_connector.option_values import Texts, wrong
from spark_connector.places import (
    LATEST,
    Assign,
    AtTimestamp,
    ByOffset,
    ByTimestamp,
    Pattern,
    Subscribe,
    Where,
    Word,
)

__all__ = [
    "Assign",
    "AtTimestamp",
    "ByOffset",
    "ByTimestamp",
    "Pattern",
    "ReadOptions",
    "Subscribe",
    "Where",
    "Word",
    "WriteOptions",
]

_INT32: Final = 2**31 - 1

_REFUSED_IN_READ: Final = {
    "auto.offset.reset": "where to begin is said by startingOffsets: earliest, latest or JSON",
    "enable.auto.commit": "Spark keeps the offsets in its checkpoint, and commits none to Kafka",
    "interceptor.classes": "no Java class is loaded here; change records with DataFrame functions",
    "key.deserializer": "keys come as bytes; convert them in the DataFrame: cast('string') for one",
    "value.deserializer": (
        "values come as bytes; convert them in the DataFrame: cast('string') or from_json for one"
    ),
}
_REFUSED_IN_WRITE: Final = {
    "interceptor.classes": "no Java class is loaded here; change rows with DataFrame functions",
    "key.serializer": "a key is a string or bytes already; convert it in the DataFrame",
    "partitioner.class": (
        "rows are sent as columns, and no class is loaded here; keys and load choose partitions as"
        " Kafka's own rule does, and a column partition chooses them for each row"
    ),
    "transactional.id": (
        "writing is at least once, by an idempotent producer; exactly once, by transactions, is to"
        " come in a later version: leave it out"
    ),
    "value.serializer": "a value is a string or bytes already; convert it in the DataFrame",
}
_WITHIN_A_CALL: Final = {
    "request.timeout.ms": "30000",
    "socket.connection.setup.timeout.ms": "10000",
}
"""What the admin client waits for inside of a call, and Kafka's defaults."""
# Ranges are read without a group, so these have no effect, and no group is left on the broker.
_OF_GROUPS: Final = frozenset(
    {
        "auto.commit.interval.ms",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "group.remote.assignor",
        "heartbeat.interval.ms",
        "max.poll.interval.ms",
        "session.timeout.ms",
    }
)
# The names of Java classes that nobody needs here: the JVM connector takes them on a read.
_UNUSED_IN_READ: Final = frozenset(
    {"key.serializer", "partition.assignment.strategy", "value.serializer"}
)

_PEM: Final = {
    "ssl.keystore.certificate.chain": "CERTIFICATE",
    "ssl.keystore.key": "PRIVATE KEY",
    "ssl.truststore.certificates": "CERTIFICATE",
}
"""Options that are a PEM text, and what has to be in it."""

# Kafka's own default, 16 KiB, is for records that come one by one.
_MANY_ROWS: Final = {"batch.size": "131072"}


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """What to read, and how."""

    kafka: Mapping[str, str] = field(repr=False)
    """Kafka's own options, without the `kafka.` before them."""
    topics: Subscribe | Pattern | Assign
    starting: Where | None = None
    """None: not given, and so earliest in a batch and latest in a stream."""
    ending: Where | None = None
    """None: not given, and so latest."""
    timestamp_strategy: Literal["error", "latest"] = "error"
    """What to do where no record is as young as a time to start at."""
    fail_on_data_loss: bool = True
    include_headers: bool = False
    max_offsets_per_trigger: int | None = None
    min_offsets_per_trigger: int | None = None
    max_trigger_delay: float = 900.0
    """In seconds."""
    min_partitions: int | None = None
    max_records_per_partition: int | None = None
    poll_timeout: float = 120.0
    """In seconds: how long a task waits for records that should be there."""
    fetch_retries: int = 3
    fetch_retry_interval: float = 1.0
    """In seconds."""
    push_filters: bool = False
    given: frozenset[str] = field(default=frozenset(), repr=False)
    """The names of all options that are given, in lower case."""

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> ReadOptions:
        """From the options as Spark gives them. Names that nobody knows are ignored.

        Raises:
            ConfigError: They are wrong, for a batch and for a stream.
        """
        texts = Texts(options)
        kafka = _kafka(texts, refused=_REFUSED_IN_READ)
        if not kafka.get("group.id", "g").strip():
            del kafka["group.id"]  # there is no group anyway
        topics = places.topics(texts)
        strategy = texts.word("startingOffsetsByTimestampStrategy", "error", "latest")
        # Spark's own connector can remember partitions for a while; here it takes no effect.
        texts.number("partition.metadata.cache.ttl.ms", least=-1, example=-1)
        parsed = cls(
            kafka=kafka,
            topics=topics,
            starting=places.where(texts, "starting"),
            ending=places.where(texts, "ending"),
            timestamp_strategy=cast(Literal["error", "latest"], strategy or "error"),
            fail_on_data_loss=texts.flag("failOnDataLoss", default=True),
            include_headers=texts.flag("includeHeaders", default=False),
            max_offsets_per_trigger=texts.number("maxOffsetsPerTrigger", least=0, example=10_000),
            min_offsets_per_trigger=texts.number("minOffsetsPerTrigger", least=0, example=10_000),
            max_trigger_delay=texts.duration("maxTriggerDelay", 900.0),
            min_partitions=texts.number("minPartitions", least=1, most=_INT32, example=8),
            max_records_per_partition=texts.number(
                "maxRecordsPerPartition", least=1, example=10_000
            ),
            poll_timeout=texts.milliseconds("kafkaConsumer.pollTimeoutMs", 120.0, least=1),
            fetch_retries=_or(texts.number("fetchOffset.numRetries", least=0, most=_INT32), 3),
            fetch_retry_interval=texts.milliseconds("fetchOffset.retryIntervalMs", 1.0),
            push_filters=texts.flag("pushFilters", default=False),
            given=frozenset(texts),
        )
        parsed._check()
        return parsed

    @property
    def read_committed(self) -> bool:
        """Whether records of open and aborted transactions are left out."""
        return self.kafka.get("isolation.level", "").strip() == "read_committed"

    @property
    def unknown(self) -> tuple[str, ...]:
        """Those names, as they may be shown, that no client of Kafka's has: they are ignored."""
        return _unknown(ConsumerConfig, self.kafka)

    def check_batch(self) -> None:
        """Say what is wrong in a batch. Limits per trigger have no effect in it.

        Raises:
            ConfigError: It begins at the end.
        """
        instead = "a batch reads what is there: leave it out, or say earliest (-2) or an offset"
        if self.starting is Word.LATEST:
            raise ConfigError(f"option startingOffsets is latest, but {instead}")
        if isinstance(self.starting, ByOffset):
            for name, offset in self.starting.offsets.items():
                if offset == LATEST:
                    raise ConfigError(
                        f"option startingOffsets has -1, latest, for {name}, but {instead}"
                    )

    def check_stream(self) -> None:
        """Say what is wrong in a stream. `endingTimestamp` is no error, but without effect.

        Raises:
            ConfigError: It has an end.
        """
        for name in ("endingOffsets", "endingOffsetsByTimestamp"):
            if name.lower() in self.given:
                raise ConfigError(
                    f"option {name} is given, but a stream has no end: leave it out, or read a"
                    " batch; trigger(availableNow=True) stops at what is there now"
                )

    def consumer_options(self) -> dict[str, str]:
        """Kafka's options for the consumer, which reads ranges and is in no group."""
        wait = min(round(self.poll_timeout * 1000), _INT32)
        return {
            **self._known(_OF_GROUPS | _UNUSED_IN_READ),
            # What the user says of calls is for the driver: Java's poll() has its own time, too.
            "default.api.timeout.ms": str(wait),
            # A read never makes a topic.
            "allow.auto.create.topics": "false",
        }

    def admin_options(self) -> dict[str, str]:
        """Kafka's options for the admin client, which asks for partitions and offsets."""
        found = self._known(_UNUSED_IN_READ | (_names(ConsumerConfig) - _names(AdminConfig)))
        # The admin client wants one request to fit into a call; the consumer, whose option it is
        # here, does not. And who waits no longer for a call waits no longer for a connection.
        call = found.get("default.api.timeout.ms")
        if call is not None:
            for name, default in _WITHIN_A_CALL.items():
                if int(call) < int(found.get(name, default)):
                    found[name] = call
        return found

    def _known(self, but: frozenset[str]) -> dict[str, str]:
        left_out = but.union(ConsumerConfig.unknown_names(self.kafka))
        return {name: text for name, text in self.kafka.items() if name not in left_out}

    def _check(self) -> None:
        """What options say together, and what Kafka's own are."""
        _check_config(ConsumerConfig, self._known(_UNUSED_IN_READ))
        _check_config(ConsumerConfig, self.consumer_options())
        _check_config(AdminConfig, self.admin_options())
        least, most = self.min_offsets_per_trigger, self.max_offsets_per_trigger
        if least is not None and most is not None and least > most:
            raise ConfigError(
                f"option minOffsetsPerTrigger is {least}, more than maxOffsetsPerTrigger, {most}:"
                " raise the latter, or lower the former"
            )
        places.check_end(self.ending)
        places.check_order(self.starting, self.ending)


@dataclass(frozen=True, kw_only=True)
class WriteOptions:
    """Where to write, and how."""

    kafka: Mapping[str, str] = field(repr=False)
    """Kafka's own options, without the `kafka.` before them."""
    topic: str | None = None
    """The topic of all rows; None: a column has it."""
    use_timestamp_column: bool = False
    """Whether a column `timestamp` becomes the time of a record."""

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> WriteOptions:
        """From the options as Spark gives them. Names that nobody knows are ignored.

        Raises:
            ConfigError: They are wrong.
        """
        texts = Texts(options)
        kafka = _kafka(texts, refused=_REFUSED_IN_WRITE)
        topic = texts.text("topic")
        if topic == "":
            raise wrong("topic", topic, "the name of a topic; without it, a column 'topic' has one")
        parsed = cls(
            kafka=kafka,
            topic=topic,
            use_timestamp_column=texts.flag("useTimestampColumn", default=False),
        )
        _check_config(ProducerConfig, parsed.producer_options())
        return parsed

    @property
    def unknown(self) -> tuple[str, ...]:
        """Those names, as they may be shown, that no client of Kafka's has: they are ignored."""
        return _unknown(ProducerConfig, self.kafka)

    def producer_options(self) -> dict[str, str]:
        """Kafka's options for the producer; what is not given is as fits many rows at once."""
        left_out = ProducerConfig.unknown_names(self.kafka)
        given = {name: text for name, text in self.kafka.items() if name not in left_out}
        return {**_MANY_ROWS, **given}


def _or(number: int | None, default: int) -> int:
    return default if number is None else number


# Kafka's own options.


def _kafka(texts: Texts, *, refused: Mapping[str, str]) -> dict[str, str]:
    kafka = texts.kafka()
    for name, reason in refused.items():
        if name in kafka:
            raise ConfigError(f"option kafka.{name} cannot be given here: {reason}")
    for name, kind in _PEM.items():  # files are for the executors to read
        if name in kafka and not re.search(f"-----BEGIN [A-Z0-9 ]*{kind}-----", kafka[name]):
            raise ConfigError(
                f"option kafka.{name} has no {kind.lower()} in it: it is a text in PEM, with a line"
                f" -----BEGIN {kind}-----"
            )
    servers = [each for each in kafka.get("bootstrap.servers", "").split(",") if each.strip()]
    if not servers:
        raise ConfigError(
            "option kafka.bootstrap.servers is missing: it says where the brokers are, such as"
            " .option('kafka.bootstrap.servers', 'host:9092,other:9092')"
        )
    kafka["bootstrap.servers"] = ",".join(servers)  # a comma too many is nothing to Java
    return kafka


def _check_config(kind: type[ClientConfig], options: Mapping[str, str]) -> None:
    ignored = kind.ignored_names(options)
    try:
        kind.from_kafka({name: text for name, text in options.items() if name not in ignored})
    except ConfigError as error:
        # Without the traceback of the configuration: what Spark shows is long enough.
        text = by_kafkas_names(str(error), options)
        raise ConfigError(f"of the kafka.* options: {text}") from None


def _names(kind: type[ClientConfig]) -> frozenset[str]:
    """Kafka's names of the options that a client has."""
    return frozenset(entry.name.replace("_", ".") for entry in fields(kind))


_warned_of: set[str] = set()


def warn_of_unknown(names: Iterable[str]) -> None:
    """As Spark's own connector, ignore what Kafka does not know, but say so once in a process."""
    for name in names:
        if name not in _warned_of:  # Spark makes the source anew for each batch
            _warned_of.add(name)
            warnings.warn(
                f"kafka.{name} is no option of Kafka's clients: it is ignored",
                KafkaConfigWarning,
                stacklevel=3,
            )


def _unknown(kind: type[ClientConfig], kafka: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(
        # A longer one may be a piece of a secret: a line lost from a certificate.
        name if re.fullmatch(r"[a-z0-9._-]{1,63}", name) else "[hidden]"
        for name in kind.unknown_names(kafka)
    )
