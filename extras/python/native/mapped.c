/* The type Mapped: an iterator of what a function gives for the elements of another one, as the
 * generators in _functions.py. Like a generator it has ended after an exception, and a
 * StopIteration of the function is a RuntimeError. */
#include "module.h"

#include <assert.h>

enum kind { KIND_MAP, KIND_FLAT_MAP, KIND_FILTER, KINDS };

struct mapped {
    PyObject_HEAD enum kind kind;
    PyObject *function;
    PyObject *items; /* NULL: at the end */
    PyObject *inner; /* of flatMap: the iterator of the last result, or NULL */
};

static PyObject *mapped_new(PyTypeObject *type, PyObject *arguments, PyObject *names)
{
    int kind = 0;
    PyObject *function = NULL, *items = NULL;
    if (names != NULL && PyDict_Size(names) > 0) {
        PyErr_SetString(PyExc_TypeError, "Mapped has no parameters by name");
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "iOO", &kind, &function, &items)) return NULL;
    if (kind < 0 || kind >= KINDS) {
        PyErr_SetString(PyExc_ValueError, "Mapped has no such kind");
        return NULL;
    }
    PyObject *iterator = PyObject_GetIter(items);
    if (iterator == NULL) return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct mapped *self = (struct mapped *)allocate(type, 0);
    if (self == NULL) {
        Py_DECREF(iterator);
        return NULL;
    }
    Py_INCREF(function);
    self->kind = (enum kind)kind;
    self->function = function;
    self->items = iterator;
    return (PyObject *)self;
}

static void mapped_free(PyObject *object)
{
    struct mapped *self = (struct mapped *)object;
    PyTypeObject *type = Py_TYPE(object);
    Py_CLEAR(self->function);
    Py_CLEAR(self->items);
    Py_CLEAR(self->inner);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF((PyObject *)type);
}

/* The current exception, a StopIteration, becomes the cause of a RuntimeError (PEP 479). */
static void stop_iteration_is_an_error(void)
{
    PyObject *type, *value, *trace, *error_type, *error, *error_trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyErr_SetString(PyExc_RuntimeError, "generator raised StopIteration");
    PyErr_Fetch(&error_type, &error, &error_trace);
    PyErr_NormalizeException(&error_type, &error, &error_trace);
    if (value != NULL && trace != NULL) PyException_SetTraceback(value, trace);
    Py_XINCREF(value);
    PyException_SetCause(error, value);
    PyException_SetContext(error, value);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    PyErr_Restore(error_type, error, error_trace);
}

static PyObject *mapped_call(struct mapped *self, PyObject *item)
{
    PyObject *made = PyObject_CallFunctionObjArgs(self->function, item, NULL);
    if (made == NULL && PyErr_ExceptionMatches(PyExc_StopIteration)) stop_iteration_is_an_error();
    return made;
}

/* NULL: at the end, or an exception is set; then this was the last call. */
static PyObject *mapped_step(struct mapped *self)
{
    for (;;) {
        if (self->inner != NULL) {
            PyObject *item = PyIter_Next(self->inner);
            if (item != NULL || PyErr_Occurred()) return item;
            Py_CLEAR(self->inner);
        }
        PyObject *item = PyIter_Next(self->items);
        PyObject *made = item == NULL ? NULL : mapped_call(self, item);
        if (made == NULL || self->kind == KIND_MAP) {
            Py_XDECREF(item);
            return made;
        }
        if (self->kind == KIND_FLAT_MAP) {
            self->inner = PyObject_GetIter(made);
            Py_DECREF(item);
            Py_DECREF(made);
            if (self->inner == NULL) return NULL;
            continue;
        }
        int chosen = PyObject_IsTrue(made);
        Py_DECREF(made);
        if (chosen > 0) return item;
        Py_DECREF(item);
        if (chosen < 0) return NULL;
    }
}

static PyObject *mapped_next(PyObject *object)
{
    struct mapped *self = (struct mapped *)object;
    if (self->items == NULL) return NULL;
    PyObject *item = mapped_step(self);
    assert(item == NULL || !PyErr_Occurred());
    if (item == NULL) {
        PyObject *type, *value, *trace; /* the end of an iterator may run Python */
        PyErr_Fetch(&type, &value, &trace);
        Py_CLEAR(self->inner);
        Py_CLEAR(self->items);
        PyErr_Restore(type, value, trace);
    }
    return item;
}

static PyType_Slot slots[] = {{Py_tp_new, mapped_new},
                              {Py_tp_dealloc, mapped_free},
                              {Py_tp_iter, PyObject_SelfIter},
                              {Py_tp_iternext, mapped_next},
                              {0}};
PyType_Spec mapped_spec = {.name = "glint._native.Mapped",
                           .basicsize = sizeof(struct mapped),
                           .flags = Py_TPFLAGS_DEFAULT,
                           .slots = slots};
