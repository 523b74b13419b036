/* See pair_pack.h. */
#include "ops/pair_pack.h"

#include "engine/batch.h"
#include "engine/records/bytes.h"
#include "engine/records/codec.h"
#include "ops/msgpack_cell.h"

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

struct glint_rdd *pair_pack_rdd(struct glint_rdd *rdd)
{
    const struct rdd_spec spec = {
        .op = &op_pair_pack, .parents = {rdd}, .schema = {GLINT_NONE, GLINT_MSGPACK}};
    return rdd_is_pair(rdd) ? rdd_create(rdd->g, &spec) : rdd;
}
