/* The type Combiner: what reduceByKey and its like need in a worker. Keys with a plain encoding are
 * in a table (table.h). The first other key moves all into a dict of Python, which knows what is
 * equal to what; so results are those of a dict in any case. The same holds for sums in C: what
 * does not fit is added by Python. */
#include "module.h"
#include "table.h"

#include <assert.h>
#include <string.h>

enum { KEY_BYTES_MAX = 64 << 20 }; /* of a table, before fill returns */

struct combiner {
    PyObject_HEAD struct keys keys;
    PyObject *dict;   /* NULL: all keys are in `keys` */
    PyObject *create; /* NULL: a value is its own combiner */
    PyObject *merge, *unpack;
    bool adds; /* merge is operator.add */
};

static PyObject *combiner_new(PyTypeObject *type, PyObject *arguments, PyObject *names)
{
    PyObject *create = NULL, *merge = NULL, *unpack = NULL;
    int adds = 0;
    if (names != NULL && PyDict_Size(names) > 0) {
        PyErr_SetString(PyExc_TypeError, "Combiner has no parameters by name");
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "OOpO", &create, &merge, &adds, &unpack)) return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct combiner *self = (struct combiner *)allocate(type, 0);
    if (self == NULL) return NULL;
    if (create != Py_None) {
        Py_INCREF(create);
        self->create = create;
    }
    Py_INCREF(merge);
    Py_INCREF(unpack);
    self->merge = merge;
    self->unpack = unpack;
    self->adds = adds != 0;
    return (PyObject *)self;
}

static void combiner_free(PyObject *object)
{
    struct combiner *self = (struct combiner *)object;
    PyTypeObject *type = Py_TYPE(object);
    keys_clear(&self->keys);
    Py_CLEAR(self->dict);
    Py_CLEAR(self->create);
    Py_CLEAR(self->merge);
    Py_CLEAR(self->unpack);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF((PyObject *)type);
}

/* ---- Values */

/* A value of its own; `object` is borrowed. */
static struct value value_of(const struct combiner *self, PyObject *object)
{
    struct value made = {.kind = VALUE_OBJECT, .object = object};
    int overflow = 0;
    if (self->adds && Py_IS_TYPE(object, &PyLong_Type)) {
        int64_t number = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow == 0) return (struct value){.kind = VALUE_INT, .number = number};
    } else if (self->adds && Py_IS_TYPE(object, &PyFloat_Type)) {
        return (struct value){.kind = VALUE_REAL, .real = PyFloat_AsDouble(object)};
    }
    Py_INCREF(object);
    return made;
}

/* Takes `object`; NULL is an error. */
static bool value_set(const struct combiner *self, struct value *value, PyObject *object)
{
    if (object == NULL) return false;
    struct value old = *value;
    *value = value_of(self, object);
    Py_DECREF(object);
    value_clear(&old);
    return true;
}

static bool value_merge_objects(const struct combiner *self, struct value *value, PyObject *other)
{
    PyObject *mine = value_object(value);
    if (mine == NULL) return false;
    PyObject *made = self->adds ? PyNumber_Add(mine, other)
                                : PyObject_CallFunctionObjArgs(self->merge, mine, other, NULL);
    Py_DECREF(mine);
    return value_set(self, value, made);
}

static bool value_merge(const struct combiner *self, struct value *value, PyObject *other)
{
    int64_t sum;
    if (value->kind == VALUE_INT && Py_IS_TYPE(other, &PyLong_Type)) {
        int overflow = 0;
        int64_t number = PyLong_AsLongLongAndOverflow(other, &overflow);
        if (overflow == 0 && !__builtin_add_overflow(value->number, number, &sum)) {
            value->number = sum;
            return true;
        }
    } else if (value->kind == VALUE_REAL && Py_IS_TYPE(other, &PyFloat_Type)) {
        value->real += PyFloat_AsDouble(other);
        return true;
    }
    return value_merge_objects(self, value, other);
}

/* The first value of a key. */
static bool value_create(const struct combiner *self, struct value *value, PyObject *object)
{
    if (self->create == NULL) {
        *value = value_of(self, object);
        return true;
    }
    return value_set(self, value, PyObject_CallFunctionObjArgs(self->create, object, NULL));
}

/* ---- A dict, for all kinds of keys */

static bool combine_in_dict(struct combiner *self, PyObject *key, PyObject *value)
{
    PyObject *old = PyDict_GetItemWithError(self->dict, key), *made;
    if (old == NULL && PyErr_Occurred()) return false;
    if (old != NULL) {
        Py_INCREF(old);
        made = PyObject_CallFunctionObjArgs(self->merge, old, value, NULL);
        Py_DECREF(old);
    } else if (self->create != NULL) {
        made = PyObject_CallFunctionObjArgs(self->create, value, NULL);
    } else {
        Py_INCREF(value);
        made = value;
    }
    int done = made == NULL ? -1 : PyDict_SetItem(self->dict, key, made);
    Py_XDECREF(made);
    return done == 0;
}

/* A new pair. */
static PyObject *pair_of(const struct keys *keys, const struct entry *entry)
{
    PyObject *key = key_object(keys, entry);
    PyObject *value = key == NULL ? NULL : value_object(&entry->value);
    PyObject *pair = value == NULL ? NULL : PyTuple_Pack(2, key, value);
    Py_XDECREF(key);
    Py_XDECREF(value);
    return pair;
}

static bool move_to_dict(struct combiner *self)
{
    assert(self->dict == NULL);
    PyObject *dict = PyDict_New();
    bool done = dict != NULL;
    for (uint32_t i = 0; done && i < self->keys.count; i++) {
        const struct entry *entry = &self->keys.entries[i];
        PyObject *key = key_object(&self->keys, entry);
        PyObject *value = key == NULL ? NULL : value_object(&entry->value);
        done = value != NULL && PyDict_SetItem(dict, key, value) == 0;
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    if (!done) {
        Py_XDECREF(dict);
        return false;
    }
    self->dict = dict;
    keys_clear(&self->keys);
    return true;
}

/* ---- Pairs */

/* Of a key that was appended at `at`. NULL: MemoryError. */
static struct entry *find_entry(struct keys *keys, size_t at, enum encoded encoded, bool *out_new)
{
    assert(encoded == ENCODED_SAME || encoded == ENCODED_OTHER);
    size_t plain = keys->bytes.size - at;
    if (encoded == ENCODED_OTHER) { /* all is reserved, so that the plain one does not move */
        if (!bytes_reserve(&keys->bytes, plain * 9)) return NULL;
        if (!encode_canonical(&keys->bytes, keys->bytes.data + at, plain)) return NULL;
    }
    return keys_find(keys, at, plain, keys->bytes.size - at - plain, out_new);
}

static bool combine(struct combiner *self, PyObject *key, PyObject *value)
{
    if (self->dict != NULL) return combine_in_dict(self, key, value);
    struct keys *keys = &self->keys;
    size_t at = keys->bytes.size;
    enum encoded encoded = encode_key(&keys->bytes, key);
    if (encoded == ENCODED_FAILED) return false;
    if (encoded == ENCODED_FOREIGN) return move_to_dict(self) && combine_in_dict(self, key, value);
    bool is_new;
    struct entry *entry = find_entry(keys, at, encoded, &is_new);
    if (entry == NULL) return false;
    if (!is_new) return value_merge(self, &entry->value, value);
    return hash_portable(key, &entry->hash) == ENCODED_SAME &&
           value_create(self, &entry->value, value);
}

/* An element of an RDD, which should be a pair. */
static bool combine_item(struct combiner *self, PyObject *item)
{
    if (Py_IS_TYPE(item, &PyTuple_Type) && PyTuple_Size(item) == 2)
        return combine(self, PyTuple_GetItem(item, 0), PyTuple_GetItem(item, 1));
    PyObject *pair = PyObject_CallFunctionObjArgs(self->unpack, item, NULL);
    bool done = pair != NULL && combine(self, PyTuple_GetItem(pair, 0), PyTuple_GetItem(pair, 1));
    Py_XDECREF(pair);
    return done;
}

static Py_ssize_t key_count(const struct combiner *self)
{
    return self->dict != NULL ? PyDict_Size(self->dict) : (Py_ssize_t)self->keys.count;
}

/* fill(pairs, keys, values): combines pairs until there are so many keys, or so many values were
 * read. False: at the end of the pairs. */
static PyObject *combiner_fill(PyObject *object, PyObject *arguments)
{
    struct combiner *self = (struct combiner *)object;
    PyObject *pairs;
    Py_ssize_t keys_max, values_max;
    if (!PyArg_ParseTuple(arguments, "Onn", &pairs, &keys_max, &values_max)) return NULL;
    for (Py_ssize_t read = 0; read < values_max; read++) {
        PyObject *item = PyIter_Next(pairs);
        if (item == NULL) {
            if (PyErr_Occurred()) return NULL;
            return new_reference(Py_False);
        }
        bool done = combine_item(self, item);
        Py_DECREF(item);
        if (!done) return NULL;
        if (key_count(self) >= keys_max || self->keys.bytes.size > KEY_BYTES_MAX) break;
    }
    return new_reference(Py_True);
}

/* take_dict(): the dict, which the caller gets, or None if all keys are plain. */
static PyObject *combiner_take_dict(PyObject *object, PyObject *none)
{
    struct combiner *self = (struct combiner *)object;
    (void)none;
    if (self->dict == NULL) return new_reference(Py_None);
    PyObject *dict = self->dict;
    self->dict = NULL;
    return dict;
}

/* pairs(first, count): a list of at most so many, of plain keys. */
static PyObject *combiner_pairs(PyObject *object, PyObject *arguments)
{
    struct combiner *self = (struct combiner *)object;
    Py_ssize_t first, count;
    if (!PyArg_ParseTuple(arguments, "nn", &first, &count)) return NULL;
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = first; list != NULL && i < first + count && i < key_count(self); i++) {
        PyObject *pair = pair_of(&self->keys, &self->keys.entries[i]);
        int done = pair == NULL ? -1 : PyList_Append(list, pair);
        Py_XDECREF(pair);
        if (done < 0) Py_CLEAR(list);
    }
    return list;
}

/* ---- Blocks of a shuffle: PACKED, then for each pair the plain encodings of key and value. */

static bool pack_entry(struct bytes *out, const struct keys *keys, const struct entry *entry,
                       bool *out_plain)
{
    if (!bytes_append(out, keys->bytes.data + entry->key_at, entry->plain)) return false;
    PyObject *value = value_object(&entry->value);
    if (value == NULL) return false;
    enum encoded done = encode_value(out, value);
    Py_DECREF(value);
    *out_plain = done != ENCODED_FOREIGN;
    return done != ENCODED_FAILED;
}

static PyObject *pickled_block(struct combiner *self, const uint64_t *places, size_t count,
                               PyObject *dumps)
{
    PyObject *list = PyList_New(0), *block = NULL;
    bool done = list != NULL;
    for (size_t i = 0; done && i < count; i++) {
        PyObject *pair = pair_of(&self->keys, &self->keys.entries[(uint32_t)places[i]]);
        done = pair != NULL && PyList_Append(list, pair) == 0;
        Py_XDECREF(pair);
    }
    if (done) block = PyObject_CallFunction(dumps, "Oi", list, 5);
    Py_XDECREF(list);
    return block;
}

/* Of the entries in the lower halves of `places`. */
static PyObject *block_of(struct combiner *self, const uint64_t *places, size_t count,
                          PyObject *dumps)
{
    struct bytes out = {0};
    bool done = bytes_append(&out, &PACKED, 1), plain = true;
    for (size_t i = 0; done && plain && i < count; i++)
        done = pack_entry(&out, &self->keys, &self->keys.entries[(uint32_t)places[i]], &plain);
    PyObject *block = NULL;
    if (done && plain)
        block = PyBytes_FromStringAndSize((const char *)out.data, (Py_ssize_t)out.size);
    PyMem_Free(out.data);
    return done && !plain ? pickled_block(self, places, count, dumps) : block;
}

static int compare_places(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The place of an entry: by `place`, a function of Python, or if that is None by the hash, like
 * place_by_hash in _shuffle.py. -1: an exception is set. */
static int64_t place_of(const struct combiner *self, const struct entry *entry, PyObject *place,
                        uint32_t partitions, uint32_t buckets)
{
    if (place == Py_None) return hash_place(entry->hash, partitions, buckets);
    PyObject *key = key_object(&self->keys, entry);
    PyObject *made = key == NULL ? NULL : PyObject_CallFunctionObjArgs(place, key, NULL);
    int64_t number = made == NULL ? -1 : PyLong_AsLongLong(made);
    Py_XDECREF(key);
    Py_XDECREF(made);
    if (number >= 0 && number <= UINT32_MAX) return number;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_OverflowError, "too many partitions");
    return -1;
}

static PyObject *blocks_of(struct combiner *self, const uint64_t *places, PyObject *dumps)
{
    PyObject *list = PyList_New(0);
    uint32_t count = self->keys.count, first = 0;
    while (list != NULL && first < count) {
        uint32_t end = first + 1;
        while (end < count && places[end] >> 32 == places[first] >> 32) end++;
        PyObject *block = block_of(self, places + first, end - first, dumps);
        PyObject *pair =
            block == NULL ? NULL
                          : Py_BuildValue("(KO)", (unsigned long long)(places[first] >> 32), block);
        int done = pair == NULL ? -1 : PyList_Append(list, pair);
        Py_XDECREF(block);
        Py_XDECREF(pair);
        if (done < 0) Py_CLEAR(list);
        first = end;
    }
    return list;
}

/* take_blocks(place, partitions, buckets, dumps): a list of (place, block), in the order of places,
 * of plain keys, which are removed. A block with values that are not plain is what dumps gives. */
static PyObject *combiner_take_blocks(PyObject *object, PyObject *arguments)
{
    struct combiner *self = (struct combiner *)object;
    PyObject *place, *dumps, *list = NULL;
    unsigned int partitions, buckets;
    if (!PyArg_ParseTuple(arguments, "OIIO", &place, &partitions, &buckets, &dumps)) return NULL;
    uint32_t count = self->keys.count;
    uint64_t *places = PyMem_Calloc(count > 0 ? count : 1, sizeof(*places));
    if (places == NULL) return PyErr_NoMemory();
    uint32_t i = 0;
    for (; i < count; i++) {
        int64_t at = place_of(self, &self->keys.entries[i], place, partitions, buckets);
        if (at < 0) break;
        places[i] = (uint64_t)at << 32 | i;
    }
    if (i == count) {
        qsort(places, count, sizeof(*places), compare_places);
        list = blocks_of(self, places, dumps);
    }
    PyMem_Free(places);
    if (list != NULL) keys_clear(&self->keys);
    return list;
}

/* ---- Reading blocks */

static bool combine_packed(struct combiner *self, const uint8_t *key, size_t size,
                           enum encoded encoded, PyObject *value)
{
    if (self->dict != NULL) {
        const uint8_t *at = key;
        PyObject *object = decode_plain(&at, key + size);
        bool done = object != NULL && combine_in_dict(self, object, value);
        Py_XDECREF(object);
        return done;
    }
    size_t at = self->keys.bytes.size;
    bool is_new;
    if (!bytes_append(&self->keys.bytes, key, size)) return false;
    struct entry *entry = find_entry(&self->keys, at, encoded, &is_new);
    if (entry == NULL) return false;
    return is_new ? value_create(self, &entry->value, value)
                  : value_merge(self, &entry->value, value);
}

static PyObject *no_key(void)
{
    PyErr_SetString(PyExc_ValueError, "a block of a shuffle is damaged");
    return NULL;
}

/* merge(block): combines the pairs of a packed block. */
static PyObject *combiner_merge(PyObject *object, PyObject *block)
{
    char *data = NULL;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(block, &data, &size) < 0) return NULL;
    const uint8_t *at = (const uint8_t *)data + 1, *end = (const uint8_t *)data + size;
    while (size > 0 && at < end) {
        enum encoded encoded;
        const uint8_t *key = at;
        size_t key_size = measure_key(key, end, &encoded);
        at += key_size;
        PyObject *value = key_size == 0 ? no_key() : decode_plain(&at, end);
        bool done = value != NULL &&
                    combine_packed((struct combiner *)object, key, key_size, encoded, value);
        Py_XDECREF(value);
        if (!done) return NULL;
    }
    return new_reference(Py_None);
}

static PyMethodDef methods[] = {
    {"fill", combiner_fill, METH_VARARGS, "fill(pairs, keys, values) -> more"},
    {"merge", combiner_merge, METH_O, "merge(block)"},
    {"pairs", combiner_pairs, METH_VARARGS, "pairs(first, count)"},
    {"take_dict", combiner_take_dict, METH_NOARGS, "take_dict()"},
    {"take_blocks", combiner_take_blocks, METH_VARARGS,
     "take_blocks(place, partitions, buckets, dumps)"},
    {0}};
static PyType_Slot slots[] = {
    {Py_tp_new, combiner_new}, {Py_tp_dealloc, combiner_free}, {Py_tp_methods, methods}, {0}};
PyType_Spec combiner_spec = {.name = "glint._native.Combiner",
                             .basicsize = sizeof(struct combiner),
                             .flags = Py_TPFLAGS_DEFAULT,
                             .slots = slots};
