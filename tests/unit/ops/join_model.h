/* A model of joins, as simple as possible: nested loops over two tables, msgpack encoded by
 * msgpack-c. */
#ifndef TESTS_UNIT_OPS_JOIN_MODEL_H
#define TESTS_UNIT_OPS_JOIN_MODEL_H

#include "tests/unit/ops/actions.h"

/* The two tables of a join, how they are partitioned, and the operator. */
struct sides {
    struct table left, right;
    uint32_t left_maps, right_maps, partitions;
    struct glint_rdd *(*op)(struct glint_rdd *left, struct glint_rdd *right);
};
/* Returns op(left, right) with `partitions` partitions. */
struct glint_rdd *sides_make(struct glint *g, void *sides);
struct glint_rdd *sides_left(struct glint *g, const struct sides *s);
struct glint_rdd *sides_right(struct glint *g, const struct sides *s);
void sides_free(struct sides *s);
/* `rows` random rows on each side, of these types; few different keys, some only on one side. */
struct sides sides_random(struct glint_schema left, struct glint_schema right, uint64_t rows,
                          uint64_t seed);

bool same_key(enum glint_type type, const union glint_value *a, const union glint_value *b);
/* Returns the number of rows of `t` with that key. */
uint64_t count_key(const struct table *t, const union glint_value *key);
/* Adds (key, [first, second]) to `t`; NULL is nil. */
void add_pair(struct table *t, const union glint_value *key, enum glint_type first_type,
              const union glint_value *first, enum glint_type second_type,
              const union glint_value *second);
/* The join in the order that the shuffle gives it; keep_left and keep_right also return unmatched
 * values of that side. */
struct table join_model(const struct sides *s, bool keep_left, bool keep_right);

#endif
