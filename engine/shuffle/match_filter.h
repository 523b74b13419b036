/* A Bloom filter of the keys that a reduce task has gathered, for joins: records that an operator
 * needs only if their key came before (struct op, needs_match) are left out at once if it did not,
 * so they are neither stored nor sorted. Internal to the reduce side. Task's thread. */
#ifndef GLINT_SHUFFLE_MATCH_FILTER_H
#define GLINT_SHUFFLE_MATCH_FILTER_H

#include "engine/base/hash.h"
#include "engine/shuffle/record_buffer.h"

/* Zeros before match_filter_build. */
struct match_filter {
    uint64_t *words; /* a key sets three bits of one; NULL: all keys may match */
    uint32_t count;
    uint32_t asked, passed; /* of the keys, while both are counted */
};
/* Adds the keys of all records. Returns false when out of memory. */
bool match_filter_build(struct match_filter *f, const struct record_buffer *records);
/* Frees the words: from now on all keys may match. Zeros are fine. */
void match_filter_fini(struct match_filter *f);
/* Gives up if most of the keys asked so far passed. */
void match_filter_check_use(struct match_filter *f);

#define MATCH_FILTER_TRIAL 4096u /* keys after which match_filter_check_use decides */

static inline uint64_t *match_filter_find(const struct match_filter *f, struct glint_slice key,
                                          uint64_t *out_bits)
{
    const uint64_t hash = hash_seeded(key.data, key.size, 1); /* unlike that of the partition */
    *out_bits = UINT64_C(1) << (hash & 63) | UINT64_C(1) << (hash >> 6 & 63) |
                UINT64_C(1) << (hash >> 12 & 63);
    return &f->words[hash_to_range(hash, f->count)];
}

/* Returns false if the key was not added. */
static inline bool match_filter_may_match(struct match_filter *f, struct glint_slice key)
{
    uint64_t bits;
    if (f->words == NULL) return true;
    const uint64_t word = *match_filter_find(f, key, &bits);
    const bool passes = (word & bits) == bits;
    if (f->asked < MATCH_FILTER_TRIAL) {
        f->passed += passes;
        if (++f->asked == MATCH_FILTER_TRIAL) match_filter_check_use(f);
    }
    return passes;
}

#endif
