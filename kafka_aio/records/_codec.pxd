# What other compiled modules may use of the codec.

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t


cdef class Record:
    cdef readonly str topic
    cdef readonly int32_t partition
    cdef readonly int64_t offset
    cdef readonly int64_t timestamp
    cdef readonly object key
    cdef readonly object value
    cdef readonly tuple headers
    cdef readonly int32_t leader_epoch
    cdef int8_t _timestamp_type


cdef extern from "_record.h":
    ctypedef struct Span "kaio_span":       # bytes that somebody else holds; size -1 is null
        const uint8_t *data
        Py_ssize_t size
    ctypedef struct Column "kaio_column":   # byte strings in Arrow's layout
        const int32_t *offsets32
        const int64_t *offsets64
        const uint8_t *data
        const uint8_t *validity
        Py_ssize_t start
        Py_ssize_t size


cdef class Held:
    cdef Py_buffer view
    cdef bint has_view


cdef class Binary:
    cdef Held _offsets, _data, _validity
    cdef Column column
    cdef Py_ssize_t rows
    cdef Span span(self, Py_ssize_t row) noexcept


cdef class BatchBuilder:
    cdef readonly Py_ssize_t limit
    cdef readonly int32_t count
    cdef readonly int64_t base_timestamp
    cdef readonly int64_t max_timestamp
    cdef readonly Py_ssize_t size   # of the batch, header included, before compression
    cdef bytearray _buffer
    cdef uint8_t *_start
    cdef Py_ssize_t _capacity
    cdef Py_ssize_t _room           # the lesser of limit and capacity; 0 once finished
    cdef bint _finished
    # False where the batch has no room for it.
    cdef bint add(self, Span key, Span value, Span headers, int64_t timestamp) except -1
    cdef bint _make_room(self, Py_ssize_t body, int64_t timestamp) except -1
