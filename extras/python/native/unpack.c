/* Reading packed blocks: their pairs, how many these are, and the type Sorted, an iterator of
 * pairs or values in the order of keys, which decodes each when it is its turn. */
#include "module.h"
#include "order.h"

#include <assert.h>
#include <stdlib.h>

struct item {
    struct ordered key;
    uint32_t index, block; /* a number, so that equal keys keep their order; of `blocks` */
};

struct sorted {
    PyObject_HEAD PyObject *blocks; /* a tuple of bytes */
    struct item *items;
    size_t count, capacity, next;
    enum order_kind kind;
    bool values; /* without their keys */
};

struct reader {
    const uint8_t *at, *end;
};

static PyObject *damaged(void)
{
    PyErr_SetString(PyExc_ValueError, "a block of a shuffle is damaged");
    return NULL;
}

static bool reader_open(struct reader *reader, PyObject *block)
{
    char *data = NULL;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(block, &data, &size) < 0) return false;
    reader->at = (const uint8_t *)data + (size > 0);
    reader->end = (const uint8_t *)data + size;
    return true;
}

/* Moves behind the next pair, of which the key is at *out_key. */
static bool reader_skip(struct reader *reader, const uint8_t **out_key)
{
    enum encoded encoded;
    *out_key = reader->at;
    for (int i = 0; i < 2; i++) {
        size_t size = measure_key(reader->at, reader->end, &encoded);
        if (size == 0) return damaged() != NULL;
        reader->at += size;
    }
    return true;
}

static PyObject *decode_pair(const uint8_t **at, const uint8_t *end)
{
    PyObject *key = decode_plain(at, end);
    PyObject *value = key == NULL ? NULL : decode_plain(at, end);
    PyObject *pair = value == NULL ? NULL : PyTuple_Pack(2, key, value);
    Py_XDECREF(key);
    Py_XDECREF(value);
    return pair;
}

static PyObject *count_pairs(PyObject *module, PyObject *block)
{
    struct reader reader;
    Py_ssize_t count = 0;
    const uint8_t *key;
    (void)module;
    if (!reader_open(&reader, block)) return NULL;
    for (; reader.at < reader.end; count++)
        if (!reader_skip(&reader, &key)) return NULL;
    return PyLong_FromSsize_t(count);
}

static PyObject *unpack_pairs(PyObject *module, PyObject *block)
{
    struct reader reader;
    (void)module;
    if (!reader_open(&reader, block)) return NULL;
    PyObject *list = PyList_New(0);
    while (list != NULL && reader.at < reader.end) {
        PyObject *pair = decode_pair(&reader.at, reader.end);
        int done = pair == NULL ? -1 : PyList_Append(list, pair);
        Py_XDECREF(pair);
        if (done < 0) Py_CLEAR(list);
    }
    return list;
}

/* ---- Sorted */

static bool sorted_add(struct sorted *self, const struct item *item)
{
    if (self->count == self->capacity) {
        size_t capacity = self->capacity * 2 + 1024;
        struct item *items = PyMem_Realloc(self->items, capacity * sizeof(*items));
        if (items == NULL) return PyErr_NoMemory() != NULL;
        self->items = items;
        self->capacity = capacity;
    }
    self->items[self->count++] = *item;
    return true;
}

/* The pairs of a block. *out_alike: all keys so far have the same kind. */
static bool sorted_add_block(struct sorted *self, uint32_t block, bool *out_alike)
{
    struct reader reader;
    *out_alike = true;
    if (!reader_open(&reader, PyTuple_GetItem(self->blocks, block))) return false;
    while (reader.at < reader.end) {
        struct item item = {.index = (uint32_t)self->count, .block = block};
        const uint8_t *key;
        if (!reader_skip(&reader, &key)) return false;
        enum order_kind kind = order_of(key, &item.key);
        if (self->count == 0) self->kind = kind;
        *out_alike = kind != ORDER_NONE && kind == self->kind && self->count < UINT32_MAX;
        if (!*out_alike) return true;
        if (!sorted_add(self, &item)) return false;
    }
    return true;
}

static int compare_kept(const struct item *a, const struct item *b)
{
    return (a->index > b->index) - (a->index < b->index);
}

static int compare_ranks(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->key.rank != y->key.rank) return x->key.rank < y->key.rank ? -1 : 1;
    return compare_kept(x, y);
}

static int compare_texts(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = order_compare(ORDER_STR, &x->key, &y->key);
    return order != 0 ? order : compare_kept(x, y);
}

static int compare_ranks_down(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->key.rank != y->key.rank) return x->key.rank > y->key.rank ? -1 : 1;
    return compare_kept(x, y);
}

static int compare_texts_down(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = order_compare(ORDER_STR, &y->key, &x->key);
    return order != 0 ? order : compare_kept(x, y);
}

static void sorted_sort(struct sorted *self, bool reverse)
{
    bool is_text = self->kind == ORDER_STR || self->kind == ORDER_BYTES;
    int (*compare)(const void *, const void *) = is_text ? compare_texts : compare_ranks;
    if (reverse) compare = is_text ? compare_texts_down : compare_ranks_down;
    if (self->count > 1) qsort(self->items, self->count, sizeof(*self->items), compare);
}

/* Sorted.of(blocks, reverse, values): None if the keys are not all of one kind that has an order.
 */
static PyObject *sorted_of(PyObject *type, PyObject *arguments)
{
    PyObject *blocks;
    int reverse, values;
    if (!PyArg_ParseTuple(arguments, "O!pp", &PyTuple_Type, &blocks, &reverse, &values))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);
    struct sorted *self = (struct sorted *)allocate((PyTypeObject *)type, 0);
    if (self == NULL) return NULL;
    self->blocks = new_reference(blocks);
    self->values = values != 0;
    bool done = true, alike = true;
    for (Py_ssize_t i = 0; done && alike && i < PyTuple_Size(blocks); i++)
        done = sorted_add_block(self, (uint32_t)i, &alike);
    if (done && alike) {
        sorted_sort(self, reverse != 0);
        return (PyObject *)self;
    }
    Py_DECREF((PyObject *)self);
    return done ? new_reference(Py_None) : NULL;
}

static void sorted_free(PyObject *object)
{
    struct sorted *self = (struct sorted *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyMem_Free(self->items);
    Py_CLEAR(self->blocks);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF((PyObject *)type);
}

static PyObject *sorted_next(PyObject *object)
{
    struct sorted *self = (struct sorted *)object;
    if (self->next == self->count) return NULL;
    struct item *item = &self->items[self->next++];
    struct reader reader;
    enum encoded encoded;
    if (!reader_open(&reader, PyTuple_GetItem(self->blocks, item->block))) return NULL;
    assert(item->key.key >= reader.at && item->key.key < reader.end);
    reader.at = item->key.key;
    if (!self->values) return decode_pair(&reader.at, reader.end);
    reader.at += measure_key(reader.at, reader.end, &encoded);
    return decode_plain(&reader.at, reader.end);
}

PyMethodDef unpack_methods[] = {
    {"count_pairs", count_pairs, METH_O, "count_pairs(block)"},
    {"unpack_pairs", unpack_pairs, METH_O, "unpack_pairs(block) -> list"},
    {0}};
static PyMethodDef sorted_methods[] = {
    {"of", sorted_of, METH_VARARGS | METH_CLASS, "of(blocks, reverse, values) -> Sorted or None"},
    {0}};
static PyType_Slot slots[] = {{Py_tp_dealloc, sorted_free},
                              {Py_tp_methods, sorted_methods},
                              {Py_tp_iter, PyObject_SelfIter},
                              {Py_tp_iternext, sorted_next},
                              {0}};
PyType_Spec sorted_spec = {.name = "glint._native.Sorted",
                           .basicsize = sizeof(struct sorted),
                           .flags = Py_TPFLAGS_DEFAULT,
                           .slots = slots};
