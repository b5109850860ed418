"""Offsets in a table of SQLite, and of who only says so."""

from __future__ import annotations

import pickle
import re
import sqlite3
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest

from kafka_aio.consumer.record import Polled
from kafka_aio.consumer.store import OffsetConflict, SqlOffsetStore, StoredOffsets
from kafka_aio.errors import KafkaError, StateError
from kafka_aio.types import TopicPartition

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as opened:
        yield opened


@pytest.fixture
def store(connection: sqlite3.Connection) -> SqlOffsetStore:
    made = SqlOffsetStore("billing")
    made.create(connection)
    return made


def test_what_was_advanced_is_loaded(store: SqlOffsetStore, connection: sqlite3.Connection) -> None:
    store.advance(connection, A0, None, 10)
    store.advance(connection, A0, 10, 25)
    store.advance(connection, B0, None, 2**62)

    assert store.load(connection, [A0, A1, B0]) == {A0: 25, B0: 2**62}
    assert store.load(connection, [A1]) == {}


def test_a_table_that_is_there_is_left_alone(
    store: SqlOffsetStore, connection: sqlite3.Connection
) -> None:
    store.advance(connection, A0, None, 10)

    store.create(connection)

    assert store.load(connection, [A0]) == {A0: 10}


def test_groups_do_not_see_each_others_offsets(
    store: SqlOffsetStore, connection: sqlite3.Connection
) -> None:
    other = SqlOffsetStore("shipping")
    store.advance(connection, A0, None, 10)

    other.advance(connection, A0, None, 3)
    other.advance(connection, A0, 3, 4)

    assert store.load(connection, [A0]) == {A0: 10}


@pytest.mark.parametrize("begin", [0, 9, 11, 25])
def test_an_offset_is_advanced_from_where_it_is_alone(
    store: SqlOffsetStore, connection: sqlite3.Connection, begin: int
) -> None:
    store.advance(connection, A0, None, 10)

    with pytest.raises(OffsetConflict, match=f"a-0: 10 is stored, and not {begin}") as caught:
        store.advance(connection, A0, begin, 30)

    assert (caught.value.partition, caught.value.begin, caught.value.found) == (A0, begin, 10)
    assert isinstance(caught.value, KafkaError)
    assert store.load(connection, [A0]) == {A0: 10}


def test_what_is_not_stored_is_advanced_from_nothing_alone(
    store: SqlOffsetStore, connection: sqlite3.Connection
) -> None:
    with pytest.raises(OffsetConflict, match="a-0: nothing is stored, and not 5") as caught:
        store.advance(connection, A0, 5, 30)

    assert caught.value.found is None


def test_the_first_offset_is_stored_once(
    store: SqlOffsetStore, connection: sqlite3.Connection
) -> None:
    store.advance(connection, A0, None, 10)

    with pytest.raises(OffsetConflict, match="a-0: an offset is stored, and there was none") as no:
        store.advance(connection, A0, None, 10)

    assert isinstance(no.value.__cause__, sqlite3.IntegrityError)
    assert store.load(connection, [A0]) == {A0: 10}


@pytest.mark.parametrize(("begin", "end"), [(None, -1), (5, 5), (5, 4)])
def test_an_advance_goes_forward(
    store: SqlOffsetStore, connection: sqlite3.Connection, begin: int | None, end: int
) -> None:
    with pytest.raises(ValueError, match=f"a-0: {end} does not come after {begin}"):
        store.advance(connection, A0, begin, end)


def test_other_errors_of_the_driver_stay_what_they_are(connection: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        SqlOffsetStore("billing").advance(connection, A0, None, 10)


@pytest.mark.parametrize("begin", [None, 10])
def test_of_two_transactions_at_the_same_time_one_advances(
    tmp_path: Path, begin: int | None
) -> None:
    file, store = tmp_path / "offsets.db", SqlOffsetStore("billing")
    with closing(sqlite3.connect(file)) as first:
        store.create(first)
        if begin is not None:
            store.advance(first, A0, None, begin)
        first.commit()
    outcomes: list[object] = []
    together = threading.Barrier(8)

    def advance(end: int) -> None:
        with closing(sqlite3.connect(file, timeout=30)) as mine:
            together.wait()
            try:
                with mine:
                    store.advance(mine, A0, begin, end)
                outcomes.append(end)
            except OffsetConflict as conflict:
                outcomes.append(type(conflict))

    threads = [threading.Thread(target=advance, args=(20 + number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert outcomes.count(OffsetConflict) == 7
    (end,) = set(outcomes) - {OffsetConflict}
    with closing(sqlite3.connect(file)) as after:
        assert store.load(after, [A0]) == {A0: end}


def test_a_conflict_rolls_the_results_back(
    store: SqlOffsetStore, connection: sqlite3.Connection
) -> None:
    connection.execute("CREATE TABLE results (value)")
    store.advance(connection, A0, None, 10)
    connection.commit()

    def settle() -> None:
        with connection:
            connection.execute("INSERT INTO results VALUES (1)")
            store.advance(connection, A0, 5, 30)

    with pytest.raises(OffsetConflict):
        settle()

    assert connection.execute("SELECT * FROM results").fetchall() == []
    assert store.load(connection, [A0]) == {A0: 10}


def test_a_conflict_can_be_pickled() -> None:
    again = pickle.loads(pickle.dumps(OffsetConflict(A0, 5, 10)))

    assert (again.partition, again.begin, again.found) == (A0, 5, 10)
    assert str(again) == str(OffsetConflict(A0, 5, 10))


# Drivers.


class Spoken:
    """SQLite behind a driver that marks parameters in the manner of others."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.said: list[str] = []

    def cursor(self) -> Any:
        said = self.said

        class Cursor(sqlite3.Cursor):
            def execute(self, operation: str, parameters: Any = (), /) -> Self:
                said.append(operation)
                operation = re.sub(r"%\((\w+)\)s", r":\1", operation).replace("%s", "?")
                operation = re.sub(r":(\d)", r"?\1", operation)  # which SQLite takes for a name
                return super().execute(operation, parameters)

        return self.connection.cursor(Cursor)


@pytest.mark.parametrize(
    ("paramstyle", "mark"),
    [
        ("qmark", "?"),
        ("named", ":p1"),
        ("format", "%s"),
        ("pyformat", "%(p1)s"),
        ("numeric", ":1"),
    ],
)
def test_each_manner_of_marking_parameters_is_spoken(
    connection: sqlite3.Connection, paramstyle: str, mark: str
) -> None:
    spoken, store = Spoken(connection), SqlOffsetStore("billing", paramstyle=paramstyle)
    store.create(spoken)

    store.advance(spoken, A0, None, 10)
    store.advance(spoken, A0, 10, 25)

    assert store.load(spoken, [A0]) == {A0: 25}
    assert spoken.said[-1].endswith(f"WHERE group_id = {mark}")
    with pytest.raises(OffsetConflict):
        store.advance(spoken, A0, None, 10)


def test_a_table_has_a_name_of_its_own(connection: sqlite3.Connection) -> None:
    store = SqlOffsetStore("billing", table="main.my_offsets_2")
    store.create(connection)

    store.advance(connection, A0, None, 1)

    assert connection.execute("SELECT next_offset FROM my_offsets_2").fetchall() == [(1,)]
    assert repr(store) == "<SqlOffsetStore: main.my_offsets_2, group 'billing'>"


@pytest.mark.parametrize("table", ["", "2", "a b", "a;b", 'a"', "a.b.c", "ä"])
def test_a_name_that_could_be_more_than_a_name_is_refused(table: str) -> None:
    with pytest.raises(ValueError, match="is no name of a table"):
        SqlOffsetStore("billing", table=table)


def test_a_paramstyle_is_one_of_pep_249() -> None:
    with pytest.raises(ValueError, match="'dollar' is no paramstyle: there are qmark, numeric"):
        SqlOffsetStore("billing", paramstyle="dollar")


# The consumer's side; what it does to a consumer is in tests/scenarios/consumer/test_store.py.


class Read(NamedTuple):
    """A record."""

    offset: int


class Place:
    """Stands where a consumer would stand."""

    def __init__(self, **positions: int) -> None:
        names = {"a0": A0, "a1": A1, "b0": B0}
        self.positions = {names[name]: offset for name, offset in positions.items()}

    def assignment(self) -> list[TopicPartition]:
        return list(self.positions)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.positions[partition] = offset

    async def position(self, partition: TopicPartition) -> int:
        return self.positions[partition]


def at_once(coroutine: Coroutine[Any, Any, None]) -> None:
    """Nothing here has to wait, so no loop is needed."""
    with pytest.raises(StopIteration):
        coroutine.send(None)


def at(*offsets: int) -> list[Read]:
    return [Read(offset) for offset in offsets]


def polled(*offsets: int, begin: int) -> Polled[Read]:
    """What `poll` gives, after records that end there."""
    return Polled(at(*offsets), begin)


@pytest.fixture
def place() -> Place:
    return Place(a0=0, a1=7)


@pytest.fixture
def offsets(place: Place, store: SqlOffsetStore, connection: sqlite3.Connection) -> StoredOffsets:
    return StoredOffsets(place, store, lambda partitions: store.load(connection, partitions))


Stored = Callable[[], dict[TopicPartition, int]]


@pytest.fixture
def stored(store: SqlOffsetStore, connection: sqlite3.Connection) -> Stored:
    return lambda: store.load(connection, [A0, A1, B0])


def test_batches_are_stored_one_after_the_other(
    offsets: StoredOffsets, connection: sqlite3.Connection, stored: Stored
) -> None:
    at_once(offsets.assigned([A0, A1]))

    offsets.advance(connection, {A0: polled(0, 1, 2, begin=0), A1: polled(7, begin=0)})
    # 3 and 4 are not there: compacted, aborted
    offsets.advance(connection, {A0: polled(5, begin=3), A1: []})

    assert stored() == {A0: 6, A1: 8}
    assert repr(offsets) == "<StoredOffsets: a-0 at 6, a-1 at 8>"


def test_a_consumer_goes_on_from_what_is_stored(
    offsets: StoredOffsets, place: Place, store: SqlOffsetStore, connection: sqlite3.Connection
) -> None:
    store.advance(connection, A0, None, 4)

    at_once(offsets.assigned([A0, A1]))

    assert place.positions == {A0: 4, A1: 7}
    offsets.advance(connection, {A0: at(4), A1: polled(9, begin=7)})


def test_what_is_stored_may_be_loaded_by_a_coroutine(
    place: Place, store: SqlOffsetStore, connection: sqlite3.Connection
) -> None:
    async def load(partitions: object) -> dict[TopicPartition, int]:
        return {A0: 4}

    offsets = StoredOffsets(place, store, load)

    at_once(offsets.assigned([A0]))

    assert place.positions[A0] == 4


def test_who_is_late_gets_a_conflict_and_reads_on_from_what_is_stored(
    offsets: StoredOffsets,
    place: Place,
    store: SqlOffsetStore,
    connection: sqlite3.Connection,
    stored: Stored,
) -> None:
    at_once(offsets.assigned([A0]))
    store.advance(connection, A0, None, 20)  # it is another's meanwhile

    with pytest.raises(OffsetConflict):
        offsets.advance(connection, {A0: at(0, 1)})
    at_once(offsets.reload())

    assert place.positions[A0] == 20
    offsets.advance(connection, {A0: at(20)})
    assert stored() == {A0: 21}


def test_after_a_rollback_all_is_read_again(
    offsets: StoredOffsets, place: Place, connection: sqlite3.Connection, stored: Stored
) -> None:
    at_once(offsets.assigned([A0, A1]))
    offsets.advance(connection, {A0: at(0, 1)})
    connection.commit()
    place.positions = {A0: 3, A1: 9}  # it has read on
    offsets.advance(connection, {A0: at(2), A1: at(7, 8)})
    connection.rollback()

    at_once(offsets.reload())

    assert place.positions == {A0: 2, A1: 7}
    offsets.advance(connection, {A0: at(2), A1: at(7, 8)})
    assert stored() == {A0: 3, A1: 9}


def test_who_does_not_read_again_after_a_rollback_gets_a_conflict(
    offsets: StoredOffsets, connection: sqlite3.Connection
) -> None:
    at_once(offsets.assigned([A0]))
    offsets.advance(connection, {A0: at(0, 1)})
    connection.rollback()

    with pytest.raises(OffsetConflict, match="nothing is stored, and not 2"):
        offsets.advance(connection, {A0: at(2)})


def test_what_is_dealt_with_is_not_dealt_with_again(
    offsets: StoredOffsets, connection: sqlite3.Connection, stored: Stored
) -> None:
    at_once(offsets.assigned([A0]))
    offsets.advance(connection, {A0: at(0, 1, 2)})

    with pytest.raises(StateError, match="the record at 1 is dealt with already, as 3 is stored"):
        offsets.advance(connection, {A0: at(1, 2, 3)})

    assert stored() == {A0: 3}


@pytest.mark.parametrize("stored_before", [None, 4])
def test_what_comes_after_records_that_are_not_stored_gets_a_conflict(
    offsets: StoredOffsets,
    store: SqlOffsetStore,
    connection: sqlite3.Connection,
    stored: Stored,
    stored_before: int | None,
) -> None:
    if stored_before is not None:
        store.advance(connection, A0, None, stored_before)
    at_once(offsets.assigned([A0]))

    with pytest.raises(OffsetConflict, match="and not 6, where the batch began") as caught:
        offsets.advance(connection, {A0: polled(8, 9, begin=6)})  # those before 6 were lost

    assert (caught.value.begin, caught.value.found) == (6, stored_before)
    assert stored() == ({} if stored_before is None else {A0: stored_before})


def test_what_was_stored_meanwhile_up_to_the_begin_of_a_batch_is_gone_on_from(
    offsets: StoredOffsets, store: SqlOffsetStore, connection: sqlite3.Connection, stored: Stored
) -> None:
    at_once(offsets.assigned([A0]))
    store.advance(connection, A0, None, 6)

    offsets.advance(connection, {A0: polled(8, 9, begin=6)})

    assert stored() == {A0: 10}


def test_what_is_sought_past_needs_not_be_stored(
    offsets: StoredOffsets, connection: sqlite3.Connection, stored: Stored
) -> None:
    at_once(offsets.assigned([A0]))

    offsets.advance(connection, {A0: polled(0, 1, begin=0)})
    offsets.advance(connection, {A0: polled(7, begin=2)})
    offsets.advance(connection, {A0: polled(20, begin=3)})  # after a seek to 3, and one to 20

    assert stored() == {A0: 21}


@pytest.mark.parametrize("settled", [at(), at(0, 1, 2)])
def test_a_list_that_does_not_know_where_it_began_has_no_gap_before_it(
    offsets: StoredOffsets, connection: sqlite3.Connection, stored: Stored, settled: list[Read]
) -> None:
    at_once(offsets.assigned([A0]))
    offsets.advance(connection, {A0: settled})
    before = stored()

    with pytest.raises(StateError, match=r"a-0: the record at 5 does not follow .* whole"):
        offsets.advance(connection, {A0: at(5, 6)})

    assert stored() == before
    offsets.advance(connection, {A0: at(len(settled), 5, 6)})
    assert stored() == {A0: 7}


def test_what_was_revoked_is_another_s(
    offsets: StoredOffsets, connection: sqlite3.Connection
) -> None:
    at_once(offsets.assigned([A0, A1]))

    offsets.revoked([A0])

    with pytest.raises(StateError, match="a-0: it is not known what is stored of it"):
        offsets.advance(connection, {A0: at(0)})
    assert repr(offsets) == "<StoredOffsets: a-1 at None>"
    offsets.revoked([A1])
    assert repr(offsets) == "<StoredOffsets: no partitions>"


def test_partitions_assigned_by_hand_are_loaded_when_asked_to(
    offsets: StoredOffsets, connection: sqlite3.Connection, stored: Stored
) -> None:
    at_once(offsets.reload())

    offsets.advance(connection, {A0: at(0), A1: at(7)})
    assert stored() == {A0: 1, A1: 8}
