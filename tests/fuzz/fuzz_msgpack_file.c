/* Arbitrary bytes as a file for msgpackFile, with any schema, also with the end of the read window
 * inside them. What is read without an error must be the records that msgpack-c decodes; what
 * msgpack-c cannot decode must be an error. */
#include "engine/batch.h"
#include "engine/input/split.h"
#include "engine/plan/op.h"
#include "engine/records/emitter.h"
#include "engine/records/pack.h"
#include "tests/support/memory_env.h"

#include <msgpack.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct op op_msgpack_file;

/* What msgpack-c decodes, record by record. */
struct oracle {
    struct glint_schema schema;
    const uint8_t *data;
    uint64_t size, at, rows;
};

static bool same_bytes(const union glint_value *v, const void *data, uint64_t size)
{
    return v->bytes.size == size && (size == 0 || memcmp(v->bytes.data, data, size) == 0);
}

static void check_cell(enum glint_type type, const union glint_value *v, const msgpack_object *o,
                       const uint8_t *data, uint64_t size)
{
    bool same = true;
    switch (type) {
    case GLINT_NONE: same = o->type == MSGPACK_OBJECT_NIL; break;
    case GLINT_I64:
        same = (o->type == MSGPACK_OBJECT_NEGATIVE_INTEGER || o->via.u64 <= INT64_MAX) &&
               (o->type == MSGPACK_OBJECT_NEGATIVE_INTEGER ||
                o->type == MSGPACK_OBJECT_POSITIVE_INTEGER) &&
               o->via.i64 == v->i64;
        break;
    case GLINT_F64:
        same = (o->type == MSGPACK_OBJECT_FLOAT64 || o->type == MSGPACK_OBJECT_FLOAT32) &&
               memcmp(&o->via.f64, &v->f64, sizeof v->f64) == 0;
        break;
    case GLINT_TEXT:
        same = o->type == MSGPACK_OBJECT_STR && same_bytes(v, o->via.str.ptr, o->via.str.size);
        break;
    case GLINT_BYTES:
        same = o->type == MSGPACK_OBJECT_BIN && same_bytes(v, o->via.bin.ptr, o->via.bin.size);
        break;
    default: same = same_bytes(v, data, size);
    }
    if (!same) abort();
}

/* Returns the size of a record. The cells of a pair are decoded separately: each may have the
 * maximum depth. */
static uint64_t record_size(const struct oracle *o)
{
    const uint8_t *p = o->data + o->at, *end = o->data + o->size;
    int cells = 1;
    if (o->schema.key != GLINT_NONE) {
        struct msgpack_head pair;
        if (!msgpack_read_head(p, (uint64_t)(end - p), &pair)) abort();
        p += pair.head_size;
        cells = 2;
    }
    for (uint64_t size; cells > 0; cells--, p += size)
        if (!msgpack_validate(p, (uint64_t)(end - p), &size)) abort();
    return (uint64_t)(p - o->data) - o->at;
}

static void check_record(struct oracle *o, const struct glint_record *r)
{
    msgpack_unpacked unpacked;
    const uint64_t whole = record_size(o);
    size_t size = 0;
    msgpack_unpacked_init(&unpacked);
    if (msgpack_unpack_next(&unpacked, (const char *)o->data + o->at, whole, &size) !=
        MSGPACK_UNPACK_SUCCESS)
        abort();
    const msgpack_object *value = &unpacked.data;
    const uint8_t *p = o->data + o->at;
    if (o->schema.key != GLINT_NONE) {
        struct msgpack_head pair;
        uint64_t key_size;
        if (value->type != MSGPACK_OBJECT_ARRAY || value->via.array.size != 2) abort();
        if (!msgpack_read_head(p, whole, &pair)) abort();
        p += pair.head_size;
        if (!msgpack_validate(p, whole - pair.head_size, &key_size)) abort();
        check_cell(o->schema.key, &r->key, &value->via.array.ptr[0], p, key_size);
        p += key_size;
        value = &value->via.array.ptr[1];
    }
    check_cell(o->schema.value, &r->value, value, p, whole - (uint64_t)(p - o->data - o->at));
    msgpack_unpacked_destroy(&unpacked);
    o->at += size;
    o->rows++;
}

static enum flow check_batch(void *state, const struct glint_batch *batch,
                             struct glint_emitter *out)
{
    (void)out;
    if (batch->rows == 0 || batch->rows > BATCH_ROWS_MAX) abort();
    for (uint32_t row = 0; row < batch->rows; row++) {
        const struct glint_record r = glint_batch_record(batch, row);
        check_record(state, &r);
    }
    return FLOW_MORE;
}

static enum flow read_file(struct oracle *o)
{
    struct memory_env env;
    const struct task_options options = {.memory_bytes = MEMORY_BYTES_DEFAULT};
    struct glint_task task = {.env = &env.env, .options = &options};
    const struct split_piece piece = {.path = "file", .length = o->size, .file_size = o->size};
    const struct split split = {&piece, 1};
    struct buffer wire = {NULL, 0, 0};
    struct glint_emitter out;
    struct op_open open = {.task = &task, .out = o->schema};
    memory_env_init(&env, o->data, o->size);
    void *state = calloc(1, op_msgpack_file.state_size);
    if (state == NULL || !split_encode(&split, &wire)) abort();
    emitter_init(&out, &task, o->schema, check_batch, o, NULL);
    if (op_msgpack_file.open(state, &open) != 0) abort();
    enum flow flow = op_msgpack_file.run(state, (struct glint_slice){wire.data, wire.size}, &out);
    if (flow == FLOW_MORE) flow = emitter_flush(&out);
    op_msgpack_file.close(state);
    if ((flow == FLOW_FAIL) != (task.error.code == GLINT_E_MSGPACK_CORRUPT)) abort();
    if (flow == FLOW_MORE && o->at != o->size) abort();
    if (env.open_files != 0) abort();
    free(state);
    buffer_fini(&wire);
    arena_fini(&task.arena);
    return flow;
}

/* Writes a record of `size` bytes, at least 16, for schemas that can have one. */
static void put_filler(struct glint_schema schema, uint8_t *out, uint64_t size)
{
    const uint8_t bin = schema.value == GLINT_TEXT ? 0xdb : 0xc6;
    const bool pair = schema.key != GLINT_NONE;
    uint64_t at = 0;
    memset(out, 'x', size);
    if (pair) {
        out[at++] = 0x92;
        out[at++] = 0x01; /* valid as an i64 and as msgpack */
    }
    out[at++] = bin;
    const uint32_t body = __builtin_bswap32((uint32_t)(size - at - 4));
    memcpy(out + at, &body, sizeof body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    const enum glint_type key = GLINT_NONE + data[0] % 6, value = GLINT_NONE + data[0] / 6 % 6;
    struct oracle o = {.schema = {key, value}, .data = data + 2, .size = size - 2};
    if (o.size == 0) return 0;
    const enum flow flow = read_file(&o);
    /* The same after one large record, which leaves data[1] of the bytes in the first window. */
    const bool key_fits = key == GLINT_NONE || key == GLINT_I64 || key == GLINT_MSGPACK;
    const bool value_fits = value == GLINT_TEXT || value == GLINT_BYTES || value == GLINT_MSGPACK;
    const uint64_t before = READ_BLOCK_BYTES - data[1];
    if (!key_fits || !value_fits) return 0;
    uint8_t *file = malloc(before + o.size);
    if (file == NULL) abort();
    put_filler(o.schema, file, before);
    memcpy(file + before, o.data, o.size);
    struct oracle shifted = {.schema = o.schema, .data = file, .size = before + o.size};
    if (read_file(&shifted) != flow) abort();
    if (flow == FLOW_MORE && shifted.rows != o.rows + 1) abort();
    free(file);
    return 0;
}
