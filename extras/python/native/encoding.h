/* Encodings of plain objects of Python: None, bool, int of 64 bits, float, str, bytes, and tuples
 * of these, of exactly these types. The plain encoding gives the object back; of keys that are
 * equal in Python the canonical encodings are equal: 1, 1.0 and True have one, and so do -0.0 and
 * 0.
 *
 *   N | T | F | 1 int8 | 4 int32 | 8 int64 | d double
 *   s uint8 UTF-8 | S uint16 UTF-8 | b uint8 bytes | B uint16 bytes | ( uint8 elements
 *
 * An int has the shortest form. Numbers are little-endian, as all machines that glint runs on.
 * _functions.py decodes them, too. All functions need Python's global lock. */
#ifndef GLINT_PYTHON_ENCODING_H
#define GLINT_PYTHON_ENCODING_H

#define Py_LIMITED_API 0x030A0000 /* what is used of it, 3.9 has, too */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

/* Py_RETURN_NONE of the headers of 3.12 and 3.13 takes no reference, also with this limited API;
 * older versions, which can load the module, need one. */
static inline PyObject *new_reference(PyObject *object)
{
    Py_INCREF(object);
    return object;
}

static const uint8_t PACKED = 1; /* the first byte of a block; a pickle begins with 0x80 */

struct bytes {
    uint8_t *data;
    size_t size, capacity;
};

enum encoded {
    ENCODED_FAILED = -1, /* an exception is set */
    ENCODED_FOREIGN = 0, /* another type, NaN in a key, or too large */
    ENCODED_SAME = 1,    /* the plain encoding is the canonical one */
    ENCODED_OTHER = 2    /* it is not */
};

/* Room for `more` bytes; false: MemoryError is set. */
bool bytes_reserve(struct bytes *out, size_t more);
bool bytes_append(struct bytes *out, const void *data, size_t size);

/* Appends the plain encoding of a key. Unless the result is SAME or OTHER, `out` is as before. */
enum encoded encode_key(struct bytes *out, PyObject *key);
/* The same of a value, which may be NaN: SAME, FOREIGN or FAILED. */
enum encoded encode_value(struct bytes *out, PyObject *value);
/* Appends the canonical encoding of a plain one, of `size` bytes; it is at most 9 times as large.
 */
bool encode_canonical(struct bytes *out, const uint8_t *plain, size_t size);

/* The size of the plain encoding of a key, of which *out says whether it is SAME or OTHER. 0: there
 * is none before `end`. */
size_t measure_key(const uint8_t *at, const uint8_t *end, enum encoded *out);

/* The object of a plain encoding at *at, which moves behind it. NULL: an exception is set,
 * ValueError if there is none before `end`. */
PyObject *decode_plain(const uint8_t **at, const uint8_t *end);

/* PySpark's portable_hash of a key. FOREIGN: it has a subclass of tuple, which Python's own
 * function
 * (_shuffle.portable_hash) takes. */
enum encoded hash_portable(PyObject *key, int64_t *out);

#endif
