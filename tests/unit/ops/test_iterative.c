/* Iterative programs: their results, and that their plans do not grow faster than the number of
 * rounds. */
#include "engine/driver/driver.h"
#include "tests/support/loops.h"
#include "tests/unit/ops/harness.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(iterative, .init = scratch_open, .fini = scratch_close);

enum { VERTICES = 300, ROUNDS = 100 };

static const struct glint_module *const modules[] = {&ops_module, &loops_module, NULL};

static struct glint *open_loops(void)
{
    struct context_config config = {
        .slots = 2, .bad_rows_max = -1, .ops = ops_table, .modules = modules};
    struct glint_error error;
    struct glint *g = context_create(&config, &error);
    cr_assert_not_null(g, "%s", error.cause);
    return g;
}

/* The edges of a path 0 - 1 - 2 ... */
static struct glint_rdd *path_edges(struct glint *g)
{
    char file[VERTICES * 16], path[PATH_BYTES];
    size_t size = 0;
    for (int i = 0; i + 1 < VERTICES; i++)
        size += (size_t)snprintf(file + size, sizeof file - size, "%d\t%d\n", i, i + 1);
    scratch_write("edges", file, size);
    struct glint_rdd *edges = loops_edges(g, scratch_path("edges", path));
    cr_assert_eq(glint_input_bytes(edges), size);
    return edges;
}

Test(iterative, connected_components_keep_partition_count)
{
    struct glint *g = open_loops();
    struct glint_summary summary;
    struct glint_rdd *edges = path_edges(g), *labels = loops_components_of(edges, ROUNDS);
    struct table got;
    cr_expect_eq(glint_input_bytes(labels), glint_input_bytes(edges));
    cr_assert_eq(glint_partitions(labels), 1, "%u partitions", glint_partitions(labels));
    table_collect(labels, &got);
    cr_assert_eq(got.count, VERTICES);
    for (uint64_t i = 0; i < got.count; i++) {
        const int64_t vertex = got.rows[i].key.i64, label = got.rows[i].value.i64;
        const int64_t least = vertex > ROUNDS + 1 ? vertex - ROUNDS - 1 : 0;
        cr_expect_eq(label, least, "vertex %lld: %lld", (long long)vertex, (long long)label);
    }
    /* Each round adds the same three tasks: a map task for the edges, and for each side of the
     * union. The labels are partitioned already. */
    summary = *glint_summarize(g);
    cr_expect_eq(summary.tasks, 2 + 3 * ROUNDS, "%u tasks", summary.tasks);
    table_free(&got);
    fixture_close(g, GLINT_OK);
}

Test(iterative, page_rank_keeps_partition_count)
{
    struct glint *g = open_loops();
    struct glint_rdd *edges = path_edges(g), *ranks = loops_ranks_of(edges, ROUNDS);
    struct table got;
    double sum = 0;
    cr_expect_eq(glint_input_bytes(ranks), glint_input_bytes(edges));
    cr_assert_eq(glint_partitions(ranks), 1, "%u partitions", glint_partitions(ranks));
    table_collect(ranks, &got);
    for (uint64_t i = 0; i < got.count; i++) sum += got.rows[i].value.f64;
    cr_expect(got.count == VERTICES && sum > VERTICES - 1e-6 && sum < VERTICES + 1e-6);
    table_free(&got);
    fixture_close(g, GLINT_OK);
}

/* Rows that an action returned are the input of the next one. */
Test(iterative, collected_rows_continue)
{
    struct glint *g = open_loops();
    struct table pairs = {.schema = {GLINT_TEXT, GLINT_I64}}, got;
    const char *const names[] = {"", "a", "b", "a"};
    for (int64_t i = 0; i < 4; i++) table_add(&pairs, text(names[i]), number(i));
    struct glint_rdd *rdd = glint_parallelize(g, pairs.schema, pairs.rows, pairs.count, 1);
    for (uint32_t round = 1; round <= 5; round++) {
        struct glint_rows rows;
        cr_assert_eq(glint_collect(rdd, &rows), 0);
        rdd = glint_parallelize_rows(g, &rows, round);
        glint_rows_free(&rows);
        cr_assert_eq(glint_partitions(rdd), round);
        table_collect(rdd, &got);
        table_expect(&got, &pairs, "rows");
        table_free(&got);
    }
    const struct glint_rows none = {.schema = {GLINT_NONE, GLINT_F64}};
    int64_t count = 1;
    cr_assert_eq(glint_count(glint_parallelize_rows(g, &none, 3), &count), 0);
    cr_expect_eq(count, 0);
    for (uint32_t partitions = 0; partitions < 3; partitions++)
        cr_expect_eq(glint_partitions(glint_parallelize_rows(g, &none, partitions)), partitions);
    table_free(&pairs);
    fixture_close(g, GLINT_OK);
}

/* The error of the action that should have returned the rows is the one that is reported. */
Test(iterative, rows_of_a_failed_action_give_no_rdd)
{
    struct glint *g = open_loops();
    struct glint_rows rows;
    glint_first(glint_parallelize(g, (struct glint_schema){GLINT_NONE, GLINT_I64}, NULL, 0, 1),
                &rows);
    cr_expect_null(glint_parallelize_rows(g, &rows, 1));
    fixture_close(g, GLINT_E_EMPTY_COLLECTION);
}
