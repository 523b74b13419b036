/* take, first and isEmpty: return the first records, reading only as many partitions as needed.
 *
 * As in Spark, the first scan reads one partition. Each later scan reads 1.5 times as many as the
 * records found so far predict, but at most four times those scanned already, or exactly that many
 * if nothing was found. A scan always runs to its end, so that counters do not depend on timing. */
#include "engine/batch.h"
#include "engine/records/pack.h"
#include "ops/ops.h"

#include <assert.h>

#define SCALE_UP 4u /* Spark's spark.rdd.limit.scaleUpFactor */

struct take_state {
    struct result_rows_state rows; /* must be first: result_rows_state_* cast to it */
    struct glint_task *task;
    struct glint_schema schema;
    uint64_t left;
};

static int take_op_open(void *state, const struct op_open *o)
{
    struct take_state *s = state;
    s->task = o->task;
    s->schema = o->in;
    struct unpacker u = unpack_begin(o->params);
    s->left = unpack_u64(&u, UINT64_MAX);
    return op_check_params(o, unpack_is_complete(&u), "the parameters of take");
}

static enum flow take_push(void *state, const struct glint_batch *batch, struct glint_emitter *out)
{
    (void)out;
    struct take_state *s = state;
    assert(s->left > 0); /* no push after FLOW_STOP */
    for (uint32_t row = 0; row < batch->rows && s->left > 0; row++, s->left--) {
        struct glint_record r = glint_batch_record(batch, row);
        if (!result_rows_append_limited(s->task, &s->rows.bytes, s->schema, &r)) return FLOW_FAIL;
    }
    return s->left > 0 ? FLOW_MORE : FLOW_STOP;
}

const struct op op_take = {.name = "take",
                           .kind = OP_ACTION,
                           .state_size = sizeof(struct take_state),
                           .open = take_op_open,
                           .push = take_push,
                           .close = result_rows_state_close,
                           .result = result_rows_state_result};

struct taking {
    struct glint *g;
    struct glint_rows *rows;
    uint64_t want;
};

static int take_on_result(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    struct taking *t = arg;
    struct glint_record r;
    uint64_t at = 0, left = t->want - t->rows->count;
    while (left > 0 && result_rows_next(result, &at, t->rows->schema, &r)) left--;
    /* More rows than needed are dropped; fewer must end exactly at the end of the result. */
    if (left > 0 && at < result.size) return set_malformed_result_error(t->g, &op_take);
    return result_rows_add_partition(t->g, t->rows, (struct glint_slice){result.data, at});
}

/* Returns how many partitions the next scan reads. */
static uint32_t next_scan_partition_count(uint32_t scanned, uint32_t all, uint64_t found,
                                          uint64_t want)
{
    assert(scanned < all && found < want);
    if (scanned == 0) return 1;
    uint64_t next = (uint64_t)scanned * SCALE_UP;
    if (found > 0) {
        double promised = 1.5 * (double)(want - found) * scanned / (double)found;
        if (promised < (double)next) next = (uint64_t)promised + 1;
    }
    return next < all - scanned ? (uint32_t)next : all - scanned;
}

static int run_take_scan(struct glint_rdd *rdd, struct taking *t, const uint32_t *partitions,
                         uint32_t count)
{
    struct packer p = {.failed = false};
    pack_array(&p, 1);
    pack_u64(&p, t->want - t->rows->count);
    struct action a = {.op = &op_take,
                       .rdd = rdd,
                       .partitions = partitions,
                       .partition_count = count,
                       .on_result = take_on_result,
                       .arg = t};
    int r = run_packed_action(&a, &p);
    return r;
}

int glint_take(struct glint_rdd *rdd, uint64_t count, struct glint_rows *out)
{
    *out = (struct glint_rows){.count = 0};
    if (rdd == NULL) return rdd_null_error("take");
    out->schema = rdd->schema;
    uint32_t all = rdd_partition_count(rdd);
    if (context_failed(rdd->g)) return rdd->g->error.code;
    uint32_t *partitions = mem_alloc(sizeof *partitions * all);
    if (partitions == NULL) return error_no_memory(&rdd->g->error);
    for (uint32_t i = 0; i < all; i++) partitions[i] = i;
    struct taking t = {rdd->g, out, count};
    int r = 0;
    for (uint32_t scanned = 0; r == 0 && scanned < all && out->count < count;) {
        uint32_t n = next_scan_partition_count(scanned, all, out->count, count);
        r = run_take_scan(rdd, &t, partitions + scanned, n);
        scanned += n;
        if (rdd_is_explain_only(rdd)) break; /* the number of further scans is unknown */
    }
    mem_free(partitions);
    if (r != 0) glint_rows_free(out);
    return r;
}

int glint_first(struct glint_rdd *rdd, struct glint_rows *out)
{
    int r = glint_take(rdd, 1, out);
    return r == 0 && out->count == 0 ? result_rows_fail_empty(rdd->g, out, "first") : r;
}

int glint_is_empty(struct glint_rdd *rdd, bool *out)
{
    struct glint_rows rows;
    int r = glint_take(rdd, 1, &rows);
    *out = rows.count == 0;
    glint_rows_free(&rows);
    return r;
}
