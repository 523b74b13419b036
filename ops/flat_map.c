/* flatMap: each record is replaced by any number of records. */
#include "engine/batch.h"
#include "ops/ops.h"

struct flat_map_state {
    struct function_op_state function;
    struct row_skip skip;
};

static int flat_map_open(void *state, const struct op_open *o)
{
    struct flat_map_state *s = state;
    o->task->row_skip.keep = NULL;
    const int r = function_op_open(&s->function, o);
    s->skip = o->task->row_skip;
    s->skip.state = s->function.call.state;
    o->task->row_skip.keep = NULL;
    return r;
}

static enum flow flat_map_push(void *state, const struct glint_batch *batch,
                               struct glint_emitter *out)
{
    return function_call_batch(&((struct flat_map_state *)state)->function.call, batch, out);
}

static const struct row_skip *flat_map_row_skip(void *state)
{
    return &((struct flat_map_state *)state)->skip;
}

static void flat_map_close(void *state)
{
    function_op_close(&((struct flat_map_state *)state)->function);
}

struct glint_rdd *glint_flat_map(struct glint_rdd *rdd, const struct glint_function *function,
                                 struct glint_args *args)
{
    if (rdd == NULL) return rdd_fail_null("flatMap");
    struct rdd_spec spec = {
        .op = &op_flat_map, .parents = {rdd}, .function = function, .args = args};
    return rdd_create(rdd->g, &spec);
}

const struct op op_flat_map = {.name = "flatMap",
                               .kind = OP_NARROW,
                               .function_kinds = 1u << GLINT_KIND_MAP | 1u << GLINT_KIND_FLAT_MAP,
                               .state_size = sizeof(struct flat_map_state),
                               .open = flat_map_open,
                               .push = flat_map_push,
                               .row_skip = flat_map_row_skip,
                               .close = flat_map_close};
