/* See random_rows.h. The driver computes the bounds, from the cumulative distribution, and sends
 * them: executors only compare integers, so that the sample does not depend on their libm. */
#include "ops/random_rows.h"

#include "engine/base/endian.h"

#include <assert.h>
#include <math.h>

#define BOUND_BYTES 8
/* Of the Poisson distribution with mean SAMPLE_FRACTION_MAX nearly all is below this. */
#define BOUNDS_MAX 2000u

bool multiplicity_fraction_is_valid(double fraction, bool with_replacement)
{
    return fraction >= 0 && fraction <= (with_replacement ? SAMPLE_FRACTION_MAX : 1);
}

/* A share of all numbers is below the bound. Returns false for shares of about 1. */
static bool random_bound_of_share(long double share, uint64_t *out)
{
    const long double scaled = ldexpl(share, 64);
    if (scaled >= 18446744073709551615.0L) return false;
    *out = (uint64_t)scaled;
    return true;
}

void multiplicity_pack(struct packer *p, double fraction, bool with_replacement)
{
    uint8_t bytes[BOUNDS_MAX * BOUND_BYTES];
    uint32_t count = 0;
    uint64_t bound;
    assert(multiplicity_fraction_is_valid(fraction, with_replacement));
    if (!with_replacement) {
        /* Once, if the number is not below the share that is left out. */
        if (fraction > 0 && random_bound_of_share(1 - (long double)fraction, &bound))
            put_le64(bytes + BOUND_BYTES * count++, bound);
    } else if (fraction > 0) {
        /* P(X <= k) is the bound from which a row is there more than k times. */
        const long double mean = fraction, log_mean = logl(mean);
        long double below = 0;
        for (uint32_t k = 0; k < BOUNDS_MAX; k++) {
            below += expl(k * log_mean - mean - lgammal(k + 1.0L));
            if (!random_bound_of_share(below, &bound)) break;
            put_le64(bytes + BOUND_BYTES * count++, bound);
        }
    }
    pack_bytes(p, (struct glint_slice){bytes, (uint64_t)count * BOUND_BYTES});
}

bool multiplicity_unpack(struct unpacker *u, struct multiplicity *out)
{
    const struct glint_slice bounds = unpack_bytes(u);
    if (u->failed || bounds.size % BOUND_BYTES != 0 || bounds.size / BOUND_BYTES > BOUNDS_MAX)
        return false;
    *out = (struct multiplicity){bounds.data, (uint32_t)(bounds.size / BOUND_BYTES)};
    return true;
}

uint32_t multiplicity_of_random(const struct multiplicity *m, uint64_t random)
{
    uint32_t low = 0, high = m->count; /* the bounds before `low` are not above the number */
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (get_le64(m->bounds + (uint64_t)middle * BOUND_BYTES) <= random)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum flow repeated_rows_add(struct repeated_rows *r, const struct glint_batch *batch, uint32_t row,
                            uint32_t times, struct glint_emitter *out)
{
    assert(row < batch->rows && r->count < BATCH_ROWS_MAX);
    for (uint32_t i = 0; i < times && out->flow == FLOW_MORE; i++) {
        r->rows[r->count++] = (uint16_t)row;
        if (r->count == BATCH_ROWS_MAX) repeated_rows_flush(r, batch, out);
    }
    return out->flow;
}

enum flow repeated_rows_flush(struct repeated_rows *r, const struct glint_batch *batch,
                              struct glint_emitter *out)
{
    const uint32_t count = r->count;
    r->count = 0;
    if (batch->rows == 1) { /* which may be too large for a batch of several rows */
        for (uint32_t i = 0; i < count; i++) glint_emit_batch(out, batch);
        return out->flow;
    }
    struct glint_batch some = *batch;
    some.rows = count;
    some.key = selection_copy_column(&r->selection.key, &batch->key, r->rows, count);
    some.value = selection_copy_column(&r->selection.value, &batch->value, r->rows, count);
    glint_emit_batch(out, &some);
    return out->flow;
}
