/* Two RDDs in one shuffle: what joins, cogroup and subtractByKey have in common.
 *
 *     left  -> side --.
 *                      union -> one shuffle by key -> what makes the operator
 *     right -> side --'
 *
 * Each value becomes the msgpack array [side, value]. A shuffle keeps equal keys in the order of
 * the map partitions, and a union puts all of one parent's before the other's: so each group
 * streams one side's values, then the other's, without any sorting by side. */
#ifndef GLINT_OPS_SIDES_H
#define GLINT_OPS_SIDES_H

#include "ops/ops.h"

enum side { SIDE_LEFT, SIDE_RIGHT };

struct sides_spec {
    const struct op *shuffle_op; /* the shuffle; gives its name to errors */
    struct glint_rdd *left, *right;
    enum side first; /* whose values come first in each group */
    bool keys_only;  /* the right side's values are not needed: they become nil */
    bool grouped;    /* what comes out is a grouped RDD */
};
/* The shuffle: (the sides' key, msgpack). NULL: an error is set, also if a side has no keys or
 * theirs are of two types. */
struct glint_rdd *sides_rdd(const struct sides_spec *spec);

/* Takes [side, value] apart; *out_value is msgpack that lies in it. 0, or a negative code with the
 * task's error set, since a shuffle gave something else. */
int sides_decode_value(struct glint_task *task, struct glint_slice pair, enum side *out_side,
                       struct glint_slice *out_value);

/* The key of the group that streams by. Zeros before the first. */
struct side_group {
    enum glint_type type;
    bool started;
    struct buffer key; /* in byte form */
};
/* Whether row `row` belongs to the group at hand. */
bool side_group_contains(const struct side_group *g, struct glint_slice key);
/* The group of this key begins. False without memory. */
bool side_group_begin(struct side_group *g, struct glint_slice key);

#endif
