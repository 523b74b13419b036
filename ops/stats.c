/* stats: count, mean, variance, least and greatest of numbers in one pass, as Spark's StatCounter.
 *
 * Each partition updates the mean and the sum of squared deviations from it by every value
 * (Welford 1962). The driver merges the partitions, in their order, by the formulas of Chan, Golub
 * and LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances" (1979).
 * So no large sums of squares cancel each other. */
#include "engine/batch.h"
#include "engine/records/codec.h"
#include "engine/records/pack.h"
#include "ops/ops.h"

#include <math.h>

struct moments {
    uint64_t count;
    double mean, squares, min, max; /* `squares`: the sum of squared deviations from the mean */
};

static void moments_add(struct moments *m, double v)
{
    const double from_mean = v - m->mean;
    m->count++;
    m->mean += from_mean / (double)m->count;
    m->squares += from_mean * (v - m->mean);
    /* Once NaN, always NaN. */
    if (v < m->min || isnan(v)) m->min = v;
    if (v > m->max || isnan(v)) m->max = v;
}

static void moments_merge(struct moments *m, const struct moments *more)
{
    if (more->count == 0) return;
    if (m->count == 0) {
        *m = *more;
        return;
    }
    const double a = (double)m->count, b = (double)more->count, distance = more->mean - m->mean;
    /* Weights of similar size are averaged; a small one is a correction of the large one's mean. */
    if (b * 10 < a)
        m->mean += distance * b / (a + b);
    else if (a * 10 < b)
        m->mean = more->mean - distance * a / (a + b);
    else
        m->mean = (m->mean * a + more->mean * b) / (a + b);
    m->squares += more->squares + distance * distance * a * b / (a + b);
    m->count += more->count;
    if (more->min < m->min || isnan(more->min)) m->min = more->min;
    if (more->max > m->max || isnan(more->max)) m->max = more->max;
}

struct stats_state {
    struct glint_task *task;
    enum glint_type type;
    struct moments moments;
};

static int stats_open(void *state, const struct op_open *o)
{
    struct stats_state *s = state;
    s->task = o->task;
    s->type = o->in.value;
    s->moments = (struct moments){.min = INFINITY, .max = -INFINITY};
    return 0;
}

static enum flow stats_push(void *state, const struct glint_batch *batch, struct glint_emitter *out)
{
    (void)out;
    struct stats_state *s = state;
    for (uint32_t row = 0; row < batch->rows; row++)
        moments_add(&s->moments,
                    s->type == GLINT_I64 ? (double)batch->value.i64[row] : batch->value.f64[row]);
    return FLOW_MORE;
}

static int stats_result(void *state, struct buffer *out)
{
    struct stats_state *s = state;
    struct packer p = {.failed = false};
    pack_array(&p, 5);
    pack_u64(&p, s->moments.count);
    pack_f64(&p, s->moments.mean);
    pack_f64(&p, s->moments.squares);
    pack_f64(&p, s->moments.min);
    pack_f64(&p, s->moments.max);
    const bool ok = !p.failed && buffer_append(out, p.out.data, p.out.size);
    packer_fini(&p);
    return ok ? 0 : error_no_memory(&s->task->error);
}

const struct op op_stats = {.name = "stats",
                            .kind = OP_ACTION,
                            .state_size = sizeof(struct stats_state),
                            .open = stats_open,
                            .push = stats_push,
                            .result = stats_result};

/* ---- Driver side */

struct measuring {
    struct glint *g;
    struct moments moments;
};

static int stats_on_result(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    struct measuring *a = arg;
    struct unpacker u = unpack_begin(result);
    struct moments part = {.count = unpack_u64(&u, INT64_MAX)};
    part.mean = unpack_f64(&u);
    part.squares = unpack_f64(&u);
    part.min = unpack_f64(&u);
    part.max = unpack_f64(&u);
    if (!unpack_is_complete(&u) || part.count > INT64_MAX - a->moments.count)
        return set_malformed_result_error(a->g, &op_stats);
    moments_merge(&a->moments, &part);
    return 0;
}

int glint_stats(struct glint_rdd *rdd, struct glint_stats *out)
{
    *out = (struct glint_stats){.count = 0};
    if (rdd == NULL) return rdd_null_error("stats");
    if (rdd->schema.value != GLINT_I64 && rdd->schema.value != GLINT_F64)
        rdd_fail(rdd, GLINT_E_PLAN_TYPE, "stats needs numbers, but the values are %s",
                 codec_type_name(rdd->schema.value));
    struct measuring m = {rdd->g, {.min = INFINITY, .max = -INFINITY}};
    const struct action a = {.op = &op_stats, .rdd = rdd, .on_result = stats_on_result, .arg = &m};
    const int r = run_action_of_rdd(&a);
    if (r != 0) return r;
    const double n = (double)m.moments.count;
    *out = (struct glint_stats){.count = (int64_t)m.moments.count,
                                .mean = m.moments.mean,
                                .sum = m.moments.mean * n,
                                .min = m.moments.min,
                                .max = m.moments.max,
                                .variance = NAN,
                                .sample_variance = NAN};
    if (m.moments.count > 0) out->variance = m.moments.squares / n;
    if (m.moments.count > 1) out->sample_variance = m.moments.squares / (n - 1);
    out->stdev = sqrt(out->variance);
    out->sample_stdev = sqrt(out->sample_variance);
    return 0;
}
