/* Actions that answer rows, run in every world; and tables in the order that a shuffle gives. */
#ifndef TESTS_UNIT_OPS_ACTIONS_H
#define TESTS_UNIT_OPS_ACTIONS_H

#include "tests/unit/ops/harness.h"

#include <criterion/criterion.h>

typedef int (*rows_action)(struct glint *g, void *arg, struct glint_rows *out);

/* Runs the action in every world; it must answer these rows, in this order. */
void action_expect(rows_action run, void *arg, const struct fixture *base,
                   const struct table *expected);
/* It must fail with `code`, also as the job's end; the cause must contain `cause`. */
void action_expect_error(rows_action run, void *arg, const struct fixture *base,
                         enum glint_code code, const char *cause);
/* The world of the list with the wishes of `base`, which may be NULL. */
struct fixture world_like(const struct fixture *w, const struct fixture *base);

/* One slot, and eight with encoded messages, each with the least memory there is, so that shuffles
 * of any size spill; ends with a NULL name. */
extern const struct fixture tight_worlds[];

/* Sorts by (partition by hash of the key, key); rows of one key stay in their order. */
void table_by_hash(struct table *t, uint32_t partitions);
/* By (key, value). */
void table_by_record(struct table *t);
/* Rows [first, end) of `all`, as copies. */
struct table table_part(const struct table *all, uint64_t first, uint64_t end);

/* What most tests work on: a table, spread over partitions. */
struct input {
    struct table *table;
    uint32_t maps, partitions;
    const char *function;
    union glint_value zero;
    uint64_t count;
};
struct glint_rdd *input_rdd(struct glint *g, const struct input *in);
/* (text, i64): keys k0 ... of `keys` different ones, numbers of both signs. */
struct table make_pairs(uint64_t count, uint64_t keys, uint64_t seed);
/* (none, i64) */
struct table make_numbers(uint64_t count, uint64_t seed);

#endif
