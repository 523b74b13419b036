/* Plain pairs as packed blocks by their places in a shuffle: scatter_packed in _shuffle.py. */
#include "module.h"
#include "order.h"

#include <assert.h>

enum { PLACES_MAX = 1 << 20, PACKED_BYTES_MAX = 1 << 25 };

/* Of ranges: range i has keys up to bound i. ORDER_NONE: a function of Python finds the place. */
struct bounds {
    enum order_kind kind;
    struct bytes bytes; /* plain encodings */
    struct ordered *items;
    size_t count;
};

struct packer {
    PyObject *key;    /* None: the items are pairs */
    PyObject *unpack; /* makes a tuple of what is no pair */
    PyObject *place;
    bool ascending;
    struct bounds bounds;
    struct bytes pair;    /* that is encoded */
    struct bytes *blocks; /* by place */
    size_t places, size;  /* bytes of all blocks */
};

static void packer_clear(struct packer *packer)
{
    for (size_t i = 0; packer->blocks != NULL && i < packer->places; i++)
        PyMem_Free(packer->blocks[i].data);
    PyMem_Free(packer->blocks);
    PyMem_Free(packer->pair.data);
    PyMem_Free(packer->bounds.bytes.data);
    PyMem_Free(packer->bounds.items);
}

/* ---- Places */

static bool encode_bounds(struct bounds *bounds, PyObject *list, bool *out_plain)
{
    *out_plain = true;
    for (size_t i = 0; *out_plain && i < bounds->count; i++) {
        PyObject *bound = PyList_GetItem(list, (Py_ssize_t)i);
        enum encoded done = bound == NULL ? ENCODED_FAILED : encode_value(&bounds->bytes, bound);
        if (done == ENCODED_FAILED) return false;
        *out_plain = done == ENCODED_SAME;
    }
    return true;
}

/* `list` is None or a list. They have a kind if it is that of all of them. */
static bool bounds_init(struct bounds *bounds, PyObject *list)
{
    bounds->kind = ORDER_NONE;
    if (list == Py_None || PyList_Size(list) <= 0) return PyErr_Occurred() == NULL;
    bounds->count = (size_t)PyList_Size(list);
    bounds->items = PyMem_Calloc(bounds->count, sizeof(*bounds->items));
    if (bounds->items == NULL) return PyErr_NoMemory() != NULL;
    bool plain;
    if (!encode_bounds(bounds, list, &plain)) return false;
    const uint8_t *at = bounds->bytes.data, *end = at + bounds->bytes.size;
    for (size_t i = 0; plain && i < bounds->count; i++) {
        enum encoded encoded;
        enum order_kind kind = order_of(at, &bounds->items[i]);
        plain = kind != ORDER_NONE && (i == 0 || kind == bounds->kind);
        bounds->kind = plain ? kind : ORDER_NONE;
        at += measure_key(at, end, &encoded);
    }
    return true;
}

/* The first one that is not less than the key. */
static size_t bounds_find(const struct bounds *bounds, const struct ordered *key)
{
    size_t first = 0, end = bounds->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (order_compare(bounds->kind, &bounds->items[middle], key) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* Of a key whose encoding is at the start of packer->pair. */
static bool find_place(const struct packer *packer, PyObject *key, size_t *out)
{
    struct ordered ordered;
    enum order_kind kind = packer->bounds.kind;
    if (kind != ORDER_NONE && order_of(packer->pair.data, &ordered) == kind) {
        size_t at = bounds_find(&packer->bounds, &ordered);
        *out = packer->ascending ? at : packer->bounds.count - at;
    } else {
        PyObject *made = PyObject_CallFunctionObjArgs(packer->place, key, NULL);
        *out = made == NULL ? 0 : PyLong_AsSize_t(made);
        Py_XDECREF(made);
        if (PyErr_Occurred()) return false;
    }
    if (*out < packer->places) return true;
    PyErr_Format(PyExc_ValueError, "a shuffle has %zu places, not %zu", packer->places, *out);
    return false;
}

/* ---- Pairs */

/* A tuple of key and value, or what `unpack` makes of another element. */
static PyObject *pair_of_item(const struct packer *packer, PyObject *item)
{
    if (packer->key == Py_None) {
        if (Py_IS_TYPE(item, &PyTuple_Type)) return new_reference(item);
        return PyObject_CallFunctionObjArgs(packer->unpack, item, NULL);
    }
    PyObject *key = PyObject_CallFunctionObjArgs(packer->key, item, NULL);
    PyObject *pair = key == NULL ? NULL : PyTuple_Pack(2, key, item);
    Py_XDECREF(key);
    return pair;
}

static enum encoded encode_pair(struct packer *packer, PyObject *pair)
{
    packer->pair.size = 0;
    if (PyTuple_Size(pair) != 2) return ENCODED_FOREIGN;
    enum encoded done = encode_value(&packer->pair, PyTuple_GetItem(pair, 0));
    return done == ENCODED_SAME ? encode_value(&packer->pair, PyTuple_GetItem(pair, 1)) : done;
}

static bool append_pair(struct packer *packer, PyObject *key)
{
    size_t at = 0;
    if (!find_place(packer, key, &at)) return false;
    struct bytes *block = &packer->blocks[at];
    if (block->size == 0 && !bytes_append(block, &PACKED, 1)) return false;
    packer->size += packer->pair.size;
    return bytes_append(block, packer->pair.data, packer->pair.size);
}

/* Of the next of `items`. At the end *out_more is false; *out_foreign is a pair that cannot be
 * packed, or what is no pair, which belongs to the caller. */
static bool pack_next(struct packer *packer, PyObject *items, bool *out_more,
                      PyObject **out_foreign)
{
    PyObject *item = PyIter_Next(items);
    if (item == NULL) {
        *out_more = false;
        return PyErr_Occurred() == NULL;
    }
    PyObject *pair = pair_of_item(packer, item);
    Py_DECREF(item);
    if (pair == NULL) return false;
    enum encoded done = encode_pair(packer, pair);
    if (done == ENCODED_FOREIGN) {
        *out_foreign = pair;
        return true;
    }
    bool appended = done == ENCODED_SAME && append_pair(packer, PyTuple_GetItem(pair, 0));
    assert(appended || PyErr_Occurred());
    Py_DECREF(pair);
    return appended;
}

static PyObject *list_of_blocks(struct packer *packer)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < packer->places; i++) {
        struct bytes *block = &packer->blocks[i];
        if (block->size == 0) continue;
        PyObject *one = Py_BuildValue("(ny#)", (Py_ssize_t)i, (const char *)block->data,
                                      (Py_ssize_t)block->size);
        PyMem_Free(block->data);
        *block = (struct bytes){0};
        int done = one == NULL ? -1 : PyList_Append(list, one);
        Py_XDECREF(one);
        if (done < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *pack_items(struct packer *packer, PyObject *items, Py_ssize_t count)
{
    PyObject *foreign = NULL;
    bool more = true;
    for (Py_ssize_t i = 0; i < count && more && foreign == NULL; i++) {
        if (packer->size >= PACKED_BYTES_MAX) break;
        if (!pack_next(packer, items, &more, &foreign)) return NULL;
    }
    PyObject *list = list_of_blocks(packer);
    PyObject *all = list == NULL ? NULL
                                 : Py_BuildValue("(OOO)", list, foreign == NULL ? Py_None : foreign,
                                                 more ? Py_True : Py_False);
    Py_XDECREF(list);
    Py_XDECREF(foreign);
    return all;
}

/* pack(items, key, unpack, place, bounds, ascending, places, count): packs so many at most, until
 * one that cannot be packed. (a list of (place, block) in the order of places, that one or None,
 * whether there may be more items). */
static PyObject *pack(PyObject *module, PyObject *arguments)
{
    struct packer packer = {0};
    PyObject *items, *bounds;
    Py_ssize_t places, count;
    int ascending;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOpnn", &items, &packer.key, &packer.unpack, &packer.place,
                          &bounds, &ascending, &places, &count))
        return NULL;
    if (places < 1 || places > PLACES_MAX) {
        PyErr_Format(PyExc_ValueError, "a shuffle cannot have %zd places here", places);
        return NULL;
    }
    packer.ascending = ascending != 0;
    packer.places = (size_t)places;
    packer.blocks = PyMem_Calloc(packer.places, sizeof(*packer.blocks));
    PyObject *made = NULL;
    if (packer.blocks == NULL)
        PyErr_NoMemory();
    else if (bounds_init(&packer.bounds, bounds))
        made = pack_items(&packer, items, count);
    packer_clear(&packer);
    return made;
}

PyMethodDef pack_methods[] = {{"pack", pack, METH_VARARGS,
                               "pack(items, key, unpack, place, bounds, ascending, places, count)"
                               " -> blocks, foreign, more"},
                              {0}};
