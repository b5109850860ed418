# cython: language_level=3, binding=False, auto_pickle=False, embedsignature=True, embedsignature.format=clinic
"""The walk over decoded records, compiled: what `async for` does for each of them. Pure.

`__anext__` gives the cursor itself while records are at hand, and awaiting that gives the next one
without waiting. Otherwise it gives what `ask` returns: a coroutine that waits for more.

A task that is made of the cursor begins a turn later. If there was an interruption meanwhile, the
cursor does what the coroutine of `ask` does.

`_cursor_py` does the same in plain Python.
"""

cimport cython
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_DECREF, Py_INCREF

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
    PySendResult PyIter_Send(object, object, PyObject **) except PYGEN_ERROR


@cython.final
cdef class Cursor:
    """Records that are decoded, and how many of them were handed over."""

    cdef list _records
    cdef Py_ssize_t _end            # those before it may be handed over without a look
    cdef object _ask
    cdef object _late               # what `ask` gave to a task that was made before an interruption
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
        if self.taken < self._end:
            raise StopIteration(self._next())
        try:
            return self._later().send(value)
        except BaseException:
            self._late = None
            raise

    def throw(self, kind, value=None, traceback=None):
        if self._late is None:
            raise kind if value is None else value
        try:
            return self._late.throw(kind if value is None else value)
        except BaseException:
            self._late = None
            raise

    def close(self):
        if self._late is not None:
            late, self._late = self._late, None
            late.close()

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
        record = self._records[self.taken]
        self.taken += 1
        self.total += 1
        return record

    cdef object _later(self):
        if self._late is None:
            if self._end == len(self._records):
                raise StateError("two tasks read from one consumer: let one of them do it")
            self._late = self._ask()
        return self._late

    cdef PySendResult step(self, PyObject **result) except PYGEN_ERROR:
        cdef PySendResult how
        if self.taken < self._end:
            record = self._next()
            Py_INCREF(record)
            result[0] = <PyObject *>record
            return PYGEN_RETURN
        try:
            how = PyIter_Send(self._later(), None, result)
        except BaseException:
            self._late = None
            raise
        if how == PYGEN_RETURN:
            self._late = None
        return how


cdef PyObject *cursor_next(PyObject *self) except? NULL:
    cdef PyObject *result = NULL
    if (<Cursor>self).step(&result) == PYGEN_NEXT:
        return result
    value = <object>result
    Py_DECREF(value)
    return kaio_stop(value)


cdef PySendResult cursor_send(PyObject *self, PyObject *sent, PyObject **result) except PYGEN_ERROR:
    return (<Cursor>self).step(result)


kaio_gives_at_once(<PyTypeObject *>Cursor, cursor_next, cursor_send)
