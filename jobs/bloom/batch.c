/* The public interface of batches: checks the caller's arguments, then calls the set's kernel. */
#include "jobs/bloom/counting.h"
#include "jobs/bloom/kernel.h"

#include <stddef.h>

/* The filters of the rows are numbers from the caller's table, never from untrusted input. */
static bool row_filters_exist(const struct bloom_set *set, const struct bloom_rows *rows)
{
    uint16_t largest = 0;
    for (uint32_t i = 0; i < rows->rows; i++)
        largest = rows->filter[i] > largest ? rows->filter[i] : largest;
    return largest < set->count;
}

void bloom_adder_init(struct bloom_adder *adder, struct bloom_set *set)
{
    assert(set->bits != NULL && !set->read_only && !bloom_is_static(set->layout));
    adder->set = set; /* the ring is written before it is read */
    adder->hashed = 0;
    adder->done = 0;
}

void bloom_adder_add_rows(struct bloom_adder *adder, const struct bloom_rows *rows)
{
    assert(row_filters_exist(adder->set, rows));
    adder->set->kernel->add(adder, rows);
}

void bloom_adder_flush(struct bloom_adder *adder)
{
    bool wide = adder->set->wide;
    for (; adder->done < adder->hashed; adder->done++) {
        const struct bloom_hashed *group = &adder->ring[adder->done % BLOOM_RING];
        if (bloom_has_blocks(adder->set->layout)) {
            bloom_block_add_group(adder->set, group);
            continue;
        }
        for (uint32_t row = 0; row < group->rows; row++)
            group_set_row_bits(group, row, adder->set->k, wide);
    }
}

void bloom_set_contains_rows(const struct bloom_set *set, const struct bloom_rows *rows,
                             uint8_t *out_hit)
{
    assert(row_filters_exist(set, rows));
    set->kernel->contains(set, rows, out_hit);
}

/* One filter after the other. */
static void test_rows_filter_by_filter(const struct bloom_set *set, const struct bloom_rows *rows,
                                       uint8_t *out_hit, uint64_t stride)
{
    uint16_t filter[BLOOM_ALL_ROWS];
    struct bloom_rows same = *rows;
    same.filter = filter;
    assert(rows->rows <= BLOOM_ALL_ROWS);
    for (uint32_t f = 0; f < set->count; f++) {
        for (uint32_t i = 0; i < rows->rows; i++) filter[i] = (uint16_t)f;
        set->kernel->contains(set, &same, out_hit + f * stride);
    }
}

void bloom_set_contains_all(const struct bloom_set *set, const struct bloom_rows *rows,
                            uint8_t *out_hit, uint64_t stride)
{
    static const uint16_t none[BLOOM_ALL_ROWS]; /* read, but the result does not matter */
    const struct bloom_kernel *kernel = set->kernel;
    assert(stride >= rows->rows && set->count > 0);
    for (uint32_t first = 0; first < rows->rows; first += BLOOM_ALL_ROWS) {
        uint32_t left = rows->rows - first;
        struct bloom_rows part = {rows->base, rows->start + first, rows->end + first, none,
                                  left < BLOOM_ALL_ROWS ? left : BLOOM_ALL_ROWS};
        if (kernel->contains_all == NULL ||
            !kernel->contains_all(set, &part, out_hit + first, stride))
            test_rows_filter_by_filter(set, &part, out_hit + first, stride);
    }
}

void bloom_hash_rows_to_indexes(const struct bloom_set *set, const struct bloom_rows *rows,
                                uint32_t *out_indexes)
{
    assert(!set->wide);
    assert(row_filters_exist(set, rows));
    set->kernel->indexes(set, rows, out_indexes);
}

void bloom_hash_rows_to_indexes_wide(const struct bloom_set *set, const struct bloom_rows *rows,
                                     uint64_t *out_indexes)
{
    assert(row_filters_exist(set, rows));
    for (uint32_t i = 0; i < rows->rows; i++) {
        struct bloom_filter filter = bloom_set_filter(set, rows->filter[i]);
        uint64_t indexes[BLOOM_K_MAX];
        bloom_compute_indexes(&filter.params, rows->base + rows->start[i],
                              rows->end[i] - rows->start[i], indexes);
        const uint32_t k = filter.params.k;
        for (uint32_t j = 0; j < set->k; j++)
            out_indexes[(uint64_t)i * set->k + j] = indexes[j < k ? j : 0];
    }
}

/* Far enough ahead that the cache miss is over when the bit is set. An invalid index is prefetched
 * before it is checked, which has no effect, so the address is computed as an integer. */
enum { BITS_AHEAD = 32 };

static void prefetch_bit(const uint8_t *bits, uint64_t index)
{
    __builtin_prefetch((const void *)((uintptr_t)bits + index / 8), 1);
}

static void set_bit(uint8_t *bits, uint64_t index)
{
    bits[index / 8] |= (uint8_t)(1u << index % 8);
}

/* Sets the bits, or adds 1 to the counters, of the indexes, of either size. */
static inline __attribute__((always_inline)) bool
set_indexes(uint8_t *bits, uint64_t m, bool counts, const uint32_t *narrow, const uint64_t *wide,
            uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t index = narrow != NULL ? narrow[i] : wide[i], ahead = i + BITS_AHEAD;
        if (!counts && ahead < count)
            prefetch_bit(bits, narrow != NULL ? narrow[ahead] : wide[ahead]);
        if (index >= m) return false;
        if (counts)
            counting_increment(bits, index);
        else
            set_bit(bits, index);
    }
    return true;
}

static inline __attribute__((always_inline)) bool
set_indexes_of(struct bloom_set *set, uint32_t f, const uint32_t *narrow, const uint64_t *wide,
               uint64_t count)
{
    assert(f < set->count && !set->read_only);
    const struct bloom_slot *slot = &set->table->slot[f];
    uint8_t *const bits = set->bits + slot->offset;
    if (set->layout == BLOOM_COUNTING)
        return set_indexes(bits, slot->m / COUNTING_BITS, true, narrow, wide, count);
    return set_indexes(bits, slot->m, false, narrow, wide, count);
}

bool bloom_set_bits(struct bloom_set *set, uint32_t f, const uint32_t *indexes, uint64_t count)
{
    return set_indexes_of(set, f, indexes, NULL, count);
}

bool bloom_set_bits_wide(struct bloom_set *set, uint32_t f, const uint64_t *indexes, uint64_t count)
{
    return set_indexes_of(set, f, NULL, indexes, count);
}
