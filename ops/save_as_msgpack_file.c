/* saveAsMsgpackFile: each record is the array [key, value], or the value alone where there is no
 * key. Numbers take their smallest form; large values go to the file past the buffer. */
#include "engine/data/codec.h"
#include "engine/data/scan.h"
#include "ops/ops.h"

#include <assert.h>
#include <string.h>

#define HEAD_BYTES_MAX  9
#define SMALL_BYTES_MAX (8 * KIB) /* cells up to it go through the buffer at once */

/* `code` and then a big-endian number of `width` bytes. */
static unsigned put_number(uint8_t *out, uint8_t code, uint64_t v, unsigned width)
{
    uint64_t bits = __builtin_bswap64(v << (64 - 8 * width));
    out[0] = code;
    memcpy(out + 1, &bits, sizeof bits);
    return 1 + width;
}

static unsigned put_i64(uint8_t *out, int64_t v)
{
    if (v >= -32 && v <= 127) {
        out[0] = (uint8_t)v;
        return 1;
    }
    const uint64_t u = (uint64_t)v;
    if (v < 0)
        return v >= INT8_MIN    ? put_number(out, 0xd0, u, 1)
               : v >= INT16_MIN ? put_number(out, 0xd1, u, 2)
               : v >= INT32_MIN ? put_number(out, 0xd2, u, 4)
                                : put_number(out, 0xd3, u, 8);
    return v <= UINT8_MAX    ? put_number(out, 0xcc, u, 1)
           : v <= UINT16_MAX ? put_number(out, 0xcd, u, 2)
           : v <= UINT32_MAX ? put_number(out, 0xce, u, 4)
                             : put_number(out, 0xcf, u, 8);
}

/* What stands before the bytes of a str or a bin. */
static unsigned put_size(uint8_t *out, bool str, uint64_t size)
{
    if (str && size <= 31) {
        out[0] = (uint8_t)(0xa0 | size);
        return 1;
    }
    const uint8_t code = str ? 0xd9 : 0xc4;
    return size <= UINT8_MAX    ? put_number(out, code, size, 1)
           : size <= UINT16_MAX ? put_number(out, code + 1, size, 2)
                                : put_number(out, code + 2, size, 4);
}

static bool cell_is_sound(struct save *s, enum glint_type type, struct glint_slice bytes)
{
    uint64_t size;
    if (bytes.size > VALUE_BYTES_MAX)
        error_set(&s->task->error, GLINT_E_VALUE_LIMIT, "cut the value into several records",
                  "a value of %llu bytes; the limit of msgpack is %llu",
                  (unsigned long long)bytes.size, (unsigned long long)VALUE_BYTES_MAX);
    else if (type == GLINT_MSGPACK &&
             (!scan_msgpack(bytes.data, bytes.size, &size) || size != bytes.size))
        error_set(&s->task->error, GLINT_E_FUNCTION_FAILED, NULL,
                  "a cell of %llu bytes has the type msgpack and is not exactly one msgpack value",
                  (unsigned long long)bytes.size);
    else
        return true;
    return false;
}

static bool is_bytes(enum glint_type type)
{
    return type == GLINT_BYTES || type == GLINT_TEXT || type == GLINT_MSGPACK;
}

/* All of a cell but the bytes of bytes-like ones; answers its end, at most HEAD_BYTES_MAX on. */
static uint8_t *put_head(uint8_t *out, enum glint_type type, const union glint_value *v)
{
    uint64_t bits;
    switch (type) {
    case GLINT_NONE: *out = 0xc0; return out + 1;
    case GLINT_I64: return out + put_i64(out, v->i64);
    case GLINT_F64:
        memcpy(&bits, &v->f64, sizeof bits);
        return out + put_number(out, 0xcb, bits, 8);
    case GLINT_MSGPACK: return out;
    default: return out + put_size(out, type == GLINT_TEXT, v->bytes.size);
    }
}

/* A cell of any size. */
static bool push_cell(struct save *s, enum glint_type type, const union glint_value *v)
{
    if (!save_reserve(s, HEAD_BYTES_MAX)) return false;
    uint8_t *end = put_head(s->buffer.data + s->buffer.size, type, v);
    s->buffer.size = (uint64_t)(end - s->buffer.data);
    return !is_bytes(type) || save_bytes(s, v->bytes);
}

/* A cell for which there is room; its bytes are copied by 32 where they are few, since both sides
 * have slack. */
static uint8_t *put_cell(uint8_t *out, enum glint_type type, const union glint_value *v)
{
    out = put_head(out, type, v);
    if (!is_bytes(type)) return out;
    if (v->bytes.size <= 32)
        memcpy(out, v->bytes.data, 32);
    else
        memcpy(out, v->bytes.data, v->bytes.size);
    return out + v->bytes.size;
}

static bool push_record(struct save *s, const struct glint_record *r)
{
    const enum glint_type key = s->shape.key, value = s->shape.value;
    const uint64_t key_size = is_bytes(key) ? r->key.bytes.size : 0;
    const uint64_t value_size = is_bytes(value) ? r->value.bytes.size : 0;
    if (is_bytes(key) && !cell_is_sound(s, key, r->key.bytes)) return false;
    if (is_bytes(value) && !cell_is_sound(s, value, r->value.bytes)) return false;
    const bool small = key_size <= SMALL_BYTES_MAX && value_size <= SMALL_BYTES_MAX;
    const uint64_t wanted = 1 + 2 * HEAD_BYTES_MAX + READ_SLACK;
    if (!save_reserve(s, small ? wanted + key_size + value_size : wanted)) return false;
    uint8_t *out = s->buffer.data + s->buffer.size;
    if (key != GLINT_NONE) *out++ = 0x92; /* an array of two */
    if (small) {
        if (key != GLINT_NONE) out = put_cell(out, key, &r->key);
        out = put_cell(out, value, &r->value);
    }
    s->buffer.size = (uint64_t)(out - s->buffer.data);
    if (small) return true;
    return (key == GLINT_NONE || push_cell(s, key, &r->key)) && push_cell(s, value, &r->value);
}

static int msgpack_open(void *state, const struct op_open *o)
{
    return save_open(state, o, "");
}

static enum flow msgpack_push(void *state, const struct glint_batch *batch,
                              struct glint_emitter *out)
{
    (void)out;
    struct save *s = state;
    assert(batch->key.type == s->shape.key && batch->value.type == s->shape.value);
    s->task->counters.values[COUNT_ROWS_WRITTEN] += batch->rows;
    for (uint32_t row = 0; row < batch->rows; row++) {
        struct glint_record r = glint_batch_record(batch, row);
        if (!push_record(s, &r)) return FLOW_FAIL;
    }
    return FLOW_MORE;
}

static enum flow msgpack_finish(void *state, struct glint_emitter *out)
{
    (void)out;
    return save_finish(state);
}

static int msgpack_result(void *state, struct buffer *out)
{
    return save_result(state, out);
}

static void msgpack_close(void *state)
{
    save_close(state);
}

extern const struct op op_save_as_msgpack_file;

int glint_save_as_msgpack_file(struct glint_rdd *rdd, const char *path)
{
    if (rdd == NULL) return GLINT_E_PLAN_FUNCTION;
    struct action a = {.op = &op_save_as_msgpack_file, .rdd = rdd, .output = path};
    return action_run(&a);
}

const struct op op_save_as_msgpack_file = {.name = "saveAsMsgpackFile",
                                           .kind = OP_ACTION,
                                           .state_size = sizeof(struct save),
                                           .open = msgpack_open,
                                           .push = msgpack_push,
                                           .finish = msgpack_finish,
                                           .close = msgpack_close,
                                           .result = msgpack_result};
