/* subtractByKey: the records whose key the other side does not have. The other side's keys come
 * first in each group, so a group's first record decides, and nothing is buffered. */
#include "ops/sides.h"

#include "engine/batch.h"
#include "engine/records/codec.h"
#include "ops/selection.h"

#include <assert.h>

struct subtract_state {
    struct glint_task *task;
    enum glint_type type; /* of the output values */
    struct side_group group;
    bool dropped, kept;      /* the current group has a right value; has only left values */
    struct glint_slice last; /* bytes of the last decoded value */
    uint16_t rows[BATCH_ROWS_MAX];
    struct selection_column value; /* indexed by row of the current batch */
    struct selection selection;
};

static int subtract_open(void *state, const struct op_open *o)
{
    struct subtract_state *s = state;
    s->task = o->task;
    s->type = o->out.value;
    s->group.type = o->in.key;
    if (o->in.value == GLINT_MSGPACK && o->in.key == o->out.key) return 0;
    return error_set(&s->task->error, GLINT_E_PROTOCOL, NULL, "subtractByKey: unexpected types");
}

static int set_subtract_corrupt_error(struct subtract_state *s, const char *what)
{
    return error_set(&s->task->error, GLINT_E_SHUFFLE_CORRUPT, NULL, "subtractByKey: %s", what);
}

/* Decodes the value of row `row` to its original type; bytes are not copied. */
static int decode_subtract_value(struct subtract_state *s, const struct glint_column *in,
                                 uint32_t row, struct glint_slice msgpack)
{
    union glint_value v = {.i64 = 0};
    if (!glint_unpack(msgpack, s->type, &v))
        return set_subtract_corrupt_error(s, "a value has the wrong type");
    if (s->type == GLINT_I64) {
        s->value.i64[row] = v.i64;
    } else if (s->type == GLINT_F64) {
        s->value.f64[row] = v.f64;
    } else if (s->type != GLINT_NONE) {
        s->last = v.bytes;
        s->value.start[row] = (uint32_t)(v.bytes.data - in->base);
        s->value.end[row] = s->value.start[row] + (uint32_t)v.bytes.size;
    }
    return 0;
}

/* Returns 1 if the row is kept, with its value decoded; 0 if not; negative with the task's error
 * set. */
static int keep_unmatched_row(struct subtract_state *s, const struct glint_batch *batch,
                              uint32_t row)
{
    struct glint_record r = glint_batch_record(batch, row);
    uint8_t scratch[CODEC_NUMBER_BYTES];
    struct glint_slice key = codec_encode(s->group.type, &r.key, scratch), value;
    enum side side;
    int e = sides_decode_value(s->task, r.value.bytes, &side, &value);
    if (e < 0) return e;
    if (!side_group_contains(&s->group, key)) {
        s->kept = s->dropped = false;
        if (!side_group_begin(&s->group, key)) return error_no_memory(&s->task->error);
    }
    /* Rows of this key were emitted already, so a late right value cannot be honoured. */
    if (side == SIDE_RIGHT && s->kept)
        return set_subtract_corrupt_error(s, "shuffle returned the sides in the wrong order");
    s->dropped = s->dropped || side == SIDE_RIGHT;
    s->kept = !s->dropped;
    if (s->dropped) return 0;
    e = decode_subtract_value(s, &batch->value, row, value);
    return e < 0 ? e : 1;
}

/* The column of the original values. */
static struct glint_column original_value_column(const struct subtract_state *s,
                                                 const struct glint_column *in)
{
    const bool alone = in->start == NULL; /* one row, possibly too large for 32-bit offsets */
    return selection_column_of(&s->value, s->type, alone ? s->last.data : in->base,
                               alone ? s->last.size : in->size, alone);
}

static enum flow subtract_push(void *state, const struct glint_batch *batch,
                               struct glint_emitter *out)
{
    struct subtract_state *s = state;
    uint32_t count = 0;
    assert(batch->rows <= BATCH_ROWS_MAX);
    for (uint32_t row = 0; row < batch->rows; row++) {
        int keep = keep_unmatched_row(s, batch, row);
        if (keep < 0) return FLOW_FAIL;
        if (keep > 0) s->rows[count++] = (uint16_t)row;
    }
    /* No value was decoded then: the column would be undefined. */
    if (count == 0) return FLOW_MORE;
    struct glint_batch values = {
        .rows = batch->rows, .key = batch->key, .value = original_value_column(s, &batch->value)};
    return selection_emit(&s->selection, &values, s->rows, count, out);
}

static void subtract_close(void *state)
{
    buffer_fini(&((struct subtract_state *)state)->group.key);
}

const struct op op_subtract_by_key_left = {.name = "subtractByKey.left",
                                           .kind = OP_NARROW,
                                           .state_size = sizeof(struct subtract_state),
                                           .open = subtract_open,
                                           .push = subtract_push,
                                           .close = subtract_close};

/* ---- Driver side */

const struct op op_subtract_by_key = {.name = "subtractByKey", .kind = OP_WIDE};

struct glint_rdd *glint_subtract_by_key(struct glint_rdd *rdd, struct glint_rdd *other)
{
    struct sides_spec sides = {.shuffle_op = &op_subtract_by_key,
                               .left = rdd,
                               .right = other,
                               .first = SIDE_RIGHT,
                               .keys_only = true};
    struct glint_rdd *groups = side_tagged_union_rdd(&sides);
    if (groups == NULL) return NULL;
    struct rdd_spec spec = {.op = &op_subtract_by_key_left,
                            .parents = {groups},
                            .schema = rdd->schema,
                            .key_partitioned = true};
    struct glint_rdd *out = rdd_create(rdd->g, &spec);
    if (out != NULL) out->shuffle = groups;
    return out;
}
