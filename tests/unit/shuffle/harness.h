/* Runs a whole shuffle in one thread, and computes the expected result in the simplest way. */
#ifndef TESTS_UNIT_SHUFFLE_HARNESS_H
#define TESTS_UNIT_SHUFFLE_HARNESS_H

#include "engine/records/codec.h"
#include "engine/shuffle/shuffle.h"
#include "tests/support/test_task.h"

/* A record in byte form. */
struct cell_pair {
    struct glint_slice key, value;
    uint32_t map, partition;
    uint64_t index; /* in its map task */
};

struct records {
    struct cell_pair *items;
    uint64_t count, capacity;
    struct buffer bytes[64]; /* chunks that never move */
    uint32_t chunks;
};
void records_add(struct records *r, struct glint_slice key, struct glint_slice value, uint32_t map);
void records_fini(struct records *r);

struct workload {
    enum glint_type key, value;
    uint64_t keys;        /* about how many different ones; 0: ascending, three of each */
    uint64_t value_bytes; /* at most, for bytes */
    uint64_t large_each;  /* one of every large_each values is large; 0: none */
    uint64_t large_bytes;
    uint64_t frequent_percent; /* of the records that have one key, besides those by chance */
};
/* Makes the input of `maps` map tasks, which depends only on the arguments. */
void make_records(struct records *out, const struct workload *workload, uint32_t maps,
                  uint64_t count);

struct plan {
    const struct shuffle_spec *spec;
    uint32_t maps;
    uint32_t batch_rows;
    bool remote; /* the reduce side must not read an input twice */
    bool local;  /* one task pushes all records to the reader: one map task and partition */
};
/* Runs the shuffle. Sets `out` to the records in order of (partition, order of reading). Returns 0
 * or the first error. */
int run_shuffle(struct test_task *t, const struct plan *plan, const struct records *in,
                struct records *out);
/* Sets `out` to the expected records. */
void expect_shuffle(const struct plan *plan, const struct records *in, struct records *out);
/* Asserts that both are equal. With `chunked`: equal after the chunks of each key are
 * concatenated. */
void compare_records(const struct records *got, const struct records *expected, bool chunked,
                     const char *what);

/* Functions whose results depend on the order of values, as far as their types allow. */
extern const struct glint_function fn_sum_i64, fn_sum_i64_rows, fn_sum_f64, fn_sum_f64_rows,
    fn_concat, fn_concat_chunks, /* lists: AGGREGATE and COMBINE, i64 or text to text */
    fn_list, fn_text_list;

#endif
