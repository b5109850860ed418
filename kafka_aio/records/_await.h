/* Types whose `await` gives a value without waiting. The interpreter asks `am_send` up to 3.11 and
 * `tp_iternext` from 3.12 on; Cython can write neither so that no traceback is made for each value. */
#ifndef KAFKA_AIO_AWAIT_H
#define KAFKA_AIO_AWAIT_H

#include <Python.h>

typedef PyObject *(*kaio_next)(PyObject *);
typedef PySendResult (*kaio_send)(PyObject *, PyObject *, PyObject **);

static inline int kaio_gives_at_once(PyTypeObject *type, kaio_next next, kaio_send send) {
    type->tp_iter = PyObject_SelfIter; /* asyncio.gather and its like ask for it up to 3.11 */
    type->tp_iternext = next;
    type->tp_as_async->am_send = send;
    PyType_Modified(type);
    return 0;
}

/* The same for a type whose objects are made by its own module only. */
static inline int kaio_never_waits(PyTypeObject *type, kaio_next next, kaio_send send) {
    kaio_gives_at_once(type, next, send);
    type->tp_new = NULL; /* made here only: without what it needs, it would crash */
    type->tp_vectorcall = NULL; /* Cython's own way past tp_new */
    if (PyDict_DelItemString(type->tp_dict, "__new__") < 0) return -1;
    PyType_Modified(type);
    return 0;
}

/* Ends an iteration with a value; a tuple must not become the arguments of StopIteration. */
static inline PyObject *kaio_stop(PyObject *value) {
    PyObject *stop = PyObject_CallOneArg(PyExc_StopIteration, value);
    if (stop != NULL) {
        PyErr_SetObject(PyExc_StopIteration, stop);
        Py_DECREF(stop);
    }
    return NULL;
}

/* A named tuple of five, without the keywords and defaults of its own constructor. */
static inline PyObject *kaio_tuple(PyTypeObject *type, PyObject *a, PyObject *b, PyObject *c, PyObject *d,
                            PyObject *e) {
    PyObject *items[] = {a, b, c, d, e}, *made = type->tp_alloc(type, 5);
    if (made == NULL) return NULL;
    for (int at = 0; at < 5; at++) {
        Py_INCREF(items[at]);
        PyTuple_SET_ITEM(made, at, items[at]);
    }
    return made;
}

#endif
