/* Calls one function of a job, per row or per batch. */
#include "engine/batch.h"
#include "engine/plan/op.h"
#include "engine/records/codec.h"

#include <assert.h>
#include <string.h>

int function_call_open(struct function_call *c, struct glint_task *task,
                       const struct glint_function *fn, struct glint_slice args)
{
    assert(!c->opened && fn != NULL);
    c->task = task;
    c->fn = fn;
    c->struct_size = codec_struct_size(fn->in.value);
    if (fn->state_size > 0) {
        c->state = task_alloc(task, fn->state_size);
        if (c->state == NULL) return task->error.code;
        memset(c->state, 0, fn->state_size);
        int r = args_copy_bound(task, fn, args, c->state);
        if (r != 0) return r;
    }
    c->opened = true;
    if (fn->open == NULL) return 0;
    /* All functions of a pipeline share the task: set arguments and function only for this call. */
    struct glint_slice outer = task->args;
    const struct glint_function *function = task_set_function(task, fn);
    task->args = args;
    int r = fn->open(task, c->state);
    task->args = outer;
    task_set_function(task, function);
    return r == 0 ? 0 : function_set_return_error(task, fn, r);
}

int function_set_return_error(struct glint_task *task, const struct glint_function *fn,
                              int returned)
{
    assert(returned != 0);
    if (returned < 0)
        return error_set(&task->error, GLINT_E_FUNCTION_FAILED, "set the error with glint_fail",
                         "%s returned %d without setting an error", fn->name, returned);
    return error_set(&task->error, GLINT_E_FUNCTION_FAILED, "return 0, or what glint_fail returned",
                     "%s returned %d", fn->name, returned);
}

int function_set_size_error(struct glint_task *task, const struct glint_function *fn, uint32_t want,
                            uint64_t size)
{
    return error_set(&task->error, GLINT_E_FUNCTION_FAILED,
                     "emit values of the struct that the next function takes",
                     "%s takes structs of %u bytes, and a value has %llu", fn->name, want,
                     (unsigned long long)size);
}

/* ---- GLINT_STRUCT */

static bool is_aligned(const void *data)
{
    return ((uintptr_t)data & 7) == 0;
}

/* Memory for `rows` values, and the two arrays of the copy's column. */
static bool reserve_copy(struct function_call *c, uint32_t rows)
{
    const uint64_t stride = (c->struct_size + UINT64_C(7)) & ~UINT64_C(7);
    if (c->aligned == NULL) {
        uint32_t *start = task_alloc(c->task, 2 * sizeof *start * BATCH_ROWS_MAX);
        struct glint_batch *batch = start != NULL ? task_alloc(c->task, sizeof *batch) : NULL;
        if (batch == NULL) return false;
        for (uint32_t i = 0; i < BATCH_ROWS_MAX; i++) {
            start[i] = (uint32_t)(i * stride);
            start[BATCH_ROWS_MAX + i] = (uint32_t)(i * stride + c->struct_size);
        }
        *batch = (struct glint_batch){.rows = 0};
        batch->value = (struct glint_column){
            .type = GLINT_BYTES, .start = start, .end = start + BATCH_ROWS_MAX};
        c->aligned = batch;
    }
    if (rows * stride <= c->copy_capacity) return true;
    c->copy_capacity = 2 * rows * stride;
    c->copy = task_alloc(c->task, c->copy_capacity);
    if (c->copy == NULL) c->copy_capacity = 0;
    return c->copy != NULL;
}

const struct glint_batch *function_call_align_copy(struct function_call *c,
                                                   const struct glint_batch *batch)
{
    const uint32_t size = c->struct_size;
    bool aligned = true;
    for (uint32_t row = 0; row < batch->rows; row++) {
        const struct glint_slice value = glint_column_slice(&batch->value, row);
        if (value.size != size) {
            function_set_size_error(c->task, c->fn, size, value.size);
            return NULL;
        }
        aligned = aligned && is_aligned(value.data);
    }
    if (aligned) return batch;
    if (!reserve_copy(c, batch->rows)) return NULL;
    struct glint_batch *copy = c->aligned;
    const struct glint_column value = copy->value;
    *copy = *batch;
    copy->value = value;
    copy->value.base = c->copy;
    copy->value.size = value.end[batch->rows - 1];
    for (uint32_t row = 0; row < batch->rows; row++)
        memcpy(c->copy + value.start[row], glint_column_slice(&batch->value, row).data, size);
    return copy;
}

void function_call_close(struct function_call *c)
{
    if (c->opened && c->fn->close != NULL) {
        const struct glint_function *function = task_set_function(c->task, c->fn);
        c->fn->close(c->task, c->state);
        task_set_function(c->task, function);
    }
    c->opened = false;
}

static enum flow call_each_row(struct function_call *c, const struct glint_batch *batch,
                               uint32_t first, uint32_t rows, struct glint_emitter *out)
{
    for (uint32_t row = 0; row < rows; row++) {
        struct glint_record record = glint_batch_record(batch, first + row);
        out->kept_row = row;
        int r = c->fn->each(c->task, c->state, &record, out);
        if (r != 0) return function_call_result_to_flow(c, r, out);
        if (out->flow != FLOW_MORE) return out->flow;
    }
    return FLOW_MORE;
}

/* Ends a call on `rows` rows. */
static enum flow end_rows(struct function_call *c, uint32_t rows, uint64_t emitted_before,
                          enum flow flow, struct glint_emitter *out)
{
    /* Pending rows refer to this batch by reference: flush them before the batch is released. */
    if (flow == FLOW_MORE) flow = emitter_flush(out);
    out->in = NULL;
    const uint64_t emitted = out->emitted - emitted_before;
    if (flow == FLOW_MORE && c->fn->kind == GLINT_KIND_MAP && emitted > rows) {
        error_set(&c->task->error, GLINT_E_FUNCTION_FAILED, "make it a GLINT_FLAT_MAP",
                  "%s is a map function but emitted %llu records for %u", c->fn->name,
                  (unsigned long long)emitted, rows);
        return FLOW_FAIL;
    }
    return flow;
}

enum flow function_call_batch(struct function_call *c, const struct glint_batch *batch,
                              struct glint_emitter *out)
{
    assert(c->opened && batch->rows > 0);
    batch = function_call_align(c, batch);
    if (batch == NULL) return FLOW_FAIL;
    out->in = batch;
    uint64_t before = out->emitted;
    enum flow flow;
    if (c->fn->batch != NULL)
        flow = function_call_result_to_flow(c, c->fn->batch(c->task, c->state, batch, out), out);
    else
        flow = call_each_row(c, batch, 0, batch->rows, out);
    return end_rows(c, batch->rows, before, flow, out);
}

enum flow function_call_rows(struct function_call *c, const struct glint_batch *batch,
                             uint32_t first, const struct glint_batch *kept,
                             struct glint_emitter *out)
{
    assert(c->opened && c->fn->each != NULL && first + kept->rows <= batch->rows);
    batch = function_call_align(c, batch);
    if (batch == NULL) return FLOW_FAIL;
    out->in = kept;
    uint64_t before = out->emitted;
    enum flow flow = call_each_row(c, batch, first, kept->rows, out);
    return end_rows(c, kept->rows, before, flow, out);
}
