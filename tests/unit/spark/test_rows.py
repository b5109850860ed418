from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

pa = pytest.importorskip("pyarrow")

from kafka_aio import ProducerRecord  # noqa: E402 - first whether pyarrow is there
from kafka_aio.errors import KafkaTimeoutError, SendManyError  # noqa: E402
from spark_connector import rows as module  # noqa: E402
from spark_connector.errors import RowError  # noqa: E402
from spark_connector.rows import Chunk, Rows, WrongRow  # noqa: E402


class SparkRow(tuple[Any, ...]):
    """What a Row of Spark's is: a tuple with names."""

    __fields__: list[str]

    def __new__(cls, **values: Any) -> SparkRow:
        row = super().__new__(cls, values.values())
        row.__fields__ = list(values)
        return row

    def __getitem__(self, name: Any) -> Any:
        at = self.__fields__.index(name) if isinstance(name, str) else name
        return super().__getitem__(at)


def at_once() -> float:
    """The time, where rows take none."""
    return 0.0


TO_T = Rows(topic="t", use_timestamp=False, where="Spark partition 3, ")
TO_ANY = Rows(topic=None, use_timestamp=True)


def refusal(rows: Rows, *given: Any) -> tuple[int, str]:
    with pytest.raises(WrongRow) as caught:
        rows.batch(list(given))
    return caught.value.index, caught.value.reason


# What a row is.


def test_values_are_bytes_and_texts() -> None:
    batch = TO_T.batch([b"a", "é", b""])

    assert batch.to_pydict() == {"value": [b"a", "é".encode(), b""]}


def test_other_buffers_are_values_too() -> None:
    batch = TO_T.batch([bytearray(b"a"), memoryview(b"b")])

    assert batch.to_pydict() == {"value": [b"a", b"b"]}


def test_pairs_are_key_and_value() -> None:
    batch = TO_T.batch([(b"k", b"v"), (None, "v"), ("k", None)])

    assert batch.to_pydict() == {"value": [b"v", b"v", None], "key": [b"k", None, b"k"]}


def test_a_producer_record_is_what_it_is_and_its_topic_counts() -> None:
    record = ProducerRecord("u", b"v", b"k", 2, 1234, [("h", b"x")])

    assert TO_T.batch([record]).to_pylist() == [
        {
            "topic": "u",
            "value": b"v",
            "key": b"k",
            "partition": 2,
            "timestamp": 1234,
            "headers": [{"key": "h", "value": b"x"}],
        }
    ]


def test_rows_and_dicts_have_columns_and_others_are_left_out() -> None:
    row = SparkRow(id=5, value="v", key=b"k", partition=1, headers=[SparkRow(value=b"x", key="h")])

    assert TO_T.batch([row, {"value": b"w", "other": 1}]).to_pylist() == [
        {
            "value": b"v",
            "key": b"k",
            "partition": 1,
            "headers": [{"key": "h", "value": b"x"}],
        },
        {"value": b"w", "key": None, "partition": None, "headers": None},
    ]


def test_the_topic_of_all_counts_before_a_column() -> None:
    row = {"value": b"v", "topic": "u"}

    assert TO_T.batch([row]).to_pydict() == {"value": [b"v"]}
    assert TO_ANY.batch([row]).to_pydict() == {"value": [b"v"], "topic": ["u"]}


def test_a_time_beyond_what_can_be_is_an_error_with_its_place() -> None:
    good = {"value": b"v", "topic": "u", "timestamp": 5}
    moment = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))  # before the first of UTC

    with pytest.raises(WrongRow, match="no time") as raised:
        TO_ANY.batch([good, {**good, "timestamp": moment}])

    assert raised.value.index == 1


def test_a_whole_number_of_another_kind_is_one() -> None:
    numpy = pytest.importorskip("numpy")
    row = {"value": b"v", "topic": "u", "partition": numpy.int64(3), "timestamp": numpy.int64(5)}

    assert TO_ANY.batch([row, {**row, "partition": None}]).to_pydict() == {
        "value": [b"v", b"v"],
        "topic": ["u", "u"],
        "partition": [3, None],
        "timestamp": [5, 5],
    }


def test_a_named_tuple_goes_by_its_names() -> None:
    class Event(NamedTuple):
        value: bytes
        key: bytes

    assert TO_T.batch([Event(b"v", b"k")]).to_pydict() == {"value": [b"v"], "key": [b"k"]}


def test_a_column_with_a_timestamp_counts_only_where_it_is_asked_for() -> None:
    row = {"value": b"v", "topic": "u", "timestamp": 5}

    assert "timestamp" not in TO_T.batch([row]).schema.names
    assert TO_ANY.batch([row]).to_pydict()["timestamp"] == [5]


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2023, 11, 14, 22, 13, 20, 123999, tzinfo=UTC),
        datetime(2023, 11, 15, 0, 13, 20, 123000, tzinfo=timezone(timedelta(hours=2))),
    ],
)
def test_a_datetime_is_in_milliseconds(moment: datetime) -> None:
    row = {"value": b"v", "topic": "u", "timestamp": moment}

    assert TO_ANY.batch([row]).to_pydict()["timestamp"] == [1_700_000_000_123]


@pytest.mark.usefixtures("_zone")
def test_a_datetime_without_a_zone_is_of_the_zone_of_the_process() -> None:
    row = {"value": b"v", "topic": "u", "timestamp": datetime(2023, 11, 15, 0, 13, 20)}

    assert TO_ANY.batch([row]).to_pydict()["timestamp"] == [1_700_000_000_000]


@pytest.fixture
def _zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "EET-2")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    "headers", [[("h", b"x"), ("n", None)], [{"key": "h", "value": b"x"}, ("n", None)]]
)
def test_headers_are_pairs_of_any_kind(headers: Any) -> None:
    found = TO_T.batch([{"value": b"v", "headers": headers}]).to_pydict()["headers"]

    assert found == [[{"key": "h", "value": b"x"}, {"key": "n", "value": None}]]


def test_headers_may_be_a_mapping() -> None:
    found = TO_T.batch([{"value": b"v", "headers": {"h": b"x"}}]).to_pydict()["headers"]

    assert found == [[{"key": "h", "value": b"x"}]]


def test_rows_of_several_kinds_may_stand_beside_each_other() -> None:
    batch = TO_T.batch([b"a", ("k", "b"), {"value": "c"}, ProducerRecord("u", b"d")])

    assert batch.to_pydict() == {
        "value": [b"a", b"b", b"c", b"d"],
        "key": [None, b"k", None, None],
        "topic": [None, None, None, "u"],
    }


# What is none.


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (None, "of type NoneType"),
        (5, "not 5"),
        (["k", "v"], "of type list"),
        (("k", "v", "x"), "of type tuple"),
        (object(), "of type object"),
    ],
)
def test_what_is_no_row_is_refused_with_its_index(row: Any, reason: str) -> None:
    index, said = refusal(TO_T, b"a", b"b", row)

    assert index == 2
    assert said.startswith("a row is bytes or a str, a pair of key and value, ")
    assert said.endswith(reason)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ((5, b"v"), "its key is 5, and has to be bytes or a str"),
        ((b"k", 1.5), "its value is of type float, and has to be bytes or a str"),
        ((b"k", "\ud800"), "its value has half of a surrogate pair: that is no text in UTF-8"),
        (("\udfff", b"v"), "its key has half of a surrogate pair"),
        ({"value": b"v", "headers": [("\ud800", b"")]}, "its headers has half of a surrogate pair"),
        ({"value": b"v", "partition": 1.5}, "its partition is of type float, and has to be"),
        ({"value": b"v", "partition": 1.0}, "its partition is of type float, and has to be"),
        ({"value": b"v", "partition": Decimal(1)}, "its partition is of type Decimal, and has to"),
        ({"value": b"v", "partition": True}, "its partition is of type bool, and has to be"),
        (ProducerRecord("u", timestamp=1.5), "its timestamp is of type float, and has to be mill"),  # type: ignore[arg-type]
        ({"value": b"v", "partition": "1"}, "its partition is of type str, and has to be a whole"),
        ({"value": b"v", "partition": 2**31}, "its partition is 2147483648, and has to be a whole"),
        (ProducerRecord("u", timestamp="x"), "its timestamp is of type str, and has to be mill"),  # type: ignore[arg-type]
        ({"value": b"v", "headers": 5}, "its headers have to be pairs of a str and bytes"),
        ({"value": b"v", "headers": ["abc"]}, "its headers have to be pairs of a str and bytes"),
        ({"value": b"v", "headers": ["ab"]}, "its headers have to be pairs of a str and bytes"),
        ({"value": b"v", "headers": [b"ab"]}, "its headers have to be pairs of a str and bytes"),
        ({"value": b"v", "headers": [(5, 5)]}, "its headers is of type list, and has to be pairs"),
        ({"key": b"v", "id": 5}, "a column 'value' is needed; there are key, id"),
        ({}, "a column 'value' is needed; there are none"),
    ],
)
def test_a_part_of_another_type_is_refused_with_the_index_of_its_row(row: Any, reason: str) -> None:
    index, said = refusal(TO_T, ("k", "v"), row)

    assert index == 1
    assert said.startswith(reason)


def test_a_row_without_a_topic_is_refused_where_none_is_given() -> None:
    for given in ([b"v"], [("k", "v")], [{"value": b"v"}]):
        assert refusal(TO_ANY, *given)[1].startswith("where to? Give topic=...")

    assert refusal(TO_ANY, {"value": b"v", "topic": "u"}, {"value": b"v", "topic": None})[0] == 1


# Chunks.


def test_chunks_know_where_they_stand() -> None:
    chunks = list(TO_T.chunks((b"v" for _ in range(7)), 3, clock=at_once))

    assert [(chunk.first_row, chunk.batch.num_rows) for chunk in chunks] == [(0, 3), (3, 3), (6, 1)]


def test_no_rows_are_no_chunks() -> None:
    assert list(TO_T.chunks(iter([]), 10, clock=at_once)) == []


@pytest.mark.parametrize(
    "large",
    [
        b"v" * 10_000,
        "v" * 10_000,
        (b"k" * 5_000, b"v" * 5_000),
        (None, b"v" * 10_000),
        {"value": b"v" * 10_000, "partition": 0},
        ProducerRecord("t", b"v" * 10_000),
        SparkRow(value=b"v" * 10_000, partition=None),
    ],
)
def test_a_chunk_of_large_rows_has_few_of_them_also_after_small_ones(
    monkeypatch: pytest.MonkeyPatch, large: Any
) -> None:
    monkeypatch.setattr(module, "CHUNK_BYTES", 100_000)
    rows = [b"v"] * 2000 + [large] * 2000

    sizes = [chunk.batch.nbytes for chunk in TO_T.chunks(rows, 1_000_000, clock=at_once)]

    assert sizes[0] < 1_200_000  # the last of the small ones brought a slice of 100 with them
    assert max(sizes[1:]) < 120_000
    assert len(sizes) < 220


@pytest.mark.parametrize(
    "large",
    [
        {"value": None, "headers": [("h", b"v" * 50_000)]},
        {"value": b"v" * 50_000},
        (b"k", b"v" * 50_000),
        memoryview(b"v" * 50_000),
    ],
)
def test_every_row_of_a_chunk_counts(large: Any) -> None:
    rows = [large, (b"k", None)] * 2500  # updates, and tombstones

    sizes = [chunk.batch.nbytes for chunk in TO_T.chunks(rows, 1_000_000, clock=at_once)]

    assert max(sizes) < 1.2 * module.CHUNK_BYTES


def test_one_row_is_taken_before_it_is_known_how_large_they_are() -> None:
    taken: list[bytes] = []

    def rows() -> Iterator[bytes]:
        for _ in range(10):
            taken.append(b"v" * module.CHUNK_BYTES)
            yield taken[-1]

    next(TO_T.chunks(rows(), 1_000_000, clock=at_once))

    assert len(taken) == 1


def test_a_chunk_of_small_rows_has_many_of_them() -> None:
    sizes = [
        chunk.batch.num_rows for chunk in TO_T.chunks([b"v" * 100] * 30_000, 10_000, clock=at_once)
    ]

    assert sizes == [10_000, 10_000, 10_000]


def test_no_row_is_taken_before_the_chunk_that_it_belongs_to() -> None:
    taken = []

    def rows() -> Iterator[bytes]:
        for number in range(100):
            taken.append(number)
            yield b"v"

    next(TO_T.chunks(rows(), 10, clock=at_once))

    assert len(taken) == 10


def test_rows_that_are_slow_to_come_do_not_wait_for_a_full_chunk() -> None:
    now = 0.0

    def rows() -> Iterator[bytes]:
        nonlocal now
        for _ in range(1000):
            now += 0.02
            yield b"v"

    sizes = [chunk.batch.num_rows for chunk in TO_T.chunks(rows(), 10_000, clock=lambda: now)]

    assert sum(sizes) == 1000
    assert max(sizes) < 10


def test_rows_do_not_wait_for_slow_ones_that_come_after_many_quick_ones() -> None:
    now = 0.0

    def rows() -> Iterator[bytes]:
        nonlocal now
        for number in range(200):
            now += 10.0 if number > 63 else 0.0
            yield b"v"

    sizes = [chunk.batch.num_rows for chunk in TO_T.chunks(rows(), 10_000, clock=lambda: now)]

    assert sum(sizes) == 200
    assert sizes[0] == 65
    assert set(sizes[1:]) == {1}


def test_a_chunk_has_a_row_however_long_that_takes() -> None:
    times = iter(range(0, 1000, 10))

    chunks = list(TO_T.chunks([b"v"] * 5, 10_000, clock=lambda: next(times)))

    assert [chunk.first_row for chunk in chunks] == [0, 1, 2, 3, 4]


def test_an_error_of_a_topic_that_is_no_text_has_a_place() -> None:
    topics = pa.array([b"t", b"\xffA"]).cast(pa.string(), safe=False)  # Spark has such texts
    chunk = Chunk(10, pa.record_batch({"value": [b"a", b"b"], "topic": topics}))

    error = TO_ANY.error(chunk, ValueError("row 1: the topic is not valid"))

    assert str(error) == "row 11, topic \ufffdA: the topic is not valid"


def test_a_row_that_cannot_be_sent_is_an_error_with_its_place() -> None:
    chunks = TO_T.chunks([b"v"] * 12 + [5], 5, clock=at_once)

    assert [next(chunks).first_row, next(chunks).first_row] == [0, 5]
    with pytest.raises(RowError, match=r"^Spark partition 3, row 12, topic t: a row is "):
        next(chunks)


# Errors.


def _error(error: Exception, rows: Rows = TO_T, **columns: Any) -> str:
    batch = pa.record_batch({"value": [b"v"] * 10, **columns})
    return str(rows.error(Chunk(100, batch), error))


def test_an_error_of_a_row_says_where_it_stands() -> None:
    assert _error(ValueError("row 7: too large")) == (
        "Spark partition 3, row 107, topic t: too large"
    )


def test_an_error_says_the_topic_of_the_row() -> None:
    topics = ["u"] * 7 + ["w"] * 3

    assert _error(ValueError("row 7: no"), TO_ANY, topic=topics) == "row 107, topic w: no"


def test_an_error_of_no_row_in_particular_says_which_they_were() -> None:
    assert _error(KafkaTimeoutError("no topic t")) == (
        "Spark partition 3, rows 100 to 109, topic t: no topic t"
    )


def test_an_error_of_some_deliveries_is_that_of_the_first() -> None:
    why = {number: KafkaTimeoutError(f"t-0: no answer, {number}") for number in (5, 4)}
    error = SendManyError("2 of 10 were not delivered", accepted=10, failed=why)

    assert _error(error) == (
        "Spark partition 3, row 104, topic t: t-0: no answer, 4; 1 more row was not delivered"
    )


def test_an_error_of_one_delivery_counts_no_rows() -> None:
    why = KafkaTimeoutError("t-0: 4 records were not acknowledged")  # of several chunks
    error = SendManyError("1 of 1 records were not delivered", accepted=1, failed={4: why})

    assert _error(error) == (
        "Spark partition 3, row 104, topic t: t-0: 4 records were not acknowledged"
    )


def test_an_error_of_a_row_that_was_not_accepted_does_not_count_those_before_it() -> None:
    error = SendManyError("3 of 10 were accepted: row 3: too large", accepted=3, failed={})
    error.__cause__ = ValueError("row 3: too large")

    assert _error(error) == "Spark partition 3, row 103, topic t: too large"


def test_an_error_of_a_chunk_of_one_row_has_the_place_of_that() -> None:
    chunk = Chunk(7, pa.record_batch({"value": [b"v"]}))

    assert str(TO_T.error(chunk, KafkaTimeoutError("no"))) == (
        "Spark partition 3, row 7, topic t: no"
    )


def test_an_error_without_words_says_what_it_is() -> None:
    assert _error(TypeError()).endswith(": TypeError")
