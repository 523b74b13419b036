/* A stable sort of references to keys that mostly avoids reading the keys.
 *
 * An entry contains eight bytes of its key as a number (inverted for descending order) and a
 * reference, whose upper bits are the partition. A radix sort over the bytes that differ does most
 * of the work. Groups with equal prefixes continue with the next eight bytes of their keys; small
 * groups compare whole keys. */
#ifndef GLINT_RECORDS_SORT_H
#define GLINT_RECORDS_SORT_H

#include "engine/records/codec.h"

#include <assert.h>
#include <endian.h>

#define SORT_REFERENCE_BITS 40 /* low bits: the caller's reference; the others: the partition */

struct sort_entry {
    uint64_t prefix, packed_reference; /* sort_key_prefix, sort_pack_reference */
};

static inline uint64_t sort_pack_reference(uint32_t partition, uint64_t reference)
{
    assert(reference >> SORT_REFERENCE_BITS == 0);
    return (uint64_t)partition << SORT_REFERENCE_BITS | reference;
}
static inline uint32_t sort_entry_partition(const struct sort_entry *e)
{
    return (uint32_t)(e->packed_reference >> SORT_REFERENCE_BITS);
}
static inline uint64_t sort_entry_reference(const struct sort_entry *e)
{
    return e->packed_reference & (((uint64_t)1 << SORT_REFERENCE_BITS) - 1);
}

/* Returns the eight bytes of a key at `depth` as a number with the same order, padded with zeros at
 * the end of the key. READ_SLACK bytes must be readable after the key. */
static inline uint64_t sort_key_prefix(struct glint_slice key, uint64_t depth, bool descending)
{
    uint64_t bits = 0;
    if (key.size > depth) {
        memcpy(&bits, key.data + depth, sizeof bits);
        bits = be64toh(bits);
        if (key.size - depth < 8) bits &= ~(uint64_t)0 << (64 - 8 * (key.size - depth));
    }
    return descending ? ~bits : bits;
}

/* Whether the eight bytes of sort_entry.prefix are the whole key: sorting then reads no keys. */
static inline bool sort_prefix_is_key(enum glint_type key)
{
    return key == GLINT_I64 || key == GLINT_F64 || key == GLINT_NONE;
}

/* How keys are read, borrowed during the sort. */
struct sort_keys {
    struct glint_slice (*get)(const void *arg, uint64_t reference);
    /* Called some time before `get`; NULL: the keys are in the cache. */
    void (*prefetch)(const void *arg, uint64_t reference);
    const void *arg;
};

/* Sorts by (partition, key); equal keys keep their order. The caller sets each prefix to
 * sort_key_prefix(key, 0, descending); afterwards the prefixes are undefined. `keys` is NULL if
 * all keys have the same size, at most eight bytes. `scratch` has space for `count` entries. */
void sort_entries(struct sort_entry *entries, struct sort_entry *scratch, uint64_t count,
                  bool descending, const struct sort_keys *keys);

#endif
