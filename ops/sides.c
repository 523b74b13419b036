/* See sides.h. The operator `side` passes keys by reference and rewrites the values. */
#include "ops/sides.h"

#include "engine/batch.h"
#include "engine/plan/context.h"
#include "engine/records/bytes.h"
#include "engine/records/codec.h"
#include "engine/records/pack.h"
#include "ops/msgpack_cell.h"

#define SIDE_HEAD_BYTES 2 /* header of the array, and the side */

struct side_state {
    struct glint_task *task;
    enum glint_type type; /* of the input values */
    uint8_t side;
    uint32_t rows; /* written, not yet emitted */
    uint32_t start[BATCH_ROWS_MAX], end[BATCH_ROWS_MAX];
    struct buffer bytes;
};

static int side_tag_open(void *state, const struct op_open *o)
{
    struct side_state *s = state;
    s->task = o->task;
    struct unpacker u = unpack_begin(o->params);
    s->side = (uint8_t)unpack_u64(&u, SIDES_MAX - 1);
    bool keys_only = unpack_u64(&u, 1) != 0;
    s->type = keys_only ? GLINT_NONE : o->in.value;
    return op_check_params(
        o, unpack_is_complete(&u) && o->out.value == GLINT_MSGPACK && o->out.key == o->in.key,
        "a side's parameters");
}

/* Returns the column from row `first` on, by reference. */
static struct glint_column column_from_row(const struct glint_column *c, uint32_t first)
{
    struct glint_column part = *c;
    /* A part of the lines is not consecutive from base[0], as `lines` would claim. */
    part.lines = NULL;
    if (c->start != NULL) {
        part.start += first;
        part.end += first;
    }
    if (c->i64 != NULL) part.i64 += first;
    if (c->f64 != NULL) part.f64 += first;
    return part;
}

/* Emits the written rows, which are the last rows of `in` before `end`. */
static enum flow side_tag_flush(struct side_state *s, const struct glint_batch *in, uint32_t end,
                                struct glint_emitter *out)
{
    assert(s->rows <= end && end <= in->rows);
    struct glint_batch batch = {.rows = s->rows,
                                .key = column_from_row(&in->key, end - s->rows),
                                .value = {.type = GLINT_MSGPACK,
                                          .base = s->bytes.data,
                                          .start = s->start,
                                          .end = s->end,
                                          .size = s->bytes.size}};
    /* A large row has no offsets: its size may exceed 32 bits. */
    if (s->bytes.size > BATCH_BYTES_MAX) batch.value.start = batch.value.end = NULL;
    assert(s->rows <= 1 || batch.value.start != NULL);
    glint_emit_batch(out, &batch);
    s->rows = 0;
    s->bytes.size = 0;
    return out->flow;
}

/* Writes one value; the caller has reserved room. */
static void write_side_tagged_value(struct side_state *s, const union glint_value *v)
{
    uint8_t *out = s->bytes.data + s->bytes.size;
    s->start[s->rows] = (uint32_t)s->bytes.size;
    *out++ = MSGPACK_PAIR;
    *out++ = s->side;
    out = msgpack_put_head(out, s->type, v);
    if (codec_type_is_bytes(s->type)) {
        bytes_copy(out, v->bytes.data, v->bytes.size);
        out += v->bytes.size;
    }
    s->bytes.size = (uint64_t)(out - s->bytes.data);
    s->end[s->rows++] = (uint32_t)s->bytes.size;
}

static enum flow side_tag_push(void *state, const struct glint_batch *batch,
                               struct glint_emitter *out)
{
    struct side_state *s = state;
    assert(s->rows == 0 && s->bytes.size == 0);
    for (uint32_t row = 0; row < batch->rows; row++) {
        union glint_value v = {.i64 = 0};
        if (s->type != GLINT_NONE) v = glint_column_value(&batch->value, row);
        uint64_t size = SIDE_HEAD_BYTES + MSGPACK_HEAD_BYTES_MAX;
        if (codec_type_is_bytes(s->type)) {
            if (!msgpack_cell_check(s->task, s->type, v.bytes)) return FLOW_FAIL;
            size += v.bytes.size;
        }
        bool full = s->rows > 0 && s->bytes.size + size > BATCH_BYTES_MAX;
        if (full && side_tag_flush(s, batch, row, out) != FLOW_MORE) return out->flow;
        if (!buffer_reserve(&s->bytes, size)) {
            error_no_memory(&s->task->error);
            return FLOW_FAIL;
        }
        write_side_tagged_value(s, &v);
    }
    return side_tag_flush(s, batch, batch->rows, out);
}

static void side_tag_close(void *state)
{
    buffer_fini(&((struct side_state *)state)->bytes);
}

const struct op op_side = {.name = "side",
                           .kind = OP_NARROW,
                           .state_size = sizeof(struct side_state),
                           .open = side_tag_open,
                           .push = side_tag_push,
                           .close = side_tag_close};

/* ---- Reduce side */

int sides_decode_value(struct glint_task *task, struct glint_slice pair, enum side *out_side,
                       struct glint_slice *out_value)
{
    if (pair.size <= SIDE_HEAD_BYTES || pair.data[0] != MSGPACK_PAIR || pair.data[1] > SIDE_RIGHT)
        return error_set(&task->error, GLINT_E_SHUFFLE_CORRUPT, NULL,
                         "cannot decode the side of a value");
    *out_side = (enum side)pair.data[1];
    *out_value = (struct glint_slice){pair.data + SIDE_HEAD_BYTES, pair.size - SIDE_HEAD_BYTES};
    return 0;
}

bool sides_is_left(struct glint_slice pair)
{
    return pair.size > SIDE_HEAD_BYTES && pair.data[0] == MSGPACK_PAIR && pair.data[1] == SIDE_LEFT;
}

bool side_group_contains(const struct side_group *g, struct glint_slice key)
{
    return g->started && slices_equal(key, (struct glint_slice){g->key.data, g->key.size});
}

bool side_group_begin(struct side_group *g, struct glint_slice key)
{
    g->key.size = 0;
    g->started = true;
    return buffer_append(&g->key, key.data, key.size);
}

/* ---- Driver side */

struct glint_rdd *side_tagged_rdd(struct glint_rdd *rdd, uint32_t side, bool keys_only)
{
    if (rdd == NULL) return NULL;
    struct packer p = {.failed = false};
    pack_array(&p, 2);
    pack_u64(&p, side);
    pack_u64(&p, keys_only);
    struct rdd_spec spec = {.op = &op_side,
                            .parents = {rdd},
                            .schema = {rdd->schema.key, GLINT_MSGPACK},
                            .key_partitioned = rdd->key_partitioned};
    return rdd_create_packed(rdd->g, &spec, &p);
}

struct glint_rdd *sides_union(struct glint_rdd *const *sides, uint32_t count)
{
    bool partitioned = false;
    for (uint32_t i = 0; i < count; i++) {
        if (sides[i] == NULL) return NULL;
        partitioned = partitioned || sides[i]->key_partitioned;
    }
    for (uint32_t i = 0; i < count && partitioned; i++)
        if (!partitioning_add_exchange(sides[i])) return NULL;
    struct glint_rdd *all = sides[0];
    for (uint32_t i = 1; i < count; i++) all = glint_union(all, sides[i]);
    return all;
}

struct glint_rdd *side_tagged_union_rdd(const struct sides_spec *spec)
{
    struct glint_rdd *left = spec->left, *right = spec->right;
    const char *name = spec->shuffle_op->name;
    if (left == NULL || right == NULL) return rdd_fail_null(name);
    if (!rdd_is_pair(left)) return rdd_fail(left, GLINT_E_PLAN_TYPE, "%s needs keys", name);
    if (!rdd_is_pair(right)) return rdd_fail(right, GLINT_E_PLAN_TYPE, "%s needs keys", name);
    if (left->schema.key != right->schema.key)
        return rdd_fail(left, GLINT_E_PLAN_TYPE, "%s of keys of type %s and keys of type %s", name,
                        codec_type_name(left->schema.key), codec_type_name(right->schema.key));
    left = side_tagged_rdd(left, SIDE_LEFT, false);
    right = side_tagged_rdd(right, SIDE_RIGHT, spec->keys_only);
    /* The order of the parents in the union decides which side comes first in each group. */
    bool left_first = spec->first == SIDE_LEFT;
    struct glint_rdd *const sides[] = {left_first ? left : right, left_first ? right : left};
    struct glint_rdd *both = sides_union(sides, 2);
    if (both == NULL) return NULL;
    struct rdd_spec shuffle = {.op = spec->shuffle_op,
                               .parents = {both},
                               .schema = both->schema,
                               .grouped = spec->grouped,
                               .key_partitioned = true};
    return rdd_create(both->g, &shuffle);
}
