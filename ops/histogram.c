/* histogram: counts numbers by buckets. A bucket contains its lower bound, the last one its upper
 * bound, too; values outside all buckets, and NaN, are not counted. */
#include "engine/base/endian.h"
#include "engine/batch.h"
#include "engine/data/codec.h"
#include "engine/data/pack.h"
#include "ops/ops.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define NUMBER_BYTES 8

struct histogram_state {
    struct glint_task *task;
    enum glint_type type;
    uint32_t buckets;
    double *bounds;   /* buckets + 1 */
    uint64_t *counts; /* buckets */
};

static int histogram_open(void *state, const struct op_open *o)
{
    struct histogram_state *s = state;
    s->task = o->task;
    s->type = o->in.value;
    struct unpacker u = unpack_begin(o->params);
    const struct glint_slice bounds = unpack_bytes(&u);
    const uint64_t count = bounds.size / NUMBER_BYTES;
    if (!unpack_is_complete(&u) || bounds.size % NUMBER_BYTES != 0 || count < 2 ||
        count > HISTOGRAM_BUCKETS_MAX + 1)
        return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL,
                         "cannot decode the bounds of a histogram");
    s->buckets = (uint32_t)count - 1;
    s->bounds = task_alloc(s->task, count * sizeof *s->bounds);
    s->counts = task_alloc(s->task, s->buckets * sizeof *s->counts);
    if (s->bounds == NULL || s->counts == NULL) return s->task->error.code;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t bits = get_le64(bounds.data + NUMBER_BYTES * i);
        memcpy(&s->bounds[i], &bits, sizeof bits);
    }
    memset(s->counts, 0, s->buckets * sizeof *s->counts);
    return 0;
}

/* Returns the bucket of a value that is in one: that of the last bound which is not above it. */
static uint32_t find_bucket(const struct histogram_state *s, double v)
{
    uint32_t low = 0, high = s->buckets;
    assert(v >= s->bounds[0] && v <= s->bounds[s->buckets]);
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (v >= s->bounds[middle])
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
    for (uint32_t row = 0; row < batch->rows; row++) {
        const double v =
            s->type == GLINT_I64 ? (double)batch->value.i64[row] : batch->value.f64[row];
        if (v >= s->bounds[0] && v <= s->bounds[s->buckets]) s->counts[find_bucket(s, v)]++;
    }
    return FLOW_MORE;
}

static int histogram_result(void *state, struct buffer *out)
{
    struct histogram_state *s = state;
    if (!buffer_reserve(out, (uint64_t)s->buckets * NUMBER_BYTES))
        return error_no_memory(&s->task->error);
    for (uint32_t i = 0; i < s->buckets; i++, out->size += NUMBER_BYTES)
        put_le64(out->data + out->size, s->counts[i]);
    return 0;
}

const struct op op_histogram = {.name = "histogram",
                                .kind = OP_ACTION,
                                .state_size = sizeof(struct histogram_state),
                                .open = histogram_open,
                                .push = histogram_push,
                                .result = histogram_result};

/* ---- Driver side */

struct counting_buckets {
    struct glint *g;
    uint32_t buckets;
    int64_t *counts;
};

static int histogram_on_result(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    struct counting_buckets *c = arg;
    if (result.size != (uint64_t)c->buckets * NUMBER_BYTES)
        return result_set_malformed(c->g, &op_histogram);
    for (uint32_t i = 0; i < c->buckets; i++) {
        const uint64_t more = get_le64(result.data + (uint64_t)i * NUMBER_BYTES);
        if (more > (uint64_t)(INT64_MAX - c->counts[i]))
            return result_set_malformed(c->g, &op_histogram);
        c->counts[i] += (int64_t)more;
    }
    return 0;
}

static int check_buckets(struct glint_rdd *rdd, uint32_t buckets)
{
    if (rdd->schema.value != GLINT_I64 && rdd->schema.value != GLINT_F64)
        rdd_fail(rdd, GLINT_E_PLAN_TYPE, "histogram needs numbers, but the values are %s",
                 codec_type_name(rdd->schema.value));
    if (buckets == 0 || buckets > HISTOGRAM_BUCKETS_MAX)
        error_set(&rdd->g->error, GLINT_E_BAD_VALUE, NULL,
                  "histogram: %u buckets; there must be 1 to %u", buckets, HISTOGRAM_BUCKETS_MAX);
    return rdd->g->error.code;
}

/* A single bucket may have equal bounds: of an RDD whose values are all equal. */
static int check_bounds(struct glint *g, const double *bounds, uint32_t buckets)
{
    bool ascend = !isnan(bounds[0]);
    for (uint32_t i = 0; i < buckets; i++)
        ascend = ascend && (bounds[i] < bounds[i + 1] || (buckets == 1 && bounds[0] == bounds[1]));
    if (ascend) return 0;
    return error_set(&g->error, GLINT_E_BAD_VALUE, "sort the bounds and remove duplicates",
                     "histogram: the bounds of the %u buckets do not ascend", buckets);
}

int glint_histogram(struct glint_rdd *rdd, const double *bounds, uint32_t buckets,
                    int64_t *out_counts)
{
    memset(out_counts, 0, buckets * sizeof *out_counts);
    if (rdd == NULL) return rdd_null_error("histogram");
    struct glint *g = rdd->g;
    if (check_buckets(rdd, buckets) != 0 || check_bounds(g, bounds, buckets) != 0)
        return g->error.code;
    uint8_t *bytes = mem_alloc((uint64_t)(buckets + 1) * NUMBER_BYTES);
    if (bytes == NULL) return error_no_memory(&g->error);
    for (uint32_t i = 0; i <= buckets; i++) {
        uint64_t bits;
        memcpy(&bits, &bounds[i], sizeof bits);
        put_le64(bytes + (uint64_t)i * NUMBER_BYTES, bits);
    }
    struct packer p = {.failed = false};
    pack_array(&p, 1);
    pack_bytes(&p, (struct glint_slice){bytes, (uint64_t)(buckets + 1) * NUMBER_BYTES});
    mem_free(bytes);
    struct counting_buckets c = {g, buckets, out_counts};
    const struct action a = {.op = &op_histogram,
                             .rdd = rdd,
                             .params = {p.out.data, p.out.size},
                             .on_result = histogram_on_result,
                             .arg = &c};
    const int r = p.failed ? error_no_memory(&g->error) : action_run(&a);
    packer_fini(&p);
    return r;
}

int glint_histogram_bounds(struct glint_rdd *rdd, uint32_t *buckets, double *out_bounds)
{
    if (rdd == NULL) return rdd_null_error("histogram");
    struct glint_stats stats;
    if (check_buckets(rdd, *buckets) != 0 || glint_stats(rdd, &stats) != 0)
        return rdd->g->error.code;
    if (stats.count == 0)
        return glint_abort(rdd->g, GLINT_E_EMPTY_COLLECTION, "check isEmpty first",
                           "histogram of an empty RDD");
    const double width = stats.max - stats.min;
    if (!isfinite(width))
        return error_set(&rdd->g->error, GLINT_E_BAD_VALUE,
                         "give the bounds, or remove the values that are not finite",
                         "histogram: the values are from %g to %g", stats.min, stats.max);
    if (width == 0) *buckets = 1;
    for (uint32_t i = 0; i < *buckets; i++)
        out_bounds[i] = stats.min + (double)i * (width / *buckets);
    out_bounds[*buckets] = stats.max;
    return 0;
}
