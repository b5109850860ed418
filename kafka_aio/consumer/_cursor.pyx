# cython: language_level=3, binding=False, auto_pickle=False, embedsignature=True, embedsignature.format=clinic
"""The walk over decoded records, compiled: what `async for` does for each of them. Pure.

`__anext__` gives the cursor itself while records are at hand, and awaiting that gives the next one
without waiting. Otherwise it gives what `ask` returns: a coroutine that waits for more.

`_cursor_py` does the same in plain Python.
"""

cimport cython
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF

from kafka_aio.errors import StateError

cdef extern from "_await.h":
    ctypedef enum PySendResult:
        PYGEN_RETURN
        PYGEN_ERROR
        PYGEN_NEXT
    ctypedef PyObject *(*Next)(PyObject *) except? NULL
    ctypedef PySendResult (*Send)(PyObject *, PyObject *, PyObject **) except PYGEN_ERROR
    int kaio_gives_at_once(PyTypeObject *, Next, Send) except -1
    PyObject *kaio_stop(object value) except? NULL


@cython.final
cdef class Cursor:
    """Records that are decoded, and how many of them were handed over."""

    cdef list _records
    cdef Py_ssize_t _end            # those before it may be handed over without a look
    cdef object _ask
    cdef readonly Py_ssize_t taken  # of the records that were loaded last
    cdef readonly Py_ssize_t total  # of all

    def __init__(self, ask):
        self._ask = ask
        self._records = []

    def __repr__(self):
        return f"<Cursor: {self.taken} of {len(self._records)} records taken>"

    def __aiter__(self):
        return self

    def __anext__(self):
        return self if self.taken < self._end else self._ask()

    def __await__(self):
        return self if self.taken < self._end else self._ask().__await__()

    def send(self, value):
        raise StopIteration(self._next())

    def throw(self, kind, value=None, traceback=None):
        raise kind if value is None else value

    def close(self):
        pass

    @property
    def left(self):
        return len(self._records) - self.taken

    @property
    def is_open(self):
        """Whether the next one is handed over without a look."""
        return self.taken < self._end

    def load(self, list records not None):
        """These come next; those before are gone."""
        self._records = records
        self.taken = 0
        self._end = len(records)

    def interrupt(self):
        """Ask before the next one is handed over."""
        self._end = 0

    def resume(self):
        """Those that are left may be handed over."""
        self._end = len(self._records)

    def take(self, Py_ssize_t most):
        """The next ones, so many at most, whether there was an interruption or not.

        Nothing is kept of a list that is taken whole: it is the user's.
        """
        cdef Py_ssize_t begin = self.taken
        cdef list records = self._records
        cdef Py_ssize_t end = min(begin + max(most, 0), <Py_ssize_t>len(records))
        self.total += end - begin
        if begin == 0 and end == len(records):
            self.load([])
            return records
        self.taken = end
        return records[begin:end]

    def peek(self, Py_ssize_t back):
        """One that was handed over: the last is 1 back; None before the first of those loaded."""
        return self._records[self.taken - back] if 0 < back <= self.taken else None

    cdef object _next(self):
        if self.taken >= self._end:
            raise StateError("two tasks read from one consumer: let one of them do it")
        record = self._records[self.taken]
        self.taken += 1
        self.total += 1
        return record


cdef PyObject *cursor_next(PyObject *self) except? NULL:
    return kaio_stop((<Cursor>self)._next())


cdef PySendResult cursor_send(PyObject *self, PyObject *sent, PyObject **result) except PYGEN_ERROR:
    record = (<Cursor>self)._next()
    Py_INCREF(record)
    result[0] = <PyObject *>record
    return PYGEN_RETURN


kaio_gives_at_once(<PyTypeObject *>Cursor, cursor_next, cursor_send)
