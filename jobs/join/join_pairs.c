/* After the shuffle of a join: turns pairs into lines, and selects groups with rows on both sides.
 */
#include "jobs/join/join.h"

#include <string.h>

/* ---- join.pairs: msgpack [probe, build] to a line */

static int join_pairs_init(struct glint_task *task, void *state)
{
    return join_rows_open(task, state); /* of the probe side */
}

static int emit_joined_lines(struct glint_task *task, void *state, const struct glint_record *in,
                             struct glint_emitter *out)
{
    struct join_rows *r = state;
    const struct glint_pair pair = glint_pair(&in->value);
    const struct glint_cell *own = &pair.left, *other = &pair.right;
    const struct glint_slice none = {NULL, 0};
    if (own->type != GLINT_TEXT && other->type != GLINT_TEXT)
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "invalid pair of a join");
    if (own->type == GLINT_TEXT)
        return join_rows_emit(r, task, own->value.bytes,
                              other->type == GLINT_TEXT ? other->value.bytes : none, out);
    r->side = r->side == JOIN_SIDE_LEFT ? JOIN_SIDE_RIGHT : JOIN_SIDE_LEFT;
    int e = join_rows_emit(r, task, other->value.bytes, none, out);
    r->side = r->side == JOIN_SIDE_LEFT ? JOIN_SIDE_RIGHT : JOIN_SIDE_LEFT;
    return e;
}

const struct glint_function join_pairs = {.name = "join.pairs",
                                          .kind = GLINT_KIND_MAP,
                                          .in = {GLINT_ANY, GLINT_MSGPACK},
                                          .out = {GLINT_NONE, GLINT_TEXT},
                                          .state_size = sizeof(struct join_rows),
                                          .open = join_pairs_init,
                                          .each = emit_joined_lines};

/* ---- join.present: from cogroup(right keys, left rows), the left rows of groups that have both */

struct present_state {
    bool right; /* the current group has a key of the right side, which comes first */
};

static int key_presence_begin(struct glint_task *task, void *state, const union glint_value *key)
{
    (void)task;
    (void)key;
    ((struct present_state *)state)->right = false;
    return 0;
}

static int key_presence_each(struct glint_task *task, void *state, const struct glint_record *in,
                             struct glint_emitter *out)
{
    struct present_state *s = state;
    const struct glint_pair pair = glint_pair(&in->value);
    if (pair.left.type != GLINT_I64)
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "invalid record of a cogroup");
    if (pair.left.value.i64 == 0) {
        s->right = true;
        return 0;
    }
    if (!s->right) return 0;
    if (pair.right.type != GLINT_TEXT)
        return glint_fail(task, GLINT_E_SHUFFLE_CORRUPT, NULL, "a row of a cogroup is not text");
    struct glint_record record = {.key = in->key, .value = pair.right.value};
    glint_emit(out, &record);
    return 0;
}

static int key_presence_end(struct glint_task *task, void *state, const union glint_value *key,
                            struct glint_emitter *out)
{
    (void)task;
    (void)state;
    (void)key;
    (void)out;
    return 0;
}

const struct glint_function join_present = {.name = "join.present",
                                            .kind = GLINT_KIND_GROUP,
                                            .in = {GLINT_ANY, GLINT_MSGPACK},
                                            .out = {GLINT_SAME, GLINT_TEXT},
                                            .state_size = sizeof(struct present_state),
                                            .begin_group = key_presence_begin,
                                            .each = key_presence_each,
                                            .end_group = key_presence_end};
