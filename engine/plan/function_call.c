/* Functions of a job: finds them and their arguments by name, and calls them per row or per batch.
 */
#include "engine/batch.h"
#include "engine/plan/context.h"
#include "engine/plan/op.h"
#include "engine/records/codec.h"
#include "engine/records/pack.h"
#include "engine/records/task.h"

#include <assert.h>
#include <string.h>

/* ---- Named arguments of functions: the job packs names and values in turn, and a task looks them
 * up by name when it opens the function. */

static const struct glint_function *find_function(const struct glint_function *const *list,
                                                  const char *name)
{
    while (*list != NULL && ((*list)->name == NULL || strcmp((*list)->name, name) != 0)) list++;
    return *list;
}

const struct glint_function *registry_find_function(const struct context_config *config,
                                                    const char *name)
{
    const struct glint_function *found = NULL;
    if (name == NULL) return NULL;
    for (const struct glint_module *const *m = config->modules; found == NULL && *m != NULL; m++)
        found = find_function((*m)->functions, name);
    for (const struct glint_job *const *j = config->jobs; found == NULL && j != NULL && *j != NULL;
         j++)
        found = find_function((*j)->functions, name);
    return found;
}

const struct op *registry_find_op(const struct context_config *config, const char *name)
{
    for (const struct op *const *op = config->ops; *op != NULL; op++)
        if (strcmp((*op)->name, name) == 0) return *op;
    return NULL;
}

struct glint_args *glint_args(struct glint *g)
{
    struct glint_args *args = scope_alloc(g, sizeof *args);
    if (args == NULL) return NULL;
    args->g = g;
    args->next = g->args;
    g->args = args;
    return args;
}

/* False if the context already has an error: arguments are then ignored. */
static bool begin_named_argument(struct glint_args *args, const char *name)
{
    if (args == NULL || context_failed(args->g)) return false;
    pack_bytes(&args->pairs, (struct glint_slice){(const uint8_t *)name, strlen(name)});
    args->count++;
    return true;
}

static void set_args_too_large_error(struct glint_args *args)
{
    error_set(&args->g->error, GLINT_E_PLAN_LIMIT, "broadcast large values",
              "the arguments of a function exceed %u bytes", (unsigned)ARGS_BYTES_MAX);
}

static void check_arguments_size(struct glint_args *args)
{
    if (args->pairs.failed) error_no_memory(&args->g->error);
    if (args->pairs.out.size > ARGS_BYTES_MAX) set_args_too_large_error(args);
}

void glint_args_add_i64(struct glint_args *args, const char *name, int64_t value)
{
    if (!begin_named_argument(args, name)) return;
    pack_i64(&args->pairs, value);
    check_arguments_size(args);
}

void glint_args_add_f64(struct glint_args *args, const char *name, double value)
{
    if (!begin_named_argument(args, name)) return;
    pack_f64(&args->pairs, value);
    check_arguments_size(args);
}

void glint_args_add_bytes(struct glint_args *args, const char *name, const void *data,
                          uint64_t size)
{
    if (args != NULL && size > ARGS_BYTES_MAX) set_args_too_large_error(args);
    if (!begin_named_argument(args, name)) return;
    pack_bytes(&args->pairs, (struct glint_slice){data, size});
    check_arguments_size(args);
}

void glint_args_add_text(struct glint_args *args, const char *name, const char *text)
{
    glint_args_add_bytes(args, name, text, strlen(text));
}

void glint_args_add_broadcast(struct glint_args *args, const char *name, struct glint_broadcast *b)
{
    if (b == NULL || !begin_named_argument(args, name)) return;
    if (!array_reserve(&args->broadcasts, &args->broadcast_capacity, args->broadcast_count + 1,
                       sizeof *args->broadcasts)) {
        error_no_memory(&args->g->error);
        return;
    }
    args->broadcasts[args->broadcast_count++] = (struct args_broadcast){b, b->released ? 0 : b->id};
    pack_array(&args->pairs, 1); /* so that it is no number */
    pack_u64(&args->pairs, b->id);
    check_arguments_size(args);
}

struct glint_args *glint_bind(struct glint *g, const void *state, uint64_t size)
{
    struct glint_args *args = glint_args(g);
    glint_args_add_bytes(args, ARGS_BOUND, state, size);
    if (args != NULL) args->bound_bytes = size;
    return args;
}

/* Returns data NULL with the error set. The caller frees p. */
static struct glint_slice pack_function_args(struct glint *g, const struct glint_args *args,
                                             const struct glint_function *fn, struct packer *p)
{
    const struct glint_slice s = {NULL, 0};
    for (uint32_t i = 0; args != NULL && i < args->broadcast_count; i++) {
        const struct args_broadcast *b = &args->broadcasts[i];
        if (b->id != 0 && b->broadcast->id == b->id && !b->broadcast->released) continue;
        error_set(&g->error, GLINT_E_PLAN_ARGUMENT, "error in the job's plan, not in its input",
                  "the arguments of %s name a broadcast that was destroyed",
                  fn != NULL ? fn->name : "a function");
        return s;
    }
    if (args != NULL && args->bound_bytes > 0 && args->bound_bytes > fn->state_size) {
        error_set(&g->error, GLINT_E_PLAN_ARGUMENT, "set its .state_size",
                  "%llu bytes are bound to %s, whose state has %u",
                  (unsigned long long)args->bound_bytes, fn->name, fn->state_size);
        return s;
    }
    pack_array(p, args != NULL ? 2 * (uint64_t)args->count : 0);
    if (args != NULL && !buffer_append(&p->out, args->pairs.out.data, args->pairs.out.size))
        p->failed = true;
    if (!p->failed) return buffer_slice(&p->out);
    error_no_memory(&g->error);
    return s;
}

struct glint_slice args_encode(struct glint *g, struct glint_rdd *rdd,
                               const struct glint_args *args, const struct glint_function *fn)
{
    struct packer p = {.failed = false};
    struct glint_slice s = pack_function_args(g, args, fn, &p);
    if (s.data != NULL) s = rdd != NULL ? rdd_copy_slice(rdd, s) : scope_copy_slice(g, s);
    packer_fini(&p);
    if (s.data != NULL && rdd != NULL && !rdd_ref_broadcasts(rdd, args)) {
        error_no_memory(&g->error);
        s.data = NULL;
    }
    return s;
}

/* ---- Executor side. Each lookup parses the map again, which is fast enough because only `open`
 * looks arguments up. */

static int set_argument_missing_error(struct glint_task *task, const char *name, const char *wanted)
{
    return error_set(&task->error, GLINT_E_PLAN_ARGUMENT, NULL,
                     "argument \"%s\" (%s) is missing or has another type", name, wanted);
}

/* Returns an unpacker whose next field is the argument's value; it has failed if there is none. */
static struct unpacker find_argument(struct glint_slice args, const char *name)
{
    struct unpacker u = unpack_begin(args);
    while (u.next < u.count) {
        struct glint_slice key = unpack_bytes(&u);
        if (u.failed) return u;
        if (key.size == strlen(name) && memcmp(key.data, name, key.size) == 0) return u;
        unpack_skip(&u);
    }
    u.failed = true;
    return u;
}

int glint_arg_i64(struct glint_task *task, const char *name, int64_t *out)
{
    struct unpacker u = find_argument(task->args, name);
    int64_t value = unpack_i64(&u);
    if (u.failed) return set_argument_missing_error(task, name, "an integer");
    *out = value;
    return 0;
}

int glint_arg_f64(struct glint_task *task, const char *name, double *out)
{
    struct unpacker u = find_argument(task->args, name);
    double value = unpack_f64(&u);
    if (u.failed) return set_argument_missing_error(task, name, "a double");
    *out = value;
    return 0;
}

/* The arguments are freed with the plan, so copies them into the task's arena. */
int glint_arg_slice(struct glint_task *task, const char *name, struct glint_slice *out)
{
    struct unpacker u = find_argument(task->args, name);
    struct glint_slice value = unpack_bytes(&u);
    if (u.failed) return set_argument_missing_error(task, name, "bytes");
    uint8_t *copy = task_alloc(task, value.size + 1);
    if (copy == NULL) return task->error.code;
    memcpy(copy, value.data, value.size);
    *out = (struct glint_slice){copy, value.size};
    return 0;
}

int arg_broadcast_find(struct glint_task *task, const char *name, uint64_t *out_id,
                       struct glint_slice *out)
{
    struct unpacker u = find_argument(task->args, name), broadcast = unpack_array(&u);
    *out_id = unpack_u64(&broadcast, UINT64_MAX);
    if (!unpack_is_complete(&broadcast))
        return set_argument_missing_error(task, name, "a broadcast");
    return task->broadcast(task->broadcast_arg, *out_id, out) == 0
               ? 0
               : set_argument_missing_error(task, name, "a broadcast that was sent");
}

int glint_arg_broadcast(struct glint_task *task, const char *name, struct glint_slice *out)
{
    uint64_t id;
    return arg_broadcast_find(task, name, &id, out);
}

int args_copy_bound(struct glint_task *task, const struct glint_function *fn,
                    struct glint_slice args, void *state)
{
    struct unpacker u = find_argument(args, ARGS_BOUND);
    if (u.failed) return 0; /* none */
    struct glint_slice bound = unpack_bytes(&u);
    if (u.failed || bound.size > fn->state_size)
        return error_set(&task->error, GLINT_E_PROTOCOL, NULL, "cannot decode the state of %s",
                         fn->name);
    memcpy(state, bound.data, bound.size);
    return 0;
}

/* ---- Calls */

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
static bool reserve_aligned_copy(struct function_call *c, uint32_t rows)
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
    if (!reserve_aligned_copy(c, batch->rows)) return NULL;
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
static enum flow end_call_on_rows(struct function_call *c, uint32_t rows, uint64_t emitted_before,
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
    return end_call_on_rows(c, batch->rows, before, flow, out);
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
    return end_call_on_rows(c, kept->rows, before, flow, out);
}
