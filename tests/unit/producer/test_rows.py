from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_aio.producer import partition
from kafka_aio.records import _codec_py, arrow
from tests.unit.producer.test_partition import modules
from tests.unit.records import samples

pa = pytest.importorskip("pyarrow")

from kafka_aio.producer import rows  # noqa: E402 - it needs pyarrow

NOW = samples.NOW
PAIR = pa.struct([("key", pa.string()), ("value", pa.binary())])
pairs = [
    (codec, module)
    for codec, module in [(samples.compiled, modules[0]), (_codec_py, modules[-1])]
    if codec is not None
]


@pytest.fixture(params=pairs, ids=lambda pair: pair[1].__name__.rpartition(".")[2])
def codec(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    found, module = request.param
    monkeypatch.setattr(arrow, "Rows", found.Rows)
    monkeypatch.setattr(partition, "scatter", module.scatter)
    return found  # type: ignore[no-any-return]  # a parameter is anything


def batch(**columns: Any) -> Any:
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def scattered(
    codec: ModuleType,
    data: Any,
    counts: Mapping[str, int] | None = None,
    topic: str | None = "t",
    **options: Any,
) -> dict[tuple[str, int | None], list[bytes]]:
    """The values that each partition gets, as written and read again."""
    portions = portions_of(data, {"t": 6} if counts is None else counts, topic, **options)
    seen = {(portion.topic, portion.partition): written(codec, portion) for portion in portions}
    assert len(seen) == len(portions)
    return seen


def portions_of(
    data: Any, counts: Mapping[str, int], topic: str | None = "t", **options: Any
) -> list[rows.Portion]:
    return [
        portion
        for block in rows.blocks(data, topic)
        for portion in block.scatter(counts, **options)
    ]


def topics_of(data: Any, topic: str | None) -> list[str]:
    (block,) = rows.blocks(data, topic)
    return list(block.topics)


def written(codec: ModuleType, portion: rows.Portion, limit: int = 1 << 20) -> list[bytes]:
    values: list[bytes] = []
    start = portion.start
    while start < portion.stop:
        builder = codec.BatchBuilder(limit)
        start = portion.append_to(builder, start, NOW)
        values += (item.value for item in codec.RecordReader(builder.finish()).read())
    return values


def names(numbers: Iterable[int]) -> list[bytes]:
    return [b"%d" % number for number in numbers]


VALUES = pa.array(names(range(8)), pa.binary())


# -- where rows go


def test_rows_without_a_key_may_go_to_any_partition(codec: ModuleType) -> None:
    (portion,) = portions_of(batch(value=VALUES), {"t": 6}, "t")

    assert (portion.topic, portion.partition, portion.indices) == ("t", None, None)
    assert (portion.start, portion.stop) == (0, 8)
    assert written(codec, portion) == names(range(8))


def test_rows_with_a_key_go_to_its_partition_in_their_order(codec: ModuleType) -> None:
    keys = [b"a", b"b", b"c", b"a", b"", b"b", b"a", b"d"]
    seen = scattered(codec, batch(value=VALUES, key=pa.array(keys, pa.binary())))
    expected = defaultdict(list)
    for number, key in enumerate(keys):
        expected["t", partition.partition_of_key(key, 6)].append(b"%d" % number)

    assert seen == expected


def test_rows_go_to_the_partition_that_they_name(codec: ModuleType) -> None:
    partitions = pa.array([5, 0, 5, 0, 1, 1, 0, 5], pa.int32())
    keys = pa.array([b"k"] * 8, pa.binary())

    assert scattered(codec, batch(value=VALUES, partition=partitions, key=keys)) == {
        ("t", 0): names([1, 3, 6]),
        ("t", 1): names([4, 5]),
        ("t", 5): names([0, 2, 7]),
    }


def test_a_row_that_names_no_partition_goes_by_its_key_and_without_one_to_any(
    codec: ModuleType,
) -> None:
    partitions = pa.array([None, 3, None, None, 3, None, None, None], pa.int64())
    keys = pa.array([b"k", b"k", None, b"k", None, None, None, b"k"], pa.binary())
    of_key = partition.partition_of_key(b"k", 6)

    assert of_key != 3
    assert scattered(codec, batch(value=VALUES, partition=partitions, key=keys)) == {
        ("t", of_key): names([0, 3, 7]),
        ("t", 3): names([1, 4]),
        ("t", None): names([2, 5, 6]),
    }


def test_keys_have_no_say_where_they_are_ignored(codec: ModuleType) -> None:
    keys = pa.array(names(range(8)), pa.binary())
    partitions = pa.array([2, *[None] * 7], pa.int8())

    assert scattered(codec, batch(value=VALUES, key=keys), ignore_keys=True) == {
        ("t", None): names(range(8))
    }
    assert scattered(
        codec, batch(value=VALUES, key=keys, partition=partitions), ignore_keys=True
    ) == {("t", 2): [b"0"], ("t", None): names(range(1, 8))}


def test_portions_come_in_the_order_of_their_first_rows(codec: ModuleType) -> None:
    partitions = pa.array([5, 0, 3, 5, 0, 3, 1, None], pa.int32())
    portions = portions_of(batch(value=VALUES, partition=partitions), {"t": 6}, "t")

    assert [portion.partition for portion in portions] == [5, 0, 3, 1, None]


def test_rows_that_are_beside_each_other_need_no_indices(codec: ModuleType) -> None:
    partitions = pa.array([None, None, 4, 4, 4, 0, 2, 0], pa.int32())
    portions = portions_of(batch(value=VALUES, partition=partitions), {"t": 6}, "t")
    runs = [(p.partition, p.start, p.stop) for p in portions if p.indices is None]

    assert runs == [(None, 0, 2), (4, 2, 5), (2, 6, 7)]
    assert [written(codec, portion) for portion in portions] == [
        names([0, 1]), names([2, 3, 4]), names([5, 7]), names([6])
    ]  # fmt: skip


def test_the_number_of_a_row_can_be_told_of_each_place(codec: ModuleType) -> None:
    partitions = pa.array([1, 0, 0, 0, 1, 2, 2, 1], pa.int32())
    portions = portions_of(batch(value=VALUES, partition=partitions), {"t": 6}, "t")
    told = {
        portion.partition: [portion.row_at(place) for place in range(portion.start, portion.stop)]
        for portion in portions
    }

    assert told == {1: [0, 4, 7], 0: [1, 2, 3], 2: [5, 6]}
    assert [len(portion) for portion in portions] == [3, 3, 2]


def test_a_portion_fills_one_batch_after_another(codec: ModuleType) -> None:
    values = pa.array([b"%03d" % n for n in range(300)], pa.binary())
    partitions = pa.array([n % 3 for n in range(300)], pa.int32())
    portions = portions_of(batch(value=values, partition=partitions), {"t": 3}, "t")

    for portion in portions:
        expected = [b"%03d" % n for n in range(portion.partition or 0, 300, 3)]
        assert written(codec, portion, limit=200) == expected


def test_times_and_headers_go_with_their_rows(codec: ModuleType) -> None:
    times = pa.array([NOW + n if n % 2 else None for n in range(8)], pa.timestamp("ms"))
    headers = pa.array([[{"key": str(n), "value": None}] for n in range(8)], pa.list_(PAIR))
    partitions = pa.array([n % 4 for n in range(8)], pa.int32())
    data = batch(value=VALUES, timestamp=times, headers=headers, partition=partitions)
    portion = portions_of(data, {"t": 4}, "t")[3]
    builder = codec.BatchBuilder(1000)
    portion.append_to(builder, portion.start, NOW)
    records = codec.RecordReader(builder.finish()).read()

    assert [item.timestamp for item in records] == [NOW + 3, NOW + 7]
    assert [item.headers for item in records] == [(("3", None),), (("7", None),)]


def test_no_rows_are_no_portions(codec: ModuleType) -> None:
    for columns in ({}, {"key": VALUES}, {"topic": pa.array(["a"] * 8)}):
        assert portions_of(batch(value=VALUES, **columns).slice(8), {"t": 6}, "t") == []


# -- topics


TOPICS = ["b", None, "a", "a", "b", None, "t", "a"]


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.binary(),
        pa.large_binary(),
        pa.dictionary(pa.int32(), pa.string()),
        pa.dictionary(pa.int8(), pa.binary()),
        pa.dictionary(pa.uint16(), pa.large_string()),
    ],
    ids=str,
)
def test_rows_go_to_their_topics(codec: ModuleType, kind: Any) -> None:
    column = pa.array(TOPICS).cast(pa.binary()).cast(pa.string())
    column = column.dictionary_encode() if pa.types.is_dictionary(kind) else column
    data = batch(value=VALUES, topic=column.cast(kind))
    counts = {"a": 1, "b": 2, "t": 3}

    assert topics_of(data, "t") == ["b", "t", "a"]
    assert scattered(codec, data, counts) == {
        ("b", None): names([0, 4]),
        ("t", None): names([1, 5, 6]),
        ("a", None): names([2, 3, 7]),
    }
    assert topics_of(data.slice(2, 2), None) == ["a"]
    assert scattered(codec, data.slice(2, 2), counts, None) == {("a", None): names([2, 3])}


def test_each_topic_has_its_own_partitions(codec: ModuleType) -> None:
    topics = pa.array(["a", "b"] * 4)
    keys = pa.array([b"k%d" % (n // 2) for n in range(8)], pa.binary())
    seen = scattered(codec, batch(value=VALUES, topic=topics, key=keys), {"a": 2, "b": 50})
    expected = defaultdict(list)
    for number in range(8):
        topic, count = ("b", 50) if number % 2 else ("a", 2)
        to = partition.partition_of_key(b"k%d" % (number // 2), count)
        expected[topic, to].append(b"%d" % number)

    assert seen == expected


def test_topics_that_no_row_names_need_not_be_known(codec: ModuleType) -> None:
    words = pa.array(["unused", "a", None, "a"])
    topics = pa.DictionaryArray.from_arrays(pa.array([1, 3, 2, None, 1, 3, 1, 1]), words)
    data = batch(value=VALUES, topic=topics)

    assert topics_of(data, "t") == ["a", "t"]
    assert scattered(codec, data, {"a": 1, "t": 1}) == {
        ("a", None): names([0, 1, 4, 5, 6, 7]),
        ("t", None): names([2, 3]),
    }


def test_without_a_column_of_topics_all_go_to_the_one_given() -> None:
    assert topics_of(batch(value=VALUES), "t") == ["t"]


def test_a_column_of_nulls_is_as_none(codec: ModuleType) -> None:
    nothing = pa.nulls(8)
    data = batch(value=VALUES, key=nothing, partition=nothing, topic=nothing, headers=nothing)

    assert topics_of(data, "t") == ["t"]
    assert scattered(codec, data) == {("t", None): names(range(8))}


# -- tables


def test_a_table_is_taken_batch_by_batch(codec: ModuleType) -> None:
    table = pa.table(
        {
            "value": pa.chunked_array([names(range(3)), names(range(3, 8))], pa.binary()),
            "partition": pa.chunked_array([[1, 0, 1], [0, 1, 0, 1, 1]], pa.int32()),
        }
    )
    portions = portions_of(table, {"t": 2})
    told = [[portion.row_at(n) for n in range(portion.start, portion.stop)] for portion in portions]

    assert told == [[0, 2], [1], [3, 5], [4, 6, 7]]
    assert [written(codec, portion) for portion in portions] == [names(rows) for rows in told]


def test_many_rows_come_in_blocks_and_with_their_numbers(codec: ModuleType) -> None:
    values = pa.array(names(range(20_000)), pa.binary())
    keys = pa.array([b"%d" % (n % 50) for n in range(20_000)], pa.binary())
    found = list(rows.blocks(batch(value=values, key=keys), "t"))
    seen: defaultdict[int | None, list[int]] = defaultdict(list)
    for block in found:
        for portion in block.scatter({"t": 6}):
            places = range(portion.start, portion.stop)
            assert written(codec, portion) == names(map(portion.row_at, places))
            seen[portion.partition].extend(portion.row_at(place) for place in places)

    assert [block.first_row for block in found] == [0, 8192, 16384]
    assert sorted(row for some in seen.values() for row in some) == list(range(20_000))
    assert all(some == sorted(some) for some in seen.values())


def test_long_rows_come_in_smaller_blocks() -> None:
    values = pa.array([bytes(100_000)] * 100, pa.binary())
    sizes = [block.batch.num_rows for block in rows.blocks(batch(value=values), "t")]

    assert sum(sizes) == 100
    assert max(sizes) == 11


def test_a_row_is_told_by_its_number_in_the_table(codec: ModuleType) -> None:
    wrong = pa.array([0] * 9000 + [7], pa.int32())
    second = batch(value=pa.array([b"v"] * 9001, pa.binary()), partition=wrong)
    table = pa.Table.from_batches([second.slice(0, 100), second])

    refused(second, r"^row 9000: partition 7 of a topic with 6 partitions$")
    refused(table, r"^row 9100: partition 7 of a topic with 6 partitions$")
    topics = pa.array(["t"] * 9000 + [None])
    refused(batch(value=second.column("value"), topic=topics), "^row 9000: the topic is null", None)


@pytest.mark.parametrize("partitions", [None, [0, 1]])
def test_a_row_that_cannot_be_written_is_told_by_its_number_in_the_table(
    codec: ModuleType, partitions: list[int] | None
) -> None:
    times = pa.array([NOW] * 8500 + [-5] + [NOW] * 499, pa.int64())
    columns = {"value": pa.array([b"v"] * 9000, pa.binary()), "timestamp": times}
    if partitions:
        columns["partition"] = pa.array(partitions * 4500, pa.int32())
    portion = portions_of(batch(**columns), {"t": 2})[-2 if partitions else -1]
    builder = codec.BatchBuilder(1 << 20)
    words = "^row 8500: a timestamp is milliseconds since 1970, not -5$"
    with pytest.raises(ValueError, match=words):
        portion.append_to(builder, portion.start, NOW)

    assert builder.count == (154 if partitions else 308)


def test_anything_else_is_refused() -> None:
    with pytest.raises(TypeError, match="a pyarrow Table or RecordBatch is needed, not list"):
        list(rows.blocks([b"value"], "t"))


# -- what cannot be taken


def refused(data: Any, words: str, topic: str | None = "t") -> None:
    with pytest.raises(ValueError, match=words):
        portions_of(data, {"t": 6}, topic)


@pytest.mark.parametrize(
    ("wrong", "kind"), [(6, "int32"), (9, "int64"), (-1, "int8"), (255, "uint8")]
)
def test_a_partition_that_is_not_there_is_refused_by_its_row(
    codec: ModuleType, wrong: int, kind: str
) -> None:
    column = pa.array([0, None, 5, 1, 2, wrong, 3, wrong], getattr(pa, kind)())

    refused(
        batch(value=VALUES, partition=column),
        f"^row 5: partition {wrong} of a topic with 6 partitions$",
    )
    refused(
        batch(value=VALUES, partition=column).slice(2),
        f"^row 3: partition {wrong} of a topic with 6 partitions$",
    )


def test_a_row_without_a_topic_is_refused_where_none_is_given() -> None:
    words = pa.array(["t", None])
    encoded = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1, 0, None, 0, 0, 0]), words)

    refused(batch(value=VALUES), "no topic is given, and there is no column `topic`", None)
    refused(batch(value=VALUES, topic=pa.array(TOPICS)), "^row 1: the topic is null", None)
    refused(batch(value=VALUES, topic=encoded), "^row 2: the topic is null", None)
    refused(batch(value=VALUES, topic=encoded).slice(3), "^row 1: the topic is null", None)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"partition": pa.array([1.5] * 8)}, "column partition is double: a partition is an int"),
        ({"partition": VALUES}, "column partition is binary: a partition is an int"),
        ({"partition": pa.array([2**63] * 8, pa.uint64())}, "column partition is uint64"),
        ({"topic": pa.array([1] * 8)}, "column topic is int64"),
        ({"topic": pa.array([1] * 8).dictionary_encode()}, "column topic is int64"),
        ({"topic": pa.array([b"\xff"] * 8)}, "^row 0: the topic is not UTF-8$"),
        ({"key": pa.array([1] * 8)}, "column key is int64"),
        ({"headers": VALUES}, "column headers is a list"),
    ],
)
def test_a_column_of_another_type_is_refused_by_name(columns: dict[str, Any], words: str) -> None:
    refused(batch(value=VALUES, **columns), words)


def test_columns_that_a_record_does_not_have_are_refused_by_name() -> None:
    data = batch(value=VALUES, offset=VALUES, timestampType=VALUES)
    words = (
        "unknown columns offset, timestampType;"
        " known are value, key, headers, partition, timestamp, topic"
    )

    refused(data, words)


def test_a_column_that_is_there_twice_is_refused() -> None:
    data = pa.RecordBatch.from_arrays([VALUES, VALUES], names=["value", "value"])

    refused(data, "column value is there twice")


def test_a_batch_without_values_is_refused() -> None:
    refused(batch(key=VALUES), "a column `value` is needed")


def test_a_topic_without_partitions_is_refused(codec: ModuleType) -> None:
    with pytest.raises(ValueError, match="a topic has 1 partition or more, not 0"):
        portions_of(batch(value=VALUES, key=VALUES), {"t": 0}, "t")


def test_without_pyarrow_it_is_said_what_to_install() -> None:
    program = "import sys; sys.modules['pyarrow'] = None; import kafka_aio.producer.rows"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ImportError: ")
    assert "pip install 'kafka-aio[arrow]'" in done.stderr.splitlines()[-1]


# -- anything


@given(
    items=st.lists(
        st.fixed_dictionaries(
            {
                "value": st.none() | st.binary(max_size=100),
                "key": st.none() | st.binary(max_size=9),
                "partition": st.none() | st.integers(0, 2),
                "topic": st.sampled_from(["a", "b", None]),
                "timestamp": st.none() | st.integers(0, 2**40),
            }
        ),
        max_size=30,
    ),
    left_out=st.sets(st.sampled_from(["key", "partition", "topic", "timestamp"])),
    start=st.integers(0, 5),
    limit=st.sampled_from([62, 200, 1 << 20]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_each_row_gets_to_its_place_once_and_in_order(
    codec: ModuleType, items: list[dict[str, Any]], left_out: set[str], start: int, limit: int
) -> None:
    kinds = {
        "value": pa.binary(),
        "key": pa.large_binary(),
        "partition": pa.int32(),
        "topic": pa.string(),
        "timestamp": pa.int64(),
    }
    schema = pa.schema([(name, kind) for name, kind in kinds.items() if name not in left_out])
    counts = {"a": 3, "b": 7, "t": 5}
    data = pa.RecordBatch.from_pylist(items, schema).slice(start)
    expected = defaultdict(list)
    for item in items[start:]:
        row = {name: None if name in left_out else item[name] for name in kinds}
        topic = row["topic"] or "t"
        to = row["partition"]
        if to is None and row["key"] is not None:
            to = partition.partition_of_key(row["key"], counts[topic])
        expected[topic, to].append(row["value"])

    portions = portions_of(data, counts, "t")
    seen = [(portion.topic, portion.partition) for portion in portions]
    assert seen == list(expected)
    for portion in portions:
        values = written(codec, portion, limit)
        assert values == expected[portion.topic, portion.partition]
