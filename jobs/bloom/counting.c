/* Counting filters: arithmetic of counters, two in a byte, and the kernel of sets of them. */
#include "jobs/bloom/counting.h"

#include <string.h>

enum { LOW = COUNTING_MAX };

void counting_unite(uint8_t *into, const uint8_t *from, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++) {
        const uint32_t low = (into[i] & LOW) + (from[i] & LOW),
                       high = (into[i] >> 4) + (from[i] >> 4);
        into[i] = (uint8_t)((low < LOW ? low : LOW) | (high < LOW ? high : LOW) << 4);
    }
}

/* From the end: `out` may be one byte behind `less`. */
bool counting_subtract(const uint8_t *from, const uint8_t *less, uint8_t *out, uint64_t bytes)
{
    bool enough = true;
    for (uint64_t i = bytes; i-- > 0;) {
        const uint32_t low = from[i] & LOW, high = from[i] >> 4;
        const uint32_t less_low = less[i] & LOW, less_high = less[i] >> 4;
        enough = enough && (low == LOW || less_low <= low) && (high == LOW || less_high <= high);
        out[i] = (uint8_t)((low == LOW ? LOW : (low - less_low) & LOW) |
                           (high == LOW ? LOW : (high - less_high) & LOW) << 4);
    }
    return enough;
}

void counting_intersect(uint8_t *into, const uint8_t *from, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++) {
        const uint32_t a = into[i], b = from[i];
        const uint32_t low = (a & LOW) < (b & LOW) ? a & LOW : b & LOW;
        into[i] = (uint8_t)(low | (a >> 4 < b >> 4 ? a >> 4 : b >> 4) << 4);
    }
}

uint64_t counting_count_nonzero(const uint8_t *a, const uint8_t *b, uint64_t bytes)
{
    uint64_t used = 0;
    for (uint64_t i = 0; i < bytes; i++) {
        const uint32_t both = b != NULL ? a[i] | b[i] : a[i];
        used += ((both & LOW) != 0) + (uint64_t)(both >> 4 != 0);
    }
    return used;
}

/* An index that is there more than once needs as much of its counter. */
static bool counter_covers_index(const uint8_t *bits, const uint64_t *indexes, uint32_t at)
{
    const uint32_t count = counting_get(bits, indexes[at]);
    uint32_t need = 1;
    for (uint32_t i = 0; i < at; i++) need += indexes[i] == indexes[at];
    return count == COUNTING_MAX || count >= need;
}

bool counting_remove(uint8_t *bits, const uint64_t *indexes, uint32_t k)
{
    assert(k > 0 && k <= BLOOM_K_MAX);
    for (uint32_t i = 0; i < k; i++)
        if (!counter_covers_index(bits, indexes, i)) return false;
    for (uint32_t i = 0; i < k; i++)
        if (counting_get(bits, indexes[i]) < COUNTING_MAX)
            bits[indexes[i] / 2] =
                (uint8_t)(bits[indexes[i] / 2] - (1u << indexes[i] % 2 * COUNTING_BITS));
    return true;
}

enum bloom_result bloom_counting_to_classic(const struct bloom_filter *counting,
                                            struct bloom_filter *out)
{
    const struct bloom_params params = counting_classic_params(&counting->params);
    const enum bloom_result result = bloom_init(out, &params);
    for (uint64_t i = 0; result == BLOOM_OK && i < params.m; i++)
        out->bits[i / 8] |= (uint8_t)((counting_get(counting->bits, i) > 0) << i % 8);
    return result;
}

/* ---- sets ---- */

/* The indexes of a group of rows, whose counters are then fetched at once. */
struct counted_rows {
    uint32_t k[BLOOM_GROUP];
    uint8_t *bits[BLOOM_GROUP];
    uint64_t index[BLOOM_GROUP][BLOOM_K_MAX];
};

static void hash_counted_rows(const struct bloom_set *set, const struct bloom_rows *rows,
                              uint32_t first, uint32_t count, struct counted_rows *out)
{
    assert(count <= BLOOM_GROUP);
    for (uint32_t r = 0; r < count; r++) {
        const uint32_t row = first + r;
        const struct bloom_filter filter = bloom_set_filter(set, rows->filter[row]);
        bloom_compute_indexes(&filter.params, rows->base + rows->start[row],
                              rows->end[row] - rows->start[row], out->index[r]);
        out->k[r] = filter.params.k;
        out->bits[r] = filter.bits;
        for (uint32_t i = 0; !set->table->small && i < filter.params.k; i++)
            __builtin_prefetch(filter.bits + out->index[r][i] / 2);
    }
}

/* No group waits in the adder's ring. */
static void add_counted_rows(struct bloom_adder *adder, const struct bloom_rows *rows)
{
    struct counted_rows group;
    for (uint32_t first = 0; first < rows->rows; first += BLOOM_GROUP) {
        const uint32_t left = rows->rows - first, count = left < BLOOM_GROUP ? left : BLOOM_GROUP;
        hash_counted_rows(adder->set, rows, first, count, &group);
        for (uint32_t r = 0; r < count; r++)
            for (uint32_t i = 0; i < group.k[r]; i++)
                counting_increment(group.bits[r], group.index[r][i]);
    }
}

static void find_counted_rows(const struct bloom_set *set, const struct bloom_rows *rows,
                              uint8_t *out_hit)
{
    struct counted_rows group;
    for (uint32_t first = 0; first < rows->rows; first += BLOOM_GROUP) {
        const uint32_t left = rows->rows - first, count = left < BLOOM_GROUP ? left : BLOOM_GROUP;
        hash_counted_rows(set, rows, first, count, &group);
        for (uint32_t r = 0; r < count; r++) {
            bool found = true;
            for (uint32_t i = 0; found && i < group.k[r]; i++)
                found = counting_get(group.bits[r], group.index[r][i]) > 0;
            out_hit[first + r] = found;
        }
    }
}

/* A filter with fewer hashes than others repeats its first one. */
static void index_counted_rows(const struct bloom_set *set, const struct bloom_rows *rows,
                               uint32_t *out_indexes)
{
    uint64_t indexes[BLOOM_K_MAX];
    for (uint32_t row = 0; row < rows->rows; row++) {
        const struct bloom_filter filter = bloom_set_filter(set, rows->filter[row]);
        bloom_compute_indexes(&filter.params, rows->base + rows->start[row],
                              rows->end[row] - rows->start[row], indexes);
        for (uint32_t i = 0; i < set->k; i++)
            out_indexes[(uint64_t)row * set->k + i] =
                (uint32_t)indexes[i < filter.params.k ? i : 0];
    }
}

const struct bloom_kernel bloom_kernel_counting = {
    .add = add_counted_rows, .contains = find_counted_rows, .indexes = index_counted_rows};
