/* Joins in the plainest way: nested loops over two tables, msgpack written by msgpack-c. */
#ifndef TESTS_UNIT_OPS_JOIN_MODEL_H
#define TESTS_UNIT_OPS_JOIN_MODEL_H

#include "tests/unit/ops/actions.h"

/* Two tables, spread over partitions, and what becomes of them. */
struct sides {
    struct table left, right;
    uint32_t left_maps, right_maps, partitions;
    struct glint_rdd *(*op)(struct glint_rdd *left, struct glint_rdd *right);
};
/* op(left, right) into `partitions`. */
struct glint_rdd *sides_make(struct glint *g, void *sides);
struct glint_rdd *sides_left(struct glint *g, const struct sides *s);
struct glint_rdd *sides_right(struct glint *g, const struct sides *s);
void sides_free(struct sides *s);
/* `rows` rows each, of these types; few different keys, of which some are on one side only. */
struct sides sides_random(struct glint_schema left, struct glint_schema right, uint64_t rows,
                          uint64_t seed);

bool same_key(enum glint_type type, const union glint_value *a, const union glint_value *b);
/* How many rows of `t` have the key. */
uint64_t count_key(const struct table *t, const union glint_value *key);
/* Adds (key, [first, second]) to `t`; NULL is nil. */
void add_pair(struct table *t, const union glint_value *key, enum glint_type first_type,
              const union glint_value *first, enum glint_type second_type,
              const union glint_value *second);
/* The join in the order that the shuffle gives; with left and right values that meet none. */
struct table join_model(const struct sides *s, bool keep_left, bool keep_right);

#endif
