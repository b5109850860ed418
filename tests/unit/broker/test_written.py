from __future__ import annotations

from typing import Any

import pytest

from kafka_aio.broker.written import BATCH_BYTES, Value, batches
from kafka_aio.records.batch import FetchedBatch
from kafka_aio.records.codec import Record


def written(values: list[Value]) -> list[Record]:
    made = batches(values, timestamp=1000)
    return [record for batch, _ in made for record in FetchedBatch(batch, "t", 0).records]


@pytest.mark.parametrize(
    ("value", "key", "payload"),
    [
        (b"v", None, b"v"),
        ("Grüße", None, "Grüße".encode()),
        (None, None, None),
        ((b"k", "v"), b"k", b"v"),
        (("k", None), b"k", None),
    ],
)
def test_a_plain_value_is_written_as_it_is(
    value: Value, key: bytes | None, payload: bytes | None
) -> None:
    (record,) = written([value])

    assert (record.key, record.value, record.timestamp, record.headers) == (key, payload, 1000, ())


def test_a_record_keeps_its_headers_and_its_timestamp() -> None:
    given = Record("other", 9, 77, 5, b"k", b"v", (("h", b"1"),))

    (record,) = written([given])

    assert (record.key, record.value, record.timestamp) == (b"k", b"v", 5)
    assert record.headers == (("h", b"1"),)


def test_many_records_are_several_batches_with_the_timestamps_of_each() -> None:
    values: list[Value] = [bytes(100_000), b"small", bytes(BATCH_BYTES * 2), b"last"]

    made = list(batches(values, timestamp=7))

    assert [len(timestamps) for _, timestamps in made] == [2, 1, 1]
    assert [record.value for record in written(values)] == values


def test_nothing_is_no_batch() -> None:
    assert list(batches([], timestamp=0)) == []


@pytest.mark.parametrize("value", [1, ("k", "v", "x"), ["k", "v"], (1, b"v")])
def test_what_cannot_be_written_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="a record is a value"):
        written([value])
