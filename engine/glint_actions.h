/* Actions: they run the plan of an RDD, and give a result to the job or save it. Part of glint.h,
 * which includes it. Each returns 0 or the context's error code. */
#ifndef GLINT_ACTIONS_H
#define GLINT_ACTIONS_H

#include "engine/glint.h"

/* Rows that came back to the driver, in order of the partitions. Zeros before, glint_rows_free
 * after. */
struct glint_rows {
    uint64_t count;
    struct glint_schema schema;
    uint8_t *data; /* the rest is the engine's */
    uint64_t *offsets;
    uint64_t size, capacity, size_capacity;
};
struct glint_record glint_rows_at(const struct glint_rows *rows, uint64_t i);
void glint_rows_free(struct glint_rows *rows);

int glint_collect(struct glint_rdd *rdd, struct glint_rows *out);
/* As collect, one record at a time, in order; memory is that of the partitions in flight. A
 * non-zero answer of `row` ends the action and is returned. */
int glint_collect_each(struct glint_rdd *rdd,
                       int (*row)(void *arg, const struct glint_record *record), void *arg);
/* One row per key, the last value wins; sorted by key. */
int glint_collect_as_map(struct glint_rdd *rdd, struct glint_rows *out);
int glint_count(struct glint_rdd *rdd, int64_t *out);
/* (key, i64) or (value, i64), sorted. Differs from Spark: countByValue is for single elements,
 * since a pair and its count would be three columns. */
int glint_count_by_key(struct glint_rdd *rdd, struct glint_rows *out);
int glint_count_by_value(struct glint_rdd *rdd, struct glint_rows *out);
/* first: EMPTY_COLLECTION where there is none. take reads no more partitions than it needs. */
int glint_first(struct glint_rdd *rdd, struct glint_rows *out);
int glint_take(struct glint_rdd *rdd, uint64_t count, struct glint_rows *out);
/* Smallest, largest records by (key, value), in that order. */
int glint_take_ordered(struct glint_rdd *rdd, uint64_t count, struct glint_rows *out);
int glint_top(struct glint_rdd *rdd, uint64_t count, struct glint_rows *out);
/* [REDUCE] of all values; one row (none, value). Empty: EMPTY_COLLECTION. reduce, fold and
 * aggregate merge each partition on a slot, and what the partitions gave on the driver, in their
 * order; counters of a function count on slots only. */
int glint_reduce(struct glint_rdd *rdd, const char *function, struct glint_args *args,
                 struct glint_rows *out);
/* [REDUCE] from zero in each partition and once more over the partitions, as in Spark. */
int glint_fold(struct glint_rdd *rdd, union glint_value zero, const char *function,
               struct glint_args *args, struct glint_rows *out);
/* [AGGREGATE] */
int glint_aggregate(struct glint_rdd *rdd, union glint_value zero, const char *function,
                    struct glint_args *args, struct glint_rows *out);
/* Of i64 or f64 values; i64 sums wrap around, as in Spark. min, max: by (key, value). */
int glint_sum(struct glint_rdd *rdd, union glint_value *out);
int glint_min(struct glint_rdd *rdd, struct glint_rows *out);
int glint_max(struct glint_rdd *rdd, struct glint_rows *out);
/* Values of one key; reads one partition where the RDD is partitioned by key. */
int glint_lookup(struct glint_rdd *rdd, union glint_value key, struct glint_rows *out);
int glint_is_empty(struct glint_rdd *rdd, bool *out);
/* [FLAT_MAP that emits nothing], for its effects: counters. */
int glint_foreach(struct glint_rdd *rdd, const char *function, struct glint_args *args);

/* A folder of part-00000 ... and _SUCCESS; one line per record: the value, or key TAB value.
 * Complete outputs appear together, when the job ends well, by one rename each; else none does.
 * Sources that the job makes after the action read the output by its path: a step reads what an
 * earlier one saved, before it is published. */
int glint_save_as_text_file(struct glint_rdd *rdd, const char *path);
int glint_save_as_gzip_text_file(struct glint_rdd *rdd, const char *path);
/* Several outputs in one pass over the records, as Hadoop's MultipleTextOutputFormat: the key, an
 * i64, is the number of the record's output, from 0; the value is its line. Each of the `count`
 * outputs (1 to 16) gets as many parts as `rdd` has partitions. */
int glint_save_as_text_files(struct glint_rdd *rdd, const char *const *paths, uint32_t count);
/* Each record a msgpack array [key, value], or the value alone where the key is NONE; integers in
 * their smallest form, f64 as float 64, text as str (not checked for UTF-8), bytes as bin. */
int glint_save_as_msgpack_file(struct glint_rdd *rdd, const char *path);

/* Checks now, and not only when an action saves there, that `path` can become an output. */
int glint_reserve_output(struct glint *g, const char *path);

/* The sum of a counter over the actions so far, with its parts: "bad rows: REASON" is one of "bad
 * rows"; 0 if no task has counted it. */
int64_t glint_counter_value(const struct glint *g, const char *name);

#endif
