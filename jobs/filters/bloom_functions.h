/* Functions of the Bloom filter jobs, by what they make:
 *   bloom_indexes.c    bloom.rating_indexes, text_indexes, extend, fill
 *   bloom_partials.c   bloom.rating_partials, text_partials, or, seal
 *   ids.c, ids_groups.c  bloom.rating_ids, text_ids, fill_ids, test_ids
 *   size_lines.c       bloom.counts_number, counts_text, params_number, params_text
 *   bloom_report.c     bloom.report_rating_python and its kin
 *   bloom_test.c       its own */
#ifndef GLINT_JOBS_FILTERS_BLOOM_FUNCTIONS_H
#define GLINT_JOBS_FILTERS_BLOOM_FUNCTIONS_H

#include "jobs/filters/sizes.h"

/* The counter of what map tasks give to reduce tasks, values only, before it is packed for the way.
 */
#define BLOOM_SHUFFLE_BYTES "shuffle value bytes"

/* The counter of rows whose key has no filter. */
#define BLOOM_NO_FILTER "no filter"

/* Why a row is bad whose key has no size. */
#define BLOOM_MISSING "its key is in neither COUNTS nor PARAMS"

/* The key as errors show it; a text may be cut. */
void bloom_show_key(bool text, const union glint_value *key, char *out, size_t capacity);
/* What errors say of filters that do not fit their sizes, PARAMS or P and COUNTS. */
const char *bloom_mismatch_hint(bool params);
const char *bloom_no_such_key_text(bool params);
void bloom_mismatch_text(const struct bloom_params *have, const struct bloom_params *want,
                         bool params, char *out, size_t capacity);

/* Rows parsed, their ids and the numbers of their filters, as the library wants
 * them. Rows whose key has no count are bad rows, left out if they are skipped.
 */
struct bloom_input {
    struct fields fields;
    struct sizes sizes;
    uint16_t filter[FIELDS_ROWS_MAX];
};
int bloom_input_open(struct glint_task *task, struct bloom_input *in);
/* 0 or a code; *out borrows from `in` and the batch. */
int bloom_input_rows(struct bloom_input *in, struct glint_task *task,
                     const struct glint_batch *lines, struct bloom_rows *out);
/* The same, where rows whose key has no filter are left out and counted. */
int bloom_input_known_rows(struct bloom_input *in, struct glint_task *task,
                           const struct glint_batch *lines, int no_filter, struct bloom_rows *out);
/* The number of a key that must have a filter. 0 or a code. */
int bloom_input_key_number(const struct sizes *sizes, struct glint_task *task,
                           const union glint_value *key, uint32_t *out);
/* The filters of the broadcast argument "filters", for reading; bloom_set_fini after, in any case.
 * 0 or a code. */
int bloom_open_filters(struct glint_task *task, struct bloom_set *out);
/* Emits (key, the filter as its file value), the bits standing BLOOM_HEADER_MAX
 * behind `memory`. */
void bloom_emit_filter(const struct bloom_params *params, const union glint_value *key,
                       uint8_t *memory, struct glint_emitter *out);

/* What a look-up of rows counts, per key: the value that bloom.test_* emit and
 * bloom.add_tallies adds up. */
struct bloom_tally {
    uint64_t hits, rows;
};
/* 0 or a code. */
int bloom_tally_read(struct glint_task *task, struct glint_slice bytes, struct bloom_tally *out);

/* Lines of (key, tally): by whether keys are text, and whether as the Hadoop program's. */
extern const struct glint_function bloom_report_functions[2][2];
extern const struct glint_function bloom_rating_indexes, bloom_text_indexes, bloom_extend,
    bloom_fill;
extern const struct glint_function bloom_rating_partials, bloom_text_partials, bloom_or, bloom_seal;

#endif
