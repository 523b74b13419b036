/* Pairs by their places in a shuffle, as they are: scatter in _shuffle.py. */
#include "module.h"

#include <assert.h>

/* The key of an element, borrowed from it or from *out_held, which the caller releases: the pair
 * that an element of another type becomes. */
static PyObject *key_of(PyObject *item, PyObject *unpack, PyObject **out_held)
{
    *out_held = NULL;
    if (Py_IS_TYPE(item, &PyTuple_Type) && PyTuple_Size(item) == 2) return PyTuple_GetItem(item, 0);
    *out_held = PyObject_CallFunctionObjArgs(unpack, item, NULL);
    return *out_held == NULL ? NULL : PyTuple_GetItem(*out_held, 0);
}

/* A new int: by the hash if there are `partitions`, else by the function. */
static PyObject *place_of_key(PyObject *key, PyObject *place, uint32_t partitions, uint32_t buckets)
{
    if (partitions > 0) {
        int64_t hash = 0;
        enum encoded done = hash_portable(key, &hash);
        if (done == ENCODED_FAILED) return NULL;
        if (done == ENCODED_SAME) return PyLong_FromLongLong(hash_place(hash, partitions, buckets));
    }
    return PyObject_CallFunctionObjArgs(place, key, NULL);
}

static bool add_to_block(PyObject *blocks, PyObject *at, PyObject *item)
{
    PyObject *block = PyDict_GetItemWithError(blocks, at);
    if (block != NULL) return PyList_Append(block, item) == 0;
    if (PyErr_Occurred()) return false;
    block = PyList_New(0);
    bool done =
        block != NULL && PyList_Append(block, item) == 0 && PyDict_SetItem(blocks, at, block) == 0;
    Py_XDECREF(block);
    return done;
}

static bool scatter_item(PyObject *item, PyObject *place, uint32_t partitions, uint32_t buckets,
                         PyObject *unpack, PyObject *blocks)
{
    PyObject *held, *key = key_of(item, unpack, &held);
    PyObject *at = key == NULL ? NULL : place_of_key(key, place, partitions, buckets);
    bool done = at != NULL && add_to_block(blocks, at, held == NULL ? item : held);
    Py_XDECREF(at);
    Py_XDECREF(held);
    return done;
}

/* scatter(pairs, place, partitions, buckets, unpack, blocks, count): adds so many pairs to the
 * lists of a dict by place. False: at the end of the pairs. */
static PyObject *scatter(PyObject *module, PyObject *arguments)
{
    PyObject *pairs, *place, *unpack, *blocks;
    unsigned int partitions, buckets;
    Py_ssize_t count;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOIIOO!n", &pairs, &place, &partitions, &buckets, &unpack,
                          &PyDict_Type, &blocks, &count))
        return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyIter_Next(pairs);
        if (item == NULL) {
            if (PyErr_Occurred()) return NULL;
            return new_reference(Py_False);
        }
        bool done = scatter_item(item, place, partitions, buckets, unpack, blocks);
        assert(done || PyErr_Occurred());
        Py_DECREF(item);
        if (!done) return NULL;
    }
    return new_reference(Py_True);
}

PyMethodDef scatter_methods[] = {
    {"scatter", scatter, METH_VARARGS,
     "scatter(pairs, place, partitions, buckets, unpack, blocks, count) -> more"},
    {0}};
