/* filter: keeps the records that a function selects. Bytes are not moved: only the 32-bit offsets
 * of a batch are compacted. */
#include "engine/batch.h"
#include "ops/ops.h"
#include "ops/selection.h"

#include <assert.h>

struct filter_state {
    struct function_call call;
    struct selection selection;
    glint_may_keep may_keep; /* NULL: all groups may have rows that are kept */
    uint16_t rows[BATCH_ROWS_MAX];
};

static int filter_open(void *state, const struct op_open *o)
{
    struct filter_state *s = state;
    o->task->may_keep = NULL;
    const int r = function_call_open(&s->call, o->task, o->function, o->args);
    s->may_keep = o->task->may_keep;
    return r;
}

static int filter_may_need(void *state, const struct glint_row_group *group)
{
    struct filter_state *s = state;
    return s->may_keep != NULL ? s->may_keep(s->call.task, s->call.state, group) : 1;
}

static int set_filter_function_error(struct function_call *c, int returned)
{
    if (returned < 0) return returned;
    return error_set(&c->task->error, GLINT_E_FUNCTION_FAILED,
                     "return 1 to keep the record, 0 to drop it, or what glint_fail returned",
                     "%s returned %d", c->fn->name, returned);
}

static int select_kept_rows(struct filter_state *s, const struct glint_batch *batch,
                            uint32_t *count)
{
    const struct glint_function *fn = s->call.fn;
    *count = 0;
    batch = function_call_align(&s->call, batch);
    if (batch == NULL) return s->call.task->error.code;
    if (fn->keep_batch != NULL)
        return fn->keep_batch(s->call.task, s->call.state, batch, s->rows, count);
    for (uint32_t row = 0; row < batch->rows; row++) {
        struct glint_record record = glint_batch_record(batch, row);
        int keep = fn->keep(s->call.task, s->call.state, &record);
        if (keep != 0 && keep != 1) return set_filter_function_error(&s->call, keep);
        /* Always written, and counted only if kept: no branch to mispredict. */
        s->rows[*count] = (uint16_t)row;
        *count += keep != 0;
    }
    return 0;
}

static enum flow filter_push(void *state, const struct glint_batch *batch,
                             struct glint_emitter *out)
{
    struct filter_state *s = state;
    uint32_t count;
    int r = select_kept_rows(s, batch, &count);
    if (r != 0) return function_call_result_to_flow(&s->call, r, out);
    assert(count <= batch->rows);
    return selection_emit(&s->selection, batch, s->rows, count, out);
}

struct glint_rdd *glint_filter(struct glint_rdd *rdd, const struct glint_function *function,
                               struct glint_args *args)
{
    if (rdd == NULL) return rdd_fail_null("filter");
    struct rdd_spec spec = {.op = &op_filter,
                            .parents = {rdd},
                            .function = function,
                            .args = args,
                            .schema = rdd->schema,
                            .grouped = rdd->grouped,
                            .key_partitioned = rdd->key_partitioned};
    return rdd_create(rdd->g, &spec);
}

static void filter_close(void *state)
{
    function_call_close(&((struct filter_state *)state)->call);
}

const struct op op_filter = {.name = "filter",
                             .kind = OP_NARROW,
                             .function_kinds = 1u << GLINT_KIND_FILTER,
                             .state_size = sizeof(struct filter_state),
                             .open = filter_open,
                             .push = filter_push,
                             .may_need = filter_may_need,
                             .close = filter_close};
