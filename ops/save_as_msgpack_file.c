/* saveAsMsgpackFile: each record is the array [key, value], or the value alone where there is no
 * key. Numbers take their smallest form; large values go to the file past the buffer. */
#include "engine/data/codec.h"
#include "engine/data/scan.h"
#include "ops/ops.h"

#include <string.h>

#define HEAD_BYTES_MAX 9

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

static bool push_cell(struct save *s, enum glint_type type, const union glint_value *v)
{
    if (!save_reserve(s, HEAD_BYTES_MAX)) return false;
    uint8_t *out = s->buffer.data + s->buffer.size;
    uint64_t bits;
    switch (type) {
    case GLINT_NONE:
        *out = 0xc0;
        s->buffer.size++;
        return true;
    case GLINT_I64: s->buffer.size += put_i64(out, v->i64); return true;
    case GLINT_F64:
        memcpy(&bits, &v->f64, sizeof bits);
        s->buffer.size += put_number(out, 0xcb, bits, 8);
        return true;
    default: break;
    }
    if (!cell_is_sound(s, type, v->bytes)) return false;
    if (type != GLINT_MSGPACK) s->buffer.size += put_size(out, type == GLINT_TEXT, v->bytes.size);
    return save_bytes(s, v->bytes);
}

static bool push_record(struct save *s, const struct glint_record *r)
{
    const uint8_t pair = 0x92; /* an array of two */
    if (s->shape.key != GLINT_NONE && (!save_bytes(s, (struct glint_slice){&pair, sizeof pair}) ||
                                       !push_cell(s, s->shape.key, &r->key)))
        return false;
    return push_cell(s, s->shape.value, &r->value);
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
