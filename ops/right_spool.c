/* See right_spool.h. */
#include "ops/right_spool.h"

#include "engine/batch.h"
#include "engine/records/bytes.h"
#include "engine/records/codec.h"
#include "ops/msgpack_cell.h"

#include <assert.h>

/* ---- pair_pack: a record (key, value) as one element, the msgpack array [key, value], for
 * operators of single elements that accept pairs, too. glint_pair decodes it. */

struct pair_pack_state {
    struct glint_task *task;
    struct glint_schema schema;
    struct buffer bytes; /* of the current record */
};

static int pair_pack_open(void *state, const struct op_open *o)
{
    struct pair_pack_state *s = state;
    s->task = o->task;
    s->schema = o->in;
    if (o->in.key != GLINT_NONE && o->out.key == GLINT_NONE && o->out.value == GLINT_MSGPACK)
        return 0;
    return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "pair_pack of other types");
}

static bool append_packed_cell(struct pair_pack_state *s, enum glint_type type,
                               const union glint_value *v)
{
    const bool is_bytes = codec_type_is_bytes(type);
    if (is_bytes && !msgpack_cell_check(s->task, type, v->bytes)) return false;
    if (!buffer_reserve(&s->bytes, MSGPACK_HEAD_BYTES_MAX + (is_bytes ? v->bytes.size : 0))) {
        error_no_memory(&s->task->error);
        return false;
    }
    uint8_t *out = msgpack_put_head(s->bytes.data + s->bytes.size, type, v);
    if (is_bytes) {
        bytes_copy(out, v->bytes.data, v->bytes.size);
        out += v->bytes.size;
    }
    s->bytes.size = (uint64_t)(out - s->bytes.data);
    return true;
}

static enum flow pair_pack_push(void *state, const struct glint_batch *batch,
                                struct glint_emitter *out)
{
    struct pair_pack_state *s = state;
    static const uint8_t pair = MSGPACK_PAIR;
    for (uint32_t row = 0; row < batch->rows && out->flow == FLOW_MORE; row++) {
        const struct glint_record r = glint_batch_record(batch, row);
        s->bytes.size = 0;
        if (!buffer_append(&s->bytes, &pair, 1)) {
            error_no_memory(&s->task->error);
            return FLOW_FAIL;
        }
        if (!append_packed_cell(s, s->schema.key, &r.key) ||
            !append_packed_cell(s, s->schema.value, &r.value))
            return FLOW_FAIL;
        glint_emit(out, &(struct glint_record){.value.bytes = {s->bytes.data, s->bytes.size}});
    }
    emitter_flush(out);
    return out->flow;
}

static void pair_pack_close(void *state)
{
    buffer_fini(&((struct pair_pack_state *)state)->bytes);
}

const struct op op_pair_pack = {.name = "pair_pack",
                                .kind = OP_NARROW,
                                .state_size = sizeof(struct pair_pack_state),
                                .open = pair_pack_open,
                                .push = pair_pack_push,
                                .close = pair_pack_close};

/* Returns an RDD of single elements: `rdd` itself, or its records packed; NULL with the error set.
 */
static struct glint_rdd *pair_pack_rdd(struct glint_rdd *rdd)
{
    const struct rdd_spec spec = {
        .op = &op_pair_pack, .parents = {rdd}, .schema = {GLINT_NONE, GLINT_MSGPACK}};
    return rdd_is_pair(rdd) ? rdd_create(rdd->g, &spec) : rdd;
}

int right_spool_open(struct right_partition *s, const struct op_open *o, const char *name)
{
    s->task = o->task;
    s->type = o->right.value;
    spool_init(&s->values, o->task);
    if (o->in.key == GLINT_NONE && o->right.key == GLINT_NONE && o->out.key == o->in.value &&
        o->out.value == o->right.value)
        return 0;
    return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "%s of other types than promised",
                     name);
}

enum flow right_spool_push(void *state, const struct glint_batch *batch, struct glint_emitter *out)
{
    struct right_partition *s = state;
    (void)out;
    assert(batch->key.type == GLINT_NONE && batch->value.type == s->type);
    return spool_add_values(&s->values, batch) == 0 ? FLOW_MORE : FLOW_FAIL;
}

void right_spool_close(void *state)
{
    spool_fini(&((struct right_partition *)state)->values);
}

struct glint_rdd *right_spool_rdd(const struct op *op, struct glint_rdd *left,
                                  struct glint_rdd *right)
{
    if (left == NULL || right == NULL) return rdd_fail_null(op->name);
    left = pair_pack_rdd(left);
    right = pair_pack_rdd(right);
    if (left == NULL || right == NULL) return NULL;
    const struct rdd_spec spec = {
        .op = op, .parents = {left, right}, .schema = {left->schema.value, right->schema.value}};
    return rdd_create(left->g, &spec);
}
