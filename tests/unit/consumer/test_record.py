"""Lists of records that know where they began."""

from __future__ import annotations

import copy
import pickle

from kafka_aio.consumer.record import Polled


def test_records_of_a_poll_are_a_list_like_others() -> None:
    records = Polled([3, 4], 2)
    records += [6]

    assert isinstance(records, Polled)
    assert records == [3, 4, 6]
    assert repr(records) == "[3, 4, 6]"
    assert records.begin == 2


def test_copies_and_pickles_know_where_they_began() -> None:
    records = Polled([3, 4], 2)

    for again in (copy.copy(records), copy.deepcopy(records), pickle.loads(pickle.dumps(records))):
        assert again == [3, 4]
        assert again.begin == 2
