# cython: language_level=3, cdivision=True, binding=False, embedsignature=True, embedsignature.format=clinic
"""Partitions of keys, and rows dealt out to partitions, compiled. Pure: no loop, no clock, no log.

`_murmur2.h` has the hash. `_partition_py` does the same in plain Python.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING
from libc.stdint cimport INT32_MAX, INT64_MIN, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

from kafka_aio.records._codec cimport Binary, Column, Held, Span

cdef extern from "Python.h":
    bytearray PyByteArray_FromStringAndSize(const char *, Py_ssize_t)

cdef extern from "_murmur2.h" nogil:
    uint32_t kaio_murmur2(const uint8_t *, size_t)
    int32_t kaio_partition_of_key(const uint8_t *, size_t, int32_t)

cdef extern from "_record.h" nogil:
    Span column_span "kaio_column_span" (const Column *, Py_ssize_t)

NO_PARTITION = INT64_MIN


def murmur2(key):
    """The hash of a key, as Java has it: a signed number of 32 bits."""
    cdef Py_buffer view
    PyObject_GetBuffer(key, &view, PyBUF_SIMPLE)
    try:
        return <int32_t>kaio_murmur2(<const uint8_t *>view.buf, view.len)
    finally:
        PyBuffer_Release(&view)


def partition_of_key(key, int32_t count):
    """The partition that a key belongs to, of a topic with that many.

    Raises:
        ValueError: The topic has none.
    """
    cdef Py_buffer view
    checked(count)
    PyObject_GetBuffer(key, &view, PyBUF_SIMPLE)
    try:
        return kaio_partition_of_key(<const uint8_t *>view.buf, view.len, count)
    finally:
        PyBuffer_Release(&view)


cdef int32_t checked(int32_t count) except -1:
    if count < 1:
        raise ValueError(f"a topic has 1 partition or more, not {count}")
    return count


def scatter(Py_ssize_t length, counts, topics=None, partitions=None, keys=None, Py_ssize_t first=0):
    """Deal rows out to partitions: the one that a row names, else that of its key, else any.

    Args:
        length: How many rows there are.
        counts: How many partitions each topic has.
        topics: int32, the topic of each row: an index into `counts`. Without it, all are of the first.
        partitions: int64, the partition that each row names, or NO_PARTITION.
        keys: The keys of the rows.
        first: What an error calls the first of the rows.

    Returns:
        (topic, partition, start, stop) of each that gets rows, in order; partition -1: they may go
        to any. And the numbers of all rows, int32, those of one partition beside each other and
        in their order: `start` and `stop` are places among these.

    Raises:
        ValueError: A row names a partition that is not there, or the columns make no sense.
    """
    cdef Deal deal = Deal(length, counts, first)
    deal.hold(topics, partitions, keys)
    deal.count_rows()
    return deal.shares(), deal.place_rows()


cdef class Numbers:
    """Numbers of 32 bits, all 0 at first; a buffer once they are filled."""
    cdef bytearray room
    cdef int32_t *at

    def __cinit__(self, int64_t count):
        self.room = PyByteArray_FromStringAndSize(NULL, count * 4)
        self.at = <int32_t *>PyByteArray_AS_STRING(self.room)
        memset(self.at, 0, count * 4)


cdef Held held(source, str what, Py_ssize_t width, Py_ssize_t length):
    cdef Held column = Held(source)
    if source is not None and column.view.len // width < length:
        raise ValueError(f"column {what} has {column.view.len // width} rows of {length}")
    return column


@cython.final
cdef class Deal:
    """Rows that are dealt out to buckets: of each topic one for any partition, then one for each."""
    cdef Py_ssize_t length, topic_count, first
    cdef int64_t bucket_count
    cdef Numbers counts         # of partitions, by topic
    cdef Numbers firsts         # the first bucket of a topic
    cdef Numbers places         # by bucket: how many rows it has; then where the next of them goes
    cdef Numbers buckets        # by row
    cdef Held _topics, _partitions
    cdef Binary _keys
    cdef Column keys
    cdef bint has_keys
    cdef const int32_t *topics
    cdef const int64_t *partitions

    def __cinit__(self, Py_ssize_t length, counts, Py_ssize_t first):
        cdef Py_ssize_t topic
        if not 0 <= length <= INT32_MAX:
            raise ValueError(f"0 to {INT32_MAX} rows are dealt out at once, not {length}")
        self.length = length
        self.first = first
        self.topic_count = len(counts)
        self.counts = Numbers(self.topic_count)
        self.firsts = Numbers(self.topic_count)
        for topic in range(self.topic_count):
            self.counts.at[topic] = checked(counts[topic])
            self.firsts.at[topic] = <int32_t>self.bucket_count
            self.bucket_count += 1 + <int64_t>self.counts.at[topic]
            if self.bucket_count > INT32_MAX:
                raise ValueError(f"more than {INT32_MAX} partitions")
        self.places = Numbers(self.bucket_count)
        self.buckets = Numbers(length)

    cdef int hold(self, topics, partitions, keys) except -1:
        self._topics = held(topics, "topic", 4, self.length)
        self._partitions = held(partitions, "partition", 8, self.length)
        self._keys = Binary(keys, "key")
        self.topics = <const int32_t *>self._topics.view.buf        # NULL where nothing is held
        self.partitions = <const int64_t *>self._partitions.view.buf
        self.keys = self._keys.column
        self.has_keys = keys is not None
        if self.has_keys and self._keys.rows < self.length:
            raise ValueError(f"column key has {self._keys.rows} rows of {self.length}")
        return 0

    cdef inline int32_t bucket_of(self, Py_ssize_t row) except -1:
        cdef int32_t topic = 0 if self.topics == NULL else self.topics[row]
        cdef int64_t partition
        cdef Span key
        if not 0 <= topic < self.topic_count:
            raise ValueError(f"row {self.first + row}: topic {topic} of {self.topic_count}")
        if self.partitions != NULL and self.partitions[row] != INT64_MIN:
            partition = self.partitions[row]
            if not 0 <= partition < self.counts.at[topic]:
                raise ValueError(
                    f"row {self.first + row}: partition {partition} of a topic with"
                    f" {self.counts.at[topic]} partitions"
                )
            return self.firsts.at[topic] + 1 + <int32_t>partition
        if self.has_keys:
            key = column_span(&self.keys, row)
            if key.size < -1:
                raise ValueError(f"row {self.first + row}: its offsets lie outside of the column's data")
            if key.size >= 0:
                return self.firsts.at[topic] + 1 + kaio_partition_of_key(
                    key.data, key.size, self.counts.at[topic]
                )
        return self.firsts.at[topic]

    cdef int count_rows(self) except -1:
        cdef Py_ssize_t row
        cdef int32_t bucket
        cdef int32_t *buckets = self.buckets.at
        cdef int32_t *sizes = self.places.at
        for row in range(self.length):
            bucket = self.bucket_of(row)
            buckets[row] = bucket
            sizes[bucket] += 1
        return 0

    cdef list shares(self):
        """What each bucket with rows gets. From then on `places` has where it begins, not its size."""
        cdef list shares = []
        cdef int32_t *place = self.places.at
        cdef int32_t start = 0, size, partition
        cdef Py_ssize_t topic
        for topic in range(self.topic_count):
            for partition in range(-1, self.counts.at[topic]):
                size = place[0]
                place[0] = start
                place += 1
                if size:
                    shares.append((topic, partition, start, start + size))
                    start += size
        return shares

    cdef bytearray place_rows(self):
        cdef Numbers indices = Numbers(self.length)
        cdef int32_t *places = self.places.at
        cdef int32_t *buckets = self.buckets.at
        cdef int32_t *out = indices.at
        cdef Py_ssize_t row
        cdef int32_t bucket
        for row in range(self.length):
            bucket = buckets[row]
            out[places[bucket]] = <int32_t>row
            places[bucket] += 1
        return indices.room
