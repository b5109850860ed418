# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=False
"""Decoders of messages, compiled: the layout of a version becomes a plan, and a plan is walked. Pure.

`_reader_py` does the same in plain Python; both accept the same bytes and make equal messages of
them. Every read is checked against the end of the buffer, and a tagged field must end where its size
says. A count is checked against the bytes at hand, and against the memory that is left (`memory`),
before its list is made. Errors do not say the place: that is the work of `trace`.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_Size
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.object cimport PyObject_SetAttr, PyTypeObject
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_DecodeUTF8, PyUnicode_GET_LENGTH
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from sys import intern

from kafka_aio.protocol import memory, primitives
from kafka_aio.protocol.memory import Oversized
from kafka_aio.protocol.primitives import Malformed
from kafka_aio.protocol.schema import Array, Scalar, Struct

cdef extern from "Python.h":
    object PyType_GenericAlloc(PyTypeObject *cls, Py_ssize_t items)

FAILURES = (Malformed, Oversized, UnicodeDecodeError)

cdef Py_ssize_t _MAX_ELEMENTS = primitives.MAX_ELEMENTS
cdef Py_ssize_t _MAX_TAGS = primitives.MAX_TAGS
cdef Py_ssize_t _FIRST_ROOM = primitives.FIRST_ROOM
cdef Py_ssize_t _SMALL = primitives.SMALL

cdef Py_ssize_t _PROPORTION = memory.PROPORTION
cdef Py_ssize_t _ALLOWANCE = memory.ALLOWANCE
cdef Py_ssize_t _REMEMBERED = memory.REMEMBERED
cdef Py_ssize_t _LIST = memory.LIST
cdef Py_ssize_t _ITEM = memory.ITEM
cdef Py_ssize_t _TEXT = memory.TEXT
cdef Py_ssize_t _WIDE_TEXT = memory.WIDE_TEXT
cdef Py_ssize_t _BYTES = memory.BYTES
cdef Py_ssize_t _VIEW = memory.VIEW
cdef Py_ssize_t _TAGS = memory.TAGS
cdef Py_ssize_t _TAG = memory.TAG
cdef Py_ssize_t _NUMBER = memory.NUMBER

cdef str _UNKNOWN_TAGS = "_unknown_tags"

cdef enum Kind:
    BOOL
    INT8
    INT16
    INT32
    INT64
    UINT16
    UINT32
    FLOAT64
    UUID
    STRING
    BYTES
    RECORDS
    STRUCT
    ARRAY

_KINDS = {
    "bool": BOOL, "int8": INT8, "int16": INT16, "int32": INT32, "int64": INT64, "uint16": UINT16,
    "uint32": UINT32, "float64": FLOAT64, "uuid": UUID, "string": STRING, "bytes": BYTES,
    "records": RECORDS,
}


cdef class _Part:
    """One field: what it is, and where it goes."""

    cdef str name
    cdef Kind kind
    cdef Kind item
    cdef Py_ssize_t item_min_size
    cdef Py_ssize_t own
    cdef bint nullable
    cdef bint compact
    cdef Py_ssize_t tag
    cdef _Plan struct

    def __cinit__(self, part):
        inner = part.type.item if isinstance(part.type, Array) else part.type
        self.name = intern(part.name)
        self.item = STRUCT if isinstance(inner, Struct) else _KINDS[inner.name]
        self.kind = ARRAY if isinstance(part.type, Array) else self.item
        self.item_min_size = part.item_min_size if isinstance(part.type, Array) else 0
        self.own = memory.own_of(inner) if isinstance(inner, Scalar) else 0
        self.nullable = part.nullable
        self.compact = part.compact
        self.tag = -1 if part.tag is None else part.tag
        self.struct = None if part.struct is None else _Plan(part.struct)


cdef class _Plan:
    """A struct: its fields in order, and the values of those that the version lacks."""

    cdef object cls
    cdef Py_ssize_t fixed
    cdef bint flexible
    cdef list fields
    cdef list tagged
    cdef list unread

    def __cinit__(self, layout):
        self.cls = layout.cls
        self.fixed = memory.fixed_of(layout)
        self.flexible = layout.flexible
        self.fields = [_Part(part) for part in layout.fields]
        self.tagged = [_Part(part) for part in layout.tagged]
        self.unread = [(intern(part.name), part.empty) for part in layout.absent + layout.tagged]


cdef class _Cursor:
    """The buffer, how far it was read, what may still be made of it, and what can be shared."""

    cdef Py_buffer buffer
    cdef bint has_buffer
    cdef const uint8_t *data
    cdef Py_ssize_t position
    cdef Py_ssize_t end
    cdef Py_ssize_t left
    cdef dict values
    cdef dict lists
    cdef list empty
    cdef object view
    cdef object no_records

    def __cinit__(self, source, Py_ssize_t position, limit):
        PyObject_GetBuffer(source, &self.buffer, PyBUF_SIMPLE)
        self.has_buffer = True
        self.data = <const uint8_t *>self.buffer.buf
        self.end = self.buffer.len
        if not 0 <= position <= self.end:
            raise Malformed
        self.position = position
        if limit is None:
            self.left = _PROPORTION * (self.end - position) + _ALLOWANCE
        else:
            self.left = limit

    def __dealloc__(self):
        if self.has_buffer:
            PyBuffer_Release(&self.buffer)

    cdef const uint8_t *take(self, Py_ssize_t size) except NULL:
        """The next `size` bytes; `size` is not negative."""
        cdef const uint8_t *start = self.data + self.position
        if size > self.end - self.position:
            raise Malformed
        self.position += size
        return start

    cdef Py_ssize_t uvarint(self) except -1:
        cdef uint64_t value = 0
        cdef int shift = 0
        cdef uint8_t byte
        while shift < 35:
            byte = self.take(1)[0]
            value |= <uint64_t>(byte & 0x7F) << shift
            if byte < 0x80:
                if value > 0x7FFFFFFF:
                    raise Malformed
                return <Py_ssize_t>value
            shift += 7
        raise Malformed

    cdef Py_ssize_t length(self, bint compact, bint nullable, int size) except -2:
        """A length or count, -1 for null."""
        cdef Py_ssize_t value
        if compact:
            value = self.uvarint() - 1
        elif size == 2:
            value = <int16_t>_big16(self.take(2))
        else:
            value = <int32_t>_big32(self.take(4))
        if value < -1 or (value == -1 and not nullable):
            raise Malformed
        return value

    cdef int charge(self, Py_ssize_t size) except -1:
        """Count what is about to be made."""
        self.left -= size
        if self.left < 0:
            raise Oversized

    cdef object share(self, object value, Py_ssize_t size):
        """`value`, or the equal one that was read before."""
        if self.values is None:
            self.values = {}
        found = self.values.setdefault(value, value)
        if found is value:
            self.charge(size)
            if PyDict_Size(self.values) == _REMEMBERED:
                self.values.clear()
        return found

    cdef object number(self, int64_t value):
        if -6 < value < 257:
            return value
        return self.share(value, _NUMBER)

    cdef list nothing(self):
        """The empty array."""
        if self.empty is None:
            self.empty = []
        return self.empty

    cdef object records(self, Py_ssize_t start, Py_ssize_t stop):
        """A view of the buffer."""
        if self.view is None:
            self.view = memoryview(<object>self.buffer.obj)
            self.no_records = self.view[:0]
        if start == stop:
            return self.no_records
        self.charge(_VIEW)
        return self.view[start:stop]


cdef inline uint16_t _big16(const uint8_t *at) noexcept:
    return <uint16_t>(at[0] << 8 | at[1])


cdef inline uint32_t _big32(const uint8_t *at) noexcept:
    return <uint32_t>at[0] << 24 | <uint32_t>at[1] << 16 | <uint32_t>at[2] << 8 | at[3]


cdef inline uint64_t _big64(const uint8_t *at) noexcept:
    return <uint64_t>_big32(at) << 32 | _big32(at + 4)


cdef object _scalar(_Cursor cursor, Kind kind):
    cdef double number
    cdef uint64_t bits
    if kind == INT32:
        return cursor.number(<int32_t>_big32(cursor.take(4)))
    if kind == INT16:
        return cursor.number(<int16_t>_big16(cursor.take(2)))
    if kind == INT64:
        return <int64_t>_big64(cursor.take(8))
    if kind == INT8:
        return cursor.number(<int8_t>cursor.take(1)[0])
    if kind == BOOL:
        return cursor.take(1)[0] != 0
    if kind == UUID:
        return PyBytes_FromStringAndSize(<const char *>cursor.take(16), 16)
    if kind == UINT16:
        return cursor.number(_big16(cursor.take(2)))
    if kind == UINT32:
        return cursor.number(_big32(cursor.take(4)))
    bits = _big64(cursor.take(8))
    memcpy(&number, &bits, 8)
    return number


cdef object _sized(_Cursor cursor, Kind kind, bint compact, bint nullable):
    cdef Py_ssize_t start, length
    cdef Py_ssize_t size = cursor.length(compact, nullable, 2 if kind == STRING else 4)
    if size < 0:
        return None
    start = cursor.position
    cdef const uint8_t *at = cursor.take(size)
    if kind == STRING:
        text = PyUnicode_DecodeUTF8(<char *>at, size, NULL)
        if size < 2:
            return text  # Python has these once and for all
        length = PyUnicode_GET_LENGTH(text)
        return cursor.share(text, _TEXT + size if length == size else _WIDE_TEXT + 4 * length)
    if kind == BYTES:
        cursor.charge(_BYTES + size)
        return PyBytes_FromStringAndSize(<const char *>at, size)
    return cursor.records(start, cursor.position)


cdef list _array(_Cursor cursor, _Part part):
    cdef Py_ssize_t count = cursor.length(part.compact, part.nullable, 4)
    if count < 0:
        return None
    if count == 0:
        return cursor.nothing()
    if count > _MAX_ELEMENTS or count * part.item_min_size > cursor.end - cursor.position:
        raise Malformed
    if part.item == INT32 and count < _SMALL:
        return _numbers(cursor, count)
    return _items(cursor, part, count)


cdef list _numbers(_Cursor cursor, Py_ssize_t count):
    """A short array, or the equal one that was read before."""
    key = PyBytes_FromStringAndSize(<const char *>cursor.data + cursor.position, 4 * count)
    if cursor.lists is None:
        cursor.lists = {}
    cdef list items = cursor.lists.get(key)
    if items is not None:
        cursor.position += 4 * count
        return items
    cursor.charge(_LIST + _ITEM * count)
    items = [_scalar(cursor, INT32) for _ in range(count)]
    if PyDict_Size(cursor.lists) == _REMEMBERED:
        cursor.lists.clear()
    cursor.lists[key] = items
    return items


cdef list _items(_Cursor cursor, _Part part, Py_ssize_t count):
    cdef Py_ssize_t index
    cdef Py_ssize_t own = part.own if part.struct is None else part.struct.fixed
    cursor.charge(_LIST + (_ITEM + own) * count)
    cdef list items = PyList_New(min(count, _FIRST_ROOM))
    for index in range(count):
        if part.item == STRUCT:
            item = _struct(cursor, part.struct)
        elif part.item >= STRING:
            item = _sized(cursor, part.item, part.compact, False)
        else:
            item = _scalar(cursor, part.item)
        if index < _FIRST_ROOM:
            Py_INCREF(item)
            PyList_SET_ITEM(items, index, item)
        else:
            items.append(item)
    return items


cdef object _value(_Cursor cursor, _Part part):
    if part.kind < STRING:
        return _scalar(cursor, part.kind)
    if part.kind == ARRAY:
        return _array(cursor, part)
    if part.kind < STRUCT:
        return _sized(cursor, part.kind, part.compact, part.nullable)
    if part.nullable and <int8_t>cursor.take(1)[0] < 0:
        return None
    cursor.charge(part.struct.fixed)
    return _struct(cursor, part.struct)


cdef object _struct(_Cursor cursor, _Plan plan):
    """Who calls it has counted what the struct takes."""
    cdef _Part part
    cdef tuple pair
    message = PyType_GenericAlloc(<PyTypeObject *>plan.cls, 0)
    for pair in plan.unread:
        value = pair[1]
        PyObject_SetAttr(message, pair[0], cursor.nothing() if type(value) is list else value)
    for part in plan.fields:
        PyObject_SetAttr(message, part.name, _value(cursor, part))
    unknown = _tagged(cursor, plan, message) if plan.flexible else None
    PyObject_SetAttr(message, _UNKNOWN_TAGS, unknown)
    return message


cdef object _tagged(_Cursor cursor, _Plan plan, object message):
    """Set the tagged fields that are there; return the unknown ones."""
    cdef Py_ssize_t count = cursor.uvarint()
    cdef Py_ssize_t last = -1, tag, size, stop
    cdef _Part part
    if count == 0:
        return None
    if count > _MAX_TAGS:
        raise Malformed
    unknown = {}
    for _ in range(count):
        tag = cursor.uvarint()
        size = cursor.uvarint()
        if tag <= last or size > cursor.end - cursor.position:
            raise Malformed
        last = tag
        stop = cursor.position + size
        for part in plan.tagged:
            if part.tag == tag:
                if part.kind < STRING:
                    cursor.charge(part.own)
                PyObject_SetAttr(message, part.name, _value(cursor, part))
                break
        else:
            cursor.charge(_TAG + _BYTES + size if unknown else _TAGS + _TAG + _BYTES + size)
            unknown[tag] = PyBytes_FromStringAndSize(<const char *>cursor.take(size), size)
        if cursor.position != stop:
            raise Malformed
    return unknown or None


cdef class _Reader:
    """Reads one message in one version."""

    cdef _Plan plan

    def __cinit__(self, layout):
        self.plan = _Plan(layout)

    def __call__(self, buffer, Py_ssize_t position, limit=None, /):
        cdef _Cursor cursor = _Cursor(buffer, position, limit)
        cursor.charge(self.plan.fixed)
        message = _struct(cursor, self.plan)
        return message, cursor.position


def compile_reader(layout):
    """The decoder of a message in one version."""
    return _Reader(layout)
