/* Runs actions that return rows with every fixture; also sorts tables into the order of a
 * shuffle. */
#ifndef TESTS_UNIT_OPS_ACTIONS_H
#define TESTS_UNIT_OPS_ACTIONS_H

#include "tests/unit/ops/harness.h"

#include <criterion/criterion.h>

typedef int (*rows_action)(struct glint *g, void *arg, struct glint_rows *out);

/* Runs the action with every fixture; it must return these rows, in this order. */
void action_expect(rows_action run, void *arg, const struct fixture *base,
                   const struct table *expected);
/* Both the action and the job must fail with `code`; the cause must contain `cause`. */
void action_expect_error(rows_action run, void *arg, const struct fixture *base,
                         enum glint_code code, const char *cause);
/* Runs the action while the n-th allocation fails, or that and all later ones, for every n: it must
 * fail with NO_MEMORY and leak nothing, or succeed, because a retry of the task did. */
void action_expect_no_memory(rows_action run, void *arg);
/* The same for collect of a plan. */
void plan_expect_no_memory(plan_make make, void *arg);
/* `base` with the name, slots and encoding of `w`; NULL: `w`. */
struct fixture fixture_like(const struct fixture *w, const struct fixture *base);

/* One slot, and eight with encoded messages, each with the smallest memory, so that shuffles of any
 * size spill; ends with a NULL name. */
extern const struct fixture tight_fixtures[];

/* Sorts by (hash partition of the key, key); the order of rows with equal keys is kept. */
void table_by_hash(struct table *t, uint32_t partitions);
/* Sorts by (key, value). */
void table_by_record(struct table *t);
/* Returns copies of the rows [first, end) of `all`. */
struct table table_part(const struct table *all, uint64_t first, uint64_t end);

/* The input of most tests: a table, divided into partitions. */
struct input {
    struct table *table;
    uint32_t maps, partitions;
    const char *function;
    union glint_value zero;
    uint64_t count;
};
struct glint_rdd *input_rdd(struct glint *g, const struct input *in);
/* (text, i64): `keys` different keys k0, k1, ..., and values of both signs. */
struct table make_pairs(uint64_t count, uint64_t keys, uint64_t seed);
/* (none, i64) */
struct table make_numbers(uint64_t count, uint64_t seed);

#endif
