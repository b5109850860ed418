# cython: language_level=3, cdivision=True, binding=False, auto_pickle=False, embedsignature=True, embedsignature.format=clinic
"""What happens for each record, compiled: it is appended to an open batch, and awaited. Pure.

    OpenTopic.append  ->  the partition of the key, its OpenBatch, the codec's `add`  ->  Delivery

A `Delivery` is an `Outcome` and an index: one outcome serves all records of its batch, and holds no
bytes of theirs. Errors and `RecordMetadata` are made when a delivery is awaited. What a pending one
waits on, and how callbacks run, is up to an object that the façade brings along: no asyncio in here.

`_delivery_py` does the same in plain Python.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.number cimport PyNumber_Index
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from kafka_aio.records._codec cimport BatchBuilder, Span

from kafka_aio.errors import StateError, fresh
from kafka_aio.types import RecordMetadata, TimestampType

cdef extern from "_await.h":
    ctypedef enum PySendResult:
        PYGEN_RETURN
        PYGEN_ERROR
        PYGEN_NEXT
    ctypedef PyObject *(*Next)(PyObject *) except? NULL
    ctypedef PySendResult (*Send)(PyObject *, PyObject *, PyObject **) except PYGEN_ERROR
    int kaio_never_waits(PyTypeObject *, Next, Send) except -1
    PyObject *kaio_stop(object value) except? NULL
    tuple kaio_tuple(type kind, object, object, object, object, object)

cdef extern from "Python.h":
    int PyContext_Enter(object) except -1
    int PyContext_Exit(object) except -1
    unsigned long PyThread_get_thread_ident() nogil

cdef extern from "_murmur2.h" nogil:
    uint32_t kaio_murmur2(const uint8_t *, size_t)

cdef uint8_t _ZERO = 0
cdef Span NULL_SPAN = Span(NULL, -1)
cdef Span NO_HEADERS = Span(&_ZERO, 1)
cdef type _METADATA = RecordMetadata
cdef object _CREATE_TIME = TimestampType.CREATE_TIME
cdef object _LOG_APPEND_TIME = TimestampType.LOG_APPEND_TIME

cdef enum State:
    PENDING
    DELIVERED
    FAILED
    DIVIDED


# -- the end of a batch

@cython.final
cdef class Outcome:
    """How the records of one batch end: pending, delivered, failed, or divided among others."""

    cdef readonly str topic
    cdef readonly int32_t partition
    cdef public int32_t count       # of records; those who settle it say so
    cdef set _seen                  # the indices of failures that somebody was told of
    cdef readonly int64_t base_offset
    cdef readonly int64_t log_append_time
    cdef readonly object error
    cdef readonly list parts
    cdef State _state
    cdef dict _errors
    cdef object _loop
    cdef object _owner
    cdef list _waiters
    cdef int32_t _left              # of those who wait, that were cancelled
    cdef list _callbacks

    def __cinit__(self, str topic not None, int32_t partition, loop):
        self.topic = topic
        self.partition = partition
        self._loop = loop
        self._owner = loop.owner
        self.base_offset = -1
        self.log_append_time = -1

    def __repr__(self):
        state = ("pending", "delivered", "failed", "divided")[<int>self._state]
        return f"<Outcome of {self.count} records for {self.topic}-{self.partition}: {state}>"

    @property
    def is_pending(self):
        return self._state == PENDING

    @property
    def unseen(self):
        """Failures that nobody was told of yet."""
        if self._state == DIVIDED:
            return sum([part.unseen for _, part in self.parts])
        return max(self.count - self.seen, 0) if self._state == FAILED else 0

    @property
    def seen(self):
        """Failures that somebody was told of."""
        return 0 if self._seen is None else len(self._seen)

    def deliver(self, int64_t base_offset, int64_t log_append_time=-1):
        """The broker has them, from that offset on; -1 where it is not known."""
        self._check()
        self.base_offset = base_offset
        self.log_append_time = log_append_time
        self._end(DELIVERED)

    def fail(self, error not None, dict errors=None):
        """None of them counts as delivered; `errors` has those of single records, by index."""
        self._check()
        self.error = error
        self._errors = errors
        self._end(FAILED)

    def divide(self, list parts not None):
        """Others say how they end: each from the index of its first record on."""
        self._check()
        self.parts = parts
        self._end(DIVIDED)

    def delivery(self, int32_t index, int64_t timestamp=-1):
        """That of one record, for those who were appended together."""
        cdef Delivery delivery = Delivery.__new__(Delivery)
        delivery._outcome = self
        delivery._index = index
        delivery._timestamp = timestamp
        return delivery

    def error_of(self, int32_t index):
        """A fresh error for one record."""
        return fresh(self.error if self._errors is None else self._errors.get(index, self.error))

    def saw(self, int32_t first, int32_t count):
        """Somebody was told of so many failures, from that index on."""
        if self._seen is None:
            self._seen = set()
        self._seen.update(range(first, first + count))

    def waiter(self):
        """To be awaited: until all of them are settled, or the batch is divided."""
        return _waiter(self, None)

    cdef int await_by(self, Waiter waiter) except -1:
        """Wake it when they are settled."""
        if self._waiters is None:
            self._waiters = []
        self._waiters.append(waiter)
        return 0

    cdef int leave(self) except -1:
        """One of those who wait was cancelled. They are sorted out when they are the most."""
        self._left += 1
        if self._left > 32 and 2 * self._left > len(self._waiters):
            self._waiters = [each for each in self._waiters if (<Waiter>each)._wakeup is not None]
            self._left = 0
        return 0

    cdef int when_done(self, callback, Delivery delivery) except -1:
        if self._state != PENDING:
            self._loop.call_soon(callback, delivery)
        elif self._callbacks is None:
            self._callbacks = [(callback, delivery)]
        else:
            self._callbacks.append((callback, delivery))
        return 0

    cdef int _check(self) except -1:
        if self._state != PENDING:
            raise StateError(f"{self!r} is settled already")
        return 0

    cdef int _end(self, State state) except -1:
        """Wake who waits, and have the callbacks called; where it is divided, by its parts."""
        waiters, callbacks = self._waiters, self._callbacks
        self._state = state
        self._waiters = self._callbacks = None
        if callbacks is not None:       # first: who waits may close the producer then
            for callback, delivery in callbacks:
                (<Delivery>delivery).add_done_callback(callback)
        if waiters is not None and state == DIVIDED:
            waiters = _moved_on(waiters)
        if waiters is not None and self._owner.get_debug():
            for waiter in waiters:      # so that it names the task whose step takes long
                self._owner.call_soon(_wake, [waiter], self._owner)
        elif waiters:
            self._owner.call_soon(_wake, waiters, self._owner)
        return 0


# -- one record

@cython.final
@cython.no_gc               # its outcome is tracked, and drops who waits when it is settled
@cython.freelist(1024)
cdef class Delivery:
    """A record's pending acknowledgement: awaited, it gives the record's place in the log."""

    cdef Outcome _outcome
    cdef int32_t _index
    cdef int64_t _timestamp

    def __repr__(self):
        self._follow()
        state = "pending" if self._outcome._state == PENDING else "done"
        return f"<Delivery to {self._outcome.topic}-{self._outcome.partition}: {state}>"

    @property
    def outcome(self):
        """How its batch ends; for those who keep many of them."""
        self._follow()
        return self._outcome

    @property
    def index(self):
        """Its index in that."""
        self._follow()
        return self._index

    @property
    def timestamp(self):
        """That of the record, in milliseconds since 1970."""
        return self._timestamp

    @property
    def topic(self):
        return self._outcome.topic

    @property
    def partition(self):
        return self._outcome.partition

    def done(self):
        """Whether it is known how it ended."""
        self._follow()
        return self._outcome._state != PENDING

    def result(self):
        """The record's place, if it is known how it ended."""
        self._follow()
        if self._outcome._state == PENDING:
            raise StateError(f"{self!r}: its result is not there yet: await it")
        return self._result()

    def peek(self):
        """Where it is and why not, one of them None: looked at by none who would be missed."""
        self._follow()
        if self._outcome._state == FAILED:
            return None, self._outcome.error_of(self._index)
        return self.result(), None

    def add_done_callback(self, callback):
        """Call `callback(delivery)` on the loop when it is done; soon, if it is."""
        self._follow()
        self._outcome.when_done(callback, self)

    def __await__(self):
        self._follow()
        if self._outcome._state != PENDING:
            return self
        return _waiter(self._outcome, self)

    cdef inline int _follow(self) except -1:
        """To the outcome that decides: where a batch was divided, that of its part."""
        if self._outcome._state == DIVIDED:
            self._follow_parts()
        return 0

    cdef int _follow_parts(self) except -1:
        cdef Outcome outcome
        while self._outcome._state == DIVIDED:
            first, outcome = next(part for part in reversed(self._outcome.parts) if part[0] <= self._index)
            self._outcome = outcome
            self._index -= first
        return 0

    cdef object _result(self):
        cdef Outcome outcome = self._outcome
        if outcome._state == FAILED:
            outcome.saw(self._index, 1)
            raise outcome.error_of(self._index)
        offset = outcome.base_offset + self._index if outcome.base_offset >= 0 else -1
        if outcome.log_append_time >= 0:
            return kaio_tuple(
                _METADATA, outcome.topic, outcome.partition, offset, outcome.log_append_time,
                _LOG_APPEND_TIME,
            )
        return kaio_tuple(
            _METADATA, outcome.topic, outcome.partition, offset, self._timestamp, _CREATE_TIME
        )


@cython.final
@cython.no_gc
@cython.freelist(8)
cdef class Accepted:
    """What `submit` returns where there is nothing to wait for: awaited, it gives the delivery.

    It has what `asyncio.create_task` asks of a coroutine.
    """

    cdef readonly Delivery delivery

    def __await__(self):
        return self

    def send(self, value):
        raise StopIteration(self.delivery)

    def throw(self, kind, value=None, traceback=None):
        raise kind if value is None else value

    def close(self):
        pass


@cython.final
@cython.freelist(1024)
cdef class Waiter:
    """Who awaits a delivery, or an outcome as a whole: what its task takes for a future.

    One of asyncio's own for each record, and a call of the loop for each, cost as much again as all
    else that happens to the record: who waits for one batch is woken by one call.
    """

    cdef Outcome _outcome
    cdef Delivery _delivery         # None where the outcome is awaited
    cdef object _wakeup             # of the task, while it waits
    cdef object _context
    cdef object _cancelled          # what is raised then
    cdef public object _asyncio_future_blocking

    def __repr__(self):
        return f"<Waiter for {self._outcome!r}>"

    def __await__(self):
        return self

    # What the task calls.

    def get_loop(self):
        return self._outcome._owner

    def add_done_callback(self, wakeup, *, context=None):
        if self._wakeup is None:
            self._outcome.await_by(self)
        self._wakeup = wakeup
        self._context = context

    def result(self):
        if self._cancelled is not None:
            raise self._cancelled

    def cancel(self, msg=None):
        if self._wakeup is None or self._is_over():
            return False        # it is woken soon
        self._cancelled = self._outcome._loop.cancelled(*(() if msg is None else (msg,)))
        wakeup, context = self._wakeup, self._context
        self._wakeup = self._context = None
        self._outcome.leave()
        self._outcome._owner.call_soon(wakeup, self, context=context)
        return True

    cdef bint _is_over(self):
        """Whether what is awaited is known; where a batch was divided, by its part."""
        if self._delivery is not None:
            self._delivery._follow()
            self._outcome = self._delivery._outcome
        return self._outcome._state != PENDING

    cdef object _end(self):
        return None if self._delivery is None else self._delivery._result()

    cdef int wake(self) except -1:
        """Let its task go on."""
        wakeup, context = self._wakeup, self._context
        if wakeup is None:
            return 0            # it was cancelled
        self._wakeup = self._context = None
        if context is None:
            wakeup(self)
            return 0
        PyContext_Enter(context)
        try:
            wakeup(self)
        finally:
            PyContext_Exit(context)
        return 0


cdef Waiter _waiter(Outcome outcome, Delivery delivery):
    cdef Waiter waiter = Waiter.__new__(Waiter)
    waiter._outcome = outcome
    waiter._delivery = delivery
    waiter._asyncio_future_blocking = False
    return waiter


cdef list _moved_on(list waiters):
    """Their batch was divided: those of a record wait for its part, and the others are returned."""
    cdef Waiter waiter
    cdef list others = []
    for waiter in waiters:
        if waiter._wakeup is None:
            continue
        if waiter._is_over():
            others.append(waiter)
        else:
            waiter._outcome.await_by(waiter)
    return others


def _wake(list waiters not None, owner):
    """Let those go on who have waited, in their order."""
    cdef Py_ssize_t at
    for at in range(len(waiters)):
        try:
            (<Waiter>waiters[at]).wake()
        except BaseException:       # what ends the program: the others are called all the same
            owner.call_soon(_wake, waiters[at + 1:], owner)
            raise


cdef PyObject *delivery_next(PyObject *self) except? NULL:
    return kaio_stop((<Delivery>self)._result())


cdef PySendResult delivery_send(PyObject *self, PyObject *sent, PyObject **result) except PYGEN_ERROR:
    metadata = (<Delivery>self)._result()
    Py_INCREF(metadata)
    result[0] = <PyObject *>metadata
    return PYGEN_RETURN


cdef PyObject *accepted_next(PyObject *self) except? NULL:
    return kaio_stop((<Accepted>self).delivery)


cdef PySendResult accepted_send(PyObject *self, PyObject *sent, PyObject **result) except PYGEN_ERROR:
    delivery = (<Accepted>self).delivery
    Py_INCREF(delivery)
    result[0] = <PyObject *>delivery
    return PYGEN_RETURN


cdef PyObject *waiter_next(PyObject *self) except? NULL:
    if not (<Waiter>self)._is_over():
        (<Waiter>self)._asyncio_future_blocking = True
        Py_INCREF(<Waiter>self)
        return self
    return kaio_stop((<Waiter>self)._end())


cdef PySendResult waiter_send(PyObject *self, PyObject *sent, PyObject **result) except PYGEN_ERROR:
    if not (<Waiter>self)._is_over():
        (<Waiter>self)._asyncio_future_blocking = True
        Py_INCREF(<Waiter>self)
        result[0] = self
        return PYGEN_NEXT
    end = (<Waiter>self)._end()
    Py_INCREF(end)
    result[0] = <PyObject *>end
    return PYGEN_RETURN


kaio_never_waits(<PyTypeObject *>Delivery, delivery_next, delivery_send)
kaio_never_waits(<PyTypeObject *>Accepted, accepted_next, accepted_send)
kaio_never_waits(<PyTypeObject *>Waiter, waiter_next, waiter_send)


# -- open batches

@cython.final
cdef class OpenBatch:
    """A batch that records are appended to, and how they will end."""

    cdef readonly BatchBuilder builder
    cdef readonly Outcome outcome

    def __cinit__(self, BatchBuilder builder not None, Outcome outcome not None):
        self.builder = builder
        self.outcome = outcome

    def append(self, key, value, int64_t timestamp, headers=None):
        """Write one record. None where the batch has no room for it."""
        return self.add(key, value, timestamp, headers)

    cdef Delivery add(self, key, value, int64_t timestamp, headers):
        cdef Delivery delivery
        cdef Span key_span = NULL_SPAN, value_span = NULL_SPAN
        cdef int32_t index = self.builder.count
        cdef bint is_plain = not headers
        if key is not None:
            if PyBytes_CheckExact(key):
                key_span = Span(<const uint8_t *>PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key))
            else:
                is_plain = False
        if value is not None:
            if PyBytes_CheckExact(value):
                value_span = Span(<const uint8_t *>PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
            else:
                is_plain = False
        if is_plain:
            if not self.builder.add(key_span, value_span, NO_HEADERS, timestamp):
                return None
        elif not self.builder.append(key, value, timestamp, headers):
            return None
        delivery = Delivery.__new__(Delivery)
        delivery._outcome = self.outcome
        delivery._index = index
        delivery._timestamp = timestamp
        return delivery


@cython.final
cdef class OpenTopic:
    """The open batches of one topic: that of records without a key, and one for each partition."""

    cdef public OpenBatch unkeyed       # None where none is open
    cdef public bint ignores_keys
    cdef unsigned long _thread          # whose loop it is
    cdef list _by_partition

    def __cinit__(self, int32_t partitions, bint ignores_keys=False):
        if partitions < 1:
            raise ValueError(f"a topic has partitions, not {partitions}")  # keys are divided by it
        self.ignores_keys = ignores_keys
        self._thread = PyThread_get_thread_ident()
        self._by_partition = [None] * partitions

    @property
    def partitions(self):
        """How many there are."""
        return len(self._by_partition)

    def resize(self, int32_t partitions):
        """The topic has so many partitions now: keys are spread over all of them."""
        if partitions < 1:
            raise ValueError(f"a topic has 1 partition or more, not {partitions}")
        del self._by_partition[partitions:]     # it was made anew; what is open there is closed
        self._by_partition += [None] * (partitions - len(self._by_partition))

    def put(self, int32_t partition, OpenBatch batch):
        """The batch of a partition is open; or none is, any more."""
        if batch is None and self.unkeyed is self._by_partition[partition]:
            self.unkeyed = None
        self._by_partition[partition] = batch

    def get(self, partition):
        """The open batch of a partition, or with None that of records without a key; or None."""
        return self.unkeyed if partition is None else self._by_partition[partition]

    def partition_of(self, key not None):
        """The partition of a key, as Java's client has it: any bytes."""
        cdef const uint8_t[::1] view = key
        cdef const uint8_t *data = &view[0] if view.shape[0] else &_ZERO
        return (kaio_murmur2(data, view.shape[0]) & 0x7fffffff) % <uint32_t>len(self._by_partition)

    def append(self, key, value, timestamp, double now, headers=None, partition=None):
        """Write one record into the open batch that is its own. None where there is none with room.

        `now` is the time in seconds since 1970, for a record that has no timestamp.
        """
        return self.add(key, value, timestamp, now, headers, partition)

    def submit(self, key, value, timestamp, double now, headers=None, partition=None):
        """As `append`; the delivery is awaited for."""
        cdef Delivery delivery = self.add(key, value, timestamp, now, headers, partition)
        cdef Accepted accepted
        if delivery is None:
            return None
        accepted = Accepted.__new__(Accepted)
        accepted.delivery = delivery
        return accepted

    cdef Delivery add(self, key, value, timestamp, double now, headers, partition):
        try:
            return self._add(key, value, timestamp, now, headers, partition)
        except (BufferError, OverflowError) as error:
            raise ValueError(f"the record cannot be written: {error}") from error

    cdef Delivery _add(self, key, value, timestamp, double now, headers, partition):
        cdef OpenBatch batch
        cdef Py_ssize_t number
        if PyThread_get_thread_ident() != self._thread:
            return None         # it is refused, and does not write into our batch
        if headers is not None and not isinstance(headers, (tuple, list, dict)):
            return None         # perhaps it can be read only once, and the batch may be full
        if partition is not None:
            number = partition
            if not 0 <= number < len(self._by_partition):
                return None
            batch = self._by_partition[number]
        elif key is None or self.ignores_keys:
            batch = self.unkeyed
        elif PyBytes_CheckExact(key):
            number = (
                kaio_murmur2(<const uint8_t *>PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key))
                & 0x7fffffff
            ) % <uint32_t>len(self._by_partition)
            batch = self._by_partition[number]
        else:
            return None
        if batch is None or (headers and type(headers) not in (tuple, list, dict)):
            return None     # what can be read once only must not be read before there is room
        if timestamp is None:
            return batch.add(key, value, <int64_t>(now * 1000), headers)
        return batch.add(key, value, PyNumber_Index(timestamp), headers)
