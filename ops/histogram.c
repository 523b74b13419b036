/* histogram: counts numbers by buckets. A bucket contains its lower bound, the last one its upper
 * bound, too; values outside all buckets, and NaN, are not counted.
 *
 * Numbers are compared exactly, as places: integers in the order of the values. Even buckets are
 * those of PySpark, which divides a value's distance from the least one by the width: since the
 * quotient does not descend, the driver finds the place where each bucket begins. */
#include "engine/base/endian.h"
#include "engine/batch.h"
#include "engine/records/codec.h"
#include "engine/records/pack.h"
#include "ops/ops.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef __int128 place; /* of more values than there are: those before and after all of them */

/* NaN has no place. -0.0 is 0.0. */
static int64_t ordered_i64_of_f64(double v)
{
    const double zero_is_positive = v + 0.0;
    int64_t bits;
    memcpy(&bits, &zero_is_positive, sizeof bits);
    return bits >= 0 ? bits : bits ^ INT64_MAX;
}

static double f64_of_ordered_i64(int64_t at)
{
    const int64_t bits = at >= 0 ? at : at ^ INT64_MAX;
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Returns false if it has none. */
static inline bool ordered_i64_of_row(enum glint_type type, const struct glint_column *values,
                                      uint32_t row, int64_t *out)
{
    if (type == GLINT_I64) {
        *out = values->i64[row];
        return true;
    }
    *out = ordered_i64_of_f64(values->f64[row]);
    return !isnan(values->f64[row]);
}

/* ---- Counts */

struct histogram_state {
    struct glint_task *task;
    enum glint_type type;
    uint32_t buckets;
    place *bounds; /* buckets + 1; bucket i has the places from bounds[i] to before bounds[i + 1] */
    uint64_t *counts; /* buckets */
};

static int histogram_open(void *state, const struct op_open *o)
{
    struct histogram_state *s = state;
    s->task = o->task;
    s->type = o->in.value;
    struct unpacker u = unpack_begin(o->params);
    const struct glint_slice bounds = unpack_bytes(&u);
    const uint64_t count = bounds.size / sizeof *s->bounds;
    if (!unpack_is_complete(&u) || bounds.size % sizeof *s->bounds != 0 || count < 2 ||
        count > HISTOGRAM_BUCKETS_MAX + 1)
        return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL,
                         "cannot decode the bounds of a histogram");
    s->buckets = (uint32_t)count - 1;
    s->bounds = task_alloc(s->task, bounds.size);
    s->counts = task_alloc(s->task, s->buckets * sizeof *s->counts);
    if (s->bounds == NULL || s->counts == NULL) return s->task->error.code;
    memcpy(s->bounds, bounds.data, bounds.size);
    memset(s->counts, 0, s->buckets * sizeof *s->counts);
    return 0;
}

/* Returns the bucket of a place that is in one: that of the last bound which is not above it. */
static uint32_t find_bucket_of_value(const struct histogram_state *s, int64_t at)
{
    uint32_t low = 0, high = s->buckets;
    assert(at >= s->bounds[0] && at < s->bounds[s->buckets]);
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (at >= s->bounds[middle])
            low = middle;
        else
            high = middle;
    }
    return low;
}

static enum flow histogram_push(void *state, const struct glint_batch *batch,
                                struct glint_emitter *out)
{
    (void)out;
    struct histogram_state *s = state;
    int64_t at;
    for (uint32_t row = 0; row < batch->rows; row++)
        if (ordered_i64_of_row(s->type, &batch->value, row, &at) && at >= s->bounds[0] &&
            at < s->bounds[s->buckets])
            s->counts[find_bucket_of_value(s, at)]++;
    return FLOW_MORE;
}

static int histogram_result(void *state, struct buffer *out)
{
    struct histogram_state *s = state;
    if (!buffer_reserve(out, s->buckets * sizeof *s->counts))
        return error_no_memory(&s->task->error);
    for (uint32_t i = 0; i < s->buckets; i++, out->size += sizeof *s->counts)
        put_le64(out->data + out->size, s->counts[i]);
    return 0;
}

const struct op op_histogram = {.name = "histogram",
                                .kind = OP_ACTION,
                                .state_size = sizeof(struct histogram_state),
                                .open = histogram_open,
                                .push = histogram_push,
                                .result = histogram_result};

/* ---- Limits */

struct limits {
    int64_t least, greatest; /* least > greatest: no value has a place */
};

#define LIMITS_OF_NONE                                                                             \
    {                                                                                              \
        INT64_MAX, INT64_MIN                                                                       \
    }

struct limits_state {
    struct glint_task *task;
    enum glint_type type;
    struct limits limits;
};

static int min_max_open(void *state, const struct op_open *o)
{
    struct limits_state *s = state;
    *s = (struct limits_state){o->task, o->in.value, LIMITS_OF_NONE};
    return 0;
}

static void min_max_extend(struct limits *l, int64_t least, int64_t greatest)
{
    if (least < l->least) l->least = least;
    if (greatest > l->greatest) l->greatest = greatest;
}

static enum flow min_max_push(void *state, const struct glint_batch *batch,
                              struct glint_emitter *out)
{
    (void)out;
    struct limits_state *s = state;
    int64_t at;
    for (uint32_t row = 0; row < batch->rows; row++)
        if (ordered_i64_of_row(s->type, &batch->value, row, &at))
            min_max_extend(&s->limits, at, at);
    return FLOW_MORE;
}

static int min_max_result(void *state, struct buffer *out)
{
    struct limits_state *s = state;
    if (buffer_append(out, &s->limits, sizeof s->limits)) return 0;
    return error_no_memory(&s->task->error);
}

const struct op op_limits = {.name = "limits",
                             .kind = OP_ACTION,
                             .state_size = sizeof(struct limits_state),
                             .open = min_max_open,
                             .push = min_max_push,
                             .result = min_max_result};

/* ---- Driver side */

struct limiting {
    struct glint *g;
    struct limits limits;
};

static int min_max_on_result(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    struct limiting *l = arg;
    struct limits part;
    if (result.size != sizeof part) return set_malformed_result_error(l->g, &op_limits);
    memcpy(&part, result.data, sizeof part);
    min_max_extend(&l->limits, part.least, part.greatest);
    return 0;
}

struct counting_buckets {
    struct glint *g;
    uint32_t buckets;
    int64_t *counts;
};

static int histogram_on_result(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    struct counting_buckets *c = arg;
    if (result.size != c->buckets * sizeof *c->counts)
        return set_malformed_result_error(c->g, &op_histogram);
    for (uint32_t i = 0; i < c->buckets; i++) {
        const uint64_t more = get_le64(result.data + i * sizeof *c->counts);
        if (more > (uint64_t)(INT64_MAX - c->counts[i]))
            return set_malformed_result_error(c->g, &op_histogram);
        c->counts[i] += (int64_t)more;
    }
    return 0;
}

static int check_bucket_count(struct glint_rdd *rdd, uint32_t buckets)
{
    if (rdd->schema.value != GLINT_I64 && rdd->schema.value != GLINT_F64)
        rdd_fail(rdd, GLINT_E_PLAN_TYPE, "histogram needs numbers, but the values are %s",
                 codec_type_name(rdd->schema.value));
    if (buckets == 0 || buckets > HISTOGRAM_BUCKETS_MAX)
        error_set(&rdd->g->error, GLINT_E_BAD_VALUE, NULL,
                  "histogram: %u buckets; there must be 1 to %u", buckets, HISTOGRAM_BUCKETS_MAX);
    return rdd->g->error.code;
}

/* Returns the context's code. */
static int count_values_per_bucket(struct glint_rdd *rdd, const place *bounds, uint32_t buckets,
                                   int64_t *out_counts)
{
    struct packer p = {.failed = false};
    pack_array(&p, 1);
    pack_bytes(&p, (struct glint_slice){(const uint8_t *)bounds, (buckets + 1) * sizeof *bounds});
    struct counting_buckets c = {rdd->g, buckets, out_counts};
    struct action a = {
        .op = &op_histogram, .rdd = rdd, .on_result = histogram_on_result, .arg = &c};
    const int r = run_packed_action(&a, &p);
    return r;
}

/* A single bucket may have equal bounds: of an RDD whose values are all equal. */
static int check_bucket_bounds(struct glint *g, const double *bounds, uint32_t buckets)
{
    bool ascend = !isnan(bounds[0]);
    for (uint32_t i = 0; i < buckets; i++)
        ascend = ascend && (bounds[i] < bounds[i + 1] || (buckets == 1 && bounds[0] == bounds[1]));
    if (ascend) return 0;
    return error_set(&g->error, GLINT_E_BAD_VALUE, "sort the bounds and remove duplicates",
                     "histogram: the bounds of the %u buckets do not ascend", buckets);
}

/* The first place that is not below the bound. */
static place ordered_i64_of_bound(enum glint_type type, double bound)
{
    if (type == GLINT_F64) return ordered_i64_of_f64(bound);
    return (place)ceil(fmax(-0x1p64, fmin(bound, 0x1p64)));
}

int glint_histogram(struct glint_rdd *rdd, const double *bounds, uint32_t buckets,
                    int64_t *out_counts)
{
    memset(out_counts, 0, buckets * sizeof *out_counts);
    if (rdd == NULL) return rdd_null_error("histogram");
    struct glint *g = rdd->g;
    const enum glint_type type = rdd->schema.value;
    if (check_bucket_count(rdd, buckets) != 0 || check_bucket_bounds(g, bounds, buckets) != 0)
        return g->error.code;
    place *places = mem_alloc((buckets + 1) * sizeof *places);
    if (places == NULL) return error_no_memory(&g->error);
    for (uint32_t i = 0; i <= buckets; i++) places[i] = ordered_i64_of_bound(type, bounds[i]);
    const double last = bounds[buckets];
    if (type == GLINT_F64 || last == floor(last)) places[buckets]++; /* includes it */
    const int r = count_values_per_bucket(rdd, places, buckets, out_counts);
    mem_free(places);
    return r;
}

/* ---- Buckets of equal width */

struct even {
    enum glint_type type;
    struct limits limits;
    uint64_t whole_width; /* of i64, if it is a whole number that a double has; or else 0 */
    double width;
};

static struct even make_even_buckets(enum glint_type type, struct limits l, uint32_t buckets)
{
    struct even e = {type, l, 0, 0};
    assert(buckets > 0 && l.least <= l.greatest);
    if (type == GLINT_F64) {
        e.width = (f64_of_ordered_i64(l.greatest) - f64_of_ordered_i64(l.least)) / buckets;
        return e;
    }
    const uint64_t range = (uint64_t)l.greatest - (uint64_t)l.least, width = range / buckets;
    if (buckets > 1 && range % buckets == 0 && (uint64_t)(double)width == width)
        e.whole_width = width;
    e.width = (double)range / buckets;
    return e;
}

/* Whether PySpark's (value - least) / width, in double precision, is at least `k` > 0. */
static bool value_reaches_bucket(const struct even *e, int64_t at, uint32_t k)
{
    assert(k > 0 && at >= e->limits.least && at <= e->limits.greatest);
    if (e->type == GLINT_F64)
        return (f64_of_ordered_i64(at) - f64_of_ordered_i64(e->limits.least)) / e->width >= k;
    const uint64_t distance = (uint64_t)at - (uint64_t)e->limits.least;
    if (e->whole_width == 0) return (double)distance / e->width >= k;
    /* The quotient of integers is rounded once: to k, from half a unit in the last place below. */
    const int shift = k == 1 ? 54 : 22 + __builtin_clz(k - 1);
    return (unsigned __int128)distance << shift >=
           (unsigned __int128)e->whole_width * (((uint64_t)k << shift) - 1);
}

/* Returns the first place from `from` on that reaches bucket `k`; one after the greatest: none. */
static place find_bucket_start(const struct even *e, place from, uint32_t k)
{
    place end = (place)e->limits.greatest + 1;
    while (from < end) {
        const place middle = from + (end - from) / 2;
        if (value_reaches_bucket(e, (int64_t)middle, k))
            end = middle;
        else
            from = middle + 1;
    }
    return from;
}

static struct glint_cell even_bucket_bound(const struct even *e, uint32_t i, uint32_t buckets)
{
    assert(i <= buckets);
    const bool last = i == buckets;
    if (e->type == GLINT_F64) {
        const double least = f64_of_ordered_i64(e->limits.least);
        const double v = last    ? f64_of_ordered_i64(e->limits.greatest)
                         : i > 0 ? i * e->width + least
                                 : least;
        return (struct glint_cell){GLINT_F64, {.f64 = v}};
    }
    const int64_t least = e->limits.least;
    const uint64_t whole = (uint64_t)least + i * e->whole_width;
    if (last) return (struct glint_cell){GLINT_I64, {.i64 = e->limits.greatest}};
    if (e->whole_width != 0 || buckets == 1)
        return (struct glint_cell){GLINT_I64, {.i64 = (int64_t)whole}};
    return (struct glint_cell){GLINT_F64, {.f64 = i * e->width + (double)least}};
}

/* Returns the context's code. */
static int find_min_and_max(struct glint_rdd *rdd, struct limits *out)
{
    struct limiting l = {rdd->g, LIMITS_OF_NONE};
    const struct action a = {
        .op = &op_limits, .rdd = rdd, .on_result = min_max_on_result, .arg = &l};
    if (run_action_of_rdd(&a) != 0) return rdd->g->error.code;
    *out = l.limits;
    if (out->least <= out->greatest) return 0;
    return glint_abort(rdd->g, GLINT_E_EMPTY_COLLECTION, "check isEmpty first",
                       "histogram of an empty RDD");
}

int glint_histogram_even(struct glint_rdd *rdd, uint32_t *buckets, struct glint_cell *out_bounds,
                         int64_t *out_counts)
{
    memset(out_counts, 0, *buckets * sizeof *out_counts);
    if (rdd == NULL) return rdd_null_error("histogram");
    struct glint *g = rdd->g;
    struct limits l = LIMITS_OF_NONE;
    if (check_bucket_count(rdd, *buckets) != 0 || find_min_and_max(rdd, &l) != 0)
        return g->error.code;
    if (l.least == l.greatest) *buckets = 1;
    const struct even e = make_even_buckets(rdd->schema.value, l, *buckets);
    if (*buckets > 1 && !isfinite(e.width))
        return error_set(&g->error, GLINT_E_BAD_VALUE,
                         "give the bounds, or remove the values that are not finite",
                         "histogram: the values are from %g to %g", f64_of_ordered_i64(l.least),
                         f64_of_ordered_i64(l.greatest));
    place *places = mem_alloc((*buckets + 1) * sizeof *places);
    if (places == NULL) return error_no_memory(&g->error);
    places[0] = l.least;
    for (uint32_t i = 1; i < *buckets; i++) places[i] = find_bucket_start(&e, places[i - 1], i);
    places[*buckets] = (place)l.greatest + 1;
    for (uint32_t i = 0; i <= *buckets; i++) out_bounds[i] = even_bucket_bound(&e, i, *buckets);
    const int r = count_values_per_bucket(rdd, places, *buckets, out_counts);
    mem_free(places);
    return r;
}
