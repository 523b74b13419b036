/* range: the integers from `start` up to, not including, `end`, by `step`. A split is the first
 * number of its partition, the step and how many numbers it has, so nothing is stored or sent. */
#include "engine/batch.h"
#include "engine/records/pack.h"
#include "ops/ops.h"

#include <assert.h>

struct range_state {
    struct glint_task *task;
    int64_t numbers[BATCH_ROWS_MAX];
};

static int range_open(void *state, const struct op_open *o)
{
    ((struct range_state *)state)->task = o->task;
    return 0;
}

static enum flow range_run(void *state, struct glint_slice split, struct glint_emitter *out)
{
    struct range_state *s = state;
    struct unpacker u = unpack_begin(split);
    /* Unsigned, since the step after the last number may leave 64 bits. */
    uint64_t next = (uint64_t)unpack_i64(&u);
    const uint64_t step = (uint64_t)unpack_i64(&u);
    uint64_t left = unpack_u64(&u, UINT64_MAX);
    if (!unpack_is_complete(&u)) {
        error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "cannot decode a split of a range");
        return FLOW_FAIL;
    }
    while (left > 0 && out->flow == FLOW_MORE && !task_is_cancelled(s->task)) {
        const uint32_t rows = left < BATCH_ROWS_MAX ? (uint32_t)left : BATCH_ROWS_MAX;
        for (uint32_t row = 0; row < rows; row++, next += step) s->numbers[row] = (int64_t)next;
        const struct glint_batch batch = {.rows = rows,
                                          .key = {.type = GLINT_NONE},
                                          .value = {.type = GLINT_I64, .i64 = s->numbers}};
        s->task->counters.values[COUNT_ROWS_READ] += rows;
        glint_emit_batch(out, &batch);
        left -= rows;
    }
    return out->flow;
}

/* How many numbers there are; up to 2^64 - 1. */
static uint64_t range_count(int64_t start, int64_t end, int64_t step)
{
    if (step > 0 ? start >= end : start <= end) return 0;
    const uint64_t distance =
        step > 0 ? (uint64_t)end - (uint64_t)start : (uint64_t)start - (uint64_t)end;
    const uint64_t by = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    return (distance - 1) / by + 1;
}

static bool add_range_split(struct glint_rdd *rdd, int64_t first, int64_t step, uint64_t count)
{
    struct packer p = {.failed = false};
    pack_array(&p, 3);
    pack_i64(&p, first);
    pack_i64(&p, step);
    pack_u64(&p, count);
    bool ok = !p.failed;
    if (!ok) error_no_memory(&rdd->g->error);
    ok = ok && rdd_add_split(rdd, (struct glint_slice){p.out.data, p.out.size}) != NULL;
    packer_fini(&p);
    return ok;
}

struct glint_rdd *glint_range(struct glint *g, int64_t start, int64_t end, int64_t step,
                              uint32_t partitions)
{
    if (step == 0) {
        error_set(&g->error, GLINT_E_BAD_VALUE, "use a positive or a negative step",
                  "range: a step of 0");
        return NULL;
    }
    const struct rdd_spec spec = {.op = &op_range, .schema = {GLINT_NONE, GLINT_I64}};
    struct glint_rdd *rdd = rdd_create(g, &spec);
    if (rdd == NULL) return NULL;
    if (partitions > PARTITIONS_MAX)
        return rdd_fail(rdd, GLINT_E_PLAN_LIMIT, "%u partitions; the limit is %u", partitions,
                        PARTITIONS_MAX);
    if (partitions == 0) partitions = 1;
    const uint64_t count = range_count(start, end, step);
    uint64_t before = 0;
    for (uint32_t p = 0; p < partitions; p++) {
        const uint64_t until = (uint64_t)((unsigned __int128)count * (p + 1) / partitions);
        const int64_t first = (int64_t)((uint64_t)start + before * (uint64_t)step);
        if (!add_range_split(rdd, first, step, until - before)) return NULL;
        before = until;
    }
    assert(before == count && rdd->partitions == partitions);
    return rdd;
}

const struct op op_range = {.name = "range",
                            .kind = OP_SOURCE,
                            .state_size = sizeof(struct range_state),
                            .open = range_open,
                            .run = range_run};
