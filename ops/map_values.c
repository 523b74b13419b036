/* mapValues and flatMapValues: keep the key and the partitioning. On a grouped RDD, a GROUP
 * function receives the values of a key as a stream; a group ends when the key changes. */
#include "engine/batch.h"
#include "engine/records/codec.h"
#include "ops/ops.h"

#include <assert.h>

struct values_state {
    struct function_call call;
    bool in_group;
    enum glint_type key_type;
    struct buffer key; /* key of the current group, encoded */
};

static int map_values_open(void *state, const struct op_open *o)
{
    struct values_state *s = state;
    s->key_type = o->in.key;
    return function_call_open(&s->call, o->task, o->function, o->args);
}

static enum flow end_value_group(struct values_state *s, struct glint_emitter *out)
{
    struct function_call *c = &s->call;
    union glint_value key;
    assert(c->opened);
    if (!s->in_group) return out->flow;
    s->in_group = false;
    bool fits = codec_decode(s->key_type, (struct glint_slice){s->key.data, s->key.size}, &key);
    if (!fits) return FLOW_FAIL;
    /* end_value_group has no input row: what it emits must be copied, not taken as a slice of a
     * batch. */
    out->in = NULL;
    enum flow flow =
        function_call_result_to_flow(c, c->fn->end_group(c->task, c->state, &key, out), out);
    /* Emitted rows may refer to the function's state, so flush them before the next group
     * starts. */
    return flow == FLOW_MORE ? emitter_flush(out) : flow;
}

static enum flow begin_value_group(struct values_state *s, const union glint_value *key,
                                   struct glint_slice bytes, struct glint_emitter *out)
{
    enum flow flow = end_value_group(s, out);
    if (flow != FLOW_MORE) return flow;
    assert(!s->in_group);
    s->key.size = 0;
    if (!buffer_append(&s->key, bytes.data, bytes.size)) {
        error_no_memory(&s->call.task->error);
        return FLOW_FAIL;
    }
    s->in_group = true;
    return function_call_result_to_flow(
        &s->call, s->call.fn->begin_group(s->call.task, s->call.state, key), out);
}

static enum flow push_grouped_values(struct values_state *s, const struct glint_batch *batch,
                                     struct glint_emitter *out)
{
    batch = function_call_align(&s->call, batch);
    if (batch == NULL) return FLOW_FAIL;
    for (uint32_t row = 0; row < batch->rows; row++) {
        struct glint_record r = glint_batch_record(batch, row);
        uint8_t scratch[CODEC_NUMBER_BYTES];
        struct glint_slice key = codec_encode(s->key_type, &r.key, scratch);
        enum flow flow = FLOW_MORE;
        if (!s->in_group || codec_compare(key, (struct glint_slice){s->key.data, s->key.size}) != 0)
            flow = begin_value_group(s, &r.key, key, out);
        if (flow == FLOW_MORE)
            flow = function_call_result_to_flow(
                &s->call, s->call.fn->each(s->call.task, s->call.state, &r, out), out);
        if (flow != FLOW_MORE) return flow;
    }
    return FLOW_MORE;
}

static enum flow map_values_push(void *state, const struct glint_batch *batch,
                                 struct glint_emitter *out)
{
    struct values_state *s = state;
    if (s->call.fn->kind == GLINT_KIND_GROUP) return push_grouped_values(s, batch, out);
    /* The emitter takes the key of each row from the input batch, by reference. */
    out->keep_key = true;
    return function_call_batch(&s->call, batch, out);
}

static enum flow map_values_finish(void *state, struct glint_emitter *out)
{
    return end_value_group(state, out);
}

static void map_values_close(void *state)
{
    struct values_state *s = state;
    function_call_close(&s->call);
    buffer_fini(&s->key);
}

static struct glint_rdd *map_values_rdd(struct glint_rdd *rdd, const struct op *op,
                                        const struct glint_function *function,
                                        struct glint_args *args)
{
    if (!rdd_has_keys(rdd, op->name)) return NULL;
    struct rdd_spec spec = {.op = op,
                            .parents = {rdd},
                            .function = function,
                            .args = args,
                            .schema = {rdd->schema.key, GLINT_ANY},
                            .key_partitioned = rdd->key_partitioned};
    struct glint_rdd *out = rdd_create(rdd->g, &spec);
    if (out != NULL && out->fn->kind == GLINT_KIND_GROUP && !rdd->grouped)
        return rdd_fail(out, GLINT_E_PLAN_TYPE, "%s needs groups: use groupByKey first",
                        function->name);
    return out;
}

struct glint_rdd *glint_map_values(struct glint_rdd *rdd, const struct glint_function *function,
                                   struct glint_args *args)
{
    return map_values_rdd(rdd, &op_map_values, function, args);
}

struct glint_rdd *glint_flat_map_values(struct glint_rdd *rdd,
                                        const struct glint_function *function,
                                        struct glint_args *args)
{
    return map_values_rdd(rdd, &op_flat_map_values, function, args);
}

#define VALUES_OP(op_name, op_kinds)                                                               \
    {                                                                                              \
        .name = op_name, .kind = OP_NARROW, .function_kinds = op_kinds,                            \
        .state_size = sizeof(struct values_state), .open = map_values_open,                        \
        .push = map_values_push, .finish = map_values_finish, .close = map_values_close            \
    }

const struct op op_map_values =
    VALUES_OP("mapValues", 1u << GLINT_KIND_MAP | 1u << GLINT_KIND_GROUP);
const struct op op_flat_map_values = VALUES_OP(
    "flatMapValues", 1u << GLINT_KIND_MAP | 1u << GLINT_KIND_FLAT_MAP | 1u << GLINT_KIND_GROUP);
