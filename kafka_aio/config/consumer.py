"""What a consumer can be told: its group, its fetches, its offsets. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from typing import Annotated, Any, ClassVar

from kafka_aio.config import duration
from kafka_aio.config.client import ClientConfig
from kafka_aio.config.java import ASSIGNORS
from kafka_aio.config.option import (
    INT32,
    Bytes,
    Choice,
    Count,
    Either,
    Flag,
    Int,
    Kind,
    Milliseconds,
    Name,
    Sent,
    Several,
    Text,
    Thing,
    unset,
)
from kafka_aio.errors import ConfigError
from kafka_aio.serialization import Deserializer

_Deserializer = Annotated[
    Deserializer | None,
    Thing(
        "a plain function from bytes to a value",
        lambda value: callable(value) and not iscoroutinefunction(value),
    ),
]
_Assignor = Either(
    Choice(*ASSIGNORS),
    Thing("an assignor of your own", lambda value: isinstance(getattr(value, "name", None), str)),
)
_BY_DURATION = "by_duration:"
_CLASSIC_ONLY = ("partition_assignment_strategy", "session_timeout_ms", "heartbeat_interval_ms")


class Reset(Kind):
    """A reset policy: a word, or how far back to go (KIP-1106)."""

    takes = (
        "one of 'latest', 'earliest', 'none', or 'by_duration:' with an ISO 8601 duration such as"
        " 'by_duration:P1DT12H'"
    )

    def accept(self, value: Any) -> Any:
        if value in ("latest", "earliest", "none"):
            return value
        if not isinstance(value, str) or not value.startswith(_BY_DURATION):
            return self.REFUSED
        seconds = duration.seconds(value.removeprefix(_BY_DURATION))
        return value if seconds is not None and seconds >= 0 else self.REFUSED


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ConsumerConfig(ClientConfig):
    """Options of a consumer, and those of every client."""

    client: ClassVar[str] = "consumer"

    key_deserializer: _Deserializer = None
    """From bytes to a key; none leaves keys as bytes."""
    value_deserializer: _Deserializer = None
    """From bytes to a value; none leaves values as bytes."""
    interceptors: Annotated[Sequence[Any], Several(Thing("an object", lambda _: True))] = ()
    """Objects that see records before they are handed over (on_consume) and commits (on_commit)."""
    client_rack: Sent = ""
    """Where this client is, so that it may read from a replica nearby."""

    group_id: Name = None
    """The group to share the topics with; none means to read alone, without commits."""
    group_protocol: Annotated[str, Choice("classic", "consumer", any_case=True)] = "classic"
    """Whether members assign ("classic") or the broker does ("consumer", KIP-848)."""
    group_instance_id: Annotated[
        str | None,
        Text("up to 249 letters, digits, '.', '_' or '-'", form=r"(?!\.\.?$)[a-zA-Z0-9._-]{1,249}"),
    ] = None
    """A lasting name of this member, by which a restart causes no rebalance (KIP-345)."""
    group_remote_assignor: Name = None
    """The broker's assignor to use, uniform or range; none leaves it to the broker."""
    partition_assignment_strategy: Annotated[Sequence[Any], Several(_Assignor, least=1)] = field(
        default=unset(("range", "cooperative-sticky"))
    )
    """The assignors to offer in a classic group, the preferred one first."""
    session_timeout_ms: Annotated[int, Int(1, INT32)] = field(default=unset(45_000))
    """After how long without a heartbeat a member of a classic group is taken for dead."""
    heartbeat_interval_ms: Annotated[int, Int(1, INT32)] = field(default=unset(3_000))
    """How often a heartbeat is sent in a classic group; at most a third of session_timeout_ms."""
    max_poll_interval_ms: Count = 300_000
    """After how long without a request for records the member leaves its group."""
    max_poll_records: Count = 500
    """The most records that one poll returns."""

    enable_auto_commit: Flag = field(default=unset(True))
    """Whether positions are committed by the client itself; off without a group."""
    auto_commit_interval_ms: Milliseconds = 5_000
    """How often that is done."""
    auto_offset_reset: Annotated[str, Reset()] = "latest"
    """Where to begin without a committed offset: latest, earliest, none, by_duration:PnDTnHnMnS."""
    isolation_level: Annotated[str, Choice("read_uncommitted", "read_committed")] = (
        "read_uncommitted"
    )
    """Whether records of open and aborted transactions are left out."""
    allow_auto_create_topics: Flag = True
    """Whether asking for a topic may create it, where the broker allows that."""
    exclude_internal_topics: Flag = True
    """Whether a pattern leaves out Kafka's own topics."""

    fetch_min_bytes: Bytes = 1
    """The bytes that a broker waits for before it answers a fetch."""
    fetch_max_wait_ms: Milliseconds = 500
    """How long it waits for them."""
    fetch_max_bytes: Bytes = 52_428_800
    """The most bytes of one fetch; a larger first batch still comes."""
    max_partition_fetch_bytes: Bytes = 1_048_576
    """The most bytes of one partition in a fetch; a larger first batch still comes."""
    check_crcs: Flag = True
    """Whether the checksum of each batch is verified."""
    max_decompressed_batch_bytes: Annotated[int, Int(1_024, INT32)] = 128 * 2**20
    """The largest batch after decompression; a larger one is an error. Not in Kafka."""
    default_api_timeout_ms: Milliseconds = 60_000
    """How long a call without a timeout of its own may take."""

    __replace__ = ClientConfig.replace

    @property
    def auto_offset_reset_lookback(self) -> float | None:
        """How many seconds back `by_duration` goes; None with another policy."""
        if not self.auto_offset_reset.startswith(_BY_DURATION):
            return None
        return duration.seconds(self.auto_offset_reset.removeprefix(_BY_DURATION))

    def _notes(self) -> list[str]:
        found = ClientConfig._notes(self)
        if self.fetch_max_wait_ms >= self.request_timeout_ms:
            found.append(
                f"fetch_max_wait_ms is {self.fetch_max_wait_ms} and request_timeout_ms"
                f" {self.request_timeout_ms}: a fetch of a quiet topic ends as a failure"
            )
        return found

    def _settle(self) -> None:
        ClientConfig._settle(self)
        self._check_protocol()
        if self.group_id is None:
            self._settle_without_group()
        elif self.group_protocol == "classic" and self._heartbeats_too_rare():
            raise ConfigError(
                f"heartbeat_interval_ms is {self.heartbeat_interval_ms}, but must be below"
                f" session_timeout_ms, {self.session_timeout_ms}; a third of it is good"
            )

    def _heartbeats_too_rare(self) -> bool:
        return self.heartbeat_interval_ms >= self.session_timeout_ms

    def _check_protocol(self) -> None:
        if self.group_protocol == "classic":
            if self.group_remote_assignor is not None:
                raise ConfigError(
                    "group_remote_assignor belongs to group_protocol='consumer'; in a classic"
                    " group set partition_assignment_strategy"
                )
            return
        given = [name for name in _CLASSIC_ONLY if name not in self._unset]
        if given:
            raise ConfigError(
                f"{given[0]} belongs to group_protocol='classic'; with 'consumer' the broker"
                " decides it: leave it out"
            )

    def _settle_without_group(self) -> None:
        if self.enable_auto_commit and "enable_auto_commit" not in self._unset:
            raise ConfigError(
                "enable_auto_commit is set, but there is no group to commit for: set group_id, or"
                " leave it out"
            )
        self._set("enable_auto_commit", False)
