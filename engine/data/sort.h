/* Sorting references to keys: stable, and mostly without looking at the keys.
 *
 * An entry holds eight bytes of its key as a number (inverted for descending order) and a place,
 * whose upper bits are the partition. A radix sort over those bytes that differ at all does nearly
 * all of the work; groups that agree in their eight bytes take the next eight, small ones compare
 * whole keys. */
#ifndef GLINT_DATA_SORT_H
#define GLINT_DATA_SORT_H

#include "engine/data/codec.h"

#include <assert.h>
#include <endian.h>

#define SORT_REFERENCE_BITS 40 /* below: the caller's reference; above: the partition */

struct sort_entry {
    uint64_t prefix, packed_reference;
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

/* Eight bytes of a key from `depth` on as a number that compares like them; zeros where the key has
 * ended. READ_SLACK must be readable beyond the key. */
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

/* The key that an entry refers to. */
typedef struct glint_slice sort_key_fn(const void *arg, uint64_t reference);

/* By (partition, key), equal keys in their order before. `key_of` is NULL where no key is longer
 * than eight bytes and all have one size. `prefix` is sort_key_prefix(key, 0, descending) before
 * and anything afterwards. `scratch` has room for `count` entries. */
void sort_entries(struct sort_entry *entries, struct sort_entry *scratch, uint64_t count,
                  bool descending, sort_key_fn *key_of, const void *arg);

#endif
