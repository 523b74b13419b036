/* The hot loops in plain C: for machines without SIMD, for schemes without a vector version, and as
 * the reference for tests of the vector versions. Mixing is done once per id, not per seed; modulo
 * is a multiplication. */
#include "jobs/bloom/kernel.h"

#include "jobs/bloom/murmur.h"

#include <string.h>

/* `scheme` is constant at every call, so each caller becomes three plain loops. */
BLOOM_INLINE void prepare_id_hash(enum bloom_scheme scheme, struct murmur_id *id,
                                  const struct bloom_rows *rows, uint32_t row)
{
    const uint8_t *data = rows->base + rows->start[row];
    uint32_t size = rows->end[row] - rows->start[row];
    if (scheme == BLOOM_HADOOP) {
        murmur2_prepare(id, data, size);
    } else {
        murmur3_prepare(id, data, size);
    }
}

BLOOM_INLINE uint32_t index_of_hash(enum bloom_scheme scheme, const struct murmur_id *id,
                                    uint32_t seed, const struct bloom_slot *slot)
{
    uint32_t m = (uint32_t)slot->m;
    if (scheme == BLOOM_HADOOP) {
        uint32_t h = murmur2_hash(id, seed);
        return bloom_mod(h >> 31 ? -h : h, slot->magic, m);
    }
    uint32_t h = murmur3_hash(id, seed);
    if (scheme == BLOOM_PLAIN) return bloom_mod(h, slot->magic, m);
    uint32_t sign = -(h >> 31); /* floor modulo of a negative h is m - 1 - (~h mod m) */
    return (bloom_mod(h ^ sign, slot->magic, m) ^ sign) + (sign & m);
}

/* ---- indexes ---- */

BLOOM_INLINE void compute_row_indexes(enum bloom_scheme scheme, const struct bloom_set *set,
                                      const struct bloom_rows *rows, uint32_t row, uint32_t *out,
                                      uint32_t stride)
{
    const struct bloom_slot *slot = &set->table->slot[rows->filter[row]];
    struct murmur_id id;
    prepare_id_hash(scheme, &id, rows, row);
    for (uint32_t i = 0; i < slot->k; i++) out[i * stride] = index_of_hash(scheme, &id, i, slot);
    for (uint32_t i = slot->k; i < set->k; i++) out[i * stride] = out[0];
}

static void compute_row_indexes_any_scheme(const struct bloom_set *set,
                                           const struct bloom_rows *rows, uint32_t row,
                                           uint32_t *out, uint32_t stride)
{
    struct bloom_filter filter = bloom_set_filter(set, rows->filter[row]);
    uint32_t indexes[BLOOM_K_MAX];
    bloom_compute_narrow_indexes(&filter.params, rows->base + rows->start[row],
                                 rows->end[row] - rows->start[row], indexes);
    const uint32_t k = filter.params.k;
    for (uint32_t i = 0; i < set->k; i++) out[i * stride] = indexes[i < k ? i : 0];
}

/* Index i of row first + r goes to out[r * row_stride + i * stride]. */
static void compute_indexes_of_rows(const struct bloom_set *set, const struct bloom_rows *rows,
                                    uint32_t first, uint32_t count, uint32_t *out,
                                    uint32_t row_stride, uint32_t stride)
{
    switch (set->scheme) {
    case BLOOM_SPARK:
        for (uint32_t r = 0; r < count; r++, out += row_stride)
            compute_row_indexes(BLOOM_SPARK, set, rows, first + r, out, stride);
        return;
    case BLOOM_PLAIN:
        for (uint32_t r = 0; r < count; r++, out += row_stride)
            compute_row_indexes(BLOOM_PLAIN, set, rows, first + r, out, stride);
        return;
    case BLOOM_HADOOP:
        for (uint32_t r = 0; r < count; r++, out += row_stride)
            compute_row_indexes(BLOOM_HADOOP, set, rows, first + r, out, stride);
        return;
    default:
        for (uint32_t r = 0; r < count; r++, out += row_stride)
            compute_row_indexes_any_scheme(set, rows, first + r, out, stride);
    }
}

void bloom_row_indexes(const struct bloom_set *set, const struct bloom_rows *rows, uint32_t row,
                       uint32_t add, uint32_t *out, uint32_t stride)
{
    assert(!set->wide && row < rows->rows);
    compute_indexes_of_rows(set, rows, row, 1, out, 0, stride);
    for (uint32_t i = 0; i < set->k; i++) out[i * stride] += add;
}

static void scalar_indexes(const struct bloom_set *set, const struct bloom_rows *rows,
                           uint32_t *out_indexes)
{
    compute_indexes_of_rows(set, rows, 0, rows->rows, out_indexes, set->k, 1);
}

/* ---- add ---- */

static void hash_rows_wide(const struct bloom_set *set, const struct bloom_rows *rows,
                           uint32_t first, struct bloom_hashed *group)
{
    for (uint32_t r = 0; r < group->rows; r++) {
        uint32_t row = first + r;
        struct bloom_filter filter = bloom_set_filter(set, rows->filter[row]);
        uint64_t indexes[BLOOM_K_MAX];
        bloom_compute_wide_indexes(&filter.params, rows->base + rows->start[row],
                                   rows->end[row] - rows->start[row], indexes);
        const uint32_t k = filter.params.k;
        for (uint32_t i = 0; i < set->k; i++) group->index.wide[i][r] = indexes[i < k ? i : 0];
    }
}

static void scalar_add(struct bloom_adder *adder, const struct bloom_rows *rows)
{
    const struct bloom_set *set = adder->set;
    for (uint32_t first = 0; first < rows->rows; first += BLOOM_GROUP) {
        struct bloom_hashed *group = adder_next_group(adder);
        uint32_t left = rows->rows - first;
        group->rows = left < BLOOM_GROUP ? left : BLOOM_GROUP;
        for (uint32_t r = 0; r < group->rows; r++)
            group->base[r] = set->bits + set->table->slot[rows->filter[first + r]].offset;
        if (set->wide) {
            hash_rows_wide(set, rows, first, group);
            adder_push_group(adder, set->k, true);
        } else {
            compute_indexes_of_rows(set, rows, first, group->rows, group->index.narrow[0], 1,
                                    BLOOM_GROUP);
            adder_push_group(adder, set->k, false);
        }
    }
}

/* ---- contains ---- */

enum { BLOCK = 64 };

/* One hash at a time for the rows that are still candidates. Other rows are removed without a
 * branch, which would be mispredicted once per row, so the loads of many rows overlap. */
BLOOM_INLINE void scalar_contains_block(enum bloom_scheme scheme, const struct bloom_set *set,
                                        const struct bloom_rows *rows, uint32_t first,
                                        uint32_t count, uint8_t *out_hit)
{
    struct murmur_id ids[BLOCK];
    uint8_t alive[BLOCK];
    assert(count <= BLOCK);
    for (uint32_t r = 0; r < count; r++) {
        prepare_id_hash(scheme, &ids[r], rows, first + r);
        alive[r] = (uint8_t)r;
    }
    for (uint32_t seed = 0; seed < set->k && count > 0; seed++) {
        uint32_t kept = 0;
        for (uint32_t a = 0; a < count; a++) {
            uint8_t r = alive[a];
            const struct bloom_slot *slot = &set->table->slot[rows->filter[first + r]];
            uint32_t index = index_of_hash(scheme, &ids[r], seed, slot);
            alive[kept] = r;
            kept += seed >= slot->k || (set->bits[slot->offset + index / 8] >> index % 8 & 1) != 0;
        }
        count = kept;
    }
    for (uint32_t a = 0; a < count; a++) out_hit[first + alive[a]] = 1;
}

static void contains_any_scheme(const struct bloom_set *set, const struct bloom_rows *rows,
                                uint8_t *out_hit)
{
    for (uint32_t i = 0; i < rows->rows; i++) {
        struct bloom_filter filter = bloom_set_filter(set, rows->filter[i]);
        out_hit[i] =
            bloom_contains(&filter, rows->base + rows->start[i], rows->end[i] - rows->start[i]);
    }
}

static void scalar_contains_rows(const struct bloom_set *set, const struct bloom_rows *rows,
                                 uint8_t *out_hit)
{
    if (set->scheme != BLOOM_SPARK && set->scheme != BLOOM_PLAIN && set->scheme != BLOOM_HADOOP) {
        contains_any_scheme(set, rows, out_hit);
        return;
    }
    memset(out_hit, 0, rows->rows);
    for (uint32_t first = 0; first < rows->rows; first += BLOCK) {
        uint32_t left = rows->rows - first, count = left < BLOCK ? left : BLOCK;
        if (set->scheme == BLOOM_SPARK) {
            scalar_contains_block(BLOOM_SPARK, set, rows, first, count, out_hit);
        } else if (set->scheme == BLOOM_PLAIN) {
            scalar_contains_block(BLOOM_PLAIN, set, rows, first, count, out_hit);
        } else {
            scalar_contains_block(BLOOM_HADOOP, set, rows, first, count, out_hit);
        }
    }
}

const struct bloom_kernel bloom_kernel_scalar = {
    .add = scalar_add, .contains = scalar_contains_rows, .indexes = scalar_indexes};
