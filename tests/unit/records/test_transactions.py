from __future__ import annotations

import struct
from types import ModuleType
from typing import Any

import pytest

from kafka_aio.errors import CorruptRecord
from kafka_aio.records.compression import Codec
from tests.unit.records.samples import (
    ABORT,
    COMMIT,
    CONTROL,
    TRANSACTIONAL,
    batch,
    good_batch,
    marker,
    offsets_of,
    record,
)


def sent(offset: int, producer_id: int, count: int = 1, **fields: Any) -> bytes:
    return good_batch(
        offset, count, producer_id=producer_id, producer_epoch=0, attributes=TRANSACTIONAL, **fields
    )


def ended(offset: int, producer_id: int, kind: int = ABORT, **fields: Any) -> bytes:
    return batch(
        marker(kind),
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        attributes=TRANSACTIONAL | CONTROL,
        **fields,
    )


def committed(codec: ModuleType, data: bytes, aborted: list[tuple[int, int]]) -> list[int]:
    """Offsets that a reader of committed records sees, by both ways of reading."""
    reader = codec.RecordReader(data, aborted=aborted)
    offsets = offsets_of(reader.read())
    in_columns = codec.RecordReader(data, aborted=aborted)
    columns = in_columns.columns(headers=True)
    assert list(memoryview(columns.offset).cast("B").cast("q")) == offsets
    assert reader.is_done
    assert in_columns.is_done
    assert reader.next_offset == in_columns.next_offset
    return offsets


def test_a_reader_of_uncommitted_records_sees_aborted_ones(codec: ModuleType) -> None:
    data = sent(0, 1) + ended(1, 1) + sent(2, 1) + ended(3, 1, COMMIT)
    reader = codec.RecordReader(data)

    assert offsets_of(reader.read()) == [0, 2]
    assert reader.next_offset == 4


def test_aborted_records_are_skipped_and_committed_ones_are_not(codec: ModuleType) -> None:
    data = sent(0, 1, 2) + ended(2, 1) + sent(3, 1) + ended(4, 1, COMMIT)

    assert committed(codec, data, [(1, 0)]) == [3]


def test_the_position_moves_past_aborted_records_and_their_marker(codec: ModuleType) -> None:
    reader = codec.RecordReader(sent(0, 1, 2) + ended(2, 1), aborted=[(1, 0)])

    assert reader.read() == []
    assert (reader.next_offset, reader.is_done) == (3, True)


def test_producers_that_write_in_turns_are_told_apart(codec: ModuleType) -> None:
    data = (
        sent(0, 1) + sent(1, 2) + sent(2, 1) + good_batch(3, 1) + sent(4, 2)
        + ended(5, 1) + sent(6, 1) + sent(7, 2) + ended(8, 2, COMMIT) + sent(9, 2)
        + ended(10, 1, COMMIT) + ended(11, 2)
    )  # fmt: skip

    assert committed(codec, data, [(1, 0), (2, 9)]) == [1, 3, 4, 6, 7]


def test_the_list_of_aborted_transactions_may_be_in_any_order(codec: ModuleType) -> None:
    data = sent(0, 1) + ended(1, 1) + sent(2, 1) + ended(3, 1, COMMIT) + sent(4, 1) + ended(5, 1)
    data += sent(6, 2) + ended(7, 2)

    for aborted in ([(1, 0), (1, 4), (2, 6)], [(2, 6), (1, 4), (1, 0)], [(1, 4), (1, 0), (2, 6)]):
        assert committed(codec, data, aborted) == [2]


def test_two_markers_for_one_abort_change_nothing(codec: ModuleType) -> None:
    data = sent(0, 1) + ended(1, 1) + ended(2, 1) + sent(3, 1) + ended(4, 1, COMMIT)

    assert committed(codec, data, [(1, 0)]) == [3]


def test_a_marker_without_its_data_ends_the_transaction(codec: ModuleType) -> None:
    data = ended(5, 1) + sent(6, 1) + ended(7, 1, COMMIT)

    assert committed(codec, data, [(1, 2)]) == [6]


def test_an_aborted_transaction_whose_data_compaction_took_hides_nothing_later(
    codec: ModuleType,
) -> None:
    data = good_batch(0, 1) + ended(5, 1) + sent(6, 1, 2) + ended(8, 1, COMMIT)

    assert committed(codec, data, [(1, 3)]) == [0, 6, 7]


def test_an_aborted_transaction_without_its_marker_hides_all_that_follows(
    codec: ModuleType,
) -> None:
    assert committed(codec, sent(0, 1) + sent(1, 1) + sent(2, 2), [(1, 0)]) == [2]


def test_records_before_the_aborted_transaction_are_kept(codec: ModuleType) -> None:
    data = sent(0, 1) + ended(1, 1, COMMIT) + sent(2, 1) + ended(3, 1)

    assert committed(codec, data, [(1, 2)]) == [0]


def test_a_batch_that_is_not_transactional_is_kept(codec: ModuleType) -> None:
    data = good_batch(0, 1, producer_id=1) + sent(1, 1) + ended(2, 1)

    assert committed(codec, data, [(1, 0)]) == [0]


def test_a_control_batch_without_records_ends_nothing(codec: ModuleType) -> None:
    empty = batch(base_offset=1, producer_id=1, attributes=TRANSACTIONAL | CONTROL)

    assert committed(codec, sent(0, 1) + empty + sent(2, 1) + ended(3, 1), [(1, 0)]) == []


def test_a_control_record_of_an_unknown_type_ends_nothing(codec: ModuleType) -> None:
    data = sent(0, 1) + ended(1, 1, 77) + sent(2, 1) + ended(3, 1) + sent(4, 1)

    assert committed(codec, data, [(1, 0)]) == [4]


def test_an_empty_list_of_aborted_transactions_hides_nothing(codec: ModuleType) -> None:
    assert committed(codec, sent(0, 1) + ended(1, 1), []) == [0]


def test_a_compressed_marker_ends_its_transaction(codec: ModuleType) -> None:
    data = sent(0, 1) + ended(1, 1, codec=Codec.GZIP) + sent(2, 1)

    assert committed(codec, data, [(1, 0)]) == [2]


def test_a_marker_before_the_start_still_ends_its_transaction(codec: ModuleType) -> None:
    # One fetch, walked a second time from an offset further on: the list is that of the fetch.
    data = sent(0, 1, 3) + ended(3, 1) + sent(4, 1, 3) + ended(7, 1, COMMIT)

    for start in (0, 2, 3, 4, 5):
        reader = codec.RecordReader(data, start_offset=start, aborted=[(1, 0)])
        assert offsets_of(reader.read()) == list(range(max(start, 4), 7))
        assert reader.next_offset == 8


def test_a_marker_before_the_start_does_not_move_the_position_back(codec: ModuleType) -> None:
    reader = codec.RecordReader(sent(0, 1) + ended(1, 1), start_offset=9, aborted=[(1, 0)])

    assert reader.read() == []
    assert reader.next_offset == 9


def test_control_records_asked_for_come_with_the_committed_ones(codec: ModuleType) -> None:
    data = sent(0, 1) + ended(1, 1) + sent(2, 1) + ended(3, 1, COMMIT)
    reader = codec.RecordReader(data, aborted=[(1, 0)], control_records=True)

    assert offsets_of(reader.read()) == [1, 2, 3]


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0"])
def test_a_marker_that_lacks_its_type_is_an_error(codec: ModuleType, key: bytes | None) -> None:
    broken = batch(record(0, key), base_offset=1, producer_id=1, attributes=CONTROL | TRANSACTIONAL)
    reader = codec.RecordReader(sent(0, 1) + broken + good_batch(2), aborted=[(1, 0)])

    with pytest.raises(CorruptRecord, match="control record without a type") as caught:
        reader.read()
    assert (caught.value.offset, caught.value.next_offset) == (1, 2)


def test_a_marker_that_is_damaged_is_an_error(codec: ModuleType) -> None:
    cut = marker()[:-4]
    broken = batch(cut, base_offset=1, producer_id=1, attributes=CONTROL | TRANSACTIONAL)
    reader = codec.RecordReader(sent(0, 1) + broken, aborted=[(1, 0)])

    with pytest.raises(CorruptRecord, match="length of a record runs past its batch"):
        reader.read()


def test_a_damaged_marker_of_nobody_s_abort_is_skipped(codec: ModuleType) -> None:
    broken = batch(record(0, b"?"), base_offset=1, producer_id=2, attributes=CONTROL)

    assert committed(codec, good_batch(0, 1) + broken + good_batch(2, 1), [(1, 0)]) == [0, 2]


def test_the_version_of_a_marker_may_be_a_later_one(codec: ModuleType) -> None:
    later = record(0, struct.pack(">hhi", 5, ABORT, 99), b"")
    data = sent(0, 1) + batch(later, base_offset=1, producer_id=1, attributes=CONTROL) + sent(2, 1)

    assert committed(codec, data, [(1, 0)]) == [2]


def test_a_marker_that_is_asked_for_still_ends_its_transaction(codec: ModuleType) -> None:
    data = ended(12, 1) + sent(13, 1) + ended(14, 1, COMMIT)
    reader = codec.RecordReader(data, aborted=[(1, 10)], control_records=True)

    assert offsets_of(reader.read()) == [12, 13, 14]
