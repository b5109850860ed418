"""What was submitted, and what its task was told of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kafka_aio.errors import KafkaError
from kafka_aio.producer import Delivery
from kafka_aio.types import RecordMetadata


class Told(Enum):
    """What is known of a record on our side."""

    NOTHING = "nothing"
    """Its call was cancelled, or has not ended."""
    REFUSED = "refused"
    """It was not accepted."""
    DELIVERED = "delivered"
    FAILED = "failed"


@dataclass(eq=False)
class Entry:
    """One record."""

    task: int
    number: int
    """In the order in which its task submitted them."""
    value: bytes
    key: bytes | None
    partition: int | None
    """Where it has to be, if its task chose that."""
    is_loose: bool = False
    """It has no order: its place is chosen when it is accepted, and others are sent beside it."""
    told: Told = Told.NOTHING
    place: RecordMetadata | None = None
    error: KafkaError | None = None
    callbacks: int = 0
    """How often its `Delivery` has said that it is done."""
    is_watched: bool = False

    def __str__(self) -> str:
        why = f" ({type(self.error).__name__}: {self.error})" if self.error else ""
        at = f" at {self.place.partition}@{self.place.offset}" if self.place else ""
        return f"record {self.number} of task {self.task}: {self.told.value}{at}{why}"

    def watch(self, delivery: Delivery) -> None:
        """Count how often it is done."""
        self.is_watched = True
        delivery.add_done_callback(lambda _: self._called())

    def _called(self) -> None:
        self.callbacks += 1

    def delivered(self, place: RecordMetadata | None) -> None:
        """It is in the log; where is not told if others of the same call failed."""
        assert self.told is Told.NOTHING, f"{self}: it is told twice"
        self.told, self.place = Told.DELIVERED, place

    def failed(self, error: KafkaError) -> None:
        """It was not delivered; where nothing is said of its persistence, it was not accepted."""
        assert self.told is Told.NOTHING, f"{self}: it is told twice"
        self.told = Told.FAILED if error.persistence is not None else Told.REFUSED
        self.error = error

    async def settle(self, delivery: Delivery) -> None:
        try:
            self.delivered(await delivery)
        except KafkaError as error:
            self.failed(error)


class Ledger:
    """All records, by their values, which differ."""

    def __init__(self) -> None:
        self.by_value: dict[bytes, Entry] = {}

    def __len__(self) -> int:
        return len(self.by_value)

    def add(self, entry: Entry) -> None:
        self.by_value[entry.value] = entry

    def entries(self, *told: Told) -> list[Entry]:
        """All of them, or those of which that was told."""
        return [each for each in self.by_value.values() if not told or each.told in told]
