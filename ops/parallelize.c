/* parallelize: records of the driver's process. Each split contains its records, encoded as result
 * rows (ops/result_rows.c). */
#include "ops/ops.h"

#include <assert.h>

struct parallelize_state {
    struct glint_task *task;
    struct glint_schema schema;
};

static int parallelize_open(void *state, const struct op_open *o)
{
    struct parallelize_state *s = state;
    s->task = o->task;
    s->schema = o->out;
    return 0;
}

static enum flow parallelize_run(void *state, struct glint_slice split, struct glint_emitter *out)
{
    struct parallelize_state *s = state;
    struct glint_record record;
    uint64_t at = 0;
    while (out->flow == FLOW_MORE && result_rows_next(split, &at, s->schema, &record)) {
        s->task->counters.values[COUNT_ROWS_READ]++;
        glint_emit(out, &record);
    }
    /* result_rows_next also returns false for malformed rows. */
    if (out->flow != FLOW_MORE || at == split.size) return out->flow;
    error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "cannot decode a split's records");
    return FLOW_FAIL;
}

/* ---- Driver side */

/* Adds a split of records [first, end). */
static bool add_parallelize_split(struct glint_rdd *rdd, const struct glint_record *records,
                                  uint64_t first, uint64_t end)
{
    struct buffer rows = {NULL, 0, 0};
    bool ok = true;
    for (uint64_t i = first; ok && i < end; i++)
        ok = result_rows_append(&rows, rdd->schema, &records[i]);
    if (!ok) error_no_memory(&rdd->g->error);
    ok = ok && rdd_add_split(rdd, (struct glint_slice){rows.data, rows.size}) != NULL;
    buffer_fini(&rows);
    return ok;
}

struct glint_rdd *glint_parallelize(struct glint *g, struct glint_schema schema,
                                    const struct glint_record *records, uint64_t count,
                                    uint32_t partitions)
{
    assert(records != NULL || count == 0);
    if (!schema_is_concrete(schema) || (schema.key == GLINT_NONE && schema.value == GLINT_NONE)) {
        error_set(&g->error, GLINT_E_PLAN_TYPE, "error in the job's plan, not in its input",
                  "parallelize: the schema has no type, or one that no column can have");
        return NULL;
    }
    struct rdd_spec spec = {.op = &op_parallelize, .schema = schema};
    struct glint_rdd *rdd = rdd_create(g, &spec);
    if (rdd == NULL) return NULL;
    if (partitions > PARTITIONS_MAX)
        return rdd_fail(rdd, GLINT_E_PLAN_LIMIT, "%u partitions; the limit is %u", partitions,
                        PARTITIONS_MAX);
    if (partitions == 0 && count > 0) partitions = 1;
    uint64_t first = 0;
    for (uint32_t p = 0; p < partitions; p++) {
        const uint64_t end = (uint64_t)((unsigned __int128)count * (p + 1) / partitions);
        if (!add_parallelize_split(rdd, records, first, end)) return NULL;
        first = end;
    }
    assert(first == count && rdd->partitions == partitions);
    return rdd;
}

struct glint_rdd *glint_parallelize_rows(struct glint *g, const struct glint_rows *rows,
                                         uint32_t partitions)
{
    struct glint_record *records = glint_alloc(g, rows->count * sizeof *records);
    struct glint_rdd *rdd = NULL;
    if (records != NULL) {
        glint_rows_records(rows, 0, rows->count, records);
        rdd = glint_parallelize(g, rows->schema, records, rows->count, partitions);
    }
    glint_free(records);
    return rdd;
}

const struct op op_parallelize = {.name = "parallelize",
                                  .kind = OP_SOURCE,
                                  .state_size = sizeof(struct parallelize_state),
                                  .open = parallelize_open,
                                  .run = parallelize_run};
