/* randomSplit, keyByRandomSplit and sample: choose rows at random, by their random numbers
 * (ops/random_rows.h). A child keeps the rows whose number is in its range. The ranges of a split's
 * children are adjacent, so each row is in exactly one, and each child can be computed without the
 * others. keyByRandomSplit computes which range a row falls into. */
#include "engine/batch.h"
#include "engine/records/pack.h"
#include "ops/ops.h"
#include "ops/random_rows.h"
#include "ops/selection.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The random numbers from `first` on, `count` of them; a count of 2^64 does not fit and is
 * `all`. */
struct random_range {
    uint64_t first, count;
    bool all;
};

struct random_split_state {
    struct random_range range;
    uint64_t next; /* the next row's number before mixing */
    struct selection selection;
    uint16_t rows[BATCH_ROWS_MAX];
};

static int random_split_open(void *state, const struct op_open *o)
{
    struct random_split_state *s = state;
    struct unpacker u = unpack_begin(o->params);
    const uint64_t seed = unpack_u64(&u, UINT64_MAX);
    s->range.first = unpack_u64(&u, UINT64_MAX);
    s->range.count = unpack_u64(&u, UINT64_MAX);
    s->range.all = unpack_u64(&u, 1) != 0;
    s->next = random_rows_begin(seed, o->task->partition);
    return op_check_params(o, unpack_is_complete(&u), "the parameters of a sample");
}

/* Writes every row number and advances only for kept rows: no branch to mispredict. */
static uint32_t select_random_rows(struct random_split_state *s, uint32_t rows)
{
    const uint64_t first = s->range.first, size = s->range.count;
    uint64_t next = s->next;
    uint32_t count = 0;
    assert(rows <= BATCH_ROWS_MAX);
    for (uint32_t row = 0; row < rows; row++, next += RANDOM_ROW_STEP) {
        s->rows[count] = (uint16_t)row;
        /* Unsigned wrap-around checks both ends of the range in one comparison, without a
         * branch. */
        count += hash_mix(next) - first < size;
    }
    s->next = next;
    return count;
}

static enum flow random_split_push(void *state, const struct glint_batch *batch,
                                   struct glint_emitter *out)
{
    struct random_split_state *s = state;
    assert(!s->range.all || s->range.first == 0);
    /* No rows are dropped, so the batch can be passed on unchanged. */
    if (s->range.all) {
        glint_emit_batch(out, batch);
        return out->flow;
    }
    const uint32_t count = select_random_rows(s, batch->rows);
    return selection_emit(&s->selection, batch, s->rows, count, out);
}

/* ---- keyByRandomSplit: the child's number as the key */

struct random_key_state {
    uint64_t next;    /* the next row's number before mixing */
    uint64_t *bounds; /* the first number of each child except the first, ascending */
    uint32_t bound_count;
    int64_t keys[BATCH_ROWS_MAX];
};

static int random_key_open(void *state, const struct op_open *o)
{
    struct random_key_state *s = state;
    struct unpacker u = unpack_begin(o->params);
    s->next = random_rows_begin(unpack_u64(&u, UINT64_MAX), o->task->partition);
    struct unpacker bounds = unpack_array(&u);
    const bool fits = bounds.count <= UINT32_MAX;
    s->bounds = fits ? task_alloc(o->task, sizeof *s->bounds * (bounds.count + 1)) : NULL;
    while (s->bounds != NULL && s->bound_count < bounds.count)
        s->bounds[s->bound_count++] = unpack_u64(&bounds, UINT64_MAX);
    const bool whole = fits && unpack_is_complete(&bounds) && unpack_is_complete(&u);
    if (s->bounds == NULL || whole) return o->task->error.code;
    return error_set(&o->task->error, GLINT_E_PROTOCOL, NULL,
                     "cannot decode the parameters of a split");
}

static enum flow random_key_push(void *state, const struct glint_batch *batch,
                                 struct glint_emitter *out)
{
    struct random_key_state *s = state;
    assert(batch->rows <= BATCH_ROWS_MAX && batch->key.type == GLINT_NONE);
    uint64_t next = s->next;
    for (uint32_t row = 0; row < batch->rows; row++, next += RANDOM_ROW_STEP) {
        const uint64_t random = hash_mix(next);
        int64_t child = 0;
        for (uint32_t i = 0; i < s->bound_count; i++) child += random >= s->bounds[i];
        s->keys[row] = child;
    }
    s->next = next;
    struct glint_batch keyed = *batch;
    keyed.key = (struct glint_column){.type = GLINT_I64, .i64 = s->keys};
    glint_emit_batch(out, &keyed);
    return out->flow;
}

/* ---- Driver side */

/* Converts a share to a bound: a `share` of all numbers is below *out. Returns false for share 1,
 * whose bound, 2^64, does not fit. */
static bool random_bound_below_share(double share, uint64_t *out)
{
    *out = 0;
    if (share >= 1) return false;
    *out = (uint64_t)ldexp(share, 64); /* share <= 1 - 2^-53: fits */
    return true;
}

/* The range of numbers between two shares. */
static struct random_range random_range_of_shares(double from, double to)
{
    assert(from >= 0 && from <= to && to <= 1);
    struct random_range r = {.count = 0};
    uint64_t end;
    if (!random_bound_below_share(from, &r.first)) return r;
    const bool ends = random_bound_below_share(to, &end);
    r.count = end - r.first; /* up to share 1 this wraps around to 2^64 - first, as intended */
    r.all = !ends && r.first == 0;
    return r;
}

static struct glint_rdd *random_range_rdd(struct glint_rdd *rdd, const struct op *op, uint64_t seed,
                                          struct random_range range)
{
    struct packer p = {.failed = false};
    pack_array(&p, 4);
    pack_u64(&p, seed);
    pack_u64(&p, range.first);
    pack_u64(&p, range.count);
    pack_u64(&p, range.all);
    struct rdd_spec spec = {.op = op,
                            .parents = {rdd},
                            .schema = rdd->schema,
                            .grouped = rdd->grouped,
                            .key_partitioned = rdd->key_partitioned};
    return rdd_create_packed(rdd->g, &spec, &p);
}

struct glint_rdd *glint_sample(struct glint_rdd *rdd, double fraction, uint64_t seed)
{
    if (rdd == NULL) return rdd_fail_null("sample");
    if (!(fraction >= 0 && fraction <= 1)) {
        error_set(&rdd->g->error, GLINT_E_BAD_VALUE, "use a fraction from 0 to 1",
                  "sample: a fraction of %g", fraction);
        return NULL;
    }
    return random_range_rdd(rdd, &op_sample, seed, random_range_of_shares(0, fraction));
}

/* Returns the sum of the weights, or -1 with the error set if they are not valid. */
static double sum_valid_weights(struct glint *g, const double *weights, uint32_t count,
                                const char *call)
{
    double sum = 0;
    for (uint32_t i = 0; i < count && sum >= 0; i++) sum = weights[i] >= 0 ? sum + weights[i] : -1;
    if (sum > 0 && isfinite(sum)) return sum;
    error_set(&g->error, GLINT_E_BAD_VALUE,
              "use finite weights, none negative, at least one positive",
              "%s: the %u weights are not valid", call, count);
    return -1;
}

void glint_random_split(struct glint_rdd *rdd, const double *weights, uint32_t count, uint64_t seed,
                        struct glint_rdd **out)
{
    for (uint32_t i = 0; i < count; i++) out[i] = NULL;
    if (rdd == NULL) {
        rdd_null_error("randomSplit");
        return;
    }
    const double sum = sum_valid_weights(rdd->g, weights, count, "randomSplit");
    if (sum < 0) return;
    double before = 0, from = 0;
    for (uint32_t i = 0; i < count; i++) {
        before += weights[i];
        /* Computed in the same order as `sum`, so the last child ends at exactly 1. */
        const double to = before / sum;
        out[i] = random_range_rdd(rdd, &op_random_split, seed, random_range_of_shares(from, to));
        from = to;
    }
    assert(from == 1);
}

struct glint_rdd *glint_key_by_random_split(struct glint_rdd *rdd, const double *weights,
                                            uint32_t count, uint64_t seed)
{
    if (rdd == NULL) return rdd_fail_null("keyByRandomSplit");
    const double sum = sum_valid_weights(rdd->g, weights, count, "keyByRandomSplit");
    if (sum < 0) return NULL;
    if (rdd_is_pair(rdd))
        return rdd_fail(rdd, GLINT_E_PLAN_TYPE,
                        "keyByRandomSplit needs single elements, not pairs");
    uint32_t bounds = 0;
    uint64_t bound;
    double before = 0;
    for (uint32_t i = 0; i + 1 < count; i++) {
        before += weights[i];
        /* Bounds at share 1 do not exist: children after them get no records. */
        bounds += random_bound_below_share(before / sum, &bound);
    }
    struct packer p = {.failed = false};
    pack_array(&p, 2);
    pack_u64(&p, seed);
    pack_array(&p, bounds);
    before = 0;
    for (uint32_t i = 0; i < bounds; i++) {
        before += weights[i];
        random_bound_below_share(before / sum, &bound);
        pack_u64(&p, bound);
    }
    const struct rdd_spec spec = {
        .op = &op_key_by_random_split, .parents = {rdd}, .schema = {GLINT_I64, rdd->schema.value}};
    return rdd_create_packed(rdd->g, &spec, &p);
}

#define SPLIT_OP(op_name)                                                                          \
    {                                                                                              \
        .name = op_name, .kind = OP_NARROW, .state_size = sizeof(struct random_split_state),       \
        .open = random_split_open, .push = random_split_push                                       \
    }

const struct op op_random_split = SPLIT_OP("randomSplit");
const struct op op_sample = SPLIT_OP("sample");
const struct op op_key_by_random_split = {.name = "keyByRandomSplit",
                                          .kind = OP_NARROW,
                                          .state_size = sizeof(struct random_key_state),
                                          .open = random_key_open,
                                          .push = random_key_push};
