/* NULL as an RDD: a call returns an earlier error unchanged, and is an error if there was none, so
 * that no job succeeds that has skipped a step. */
#include "tests/unit/ops/actions.h"

#include <pthread.h>
#include <stdio.h>

TestSuite(null_rdd, .init = scratch_open, .fini = scratch_close);

static struct glint_rows rows;
static struct glint_cell cells[2];
static union glint_value value;

static int each_row(void *arg, const struct glint_record *record)
{
    (void)arg, (void)record;
    return 0;
}

/* ---- Every call that takes an RDD. Transformations return NULL, actions the error's code. */

#define TRANSFORMATIONS(X)                                                                         \
    X("map", glint_map(NULL, fn("red.sum"), NULL))                                                 \
    X("flatMap", glint_flat_map(NULL, fn("red.sum"), NULL))                                        \
    X("filter", glint_filter(NULL, fn("red.sum"), NULL))                                           \
    X("keyBy", glint_key_by(NULL, fn("red.sum"), NULL))                                            \
    X("mapValues", glint_map_values(NULL, fn("red.sum"), NULL))                                    \
    X("flatMapValues", glint_flat_map_values(NULL, fn("red.sum"), NULL))                           \
    X("mapPartitions", glint_map_partitions(NULL, fn("red.sum"), NULL))                            \
    X("mapPartitionsWithIndex", glint_map_partitions_with_index(NULL, fn("red.sum"), NULL))        \
    X("keys", glint_keys(NULL))                                                                    \
    X("values", glint_values(NULL))                                                                \
    X("withSample", glint_with_sample(NULL, some))                                                 \
    X("withSample", glint_with_sample(some, NULL))                                                 \
    X("union", glint_union(NULL, NULL))                                                            \
    X("union", glint_union(some, NULL))                                                            \
    X("union", glint_union(NULL, some))                                                            \
    X("union", glint_union_partitions(some, NULL))                                                 \
    X("keyByRandomSplit", glint_key_by_random_split(NULL, (double[]){1, 2}, 2, 0))                 \
    X("sample", glint_sample(NULL, 1, 0))                                                          \
    X("reduceByKey", glint_reduce_by_key(NULL, fn("red.sum"), NULL))                               \
    X("foldByKey", glint_fold_by_key(NULL, value, fn("red.sum"), NULL))                            \
    X("aggregateByKey", glint_aggregate_by_key(NULL, value, fn("red.list"), NULL))                 \
    X("combineByKey", glint_combine_by_key(NULL, fn("red.list"), NULL))                            \
    X("groupByKey", glint_group_by_key(NULL))                                                      \
    X("groupBy", glint_group_by(NULL, fn("red.modulo"), NULL))                                     \
    X("distinct", glint_distinct(NULL))                                                            \
    X("join", glint_join(some, NULL))                                                              \
    X("join", glint_join(NULL, some))                                                              \
    X("leftOuterJoin", glint_left_outer_join(some, NULL))                                          \
    X("rightOuterJoin", glint_right_outer_join(NULL, some))                                        \
    X("fullOuterJoin", glint_full_outer_join(NULL, NULL))                                          \
    X("cogroup", glint_cogroup(NULL, some))                                                        \
    X("subtractByKey", glint_subtract_by_key(NULL, some))                                          \
    X("subtractByKey", glint_subtract_by_key(some, NULL))                                          \
    X("intersection", glint_intersection(some, NULL))                                              \
    X("intersection", glint_intersection(NULL, some))                                              \
    X("subtract", glint_subtract(some, NULL))                                                      \
    X("subtract", glint_subtract(NULL, some))                                                      \
    X("zipWithIndex", glint_zip_with_index(NULL))                                                  \
    X("zipWithUniqueId", glint_zip_with_unique_id(NULL))                                           \
    X("glom", glint_glom(NULL))                                                                    \
    X("zip", glint_zip(some, NULL))                                                                \
    X("zip", glint_zip(NULL, some))                                                                \
    X("zipPartitions", glint_zip_partitions(NULL, some, fn("red.sum"), NULL))                      \
    X("cartesian", glint_cartesian(some, NULL))                                                    \
    X("groupWith", glint_group_with((struct glint_rdd *[]){some, NULL}, 2))                        \
    X("sampleWithReplacement", glint_sample_with_replacement(NULL, 0.5, 1))                        \
    X("sampleExactly", glint_sample_exactly(NULL, 3, 1))                                           \
    X("sampleByKey", glint_sample_by_key(NULL, false, NULL, 0, 1))                                 \
    X("filterByRange", glint_filter_by_range(NULL, value, value))                                  \
    X("sortByKey", glint_sort_by_key(NULL, true))                                                  \
    X("sortBy", glint_sort_by(NULL, fn("red.modulo"), NULL, true))                                 \
    X("partitionBy", glint_partition_by(NULL, 3))                                                  \
    X("repartitionAndSortWithinPartitions",                                                        \
      glint_repartition_and_sort_within_partitions(NULL, 3, true))                                 \
    X("repartition", glint_repartition(NULL, 3))                                                   \
    X("coalesce", glint_coalesce(NULL, 3))                                                         \
    X("checkpoint", glint_checkpoint(NULL, "x"))                                                   \
    X("withJsonLines", glint_with_json_lines(NULL, NULL, 0))                                       \
    X("withColumns", glint_with_columns(NULL, (struct glint_slice){NULL, 0}, ',', NULL, 0))        \
    X("withCsvRecords", glint_with_csv_records(NULL, ','))                                         \
    X("withHeader", glint_with_header(NULL))                                                       \
    X("withPartitions", glint_with_partitions(NULL, 3))                                            \
    X("withPartitioner", glint_with_partitioner(NULL, fn("test.by_key"), NULL))                    \
    X("withSplitBytes", glint_with_split_bytes(NULL, 3))

#define ACTIONS(X)                                                                                 \
    X("collect", glint_collect(NULL, &rows))                                                       \
    X("collect", glint_collect_each(NULL, each_row, NULL))                                         \
    X("collectAsMap", glint_collect_as_map(NULL, &rows))                                           \
    X("count", glint_count(NULL, &value.i64))                                                      \
    X("countByKey", glint_count_by_key(NULL, &rows))                                               \
    X("countByValue", glint_count_by_value(NULL, &rows))                                           \
    X("take", glint_first(NULL, &rows))                                                            \
    X("take", glint_take(NULL, 3, &rows))                                                          \
    X("takeOrdered", glint_take_ordered(NULL, 3, &rows))                                           \
    X("top", glint_top(NULL, 3, &rows))                                                            \
    X("reduce", glint_reduce(NULL, fn("red.sum"), NULL, &rows))                                    \
    X("fold", glint_fold(NULL, value, fn("red.sum"), NULL, &rows))                                 \
    X("aggregate", glint_aggregate(NULL, value, fn("red.list"), NULL, &rows))                      \
    X("sum", glint_sum(NULL, &value))                                                              \
    X("stats", glint_stats(NULL, &(struct glint_stats){0}))                                        \
    X("histogram", glint_histogram(NULL, (double[]){0, 1}, 1, &value.i64))                         \
    X("histogram", glint_histogram_even(NULL, &(uint32_t){1}, cells, &value.i64))                  \
    X("takeSample", glint_take_sample(NULL, false, 3, 1, &rows))                                   \
    X("countApproxDistinct", glint_count_approx_distinct(NULL, &value.i64))                        \
    X("reduceByKeyLocally", glint_reduce_by_key_locally(NULL, fn("red.sum"), NULL, &rows))         \
    X("treeReduce", glint_tree_reduce(NULL, fn("red.sum"), NULL, 2, &rows))                        \
    X("treeAggregate", glint_tree_aggregate(NULL, value, fn("red.list"), NULL, 2, &rows))          \
    X("toLocalIterator", glint_iterator_next(NULL, &(struct glint_record){0}))                     \
    X("min", glint_min(NULL, &rows))                                                               \
    X("max", glint_max(NULL, &rows))                                                               \
    X("lookup", glint_lookup(NULL, value, &rows))                                                  \
    X("take", glint_is_empty(NULL, &(bool){true}))                                                 \
    X("foreach", glint_foreach(NULL, fn("red.sum"), NULL))                                         \
    X("saveAsTextFile", glint_save_as_text_file(NULL, "out"))                                      \
    X("saveAsTextFiles", glint_save_as_text_files(NULL, &(const char *){"out"}, 1))                \
    X("saveAsTextFile(gzip)", glint_save_as_gzip_text_file(NULL, "out"))                           \
    X("saveAsMsgpackFile", glint_save_as_msgpack_file(NULL, "out"))

static struct glint_rdd *some_rdd(struct glint *g)
{
    const struct glint_record r = {.key.i64 = 1, .value.i64 = 2};
    return glint_parallelize(g, (struct glint_schema){GLINT_I64, GLINT_I64}, &r, 1, 1);
}

static void expect_stuck(struct glint *g, const char *call)
{
    char cause[128];
    snprintf(cause, sizeof cause, "%s: the RDD is NULL", call);
    cr_expect_eq(glint_error(g)->code, GLINT_E_PLAN_RDD, "%s", call);
    cr_expect_str_eq(glint_error(g)->cause, cause);
    fixture_close(g, GLINT_E_PLAN_RDD);
}

#define EXPECT_NONE(name, call)                                                                    \
    {                                                                                              \
        struct glint *g = fixture_open(&fixtures[0]);                                              \
        struct glint_rdd *some = some_rdd(g);                                                      \
        cr_expect_not_null(some);                                                                  \
        cr_expect_null(call, "%s", name);                                                          \
        expect_stuck(g, name);                                                                     \
    }

#define EXPECT_CODE(name, call)                                                                    \
    {                                                                                              \
        struct glint *g = fixture_open(&fixtures[0]);                                              \
        cr_expect_eq(call, GLINT_E_PLAN_RDD, "%s", name);                                          \
        expect_stuck(g, name);                                                                     \
    }

Test(null_rdd, transformations_return_null)
{
    TRANSFORMATIONS(EXPECT_NONE)
    struct glint *g = fixture_open(&fixtures[0]);
    struct glint_rdd *parts[2];
    glint_random_split(NULL, (double[]){1, 2}, 2, 0, parts);
    cr_expect(parts[0] == NULL && parts[1] == NULL);
    expect_stuck(g, "randomSplit");
}

Test(null_rdd, actions_return_plan_error){ACTIONS(EXPECT_CODE)}

/* ---- Which context fails */

#define FAILS_AS_BEFORE(name, call) cr_expect_eq(call, GLINT_E_BAD_VALUE, "%s", name);
#define NONE_AS_BEFORE(name, call)  cr_expect_null(call, "%s", name);

Test(null_rdd, earlier_error_is_kept)
{
    struct glint *g = fixture_open(&fixtures[0]);
    struct glint_rdd *some = some_rdd(g);
    glint_abort(g, GLINT_E_BAD_VALUE, NULL, "as requested");
    ACTIONS(FAILS_AS_BEFORE)
    TRANSFORMATIONS(NONE_AS_BEFORE)
    cr_expect_str_eq(glint_error(g)->cause, "as requested");
    fixture_close(g, GLINT_E_BAD_VALUE);
}

/* NULL does not say which context is meant: all open ones fail, unless one has failed already,
 * which explains the NULL. */
Test(null_rdd, fails_all_contexts_unless_one_has_failed)
{
    struct glint *a = fixture_open(&fixtures[0]), *b = fixture_open(&fixtures[1]);
    glint_abort(a, GLINT_E_BAD_VALUE, NULL, "as requested");
    cr_expect_null(glint_keys(glint_map(some_rdd(a), fn("red.sum"), NULL)));
    cr_expect_eq(glint_error(b)->code, GLINT_OK);
    fixture_close(a, GLINT_E_BAD_VALUE);
    struct glint *c = fixture_open(&fixtures[0]);
    cr_expect_null(glint_keys(NULL));
    expect_stuck(b, "keys");
    expect_stuck(c, "keys");
    cr_expect_null(glint_keys(NULL)); /* no context is open */
    fixture_close(fixture_open(&fixtures[0]), GLINT_OK);
}

static void *misuse(void *arg)
{
    struct glint *g = fixture_open(&fixtures[0]);
    (void)arg;
    cr_expect_eq(glint_count(NULL, &value.i64), GLINT_E_PLAN_RDD);
    fixture_close(g, GLINT_E_PLAN_RDD);
    return NULL;
}

Test(null_rdd, contexts_of_other_threads_are_unaffected)
{
    struct glint *g = fixture_open(&fixtures[0]);
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, misuse, NULL), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    fixture_close(g, GLINT_OK);
}
