/* saveAsMsgpackFile: each record is the array [key, value], or the value alone if there is no key.
 * Numbers use the shortest encoding; large values bypass the buffer. */
#include "engine/batch.h"
#include "engine/records/codec.h"
#include "ops/msgpack_cell.h"
#include "ops/ops.h"

#define SMALL_BYTES_MAX (8 * KIB) /* cells up to this size are written into the buffer directly */

/* Writes a cell of any size. */
static bool write_msgpack_cell(struct save *s, enum glint_type type, const union glint_value *v)
{
    if (!save_reserve(s, MSGPACK_HEAD_BYTES_MAX)) return false;
    uint8_t *end = msgpack_put_head(s->buffer.data + s->buffer.size, type, v);
    s->buffer.size = (uint64_t)(end - s->buffer.data);
    return !codec_type_is_bytes(type) || save_write_bytes(s, v->bytes);
}

/* Writes a cell; the caller has reserved room. Short bytes are copied as 32 bytes, which compiles
 * to two vector moves; both source and target have slack. */
static uint8_t *put_small_cell(uint8_t *out, enum glint_type type, const union glint_value *v)
{
    out = msgpack_put_head(out, type, v);
    if (!codec_type_is_bytes(type)) return out;
    if (v->bytes.size <= 32)
        memcpy(out, v->bytes.data, 32);
    else
        memcpy(out, v->bytes.data, v->bytes.size);
    return out + v->bytes.size;
}

static bool write_msgpack_record(struct save *s, const struct glint_record *r)
{
    const enum glint_type key = s->schema.key, value = s->schema.value;
    const uint64_t key_size = codec_type_is_bytes(key) ? r->key.bytes.size : 0;
    const uint64_t value_size = codec_type_is_bytes(value) ? r->value.bytes.size : 0;
    if (codec_type_is_bytes(key) && !msgpack_cell_check(s->task, key, r->key.bytes)) return false;
    if (codec_type_is_bytes(value) && !msgpack_cell_check(s->task, value, r->value.bytes))
        return false;
    const bool small = key_size <= SMALL_BYTES_MAX && value_size <= SMALL_BYTES_MAX;
    const uint64_t wanted = 1 + 2 * MSGPACK_HEAD_BYTES_MAX + READ_SLACK;
    if (!save_reserve(s, small ? wanted + key_size + value_size : wanted)) return false;
    uint8_t *out = s->buffer.data + s->buffer.size;
    if (key != GLINT_NONE) *out++ = MSGPACK_PAIR;
    if (small) {
        if (key != GLINT_NONE) out = put_small_cell(out, key, &r->key);
        out = put_small_cell(out, value, &r->value);
    }
    s->buffer.size = (uint64_t)(out - s->buffer.data);
    if (small) return true;
    return (key == GLINT_NONE || write_msgpack_cell(s, key, &r->key)) &&
           write_msgpack_cell(s, value, &r->value);
}

static int save_msgpack_open(void *state, const struct op_open *o)
{
    return save_open(state, o, 0, COMPRESSION_NONE);
}

static enum flow save_msgpack_push(void *state, const struct glint_batch *batch,
                                   struct glint_emitter *out)
{
    (void)out;
    struct save *s = state;
    assert(batch->key.type == s->schema.key && batch->value.type == s->schema.value);
    s->task->counters.values[COUNT_ROWS_WRITTEN] += batch->rows;
    for (uint32_t row = 0; row < batch->rows; row++) {
        struct glint_record r = glint_batch_record(batch, row);
        if (!write_msgpack_record(s, &r)) return FLOW_FAIL;
    }
    return FLOW_MORE;
}

static enum flow save_msgpack_finish(void *state, struct glint_emitter *out)
{
    (void)out;
    return save_finish(state);
}

int glint_save_as_msgpack_file(struct glint_rdd *rdd, const char *path)
{
    if (rdd == NULL) return rdd_null_error("saveAsMsgpackFile");
    if (save_check_paths(rdd, "saveAsMsgpackFile", &path, 1) != 0) return rdd->g->error.code;
    const char *piped = rdd->g->config.stdout_output;
    if (piped != NULL && strcmp(path, piped) == 0)
        return glint_abort(rdd->g, GLINT_E_OUTPUT_CREATE, "name a directory",
                           "standard output gets text only, not records of msgpack");
    struct action a = {
        .op = &op_save_as_msgpack_file, .rdd = rdd, .outputs = &path, .output_count = 1};
    return run_action_of_rdd(&a);
}

const struct op op_save_as_msgpack_file = {.name = "saveAsMsgpackFile",
                                           .kind = OP_ACTION,
                                           .state_size = sizeof(struct save),
                                           .open = save_msgpack_open,
                                           .push = save_msgpack_push,
                                           .finish = save_msgpack_finish,
                                           .close = save_close,
                                           .result = save_result};
