/* foreach: calls a function for its side effects, such as counters. */
#include "engine/batch.h"
#include "engine/records/codec.h"
#include "ops/ops.h"

#include <assert.h>

struct foreach_state {
    struct function_call call;
    struct glint_emitter no_output;
};

/* Receives what the function emits: foreach has no output, so any record is an error. */
static enum flow reject_emitted_batch(void *state, const struct glint_batch *batch,
                                      struct glint_emitter *out)
{
    (void)batch, (void)out;
    const struct foreach_state *s = state;
    error_set(&s->call.task->error, GLINT_E_FUNCTION_FAILED,
              "foreach functions must not emit: use flatMap", "%s emitted a record in foreach",
              s->call.fn->name);
    return FLOW_FAIL;
}

/* The emitter needs concrete types, although nothing may be emitted. */
static enum glint_type concrete_emit_type(enum glint_type declared, enum glint_type in)
{
    return declared <= GLINT_SAME ? in : codec_column_type(declared);
}

static int foreach_open(void *state, const struct op_open *o)
{
    struct foreach_state *s = state;
    const struct glint_schema *out = &o->function->out;
    struct glint_schema schema = {concrete_emit_type(out->key, o->in.key),
                                  concrete_emit_type(out->value, o->in.value)};
    assert(o->function->kind == GLINT_KIND_FLAT_MAP);
    emitter_init(&s->no_output, o->task, schema, reject_emitted_batch, s, NULL);
    return function_call_open(&s->call, o->task, o->function, o->args);
}

static enum flow foreach_push(void *state, const struct glint_batch *batch,
                              struct glint_emitter *out)
{
    (void)out;
    struct foreach_state *s = state;
    return function_call_batch(&s->call, batch, &s->no_output);
}

static enum flow foreach_finish(void *state, struct glint_emitter *out)
{
    (void)out;
    struct foreach_state *s = state;
    struct function_call *c = &s->call;
    if (c->fn->end == NULL) return FLOW_MORE;
    enum flow flow = function_call_result_to_flow(c, c->fn->end(c->task, c->state, &s->no_output),
                                                  &s->no_output);
    return flow == FLOW_MORE ? emitter_flush(&s->no_output) : flow;
}

static void foreach_close(void *state)
{
    function_call_close(&((struct foreach_state *)state)->call);
}

const struct op op_foreach = {.name = "foreach",
                              .kind = OP_ACTION,
                              .function_kinds = 1u << GLINT_KIND_FLAT_MAP,
                              .state_size = sizeof(struct foreach_state),
                              .open = foreach_open,
                              .push = foreach_push,
                              .finish = foreach_finish,
                              .close = foreach_close};

int glint_foreach(struct glint_rdd *rdd, const struct glint_function *function,
                  struct glint_args *args)
{
    if (rdd == NULL) return rdd_null_error("foreach");
    struct glint *g = rdd->g;
    if (context_failed(g)) return g->error.code;
    struct action a = {.op = &op_foreach, .rdd = rdd, .fn = function};
    if (plan_check_function(g, &op_foreach, function, rdd->schema) != 0) return g->error.code;
    a.args = args_encode(g, NULL, args, a.fn);
    return run_action_of_rdd(&a);
}
