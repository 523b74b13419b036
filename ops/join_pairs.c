/* See join_pairs.h. For each key the shuffle delivers the right values first. They are buffered in
 * a spool (ops/spool.h); then each left value is paired with all of them as it arrives. This gives
 * Spark's order:
 *
 *     (l1, r1) (l1, r2) ... (l2, r1) (l2, r2) ...
 *
 * Rows are written once, directly into the memory of the output batch. */
#include "ops/join_pairs.h"

#include "engine/batch.h"
#include "engine/records/bytes.h"
#include "engine/records/codec.h"
#include "engine/records/pack.h"
#include "ops/msgpack_cell.h"
#include "ops/selection.h"
#include "ops/sides.h"
#include "ops/spool.h"

struct join_state {
    struct glint_task *task;
    bool keep_left, keep_right; /* emit unmatched values of this side */
    bool any_left;              /* the current group has a left value */
    struct side_group group;
    union glint_value number; /* the group's key, if it is a number */
    struct spool right;
    /* The output batch. */
    uint32_t rows;
    uint64_t weight;     /* bytes of all cells, counting repeated keys each time */
    uint64_t key_at;     /* offset of the group's key in `keys` */
    bool key_is_written; /* the group's key is in `keys` */
    struct buffer keys, values;
    struct selection_column key, value;
};

static const uint8_t nil_byte = MSGPACK_NIL;
static const struct glint_slice nil = {&nil_byte, 1};

static int join_pairs_open(void *state, const struct op_open *o)
{
    struct join_state *s = state;
    s->task = o->task;
    s->group.type = o->in.key;
    spool_init(&s->right, o->task);
    struct unpacker u = unpack_begin(o->params);
    s->keep_left = unpack_u64(&u, 1) != 0;
    s->keep_right = unpack_u64(&u, 1) != 0;
    return op_check_params(o,
                           unpack_is_complete(&u) && o->in.value == GLINT_MSGPACK &&
                               o->out.value == GLINT_MSGPACK && o->in.key == o->out.key,
                           "a join's parameters");
}

/* ---- Output batch */

static enum flow flush_joined_rows(struct join_state *s, struct glint_emitter *out)
{
    /* A large row has no offsets: its size may exceed 32 bits (see struct glint_column). */
    bool alone = s->weight > BATCH_BYTES_MAX;
    struct glint_batch batch = {
        .rows = s->rows,
        .key = selection_column_of(&s->key, s->group.type, s->keys.data, s->keys.size, alone),
        .value =
            selection_column_of(&s->value, GLINT_MSGPACK, s->values.data, s->values.size, alone)};
    assert(!alone || s->rows == 1);
    glint_emit_batch(out, &batch);
    s->rows = 0;
    s->weight = 0;
    s->keys.size = s->values.size = 0;
    s->key_is_written = false;
    return out->flow;
}

/* Sets the group's key for row `rows`. The bytes of a key are written once per batch, and all rows
 * of the group refer to them. */
static bool write_joined_key(struct join_state *s)
{
    const struct buffer *key = &s->group.key;
    if (s->group.type == GLINT_I64) {
        s->key.i64[s->rows] = s->number.i64;
    } else if (s->group.type == GLINT_F64) {
        s->key.f64[s->rows] = s->number.f64;
    } else {
        if (!s->key_is_written) {
            s->key_at = s->keys.size;
            if (!buffer_append(&s->keys, key->data, key->size)) return false;
            s->key_is_written = true;
        }
        s->key.start[s->rows] = (uint32_t)s->key_at;
        s->key.end[s->rows] = (uint32_t)(s->key_at + key->size);
    }
    return true;
}

static bool write_joined_pair(struct join_state *s, struct glint_slice left,
                              struct glint_slice right)
{
    uint64_t size = 1 + left.size + right.size;
    if (!buffer_reserve(&s->values, size)) return false;
    uint8_t *out = s->values.data + s->values.size;
    *out++ = MSGPACK_PAIR;
    bytes_copy(out, left.data, left.size);
    bytes_copy(out + left.size, right.data, right.size);
    s->value.start[s->rows] = (uint32_t)s->values.size;
    s->values.size += size;
    s->value.end[s->rows] = (uint32_t)s->values.size;
    return true;
}

/* Flushes by the total size of the cells, even though keys are stored once: a consumer may copy
 * every cell. A larger row gets its own batch. */
static enum flow add_joined_row(struct join_state *s, struct glint_slice left,
                                struct glint_slice right, struct glint_emitter *out)
{
    uint64_t size = s->group.key.size + 1 + left.size + right.size;
    bool full = s->rows == BATCH_ROWS_MAX || s->weight + size > EMIT_BUFFER_BYTES;
    if (s->rows > 0 && full && flush_joined_rows(s, out) != FLOW_MORE) return out->flow;
    if (!write_joined_key(s) || !write_joined_pair(s, left, right)) {
        error_no_memory(&s->task->error);
        return FLOW_FAIL;
    }
    s->rows++;
    s->weight += size;
    return out->flow;
}

/* ---- Groups */

/* Pairs `left` (a left value, or nil) with each right value. */
static enum flow add_pairs_of_left(struct join_state *s, struct glint_slice left,
                                   struct glint_emitter *out)
{
    struct glint_slice right;
    int more = spool_rewind(&s->right);
    if (more == 0) more = spool_next(&s->right, &right);
    while (more > 0) {
        enum flow flow = add_joined_row(s, left, right, out);
        if (flow != FLOW_MORE) return flow;
        more = spool_next(&s->right, &right);
    }
    return more < 0 ? FLOW_FAIL : out->flow;
}

/* Ends the current group, if any. Only now it is known that right values have no match. */
static enum flow end_join_group(struct join_state *s, struct glint_emitter *out)
{
    enum flow flow = out->flow;
    if (flow == FLOW_MORE && s->keep_right && !s->any_left && s->right.count > 0)
        flow = add_pairs_of_left(s, nil, out);
    spool_clear(&s->right);
    s->group.started = s->any_left = s->key_is_written = false;
    return flow;
}

static enum flow begin_join_group(struct join_state *s, struct glint_slice key,
                                  const union glint_value *number, struct glint_emitter *out)
{
    enum flow flow = end_join_group(s, out);
    if (flow != FLOW_MORE) return flow;
    s->number = *number;
    if (side_group_begin(&s->group, key)) return FLOW_MORE;
    error_no_memory(&s->task->error);
    return FLOW_FAIL;
}

static enum flow add_value_of_side(struct join_state *s, enum side side, struct glint_slice value,
                                   struct glint_emitter *out)
{
    /* The right side must be complete before the first left value, or pairs would be missing. */
    if (side == SIDE_RIGHT && s->any_left) {
        error_set(&s->task->error, GLINT_E_SHUFFLE_CORRUPT, NULL,
                  "shuffle returned join sides in the wrong order");
        return FLOW_FAIL;
    }
    if (side == SIDE_RIGHT) return spool_add(&s->right, value) < 0 ? FLOW_FAIL : FLOW_MORE;
    s->any_left = true;
    /* All right values of the key have arrived, so this left value is matched or not for good. */
    if (s->right.count > 0) return add_pairs_of_left(s, value, out);
    return s->keep_left ? add_joined_row(s, value, nil, out) : FLOW_MORE;
}

static enum flow join_pairs_push(void *state, const struct glint_batch *batch,
                                 struct glint_emitter *out)
{
    struct join_state *s = state;
    for (uint32_t row = 0; row < batch->rows; row++) {
        struct glint_record r = glint_batch_record(batch, row);
        uint8_t scratch[CODEC_NUMBER_BYTES];
        struct glint_slice key = codec_encode(s->group.type, &r.key, scratch), value;
        enum side side;
        enum flow flow = FLOW_MORE;
        if (sides_decode_value(s->task, r.value.bytes, &side, &value) < 0) return FLOW_FAIL;
        if (!side_group_contains(&s->group, key)) flow = begin_join_group(s, key, &r.key, out);
        if (flow == FLOW_MORE) flow = add_value_of_side(s, side, value, out);
        if (flow != FLOW_MORE) return flow;
    }
    return FLOW_MORE;
}

static enum flow join_pairs_finish(void *state, struct glint_emitter *out)
{
    struct join_state *s = state;
    enum flow flow = end_join_group(s, out);
    return flow == FLOW_MORE && s->rows > 0 ? flush_joined_rows(s, out) : flow;
}

static void join_pairs_close(void *state)
{
    struct join_state *s = state;
    spool_fini(&s->right);
    buffer_fini(&s->group.key);
    buffer_fini(&s->keys);
    buffer_fini(&s->values);
}

const struct op op_join_pairs = {.name = "join.pairs",
                                 .kind = OP_NARROW,
                                 .state_size = sizeof(struct join_state),
                                 .open = join_pairs_open,
                                 .push = join_pairs_push,
                                 .finish = join_pairs_finish,
                                 .close = join_pairs_close};

/* ---- Driver side */

struct glint_rdd *join_rdd(const struct op *shuffle_op, struct glint_rdd *left,
                           struct glint_rdd *right, bool keep_left, bool keep_right)
{
    struct sides_spec sides = {
        .shuffle_op = shuffle_op, .left = left, .right = right, .first = SIDE_RIGHT};
    struct glint_rdd *groups = side_tagged_union_rdd(&sides);
    if (groups == NULL) return NULL;
    struct packer p = {.failed = false};
    pack_array(&p, 2);
    pack_u64(&p, keep_left);
    pack_u64(&p, keep_right);
    struct rdd_spec spec = {.op = &op_join_pairs,
                            .parents = {groups},
                            .schema = groups->schema,
                            .key_partitioned = true};
    struct glint_rdd *out = rdd_create_packed(groups->g, &spec, &p);
    if (out != NULL) out->shuffle = groups;
    return out;
}
