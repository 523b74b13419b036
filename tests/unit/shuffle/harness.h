/* A whole shuffle in one thread, and what it has to give, computed in the plainest way. */
#ifndef TESTS_UNIT_SHUFFLE_HARNESS_H
#define TESTS_UNIT_SHUFFLE_HARNESS_H

#include "engine/data/codec.h"
#include "engine/shuffle/read.h"
#include "engine/shuffle/write.h"
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

struct shape {
    enum glint_type key, value;
    uint64_t keys;        /* how many different ones, about; 0: ascending, three of each */
    uint64_t value_bytes; /* at most, for bytes */
    uint64_t large_each;  /* one in so many values is large; 0: none */
    uint64_t large_bytes;
};
/* Deterministic input of `maps` tasks. */
void make_records(struct records *out, const struct shape *shape, uint32_t maps, uint64_t count);

struct plan {
    const struct shuffle_spec *spec;
    uint32_t maps;
    uint32_t batch_rows;
};
/* Runs it all; out: the records in order of (partition, as they came). 0 or the first error. */
int run_shuffle(struct test_task *t, const struct plan *plan, const struct records *in,
                struct records *out);
/* What must come out. */
void expect_shuffle(const struct plan *plan, const struct records *in, struct records *out);
/* Asserts that both are the same. With pieces: the same once the pieces of a key are put together.
 */
void compare_records(const struct records *got, const struct records *expected, bool pieces,
                     const char *what);

/* Functions, all of which notice a wrong order of values where that can be noticed. */
extern const struct glint_function fn_sum_i64, fn_sum_i64_rows, fn_sum_f64, fn_concat,
    fn_concat_pieces, fn_list, fn_text_list; /* lists: AGGREGATE and COMBINE, i64 or text to text */

#endif
