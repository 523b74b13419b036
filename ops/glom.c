/* glom: each partition becomes one element, the msgpack array of its elements; of a pair RDD, of
 * arrays [key, value]. As in Spark, a partition must therefore fit into memory.
 *
 * The array's header depends on the number of elements, so it is written last, into bytes that the
 * buffer reserves for it. */
#include "engine/batch.h"
#include "engine/records/bytes.h"
#include "engine/records/codec.h"
#include "ops/msgpack_cell.h"
#include "ops/ops.h"

#include <assert.h>

#define ARRAY_HEAD_BYTES_MAX 5u

struct glom_state {
    struct glint_task *task;
    struct glint_schema schema;
    uint64_t elements;
    struct buffer bytes;
};

static int glom_open(void *state, const struct op_open *o)
{
    struct glom_state *s = state;
    s->task = o->task;
    s->schema = o->in;
    if (o->out.value != GLINT_MSGPACK)
        return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "glom makes msgpack values");
    if (!buffer_reserve(&s->bytes, ARRAY_HEAD_BYTES_MAX)) return error_no_memory(&s->task->error);
    s->bytes.size = ARRAY_HEAD_BYTES_MAX;
    return 0;
}

static int glom_add_cell(struct glom_state *s, enum glint_type type, const union glint_value *v)
{
    const bool is_bytes = codec_type_is_bytes(type);
    if (is_bytes && !msgpack_cell_check(s->task, type, v->bytes)) return s->task->error.code;
    const uint64_t size = MSGPACK_HEAD_BYTES_MAX + (is_bytes ? v->bytes.size : 0);
    if (s->bytes.size + size > VALUE_BYTES_MAX || s->elements == UINT32_MAX)
        return error_set(&s->task->error, GLINT_E_VALUE_LIMIT, "use more partitions",
                         "glom: partition %u has more than %llu bytes", s->task->partition,
                         (unsigned long long)VALUE_BYTES_MAX);
    if (!buffer_reserve(&s->bytes, size)) return error_no_memory(&s->task->error);
    uint8_t *out = msgpack_put_head(s->bytes.data + s->bytes.size, type, v);
    if (is_bytes) {
        bytes_copy(out, v->bytes.data, v->bytes.size);
        out += v->bytes.size;
    }
    s->bytes.size = (uint64_t)(out - s->bytes.data);
    return 0;
}

static enum flow glom_push(void *state, const struct glint_batch *batch, struct glint_emitter *out)
{
    (void)out;
    struct glom_state *s = state;
    static const uint8_t pair = MSGPACK_PAIR;
    for (uint32_t row = 0; row < batch->rows; row++, s->elements++) {
        const struct glint_record r = glint_batch_record(batch, row);
        if (s->schema.key != GLINT_NONE) {
            if (!buffer_append(&s->bytes, &pair, 1)) {
                error_no_memory(&s->task->error);
                return FLOW_FAIL;
            }
            if (glom_add_cell(s, s->schema.key, &r.key) < 0) return FLOW_FAIL;
        }
        if (glom_add_cell(s, s->schema.value, &r.value) < 0) return FLOW_FAIL;
    }
    return FLOW_MORE;
}

/* Writes the array's header before its elements. Returns where it starts. */
static uint8_t *write_glom_array_head(struct glom_state *s)
{
    uint8_t head[MSGPACK_HEAD_BYTES_MAX];
    unsigned size = 1;
    if (s->elements < 16)
        head[0] = (uint8_t)(0x90 | s->elements);
    else if (s->elements <= UINT16_MAX)
        size = msgpack_put_number(head, 0xdc, s->elements, 2);
    else
        size = msgpack_put_number(head, 0xdd, s->elements, 4);
    assert(size <= ARRAY_HEAD_BYTES_MAX);
    uint8_t *start = s->bytes.data + ARRAY_HEAD_BYTES_MAX - size;
    memcpy(start, head, size);
    return start;
}

static enum flow glom_finish(void *state, struct glint_emitter *out)
{
    struct glom_state *s = state;
    const uint8_t *start = write_glom_array_head(s);
    const struct glint_record whole = {
        .value.bytes = {start, (uint64_t)(s->bytes.data + s->bytes.size - start)}};
    glint_emit(out, &whole);
    return out->flow;
}

static void glom_close(void *state)
{
    buffer_fini(&((struct glom_state *)state)->bytes);
}

const struct op op_glom = {.name = "glom",
                           .kind = OP_NARROW,
                           .state_size = sizeof(struct glom_state),
                           .open = glom_open,
                           .push = glom_push,
                           .finish = glom_finish,
                           .close = glom_close};

struct glint_rdd *glint_glom(struct glint_rdd *rdd)
{
    if (rdd == NULL) return rdd_fail_null("glom");
    const struct rdd_spec spec = {
        .op = &op_glom, .parents = {rdd}, .schema = {GLINT_NONE, GLINT_MSGPACK}};
    return rdd_create(rdd->g, &spec);
}
