/* foreach: a function called for its effects, which are its counters. */
#include "ops/ops.h"

#include <assert.h>

struct foreach_state {
    struct call call;
    struct glint_emitter nowhere;
};

static enum flow refuse(void *state, const struct glint_batch *batch, struct glint_emitter *out)
{
    (void)batch, (void)out;
    const struct foreach_state *s = state;
    error_set(&s->call.task->error, GLINT_E_FUNCTION_FAILED, "flatMap is for functions that emit",
              "%s emitted a record, and foreach has nowhere to put it", s->call.fn->name);
    return FLOW_FAIL;
}

static enum glint_type resolve(enum glint_type declared, enum glint_type in)
{
    return declared <= GLINT_SAME ? in : declared;
}

static int foreach_open(void *state, const struct op_open *o)
{
    struct foreach_state *s = state;
    const struct glint_shape *out = &o->function->out;
    struct glint_shape shape = {resolve(out->key, o->in.key), resolve(out->value, o->in.value)};
    assert(o->function->form == GLINT_FLAT_MAP);
    emitter_init(&s->nowhere, o->task, shape, refuse, s, NULL);
    return call_open(&s->call, o->task, o->function, o->args);
}

static enum flow foreach_push(void *state, const struct glint_batch *batch,
                              struct glint_emitter *out)
{
    (void)out;
    struct foreach_state *s = state;
    return call_push(&s->call, batch, &s->nowhere);
}

static enum flow foreach_finish(void *state, struct glint_emitter *out)
{
    (void)out;
    struct foreach_state *s = state;
    struct call *c = &s->call;
    if (c->fn->end == NULL) return FLOW_MORE;
    enum flow flow = call_flow(c, c->fn->end(c->task, c->state, &s->nowhere), &s->nowhere);
    return flow == FLOW_MORE ? emitter_flush(&s->nowhere) : flow;
}

static void foreach_close(void *state)
{
    call_close(&((struct foreach_state *)state)->call);
}

const struct op op_foreach = {.name = "foreach",
                              .kind = OP_ACTION,
                              .forms = 1u << GLINT_FLAT_MAP,
                              .state_size = sizeof(struct foreach_state),
                              .open = foreach_open,
                              .push = foreach_push,
                              .finish = foreach_finish,
                              .close = foreach_close};

int glint_foreach(struct glint_rdd *rdd, const char *function, struct glint_args *args)
{
    if (rdd == NULL) return rdd_missing("foreach");
    struct glint *g = rdd->g;
    if (context_failed(g)) return g->error.code;
    struct action a = {.op = &op_foreach, .rdd = rdd};
    a.fn = action_function(rdd, &op_foreach, function);
    if (a.fn == NULL) return g->error.code;
    a.args = args_encode(g, args);
    return action_run(&a);
}
