/* reduce, fold and aggregate: merge all values into one. A task merges its partition. The driver
 * merges the results of the tasks in order of the partitions, with the same kind of state and the
 * same function.
 *
 * fold and aggregate start from `zero` in each partition, and once more on the driver, as in
 * Spark. */
#include "ops/reduce.h"

#include "engine/batch.h"
#include "engine/records/codec.h"
#include "engine/records/pack.h"
#include "ops/ops.h"

#include <assert.h>

/* The parameters are [zero], or [] for reduce. */
static int reduce_init_from_zero(struct reduce_state *s, struct glint_slice params)
{
    struct unpacker u = unpack_begin(params);
    int r = 0;
    bool sound = !u.failed;
    if (sound && u.count > 0) {
        s->spec.dependency.zero = unpack_bytes(&u); /* borrows from the parameters */
        sound = unpack_is_complete(&u);
    }
    if (!sound)
        r = error_set(&s->call.task->error, GLINT_E_PROTOCOL, NULL, "cannot decode a zero value");
    if (r == 0) r = combiner_init(&s->combiner, s->call.task, &s->spec, s->call.state);
    /* `zero` becomes the first value of the accumulator. */
    if (r == 0 && u.count > 0) r = combiner_add_value(&s->combiner, s->spec.dependency.zero, false);
    return r;
}

enum glint_type reduce_accumulator_type(const struct glint_function *fn, enum glint_type value)
{
    bool same = fn->kind == GLINT_KIND_REDUCE || fn->out.value <= GLINT_SAME;
    return same ? value : codec_column_type(fn->out.value);
}

int reduce_open(void *state, const struct op_open *o)
{
    struct reduce_state *s = state;
    int r = function_call_open(&s->call, o->task, o->function, o->args);
    if (r < 0) return r;
    bool aggregate = o->function->kind == GLINT_KIND_AGGREGATE;
    s->spec =
        (struct shuffle_spec){.partitions = 1,
                              .dependency.combine = aggregate ? COMBINE_AGGREGATE : COMBINE_REDUCE,
                              .fn = o->function,
                              .sequential = o->function->sequential,
                              .key = GLINT_NONE,
                              .value = o->in.value,
                              .acc = reduce_accumulator_type(o->function, o->in.value)};
    return reduce_init_from_zero(s, o->params);
}

/* Of i64, or the bits of f64: the first value starts the accumulator, all others are merged in one
 * call. Returns 0 or the function's error. */
static int reduce_column(struct combiner *c, const int64_t *values, uint32_t rows)
{
    static const uint32_t slots[BATCH_ROWS_MAX]; /* all zero: there is only one accumulator */
    assert(rows > 0 && rows <= BATCH_ROWS_MAX);
    if (!c->started) {
        c->acc.value.i64 = *values++;
        c->started = true;
        rows--;
    }
    return rows > 0
               ? aggregator_merge_columns(&c->aggregator, &c->acc.value.i64, slots, values, rows)
               : 0;
}

enum flow reduce_push(void *state, const struct glint_batch *batch, struct glint_emitter *out)
{
    (void)out;
    struct reduce_state *s = state;
    struct combiner *c = &s->combiner;
    if (aggregator_merges_columns(&s->spec))
        return reduce_column(c, aggregator_column_bits(&batch->value), batch->rows) == 0
                   ? FLOW_MORE
                   : FLOW_FAIL;
    for (uint32_t row = 0; row < batch->rows; row++) {
        union glint_value value = glint_column_value(&batch->value, row);
        int r = c->started ? aggregator_merge_value(&c->aggregator, &c->acc, &value, true)
                           : aggregator_init_value(&c->aggregator, &c->acc, &value, true);
        c->started = true;
        if (r < 0) return FLOW_FAIL;
    }
    return FLOW_MORE;
}

/* Appends one row, or none if nothing was merged. */
int reduce_result(void *state, struct buffer *out)
{
    struct reduce_state *s = state;
    struct glint_slice value;
    assert(s->call.opened);
    if (!s->combiner.started) return 0;
    int r = combiner_finish_value(&s->combiner, false, &value);
    if (r < 0) return r;
    struct glint_schema schema = {GLINT_NONE, s->spec.acc};
    if (!result_rows_append_bytes(out, schema, value, value))
        return error_no_memory(&s->call.task->error);
    return 0;
}

void reduce_close(void *state)
{
    struct reduce_state *s = state;
    combiner_fini(&s->combiner);
    function_call_close(&s->call);
}

#define REDUCE_OP(op_name, op_kinds)                                                               \
    {                                                                                              \
        .name = op_name, .kind = OP_ACTION, .function_kinds = op_kinds,                            \
        .state_size = sizeof(struct reduce_state), .open = reduce_open, .push = reduce_push,       \
        .close = reduce_close, .result = reduce_result                                             \
    }

const struct op op_reduce = REDUCE_OP("reduce", 1u << GLINT_KIND_REDUCE);
const struct op op_fold = REDUCE_OP("fold", 1u << GLINT_KIND_REDUCE);
const struct op op_aggregate = REDUCE_OP("aggregate", 1u << GLINT_KIND_AGGREGATE);

/* ---- Driver side: uses one more state of the same kind */

struct reducing {
    struct glint_rdd *rdd;
    const struct op *op;
    struct driver_task task;
    struct reduce_state state;
};

static int reduce_on_result(void *arg, uint32_t partition, struct glint_slice result)
{
    (void)partition;
    struct reducing *d = arg;
    struct glint_record part;
    struct glint_schema schema = {GLINT_NONE, d->state.spec.acc};
    uint8_t scratch[CODEC_NUMBER_BYTES];
    uint64_t at = 0;
    /* An empty partition has no result in reduce, where no value starts the accumulator. */
    if (result.size == 0) return 0;
    if (!result_rows_next(result, &at, schema, &part) || at != result.size)
        return set_malformed_result_error(d->rdd->g, d->op);
    int r = combiner_add_value(&d->state.combiner, codec_encode(schema.value, &part.value, scratch),
                               false);
    return r;
}

static int reduce_finish(struct reducing *d, struct glint_rows *out)
{
    struct buffer row = {NULL, 0, 0};
    out->schema = (struct glint_schema){GLINT_NONE, d->state.spec.acc};
    int r = reduce_result(&d->state, &row);
    if (r == 0)
        r = result_rows_add_partition(d->rdd->g, out, (struct glint_slice){row.data, row.size});
    buffer_fini(&row);
    return r;
}

int reduce_run(const struct action *action, struct glint_rows *out)
{
    struct glint *g = action->rdd->g;
    struct reducing d = {.rdd = action->rdd, .op = action->op};
    struct op_open o = {.function = action->fn,
                        .args = action->args,
                        .params = action->params,
                        .in = action->rdd->schema};
    struct action a = *action;
    driver_task_init(&d.task, g);
    o.task = &d.task.task;
    assert(a.on_result == NULL && a.fn != NULL);
    a.on_result = reduce_on_result;
    a.arg = &d;
    int r = reduce_open(&d.state, &o);
    if (r == 0) r = run_action_of_rdd(&a);
    if (r == 0) r = reduce_finish(&d, out);
    reduce_close(&d.state);
    /* Moves an error of the function on the driver to the context, which is returned below. */
    driver_task_fini(&d.task);
    if (r != 0) glint_rows_free(out);
    return r != 0 ? g->error.code : 0;
}

/* `zero` may be NULL: then the first value starts. */
static int run_reduce_with_zero(struct glint_rdd *rdd, const struct op *op,
                                const union glint_value *zero,
                                const struct glint_function *function, struct glint_args *args,
                                struct glint_rows *out)
{
    *out = (struct glint_rows){.count = 0};
    if (rdd == NULL) return rdd_null_error(op->name);
    struct glint *g = rdd->g;
    if (context_failed(g)) return g->error.code;
    struct action a = {.op = op, .rdd = rdd, .fn = function};
    if (plan_check_function(g, op, function, rdd->schema) != 0) return g->error.code;
    a.args = args_encode(g, NULL, args, a.fn);
    struct packer p = {.failed = false};
    uint8_t scratch[CODEC_NUMBER_BYTES];
    pack_array(&p, zero != NULL);
    if (zero != NULL)
        pack_bytes(&p,
                   codec_encode(reduce_accumulator_type(a.fn, rdd->schema.value), zero, scratch));
    a.params = (struct glint_slice){p.out.data, p.out.size};
    if (p.failed) error_no_memory(&g->error);
    int r = context_failed(g) ? g->error.code : reduce_run(&a, out);
    packer_fini(&p);
    return r;
}

int glint_reduce(struct glint_rdd *rdd, const struct glint_function *function,
                 struct glint_args *args, struct glint_rows *out)
{
    int r = run_reduce_with_zero(rdd, &op_reduce, NULL, function, args, out);
    return r == 0 && out->count == 0 ? result_rows_fail_empty(rdd->g, out, "reduce") : r;
}

int glint_fold(struct glint_rdd *rdd, union glint_value zero, const struct glint_function *function,
               struct glint_args *args, struct glint_rows *out)
{
    return run_reduce_with_zero(rdd, &op_fold, &zero, function, args, out);
}

int glint_aggregate(struct glint_rdd *rdd, union glint_value zero,
                    const struct glint_function *function, struct glint_args *args,
                    struct glint_rows *out)
{
    return run_reduce_with_zero(rdd, &op_aggregate, &zero, function, args, out);
}
