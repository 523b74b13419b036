/* Keys and what is combined for each: a hash table whose keys are plain encodings in one buffer, in
 * the order in which they came. Not thread-safe; all functions need Python's global lock. */
#ifndef GLINT_PYTHON_TABLE_H
#define GLINT_PYTHON_TABLE_H

#include "encoding.h"

enum value_kind { VALUE_OBJECT, VALUE_INT, VALUE_REAL };

struct value {
    enum value_kind kind;
    union {
        PyObject *object; /* owned */
        int64_t number;
        double real;
    };
};

struct entry {
    size_t key_at;             /* of `keys`: the plain encoding */
    uint32_t plain, canonical; /* sizes; the canonical one is behind, or 0 if it is the same */
    int64_t hash;              /* PySpark's */
    struct value value;
};

struct keys {
    struct bytes bytes;
    struct entry *entries;
    uint32_t count, capacity;
    uint64_t *slots; /* upper half: of a hash; lower half: entry + 1, or 0 */
    uint32_t slots_count;
};

/* A key of `plain` bytes that were appended to keys->bytes at `at`, and its canonical encoding, of
 * `canonical` bytes or 0, behind it. Returns its entry: a new one, of which the value and the hash
 * are not set and *out_new is true, or an equal one, and then the bytes are removed. NULL:
 * MemoryError. */
struct entry *keys_find(struct keys *keys, size_t at, size_t plain, size_t canonical,
                        bool *out_new);
/* Frees all, and leaves an empty table. */
void keys_clear(struct keys *keys);

/* A new reference. NULL: an exception is set. */
PyObject *key_object(const struct keys *keys, const struct entry *entry);
PyObject *value_object(const struct value *value);
void value_clear(struct value *value);

#endif
