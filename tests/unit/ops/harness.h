/* Runs plans of operators with many fixtures: on one slot and on several, with messages as values
 * and as bytes. The rows must equal, also in order, a table that the test computed in the simplest
 * way. An error of the test itself aborts it. */
#ifndef TESTS_UNIT_OPS_HARNESS_H
#define TESTS_UNIT_OPS_HARNESS_H

#include "engine/plan/context_config.h"
#include "ops/ops.h"

#include <string.h>

/* ---- Fixtures */

struct fixture {
    const char *name; /* for messages */
    uint32_t slots, partitions;
    uint64_t memory_bytes, split_bytes, result_bytes_max;
    bool encode_messages, skip_bad_rows;
};
/* Slots 1, 2, 8, and 2 with encoded messages; ends with a NULL name. */
extern const struct fixture fixtures[];

/* Functions of the tests (functions.c; functions that merge, group and count: reducers.c; functions
 * of cogrouped values: join_functions.c). */
extern const struct glint_module test_functions, test_reducers, test_two,
    test_accumulators;

/* The function with this name, of these or built in; else one that the program does not have. */
const struct glint_function *fn(const char *name);

struct glint *fixture_open(const struct fixture *w);
/* Ends the job, which must return `code`. */
void fixture_close(struct glint *g, enum glint_code code);

/* ---- Files, in a directory that is removed when the test ends */

/* Writes the path of `name` in the directory to `out`, which has PATH_BYTES. */
#define PATH_BYTES 256
const char *scratch_path(const char *name, char *out);
void scratch_write(const char *name, const void *data, uint64_t size);
/* Reads a whole file; the caller frees it with buffer_fini. */
struct buffer scratch_read(const char *name);
void scratch_remove(const char *name);
/* Both are for a test suite's .init and .fini; fini also checks for blocks that were never freed.
 */
void scratch_open(void);
void scratch_close(void);

/* ---- Tables */

struct table {
    struct glint_schema schema;
    struct glint_record *rows;
    uint64_t count, capacity;
    struct arena arena;
};
/* Adds a copy of the row. */
void table_add(struct table *t, union glint_value key, union glint_value value);
void table_free(struct table *t);
/* Runs `rdd`; the action must succeed. */
void table_collect(struct glint_rdd *rdd, struct table *out);
void table_expect(const struct table *got, const struct table *expected, const char *what);

static inline union glint_value none(void)
{
    return (union glint_value){.i64 = 0};
}
static inline union glint_value number(int64_t v)
{
    return (union glint_value){.i64 = v};
}
static inline union glint_value real(double v)
{
    return (union glint_value){.f64 = v};
}
static inline union glint_value bytes(const void *data, uint64_t size)
{
    return (union glint_value){.bytes = {data, size}};
}
static inline union glint_value text(const char *s)
{
    return bytes(s, strlen(s));
}

/* ---- Plans with fixtures */

typedef struct glint_rdd *(*plan_make)(struct glint *g, void *arg);

/* Runs the plan with every fixture, with the split sizes and partitions of `base` (NULL:
 * defaults). */
void plan_expect(plan_make make, void *arg, const struct fixture *base,
                 const struct table *expected);
/* Building or running the plan must fail with `code` for every fixture, and the cause must contain
 * `cause`. */
void plan_expect_error(plan_make make, void *arg, const struct fixture *base, enum glint_code code,
                       const char *cause);

/* A pseudo-random number, the same in every run. */
uint64_t test_next(uint64_t *state);

#endif
