"""Random lives of a log, against a list of records."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kafka_aio.broker.log import PartitionLog
from kafka_aio.errors import OffsetOutOfRange
from kafka_aio.records.batch import verify
from kafka_aio.records.codec import RecordReader
from tests.unit.broker.producing import batch, header_of, write


class Model(RuleBasedStateMachine):
    """A log of small segments beside what should be in it: batches as lists of (offset, value)."""

    def __init__(self) -> None:
        super().__init__()
        self.log = PartitionLog(segment_bytes=1_000)
        self.log.begin_epoch(0)
        self.epoch = 0
        self.batches: list[list[tuple[int, bytes]]] = []
        self.start = self.end = 0
        self.made = 0
        self.handed_out: list[tuple[memoryview, bytes]] = []

    @rule(count=st.integers(1, 5), size=st.integers(0, 700))
    def append(self, count: int, size: int) -> None:
        values = [b"%d " % (self.made + index) + b"x" * size for index in range(count)]
        self.made += count

        assert write(self.log, batch(*values)) == self.end

        self.batches.append([(self.end + index, value) for index, value in enumerate(values)])
        self.end += count

    @rule()
    def lead(self) -> None:
        self.epoch += 1
        self.log.begin_epoch(self.epoch)

    @rule(back=st.integers(0, 12))
    def truncate(self, back: int) -> None:
        offset = max(self.end - back, 0)

        self.log.truncate(offset)

        self.end = max(offset, self.start)
        cut = ([(at, value) for at, value in each if at < self.end] for each in self.batches)
        self.batches = [each for each in cut if each]
        self.lead()

    @rule(ahead=st.integers(0, 12))
    def delete(self, ahead: int) -> None:
        offset = min(self.start + ahead, self.end)

        self.log.delete_before(offset)

        self.start = offset

    @precondition(lambda self: self.log.size > 0)
    @rule()
    def drop(self) -> None:
        size = self.log.size

        self.log.drop_oldest_segment()

        assert self.log.size < size
        assert self.start <= self.log.start_offset <= self.end
        self.start = self.log.start_offset

    @rule(retention=st.integers(0, 5_000))
    def retain(self, retention: int) -> None:
        before = self.log.size

        self.log.enforce_retention(retention)

        assert self.log.size >= min(retention, before)
        self.start = self.log.start_offset

    @rule(back=st.integers(-2, 30), limit=st.integers(0, 3_000), at_least_one=st.booleans())
    def read(self, back: int, limit: int, at_least_one: bool) -> None:
        offset = self.end - back
        if not self.start <= offset <= self.end:
            return
        view = self.log.read(offset, max_bytes=limit, at_least_one=at_least_one)
        self.handed_out.append((view, bytes(view)))

        due = [each for each in self.batches if each[-1][0] >= offset]
        got = RecordReader(view).read()
        expected = [record for each in due for record in each][: len(got)]
        assert [(record.offset, record.value) for record in got] == expected
        if at_least_one and due:
            assert len(got) >= len(due[0])
        else:
            assert len(view) <= limit

    @rule(outside=st.integers(1, 5))
    def read_outside(self, outside: int) -> None:
        for offset in (self.start - outside, self.end + outside):
            try:
                self.log.read(offset, max_bytes=100, at_least_one=True)
            except OffsetOutOfRange:
                continue
            raise AssertionError(f"offset {offset} was read")

    @invariant()
    def all_can_be_read(self) -> None:
        found: list[tuple[int, bytes | None]] = []
        offset = self.start
        while view := self.log.read(offset, max_bytes=10**6, at_least_one=True):
            assert self.log.available(offset) >= len(view)
            records = RecordReader(view, start_offset=offset).read()
            found += [(record.offset, record.value) for record in records]
            offset = verify(view)[-1].last_offset + 1
        assert self.log.available(offset) == 0
        expected = [record for each in self.batches for record in each]
        assert found == [(at, value) for at, value in expected if at >= self.start]

    @invariant()
    def offsets_and_sizes_fit(self) -> None:
        assert (self.log.start_offset, self.log.end_offset) == (self.start, self.end)
        kept = list(self.log.batches())
        assert self.log.size == sum(map(len, kept))
        for header in map(header_of, kept):
            if header.base_offset >= self.start:
                assert header.leader_epoch == self.log.epochs.at(header.base_offset)

    def teardown(self) -> None:
        for view, content in self.handed_out:
            assert bytes(view) == content


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
