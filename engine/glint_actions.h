/* Actions: they run the plan of an RDD, and return a result to the job or save it. Included by
 * glint.h. Each returns 0 or the context's error code, and blocks until the action has ended. */
#ifndef GLINT_ACTIONS_H
#define GLINT_ACTIONS_H

#include "engine/glint.h"

/* Result rows in the driver, in order of the partitions. An action overwrites it, so
 * free it with glint_rows_free before reuse. Records of glint_rows_at point into it. */
struct glint_rows {
    uint64_t count;
    struct glint_schema schema;
    uint8_t *data; /* from here on private to the engine */
    uint64_t *offsets;
    uint64_t size, capacity, size_capacity;
};
/* Returns row i of `count`. */
struct glint_record glint_rows_at(const struct glint_rows *rows, uint64_t i);
/* Writes rows [first, first + count), for languages that cannot call a function that returns a
 * union. */
void glint_rows_records(const struct glint_rows *rows, uint64_t first, uint64_t count,
                        struct glint_record *out);
/* Frees the rows and zeroes the struct. */
void glint_rows_free(struct glint_rows *rows);

int glint_collect(struct glint_rdd *rdd, struct glint_rows *out);
/* Like collect, one record at a time, in order; needs memory only for the partitions in flight. A
 * non-zero value returned by `row` ends the action and is returned. */
int glint_collect_each(struct glint_rdd *rdd,
                       int (*row)(void *arg, const struct glint_record *record), void *arg);
/* Spark's toLocalIterator: computes one partition at a time, when its first record is needed.
 * Memory is that of one partition's rows. Returns NULL with the context's error set. */
struct glint_iterator;
struct glint_iterator *glint_to_local_iterator(struct glint_rdd *rdd);
/* Returns 1 with the next record, valid until the next call; 0 after the last one; or the context's
 * error code. */
int glint_iterator_next(struct glint_iterator *it, struct glint_record *out);
/* The same for up to `count` > 0 records. Returns their number; 0 after the last one. */
int64_t glint_iterator_take(struct glint_iterator *it, uint64_t count, struct glint_record *out);
/* Frees it, also after glint_destroy. NULL is allowed. */
void glint_iterator_close(struct glint_iterator *it);
/* One row per key; the last value wins. Sorted by key. */
int glint_collect_as_map(struct glint_rdd *rdd, struct glint_rows *out);
int glint_count(struct glint_rdd *rdd, int64_t *out);
/* Rows of (key, i64) or (value, i64), sorted. Differs from Spark: countByValue is for RDDs of
 * single elements only, since a pair and its count would need three columns. */
int glint_count_by_key(struct glint_rdd *rdd, struct glint_rows *out);
int glint_count_by_value(struct glint_rdd *rdd, struct glint_rows *out);
/* first fails with EMPTY_COLLECTION if the RDD is empty. take reads only as many partitions as it
 * needs. */
int glint_first(struct glint_rdd *rdd, struct glint_rows *out);
int glint_take(struct glint_rdd *rdd, uint64_t count, struct glint_rows *out);
/* `count` records chosen at random by `seed`, in random order: all of them, if there are fewer;
 * with replacement exactly `count`, unless there are none. Reads the RDD once. */
int glint_take_sample(struct glint_rdd *rdd, bool with_replacement, uint64_t count, uint64_t seed,
                      struct glint_rows *out);
/* The smallest (takeOrdered) or largest (top) `count` records by (key, value), in that order. */
int glint_take_ordered(struct glint_rdd *rdd, uint64_t count, struct glint_rows *out);
int glint_top(struct glint_rdd *rdd, uint64_t count, struct glint_rows *out);
/* [REDUCE] Reduces all values to one row (none, value). EMPTY_COLLECTION if there are none. reduce,
 * fold and aggregate merge each partition on a slot and the partial results on the driver, in order
 * of the partitions; a function's counters are counted on slots only. */
int glint_reduce(struct glint_rdd *rdd, const struct glint_function *function,
                 struct glint_args *args, struct glint_rows *out);
/* [REDUCE] Starts from `zero` in each partition, and once more when merging the partitions, as in
 * Spark. */
int glint_fold(struct glint_rdd *rdd, union glint_value zero, const struct glint_function *function,
               struct glint_args *args, struct glint_rows *out);
/* [AGGREGATE] */
int glint_aggregate(struct glint_rdd *rdd, union glint_value zero,
                    const struct glint_function *function, struct glint_args *args,
                    struct glint_rows *out);
/* [REDUCE], [AGGREGATE] reduce and aggregate in `depth` levels (2 is usual): tasks merge the
 * results of neighbouring partitions, and the driver only those of the last level. For many
 * partitions, or large accumulators. `zero` must be neutral. */
int glint_tree_reduce(struct glint_rdd *rdd, const struct glint_function *function,
                      struct glint_args *args, uint32_t depth, struct glint_rows *out);
int glint_tree_aggregate(struct glint_rdd *rdd, union glint_value zero,
                         const struct glint_function *function, struct glint_args *args,
                         uint32_t depth, struct glint_rows *out);
/* [REDUCE] reduceByKey, and the result as by collectAsMap. */
int glint_reduce_by_key_locally(struct glint_rdd *rdd, const struct glint_function *function,
                                struct glint_args *args, struct glint_rows *out);
/* Estimates the number of different records, with a standard error of 0.8 % (HyperLogLog of 2^14
 * registers, as HLL++ with p = 14). The same on every cluster. */
int glint_count_approx_distinct(struct glint_rdd *rdd, int64_t *out);
/* The sum of i64 or f64 values; VALUE_LIMIT if that of i64 values is no i64. min and max compare
 * (key, value). */
int glint_sum(struct glint_rdd *rdd, union glint_value *out);
/* The exact sum of i64 values, which is high * 2^64 + low. */
struct glint_wide_sum {
    int64_t high;
    uint64_t low;
};
int glint_wide_sum(struct glint_rdd *rdd, struct glint_wide_sum *out);
int glint_min(struct glint_rdd *rdd, struct glint_rows *out);
int glint_max(struct glint_rdd *rdd, struct glint_rows *out);
/* Spark's StatCounter, of i64 or f64 values: what mean, variance, stdev, sampleVariance and
 * sampleStdev return, too. Variances are NaN without values, those of a sample also with one; min
 * and max of no values are infinite. NaN among the values makes all but `count` NaN. */
struct glint_stats {
    int64_t count;
    double mean, sum, min, max, variance, stdev, sample_variance, sample_stdev;
};
int glint_stats(struct glint_rdd *rdd, struct glint_stats *out);
/* Counts i64 or f64 values in `buckets` buckets (1 to 65,536): bucket i is from bounds[i] up to,
 * not including, bounds[i + 1], but the last includes its upper bound. Values outside, and NaN, are
 * not counted. The `buckets` + 1 bounds must ascend. */
int glint_histogram(struct glint_rdd *rdd, const double *bounds, uint32_t buckets,
                    int64_t *out_counts);
/* The same with *buckets buckets of equal width from the least to the greatest value, counted as
 * PySpark does: value v is in bucket (v - least) / width, rounded down, the greatest in the last.
 * Sets *buckets to 1 if both are equal. The *buckets + 1 bounds have the values' type, but those of
 * i64 are f64 if the width is no whole number, except the last. EMPTY_COLLECTION without values,
 * BAD_VALUE if the width is not finite. */
int glint_histogram_even(struct glint_rdd *rdd, uint32_t *buckets, struct glint_cell *out_bounds,
                         int64_t *out_counts);
/* The values of one key. Reads a single partition if the RDD is partitioned by the key's hash. */
int glint_lookup(struct glint_rdd *rdd, union glint_value key, struct glint_rows *out);
int glint_is_empty(struct glint_rdd *rdd, bool *out);
/* [FLAT_MAP that emits nothing] Runs the function for its side effects, such as counters. */
int glint_foreach(struct glint_rdd *rdd, const struct glint_function *function,
                  struct glint_args *args);

/* Saves a directory of part-00000 ... and _SUCCESS. One line per record: the value, or key TAB
 * value. The outputs of a job are published together, one rename each, when the job ends without an
 * error; otherwise none is. Sources that the job creates after the action can already read the
 * output by its path, so that a later step can use what an earlier step saved. */
int glint_save_as_text_file(struct glint_rdd *rdd, const char *path);
int glint_save_as_gzip_text_file(struct glint_rdd *rdd, const char *path);
/* Saves rows of tables, (none, text) as glint_with_csv and glint_with_nulls make them, as a file
 * of columns per partition. A value that is not of its column's type is an error, BAD_ROW; lists,
 * structs and types without a text form of their own are saved as text. Parquet is compressed by
 * snappy unless --compress says otherwise. GLINT_TSV and GLINT_JSON_LINES are text: numbers, bools
 * and nested values are JSON as they are; a text that is not UTF-8 is an error in JSON. */
struct glint_column_form {
    enum glint_column_format format;
    const struct glint_column_type *columns;
    uint32_t count;
    uint32_t row_group_rows;       /* at most; 0: 1,048,576 */
    const uint32_t *bloom_columns; /* from 0: columns with a Bloom filter, of Parquet only */
    uint32_t bloom_count;
    bool empty_is_null; /* an empty field is null, too, as in CSV with the null text "" */
    /* glint_row_types of the source of typed rows; of pairs of rows, which follow one another,
     * those of both. Size 0: rows are text. For GLINT_PARQUET and GLINT_ARROW. */
    struct glint_slice row_types[2];
};
int glint_save_as_column_file(struct glint_rdd *rows, const char *path,
                              const struct glint_column_form *form);
/* The same for several outputs, by number of output, as glint_save_as_text_files. */
int glint_save_as_column_files(struct glint_rdd *rows, const char *const *paths, uint32_t count,
                               const struct glint_column_form *form);
/* Saves pairs of (directory, row), both text, as files of columns in directories of `path` like
 * dt=2026-01-01 or a=1/b=2, of at most GLINT_PARTITION_COLUMNS_MAX names. The pairs of a directory
 * follow one another within a partition, and are in no other one: a task has one file open. More
 * than GLINT_PARTITIONS_SAVED_MAX directories, and an output in a store, are an error. */
enum { GLINT_PARTITION_COLUMNS_MAX = 8, GLINT_PARTITIONS_SAVED_MAX = 10000 };
int glint_save_as_partitioned_column_files(struct glint_rdd *pairs, const char *path,
                                           const struct glint_column_form *form);
/* Saves several outputs in one pass, like Hadoop's MultipleTextOutputFormat: the key, an i64, is
 * the number of the record's output, from 0; the value is its line. Each of the `count` outputs (1
 * to 16) has as many parts as `rdd` has partitions. */
int glint_save_as_text_files(struct glint_rdd *rdd, const char *const *paths, uint32_t count);
/* Each record is a msgpack array [key, value], or the value alone if the key is NONE. Integers use
 * their smallest encoding, f64 is float 64, text is str (not checked for UTF-8), bytes is bin. */
int glint_save_as_msgpack_file(struct glint_rdd *rdd, const char *path);

/* Checks now, instead of when an action saves there, that `path` can become an output. */
int glint_reserve_output(struct glint *g, const char *path);
/* Whether `path` is the output whose parts go to standard output, one after another. */
bool glint_is_stdout(const struct glint *g, const char *path);

/* Returns the sum of a counter over all actions so far; 0 if no task has counted it. "bad rows" is
 * the total of its parts "bad rows: REASON". */
int64_t glint_counter_value(const struct glint *g, const char *name);
/* Sets *out to the value of an accumulator (glint_accumulator) over all actions so far, valid until
 * the next action. Returns false, with type NONE, if no task has added to it. */
bool glint_accumulator_value(const struct glint *g, const char *name, struct glint_cell *out);
/* Forgets what was added to an accumulator so far. */
void glint_accumulator_clear(struct glint *g, const char *name);

#endif
