/* Encodings of plain objects: each tag's encoder and decoder, and the hash of keys. */
#include "encoding.h"

#include <assert.h>
#include <string.h>

enum {
    DEPTH_MAX = 8,        /* of tuples */
    TEXT_BYTES_MAX = 512, /* longer text of a block may be shared, which pickle keeps */
    ITEMS_MAX = 64,       /* of a tuple */
    ENCODED_BYTES_MAX = 4096,
    HEAD_BYTES_MAX = 3
};

bool bytes_reserve(struct bytes *out, size_t more)
{
    assert(out->size <= out->capacity);
    if (out->capacity - out->size >= more) return true;
    size_t capacity = out->capacity * 2 + more + 64;
    uint8_t *data = PyMem_Realloc(out->data, capacity);
    if (data == NULL) {
        PyErr_NoMemory();
        return false;
    }
    out->data = data;
    out->capacity = capacity;
    return true;
}

bool bytes_append(struct bytes *out, const void *data, size_t size)
{
    if (!bytes_reserve(out, size)) return false;
    if (size > 0) memcpy(out->data + out->size, data, size);
    out->size += size;
    return true;
}

static enum encoded append_tagged(struct bytes *out, char tag, const void *data, size_t size)
{
    if (!bytes_reserve(out, size + 1)) return ENCODED_FAILED;
    out->data[out->size] = (uint8_t)tag;
    if (size > 0) memcpy(out->data + out->size + 1, data, size);
    out->size += size + 1;
    return ENCODED_SAME;
}

static enum encoded append_text(struct bytes *out, char tag, const char *text, Py_ssize_t size)
{
    if (size > TEXT_BYTES_MAX) return ENCODED_FOREIGN;
    if (!bytes_reserve(out, (size_t)size + HEAD_BYTES_MAX)) return ENCODED_FAILED;
    uint8_t *at = out->data + out->size;
    bool is_short = size <= UINT8_MAX;
    *at++ = (uint8_t)(is_short ? tag : tag - 'a' + 'A');
    *at++ = (uint8_t)size;
    if (!is_short) *at++ = (uint8_t)(size >> 8);
    if (size > 0) memcpy(at, text, (size_t)size);
    out->size = (size_t)(at - out->data) + (size_t)size;
    return ENCODED_SAME;
}

static enum encoded append_number(struct bytes *out, int64_t number)
{
    bool is_8 = number >= INT8_MIN && number <= INT8_MAX;
    bool is_32 = number >= INT32_MIN && number <= INT32_MAX;
    return append_tagged(out, is_8 ? '1' : is_32 ? '4' : '8', &number, is_8 ? 1 : is_32 ? 4 : 8);
}

/* Whether an int has the same value, which is then that of the canonical encoding. */
static bool is_int64(double real, int64_t *out)
{
    if (!(real >= -0x1p63 && real < 0x1p63)) return false;
    *out = (int64_t)real;
    return (double)*out == real;
}

static enum encoded append_real(struct bytes *out, PyObject *x, bool is_key)
{
    double real = PyFloat_AsDouble(x);
    int64_t number;
    if (is_key && real != real) return ENCODED_FOREIGN;
    if (append_tagged(out, 'd', &real, sizeof(real)) < 0) return ENCODED_FAILED;
    return is_key && is_int64(real, &number) ? ENCODED_OTHER : ENCODED_SAME;
}

static enum encoded append_int(struct bytes *out, PyObject *x)
{
    int overflow = 0;
    int64_t number = PyLong_AsLongLongAndOverflow(x, &overflow);
    if (overflow != 0) return ENCODED_FOREIGN;
    return append_number(out, number);
}

static enum encoded append_str(struct bytes *out, PyObject *x)
{
    Py_ssize_t size = 0;
    const char *text = PyUnicode_AsUTF8AndSize(x, &size);
    if (text == NULL) { /* it has surrogates */
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return ENCODED_FAILED;
        PyErr_Clear();
        return ENCODED_FOREIGN;
    }
    return append_text(out, 's', text, size);
}

static enum encoded append_any(struct bytes *out, PyObject *x, bool is_key, int depth);

static enum encoded append_tuple(struct bytes *out, PyObject *x, bool is_key, int depth)
{
    Py_ssize_t count = PyTuple_Size(x);
    if (depth >= DEPTH_MAX || count > ITEMS_MAX) return ENCODED_FOREIGN;
    uint8_t items = (uint8_t)count;
    enum encoded all = append_tagged(out, '(', &items, sizeof(items));
    for (Py_ssize_t i = 0; i < count && all > ENCODED_FOREIGN; i++) {
        enum encoded one = append_any(out, PyTuple_GetItem(x, i), is_key, depth + 1);
        if (one <= ENCODED_FOREIGN || one > all) all = one;
        if (all > ENCODED_FOREIGN && out->size > ENCODED_BYTES_MAX) return ENCODED_FOREIGN;
    }
    return all;
}

/* The bytes before those of the object are at most ENCODED_BYTES_MAX within a tuple. */
static enum encoded append_any(struct bytes *out, PyObject *x, bool is_key, int depth)
{
    assert(depth <= DEPTH_MAX);
    if (Py_IS_TYPE(x, &PyUnicode_Type)) return append_str(out, x);
    if (Py_IS_TYPE(x, &PyLong_Type)) return append_int(out, x);
    if (Py_IS_TYPE(x, &PyFloat_Type)) return append_real(out, x, is_key);
    if (Py_IS_TYPE(x, &PyTuple_Type)) return append_tuple(out, x, is_key, depth);
    if (x == Py_None) return append_tagged(out, 'N', NULL, 0);
    if (Py_IS_TYPE(x, &PyBool_Type)) {
        enum encoded done = append_tagged(out, x == Py_True ? 'T' : 'F', NULL, 0);
        return done == ENCODED_SAME && is_key ? ENCODED_OTHER : done;
    }
    if (Py_IS_TYPE(x, &PyBytes_Type)) {
        char *data = NULL;
        Py_ssize_t size = 0;
        if (PyBytes_AsStringAndSize(x, &data, &size) < 0) return ENCODED_FAILED;
        return append_text(out, 'b', data, size);
    }
    return ENCODED_FOREIGN;
}

/* Into a buffer of its own, so that the bound on its size holds. */
static enum encoded encode(struct bytes *out, PyObject *x, bool is_key)
{
    size_t before = out->size;
    struct bytes one = {0};
    enum encoded done;
    if (Py_IS_TYPE(x, &PyTuple_Type)) {
        done = append_any(&one, x, is_key, 0);
        if (done > ENCODED_FOREIGN && !bytes_append(out, one.data, one.size)) done = ENCODED_FAILED;
        PyMem_Free(one.data);
    } else {
        done = append_any(out, x, is_key, 0);
    }
    if (done <= ENCODED_FOREIGN) out->size = before;
    return done;
}

enum encoded encode_key(struct bytes *out, PyObject *key)
{
    return encode(out, key, true);
}

enum encoded encode_value(struct bytes *out, PyObject *value)
{
    enum encoded done = encode(out, value, false);
    assert(done != ENCODED_OTHER);
    return done;
}

/* Of one tag and what belongs to it: of a tuple without its elements. 0: it is not complete. */
static size_t measure_one(const uint8_t *at, const uint8_t *end)
{
    if (at >= end) return 0;
    size_t left = (size_t)(end - at), size = 0;
    switch ((char)*at) {
    case 'N':
    case 'T':
    case 'F': return 1;
    case '1':
    case '(': size = 2; break;
    case '4': size = 5; break;
    case '8':
    case 'd': size = 9; break;
    case 's':
    case 'b': size = left >= 2 ? 2u + at[1] : 0; break;
    case 'S':
    case 'B': size = left >= 3 ? 3u + at[1] + (at[2] << 8) : 0; break;
    default: return 0;
    }
    return size <= left ? size : 0;
}

/* Whether a number is an int, in its canonical encoding but not here; which one. */
static bool changes(const uint8_t *at, int64_t *out)
{
    double real;
    *out = *at == 'T';
    if (*at == 'T' || *at == 'F') return true;
    if (*at != 'd') return false;
    memcpy(&real, at + 1, sizeof(real));
    return is_int64(real, out);
}

size_t measure_key(const uint8_t *at, const uint8_t *end, enum encoded *out)
{
    const uint8_t *first = at;
    int64_t number;
    *out = ENCODED_SAME;
    for (size_t open = 1; open > 0; open--) {
        size_t one = measure_one(at, end);
        if (one == 0) return 0;
        if (*at == '(') open += at[1];
        if (changes(at, &number)) *out = ENCODED_OTHER;
        at += one;
    }
    return (size_t)(at - first);
}

bool encode_canonical(struct bytes *out, const uint8_t *plain, size_t size)
{
    const uint8_t *at = plain, *end = plain + size;
    while (at < end) {
        int64_t number = 0;
        size_t one = measure_one(at, end);
        assert(one > 0);
        if (changes(at, &number) ? append_number(out, number) < 0 : !bytes_append(out, at, one))
            return false;
        at += one;
    }
    assert(at == end);
    return true;
}

/* ---- Decoding */

static PyObject *no_block(void)
{
    PyErr_SetString(PyExc_ValueError, "a block of a shuffle is damaged");
    return NULL;
}

static PyObject *decode_at(const uint8_t **at, const uint8_t *end, int depth);

static PyObject *decode_tuple(const uint8_t **at, const uint8_t *end, uint8_t count, int depth)
{
    if (depth >= DEPTH_MAX || count > ITEMS_MAX) return no_block();
    PyObject *made = PyTuple_New(count);
    for (uint8_t i = 0; made != NULL && i < count; i++) {
        PyObject *item = decode_at(at, end, depth + 1);
        if (item == NULL || PyTuple_SetItem(made, i, item) < 0) {
            Py_DECREF(made);
            return NULL;
        }
    }
    return made;
}

static PyObject *decode_number(const uint8_t *at)
{
    int8_t byte;
    int32_t word;
    int64_t number;
    double real;
    switch ((char)*at++) {
    case '1': return memcpy(&byte, at, sizeof(byte)), PyLong_FromLong(byte);
    case '4': return memcpy(&word, at, sizeof(word)), PyLong_FromLong(word);
    case '8': return memcpy(&number, at, sizeof(number)), PyLong_FromLongLong(number);
    default: return memcpy(&real, at, sizeof(real)), PyFloat_FromDouble(real);
    }
}

static PyObject *decode_at(const uint8_t **at, const uint8_t *end, int depth)
{
    const uint8_t *one = *at;
    size_t size = measure_one(one, end);
    if (size == 0) return no_block();
    *at += size;
    switch ((char)*one) {
    case 'N': return new_reference(Py_None);
    case 'T': return PyBool_FromLong(1);
    case 'F': return PyBool_FromLong(0);
    case '(': return decode_tuple(at, end, one[1], depth);
    case 's': return PyUnicode_DecodeUTF8((const char *)one + 2, one[1], NULL);
    case 'S': return PyUnicode_DecodeUTF8((const char *)one + 3, (Py_ssize_t)size - 3, NULL);
    case 'b': return PyBytes_FromStringAndSize((const char *)one + 2, one[1]);
    case 'B': return PyBytes_FromStringAndSize((const char *)one + 3, (Py_ssize_t)size - 3);
    default: return decode_number(one);
    }
}

PyObject *decode_plain(const uint8_t **at, const uint8_t *end)
{
    return decode_at(at, end, 0);
}

/* ---- Hash. Source: portable_hash in _shuffle.py; of integers only the low 64 bits matter. */

static bool is_hashed_by_value(PyObject *key)
{
    return PyLong_CheckExact(key) || PyUnicode_CheckExact(key) || PyFloat_CheckExact(key) ||
           PyBytes_CheckExact(key) || PyBool_Check(key);
}

enum encoded hash_portable(PyObject *key, int64_t *out)
{
    if (!Py_IS_TYPE(key, &PyTuple_Type)) {
        if (key != Py_None && !is_hashed_by_value(key)) return ENCODED_FOREIGN;
        *out = key == Py_None ? 0 : PyObject_Hash(key);
        return *out == -1 ? ENCODED_FAILED : ENCODED_SAME;
    }
    if (Py_EnterRecursiveCall(" in portable_hash") != 0) return ENCODED_FAILED;
    Py_ssize_t count = PyTuple_Size(key);
    uint64_t hash = 0x345678;
    enum encoded done = ENCODED_SAME;
    for (Py_ssize_t i = 0; i < count && done == ENCODED_SAME; i++) {
        int64_t one = 0;
        done = hash_portable(PyTuple_GetItem(key, i), &one);
        hash = ((hash ^ (uint64_t)one) * 1000003) & INT64_MAX;
    }
    Py_LeaveRecursiveCall();
    *out = (int64_t)(hash ^ (uint64_t)count);
    return done;
}
