/* Two RDDs in one shuffle, shared by joins, cogroup and subtractByKey.
 *
 *     left  -> side --.
 *                      union -> one shuffle by key -> the rest of the operator
 *     right -> side --'
 *
 * Each value becomes the msgpack array [side, value]. A shuffle keeps equal keys in the order of
 * the map partitions, and a union puts all partitions of one parent before those of the other. So
 * each group has all values of one side before those of the other, without sorting by side.
 *
 * If a side is partitioned as the result will be, nothing of it is shuffled: see
 * engine/plan/rdd.c. */
#ifndef GLINT_OPS_SIDES_H
#define GLINT_OPS_SIDES_H

#include "ops/ops.h"

enum side { SIDE_LEFT, SIDE_RIGHT };
#define SIDES_MAX 127u /* of groupWith: a side is one byte of msgpack */

/* The parameters of side_tagged_union_rdd. */
struct sides_spec {
    const struct op *shuffle_op; /* the wide operator; its name is used in errors */
    struct glint_rdd *left, *right;
    enum side first; /* the side whose values come first in each group */
    bool keys_only;  /* drop the right side's values: they become nil */
    bool grouped;    /* the result is a grouped RDD */
};
/* Replaces each value by [side, value]; `keys_only`: by [side, nil]. Returns NULL with the error
 * set. */
struct glint_rdd *side_tagged_rdd(struct glint_rdd *rdd, uint32_t side, bool keys_only);
/* Creates the input of the shuffle: all of the sides, in this order. `count` is at least 1; NULLs
 * are allowed. Returns NULL with the error set. */
struct glint_rdd *sides_union(struct glint_rdd *const *sides, uint32_t count);
/* Creates the shuffle RDD: (key, msgpack). Returns NULL with the error set: PLAN_TYPE if a side has
 * no keys, or the key types differ. */
struct glint_rdd *side_tagged_union_rdd(const struct sides_spec *spec);

/* Splits [side, value]; *out_value is msgpack and points into `pair`. Returns 0, or SHUFFLE_CORRUPT
 * with the task's error set. */
int sides_decode_value(struct glint_task *task, struct glint_slice pair, enum side *out_side,
                       struct glint_slice *out_value);

/* Whether [side, value] is of the left side; false also if it is damaged. */
bool sides_is_left(struct glint_slice pair);

/* The key of the current group. Zeros before the first. */
struct side_group {
    enum glint_type type;
    bool started;
    struct buffer key; /* encoded */
};
/* True if a group is current and has this key. */
bool side_group_contains(const struct side_group *g, struct glint_slice key);
/* Starts the group of this key, which is copied. Returns false when out of memory. */
bool side_group_begin(struct side_group *g, struct glint_slice key);

#endif
