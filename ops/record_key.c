/* See record_key.h. */
#include "ops/record_key.h"

#include "engine/batch.h"
#include "engine/records/codec.h"
#include "engine/records/pack.h"
#include "ops/selection.h"

#include <assert.h>

#define SIZE_BYTES 4

/* True if one column is empty: the other one is the key of the shuffle without any packing. */
static bool has_one_column(struct glint_schema schema)
{
    return schema.key == GLINT_NONE || schema.value == GLINT_NONE;
}

/* ---- Map side */

struct pack_state {
    struct glint_task *task;
    char name[NAME_BYTES_MAX]; /* of the operator, for errors */
    struct glint_schema in;
    struct glint_column value; /* of every batch: none, or the mark */
    uint32_t rows;
    uint32_t start[BATCH_ROWS_MAX], end[BATCH_ROWS_MAX];
    int64_t marks[BATCH_ROWS_MAX];
    struct buffer bytes;
};

static int record_key_pack_open(void *state, const struct op_open *o)
{
    struct pack_state *s = state;
    s->task = o->task;
    s->in = o->in;
    struct unpacker u = unpack_begin(o->params);
    unpack_text(&u, s->name, sizeof s->name);
    int64_t mark = unpack_i64(&u);
    bool sound = unpack_is_complete(&u) && o->out.value == (mark == 0 ? GLINT_NONE : GLINT_I64);
    if (!sound) return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "cannot decode a mark");
    for (uint32_t i = 0; i < BATCH_ROWS_MAX; i++) s->marks[i] = mark;
    s->value = (struct glint_column){.type = o->out.value, .i64 = mark != 0 ? s->marks : NULL};
    return 0;
}

static enum flow record_key_pack_flush(struct pack_state *s, struct glint_emitter *out)
{
    struct glint_batch batch = {.rows = s->rows,
                                .key = {.type = GLINT_BYTES,
                                        .base = s->bytes.data,
                                        .start = s->start,
                                        .end = s->end,
                                        .size = s->bytes.size},
                                .value = s->value};
    /* One row of any size. */
    if (s->bytes.size > BATCH_BYTES_MAX) batch.key.start = batch.key.end = NULL;
    assert(s->rows == 1 || batch.key.start != NULL);
    glint_emit_batch(out, &batch);
    s->rows = 0;
    s->bytes.size = 0;
    return out->flow;
}

static bool append_record_cells(struct buffer *out, enum glint_type key_type,
                                struct glint_slice key, struct glint_slice value)
{
    const uint32_t size = (uint32_t)key.size;
    return buffer_append(out, key.data, key.size) && buffer_append(out, value.data, value.size) &&
           (!codec_type_is_bytes(key_type) || buffer_append(out, &size, SIZE_BYTES));
}

bool record_key_append(struct buffer *out, struct glint_schema schema,
                       const struct glint_record *record)
{
    uint8_t key[CODEC_NUMBER_BYTES], value[CODEC_NUMBER_BYTES];
    return append_record_cells(out, schema.key, codec_encode(schema.key, &record->key, key),
                               codec_encode(schema.value, &record->value, value));
}

static bool pack_record_row(struct pack_state *s, struct glint_slice key, struct glint_slice value)
{
    uint64_t start = s->bytes.size;
    assert(s->rows < BATCH_ROWS_MAX && start <= BATCH_BYTES_MAX);
    if (!append_record_cells(&s->bytes, s->in.key, key, value)) return false;
    s->start[s->rows] = (uint32_t)start;
    s->end[s->rows] = (uint32_t)s->bytes.size;
    s->rows++;
    return true;
}

static enum flow pack_pair_rows(struct pack_state *s, const struct glint_batch *batch,
                                struct glint_emitter *out)
{
    for (uint32_t row = 0; row < batch->rows; row++) {
        uint8_t key_number[CODEC_NUMBER_BYTES], value_number[CODEC_NUMBER_BYTES];
        struct glint_record r = glint_batch_record(batch, row);
        struct glint_slice key = codec_encode(s->in.key, &r.key, key_number);
        struct glint_slice value = codec_encode(s->in.value, &r.value, value_number);
        uint64_t size = key.size + value.size + SIZE_BYTES;
        /* The shuffle limits keys to KEY_BYTES_MAX; report it here with the operator's name. */
        if (size > KEY_BYTES_MAX) {
            error_set(&s->task->error, GLINT_E_VALUE_LIMIT, NULL,
                      "%s: a record of %llu bytes; the limit is %llu", s->name,
                      (unsigned long long)size, (unsigned long long)KEY_BYTES_MAX);
            return FLOW_FAIL;
        }
        bool full = s->rows > 0 && s->bytes.size + size > BATCH_BYTES_MAX;
        if (full && record_key_pack_flush(s, out) != FLOW_MORE) return out->flow;
        if (pack_record_row(s, key, value)) continue;
        error_no_memory(&s->task->error);
        return FLOW_FAIL;
    }
    return record_key_pack_flush(s, out);
}

static enum flow record_key_pack_push(void *state, const struct glint_batch *batch,
                                      struct glint_emitter *out)
{
    struct pack_state *s = state;
    if (!has_one_column(s->in)) return pack_pair_rows(s, batch, out);
    struct glint_batch moved = *batch;
    if (s->in.key == GLINT_NONE) moved.key = batch->value;
    moved.value = s->value;
    glint_emit_batch(out, &moved);
    return out->flow;
}

static void record_key_pack_close(void *state)
{
    buffer_fini(&((struct pack_state *)state)->bytes);
}

const struct op op_record_pack = {.name = "record.pack",
                                  .kind = OP_NARROW,
                                  .state_size = sizeof(struct pack_state),
                                  .open = record_key_pack_open,
                                  .push = record_key_pack_push,
                                  .close = record_key_pack_close};

/* ---- Reduce side */

struct unpack_state {
    struct glint_task *task;
    struct glint_schema out;
    struct selection_column key, value;
};

static int record_key_unpack_open(void *state, const struct op_open *o)
{
    struct unpack_state *s = state;
    s->task = o->task;
    s->out = o->out;
    return 0;
}

/* Sets cell `row` to `cell`, a slice of `packed`. Returns false if its size does not fit the
 * type. */
static bool unpack_key_cell(struct selection_column *c, enum glint_type type, uint32_t row,
                            struct glint_slice cell, const struct glint_column *packed)
{
    union glint_value v = {.i64 = 0};
    if (!codec_decode(type, cell, &v)) return false;
    if (type == GLINT_I64) {
        c->i64[row] = v.i64;
    } else if (type == GLINT_F64) {
        c->f64[row] = v.f64;
    } else {
        c->start[row] = (uint32_t)(cell.data - packed->base);
        c->end[row] = (uint32_t)(cell.data + cell.size - packed->base);
    }
    return true;
}

static bool unpack_record_row(struct unpack_state *s, const struct glint_column *packed,
                              uint32_t row)
{
    struct glint_slice all = glint_column_slice(packed, row);
    /* A number as key has a fixed size, which is not stored. */
    uint32_t size = CODEC_NUMBER_BYTES;
    if (codec_type_is_bytes(s->out.key)) {
        if (all.size < SIZE_BYTES) return false;
        all.size -= SIZE_BYTES;
        memcpy(&size, all.data + all.size, SIZE_BYTES);
    }
    if (size > all.size) return false;
    struct glint_slice key = {all.data, size}, value = {all.data + size, all.size - size};
    return unpack_key_cell(&s->key, s->out.key, row, key, packed) &&
           unpack_key_cell(&s->value, s->out.value, row, value, packed);
}

static enum flow unpack_pair_rows(struct unpack_state *s, const struct glint_batch *batch,
                                  struct glint_emitter *out)
{
    const struct glint_column *packed = batch->key.type != GLINT_NONE ? &batch->key : &batch->value;
    assert(packed->size <= UINT32_MAX); /* at most KEY_BYTES_MAX, or a batch */
    for (uint32_t row = 0; row < batch->rows; row++) {
        if (unpack_record_row(s, packed, row)) continue;
        error_set(&s->task->error, GLINT_E_SHUFFLE_CORRUPT, NULL,
                  "cannot decode a record from a key");
        return FLOW_FAIL;
    }
    struct glint_batch pairs = {
        .rows = batch->rows,
        .key = selection_column_of(&s->key, s->out.key, packed->base, packed->size, false),
        .value = selection_column_of(&s->value, s->out.value, packed->base, packed->size, false)};
    glint_emit_batch(out, &pairs);
    return out->flow;
}

static enum flow record_key_unpack_push(void *state, const struct glint_batch *batch,
                                        struct glint_emitter *out)
{
    struct unpack_state *s = state;
    if (!has_one_column(s->out)) return unpack_pair_rows(s, batch, out);
    struct glint_batch moved = *batch;
    if (s->out.key == GLINT_NONE) {
        moved.key = batch->value;
        moved.value = batch->key;
    }
    glint_emit_batch(out, &moved);
    return out->flow;
}

const struct op op_record_unpack = {.name = "record.unpack",
                                    .kind = OP_NARROW,
                                    .state_size = sizeof(struct unpack_state),
                                    .open = record_key_unpack_open,
                                    .push = record_key_unpack_push};

/* ---- Driver side */

static struct glint_schema packed_schema(struct glint_schema schema, int64_t mark)
{
    enum glint_type key = schema.key == GLINT_NONE ? schema.value : schema.key;
    if (!has_one_column(schema)) key = GLINT_BYTES;
    return (struct glint_schema){key, mark == 0 ? GLINT_NONE : GLINT_I64};
}

struct glint_rdd *record_key_packed_rdd(struct glint_rdd *rdd, const char *name, int64_t mark)
{
    if (rdd == NULL) return rdd_fail_null(name);
    struct packer p = {.failed = false};
    pack_array(&p, 2);
    pack_text(&p, name);
    pack_i64(&p, mark);
    struct rdd_spec spec = {
        .op = &op_record_pack, .parents = {rdd}, .schema = packed_schema(rdd->schema, mark)};
    return rdd_create_packed(rdd->g, &spec, &p);
}

struct glint_rdd *record_key_unpacked_rdd(struct glint_rdd *packed, struct glint_schema schema,
                                          struct glint_rdd *shuffle)
{
    if (packed == NULL) return NULL;
    assert(shuffle->op->kind == OP_WIDE);
    assert(packed->schema.key == GLINT_NONE || packed->schema.value == GLINT_NONE);
    struct rdd_spec spec = {.op = &op_record_unpack, .parents = {packed}, .schema = schema};
    struct glint_rdd *out = rdd_create(packed->g, &spec);
    if (out != NULL) out->shuffle = shuffle;
    return out;
}

struct glint_rdd *group_records_by_marks(const struct op *shuffle_op, struct glint_rdd *a,
                                         int64_t a_mark, struct glint_rdd *b, int64_t b_mark,
                                         const struct glint_function *function)
{
    if (a == NULL || b == NULL) return rdd_fail_null(shuffle_op->name);
    if (a->schema.key != b->schema.key || a->schema.value != b->schema.value)
        return rdd_fail(a, GLINT_E_PLAN_TYPE, "%s of (%s, %s) and (%s, %s)", shuffle_op->name,
                        codec_type_name(a->schema.key), codec_type_name(a->schema.value),
                        codec_type_name(b->schema.key), codec_type_name(b->schema.value));
    assert(a_mark != 0 && b_mark != 0);
    /* One shuffle for both sides puts equal records of `a` and `b` into the same group. */
    struct glint_rdd *both = glint_union(record_key_packed_rdd(a, shuffle_op->name, a_mark),
                                         record_key_packed_rdd(b, shuffle_op->name, b_mark));
    if (both == NULL) return NULL;
    struct rdd_spec spec = {.op = shuffle_op,
                            .parents = {both},
                            .function = function,
                            .schema = both->schema,
                            .dependency = {.combine = COMBINE_REDUCE}};
    return rdd_create(both->g, &spec);
}
