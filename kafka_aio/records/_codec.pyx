# cython: language_level=3, cdivision=True, binding=False, embedsignature=True, embedsignature.format=clinic
"""The compiled record codec. Pure: no loop, no clock, no log.

`layout` has the batch header as a table. A record inside a batch, where every number but the
attributes is a zigzag varint:

    length, attributes (1 byte), timestamp delta, offset delta,
    key length (-1: null), key, value length (-1: null), value,
    header count, and per header: key length, key, value length (-1: null), value

`_record.h` writes and parses one record, `_sizes.h` tells what a payload inflates to. `_codec_py` does all of it in plain Python and is the
referee: both follow one order of checks, so that damaged bytes give the same error.
"""

cimport cython
from cpython.buffer cimport (
    PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer,
)
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from cpython.bytes cimport (
    PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE,
)
from cpython.number cimport PyNumber_Index
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport (
    INT32_MAX, INT64_MAX, INT64_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
    uint32_t, uint64_t,
)
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from types import GenericAlias

from kafka_aio.errors import CorruptRecord, StateError
from kafka_aio.records import layout, text
from kafka_aio.records.columns import BinaryColumn, Columns, HeadersColumn
from kafka_aio.records.compression import UNCOMPRESSED, Codec, compress, decompress
from kafka_aio.records.layout import UNSTAMPED
from kafka_aio.records.legacy import read_message
from kafka_aio.types import TimestampType

cdef extern from "Python.h":
    ctypedef struct PyListObject:
        PyObject **ob_item
    bytearray PyByteArray_FromStringAndSize(const char *, Py_ssize_t)

cdef extern from "_crc32c.h":
    const char *kaio_crc32c_start() nogil
    uint32_t kaio_crc32c(uint32_t, const uint8_t *, size_t) nogil

cdef extern from "_sizes.h" nogil:
    int64_t kaio_inflated_size(int, const uint8_t *, int64_t, int64_t)

cdef extern from "_record.h" nogil:
    enum:
        MOST_BESIDES "KAIO_MOST_BESIDES"
    ctypedef enum Damage "kaio_damage":
        BAD_OFFSET "KAIO_BAD_OFFSET"
    ctypedef struct Pen "kaio_pen":
        uint8_t *at
        const uint8_t *stop
        int64_t base_timestamp
        int64_t max_timestamp
        int32_t count
    ctypedef struct Parsed "kaio_parsed":
        int64_t timestamp_delta
        int32_t offset_delta
        int32_t header_count
        Span key
        Span value
        const uint8_t *headers
        const uint8_t *end
    uint64_t zigzag "kaio_zigzag" (int64_t)
    uint64_t delta "kaio_delta" (int64_t, int64_t)
    Py_ssize_t varint_bytes "kaio_varint_bytes" (uint64_t)
    Py_ssize_t span_payload "kaio_payload" (Span)
    Py_ssize_t span_bytes "kaio_span_bytes" (Span)
    Py_ssize_t body_bytes "kaio_body_bytes" (uint64_t, uint64_t, Span, Span, Span)
    uint8_t *put_varint "kaio_put_varint" (uint8_t *, uint64_t)
    void copy "kaio_copy" (uint8_t *, const uint8_t *, Py_ssize_t)
    uint8_t *put_span "kaio_put_span" (uint8_t *, Span)
    uint8_t *put_record "kaio_put_record" (uint8_t *, uint64_t, uint64_t, Span, Span, Span)
    Py_ssize_t write_many "kaio_write_many" (
        Pen *, PyObject **, PyObject **, Py_ssize_t, Py_ssize_t, int64_t
    )
    ctypedef struct Times "kaio_times":
        const int64_t *data
        const uint8_t *validity
        Py_ssize_t start
    bint is_valid "kaio_is_valid" (const uint8_t *, Py_ssize_t)
    Span column_span "kaio_column_span" (const Column *, Py_ssize_t)
    int64_t time_of "kaio_time" (const Times *, Py_ssize_t, int64_t)
    Py_ssize_t write_rows "kaio_write_rows" (
        Pen *, const Column *, const Column *, const Times *, Py_ssize_t, Py_ssize_t, int64_t
    )
    Py_ssize_t write_taken "kaio_write_taken" (
        Pen *, const Column *, const Column *, const Times *, const int32_t *, Py_ssize_t,
        Py_ssize_t, Py_ssize_t, int64_t
    )
    Damage take_header "kaio_take_header" (const uint8_t **, const uint8_t *, Span *, Span *)
    Damage parse_record "kaio_parse_record" (const uint8_t *, const uint8_t *, Parsed *)

cdef enum:
    HEADER_BYTES = 61
    CRC_FROM = 21
    LENGTH_FROM = 12
    UP_TO_MAGIC = 17
    LEGACY_BYTES = 14
    LEAST_RECORD_BYTES = 7
    LOG_APPEND_TIME = 0x08
    TRANSACTIONAL = 0x10
    CONTROL = 0x20

CRC32C_BY = kaio_crc32c_start().decode()

cdef object _DAMAGE = text.DAMAGE
cdef tuple _TIMESTAMP_TYPES = tuple(TimestampType(number) for number in (-1, 0, 1))
cdef uint8_t _ZERO = 0
cdef Span NULL_SPAN = Span(NULL, -1)
cdef Span NO_HEADERS = Span(&_ZERO, 1)


def crc32c(data, uint32_t crc=0):
    """CRC-32C of a buffer, going on from `crc`."""
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        return kaio_crc32c(crc, <const uint8_t *>view.buf, view.len)
    finally:
        PyBuffer_Release(&view)


def inflated_size(int codec, data, int64_t enough):
    """About how many bytes a payload of that codec inflates to; not counted beyond `enough`."""
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        return kaio_inflated_size(codec, <const uint8_t *>view.buf, view.len, enough)
    finally:
        PyBuffer_Release(&view)


# -- big-endian numbers

cdef inline uint16_t load16(const uint8_t *p) noexcept nogil:
    return (<uint16_t>p[0] << 8) | p[1]


cdef inline uint32_t load32(const uint8_t *p) noexcept nogil:
    return (<uint32_t>p[0] << 24) | (<uint32_t>p[1] << 16) | (<uint32_t>p[2] << 8) | p[3]


cdef inline uint64_t load64(const uint8_t *p) noexcept nogil:
    return (<uint64_t>load32(p) << 32) | load32(p + 4)


cdef inline void store16(uint8_t *p, uint16_t number) noexcept nogil:
    p[0] = <uint8_t>(number >> 8)
    p[1] = <uint8_t>number


cdef inline void store32(uint8_t *p, uint32_t number) noexcept nogil:
    p[0] = <uint8_t>(number >> 24)
    p[1] = <uint8_t>(number >> 16)
    p[2] = <uint8_t>(number >> 8)
    p[3] = <uint8_t>number


cdef inline void store64(uint8_t *p, uint64_t number) noexcept nogil:
    store32(p, <uint32_t>(number >> 32))
    store32(p + 4, <uint32_t>number)


# -- one record

cdef inline object span_object(Span span):
    if span.size < 0:
        return None
    return PyBytes_FromStringAndSize(<const char *>span.data, span.size)


cdef tuple headers_object(const uint8_t *p, const uint8_t *end, int32_t count):
    cdef Span key = NULL_SPAN, value = NULL_SPAN
    cdef int32_t index
    cdef list headers = []
    for index in range(count):
        take_header(&p, end, &key, &value)
        headers.append((
            PyUnicode_DecodeUTF8(<const char *>key.data, key.size, b"replace"),
            span_object(value),
        ))
    return tuple(headers)


@cython.final
@cython.no_gc           # bytes, str and numbers make no cycles; tracked, a record costs twice as much
@cython.freelist(1024)
cdef class Record:
    """A record as it was read: key, value and headers are bytes."""

    def __init__(
        self,
        str topic,
        int32_t partition,
        int64_t offset,
        int64_t timestamp,
        bytes key=None,
        bytes value=None,
        headers=(),
        timestamp_type=TimestampType.CREATE_TIME,
        int32_t leader_epoch=-1,
    ):
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = layout.checked_headers(headers)
        self._timestamp_type = TimestampType(timestamp_type)
        self.leader_epoch = leader_epoch

    __class_getitem__ = classmethod(GenericAlias)

    @property
    def timestamp_type(self):
        """Whether the producer or the broker set the timestamp."""
        return _TIMESTAMP_TYPES[self._timestamp_type + 1]

    def _fields(self):
        return (
            self.topic, self.partition, self.offset, self.timestamp, self.key, self.value,
            self.headers, self.timestamp_type, self.leader_epoch,
        )

    def __eq__(self, other):
        return self._fields() == (<Record>other)._fields() if isinstance(other, Record) else NotImplemented

    def __hash__(self):
        return hash(self._fields())

    def __reduce__(self):
        return Record, self._fields()

    def __repr__(self):
        return text.describe_record(self)


# -- writing

@cython.final
cdef class Memory:
    """Bytes that grow; a buffer once they are filled."""
    cdef uint8_t *data
    cdef Py_ssize_t size, capacity

    def __dealloc__(self):
        free(self.data)

    def __getbuffer__(self, Py_buffer *view, int flags):
        if self.data == NULL:       # empty; pyarrow ends the process where a buffer has no address
            self._resize(0)
        PyBuffer_FillInfo(view, self, self.data, self.size, 1, flags)

    cdef inline int reserve(self, Py_ssize_t more) except -1:
        if self.size + more > self.capacity:
            self._resize(max(self.size + more, self.capacity * 2))
        return 0

    cdef int _resize(self, Py_ssize_t capacity) except -1:
        cdef uint8_t *data = <uint8_t *>realloc(self.data, max(capacity, 1))
        if data == NULL:
            raise MemoryError()
        self.data = data
        self.capacity = capacity
        return 0

    cdef Memory trimmed(self):
        """Give back what was reserved for nothing; a little waste is cheaper than a new place."""
        if self.capacity > self.size * 2 + 4096:
            self._resize(self.size)
        return self

    cdef int put_pair(self, Span key, Span value) except -1:
        """A header: its key and its value, each behind its length."""
        cdef uint8_t *p
        self.reserve(span_bytes(key) + span_bytes(value))
        p = put_span(put_span(self.data + self.size, key), value)
        self.size = p - self.data
        return 0

    cdef inline int put32(self, int32_t number) except -1:
        self.reserve(4)
        (<int32_t *>(self.data + self.size))[0] = number
        self.size += 4
        return 0


cdef inline int borrow(object value, Span *span, Py_buffer *view, str what) except -1:
    """Point `span` at the bytes of `value`; returns 1 where `view` must be released."""
    if PyBytes_CheckExact(value):
        span.data = <const uint8_t *>PyBytes_AS_STRING(value)
        span.size = PyBytes_GET_SIZE(value)
        return 0
    if value is None:
        span.data = NULL
        span.size = -1
        return 0
    if not PyObject_CheckBuffer(value):
        raise TypeError(text.not_bytes(what, value))
    PyObject_GetBuffer(value, view, PyBUF_SIMPLE)
    span.data = <const uint8_t *>view.buf
    span.size = view.len
    return 1


cdef inline int64_t whole(number) except? -1:
    """A whole number; Cython would cut the fraction off one that is not."""
    return number if type(number) is int else PyNumber_Index(number)


@cython.final
cdef class BatchBuilder:
    """Writes records into one batch, each byte once, and finishes it for the wire."""

    def __cinit__(self, Py_ssize_t limit):
        if not 0 < limit <= INT32_MAX:
            raise ValueError(f"a batch has room for 1 to {INT32_MAX} bytes: limit is {limit}")
        self.limit = limit
        self.size = HEADER_BYTES
        self.max_timestamp = -1
        self.base_timestamp = -1
        self._capacity = max(min(limit, 1 << 20), HEADER_BYTES)
        self._room = min(self.limit, self._capacity)
        self._buffer = PyByteArray_FromStringAndSize(NULL, self._capacity)
        self._start = <uint8_t *>PyByteArray_AS_STRING(self._buffer)

    def __repr__(self):
        return text.describe_builder(self)

    def __len__(self):
        return self.count

    @property
    def is_finished(self):
        return self._finished

    cdef bint add(self, Span key, Span value, Span headers, int64_t timestamp) except -1:
        cdef uint64_t timestamp_delta = 0
        cdef uint64_t offset_delta = zigzag(self.count)
        cdef uint8_t *p = self._start + self.size
        cdef Py_ssize_t payload = span_payload(key) + span_payload(value) + headers.size
        if self.count:
            timestamp_delta = delta(timestamp, self.base_timestamp)
        if payload > self._room - self.size - MOST_BESIDES or timestamp < 0:
            body = body_bytes(timestamp_delta, offset_delta, key, value, headers)
            if not self._make_room(body, timestamp):
                return False
            p = self._start + self.size
        self.size = put_record(p, timestamp_delta, offset_delta, key, value, headers) - self._start
        if timestamp > self.max_timestamp:
            if self.count == 0:
                self.base_timestamp = timestamp
            self.max_timestamp = timestamp
        self.count += 1
        return True

    cdef bint _make_room(self, Py_ssize_t body, int64_t timestamp) except -1:
        """Whether a record of that many bytes, besides its length, may be written now."""
        cdef Py_ssize_t needed = self.size + varint_bytes(zigzag(body)) + body, capacity
        if timestamp < 0:
            raise ValueError(f"a timestamp is milliseconds since 1970, not {timestamp}")
        if self._finished:
            raise StateError("the batch is finished; open another")
        if body > INT32_MAX - HEADER_BYTES - 16:
            raise ValueError(f"a record of {body} bytes does not fit a batch")
        if needed > self.limit and self.count:
            return False
        if needed > self._capacity:
            capacity = min(max(needed, self._capacity * 2), max(needed, self.limit))
            PyByteArray_Resize(self._buffer, capacity)
            self._start = <uint8_t *>PyByteArray_AS_STRING(self._buffer)
            self._capacity = capacity
            self._room = min(self.limit, self._capacity)
        return True

    def append(self, key, value, timestamp, headers=None):
        """Write one record. False where the batch has no room for it.

        The first record always has room, however long it is.
        """
        cdef Span key_span, value_span, headers_span = NO_HEADERS
        cdef Py_buffer key_view, value_view
        cdef bint key_held = False, value_held = False
        cdef int64_t time = whole(timestamp)
        cdef Memory encoded
        if headers:
            encoded = encode_headers(headers)
            headers_span = Span(encoded.data, encoded.size)
        key_held = borrow(key, &key_span, &key_view, "key")
        if not key_held and (value is None or PyBytes_CheckExact(value)):
            borrow(value, &value_span, &value_view, "value")
            return self.add(key_span, value_span, headers_span, time)
        try:
            value_held = borrow(value, &value_span, &value_view, "value")
            return self.add(key_span, value_span, headers_span, time)
        finally:
            if key_held:
                PyBuffer_Release(&key_view)
            if value_held:
                PyBuffer_Release(&value_view)

    def append_many(self, values, timestamp, keys=None, Py_ssize_t start=0):
        """Write records from `start` on while there is room. Returns the first one not written."""
        cdef int64_t time = whole(timestamp)
        cdef list value_list = values if type(values) is list else list(values)
        cdef list key_list = None
        cdef Py_ssize_t index = start
        if keys is not None:
            key_list = keys if type(keys) is list else list(keys)
            if len(key_list) != len(value_list):
                raise ValueError(f"{len(key_list)} keys for {len(value_list)} values")
        if start < 0:
            raise ValueError(f"start is {start}")
        while index < len(value_list):
            # The first record opens the batch, the last may be refused; others than bytes are rare.
            key = None if key_list is None else key_list[index]
            if not self.append(key, value_list[index], timestamp):
                break
            index = append_bytes(self, value_list, key_list, index + 1, time)
        return index

    def append_rows(self, Rows rows not None, Py_ssize_t start, Py_ssize_t stop, timestamp):
        """Write rows of columns while there is room. Returns the first row not written.

        `timestamp` is for rows that have none.
        """
        cdef Py_ssize_t row = start
        cdef int64_t time = whole(timestamp)
        cdef Pen pen
        if not 0 <= start <= stop <= rows.length:
            raise ValueError(f"rows {start} to {stop} of {rows.length}")
        while row < stop:
            if not append_row(self, rows, row, time):
                break
            row += 1
            if not rows.has_headers:
                pen = pick_up(self)
                row = write_rows(
                    &pen, &rows.key.column, &rows.value.column, &rows.times, row, stop, time
                )
                put_down(self, pen)
        return row

    def append_taken(self, Rows rows not None, indices not None, Py_ssize_t start, Py_ssize_t stop, timestamp):
        """Write the rows that the indices from `start` to `stop` name, while there is room.

        These are int32. Returns the first place among them that was not written. `timestamp` is
        for rows that have none.
        """
        cdef Held held = Held(indices)
        cdef Py_ssize_t count = held.view.len // 4, at = start
        cdef int64_t time = whole(timestamp)
        cdef const int32_t *taken = <const int32_t *>held.view.buf
        cdef Pen pen
        if not 0 <= start <= stop <= count:
            raise ValueError(f"indices {start} to {stop} of {count}")
        while at < stop:
            if not 0 <= taken[at] < rows.length:
                raise ValueError(f"row {taken[at]} of {rows.length}")
            if not append_row(self, rows, taken[at], time):
                break
            at += 1
            if not rows.has_headers:
                pen = pick_up(self)
                at = write_taken(
                    &pen, &rows.key.column, &rows.value.column, &rows.times, taken, rows.length,
                    at, stop, time,
                )
                put_down(self, pen)
        return at

    def finish(
        self,
        compression=UNCOMPRESSED,
        stamp=UNSTAMPED,
        *,
        base_offset=0,
        int32_t leader_epoch=-1,
        bint control=False,
    ):
        """Close the batch: compress, write the header, sum it up. Returns the bytes to send."""
        cdef bytearray batch = self._buffer
        cdef int64_t first_offset = whole(base_offset)
        cdef Py_ssize_t size = self.size
        cdef int64_t producer_id = stamp.producer_id
        cdef int16_t producer_epoch = stamp.producer_epoch
        cdef int32_t base_sequence = stamp.base_sequence
        cdef uint16_t attributes = compression.codec
        cdef uint8_t *p
        if self._finished:
            raise StateError("the batch is finished; `restamp` changes its stamp")
        if self.count == 0:
            raise StateError("an empty batch cannot be finished; append a record first")
        if compression.codec:
            records = compress(compression, memoryview(self._buffer)[HEADER_BYTES:self.size])
            size = HEADER_BYTES + len(records)
            batch = PyByteArray_FromStringAndSize(NULL, size)
            batch[HEADER_BYTES:] = records
        if stamp.transactional:
            attributes |= TRANSACTIONAL
        if control:
            attributes |= CONTROL
        p = <uint8_t *>PyByteArray_AS_STRING(batch)
        store64(p, first_offset)
        store32(p + 8, <uint32_t>(size - LENGTH_FROM))
        store32(p + 12, leader_epoch)
        p[16] = 2
        store16(p + 21, attributes)
        store32(p + 23, self.count - 1)
        store64(p + 27, self.base_timestamp)
        store64(p + 35, self.max_timestamp)
        store64(p + 43, producer_id)
        store16(p + 51, producer_epoch)
        store32(p + 53, base_sequence)
        store32(p + 57, self.count)
        store32(p + 17, kaio_crc32c(0, p + CRC_FROM, size - CRC_FROM))
        self._finished = True
        self.limit = 0
        self._room = 0
        return memoryview(batch)[:size]


cdef inline Pen pick_up(BatchBuilder builder) noexcept:
    return Pen(
        builder._start + builder.size, builder._start + builder._room, builder.base_timestamp,
        builder.max_timestamp, builder.count,
    )


cdef inline void put_down(BatchBuilder builder, Pen pen) noexcept:
    builder.size = pen.at - builder._start
    builder.max_timestamp = pen.max_timestamp
    builder.count = pen.count


cdef Py_ssize_t append_bytes(
    BatchBuilder builder, list values, list keys, Py_ssize_t index, int64_t timestamp
) except -1:
    """Write records while they are bytes and surely fit. Returns the first one not written."""
    cdef Pen pen = pick_up(builder)
    cdef PyObject **key_items = NULL if keys is None else (<PyListObject *>keys).ob_item
    # A buffer made by Python code (PEP 688) may have changed the lists since they were counted.
    cdef Py_ssize_t stop = len(values) if keys is None else min(len(values), len(keys))
    index = write_many(&pen, (<PyListObject *>values).ob_item, key_items, index, stop, timestamp)
    put_down(builder, pen)
    return index


cdef bint append_row(BatchBuilder builder, Rows rows, Py_ssize_t row, int64_t timestamp) except -1:
    if rows.key.span(row).size < -1 or rows.value.span(row).size < -1:
        raise ValueError(f"row {row}: its offsets lie outside of the column's data")
    headers = rows.headers_span(row) if rows.has_headers else NO_HEADERS
    try:
        return builder.add(rows.key.span(row), rows.value.span(row), headers, time_of(&rows.times, row, timestamp))
    except ValueError as problem:
        raise ValueError(f"row {row}: {problem}") from None


cdef Memory encode_headers(headers):
    """The header section of a record: the count, then keys and values."""
    cdef Memory section = Memory()
    cdef bytes name
    pairs = layout.checked_headers(headers)
    section.reserve(10)
    section.size = put_varint(section.data, zigzag(len(pairs))) - section.data
    for key, value in pairs:
        name = key.encode()
        section.put_pair(
            Span(<const uint8_t *>PyBytes_AS_STRING(name), PyBytes_GET_SIZE(name)),
            NULL_SPAN if value is None
            else Span(<const uint8_t *>PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value)),
        )
    return section


# -- columns in

cdef class Held:
    """A buffer of somebody else's, held while this lives."""

    def __cinit__(self, source):
        if source is not None:
            PyObject_GetBuffer(source, &self.view, PyBUF_SIMPLE)
            self.has_view = True

    def __dealloc__(self):
        if self.has_view:
            PyBuffer_Release(&self.view)


cdef class Binary:
    """A binary column to read from; a column that is absent is all null."""

    def __cinit__(self, source, str what):
        if source is None:
            return
        self._offsets = Held(source.offsets)
        self._data = Held(source.data)
        self._validity = Held(source.validity)
        self.column.start = source.start
        if self.column.start < 0:
            raise ValueError(f"column {what} starts at {self.column.start}")
        self.rows = self._offsets.view.len // (8 if source.large else 4) - 1 - self.column.start
        self.column.data = <const uint8_t *>self._data.view.buf
        self.column.size = self._data.view.len
        if source.large:
            self.column.offsets64 = <const int64_t *>self._offsets.view.buf
        else:
            self.column.offsets32 = <const int32_t *>self._offsets.view.buf
        if source.validity is not None:
            self.column.validity = <const uint8_t *>self._validity.view.buf
            self.rows = min(self.rows, self._validity.view.len * 8 - self.column.start)

    cdef Span span(self, Py_ssize_t row) noexcept:
        """The row's bytes; size -1 where null, -2 where the offsets make no sense."""
        return column_span(&self.column, row)


@cython.final
cdef class Rows:
    """Columns to append from, checked and held; `length` rows of them."""
    cdef readonly Py_ssize_t length
    cdef Binary key, value, header_keys, header_values
    cdef Held _times, _times_validity, _header_offsets, _header_validity
    cdef Times times
    cdef bint has_headers
    cdef const int32_t *header_offsets
    cdef const uint8_t *header_validity
    cdef Py_ssize_t header_start
    cdef Memory scratch

    def __cinit__(self, Py_ssize_t length, value, key=None, timestamp=None, headers=None):
        self.length = length
        self.value = Binary(value, "value")
        self.key = Binary(key, "key")
        if self.value.rows < length:
            raise ValueError(f"column value has {self.value.rows} rows of {length}")
        if key is not None and self.key.rows < length:
            raise ValueError(f"column key has {self.key.rows} rows of {length}")
        if timestamp is not None:
            self._hold_times(timestamp)
        if headers is not None:
            self._hold_headers(headers)

    def __len__(self):
        return self.length

    def payload(self, Py_ssize_t row):
        """The bytes of a row's key, value and headers."""
        cdef Span headers = NO_HEADERS
        if not 0 <= row < self.length:
            raise IndexError(f"row {row} of {self.length}")
        if self.has_headers:
            headers = self.headers_span(row)
        return span_payload(self.key.span(row)) + span_payload(self.value.span(row)) + headers.size

    cdef int _hold_times(self, column) except -1:
        self._times = Held(column.data)
        self._times_validity = Held(column.validity)
        self.times.start = column.start
        self.times.data = <const int64_t *>self._times.view.buf
        if self.times.start < 0 or self._times.view.len // 8 - self.times.start < self.length:
            raise ValueError(f"column timestamp is shorter than {self.length} rows")
        if column.validity is not None:
            self.times.validity = <const uint8_t *>self._times_validity.view.buf
            if self._times_validity.view.len * 8 < self.times.start + self.length:
                raise ValueError(f"column timestamp is shorter than {self.length} rows")
        return 0

    cdef int _hold_headers(self, column) except -1:
        self.has_headers = True
        self.header_keys = Binary(column.keys, "headers.key")
        self.header_values = Binary(column.values, "headers.value")
        self._header_offsets = Held(column.offsets)
        self._header_validity = Held(column.validity)
        self.header_start = column.start
        self.header_offsets = <const int32_t *>self._header_offsets.view.buf
        self.scratch = Memory()
        if self.header_start < 0 or self._header_offsets.view.len // 4 - 1 - self.header_start < self.length:
            raise ValueError(f"column headers is shorter than {self.length} rows")
        if column.validity is not None:
            self.header_validity = <const uint8_t *>self._header_validity.view.buf
            if self._header_validity.view.len * 8 < self.header_start + self.length:
                raise ValueError(f"column headers is shorter than {self.length} rows")
        return 0

    cdef Span headers_span(self, Py_ssize_t row) except *:
        """The row's header section, encoded into scratch memory that the next row overwrites."""
        cdef Py_ssize_t at = row + self.header_start, entry
        cdef int32_t begin, end
        cdef Span key = NULL_SPAN, value = NULL_SPAN
        if not is_valid(self.header_validity, at):
            return NO_HEADERS
        begin = self.header_offsets[at]
        end = self.header_offsets[at + 1]
        if begin < 0 or end < begin or end > min(self.header_keys.rows, self.header_values.rows):
            raise ValueError(f"row {row}: its offsets lie outside of the column's headers")
        self.scratch.size = 0
        self.scratch.reserve(10)
        self.scratch.size = put_varint(self.scratch.data, zigzag(end - begin)) - self.scratch.data
        for entry in range(begin, end):
            key = self.header_keys.span(entry)
            value = self.header_values.span(entry)
            if key.size < -1 or value.size < -1:
                raise ValueError(f"row {row}: its offsets lie outside of the column's headers")
            if key.size < 0:
                raise ValueError(f"row {row}: the key of a header is null")
            self.scratch.put_pair(key, value)
        return Span(self.scratch.data, self.scratch.size)


# -- columns out

@cython.final
cdef class BinaryOut:
    """A binary column being filled."""
    cdef Memory offsets, data, validity
    cdef Py_ssize_t rows, nulls

    def __cinit__(self):
        self.offsets = Memory()
        self.data = Memory()
        self.validity = Memory()
        self.offsets.put32(0)

    cdef int reserve(self, Py_ssize_t rows) except -1:
        cdef Py_ssize_t bits
        self.offsets.reserve(rows * 4)
        bits = (self.rows + rows + 7) // 8 - self.validity.size
        if bits > 0:
            self.validity.reserve(bits)
            memset(self.validity.data + self.validity.size, 0, bits)
            self.validity.size += bits
        return 0

    cdef inline int put(self, Span span) except -1:
        """Room for the row was reserved before, but not for its bytes."""
        if span.size >= 0:
            self.data.reserve(span.size)
            copy(self.data.data + self.data.size, span.data, span.size)
            self.data.size += span.size
            self.validity.data[self.rows >> 3] |= <uint8_t>(1 << (self.rows & 7))
        else:
            self.nulls += 1
        (<int32_t *>(self.offsets.data + self.offsets.size))[0] = <int32_t>self.data.size
        self.offsets.size += 4
        self.rows += 1
        return 0

    cdef object column(self):
        self.validity.size = (self.rows + 7) // 8
        return BinaryColumn(
            self.offsets.trimmed(),
            self.data.trimmed(),
            self.validity.trimmed() if self.nulls else None,
        )


@cython.final
cdef class ColumnsOut:
    """The columns of one call, being filled."""
    cdef BinaryOut key, value, header_keys, header_values
    cdef Memory offset, timestamp, timestamp_type, header_offsets
    cdef Py_ssize_t rows, max_bytes
    cdef bint with_headers

    def __cinit__(self, bint with_headers, Py_ssize_t max_bytes):
        self.max_bytes = max_bytes
        self.key = BinaryOut()
        self.value = BinaryOut()
        self.offset = Memory()
        self.timestamp = Memory()
        self.timestamp_type = Memory()
        self.with_headers = with_headers
        if with_headers:
            self.header_keys = BinaryOut()
            self.header_values = BinaryOut()
            self.header_offsets = Memory()
            self.header_offsets.put32(0)

    cdef int reserve(self, Py_ssize_t rows) except -1:
        self._settle()
        self.key.reserve(rows)
        self.value.reserve(rows)
        self.offset.reserve(rows * 8)
        self.timestamp.reserve(rows * 8)
        self.timestamp_type.reserve(rows * 4)
        return 0

    cdef inline int put(self, Span key, Span value, int64_t offset, int64_t timestamp, int32_t type) except -1:
        self.key.put(key)
        self.value.put(value)
        (<int64_t *>self.offset.data)[self.rows] = offset
        if timestamp > INT64_MAX // 1000:
            timestamp = INT64_MAX
        elif timestamp < -(INT64_MAX // 1000):
            timestamp = INT64_MIN
        else:
            timestamp *= 1000
        (<int64_t *>self.timestamp.data)[self.rows] = timestamp
        (<int32_t *>self.timestamp_type.data)[self.rows] = type
        self.rows += 1
        return 0

    cdef inline bint has_room(self, Span key, Span value, Py_ssize_t header_bytes) noexcept:
        """Whether a row fits; the first does. A byte of a header that is not UTF-8 becomes three."""
        cdef Py_ssize_t most = self.max_bytes
        if self.rows == 0:
            return True
        if self.key.data.size + span_payload(key) > most or self.value.data.size + span_payload(value) > most:
            return False
        if not self.with_headers:
            return True
        header_bytes *= 3
        return header_bytes + max(
            self.header_keys.data.size, self.header_values.data.size, self.header_keys.rows
        ) <= most

    cdef int put_headers(self, const uint8_t *p, const uint8_t *end, int32_t count) except -1:
        cdef Span key = NULL_SPAN, value = NULL_SPAN
        cdef int32_t index
        cdef bytes name
        for index in range(count):
            take_header(&p, end, &key, &value)
            if not is_ascii(key):
                name = PyUnicode_DecodeUTF8(<const char *>key.data, key.size, b"replace").encode()
                key = Span(<const uint8_t *>PyBytes_AS_STRING(name), PyBytes_GET_SIZE(name))
            self.header_keys.reserve(1)
            self.header_keys.put(key)
            self.header_values.reserve(1)
            self.header_values.put(value)
        self.header_offsets.put32(<int32_t>self.header_keys.rows)
        return 0

    cdef void _settle(self) noexcept:
        """Tell the columns of numbers how long they are; `put` counts rows only."""
        self.offset.size = self.timestamp.size = self.rows * 8
        self.timestamp_type.size = self.rows * 4

    cdef object columns(self, str topic, int32_t partition):
        self._settle()
        headers = None
        if self.with_headers:
            headers = HeadersColumn(
                self.header_offsets.trimmed(),
                self.header_keys.column(),
                self.header_values.column(),
            )
        return Columns(
            self.rows,
            self.key.column(),
            self.value.column(),
            repeated(topic.encode(), self.rows),
            repeated_number(partition, self.rows),
            self.offset.trimmed(),
            self.timestamp.trimmed(),
            self.timestamp_type.trimmed(),
            headers,
        )


cdef object repeated(bytes part, Py_ssize_t rows):
    """A column that says the same in every row."""
    cdef Memory offsets = Memory(), data = Memory()
    cdef Py_ssize_t row, size = len(part)
    offsets.reserve(4 * (rows + 1))
    data.reserve(size * rows)
    for row in range(rows):
        (<int32_t *>offsets.data)[row] = <int32_t>(row * size)
        copy(data.data + row * size, <const uint8_t *>PyBytes_AS_STRING(part), size)
    (<int32_t *>offsets.data)[rows] = <int32_t>(rows * size)
    offsets.size = 4 * (rows + 1)
    data.size = size * rows
    return BinaryColumn(offsets, data)


cdef Memory repeated_number(int32_t number, Py_ssize_t rows):
    cdef Memory column = Memory()
    cdef Py_ssize_t row
    column.reserve(4 * rows)
    for row in range(rows):
        (<int32_t *>column.data)[row] = number
    column.size = 4 * rows
    return column


cdef inline bint is_ascii(Span span) noexcept nogil:
    cdef Py_ssize_t index
    for index in range(span.size):
        if span.data[index] & 0x80:
            return False
    return True


# -- reading

@cython.final
cdef class RecordReader:
    """Walks the batches of one partition's fetched bytes and decodes their records, as asked.

    It stops before what is damaged: records before it are handed over first, then every call raises
    the same `CorruptRecord`, and `next_offset` stays. A batch cut off at the end of the bytes is
    legal and left for the next fetch.
    """
    cdef readonly str topic
    cdef readonly int32_t partition
    cdef readonly int64_t next_offset       # the next fetch or read starts here; -1: nothing was read
    cdef readonly bint is_incomplete        # the bytes ended in the middle of a batch
    cdef object _data, _inflated
    cdef Held _held, _held_inflated
    cdef const uint8_t *_bytes
    cdef Py_ssize_t _size, _at              # _at: where the next batch starts
    cdef bint _check_crcs, _control_records, _read_committed
    cdef Py_ssize_t _max_inflated
    cdef int64_t _inflated_bytes            # in all batches so far
    cdef list _aborted                      # (first offset, producer id), the earliest last
    cdef set _aborting
    # the open batch
    cdef bint _is_open
    cdef const uint8_t *_p
    cdef const uint8_t *_end
    cdef int32_t _left, _last_delta, _max_delta, _leader_epoch
    cdef int64_t _base_offset, _base_timestamp, _append_time, _batch_next
    cdef int8_t _timestamp_type
    cdef list _messages                     # of a format 0 or 1 entry, the next one last

    def __cinit__(
        self,
        data,
        str topic="",
        int32_t partition=-1,
        *,
        int64_t start_offset=-1,
        bint check_crcs=True,
        aborted=None,
        bint control_records=False,
        Py_ssize_t max_inflated=layout.MAX_INFLATED,
    ):
        self.topic = topic
        self.partition = partition
        self.next_offset = start_offset
        self._data = memoryview(data).cast("B")
        self._held = Held(self._data)
        self._bytes = <const uint8_t *>self._held.view.buf
        self._size = self._held.view.len
        self._check_crcs = check_crcs
        self._control_records = control_records
        self._max_inflated = max_inflated
        self._read_committed = aborted is not None
        if aborted:
            self._aborted = sorted(((first, producer) for producer, first in aborted), reverse=True)
        else:
            self._aborted = []
        self._aborting = set()

    def __repr__(self):
        return text.describe_reader(self, self._at, self._size)

    @property
    def is_done(self):
        """Whether all that can be read of these bytes was handed over."""
        return not self._is_open and (self._at >= self._size or self.is_incomplete)

    def to_inflate(self, Py_ssize_t enough):
        """About how many bytes the next batch with records inflates to, by its headers alone.

        Beyond `enough` nothing is counted: where it is more, call `open_batch` in a thread, and
        then read. A compressed message of an old format is always more.
        """
        return 0 if self._is_open else self._to_inflate(self._first_wanted(), enough)

    def open_batch(self):
        """Check and inflate the next batch that has records to hand over. False at the end."""
        while not self._is_open:
            if not self._open_next():
                return False
        return True

    def read(self, Py_ssize_t max_records=-1, *, Py_ssize_t max_bytes=-1, Py_ssize_t max_inflate=-1):
        """The next records, at most that many where it is not negative; none at the end.

        Where they are not negative, it also ends after `max_bytes` of records, those before the
        start among them, and before a batch that makes one call inflate more than `max_inflate`.
        So it may have none before the end: go on, or see `to_inflate`.

        Raises:
            CorruptRecord: The next batch or record is damaged.
        """
        cdef list records = []
        cdef Py_ssize_t room = max_records if max_records >= 0 else INT64_MAX
        cdef Py_ssize_t bytes_left = max_bytes if max_bytes >= 0 else INT64_MAX
        cdef int64_t inflate_until = self._inflated_bytes + max_inflate if max_inflate >= 0 else INT64_MAX
        cdef const uint8_t *begin
        cdef Py_ssize_t begin_at
        try:
            while room > 0 and bytes_left > 0:
                if self._messages is not None:
                    room -= self._read_messages(records, room)
                elif self._is_open:
                    begin = self._p
                    room -= self._read_records(records, room, bytes_left)
                    bytes_left -= self._p - begin
                else:
                    if max_inflate >= 0 and self._to_inflate(self._at, max_inflate) > inflate_until - self._inflated_bytes:
                        break
                    begin_at = self._at
                    if not self._open_next():
                        break
                    if self._messages is not None:
                        bytes_left -= self._at - begin_at
        except CorruptRecord:
            if not records:
                raise
        return records

    def columns(self, Py_ssize_t max_rows=-1, *, bint headers=False, Py_ssize_t max_bytes=INT32_MAX):
        """The next records as columns, at most that many where it is not negative.

        No column has more than `max_bytes`, unless one row alone has.

        Raises:
            CorruptRecord: The next batch or record is damaged.
        """
        cdef ColumnsOut out = ColumnsOut(headers, max_bytes)
        cdef Py_ssize_t before, topic_bytes = len(self.topic.encode())
        if not 0 < max_bytes <= INT32_MAX:
            raise ValueError(f"max_bytes is 1 to {INT32_MAX}, not {max_bytes}")
        if max_rows < 0:
            max_rows = INT64_MAX
        if topic_bytes:
            max_rows = min(max_rows, max(1, max_bytes // topic_bytes))
        self._reserve_ahead(out, max_rows)
        try:
            while out.rows < max_rows and self.open_batch():
                before = out.rows
                if self._messages is not None:
                    self._message_columns(out, max_rows)
                else:
                    self._record_columns(out, max_rows)
                if out.rows == before and self._is_open:
                    break       # a column is as long as its offsets can say
        except CorruptRecord:
            if not out.rows:
                raise
        return out.columns(self.topic, self.partition)

    cdef int _reserve_ahead(self, ColumnsOut out, Py_ssize_t max_rows) except -1:
        """Reserve at once what the uncompressed batches ahead will fill.

        Columns that grow are moved, and big ones start on fresh pages each time: half of the cost.
        """
        cdef Py_ssize_t at = self._at, rows = 0, payload = 0, records, length
        cdef int32_t count
        if self._is_open and self._messages is None:
            rows = self._left
            payload = self._end - self._p
        while rows < max_rows and self._size - at >= HEADER_BYTES:
            length = <int32_t>load32(self._bytes + at + 8)
            count = <int32_t>load32(self._bytes + at + 57)
            if length < HEADER_BYTES - LENGTH_FROM or length > self._size - at - LENGTH_FROM:
                break
            records = length - (HEADER_BYTES - LENGTH_FROM)
            if self._bytes[at + 16] != 2:
                break
            if self._bytes[at + 22] & 7 or count < 0 or count > records // LEAST_RECORD_BYTES:
                break
            rows += count
            payload += records
            at += LENGTH_FROM + length
        if rows > max_rows:
            payload = <Py_ssize_t>(<double>payload * max_rows / rows)
            rows = max_rows
        out.reserve(rows)
        out.value.data.reserve(payload)
        return 0

    # -- batches

    cdef Py_ssize_t _first_wanted(self) noexcept:
        """Where the first batch is that is not passed over by its header alone."""
        cdef const uint8_t *p
        cdef Py_ssize_t at = self._at
        cdef int32_t length
        cdef uint16_t attributes
        while self._size - at >= HEADER_BYTES:
            p = self._bytes + at
            length = <int32_t>load32(p + 8)
            attributes = load16(p + 21)
            if p[16] != 2 or length < HEADER_BYTES - LENGTH_FROM or length > self._size - at - LENGTH_FROM:
                break
            if <int32_t>load32(p + 23) < 0:
                break
            if attributes & CONTROL:
                if attributes & 7 or self._control_records:
                    break
            elif <int64_t>load64(p) >= self.next_offset - <int64_t>load32(p + 23):
                break
            at += LENGTH_FROM + length
        return at

    cdef int64_t _to_inflate(self, Py_ssize_t at, Py_ssize_t enough) noexcept:
        cdef const uint8_t *p = self._bytes + at
        cdef Py_ssize_t size
        if self._size - at < UP_TO_MAGIC + 1:
            return 0
        if p[16] < 2:
            return INT64_MAX if p[17] & 7 else 0
        if self._size - at < HEADER_BYTES or not p[22] & 7:
            return 0
        size = min(self._size - at, LENGTH_FROM + <Py_ssize_t><int32_t>load32(p + 8)) - HEADER_BYTES
        return kaio_inflated_size(p[22] & 7, p + HEADER_BYTES, size, enough) if size > 0 else 0

    cdef object _corrupt(self, str reason, int64_t base_offset, int64_t next_offset):
        return CorruptRecord(
            reason,
            topic=self.topic,
            partition=self.partition,
            offset=max(self.next_offset, base_offset),
            next_offset=next_offset,
        )

    cdef bint _open_next(self) except -1:
        """Go to the next batch; open it unless it is to be skipped. False at the end."""
        cdef const uint8_t *p = self._bytes + self._at
        cdef Py_ssize_t remaining = self._size - self._at
        cdef int64_t base_offset
        cdef int32_t length
        if self.is_incomplete or remaining < LENGTH_FROM:
            self.is_incomplete = remaining > 0
            return False
        base_offset = <int64_t>load64(p)
        length = <int32_t>load32(p + 8)
        if length < LEGACY_BYTES:
            raise self._corrupt(f"batch length {length}", base_offset, -1)
        if remaining < UP_TO_MAGIC:
            self.is_incomplete = True
            return False
        if p[16] > 2:
            raise self._corrupt(f"unknown record format {<int8_t>p[16]}", base_offset, -1)
        if length > remaining - LENGTH_FROM:
            self.is_incomplete = True
            return False
        if base_offset < 0:
            raise self._corrupt(f"base offset {base_offset}", base_offset, -1)
        if p[16] < 2:
            self._open_message(base_offset, length)
        else:
            self._open_batch(p, base_offset, length)
        return True

    cdef int _open_message(self, int64_t offset, int32_t length) except -1:
        cdef list messages
        cdef Py_ssize_t end = self._at + LENGTH_FROM + length
        if offset < self.next_offset:       # the offset of a wrapper is that of its last message
            self._at = end
            return 0
        if offset == INT64_MAX:
            raise self._corrupt(f"base offset {offset}", offset, -1)
        try:
            messages = read_message(self._data[self._at:end], self._check_crcs, self._max_inflated)
        except CorruptRecord as problem:
            raise self._corrupt(problem.reason, offset, offset + 1) from None
        messages.reverse()
        while messages and messages[-1].offset < self.next_offset:
            messages.pop()
        self._messages = messages
        self._batch_next = offset + 1
        self._leader_epoch = -1
        self._at = end
        self._is_open = True
        if not messages:
            self._close_batch()
        return 0

    cdef int _open_batch(self, const uint8_t *p, int64_t base_offset, int32_t length) except -1:
        cdef uint16_t attributes
        cdef int32_t last_delta, count
        cdef int64_t after, producer_id
        cdef Py_ssize_t size = LENGTH_FROM + length
        if length < HEADER_BYTES - LENGTH_FROM:
            raise self._corrupt(f"batch length {length}", base_offset, -1)
        last_delta = <int32_t>load32(p + 23)
        if last_delta < 0 or base_offset >= INT64_MAX - last_delta:
            raise self._corrupt(f"last offset delta {last_delta}", base_offset, -1)
        after = base_offset + last_delta + 1
        attributes = load16(p + 21)
        # A marker before the first offset asked for still ends the transaction of its producer.
        if after <= self.next_offset and not (self._read_committed and attributes & CONTROL):
            self._at += size
            return 0
        if self._check_crcs and load32(p + 17) != kaio_crc32c(0, p + CRC_FROM, size - CRC_FROM):
            raise self._corrupt("the checksum (CRC-32C) does not match", base_offset, after)
        count = <int32_t>load32(p + 57)
        if count < 0:
            raise self._corrupt(f"record count {count}", base_offset, after)
        producer_id = <int64_t>load64(p + 43)
        if self._is_skipped(producer_id, attributes, after):
            self._skip(size, after)
            return 0
        self._inflate(p, size, attributes, base_offset, after)
        if count > (self._end - self._p) // LEAST_RECORD_BYTES:
            raise self._corrupt(f"record count {count} in {self._end - self._p} bytes", base_offset, after)
        self._left = count
        self._max_delta = last_delta
        self._last_delta = -1
        self._base_offset = base_offset
        self._batch_next = after
        self._leader_epoch = <int32_t>load32(p + 12)
        self._base_timestamp = <int64_t>load64(p + 27)
        self._append_time = <int64_t>load64(p + 35)
        self._timestamp_type = 1 if attributes & LOG_APPEND_TIME else 0
        if attributes & CONTROL:
            self._end_transaction(producer_id)
            if not self._control_records:
                self._skip(size, after)
                return 0
        self._at += size
        self._is_open = True
        if count == 0:
            self._check_end()
            self._close_batch()
        return 0

    cdef int _skip(self, Py_ssize_t size, int64_t after) except -1:
        self._at += size
        self.next_offset = max(self.next_offset, after)
        return 0

    cdef int _inflate(self, const uint8_t *p, Py_ssize_t size, uint16_t attributes, int64_t base_offset, int64_t after) except -1:
        cdef int codec = attributes & 7
        cdef Py_ssize_t start = self._at + HEADER_BYTES
        if codec == 0:
            self._p = p + HEADER_BYTES
            self._end = p + size
            return 0
        if codec > 4:
            raise self._corrupt(f"unknown codec {codec}", base_offset, after)
        try:
            self._inflated = decompress(Codec(codec), self._data[start:self._at + size], self._max_inflated)
        except CorruptRecord as problem:
            raise self._corrupt(problem.reason, base_offset, after) from None
        self._held_inflated = Held(self._inflated)
        self._inflated_bytes += self._held_inflated.view.len
        self._p = <const uint8_t *>self._held_inflated.view.buf
        self._end = self._p + self._held_inflated.view.len
        return 0

    cdef int _close_batch(self) except -1:
        self._is_open = False
        self.next_offset = max(self.next_offset, self._batch_next)
        self._messages = None
        self._held_inflated = None
        self._inflated = None
        return 0

    # -- transactions that were aborted

    cdef bint _is_skipped(self, int64_t producer_id, uint16_t attributes, int64_t after) except -1:
        cdef bint in_aborted = False
        if self._read_committed and producer_id >= 0:
            while self._aborted and self._aborted[-1][0] < after:
                self._aborting.add(self._aborted.pop()[1])
            in_aborted = producer_id in self._aborting
        if attributes & CONTROL:
            return not in_aborted and not self._control_records
        return in_aborted and (attributes & TRANSACTIONAL) != 0

    cdef int _end_transaction(self, int64_t producer_id) except -1:
        """An abort marker ends the aborted transaction of its producer."""
        cdef Parsed record
        cdef Damage damage
        if self._left == 0 or not self._read_committed:
            return 0
        damage = parse_record(self._p, self._end, &record)
        if damage:
            raise self._corrupt(_DAMAGE[damage], self._base_offset, self._batch_next)
        if record.key.size < 4:
            raise self._corrupt("a control record without a type", self._base_offset, self._batch_next)
        if load16(record.key.data + 2) == 0:
            self._aborting.discard(producer_id)
        return 0

    # -- records of the open batch

    cdef int _check_end(self) except -1:
        if self._p != self._end:
            raise self._corrupt("bytes after the last record of the batch", self._base_offset, self._batch_next)
        return 0

    cdef inline bint _next(self, Parsed *record) except -1:
        """Parse the record at hand without moving on. False where it is before what was asked for."""
        cdef Damage damage
        if self._left == 0:     # all were handed over, and then more bytes were found
            self._check_end()
        damage = parse_record(self._p, self._end, record)
        if not damage and (record.offset_delta <= self._last_delta or record.offset_delta > self._max_delta):
            damage = BAD_OFFSET
        if damage:
            raise self._corrupt(_DAMAGE[damage], self._base_offset + self._last_delta + 1, self._batch_next)
        return self._base_offset + record.offset_delta >= self.next_offset

    cdef inline int _move(self, Parsed *record) except -1:
        self._p = record.end
        self._last_delta = record.offset_delta
        self._left -= 1
        if self._left == 0:
            self._check_end()
            self._close_batch()
        return 0

    cdef inline int64_t _time(self, Parsed *record) noexcept:
        if self._timestamp_type:
            return self._append_time
        return <int64_t>(<uint64_t>self._base_timestamp + <uint64_t>record.timestamp_delta)

    cdef Py_ssize_t _read_records(self, list records, Py_ssize_t room, Py_ssize_t bytes_left) except -1:
        cdef Parsed parsed
        cdef Record record
        cdef Py_ssize_t taken = 0
        cdef const uint8_t *stop = self._p + min(bytes_left, self._end - self._p)
        while taken < room and self._is_open:
            if self._next(&parsed):
                record = Record.__new__(Record)
                record.topic = self.topic
                record.partition = self.partition
                record.offset = self._base_offset + parsed.offset_delta
                record.timestamp = self._time(&parsed)
                record._timestamp_type = self._timestamp_type
                record.leader_epoch = self._leader_epoch
                record.key = span_object(parsed.key)
                record.value = span_object(parsed.value)
                if parsed.header_count:
                    record.headers = headers_object(parsed.headers, parsed.end, parsed.header_count)
                else:
                    record.headers = ()
                records.append(record)
                self.next_offset = record.offset + 1
                taken += 1
            self._move(&parsed)
            if self._p >= stop:
                break
        return taken

    cdef int _record_columns(self, ColumnsOut out, Py_ssize_t max_rows) except -1:
        cdef Parsed parsed
        out.reserve(min(<Py_ssize_t>self._left, max_rows - out.rows))
        while out.rows < max_rows and self._is_open:
            if self._next(&parsed):
                if not out.has_room(parsed.key, parsed.value, parsed.end - parsed.headers):
                    return 0
                out.put(
                    parsed.key, parsed.value, self._base_offset + parsed.offset_delta,
                    self._time(&parsed), self._timestamp_type,
                )
                if out.with_headers:
                    out.put_headers(parsed.headers, parsed.end, parsed.header_count)
                self.next_offset = self._base_offset + parsed.offset_delta + 1
            self._move(&parsed)
        return 0

    cdef Py_ssize_t _read_messages(self, list records, Py_ssize_t room) except -1:
        cdef Py_ssize_t taken = 0
        while taken < room and self._is_open:
            message = self._messages.pop()
            records.append(Record(
                self.topic, self.partition, message.offset, message.timestamp, message.key,
                message.value, (), message.timestamp_type,
            ))
            self.next_offset = message.offset + 1
            taken += 1
            if not self._messages:
                self._close_batch()
        return taken

    cdef int _message_columns(self, ColumnsOut out, Py_ssize_t max_rows) except -1:
        cdef Span key = NULL_SPAN, value = NULL_SPAN
        cdef Py_buffer view     # the parts of a message are bytes: nothing to hold
        while out.rows < max_rows and self._is_open:
            message = self._messages[-1]
            borrow(message.key, &key, &view, "key")
            borrow(message.value, &value, &view, "value")
            if not out.has_room(key, value, 0):
                return 0
            out.reserve(1)
            out.put(key, value, message.offset, message.timestamp, message.timestamp_type)
            if out.with_headers:
                out.put_headers(NULL, NULL, 0)
            self.next_offset = message.offset + 1
            self._messages.pop()
            if not self._messages:
                self._close_batch()
        return 0
