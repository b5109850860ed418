"""What must be true at the end, whatever has happened."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from kafka_aio.broker import EmbeddedBroker
from kafka_aio.errors import BufferFull, Persistence
from kafka_aio.producer import Producer
from kafka_aio.producer.partition import partition_of_key
from kafka_aio.records.codec import Record
from tests.simulation.ledger import Entry, Ledger, Told
from tests.simulation.plan import PARTITIONS, Plan
from tests.simulation.tasks import TOPIC

MOST_SHOWN = 5


class Log:
    """What the brokers have: the entries by partition, in their order."""

    def __init__(self, broker: EmbeddedBroker, ledger: Ledger) -> None:
        self.places: dict[Entry, list[tuple[int, int]]] = defaultdict(list)
        """Partition and offset of each entry, as often as it is there."""
        self.partitions: list[list[Entry]] = []
        self.strangers: list[Record] = []
        for partition in range(PARTITIONS):
            entries: list[Entry] = []
            for record in broker.records(TOPIC, partition):
                entry = ledger.by_value.get(record.value or b"")
                if entry is None or entry.key != record.key:
                    self.strangers.append(record)
                    continue
                entries.append(entry)
                self.places[entry].append((partition, record.offset))
            self.partitions.append(entries)


def problems(plan: Plan, ledger: Ledger, log: Log) -> list[str]:
    """What is wrong with the log, or with what was told of it; nothing should be."""
    checks: list[Callable[[Plan, Ledger, Log], Iterator[str]]] = [
        _all_are_settled,
        _delivered_ones_are_where_they_are_said_to_be,
        _none_is_there_twice,
        _those_said_to_be_lost_are_not_there,
        _tasks_have_their_order,
        _places_are_right,
        _nobody_gave_up,
    ]
    found = [f"nobody has submitted {record!r}" for record in log.strangers[:MOST_SHOWN]]
    for check in checks:
        these = list(check(plan, ledger, log))
        found += these[:MOST_SHOWN]
        if len(these) > MOST_SHOWN:
            found.append(f"... and {len(these) - MOST_SHOWN} more like the last")
    return found


def _all_are_settled(plan: Plan, ledger: Ledger, _: Log) -> Iterator[str]:
    for entry in ledger.entries():
        if entry.is_watched and entry.callbacks != 1:
            yield f"{entry}: its delivery was done {entry.callbacks} times"
        if entry.is_watched and entry.told is Told.NOTHING:
            yield f"{entry}, though it was accepted"


def _delivered_ones_are_where_they_are_said_to_be(
    _: Plan, ledger: Ledger, log: Log
) -> Iterator[str]:
    for entry in ledger.entries(Told.DELIVERED):
        found = log.places[entry]
        if not found:
            yield f"{entry}, but it is not in the log"
        elif entry.place is not None and (entry.place.partition, entry.place.offset) not in found:
            yield f"{entry}, but it is at {_shown(found)}"


def _none_is_there_twice(_: Plan, __: Ledger, log: Log) -> Iterator[str]:
    for entry, found in log.places.items():
        if len(found) > 1:
            yield f"{entry}: it is in the log {len(found)} times, at {_shown(found)}"


def _those_said_to_be_lost_are_not_there(_: Plan, ledger: Ledger, log: Log) -> Iterator[str]:
    for entry in ledger.entries(Told.REFUSED, Told.FAILED):
        found = log.places[entry]
        is_lost = entry.error is None or entry.error.persistence in (
            None,
            Persistence.NOT_PERSISTED,
        )
        if found and is_lost:
            yield f"{entry}, but it is in the log at {_shown(found)}"


def _tasks_have_their_order(_: Plan, __: Ledger, log: Log) -> Iterator[str]:
    """Those that were not acknowledged too, wherever they got into the log."""
    for partition, entries in enumerate(log.partitions):
        last: dict[int, Entry] = {}
        for entry in entries:
            if entry.is_loose:
                continue
            before = last.get(entry.task)
            if before is not None and before.number > entry.number:
                yield f"partition {partition}: {entry} stands after {before}"
            last[entry.task] = entry


def _places_are_right(plan: Plan, _: Ledger, log: Log) -> Iterator[str]:
    for entry, found in log.places.items():
        wanted = entry.partition
        if wanted is None and entry.key and not plan.options["partitioner_ignore_keys"]:
            wanted = partition_of_key(entry.key, PARTITIONS)
        for partition, _offset in found:
            if wanted not in (None, partition):
                yield f"{entry}: it is in partition {partition}, not in {wanted}"


def _nobody_gave_up(plan: Plan, ledger: Ledger, _: Log) -> Iterator[str]:
    """Where time-outs are longer than the weather is bad, nothing may be lost."""
    if plan.is_patient:
        for entry in ledger.entries(Told.FAILED, Told.REFUSED):
            if not isinstance(entry.error, BufferFull):
                yield f"{entry}, though there was time enough"


def rest(producer: Producer[bytes, bytes]) -> list[str]:
    """What a producer still holds that has flushed; it should be nothing."""
    found = producer.statistics()
    held = {
        "batches": found.batches,
        "bytes of memory": found.buffered_bytes,
        "calls that wait": found.waiting,
        "requests in flight": found.in_flight,
    }
    return [f"after the flush there are {count} {what}" for what, count in held.items() if count]


def _shown(places: list[tuple[int, int]]) -> str:
    return ", ".join(f"{partition}@{offset}" for partition, offset in places)
